"""Drivers: what stands between a laboratory and a robot.

A driver says its joints, its rate and who keeps time, and has `open`, `read`, `write`, `enable`,
`disable` and `close`. Somebody who writes one in Python derives it from `RobotDriver`; it runs in a
process of its own. Those for sockets and shared memory are `LinkDriver`s: a native loop reads and
writes them without Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from linkwright.base.closable import Closable
from linkwright.base.errors import Error
from linkwright.lab.drivers.greeting import Greeting, greeting, refusal
from linkwright.lab.drivers.layout import DriverLayout
from linkwright.simulation.hardware import ACTIVE, INACTIVE
from linkwright.simulation.links import DeviceLink
from linkwright.windows.records import Frame


@dataclass(frozen=True, slots=True)
class DriverPlace:
    """Where a driver is."""

    scheme: str  # one of `linkwright.lab.drivers.links.LINKS`
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


class RobotDriver(Closable):
    """What drives a robot; derive from it for one of your own.

    `joints`, `rate` (Hz), `keeps_time`, `sensors` (names of further ones) and `floating` (whether
    the base floats) are attributes of the class, or set by its `__init__`.
    Where the robot keeps time, `read` blocks until its next tick.

    >>> class Still(RobotDriver):
    ...     joints, rate = ("elbow",), 500.0
    ...
    ...     def read(self):
    ...         return {"q": [0.0], "u": [0.0], "load": [0.0]}
    ...
    ...     def write(self, commands):
    ...         self.last = commands["tau"]
    >>> with Still() as robot:
    ...     robot.write({"tau": [1.5]})
    ...     print(robot.read()["q"], robot.last, robot.keeps_time)
    [0.0] [1.5] lab
    """

    joints: tuple[str, ...] = ()
    sensors: tuple[str, ...] = ()
    rate: float = 0.0
    keeps_time: str = "lab"
    floating: bool = False

    def open(self) -> None:
        """Take hold of the robot."""

    def read(self) -> Mapping[str, Any]:
        """Return `q`, `u` and `load` of the joints, and `fault` where there is one.

        Further: `misc`, a number for each of `sensors`; for a base that floats `base`, position and
        quaternion (w, x, y, z), and `base_rate`, velocity and angular velocity along its own axes.
        """
        raise Error(f"{type(self).__name__} has no `read`", remedy="return q, u and load by name")

    def write(self, commands: Mapping[str, Any]) -> None:
        """Take commands: `tau`, the torques of the joints.

        Args:
            commands: by name.
        """
        raise Error(f"{type(self).__name__} has no `write`", remedy="take the torques `tau`")

    def enable(self) -> None:
        """Let the robot follow commands."""

    def disable(self) -> None:
        """Let the robot follow no commands."""

    def close(self) -> None:
        """Let go of the robot."""

    def __enter__(self) -> Self:
        self.open()
        return self


class LinkDriver(DeviceLink, RobotDriver):
    """A driver whose frames a native loop can exchange by itself.

    Units: `within` in s.
    """

    def __init__(self, place: DriverPlace, layout: DriverLayout, *, within: float = 2.0) -> None:
        self.place, self.layout, self.within = place, layout, within
        self.joints, self.rate, self.sensors = layout.joints, layout.rate, layout.sensors
        self.floating = layout.floating
        self._life, self._beat = INACTIVE, 0
        self._last: Frame | None = None
        self.welcome: Greeting | None = None
        """What the robot said of itself."""

    @property
    def told(self) -> str:
        """What it has said last of what went wrong, where it says anything."""
        return ""

    def read(self, seconds: float = 0.1) -> Mapping[str, Any]:
        """Return what the robot reported last; where it keeps time, wait for its next tick."""
        wait = seconds if self.keeps_time == "robot" else 0.0
        frame = self.source.receive(wait) or (None if wait else self._last)
        if frame is None:
            raise Error(f"nothing has come from the robot at {self.place} for {seconds:g} s")
        self._last = frame
        return frame.values

    def write(self, commands: Mapping[str, Any]) -> None:
        """Send torques, with the life that the robot is to have."""
        self._beat += 1
        whole = {**commands, "life": float(self._life), "beat": float(self._beat)}
        self.target.send(whole, tick=self._beat)

    def enable(self) -> None:
        """Let the robot follow commands."""
        self._life = ACTIVE

    def disable(self) -> None:
        """Let the robot follow no commands, and send that at once."""
        self._life = INACTIVE
        self.write({"tau": np.zeros(len(self.joints))})

    def __str__(self) -> str:
        return f"the driver of {self.place}"

    def greet(self, robot: Greeting) -> None:
        """Take what a robot said of itself, or reject it in words."""
        mine = greeting("knock", self.layout)
        why = robot.reason if robot.word == "refused" else refusal(mine, robot)
        if why:
            raise Error(f"the robot at {self.place} cannot be driven: {why}")
        self.welcome, self.keeps_time = robot, robot.keeps_time

    def renew(self) -> None:
        """Begin again with a robot that was started again, while a loop goes on."""


class RobotEnd(DeviceLink):
    """The robot's end of a link: commands come from its source, and states go to its target."""

    driver: Greeting | None = None
    """The laboratory that drives the robot, where that is known."""

    def __init__(self, place: DriverPlace, layout: DriverLayout, keeps_time: str) -> None:
        self.place, self.layout, self.keeps_time = place, layout, keeps_time

    def attend(self, seconds: float = 0.05) -> None:
        """Sort out for a while which laboratory drives the robot."""
