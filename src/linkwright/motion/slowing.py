"""Uniform slowing: the smallest factor on time with which a motion keeps its limits.

A motion that takes k times as long has speeds of 1/k, accelerations of 1/k^2 and, at each place,
forces g + v/k + d/k^2: weight and dry friction, viscous forces, and inertial ones (Hollerbach,
Journal of Dynamic Systems, Measurement, and Control 106, 1984). Every limit is a polynomial in 1/k,
so the factor is a root of one of them. The same formula says how much faster a motion may become.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwright.base.results import Result
from linkwright.motion.limits import Array, Limits, asked, force_parts
from linkwright.motion.trajectory import MotionError, Trajectory

_SAMPLES = 2000
_TURNS = 40  # for friction that follows other laws than dry and viscous
_MOST = 1e6  # the largest factor by which a motion may become faster


@dataclass(frozen=True, slots=True, eq=False)
class Slowing(Result):
    """How much longer a motion must take, and why.

    Args:
        factor: on time; below 1 the motion may become faster.
        limit: the name of the limit that asks for it.
        joint: the value that it belongs to; -1 for one of all values together.
        time: when, s, in the motion as it is; NaN for a limit over the whole cycle.
        motion: the motion with that factor.

    >>> from linkwright.motion import point_to_point
    >>> found = slowing(point_to_point([0], [1], 1.0), Limits(speed=1.0))
    >>> found.factor, found.limit, found.time
    (1.875, 'speed', 0.5)
    """

    factor: float
    limit: str
    joint: int
    time: float
    motion: Trajectory
    _units = (("time", "s"),)


def slowing(motion: Trajectory, limits: Limits, *, samples: int = _SAMPLES) -> Slowing:
    """Return the smallest factor on the time of a motion with which it keeps its limits.

    Where friction is neither dry nor viscous, the factor is found in a few turns, with friction
    as it is at the factor before.

    Args:
        motion: as it is meant.
        limits: of speed, acceleration, force, power and heat; without any, the factor is 0.
        samples: instants at which they are looked at.

    >>> from linkwright.motion import point_to_point
    >>> slowing(point_to_point([0], [1], 1.0), Limits(acceleration=5.7735)).factor.__round__(3)
    1.0
    """
    t = np.linspace(motion.instants[0], motion.instants[-1], samples + 1)
    parts = _forces(motion, limits, t)
    found = _needed(motion, limits, t, parts)
    for _ in range(_TURNS):
        r = 1 / found[0]
        if limits.dynamics is None or r >= _MOST:
            break
        state = motion(t), r * motion.speed(t), r * r * motion.acceleration(t)
        held = asked(limits.dynamics, state)[0] - parts[1] * r - parts[2] * r * r
        again = _needed(motion, limits, t, (held, *parts[1:]))
        settled = abs(again[0] - found[0]) <= 1e-12 * found[0]
        found = again
        if settled:
            break
    factor, name, joint, time = found
    return Slowing(factor, name, joint, time, motion.stretched(factor))


def _needed(
    motion: Trajectory, limits: Limits, t: Array, forces: tuple[Array, Array, Array]
) -> tuple[float, str, int, float]:
    """Return the factor, and the limit, value and time that ask for it."""
    speed, size = motion.speed(t), motion.size
    found = [(1 / _MOST, "none", -1, float("nan"))]

    def take(name: str, roots: Array, each: bool = True) -> None:
        point, *rest = np.unravel_index(int(np.argmin(roots)), roots.shape)
        joint = int(rest[0]) if each else -1
        found.append((float(1 / roots.min()), name, joint, float(t[point])))

    none = np.zeros_like(speed)
    plain = {"speed": (none, speed, none), "acceleration": (none, none, motion.acceleration(t))}
    for name, parts in {**plain, "effort": forces}.items():
        most = limits.of(name, size)
        if most is not None:
            g, v, d = parts
            take(name, _first([(d, v, g - most), (-d, -v, -g - most)]))
    stall, top = limits.of("stall", size), limits.of("no_load", size)
    if stall is not None and top is not None:
        sign = np.where(speed < 0, -1.0, 1.0)
        g, v, d = (sign * part for part in forces)
        fall = stall / top * np.abs(speed)
        take("stall", _first([(d, v + fall, g - stall), (-d, -v, -g - stall)]))
    for name, most_power, sign_ in (("power", limits.power, 1), ("braking", limits.braking, -1)):
        if most_power is not None:
            g, v, d = (sign_ * (part * speed).sum(axis=1) for part in forces)
            take(name, _first([(d, v, g, np.full_like(g, -most_power))]), each=False)
    heat = limits.of("continuous", size)
    if heat is not None:
        factor, joint = _heat(forces, heat, motion.duration, limits.rest)
        found.append((factor, "continuous", joint, float("nan")))
    return max(found, key=lambda f: f[0])


def _forces(motion: Trajectory, limits: Limits, t: Array) -> tuple[Array, Array, Array]:
    """Return forces that stay, viscous and inertial ones at instants."""
    q, u, a = motion(t), motion.speed(t), motion.acceleration(t)
    if limits.dynamics is None:
        return np.zeros_like(q), np.zeros_like(q), np.zeros_like(q)
    weight, dry, viscous, inertial = force_parts(limits.dynamics, q, u, a)
    return weight + dry, viscous, inertial


def _first(polynomials: list[tuple[Array, ...]]) -> Array:
    """Return the smallest positive root of polynomials, highest power first; `_MOST` for none."""
    found = np.full(np.shape(polynomials[0][0]), _MOST)
    for rows in polynomials:
        many = np.stack([np.broadcast_to(r, found.shape) for r in rows]).reshape(len(rows), -1)
        # in powers of 1/r the last coefficient leads, and it is never zero
        lead = many[-1]
        if np.any(lead >= 0):
            raise MotionError(
                "a limit is exceeded even at rest, so no slowing helps",
                remedy="raise the limit, or move the path",
                code="R723",
            )
        companion = np.zeros((many.shape[1], len(rows) - 1, len(rows) - 1))
        companion[:, 0, :] = (-many[-2::-1] / lead).T
        for k in range(1, len(rows) - 1):
            companion[:, k, k - 1] = 1.0
        inverse = np.linalg.eigvals(companion)
        size = np.abs(inverse).max(axis=1, initial=1 / _MOST)[:, None]
        real = (np.abs(inverse.imag) < 1e-9 * size) & (inverse.real > 1 / _MOST)
        largest = np.where(real, inverse.real, 1 / _MOST).max(axis=1)
        found = np.minimum(found, (1 / largest).reshape(found.shape))
    return found


def _heat(
    forces: tuple[Array, Array, Array], most: Array, duration: float, rest: float
) -> tuple[float, int]:
    """Return the factor with which the mean square of each force over a cycle is allowed."""
    g, v, d = forces
    pairs = (g * g, 2 * g * v, v * v + 2 * g * d, 2 * v * d, d * d)
    means = [_mean(p) for p in pairs]  # of powers 0 to 4 of r = 1/k
    held = g[-1] ** 2
    best = (1 / _MOST, -1)
    for j, limit in enumerate(most):
        # duration sum c_i r^(i-1) + rest held^2 = limit^2 (duration/r + rest)
        c = [duration * m[j] for m in means]
        c[0] -= duration * limit**2
        c[1] += rest * (held[j] - limit**2)
        if c[0] >= 0:
            raise MotionError(
                f"value {j} heats too much even at rest, so no slowing helps",
                remedy="raise continuous=, or give a longer rest=",
                code="R726",
            )
        first = float(_first([tuple(np.array([x]) for x in c[::-1])])[0])
        best = max(best, (1 / first, j))
    return best


def _mean(values: Array) -> Array:
    return np.asarray((values[:-1] + values[1:]).mean(axis=0) / 2)
