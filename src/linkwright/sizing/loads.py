"""What a joint asks of any drive: sums over the samples that no motor changes.

The torque at the motor's shaft is linear in six series of the joint. With the ratio n, efficiency e
and inertia J of a drive it is

    T+ /(n e) + T- e/n + T0/n + J n a + b n w + f sign(w),

where T+ is the joint's torque while the motor drives, T- while the load drives (there the losses of
the gear help to brake), T0 at rest. So mean squares of all drives come from one matrix of 6 x 6
means, and peaks from products with the six series.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.sizing.cycle import JointCycle
from linkwright.sizing.life import average_speed, average_torque

__all__ = ["SERIES", "JointLoad"]

Array: TypeAlias = NDArray[Any]

SERIES = ("driving", "driven", "resting", "acceleration", "speed", "direction")
FEW = 1000
"""Samples that are all looked at for peaks."""

MOST_BINS = 128
"""How many intervals the losses of a cycle are taken together in while drives are compared."""


@dataclass(frozen=True)
class JointLoad:
    """One joint's cycle, prepared for the comparison of drives.

    Args:
        cycle: of the joint.
        inertia: about the joint at each sample, kg·m² or kg; None where it is not known.
        still: what has to be held at each sample with everything at rest, N·m or N.
    """

    cycle: JointCycle
    inertia: Array | None = None
    still: Array | None = None
    _kept: dict[float, float] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def series(self) -> Array:
        """The six series, (n, 6)."""
        c = self.cycle
        flow = c.torque * c.speed
        return np.stack(
            [
                np.where(flow > 0.0, c.torque, 0.0),
                np.where(flow < 0.0, c.torque, 0.0),
                np.where(flow == 0.0, c.torque, 0.0),
                c.acceleration,
                c.speed,
                np.sign(c.speed),
            ],
            axis=1,
        )

    @cached_property
    def extremes(self) -> Array:
        """The series at samples among which any drive has its largest torque and voltage.

        While the direction of speed and of power stays the same, both are linear in torque,
        acceleration and speed, so they are largest at corners of the convex hull of the samples.
        """
        c = self.cycle
        if c.samples <= FEW:
            return self.series
        points = np.stack([c.torque, c.acceleration, c.speed], axis=1)
        kind = 3 * np.sign(c.torque * c.speed) + np.sign(c.speed)
        kept = [_corners(points, np.flatnonzero(kind == k)) for k in np.unique(kind)]
        return np.asarray(self.series[np.concatenate(kept)])

    @cached_property
    def durations(self) -> Array:
        """Of the intervals between samples, s."""
        return np.diff(self.cycle.times)

    @cached_property
    def weights(self) -> Array:
        """Of the samples in a mean over time (trapezoids), s."""
        w = np.zeros(self.cycle.samples)
        w[1:] += 0.5 * self.durations
        w[:-1] += 0.5 * self.durations
        return w

    @cached_property
    def _bins(self) -> Array:
        """The first interval of each group of intervals that heat is counted in."""
        c = self.cycle
        if c.samples - 1 <= MOST_BINS:
            return np.arange(c.samples - 1)
        edges = c.times[0] + c.duration * np.arange(MOST_BINS) / MOST_BINS
        return np.unique(np.searchsorted(c.times[:-1], edges))

    @cached_property
    def bin_durations(self) -> Array:
        """Of the groups, s."""
        return np.asarray(np.add.reduceat(self.durations, self._bins))

    @cached_property
    def bin_squares(self) -> Array:
        """Mean products of the series in each group, (groups, 6, 6), linear between samples."""
        return self.squares(self._bins, self.bin_durations)

    def squares(self, starts: Array, durations: Array) -> Array:
        """Return the mean products of the series over groups of intervals."""
        s = self.series
        first, second = s[:-1], s[1:]
        both = first + second
        weight = (self.durations / 6.0)[:, None, None]
        # integral of the product of two straight lines: (aa + bb + (a + b)(a + b)) h/6
        whole = weight * (
            first[:, :, None] * first[:, None, :]
            + second[:, :, None] * second[:, None, :]
            + both[:, :, None] * both[:, None, :]
        )
        return np.asarray(np.add.reduceat(whole, starts, axis=0) / durations[:, None, None])

    @cached_property
    def mean_squares(self) -> Array:
        """Mean products of the series over the cycle, (6, 6)."""
        whole = np.einsum("b,bij->ij", self.bin_durations, self.bin_squares)
        return np.asarray(whole / self.cycle.duration)

    @cached_property
    def bin_speed(self) -> Array:
        """Mean of the speed's magnitude in each group; (groups,)."""
        w = np.abs(self.cycle.speed)
        mean = 0.5 * (w[1:] + w[:-1]) * self.durations
        return np.asarray(np.add.reduceat(mean, self._bins) / self.bin_durations)

    @cached_property
    def mean_speed(self) -> float:
        """Mean of the speed's magnitude, with pauses."""
        return average_speed(self.cycle.speed, self.weights)

    def average(self, exponent: float) -> float:
        """Return the average torque with an exponent of life."""
        if exponent not in self._kept:
            self._kept[exponent] = average_torque(
                self.cycle.torque, self.cycle.speed, self.weights, exponent
            )
        return self._kept[exponent]

    @cached_property
    def peak(self) -> tuple[float, int]:
        """Largest torque at the gear's output, and its sample."""
        at = int(np.argmax(np.abs(self.cycle.torque)))
        return float(abs(self.cycle.torque[at])), at

    @cached_property
    def fastest(self) -> tuple[float, int]:
        """Largest speed, and its sample."""
        at = int(np.argmax(np.abs(self.cycle.speed)))
        return float(abs(self.cycle.speed[at])), at

    @cached_property
    def holding(self) -> tuple[float, int]:
        """Largest torque that a brake has to hold, and its sample.

        Without a robot it is that of the samples at rest, or of all where none is at rest.
        """
        held = self.still
        if held is None:
            slow = self.cycle.speed == 0.0
            resting = np.abs(np.where(slow, self.cycle.torque, 0.0))
            held = resting if slow.any() else self.cycle.torque
        at = int(np.argmax(np.abs(held)))
        return float(abs(held[at])), at

    @cached_property
    def stops(self) -> tuple[Array, Array, Array]:
        """Samples among which an emergency stop is worst: inertia, other torque, index.

        The gear's torque in a stop is a fraction of two linear functions of both, so its largest
        value is at a corner of their convex hull.
        """
        if self.inertia is None:
            nothing = np.zeros(0)
            return nothing, nothing, nothing.astype(int)
        rest = np.abs(self.cycle.torque - self.inertia * self.cycle.acceleration)
        corners = _hull(self.inertia, rest)
        return self.inertia[corners], rest[corners], corners


def _hull(x: Array, y: Array) -> Array:
    """Return the corners of the convex hull of points in a plane."""
    corners = _corners(np.stack([x, y], axis=1), np.arange(len(x)))
    if len(corners) < len(x) or len(x) < 3:
        return corners
    order = np.lexsort((y, x))  # all on a line: its ends are the corners
    return np.unique(order[[0, -1]])


def _corners(points: Array, which: Array) -> Array:
    """Return those of some points at corners of their convex hull; all, where it is flat.

    Coordinates in which the points do not differ are left out; in one, the corners are two ends.
    """
    from scipy.spatial import ConvexHull, QhullError

    if len(which) <= points.shape[1] + 1:
        return which
    some = points[which]
    some = some[:, (some != some[0]).any(axis=0)]
    if some.shape[1] == 0:
        return np.asarray(which[:1])
    if some.shape[1] == 1:
        return np.asarray(which[np.unique([np.argmin(some), np.argmax(some)])])
    try:
        return np.asarray(which[ConvexHull(some).vertices])
    except (QhullError, ValueError):
        return which
