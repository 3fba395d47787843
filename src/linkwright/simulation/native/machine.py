"""The memory of native runs, and the calls that drive them.

A `Machine` holds N runs of one System in blocks of W lanes. What a run is at any moment is in its
memory alone: `snapshot` takes it out, `restore` puts it back, and going on from there gives the
same bits as if nothing had happened. Python comes in where native code asks for it: to call
foreign functions, to take samples away, and every so many steps, so that a run can be interrupted.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.backends import built
from linkwright.backends.callbacks import guarded
from linkwright.backends.llvm.blocks import empty_aligned, from_blocked, to_blocked
from linkwright.base.errors import Error, ShapeError
from linkwright.program import Program
from linkwright.simulation.loop import SMALLEST
from linkwright.simulation.native import pace
from linkwright.simulation.native.bundle import Bundle, bundle
from linkwright.simulation.native.called import CalledFunctions
from linkwright.simulation.native.guards import FAINT, KEPT, MEMORY, NEVER, followed
from linkwright.simulation.native.methods import Method
from linkwright.simulation.native.tables import (
    CONFIG,
    CONSTANTS,
    EVENT,
    FOREIGN,
    HOLD,
    LOG,
    PREPARE,
    RUN,
    STAGED,
    TICK,
    WHOLE,
)
from linkwright.system.phases import Phases, Signal

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_LOG_ROWS = 256
_GUARDED = 64
"""Steps from one visit of Python to the next, where steps call Python functions."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a System is run."""

    method: Method  # how it is integrated
    until: int  # the last base tick
    step: float  # the longest step of a method with fixed steps, s
    every: int = 1  # base ticks from one sample to the next, 0 for none
    relative: float = 1e-8  # tolerance of an adaptive method, relative to the size of a state
    absolute: float = 1e-10  # the same where a state is near zero
    first_step: float = 0.0  # of an adaptive method, s; 0 to find one
    seed: int = 0  # of noise
    most_steps: float = math.inf  # of each run of a batch with an adaptive method
    # when the run ends, s, where that is before the last base tick; infinite where it is at the
    # last base tick
    end: float = math.inf
    scaled: bool = False  # whether `absolute` is less where all states are small

    def times(self, rows: NDArray[np.int64], tick_seconds: float) -> NDArray[np.float64]:
        """Return the times of samples, s."""
        ticks = self.every * rows
        if self.end == math.inf:
            return np.asarray(ticks * np.float64(tick_seconds))
        return np.minimum(np.minimum(ticks, self.until) * np.float64(tick_seconds), self.end)

    @property
    def samples(self) -> int:
        """How many samples a run has that goes to its end."""
        if not self.every:
            return 0
        cut = self.end < math.inf and self.until % self.every > 0
        return self.until // self.every + 1 + cut


def require_fit(phases: Phases) -> None:
    """Reject phases whose Programs write other numbers of values than there is room for, or to
    other places."""
    x, d = len(phases.x), len(phases.d)
    wanted: list[tuple[str, Program | None, list[int]]] = [
        ("derivative", phases.derivative, [x]),
        ("output", phases.output, [len(phases.outputs)]),
        ("events", phases.events, [len(phases.event_list)]),
        ("terms of events", phases.terms, [followed(phases.event_list)]),
        *((f"action of {e.name!r}", e.action, [x, d]) for e in phases.event_list),
    ]
    for tick in phases.ticks:
        what, held = f"tick of {tick.name!r}", len(tick.slots)
        given = tick.program.outputs[0].size if tick.called else held
        wanted.append((what, tick.program, [max(given, held) if tick.exchanged else given]))
        built.require_places(f"the {what}", tick.slots, d)
        built.whole(f"the interval of the {what}", tick.every, 1)
        built.whole(f"the first {what}", tick.offset)
    for what, made, sizes in wanted:
        if made is not None:
            found = [port.size for port in made.outputs]
            built.require_sizes(f"the {what} of {phases.name!r}", found, sizes)


