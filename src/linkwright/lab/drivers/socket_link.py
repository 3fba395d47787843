"""Robots behind sockets: greetings over one, frames over another, which native code exchanges."""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress
from typing import Any

from linkwright.base.errors import Error
from linkwright.lab.drivers.driver import DriverPlace, LinkDriver, RobotEnd
from linkwright.lab.drivers.greeting import LARGEST, Greeting, greeting, read_greeting, refusal
from linkwright.lab.drivers.layout import DriverLayout
from linkwright.lab.drivers.relay import Relay, Troubles
from linkwright.lab.drivers.sockets import (
    data_socket,
    greeting_socket,
    own_address,
    peer_address,
    reach,
    robot_socket,
    unread,
)
from linkwright.windows import Wire

_AGAIN = 0.1  # s, after which a greeting is sent again: datagrams get lost

SILENCE, GRACE = 0.5, 5.0
"""s without a command, and before the first one, after which another laboratory may drive."""


class SocketDriver(LinkDriver):
    """A robot behind a UDP or Unix socket.

    It knocks at the robot's place. Where it is welcome, frames go between two sockets that are
    connected to each other, so that nobody else is heard.
    """

    _token = ""

    def open(self) -> None:
        """Knock, and connect to where the robot exchanges frames."""
        self._token = ""
        link, address = data_socket(self.place)
        try:
            found = self._knock(address)
            link.connect(peer_address(self.place, found.data))
            wire = Wire(link, inward=self.layout.states, outward=self.layout.commands)
        except (Error, OSError) as error:
            link.close()
            if isinstance(error, Error):
                raise
            raise Error(f"{self.place} cannot be reached: {error.strerror}") from error
        self.ports = wire, wire

    def renew(self) -> None:
        """Knock at a robot that was started again; the loop goes on with the same socket."""
        wire = self.source
        assert isinstance(wire, Wire)
        found = self._knock(own_address(wire.own))
        wire.connect(peer_address(self.place, found.data))

    def _knock(self, data: str) -> Greeting:
        mine = greeting("knock", self.layout, self._token, data=data)
        self._token = mine.token
        end = time.monotonic() + self.within
        with greeting_socket(self.place) as link:
            while time.monotonic() < end:
                with suppress(OSError):  # nobody is there yet
                    reach(link, self.place)
                    link.send(mine.packed())
                    link.settimeout(min(_AGAIN, max(0.001, end - time.monotonic())))
                    while time.monotonic() < end:
                        found = read_greeting(link.recv(LARGEST))
                        if found.token == mine.token and found.word in ("welcome", "refused"):
                            self.greet(found)
                            return found
                time.sleep(min(0.02, max(0.0, end - time.monotonic())))
        raise Error(
            f"no robot answers at {self.place}",
            remedy="start it; `linkwright lab fake-robot SOURCE --listen URL` is a simulated one",
        )

    def close(self) -> None:
        """Say goodbye and let go of the robot."""
        if self.ports is not None:
            with suppress(OSError), greeting_socket(self.place) as link:
                reach(link, self.place)
                link.send(greeting("bye", self.layout, self._token).packed())
        super().close()


class SocketEnd(RobotEnd):
    """The robot's end of sockets: it answers knocks, and has one laboratory at a time."""

    def __init__(
        self,
        place: DriverPlace,
        layout: DriverLayout,
        *,
        keeps_time: str = "lab",
        troubles: Troubles | None = None,
    ) -> None:
        with ExitStack() as stack:
            self._door, place = robot_socket(place, stack)
            super().__init__(place, layout, keeps_time)
            data, self._data = data_socket(self.place)
            nobody = stack.enter_context(unread(data))
            self._nobody = nobody.getsockname()
            data.connect(self._nobody)
            self.wire = Wire(data, inward=layout.commands, outward=layout.states)
            self.ports = self.wire, self.wire
            stack.callback(self.wire.close)
            self._relay = None
            if troubles is not None:
                self._relay = stack.enter_context(Relay(self.place, troubles))
            self._stack = stack.pop_all()

    def attend(self, seconds: float = 0.05) -> None:
        """Answer knocks for a while, and let go of a laboratory that has fallen silent."""
        end = time.monotonic() + seconds
        if self._relay is not None and self._relay.failure is not None:
            raise self._relay.failure
        if self.driver is not None:
            received = self.wire.counts.received
            if received != self._received:
                self._received, self._granted = received, time.monotonic() + SILENCE
            elif time.monotonic() > self._granted:
                self._let_go()
        while (left := end - time.monotonic()) > 0:
            self._door.settimeout(left)
            try:
                data, sender = self._door.recvfrom(LARGEST)
            except OSError:
                continue
            if sender is not None:  # a Unix socket without a name cannot be answered
                self._answer(data, sender)

    def _answer(self, data: bytes, sender: Any) -> None:
        token = ""
        try:
            said = read_greeting(data)
            token = said.token
            if said.word == "bye":
                if self.driver is not None and said.token == self.driver.token:
                    self._let_go()
                return
            if said.word != "knock":
                return
            reply = self._judged(said, sender)
        except (Error, OSError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            reply = greeting("refused", self.layout, token, reason=why or "it cannot be reached")
        with suppress(OSError):
            self._door.sendto(reply.packed(), sender)

    def _judged(self, said: Greeting, sender: Any) -> Greeting:
        mine = greeting("welcome", self.layout, said.token, keeps_time=self.keeps_time)
        why = refusal(said, mine)
        if not why and self.driver is not None and self.driver.token != said.token:
            why = f"it is driven by {self.driver}"
        if why:
            return greeting("refused", self.layout, said.token, reason=why)
        host = sender[0] if isinstance(sender, tuple) else ""
        lab, data = peer_address(self.place, said.data, host), self._data
        if self._relay is not None:
            lab, data = self._relay.between(lab, self.wire.own)
        self.wire.connect(lab)
        self.driver, self._granted = said, time.monotonic() + GRACE
        self._received = self.wire.counts.received
        told = {"keeps_time": self.keeps_time, "data": data}
        return greeting("welcome", self.layout, said.token, **told)

    _granted, _received = 0.0, 0

    def _let_go(self) -> None:
        self.driver = None
        self.wire.connect(self._nobody)

    def close(self) -> None:
        """Close it; a second time does nothing."""
        self._stack.close()
