"""Robots behind sockets: greetings over one, frames over another, which native code exchanges."""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from typing import Any

from linkwright.base.errors import Error
from linkwright.base.reprs import brief
from linkwright.lab.drivers.driver import LinkDriver
from linkwright.lab.drivers.greeting import LARGEST, Greeting, greeting, read_greeting
from linkwright.lab.drivers.places import DriverPlace, udp_address
from linkwright.windows import Wire

_AGAIN = 0.1  # s, after which a greeting is sent again: datagrams get lost


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
        self._ports = wire, wire

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
                    while True:
                        found = read_greeting(link.recv(LARGEST))
                        if found.token == mine.token and found.word in ("welcome", "refused"):
                            self.greet(found)
                            return found
                time.sleep(min(0.02, max(0.0, end - time.monotonic())))
        raise Error(
            f"no robot answers at {self.place}",
            remedy="start it; `linkwright lab fake-robot SOURCE --at URL` is a simulated one",
        )

    def close(self) -> None:
        """Say goodbye and let go of the robot."""
        if self._ports is not None:
            with suppress(OSError), greeting_socket(self.place) as link:
                reach(link, self.place)
                link.send(greeting("bye", self.layout, self._token).packed())
        super().close()


def greeting_socket(place: DriverPlace) -> socket.socket:
    """Return a socket of one's own, for greetings."""
    if place.scheme == "udp":
        return socket.socket(udp_address(place)[0], socket.SOCK_DGRAM)
    link = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    link.bind("")  # a name of its own in Linux's abstract space, unix(7)
    return link


def reach(link: socket.socket, place: DriverPlace) -> None:
    """Connect a socket to where a robot listens."""
    link.connect(udp_address(place)[1] if place.scheme == "udp" else place.path)


def data_socket(place: DriverPlace) -> tuple[socket.socket, str]:
    """Return a socket for frames, on this machine's side of the way there, and its address."""
    if place.scheme == "udp":
        family, address = udp_address(place)
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address[0], address[1] or 9))
            host = probe.getsockname()[0]
        link = socket.socket(family, socket.SOCK_DGRAM)
        link.bind((host, 0))
    else:
        link = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        link.bind("")
    return link, own_address(link.getsockname())


def own_address(address: Any) -> str:
    """Return how an address is told in a greeting."""
    if isinstance(address, tuple):
        return str(address[1])
    return (address if isinstance(address, bytes) else address.encode()).hex()


def peer_address(place: DriverPlace, data: str, host: str = "") -> Any:
    """Return the address that a greeting tells."""
    try:
        if place.scheme == "udp":
            port = int(data)
            if not 0 < port < 1 << 16:
                raise ValueError(port)
            return host or udp_address(place)[1][0], port
        return bytes.fromhex(data)
    except ValueError:
        raise Error(f"{place} told an address that is none: {brief(data)}") from None
