"""Links between laboratories and robots: one line each, by the scheme of their URLs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass

from linkwright.base.errors import InputError, nearest
from linkwright.lab.drivers.driver import DriverPlace, LinkDriver, RobotEnd
from linkwright.lab.drivers.layout import DriverLayout
from linkwright.lab.drivers.memory_link import SharedDriver, SharedEnd
from linkwright.lab.drivers.python_link import PythonDriver
from linkwright.lab.drivers.relay import Troubles
from linkwright.lab.drivers.socket_link import SocketDriver, SocketEnd


@dataclass(frozen=True, slots=True)
class LinkKind:
    """A link: how its URLs are written, and what is at its two sides."""

    form: str  # what follows the scheme and its colon: groups `path`, and perhaps `port`, `name`
    written: str  # the same for people
    wrong: str  # what a URL is that has another form
    example: str
    near: type[LinkDriver]
    far: Callable[..., RobotEnd] | None = None  # None where the laboratory starts it itself
    longest: int = 4096  # bytes of the path


LINKS: dict[str, LinkKind] = {
    "udp": LinkKind(
        r"//(?P<six>\[)?(?P<path>(?(six)[^\]]+|[^:\[\]/]+))(?(six)\]):(?P<port>[0-9]{1,5})",
        "udp://host:port",
        "is not a host and port",
        "udp://127.0.0.1:9300",
        SocketDriver,
        SocketEnd,
    ),
    "unix": LinkKind(
        r"//(?P<path>/.*)",
        "unix:///path",
        "is not a path of a socket",
        "unix:///tmp/arm, 100 bytes at most",
        SocketDriver,
        SocketEnd,
        longest=100,
    ),
    "shm": LinkKind(
        r"//(?P<path>[A-Za-z0-9][A-Za-z0-9_.-]*)",
        "shm://name",
        "names no shared memory",
        "shm://arm",
        SharedDriver,
        SharedEnd,
    ),
    "python": LinkKind(
        r"(?P<path>.+):(?P<name>[^\W\d]\w*)",
        "python:file.py:Class",
        "names no class of a Python file",
        "python:arm.py:Arm",
        PythonDriver,
    ),
}
"""Links by the scheme of their URLs."""


def driver_place(url: str) -> DriverPlace:
    """Return what a URL of a driver says.

    >>> driver_place("udp://127.0.0.1:9300").port, driver_place("unix:///run/arm").path
    (9300, '/run/arm')
    """
    scheme, mark, rest = url.partition(":")
    if not mark or scheme not in LINKS:
        near, *written = nearest(scheme, LINKS), *(kind.written for kind in LINKS.values())
        raise InputError(
            f"there is no driver {url!r}",
            remedy=(f"did you mean {near}:? " if near else "")
            + f"write {', '.join(written[:-1])} or {written[-1]}",
        )
    kind = LINKS[scheme]
    found = re.fullmatch(kind.form, rest, re.DOTALL)
    said = {"path": "", "port": "0", "name": ""} | (found.groupdict() if found else {})
    if not found or int(said["port"]) > 65535 or len(os.fsencode(said["path"])) > kind.longest:
        raise InputError(f"{url!r} {kind.wrong}", remedy=f"write {kind.example}")
    return DriverPlace(scheme, said["path"], int(said["port"]), said["name"])


def driver_at(url: str, layout: DriverLayout, *, within: float = 2.0) -> LinkDriver:
    """Return the driver of a robot; `open` takes hold of it.

    Units: `within` in s.

    >>> driver_at("shm://arm", DriverLayout(("elbow",), 960.0)).keeps_time
    'lab'
    """
    place = driver_place(url)
    return LINKS[place.scheme].near(place, layout, within=within)


def robot_end(
    place: DriverPlace,
    layout: DriverLayout,
    *,
    keeps_time: str = "lab",
    troubles: Troubles | None = None,
) -> RobotEnd:
    """Return the robot's end of a driver."""
    far = LINKS[place.scheme].far
    if far is None:
        raise InputError(f"a robot cannot be at {place}", remedy="take udp://, unix:// or shm://")
    return far(place, layout, keeps_time=keeps_time, troubles=troubles)
