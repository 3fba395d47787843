"""A simulated indexer of stepping motors, byte by byte, as it hangs on a serial line.

Each axis is a unit with an address on a chain; a command without an address is for all. Bytes come
at 9600 baud (8N1: ten bits each) and are echoed. A command ends at a space or a carriage return.
Buffered ones wait in 512 bytes for the one before them:

- `MN` normal mode; `A33` acceleration, turns/s²; `V1.5` speed, turns/s; `D-400` distance, steps
- `G` moves, and holds up what follows until the move is done; `GH` looks for the home switch
- `O1` sets the unit's output line, `TR1X1` waits until the lines of all units are so (X: any)

Others are obeyed as they come: `BS` describes the free bytes of the buffer, `PR` the steps, `R`
whether it is ready (`R`), busy (`B`) or at a limit (`L`); `S` ends the motion, and with `K` alone,
whatever comes before or after it, every motion and every buffer is gone.

An answer is `*`, a text and a carriage return. A limit switch stops its axis and clears its buffer
without anything from the host; the other axes then wait at their triggers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from linkwright.mounts.steppers import ACCELERATION, StepperMotor

BAUD = 9600
BYTE_TIME = 10 / BAUD
"""s, that a byte takes."""

BUFFER = 512
"""Bytes of commands that a unit holds."""

_COMMAND = re.compile(r"(\d?)(MN|GH|G|TR|O|BS|PR|R|S|Z|A|V|D)([-+.0-9X]*)$")
_IMMEDIATE = ("BS", "PR", "R", "S", "Z")
_STEP = 1e-3  # s, from one look at the motors to the next


@dataclass(slots=True)
class IndexerUnit:
    """One axis of an indexer."""

    address: int  # its number on the chain, from 1
    motor: StepperMotor  # that it turns
    acceleration: float = ACCELERATION
    speed: float = 0.0
    distance: float = 0.0
    output: bool = False
    moving: bool = field(default=False, init=False)
    buffer: list[tuple[str, str, int]] = field(default_factory=list, init=False)
    used: int = field(default=0, init=False)
    overflows: int = field(default=0, init=False)
    """Commands that found no room."""
    fullest: int = field(default=0, init=False)
    """The most bytes that were ever in its buffer."""
    moves: int = field(default=0, init=False)
    """Moves that were begun."""
    starved: int = field(default=0, init=False)
    """Times that it had made a move, stood, and found nothing to do next but later was
    commanded."""
    _idle: bool = field(default=False, init=False)

    @property
    def free(self) -> int:
        """Bytes of its buffer that are free."""
        return BUFFER - self.used

    def store(self, name: str, value: str, size: int) -> None:
        """Take a command into the buffer, where there is room."""
        if size > self.free:
            self.overflows += 1
            return
        self.buffer.append((name, value, size))
        self.used += size
        self.fullest = max(self.fullest, self.used)
        if self._idle and name == "G":
            self.starved += 1
        self._idle = False

    def clear(self) -> None:
        """Forget what waits."""
        self.buffer.clear()
        self.used = 0

    def run(self, now: float, lines: str) -> bool:
        """Obey the next command that waits, where it can be; return whether it was (`now` in s)."""
        self.motor.place(now)
        if self.moving and self.motor.tripped:
            self.moving = False
            self.clear()
        if self.moving and now < self.motor.finish_time():
            return False
        if self.moving:
            self.motor.stop(now)
            self.moving = False
        if not self.buffer:
            self._idle = self._idle or self.moves > 0
            return False
        name, value, size = self.buffer[0]
        if name == "TR" and any(w not in ("X", at) for w, at in zip(value, lines, strict=False)):
            return False
        del self.buffer[0]
        self.used -= size
        if name in ("G", "GH"):
            self.moves += name == "G"
            self.moving = True
            if name == "GH":
                self.motor.home(now=now)
            elif self.speed > 0:
                self.motor.move(
                    self.distance, speed=self.speed, acceleration=self.acceleration, now=now
                )
            else:
                self.moving = False
        elif name in ("A", "V", "D"):
            number = float(value)
            if name == "A":
                self.acceleration = number
            elif name == "V":
                self.speed = number
            else:
                self.distance = number
        elif name == "O":
            self.output = value == "1"
        return True


class Indexer:
    """Units on a chain.

    Args:
        motors: of the axes, in the order of their addresses.

    >>> device = Indexer([StepperMotor(), StepperMotor()])
    >>> device.feed(b"A33 1V10 2V5 1D4000 2D2000 G ")
    >>> device.advance(5.0)
    >>> [round(unit.motor.place(device.now)) for unit in device.units]
    [4000, 2000]
    >>> said = device.said()
    >>> device.feed(b"1PR ")
    >>> device.said()
    b'1PR *4000\\r'
    """

    def __init__(self, motors: list[StepperMotor]) -> None:
        self.units = [IndexerUnit(i, motor) for i, motor in enumerate(motors, 1)]
        self.now = 0.0
        self.received = 0
        self.unknown: list[str] = []
        self._word = b""
        self._said = b""

    def said(self) -> bytes:
        """Return what it has said since the last call, its echo included."""
        said, self._said = self._said, b""
        return said

    def feed(self, data: bytes) -> None:
        """Take bytes, one after the other at the speed of the line.

        Args:
            data: of the host.
        """
        for number in data:
            self.advance(BYTE_TIME)
            self._take(bytes([number]))

    def _take(self, byte: bytes) -> None:
        self.received += 1
        self._said += byte
        if byte == b"K":
            self._word = b""
            for unit in self.units:
                unit.motor.stop(self.now)
                unit.moving = False
                unit.clear()
        elif byte in (b" ", b"\r", b"\n"):
            word, self._word = self._word, b""
            if word:
                self._obey(word.decode("ascii", "replace"))
        else:
            self._word = (self._word + byte)[-BUFFER:]

    def _obey(self, word: str) -> None:
        found = _COMMAND.match(word)
        if found is None or not _sound(found[2], found[3]):
            self.unknown.append(word)
            return
        address, name, value = found[1], found[2], found[3]
        for unit in self.units:
            if address and int(address) != unit.address:
                continue
            if name not in _IMMEDIATE:
                unit.store(name, value, len(word) + 1)
            elif name == "S" or name == "Z":
                unit.motor.stop(self.now)
                unit.moving = False
                if name == "Z":
                    unit.clear()
            else:
                self._said += f"*{self._report(unit, name)}\r".encode()
        self._look()

    def _report(self, unit: IndexerUnit, name: str) -> str:
        if name == "BS":
            return f"{unit.free:03d}"
        if name == "PR":
            return str(unit.motor.counter(self.now))
        if unit.motor.tripped:
            return "L"
        return "B" if unit.moving or unit.buffer else "R"

    def advance(self, seconds: float) -> None:
        """Let time pass.

        Args:
            seconds: how much.
        """
        end = self.now + seconds
        while self.now < end:
            self.now = min(self.now + _STEP, end)
            self._look()

    def _look(self) -> None:
        """Let each unit do what it can."""
        went = True
        while went:
            went = False
            for unit in self.units:
                lines = "".join("1" if u.output else "0" for u in self.units)
                went = unit.run(self.now, lines) or went


def _sound(name: str, value: str) -> bool:
    if name in ("A", "V", "D"):
        try:
            return abs(float(value)) < 1e9 and (name == "D" or float(value) >= 0)
        except ValueError:
            return False
    if name == "O":
        return value in ("0", "1")
    if name == "TR":
        return re.fullmatch("[01X]+", value) is not None
    return not value
