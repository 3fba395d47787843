"""One native run: chunk by chunk, interrupted and resumed at will.

A `Session` stands at some moment of a run. `advance` goes on to the next time that Python has
something to take away, and returns the samples; `run` collects them to the end. Between two calls
a session can be saved and restored, and what follows has the same bits. A keyboard interrupt
leaves it whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.errors import Error, nearest
from linkwright.simulation.executors import Executor, allocate
from linkwright.simulation.native import tables
from linkwright.simulation.native.machine import Array
from linkwright.simulation.native.pace import Pace
from linkwright.simulation.native.tables import LOG, WHOLE
from linkwright.simulation.settings import RunSettings, settings_of
from linkwright.system.phases import Phases, Signal

_CALL = 50_000
_ROWS = 4096
Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class StopReason:
    """Why a run ended before its time."""

    time: float
    reason: str
    names: tuple[str, ...]
    failed: bool


@dataclass(frozen=True, slots=True)
class Happened:
    """An event at its time, s."""

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
    """A run that has ended.

    Args:
        samples: what was recorded.
        time: where it ended, s.
        x: the continuous states there, by name.
        d: the discrete states and held outputs, by name.
        steps: accepted steps.
        rejected: steps that were tried again.
        events: what happened when.
        stop: why it ended before its time, or None.
    """

    samples: Samples
    time: float
    x: dict[str, float]
    d: dict[str, float]
    steps: int
    rejected: int
    events: tuple[Happened, ...] = ()
    stop: StopReason | None = None


class Session:
    """A native run of a System.

    Args:
        phases: the flattened System.
        settings: how it is run, or the end time in s; the last base tick is cut short where that
            lies between two.
        initial: where states start, by name.
        values: parameters, by name.
        inputs: inputs from outside, by name.
        run: the number of the run, on which noise depends too.
        rows: room for samples between two visits of Python.
        more: settings by name, as those of `RunSettings`.
    """

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
        **more: Any,
    ) -> None:
        asked = settings_of(settings, **more)
        native = asked.native(phases)
        self.phases = phases
        self.machine: Executor = allocate(asked.executor, phases, native, rows=rows)
        self.machine.put_whole("run", run)
        put_named(self.machine, phases, initial or {}, values or {}, inputs or {})
        self.machine.prepare()
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
            s = whole.view(np.float64)[WHOLE["s"]]
            return float(whole[WHOLE["start"]] * tick + s)
        return min(float(whole[WHOLE["k"]] * tick), self.machine.settings.end)

    @property
    def steps(self) -> int:
        """Accepted steps so far."""
        return int(self.machine.field("steps")[0])

    def advance(self, steps: int = _CALL) -> Samples:
        """Go on until the room for samples is used up, some steps were done, or it has ended."""
        machine = self.machine
        limit = self.steps + steps
        while not self.done:
            machine.budget(max(limit - self.steps, 1))
            machine.run(0, 1)
            status = int(machine.field("status")[0])
            self._drain()
            if status == tables.FOREIGN:
                machine.foreign(0)
                continue
            if status == tables.LOGGED:
                continue
            if status == tables.MORE and machine.calls_python and self.steps < limit:
                continue
            if status in (tables.ROWS, tables.MORE):
                self._watch_pace()
                break
            self.done = True
            if status != tables.DONE:
                self.stop = self._stopped(status)
        return self._take()

    def run(self, progress: Progress | None = None) -> Outcome:
        """Go to the end, and return what was recorded on the way.

        Where it is interrupted, nothing is lost: called again it goes on.
        """
        while not self.done:
            self._kept.append(self.advance())
            if progress is not None:
                progress(self.time)
        return self.outcome(self.collected())

    def standing(self) -> Outcome:
        """Return where a run stands that was interrupted, with all that it has recorded."""
        self._drain()
        self._kept.append(self._take())
        return self.outcome(self.collected())

    def collected(self) -> Samples:
        """Return what `run` has collected so far."""
        names = names_of(self.phases.outputs)
        if not self._kept:
            return Samples(names, np.zeros(0), np.zeros((0, len(names))))
        times = np.concatenate([p.times for p in self._kept])
        values = np.concatenate([p.values for p in self._kept])
        return Samples(names, times, values)

    def outcome(self, samples: Samples) -> Outcome:
        """Return where the run stands, with samples that were taken on the way."""
        machine = self.machine
        x, d = machine.rows_of("x")[0], machine.rows_of("d")[0]
        return Outcome(
            samples,
            self.time,
            {s.name: float(v) for s, v in zip(self.phases.x, x, strict=True)},
            {s.name: float(v) for s, v in zip(self.phases.d, d, strict=True)},
            self.steps,
            int(machine.field("rejected")[0]),
            tuple(self.events),
            self.stop,
        )

    # -- interruption ------------------------------------------------------------------------------
    def snapshot(self) -> dict[str, NDArray[np.generic]]:
        """Return all that a session is, as arrays; samples that were taken are not in it."""
        saved = self.machine.snapshot()
        names = [e.name for e in self.phases.event_list]
        saved["sampled"] = np.array([self._sampled])
        saved["event_index"] = np.array([names.index(e.name) for e in self.events], dtype=np.int64)
        saved["event_time"] = np.array([e.time for e in self.events], dtype=float)
        return saved

    def restore(self, saved: Mapping[str, NDArray[np.generic]]) -> None:
        """Stand where `snapshot` was taken, in a session of the same System and settings."""
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
        names = tuple(s.name for s in self.phases.outputs)
        return Samples(names, times, values)

    def _drain(self) -> None:
        """Take the logged events away."""
        machine = self.machine
        rows = machine.log[: int(machine.field("logged")[0])]
        for row in rows:
            seconds = float(row.view(np.float64)[LOG["s"]])
            t = int(row[LOG["start"]]) * self.phases.tick_seconds + seconds
            self.events.append(Happened(self.phases.event_list[int(row[LOG["event"]])].name, t))
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
        if status in (tables.TERMINAL, tables.GUARDED):
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


def put_named(
    machine: Executor,
    phases: Phases,
    initial: Mapping[str, object],
    values: Mapping[str, object],
    inputs: Mapping[str, object],
) -> None:
    """Write parameters, inputs and then states that are given by name, for all runs or each.

    States that are not given start from the values of the phases, or where their Program for the
    start puts them with these parameters.
    """
    states = {s.name: ("x", i) for i, s in enumerate(phases.x)}
    states |= {s.name: ("d", i) for i, s in enumerate(phases.d) if s.name not in states}
    known = (
        (values, {s.name: ("p", i) for i, s in enumerate(phases.p)}, "parameter"),
        (inputs, {s.name: ("w", i) for i, s in enumerate(phases.w)}, "input"),
        (initial, states, "state"),
    )
    for given, places, kind in known:
        if kind == "state":
            machine.initialize()
        for name, value in given.items():
            if name not in places:
                raise unknown(phases, name, places, kind)
            array, index = places[name]
            rows = machine.rows_of(array)
            rows[:, index] = np.asarray(value, dtype=float)
            machine.put(array, rows)


def unknown(phases: Phases, name: str, known: Mapping[str, object], kind: str) -> Error:
    """Return the error of a name that is not known, with the nearest one."""
    near = nearest(name, list(known))
    remedy = f"did you mean {near!r}?" if near else f"there are {', '.join(known) or 'none'}"
    return Error(f"{phases.name!r} has no {kind} {name!r}", remedy=remedy)


def names_of(signals: Sequence[Signal]) -> tuple[str, ...]:
    """Return the names of signals."""
    return tuple(s.name for s in signals)
