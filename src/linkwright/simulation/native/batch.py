"""Many runs of one System: lanes of vector registers times threads.

Runs may differ in initial states, parameters, inputs, seeds and numbers. A run's result has the
same bits whatever its place among the others, their number and the number of threads: every run
goes through the same vector code, and spare lanes repeat the last run. Threads take groups of
blocks from one list until it is empty, without the interpreter lock.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwright.backends.llvm.blocks import from_blocked
from linkwright.backends.threads import checked_threads
from linkwright.base.errors import Error
from linkwright.base.results import Result
from linkwright.recording.generic import generic_name
from linkwright.recording.recording import Channel, Recording
from linkwright.recording.transfer import Transferable
from linkwright.simulation.described import told_meta
from linkwright.simulation.native import tables
from linkwright.simulation.native.machine import Array, Machine
from linkwright.simulation.native.named import names_of, put_named, refuse_beyond
from linkwright.simulation.native.session import Outcome
from linkwright.simulation.settings import BATCH, RunSettings, settings_of
from linkwright.system.phases import Phases, Signal, of_guard
from linkwright.version import __version__

if TYPE_CHECKING:
    from linkwright.simulation.native.cards import CardBatch, LaneTarget

_CALL = 200_000  # steps of a group between two visits of Python
_MOST_STEPS = 50_000_000  # of a run with a method that adapts its steps
SINGULAR = "the constraints become singular; simulate it alone to pass there"
"""Why a run ended whose constraints cannot be solved for the speeds that are eliminated."""

_WORDS = {
    tables.NOT_FINITE: "a state is no longer finite",
    tables.TOO_SMALL: "no step keeps the error below the tolerance",
    tables.TERMINAL: "{event!r} ended it",
    tables.GUARDED: SINGULAR,
    tables.ENDLESS: "{event!r} happens without end",
    tables.TOO_MANY: "it would take more than {most:,} steps; simulate it alone to see why, or use "
    "a method with fixed steps",
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Batch(Transferable, Result):
    """Runs that were carried out together.

    Args:
        states: names of the continuous states.
        discrete: names of the discrete states and held outputs.
        channels: names of the recorded channels.
        events: names of the events.
        x: final continuous states, a row for each run.
        d: final discrete states, a row for each run.
        stopped: when a run ended before its time, s; infinity where it did not.
        times: of the samples, s; the last is the end.
        samples: (runs, times, channels); a run that has ended stays as it was at its end.
        event_counts: how often each event happened, a row for each run.
        event_times: when each event happened first, s; nan where it did not.
        steps: of all runs together.
        signals: what the recorded channels are.
        metadata: how the runs were carried out, for recordings.
        source: what ran, while it is at hand.
        given: parameters and inputs of the runs, each one number or one for each run.
        initial: where states started, in the same way.
        seeds: of noise, in the same way.
        numbers: of the runs, on which noise depends.
        reasons: why each run ended before its time, in words; empty where it did not.

    Example:
        >>> from linkwright.mechanism import Mechanism
        >>> from linkwright.simulation import simulate_batch
        >>> m = Mechanism("cart")
        >>> b = m.body("b", translate="x", mass="m")
        >>> f = m.force("push", 4, at=b.origin, along="x")
        >>> m.defaults(m=2.0)
        >>> found = simulate_batch(m, 1.0, parameters={"m": [1.0, 2.0, 4.0]})
        >>> found.states, found["b"].round(9).tolist()
        (('b', 'b_dot'), [2.0, 1.0, 0.5])
    """

    states: tuple[str, ...]
    discrete: tuple[str, ...]
    channels: tuple[str, ...]
    events: tuple[str, ...]
    x: Array
    d: Array
    stopped: Array
    times: Array
    samples: Array
    event_counts: Array
    event_times: Array
    steps: int
    signals: tuple[Signal, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    source: Any = field(default=None, repr=False)
    given: Mapping[str, ArrayLike] = field(default_factory=dict, repr=False)
    reasons: tuple[str, ...] = ()
    initial: Mapping[str, ArrayLike] = field(default_factory=dict, repr=False)
    seeds: ArrayLike = 0
    numbers: ArrayLike = 0
    _units = (
        ("stopped", "s"),
        ("times", "s"),
        ("event_times", "s"),
    )

    def __repr__(self) -> str:
        early = int(np.count_nonzero(np.isfinite(self.stopped)))
        ended = f", {early} ended before their time" if early else ""
        return (
            f"Batch({len(self.x)} runs of {len(self.states)} states, {len(self.times)} samples of "
            f"{len(self.channels)} channels, {self.steps} steps{ended})"
        )

    def recording(self, run: int) -> Recording:
        """Return the channels of one run over time, up to where it ended.

        Args:
            run: its number, from 0 on.
        """
        if not 0 <= run < len(self.x):
            raise Error(f"there is no run {run}; there are {len(self.x)}")
        if not len(self.times):
            raise Error("nothing was sampled", remedy="give every=...")
        good, end = self.times <= self.stopped[run], self.stopped[run]
        times, rows = self.times[good], self.samples[run][good]
        if np.isfinite(end) and not (len(times) and times[-1] == end):
            times, rows = np.append(times, end), np.vstack([rows, self.samples[run, -1:]])
        channels = [
            Channel(s.name, s.unit, s.long_name, generic_name(s.unit), s.body) for s in self.signals
        ]
        own = self.numbers_of(run)
        known = self.metadata.get("parameters", {})
        about = {**self.metadata, **own, "parameters": {**known, **own["set"]}}
        return Recording(times, channels, rows, about, self.source)

    def numbers_of(self, run: int) -> dict[str, Any]:
        """Return what one run has of its own: its number, seed, parameters, inputs and start.

        Args:
            run: its number in the batch, from 0 on.
        """

        def one(values: ArrayLike) -> Any:
            flat = np.ravel(np.asarray(values))
            return flat[run % len(flat)]

        return {
            "run": int(one(self.numbers)),
            "seed": int(one(self.seeds)),
            "set": {n: float(one(v)) for n, v in self.given.items()},
            "start": {n: float(one(v)) for n, v in self.initial.items()},
        }

    def with_run(self, run: int, outcome: Outcome) -> Batch:
        """Return the batch with the result of one run that was carried out alone.

        Args:
            run: its number in the batch, from 0 on.
            outcome: what came of it.
        """
        made = replace(
            self,
            x=self.x.copy(),
            d=self.d.copy(),
            stopped=self.stopped.copy(),
            samples=self.samples.copy(),
            event_counts=self.event_counts.copy(),
            event_times=self.event_times.copy(),
            steps=self.steps + outcome.steps,
            reasons=tuple(
                ("" if outcome.stop is None else outcome.stop.reason) if i == run else words
                for i, words in enumerate(self.reasons)
            ),
        )
        made.x[run] = [outcome.x[name] for name in self.states]
        made.d[run] = [outcome.d[name] for name in self.discrete]
        made.stopped[run] = np.inf if outcome.stop is None else outcome.stop.time
        rows = outcome.samples.values[: len(self.times)]
        made.samples[run, : len(rows)] = rows
        made.samples[run, len(rows) - 1 :] = outcome.samples.values[-1:]
        for i, name in enumerate(self.events):
            times = [e.time for e in outcome.events if e.name == name]
            made.event_counts[run, i] = len(times)
            made.event_times[run, i] = times[0] if times else np.nan
        return made

    def __getitem__(self, name: str) -> Array:
        """Return a channel over time for each run, or a final state of each run."""
        if name in self.channels and len(self.times):
            part: Array = self.samples[:, :, self.channels.index(name)]
            return part
        for names, values in ((self.states, self.x), (self.discrete, self.d)):
            if name in names:
                column: Array = values[:, names.index(name)]
                return column
        raise Error(f"no channel is called {name!r}", remedy=f"there are {self.states}")


def run_batch(
    phases: Phases,
    settings: RunSettings | float,  # how they are run, or the end time in s, with what `BATCH` says
    *,
    runs: int | None = None,
    initial: Mapping[str, ArrayLike] | None = None,
    values: Mapping[str, ArrayLike] | None = None,
    inputs: Mapping[str, ArrayLike] | None = None,
    seed: ArrayLike = 0,
    numbers: ArrayLike | None = None,
    threads: int | None = None,
    width: int | None = None,
    progress: Callable[[float], None] | None = None,
    device: str | LaneTarget = "cpu",
    **more: Any,
) -> Batch:
    """Return the results of many runs."""
    given = [*(initial or {}).values(), *(values or {}).values(), *(inputs or {}).values(), seed]
    count = run_count(runs, [*given, 0 if numbers is None else numbers])
    base = settings if isinstance(settings, RunSettings) else replace(BATCH, until=settings)
    asked = settings_of(base, **more).timed(tick=phases.tick_seconds)
    native = replace(asked.native(phases), most_steps=_MOST_STEPS)
    rows = native.samples
    machine: Machine | CardBatch
    if device == "cpu":
        machine = Machine(phases, native, count, width=_lanes(width), rows=rows)
    else:
        from linkwright.simulation.native.cards import CardBatch, target_named

        target = target_named(device) if isinstance(device, str) else device
        machine = CardBatch(phases, native, count, target, rows)
    machine.put_whole("seed", np.asarray(seed).astype(np.uint64))
    if numbers is not None:
        machine.put_whole("run_number", np.asarray(numbers).astype(np.uint64))
    put_named(machine, phases, initial or {}, values or {}, inputs or {})
    refuse_beyond(machine, phases)
    if isinstance(machine, Machine):
        machine.prepare()
        machine.remember()
        drive(machine, threads, progress)
        samples = from_blocked(machine.samples, count)
        steps = int(machine.field("steps").sum()) * machine.width
    else:
        machine.run(progress)
        samples, steps = machine.samples, machine.steps
    times: Array = native.times(np.arange(rows), phases.tick_seconds)
    stopped, end = machine.rows_of("stop"), min(native.until * phases.tick_seconds, native.end)
    if rows and (times[-1] < end or np.isfinite(stopped).any()):
        last = machine.outputs(np.minimum(stopped, end))
        if times[-1] < end:
            times = np.append(times, end)
            samples = np.concatenate([samples, last[:, None]], axis=1)
        samples = np.where((times > stopped)[:, :, None], last[:, None], samples)
    kept = [i for i, s in enumerate(phases.d) if not of_guard(s.name)]
    own = [i for i, e in enumerate(phases.event_list) if not e.guard]
    return Batch(
        names_of(phases.x),
        names_of([phases.d[i] for i in kept]),
        names_of(phases.outputs),
        tuple(phases.event_list[i].name for i in own),
        machine.rows_of("x"),
        machine.rows_of("d")[:, kept],
        stopped[:, 0],
        times,
        samples,
        machine.rows_of("count")[:, own],
        machine.rows_of("first")[:, own],
        steps,
        phases.outputs,
        {
            **told_meta(phases),
            "model": phases.name,
            "version": __version__,
            **asked.metadata(),
        },
        reasons=_reasons(machine),
    )


def _reasons(machine: Machine | CardBatch) -> tuple[str, ...]:
    """Return why each run ended before its time, in words."""
    codes, places = np.unique(machine.rows_of("why")[:, 0].astype(int), return_inverse=True)
    words = [reason_of(machine.phases, code) for code in codes.tolist()]
    if len(words) == 1:
        return tuple(words) * len(places)
    return tuple(words[place] for place in places.tolist())


def reason_of(phases: Phases, code: int) -> str:
    """Return why a run ended before its time, in words; empty where it did not."""
    which, kind = divmod(code, int(tables.WHICH))
    names = ["", *(event.name for event in phases.event_list)]
    return _WORDS.get(kind, "").format(most=_MOST_STEPS, event=names[which])


def drive(
    machine: Machine, threads: int | None = None, progress: Callable[[float], None] | None = None
) -> None:
    """Let all runs of a machine go to their end.

    An interrupt, or an error of a foreign function, lets every thread come back before it goes on.
    """
    threads = (os.cpu_count() or 1) if threads is None else checked_threads(threads)
    size = max(1, min(64, machine.blocks // (8 * threads)))
    groups = iter(range(0, machine.blocks, size))
    lock, halted, done = threading.Lock(), threading.Event(), [0]
    machine.budget(max(1, _CALL // size))

    def parts() -> Iterator[tuple[int, int]]:
        while not halted.is_set():
            with lock:
                first = next(groups, None)
            if first is None:
                return
            yield first, min(size, machine.blocks - first)

    def work() -> None:
        try:
            for first, count in parts():
                while not (halted.is_set() or finish(machine, first, count)):
                    _refuse_crawling(machine, first, count)
                with lock:
                    done[0] += count
                if progress is not None and threading.current_thread() is threading.main_thread():
                    progress(done[0] / machine.blocks)
        except BaseException:
            halted.set()
            raise

    if threads == 1:
        work()
        return
    with ThreadPoolExecutor(threads - 1, thread_name_prefix="linkwright-run") as pool:
        others = [pool.submit(work) for _ in range(threads - 1)]
        work()
        for other in others:
            other.result()


def finish(machine: Machine, first: int, count: int) -> bool:
    """Drive some blocks a while; return whether all have come to their end."""
    machine.run(first, count)
    status = machine.field("status")[first : first + count]
    for block in np.flatnonzero(status == tables.FOREIGN):
        machine.foreign(first + int(block))
    if machine.width == 1:
        machine.field("logged")[first : first + count] = 0
    open_ = (tables.MORE, tables.FOREIGN, tables.LOGGED)
    return not np.isin(status, open_).any()


def _refuse_crawling(machine: Machine, first: int, count: int) -> None:
    """Reject to wait for a run that would never come to its end; lanes end such runs themselves."""
    if not machine.settings.method.adaptive or machine.width > 1:
        return
    steps = machine.field("steps")[first : first + count]
    if steps.max() < _MOST_STEPS:
        return
    run = first + int(steps.argmax())
    raise Error(
        f"run {run} has taken {int(steps.max()):,} steps and is not at its end",
        remedy="simulate it alone to see why, or use a method with fixed steps",
    )


def _lanes(width: int | None) -> int:
    from linkwright.backends.llvm.target import host

    return host().lanes("f64") if width is None else width


def run_count(runs: int | None, given: Sequence[ArrayLike]) -> int:
    """Return the number of runs that a number and arrays agree on.

    Example:
        >>> run_count(None, [1.0, [1.0, 2.0, 3.0]])
        3
    """
    lengths = {len(a) for a in map(np.asarray, given) if a.ndim}
    if runs is not None:
        if not isinstance(runs, Integral):
            raise Error(
                f"runs must be an integer, not {runs!r}", remedy="pass 1 or more, such as 100"
            )
        lengths.add(int(runs))
    if len(lengths) > 1:
        raise Error(f"the arrays that are given have different lengths: {sorted(lengths)}")
    count = lengths.pop() if lengths else 1
    if count < 1:
        raise Error("there are no runs", remedy="give one initial state or more")
    return count
