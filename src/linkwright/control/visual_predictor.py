"""A visual tracker that predicts: it takes its own motion and the delays out of the loop.

A field that arrives says where the target was, relative to where the camera was when the field was
taken. With the camera's own place known (it moves as commanded), the target's place and speed are
estimated by a Kalman filter with a constant speed, disturbed by random accelerations (Bar-Shalom,
Li and Kirubarajan 2001, 6.3.2). The law aims at where the target will be when the robot answers:

    velocity = speed of the target + gain (target ahead - camera ahead) / period

so that errors die out as (1 - gain)^k, whatever the delay (the idea of Smith 1957). Where fields
are missing, or the target is hidden, the filter goes on with the speed that it knows. A field that
does not fit (a target that has jumped) begins its place anew, and keeps its speed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from linkwright.algebra import Expr, total, where
from linkwright.blocks import Block, BlockError, Rate, checked
from linkwright.control.kalman_filter import (
    correct_by_one,
    follow_covariance,
    moved_covariance,
)
from linkwright.control.servo import saturate
from linkwright.control.visual_compensator import axis_count, per_axis, sightings

_FAR = 1e6
"""pixels^2, the variance of a place of which nothing is known."""
_RANDOM = np.array([[0.25, 0.5], [0.5, 1.0]])
"""Covariance of place and step that a random acceleration of 1 over one instant leaves."""


class VisualPredictor(Block):
    """A tracker with a Kalman filter for the target, with the ports of `VisualCompensator`.

    Inputs: `error` (pixels: where the target is in the picture, less where it should be), `seen`
    and `field` as there; `own`, where the camera is now along its axes (m; reckoned from what it
    sent to the robot where nothing is connected). Outputs: `velocity` (m/s), `target` and
    `target_rate` (m and m/s: where the target is believed to be when the robot answers), `missed`,
    `lost`.

    Args:
        axes: of the picture that are controlled.
        gain: part of the error that is taken away in one instant, above 0 and at most 1.
        scale: what a pixel is at the target, m: one for all axes, or one for each.
        readout: instants from the exposure of a field until it arrives.
        answer: instants from a command until the robot moves as commanded.
        noise: standard deviation of an error that is seen, pixels.
        acceleration: deviation of the target's acceleration, m/s^2.
        step: deviation of the speed of a target that is seen for the first time, pixels per
            instant.
        gate: how many deviations away from what is expected a target has jumped.
        limit: greatest velocity of each axis, m/s.
        patience: instants for which it goes on without seeing anything.
        name: of the block.
        rate: hertz or a `Rate`.

    >>> VisualPredictor(1, scale=1e-3, rate=60)
    VisualPredictor(tracker: error, seen, field, own -> velocity, target, target_rate, missed, lost)
    """

    needs_rate = True
    """It works at instants."""

    def __init__(
        self,
        axes: int = 2,
        *,
        gain: float = 0.3,
        scale: float | Sequence[float] = 1.0,
        readout: int = 1,
        answer: int = 2,
        noise: float = 0.5,
        acceleration: float = 1.0,
        step: float = 10.0,
        gate: float = 6.0,
        limit: float = math.inf,
        patience: float = 60.0,
        name: str = "tracker",
        rate: Rate | float | Fraction | None = None,
    ) -> None:
        super().__init__(name, rate=rate, doc="visual tracker that predicts")
        n = axis_count(axes, name)
        self._gain = self.parameter("gain", gain, unit="1", sign="positive", upper=1.0)
        self._late, self._answer = (
            _whole(x, f"{key} of {name!r}") for key, x in (("readout", readout), ("answer", answer))
        )
        self._spread = checked(noise, f"noise of {name!r}", above=0) ** 2
        self._shake = self.parameter("acceleration", acceleration, unit="m/s^2", lower=0.0)
        self._first = checked(step, f"step of {name!r}", above=0)
        self._gate = self.parameter("gate", gate, unit="1", sign="positive")
        self._top = None
        if checked(limit, f"limit of {name!r}", above=0, finite=False) < math.inf:
            self._top = self.parameter("limit", limit, unit="m/s", sign="positive")
        sizes = [
            self.parameter(f"scale{i}", x, unit="m", sign="positive")
            for i, x in enumerate(per_axis(scale, n, f"scale of {name!r}"))
        ]
        error = self.input_vector("error", n, unit="1", doc="in the picture, pixels")
        missed, fresh, lost = sightings(self, patience)
        known = self.discrete_state("known", unit="1", doc="1 once a target has been seen")
        self.update(known, where(fresh > 0, 1, where(lost > 0, 0, known)))
        self._known, self._fresh, self._lost = known, fresh, lost
        reckoned = [self.discrete_state(f"own{i}", unit="m") for i in range(n)]
        own = self.input_vector("own", n, reckoned, unit="m", doc="place of the camera now")
        rows = [self._axis(i, error[i], own[i], reckoned[i], sizes[i]) for i in range(n)]
        going, place, speed = zip(*rows, strict=True)
        self.output_vector("velocity", going, unit="m/s", doc="along the camera's axes")
        self.output_vector("target", place, unit="m", doc="where the target will be")
        self.output_vector("target_rate", speed, unit="m/s", doc="how fast it moves")
        self.output("missed", missed, unit="1", doc="instants without a field")
        self.output("lost", lost, unit="1", doc="1 where nothing has been seen for too long")

    def _axis(
        self, i: int, error: Expr, own: Expr, reckoned: Expr, size: Expr
    ) -> tuple[Expr, Expr, Expr]:
        """Return what the robot is commanded along one axis, and what is believed of the target."""
        hold = self.intermediate
        then = self.delay(own, self._late, name=f"own{i}_then") if self._late else own
        x, w = self._estimate(i, hold(error + then / size), size)
        told = [self.discrete_state(f"told{i}_{j}", unit="m/s") for j in range(self._answer)]
        ahead = hold(own + self.period * total(told)) if told else own
        place = hold(size * (x + (self._late + self._answer) * w))
        speed = hold(size * w / self.period)
        wanted = hold(speed + self._gain * (place - ahead) / self.period)
        if self._top is not None:
            wanted = saturate(wanted, -self._top, self._top)
        seen = where((self._known > 0) | (self._fresh > 0), 1, 0)
        going = hold(where((seen > 0) & (self._lost < 0.5), wanted, 0))
        following = [going, *told]
        for memory, value in zip(told, following, strict=False):
            self.update(memory, value)
        self.update(reckoned, own + self.period * following[-1])
        return going, place, speed

    def _estimate(self, i: int, z: Expr, size: Expr) -> tuple[Expr, Expr]:
        """Return place and step of the target when the field was taken, pixels."""
        hold, r = self.intermediate, self._spread
        before, step = (self.discrete_state(f"{key}{i}", unit="1") for key in ("place", "step"))
        start = np.diag([_FAR, self._first**2])
        memory = [
            [self.discrete_state(f"P{i}_{a}{b}", initial=float(start[a, b])) for b in range(a + 1)]
            for a in range(2)
        ]
        jumped = (z - before) ** 2 > self._gate**2 * (memory[0][0] + r)
        anew = hold(where((self._fresh > 0) & ((self._known < 0.5) | jumped), 1, 0))
        begun = hold(where(self._known > 0, step, 0))
        P = [
            [hold(where(anew > 0, float(start[a, b]), memory[a][b])) for b in range(a + 1)]
            for a in range(2)
        ]
        (x, w), P, _ = correct_by_one(self, [before, begun], P, [1.0, 0.0], r, z, self._fresh)
        random = (self._shake * self.period**2 / size) ** 2
        after = moved_covariance(self, P, [[1.0, 1.0], [0.0, 1.0]], _RANDOM, random)
        follow_covariance(self, memory, after)
        self.update(before, x + w)
        self.update(step, w)
        return x, w


def _whole(value: int, what: str) -> int:
    found = checked(value, what, least=0)
    if not found.is_integer():
        raise BlockError(f"{what} is {found:g}", remedy="give a whole number of instants")
    return int(found)
