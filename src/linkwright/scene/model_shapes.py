"""How the shipped models look: shapes beyond those that geometry alone suggests.

A look is a function from the geometry to solids by the names of bodies, in their frames, and one
line in `LOOKS`. Sizes come from the parameters of the model, proportions are ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from linkwright.formats.meshes.triangle_mesh import Color
from linkwright.formats.robot.description import Place
from linkwright.scene import machine_shapes
from linkwright.scene.body_geometry import Geometry
from linkwright.scene.default_shapes import wheel
from linkwright.scene.solids import (
    ACCENT,
    GOLD,
    JOINT,
    LINKS,
    METAL,
    PALE,
    PANEL,
    RUBBER,
    Solid,
    axes_along,
    color,
    disc,
    rod,
)

Look = Callable[[Geometry], dict[str, list[Solid]]]
GLASS = color("#27323f")
SKIN = color("#d8b79a")


def _parameters(g: Geometry) -> dict[str, float]:
    return {**g.mechanism.values, **g.values}


def _at(x: float, y: float, z: float) -> Place:
    return Place((x, y, z))


def car(g: Geometry) -> dict[str, list[Solid]]:
    """The passenger car: x forward, y to the right, z down, the origin below the rear axle; in."""
    p = _parameters(g)
    base, high = p["L"], p["HRA"]
    r, half, wide = 0.105 * base, 0.245 * base, 0.07 * base
    wheels: list[Solid] = []
    for x in (0.0, base):
        for side in (-1, 1):
            for part in wheel(None, r, wide):
                dx, dy, dz = part.place.position
                turn = part.place.rotation
                wheels.append(
                    Solid(
                        part.kind,
                        part.size,
                        Place((x + dx, side * half + dy, dz - r), turn),
                        part.color,
                    )
                )
        wheels.append(rod((x, -half, -r), (x, half, -r), 0.012 * base, JOINT))
    # The body in profile, from tail to nose, in axes that do not lean with the roll axis.
    c, d = math.cos(p["THETAR"]), math.sin(p["THETAR"])
    level = Place((0.0, 0.0, 0.0), ((c, 0.0, d), (0.0, 1.0, 0.0), (-d, 0.0, c)))
    tail, nose = -0.26 * base, 1.24 * base
    inner, outer = half - 0.5 * wide, half + 0.42 * wide

    def hull(points: list[tuple[float, float, float]], tint: Color) -> Solid:
        both = [(x, side * y, high - z) for x, y, z in points for side in (-1, 1)]
        return Solid("hull", tuple(v for point in both for v in point), level, tint)

    floor = hull(
        [
            (tail + 0.03 * base, inner, 0.6 * r),
            (nose - 0.03 * base, inner, 0.6 * r),
            (tail + 0.03 * base, inner, 1.8 * r),
            (nose - 0.03 * base, inner, 1.8 * r),
        ],
        JOINT,
    )
    # Convex parts leave room for the wheels: before, between, behind and above them.
    gap, top = 1.3 * r, 2.12 * r
    sides = [
        hull([(x, y * outer, z * r) for x, y, z in corners], ACCENT)
        for corners in (
            [(tail, 0.92, 1.4), (-gap, 0.95, 1.4), (tail, 0.94, 2.25), (-gap, 0.97, 2.25)],
            [(gap, 0.99, 1.3), (base - gap, 0.99, 1.3), (gap, 1.0, 2.3), (base - gap, 1.0, 2.3)],
            [
                (base + gap, 0.92, 1.35),
                (nose, 0.84, 1.3),
                (base + gap, 0.94, 2.2),
                (nose, 0.85, 2.0),
            ],
        )
    ]
    upper = hull(
        [
            (tail, 0.94 * outer, top),
            (nose, 0.85 * outer, 2.03 * r),
            (0.06 * base, outer, top),
            (0.94 * base, outer, top),
            (tail + 0.02 * base, 0.9 * outer, 2.75 * r),
            (0.84 * base, 0.92 * outer, 2.68 * r),
        ],
        ACCENT,
    )
    cabin = hull(
        [
            (-0.14 * base, 0.84 * outer, 2.6 * r),
            (0.80 * base, 0.84 * outer, 2.6 * r),
            (0.08 * base, 0.70 * outer, 4.0 * r),
            (0.52 * base, 0.70 * outer, 4.0 * r),
        ],
        GLASS,
    )
    roof = hull(
        [
            (0.03 * base, 0.74 * outer, 3.87 * r),
            (0.57 * base, 0.74 * outer, 3.87 * r),
            (0.08 * base, 0.68 * outer, 4.18 * r),
            (0.52 * base, 0.68 * outer, 4.18 * r),
        ],
        ACCENT,
    )
    lamps = [
        hull(
            [
                (x + 0.012 * base, 0.45 * outer, 1.62 * r),
                (x + 0.012 * base, 0.80 * outer, 1.62 * r),
                (x - 0.03 * base, 0.45 * outer, 2.0 * r),
                (x - 0.03 * base, 0.80 * outer, 2.0 * r),
            ],
            tint,
        )
        for x, tint in ((nose - 0.012 * base, PALE), (tail + 0.02 * base, color("#7d1f14")))
    ]
    lamps = [_halved(lamp, side) for lamp in lamps for side in (-1, 1)]
    return {"nrb": wheels, "rb": [floor, *sides, upper, cabin, roof, *lamps]}


def _halved(solid: Solid, side: int) -> Solid:
    """Return the part of a hull on one side of the middle."""
    triples = [solid.size[k : k + 3] for k in range(0, len(solid.size), 3)]
    kept = [t for t in triples if t[1] * side > 0]
    deep = [(x - 0.5 * abs(y) * 0.05, y, z) for x, y, z in kept]
    return replace(solid, size=tuple(v for t in (*kept, *deep) for v in t))


def cart(g: Geometry) -> dict[str, list[Solid]]:
    """The cart on four wheels: a deck over the rear axle, a steered front axle with a shaft."""
    p = _parameters(g)
    half, base, r, eps = p["TRK2"], p["L1"], p["R"], p["EPS"]
    deck = Solid("box", (base + 0.55, 1.5 * half, 0.09), _at(base / 2 - 0.02, 0, 1.25 * r), ACCENT)
    rails = [
        Solid(
            "box",
            (base + 0.5, 0.05, 0.05),
            _at(base / 2 - 0.02, side * 0.72 * half, 1.25 * r + 0.2),
            PALE,
        )
        for side in (-1, 1)
    ]
    posts = [
        Solid("box", (0.045, 0.045, 0.2), _at(x, side * 0.72 * half, 1.25 * r + 0.1), PALE)
        for x in (-0.25, base / 2, base + 0.2)
        for side in (-1, 1)
    ]
    load = [
        Solid("box", (0.5, 0.42, 0.34), _at(0.25, 0.08, 1.25 * r + 0.22), GOLD),
        Solid("box", (0.36, 0.36, 0.24), _at(0.75, -0.1, 1.25 * r + 0.17), LINKS[1]),
    ]
    axle = rod((0, -half, 0), (0, half, 0), 0.035, JOINT)
    stay = [
        rod((0, side * 0.4 * half, 0), (0, side * 0.4 * half, 1.1 * r), 0.03, JOINT)
        for side in (-1, 1)
    ]
    pivot = disc((base, 0, 0.65 * r), (0, 0, 1), 0.09, 1.1 * r, JOINT)
    front = [
        rod((-eps, -half, 0), (-eps, half, 0), 0.035, JOINT),
        rod((-eps, 0, 0), (0, 0, 0), 0.04, JOINT),
        disc((0, 0, 0), (0, 0, 1), 0.075, 0.14, METAL),
    ]
    return {"b": [deck, *rails, *posts, *load, axle, *stay, pivot], "f": front}


def whipple(g: Geometry) -> dict[str, list[Solid]]:
    """Whipple's bicycle with its rider; z is down, the frame's origin is at the rear axle."""
    p = _parameters(g)
    base, rear, front = p["w"], p["rR"], p["rF"]
    m = g.mechanism
    thin = 0.016

    def tubes(points: list[tuple[float, float, float]], radius: float, tint: Color) -> list[Solid]:
        from itertools import pairwise

        return [rod(a, b, radius, tint) for a, b in pairwise(points)]

    crank = (0.43, 0.0, 0.02)
    seat, head = (0.27, 0.0, -0.50), (0.72, 0.0, -0.55)
    low_head = (0.76, 0.0, -0.44)
    axle = 0.05
    frame = [
        *tubes([crank, seat, head], thin * 1.1, ACCENT),
        *tubes([crank, low_head, head], thin * 1.3, ACCENT),
    ]
    for side in (-axle, axle):
        frame += tubes([crank, (0, side, 0), seat], 0.6 * thin, ACCENT)
    frame += [
        rod(seat, (0.25, 0, -0.60), 0.8 * thin, METAL),
        Solid("ellipsoid", (0.13, 0.07, 0.03), _at(0.24, 0, -0.62), JOINT),
        disc(crank, (0, 1, 0), 0.085, 0.015, METAL),
    ]
    hip, neck = (0.25, 0.0, -0.70), (0.50, 0.0, -1.14)
    rider = [
        rod(hip, neck, 0.105, LINKS[0]),
        rod(neck, (0.585, 0.0, -1.31), 0.05, SKIN),
        Solid("sphere", (0.105,), _at(0.60, 0, -1.36), SKIN),
        Solid("ellipsoid", (0.125, 0.115, 0.08), _at(0.595, 0, -1.41), PALE),
        rod((0.49, -0.15, -1.10), (0.49, 0.15, -1.10), 0.062, LINKS[0]),
    ]
    for side, foot in ((-1, (0.50, 0.12)), (1, (0.36, -0.13))):
        y = 0.09 * side
        ankle = (foot[0], y, 0.02 + foot[1])
        knee = (0.62 - 0.04 * side, y, -0.42 + 0.06 * side)
        rider += tubes([(0.25, y, -0.70), knee, ankle], 0.055, JOINT)
        rider.append(rod(ankle, (ankle[0] + 0.12, y, ankle[2] + 0.02), 0.035, PALE))
        elbow, hand = (0.62, 0.24 * side, -0.89), (0.83, 0.21 * side, -0.78)
        rider += tubes([(0.49, 0.16 * side, -1.10), elbow], 0.05, LINKS[0])
        rider += [rod(elbow, hand, 0.038, SKIN), Solid("sphere", (0.045,), _at(*hand), SKIN)]
        pedal = (ankle[0] + 0.05, y, ankle[2] + 0.05)
        frame += tubes(
            [(crank[0], 0.05 * side, crank[2]), (pedal[0], 0.05 * side, pedal[2])], 0.01, METAL
        )
        frame.append(Solid("box", (0.09, 0.07, 0.02), Place(pedal), JOINT))
    made = {"frame": [*frame, *rider], "heading": [], "lean": []}
    for name, radius in (("rear", rear), ("front", front)):
        axis = g.axis(m.bodies[name])
        turn = axes_along((0.0, 1.0, 0.0) if axis is None else axis)
        at = Place((0.0, 0.0, 0.0), turn)
        made[name] = [
            Solid("tire", (radius, 0.045, 0.84), at, RUBBER),
            Solid("tire", (0.85 * radius, 0.03, 0.93), at, METAL),
            Solid("spokes", (0.82 * radius, 24, 0.005), at, METAL),
        ]
    made["fork"] = _fork(g, base)
    return made


def _fork(g: Geometry, base: float) -> list[Solid]:
    """The fork's frame leans: its z lies along the steer axis; points are found by its wheel."""
    import numpy as np

    m = g.mechanism
    hub = g.vector(m.bodies["front"].offset, m.bodies["fork"].frame)
    across = np.array([0.0, 1.0, 0.0])
    crown = np.array([0.0, 0.0, hub[2] - 0.40])
    top = crown + np.array([0.0, 0.0, -0.24])
    bar = top + np.array([0.03, 0.0, -0.10])
    parts = [rod(crown, top, 0.024, METAL), rod(top, bar, 0.015, METAL)]
    for side in (-1, 1):
        parts += [
            rod(hub + 0.055 * side * across, crown + 0.055 * side * across, 0.013, METAL),
            rod(crown, crown + 0.055 * side * across, 0.014, METAL),
            rod(bar, bar + 0.21 * side * across + np.array([-0.02, 0, -0.01]), 0.012, METAL),
            rod(
                bar + 0.21 * side * across + np.array([-0.02, 0, -0.01]),
                bar + 0.23 * side * across + np.array([-0.12, 0, 0.0]),
                0.017,
                JOINT,
            ),
        ]
    return parts


