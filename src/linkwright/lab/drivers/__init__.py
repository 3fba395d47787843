"""Drivers of robots: sockets, shared memory, Python; who keeps time, and who may drive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwright.lazy import lazy_names

if TYPE_CHECKING:
    from linkwright.lab.drivers.driver import LinkDriver, RobotDriver
    from linkwright.lab.drivers.layout import DriverLayout
    from linkwright.lab.drivers.places import DriverPlace, driver_place
    from linkwright.lab.drivers.relay import Troubles
    from linkwright.lab.drivers.robot_side import robot_end
    from linkwright.lab.drivers.schemes import driver_at

__all__ = [
    "DriverLayout",
    "DriverPlace",
    "LinkDriver",
    "RobotDriver",
    "Troubles",
    "driver_at",
    "driver_place",
    "robot_end",
]

_HOMES: dict[str, tuple[str, ...]] = {
    ".driver": ("RobotDriver", "LinkDriver"),
    ".layout": ("DriverLayout",),
    ".places": ("DriverPlace", "driver_place"),
    ".relay": ("Troubles",),
    ".robot_side": ("robot_end",),
    ".schemes": ("driver_at",),
}

if not TYPE_CHECKING:  # hidden from type checkers, so that they report an unknown name
    __getattr__ = lazy_names(__name__, _HOMES)
