"""What a paced loop takes hold of: a session's machine, windows, and Python blocks."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import Error
from linkwright.simulation.native.called import HELD, INLINE, LEFT, TAPED, SlotFunction, Wrap
from linkwright.simulation.native.fallbacks import SessionPlace
from linkwright.simulation.native.machine import Machine
from linkwright.simulation.native.named import names_of, unknown
from linkwright.simulation.native.session import Session, given
from linkwright.simulation.pacing.memory import (
    AT_TICKS,
    BY_MAIL,
    COUNTED,
    LATEST,
    MEASURED,
    READ,
    SLOTS,
    TAPE,
    TAPED as TAPED_ROW,
    TAPED_ONLY,
    TELL,
    TELLS,
)
from linkwright.simulation.pacing.rings import LoopMemory
from linkwright.simulation.pacing.sampling import Getter, Sampling, Samplings
from linkwright.simulation.pacing.unit import LINUX, unit
from linkwright.simulation.pacing.windows import Reads, Writes, read_rows, write_rows
from linkwright.simulation.pacing.workers import Workers
from linkwright.system.phases import Phases
from linkwright.windows import Window, Wire
from linkwright.windows.futex import futex_number
from linkwright.windows.records import HEAD

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

TOLD = ("missed", "overrun", "timeouts", "late", "failures", "held", "lost", "total")
"""What a loop can give its System, as inputs: counts since it was made."""

_OF_LOOP = (*COUNTED, *MEASURED)
_STEPS = 4000  # of the integration, after which Python looks whether it goes on at all


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Where a loop stood after a tick.

    Args:
        tick: base ticks since the start of the session; -1 before the first.
        clock: when that was, ns on the monotonic clock.
        phases: what the numbers are.
        x: continuous states.
        d: discrete states and held outputs.
        w: inputs.
        outputs: channels.
    """

    tick: int
    clock: int
    phases: Phases
    x: Array
    d: Array
    w: Array
    outputs: Array

    @property
    def time(self) -> float:
        """Time of the session, s."""
        return max(self.tick, 0) * self.phases.tick_seconds

    def __getitem__(self, channel: str) -> float:
        names = names_of(self.phases.outputs)
        if channel not in names:
            raise unknown(self.phases, channel, dict.fromkeys(names), "channel")
        return float(self.outputs[names.index(channel)])


@dataclass(frozen=True, slots=True, eq=False)
class LoopPlace:
    """Where a loop stood after a tick, by name."""

    tick: int  # base ticks since the start of the session; -1 before the first
    x: Mapping[str, float]  # continuous states
    d: Mapping[str, float]  # discrete states and held outputs
    w: Mapping[str, float]  # inputs


def _hold(t: float, arguments: Array, results: Array) -> None:
    """Stand for what another process computes."""