def spacecraft_1(g: Geometry) -> dict[str, list[Solid]]:
    """The bus with wings of solar cells, the clock, the camera and the boom with its sensor."""
    p = _parameters(g)
    clock, reach, boom = p["L1"], p["L7"], p["L8"]
    bus = [
        Solid("cylinder", (0.95, 1.2), _at(0, 0, 0), GOLD),
        Solid("cylinder", (0.75, 0.12), _at(0, 0, 0.66), JOINT),
        Solid("cone", (0.25, 1.15, 0.55), Place((0.0, 0.0, 1.25)), PALE),
        rod((0, 0, 0.6), (0, 0, 1.75), 0.03, METAL),
        rod((0, 0, -0.6), (0, 0, -clock), 0.07, METAL),
        rod((0, 0, 0), (0, -reach, 0), 0.06, METAL),
    ]
    for side in (-1, 1):
        bus.append(rod((side * 0.9, 0, 0), (side * 1.35, 0, 0), 0.05, METAL))
        for k in range(3):
            x = side * (1.95 + 1.14 * k)
            bus.append(Solid("box", (1.08, 1.5, 0.035), _at(x, 0, 0), PANEL))
            for y in (-0.5, 0.0, 0.5):
                bus.append(Solid("box", (1.08, 0.012, 0.042), _at(x, y, 0), METAL))
    camera = [
        rod((0, 0, 0), (0, p["L5"], p["L6"]), 0.05, METAL),
        Solid("box", (0.42, 0.5, 0.34), _at(0, p["L5"], p["L6"]), PALE),
        disc((0.0, p["L5"] + 0.36, p["L6"]), (0, 1, 0), 0.14, 0.3, JOINT),
        disc((0.0, p["L5"] + 0.52, p["L6"]), (0, 1, 0), 0.115, 0.02, LINKS[1]),
    ]
    truss = Solid(
        "truss",
        (0.16, 0.3, round(2 * boom / 0.3)),
        Place((0.0, 0.0, 0.0), ((0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 0.0, 1.0))),
        METAL,
    )
    sensor = Solid(
        "cylinder", (0.16, 0.36), Place((0.0, -2 * boom - 0.15, 0.0), axes_along((0, 1, 0))), ACCENT
    )
    return {
        "b": bus,
        "c": [
            rod((0, 0, 0), (0, 0, 0.5), 0.08, JOINT),
            rod((0, 0, 0), (0, -p["L3"], 0), 0.06, JOINT),
        ],
        "d": camera,
        "e": [Solid("sphere", (0.09,), Place(), JOINT)],
        "f": [truss, sensor],
    }


