"""A bad network between two real sockets: delay, loss, reordering, cuts and slow readers, seeded.

It stands between a client and a cell on this machine, and does to their messages what a network
may: what happens to the n-th message of a connection depends on the seed and on n alone. A message
is one batch of zenoh's stream: two bytes that give its length, little-endian, and its content. TCP
itself loses nothing; what is lost here is what a broken machine in between would lose.
"""

from __future__ import annotations

import heapq
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from linkwright.blocks import checked
from linkwright.server.network import Endpoint

Mutation = Callable[[random.Random, bytes], bytes]

_HANDSHAKE = 4  # messages of each side that open a session; faults begin after them
_PATIENCE = 0.05  # s between looks at whether it is to end


class FaultyLink:
    """A relay to an address, with faults; clients connect to its `endpoint`.

    Args:
        target: address of the cell, such as "tcp/127.0.0.1:7447".
        seed: of all that is random.
        delay: s that each message takes, in each direction.
        jitter: s that it takes more, at random up to this.
        loss: share of messages that are lost.
        reordered: share of messages that the next one overtakes.
        rate: bytes a second that go through; None for all.
        mutation: what becomes of the messages to the target, from a random source.

    >>> with FaultyLink("tcp/127.0.0.1:7447", seed=1, delay=0.01, loss=0.1) as link:
    ...     link.endpoint.loopback
    True
    """

    def __init__(
        self,
        target: str,
        *,
        seed: int,
        delay: float = 0.0,
        jitter: float = 0.0,
        loss: float = 0.0,
        reordered: float = 0.0,
        rate: float | None = None,
        mutation: Mutation | None = None,
    ) -> None:
        self._target = Endpoint.read(target)
        self._seed = seed
        self.delay = checked(delay, "delay", least=0.0)
        self.jitter = checked(jitter, "jitter", least=0.0)
        self.loss = checked(loss, "loss", least=0.0, most=1.0)
        self.reordered = checked(reordered, "reordered", least=0.0, most=1.0)
        self.rate = rate
        self.mutation = mutation
        self.counts: Counter[str] = Counter()
        self._open = threading.Event()  # set while messages go through
        self._open.set()
        self._ending = threading.Event()
        self._links: list[socket.socket] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.settimeout(_PATIENCE)
        self.endpoint = Endpoint("tcp", "127.0.0.1", self._server.getsockname()[1])
        threading.Thread(target=self._accept, name="linkwright-link", daemon=True).start()

    def hold(self) -> None:
        """Let nothing through, in either direction, as if the cable was out."""
        self._open.clear()

    def release(self) -> None:
        """Let messages through again; those that were held come late, not lost."""
        self._open.set()

    def cut(self) -> None:
        """Break all connections; new ones are taken."""
        links, self._links = self._links, []
        for link in links:
            with suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
            link.close()

    def close(self) -> None:
        """End; a second time does nothing."""
        self._ending.set()
        self._server.close()
        self.cut()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _accept(self) -> None:
        count = 0
        while not self._ending.is_set():
            try:
                near, _ = self._server.accept()
            except TimeoutError:
                continue
            except OSError:  # it was closed
                return
            try:
                far = socket.create_connection((self._target.host, self._target.port), 5.0)
            except OSError:  # nobody at the target: so it is for the client
                near.close()
                continue
            self._links += [near, far]
            for way, source, sink in (("there", near, far), ("back", far, near)):
                for link in (source, sink):
                    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                chance = random.Random(f"{self._seed} {count} {way}")
                line = _Line(self, sink)
                threading.Thread(
                    target=self._read, args=(source, line, chance, way == "there"), daemon=True
                ).start()
                threading.Thread(target=line.write, daemon=True).start()
            count += 1

    def _read(self, source: socket.socket, line: _Line, chance: random.Random, there: bool) -> None:
        """Take messages and decide what becomes of each."""
        source.settimeout(None)
        count, late = 0, 0.0
        while not self._ending.is_set():
            message = _message(source)
            if message is None:
                break
            luck, overtaken, wait = chance.random(), chance.random(), chance.random()
            count += 1
            if self.rate is not None:
                self._ending.wait(len(message) / self.rate)
            if count <= _HANDSHAKE:
                line.put(time.monotonic(), message)
                continue
            if self.mutation is not None and there:
                content = self.mutation(chance, message[2:])
                message = len(content).to_bytes(2, "little") + content
                self.counts["mutated"] += 1
            if luck < self.loss:
                self.counts["lost"] += 1
                continue
            due = time.monotonic() + self.delay + self.jitter * wait
            if overtaken < self.reordered:
                self.counts["reordered"] += 1
                due += 2.0 * (self.delay + self.jitter) + 0.005
            else:
                due = late = max(due, late)  # else messages keep their order
            self.counts["passed"] += 1
            line.put(due, message)
        line.put(time.monotonic(), None)

    def wait_open(self) -> None:
        """Wait until messages may go through."""
        while not self._open.wait(_PATIENCE) and not self._ending.is_set():
            pass


class _Line:
    """Messages that are on their way, by the time at which they are due."""

    def __init__(self, link: FaultyLink, sink: socket.socket) -> None:
        self._link = link
        self._sink = sink
        self._waiting: list[tuple[float, int, bytes | None]] = []
        self._count = 0
        self._changed = threading.Condition()

    def put(self, due: float, message: bytes | None) -> None:
        with self._changed:
            self._count += 1
            heapq.heappush(self._waiting, (due, self._count, message))
            self._changed.notify()

    def write(self) -> None:
        """Send each message when it is due; None ends the connection."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                due, _, message = self._waiting[0]
                if (left := due - time.monotonic()) > 0.0:
                    self._changed.wait(left)
                    continue
                heapq.heappop(self._waiting)
            self._link.wait_open()
            try:
                if message is None:
                    self._sink.shutdown(socket.SHUT_WR)
                    return
                self._sink.sendall(message)
            except OSError:
                return


def _message(source: socket.socket) -> bytes | None:
    """Read one message with its length; None where the connection has ended."""
    head = _exactly(source, 2)
    if head is None:
        return None
    content = _exactly(source, int.from_bytes(head, "little"))
    return None if content is None else head + content


def _exactly(source: socket.socket, count: int) -> bytes | None:
    data = b""
    while len(data) < count:
        try:
            more = source.recv(count - len(data))
        except OSError:
            return None
        if not more:
            return None
        data += more
    return data
