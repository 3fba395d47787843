"""A session that keeps pace with a clock, driven by native code in a thread of its own."""

from __future__ import annotations

import atexit
import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from linkwright.backends.callbacks import guarded
from linkwright.base.errors import Error
from linkwright.simulation.native.named import unknown
from linkwright.simulation.native.session import Samples, Session, StopReason
from linkwright.simulation.pacing.binding import LoopBinding
from linkwright.simulation.pacing.counters import Counters
from linkwright.simulation.pacing.memory import (
    BY_MAIL,
    CALL,
    CHANGE,
    DEVICE,
    ENDED,
    FROM_RAN,
    FROM_RUN,
    FROM_SAMPLE,
    FULL,
    REACHED,
    SAMPLE,
    TAPED,
    VIRTUAL,
    VISIT,
    WALL,
    WIRE,
)
from linkwright.simulation.pacing.rights import NO_RIGHTS, take_rights
from linkwright.simulation.pacing.rings import CHANGES
from linkwright.simulation.pacing.tape import Tape
from linkwright.simulation.pacing.windows import Reads, Writes
from linkwright.simulation.pacing.workers import ended
from linkwright.windows import Window, Wire

if TYPE_CHECKING:
    from linkwright.simulation.pacing.joystick import Joystick

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

CLOCKS = {"virtual": VIRTUAL, "wall": WALL}
DEVICES: dict[type, int] = {Window: DEVICE, Wire: WIRE}
OVERRUNS = ("skip", "catch-up")
"""What becomes of ticks that are late by a period or more."""
_FOREVER = 1 << 62
_DRAIN = 0.02  # s, from one emptying of the rings to the next


class LoopSink(Protocol):
    """What takes away what a loop leaves; it is called from a thread of the loop's."""

    def take(self, changes: Integers, samples: Samples) -> None:
        """Take rows of tick, place and value, and the samples that follow from them."""


