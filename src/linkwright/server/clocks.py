"""What a node's clock shows when the cell's clock shows something: offset, drift and a bound.

A node sends at `sent` (its clock), the cell gets it at `received` and answers at `answered` (the
cell's clock), the answer is back at `returned` (the node's clock). From these four stamps follow
the offset (cell minus node) and the delay of the round trip (Mills, RFC 5905, section 8):

    offset = ((received - sent) + (answered - returned)) / 2
    delay = (returned - sent) - (answered - received)

No message is there before it was sent. So the offset at `sent` is at most received - sent, and at
`returned` at least answered - returned: each exchange bounds it from both sides, whatever the paths
do. Over a window of exchanges the offset is a line (drift is constant but for a small wander), and
the lines that keep all bounds form a convex set (Zhang, Liu and Xia, Clock synchronization
algorithms for network measurements, INFOCOM 2002). Taken is the line with the drift that leaves the
widest strip between the bounds, in the middle of the strip: of one exchange this is the rule of the
least round trip. Its error is half the difference of the least delays of the two paths, which no
exchange of messages can measure; the bound is what the convex set leaves open.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import Error, InputError
from linkwright.blocks import checked

Array = NDArray[np.float64]
SECOND = 1_000_000_000
"""Nanoseconds in a second: clocks are whole numbers of them."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """Four time stamps of a question and its answer, ns.

    >>> e = Exchange(1_000_000, 5_000_000, 5_100_000, 3_100_000)
    >>> e.offset, e.delay
    (0.003, 0.002)
    """

    sent: int  # when the node sent the question, on its clock
    received: int  # when the cell had it, on the cell's clock
    answered: int  # when the cell sent the answer, on the cell's clock
    returned: int  # when the node had it, on its clock

    @property
    def offset(self) -> float:
        """The cell's clock minus the node's, s, if both paths took the same time."""
        return ((self.received - self.sent) + (self.answered - self.returned)) / 2 / SECOND

    @property
    def delay(self) -> float:
        """How long the messages were on their way, there and back, s."""
        return ((self.returned - self.sent) - (self.answered - self.received)) / SECOND


class Stamp(NamedTuple):
    """A time on the cell's clock.

    >>> Stamp(5, 1e-6).bound
    1e-06
    """

    time: int  # ns
    bound: float  # s, how far it may be off


@dataclass(frozen=True, slots=True)
class NodeClock:
    """A node's clock as the cell sees it, from a window of exchanges.

    >>> e = Exchange(1_000_000, 5_000_000, 5_100_000, 3_100_000)
    >>> clock = node_clock([e])
    >>> round(clock.offset, 6), round(clock.at(3_100_000).bound, 4)
    (0.003, 0.001)
    """

    reference: int  # on the node's clock, ns, for which the offset holds
    offset: float  # the cell's clock minus the node's, s
    drift: float  # how much faster the cell's clock runs, s/s; 2e-4 is 200 ppm
    delay: float  # the least round trip in the window, s
    exchanges: tuple[Exchange, ...]  # the window, oldest first
    # highest offsets that the exchanges allow: times (s after the reference) and offsets
    upper: tuple[tuple[float, float], ...]
    lower: tuple[tuple[float, float], ...]  # lowest offsets, in the same way
    drifts: tuple[float, float]  # least and greatest drift that the exchanges allow
    wander: float  # how fast drift may change, 1/s

    def at(self, time: int) -> Stamp:
        """Return what the cell's clock shows when the node's shows `time`, ns."""
        after = (time - self.reference) / SECOND
        shift = self.offset + self.drift * after
        high, low = self._limits(after)
        rough = self.wander * after**2 / 2
        return Stamp(
            time + round(shift * SECOND), max(high - shift, shift - low, 0.0) + rough + 1e-9
        )

    def _limits(self, after: float) -> tuple[float, float]:
        """Return the highest and lowest offset that any line in the window has at a time."""
        upper, lower = np.array(self.upper), np.array(self.lower)
        slopes = _slopes(upper, lower, self.drifts)
        high = (upper[:, 1] + slopes[:, None] * (after - upper[:, 0])).min(axis=1).max()
        low = (lower[:, 1] + slopes[:, None] * (after - lower[:, 0])).max(axis=1).min()
        return float(high), float(low)


def node_clock(
    exchanges: Iterable[Exchange],
    *,
    window: int = 64,
    most_drift: float = 5e-4,
    wander: float = 1e-8,  # the fastest change of drift that is thought possible, 1/s
) -> NodeClock:
    """Return a node's clock from exchanges with the cell, the newest last.

    Where no line keeps all bounds, the node's clock was set or the node started anew: the oldest
    exchanges are left out until one does.

    >>> node_clock([Exchange(0, 400, 500, 300), Exchange(1000, 1450, 1500, 1250)]).delay
    2e-07
    """
    count = int(checked(window, "window", least=1))
    limit = checked(most_drift, "most_drift", least=0.0, most=0.5)
    change = checked(wander, "wander", least=0.0)
    kept = tuple(exchanges)[-count:]
    if not kept:
        raise Error("a clock without exchanges", remedy="give at least one exchange")
    for e in kept:
        if e.delay < 0 or e.answered < e.received or e.returned < e.sent:
            raise InputError(f"{e} goes back in time", remedy="check the order of the four stamps")
    for first in range(len(kept)):
        found = _fitted(kept[first:], limit, change)
        if found is not None:
            return found
    raise AssertionError("one exchange always fits")


def _fitted(kept: tuple[Exchange, ...], limit: float, wander: float) -> NodeClock | None:
    """Return the clock in the middle of the widest strip, or None where no line fits."""
    reference, least = kept[-1].returned, min(e.delay for e in kept)
    up = np.array([((e.sent - reference) / SECOND, (e.received - e.sent) / SECOND) for e in kept])
    down = np.array(
        [((e.returned - reference) / SECOND, (e.answered - e.returned) / SECOND) for e in kept]
    )
    up[:, 1] += wander * up[:, 0] ** 2 / 2
    down[:, 1] -= wander * down[:, 0] ** 2 / 2
    # Offsets of a clock that was never set are large: what is kept small keeps its digits.
    middle = float(up[-1, 1] + down[-1, 1]) / 2
    up[:, 1] -= middle
    down[:, 1] -= middle
    upper, lower = _hull(up, 1.0), _hull(down, -1.0)
    slopes = _slopes(upper, lower, (-limit, limit))
    widths = _widths(slopes, upper, lower)
    best, slack = float(widths.max()), 2.0 * limit * least + 1e-9
    if best < 0.0:
        return None
    # As good as the widest are strips that are narrower by what happens within one round trip.
    drift = sum(_nonnegative(slopes, widths - best + slack)) / 2
    high = float((upper[:, 1] - drift * upper[:, 0]).min())
    low = float((lower[:, 1] - drift * lower[:, 0]).max())
    edges = _nonnegative(slopes, widths)
    upper[:, 1] += middle
    lower[:, 1] += middle
    return NodeClock(
        reference,
        middle + (high + low) / 2,
        drift,
        least,
        kept,
        tuple((float(t), float(v)) for t, v in upper),
        tuple((float(t), float(v)) for t, v in lower),
        edges,
        wander,
    )


def _hull(points: Array, sign: float) -> Array:
    """Return the points that lines from below (sign 1) or above (sign -1) can touch, by time."""
    found: list[Array] = []
    for p in points[np.lexsort((sign * points[:, 1], points[:, 0]))]:
        if found and found[-1][0] == p[0]:
            continue  # at one time the sharper bound stands first
        while len(found) > 1 and sign * _turn(found[-2], found[-1], p) <= 0.0:
            found.pop()
        found.append(p)
    return np.array(found)


def _turn(a: Array, b: Array, c: Array) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def _slopes(upper: Array, lower: Array, limits: tuple[float, float]) -> Array:
    """Return the drifts at which another point becomes the sharpest, and the limits."""
    found = [np.array(limits)]
    for hull in (upper, lower):
        if len(hull) > 1:
            found.append(np.diff(hull[:, 1]) / np.diff(hull[:, 0]))
    return np.unique(np.clip(np.concatenate(found), *limits))


def _widths(slopes: Array, upper: Array, lower: Array) -> Array:
    """Return how wide the strip between the bounds is for each drift: a concave function."""
    top = (upper[:, 1] - slopes[:, None] * upper[:, 0]).min(axis=1)
    bottom = (lower[:, 1] - slopes[:, None] * lower[:, 0]).max(axis=1)
    found: Array = top - bottom
    return found


def _nonnegative(slopes: Array, widths: Array) -> tuple[float, float]:
    """Return the ends of the drifts for which there is a strip."""
    there = np.flatnonzero(widths >= 0.0)
    first, last = int(there[0]), int(there[-1])
    low, high = float(slopes[first]), float(slopes[last])
    if first > 0:
        share = widths[first] / (widths[first] - widths[first - 1])
        low -= float(share * (slopes[first] - slopes[first - 1]))
    if last + 1 < len(slopes):
        share = widths[last] / (widths[last] - widths[last + 1])
        high += float(share * (slopes[last + 1] - slopes[last]))
    return low, high
