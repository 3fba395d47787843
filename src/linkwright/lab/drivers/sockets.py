"""Datagram sockets of a place: where greetings come to, and where frames go."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from linkwright.base.errors import Error, InputError
from linkwright.base.reprs import brief
from linkwright.lab.drivers.driver import DriverPlace


def udp_address(place: DriverPlace) -> tuple[socket.AddressFamily, tuple[str, int]]:
    """Return family and address of a UDP place."""
    try:
        found = socket.getaddrinfo(place.path, place.port, type=socket.SOCK_DGRAM)
    except OSError as error:
        raise InputError(
            f"the host of {place} is not known: {error.strerror}", remedy="write its number"
        ) from None
    family, _, _, _, address = found[0]
    return family, (str(address[0]), int(address[1]))


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
    """Return how an address is described in a greeting."""
    if isinstance(address, tuple):
        return str(address[1])
    return (address if isinstance(address, bytes) else address.encode()).hex()


def peer_address(place: DriverPlace, data: str, host: str = "") -> Any:
    """Return the address that a greeting reports."""
    try:
        if place.scheme == "udp":
            port = int(data)
            if not 0 < port < 1 << 16:
                raise ValueError(port)
            return host or udp_address(place)[1][0], port
        return bytes.fromhex(data)
    except ValueError:
        raise Error(f"{place} gave a wrong address: {brief(data)}") from None


def robot_socket(place: DriverPlace, stack: ExitStack) -> tuple[socket.socket, DriverPlace]:
    """Return the socket that greetings come to, and its place."""
    unix = place.scheme == "unix"
    family = socket.AF_UNIX if unix else udp_address(place)[0]
    door = stack.enter_context(socket.socket(family, socket.SOCK_DGRAM))
    try:
        if unix:
            _claim_path(door, place.path)
            stack.callback(Path(place.path).unlink, missing_ok=True)
            return door, place
        door.bind(udp_address(place)[1])
    except OSError as error:
        raise InputError(
            f"a robot cannot listen at {place}: {error.strerror}",
            remedy="choose another place; port 0 picks one",
        ) from None
    return door, replace(place, port=door.getsockname()[1])


def _claim_path(door: socket.socket, path: str) -> None:
    """Bind a Unix socket; a file that a robot left that is gone is replaced."""
    try:
        door.bind(path)
    except OSError:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect(path)
            except ConnectionRefusedError:
                Path(path).unlink()
            else:
                raise
        door.bind(path)


def unread(data: socket.socket) -> socket.socket:
    """Return a socket beside another that nobody reads: where frames go before there is a lab."""
    other = socket.socket(data.family, socket.SOCK_DGRAM)
    own = data.getsockname()
    other.bind((own[0], 0) if isinstance(own, tuple) else "")
    return other
