"""What goes wrong on the way between two sockets, with a seed: losses and delays, for tests."""

from __future__ import annotations

import heapq
import select
import socket
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from math import inf
from random import Random
from typing import Any, Generic, TypeVar

from linkwright.base.closable import Closable
from linkwright.base.errors import Error, InputError
from linkwright.lab.drivers.driver import DriverPlace
from linkwright.lab.drivers.sockets import data_socket

Message = TypeVar("Message")


@dataclass(frozen=True, slots=True)
class Troubles:
    """What goes wrong on the way.

    >>> Troubles(loss=0.05).seed
    0
    """

    loss: float = 0.0  # the share of datagrams that get lost, in both directions
    delay: float = 0.0  # s, that each takes longer
    seed: int = 0  # of the choice of those that are lost

    def __post_init__(self) -> None:
        if not 0 <= self.loss < 1:
            raise InputError(f"a share of {self.loss:g} cannot get lost", remedy="from 0 up to 1")
        if not 0 <= self.delay < 10:
            raise InputError(f"the delay is {self.delay:g} s", remedy="from 0 up to 10 s")


class Way(Generic[Message]):
    """Messages on a bad way; what becomes of the n-th depends on the seed and on n alone.

    Units: times in s.
    """

    def __init__(self, troubles: Troubles) -> None:
        self.troubles, self.chance = troubles, Random(troubles.seed)
        self._waiting: list[tuple[float, int, Message]] = []
        self._count = 0

    @property
    def due(self) -> float:
        """When the next one arrives."""
        return self._waiting[0][0] if self._waiting else inf

    def put(self, message: Message, now: float) -> None:
        """Send a message off, to be lost or to be late."""
        if self.chance.random() >= self.troubles.loss:
            self.send(message, now + self.troubles.delay)

    def send(self, message: Message, due: float) -> None:
        """Let a message arrive at a time."""
        self._count += 1
        heapq.heappush(self._waiting, (due, self._count, message))

    def take(self) -> Message:
        """Return the message that arrives next."""
        return heapq.heappop(self._waiting)[2]


class Relay(Closable):
    """Carries datagrams between a laboratory and a robot, with troubles; a thread of Python's."""

    def __init__(self, place: DriverPlace, troubles: Troubles) -> None:
        self._way: Way[tuple[int, bytes]] = Way(troubles)
        self._place = place
        self._ends: list[tuple[socket.socket, Any]] = []
        self._answer: tuple[Any, str] = None, ""
        self._quit = threading.Event()
        self._lock = threading.Lock()
        self.failure: Error | None = None
        """What has ended it, in words."""
        self._thread = threading.Thread(target=self._carry, name="relay", daemon=True)
        self._thread.start()

    def between(self, lab: Any, robot: Any) -> tuple[Any, str]:
        """Carry between two addresses; return that for the robot, and that to report to the lab."""
        if self._ends and [peer for _, peer in self._ends] == [lab, robot]:
            return self._answer  # it knocked once more before it was answered
        with ExitStack() as stack:
            try:  # neither is connected: a Unix socket that has a peer refuses others, connect(2)
                outer, told = data_socket(self._place)
                stack.enter_context(outer)
                inner, _ = data_socket(self._place)
                stack.enter_context(inner)
                for link in (outer, inner):
                    link.setblocking(False)
                address = inner.getsockname()
            except OSError as error:
                raise self._failed(error) from None
            stack.pop_all()
        with self._lock:
            self._close_ends()
            self._ends = [(outer, lab), (inner, robot)]
        self._answer = address, told
        return self._answer

    def _failed(self, error: Exception) -> Error:
        why = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
        self.failure = Error(f"what loses and delays datagrams at {self._place} failed: {why}")
        return self.failure

    def _carry(self) -> None:
        """Be the thread."""
        try:
            self._carries()
        except Exception as error:
            self._failed(error)

    def _carries(self) -> None:
        way = self._way
        while not self._quit.is_set():
            with self._lock:
                ends = list(self._ends)
            if not ends:
                time.sleep(0.005)
                continue
            pause = min(0.02, max(0.0, way.due - time.monotonic()))
            with suppress(OSError, ValueError):  # they may just have been closed
                select.select([link for link, _ in ends], [], [], pause)
            now = time.monotonic()
            for i, (link, peer) in enumerate(ends):
                for data in _all(link, peer):
                    way.put((1 - i, data), now)
            while way.due <= now:
                to, data = way.take()
                with suppress(OSError):
                    link, peer = ends[to]
                    link.sendto(data, peer)

    def _close_ends(self) -> None:
        for link, _ in self._ends:
            link.close()
        self._ends = []

    def close(self) -> None:
        """End the thread."""
        self._quit.set()
        self._thread.join(5.0)
        self._close_ends()


def _all(link: socket.socket, peer: Any) -> list[bytes]:
    """Return the datagrams that have come from a peer; others are not heard."""
    found: list[bytes] = []
    with suppress(OSError):
        while len(found) < 64:
            data, sender = link.recvfrom(1 << 16)
            if sender == peer or (isinstance(sender, tuple) and sender[:2] == peer[:2]):
                found.append(data)
    return found
