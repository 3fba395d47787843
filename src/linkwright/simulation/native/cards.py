"""Batches with a thread for each run: on a card, in waves that fit into its memory.

The text of a lane (`linkwright.simulation.native.lanes`) runs on a card as PTX. Each wave begins
with the numbers of its runs alone, lives on the card, and leaves what a batch keeps. Calls go on
for about a second, so that a run can be interrupted, and a run that has ended costs nothing.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.backends.cuda import ptx
from linkwright.backends.cuda.driver import CardMemory, GraphicsCard, card
from linkwright.backends.llvm.compile import NativeCode, cached_native
from linkwright.backends.llvm.target import code_settings
from linkwright.base import cache
from linkwright.base.errors import BackendError, Error
from linkwright.base.fingerprint import fingerprint
from linkwright.simulation.loop import SMALLEST
from linkwright.simulation.native import lanes, pace
from linkwright.simulation.native.bundle import phase_programs
from linkwright.simulation.native.lanes import ARGUMENTS, GIVEN, LaneSizes, lane_sizes
from linkwright.simulation.native.machine import Settings, require_fit, start_of
from linkwright.simulation.native.methods import Method
from linkwright.simulation.native.schedule import RunSchedule
from linkwright.simulation.native.tables import DONE
from linkwright.system.phases import Phases

Array = NDArray[np.float64]
THREADS = 64
_WAVE = 1 << 20
"""Runs of a wave at most, so that it is known how far a long batch has come."""
_SHARE = 0.8
"""The part of the free memory that a wave may take."""
_SECONDS = 0.5
"""About how long a call may go on."""
_FEW = 64
"""Steps of the first call."""
_PREPARE = "prepare_lanes"


# -- targets ---------------------------------------------------------------------------------------
class LaneMemory(Protocol):
    """LaneMemory of a target."""

    address: int

    def write(self, source: int, size: int) -> None:
        """Copy from memory of the processor."""

    def read(self, target: int, size: int) -> None:
        """Copy to memory of the processor."""


class LaneTarget(Protocol):
    """Where lanes run."""

    name: str

    def memory(self, size: int) -> LaneMemory:
        """Return memory of so many bytes."""

    def free_bytes(self) -> int:
        """Return how much is free."""

    def code(self, key: bytes, made: RunSchedule, shared: bool) -> LaneCode:
        """Return the code of a lane."""


class LaneCode(Protocol):
    """The code of a lane on a target."""

    def run(self, count: int, passed: Sequence[int]) -> None:
        """Drive lanes, and wait for them."""

    def prepare(self, parameters: int, constants: int) -> None:
        """Compute what depends on parameters alone."""


class CardTarget:
    """A card."""

    def __init__(self, number: int = 0) -> None:
        self.owner: GraphicsCard = card(number)
        self.name = self.owner.name

    def memory(self, size: int) -> LaneMemory:
        """Return memory of so many bytes."""
        return CardMemory(self.owner, size)

    def free_bytes(self) -> int:
        """Return how much is free."""
        return self.owner.free_bytes()

    def code(self, key: bytes, made: RunSchedule, shared: bool) -> LaneCode:
        """Return the code of a lane, which the driver compiles once in a process."""
        return _card_code(self.owner.number, key, lambda: lanes_ptx(made, shared=shared))


@dataclass(frozen=True, slots=True)
class _CardCode:
    owner: GraphicsCard
    functions: Mapping[str, Any]

    def run(self, count: int, passed: Sequence[int]) -> None:
        self.owner.launch(self.functions[lanes.LANES], count, THREADS, [count, *passed], 0)
        self.owner.wait()

    def prepare(self, parameters: int, constants: int) -> None:
        self.owner.launch(self.functions[_PREPARE], 1, 1, [1, parameters, constants], 0)


_loaded: dict[tuple[int, bytes], _CardCode] = {}


def _card_code(number: int, key: bytes, make: Callable[[], str]) -> _CardCode:
    if (number, key) not in _loaded:
        owner = card(number)
        entry, store = cache.entry_key(key, code_settings(None)), cache.open_cache()
        kept = store.fetch(entry) if store is not None else None
        text = make() if kept is None else kept.decode()
        if kept is None and store is not None:
            store.put(entry, text.encode())
        functions = owner.functions(text, [lanes.LANES, _PREPARE])
        _loaded[number, key] = _CardCode(owner, functions)
    return _loaded[number, key]


def lanes_ptx(made: RunSchedule, *, shared: bool) -> str:
    """Return the PTX of a batch."""
    given = ", ".join(f"ptr %{name}" for name in lanes.PASSED)
    kinds = "ptr noalias readonly {}, ptr noalias readonly {}, ptr noalias {}, ptr noalias {}, "
    kinds += "ptr noalias {}"
    head = kinds.format(*(f"%{name}" for name in lanes.PASSED))
    entries = (
        ptx.kernel(
            lanes.LANES,
            f"i64 %count, {head}",
            [f"  call void @{lanes.LANE}(i64 %row, {given})"],
        ),
        ptx.kernel(
            _PREPARE,
            "i64 %count, ptr noalias readonly %p, ptr noalias %constants",
            [f"  call void @{lanes.CONSTANTS}(ptr %p, ptr %constants)"],
        ),
    )
    text = "\n".join((*ptx.DECLARED, *entries))
    return ptx.assembly(lanes.lanes_ir(made.phases, made, shared=shared, fuse=True, entry=text))


class ProcessorTarget:
    """The processor, which runs the same text as a card, one lane after the other: for checks."""

    name = "the processor"

    def __init__(self, room: int = 1 << 30) -> None:
        self.room = room

    def memory(self, size: int) -> LaneMemory:
        """Return memory of so many bytes."""
        return _ProcessorMemory(size)

    def free_bytes(self) -> int:
        """Return how much is free."""
        return self.room

    def code(self, key: bytes, made: RunSchedule, shared: bool) -> LaneCode:
        """Return the code of a lane."""
        from linkwright.backends.llvm.backend import has_fma

        def text() -> str:
            return lanes.lanes_ir(
                made.phases, made, shared=shared, fuse=has_fma(), entry=lanes.one_by_one()
            )

        return _ProcessorCode(
            cached_native(b"processor " + key, text, [lanes.LANES, lanes.CONSTANTS])
        )


class _ProcessorMemory:
    def __init__(self, size: int) -> None:
        self.held = np.full(-(-size // 8) + 1, np.nan)
        self.address = self.held.ctypes.data

    def write(self, source: int, size: int) -> None:
        ctypes.memmove(self.address, source, size)

    def read(self, target: int, size: int) -> None:
        ctypes.memmove(target, self.address, size)


class _ProcessorCode:
    def __init__(self, code: NativeCode) -> None:
        self.code = code

    def run(self, count: int, passed: Sequence[int]) -> None:
        kinds = [ctypes.c_int64] * 2 + [ctypes.c_void_p] * len(passed)
        self.code.function(lanes.LANES, None, *kinds)(0, count, *passed)

    def prepare(self, parameters: int, constants: int) -> None:
        kinds = [ctypes.c_void_p] * 2
        self.code.function(lanes.CONSTANTS, None, *kinds)(parameters, constants)


# -- batches ---------------------------------------------------------------------------------------
def target_named(device: str) -> LaneTarget:
    """Return where a batch runs: "cuda", or "cuda:1" for another card.

    >>> target_named("cpu1")
    Traceback (most recent call last):
        ...
    linkwright.Error: there is no device 'cpu1'; choose cpu, or cuda (cuda:1 for a second card)
    """
    kind, _, number = device.partition(":")
    if kind != "cuda" or not (number or "0").isdigit():
        raise Error(
            f"there is no device {device!r}",
            remedy="choose cpu, or cuda (cuda:1 for a second card)",
        )
    return CardTarget(int(number or 0))


def refuse_python(phases: Phases) -> None:
    """Reject a System that calls functions in Python or C."""
    for tick in phases.ticks:
        if tick.called:
            raise BackendError(
                f"{tick.name!r} is a function in Python, which a card cannot call",
                remedy="write it as expressions, or compute on the processor",
            )
    for _, program in phase_programs(phases):
        ptx.refuse_functions(program)


class CardBatch:
    """The runs of a batch, whose numbers wait here for their wave."""

    calls_python = False

    def __init__(
        self, phases: Phases, settings: Settings, count: int, target: LaneTarget, rows: int
    ) -> None:
        require_fit(phases)
        refuse_python(phases)
        self.phases, self.settings, self.count = phases, settings, count
        self.target, self.rows = target, rows
        self.made = _schedule(phases, settings.method)
        self.sizes: LaneSizes = lane_sizes(phases, self.made)
        self.given: dict[str, list[Array]] = {}  # of each entry one number, or one for each run
        for name in ("x", "d", "p", "w"):
            self.put(name, np.array([s.value for s in getattr(phases, name)], dtype=float))
        self.put("c", [settings.relative, settings.absolute, 1.0])
        self.put_whole("seed", settings.seed & (2**64 - 1))
        self.put_whole("run_number", np.arange(count))
        self.initialized = phases.initialize is None
        self.results = np.empty((self.sizes.result_count, count))
        self.samples = np.empty((count, rows, len(phases.outputs)))
        self.waves = 0

    def put(self, name: str, values: ArrayLike) -> None:
        """Write an array: one row for all runs, or one for each."""
        given = np.asarray(values, dtype=float)
        self.given[name] = [_narrowed(given[..., k]) for k in range(given.shape[-1])]

    def put_entry(self, name: str, index: int, values: ArrayLike) -> None:
        """Write an entry of an array: one number for all runs, or one for each."""
        self.given[name][index] = _narrowed(np.asarray(values, dtype=float))

    def put_whole(self, name: str, values: ArrayLike) -> None:
        """Write integers: one for all runs, or one for each."""
        given = np.asarray(values).astype(np.uint64)
        self.given[name] = [given.view(np.float64)]  # the bits as they are

    def rows_of(self, name: str) -> Array:
        """Return an array as it was given, or what the runs have left of it."""
        if name in lanes.RESULTS and self.waves:
            at, size = self.sizes.results[name]
            return np.ascontiguousarray(self.results[at : at + size].T)
        found: Array = np.empty((self.count, len(self.given[name])))
        for k, given in enumerate(self.given[name]):
            found[:, k] = given
        return found

    def outputs(self, times: ArrayLike) -> Array:
        """Return the outputs at the ends of the runs."""
        return self.rows_of("last")

    @property
    def steps(self) -> int:
        """How many steps were taken."""
        return int(self.results[1].sum())

    def initialize(self) -> None:
        """Run the Program that gives the initial states, where there is one."""
        if not self.initialized:
            for name, values in start_of(self.phases, self.rows_of, self.count):
                self.put(name, values)
        self.initialized = True

    @property
    def shared(self) -> bool:
        """Whether all runs have the same parameters."""
        return all(given.ndim == 0 for given in self.given["p"])

    def key(self) -> bytes:
        """Return what the code is known by."""
        phases, method = self.phases, self.settings.method
        known = hashlib.blake2b(f"{fingerprint('runs')} lanes {method.name}".encode())
        events = [(e.direction, e.terminal, e.guard, e.before) for e in phases.event_list]
        sizes = [len(getattr(phases, array)) for array in ("x", "d", "p", "w", "outputs")]
        ticks = [(t.slots, t.streams, t.every, t.offset) for t in phases.ticks]
        guards = [s.name.startswith("guard.inverse") for s in phases.d]
        parts = (events, sizes, ticks, guards, phases.coordinates, phases.quaternions, self.shared)
        known.update(repr(parts).encode())
        for name, made in phase_programs(phases):
            known.update(f" {name} {made.fingerprint()}".encode())
        return known.digest()

    # -- waves -------------------------------------------------------------------------------------
    def lane_bytes(self) -> int:
        """Return how much memory a run takes."""
        sizes, channels = self.sizes, len(self.phases.outputs)
        given = sum(values.ndim for n in GIVEN for values in self.given[n])
        return 8 * (sizes.state + sizes.result_count + given + self.rows * channels)

    def wave(self) -> int:
        """Return how many runs go together."""
        one, free = self.lane_bytes(), int(self.target.free_bytes())
        fit: int = int(_SHARE * free) // one
        if not fit:
            raise BackendError(
                f"a run takes {one / 2**20:,.1f} MiB, and {free / 2**20:,.1f} MiB are free on "
                f"{self.target.name}",
                remedy="record less, or fewer samples (every=...)",
            )
        return min(self.count, fit, _WAVE)

    def run(self, progress: Callable[[float], None] | None = None) -> None:
        """Let all runs go to their end."""
        code = self.target.code(self.key(), self.made, self.shared)
        size = self.wave()
        for start in range(0, self.count, size):
            part = slice(start, min(start + size, self.count))
            self._wave(code, part, progress or (lambda _: None))
            self.waves += 1

    def _wave(self, code: LaneCode, part: slice, progress: Callable[[float], None]) -> None:
        target, count, sizes = self.target, part.stop - part.start, self.sizes
        arguments: NDArray[np.int64] = np.zeros(sizes.argument_count, np.int64)
        held: list[LaneMemory] = []
        parameters = 0

        def sent(values: NDArray[Any]) -> int:
            dense = np.ascontiguousarray(values)
            place = target.memory(dense.nbytes)
            place.write(dense.ctypes.data, dense.nbytes)
            held.append(place)
            return place.address

        for name in GIVEN:
            entries = self.given[name]
            shared = sent(np.array([e if e.ndim == 0 else np.float64(0) for e in entries]))
            for k, given in enumerate(entries):
                place = sizes.given[name] + 2 * k
                arguments[place] = sent(given[part]) if given.ndim else shared + 8 * k
                arguments[place + 1] = given.ndim
            if name == "p":
                parameters = shared
        constants = target.memory(8 * max(sizes.constant_count, 1))
        if self.shared:
            code.prepare(parameters, constants.address)
        shape = (self.rows, len(self.phases.outputs), count)
        state, samples, results = (
            target.memory(8 * max(n, 1))
            for n in (sizes.state * count, math.prod(shape), sizes.result_count * count)
        )
        self._set(arguments, count)
        table = target.memory(arguments.nbytes)
        passed = [m.address for m in (table, constants, state, samples, results)]
        status: Array = np.empty(count)
        budget, begin = _FEW, 1
        while True:
            arguments[ARGUMENTS["begin"]], arguments[ARGUMENTS["budget"]] = begin, budget
            table.write(arguments.ctypes.data, arguments.nbytes)
            started = time.perf_counter()
            code.run(count, passed)
            results.read(status.ctypes.data, status.nbytes)
            done = np.count_nonzero(status == DONE)
            progress((part.start + done) / self.count)
            if done == count:
                break
            if time.perf_counter() - started < _SECONDS:
                budget *= 2
            begin = 0
        whole = count == self.count
        found = self.results if whole else np.empty((sizes.result_count, count))
        results.read(found.ctypes.data, found.nbytes)
        if not whole:
            self.results[:, part] = found
        if math.prod(shape):
            taken = np.empty(shape)
            samples.read(taken.ctypes.data, taken.nbytes)
            self.samples[part] = taken.transpose(2, 0, 1)

    def _set(self, arguments: NDArray[np.int64], count: int) -> None:
        """Write how the runs go."""
        settings, tick = self.settings, self.phases.tick_seconds
        whole = {"lanes": count, "until": settings.until, "every": settings.every}
        whole |= {"row_count": self.rows, "log_rows": 1 << 60}
        reals = {
            "tick_seconds": tick,
            "end": settings.end,
            "step_size": settings.step,
            "smallest": SMALLEST * settings.until * tick,
            "most": settings.most_steps,
            "often": pace.OFTEN,
            "first_step": settings.first_step,
        }
        for name, value in whole.items():
            arguments[ARGUMENTS[name]] = value
        for name, real in reals.items():
            arguments.view(np.float64)[ARGUMENTS[name]] = real


@lru_cache(maxsize=8)
def _schedule(phases: Phases, method: Method) -> RunSchedule:
    return lanes.lane_schedule(phases, method)


def _narrowed(values: Array) -> Array:
    """Return numbers of runs, one where all are the same bit by bit."""
    dense = np.ascontiguousarray(values) if values.ndim else values
    if dense.ndim and len(dense) and (dense.view(np.int64) == dense[:1].view(np.int64)).all():
        return np.asarray(dense[0])
    return dense
