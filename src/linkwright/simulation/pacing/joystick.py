"""A gamepad or joystick whose axes and buttons are inputs of a loop (Linux, /dev/input/js0).

The device gives records of eight bytes, `struct js_event` of <linux/joystick.h>: milliseconds (32
bits), a value (16 bits with sign), a kind (1 button, 2 axis; 128 is added to those that say how
things stand when the device is opened) and a number. What moves becomes a change of inputs, so it
is on the tape of the loop like any other, and the tape replays it bit for bit.
"""

from __future__ import annotations

import os
import re
import select
import stat
import struct
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from linkwright.base.checks import checked
from linkwright.base.closable import Closable
from linkwright.base.errors import InputError
from linkwright.base.reprs import brief

EVENT = struct.Struct("=IhBB")
_KINDS = {"button": 1, "axis": 2}
_OPENED = 0x80  # of a kind: how it stood when the device was opened
_MOST = 32767.0  # of an axis
_WAIT = 0.05  # s between two looks at whether it is to end


@dataclass(frozen=True, slots=True)
class _Control:
    input: str
    scale: float


class Joystick(Closable):
    """A joystick that sets inputs, read in a thread of its own.

    Args:
        device: its file, such as /dev/input/js0; a pipe or a file of its records will do.
        controls: for each axis and button, such as "axis 0" or "button 2", an input and what it is
            at full deflection, in the input's unit; axes go from -1 to 1 times that, and
            buttons from 0.
        put: takes inputs by name.
    """

    def __init__(
        self,
        device: str | os.PathLike[str],
        controls: Mapping[str, tuple[str, float]],
        put: Callable[[Mapping[str, float]], object],
    ) -> None:
        self._controls = dict(_control(key, value) for key, value in controls.items())
        self._put, self._left, self._over = put, b"", threading.Event()
        self.lost = ""
        """Why the device is gone; its inputs are zero then."""
        self.taken = 0
        """How many records have become changes, those of other axes and buttons among them."""
        try:
            self._file = os.open(device, os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            raise InputError(
                f"the joystick {os.fspath(device)} cannot be opened: {error.strerror}",
                remedy="see /dev/input/js*, and whether you are in the group `input`",
            ) from None
        self._waits = stat.S_ISFIFO(os.fstat(self._file).st_mode)  # for somebody who writes
        self._thread = threading.Thread(target=self._run, name="linkwright joystick", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop reading; the inputs keep their values."""
        self._over.set()
        self._thread.join()

    def wait(self, timeout: float = 5.0) -> bool:
        """Return whether the device has come to its end, at the latest after some seconds.

        Args:
            timeout: s.
        """
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            while not self._over.is_set():
                if select.select([self._file], [], [], _WAIT)[0] and not self._look():
                    break
        except OSError as error:
            self.lost = error.strerror or str(error)
        finally:
            os.close(self._file)
        if not self._over.is_set():
            self.lost = self.lost or "it has ended"
            self._put({c.input: 0.0 for c in self._controls.values()})

    def _look(self) -> bool:
        """Take what has come, and return whether there will be more."""
        try:
            came = os.read(self._file, 64 * EVENT.size)
        except BlockingIOError:
            return True
        if not came:  # nobody writes: of a pipe perhaps not yet
            self._over.wait(_WAIT)
            return self._waits
        self._waits = False
        whole = self._left + came
        end = len(whole) - len(whole) % EVENT.size
        self._left = whole[end:]
        for values in _together(EVENT.iter_unpack(whole[:end]), self._controls):
            self._put(values)
        self.taken += end // EVENT.size
        return True


def _control(key: str, value: tuple[str, float]) -> tuple[tuple[int, int], _Control]:
    """Return kind and number of an axis or a button, and the input that it sets."""
    found = re.fullmatch(r"(axis|button) (\d{1,3})", key)
    if found is None:
        raise InputError(
            f"a joystick has no {brief(key)}", remedy="name such as 'axis 0' or 'button 2'"
        )
    name, scale = value
    return (_KINDS[found[1]], int(found[2])), _Control(name, checked(scale, f"the scale of {key}"))


def _together(
    events: Iterable[tuple[int, int, int, int]], controls: Mapping[tuple[int, int], _Control]
) -> Iterable[dict[str, float]]:
    """Yield the inputs that change, those of one millisecond at once."""
    values: dict[str, float] = {}
    before = -1
    for at, value, kind, number in events:
        control = controls.get((kind & ~_OPENED, number))
        if control is None:
            continue
        if at != before and values:
            yield values
            values = {}
        before = at
        full = _MOST if kind & ~_OPENED == _KINDS["axis"] else 1.0
        values[control.input] = control.scale * max(-1.0, min(value / full, 1.0))
    if values:
        yield values
