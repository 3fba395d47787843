"""The driver of an indexer: what a host sends, when it waits, and what it does when things fail."""

from __future__ import annotations

import os
import select
import time
from typing import Protocol

from linkwright.base.closable import Closable
from linkwright.base.errors import Error
from linkwright.base.files import integer
from linkwright.base.reprs import brief
from linkwright.heritage.indexer import BUFFER, BYTE_TIME, Indexer
from linkwright.mounts.moves import MovePlan
from linkwright.mounts.pseudo_terminals import PseudoTerminal

KILL = b"KKKKKKKK"
"""What ends all motion: one K would do, and a line that garbles one does not garble eight."""

PAUSE_DIGIT, RESUME_DIGIT = 2, 4
"""First digits of the free bytes at which sending pauses, and goes on; 3 changes nothing."""

_POLL = 0.05  # s, from one question to the next while sending pauses


class IndexerError(Error):
    """An indexer that does not answer, or an axis that has run into a limit."""


class IndexerLine(Protocol):
    """A serial line to an indexer."""

    def write(self, data: bytes) -> None:
        """Send bytes."""

    def read(self, seconds: float) -> bytes:
        """Return what has come, and wait for it so long where there is nothing."""


class SimulatedLine:
    """A line to a simulated indexer, in virtual time.

    Args:
        device: at its end.

    >>> from linkwright.mounts.steppers import StepperMotor
    >>> line = SimulatedLine(Indexer([StepperMotor()]))
    >>> line.write(b"1BS ")
    >>> line.read(0.1)
    b'1BS *512\\r'
    """

    def __init__(self, device: Indexer) -> None:
        self.device = device

    def write(self, data: bytes) -> None:
        """Send bytes; it takes as long as it does on a line."""
        self.device.feed(data)

    def read(self, seconds: float) -> bytes:
        """Return what has come, or let time pass where there is nothing."""
        said = self.device.said()
        if not said:
            self.device.advance(seconds)
            said = self.device.said()
        return said


class SerialLine:
    """A serial port, or a pseudo-terminal: 9600 baud, 8N1, raw.

    Args:
        path: of the port.

    >>> from linkwright.mounts.steppers import StepperMotor
    >>> with IndexerTerminal(Indexer([StepperMotor()])) as terminal:
    ...     line = SerialLine(terminal.path)
    ...     IndexerDriver(line, 1).positions()
    ...     line.close()
    (0,)
    """

    def __init__(self, path: str) -> None:
        import termios
        import tty

        try:
            self._port = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        except OSError as error:
            raise IndexerError(f"cannot open {path}: {error.strerror}") from error
        try:
            tty.setraw(self._port)
            mode = termios.tcgetattr(self._port)
            mode[4] = mode[5] = termios.B9600
            termios.tcsetattr(self._port, termios.TCSANOW, mode)
        except termios.error as error:
            os.close(self._port)
            raise IndexerError(f"{path} is not a serial port", remedy="give one") from error

    def write(self, data: bytes) -> None:
        """Send bytes."""
        while data:
            select.select([], [self._port], [], 1.0)
            data = data[os.write(self._port, data) :]

    def read(self, seconds: float) -> bytes:
        """Return what has come, and wait for it so long where there is nothing."""
        ready, _, _ = select.select([self._port], [], [], seconds)
        return os.read(self._port, 4096) if ready else b""

    def close(self) -> None:
        """Let go of the port."""
        os.close(self._port)


