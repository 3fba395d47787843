"""One leg of a chain: how far along it is, and how fast it may be.

A leg takes a share r from 0 to 1 of the way between two goals. It speeds up, goes on at the speed x
(1/s), and slows down, with zero acceleration at all four ends. With h from 0 to 1 over a ramp that
takes 2 t_a:

    r = x t_a (2 - h) h^3,   r' = x (3 - 2 h) h^2,   r'' = 3 x (1 - h) h / t_a

and r''' = 1.5 x (1 - 2 h) / t_a^2, which is bounded where limits of jerk are given.
A ramp down is the same, backwards. Where one leg slows down while the next speeds up over the same
time, their sum is Paul's turn at the corner, term by term: with D_B = -t_a times the speed of the
first leg and D_C / T the speed of the second it is

    q = (k (2 - h) h^2 - 2 D_B) h + B + D_B,   k = D_C t_a / T + D_B

(Paul, Robot Manipulators, 1981, section 5.3). So a turn is nothing but two legs at a time; and
since each of them has a continuous acceleration, so has the sum whenever the second begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from linkwright.algebra import ONE, ZERO, Expr, absolute, as_expr, maximum, minimum, sqrt, where
from linkwright.algebra.triples import Hold

_TINY = 1e-30
_SLOWEST = 0.5  # of its speed, below which a leg waits rather than begins
_PEAK = 0.75  # of r'' t_a / x, in the middle of a ramp
_THIRD = as_expr(Fraction(1, 3))
_STEEP = 1.5  # of r''' t_a^2 / x, at both ends of a ramp


@dataclass(frozen=True, slots=True)
class Ramps:
    """The times of a leg."""

    x: Expr  # its speed, 1/s: one over the time T that it would take without ramps
    up: Expr  # half the time of speeding up, s
    down: Expr  # half the time of slowing down, s

    @property
    def corner(self) -> Expr:
        """When the goal would be reached without slowing down, s since the leg began."""
        return self.up + ONE / self.x

    @property
    def end(self) -> Expr:
        """When it is reached, s since the leg began."""
        return self.corner + self.down


@dataclass(frozen=True, slots=True)
class Leg:
    """A leg of a chain: states of it, or what they become."""

    aim: tuple[Expr, ...]  # where the joints end; of a leg of the tool, where they were as it began
    # from where joints begin to where they end; nothing for a leg of the tool
    way: tuple[Expr, ...]
    ramps: Ramps  # its times
    clock: Expr  # s since it began, in path time
    number: Expr  # sequence of its goal
    more: tuple[Expr, ...] = ()  # what else describes it, of chains with tools


Turn = tuple[Ramps, Expr]
"""The ramps of the leg before, and s until that is at its goal."""


@dataclass(frozen=True, slots=True)
class Share:
    """How far along a leg is, with two derivatives by path time; `left` is 1 - r."""

    r: Expr
    left: Expr
    rate: Expr
    second: Expr


def share(hold: Hold, ramps: Ramps, t: Expr) -> Share:
    """Return how far along a leg is at a time since it began."""
    x, up, down = ramps.x, ramps.up, ramps.down
    h, g, slow = _ramped(hold, ramps, t)
    begun = hold(x * (up * h**3 * (2 - h) + maximum(t - 2 * up, 0)))
    left = hold(where(slow, x * down * (1 - g * (2 - g**2 * (2 - g))), ONE - begun))
    r = hold(where(slow, ONE - left, begun))
    return Share(r, left, _rate(hold, ramps, h, g, slow), _bend(hold, ramps, h, g, slow))


def share_rates(hold: Hold, ramps: Ramps, t: Expr) -> tuple[Expr, Expr]:
    """Return both derivatives of how far along a leg is, alone."""
    h, g, slow = _ramped(hold, ramps, t)
    return _rate(hold, ramps, h, g, slow), _bend(hold, ramps, h, g, slow)


def _ramped(hold: Hold, ramps: Ramps, t: Expr) -> tuple[Expr, Expr, Expr]:
    """Return the shares of both ramps that are over, and whether the second has begun."""
    h = hold(minimum(t / (2 * ramps.up), 1))
    late = maximum((t - ramps.corner + ramps.down) / (2 * ramps.down), 0)
    g = hold(where(t >= ramps.end, 1, minimum(late, 1)))
    return h, g, hold(g > 0)


def _rate(hold: Hold, ramps: Ramps, h: Expr, g: Expr, slow: Expr) -> Expr:
    return hold(ramps.x * where(slow, 1 - g**2 * (3 - 2 * g), h**2 * (3 - 2 * h)))


def _bend(hold: Hold, ramps: Ramps, h: Expr, g: Expr, slow: Expr) -> Expr:
    return hold(3 * ramps.x * where(slow, -g * (1 - g) / ramps.down, h * (1 - h) / ramps.up))


def remaining_peak(hold: Hold, ramps: Ramps, t: Expr) -> Expr:
    """Return the largest |r''| from a time on that is in the ramp down of a leg."""
    g = hold(minimum(maximum((t - ramps.corner + ramps.down) / (2 * ramps.down), 0), 1))
    return hold(_PEAK * ramps.x / ramps.down * where(g < 0.5, ONE, 4 * g * (1 - g)))


def planned(
    hold: Hold,
    way: Sequence[Expr],
    speed: Sequence[Expr],
    acceleration: Sequence[Expr],
    period: Expr,
    jerk: Sequence[Expr] = (),
) -> tuple[Expr, Expr, Expr, Expr]:
    """Return x, half the time of a ramp, c and k of a leg from rest to rest within limits.

    At the speed x it takes c x and sqrt(k x) at least.
    """
    slow = maximum(*(absolute(d) / v for d, v in zip(way, speed, strict=True)), ZERO)
    heavy = maximum(*(absolute(d) / a for d, a in zip(way, acceleration, strict=True)), ZERO)
    c = hold(_PEAK * heavy + _TINY)
    last = zip(way[-len(jerk) :], jerk, strict=False)
    k = hold(_STEEP * maximum(*(absolute(d) / j for d, j in last), ZERO) + _TINY) if jerk else ZERO
    smooth = [(4 * k) ** _THIRD] if jerk else []
    x = hold(ONE / maximum(slow, sqrt(2 * c), *smooth, 2 * period))
    return x, hold(ramp_of(x, c, k, period)), c, k


def ramp_of(x: Expr, c: Expr, k: Expr, period: Expr) -> Expr:
    """Return half the time of a ramp at a speed, with what `planned` says."""
    return maximum(c * x, period) if k is ZERO else maximum(c * x, sqrt(k * x), period)


def turn_room(
    hold: Hold,
    way: Sequence[Expr],
    before: Sequence[Expr],
    acceleration: Sequence[Expr],
    peak: Expr,
    *,
    always: bool = False,
) -> Expr:
    """Return the largest |r''| of a leg that begins while the one before it slows down.

    Joints that go on in the same direction never need more than one of both accelerations; those
    that turn back need the sum.
    """
    room = []
    for d, b, a in zip(way, before, acceleration, strict=True):
        less = maximum(a - absolute(b) * peak, 0)
        room.append((less if always else where(d * b < 0, less, a)) / (absolute(d) + _TINY))
    return hold(minimum(*room)) if len(room) > 1 else hold(room[0])


def begun(
    hold: Hold,
    nominal: tuple[Expr, Expr, Expr, Expr],
    room: Expr,
    least: Expr,
    period: Expr,
    smooth: Expr = ZERO,
) -> tuple[Ramps, Expr]:
    """Return the ramps of a leg that begins while the last slows down, and whether it may."""
    x, ramp, c, k = nominal
    up = hold(maximum(ramp, least))
    ending = minimum(2 / (up + sqrt(up**2 + 4 * c)), ONE / (up + period))
    if k is not ZERO:  # half of 1/x for each of both ramps
        half = minimum(ONE / (2 * up), ONE / (4 * k) ** _THIRD)
        ending = minimum(ending, half, up**2 / _STEEP * smooth)
    chosen = hold(minimum(x, up / _PEAK * room, ending))
    may = hold((chosen >= _SLOWEST * x) | (least <= 0))
    return Ramps(chosen, up, hold(ramp_of(chosen, c, k, period))), may


def smooth_room(
    hold: Hold, way: Sequence[Expr], before: Sequence[Expr], jerk: Sequence[Expr], turn: Turn
) -> Expr:
    """Return the largest |r'''| of a leg that begins while the one before it slows down: what that
    leaves of the jerks, where there are limits of them."""
    if not jerk:
        return ZERO
    ramps, left = turn
    steep = hold(where(left > 1e-9, _STEEP * ramps.x / ramps.down**2, ZERO))
    rooms = [
        maximum(j - absolute(b) * steep, 0) / (absolute(d) + _TINY)
        for d, b, j in zip(way, before, jerk, strict=True)
    ]
    return hold(minimum(*rooms, ONE * 1e30))
