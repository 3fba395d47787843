"""A chain of joint and tool legs: poses in frames, inverse kinematics at each instant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from linkwright.algebra import (
    ONE,
    ZERO,
    Expr,
    absolute,
    equal,
    maximum,
    minimum,
    not_equal,
    sqrt,
    where,
)
from linkwright.blocks import Rate
from linkwright.motion.chains.chain import FAR, ChainMotion, Lanes
from linkwright.motion.chains.frames import MovingFrame
from linkwright.motion.chains.goals import Goal, every, some
from linkwright.motion.chains.legs import (
    Leg,
    Ramps,
    Share,
    begun,
    planned,
    remaining_peak,
    share,
    smooth_room,
    turn_room,
)
from linkwright.motion.chains.paths import (
    Anchor,
    ToolPath,
    both_paths,
    on_path,
    path_of,
    path_states,
    path_tangent,
    planned_path,
)
from linkwright.motion.chains.records import like, numbers
from linkwright.motion.chains.solver import ToolKinematics, size, solved, tool_at
from linkwright.motion.trajectory import MotionError

CAUSES = ("none", "stop", "hold", "age", "reach", "limits")
"""Why a chain brakes or stands, by number. "age": a frame of its legs was not seen for too long;
"reach": the tool cannot keep to its path, or hardly goes on; "limits": a joint would leave its
limits on a leg of the tool. The last two stay until the chain is stopped."""

_CALM = 1e-6  # rad/s or m/s that count as rest
_NEAR = 0.95  # share of the speed at which path time begins to slow down
_STEEPEST = 0.99  # how much steeper the path may become that is seen ahead
_TINY = 1e-30
_RETURN = 0.1  # share of accelerations with which joints come back to the path
_STUCK = 0.005  # share of its pace, below which the tool cannot go on
_ARRIVED = 1e-5  # m and rad from the end of a leg, where it is done
_PATIENCE = 0.5  # s, over which that counts
_LONGEST = 8.0  # times what the tool's limits ask for, that joints may ask for as a leg begins
_LEAST_KEPT = 0.2  # share of the path's joints in a turn, below which they do not make up for all
_SLOWEST = 0.1  # pace at which the way that a frame goes meanwhile is seen ahead at most
_BRAKED = 0.9  # share of accelerations with which joints that leave a moving frame brake
_BESIDE = 1e-8  # rad or m beside their way to a goal, that joints may change at an instant
_PEAK = 0.75
_CURVED = 0.75  # share of joints' accelerations for which legs of the tool are planned: they bend


class ArmMotion(ChainMotion):
    """A chain of joint and tool legs in one motion, as set-points of joints at each instant.

    Legs of the tool are straight, from a pose in one frame to a pose in another. At each instant
    the equation `base arm tool = frame place drive(r)` is solved for the arm by inverse
    kinematics. Where joints would be too fast, near a singular pose, path time slows down and the
    path is kept. Set-points never exceed the joints' speeds and accelerations there: where path
    time alone cannot see to that, the tool leaves its path within `tolerance` and comes back, or
    stops with the cause "reach". Turns between legs of both kinds have a continuous acceleration.
    See `ChainMotion` for goals, stops and outputs.

    Frames are inputs: their pose, twist, acceleration, and their age. A frame that is older than
    `age_limit` is not followed: the chain brakes and stands until it is seen again.

    Args:
        arm: kinematics of the tool, from `linkwright.robots.ik.tool_kinematics`.
        speed: largest speed of each joint.
        acceleration: largest acceleration of each joint.
        jerk: largest jerk of each joint on legs of joints, and where these are stopped; no limit
            by default. Legs of the tool begin within it.
        frames: names of frames; number 0 is the base, theirs begin with 1.
        tool_speed: of the tool, m/s and rad/s.
        tool_acceleration: of the tool, m/s^2 and rad/s^2.
        tolerance: from its path, m and rad, beyond which the tool stops.
        slerp: whether legs turn about one axis, rather than along the drive transform.
        damping: of inverse kinematics near singular poses, in units of the Jacobian.
        bandwidth: with which frames are followed, 1/s.
        age_limit: of frames, s.
        start: joints at the beginning; zero by default.
        lower: least value of each joint; no limit by default.
        upper: largest value of each joint; no limit by default.
        brake: s, in which the path time comes to rest where accelerations allow it.
        queue: how many goals may wait.
        slots: how many goals may come in at one instant.
        name: of the block.
        rate: hertz or a `Rate`.

    >>> from linkwright.robots import Robot
    >>> from linkwright.robots.ik import tool_kinematics
    >>> puma = tool_kinematics(Robot("puma560"), "tool")
    >>> chain = ArmMotion(puma, [2.0] * 6, [10.0] * 6, frames=["table"], rate=1000)
    >>> chain.goal(1, "pose", [0.5, 0, 0.5, 1, 0, 0, 0], frame=chain.frame("table"))["frame[1]"]
    1.0
    """

    def __init__(
        self,
        arm: ToolKinematics,
        speed: Sequence[float],
        acceleration: Sequence[float],
        *,
        jerk: Sequence[float] = (),
        frames: Sequence[str] = (),
        tool_speed: tuple[float, float] = (0.5, 2.0),
        tool_acceleration: tuple[float, float] = (3.0, 12.0),
        tolerance: tuple[float, float] = (0.01, 0.05),
        slerp: bool = False,
        damping: float = 1e-3,
        bandwidth: float = 50.0,
        age_limit: float = 0.25,
        start: Sequence[float] | None = None,
        lower: Sequence[float] | None = None,
        upper: Sequence[float] | None = None,
        brake: float = 0.2,
        queue: int = 4,
        slots: int = 4,
        name: str = "arm",
        rate: Rate | float | Fraction | None = None,
    ) -> None:
        given = [*tool_speed, *tool_acceleration, *tolerance, damping, bandwidth, age_limit]
        if not np.all(np.isfinite(given)) or min(given) <= 0:
            raise MotionError(
                "limits, tolerance, damping, bandwidth and age_limit of a tool must be above zero",
                remedy="give speeds in m/s and rad/s, accelerations in m/s^2 and rad/s^2",
            )
        if len(speed) != len(arm.joints):
            raise MotionError(f"{len(speed)} speeds of an arm with {len(arm.joints)} joints")
        self.arm, self.slerp, self._named = arm, slerp, tuple(frames)
        self._numbers = tuple(float(x) for x in given)
        super().__init__(
            speed, acceleration, jerk=jerk, start=start, lower=lower, upper=upper, brake=brake,
            queue=queue, slots=slots, name=name, rate=rate,
        )  # fmt: skip

    def frame(self, name: str) -> int:
        """Return the number of a frame.

        Args:
            name: "base", or one of the names that were given.
        """
        known = ("base", *self._named)
        if name not in known:
            raise MotionError(f"there is no frame {name!r}", remedy=f"it has {', '.join(known)}")
        return known.index(name)

    # -- what it is made of ------------------------------------------------------------------------
    def _width(self) -> int:
        return max(self.count, 7)

    def _frames(self) -> int:
        return 1 + len(self._named)

    def _extend(self, at: Sequence[float]) -> None:
        v, w, a, b, place, turn, damping, bandwidth, age = self._numbers
        p = self.parameter
        self.tool_speed = p("tool_speed", v, unit="m/s"), p("tool_turn", w, unit="rad/s")
        self.tool_acceleration = (
            p("tool_acceleration", a, unit="m/s^2"),
            p("tool_turn_acceleration", b, unit="rad/s^2"),
        )
        self.damping = p("damping", damping, sign="positive")
        bounds = list(zip(self.tool_speed, self.tool_acceleration, strict=True))
        self.frames = [MovingFrame(self, n, bandwidth, age, bounds) for n in self._named]
        self.joints = [self.discrete_state(f"solver{k}", initial=x) for k, x in enumerate(at)]
        self.barred = self.discrete_state("barred", doc="why a leg of the tool cannot go on")
        self.flowing = self.discrete_state("flowing", doc="whether the arm goes with a frame")
        self.tolerance = p("tolerance", place, unit="m"), p("turn_tolerance", turn, unit="rad")
        self.sent = [self.discrete_state(f"sent{k}") for k in range(self.count)]
        self.going = self.discrete_state("going", initial=1.0, doc="share of its pace, of late")
        self.tangents = [self.discrete_state(f"tangent{k}") for k in range(self.count)]
        self.aside = [self.discrete_state(f"aside{k}") for k in range(self.count)]

    def _more(self, leg: str) -> tuple[Expr, ...]:
        kind = self.discrete_state(f"{leg}_kind", initial=1.0)
        return (kind, *numbers(path_states(self, leg)))

    def _at_rest(self, leg: Leg) -> tuple[Expr, ...]:
        return (ONE, *leg.more[1:])

    # -- what it does at an instant ----------------------------------------------------------------
    def _lanes(self, first: Share, second: Share) -> Lanes:
        let, sigma, both = self.intermediate, self.sigma, self.both
        one, two = self.one, self.two
        self._first = let(equal(one.more[0], 2))
        self._second = let(both & equal(two.more[0], 2))
        self._solving = self._loose = let(self._first | self._second)
        self._back = let(both & self._first & (1 - self._second))  # from the tool to joints
        paths = [path_of(leg.more[1:]) for leg in (one, two)]
        legs = [
            on_path(let, sigma, self.frames, path, share)
            for path, share in zip(paths, (first, second), strict=True)
        ]
        goal = both_paths(let, sigma, legs[0], legs[1], self._first, self._second)
        place, turn = tool_at(self, self.arm, self.joints)
        self._new = self._path(self.queue.first, paths[0], Anchor(ZERO, place, turn))
        probe = path_tangent(let, self.frames, self._new)
        found = self._found = solved(self, self.arm, self.joints, goal, sigma, self.damping, probe)
        inverse = let(1 / maximum(first.rate, 1e-6))
        self._alone = let(self._first & (1 - both))
        self._cruise = let(where(self._alone & (1 - self.slowing), one.ramps.x * inverse, ONE))
        self._tangent = [
            let(where(self._first, inverse * x, y))
            for x, y in zip(found.slope, one.way, strict=True)
        ]
        keep = self._keep = let(where(self._back, second.left, ONE) * self._solving)
        r, rate, bend = (let(both * x) for x in (second.r, second.rate, second.second))
        # joints that leave a moving frame: how hard they brake at the end, at the pace of 1
        steepest = let(where(self._back, remaining_peak(let, two.ramps, two.clock), ZERO))
        until = let(maximum(two.ramps.corner - two.clock, 0) / maximum(sigma, _SLOWEST))
        self._ends: list[Expr] = []
        lanes = Lanes([], [], [], [], ONE)
        for k in range(self.count):
            base = let(where(self._solving, self.joints[k], one.aim[k]))
            way = let(where(self._back, two.aim[k] - self.joints[k], two.way[k]))
            own = one.way[k]
            flow, slope = found.flow[k], found.slope[k]
            self._ends.append(let(steepest * absolute(way - until * flow)))
            lanes.q.append(let(base - own * first.left + way * r + self.aside[k]))
            lanes.flow.append(let(keep * flow))
            lanes.slope.append(let(keep * slope + own * first.rate + way * rate))
            turning = where(self._back, 2 * sigma * rate * (flow + sigma * slope), ZERO)
            joined = (own * first.second + way * bend) * sigma**2
            lanes.second.append(let(keep * found.second[k] + joined - turning))
        fast = maximum(*(absolute(x) for x in lanes.flow), ZERO)
        return Lanes(lanes.q, lanes.flow, lanes.slope, lanes.second, let(fast < _CALM))

    def _used(self, number: int) -> Expr:
        """Return whether a leg is in a frame."""
        one, two = (path_of(leg.more[1:]) for leg in (self.one, self.two))
        sides = [(self._first, one), (self._second, two)]
        found: Expr = ZERO
        for active, path in sides:
            ends = equal(path.first.frame, number) | equal(path.last.frame, number)
            found = found | (active & ends)
        return self.intermediate(found)

    def _still(self, stopping: Expr, holding: Expr, cleared: Expr, lanes: Lanes) -> Expr:
        let = self.intermediate
        used = [self._used(k + 1) for k in range(len(self.frames))]
        old = let(some(u & frame.stale for u, frame in zip(used, self.frames, strict=True)))
        barred = let(where(self.barred > 0, self.barred, self._bar(lanes)))
        self.update(self.barred, where(cleared, 0, barred))
        self.update(self.flowing, 1 - lanes.calm)
        still = let(stopping | holding | old | (barred > 0))
        self._final = let(stopping & (self.now <= 0))  # what is left of the path is given up
        for u, frame in zip(used, self.frames, strict=True):
            frame.update(u, still)
        cause = where(holding, CAUSES.index("hold"), where(old, CAUSES.index("age"), barred))
        cause = where(stopping, CAUSES.index("stop"), cause)
        self.output("cause", cause, doc=f"why it brakes or stands: {', '.join(CAUSES)}")
        return still

    def _bar(self, lanes: Lanes) -> Expr:
        """Return why a leg of the tool cannot go on: the place in `CAUSES`, or 0."""
        let, error = self.intermediate, self._found.error
        self._errors = [let(where(self._solving, size(e), ZERO)) for e in (error[:3], error[3:])]
        far = some(e > t for e, t in zip(self._errors, self.tolerance, strict=True))
        far = far | (self.going < _STUCK)
        out: list[Expr] = []
        rows = zip(lanes.q, lanes.flow, lanes.slope, self.acceleration, strict=True)
        for (q, f, s, a), low, high in zip(rows, self.lower, self.upper, strict=True):
            if low <= -FAR and high >= FAR:
                continue
            u = let(f + s * self.now)
            # twice the way of braking, since the path may become steeper
            stops = let(q + u * (self.brake + absolute(u) / a))
            out += [(u > 0) & (stops > high), (u < 0) & (stops < low)]
        leaves = where(self._solving & some(out), CAUSES.index("limits"), ZERO)
        return let(where(far, CAUSES.index("reach"), leaves))

    def _tell(self, first: Share, second: Share) -> None:
        super()._tell(first, second)
        place, turn = self._errors
        self.output("error", place, unit="m", doc="of the tool from its path")
        self.output("turn_error", turn, unit="rad", doc="likewise")

    # -- path time ---------------------------------------------------------------------------------
    def _capped(self, lanes: Lanes) -> Lanes:
        """Return how joints move: path time is never so fast that one of them exceeds its speed."""
        let = self.intermediate
        caps = [ONE * 1e9]
        for f, s, v in zip(lanes.flow, lanes.slope, self.speed, strict=True):
            caps.append(maximum(where(s < 0, v + f, v - f), 0) / (absolute(s) + _TINY))
        cap = let(where(self._solving, minimum(*caps), 1e9))
        self.now = let(minimum(self.sigma, cap))
        part = let(where(self.now < self.sigma, (self.now / maximum(self.sigma, 1e-9)) ** 2, ONE))
        second = [let(part * b) for b in lanes.second]
        self._bends = [let(part * b) for b in self._found.second]
        return Lanes(lanes.q, lanes.flow, lanes.slope, second, lanes.calm)

    def _governed(self, goal: Expr, lanes: Lanes) -> Expr:
        """Return where sigma is to go: it falls where joints become too fast."""
        let, sigma = self.intermediate, self.now
        self._asked, soft = goal, [ONE]
        limits = zip(self.speed, self.acceleration, strict=True)
        moves = zip(lanes.flow, lanes.slope, lanes.second, strict=True)
        steps = zip(self._tangent, self.tangents, self._ends, strict=True)
        for (f, s, b), (v, a), (now, then, end) in zip(moves, limits, steps, strict=True):
            left = let(where(s < 0, v + f, v - f))
            steep = let(absolute(s) + _TINY)
            # how fast the path becomes steeper: near a singular pose like 1 / (1 - z)
            z = (
                (absolute(now) - absolute(then))
                / self.period
                * self.brake
                / (absolute(now) + _TINY)
            )
            near = let(where(self._alone, minimum(maximum(z, 0), _STEEPEST), ZERO))
            self.update(then, now)
            soft.append(_NEAR * maximum(left, 0) * (1 - near) / (steep * self._cruise))
            soft.append(maximum(sigma, 0.01) * sqrt(a / (absolute(b) + _TINY)))
            soft.append(sqrt(_BRAKED * a / (end + _TINY)))
        return let(minimum(goal, where(self._solving, minimum(*soft), 1)))

    def _at_halt(self) -> Expr:
        speeds = zip(self.sent, self.acceleration, strict=True)
        slow = every(absolute(x) <= a * self.period for x, a in speeds)
        return self.intermediate(slow | (1 - self._solving))

    def _bound(
        self, rate: Expr, u: list[Expr], a: list[Expr], lanes: Lanes, cleared: Expr
    ) -> tuple[Expr, list[Expr], list[Expr]]:
        """Return path time for each second, and how joints move, until the next instant.

        Path time is chosen such that every joint stays within its speed, and its rate within what
        its acceleration allows since the instant before. Where no path time does that, joints are
        held to these bounds, and leave the path; the correction brings them back.
        """
        let, h = self.intermediate, self.period
        limits = list(zip(self.sent, self.speed, self.acceleration, strict=True))
        # the correction: all of what is left in one tick, or as fast as joints can brake from
        worst = maximum(
            *(absolute(x) / b for x, b in zip(self._found.step, self.acceleration, strict=True)),
            _TINY,
        )
        active = equal(self.barred, 0) & (1 - self._final)
        part = let(minimum(ONE, h * sqrt(2 * _RETURN / worst)) * active)
        back = [let(part * x / h) for x in self._found.step]
        # so do joints that leave a moving frame, where its path alone does not keep their bounds
        off = zip(self.aside, self.acceleration, strict=True)
        farthest = maximum(*(absolute(x) / b for x, b in off), _TINY)
        home = let(minimum(ONE, h * sqrt(2 * _RETURN / farthest)) / h)
        free = [
            let(f + h * b / 2 + self._keep * c - home * d)
            for f, b, c, d in zip(lanes.flow, lanes.second, back, self.aside, strict=True)
        ]
        least, most = [ZERO], [ONE * 1e9]
        bounds = []
        for x, s, (before, v, b) in zip(free, lanes.slope, limits, strict=True):
            low = let(maximum(-v, before - b * h))
            high = let(minimum(v, before + b * h))
            up = let(s >= 0)
            size_of = let(absolute(s) + _TINY)
            least.append(where(up, low - x, x - high) / size_of)
            most.append(where(up, high - x, x - low) / size_of)
            bounds.append((low, high))
        top = let(maximum(minimum(*most), ZERO))
        bottom = let(minimum(maximum(*least), ONE))
        fitting = let(minimum(maximum(rate, bottom), top))
        chosen = let(where(self._solving, fitting, rate))
        self._held = let(not_equal(chosen, rate))
        self._rate = chosen
        self._excess, ways = [], []
        for x, s, (low, high) in zip(free, lanes.slope, bounds, strict=True):
            whole = let(x + s * chosen)
            way = let(where(self._solving, minimum(maximum(whole, low), high), whole))
            ways.append(way)
            self._excess.append(let((way - whole) / maximum(self._keep, _LEAST_KEPT)))
        self._back_rates = back
        clipped = some(absolute(x) > 0 for x in self._excess)
        self._apart = let(self._back & (clipped | some(absolute(x) > 0 for x in self.aside)))
        self._ways = ways
        bent = let(self._held | clipped | self._apart)
        self._astray = let(self._solving & (bent | (active & (part < 1))))
        held = bent | (part < 1)
        self._off = let(self._solving & active & held)
        apart = let(self._solving & (1 - self._final) & held)  # from the path's own rates
        rates, bends = [], []
        for way, before, x, y in zip(ways, self.sent, u, a, strict=True):
            rates.append(let(where(apart, (way + before) / 2, x)))
            bends.append(let(where(apart, (way - before) / h, y)))
            self.update(before, where(cleared, ZERO, way))
        return chosen, rates, bends

    def _go_on(self, sigma: Expr, pull: Expr) -> None:
        # where joints had a say in path time, it goes on from there
        let, most = self.intermediate, 2 / self.brake
        held = let(self._held & self.busy)
        change = minimum(maximum((self._rate - self.now) / self.period, -most), most)
        # a leg that hardly goes on for long, or stands beside its end, does not lead to its goal
        at_end = self.one.clock >= self.one.ramps.end
        stands = every(absolute(x) < _CALM for x in self.sent)
        short = stands & some(e >= _ARRIVED for e in self._errors)
        share_of = where(
            at_end & (1 - self.both),
            (1 - self._off) & (1 - short),
            minimum(self._rate / maximum(self._asked, _TINY), 1),
        )
        late = self.going + self.period / _PATIENCE * (share_of - self.going)
        waits = self._solving & (self._asked > 0)
        self.update(self.going, where(waits, late, ONE))
        super()._go_on(where(held, minimum(self._rate, 1), sigma), where(held, change, pull))

    def _least_ramp(self, lanes: Lanes) -> Expr:
        need = maximum(
            *(absolute(s) / a for s, a in zip(lanes.slope, self.acceleration, strict=True)), ZERO
        )
        return self.intermediate(where(self._first & (1 - self.both), _PEAK / _CURVED * need, ZERO))

    # -- legs --------------------------------------------------------------------------------------
    def _planned_acceleration(self) -> Sequence[Expr]:
        let = self.intermediate
        part = let(where(self._first, _CURVED, ONE))
        return [let(part * a) for a in self.acceleration]

    def _before(self) -> Sequence[Expr]:
        return self._tangent

    def _origin(self) -> Sequence[Expr]:
        let = self.intermediate
        return [
            let(where(self._first, x, y)) for x, y in zip(self.joints, self.one.aim, strict=True)
        ]

    def _next(self, goal: Goal, now: Ramps, begins: Expr, since: Expr) -> tuple[Leg, Expr]:
        let, path = self.intermediate, self._new
        joints, may = super()._next(goal, now, begins, since)
        old = path_of(self.one.more[1:])
        length, turn = (let(x) for x in path.span)
        before = [let(where(self._first, x, ZERO)) for x in old.span]
        share_of = goal.speed
        speed = [let(v * share_of) for v in (*self.tool_speed, *self.speed)]
        bends = [let(_CURVED * a) for a in self.acceleration]
        most = [*self.tool_acceleration, *bends]
        quick = [let(x / v) for x, v in zip((length, turn), self.tool_speed, strict=True)]
        longest = let(_LONGEST * maximum(*quick))
        probe = [
            let(minimum(maximum(x, -longest * v), longest * v))
            for x, v in zip(self._found.probe, self.speed, strict=True)
        ]
        peak = remaining_peak(let, now, begins)
        tool = turn_room(let, [length, turn], before, most[:2], peak, always=True)
        own = turn_room(let, probe, self._tangent, bends, peak)
        ramps, fits = begun(
            let,
            planned(let, [length, turn, *probe], speed, most, self.period, self.planned_jerk),
            let(minimum(tool, own)),
            let((now.end - begins) / 2),
            self.period,
            smooth_room(let, probe, self._tangent, self.planned_jerk, (now, now.end - begins)),
        )
        pose = let(equal(goal.kind, 2))
        own_leg = [
            *self._origin(), *[ZERO] * self.count, ramps.x, ramps.up, ramps.down, since,
            goal.sequence, 2 * ONE, *numbers(path),
        ]  # fmt: skip
        plain = [*numbers(joints), ONE, *numbers(path)]
        leg = like(self.one, (where(pose, x, y) for x, y in zip(own_leg, plain, strict=True)))
        return leg, let(where(pose, fits, may))

    def _path(self, goal: Goal, old: ToolPath, here: Anchor) -> ToolPath:
        """Return the path of the tool to a goal, from the end of the leg before."""
        let, last = self.intermediate, old.last

        def pick(a: Sequence[Expr], b: Sequence[Expr]) -> list[Expr]:
            return [let(where(self._first, x, y)) for x, y in zip(a, b, strict=True)]

        (frame,), (x, y, z) = pick([last.frame], [here.frame]), pick(last.place, here.place)
        a, b, c, d = pick(last.turn, here.turn)
        v = goal.values
        w = let(1 / maximum(size(v[3:7]), 1e-6))
        turn = [let(e * w) for e in v[3:7]]
        aim = Anchor(goal.frame, (v[0], v[1], v[2]), (turn[0], turn[1], turn[2], turn[3]))
        return planned_path(
            let, self.frames, Anchor(frame, (x, y, z), (a, b, c, d)), aim, self.slerp
        )

    def _over(self, ended: Expr, both: Expr, second: Leg, lanes: Lanes) -> Expr:
        """Return whether the first leg may be left, or is done: with the tool where it is to be.

        Joints that leave a moving frame need it as long as they are on their way, and longer than
        it moves where they are not on their path: what brings them back would end with a jump.
        """
        let = self.intermediate
        self._leaving = let(both & self._first & equal(second.more[0], 1))
        done = second.clock >= second.ramps.end
        there = every(e < _ARRIVED for e in self._errors) & (1 - self._off)
        ended = let(ended & (both | there | (1 - self._first)))
        on_path = lanes.calm & (1 - self._astray)
        return let(where(self._leaving, where(on_path, ended, done & (1 - self._apart)), ended))

    def _advance(
        self, shift: Expr, cleared: Expr, first: Leg, second: Leg, lanes: Lanes, pull: Expr
    ) -> Leg:
        let, h, found = self.intermediate, self.period, self._found
        self._following = []
        for k, q in enumerate(self.joints):
            u = found.flow[k] + self._rate * found.slope[k] + h * self._bends[k] / 2
            self._following.append(let(q + h * (u + self._back_rates[k] + self._excess[k])))
        way = [
            let(where(self._leaving, x - y, z))
            for x, y, z in zip(second.aim, self._following, second.way, strict=True)
        ]
        later = replace(second, way=tuple(way))
        # what joints were held to is kept exactly: they may stand beside their way to the goal
        soon = share(let, second.ramps, second.clock)
        stays = let(self._apart & (1 - cleared) & (1 - shift))
        rows = zip(self.aside, lanes.q, self._ways, second.aim, self._following, strict=True)
        for aside, q, u, aim, x in rows:
            off = let(q + h * u - x - (aim - x) * soon.r)
            self.update(aside, where(stays & (absolute(off) > _BESIDE), off, ZERO))
        return super()._advance(shift, cleared, first, later, lanes, pull)

    def _carry_on(self, first: Leg, second: Leg, both: Expr) -> None:
        let = self.intermediate
        needed = let(equal(first.more[0], 2) | (both & equal(second.more[0], 2)))
        for q, after, aim in zip(self.joints, self._following, first.aim, strict=True):
            self.update(q, where(needed, where(self._solving, after, q), aim))
