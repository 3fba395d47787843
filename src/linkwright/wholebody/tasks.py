"""What a whole-body controller is asked for: rows over accelerations and contact forces.

A task of motion asks for the acceleration of something, J a + J' u = x'' with
x'' = x_d'' + kd (x_d' - x') + kp (x_d - x). Errors of orientation are rotation vectors along the
world's axes; the wanted orientation is at rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from linkwright.base.checks import checked
from linkwright.base.errors import InputError
from linkwright.base.rotations import rotation_vectors

Array = np.ndarray[Any, np.dtype[np.float64]]
Target = Any
"""A position or pose; or a function of the time in s that returns it, or a position with its
velocity and acceleration."""

center_of_mass = "center of mass"
"""What `Controller.track` takes for the center of mass, in place of the name of a frame."""
SPIN = "angular momentum"


@dataclass(frozen=True, slots=True)
class TickState:
    """Where a robot is, and at what time; with the terms of `tick_program`."""

    q: Array
    u: Array
    t: float
    terms: Mapping[str, Any]


Rows = tuple[Array, Array]


@dataclass(frozen=True, slots=True)
class BodyTask:
    """Rows over accelerations, or over contact forces, with their weight and priority."""

    name: str
    rows: Callable[[TickState], Rows]
    weight: float
    priority: int
    over: Literal["acceleration", "force"] = "acceleration"
    of: str = ""  # the frame, the contact, or what of the body it asks for


def target_at(target: Target, t: float, size: int) -> tuple[Array, Array, Array]:
    """Return a wanted position with its velocity and acceleration."""
    value = target(t) if callable(target) else target
    if isinstance(value, tuple) and len(value) == 3 and all(np.ndim(x) == 1 for x in value):
        rows = [np.asarray(x, dtype=float) for x in value]
    else:
        rows = [np.asarray(value, dtype=float), np.zeros(size), np.zeros(size)]
    for row in rows:
        if row.shape != (size,) or not np.all(np.isfinite(row)):
            raise InputError(f"a target at {t:g} s is {value!r}, not {size} finite numbers")
    return rows[0], rows[1], rows[2]


def position_rows(frame: str, target: Target, kp: float, kd: float) -> Callable[[TickState], Rows]:
    """Return the task that takes the origin of a frame to a position."""

    def rows(s: TickState) -> Rows:
        place, rate, push = target_at(target, s.t, 3)
        T, J, drift = (s.terms[f"{what} of {frame}"] for what in ("pose", "J", "drift"))
        wanted = push + kd * (rate - J[:3] @ s.u) + kp * (place - T[:3, 3])
        return J[:3], wanted - drift[:3]

    return rows


def orientation_rows(
    frame: str, target: Target, kp: float, kd: float
) -> Callable[[TickState], Rows]:
    """Return the task that turns a frame to an orientation, a 3 x 3 matrix."""

    def rows(s: TickState) -> Rows:
        wanted = np.asarray(target(s.t) if callable(target) else target, dtype=float)
        square = wanted.shape == (3, 3) and np.allclose(wanted @ wanted.T, np.eye(3), atol=1e-6)
        if not (square and np.linalg.det(wanted) > 0):
            raise InputError(
                f"the orientation asked of {frame!r} is not a rotation matrix",
                remedy="give three rows, orthogonal, of length 1 and right-handed",
            )
        T, J, drift = (s.terms[f"{what} of {frame}"] for what in ("pose", "J", "drift"))
        error = rotation_vectors(wanted @ T[:3, :3].T)
        return J[3:], kp * error - kd * (J[3:] @ s.u) - drift[3:]

    return rows


def pose_rows(frame: str, target: Target, kp: float, kd: float) -> Callable[[TickState], Rows]:
    """Return the task that takes a frame to a homogeneous 4 x 4 matrix."""

    def matrix(given: Any) -> Array:
        if np.shape(given) != (4, 4) or not np.allclose(given[3], [0, 0, 0, 1]):
            raise InputError(
                f"the pose asked of {frame!r} is not a homogeneous 4 x 4 matrix",
                remedy="give a rotation and a position above 0, 0, 0, 1",
            )
        return np.asarray(given, dtype=float)

    def part(rows: slice, column: slice | int) -> Target:
        if callable(target):
            return lambda t: matrix(target(t))[rows, column]
        return matrix(target)[rows, column]

    place = position_rows(frame, part(slice(3), 3), kp, kd)
    turn = orientation_rows(frame, part(slice(3), slice(3)), kp, kd)

    def rows(s: TickState) -> Rows:
        (A, b), (C, d) = place(s), turn(s)
        return np.concatenate([A, C]), np.concatenate([b, d])

    return rows


def center_rows(target: Target, kp: float, kd: float) -> Callable[[TickState], Rows]:
    """Return the task that takes the center of mass to a position."""

    def rows(s: TickState) -> Rows:
        place, rate, push = target_at(target, s.t, 3)
        c, J, A = s.terms["c"], s.terms["Jc"], s.terms["A"]
        k = np.unravel_index(np.argmax(np.abs(J)), J.shape)
        drift = s.terms["momentum drift"][:3] * (J[k] / A[k])  # over the mass of what can move
        return J, push + kd * (rate - J @ s.u) + kp * (place - c) - drift

    return rows


def momentum_rows(gain: float) -> Callable[[TickState], Rows]:
    """Return the task that lets the angular momentum about the center of mass fade."""

    def rows(s: TickState) -> Rows:
        A = s.terms["A"][3:]
        return A, -gain * (A @ s.u) - s.terms["momentum drift"][3:]

    return rows


def posture_rows(
    joints: Sequence[tuple[int, int]], target: Sequence[float], kp: float, kd: float
) -> Callable[[TickState], Rows]:
    """Return the task that brings joints (coordinate, speed) to angles."""
    coordinates = np.array([q for q, _ in joints], dtype=int)
    speeds = np.array([u for _, u in joints], dtype=int)
    wanted = np.array(target, dtype=float)

    def rows(s: TickState) -> Rows:
        A = np.zeros((len(speeds), len(s.u)))
        A[np.arange(len(speeds)), speeds] = 1.0
        return A, kp * (wanted - s.q[coordinates]) - kd * s.u[speeds]

    return rows


def named_targets(
    target: Mapping[str, float] | Sequence[float], names: Sequence[str], neutral: Sequence[float]
) -> list[float]:
    """Return a number for each joint, of a mapping by name or of a sequence in order."""
    if isinstance(target, Mapping):
        unknown = [name for name in target if name not in names]
        if unknown:
            raise InputError(
                f"posture names {unknown[0]!r}, which the controller does not drive",
                remedy=f"its joints are {', '.join(names)}",
            )
        given = [target.get(n, x) for n, x in zip(names, neutral, strict=True)]
    else:
        given = list(target)
        if len(given) != len(names):
            raise InputError(f"posture has {len(given)} numbers for {len(names)} driven joints")
    return [checked(x, f"posture of {n!r}") for n, x in zip(names, given, strict=True)]
