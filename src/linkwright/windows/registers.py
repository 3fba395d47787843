"""Registers and memories of devices, mapped by a declaration of their places and widths.

A device has no frame: its registers lie where its maker put them. What is behind a window is a file
(a fake device, another process), or a UIO device of Linux. Every access is checked before it is
made, so that a wrong one is an error of the caller alone.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwright.base.arguments import worded
from linkwright.base.closable import Closable
from linkwright.base.errors import InputError, nearest
from linkwright.base.reprs import brief
from linkwright.windows.mapping import Mapped, Place
from linkwright.windows.records import TYPES, sides

_ACCESS = ("read", "write", "both")


def require_number(what: str, given: object) -> None:
    """Reject what is not a whole number."""
    if not isinstance(given, int) or isinstance(given, bool):
        raise InputError(f"{what} is a whole number, not {brief(given)}")


@dataclass(frozen=True, slots=True)
class Register:
    """A register, or an array of them, at its place in a device.

    Args:
        name: such as "csr".
        offset: bytes from the start of the window.
        type: u16 and so on, as that of a `Field`; one access is that wide.
        shape: of an array, () for one register.
        access: "read", "write" or "both": what the device allows.

    Example:
        >>> Register("obuf", 2, "u16").end
        4
    """

    name: str
    offset: int
    type: str = "u16"
    shape: tuple[int, ...] = ()
    access: str = "both"

    def __post_init__(self) -> None:
        if self.type not in TYPES:
            raise InputError(
                f"register '{self.name}' has the unknown type {brief(self.type)}",
                remedy=f"there are {', '.join(TYPES)}",
            )
        if self.access not in _ACCESS:
            raise InputError(
                f"register '{self.name}' has the unknown access {brief(self.access)}",
                remedy=f"there are {', '.join(_ACCESS)}",
            )
        width = np.dtype(TYPES[self.type]).itemsize
        require_number(f"the offset of register '{self.name}'", self.offset)
        if self.offset < 0 or self.offset % width:
            raise InputError(
                f"register '{self.name}' of {width} bytes lies at byte {self.offset}",
                remedy=f"place it at a multiple of {width}",
            )
        shape = sides(self.shape)
        if shape is None:
            raise InputError(f"register '{self.name}' has the shape {brief(self.shape)}")
        object.__setattr__(self, "shape", shape)

    @property
    def end(self) -> int:
        """The first byte after it."""
        return self.offset + math.prod(self.shape) * np.dtype(TYPES[self.type]).itemsize


class RegisterWindow(Closable):
    """A device's registers and memories.

    Args:
        place: a path, that of a UIO device too, or the number of a descriptor.
        registers: what is in it.
        length: bytes of the window; up to the end of the last register by default.
        offset: bytes of the file before the window.
        block: the length must be a multiple of it; 512 for the memory of a device that is mapped in
            pages of 512 bytes.

    Example:
        A parallel interface with three registers of 16 bits, and a frame grabber with two pictures
        of 512 by 512 bytes:

        >>> import tempfile
        >>> from pathlib import Path
        >>> DRV11C = (Register("csr", 0), Register("obuf", 2), Register("ibuf", 4, access="read"))
        >>> size = 512 * 512
        >>> DT2651 = tuple(Register(f"buffer{k}", k * size, "u8", (512, 512)) for k in (0, 1))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     device, memory = Path(folder, "drv11c"), Path(folder, "dt2651")
        ...     made = device.write_bytes(bytes(6)), memory.write_bytes(bytes(2 * size))
        ...     with RegisterWindow(device, *DRV11C) as registers:
        ...         registers.write("obuf", 0x1234)
        ...         print(device.read_bytes().hex())
        ...     with RegisterWindow(memory, *DT2651, block=512) as pictures:
        ...         pictures.write("buffer1", 255, at=(511, 511))
        ...         print(pictures.read("buffer1").max(), pictures.read("buffer0").max())
        000034120000
        255 0
    """

    @worded
    def __init__(
        self,
        place: Place,
        *registers: Register,
        length: int | None = None,
        offset: int = 0,
        block: int = 1,
    ) -> None:
        end = max((r.end for r in registers), default=0)
        bytes_ = end if length is None else length
        if bytes_ < 1 or bytes_ % block:
            raise InputError(
                f"a window of {bytes_} bytes cannot be mapped",
                remedy=f"give it a length that is a multiple of {block}",
            )
        for r in registers:
            if r.end > bytes_:
                raise InputError(
                    f"register '{r.name}' ends at byte {r.end}, outside a window of {bytes_}"
                )
        self.registers = {r.name: r for r in registers}
        if len(self.registers) < len(registers):
            raise InputError("two registers of a window have the same name")
        self._mapped = Mapped(place, bytes_, offset=offset, writable=True)

    @worded
    def read(self, name: str, at: int | Sequence[int] | None = None) -> Any:
        """Return the value of a register, or a copy of an array.

        Args:
            name: of the register.
            at: of an array, the place of one element.
        """
        register = self._register(name)
        if register.access == "write":
            raise InputError(f"register '{name}' cannot be read")
        kind = np.dtype(TYPES[register.type])
        start, shape = self._place(register, at)
        if self._mapped.is_device:
            self._mapped.check()
            values = np.array(self._view(kind, start, shape))
        else:
            count = math.prod(shape)
            values = np.frombuffer(self._mapped.get(start, count * kind.itemsize), kind)
        return values.reshape(shape) if shape else values.item()

    @worded
    def write(self, name: str, value: Any, at: int | Sequence[int] | None = None) -> None:
        """Set a register, an array, or one element of it.

        Args:
            name: of the register.
            value: whole numbers that its type holds.
            at: of an array, the place of one element.
        """
        register = self._register(name)
        if register.access == "read":
            raise InputError(f"register '{name}' cannot be written to")
        kind = np.dtype(TYPES[register.type])
        start, shape = self._place(register, at)
        given = np.asarray(value)
        if given.shape != shape or given.dtype.kind not in "iufb":
            raise InputError(
                f"register '{name}' has the shape {shape} and cannot hold {brief(value)}"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            values = given.astype(kind)
        if not np.array_equal(values, given, equal_nan=kind.kind == "f"):
            raise InputError(
                f"register '{name}' of type {register.type} cannot hold {brief(value)}"
            )
        if self._mapped.is_device:
            self._mapped.check()
            self._view(kind, start, shape)[...] = values
        else:
            self._mapped.put(start, values.tobytes())

    @property
    def address(self) -> int:
        """Where the window is in memory, for native code; valid until `close`."""
        return self._mapped.address

    def close(self) -> None:
        """Take it out of memory."""
        self._mapped.close()

    def _view(self, kind: np.dtype[Any], start: int, shape: tuple[int, ...]) -> Any:
        """Return memory of a device; each element is one access of its width."""
        count = math.prod(shape)
        flat = np.frombuffer(self._mapped.memory, kind, count=count, offset=start)
        return flat.reshape(shape)

    def _register(self, name: str) -> Register:
        found = self.registers.get(name)
        if found is None:
            near = nearest(str(name), self.registers)
            raise InputError(
                f"{self._mapped.name} has no register {brief(name)}",
                remedy=f"did you mean '{near}'?" if near else None,
            )
        return found

    def _place(
        self, register: Register, at: int | Sequence[int] | None
    ) -> tuple[int, tuple[int, ...]]:
        """Return the first byte and the shape of an access."""
        if at is None:
            return register.offset, register.shape
        try:
            index = [operator.index(i) for i in (at if isinstance(at, Sequence) else [at])]
        except TypeError as error:
            raise InputError(f"{brief(at)} is not a place in '{register.name}'") from error
        inside = all(0 <= i < n for i, n in zip(index, register.shape, strict=False))
        if len(index) != len(register.shape) or not inside:
            raise InputError(
                f"{brief(at)} lies outside register '{register.name}' of shape {register.shape}"
            )
        flat = 0
        for i, n in zip(index, register.shape, strict=True):
            flat = flat * n + i
        return register.offset + flat * np.dtype(TYPES[register.type]).itemsize, ()
