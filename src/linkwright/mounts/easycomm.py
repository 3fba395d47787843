"""EasyComm II, the serial language of rotators, on a pseudo-terminal.

Commands are two letters and a value, parted by spaces or ends of lines; a command without a value
asks, and the answer repeats it with the value. `PARK` and `RESET` are Hamlib's. The language knows
no errors: what is not understood, or lies out of limits, is counted and left.
"""

from __future__ import annotations

import math

from linkwright.base.closable import Closable
from linkwright.base.errors import Error
from linkwright.mounts.pseudo_terminals import PseudoTerminal
from linkwright.mounts.rotctl_language import DOWN, LEFT, LONGEST, RIGHT, UP, Steerable
from linkwright.version import __version__

_SWEEPS = {"ML": LEFT, "MR": RIGHT, "MU": UP, "MD": DOWN}


class EasyComm:
    """The device's side of EasyComm II.

    >>> from linkwright.mounts.rotator import Rotator
    >>> with Rotator(speed=1, acceleration=10, clock="virtual") as rotator:
    ...     line = EasyComm(rotator)
    ...     said = line.take(b"AZ180.0 EL45.0\\n")
    ...     rotator.advance(5)
    ...     line.take(b"AZ EL \\n")
    b'AZ180.0 EL45.0\\n'
    """

    def __init__(self, device: Steerable) -> None:
        self._device, self._rest, self._skipping = device, b"", False
        self._wanted = _degrees(device)
        self.refused = 0

    def take(self, data: bytes) -> bytes:
        """Take what a host has written, and return what answers it."""
        *lines, self._rest = (self._rest + data.replace(b"\r", b"\n")).split(b"\n")
        said = b""
        if lines:
            self._device.hear()
        for line in lines:
            if self._skipping or len(line) > LONGEST:
                self._skipping = False
                self.refused += 1
                continue
            try:
                said += self._line(line.decode("ascii", "replace"))
            except Error:  # out of the mount's reach, or the mount takes nothing more
                self.refused += 1
        if len(self._rest) > LONGEST:
            self._rest, self._skipping = b"", True
        return said

    def _line(self, line: str) -> bytes:
        azimuth, elevation = self._wanted
        told, goes, before = [], False, self.refused
        for word in line.split():
            letters, value = word[:2].upper(), word[2:]
            if word.upper() == "PARK":
                self._device.park()
            elif word.upper() == "RESET":
                self._device.reset()
            elif letters in ("AZ", "EL") and not value:
                at = _degrees(self._device)[letters == "EL"]
                told.append(f"{letters}{round(at, 1) + 0:.1f}")
            elif letters in ("AZ", "EL") and _is_number(value):
                goes = True
                if letters == "AZ":
                    azimuth = float(value)
                else:
                    elevation = float(value)
            elif letters in ("SA", "SE") and not value:
                self._device.stop()
                self._wanted = _degrees(self._device)
            elif letters in _SWEEPS and not value:
                self._device.sweep(_SWEEPS[letters], self._device.percent)
            elif letters == "VE" and not value:
                told.append(f"VELinkwright-{__version__}")
            else:
                self.refused += 1
        if goes and self.refused > before:
            return b""  # half of a direction is none
        to = math.radians(azimuth), math.radians(elevation)
        if goes and self._device.limits.hold(*to):
            self._device.go(*to)
            self._wanted = azimuth, elevation
        elif goes:
            self.refused += 1
        return f"{' '.join(told)}\n".encode() if told else b""


def _degrees(device: Steerable) -> tuple[float, float]:
    azimuth, elevation = device.position()
    return math.degrees(azimuth), math.degrees(elevation)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


class EasyCommPort(Closable):
    """A pseudo-terminal in front of a rotator, which speaks EasyComm II.

    Args:
        device: what is driven; it is neither started nor closed here.

    >>> from linkwright.mounts.rotator import Rotator
    >>> with (
    ...     Rotator() as rotator,
    ...     EasyCommPort(rotator) as port,
    ...     open(port.path, "r+b", 0) as line,
    ... ):
    ...     written = line.write(b"EL\\n")
    ...     line.read(7)
    b'EL90.0\\n'
    """

    def __init__(self, device: Steerable) -> None:
        self.language = EasyComm(device)
        self._terminal = PseudoTerminal(self.language.take)
        self.path = self._terminal.path

    def close(self) -> None:
        """Take the terminal away; a second time does nothing."""
        self._terminal.close()