class Machine:
    """N runs of a System in native memory."""

    def __init__(
        self,
        phases: Phases,
        settings: Settings,
        count: int = 1,
        *,
        width: int | None = None,
        rows: int = 1024,
    ) -> None:
        require_fit(phases)
        self.phases = phases
        self.settings = settings
        self.count = count
        lanes = 1 if width is None and count == 1 else width
        self.bundle: Bundle = bundle(phases, settings.method, lanes)
        self.width = self.bundle.width
        self.blocks = -(-count // self.width)
        self.rows = rows
        self.channels = len(phases.outputs)
        self._places, self._size = _layout(phases, self.bundle)
        self.arena = empty_aligned((self.blocks, self._size), np.dtype(np.float64))
        self.arena[:] = 0.0
        entries = len(WHOLE) + len(phases.ticks)
        self.whole: Integers = np.zeros((self.blocks, entries), np.int64)
        shape = (self.blocks, rows, self.channels, self.width)
        self.samples = empty_aligned(shape, np.dtype(np.float64))
        self.log: Integers = np.zeros((_LOG_ROWS + 2 * len(phases.event_list), len(LOG)), np.int64)
        self._keep: list[object] = []
        loop = self.bundle.loop
        self.called = CalledFunctions(phases, loop.address(HOLD), loop.address(STAGED))
        self._config = self._configured()
        self._run, self._prepare = (
            self._entry(loop.address(RUN)),
            self._entry(loop.address(PREPARE)),
        )
        if self.width == 1:
            ticks = [i for i, tick in enumerate(phases.ticks) if tick.exchanged]
            staged = {i: self.array(f"staged{i}")[0, :, 0] for i in ticks}
            self.called.bind(self.array("t")[0, 0, :], self.array("o")[0, :, 0], staged)
        self._begin()

    def __reduce__(self) -> str:
        """Reject copies: what native code works on are the addresses of these very arrays."""
        raise Error(
            "native memory is not copied or pickled",
            remedy="take snapshot(), and restore it in another one of the same System",
        )

    def _entry(self, address: int) -> Callable[[int, int, int], None]:
        made = _ENTRY(address)
        return guarded(made) if self.calls_python or self.called.any else made

    @property
    def calls_python(self) -> bool:
        """Whether steps call Python functions."""
        return self.bundle.python

    # -- memory ------------------------------------------------------------------------------------
    def array(self, name: str) -> Array:
        """Return a view of an array of all blocks, of shape (blocks, size, width)."""
        place, size = self._places[name]
        part = self.arena[:, place : place + size * self.width]
        return part.reshape(self.blocks, size, self.width)

    def rows_of(self, name: str) -> Array:
        """Return a copy of an array, of shape (runs, size)."""
        return from_blocked(self.array(name), self.count).copy()

    def field(self, name: str) -> Integers:
        """Return a view of an integer of each block."""
        return self.whole[:, WHOLE[name]]

    @property
    def layout(self) -> dict[str, tuple[int, int]]:
        """Where arrays are in the arena of a block, with their sizes."""
        return self._places

    def place_of(self, name: str, index: int) -> int:
        """Return where a number of a single run is in its arena."""
        return self._places[name][0] + index * self.width

    def addresses(self) -> dict[str, int]:
        """Return what native code needs that drives a single run: addresses, and places."""
        loop, at = self.bundle.loop, ("x", "d", "w", "t", "o", "p_output")
        return {
            "config": self._config.ctypes.data,
            "run_fn": loop.address(RUN),
            "prepare_fn": loop.address(PREPARE),
            "output_fn": self.bundle.address("output"),
            "arena": self.arena.ctypes.data,
            "whole": self.whole.ctypes.data,
            "samples": self.samples.ctypes.data,
            **{f"{n}_at": self._places[n][0] for n in at if n in self._places},
        }

    def put(self, name: str, values: ArrayLike) -> None:
        """Write an array: one row for all runs, or one for each."""
        size = self._places[name][1]
        given = np.asarray(values, dtype=float)
        if given.shape[-1:] != (size,) or given.ndim > 2:
            raise ShapeError(
                f"{name} of {self.phases.name!r} has {size} entries, not shape {given.shape}"
            )
        if given.ndim == 2 and len(given) != self.count:
            raise ShapeError(
                f"{len(given)} rows of {name} were given for {self.count} runs",
                remedy="give one row for each, or one for all",
            )
        rows = np.ascontiguousarray(np.broadcast_to(given, (self.count, size)))
        self.array(name)[:] = to_blocked(rows, self.width)

    def put_whole(self, name: str, values: ArrayLike) -> None:
        """Write integers into an array of one entry: one for all runs, or one for each."""
        given = np.asarray(values, dtype=np.uint64).view(np.int64)
        rows = np.ascontiguousarray(np.broadcast_to(given, (self.count,)))[:, None]
        self.array(name)[:] = to_blocked(rows.view(np.float64), self.width)

    def _begin(self) -> None:
        phases, settings = self.phases, self.settings
        for name in ("x", "d", "p", "w"):
            self.put(name, _values(getattr(phases, name)))
        self.put("c", [settings.relative, settings.absolute, 1.0])
        self.put("b", [1e-4])
        self.put("proposed", [settings.first_step])
        self.put("stop", [math.inf])
        self.put("first", np.full(len(phases.event_list), math.nan))
        self.put("change", np.full(followed(phases.event_list), NEVER))
        self.put("g", [event.before for event in phases.event_list])
        self.put("top", np.full(followed(phases.event_list), FAINT))
        self.field("watched")[:] = 1
        self.put_whole("seed", settings.seed & (2**64 - 1))
        self.put_whole("run_number", np.arange(self.count))
        self.whole[:, len(WHOLE) :] = [tick.offset for tick in phases.ticks]
        self.initialized = phases.initialize is None

    def prepare(self) -> None:
        """Compute what depends on parameters alone; call it whenever p has been written."""
        self._prepare(self._config.ctypes.data, 0, self.blocks)

    def remember(self) -> None:
        """Let guards remember where the runs stand: what runs after a step, x left as it is."""
        slots = [i for i, s in enumerate(self.phases.d) if s.name.startswith("guard.inverse")]
        if not slots:
            return
        kernel = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 7)(self.bundle.address("accepted"))
        names = ("x", "d", "p_accepted", "w", "t", "y", "o")
        for block in range(self.blocks):
            base = self.arena[block].ctypes.data
            kernel(*(base + 8 * self._places[name][0] for name in names))
            self.array("d")[block, slots] = self.array("o")[block, slots]

    def outputs(self, times: ArrayLike) -> Array:
        """Return the outputs where the runs stand, a row for each, at times of (runs, 1), s."""
        found = empty_aligned((self.blocks, self.channels, self.width), np.dtype(np.float64))
        given = np.ascontiguousarray(np.broadcast_to(np.asarray(times, float), (self.count, 1)))
        t = to_blocked(given, self.width)
        kernel = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 6)(self.bundle.address("output"))
        call = guarded(kernel) if self.calls_python else kernel
        for block in range(self.blocks):
            base = self.arena[block].ctypes.data
            places = (base + 8 * self._places[name][0] for name in ("x", "d", "p_output", "w"))
            call(*places, t[block].ctypes.data, found[block].ctypes.data)
        return from_blocked(found, self.count).copy()

    def take_schedule(self, other: Machine) -> None:
        """Stand in the schedule where another machine stands, with its samples and its noise."""
        self.whole[:] = other.whole
        for name in ("status", "logged", "slope_known", "events_known", "watched"):
            self.field(name)[:] = 0
        for name in ("s", "proposed", "stop", "seed", "run_number", "c"):
            self.array(name)[:] = other.array(name)
        self.samples[:] = other.samples
        places = {e.name: i for i, e in enumerate(other.phases.event_list)}
        for i, event in enumerate(self.phases.event_list):
            if event.name in places:
                for name in ("count", "first"):
                    self.array(name)[:, i] = other.array(name)[:, places[event.name]]
        self.initialized = True

    def initialize(self) -> None:
        """Run the Program that gives the initial states, where there is one."""
        if not self.initialized:
            for name, values in start_of(self.phases, self.rows_of, self.count):
                self.put(name, values)
        self.initialized = True

    # -- running -----------------------------------------------------------------------------------
    def budget(self, steps: int) -> None:
        """Set after how many steps a block comes back at the latest.

        With Python functions in its steps it does so soon, so that little is lost if one fails.
        """
        self._config[CONFIG["budget"]] = min(steps, _GUARDED) if self.calls_python else steps

    def run(self, first: int, count: int) -> None:
        """Drive some blocks until each has something to say; several threads may do so.

        Where a Python function fails or is interrupted in a step, they stand where they stood.
        """
        if not 0 <= first <= first + count <= self.blocks:
            raise ShapeError(f"there are {self.blocks} blocks, not {first} to {first + count}")
        if not self.calls_python:
            self._run(self._config.ctypes.data, first, count)
            return
        blocks = slice(first, first + count)
        arena, whole = self.arena[blocks].copy(), self.whole[blocks].copy()
        try:
            self._run(self._config.ctypes.data, first, count)
        except BaseException:
            self.arena[blocks], self.whole[blocks] = arena, whole
            raise

    def extend(self, until: int) -> None:
        """Let the runs go on to a later base tick."""
        self._config[CONFIG["until"]] = until

    def foreign(self, block: int) -> None:
        """Call the foreign function that a block waits for, once for each of its runs."""
        row = self.whole[block]
        index = int(row[WHOLE["detail"]])
        tick = self.phases.ticks[index]
        t = int(row[WHOLE["k"]]) * self.phases.tick_seconds
        given = self.called.given(index)
        if given is not None:  # native code has called it, and is not content
            self.called.require_finite(index, given[0], t, given[1])
            raise Error(f"what {given[0].name!r} gave could not be kept on the tape")
        arguments = self.array("o")[block, : tick.program.outputs[0].size]
        discrete = self.array("d")[block]
        going = np.isinf(self.array("stop")[block, 0])
        for lane in range(min(self.width, self.count - block * self.width)):
            if not going[lane]:
                continue  # this run has ended
            found = self.called.values(index, t, np.ascontiguousarray(arguments[:, lane]))
            discrete[list(tick.slots), lane] = found
        self._ticked(row, index)

    def arguments(self, index: int, k: int, x: Array, d: Array, w: Array) -> Array:
        """Return what the Program of a tick of a single run would give elsewhere.

        It may be called beside the run, with a copy of what that reached.
        """
        found: Array = np.zeros(max(self.phases.ticks[index].program.outputs[0].size, 1))
        t, tick = np.array([k * self.phases.tick_seconds]), np.array([float(k)])
        noise = np.zeros(max(self._places["n"][1], 1))
        given = [np.ascontiguousarray(a, dtype=float) for a in (x, d, w)]
        constants = self.arena[0].ctypes.data + 8 * self._places[f"p_tick{index}"][0]
        places = [a.ctypes.data for a in (*given[:2], given[2], t, tick, noise, found)]
        kernel = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 8)(self.bundle.address(f"tick{index}"))
        kernel(*places[:2], constants, *places[2:])
        return found

    def pass_over(self, block: int) -> int | None:
        """Let a slot hold where its function has failed at a tick; return which tick it is."""
        row = self.whole[block]
        index = int(row[WHOLE["detail"]])
        if row[WHOLE["status"]] != FOREIGN or not self.phases.ticks[index].exchanged:
            return None
        self._ticked(row, index)
        row[WHOLE["status"]] = 0
        return index

    def _ticked(self, row: Integers, index: int) -> None:
        """Go on behind a tick that Python has done."""
        row[len(WHOLE) + index] += self.phases.ticks[index].every
        row[WHOLE["cursor"]] += 1
        row[WHOLE["slope_known"]] = row[WHOLE["events_known"]] = 0

    # -- interruption ------------------------------------------------------------------------------
    def snapshot(self) -> dict[str, NDArray[np.generic]]:
        """Return copies of all that changes during a run."""
        return {"arena": self.arena.copy(), "whole": self.whole.copy()}

    def restore(self, saved: Mapping[str, NDArray[np.generic]]) -> None:
        """Put back what `snapshot` returned, of the same System with the same settings."""
        for name, target in (("arena", self.arena), ("whole", self.whole)):
            if saved[name].shape != target.shape:
                raise ShapeError(
                    f"the saved {name} has the shape {saved[name].shape}, not {target.shape}",
                    remedy="restore a state of the same System, method and number of runs",
                )
        self._require_places(saved["whole"])
        for name, target in (("arena", self.arena), ("whole", self.whole)):
            target[:] = saved[name]
        self.initialized = True

    def _require_places(self, whole: NDArray[np.generic]) -> None:
        """Reject a state whose places in arrays lie outside of them: native code uses these."""
        most = {"row": self.rows, "logged": len(self.log), "cursor": len(self.phases.ticks)}
        for name, count in most.items():
            what = f"the saved state is damaged: its {name}"
            built.require_places(what, whole[:, WHOLE[name]], count + 1)

    # -- the configuration -------------------------------------------------------------------------
    def _configured(self) -> Integers:
        phases, settings = self.phases, self.settings
        config: Integers = np.zeros(len(CONFIG), np.int64)
        values: dict[str, int] = {
            "states": len(phases.x),
            "discretes": len(phases.d),
            "channels": self.channels,
            "events": len(phases.event_list),
            "followed": followed(phases.event_list),
            "memory": self._places["m"][1],
            "tick_count": len(phases.ticks),
            "until": settings.until,
            "every": settings.every,
            "row_count": self.rows,
            "log_rows": _LOG_ROWS,
            "arena": self.arena.ctypes.data,
            "arena_stride": self._size,
            "whole": self.whole.ctypes.data,
            "whole_stride": self.whole.shape[1],
            "samples": self.samples.ctypes.data,
            "samples_stride": self.rows * self.channels * self.width,
            "log": self.log.ctypes.data,
            "tick_table": self._table(self._tick_rows(), len(TICK)),
            "event_table": self._table(self._event_rows(), len(EVENT)),
            "constants": self._table(self._constant_rows(), len(CONSTANTS)),
            "constant_count": len(self.bundle.constants),
            "p_size": len(phases.p),
        }
        for name in CONFIG.fields:
            if name.endswith("_fn"):
                values[name] = self.bundle.address(name.removesuffix("_fn"))
            elif name.endswith("_at") and name.removesuffix("_at") in self._places:
                values[name] = self._places[name.removesuffix("_at")][0]
        for name, value in values.items():
            config[CONFIG[name]] = value
        floats = config.view(np.float64)
        floats[CONFIG["tick_seconds"]] = phases.tick_seconds
        floats[CONFIG["end"]] = settings.end
        floats[CONFIG["step_size"]] = settings.step
        floats[CONFIG["most"]] = settings.most_steps
        floats[CONFIG["often"]] = pace.OFTEN
        floats[CONFIG["smallest"]] = SMALLEST * settings.until * phases.tick_seconds
        return config

    def _table(self, rows: Sequence[Sequence[int]], width: int) -> int:
        table: Integers = np.array(rows, dtype=np.int64).reshape(len(rows), width)
        self._keep.append(table)
        return table.ctypes.data

    def _numbers(self, values: Sequence[int]) -> int:
        array: Integers = np.array(values, dtype=np.int64)
        self._keep.append(array)
        return array.ctypes.data

    def _tick_rows(self) -> list[list[int]]:
        return [
            [
                self.bundle.address(f"tick{i}"),
                tick.every,
                len(runs := slot_runs(tick.slots, tick.program.outputs[0].size * tick.called)),
                self._table(runs, 3),
                len(tick.streams),
                self._numbers(tick.streams),
                int(tick.called),
                self._places[f"p_tick{i}"][0],
                *self.called.row(i),
            ]
            for i, tick in enumerate(self.phases.ticks)
        ]

    def _event_rows(self) -> list[list[int]]:
        return [
            [
                event.direction,
                int(event.terminal or event.guard),
                self.bundle.address(f"action{i}"),
                self._places.get(f"p_action{i}", (0, 0))[0],
                int(event.guard),
            ]
            for i, event in enumerate(self.phases.event_list)
        ]

    def _constant_rows(self) -> list[list[int]]:
        return [
            [self.bundle.address(f"constants_{name}"), self._places[f"p_{name}"][0]]
            for name in self.bundle.constants
        ]


