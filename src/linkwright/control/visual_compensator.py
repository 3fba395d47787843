"""The compensator of a visual tracker: K (z - b)/(z - 1), holding speed over fields it missed.

A region's centroid is to stay at a place in the picture. Its error, times K_obs (m per pixel), goes
through K (z - b)/(z - 1) to a rate. The robot integrates the rate, so that the loop has two poles
at 1: a target that moves steadily is followed without error. With three samples of delay (a field
is read out during one, looked at during another, and the robot answers after a third) its open loop
is K (z - b)/(z^3 (z - 1)^2); K = 0.12 and b = 0.95 put its slow poles at 0.9149 +- 0.0619j.

A sample is what the robot takes rates at (28 ms in the report), which need not be the time of a
field: the report's 1.3 s are 46.5 samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import SupportsFloat

import numpy as np

from linkwright.algebra import ONE, Expr, equal, where
from linkwright.blocks import Block, BlockError, Rate, checked, checked_all
from linkwright.control.servo import saturate


class VisualCompensator(Block):
    """The report's law from errors in a picture to rates of a robot, with its integral.

    Inputs: `error`, one for each axis (pixels: where the target is, less where it should be);
    `seen`, 0 where the error is not known; `field`, the number of the field it was taken from: a
    number that has not changed is a field that was missed. Where nothing drives `field`, there is
    one at each instant. Outputs: `velocity` (m/s, along the camera's axes: where it goes), which
    holds while nothing is seen; `missed`, for how many instants; `lost`, 1 once these are more than
    `patience`: then the robot stops and begins anew.

    Args:
        axes: of the picture that are controlled.
        gain: K.
        zero: b.
        scale: K_obs, what a pixel is at the target, m: one for all axes, or one for each.
        limit: greatest rate of each axis, m/s.
        patience: instants for which the rate is held where nothing is seen.
        name: of the block.
        rate: hertz or a `Rate`.

    >>> VisualCompensator(2, scale=1e-3, rate=60)
    VisualCompensator(tracker: error, seen, field -> velocity, missed, lost)
    """

    needs_rate = True
    """It works at instants."""

    def __init__(
        self,
        axes: int = 2,
        *,
        gain: float = 0.12,
        zero: float = 0.95,
        scale: float | Sequence[float] = 1.0,
        limit: float = math.inf,
        patience: float = 30.0,
        name: str = "tracker",
        rate: Rate | float | Fraction | None = None,
    ) -> None:
        super().__init__(name, rate=rate, doc="visual tracker")
        n = axis_count(axes, name)
        K = self.parameter("gain", gain, unit="1", lower=0.0)
        b = self.parameter("zero", zero, unit="1")
        most = tracking_gain_limit(zero, 0)
        if gain >= most:
            raise BlockError(
                f"the gain of {name!r} is {gain:g}, with which no loop is stable",
                remedy=f"give less than {most:.4g}, and with three samples of delay less than "
                f"{tracking_gain_limit(zero, 3):.3g}",
            )
        self.require((b > 0) & (b < 1) & (K * (1 + b) < 4), "or no loop is stable")
        sizes = [
            self.parameter(f"scale{i}", x, unit="m", sign="positive")
            for i, x in enumerate(per_axis(scale, n, f"scale of {name!r}"))
        ]
        top = None
        if checked(limit, f"limit of {name!r}", above=0, finite=False) < math.inf:
            top = self.parameter("limit", limit, unit="m/s", sign="positive")
        error = self.input_vector("error", n, unit="1", doc="in the picture, pixels")
        missed, fresh, lost = sightings(self, patience)
        new = self.intermediate(where(fresh > 0, 1, 0))
        rates = []
        for i in range(n):
            before = self.discrete_state(f"error{i}_before", unit="1")
            kept = self.discrete_state(f"rate{i}_kept", unit="m/s")
            step = K * sizes[i] * (error[i] - b * before) / self.period
            going = kept + step if top is None else saturate(kept + step, -top, top)
            value = self.intermediate(where(new > 0, going, where(lost > 0, 0, kept)))
            self.update(kept, value)
            self.update(before, where(new > 0, error[i], where(lost > 0, 0, before)))
            rates.append(value)
        self.output_vector("velocity", rates, unit="m/s", doc="along the camera's axes")
        self.output("missed", missed, unit="1", doc="instants without a field")
        self.output("lost", lost, unit="1", doc="1 where nothing has been seen for too long")


def sightings(block: Block, patience: float) -> tuple[Expr, Expr, Expr]:
    """Give a law the ports `seen` and `field`, and return what it missed.

    That is for how many instants there was no field, whether there is a new one now, and whether
    there was none for too long.

    >>> law = Block("law", rate=60)
    >>> missed, fresh, lost = sightings(law, 30)
    >>> list(law.inputs)
    ['seen', 'field']
    """
    most = block.parameter("patience", patience, unit="1", lower=0.0)
    seen = block.input("seen", 1.0, unit="1", doc="0 where the target is not seen")
    ticks = block.discrete_state("instants", unit="1", initial=1.0)
    block.update(ticks, ticks + 1)
    field = block.input("field", ticks, unit="1", doc="number of the field; its own by default")
    last = block.discrete_state("last_field", field, unit="1")
    since = block.discrete_state("missed_before", unit="1")
    fresh = block.intermediate(where(~equal(field, last) & (seen > 0.5), 1, 0))
    missed = block.intermediate(where(fresh > 0, 0, since + ONE))
    block.update(since, missed)
    return missed, fresh, block.intermediate(where(missed > most, 1, 0))


def axis_count(axes: int, name: str) -> int:
    """Return a number of axes, or say why it is wrong.

    >>> axis_count(2, "law")
    2
    """
    found = checked(axes, f"axes of {name!r}", least=1)
    if not found.is_integer():
        raise BlockError(f"axes of {name!r} is {found:g}", remedy="give a whole number")
    return int(found)


def per_axis(given: float | Sequence[float], count: int, what: str) -> tuple[float, ...]:
    """Return a positive number for each axis.

    >>> per_axis(2.0, 2, "scale")
    (2.0, 2.0)
    """
    if isinstance(given, SupportsFloat):
        return (checked(given, what, above=0),) * count
    return tuple(checked(x, what, above=0) for x in checked_all(given, what, count=count))


def tracking_gain_limit(zero: float = 0.95, delay: int = 3) -> float:
    """Return the gain at which the loop of a visual tracker begins to be unstable.

    Args:
        zero: b.
        delay: samples, besides that of the robot's integral.

    >>> round(tracking_gain_limit(), 3)
    0.419
    """
    if checked(zero, "zero") >= 1:
        return 0.0
    low, high = 0.0, 4.0 / (1.0 + zero) if zero > -1 else 4.0
    for _ in range(60):
        middle = (low + high) / 2
        stable = max(map(abs, tracking_poles(middle, zero, delay))) < 1
        low, high = (middle, high) if stable else (low, middle)
    return high


def tracking_poles(gain: float = 0.12, zero: float = 0.95, delay: int = 3) -> list[complex]:
    """Return the poles of the loop of a visual tracker: z^d (z - 1)^2 + K (z - b) = 0.

    Args:
        gain: K.
        zero: b.
        delay: samples, besides that of the robot's integral.

    >>> slow = max(tracking_poles(), key=lambda z: z.imag + z.real)
    >>> round(slow.real, 4), round(slow.imag, 4)
    (0.9149, 0.0619)
    """
    steps = checked(delay, "delay", least=0)
    open_loop = np.zeros(int(steps) + 3)
    open_loop[:3] = (1.0, -2.0, 1.0)
    open_loop[-2:] += (checked(gain, "gain"), -gain * checked(zero, "zero"))
    return [complex(z) for z in np.roots(open_loop)]
