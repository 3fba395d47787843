"""Wires: frames of records as datagrams, over a connected UDP or Unix socket.

A wire has one peer, which its socket is connected to. Frames go out as they are packed, numbered
from 1 on; of those that come in the newest sound one is taken. Everything else is counted: numbers
that were left out, frames that came after a newer one, damaged ones, and bytes that are not a
frame of the record at all. Python reads and writes wires here; a paced loop does so in native code.
"""

from __future__ import annotations

import select
import socket
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.arguments import worded
from linkwright.base.closable import Closable
from linkwright.base.errors import Error, InputError
from linkwright.windows.mapping import keep_from_children
from linkwright.windows.records import Frame, Record, RecordError, Values

COUNTS = ("received", "lost", "late", "torn", "foreign", "sent", "unsent")
NUMBERS = ("came", "went", *COUNTS)
"""What native code and Python keep of a wire: the newest sequences in and out, and counts."""

LARGEST = 65_507
"""Bytes of a datagram, which UDP limits (RFC 768, with IPv4's head of 20 bytes)."""

_FOREIGN = frozenset(("magic", "version", "schema"))


@dataclass(frozen=True, slots=True)
class WireCounts:
    """What went over a wire so far.

    Args:
        received: sound frames, each newer than those before.
        lost: numbers that had not come when a later one did.
        late: sound frames that came after a newer one, or twice.
        torn: frames of the record that are cut or damaged.
        foreign: bytes that are not a frame of this record and version.
        sent: frames that the system took.
        unsent: frames that it did not take, because nobody listens or its queue is full.

    Example:
        >>> WireCounts(9, 1, 0, 0, 0, 10, 0).lost
        1
    """

    received: int
    lost: int
    late: int
    torn: int
    foreign: int
    sent: int
    unsent: int


class Wire(Closable):
    """Frames over a connected datagram socket: one record comes in, one goes out.

    Args:
        link: connected, of the type SOCK_DGRAM; it belongs to the wire.
        inward: what comes in, or None.
        outward: what goes out, or None.

    Example:
        >>> from linkwright.windows import Field
        >>> record = Record("state", Field("q", "rad"))
        >>> one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        >>> with Wire(one, outward=record) as out, Wire(other, inward=record) as into:
        ...     out.send({"q": 0.5}, tick=3)
        ...     frame = into.receive(1.0)
        ...     print(frame.tick, frame.values["q"], into.counts.received)
        3 0.5 1
    """

    @worded
    def __init__(
        self, link: socket.socket, *, inward: Record | None = None, outward: Record | None = None
    ) -> None:
        if link.type != socket.SOCK_DGRAM:
            raise InputError("a wire takes datagrams", remedy="give a socket of type SOCK_DGRAM")
        try:
            link.getpeername()
        except OSError:
            raise InputError("the socket of a wire has no peer", remedy="connect it") from None
        for record in (inward, outward):
            if record is not None and record.size > LARGEST:
                raise InputError(
                    f"the record {record.name!r} of {record.size} bytes is too large for a datagram"
                    f" of {LARGEST}",
                    remedy="leave fields out, or use a window",
                )
        link.setblocking(False)
        self.inward, self.outward = inward, outward
        self._link = link
        self._memory = bytearray(8 * len(NUMBERS))
        self._renew()
        keep_from_children(self)

    @property
    def record(self) -> Record:
        """What comes in."""
        if self.inward is None:
            raise Error("nothing comes in over this wire", remedy="give it a record for that")
        return self.inward

    @property
    def out_record(self) -> Record:
        """What goes out."""
        if self.outward is None:
            raise Error("nothing goes out over this wire", remedy="give it a record for that")
        return self.outward

    @property
    def descriptor(self) -> int:
        """The number of the socket, for native code; valid until `close`."""
        number = self._link.fileno()
        if number < 0:
            raise Error("the wire is closed")
        return number

    @property
    def address(self) -> int:
        """Where its `NUMBERS` are in memory, for native code."""
        return int(self._numbers.ctypes.data)

    @property
    def memory(self) -> memoryview:
        """Its `NUMBERS`; as long as somebody holds them the wire cannot be closed."""
        return memoryview(self._memory)

    @property
    def _numbers(self) -> NDArray[np.int64]:
        return np.frombuffer(self._memory, np.int64)

    @property
    def counts(self) -> WireCounts:
        """What went over it so far."""
        return WireCounts(*(int(n) for n in self._numbers[2:]))

    @worded
    def connect(self, peer: Any) -> None:
        """Exchange frames with another peer from now on, which numbers its own from the start.

        A loop that uses the wire may go on meanwhile.

        Args:
            peer: its address, as `socket.connect` takes it.
        """
        try:
            self._link.connect(peer)
        except OSError as error:
            raise Error(f"the wire cannot be connected to {peer!r}: {error.strerror}") from error
        self._renew()

    @property
    def own(self) -> Any:
        """The address of this end, as `socket.getsockname` gives it."""
        return self._link.getsockname()

    def _renew(self) -> None:
        self._numbers[NUMBERS.index("came")] = -1

    @worded
    def send(self, values: Values, *, tick: int = 0, clock: int | None = None) -> None:
        """Send a frame; one that the system does not take is counted.

        Args:
            values: a number or array for each field, by name.
            tick: of the loop.
            clock: ns; the monotonic clock of the machine where it is not given.
        """
        self._count("went")
        sequence = int(self._numbers[NUMBERS.index("went")])
        now = time.monotonic_ns() if clock is None else clock
        data = self.out_record.pack(values, sequence=sequence, tick=tick, clock=now)
        try:
            self._link.send(data)
        except OSError:
            self._count("unsent")
        else:
            self._count("sent")

    def receive(self, seconds: float = 0.0) -> Frame | None:
        """Return the newest sound frame that has come, or None where there is none in time.

        Args:
            seconds: the longest time to wait for one, s.
        """
        end = time.monotonic() + seconds
        while True:
            newest = self._newest()
            left = end - time.monotonic()
            if newest is not None or left <= 0:
                return newest
            select.select([self.descriptor], [], [], left)

    def _newest(self) -> Frame | None:
        newest = None
        for _ in range(MOST):
            try:
                data = self._link.recv(self.record.size + 8)
            except OSError:
                break
            try:
                frame = self.record.unpack(data)
            except RecordError as error:
                short = error.reason == "short" and len(data) < 64
                self._count("foreign" if short or error.reason in _FOREIGN else "torn")
                continue
            came = int(self._numbers[0])
            if frame.sequence <= came:
                self._count("late")
                continue
            self._count("received")
            if came >= 0:
                self._count("lost", frame.sequence - came - 1)
            self._numbers[0] = frame.sequence
            newest = frame
        return newest

    def _count(self, name: str, number: int = 1) -> None:
        self._numbers[NUMBERS.index(name)] += number

    def close(self) -> None:
        """Close the socket; a second time does nothing."""
        if self._link.fileno() < 0:
            return
        try:
            self._memory.append(0)  # refused while native code uses it
        except BufferError:
            raise Error("the wire is in use", remedy="stop the loop that uses it first") from None
        self._link.close()

    def forget(self) -> None:
        """Close a child's copy of the socket, after a fork."""
        self._link.close()

    def __repr__(self) -> str:
        names = [r.name for r in (self.inward, self.outward) if r is not None]
        return f"Wire({', '.join(names)})"


MOST = 64
"""Datagrams that are looked at in one go, so that a flood of them holds nobody up."""
