"""A laboratory that only keeps what it was told, for tests of what commands it."""

from __future__ import annotations

import threading
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, ClassVar

from linkwright.formats.robot.description import Description, Link
from linkwright.lab.config import JointConfig, LabConfig
from linkwright.lab.console.commanded import Commanded
from linkwright.lab.tasks import Task, parameter, setting


class Wave(Task):
    """Something with a parameter and a setting."""

    frequency = parameter(1.0, unit="Hz", lower=0, upper=5)
    file = setting("default.sine")


class Hold(Task):
    """Nothing."""


class StandIn(Commanded):
    """A laboratory that only keeps what it was told."""

    def __init__(self) -> None:
        joints = tuple(JointConfig(name, -1.0, 2.0) for name in ("R_SFE", "R_EB"))
        self.config = LabConfig("arm", Description("arm", (Link("base"),), ()), joints)
        self.told: list[tuple[str, Any]] = []
        self.tasks = {"wave": Wave(), "hold": Hold()}
        self.task: str | None = None
        self.last: str | None = None
        self.parameters: dict[str, Any] = {}
        self.tick, self.time = 0, 0.0
        self.released = threading.Event()
        self.state = self.desired = SimpleNamespace(q=[0.0, 0.5])
        self.gravity = (0.0, 0.0, -9.81)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self.told.append((name, (*args, kwargs)))

    rates: ClassVar = {"motor": 960, "task": 480, "eyes": 60}

    def start(self, name: str, servo: str, **parameters: Any) -> bool:
        """Keep what was started."""
        self.task = self.last = name
        self.parameters = parameters
        self.told.append(("start", (name, parameters)))
        self.servo = servo
        return True

    period = Fraction(1, 960)

    def go_on(self, ticks: int) -> None:
        """Run; a long run waits before its second part, until it is released."""
        self.told.append(("go_on", ticks))
        if self.tick >= 5 * 960:
            self.released.wait(20)
        self.tick += ticks

    def freeze(self) -> None:
        """End the run."""
        self.told.append(("freeze", ()))
        self.released.set()