class PacedLoop(LoopBinding):
    """A session that keeps pace with a clock.

    At each instant it takes the changes of inputs that have arrived, drives the session to the
    tick that is due, and leaves what it reached. Native code does so; Python may be late, busy or
    stopped without a tick being lost. Where an instant has passed by a whole period (or by
    `patience`), its tick is missed: it is counted, and never made up for. The session's time
    counts the ticks that were run.

    Args:
        session: stands anywhere; it belongs to the loop as long as that runs.
        clock: "wall", "virtual" for a loop that never waits, or the window or wire of a device:
            each of its frames is a tick, and wakes the loop.
        reads: windows and wires that inputs are read from at each tick.
        writes: windows and wires that channels are written to after each.
        timeout: s, after which a tick is run although the device's has not come.
        speed: seconds of the session in a second on the wall.
        stride: base ticks from one instant to the next.
        patience: s, how late a tick may still be run; a period by default.
        priority: whether its thread asks for real-time priority and locked memory; `rights` says
            what it was given.
        core: of the processor, that its thread asks for.
        tells: for counts (`TOLD`) the inputs of the System that they are given to.
        sink: what takes samples and tape away, such as a `LoopRecorder`; they are kept for
            `samples` and `tape` by default.
        waits: whether it waits for Python blocks at their ticks. By default they have threads:
            what they give enters at the tick after, or later, and until then their outputs hold.
        visitor: gives changes of inputs before each tick while `visited` is set, from where the
            loop stands: what Python has to do at each tick.
        taped: whether what Python blocks gave comes from a tape: they are not called.
        publishes: base ticks from one that `latest` knows of to the next while the loop goes in
            virtual time; it always knows where the loop has stopped.
        states: base ticks from one sample of all states to the next, where the session samples no
            channels.

    >>> from linkwright.blocks import Integrator
    >>> from linkwright.simulation.runs import session_of
    >>> from linkwright.simulation.settings import RunSettings
    >>> from linkwright.system import System
    >>> s = System(name="s", base=1000)
    >>> _ = s.add(Integrator(), name="i")
    >>> with PacedLoop(session_of(s, RunSettings(60.0, every=1))[0]) as loop:
    ...     number = loop.set({"i.u": 1.0})
    ...     entered = loop.wait_for(number)
    >>> entered, [c.name for c in loop.tape()], loop.counters.due >= 1
    (True, ['i.u'], True)
    """

    def __init__(
        self,
        session: Session,
        *,
        clock: str | Window | Wire = "wall",
        reads: Sequence[Reads] = (),
        writes: Sequence[Writes] = (),
        timeout: float = 0.1,
        speed: float = 1.0,
        stride: int = 1,
        patience: float | None = None,
        priority: bool = True,
        core: int | None = None,
        tells: Mapping[str, str] | None = None,
        sink: LoopSink | None = None,
        waits: bool = False,
        visitor: Callable[[], Mapping[str, float]] | None = None,
        taped: bool = False,
        publishes: int = 1,
        states: int = 0,
    ) -> None:
        device = None if isinstance(clock, str) else clock
        if device is None and clock not in CLOCKS:
            raise Error(f"there is no clock {clock!r}", remedy=f"choose {' or '.join(CLOCKS)}")
        if not float(stride).is_integer() or stride < 1:
            raise Error(f"a stride of {stride!r} ticks leads nowhere", remedy="give 1 or more")
        super().__init__(session, states)
        if self._slots and stride > 1:
            raise Error("a loop with a slot goes tick by tick", remedy="leave stride at 1")
        self.speed, self.stride = speed, stride
        self._clock = CLOCKS[clock] if isinstance(clock, str) else DEVICES[type(clock)]
        self._patience = patience
        self._asked, self.rights = (priority, core), NO_RIGHTS
        self._drains = threading.RLock()
        self._thread: threading.Thread | None = None
        self._keeper: threading.Thread | None = None
        self._failed: BaseException | None = None
        self._ready = threading.Event()
        self._serial = 0
        self._sink, self._visitor, self._visited = sink, visitor, False
        self.unkept: Exception | None = None
        """What the sink failed by; from there on samples and tape are lost, and are counted."""
        self._samples: list[Samples] = []
        self._tape: list[Integers] = []
        self._waiting: list[tuple[int, dict[str, float]]] = []
        self._put("clock", self._clock)
        self._put("stride", stride)
        self._put("publishes", max(publishes, 1))
        self._tell(tells or {})
        self._call(waits, taped)
        self._exchange(device, reads, writes, timeout)
        self._bind()
        self.set_speed(speed)

    # -- what goes in ------------------------------------------------------------------------------
    def set(self, values: Mapping[str, float], *, timeout: float = 1.0) -> int:
        """Change parameters and inputs: all of them before the next tick, on the tape.

        It may be called from any thread, and never makes the loop wait.

        Args:
            values: by name, finite.
            timeout: s, to wait for room where very many changes are under way.

        Returns:
            A number, by which `wait_for` and `entered` know the change.
        """
        for name in values:
            self._input(name)
        bad = [n for n, v in values.items() if not math.isfinite(v)]
        if bad:
            raise Error(f"{', '.join(bad)} must be finite")
        self.session.refuse(values)
        return self.enter(values, timeout)

    def joystick(
        self, device: str | os.PathLike[str], controls: Mapping[str, tuple[str, float]]
    ) -> Joystick:
        """Let a gamepad or joystick set inputs, until it is closed; what it sets is on the tape.

        Where the device is gone, its inputs become zero.

        Args:
            device: its file, such as /dev/input/js0 (Linux); a pipe or a file of its records will
                do.
            controls: for each "axis N" or "button N" an input and what it is at full deflection, in
                the input's unit: {"axis 0": ("cart.force", 20.0)}.
        """
        from linkwright.simulation.pacing.joystick import Joystick

        for name, _ in controls.values():
            self._input(name)
        return Joystick(device, controls, self.set)

    def enter(self, values: Mapping[str, float], timeout: float = 1.0) -> int:
        """Change what `set` does and more, whatever the numbers: what is on a tape.

        Args:
            values: by name.
            timeout: s, to wait for room.
        """
        places = [self._place(name) for name in values]
        given = np.array(list(values.values()), dtype=float)
        if len(places) > CHANGES:
            raise Error(f"{len(places)} changes at once are more than {CHANGES}")
        with self._lock:
            if self.session.fallback is not None:  # it has to know them too
                return self._leave_waiting(values)
            limit = time.monotonic() + timeout
            while len(places) > self._memory.room():
                if time.monotonic() > limit:
                    raise Error(
                        "the loop takes no changes",
                        remedy="start it, or empty its tape (`tape`) more often",
                    )
                time.sleep(0.001)
            self._serial += 1
            self._memory.push(places, given, self._serial)
            return self._serial

    def leave(self, tape: Tape, first: int) -> int:
        """Leave changes of a tape, each for its tick, as many as there is room for; none waits.

        Args:
            tape: with the changes.
            first: the number of the first of them.

        Returns:
            The number of the first that found no room.
        """
        last = min(first + self._memory.room(), len(tape))
        if last == first:
            raise Error(f"more than {CHANGES} changes at tick {tape.ticks[first]}")
        places = tape.places[first:last]
        numbers = np.zeros(len(tape.names), np.int64)
        for place in np.unique(places):
            numbers[place] = self._place(tape.names[place])
        with self._lock:
            self._serial += 1
            ticks = tape.ticks[first:last]
            self._memory.push(numbers[places], tape.values[first:last], self._serial, ticks)
        return last

    def _place(self, name: str) -> int:
        if name not in self._numbers:
            raise unknown(self.session.phases, name, self._numbers, "input or state")
        return self._numbers[name]

    def move(self, x: Mapping[str, float]) -> int:
        """Put continuous states elsewhere before the next tick, on the tape.

        Args:
            x: by name; states that are not given stay.
        """
        known = {s.name for s in self.session.phases.x}
        for name in x:
            if name not in known:
                raise unknown(self.session.phases, name, dict.fromkeys(known), "state")
        with self._lock:
            return self._leave_waiting(x)

    def _leave_waiting(self, values: Mapping[str, float]) -> int:
        """Leave changes for the next tick that Python has to know of."""
        self._serial += 1
        self._waiting.append((self._serial, dict(values)))
        self._put("visit", 1)
        return self._serial

    def settle(self) -> None:
        """Let what was changed enter now, where the loop stands still: `latest` then has it."""
        with self._lock:
            if self.running:
                return
            rows = self._memory.emptied("changes")
            values = np.ascontiguousarray(rows[:, CHANGE["value"]]).view(np.float64).tolist()
            names = [self.names[i] for i in rows[:, CHANGE["place"]]]
            batches: dict[int, dict[str, float]] = {}
            for serial, name, value in zip(rows[:, CHANGE["serial"]], names, values, strict=True):
                batches.setdefault(int(serial), {})[name] = value
            self._waiting = sorted([*batches.items(), *self._waiting], key=lambda pair: pair[0])
            self._take_waiting()
            self._stand()

    def entered(self, number: int) -> bool:
        """Return whether a change has entered."""
        return self._get("taken") >= number

    def wait_for(self, number: int, timeout: float = 5.0) -> bool:
        """Wait until a change has entered; return whether it has.

        Args:
            number: what `set` returned.
            timeout: s.
        """
        limit = time.monotonic() + timeout
        while not self.entered(number):
            if time.monotonic() > limit:
                return False
            time.sleep(0.0005)
        return True

    # -- what comes out ----------------------------------------------------------------------------
    @property
    def counters(self) -> Counters:
        """What was counted so far."""
        return self._memory.counters

    def samples(self) -> Samples:
        """Return the samples since the last call, where no sink takes them."""
        with self._drains:
            self._drain()
            found, self._samples = self._samples, []
        if not found:
            return Samples(self.sampled, np.zeros(0), np.zeros((0, len(self.sampled))))
        times, values = ([getattr(s, n) for s in found] for n in ("times", "values"))
        return Samples(self.sampled, np.concatenate(times), np.concatenate(values))

    def tape(self) -> Tape:
        """Return every change so far, with its tick, where no sink takes them."""
        with self._drains:
            self._drain()
            rows = np.concatenate([np.zeros((0, len(TAPED)), np.int64), *self._tape])
            self._tape = [rows]
            end = self.tape_end()
        used, places = np.unique(rows[:, TAPED["place"]], return_inverse=True)
        names = tuple(self.names[i] for i in used)
        ticks, values = rows[:, TAPED["tick"]], rows[:, TAPED["value"]].copy().view(np.float64)
        return Tape(names, ticks.copy(), places.reshape(-1), values, end, self.stride, self.waits)

    def tape_end(self) -> int:
        """Return the tick where the tape ends: the last one, or the one that was not reached."""
        return self._get("target") if self.session.stop is not None else self.session.tick

    def _drain(self, more: Samples | None = None, changes: Integers | None = None) -> None:
        """Take away what is in the rings, and what Python adds to it.

        Samples are counted before changes are, and left after them: no sample is without the
        changes that it follows from.
        """
        with self._drains:
            phases, settings = self._machine.phases, self._machine.settings
            rows = self._memory.emptied("ring")
            taped = self._memory.emptied("tape")
            if changes is not None:
                taped = np.concatenate([taped, changes])
            times = settings.times(rows[:, 0], phases.tick_seconds)
            if self._get("states"):
                times = np.multiply(rows[:, 0], phases.tick_seconds, dtype=float)
            values = np.ascontiguousarray(rows[:, 1:]).view(np.float64)
            if more is not None:
                times = np.concatenate([times, more.times])
                values = np.concatenate([values, more.values])
            if not len(taped) and not len(times):
                return
            samples = Samples(self.sampled, times, values)
            if self._sink is None:
                self._samples.append(samples)
                self._tape.append(taped)
            elif self.unkept is None:
                self._keep(self._sink, taped, samples)
            if self.unkept is not None:
                self._put("unkept", self._get("unkept") + len(times))

    def _keep(self, sink: LoopSink, taped: Integers, samples: Samples) -> None:
        """Leave samples and tape; a run by a clock goes on where the sink fails, and reports."""
        try:
            sink.take(taped, samples)
        except Exception as error:
            self.unkept = error
            if threading.current_thread() not in (self._thread, self._keeper):
                raise

    # -- running -----------------------------------------------------------------------------------
    @property
    def running(self) -> bool:
        """Whether the loop's thread goes on."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def thread(self) -> threading.Thread | None:
        """The loop's thread, from its start until it is stopped."""
        return self._thread

    @property
    def failure(self) -> BaseException | None:
        """What Python code failed by at a tick, and ended the loop; `stop` raises it."""
        return self._failed

    @property
    def stopped(self) -> StopReason | None:
        """Why the session cannot go on, or None."""
        return self.session.stop

    def set_speed(self, speed: float, overrun: str = "skip") -> None:
        """Run faster or slower than the clock on the wall, from the next start on.

        Args:
            speed: seconds of the session in a second on the wall, above zero.
            overrun: what becomes of ticks that are late: "skip", or "catch-up" where all are run as
                fast as they can be; then an overrun is a tick that itself took too long.
        """
        if overrun not in OVERRUNS:
            raise Error(f"there is no {overrun!r}", remedy=f"choose {' or '.join(OVERRUNS)}")
        if not (speed > 0 and math.isfinite(speed)):
            raise Error(f"a run does not go {speed} times as fast as time", remedy="above zero")
        if self.running:
            raise Error("a loop that runs keeps its speed", remedy="stop it first")
        self.speed = speed
        tick = Fraction(self.session.phases.tick_seconds).limit_denominator(10**9)
        period = (tick * self.stride * 10**9 / Fraction(speed)).limit_denominator(10**6)
        if period < 1000:
            raise Error(f"a tick of {float(period):g} ns is too short", remedy="take a stride")
        whole, part = divmod(period.numerator, period.denominator)
        self._put("period", whole)
        self._put("part", part)
        self._put("parts", period.denominator)
        self._put("rest", 0)
        late = period if self._patience is None else Fraction(self._patience) * 10**9
        catches = overrun == "catch-up"
        self._put("catches", int(catches))
        self._put("patience", _FOREVER if catches else max(int(late), whole))

    @property
    def period(self) -> Fraction:
        """The time from one instant to the next, s."""
        part = Fraction(self._get("part"), self._get("parts"))
        return (self._get("period") + part) / 10**9

    def start(self) -> None:
        """Start the thread; the first tick is due a millisecond later."""
        if self.running:
            return
        self._require_sound()
        self._put("stop", 0)
        self._put("last", _FOREVER)
        self._keeper = threading.Thread(target=self._keep_empty, name="keeper", daemon=True)
        self._thread = threading.Thread(target=self._run, name="linkwright loop", daemon=True)
        self._ready.clear()
        if self._get("foreign") == BY_MAIL:
            self._workers.start()
        _running.add(self)
        self._thread.start()
        self._keeper.start()
        self._ready.wait(5.0)

    def stop(self, timeout: float = 5.0) -> None:
        """End the thread after the tick that it is at; `start` goes on from there.

        Args:
            timeout: s, to wait for it.
        """
        self._memory.publish("stop", 1)
        if self._thread is not None:
            if not ended(self._thread, timeout):
                raise Error(f"the loop has not ended within {timeout:g} s")
            if self._keeper is not None:
                ended(self._keeper, timeout)
            self._workers.stop(timeout)
            self._thread = None
        if self._failed is not None:
            failed, self._failed = self._failed, None
            raise failed

    def __enter__(self) -> PacedLoop:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def go_to(self, tick: int) -> None:
        """Go on to a base tick without waiting for any clock, in whole strides.

        Args:
            tick: the last one.
        """
        if self.running:
            raise Error("a loop that runs follows its clock", remedy="stop it first")
        self._put("stop", 0)
        self._put("last", tick)
        self._put("clock", VIRTUAL)
        try:
            self._go()
        finally:
            self._put("clock", self._clock)
            self._drain()
            self._samplings.look()

    def _run(self) -> None:
        """Be the thread."""
        try:
            self.rights = take_rights(*self._asked)
            # a little after native code has begun; a tick that is not done is due now
            self._put("next", time.monotonic_ns() if self._get("resume") else 0)
            self._ready.set()
            self._go()
        except BaseException as error:  # it is raised where the loop is stopped
            self._failed = error

    def _keep_empty(self) -> None:
        while self.running:
            self._drain()
            self._samplings.look(ask=self._clock != VIRTUAL)
            time.sleep(_DRAIN)
        self._drain()
        self._samplings.look()

    def _require_sound(self) -> None:
        if self.session.stop is not None:
            raise Error(f"the run cannot go on: {self.session.stop.reason}")

    def _go(self) -> None:
        """Drive the session until it is to stop, or cannot go on."""
        with self._calling():
            self._drive()

    def _drive(self) -> None:
        self._put("sampled", self.session.sampled)
        pace = guarded(self._unit.pace) if self.session.machine.called.any else self._unit.pace
        held = [window.memory for window in self._windows]  # so that nobody closes them meanwhile
        try:
            while True:
                why = pace(self._memory.control.ctypes.data)
                if why in (ENDED, REACHED):
                    return
                if why == FULL:
                    self._drain()
                    continue
                if why == CALL:
                    self._workers.answer_all()
                    self._put("resume", FROM_RUN)
                    continue
                if why == SAMPLE:
                    self._samplings.ask()
                    self._put("resume", FROM_SAMPLE)
                    continue
                if not self._attend(why) or self._get("stop"):
                    return
        except BaseException as error:
            self._put("resume", FROM_RUN)  # the tick is not done
            if isinstance(error, Exception):
                self._pass_over()
            raise
        finally:
            del held
            self.session.note_samples(self._get("sampled"))

    def _pass_over(self) -> None:
        """Let a slot hold whose function has failed; the run may go on from there."""
        index = self._machine.pass_over(0)
        if index is not None and self.waits:
            rows = self._held(index)
            if len(rows):
                self._drain(changes=rows)

    def _attend(self, why: int) -> bool:
        """Do what native code leaves to Python at a tick; return whether the run goes on."""
        session = self.session
        with self._lock:
            self._put("resume", FROM_RUN)
            if why == VISIT:
                if self._visitor is not None and self.visited:
                    self._leave_waiting(self._visitor())
                self._take_waiting()
                if self._by_python:
                    self._run_tick()
                    self._put("resume", FROM_RAN)
            elif not session.attend():
                return False
            if session.machine is not self._machine:
                self._bind()
                self._use_functions()
            self._look_in()
            return session.stop is None

    @property
    def visited(self) -> bool:
        """Whether the visitor is called before each tick; it may be set while the loop runs."""
        return self._visited

    @visited.setter
    def visited(self, wanted: bool) -> None:
        with self._lock:
            self._visited = wanted
            self._look_in()

    def _look_in(self) -> None:
        """Let native code come back at each tick where Python is needed there."""
        self._put("visit", int(self._by_python or self._visited or bool(self._waiting)))

    def _take_waiting(self) -> None:
        """Let changes enter that Python has to know of, where they change anything."""
        waiting, self._waiting = self._waiting, []
        tick = self.session.tick + int(not self._get("fresh"))
        rows = []
        for number, values in waiting:
            changed = self._changed(values)
            states = {s.name for s in self.session.phases.x} - self._own.keys()
            moved = {n: v for n, v in changed.items() if n in states}
            own = {n: v for n, v in changed.items() if n in self._own}
            for name in changed.keys() - own.keys() - moved.keys():
                self._machine.arena[0, self._places[self._numbers[name]]] = changed[name]
            if own:
                self.session.set(own)
            if moved:
                self.session.move(moved)
            given = np.array(list(changed.values()), float).view(np.int64).tolist()
            rows += [(tick, self._numbers[n], v) for n, v in zip(changed, given, strict=True)]
            self._put("taken", number)
        if rows:
            self._drain(changes=np.array(rows, np.int64))

    def _changed(self, values: Mapping[str, float]) -> dict[str, float]:
        """Return those values that are not what they are already."""
        machine, phases = self._machine, self._machine.phases
        known = dict(self.session.fallback.values) if self.session.fallback is not None else {}
        for array, signals in (("p", phases.p), ("w", phases.w), ("x", phases.x)):
            row = machine.rows_of(array)[0].tolist()
            known |= {
                s.name: v
                for s, v in zip(signals, row, strict=True)
                if array != "x" or s.name in values
            }
        return {n: float(v) for n, v in values.items() if n not in known or known[n] != v}

    def _run_tick(self) -> None:
        """Drive the session to the tick that is due, in Python."""
        session = self.session
        session.extend(self._get("target"))
        while not session.done:
            self._drain(session.advance())
        self._put("sampled", session.sampled)


_running: weakref.WeakSet[PacedLoop] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """Stop what still runs when the process ends: native code must not outlive its memory."""
    for loop in list(_running):
        if loop.running:
            with suppress(Exception):
                loop.stop()
