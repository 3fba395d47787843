"""Frames in which poses are given: they may stand, move, or be seen by sensors.

What comes in is a pose, its twist and its acceleration, as they were `age` seconds ago. What a
chain uses is a filter of third order that follows it, three poles at -bandwidth, with the limits
of the tool on the way there: a frame that jumps moves the tool smoothly, one that moves evenly is
followed without lag. While no leg uses a frame the filter is where the frame is. Where the chain
brakes, the frames that it follows brake too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwright.algebra import (
    ZERO,
    Expr,
    absolute,
    cos,
    equal,
    maximum,
    minimum,
    sin,
    sqrt,
    total,
    where,
)
from linkwright.algebra.triples import Hold, Quaternion, Triple, add, conjugate, held, times
from linkwright.blocks import Block
from linkwright.motion.chains.goals import every
from linkwright.motion.chains.poses import UNIT, MovingVector, Pose, Turning, multiplied
from linkwright.motion.chains.records import chosen

_HUGE = 1e9
_JERK = 100.0  # 1/s: braking with the tool's whole acceleration begins within 10 ms at least
BASE = Pose(MovingVector((ZERO, ZERO, ZERO)), Turning(UNIT))
"""The frame in which the arm stands."""


def grown(hold: Hold, vector: Sequence[Expr], q: Sequence[Expr]) -> Quaternion:
    """Return a unit quaternion that is turned further by a rotation vector."""
    square = hold(total(x**2 for x in vector) + 1e-300)
    half = hold(sqrt(square) / 2)
    factor = hold(sin(half) / (2 * half))
    turned = multiplied(hold, (hold(cos(half)), *(hold(factor * x) for x in vector)), q)
    size = hold(sqrt(total(x**2 for x in turned)))
    w, x, y, z = (hold(v / size) for v in turned)
    return w, x, y, z


@dataclass(frozen=True, slots=True)
class _Target:
    """Where a frame is said to be."""

    at: Triple
    turn: Quaternion
    twist: tuple[Expr, ...]
    bend: tuple[Expr, ...]


class MovingFrame:
    """A frame of a chain: its ports and its filter."""

    def __init__(
        self,
        block: Block,
        name: str,
        bandwidth: float,  # of the filter, 1/s
        limit: float,  # s, the age from which on the frame is not followed
        bounds: Sequence[tuple[Expr, Expr]],
    ) -> None:
        self._block, self.name, self._bounds = block, name, bounds
        self._pose = block.input_vector(
            f"{name}_pose", 7, [0, 0, 0, 1, 0, 0, 0], doc="of the frame"
        )
        self._twist = block.input_vector(f"{name}_twist", 6, doc="m/s and rad/s")
        self._bend = block.input_vector(f"{name}_acceleration", 6, doc="rates of the twist")
        age = block.input(f"age_{name}", unit="s", doc="since that was so")
        self._bandwidth = block.parameter(f"{name}_bandwidth", bandwidth, unit="1/s")
        self.limit = block.parameter(f"{name}_limit", limit, unit="s", sign="positive")
        d = block.discrete_state
        size = total(x**2 for x in self._pose[3:])
        known = [absolute(x) < _HUGE for x in (*self._pose, *self._twist, *self._bend, age)]
        self._sane = block.intermediate(every(known) & (absolute(size - 1) < 0.01))
        self._age = block.intermediate(where(self._sane, maximum(age, 0), ZERO))
        parts = {"x": (0.0,) * 3, "q": (1.0, 0.0, 0.0, 0.0), "v": (0.0,) * 6, "a": (0.0,) * 6}
        self._states = {
            key: [d(f"{name}_{key}{k}", initial=x) for k, x in enumerate(values)]
            for key, values in parts.items()
        }

    @property
    def pose(self) -> Pose:
        """Where the chain takes it to be."""
        s = self._states
        x, v, a = s["x"], s["v"], s["a"]
        w, i, j, k = s["q"]
        return Pose(
            MovingVector((x[0], x[1], x[2]), (v[0], v[1], v[2]), second=(a[0], a[1], a[2])),
            Turning((w, i, j, k), (v[3], v[4], v[5]), second=(a[3], a[4], a[5])),
        )

    @property
    def stale(self) -> Expr:
        """Whether what is known of it is too old."""
        return self._block.intermediate((1 - self._sane) | (self._age > self.limit))

    def _target(self) -> _Target:
        """Return where the frame is by now, as it went on since it was seen."""
        let, s = self._block.intermediate, self._states

        def sane(given: Sequence[Expr], otherwise: Sequence[Expr]) -> tuple[Expr, ...]:
            pairs = zip(given, otherwise, strict=True)
            return tuple(let(where(self._sane, x, y)) for x, y in pairs)

        pose, nothing = sane(self._pose, [*s["x"], *s["q"]]), [ZERO] * 6
        twist, bend = sane(self._twist, nothing), sane(self._bend, nothing)
        at = held(let, add(pose[:3], times(self._age, twist[:3])))
        turn = grown(let, [let(self._age * w) for w in twist[3:]], pose[3:])
        return _Target(at, turn, twist, bend)

    def update(self, used: Expr, brake: Expr) -> None:
        """Say how the filter goes on."""
        block, let = self._block, self._block.intermediate
        h, s, now = block.period, self._states, self._target()
        turn = multiplied(let, now.turn, conjugate(s["q"]))
        side = let(where(turn[0] < 0, -2, 2))
        way = [*(a - x for a, x in zip(now.at, s["x"], strict=True)), *(side * e for e in turn[1:])]
        going = block.intermediate(1 - brake)
        jerk: list[Expr] = []
        for i, bound in zip((0, 3), self._bounds, strict=True):
            part = slice(i, i + 3)
            jerk += self._jerk(going, way[part], now.twist[part], now.bend[part], part, bound)
        moved = [
            let(h * v + h**2 * a / 2 + h**3 * j / 6)
            for v, a, j in zip(s["v"], s["a"], jerk, strict=True)
        ]
        for x, dx, at in zip(s["x"], moved[:3], now.at, strict=True):
            block.update(x, where(used, x + dx, at))
        for x, y, at in zip(s["q"], grown(let, moved[3:], s["q"]), now.turn, strict=True):
            block.update(x, where(used, y, at))
        for v, a, j, twist in zip(s["v"], s["a"], jerk, now.twist, strict=True):
            block.update(v, where(used, v + h * a + h**2 * j / 2, twist))
        for a, j, bend in zip(s["a"], jerk, now.bend, strict=True):
            block.update(a, where(used, a + h * j, bend))

    def _jerk(
        self,
        going: Expr,
        way: Sequence[Expr],
        twist: Sequence[Expr],
        bend: Sequence[Expr],
        part: slice,
        bound: tuple[Expr, Expr],
    ) -> list[Expr]:
        """Return the jerk of places or turns: a speed toward the frame, and what it takes."""
        let, k = self._block.intermediate, self._bandwidth
        v, a = self._states["v"][part], self._states["a"][part]
        speed, acceleration = bound
        far = let(_size(way))
        gain = let(minimum(k / 3, minimum(speed, sqrt(acceleration * far)) / far) * going)
        pulls = [let(k * (going * w + gain * e - x)) for w, e, x in zip(twist, way, v, strict=True)]
        scale = let(minimum(1, acceleration / _size(pulls)))
        jerk = [
            let(3 * k * (going * b + scale * p - x)) for b, p, x in zip(bend, pulls, a, strict=True)
        ]
        calm = let(maximum(going, minimum(1, _JERK * acceleration / _size(jerk))))
        return [let(calm * j) for j in jerk]


def _size(v: Sequence[Expr]) -> Expr:
    return sqrt(total(x**2 for x in v) + 1e-30)


def frame_of(hold: Hold, frames: Sequence[MovingFrame], number: Expr) -> Pose:
    """Return the frame with a number: the base is 0."""
    found = BASE
    for k, frame in enumerate(frames):
        found = chosen(hold(equal(number, k + 1)), frame.pose, found, hold)
    return found