def start_of(
    phases: Phases, rows_of: Callable[[str], Array], count: int
) -> list[tuple[str, ArrayLike]]:
    """Return the states that the phases let runs start with."""
    from linkwright.backends.kernel import compile as compiled

    made = phases.initialize
    if made is None:
        return []
    arrays = {n: rows_of(n) for n in ("x", "d", "p", "w")}
    arrays["t"] = np.zeros((count, 1))
    found = compiled(made).batch(*(arrays[port.name] for port in made.inputs))
    return list(zip(("x", "d"), found if isinstance(found, tuple) else (found,), strict=True))


def slot_runs(slots: Sequence[int], start: int = 0) -> list[list[int]]:
    """Return runs of neighboring places of results: where each begins, its place, its length.

    >>> slot_runs([4, 5, 6, 2])
    [[0, 4, 3], [3, 2, 1]]
    """
    runs: list[list[int]] = []
    for k, slot in enumerate(slots):
        if runs and slot == runs[-1][1] + runs[-1][2]:
            runs[-1][2] += 1
        else:
            runs.append([start + k, slot, 1])
    return runs


def _values(signals: Sequence[Signal]) -> list[float]:
    return [s.value for s in signals]


def _layout(phases: Phases, made: Bundle) -> tuple[dict[str, tuple[int, int]], int]:
    """Return where the arrays of a block lie, with their sizes, and the size of the whole."""
    curved = bool(made.address("curve"))
    places: dict[str, tuple[int, int]] = {}
    at = 0
    for name, size in layout_sizes(phases, made.rest, made.constants, curved=curved).items():
        places[name] = (at, size)
        at += -(-max(size, 1) * made.width // 8) * 8
    return places, at


def layout_sizes(
    phases: Phases, rest: int, constants: Mapping[str, int], *, curved: bool
) -> dict[str, int]:
    """Return the sizes of the arrays that a run works on, by name."""
    n, nd, ne = len(phases.x), len(phases.d), len(phases.event_list)
    watched = followed(phases.event_list)
    results = [t.program.outputs[0].size + t.called * len(t.slots) for t in phases.ticks]
    return {
        "x": n,
        "d": nd,
        "p": len(phases.p),
        "w": len(phases.w),
        **dict.fromkeys(("t", "h", "number", "theta", "b", "s", "proposed", "stop", "why"), 1),
        **dict.fromkeys(("stale", "steps_taken", "seed", "run_number"), 1),
        "n": 2 * max((len(tick.streams) for tick in phases.ticks), default=0),
        "o": max([nd, *results]),
        **dict.fromkeys(("y", "z", "z_new", "f", "y_f"), n),
        "e": 3,
        "c": 3,
        "r": rest,
        "fit": 1,
        "curve": 6 * n if curved else 0,
        **dict.fromkeys(("g", "g_new", "g_mid", "count", "first"), ne),
        **dict.fromkeys(("turn", "turn_new", "top", "top_new", "change"), watched),
        **dict.fromkeys(("hit", "fired"), watched),
        **dict.fromkeys(("m", "m_new"), MEMORY + KEPT * watched),
        "calm": 1,
        "verdict": 5,
        **dict.fromkeys(("ahead", "pace"), 2),
        **{f"p_{name}": size for name, size in constants.items()},
        **{f"staged{i}": len(t.slots) for i, t in enumerate(phases.ticks) if t.exchanged},
    }
