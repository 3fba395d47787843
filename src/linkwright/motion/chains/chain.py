"""A chain of legs as a sampled block: goals come while it moves, and it stops along its path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from linkwright.algebra import ONE, ZERO, Expr, absolute, equal, maximum, minimum, sqrt, where
from linkwright.blocks import Block, Rate
from linkwright.motion.chains.goals import REASONS, Goal, Mailbox, Queue, reason_of
from linkwright.motion.chains.legs import (
    Leg,
    Ramps,
    Share,
    begun,
    planned,
    remaining_peak,
    share,
    share_rates,
    smooth_room,
    turn_room,
)
from linkwright.motion.chains.records import chosen, numbers
from linkwright.motion.trajectory import MotionError

FAR = 1e9
"""The limit of a joint that has none."""

_TINY = 1e-30
_SOFT = 0.5  # share of joints' jerks with which path time comes to rest
_WITHIN = 0.98  # share of limits on the way there: what is bounded at ticks is more between them
_STEPPED = 0.84  # share of jerks, where the rate of path time changes by a step at each tick
_PLANNED = 0.96  # share of jerks for which legs are planned: path time need not give way


@dataclass(frozen=True, slots=True)
class Lanes:
    """Where joints are and how they move."""

    q: list[Expr]  # where they are
    flow: list[Expr]  # their rates by real time
    slope: list[Expr]  # their rates by path time; both together are flow + sigma slope
    second: list[Expr]  # their accelerations while sigma stays the same
    calm: Expr  # whether nothing flows


class ChainMotion(Block):
    """A chain of legs between goals that come while it runs, as set-points at each instant.

    Each leg goes from goal to goal within limits of speed and acceleration. The turn to the next
    goal begins `blend` seconds before the last would be reached, if the next is known by then; a
    goal that comes later bends the motion from there on, without a jump of acceleration. Without a
    next goal the motion comes to rest at the last. `stop` and `hold` slow the path time down, so
    that the path is kept: after `hold` the motion goes on, after `stop` its goals are forgotten.

    Args:
        speed: largest speed of each joint.
        acceleration: largest acceleration of each joint.
        jerk: largest jerk of each joint on legs of joints, and where these are stopped; no limit
            by default.
        start: joints at the beginning; zero by default.
        lower: least value of each joint; no limit by default.
        upper: largest value of each joint; no limit by default.
        brake: s, in which the path time comes to rest where accelerations allow it.
        queue: how many goals may wait.
        slots: how many goals may come in at one instant.
        name: of the block.
        rate: hertz or a `Rate`.

    >>> chain = ChainMotion([2.0, 2.0], [8.0, 8.0], rate=1000)
    >>> chain.goal(1, "joints", [0.5, -0.5])["values[1,0]"]
    0.5
    >>> [*chain.outputs][:3]
    ['q', 'u', 'a']
    """

    def __init__(
        self,
        speed: Sequence[float],
        acceleration: Sequence[float],
        *,
        jerk: Sequence[float] = (),
        start: Sequence[float] | None = None,
        lower: Sequence[float] | None = None,
        upper: Sequence[float] | None = None,
        brake: float = 0.2,
        queue: int = 4,
        slots: int = 4,
        name: str = "chain",
        rate: Rate | float | Fraction | None = None,
    ) -> None:
        super().__init__(name, rate=rate, doc="a chain of legs between goals")
        self.count = len(speed)
        self._check(speed, acceleration, jerk, brake, queue, slots)
        at = self._joints("start", start, 0.0)
        self.lower = self._joints("lower", lower, -FAR)
        self.upper = self._joints("upper", upper, FAR)
        self.speed = [self.parameter(f"v{k}", float(x)) for k, x in enumerate(speed)]
        self.acceleration = [self.parameter(f"a{k}", float(x)) for k, x in enumerate(acceleration)]
        self.jerk = [self.parameter(f"j{k}", float(x)) for k, x in enumerate(jerk)]
        self._rise: list[Expr] = []  # of accelerations: their mean until the next instant
        self._loose: Expr = ZERO  # whether jerks are free, on legs of the tool
        self.planned_jerk = [self.intermediate(_PLANNED * x) for x in self.jerk]
        self.brake = self.parameter("brake", float(brake), unit="s", sign="positive")
        self.mailbox = Mailbox(self, self._width(), slots)
        self._flags()
        self._extend(at)
        self.queue = Queue(self, self.mailbox.goals[0], queue)
        self._remember(at)
        self._move()

    # -- what it is made of ------------------------------------------------------------------------
    def _check(
        self,
        speed: Sequence[float],
        acceleration: Sequence[float],
        jerk: Sequence[float],
        brake: float,
        queue: int,
        slots: int,
    ) -> None:
        numbers = np.array([*speed, *acceleration, *jerk, brake, queue, slots], dtype=float)
        if not len(speed) == len(acceleration) == len(jerk or speed) or not speed:
            raise MotionError(
                f"{len(speed)} speeds, {len(acceleration)} accelerations and {len(jerk)} jerks of "
                "a chain",
                remedy="give one of each for every joint",
            )
        if not np.all(np.isfinite(numbers) & (numbers > 0)):
            raise MotionError(
                "limits, brake, queue and slots of a chain must be above zero",
                remedy="give speeds in rad/s or m/s, accelerations in rad/s^2 or m/s^2",
            )

    def _width(self) -> int:
        """How many numbers a goal has."""
        return self.count

    def _extend(self, at: Sequence[float]) -> None:
        """Add ports and states of chains with more than joints."""

    def _joints(self, what: str, given: Sequence[float] | None, usual: float) -> list[float]:
        found = [usual] * self.count if given is None else [float(x) for x in given]
        if len(found) != self.count or not np.all(np.isfinite(found)):
            raise MotionError(f"{what!r} of a chain of {self.count} joints is {given!r}")
        return found

    def _flags(self) -> None:
        self.stop = self.input("stop", doc="1: brake along the path, then forget all goals")
        self.hold = self.input("hold", doc="1: brake along the path, go on where it is 0 again")
        self.override = self.input("override", 1.0, unit="1", doc="share of the speed, 0 to 1")
        self.follow = self.input("follow", doc="1: the set-point is where the joints are")
        self.measured = self.input_vector("measured", self.count, doc="where the joints are")

    def _remember(self, at: Sequence[float]) -> None:
        d = self.discrete_state
        self.seen = d("last_seen", doc="sequence of the last goal that came in")
        self.taken = d("last_taken", doc="sequence of the last goal that was taken up")
        self.done = d("last_done", doc="sequence of the last goal that was reached")
        self.refused = d("last_refused", doc="sequence of the last goal that was rejected")
        self.why = d("why", doc="why it was rejected")
        self.sigma = d("sigma", initial=1.0, unit="1", doc="path time for each second")
        self.pull = d("pull", unit="1/s", doc="rate of sigma")
        self.bent = [d(f"bent{k}", doc="acceleration before") for k in range(len(self.jerk))]
        self.one, self.two = self._leg("first", at), self._leg("second", at)
        self.slowing = d("slowing", initial=1.0, doc="whether the first leg slows down")
        self.both = d("both", doc="whether there is a second leg")
        self.busy = d("busy", doc="whether a goal is not yet reached")

    def _leg(self, leg: str, at: Sequence[float]) -> Leg:
        d = self.discrete_state
        return Leg(
            tuple(d(f"{leg}_aim{k}", initial=x) for k, x in enumerate(at)),
            tuple(d(f"{leg}_way{k}") for k in range(self.count)),
            Ramps(
                d(f"{leg}_speed", initial=1.0, unit="1/s"),
                d(f"{leg}_up", initial=0.1, unit="s"),
                d(f"{leg}_down", initial=0.1, unit="s"),
            ),
            d(f"{leg}_clock", initial=2.0, unit="s"),
            d(f"{leg}_number"),
            self._more(leg),
        )

    def _more(self, leg: str) -> tuple[Expr, ...]:
        """Return states that describe a leg of chains with more than joints."""
        return ()

    # -- what it does at an instant ----------------------------------------------------------------
    def _move(self) -> None:
        let = self.intermediate
        one, two = self.one, self.two
        first, second = share(let, one.ramps, one.clock), share(let, two.ramps, two.clock)
        lanes = self._capped(self._lanes(first, second))
        # what is not a number is not below another: it stops
        stopping, holding = let(1 - (self.stop <= 0.5)), let(1 - (self.hold <= 0.5))
        follow = let(self.follow > 0.5)
        cleared = let(follow | (stopping & (self.now <= 0) & lanes.calm & self._at_halt()))
        still = self._still(stopping, holding, cleared, lanes)
        share_asked = where(self.override >= 0, minimum(self.override, 1), ZERO)
        asked = let(where(still, ZERO, share_asked))
        goal = self._governed(asked, lanes)
        sigma, pull = self.now, self._pull(goal, lanes)
        u = [let(f + s * sigma) for f, s in zip(lanes.flow, lanes.slope, strict=True)]
        a = [let(b + s * pull) for b, s in zip(lanes.second, lanes.slope, strict=True)]
        rate, u, a = self._bound(let(sigma + self.period * pull / 2), u, a, lanes, cleared)
        for memory, now, more in zip(self.bent, a, self._rise, strict=False):
            self.update(memory, where(cleared, ZERO, now + more))
        self.output_vector("q", lanes.q, doc="set-points")
        self.output_vector("u", u, doc="their rates")
        self.output_vector("a", a, doc="their accelerations")
        self._tell(first, second)
        step = let(self.period * rate)
        self._pace(goal, pull)
        self._legs(step, let(stopping | follow), cleared, lanes, pull)

    def _still(self, stopping: Expr, holding: Expr, cleared: Expr, lanes: Lanes) -> Expr:
        """Return whether the path time is to come to rest."""
        return self.intermediate(stopping | holding)

    def _at_halt(self) -> Expr:
        """Return whether the joints rest once path time does."""
        return ONE

    def _bound(
        self, rate: Expr, u: list[Expr], a: list[Expr], lanes: Lanes, cleared: Expr
    ) -> tuple[Expr, list[Expr], list[Expr]]:
        """Return path time for each second until the next instant, and how joints move."""
        return rate, u, a

    def _capped(self, lanes: Lanes) -> Lanes:
        """Return how joints move at the path time for each second that they allow, `now`."""
        self.now = self.sigma
        return lanes

    def _governed(self, goal: Expr, lanes: Lanes) -> Expr:
        """Return where sigma is to go, as far as joints allow it."""
        return goal

    def _lanes(self, first: Share, second: Share) -> Lanes:
        """Return where the joints are, and how they move."""
        let = self.intermediate
        one, two, both, sigma = self.one, self.two, self.both, self.sigma
        way = list(zip(one.way, two.way, strict=True))
        r, rate, bend = (let(both * x) for x in (second.r, second.rate, second.second))
        return Lanes(
            [let(g - d * first.left + e * r) for g, (d, e) in zip(one.aim, way, strict=True)],
            [ZERO] * self.count,
            [let(d * first.rate + e * rate) for d, e in way],
            [let((d * first.second + e * bend) * sigma**2) for d, e in way],
            ONE,
        )

    def _tell(self, first: Share, second: Share) -> None:
        out = self.output
        out("moving", self.busy & (self.now > 0), doc="1 while the set-point moves")
        out("taken", self.taken, doc="sequence of the last goal that was taken up")
        out("done", self.done, doc="sequence of the last goal that was reached")
        out("refused", self.refused, doc="sequence of the last goal that was rejected")
        out("reason", self.why, doc=f"why: {', '.join(REASONS)}")
        out("pending", self.queue.count, doc="goals that wait")
        share_of_leg = where(self.both, second.r, first.r)
        out("progress", share_of_leg, unit="1", doc="share of the newest leg, 0 to 1")
        out("pace", self.now, unit="1", doc="path time for each second")

    def _pull(self, goal: Expr, lanes: Lanes) -> Expr:
        """Return the rate of sigma: toward its goal, with bounded jerk, within accelerations."""
        let = self.intermediate
        jerk = let(4 / self.brake**2)
        if self.jerk:  # the rate of sigma changes within what joints' jerks allow
            each = zip(self.jerk, lanes.slope, strict=True)
            soft = minimum(jerk, *(j / (absolute(s) + _TINY) for j, s in each))
            jerk = let(where(self._loose, jerk, _SOFT * soft))
        self._swing = jerk
        gap = let(goal - self.now)
        most = let(minimum(2 / self.brake, sqrt(2 * jerk * absolute(gap))))
        wanted = let(where(gap < 0, -most, most))
        change = let(4 / self.brake**2 * self.period)
        free = let(minimum(maximum(wanted, self.pull - change), self.pull + change))
        if self.jerk:
            free = let(
                where(self._loose | self.both | (goal > 0), free, self._halting(jerk, lanes))
            )
        low, high = [-FAR * ONE], [FAR * ONE]
        part = _WITHIN if self.jerk else 1.0
        for s, b, most_of in zip(lanes.slope, lanes.second, self.acceleration, strict=True):
            size, a = absolute(s) + _TINY, part * most_of
            along = let(where(s < 0, -b, b))
            low.append((-a - along) / size)
            high.append((a - along) / size)
        return self._smooth(self._bounded(free, let(maximum(*low)), let(minimum(*high))), lanes)

    def _halting(self, jerk: Expr, lanes: Lanes) -> Expr:
        """Return the rate of sigma with which the joints of one leg come to rest.

        A joint that brakes by sqrt(2 J v) at the speed v has the jerk J until both are zero. What
        the leg itself accelerates is part of that, and path time does the rest, for the joint that
        is the slowest to stop.
        """
        let, rates = self.intermediate, []
        for j, s, b in zip(self.jerk, lanes.slope, lanes.second, strict=True):
            size = let(absolute(s) + _TINY)
            rates.append(-sqrt(2 * _SOFT * j * self.now / size) - where(s < 0, -b, b) / size)
        most = sqrt(2 * jerk * maximum(1 - self.now, 0))
        return let(minimum(maximum(maximum(*rates), -2 / self.brake), most))

    def _smooth(self, pull: Expr, lanes: Lanes) -> Expr:
        """Return the rate of sigma such that no joint's acceleration changes by too much."""
        if not self.jerk:
            return pull
        let, low, high = self.intermediate, [-FAR * ONE], [FAR * ONE]
        rise = self._until_next()
        # until the next instant path time changes, and with it the path's part and its slope
        more = let(1.5 * self.period / maximum(self.now, _TINY))
        extra = [let(where(self._loose, ZERO, more * b)) for b in lanes.second]
        each = zip(self.jerk, lanes.slope, lanes.second, rise, self.bent, extra, strict=True)
        for j, s, b, more_of, a, e in each:
            felt, most = let(s + e), let(_STEPPED * j * self.period)
            size = absolute(felt) + _TINY
            own = let(s * self.pull + b + more_of - a)  # the path's part: it never asks for a pull
            own = let(minimum(maximum(where(felt < 0, -own, own), -most), most))
            low.append(self.pull - (own + most) / size)
            high.append(self.pull - (own - most) / size)
        kept = minimum(maximum(pull, let(maximum(*low))), let(minimum(*high)))
        chosen = let(where(self._loose, pull, kept))
        self._rise = [let(x + (chosen - self.pull) * e) for x, e in zip(rise, extra, strict=True)]
        return chosen

    def _until_next(self) -> list[Expr]:
        """Return by how much joints accelerate more in the mean of a tick than at its start.

        A ramp of a leg may begin within it, and slopes grow, while the rate of sigma stays.
        """
        let, one, two = self.intermediate, self.one, self.two
        step = let(self.period * (self.now + self.period * self.pull / 2))
        later = let(maximum(self.now + self.period * self.pull, 0) ** 2)
        bends = []
        for leg in (one, two):
            rate, bend = share_rates(let, leg.ramps, leg.clock)
            next_rate, next_bend = share_rates(let, leg.ramps, leg.clock + step)
            steeper = self.pull * (next_rate - rate)
            bends.append(let(next_bend * later - bend * self.now**2 + steeper))
        own, other = bends[0], let(self.both * bends[1])
        mean = [(d * own + e * other) / 2 for d, e in zip(one.way, two.way, strict=True)]
        return [let(where(self._loose, ZERO, x)) for x in mean]

    def _bounded(self, pull: Expr, low: Expr, high: Expr) -> Expr:
        """Return the rate of sigma between bounds, of which none forbids that it stays."""
        return self.intermediate(minimum(maximum(pull, minimum(low, 0)), maximum(high, 0)))

    def _pace(self, goal: Expr, pull: Expr) -> None:
        """Say how the path time goes on."""
        let = self.intermediate
        change = let(self._swing * self.period)
        near = (absolute(goal - self.now) <= change * self.period) & (absolute(pull) <= 2 * change)
        there = let((1 - self.busy) | near)
        going = minimum(maximum(self.now + self.period * pull, 0), 1)
        self._go_on(where(there, goal, going), where(there, 0, pull))

    def _go_on(self, sigma: Expr, pull: Expr) -> None:
        """Say what path time for each second, and its rate, become."""
        self.update(self.sigma, sigma)
        self.update(self.pull, pull)

    def _legs(self, step: Expr, deaf: Expr, cleared: Expr, lanes: Lanes, pull: Expr) -> None:
        """Say how legs and goals go on."""
        let = self.intermediate
        goal, one, old = self.queue.first, self.one, self.one.ramps
        waiting = let((self.queue.count > 0) & (1 - deaf))
        # the first leg: when it slows down, and for how long
        soon = waiting & (goal.blend > 0)
        room = old.corner - maximum(2 * old.up, one.clock)
        wanted = maximum(where(soon, goal.blend, 0), self._least_ramp(lanes))
        longer = maximum(old.down, minimum(wanted, room))
        now = Ramps(old.x, old.up, let(where(self.slowing, old.down, longer)))
        clock = let(minimum(one.clock + step, now.end))
        slowing = let(maximum(self.slowing, clock >= now.corner - now.down))
        # the second leg: whether it begins, and how fast it is
        early = where(goal.blend > 0, now.corner - minimum(goal.blend, now.down), now.end)
        begins = let(maximum(early, one.clock))
        new, may = self._next(goal, now, begins, let(one.clock + step - begins))
        start = let(waiting & (1 - self.both) & slowing & (clock >= begins) & may)
        second = chosen(start, new, replace(self.two, clock=self.two.clock + step))
        both = let(self.both | start)
        ended = let(clock >= now.end)
        over = self._over(ended, both, second, lanes)
        first = replace(one, ramps=now, clock=clock)
        going = self._advance(let(over & both), cleared, first, second, lanes, pull)
        together = let(both & (1 - over) & (1 - cleared))
        self.update(self.both, together)
        self.update(self.slowing, where(cleared, 1, where(over & both, 0, slowing)))
        self._carry_on(going, second, together)
        for leg, after in ((self.one, going), (self.two, second)):
            for x, y in zip(numbers(leg), numbers(after), strict=True):
                self.update(x, y)
        self._count(start, over, cleared, deaf)

    def _least_ramp(self, lanes: Lanes) -> Expr:
        """Return half the time of slowing down that the first leg needs, as it is seen now."""
        return ZERO

    def _over(self, ended: Expr, both: Expr, second: Leg, lanes: Lanes) -> Expr:
        """Return whether the first leg may be left."""
        return ended

    def _carry_on(self, first: Leg, second: Leg, both: Expr) -> None:
        """Say how states of chains with more than joints go on."""

    def _next(self, goal: Goal, now: Ramps, begins: Expr, since: Expr) -> tuple[Leg, Expr]:
        """Return the leg to a goal, and whether it may begin."""
        let = self.intermediate
        aim = goal.values[: self.count]
        way = tuple(let(x - y) for x, y in zip(aim, self._origin(), strict=True))
        speed, most = [let(v * goal.speed) for v in self.speed], self._planned_acceleration()
        ramps, may = begun(
            let,
            planned(let, way, speed, most, self.period, self.planned_jerk),
            turn_room(let, way, self._before(), most, remaining_peak(let, now, begins)),
            let((now.end - begins) / 2),
            self.period,
            smooth_room(let, way, self._before(), self.planned_jerk, (now, now.end - begins)),
        )
        return Leg(tuple(aim), way, ramps, since, goal.sequence), may

    def _planned_acceleration(self) -> Sequence[Expr]:
        """Return the largest accelerations that legs are planned with."""
        return self.acceleration

    def _before(self) -> Sequence[Expr]:
        """Return how joints change with the share of the first leg."""
        return self.one.way

    def _origin(self) -> Sequence[Expr]:
        """Return where the joints are at the end of the first leg."""
        return self.one.aim

    def _advance(
        self, shift: Expr, cleared: Expr, first: Leg, second: Leg, lanes: Lanes, pull: Expr
    ) -> Leg:
        """Return the first leg at the next instant: the second may take its place."""
        follow = self.intermediate(self.follow > 0.5)
        place = [
            where(follow & (absolute(m) < FAR), m, x)
            for m, x in zip(self.measured, lanes.q, strict=True)
        ]
        halted = replace(
            first,
            aim=tuple(place),
            way=(ZERO,) * self.count,
            clock=first.ramps.end,
            more=self._at_rest(first),
        )
        return chosen(cleared, halted, chosen(shift, second, first))

    def _at_rest(self, leg: Leg) -> tuple[Expr, ...]:
        """Return what else describes a leg at rest, in place of another."""
        return leg.more

    def _count(self, start: Expr, over: Expr, cleared: Expr, deaf: Expr) -> None:
        """Say which goals are taken, rejected and done."""
        let = self.intermediate
        ending = where(start | self.both, 1, where(over, 0, self.busy))
        self.update(self.busy, where(cleared, 0, ending))
        self.update(self.done, where(over & self.busy & (1 - cleared), self.one.number, self.done))
        came, goal = self.mailbox.newest(self.seen)
        full = self.queue.count >= self.queue.depth
        reason = let(reason_of(goal, full, deaf, self.lower, self.upper, self._frames()))
        good = let(came & equal(reason, 0))
        bad = let(came & (1 - good))
        self.queue.update(start, good, goal, deaf)
        self.update(self.seen, where(came, goal.sequence, self.seen))
        self.update(self.taken, where(good, goal.sequence, self.taken))
        self.update(self.refused, where(bad, goal.sequence, self.refused))
        self.update(self.why, where(bad, reason, self.why))

    def _frames(self) -> int:
        """How many frames poses may be in; 0 where there are no poses."""
        return 0

    def goal(
        self,
        sequence: int,
        kind: str,
        values: Sequence[float],
        *,
        speed: float = 1.0,
        blend: float = 0.0,
        frame: int = 0,
    ) -> dict[str, float]:
        """Return the inputs by name that give the chain a goal.

        Args:
            sequence: its number; higher than those before.
            kind: "joints" or "pose".
            values: joints in rad or m; a pose as x, y, z and a unit quaternion w, x, y, z.
            speed: share of the limits of speed, above 0, at most 1.
            blend: s, how long before the last goal the turn to this one may begin; 0 stops there.
            frame: number of the frame in which a pose is given.

        >>> ChainMotion([1.0], [4.0]).goal(5, "joints", [0.5], speed=0.5)["speed[1]"]
        0.5
        """
        return self.mailbox.inputs(sequence, kind, values, speed, blend, frame)
