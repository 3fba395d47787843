"""The loop of a run in plain Python: what `linkwright.simulation.native.driver` says in LLVM IR.

It needs nothing but the standard library, because written Python programs contain its text.
All that changes is in the fields of a `Driver`, so calling `run` again goes on where it came back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Numbers = list[float]
Functions = Mapping[str, Callable[..., tuple[Numbers, ...]]]

DONE, MORE, ROWS, FOREIGN, NOT_FINITE, TERMINAL, LOGGED, TOO_SMALL, GUARDED, ENDLESS = range(1, 11)
NEVER = 1e300
"""A change that is not known, a size that nothing limits."""
NOISE = 1e-13
"""How small an event is zero within rounding, relative to the largest that it was."""
PATIENCE = 10_000
"""How often a step is tried from one state at most."""
STRETCH = 1.01
"""How much longer than proposed a step may be, to end where something is due."""
SMALLEST = 4e-15
"""How short a step is given up, relative to the second after the time that is reached."""
INSTANT = 1e-15
"""How near two times are the same within rounding, relative to them."""
MARK = 1e-20
"""How far from zero an event is kept, relative to that, which is on one side of it by its past."""
FAINT = 1e-100
"""The size of an event that has had none yet."""
LOW, HIGH, TRIES, WANTED, FULL, STAGE, HOVERS, MEMORY = range(8)
"""Places in the memory of a run that follows events, before what is kept of each of them."""
KEPT = 4
"""What is kept of each: its values at a bracket's ends, how fast it came to zero just now, and how
large it may be there by rounding."""
_NEAR, _LEAST = 1.5e-14, 1e-15  # as in `linkwright.system.breaks`
_LOW = 0xFFFFFFFF


class Leave(Exception):
    """Ends a call of `run`, with a status and a detail."""

    def __init__(self, status: int, detail: int = 0) -> None:
        super().__init__(status)
        self.status, self.detail = status, detail


@dataclass(frozen=True)
class DueTick:
    """What happens every so many base ticks: slots of d that are written, noise streams."""

    every: int
    offset: int
    slots: Sequence[int]
    streams: Sequence[int] = ()
    foreign: bool = False


@dataclass(frozen=True)
class DetectedCrossing:
    """An event: the direction in which its value goes through zero, what that does, its value
    before the start."""

    direction: int = 0
    terminal: bool = False
    action: bool = False
    guard: bool = False
    before: float = 0.0


class Driver:
    """One run."""

    def __init__(
        self,
        functions: Functions,
        ticks: Sequence[DueTick],
        crossings: Sequence[DetectedCrossing],
        tick_seconds: float,  # the base tick, s
    ) -> None:
        self.functions, self.ticks, self.crossings = functions, ticks, crossings
        self.tick_seconds = tick_seconds
        self.until, self.end, self.step_size, self.every = 0, math.inf, tick_seconds, 1
        self.seed = self.run_number = 0
        self.room, self.log_room, self.budget = 1 << 60, 1 << 60, 1 << 60
        self.adaptive = self.interpolates = False
        self.tolerances = [1e-8, 1e-10, 1.0]
        self.x: Numbers = []
        self.d: Numbers = []
        self.w: Numbers = []
        self.constants: dict[str, Numbers] = {}
        self.rows: list[Numbers] = []
        self.log: list[tuple[int, int, float]] = []
        self.k = self.start = self.target = self.in_gap = self.j = self.grid = 0
        self.cursor = self.sample = self.steps = self.rejected = self.detail = 0
        self.slope_known = self.events_known = self.refusals = 0
        self.watched = 1
        self.s = self.proposed = 0.0
        self.old_error = 1e-4
        self.due = [tick.offset for tick in ticks]
        self.o: Numbers = []
        self.y: Numbers = []
        self.f: Numbers = []
        self.y_f: Numbers = []
        self.r: Numbers = []
        self.g: Numbers = [crossing.before for crossing in crossings]
        self.g_new: Numbers = []
        self.followed = count = sum(not crossing.guard for crossing in crossings)
        self.turn, self.turn_new, self.fired = ([0.0] * count for _ in range(3))
        self.top = [FAINT] * count
        self.change, self.m = [NEVER] * count, [0.0] * (MEMORY + KEPT * count)
        self.hit: Numbers = []
        self.verdict, self.landed = [1.0, NEVER, 0.0, 0.0, 0.0], False

    def prepare(self, p: Numbers) -> None:
        """Compute what depends on parameters alone."""
        for name, function in self.functions.items():
            if name.startswith("constants_"):
                self.constants[name.removeprefix("constants_")] = list(function(p)[0])

    def call(self, name: str, x: Numbers, t: float, *more: Numbers) -> tuple[Numbers, ...]:
        """Call a Program at a state and a time."""
        kept = "step" if name in ("slope", "first") else name
        return self.functions[name](x, self.d, self.constants[kept], self.w, [t], *more)

    # -- the run -----------------------------------------------------------------------------------
    def run(self) -> int:
        """Go on until there is something to do outside; return why."""
        self.left = self.budget
        try:
            self._go()
        except Leave as leave:
            self.detail = leave.detail
            return leave.status
        return DONE

    def _go(self) -> None:
        while True:
            if not (self.k >= self.until and self.end < math.inf):
                self._ticks()
            if not self.in_gap:
                self.start, self.s = self.k, 0.0
                self.know_events(self.seconds(self.k))
            if self.every and self.sample == self.k:
                self._record(self.x, self.seconds(self.k))
            if self.k >= self.until:
                return
            if self.left <= 0:
                raise Leave(MORE)
            if not self.in_gap:
                self._open_gap()
            self._steps()
            self.k = self.target
            self.in_gap = self.cursor = 0

    def seconds(self, tick: int) -> float:
        """Return the time of a tick, s; that of the last one is the end of the run."""
        return min(tick * self.tick_seconds, self.end)

    @property
    def begin(self) -> float:
        """The time at the start of the gap between two things that are due, s."""
        return self.start * self.tick_seconds

    @property
    def span(self) -> float:
        """The length of the gap, s."""
        return min((self.target - self.start) * self.tick_seconds, self.end - self.begin)

    def _ticks(self) -> None:
        """Run what is due at tick k, in order."""
        while self.cursor < len(self.ticks):
            i = self.cursor
            if self.due[i] == self.k:
                tick = self.ticks[i]
                noise = [
                    value
                    for stream in tick.streams
                    for value in uniform(self.seed, stream, self.run_number, self.k)
                ]
                t = self.k * self.tick_seconds
                (self.o,) = self.call(f"tick{i}", self.x, t, [float(self.k)], noise)
                if tick.foreign:
                    raise Leave(FOREIGN, i)
                self.finish_tick(self.o)
            else:
                self.cursor += 1

    def finish_tick(self, values: Sequence[float]) -> None:
        """Write what a tick gives into its slots."""
        tick = self.ticks[self.cursor]
        for slot, value in zip(tick.slots, values, strict=True):
            self.d[slot] = value
        self.due[self.cursor] += tick.every
        self.cursor += 1
        self.slope_known = self.events_known = 0

    def _record(self, x: Numbers, t: float) -> None:
        """Keep a sample."""
        if len(self.rows) >= self.room:
            raise Leave(ROWS)
        self.rows.append(list(self.call("output", x, t)[0]) if "output" in self.functions else [])
        following = self.sample + self.every
        last = following > self.until > self.sample and self.end < math.inf
        self.sample = self.until if last else following

    def _open_gap(self) -> None:
        """Find what is due next, and divide the way there into steps."""
        self.target = min([self.until, *self.due])
        if self.every and not self.interpolates:
            self.target = min(self.target, self.sample)
        self.in_gap, self.j = 1, 0
        if not self.adaptive:
            self.grid = max(math.ceil(self.span / self.step_size - 1e-9), 1)

    # -- steps -------------------------------------------------------------------------------------
    def _steps(self) -> None:
        """Go through the gap: in equal steps, or as long as the error allows."""
        span, begin = self.span, self.begin
        size = span if self.adaptive else span / self.grid
        while True:
            goal = span if self.adaptive else (self.j + 1) / self.grid * span
            if not self.s < goal:
                self.j += 1
                if self.adaptive or self.j >= self.grid:
                    return
                continue
            t, rest, hop = begin + self.s, goal - self.s, 0.0
            self.know_events(t)
            if self.adaptive:
                self._know_slope(t)
                last = self.proposed * STRETCH >= rest
                h = rest if last else self.proposed
            else:
                last = True
                h = size if self.s == self.j / self.grid * span else rest
            if self.m[WANTED] > 0.0:
                last = self.m[WANTED] >= rest
                h = rest if last else self.m[WANTED]
            if self.adaptive and "breaks" in self.functions:
                ahead, takes = self.call("breaks", self.x, t)[0]
                if ahead < h:
                    h, last, hop = ahead, False, takes
            errors = self._step(t, h)
            if not self.adaptive:
                self._require_finite()
            elif not (errors[0] <= 1.0 or self.m[STAGE] == 1.0):
                self._shorten(h, min(errors[2], 0.99 / STRETCH) if last else errors[2])
                self._refuse()
                continue
            reached = goal if last else self.s + h
            reached = min(reached + hop, goal) if hop else reached
            whole = self.adaptive or self.j + 1 == self.grid
            due = self.seconds(self.target) if whole else begin + goal
            if not self._follow(t, h, due if last else begin + (self.s + h)):
                self.rejected += 1
                self._refuse()
                continue
            if self.interpolates:
                self._inner_samples(reached, h)
            if self.landed:  # the state goes behind the event
                far = self.verdict[3]
                self.y = [y + far * f for y, f in zip(self.y, self.y_f, strict=True)]
                reached = min(reached + far, goal)
            if self.adaptive:
                self._propose(h, errors, last or hop > 0.0)
                self.f = list(self.y_f)
            self.x, self.s = list(self.y), reached
            self._accept(begin + reached)
            if hop:
                self.slope_known = self.events_known = 0
            self.steps += 1
            self.left -= 1
            self.refusals = 0
            self._happen(begin + reached)
            if self.left <= 0:
                raise Leave(MORE)

    def _refuse(self) -> None:
        self.refusals += 1
        if self.refusals > PATIENCE:
            raise Leave(TOO_SMALL)

    def _know_slope(self, t: float) -> None:
        if not self.slope_known:
            (self.f,) = self.call("slope", self.x, t)
            self.slope_known = 1
            if self.followed and "turns" in self.functions:
                (self.turn,) = self.call("turns", self.x, t, self.f)
        if self.proposed == 0.0:
            self.proposed = self.call("first", self.x, t, self.tolerances)[0][0]

    def _shorten(self, h: float, shrink: float) -> None:
        """Try a shorter step after one whose error is too large."""
        self.rejected += 1
        self.proposed = h * (shrink if shrink < 1.0 else 0.1)
        self.m[TRIES] = self.m[WANTED] = self.m[FULL] = self.m[STAGE] = 0.0
        if h <= SMALLEST * min(self.until * self.tick_seconds, 1.0 + self.begin + self.s):
            raise Leave(TOO_SMALL)

    def _propose(self, h: float, errors: Sequence[float], cut: bool) -> None:
        """Propose the size of the next step."""
        size = h * errors[1]
        if (cut or self.landed) and self.proposed > size:
            size = self.proposed
        self.proposed = min(size, self.verdict[1])
        self.old_error = errors[0]

    def _step(self, t: float, h: float) -> Sequence[float]:
        """Go from x to y; return the error, and how much longer or shorter steps may be."""
        if not self.adaptive:
            (self.y,) = self.call("step", self.x, t, [h])
            return ()
        given = (self.f, self.tolerances, [self.old_error])
        self.y, self.y_f, errors, self.r = self.call("step", self.x, t, [h], *given)
        return errors

    def _inner_samples(self, reached: float, h: float) -> None:
        """Interpolate the samples that lie inside the step."""
        while self.every and self.sample < self.target:
            at = (self.sample - self.start) * self.tick_seconds
            if not at < reached:
                return
            t = self.begin + at
            given = (self.x, self.y, self.f, self.y_f, self.r, [h], [(at - self.s) / h])
            (z,) = self.functions["dense"](*given)
            if "accepted" in self.functions:
                z = self.call("accepted", z, t)[0]
            self._record(z, t)

    def _require_finite(self) -> None:
        if not all(math.isfinite(value) for value in self.y):
            raise Leave(NOT_FINITE)

    def _accept(self, t: float) -> None:
        """Run what runs after each accepted step."""
        if "accepted" in self.functions:
            self._change("accepted", t)

    def _change(self, name: str, t: float) -> None:
        x, d = self.call(name, self.x, t)
        self.x, self.d = list(x), list(d)
        self.slope_known = self.events_known = 0

    # -- events ------------------------------------------------------------------------------------
    def know_events(self, t: float) -> None:
        """Evaluate events at x where they are not known; what has jumped through zero happens."""
        if self.events_known or not self.followed:
            return
        finished = -1
        while not self.events_known:
            new = list(self.call("events", self.x, t)[0])
            self.events_known = 1
            if "terms" in self.functions and min(self.top) <= FAINT:
                sizes = zip(self.top, self.call("terms", self.x, t)[0], strict=True)
                self.top = [max(top, size) if top <= FAINT else top for top, size in sizes]
            for i in range(self.followed if self.watched else 0):
                before, top = self.g[i], self.top[i]
                bound = top * NOISE + abs(t * self.turn[i]) * INSTANT
                if self.fired[i]:
                    if abs(new[i]) <= max(bound, self.m[i - self.followed]):
                        new[i] = 0.0  # its own action has put it there: it leaves by its rate
                elif abs(new[i]) <= bound and (
                    before * new[i] < 0.0 or abs(before) <= (2.0 * MARK * top if new[i] else bound)
                ):
                    new[i] = before  # it stays on its side
                if not self.fired[i] and self._jumped(i, new[i]):
                    finished = self._happened(i, t, finished)
            self.g, self.watched = new, 1
            self.top = [max(top, abs(g)) for top, g in zip(self.top, new, strict=False)]
        self.fired = [0.0] * self.followed
        self._finish(finished)

    def _jumped(self, i: int, after: float) -> bool:
        """Whether an event went through zero from g to a value that is later."""
        direction, before, turn = self.crossings[i].direction, self.g[i], self.turn[i]
        up = before < 0.0 <= after or (before == 0.0 and turn < 0.0 < after)
        down = before > 0.0 >= after or (before == 0.0 and turn > 0.0 > after)
        return (direction >= 0 and up) or (direction <= 0 and down)

    def _follow(self, t: float, h: float, ends: float) -> bool:
        """Look at the events of a step that ends at a time; return whether it is taken."""
        self.hit, self.verdict, self.landed = [], [1.0, NEVER, 0.0, 0.0, 0.0], False
        if not self.crossings:
            return True
        self.g_new = list(self.call("events", self.y, ends)[0])
        for i in range(self.followed, len(self.crossings)):
            if not self.g_new[i] > 0.0:
                raise Leave(GUARDED, i)
        if not self.followed:
            return True
        count, whole = self.followed, self.m[WANTED] == 0.0
        before, after = self.g[:count], self.g_new[:count]
        change: Numbers = []
        middle: Numbers = []
        if self.adaptive:
            middle = self._rates(t, h, ends)
            given = (before, middle, after, self.turn, self.turn_new, self.top, [h])
            calm, top = self.functions["calm"](*given)
        else:
            calm, top, change = self.functions["calm"](before, after, self.change, self.top)
        if not (calm[0] > 0.0 and whole):
            if not self.adaptive:  # rates may jump at the ends of a step
                near = min(abs(t) * _NEAR + _LEAST, h / 64)
                (self.f,) = self.call("slope", self.x, t + near)
                (self.y_f,) = self.call("slope", self.y, ends - near)
                if "turns" in self.functions:
                    (self.turn,) = self.call("turns", self.x, t + near, self.f)
                middle = self._rates(t, h, ends - near)
            rates = (self.turn, self.turn_new, self.top, calm, [h], [t], self.m)
            looked = self.functions["look"](before, middle, after, *rates)
            self.m, self.hit, self.verdict = map(list, looked)
        if whole and not self.adaptive:
            self.change, self.top = list(change), list(top)
        if not self.verdict[0] > 0.0:
            return False
        if self.adaptive:
            self.top, self.turn = list(top), list(self.turn_new)
        self.landed = self.verdict[2] > 0.0
        return True

    def _rates(self, t: float, h: float, ends: float) -> Numbers:
        """Evaluate the rates of events at y; return their values in the middle of the step."""
        if "turns" in self.functions:
            (self.turn_new,) = self.call("turns", self.y, ends, self.y_f)
        (z,) = self.functions["middle"](self.x, self.y, self.f, self.y_f, [h])
        return list(self.call("events", z, t + h * 0.5)[0])[: self.followed]

    def _happen(self, t: float) -> None:
        """Log events of the step that was taken, run their actions, end where one is terminal."""
        finished = -1
        if not self.crossings:
            return
        self.g = list(self.g_new)
        if self.hit:  # it was looked at
            self.g[: self.followed] = self.m[MEMORY + self.followed :][: self.followed]
        if self.landed:
            self.slope_known = 0
        for i, hit in enumerate(self.hit):
            if hit > 0.0:
                finished = self._happened(i, t, finished)
        if self.verdict[4] > 0.0:
            raise Leave(ENDLESS, int(self.verdict[4]) - 1)
        self._finish(finished)

    def _happened(self, i: int, t: float, finished: int) -> int:
        """Log an event and run its action; return which one ends the run, -1 for none."""
        self.log.append((i, self.start, self.s))
        if self.crossings[i].action:
            self.fired[i] = 1.0
            self._change(f"action{i}", t)
        return i if self.crossings[i].terminal else finished

    def _finish(self, finished: int) -> None:
        if finished >= 0:
            raise Leave(TERMINAL, finished)
        if len(self.log) >= self.log_room:
            raise Leave(LOGGED)


# -- noise -----------------------------------------------------------------------------------------
def philox(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return one block of the cipher Philox 4x32 with ten rounds, four words of 32 bits.

    Example:
        >>> [f"{word:08x}" for word in philox((0, 0, 0, 0), (0, 0))]
        ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    a, b, c, d = counter
    first, second = key
    for _ in range(10):
        low, high = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (high >> 32) ^ b ^ first, high & _LOW, (low >> 32) ^ d ^ second, low & _LOW
        first, second = (first + 0x9E3779B9) & _LOW, (second + 0xBB67AE85) & _LOW
    return a, b, c, d


def uniform(seed: int, stream: int, run: int, tick: int) -> tuple[float, float]:
    """Return the two numbers of a stream at a tick, uniform in (0, 1).

    Example:
        >>> uniform(1, 0, 0, 7) == uniform(1, 0, 0, 7) != uniform(1, 0, 0, 8)
        True
    """
    counter = (tick & _LOW, (tick >> 32) & _LOW, stream & _LOW, run & _LOW)
    a, b, c, d = philox(counter, (seed & _LOW, (seed >> 32) & _LOW))
    return _fraction(a, b), _fraction(c, d)


def _fraction(high: int, low: int) -> float:
    return (float((high << 20) | (low >> 12)) + 0.5) * 2.0**-52
