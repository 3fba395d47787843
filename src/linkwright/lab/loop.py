"""The loop of a laboratory: its System in lockstep, or by the clock on the wall.

In lockstep a run goes as fast as it can, in the thread that asks for it, and the same commands at
the same ticks give the same bits. By the clock the same loop goes on in a thread beside. Commands
come from any thread: they are changes of inputs, which enter together at one tick.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import Error
from linkwright.lab.config import LabConfig
from linkwright.lab.life import PATIENCE
from linkwright.lab.records import ServoCounters
from linkwright.lab.session import NoJournal, SessionJournal
from linkwright.simulation.native.session import Session
from linkwright.simulation.pacing import PacedLoop
from linkwright.simulation.pacing.counters import Counters
from linkwright.system.phases import of_guard

if TYPE_CHECKING:
    from linkwright.lab.real import RealSide

Array = NDArray[np.float64]

PUBLISHES = 1024
"""Base ticks from one that others see of a run in lockstep to the next."""

_LOOK = 0.2  # s

CHUNK = 4096
"""Base ticks after which a run in lockstep looks whether it is interrupted."""


class LabLoop:
    """A laboratory's loop: how it is run and looked at.

    Args:
        config: of the laboratory.
        session: of its System, at its start.
        journal: that the laboratory's session goes to, if any.
        options: of its `PacedLoop`, where the laboratory is on hardware.
    """

    real: RealSide | None = None

    def __init__(
        self,
        config: LabConfig,
        session: Session,
        journal: SessionJournal | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.config = config
        self.session = journal
        """The session in the making; None where there is no folder for it."""
        usual = {
            "waits": True,
            "priority": False,
            "tells": {"overrun": "life.overruns"},
            "publishes": PUBLISHES,
        }
        self.loop = PacedLoop(
            session,
            sink=NoJournal() if journal is None else journal,
            states=0 if journal is None else journal.every,
            **(usual if options is None else options),
        )
        self._going = threading.RLock()
        self._speed: float | None = None
        self._overrun = "skip"
        self._origin = 0
        self._counted: Counters | None = None
        self.closed = False
        """Whether it was closed: it can be looked at, and does nothing more."""
        self._given: dict[str, float] = {}
        self._port_rows: dict[str, NDArray[np.intp]] = {}
        phases = session.phases
        self._d_places = {s.name: i for i, s in enumerate(phases.d)}
        self._initial = {s.name: float(s.value) for s in (*phases.x, *phases.d)}
        kept = session.place().d
        self._initial |= {n: v for n, v in kept.items() if of_guard(n)}  # what belongs to the start
        self._sensed: dict[str, float] = {}
        if options is None:
            self.loop.go_to(0)
            sensed = session.place().d
            self._sensed = {n: float(v) for n, v in sensed.items() if n.startswith("sensors.")}

    # -- time --------------------------------------------------------------------------------------
    @property
    def period(self) -> Fraction:
        """The base tick, s."""
        return Fraction(self.loop.session.phases.tick_seconds).limit_denominator(10**9)

    @property
    def tick(self) -> int:
        """Base ticks since the start, or since the last reset."""
        return max(self.loop.latest().tick - self._origin, 0)

    @property
    def time(self) -> float:
        """Time since the start, or since the last reset, s."""
        return float(self.tick * self.period)

    def run(self, seconds: float) -> None:
        """Go on for some time.

        In lockstep it goes as fast as it can; where `pace` has set a speed, it waits.

        Args:
            seconds: of the laboratory.
        """
        self.require_open()
        if not seconds >= 0:
            raise Error(f"a laboratory does not run for {seconds!r} s", remedy="give 0 or more")
        self.go_on(round(Fraction(seconds).limit_denominator(10**9) / self.period))

    def go_on(self, ticks: int) -> None:
        """Go on by some base ticks.

        Args:
            ticks: how many.
        """
        self.require_open()
        end = max(self.loop.latest().tick, 0) + ticks
        with self._going:  # who changes the pace has done so
            speed = self._speed
            while speed is None and self.loop.session.tick < end:
                try:
                    self.loop.go_to(min(end, self.loop.session.tick + CHUNK))
                except Exception as error:
                    if self._failed(error):
                        self.loop.go_to(self.loop.session.tick)  # others see where it stands
                    raise
                self.attend()
                self._require_sound()
        if speed is not None:
            limit = time.monotonic() + 4 * ticks * float(self.period) / speed + 5
            while self.loop.latest().tick < end and self._speed is not None:
                self._require_sound()
                if time.monotonic() > limit:
                    raise Error("the laboratory does not keep pace", remedy="choose a lower speed")
                time.sleep(0.002)
            self.attend()

    def attend(self) -> None:
        """Take notice of what happened in the loop."""

    def _failed(self, error: BaseException) -> bool:
        """Take notice of a task that failed at a tick; return whether there is one."""
        del error
        return False

    def _recover(self) -> BaseException | None:
        """Return what failed by the clock, if anything; go on without the task that did."""
        error, speed = self.loop.failure, self._speed
        if error is None or speed is None or not self._going.acquire(blocking=False):
            return error
        try:
            with suppress(Exception):  # it raises what is told here
                self.loop.stop()
            if self._failed(error):
                self.pace(speed, self._overrun)  # who looks meanwhile sees no other
            else:
                self._speed = None
                self.tell(f"the laboratory stands still: {error}")
        finally:
            self._going.release()
        return error

    def tell(self, text: str) -> None:
        """Tell whoever listens.

        Args:
            text: one line.
        """

    def require_open(self) -> None:
        """Refuse what a laboratory that was closed cannot do."""
        if self.closed:
            raise Error("the laboratory is closed", remedy="make another one")

    def _require_sound(self) -> None:
        error = self._recover()
        if error is not None:
            raise error
        if self.loop.stopped is not None:
            raise Error(f"the laboratory cannot go on: {self.loop.stopped.reason}")

    def pace(self, speed: float | None, overrun: str = "skip") -> None:
        """Follow the clock on the wall in a thread beside, or go in lockstep again.

        Args:
            speed: seconds of the laboratory in a second on the wall; None for lockstep.
            overrun: what becomes of ticks that are late by a period or more: "skip", or "catch-up"
                where a simulation runs them as fast as it can.
        """
        self.require_open()
        if self.real is not None:
            if overrun != "skip":
                raise Error(
                    f"a laboratory on hardware does not {overrun}: the robot would be told in a "
                    "rush what it should have done before",
                    remedy="leave overrun at 'skip'",
                )
            if speed == 1:
                return
            raise Error("a laboratory on hardware keeps the pace of its clock", remedy="pace(1)")
        with self._going:
            if self.loop.running or self.loop.failure is not None:
                self._speed = None
                self.loop.stop()
            if speed is not None:
                self.loop.set_speed(speed, overrun)
                self._overrun = overrun
                self.loop.start()
            self._speed = speed
            if speed is not None:
                threading.Thread(target=self._guard, name="watchdog", daemon=True).start()

    def _guard(self) -> None:
        """Interrupt tasks of Python that do not come back, as long as the loop's thread goes on."""
        from linkwright.lab.running import LONGEST, interrupt_endless

        thread, told = self.loop.thread, ""
        while thread is not None and thread.is_alive():
            thread.join(_LOOK)
            patient = self.given("life.patience") == 0
            if patient or not (stuck := interrupt_endless(thread.ident or 0, LONGEST)):
                told = ""
            elif not told and interrupt_endless(thread.ident or 0, 2 * LONGEST):
                told = stuck
                self.tell(f"{stuck}, and cannot be interrupted there")
        if self.loop.thread is thread and self.loop.failure is not None:
            self.attend()  # what failed is told, and the laboratory goes on without it

    @property
    def paced(self) -> float | None:
        """The speed of the laboratory by the clock on the wall, or None in lockstep."""
        return self._speed

    def patience(self, overruns: int = PATIENCE) -> None:
        """Say how many ticks in a row may take too long before the laboratory freezes.

        Args:
            overruns: how many; 0 for any number.
        """
        self.put({"life.patience": float(overruns)})

    def close(self) -> None:
        """End what runs beside, and the session; a real robot is disabled."""
        if self.closed:
            return
        if self.real is not None:
            self.real.close()
        else:
            self.pace(None)
        if self.session is not None:
            self.session.close(self.loop)
        self.closed = True

    @property
    def simulated(self) -> bool:
        """Whether the robot is a simulated one."""
        return self.real is None

    @property
    def counters(self) -> dict[str, ServoCounters]:
        """What was counted since the start or the last reset, by servo."""
        counted, tick = self.loop.counters, self.tick
        if self._counted is not None:
            counted = counted.since(self._counted)
        late = self.values("watch.late")[0][0] if self.real else 0.0
        found = {}
        for servo, rate in self.rates.items():
            every = 1 / (rate * self.period)
            if every.denominator != 1:  # of vision where nothing is to be seen
                continue
            task = servo == "task"
            found[servo] = ServoCounters(
                float(rate),
                int(tick // every),
                int(counted.missed // every),
                int(late) if task and self.real else counted.overrun + counted.late * task,
                counted.worst,
                counted.mean,
            )
        return found

    @property
    def rates(self) -> Mapping[str, Fraction]:
        """The rate of each servo, Hz."""
        from linkwright.lab.system import servo_rates

        return servo_rates(self.config)

    # -- what goes in and out ----------------------------------------------------------------------
    def put(self, values: Mapping[str, float]) -> None:
        """Change inputs and parameters of the System, all at the next tick, on the tape.

        Where the laboratory follows the clock, it waits until they have entered.

        Args:
            values: by name, as `motor.controller`.
        """
        for name in values:
            if name.startswith("robot."):
                self._require_simulated(f"{name!r} belongs to a simulated robot")
        self.require_open()
        self._entered(self.loop.set(values))
        self._given.update(values)

    def _require_simulated(self, why: str) -> None:
        """Refuse what only a simulation can do."""
        if self.real is not None:
            raise Error(
                f"not on hardware: {why}", remedy="run the laboratory without a driver for that"
            )

    def _enter(self, values: Mapping[str, float]) -> None:
        """Change inputs and memory of the System, all at the next tick, on the tape."""
        self.require_open()
        self._entered(self.loop.enter(values))
        self._given.update(values)

    def _entered(self, number: int) -> None:
        if self._speed is not None and self.loop.running:
            self.loop.wait_for(number)

    def given(self, name: str) -> float:
        """Return what an input or parameter was given last, or what it is at the start.

        Args:
            name: of it.
        """
        if name in self._given:
            return self._given[name]
        phases = self.loop.session.phases
        for signal in (*phases.w, *phases.p):
            if signal.name == name:
                return float(signal.value)
        raise Error(f"the laboratory has no input or parameter {name!r}")

    def values(self, *ports: str) -> list[Array]:
        """Return arrays of sampled outputs, all of one tick.

        Args:
            ports: such as `sensors.q`.
        """
        row = self.loop.latest().d
        return [row[self._rows(port)] for port in ports]

    def has(self, port: str) -> bool:
        """Return whether there is such a sampled output.

        Args:
            port: such as `sensors.q`.
        """
        return port in self._d_places or f"{port}[0]" in self._d_places

    def _rows(self, port: str) -> NDArray[np.intp]:
        known = self._port_rows.get(port)
        if known is None:
            places = self._d_places
            names = [port] if port in places else []
            while f"{port}[{len(names)}]" in places:
                names.append(f"{port}[{len(names)}]")
            if not names:
                raise Error(f"the laboratory has no port {port!r}")
            known = self._port_rows[port] = np.array([places[name] for name in names])
        return known
