"""A bad network between a client and a cell: `Troubles` on real sockets, cuts and slow readers.

A message is one batch of zenoh's stream: two bytes that give its length, little-endian, and its
content. TCP itself loses nothing; what is lost here is what a broken machine in between would lose.
"""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from linkwright.base.closable import Closable
from linkwright.lab.drivers.relay import Troubles, Way
from linkwright.server.network import Endpoint

Mutation = Callable[[random.Random, bytes], bytes]

_HANDSHAKE = 4  # messages of each side that open a session; faults begin after them
_PATIENCE = 0.05  # s between looks at whether it is to end


class FaultyLink(Closable):
    """A relay to an address, with faults; clients connect to its `endpoint`.

    Times are in s. Beside delay and loss there are jitter, up to which each message takes longer at
    random, the share that the next ones overtake, and the bytes a second that go through.
    """

    def __init__(
        self,
        target: str,
        *,
        seed: int,
        delay: float = 0.0,
        loss: float = 0.0,
        jitter: float = 0.0,
        reordered: float = 0.0,
        rate: float | None = None,
    ) -> None:
        self._target = Endpoint.read(target)
        self.troubles, self.jitter, self.reordered = Troubles(loss, delay, seed), jitter, reordered
        self.rate = rate
        self.mutation: Mutation | None = None  # of messages to the target
        self.passed = 0
        self._open = threading.Event()  # set while messages go through
        self._open.set()
        self.ending = threading.Event()
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
        self.ending.set()
        self._server.close()
        self.cut()

    def _accept(self) -> None:
        count = 0
        while not self.ending.is_set():
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
                line = _Line(self, f"{self.troubles.seed} {count} {way}")
                for work in (
                    lambda line=line, source=source, way=way: line.read(source, way == "there"),
                    lambda line=line, sink=sink: line.write(sink),
                ):
                    threading.Thread(target=work, daemon=True).start()
            count += 1

    def wait_open(self) -> None:
        """Wait until messages may go through."""
        while not self._open.wait(_PATIENCE) and not self.ending.is_set():
            pass


class _Line(Way[bytes | None]):
    """Messages that are on their way in one direction; None is its end."""

    def __init__(self, link: FaultyLink, seed: str) -> None:
        super().__init__(link.troubles)
        self._link, self.chance = link, random.Random(seed)
        self._changed = threading.Condition()
        self._latest = 0.0

    def send(self, message: bytes | None, due: float) -> None:
        """Let a message arrive at a time, or later, and after those before or after the next."""
        link = self._link
        due += link.jitter * self.chance.random()
        if self.chance.random() < link.reordered:
            due += 2.0 * (self.troubles.delay + link.jitter) + 0.005
        else:
            due = self._latest = max(due, self._latest)
        self._add(message, due)

    def _add(self, message: bytes | None, due: float) -> None:
        with self._changed:
            super().send(message, due)
            self._changed.notify()

    def read(self, source: socket.socket, there: bool) -> None:
        """Take messages and send them off."""
        source.settimeout(None)
        link, count = self._link, 0
        while not link.ending.is_set() and (message := _message(source)) is not None:
            count += 1
            if link.rate is not None:
                link.ending.wait(len(message) / link.rate)
            if count <= _HANDSHAKE:
                self._add(message, time.monotonic())
                continue
            if link.mutation is not None and there:
                content = link.mutation(self.chance, message[2:])
                message = len(content).to_bytes(2, "little") + content
            self.put(message, time.monotonic())
        self._add(None, time.monotonic())

    def write(self, sink: socket.socket) -> None:
        """Hand on each message when it is due."""
        while True:
            with self._changed:
                while (left := self.due - time.monotonic()) > 0.0:
                    self._changed.wait(min(left, threading.TIMEOUT_MAX))
                message = self.take()
            self._link.wait_open()
            try:
                if message is None:
                    sink.shutdown(socket.SHUT_WR)
                    return
                sink.sendall(message)
            except OSError:
                return
            self._link.passed += 1


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
