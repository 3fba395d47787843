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
        force: rate of its momentum less its weight, N.
        moment: rate of its moment of momentum less that of its weight, about its origin, N*m.
        power: rate of its kinetic and potential energy, W.
    """

    rotation: Array
    origin: Array
    mass: float
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
    return Moved(turn, origin[4], mass, force, moment, power)