class IndexerDriver:
    """A host that drives an indexer.

    Args:
        line: to it.
        axes: how many axes it has.
        timeout: s, that an answer may take.

    >>> from linkwright.mounts.steppers import StepperMotor
    >>> device = Indexer([StepperMotor(start=-900.0), StepperMotor(start=200.0)])
    >>> driver = IndexerDriver(SimulatedLine(device), 2)
    >>> driver.home()
    >>> driver.positions()
    (0, 0)
    """

    def __init__(self, line: IndexerLine, axes: int, *, timeout: float = 5.0) -> None:
        self._line, self._axes, self._timeout = line, axes, timeout
        self._parity = False
        self.pauses = 0
        """How often sending had to wait for room."""
        self._send("MN A33 V0 D0 ")

    # -- bytes -------------------------------------------------------------------------------------
    def _send(self, text: str) -> None:
        self._line.write(text.encode("ascii"))

    def ask(self, address: int, what: str) -> str:
        """Return the answer of a unit; echoes before it are skipped.

        Args:
            address: of the unit.
            what: `BS`, `PR` or `R`.
        """
        while self._line.read(0.0):
            pass
        self._send(f"{address}{what} ")
        got, waited = b"", 0.0
        while b"\r" not in got.partition(b"*")[2]:
            if waited > self._timeout:
                raise IndexerError(f"the indexer does not answer {address}{what}")
            got += self._line.read(_POLL)
            waited += _POLL
        return got.partition(b"*")[2].partition(b"\r")[0].decode("ascii", "replace")

    def _make_room(self) -> None:
        """Wait while the buffer of the first unit is full, as its free bytes show."""
        if self._free() // 100 > PAUSE_DIGIT:
            return
        self.pauses += 1
        waited = 0.0
        while self._free() // 100 < RESUME_DIGIT:
            if waited > 120.0:
                self._refuse_tripped()
                raise IndexerError("the indexer's buffer does not empty", remedy="stop it")
            self._line.read(_POLL)
            waited += _POLL
            self._refuse_tripped()

    def _free(self) -> int:
        said = self.ask(1, "BS")
        found = integer(said)
        if found is None or not 0 <= found <= BUFFER:
            raise IndexerError(f"the indexer says that {brief(said)} bytes are free")
        return found

    def _refuse_tripped(self) -> None:
        tripped = [i for i in range(1, self._axes + 1) if self.ask(i, "R") == "L"]
        if tripped:
            self.stop()
            which = ", ".join(map(str, tripped))
            raise IndexerError(
                f"axis {which} has run into a limit switch", remedy="move it away, and home it"
            )

    # -- what it is for ----------------------------------------------------------------------------
    def home(self) -> None:
        """Let all axes look for their home switches, and wait for them."""
        self._send("GH ")
        self.wait()

    def positions(self) -> tuple[int, ...]:
        """Return what the axes' counters read, steps."""
        return tuple(int(self.ask(i, "PR")) for i in range(1, self._axes + 1))

    def stop(self) -> None:
        """End all motion at once, and forget what waits."""
        self._line.write(KILL)

    def wait(self, limit: float = 600.0) -> None:
        """Wait until all axes are ready.

        Args:
            limit: s.
        """
        waited = 0.0
        while True:
            states = [self.ask(i, "R") for i in range(1, self._axes + 1)]
            if all(state == "R" for state in states):
                return
            if "L" in states:
                self._refuse_tripped()
            if waited > limit:
                raise IndexerError(f"the axes are not ready after {limit:g} s")
            self._line.read(_POLL)
            waited += _POLL

    def move(self, distances: tuple[int, ...], speeds: tuple[float, ...]) -> None:
        """Send one move; all axes begin it together, and wait for each other after it.

        Args:
            distances: steps.
            speeds: turns/s.
        """
        self._make_room()
        self._parity = not self._parity
        bit = str(int(self._parity))
        words = [f"{i}V{v:.4f}" for i, v in enumerate(speeds, 1)]
        words += [f"{i}D{d}" for i, d in enumerate(distances, 1)]
        self._send(" ".join([*words, "G", f"O{bit}", f"TR{bit * self._axes}", ""]))

    def run(self, plan: MovePlan, *, medium: float = 5.0) -> None:
        """Go to the start of a plan, follow it, and wait until all of it is done.

        Args:
            plan: for as many axes.
            medium: turns/s on the way to the start.
        """
        if len(plan.axes) != self._axes:
            raise IndexerError(f"a plan of {len(plan.axes)} axes is not for {self._axes}")
        self._refuse_tripped()
        way = tuple(int(s) - p for s, p in zip(plan.steps[0], self.positions(), strict=True))
        self.move(way, (medium,) * self._axes)
        self.wait()
        self._send(f"A{plan.acceleration:.4f} ")
        for row, move in zip(plan.increments, plan.moves, strict=True):
            self.move(tuple(int(x) for x in row), move.speeds)
        self.wait()


class IndexerTerminal(Closable):
    """A simulated indexer on a pseudo-terminal, by the clock.

    Args:
        device: in it.
        speed: its seconds in a second of the clock.

    >>> from linkwright.mounts.steppers import StepperMotor
    >>> with IndexerTerminal(Indexer([StepperMotor()]), speed=10) as terminal:
    ...     terminal.path.startswith("/dev/")
    True
    """

    def __init__(self, device: Indexer, *, speed: float = 1.0) -> None:
        self.device, self._speed = device, speed
        self._began = time.monotonic()
        self._waiting = b""
        self._terminal = PseudoTerminal(self._take, every=0.005)
        self.path = self._terminal.path

    def _take(self, data: bytes) -> bytes:
        """Take no more bytes than the line has brought by now."""
        self._waiting += data
        now = (time.monotonic() - self._began) * self._speed
        while self._waiting and self.device.now + BYTE_TIME <= now:
            self.device.feed(self._waiting[:1])
            self._waiting = self._waiting[1:]
        if not self._waiting:
            self.device.advance(now - self.device.now)
        return self.device.said()

    def close(self) -> None:
        """Take the terminal away; a second time does nothing."""
        self._terminal.close()
