"""A drive that turns a beam from direction to direction, with limits, stop, park and watchdog.

It works on the unit vector d that the dish looks along, never on angles, so that the zenith is a
direction like any other. Between two directions it follows the great circle, which nowhere lies
below the lower of the two.

The speed from which it can just stop within an angle s, in steps of dt at the acceleration a, is
v = a dt (√(1/4 + 2 s/(a dt²)) − 1/2): s = v²/2a + v dt/2 is what v, v − a dt, … come to. No speed
is greater than s/dt, so that the last step ends on the target.

What holds at every tick, with d the direction, v its rate, and all else in terms of these:

- |d| = 1 and v·d = 0: after a step d is brought back to the sphere, and v into its tangent plane.
- Before that v changes by a dt at most, whatever is asked for, in the tick that it is asked for.
- What is wished for is no faster than the share of the greatest speed, along the great circle as in
  azimuth and in elevation. A smaller share slows a beam that is faster, by a.
- A sweep never wishes to leave [lowest, highest], and can stop within them from where it is.
- The watchdog counts time since `heard` last changed. Once it has run out, a sweep is a hold; where
  the drive parks, everything is a way home, until something is heard again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from linkwright.algebra import Expr, absolute, asin, atan2, equal, maximum, minimum, sqrt, where
from linkwright.algebra.triples import dot
from linkwright.blocks import Block

HOLD, GO, SWEEP = 0, 1, 2
"""Commands of a drive: stand, go to the target, or turn until the next command."""

ZENITH = (0.0, 0.0, 1.0)
_NONE = 1e-12
_AWAY = 1e-9  # from the zenith, rad


class PointingDrive(Block):
    """A drive of a beam; add it at a rate.

    Args:
        speed: the greatest, rad/s.
        acceleration: rad/s².
        lowest: elevation below which it never sweeps, rad.
        highest: elevation above which it never sweeps, rad.
        start: unit vector (East, North, up) that it begins at.
        heading: azimuth along which it leaves a start at the zenith, rad.
        park: unit vector that it parks at.
        watchdog: s without a new `heard` after which it ends a sweep; 0 for never.
        parks: whether it then parks, whatever it was doing.

    Inputs are `mode` (`HOLD`, `GO`, `SWEEP`), the `target` (a unit vector), the rates of a sweep
    clockwise (`swing`) and upward (`lift`), the `share` of its greatest speed that it may use, and
    `heard`, a count of messages. Outputs are the direction `d`, its `speed`, whether it is
    `moving`, and the `silence` in s.

    >>> import linkwright as lw
    >>> s = lw.System(name="station", base=100)
    >>> drive = s.add(PointingDrive(speed=0.1, acceleration=0.1, start=(1, 0, 0)), rate=100)
    >>> run = lw.simulate(s, 60.0, inputs={"drive.mode": GO})
    >>> round(float(run["drive.d[2]"][-1]), 12), float(run["drive.moving"][-1])
    (1.0, 0.0)
    """

    needs_rate = True
    """It moves from instant to instant."""

    def __init__(
        self,
        *,
        speed: float = math.radians(5.0),
        acceleration: float = math.radians(5.0),
        lowest: float = 0.0,
        highest: float = math.pi / 2,
        start: Sequence[float] = ZENITH,
        heading: float = 0.0,
        park: Sequence[float] = ZENITH,
        watchdog: float = 10.0,
        parks: bool = False,
    ) -> None:
        super().__init__("drive", doc="turns a beam from direction to direction")

        # parameters, and what it is told
        top = self.parameter("top_speed", speed, unit="rad/s", lower=0.0)
        a = self.parameter("acceleration", acceleration, unit="rad/s^2", sign="positive")
        low = self.parameter("lowest", lowest, unit="rad")
        high = self.parameter("highest", highest, unit="rad")
        self.require(low <= high)
        patience = self.parameter("watchdog", watchdog, unit="s", lower=0.0)
        parking = self.parameter("parks", float(parks), unit="1")
        home = tuple(
            self.parameter(f"park_{axis}", float(x), unit="1")
            for axis, x in zip("xyz", park, strict=True)
        )
        asked = self.input("mode", unit="1")
        given = self.input_vector("target", 3, ZENITH, unit="1")
        swing, lift = self.input("swing", unit="rad/s"), self.input("lift", unit="rad/s")
        share, heard = self.input("share", 1.0, unit="1"), self.input("heard", unit="1")
        hold, dt = self.intermediate, self.period

        # the state: direction and rate
        d = [
            self.discrete_state(f"at_{n}", initial=float(x))
            for n, x in zip("xyz", start, strict=True)
        ]
        v = [self.discrete_state(f"rate_{n}") for n in "xyz"]

        # the watchdog, and what it leaves of what is asked for
        last = self.discrete_state("last", heard)
        before = self.discrete_state("before")
        silence = hold(where(equal(heard, last), before + dt, 0))
        self.update(before, silence)
        lost = hold((patience > 0) & (silence > patience))
        homing = hold(lost & (parking > 0))
        mode = hold(where(homing, GO, where(lost & equal(asked, SWEEP), HOLD, asked)))
        target = [hold(where(homing, p, x)) for p, x in zip(home, given, strict=True)]

        # the greatest speed now, and the greatest from which it can stop
        speed_now = hold(top * share)

        def stopping(angle: Expr) -> Expr:
            """Return the greatest speed from which it can stop within an angle."""
            left = maximum(angle, 0)
            ramp = a * dt * (sqrt(left * 2 / (a * dt**2) + 0.25) - 0.5)
            return minimum(minimum(speed_now, ramp), left / dt)

        # to the target, along the great circle; over the zenith where that is not unique
        along = hold(dot(d, target))
        aside = [x - along * y for x, y in zip(target, d, strict=True)]
        size = hold(_size(aside))
        up = [self.expr(e) - d[2] * y for e, y in zip((0, 0, 1), d, strict=True)]
        level = hold(_size(up))
        opposite = hold((size < _NONE) & (along < 0))
        angle = hold(atan2(size, along))
        rate = hold(stopping(angle))
        go = [
            where(opposite, u / maximum(level, _NONE), e / maximum(size, _NONE)) * rate
            for e, u in zip(aside, up, strict=True)
        ]

        # clockwise and upward until told otherwise, within the limits
        turn = maximum(-speed_now, minimum(swing, speed_now))
        height = hold(asin(minimum(maximum(d[2], -1), 1)))
        climb = hold(
            where(
                lift > 0,
                minimum(lift, stopping(high - height)),
                -minimum(-lift, stopping(height - low)),
            )
        )

        # at the zenith every way is down: the one along the azimuth that it came by
        beside = math.hypot(start[0], start[1])
        ahead = (math.sin(heading), math.cos(heading))
        if beside > 0:
            ahead = (start[0] / beside, start[1] / beside)
        ways = [
            self.discrete_state(f"way_{n}", initial=float(x))
            for n, x in zip("xy", ahead, strict=True)
        ]
        away = hold(level > _AWAY)
        for way, x in zip(ways, d, strict=False):
            self.update(way, where(away, x / maximum(level, _NONE), way))
        rises = [
            where(away, u / maximum(level, _NONE), -way)
            for u, way in zip(up, (*ways, self.expr(0)), strict=True)
        ]
        sweep = [
            turn * east + climb * u
            for east, u in zip((d[1], -d[0], self.expr(0)), rises, strict=True)
        ]

        # what is wished for, as far as the acceleration lets it come in a tick
        wanted = [
            where(equal(mode, GO), g, where(equal(mode, SWEEP), s, 0))
            for g, s in zip(go, sweep, strict=True)
        ]
        change = [hold(w - x) for w, x in zip(wanted, v, strict=True)]
        part = hold(minimum(1, a * dt / maximum(_size(change), _NONE)))
        new = [hold(x + part * c) for x, c in zip(v, change, strict=True)]

        # the step, back onto the sphere; the rate loses what points out of it
        turned = [hold(x + dt * w) for x, w in zip(d, new, strict=True)]
        length = hold(_size(turned))
        after = [hold(x / length) for x in turned]
        out = hold(dot(new, after))
        for x, y in zip(d, after, strict=True):
            self.update(x, y)
        for x, w, y in zip(v, new, after, strict=True):
            self.update(x, w - out * y)

        # what it tells
        self.output_vector("d", after, unit="1")
        pace = hold(_size(new))
        self.output("speed", pace, unit="rad/s")
        self.output(
            "moving", where((pace > 1e-9) | (equal(mode, GO) & (angle > 1e-9)), 1, 0), unit="1"
        )
        self.output("silence", silence, unit="s")


def _size(a: Sequence[Expr]) -> Expr:
    return sqrt(absolute(dot(a, a)))
