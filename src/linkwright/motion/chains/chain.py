"""A chain of legs as a sampled block: goals come while it moves, and it stops along its path."""

from __future__ import annotations

from collections.abc import Sequence
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
    chosen_leg,
    planned,
    remaining_peak,
    share,
)
from linkwright.motion.trajectory import MotionError

_FAR = 1e9  # limits of joints that have none
_TINY = 1e-30
_SLOWEST = 0.5  # of its speed, below which a leg waits rather than begins


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
        n = self.count = len(speed)
        self._check(speed, acceleration, brake, queue, slots)
        at = self._joints("start", start, 0.0)
        self.lower = self._joints("lower", lower, -_FAR)
        self.upper = self._joints("upper", upper, _FAR)
        self.speed = [self.parameter(f"v{k}", float(x)) for k, x in enumerate(speed)]
        self.acceleration = [self.parameter(f"a{k}", float(x)) for k, x in enumerate(acceleration)]
        self.brake = self.parameter("brake", float(brake), unit="s", sign="positive")
        self.mailbox = Mailbox(self, n, slots)
        self._flags()
        self._remember(at)
        self.queue = Queue(self, self.mailbox.goals[0], queue)
        self._move()

    # -- what it is made of ------------------------------------------------------------------------
    def _check(
        self,
        speed: Sequence[float],
        acceleration: Sequence[float],
        brake: float,
        queue: int,
        slots: int,
    ) -> None:
        numbers = np.array([*speed, *acceleration, brake, queue, slots], dtype=float)
        if len(speed) != len(acceleration) or not speed:
            raise MotionError(
                f"{len(speed)} speeds and {len(acceleration)} accelerations of a chain",
                remedy="give one of each for every joint",
            )
        if not np.all(np.isfinite(numbers) & (numbers > 0)):
            raise MotionError(
                "limits, brake, queue and slots of a chain must be above zero",
                remedy="give speeds in rad/s or m/s, accelerations in rad/s^2 or m/s^2",
            )

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
        self.refused = d("last_refused", doc="sequence of the last goal that was refused")
        self.why = d("why", doc="why it was refused")
        self.sigma = d("sigma", initial=1.0, unit="1", doc="path time for each second")
        self.pull = d("pull", unit="1/s", doc="rate of sigma")
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
        )

    # -- what it does at an instant ----------------------------------------------------------------
    def _move(self) -> None:
        let = self.intermediate
        one, two = self.one, self.two
        first, second = share(let, one.ramps, one.clock), share(let, two.ramps, two.clock)
        both = self.both
        q = [
            let(g - d * first.left + e * (both * second.r))
            for g, d, e in zip(one.aim, one.way, two.way, strict=True)
        ]
        rates = self._sum(first.rate, let(both * second.rate))
        seconds = self._sum(first.second, let(both * second.second))
        stopping = let(self.stop > 0.5)
        goal = let(where(stopping | (self.hold > 0.5), ZERO, minimum(maximum(self.override, 0), 1)))
        sigma, pull = self.sigma, self._pull(goal, rates, seconds)
        self.output_vector("q", q, doc="set-points")
        self.output_vector("u", [r * sigma for r in rates], doc="their rates")
        a = [s * sigma**2 + r * pull for s, r in zip(seconds, rates, strict=True)]
        self.output_vector("a", a, doc="their accelerations")
        self._tell(first, second)
        step = let(self.period * (sigma + self.period * pull / 2))
        cleared = let((self.follow > 0.5) | (stopping & (sigma <= 0)))
        self._pace(goal, pull)
        self._legs(step, let(stopping | (self.follow > 0.5)), cleared, q)

    def _sum(self, first: Expr, second: Expr) -> list[Expr]:
        ways = zip(self.one.way, self.two.way, strict=True)
        return [self.intermediate(d * first + e * second) for d, e in ways]

    def _tell(self, first: Share, second: Share) -> None:
        out = self.output
        out("moving", self.busy & (self.sigma > 0), doc="1 while the set-point moves")
        out("taken", self.taken, doc="sequence of the last goal that was taken up")
        out("done", self.done, doc="sequence of the last goal that was reached")
        out("refused", self.refused, doc="sequence of the last goal that was refused")
        out("reason", self.why, doc=f"why: {', '.join(REASONS)}")
        out("pending", self.queue.count, doc="goals that wait")
        share_of_leg = where(self.both, second.r, first.r)
        out("progress", share_of_leg, unit="1", doc="share of the newest leg, 0 to 1")
        out("pace", self.sigma, unit="1", doc="path time for each second")

    def _pull(self, goal: Expr, rates: Sequence[Expr], seconds: Sequence[Expr]) -> Expr:
        """Return the rate of sigma: toward its goal, with bounded jerk, within accelerations."""
        let = self.intermediate
        jerk = let(4 / self.brake**2)
        gap = let(goal - self.sigma)
        most = let(minimum(2 / self.brake, sqrt(2 * jerk * absolute(gap))))
        wanted = let(where(gap < 0, -most, most))
        change = let(jerk * self.period)
        free = let(minimum(maximum(wanted, self.pull - change), self.pull + change))
        low, high = [-_FAR * ONE], [_FAR * ONE]
        for r, s, a in zip(rates, seconds, self.acceleration, strict=True):
            size = absolute(r) + _TINY
            along = let(where(r < 0, -s, s) * self.sigma**2)
            low.append((-a - along) / size)
            high.append((a - along) / size)
        inside = minimum(maximum(free, minimum(maximum(*low), 0)), maximum(minimum(*high), 0))
        return let(inside)

    def _pace(self, goal: Expr, pull: Expr) -> None:
        """Say how the path time goes on."""
        let = self.intermediate
        change = let(4 / self.brake**2 * self.period)
        near = (absolute(goal - self.sigma) <= change * self.period) & (
            absolute(pull) <= 2 * change
        )
        there = let((1 - self.busy) | near)
        going = minimum(maximum(self.sigma + self.period * pull, 0), 1)
        self.update(self.sigma, where(there, goal, going))
        self.update(self.pull, where(there, 0, pull))

    def _legs(self, step: Expr, deaf: Expr, cleared: Expr, q: Sequence[Expr]) -> None:
        """Say how legs and goals go on."""
        let = self.intermediate
        goal, one, old = self.queue.first, self.one, self.one.ramps
        waiting = let((self.queue.count > 0) & (1 - deaf))
        # the first leg: when it slows down, and for how long
        soon = waiting & (goal.blend > 0)
        room = old.corner - maximum(2 * old.up, one.clock)
        longer = maximum(old.down, minimum(where(soon, goal.blend, 0), room))
        now = Ramps(old.x, old.up, let(where(self.slowing, old.down, longer)))
        clock = let(minimum(one.clock + step, now.end))
        slowing = let(maximum(self.slowing, clock >= now.corner - now.down))
        over = let(clock >= now.end)
        # the second leg: whether it begins, and how fast it is
        early = where(goal.blend > 0, now.corner - minimum(goal.blend, now.down), now.end)
        begins = let(maximum(early, one.clock))
        new, may = self._next(goal, now, begins, let(one.clock + step - begins))
        start = let(waiting & (1 - self.both) & slowing & (clock >= begins) & may)
        self._advance(
            start, over, cleared, Leg(one.aim, one.way, now, clock, one.number), new, q, step
        )
        self.update(self.slowing, where(cleared, 1, where(over & (self.both | start), 0, slowing)))
        self._count(start, over, cleared, deaf)

    def _next(self, goal: Goal, now: Ramps, begins: Expr, since: Expr) -> tuple[Leg, Expr]:
        """Return the leg to a goal, and whether it may begin."""
        let = self.intermediate
        one = self.one
        aim = goal.values[: self.count]
        way = tuple(let(x - y) for x, y in zip(aim, one.aim, strict=True))
        speed = [let(v * goal.speed) for v in self.speed]
        nominal = planned(let, way, speed, self.acceleration, self.period)
        peak = remaining_peak(let, now, begins)
        least = let((now.end - begins) / 2)
        ramps = begun(let, nominal, way, one.way, peak, self.acceleration, least, self.period)
        may = let((ramps.x >= _SLOWEST * nominal[0]) | (least <= 0))
        return Leg(tuple(aim), way, ramps, since, goal.sequence), may

    def _advance(
        self,
        start: Expr,
        over: Expr,
        cleared: Expr,
        first: Leg,
        new: Leg,
        q: Sequence[Expr],
        step: Expr,
    ) -> None:
        """Say how legs go on: a second one begins, or takes the place of the first."""
        let = self.intermediate
        two, both = self.two, let(self.both | start)
        later = Leg(two.aim, two.way, two.ramps, let(two.clock + step), two.number)
        second = chosen_leg(start, new, later)
        for x, y in zip(two.all(), second.all(), strict=True):
            self.update(x, y)
        follow = let(self.follow > 0.5)
        place = tuple(where(follow, m, x) for m, x in zip(self.measured, q, strict=True))
        nothing = tuple(ZERO for _ in q)
        halted = Leg(place, nothing, first.ramps, first.ramps.end, first.number)
        going = chosen_leg(cleared, halted, chosen_leg(let(over & both), second, first))
        for x, y in zip(self.one.all(), going.all(), strict=True):
            self.update(x, y)
        self.update(self.both, both & (1 - over) & (1 - cleared))

    def _count(self, start: Expr, over: Expr, cleared: Expr, deaf: Expr) -> None:
        """Say which goals are taken, refused and done."""
        let = self.intermediate
        ending = where(start | self.both, 1, where(over, 0, self.busy))
        self.update(self.busy, where(cleared, 0, ending))
        self.update(self.done, where(over & self.busy & (1 - cleared), self.one.number, self.done))
        came, goal = self.mailbox.newest(self.seen)
        full = self.queue.count >= self.queue.depth
        reason = let(reason_of(goal, full, deaf, self.lower, self.upper, 0))
        good = let(came & equal(reason, 0))
        bad = let(came & (1 - good))
        self.queue.update(start, good, goal, deaf)
        self.update(self.seen, where(came, goal.sequence, self.seen))
        self.update(self.taken, where(good, goal.sequence, self.taken))
        self.update(self.refused, where(bad, goal.sequence, self.refused))
        self.update(self.why, where(bad, reason, self.why))

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
