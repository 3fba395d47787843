"""Mounts with the numbers of regression cases, and their bodies' motion by differences of poses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

import linkwright as lw
from linkwright.algebra import Expr, evaluate_all
from linkwright.equations.closure import Relations, assemble
from linkwright.equations.evaluation import all_values
from linkwright.mechanism import Joint

Array: TypeAlias = NDArray[np.float64]

E_CASE = {
    "D": 0.953,
    "h": 0.45,
    "anchor_radius": 0.6,
    "anchor_height": 0.0,
    "azimuth1": 0.0,
    "azimuth2": np.deg2rad(120.0),
    "arm_mass": 8.81,
    "upper_mass": 8.15,
    "strut_mass": 5.0,
    "jack_mass": 4.0,
    "rod_mass": 3.0,
    "platform_mass": 0.0,
    "platform_across": 0.0,
    "platform_along": 0.0,
    "antenna_mass": 119.57,
    "antenna_height": 0.2,
    "antenna_across": 12.0,
    "antenna_along": 20.0,
    "joint_mass": 0.0,
}
"""The regression case of the prismatic mount: slender rods, a dish of 119.57 kg."""

_STEP = 0.02
_FIRST = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
_SECOND = np.array(
    [-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560]
)  # differences of eighth order (Fornberg 1988)


def jack_lengths(t: complex) -> NDArray[np.complex128]:
    """Return the lengths of both jacks in the regression case at a time, from the closed form."""
    azimuth = np.deg2rad(40) + 0.4 * t + 0.1 * t**2
    zenith = np.deg2rad(65) - 0.3 * t + 0.25 * t**2
    half = zenith / 2
    n = np.array([np.sin(half) * np.cos(azimuth), np.sin(half) * np.sin(azimuth), np.cos(half)])
    feet = [0.6 * np.array([np.cos(a), np.sin(a), 0]) for a in (0.0, np.deg2rad(120))]
    return np.array([np.sqrt(0.45**2 + 0.36 - 0.9 * (n @ foot)) for foot in feet])


def differences(values: Array) -> tuple[Array, Array, Array]:
    """Return value, first and second derivative at the middle of nine samples."""
    return (
        values[4],
        np.tensordot(_FIRST, values, 1) / _STEP,
        np.tensordot(_SECOND, values, 1) / _STEP**2,
    )


@dataclass(frozen=True)
class Moved:
    """A body in motion, along the ground's axes: no formulation of dynamics is in it.

    Args:
        rotation: from its axes to the ground's.
        origin: of the body, m.
        mass: kg.
        center: its mass center, m.
        inertia: about that, kg*m^2.
        force: rate of its momentum less its weight, N.
        moment: rate of its moment of momentum less that of its weight, about its origin, N*m.
        power: rate of its kinetic and potential energy, W.
    """

    rotation: Array
    origin: Array
    mass: float
    center: Array
    inertia: Array
    force: Array
    moment: Array
    power: float


def motion_of(
    m: lw.Mechanism, lengths: Callable[[float], dict[str, float]]
) -> tuple[dict[str, float], dict[str, Moved], dict[str, tuple[float, float]]]:
    """Return the closed coordinates at time zero, each body's motion, and all coordinates' rates.

    Args:
        m: the mechanism.
        lengths: of its actuators at a time.
    """
    relations = Relations(m, all_values(m, None))
    closed = [
        assemble(m, lengths(k * _STEP), relations=relations).coordinates for k in range(-4, 5)
    ]
    known: dict[Expr, object] = {x: m.values[n] for n, x in m.parameters.items()}
    known |= {q: np.array([c[n] for c in closed]) for n, q in m.coordinates.items()}
    ground = m.ground.frame
    bodies = [b for b in m.bodies.values() if b not in {s.slider for s in m.driven_struts}]
    parts: list[Expr] = []
    for b in bodies:
        vectors = (b.origin.position, b.com.position, *b.frame.axes)
        parts += [x for v in vectors for x in v.components(ground)]
        parts += [b.inertia.mass, *b.inertia.tensor]
    found = [np.broadcast_to(np.asarray(x, float), (9,)) for x in evaluate_all(parts, known)]
    table = np.array(found).reshape(len(bodies), 22, 9)
    fall = np.array(
        [float(evaluate_all([x], known)[0]) for x in m.gravity_vector.components(ground)]
    )
    moved = {b.name: _moved(rows, fall) for b, rows in zip(bodies, table, strict=True)}
    rates = {n: differences(np.array([c[n] for c in closed]))[1:] for n in m.coordinates}
    return closed[4], moved, {n: (float(a), float(b)) for n, (a, b) in rates.items()}


def _moved(rows: Array, fall: Array) -> Moved:
    origin, center = rows[0:3].T, rows[3:6].T
    axes = rows[6:15].reshape(3, 3, 9).transpose(2, 1, 0)  # columns are the body's axes
    mass, (xx, yy, zz, xy, yz, zx) = float(rows[15, 0]), rows[16:22, 0]
    own = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
    _, velocity, acceleration = differences(center)
    turn, rate, second = differences(axes)
    spin = rate @ turn.T
    turning = second @ turn.T - spin @ spin
    omega, alpha = (np.array([s[2, 1], s[0, 2], s[1, 0]]) for s in (spin, turning))
    inertia = turn @ own @ turn.T
    force = mass * (acceleration - fall)
    torque = inertia @ alpha + np.cross(omega, inertia @ omega)
    moment = torque + np.cross(center[4] - origin[4], force)
    power = float(force @ velocity + torque @ omega)
    return Moved(turn, origin[4], mass, center[4], inertia, force, moment, power)


REPORT = (
    ("1", "n", "arm1"), ("2", "1", "upper1"), ("3", "2", "platform"), ("4", "3", "upper2"),
    ("5", "4", "arm2"), ("6", "5", ""), ("8", "3", "upper3"), ("9", "8", "arm3"), ("10", "9", ""),
    ("12", "3", "strut"), ("13", "12", ""), ("15", "12", "jack1"), ("16", "15", "leg1"),
    ("17", "16", ""), ("19", "12", "jack2"), ("20", "19", "leg2"), ("21", "20", ""),
)  # fmt: skip
"""The bodies of the report's tree of the prismatic mount: number, parent, name in the library."""


