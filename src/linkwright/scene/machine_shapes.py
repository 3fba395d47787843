"""How the shipped mounts and parallel machines look: dishes, arms, jacks, plates, curved links.

Each look is a function from the geometry to solids by the names of bodies, "n" for the ground; see
`linkwright.scene.model_shapes`, which lists them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.formats.meshes.triangle_mesh import Color
from linkwright.formats.robot.description import Place
from linkwright.scene.body_geometry import Geometry
from linkwright.scene.solids import (
    ACCENT,
    FIXED,
    JOINT,
    LINKS,
    METAL,
    PALE,
    Solid,
    axes_along,
    disc,
    rod,
)

Array = NDArray[np.float64]
Parts = dict[str, list[Solid]]

_Y = (0.0, 1.0, 0.0)
_Z = (0.0, 0.0, 1.0)
_RADIAL = [(math.cos(a), math.sin(a), 0.0) for a in (0.0, 2 * math.pi / 3, 4 * math.pi / 3)]


def _values(g: Geometry) -> dict[str, float]:
    return {**g.mechanism.values, **g.values}


def lifted(at: ArrayLike, by: float) -> Array:
    """Return a place that is higher by some length."""
    found: Array = np.asarray(at, float) + np.array([0.0, 0.0, by])
    return found


def _ball(at: ArrayLike, radius: float, tint: Color = METAL) -> Solid:
    x, y, z = np.asarray(at, float).tolist()
    return Solid("sphere", (radius,), Place((x, y, z)), tint)


def dish(at: ArrayLike, radius: float, axis: ArrayLike = _Z) -> list[Solid]:
    """Return a paraboloid that looks along an axis, with its feed on three legs (`radius` in m)."""
    turn = np.array(axes_along(axis))
    origin = np.asarray(at, float)
    depth = 0.26 * radius
    focus = radius**2 / (4 * depth)

    def placed(x: float, y: float, z: float) -> Array:
        found: Array = origin + turn @ np.array([x, y, z])
        return found

    x, y, z = placed(0, 0, 0.08 * radius).tolist()
    parts = [
        Solid("dish", (radius, depth, 0.02 * radius), Place((x, y, z), axes_along(axis)), PALE),
        disc(placed(0, 0, 0.03 * radius), turn @ np.array(_Z), 0.13 * radius, 0.08 * radius, JOINT),
    ]
    tip = placed(0, 0, focus)
    for a in (math.pi / 6, 5 * math.pi / 6, 3 * math.pi / 2):
        edge = placed(0.86 * radius * math.cos(a), 0.86 * radius * math.sin(a), 0.27 * radius)
        parts.append(rod(edge, tip, 0.013 * radius, METAL))
    parts.append(disc(tip, turn @ np.array(_Z), 0.05 * radius, 0.13 * radius, ACCENT))
    return parts


def plate(points: Sequence[ArrayLike], thick: float, tint: Color) -> Solid:
    """Return a plate with these corners, of a thickness along z (`thick` in m)."""
    both = [lifted(p, side * thick / 2) for p in points for side in (-1.0, 1.0)]
    return Solid("hull", tuple(float(v) for p in both for v in p), Place(), tint)


def arc(
    first: ArrayLike, second: ArrayLike, radius: float, thick: float, tint: Color
) -> list[Solid]:
    """Return a curved link about the origin, from one direction to another.

    Units: `radius` in m, `thick` in m.
    """
    a, b = (np.asarray(v, float) / np.linalg.norm(v) for v in (first, second))
    across = b - a * (a @ b)
    across /= np.linalg.norm(across)
    angle = math.acos(float(np.clip(a @ b, -1, 1)))
    steps = np.linspace(0, angle, 9)
    points = radius * (np.cos(steps)[:, None] * a + np.sin(steps)[:, None] * across)
    return [rod(p, q, thick, tint) for p, q in itertools.pairwise(points)]


# -- mounts of three legs --------------------------------------------------------------------------
def legged_mount(g: Geometry) -> Parts:
    """A mount of three legs: pedestal, arms of tube, platform with dish, strut and jacks."""
    p = _values(g)
    r, arm, D = p["r"], p["l"], p["D"]
    thick = 0.042 * arm
    driven = {q.name for q in g.mechanism.actuators}
    ground = _pedestal(p, thick)
    made: Parts = {"n": ground}
    for k, x in enumerate(_RADIAL, start=1):
        hinge = np.array(x) * r
        tangent = np.cross(_Z, x)
        motor = f"arm{k}" in driven
        for side in (-1, 1):
            ground.append(
                disc(hinge + side * 1.7 * thick * tangent, tangent, 1.5 * thick, thick, FIXED)
            )
        if motor:
            ground.append(
                disc(hinge + 4.2 * thick * tangent, tangent, 1.9 * thick, 4 * thick, ACCENT)
            )
        made[f"arm{k}"] = [
            rod((0, 0, 0), (0, 0, arm), thick, LINKS[0]),
            disc((0, 0, 0), _Y, 1.35 * thick, 2.4 * thick, JOINT),
            _ball((0, 0, arm), 1.45 * thick),
            *_weight(p["balance_mass"], p["balance_arm"], p["balance_angle"], thick, (0, 0, 0)),
        ]
        end = arm if k == 1 else -arm
        made[f"upper{k}"] = [
            rod((0, 0, 0), (0, 0, end), 0.85 * thick, LINKS[1]),
            disc((0, 0, end if k == 1 else 0), _Y, 1.2 * thick, 2.4 * thick, JOINT),
        ]
    center = np.array([-r, 0.0, 0.0])
    corners = [center + 1.12 * r * (np.array(x) + s * 0.16 * np.cross(_Z, x)) for x in _RADIAL
               for s in (-1, 1)]  # fmt: skip
    made["platform"] = [
        plate(corners, 0.9 * thick, LINKS[2]),
        *dish(center + np.array([0, 0, 0.6 * thick]), 0.86 * arm),
    ]
    if "strut" in g.mechanism.bodies:
        low = (0.0, 0.0, -D)
        made["strut_cross"] = []
        made["strut"] = [
            rod((0, 0, 0), low, 0.8 * thick, METAL),
            _ball((0, 0, 0), 1.2 * thick, JOINT),
            _ball(low, 1.5 * thick),
            *_weight(
                p["strut_balance_mass"],
                p["strut_balance_arm"],
                p["strut_balance_angle"],
                thick,
                low,
            ),
        ]
    if "leg1" in g.mechanism.bodies:
        _jacks(p, made, thick)
    return made


def _pedestal(p: dict[str, float], thick: float) -> list[Solid]:
    arm, r = p["l"], p["r"]
    low = -0.62 * arm
    parts = [
        Solid("cylinder", (1.2 * r, 1.2 * thick), Place((0.0, 0.0, -1.9 * thick)), FIXED),
        Solid("cone", (0.75 * r, 0.42 * r, -low), Place((0.0, 0.0, low / 2 - 2 * thick)), PALE),
        Solid("cylinder", (1.5 * r, thick), Place((0.0, 0.0, low - 2 * thick)), JOINT),
    ]
    for x in _RADIAL:
        parts.append(rod(lifted(np.array(x) * r, -1.6 * thick), np.array(x) * r, thick, FIXED))
    return parts


def _weight(mass: float, away: float, angle: float, thick: float, at: ArrayLike) -> list[Solid]:
    """Return a counterweight on its rod, where there is one."""
    if mass <= 0:
        return []
    start = np.asarray(at, float)
    end = start + away * np.array([math.sin(angle), 0, math.cos(angle)])
    size = min(0.03 * mass ** (1 / 3) * 1.6, 0.2)
    return [rod(start, end, 0.5 * thick, METAL), _ball(end, size, JOINT)]


def _jacks(p: dict[str, float], made: Parts, thick: float) -> None:
    """Add both jacks, and the posts on which they are anchored."""
    for k in (1, 2):
        a = p[f"azimuth{k}"]
        foot = p["anchor_radius"] * np.array([math.cos(a), math.sin(a), 0.0])
        anchor = lifted(foot, p["anchor_height"])
        below = lifted(foot, -1.9 * thick)
        made["n"] += [
            rod((0, 0, -1.9 * thick), below, 1.1 * thick, FIXED),
            rod(below, anchor, 0.9 * thick, FIXED),
        ]
        made[f"jack{k}_cross"] = []
        made[f"jack{k}"] = [
            _ball((0, 0, 0), 1.2 * thick, JOINT),
            rod((0, 0, 0), (0, 0, -0.36), 0.8 * thick, ACCENT),
        ]
        made[f"leg{k}"] = [
            rod((0, 0, 0), (0, 0, 0.42), 0.42 * thick, METAL),
            _ball((0, 0, 0), 0.95 * thick),
        ]


# -- serial mounts ---------------------------------------------------------------------------------
def serial_mount(g: Geometry) -> Parts:
    """A mount of axes one after the other: a foot, a fork on the first, the dish on the last."""
    p = _values(g)
    m = g.mechanism
    high = p["height"]
    thick = 0.09 * high
    bodies = [b for b in m.depth_first() if b.rotations]
    axes = [g.axis(b) for b in bodies]
    first = np.array(axes[0] if axes[0] is not None else _Z)
    across = np.array(axes[1] if axes[1] is not None else _Y)
    made: Parts = {"n": _foot(first, high, thick)}
    top = np.array([0.0, 0, high])
    wide = 3.4 * thick
    fork = [disc((0, 0, 0), first, 1.6 * thick, 3.4 * thick, LINKS[0])]
    for side in (-1, 1):
        at = top + side * wide * across
        shoulder = np.array([0, 0, 0.35 * high]) + side * wide * across
        fork += [
            rod((0, 0, 0.1 * high), shoulder, 0.75 * thick, LINKS[0]),
            rod(shoulder, at, 0.75 * thick, LINKS[0]),
            disc(at, across, 1.2 * thick, 1.3 * thick, ACCENT if side > 0 else JOINT),
        ]
    made[bodies[0].name] = fork
    if len(bodies) == 3:
        other = np.array(axes[2] if axes[2] is not None else (1.0, 0, 0))
        ring = [disc((0, 0, 0), across, 0.7 * thick, 2 * wide, LINKS[1])]
        for side in (-1, 1):
            ring.append(disc(side * 2 * thick * other, other, 0.9 * thick, thick, JOINT))
        made[bodies[1].name] = ring
        across = other
    hub = [
        disc((0, 0, 0), across, 0.8 * thick, 2 * wide if len(bodies) == 2 else 3 * thick, LINKS[1])
    ]
    made[bodies[-1].name] = [
        *hub,
        rod((0, 0, 0), (0, 0, 1.6 * thick), 1.1 * thick, LINKS[1]),
        *dish((0, 0, 1.6 * thick), 1.45 * high),
    ]
    return made


def _foot(axis: Array, high: float, thick: float) -> list[Solid]:
    """Return what carries the first axis: a column, or two posts where it lies flat or leans."""
    low = -1.7 * high
    floor = Solid("cylinder", (0.75 * high, 0.6 * thick), Place((0.0, 0.0, low)), JOINT)
    if abs(axis[2]) > 0.99:
        column = Solid("cone", (0.42 * high, 0.2 * high, -low), Place((0.0, 0.0, low / 2)), PALE)
        return [floor, column, disc((0, 0, 0), axis, 1.9 * thick, 1.2 * thick, FIXED)]
    parts = [floor, disc((0, 0, 0), axis, thick, 7 * thick, METAL)]
    flat = np.array([axis[0], axis[1], 0.0])
    flat /= np.linalg.norm(flat)
    for side in (-1, 1):
        at = side * 3.2 * thick * axis
        foot = lifted(side * 0.35 * high * flat, low)
        parts += [rod(foot, at, 0.8 * thick, PALE), disc(at, axis, 1.5 * thick, thick, FIXED)]
    return parts


# -- platforms -------------------------------------------------------------------------------------
def hexapod(g: Geometry) -> Parts:
    """A hexapod: plates with the corners of the ball joints; its struts are drawn as such."""
    m = g.mechanism
    feet = [g.point(m.points[f"base{k}"]) for k in range(1, 7)]
    heads = [g.point(m.points[f"head{k}"]) for k in range(1, 7)]
    size = max(float(np.linalg.norm(p)) for p in feet)
    base = [lifted(1.1 * p, -0.05 * size) for p in feet]
    top = [lifted(1.08 * p, 0.045 * size) for p in heads]
    middle = lifted(np.mean(heads, axis=0), 0.11 * size)
    return {
        "n": [plate(base, 0.06 * size, FIXED), *(_ball(p, 0.045 * size, JOINT) for p in feet)],
        "platform": [
            plate(top, 0.05 * size, LINKS[0]),
            disc(middle, _Z, 0.28 * size, 0.06 * size, ACCENT),
            *(_ball(p, 0.04 * size, JOINT) for p in heads),
        ],
    }


def delta(g: Geometry) -> Parts:
    """A Delta robot: motors under a plate, arms, a small platform; rods are drawn as such."""
    p = _values(g)
    base, tool, arm = p["base"], p["tool"], p["L"]
    thick = 0.06 * arm
    top = [Solid("cylinder", (1.25 * base, 0.9 * thick), Place((0.0, 0.0, 2.6 * thick)), FIXED)]
    made: Parts = {"n": top}
    for k, x in enumerate(_RADIAL, start=1):
        at, tangent = np.array(x) * base, np.cross(_Z, x)
        top += [
            disc(at + 3 * thick * tangent, tangent, 1.7 * thick, 3.4 * thick, ACCENT),
            rod(lifted(at, 2.4 * thick), at, 1.1 * thick, FIXED),
        ]
        made[f"arm{k}"] = [
            rod((0, 0, 0), (arm, 0, 0), thick, LINKS[0]),
            disc((0, 0, 0), _Y, 1.4 * thick, 2.4 * thick, JOINT),
            disc((arm, 0, 0), _Y, 0.6 * thick, 4.4 * thick, METAL),
        ]
    corners = [1.35 * tool * (np.array(x) + s * 0.4 * np.cross(_Z, x)) for x in _RADIAL
               for s in (-1, 1)]  # fmt: skip
    made["platform"] = [
        plate(corners, 0.8 * thick, LINKS[2]),
        disc((0, 0, -1.4 * thick), _Z, 0.7 * thick, 2.4 * thick, ACCENT),
    ]
    return made


def tripod(g: Geometry) -> Parts:
    """Three hinged jacks under a plate."""
    p = _values(g)
    base, radius, high = p["base"], p["radius"], p["height"]
    thick = 0.04 * high
    ground = [Solid("cylinder", (1.2 * base, thick), Place((0.0, 0.0, -1.6 * thick)), FIXED)]
    made: Parts = {"n": ground}
    length = float(np.hypot(base - radius, high))
    for k, x in enumerate(_RADIAL, start=1):
        at, tangent = np.array(x) * base, np.cross(_Z, x)
        ground += [
            disc(at + side * 1.5 * thick * tangent, tangent, 1.4 * thick, thick, JOINT)
            for side in (-1, 1)
        ]
        made[f"swing{k}"] = [
            disc((0, 0, 0), _Y, 0.9 * thick, 2 * thick, JOINT),
            rod((0, 0, 0), (0, 0, 0.52 * length), 0.85 * thick, ACCENT),
        ]
        made[f"leg{k}"] = [
            rod((0, 0, 0), (0, 0, -0.55 * length), 0.45 * thick, METAL),
            _ball((0, 0, 0), thick),
        ]
    center = np.array([-radius, 0.0, 0.0])
    corners = [center + 1.12 * radius * (np.array(x) + s * 0.25 * np.cross(_Z, x)) for x in _RADIAL
               for s in (-1, 1)]  # fmt: skip
    made["platform"] = [
        plate([lifted(c, 1.2 * thick) for c in corners], 0.9 * thick, LINKS[0]),
        disc(lifted(center, 2.2 * thick), _Z, 0.45 * radius, 1.2 * thick, LINKS[1]),
    ]
    return made


def agile_eye(g: Geometry) -> Parts:
    """Curved links about one center, with a camera in it."""
    p = _values(g)
    R = p["R"]
    thick = 0.055 * R
    axes = {1: ("x", "z", "y"), 2: ("y", "x", "z"), 3: ("z", "y", "x")}
    unit = {"x": np.array([1.0, 0, 0]), "y": np.array([0, 1.0, 0]), "z": np.array([0, 0, 1.0])}
    made: Parts = {"n": []}
    for k, (u, w, v) in axes.items():
        base, joint, end = -unit[u], unit[w], unit[v]
        mid = math.cos(p["alpha1"]) * unit[u] + math.sin(p["alpha1"]) * joint
        own = math.cos(p["alpha2"]) * joint + math.sin(p["alpha2"]) * end
        made["n"] += [
            disc(1.5 * R * base, base, 3.4 * thick, 6 * thick, FIXED),
            disc(1.3 * R * base, base, 1.2 * thick, 6 * thick, METAL),
        ]
        made[f"motor{k}"] = [
            *arc(base, mid, 1.12 * R, thick, LINKS[0]),
            disc(1.1 * R * base, base, 1.6 * thick, 3 * thick, ACCENT),
        ]
        far = own if k == 1 else end
        made[f"far{k}"] = [
            *arc(joint, far, R, 0.9 * thick, LINKS[1]),
            disc(1.06 * R * joint, joint, 1.3 * thick, 3.2 * thick, JOINT),
            disc(0.94 * R * far, far, 1.1 * thick, 3.4 * thick, JOINT),
        ]
    turn = axes_along(_Z)
    eye = [
        Solid("sphere", (0.52 * R,), Place(), PALE),
        Solid("cylinder", (0.3 * R, 0.34 * R), Place((0.0, 0.0, 0.45 * R), turn), JOINT),
        Solid("cylinder", (0.24 * R, 0.03 * R), Place((0.0, 0.0, 0.63 * R), turn), LINKS[3]),
    ]
    spikes = [rod((0, 0, 0), 0.88 * R * unit[a[2]], 0.7 * thick, METAL) for a in axes.values()]
    made["platform"] = [*eye, *spikes]
    return made


def planar(g: Geometry) -> Parts:
    """A plate in the plane on three jacks between pins."""
    p = _values(g)
    base = {k: np.array([p[f"base{k}_x"], p[f"base{k}_y"], 0.0]) for k in (1, 2, 3)}
    pins = {k: np.array([p[f"platform{k}_x"], p[f"platform{k}_y"], 0.0]) for k in (1, 2, 3)}
    size = max(float(np.linalg.norm(x)) for x in base.values())
    thick = 0.05 * size
    made: Parts = {"n": [disc(x, _Z, 1.5 * thick, 2.4 * thick, FIXED) for x in base.values()]}
    middle = sum(pins.values(), np.zeros(3)) / 3
    corners = [middle + 1.25 * (x - middle) - pins[1] for x in pins.values()]
    made["platform"] = [plate(corners, 0.7 * thick, LINKS[0])]
    for k, x in pins.items():
        length = g.at.get(f"leg{k}", 0.5 * size)
        made["platform"].append(disc(x - pins[1], _Z, 0.7 * thick, 2.2 * thick, JOINT))
        made[f"swing{k}"] = [
            disc((0, 0, 0), _Z, thick, 3 * thick, JOINT),
            rod((0, 0, 0), (0.55 * length, 0, 0), 0.62 * thick, ACCENT),
        ]
        made[f"leg{k}"] = [rod((0, 0, 0), (-0.55 * length, 0, 0), 0.34 * thick, METAL)]
    return made