def spacecraft_2(g: Geometry) -> dict[str, list[Solid]]:
    """A drum with solar cells, and four antennas like oars on hinges at its end."""
    p = _parameters(g)
    at, off, arm = p["L1"], p["L2"], p["L3"]
    turn = axes_along((1, 0, 0))
    drum = [
        Solid("cylinder", (0.42, 0.96), Place((0.0, 0.0, 0.0), turn), PANEL),
        Solid("cylinder", (0.425, 0.05), Place((0.0, 0.0, 0.0), turn), METAL),
        Solid("cylinder", (0.40, 0.06), Place((at - 0.02, 0.0, 0.0), turn), GOLD),
        Solid("cylinder", (0.40, 0.06), Place((-0.48, 0.0, 0.0), turn), GOLD),
        Solid("cone", (0.10, 0.2, 0.16), Place((-0.58, 0.0, 0.0), axes_along((-1, 0, 0))), JOINT),
    ]
    made = {"w": drum}
    for k, (y, z) in enumerate(((0, off), (off, 0), (0, -off), (-off, 0)), 1):
        flat = (2 * arm, 0.1, 0.012) if z else (2 * arm, 0.012, 0.1)
        made[f"a{k}"] = [
            Solid("sphere", (0.03,), Place(), JOINT),
            rod((0, 0, 0), (0.6 * arm, 0, 0), 0.014, METAL),
            Solid("box", flat, _at(1.6 * arm, 0, 0), ACCENT if k % 2 else PALE),
        ]
        drum.append(rod((at - 0.02, y, z), (at, y, z), 0.03, METAL))
    return made


