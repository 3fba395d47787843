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

DONE, MORE, ROWS, FOREIGN, NOT_FINITE, TERMINAL, LOGGED, TOO_SMALL, GUARDED = range(1, 10)
BISECTIONS = 50
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
    """An event: the direction in which its value goes through zero, and what that does."""

    direction: int = 0
    terminal: bool = False
    action: bool = False
    guard: bool = False


class Driver:
    """One run.

    Args:
        functions: the Programs of a schedule by name: each takes the arrays x, d, p, w, t and what
            it needs besides as lists, p being what `constants_NAME` gives, and returns a tuple of
            lists.
        ticks: what is due when.
        crossings: the events.
        tick_seconds: the base tick, s.
    """

    def __init__(
        self,
        functions: Functions,
        ticks: Sequence[DueTick],
        crossings: Sequence[DetectedCrossing],
        tick_seconds: float,
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
        self.k = self.start = self.target = self.in_gap = self.j = self.grid = self.cut = 0
        self.cursor = self.sample = self.steps = self.rejected = self.detail = 0
        self.slope_known = self.events_known = 0
        self.s = self.proposed = 0.0
        self.old_error = 1e-4
        self.due = [tick.offset for tick in ticks]
        self.o: Numbers = []
        self.y: Numbers = []
        self.f: Numbers = []
        self.y_f: Numbers = []
        self.r: Numbers = []
        self.g: Numbers = []
        self.g_new: Numbers = []
        self.crossed_in_step = False

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
            if self.every and self.sample == self.k:
                self._record(self.x, self.seconds(self.k))
            if self.k >= self.until:
                return
            if self.left <= 0:
                raise Leave(MORE)
            if not self.in_gap:
                self._open_gap()
            if self.adaptive:
                self._adaptive_steps()
            else:
                self._fixed_steps()
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
        self.rows.append(list(self.call("output", x, t)[0]))
        following = self.sample + self.every
        last = following > self.until > self.sample and self.end < math.inf
        self.sample = self.until if last else following

    def _open_gap(self) -> None:
        """Find what is due next, and divide the way there into steps."""
        self.target = min([self.until, *self.due])
        if self.every and not self.interpolates:
            self.target = min(self.target, self.sample)
        self.start, self.in_gap, self.j, self.cut, self.s = self.k, 1, 0, 0, 0.0
        if not self.adaptive:
            self.grid = max(math.ceil(self.span / self.step_size - 1e-9), 1)

    # -- steps -------------------------------------------------------------------------------------
    def _fixed_steps(self) -> None:
        """Go through the gap in equal steps."""
        span, begin = self.span, self.begin
        size = span / self.grid
        while self.j < self.grid:
            end = (self.j + 1) / self.grid * span
            h = end - self.s if self.cut else size
            t = begin + self.s
            self._know_events(t)
            self._step(t, h)
            self._require_finite()
            ends = self.seconds(self.target) if self.j + 1 == self.grid else begin + end
            h = self._look(t, h, ends)
            self.x = list(self.y)
            self._accept(t + h)
            self.s = self.s + h if self.cut else end
            self.j += 0 if self.cut else 1
            self._counted(t + h)

    def _adaptive_steps(self) -> None:
        """Go through the gap in steps that are as long as the error allows."""
        span, begin = self.span, self.begin
        while self.s < span:
            t = begin + self.s
            if not self.slope_known:
                (self.f,) = self.call("slope", self.x, t)
                self.slope_known = 1
            if self.proposed == 0.0:
                self.proposed = self.call("first", self.x, t, self.tolerances)[0][0]
            self._know_events(t)
            rest = span - self.s
            last = self.proposed * 1.01 >= rest
            h = rest if last else self.proposed
            error, grow, shrink = self._step(t, h)
            if not error <= 1.0:
                self.rejected += 1
                self.proposed = h * (shrink if shrink < 1.0 else 0.1)
                if h <= 4e-15 * self.until * self.tick_seconds:
                    raise Leave(TOO_SMALL)
                continue
            reached = span if last else self.s + h
            ends = self.seconds(self.target) if last else begin + (self.s + h)
            part = self._look(t, h, ends)
            reached = self.s + part if self.cut else reached
            if self.interpolates:
                self._inner_samples(reached, part)
            longer = h * grow
            self.proposed = self.proposed if last and self.proposed > longer else longer
            self.old_error = error
            self.x, self.f = list(self.y), list(self.y_f)
            self.s = reached
            self._accept(begin + reached)
            self._counted(begin + reached)

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

    def _counted(self, t: float) -> None:
        self.steps += 1
        self.left -= 1
        self._happen(t)
        if self.left <= 0:
            raise Leave(MORE)

    # -- events ------------------------------------------------------------------------------------
    def _know_events(self, t: float) -> None:
        if self.crossings and not self.events_known:
            self.g = list(self.call("events", self.x, t)[0])
            self.events_known = 1

    def _crossed(self, i: int) -> bool:
        """Whether an event goes through zero between g and g_new."""
        direction, before, after = self.crossings[i].direction, self.g[i], self.g_new[i]
        up = direction >= 0 and before < 0.0 <= after
        return up or (direction <= 0 and before > 0.0 >= after)

    def _any_crossed(self) -> bool:
        return any(self._crossed(i) for i in range(len(self.crossings)))

    def _look(self, t: float, h: float, ends: float) -> float:
        """Compare events before and after the step, cut it at the first one; return its size.

        At its end they are evaluated at the time where the next step begins, to the last bit:
        otherwise one that goes through zero there could be lost in between.
        """
        self.crossed_in_step, self.cut = False, 0
        if not self.crossings:
            return h
        self.g_new = list(self.call("events", self.y, ends)[0])
        for i, crossing in enumerate(self.crossings):
            if crossing.guard and not self.g_new[i] > 0.0:
                raise Leave(GUARDED, i)
        if not self._any_crossed():
            return h
        self.crossed_in_step = True
        low, high = 0.0, h
        for _ in range(BISECTIONS):
            middle = (low + high) * 0.5
            self._partial(t, middle, self.begin + (self.s + middle))
            low, high = (low, middle) if self._any_crossed() else (middle, high)
        self._partial(t, high, self.begin + (self.s + high) if high < h else ends)
        self.cut = int(high < h)
        return high

    def _partial(self, t: float, h: float, ends: float) -> None:
        """Repeat the step with another size, and evaluate the events at its end."""
        self._step(t, h)
        self.g_new = list(self.call("events", self.y, ends)[0])

    def _happen(self, t: float) -> None:
        """Log events of the step that was taken, run their actions, end where one is terminal."""
        finished = -1
        if not self.crossings:
            return
        for i, crossing in enumerate(self.crossings):
            if self.crossed_in_step and self._crossed(i):
                self.log.append((i, self.start, self.s))
                if crossing.action:
                    self._change(f"action{i}", t)
                if crossing.terminal or crossing.guard:
                    finished = i
        if self.events_known:
            self.g = list(self.g_new)
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