def report_tree(
    bodies: dict[str, Moved], feet: list[Array], *, ship: bool = False
) -> tuple[lw.Mechanism, lw.Mechanism]:
    """Return the prismatic mount as the report cuts it, without its loops and with them.

    Coordinates are zero in the pose of the bodies, in which all axes are those of the ground. Five
    massless tips at the ends of branches are to be welded to the ground.

    Args:
        bodies: of the library's mount, in motion.
        feet: the anchors of both jacks, m.
        ship: put it on a ship with nine freedoms.
    """
    made = []
    for closed in (False, True):
        m = lw.Mechanism("report")
        m.gravity()
        base = m.ground
        if ship:
            base = m.body("surge", translate="xyz", mass=0, inertia=0)
            base = m.body("roll", parent=base, rotate="xyz", mass=0, inertia=0)
            base = m.body("level", parent=base, rotate="xyz", mass=0, inertia=0)
        places: dict[str, Array] = {"n": np.zeros(3)}
        for number, parent, name in REPORT:
            at, joint = _report_joint(number, bodies, feet)
            places[number] = at
            own = bodies.get(name)
            inertia = (
                np.zeros(6) if own is None else own.inertia[(0, 1, 2, 0, 1, 2), (0, 1, 2, 1, 2, 0)]
            )
            m.body(
                f"b{number}",
                parent=base if parent == "n" else f"b{parent}",
                joint=joint,
                at=tuple(map(float, at - places[parent])),
                mass=0 if own is None else own.mass,
                com=(0, 0, 0) if own is None else tuple(map(float, own.center - at)),
                inertia=tuple(map(float, inertia)),
            )
        if closed:
            for number in ("6", "10", "13", "17", "21"):
                place = m.point_of(base, tuple(map(float, places[number])))
                m.close_loop(f"tip{number}", place, f"b{number}", lw.Weld())
        made.append(m)
    return made[0], made[1]


def _report_joint(number: str, bodies: dict[str, Moved], feet: list[Array]) -> tuple[Array, Joint]:
    """Return the place and the joint of a body of the report's tree."""
    ball = lw.Ball(quaternion=True)

    def hinge(name: str) -> Joint:
        return lw.Revolute(tuple(map(float, bodies[name].rotation[:, 1])))

    if number in ("1", "3", "4", "8"):
        name = {"1": "arm1", "3": "platform", "4": "upper2", "8": "upper3"}[number]
        return bodies[name].origin, hinge(name)
    if number in ("6", "10"):
        name = {"6": "arm2", "10": "arm3"}[number]
        return bodies[name].origin, hinge(name)
    if number == "2":
        return bodies["upper1"].origin, ball
    if number in ("5", "9"):
        arm = bodies[{"5": "arm2", "9": "arm3"}[number]]
        return arm.origin + 0.841 * arm.rotation[:, 2], ball
    if number in ("13", "17", "21"):
        return {"13": np.zeros(3), "17": feet[0], "21": feet[1]}[number], ball
    if number in ("16", "20"):
        jack = bodies[{"16": "jack1", "20": "jack2"}[number]]
        return jack.origin, lw.Prismatic(tuple(map(float, -jack.rotation[:, 2])))
    name = {"12": "strut", "15": "jack1", "19": "jack2"}[number]
    cross, own = bodies[f"{name}_cross"], bodies[name]
    axes = (
        (cross.rotation[:, 0], own.rotation[:, 1])
        if name == "strut"
        else (cross.rotation[:, 1], own.rotation[:, 0])
    )
    first, second = (tuple(map(float, axis)) for axis in axes)
    return own.origin, lw.Universal(first, second)
