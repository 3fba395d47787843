"""Where drivers are: `udp://host:port`, `unix:///path`, `shm://name`, `python:file.py:Class`."""

from __future__ import annotations

import os
import re
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path

from linkwright.base.errors import InputError, nearest
from linkwright.base.files import own_folder

SCHEMES = ("udp", "unix", "shm", "python")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True)
class DriverPlace:
    """Where a driver is."""

    scheme: str  # one of `SCHEMES`
    path: str  # of a Unix socket, the name of shared memory, a Python file, or the host of UDP
    port: int = 0  # of UDP; 0 where it is to be picked
    name: str = ""  # of a class in a Python file

    def __str__(self) -> str:
        if self.scheme == "udp":
            host = f"[{self.path}]" if ":" in self.path else self.path
            return f"udp://{host}:{self.port}"
        if self.scheme == "python":
            return f"python:{self.path}:{self.name}"
        return f"{self.scheme}://{self.path}"


def driver_place(url: str) -> DriverPlace:
    """Return what a URL of a driver says.

    >>> driver_place("udp://127.0.0.1:9300").port, driver_place("unix:///run/arm").path
    (9300, '/run/arm')
    """
    scheme, mark, rest = url.partition(":")
    if scheme == "python" and mark:
        path, _, name = rest.rpartition(":")
        if path and name.isidentifier():
            return DriverPlace("python", path, name=name)
        raise InputError(
            f"{url!r} names no class of a Python file", remedy="write python:arm.py:Arm"
        )
    rest = rest.removeprefix("//") if rest.startswith("//") else ""
    if scheme == "udp" and mark:
        found = re.fullmatch(r"(?:\[([^\]]+)\]|([^:\[\]/]+)):([0-9]{1,5})", rest)
        if found is None or int(found[3]) > 65535:
            raise InputError(f"{url!r} is no host and port", remedy="write udp://127.0.0.1:9300")
        return DriverPlace("udp", found[1] or found[2], int(found[3]))
    if scheme == "unix" and mark:
        if not rest.startswith("/") or len(os.fsencode(rest)) > 100:
            raise InputError(
                f"{url!r} is no path of a socket", remedy="write unix:///tmp/arm, 100 bytes at most"
            )
        return DriverPlace("unix", rest)
    if scheme == "shm" and mark:
        if not _WORD.fullmatch(rest):
            raise InputError(f"{url!r} names no shared memory", remedy="write shm://arm")
        return DriverPlace("shm", rest)
    near = nearest(scheme, SCHEMES)
    raise InputError(
        f"there is no driver {url!r}",
        remedy=(f"did you mean {near}:? " if near else "")
        + "Write udp://host:port, unix:///path, shm://name or python:file.py:Class",
    )


def shared_root() -> Path:
    """Return the folder for what processes of this user map, in memory where there is one."""
    memory = Path("/dev/shm")
    usable = memory.is_dir() and os.access(memory, os.W_OK)
    root = (memory if usable else Path(tempfile.gettempdir())) / f"linkwright-{os.getuid()}"
    return own_folder(root, "let its owner remove it")


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
