"""One native run: chunk by chunk, interrupted, changed and resumed at will.

A `Session` stands at some moment of a run. `advance` goes on to the next time that Python has
something to take away, and returns the samples; `run` collects them to the end. Between two calls
a session can be saved and restored, and what follows has the same bits. A keyboard interrupt
leaves it whole.

Where phases hold only in a part of the state space, guards end a step that would leave it, and a
`Fallback` says with which phases to go on: the same System in another form, in the same schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import Error
from linkwright.program import Program
from linkwright.simulation.executors import Executor, allocate
from linkwright.simulation.native import tables
from linkwright.simulation.native.called import SlotFunction
from linkwright.simulation.native.fallbacks import Fallback, SessionPlace
from linkwright.simulation.native.machine import Array
from linkwright.simulation.native.named import names_of, put_named, refuse_beyond, unknown
from linkwright.simulation.native.pace import Pace
from linkwright.simulation.native.tables import LOG, WHOLE
from linkwright.simulation.settings import RunSettings, settings_of
from linkwright.system.phases import Phases, Signal, of_guard

_CALL = 50_000
_ROWS = 4096
Progress = Callable[[float], None]


def given(name: str) -> str:
    """Return what a tape calls a result of a slot's function, apart from the number that it is.

    >>> given("task.des_q[0]")
    'task.des_q[0]:given'
    """
    return f"{name}:given"


@dataclass(frozen=True, slots=True)
class StopReason:
    """Why a run ended before its time."""

    time: float
    reason: str
    names: tuple[str, ...]
    failed: bool
    remedy: str = ""

    def told(self) -> dict[str, Any]:
        """Return what a recording says of it."""
        return {"time": self.time, "reason": self.reason, "names": list(self.names)}


@dataclass(frozen=True, slots=True)
class Happened:
    """An event at its time.

    Args:
        name: of the event, with the member that it belongs to.
        time: s.

    >>> Happened("stop.reached", 0.5).time
    0.5
    """

    name: str
    time: float


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Channels over time."""

    names: tuple[str, ...]
    times: Array
    values: Array

    def __getitem__(self, name: str) -> Array:
        """Return one channel over time."""
        if name not in self.names:
            raise Error(f"no channel is called {name!r}", remedy=f"there are {self.names}")
        column: Array = self.values[:, self.names.index(name)]
        return column


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """A run that has ended."""

    samples: Samples  # what was recorded
    time: float  # where it ended, s
    x: dict[str, float]  # the continuous states there, by name
    d: dict[str, float]  # the discrete states and held outputs, by name
    steps: int  # accepted steps
    rejected: int  # steps that were tried again
    events: tuple[Happened, ...] = ()  # what happened when
    stop: StopReason | None = None  # why it ended before its time, or None