class LoopBinding:
    """The session of a loop, and the memory that it shares with native code.

    Args:
        session: that is driven.
        states: base ticks from one sample of all states to the next; 0 for samples of channels.
    """

    def __init__(self, session: Session, states: int = 0) -> None:
        if not isinstance(session.machine, Machine):
            raise Error("a paced loop needs native code", remedy="take the executor 'native'")
        if session.machine.settings.end != math.inf:
            raise Error("a paced run ends at a base tick", remedy="choose another end time")
        self.session = session
        self._unit = unit()
        self._lock = threading.RLock()
        self.names = session.tape_names
        known = {} if session.fallback is None else session.fallback.values
        own = (*names_of(session.phases.p), *names_of(session.phases.w), *known)
        self._own = dict.fromkeys(own)
        self._numbers = {name: i for i, name in enumerate(self.names)}
        if states and (session.fallback is not None or session.machine.settings.every):
            raise Error(
                "states are sampled in place of channels, where the equations stay the same"
            )
        signals = session.state_signals if states else session.phases.outputs
        self.sampled = names_of(signals)
        self._memory = LoopMemory(len(signals))
        self._put, self._get = self._memory.put, self._memory.get
        self._put("states", states)
        self._put("fresh", int(not session.begun))
        self._samplings = Samplings(self._memory)
        self._inside: dict[str, tuple[str, int]] = {}
        self._workers = Workers(session.phases, self._numbers.get, self._values, self._count_late)
        self._slots = [i for i, tick in enumerate(session.phases.ticks) if tick.exchanged]

    def _tell(self, tells: Mapping[str, str]) -> None:
        """Let the System know what is counted."""
        for name in tells:
            if name not in TOLD:
                raise Error(
                    f"a loop does not count {name!r}", remedy=f"it counts {', '.join(TOLD)}"
                )
        rows = [(self._memory.address(n), self._input(place)) for n, place in tells.items()]
        self._memory.hold("tells", np.array(rows, np.int64).reshape(len(rows), len(TELL)), True)

    def _call(self, waits: bool, taped: bool) -> None:
        """Say how Python blocks are called."""
        fallback = self.session.fallback
        self.waits = waits or fallback is not None or self.session.machine.calls_python
        self._put("foreign", AT_TICKS if self.waits else TAPED_ONLY if taped else BY_MAIL)
        here = TAPED if taped and self._slots else INLINE
        self._mode = here if self.waits else HELD if taped else LEFT
        self._memory.hold("mails", self._workers.rows, True)
        if len(self._workers.rows) and LINUX:
            self._put("futex", futex_number())

    @contextmanager
    def from_tape(self, calls: bool = False) -> Iterator[None]:
        """Let counts come from a tape for a while, and what Python functions in slots give.

        Args:
            calls: whether these functions are called nevertheless.
        """
        before, told = self._mode, self._get("tell_count")
        if before == INLINE and self._slots and not calls:
            self._mode = TAPED
        self._put("tell_count", 0)
        try:
            yield
        finally:
            self._mode = before
            self._put("tell_count", told)

    def _values(self, i: int, t: float, arguments: Array) -> Array:
        return self.session.machine.called.values(i, t, arguments)

    @contextmanager
    def _calling(self) -> Iterator[None]:
        """Let functions be called as this loop calls them, as long as it drives the session."""
        self._use_functions()
        try:
            yield
        finally:
            self.session.machine.called.use(INLINE)

    def _use_functions(self) -> None:
        """Let the machine that the session has now call functions as this loop does."""
        wrap = self._taping() if self._mode == INLINE and self._slots else None
        self.session.machine.called.use(self._mode, wrap)

    def _taping(self) -> Wrap:
        """Return what puts the results of a slot's Python function onto the tape."""
        phases, machine = self._machine.phases, self._machine
        function, made = self._unit.code.address(TAPE), self._tapings

        def wrap(i: int, address: int) -> tuple[int, int]:
            tick = phases.ticks[i]
            if (i, address) not in made:
                names = [given(phases.d[s].name) for s in tick.slots]
                places: Integers = np.array([self._numbers[n] for n in names], np.int64)
                staged = machine.array(f"staged{i}").ctypes.data
                size = tick.program.outputs[0].size
                fields = [self._memory.control.ctypes.data, address, size, len(names)]
                row: Integers = np.array([*fields, places.ctypes.data, staged], np.int64)
                made[i, address] = row, places
            return function, made[i, address][0].ctypes.data

        return wrap

    def telling(self, slot: str, window: Window) -> SlotFunction:
        """Return a function for a slot that sends its arguments to another process, and holds.

        What the other one gives is read from a window of its own (`Reads`) into the slot's outputs.

        Args:
            slot: the name of the member.
            window: made by this process; its record has as many numbers (f64) as the slot has
                arguments, its `number` first.
        """
        machine, record = self._machine, window.record
        index = machine.called.slot(slot)
        tick = machine.phases.ticks[index]
        size, held = tick.program.outputs[0].size, len(tick.slots)
        if record.size != HEAD + 8 * (size - held) or any(f.type != "f64" for f in record.fields):
            raise Error(
                f"the slot {slot!r} has {size - held} arguments, "
                f"and the record {record.name!r} other numbers"
            )
        zeros = {f.name: np.zeros(f.shape) for f in record.fields}
        frame = np.frombuffer(bytearray(record.pack(zeros)), np.int64)
        fields = [self._memory.control.ctypes.data, window.address, frame.ctypes.data]
        row: Integers = np.array([*fields, record.size // 4, size, held], np.int64)
        self._put("futex", futex_number())
        if window not in self._windows:
            self._windows.append(window)  # nobody closes it while the loop goes on
        return SlotFunction(
            slot,
            _hold,
            self._unit.code.address(TELLS),
            (row, frame),
            context=row.ctypes.data,
        )

    def _held(self, index: int) -> Integers:
        """Return the changes on the tape that let a slot hold at a tick, in a replay too."""
        machine, phases = self._machine, self._machine.phases
        slots = list(phases.ticks[index].slots)
        held = machine.array("d")[0, slots, 0].view(np.int64)
        staged = machine.array(f"staged{index}")[0, :, 0].view(np.int64)
        new = np.flatnonzero(held != staged)
        staged[new] = held[new]
        tick = int(machine.field("k")[0])
        rows = [(tick, self._numbers[given(phases.d[slots[j]].name)], held[j]) for j in new]
        return np.array(rows, np.int64).reshape(len(rows), len(TAPED_ROW))

    def _count_late(self) -> None:
        self._put("late", self._get("late") + 1)

    @property
    def complaints(self) -> tuple[str, ...]:
        """What Python blocks failed by, each once; their outputs hold."""
        return tuple(self._workers.complaints)

    def _exchange(
        self,
        device: Window | Wire | None,
        reads: Sequence[Reads],
        writes: Sequence[Writes],
        timeout: float,
    ) -> None:
        """Take hold of windows and wires."""
        if isinstance(device, Wire) and all(r.window is not device for r in reads):
            reads = [*reads, Reads(device, {})]
        if self.session.fallback is not None and (reads or device):
            raise Error(
                f"windows are not read for {self.session.phases.name!r}: the form of its equations "
                "changes on the way",
                remedy="run it in a device's process of its own, with form='independent'",
            )
        rows, keep = read_rows(reads, self._enterable())
        self._memory.hold("reads", rows, True)
        rows, more = write_rows(writes, self._shown())
        self._memory.hold("writes", rows, True)
        self._kept = [*keep, *more]
        used = (device, *(r.window for r in reads), *(w.window for w in writes))
        self._windows = [window for window in used if window is not None]
        if any(isinstance(window, Wire) for window in used) and not LINUX:
            raise Error("wires are read by loops on Linux alone", remedy="use virtual runs here")
        if isinstance(device, Window) or any(isinstance(w.window, Window) for w in writes):
            self._put("futex", futex_number())
        if device is not None:
            self._put("device_tick", -1)
            self._put("timeout", int(timeout * 1e9))
        if isinstance(device, Window):
            self._put("device", device.address)
            self._put("device_sequence", device.read().sequence)
        elif device is not None:
            row = next(i for i, r in enumerate(reads) if r.window is device)
            self._put("wire", self._get("reads") + 8 * len(READ) * row)

    def _channel(self) -> Callable[[str], int]:
        """Return what knows the places of channels, and of what the loop counts."""
        channels = {s.name: i for i, s in enumerate(self.session.phases.outputs)}
        channels |= {f"loop:{name}": len(channels) + i for i, name in enumerate(_OF_LOOP)}

        def channel(name: str) -> int:
            if name not in channels:
                raise unknown(self.session.phases, name, channels, "channel")
            return channels[name]

        return channel

    def _shown(self) -> Callable[[str], int]:
        """Return what knows the places of channels, and, negated, of numbers of the machine."""
        channel, machine = self._channel(), self.session.machine
        assert isinstance(machine, Machine)
        inside = self._inside
        if not inside and self.session.fallback is None:  # else its machine may become another
            for array in "wxd":
                signals = getattr(machine.phases, array)
                inside |= {s.name: (array, i) for i, s in enumerate(signals)}

        def place(name: str) -> int:
            return ~machine.place_of(*inside[name]) if name in inside else channel(name)

        return place

    def _enterable(self) -> Callable[[str], int]:
        """Return what knows the places of inputs, and of outputs that hold."""
        phases = self.session.phases
        held = {phases.d[i].name for t in phases.ticks if t.called for i in t.slots}
        return lambda name: self._numbers[name] if name in held else self._input(name)

    def sample(
        self,
        channels: Sequence[str],
        rows: int,
        *,
        every: int = 1,
        first: int = 0,
        own: Mapping[str, Getter] | None = None,
        told: Callable[[], None] | None = None,
    ) -> Sampling:
        """Sample channels at ticks to come, beside what is recorded anyway; states are the same.

        Args:
            channels: by name, states and sampled outputs too, which cost least; `loop:tardy`,
                `loop:length` and the like are of the loop itself.
            rows: how many samples, after which it ends.
            every: base ticks from one to the next.
            first: the first tick, or one that is whole intervals later where it has passed.
            own: numbers of Python's own, by name.
            told: called now and then from a thread of the loop's, and where a virtual run stops.
        """
        place = self._shown()
        columns = [place(name) for name in channels]
        sampling = Sampling(channels, columns, first=first, every=every, rows=rows, own=own)
        self._samplings.add(sampling, told)
        return sampling

    def drop(self, sampling: Sampling) -> None:
        """Sample no more.

        Args:
            sampling: what `sample` returned; its rows stay as they are.
        """
        self._samplings.remove(sampling)

    def _input(self, name: str) -> int:
        """Return the place of a parameter or an input."""
        if name not in self._own:
            raise unknown(self.session.phases, name, self._own, "parameter or input")
        return self._numbers[name]

    def _bind(self) -> None:
        """Take hold of the machine that the session has now."""
        machine = self.session.machine
        assert isinstance(machine, Machine)
        phases = machine.phases
        self._machine = machine
        found = {s.name: machine.place_of("p", i) for i, s in enumerate(phases.p)}
        found |= {s.name: machine.place_of("w", i) for i, s in enumerate(phases.w)}
        for array, signals in (("d", phases.d), ("x", phases.x)):
            places = {s.name: machine.place_of(array, i) for i, s in enumerate(signals)}
            found = places | found
        for i in self._slots:  # results that are taped lie beside the run until they are taken
            names = [given(phases.d[s].name) for s in phases.ticks[i].slots]
            found |= {n: machine.place_of(f"staged{i}", j) for j, n in enumerate(names)}
        self._tapings: dict[tuple[int, int], tuple[Integers, Integers]] = {}
        sizes = [len(a) for a in (phases.x, phases.d, phases.w, phases.outputs)]
        latest: Integers = np.zeros(1 + SLOTS * (len(LATEST) + sum(sizes)), np.int64)
        machine.budget(_STEPS)
        for name, value in machine.addresses().items():
            self._put(name, value)
        for name, value in zip(("x_size", "d_size", "w_size", "channels"), sizes, strict=True):
            self._put(name, value)
        self._put("every", machine.settings.every)
        self._places: Integers = np.array([found.get(n, -1) for n in self.names], np.int64)
        self._memory.hold("places", self._places)
        self._put("parameters", len(phases.p))
        self._put("final", machine.settings.until)
        self._memory.hold("latest", latest)
        self._memory.hold("outputs", np.zeros(sizes[3] + len(_OF_LOOP)))
        self._put("visit", int(self._by_python))
        self._stood = phases, latest  # taken by readers, both at once
        self._stand()

    def _stand(self) -> None:
        """Leave where the session stands, while nothing runs."""
        _, latest = self._stood
        slots, number = latest[1:].reshape(SLOTS, -1), int(latest[0]) + 1
        slot = slots[number % SLOTS]
        slot[LATEST["sequence"]] = 2 * number - 1
        slot[len(LATEST) :] = slots[(number - 1) % SLOTS, len(LATEST) :]
        slot[LATEST["tick"]] = self.session.tick if self.session.begun else -1
        slot[LATEST["clock"]] = slots[(number - 1) % SLOTS, LATEST["clock"]]
        whole = np.concatenate([self._machine.rows_of(array)[0] for array in "xdw"])
        slot[len(LATEST) : len(LATEST) + len(whole)] = whole.view(np.int64)
        self._unit.publish(slot[LATEST["sequence"] :].ctypes.data, 2 * number)
        self._unit.publish(latest.ctypes.data, number)

    @property
    def _by_python(self) -> bool:
        """Whether Python is needed at each tick."""
        fallback = self.session.fallback
        return self._machine.calls_python or (fallback is not None and fallback.stepwise)

    def latest(self) -> Snapshot:
        """Return where the loop stands, all of one tick; nobody is waited for."""
        phases, latest = self._stood
        taken: Integers = np.empty(len(latest) // SLOTS, np.int64)
        self._unit.take_latest(latest.ctypes.data, taken.ctypes.data, len(taken))
        sizes = [len(a) for a in (phases.x, phases.d, phases.w, phases.outputs)]
        cuts = np.cumsum(sizes)[:-1]
        x, d, w, outputs = np.split(taken[len(LATEST) :].view(np.float64), cuts)
        tick, clock = int(taken[LATEST["tick"]]), int(taken[LATEST["clock"]])
        return Snapshot(tick, clock, phases, x, d, w, outputs)

    def standing(self) -> LoopPlace:
        """Return where the loop stands by name, states included that its phases eliminate."""
        with self._lock:
            stood = self.latest()
            named = (
                (stood.phases.x, stood.x),
                (stood.phases.d, stood.d),
                (stood.phases.w, stood.w),
            )
            x, d, w = (dict(zip(names_of(s), v.tolist(), strict=True)) for s, v in named)
            if self.session.fallback is not None:
                x = self.session.fallback.whole(SessionPlace(stood.time, x, d, w))
            return LoopPlace(stood.tick, x, d, w)