LOOKS: dict[str, Look] = {
    **dict.fromkeys(
        ("mount-3-rotary", "mount-2-rotary", "mount-prismatic", "mount-truss-3", "mount-truss-2"),
        machine_shapes.legged_mount,
    ),
    **dict.fromkeys(
        ("mount-alt-az", "mount-x-y", "mount-equatorial", "mount-3-axis", "mount-4-axis"),
        machine_shapes.serial_mount,
    ),
    "stewart": machine_shapes.hexapod,
    "delta": machine_shapes.delta,
    "tripod": machine_shapes.tripod,
    "agile-eye": machine_shapes.agile_eye,
    "planar-3-rpr": machine_shapes.planar,
    "car": car,
    "cart": cart,
    "whipple": whipple,
    "spacecraft-1": spacecraft_1,
    "spacecraft-2": spacecraft_2,
}
"""Looks by the names of mechanisms."""

STORIES: dict[str, tuple[tuple[str, ...], ...]] = {
    "car": (("FY1", "FY2"), ("alphaf", "alphar"), ("yaw", "roll")),
    "car-small": (("FY1", "FY2"), ("alphaf", "alphar"), ("yaw", "roll")),
    "cart": (("steer", "yaw"), ("b.u", "b.v"), ("r", "steer rate")),
    "double-pendulum": (("phi1", "phi2"), ("phi1_dot", "phi2_dot")),
    "four-bar": (("tension",), ("a", "b", "c"), ("tilt",)),
    "puma560": (("tool x", "tool y", "tool z"), ("q1", "q2", "q3"), ("tau1", "tau2", "tau3")),
    "slider-crank": (("piston",), ("crank_dot",), ("piston_dot",)),
    "spacecraft-1": (("c", "d", "e", "f"), ("b.rx", "b.ry", "b.rz")),
    "spacecraft-2": (("a1", "a2", "a3", "a4"), ("w.p", "w.q", "w.r")),
    "stanford-arm": (("c",), ("a", "b"), ("d", "e", "f")),
    "stanford-arm-controlled": (("a", "b", "d", "e", "f"), ("c",)),
    "whipple": (("phi", "delta"), ("psi",), ("phi_dot", "delta_dot")),
}
"""The channels that are shown at first, graph by graph, by the names of mechanisms."""

FLOORS: dict[str, float] = {"car": 0.0, "whipple": 0.0}
"""Heights of the ground along the upward direction, where no wheel of the tree says it."""


def look_of(name: str) -> Look | None:
    """Return the look of a shipped model, or None."""
    return LOOKS.get(name)