class Session:
    """A native run of a System; `settings` may be its end in s, which may cut a tick short."""

    def __init__(
        self,
        phases: Phases,
        settings: RunSettings | float | None = None,
        *,
        initial: Mapping[str, float] | None = None,
        values: Mapping[str, float] | None = None,
        inputs: Mapping[str, float] | None = None,
        run: int = 0,
        rows: int = _ROWS,
        fallback: Fallback | None = None,
        **more: Any,
    ) -> None:
        asked = settings_of(settings, **more)
        native = asked.native(phases)
        self.fallback, self._executor = fallback, asked.executor
        self.phases = phases
        self.machine: Executor = allocate(asked.executor, phases, native, rows=rows)
        self.machine.put_whole("run_number", run)
        put_named(self.machine, phases, initial or {}, values or {}, inputs or {})
        refuse_beyond(self.machine, phases)
        self.machine.prepare()
        self.machine.remember()
        self._machines: list[tuple[Program, Executor]] = [(phases.derivative, self.machine)]
        self.events: list[Happened] = []
        self.stop: StopReason | None = None
        self.done = False
        self._sampled = 0
        self._pace = Pace(min(native.until * phases.tick_seconds, native.end))
        self._kept: list[Samples] = []

    @property
    def time(self) -> float:
        """Where the run stands, s."""
        whole = self.machine.whole[0]
        tick = self.phases.tick_seconds
        if whole[WHOLE["in_gap"]]:
            return float(whole[WHOLE["start"]] * tick + self.machine.rows_of("s")[0, 0])
        return min(float(whole[WHOLE["k"]] * tick), self.machine.settings.end)

    @property
    def steps(self) -> int:
        """Accepted steps so far."""
        return int(self.machine.field("steps")[0])

    @property
    def tick(self) -> int:
        """The last base tick that was reached."""
        return int(self.machine.field("k")[0])

    @property
    def begun(self) -> bool:
        """Whether what is due at the first tick was done."""
        return any(int(self.machine.field(n)[0]) for n in ("k", "in_gap", "cursor", "sample"))

    @property
    def sampled(self) -> int:
        """How many samples were taken away."""
        return self._sampled

    @property
    def state_signals(self) -> tuple[Signal, ...]:
        """What a run remembers: continuous states, discrete ones and held outputs."""
        return (*self.phases.x, *self.phases.d)

    @property
    def tape_names(self) -> tuple[str, ...]:
        """What a tape holds changes of: parameters, inputs, outputs of Python blocks, states; and
        what functions in slots gave (`given`), which enters when they are called."""
        own = (*names_of(self.phases.p), *names_of(self.phases.w))
        known = {} if self.fallback is None else self.fallback.values
        foreign = [i for tick in self.phases.ticks if tick.called for i in tick.slots]
        made = [self.phases.d[i].name for i in foreign]
        slots = [i for tick in self.phases.ticks if tick.exchanged for i in tick.slots]
        results = [given(self.phases.d[i].name) for i in slots]
        states = (*names_of(self.phases.x), *names_of(self.phases.d))
        return tuple(dict.fromkeys((*own, *known, *made, *states, *results)))

    def install(self, slot: str, number: int, function: SlotFunction) -> None:
        """Let a number stand for a function of a slot, from any thread.

        It is called where the slot's input `number` is that; the exchange is the change of that
        input, which enters at one tick.
        """
        for _, machine in self._machines:
            machine.called.install(machine.called.slot(slot), number, function)

    def slot_sizes(self, slot: str) -> tuple[int, int]:
        """Return how many arguments a slot gives a function, and how many numbers it holds."""
        called = self.machine.called
        return called.sizes(called.slot(slot))

    def note_samples(self, count: int) -> None:
        """Go on counting samples where whoever drove the machine took them away."""
        self._sampled = count

    def extend(self, tick: int) -> None:
        """Let the run end at a base tick, earlier or later than before."""
        self.machine.extend(tick)
        self.done = self.stop is not None

    def set(self, values: Mapping[str, float]) -> None:
        """Change parameters and inputs from here on; all of them, or none where one is unknown."""
        places = {s.name: ("p", i) for i, s in enumerate(self.phases.p)}
        places |= {s.name: ("w", i) for i, s in enumerate(self.phases.w)}
        known = set(places) | ({} if self.fallback is None else self.fallback.values).keys()
        known -= (self.phases.meta or {}).get("follows", {}).keys()
        for name in values:
            if name not in known:
                raise unknown(self.phases, name, places, "parameter or input")
        self.refuse(values)
        rows = {array: self.machine.rows_of(array) for array in "pw"}
        for name, value in values.items():
            if name in places:
                array, index = places[name]
                rows[array][:, index] = value
        for array, table in rows.items():
            self.machine.put(array, table)
        self.machine.prepare()
        if self.fallback is not None:
            self.fallback.set(values)
        self._forget()

    def refuse(self, values: Mapping[str, float]) -> None:
        """Reject values with which parameters make no sense."""
        names = names_of(self.phases.p)
        if self.phases.check is not None and not values.keys().isdisjoint(names):
            now = zip(names, map(float, self.machine.rows_of("p")[0]), strict=True)
            self.phases.check({**dict(now), **values})

    def move(self, x: Mapping[str, float]) -> None:
        """Put continuous states elsewhere, such as coordinates onto loops that have changed."""
        names = names_of(self.phases.x)
        for name in x:
            if name not in names:
                raise unknown(self.phases, name, dict.fromkeys(names), "state")
        row = {**self.place().x, **x}
        self.machine.put("x", [row[name] for name in names])
        self.machine.remember()
        self._forget()

    def _forget(self) -> None:
        """Forget what was computed for the state as it was."""
        self.machine.field("slope_known")[:] = 0
        self.machine.field("events_known")[:] = 0

    def advance(self, steps: int = _CALL) -> Samples:
        """Go on until the room for samples is used up, some steps were done, or it has ended.

        Where the function of a slot fails, its outputs hold at that tick, and the error is raised.
        """
        try:
            return self._advance(steps)
        except Exception:
            self.machine.pass_over(0)
            raise

    def _advance(self, steps: int) -> Samples:
        limit = self.steps + steps
        while not self.done:
            machine, stepwise = self.machine, self.fallback is not None and self.fallback.stepwise
            machine.budget(1 if stepwise else max(limit - self.steps, 1))
            before = self.steps
            if stepwise:
                self._step_near()
            else:
                machine.run(0, 1)
            status = int(machine.field("status")[0])
            self._drain()
            if self._stepped_back(status):
                continue
            if stepwise and self.steps > before and self.fallback is not None:
                better = self.fallback.after(self.place())
                if better is not None:
                    self._go_on_with(better)
            if status == tables.FOREIGN:
                machine.foreign(0)
                continue
            if status == tables.LOGGED:
                continue
            again = stepwise or self.machine.calls_python
            if status == tables.MORE and again and self.steps < limit:
                continue
            if status in (tables.ROWS, tables.MORE):
                self._watch_pace()
                break
            self.done = True
            if status != tables.DONE:
                self.stop = self._stopped(status)
        return self._take()

    def attend(self) -> bool:
        """Answer what a call of native code came back with; return whether the run goes on.

        Whoever drives the machine itself (a paced loop) calls it where a tick was not reached;
        samples are the caller's to take.
        """
        status = int(self.machine.field("status")[0])
        self._drain()
        if self._stepped_back(status):
            return True
        if status == tables.FOREIGN:
            self.machine.foreign(0)
        elif status == tables.MORE:
            self._watch_pace()
        elif status not in (tables.LOGGED, tables.ROWS):
            self.done, self.stop = True, self._stopped(status)
        return not self.done

    def _stepped_back(self, status: int) -> bool:
        """Choose other phases to repeat a step in, where it is not to be trusted."""
        if status != tables.GUARDED or self.fallback is None:
            return False
        machine = self.machine
        t, y = float(machine.rows_of("t")[0, 0]), machine.rows_of("y")[0]
        new = dict(zip(names_of(self.phases.x), map(float, y), strict=True))
        self._go_on_with(self.fallback.instead(self.place(), t, new))
        return True

    def run(self, progress: Progress | None = None) -> Outcome:
        """Go to the end, and return what was recorded on the way.

        Where it is interrupted, nothing is lost: called again it goes on.
        """
        while not self.done:
            self.collect()
            if progress is not None:
                progress(self.time)
        return self.outcome(self.collected())

    def collect(self, steps: int = _CALL) -> None:
        """Go on as `advance` does, and keep the samples, with one of the end."""
        self._kept.append(self.advance(steps))
        if self.done:
            self._kept.append(self.ending())

    def standing(self) -> Samples:
        """Return what a run that was interrupted has recorded since samples were taken away."""
        self._drain()
        return self._take()

    def collected(self) -> Samples:
        """Return what `run` has collected so far."""
        names = names_of(self.phases.outputs)
        times = np.concatenate([np.zeros(0), *(p.times for p in self._kept)])
        values = np.concatenate([np.zeros((0, len(names))), *(p.values for p in self._kept)])
        return Samples(names, times, values)

    def ending(self) -> Samples:
        """Return a sample of where the run stands; none where one was taken there.

        A terminal event may change outputs at the very time of the last sample, and counts.
        """
        settings, names, t = self.machine.settings, names_of(self.phases.outputs), self.time
        last = settings.times(np.array([self._sampled - 1]), self.phases.tick_seconds)[0]
        ended = self.stop is not None and not self.stop.failed
        if not settings.every or (self._sampled and last >= t and not ended):
            return Samples(names, np.zeros(0), np.zeros((0, len(names))))
        return Samples(names, np.array([t]), self.machine.outputs([[t]]))

    def outcome(self, samples: Samples) -> Outcome:
        """Return where the run stands, with samples that were taken on the way."""
        place = self.place()
        return Outcome(
            samples,
            self.time,
            self.state(),
            {name: value for name, value in place.d.items() if not of_guard(name)},
            self.steps,
            int(self.machine.field("rejected")[0]),
            tuple(self.events),
            self.stop,
        )

    # -- where it stands, and what may be changed there --------------------------------------------
    def place(self) -> SessionPlace:
        """Return where the run stands, by name."""
        x, d, w = (self.machine.rows_of(array)[0] for array in "xdw")
        named = ((self.phases.x, x), (self.phases.d, d), (self.phases.w, w))
        tables_ = [dict(zip(names_of(s), map(float, v), strict=True)) for s, v in named]
        return SessionPlace(self.time, *tables_)

    def state(self) -> dict[str, float]:
        """Return all continuous states by name, those included that the phases eliminate."""
        place = self.place()
        return dict(place.x) if self.fallback is None else self.fallback.whole(place)

    def _go_on_with(self, x: Mapping[str, float]) -> None:
        """Go on with the phases of the fallback, in the same schedule."""
        assert self.fallback is not None
        old, new = self.machine, self._machine_of(self.fallback.phases)
        known = {"x": {**self.place().x, **x}, "d": self.place().d, "w": self.place().w}
        parameters = zip(names_of(self.phases.p), old.rows_of("p")[0], strict=True)
        known["p"] = {n: float(v) for n, v in parameters}
        self.phases, self.machine = new.phases, new
        for array, values in known.items():
            signals: tuple[Signal, ...] = getattr(new.phases, array)
            own = {s.name: s.value for s in signals if s.name not in values or of_guard(s.name)}
            new.put(array, [own[s.name] if s.name in own else values[s.name] for s in signals])
        new.take_schedule(old)
        new.called.take_results(old.called)
        new.prepare()
        new.remember()

    def _machine_of(self, phases: Phases) -> Executor:
        phases = replace(phases, tick_seconds=self.phases.tick_seconds)
        for made, machine in self._machines:
            if made is phases.derivative:
                machine.phases = phases
                return machine
        old = self.machine
        machine = allocate(self._executor, phases, old.settings, rows=old.rows)
        for i, functions in old.called.functions.items():
            for number, function in functions.items():
                machine.called.install(i, number, function)
        machine.called.use(old.called.mode)
        self._machines.append((phases.derivative, machine))
        return machine

    def _step_near(self) -> None:
        """Go one step near a singular configuration, whose place says how long it is."""
        machine, fallback = self.machine, self.fallback
        assert fallback is not None
        if not machine.settings.method.adaptive:
            machine.run(0, 1)
            return
        size = float(machine.rows_of("proposed")[0, 0])
        now, across = fallback.ahead(self.place(), machine.settings.method.name, size)
        machine.put("proposed", [now])
        kept = machine.rows_of("c")
        if across:
            machine.put("c", [1.0, 1.0, 1.0])
        machine.run(0, 1)
        if across:
            machine.put("c", kept)
            machine.put("proposed", [size])

    # -- interruption ------------------------------------------------------------------------------
    def snapshot(self) -> dict[str, NDArray[np.generic]]:
        """Return all that a session is, as arrays; samples that were taken are not in it."""
        saved = self.machine.snapshot()
        names = [e.name for e in self.phases.event_list]
        saved["sampled"] = np.array([self._sampled])
        if self.fallback is not None:
            saved["form"] = self.fallback.form
        saved["event_index"] = np.array([names.index(e.name) for e in self.events], dtype=np.int64)
        saved["event_time"] = np.array([e.time for e in self.events], dtype=float)
        return saved

    def restore(self, saved: Mapping[str, NDArray[np.generic]]) -> None:
        """Stand where `snapshot` was taken, in a session of the same System and settings."""
        if self.fallback is not None and "form" in saved:
            self.fallback.take_form(saved["form"])
            self.machine = self._machine_of(self.fallback.phases)
            self.phases = self.machine.phases
        self.machine.restore(saved)
        self._sampled = int(np.asarray(saved["sampled"])[0])
        names = [e.name for e in self.phases.event_list]
        pairs = zip(saved["event_index"].tolist(), saved["event_time"].tolist(), strict=True)
        self.events = [Happened(names[int(i)], float(t)) for i, t in pairs]
        self.done, self.stop = False, None
        self._pace.restart(self.steps, self.time)

    # -- pieces ------------------------------------------------------------------------------------
    def _take(self) -> Samples:
        machine = self.machine
        count = int(machine.field("row")[0])
        values = machine.samples[0, :count, :, 0].copy()
        rows = np.arange(self._sampled, self._sampled + count)
        times: Array = machine.settings.times(rows, self.phases.tick_seconds)
        machine.field("row")[0] = 0
        self._sampled += count
        return Samples(names_of(self.phases.outputs), times, values)

    def _drain(self) -> None:
        """Take the logged events away."""
        machine = self.machine
        count = int(machine.field("logged")[0])
        if not count:
            return
        rows, names = machine.log[:count], [event.name for event in self.phases.event_list]
        seconds = rows.view(np.float64)[:, LOG["s"]]
        times = rows[:, LOG["start"]] * self.phases.tick_seconds + seconds
        which = map(names.__getitem__, rows[:, LOG["event"]].tolist())
        self.events.extend(map(Happened, which, times.tolist()))
        machine.field("logged")[0] = 0

    def _watch_pace(self) -> None:
        """End a run whose steps have become so short that it would never come to its end."""
        if not self.machine.settings.method.adaptive:
            return
        t = self.time
        mean = self._pace.crawls(self.steps, t)
        if mean is not None:
            reason = f"steps of {mean:.2g} s from t = {t:.6g} s on would never come to an end"
            names = self._fastest()
            self.done = True
            self.stop = StopReason(t, reason + self._told(names), names, failed=True)

    def _fastest(self) -> tuple[str, ...]:
        """Return the name of the state that changes fastest."""
        rates = np.nan_to_num(np.abs(self.machine.rows_of("f")[0]), nan=np.inf)
        if not rates.any():  # not every method keeps them
            return ()
        return (self.phases.x[int(rates.argmax())].name,)

    def _told(self, names: Sequence[str]) -> str:
        x = dict(zip(names_of(self.phases.x), self.machine.rows_of("x")[0], strict=True))
        return "".join(f"; {name}, {x[name]:.6g}, changes fastest" for name in names)

    def _stopped(self, status: int) -> StopReason:
        machine, t = self.machine, self.time
        if status == tables.GUARDED:
            reason = f"the constraints become singular after t = {t:.6g} s"
            return StopReason(t, reason, (), failed=True)
        if status == tables.ENDLESS:
            name = self.phases.event_list[int(machine.field("detail")[0])].name
            reason = (
                f"{name!r} happens without end from t = {t:.6g} s on: its action lets it happen "
                "again and again, and its value does not leave zero"
            )
            remedy = "let it end the run, or let what it stands for rest there (a ball that lies)"
            return StopReason(t, reason, (name,), failed=True, remedy=remedy)
        if status == tables.TERMINAL:
            name = self.phases.event_list[int(machine.field("detail")[0])].name
            return StopReason(t, f"{name!r} ended the run at t = {t:.6g} s", (name,), failed=False)
        found = ~np.isfinite(machine.rows_of("y")[0])
        names = tuple(s.name for s, bad in zip(self.phases.x, found, strict=True) if bad)
        if names:
            listed = ", ".join(names)
            return StopReason(
                t, f"no finite value of {listed} after t = {t:.6g} s", names, failed=True
            )
        names = self._fastest()
        reason = f"no step from t = {t:.6g} s keeps the error below the tolerance"
        return StopReason(t, reason + self._told(names), names, failed=True)
