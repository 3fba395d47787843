"""Motions that distinguish the parameters of a robot.

Each joint follows a few harmonics of one frequency (Swevers et al., IEEE Trans. Robotics and
Automation 13, 1997), so that the motion is periodic and its speeds and accelerations are exact. Of
many such motions within the limits, the one is kept whose regressor has the smallest condition
number, its columns scaled to equal length.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError
from linkwright.base.results import Result
from linkwright.motion import Sines

if TYPE_CHECKING:
    from linkwright.robots.robot import Robot

Array = NDArray[np.float64]
_ROOM = 0.9  # share of the limits that is used
_WIDE = math.pi / 2  # on either side, for joints without limits
_FAST = 2.0  # rad/s or m/s, for joints without limits of speed


@dataclass(frozen=True, slots=True)
class Excitation(Result):
    """A motion to record, and how well it distinguishes parameters.

    Args:
        motion: of the coordinates over time.
        period: after which it repeats, s.
        condition: condition number of the scaled base regressor over it.

    >>> motion = Excitation(Sines([0.3], [[(0.1, 0, 1)]]), period=1.0, condition=20.0)
    >>> motion.sampled(4)[0].tolist()
    [0.0, 0.25, 0.5, 0.75]
    """

    motion: Sines
    period: float
    condition: float
    _units = (("period", "s"),)

    def sampled(self, rate: float) -> tuple[Array, Array, Array, Array]:
        """Return times, coordinates, speeds and accelerations over one period.

        Args:
            rate: samples in a second.
        """
        t = np.arange(math.floor(self.period * rate + 0.5)) / rate
        return t, self.motion(t), self.motion(t, 1), self.motion(t, 2)


def excite(
    robot: Robot,
    *,
    period: float = 10.0,
    harmonics: int = 5,
    trials: int = 100,
    samples: int = 60,
    seed: int = 0,
) -> Excitation:
    """Return a periodic motion within the limits that distinguishes the inertial parameters.

    Args:
        robot: with joints of one degree of freedom.
        period: of the motion, s.
        harmonics: of each joint.
        trials: motions to compare.
        samples: states of each that are looked at.
        seed: of the trials.

    >>> import linkwright as lw
    >>> motion = excite(lw.Robot(lw.load("double-pendulum")), trials=2, samples=20)
    >>> motion.period, motion.condition < 1e4
    (10.0, True)
    """
    if len(robot.coordinates) != len(robot.speeds):
        raise InputError("only robots with joints of one degree of freedom can be excited so")
    rng = np.random.default_rng(seed)
    best: Excitation | None = None
    for _ in range(trials):
        motion = _within(robot, rng, period, harmonics)
        t = np.arange(samples) * (period / samples)
        rows = robot.base_regressor(motion(t), motion(t, 1), motion(t, 2))
        condition = scaled_condition(rows.reshape(-1, rows.shape[-1]))
        if best is None or condition < best.condition:
            best = Excitation(motion, period, condition)
    if best is None:
        raise InputError("there must be at least one trial")
    return best


def scaled_condition(matrix: Array) -> float:
    """Return the condition number of a matrix with columns of equal length.

    >>> scaled_condition(np.diag([1.0, 100.0]))
    1.0
    """
    sizes = np.linalg.norm(matrix, axis=0)
    return float(np.linalg.cond(matrix / np.where(sizes > 0, sizes, 1.0)))


def _within(robot: Robot, rng: np.random.Generator, period: float, harmonics: int) -> Sines:
    """Return a random motion that uses the room between the limits."""
    low, high = robot.limits.T
    free = ~(np.isfinite(low) & np.isfinite(high))
    low, high = np.where(free, -_WIDE, low), np.where(free, _WIDE, high)
    fastest = np.where(np.isfinite(robot.speed_limits), robot.speed_limits, _FAST)
    sines, offsets = [], []
    t = np.arange(40 * harmonics) * (period / (40 * harmonics))
    for k in range(len(low)):
        amplitudes = rng.normal(size=harmonics) / np.arange(1, harmonics + 1)
        phases = rng.uniform(-math.pi, math.pi, harmonics)
        terms = [
            (float(a), float(p), (n + 1) / period)
            for n, (a, p) in enumerate(zip(amplitudes, phases, strict=True))
        ]
        wave = Sines([0.0], [terms])
        shape, speed = wave(t)[:, 0], np.abs(wave(t, 1)).max()
        room = _ROOM * (high[k] - low[k]) / np.ptp(shape)
        scale = float(min(room, _ROOM * fastest[k] / speed) * rng.uniform(0.5, 1.0))
        middle = (shape.max() + shape.min()) / 2 * scale
        slack = (high[k] - low[k]) * _ROOM - np.ptp(shape) * scale
        offset = (low[k] + high[k]) / 2 - middle + rng.uniform(-0.5, 0.5) * max(slack, 0.0)
        sines.append([(a * scale, p, f) for a, p, f in terms])
        offsets.append(float(offset))
    return Sines(offsets, sines)
