"""The driver of a URL."""

from __future__ import annotations

from linkwright.lab.drivers.driver import LinkDriver
from linkwright.lab.drivers.layout import DriverLayout
from linkwright.lab.drivers.places import driver_place
from linkwright.lab.drivers.python_driver import PythonDriver
from linkwright.lab.drivers.shared_driver import SharedDriver
from linkwright.lab.drivers.socket_driver import SocketDriver

DRIVERS: dict[str, type[LinkDriver]] = {
    "udp": SocketDriver,
    "unix": SocketDriver,
    "shm": SharedDriver,
    "python": PythonDriver,
}
"""Drivers by the scheme of their URL."""


def driver_at(url: str, layout: DriverLayout, *, within: float = 2.0) -> LinkDriver:
    """Return the driver of a robot; `open` takes hold of it.

    Units: `within` in s.

    >>> driver_at("shm://arm", DriverLayout(("elbow",), 960.0)).keeps_time
    'lab'
    """
    place = driver_place(url)
    return DRIVERS[place.scheme](place, layout, within=within)
