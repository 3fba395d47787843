"""Mirrors: the record of a window as arrays of one's own, pulled and pushed whole."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.arguments import worded
from linkwright.base.closable import Closable
from linkwright.base.errors import Error, unknown
from linkwright.simulation.pacing.frames import MIRROR, NEW, TORN
from linkwright.simulation.pacing.memory import PULL, PUSH
from linkwright.simulation.pacing.unit import unit
from linkwright.windows import RecordError, Window
from linkwright.windows.records import HEAD

_TORN = 0.5  # s, after which a writer that stands in the middle of a frame must have died there


class Mirror(Mapping[str, NDArray[Any]], Closable):
    """A copy of a window's record: arrays by the names of its fields, which stay the same arrays.

    A reader pulls: the newest frame is copied whole, with a sequence lock and a checksum. The one
    writer fills the arrays and pushes. Both cost about a microsecond from Python.

    Example:
        >>> from linkwright.windows import Field, Record
        >>> record = Record("joints", Field("th", "rad", shape=(2,)))
        >>> window = Window.in_memory(record)
        >>> seen = Window.open(window.descriptor, record)
        >>> with Mirror(window) as writer, Mirror(seen) as reader:
        ...     writer["th"][:] = 0.5, 0.25
        ...     writer.push(7)
        ...     print(reader.pull(), reader.tick, reader["th"])
        True 7 [0.5 0.25]
    """

    @worded
    def __init__(self, window: Window) -> None:
        record = window.record
        self.window, self.record = window, record
        self._held = window.memory  # so that nobody closes it
        zeros = {f.name: np.zeros(f.shape) for f in record.fields}
        self._frame = np.frombuffer(bytearray(record.pack(zeros)), np.int64)
        self._inbox = np.zeros(record.size // 8, np.int64)
        self._memory: NDArray[np.int64] = np.zeros(len(MIRROR), np.int64)
        for name, value in (
            ("window", window.address),
            ("frame", self._frame.ctypes.data),
            ("inbox", self._inbox.ctypes.data),
            ("words", record.size // 4),
            ("schema", int(np.uint64(record.schema).view(np.int64))),
            ("sequence", -1),
        ):
            self._memory[MIRROR[name]] = value
        row = self._frame.view(np.uint8)[HEAD:].view(record.layout)
        self._arrays: dict[str, NDArray[Any]] = {
            f.name: row[f.name].reshape(f.shape or (1,)) for f in record.fields
        }
        code = unit().code
        at = ctypes.c_void_p(self._memory.ctypes.data)
        pull = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(code.address(PULL))
        push = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
        self._at, self._code = at, code
        self._pull: Callable[[ctypes.c_void_p], int] = pull
        self._push: Callable[[ctypes.c_void_p, int, int], None] = push(code.address(PUSH))

    def __getitem__(self, name: str) -> NDArray[Any]:
        try:
            return self._arrays[name]
        except KeyError:
            raise unknown(
                "field", name, self._arrays, owner=f"the record {self.record.name!r}", kind=Error
            ) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    @property
    def flat(self) -> NDArray[np.float64]:
        """All numbers of a record of f64 in one array, which stays the same memory."""
        if any(f.type != "f64" for f in self.record.fields):
            raise Error(f"the record {self.record.name!r} has other numbers than f64")
        return self._frame[HEAD // 8 :].view(np.float64)

    @property
    def tick(self) -> int:
        """The tick of the frame that was pulled last."""
        return int(self._memory[MIRROR["tick"]])

    @property
    def clock(self) -> int:
        """When that frame was made, ns on the writer's clock."""
        return int(self._memory[MIRROR["clock"]])

    @property
    def sequence(self) -> int:
        """The number of that frame, -1 before the first."""
        return int(self._memory[MIRROR["sequence"]])

    def pull(self) -> bool:
        """Take the newest frame; return whether it is another one than before.

        A writer that stands still in the middle of a frame is an error; what was pulled before
        stays.
        """
        found = self._pull(self._at)
        if found == TORN:
            found = self._patiently()
        if found == TORN:
            raise RecordError(
                "torn",
                f"the writer of window '{self.record.name}' is in the middle of a frame",
                remedy="it may have been stopped or ended there; start it again",
            )
        return found == NEW

    def _patiently(self) -> int:
        """Pull again for a while: the writer may have been kept from a processor in a frame."""
        end = time.monotonic() + _TORN
        found = TORN
        while found == TORN and time.monotonic() < end:
            time.sleep(1e-4)
            found = self._pull(self._at)
        return found

    def push(self, tick: int, clock: int | None = None) -> None:
        """Put the arrays into the window as one frame."""
        if not self.window.writable:
            raise Error(
                f"the window '{self.record.name}' was opened to be read",
                remedy="its one writer makes it by Window.create",
            )
        self._push(self._at, tick, time.monotonic_ns() if clock is None else clock)

    def close(self) -> None:
        """Let go of the window, which can be closed then; a second time does nothing."""
        self._held.release()

        def gone(*_: object) -> Any:
            raise Error(f"the mirror of '{self.record.name}' is closed")

        self._pull = self._push = gone
