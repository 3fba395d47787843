"""The loop of a laboratory: its System in lockstep, or by the clock on the wall.

In lockstep a run goes as fast as it can, in the thread that asks for it, and the same commands at
the same ticks give the same bits. By the clock the same loop goes on in a thread beside.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from linkwright.errors import Error
from linkwright.lab.config import LabConfig
from linkwright.simulation.native.session import Session
from linkwright.simulation.pacing import PacedLoop
from linkwright.simulation.settings import RunSettings
from linkwright.system import Phases

FOREVER = 1e7
"""s, how long a laboratory may run."""

METHODS = {"euler": "semi-implicit", "rk4": "rk4"}
"""Methods of integration by the names that configurations have for them."""

Array = NDArray[np.float64]


def lab_session(config: LabConfig, phases: Phases, seed: int = 0) -> Session:
    """Return a run of a laboratory's System that stands at its start.

    Args:
        config: that says how it is integrated.
        phases: of its System.
        seed: of noise.
    """
    if config.method not in METHODS:
        raise Error(
            f"there is no method {config.method!r}", remedy=f"choose {' or '.join(METHODS)}"
        )
    step = 1 / (config.rate * config.substeps)
    settings = RunSettings(FOREVER, step, METHODS[config.method], every=0, seed=seed)
    return Session(phases, settings.timed(None, phases.tick_seconds))


class LabLoop:
    """A laboratory's loop: how it is run and looked at.

    Args:
        config: of the laboratory.
        session: of its System, at its start.
    """

    def __init__(self, config: LabConfig, session: Session) -> None:
        self.config = config
        self.loop = PacedLoop(session, clock="wall", waits=True, priority=False)
        self._lock = threading.RLock()
        self._speed: float | None = None
        self._origin = 0
        phases = session.phases
        self._places = {
            array: {s.name: i for i, s in enumerate(getattr(phases, array))} for array in "xdw"
        }
        self.loop.go_to(0)

    # -- time --------------------------------------------------------------------------------------
    @property
    def period(self) -> Fraction:
        """The base tick, s."""
        return Fraction(self.loop.session.phases.tick_seconds).limit_denominator(10**9)

    @property
    def tick(self) -> int:
        """Base ticks since the start, or since the last reset."""
        return max(self.loop.latest().tick, 0) - self._origin

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
        if not seconds >= 0:
            raise Error(f"a laboratory does not run for {seconds!r} s", remedy="give 0 or more")
        self.go_on(round(Fraction(seconds).limit_denominator(10**9) / self.period))

    def go_on(self, ticks: int) -> None:
        """Go on by some base ticks.

        Args:
            ticks: how many.
        """
        if self._speed is not None:
            end = self.loop.latest().tick + ticks
            limit = time.monotonic() + 2 * ticks * float(self.period) / self._speed + 5
            while self.loop.latest().tick < end and time.monotonic() < limit:
                self._require_sound()
                time.sleep(0.002)
            return
        with self._lock:
            self.loop.go_to(self.loop.session.tick + ticks)
            self._require_sound()

    def _require_sound(self) -> None:
        if self.loop.failure is not None:
            self.loop.stop()  # raises it
        if self.loop.stopped is not None:
            raise Error(f"the laboratory cannot go on: {self.loop.stopped.reason}")

    def pace(self, speed: float | None) -> None:
        """Follow the clock on the wall in a thread beside, or go in lockstep again.

        Args:
            speed: seconds of the laboratory in a second on the wall; None for lockstep.
        """
        with self._lock:
            if self.loop.running:
                self.loop.stop()
            self._speed = speed
            if speed is not None:
                self.loop.set_speed(speed)
                self.loop.start()

    @property
    def paced(self) -> float | None:
        """The speed of the laboratory by the clock on the wall, or None in lockstep."""
        return self._speed

    def close(self) -> None:
        """End what runs beside."""
        self.pace(None)

    # -- what goes in and out ----------------------------------------------------------------------
    def put(self, values: Mapping[str, float]) -> None:
        """Change inputs and parameters of the System, all at the next tick, on the tape.

        Args:
            values: by name, as `motor.on`.
        """
        number = self.loop.set(values)
        if self._speed is not None:
            self.loop.wait_for(number)

    def values(self, *ports: str) -> list[Array]:
        """Return arrays of sampled outputs, all of one tick.

        Args:
            ports: such as `sensors.q`.
        """
        row = self.loop.latest().d
        return [row[self._rows(port)] for port in ports]

    def _rows(self, port: str) -> NDArray[np.intp]:
        known = self._found.get(port)
        if known is None:
            places = self._places["d"]
            names = [port] if port in places else []
            while f"{port}[{len(names)}]" in places:
                names.append(f"{port}[{len(names)}]")
            if not names:
                raise Error(f"the laboratory has no port {port!r}")
            known = self._found[port] = np.array([places[name] for name in names])
        return known

    @property
    def _found(self) -> dict[str, NDArray[np.intp]]:
        found: dict[str, NDArray[np.intp]] = self.__dict__.setdefault("_port_rows", {})
        return found
