"""Drivers written in Python, each in a process of its own, beside a laboratory that never waits."""

from __future__ import annotations

import secrets
from pathlib import Path

from linkwright.base.companions import Companion
from linkwright.base.errors import Error, InputError
from linkwright.base.shared_folders import SharedFolder, memory_root
from linkwright.lab.drivers.driver import DriverPlace
from linkwright.lab.drivers.layout import DriverLayout
from linkwright.lab.drivers.memory_link import SharedDriver

_START = 30.0  # s, to import what the driver needs
_END = 2.0  # s, to let go of the robot


class PythonDriver(SharedDriver):
    """A class of a Python file that drives a robot, in a process of its own (`within` in s)."""

    def __init__(self, place: DriverPlace, layout: DriverLayout, *, within: float = _START) -> None:
        super().__init__(place, layout, within=max(within, _START))
        self.file, self.name = Path(place.path), place.name
        self._companion: Companion | None = None

    def open(self) -> None:
        """Start the process, and open its windows."""
        if not self.file.is_file():
            raise InputError("there is no such driver", file=self.file)
        shared = self.place = DriverPlace("shm", f"python-{secrets.token_hex(6)}")
        command = ["-m", "linkwright.lab.drivers.host", str(self.file), self.name]
        self._own = SharedFolder(memory_root(), "linkwright-driver-")
        self._companion = Companion(
            f"the driver {self.name}",
            lambda _: [*command, "--at", str(shared)],
            self._own.path / "said",
            listens=True,
            patience=_END,
        )
        try:
            super().open()
        except Error:
            told = self.told
            self.close()
            if told:
                raise Error(f"the driver {self.name} has not started: {told}") from None
            raise

    def _hopeless(self) -> bool:
        return self._companion is not None and self._companion.ended

    @property
    def told(self) -> str:
        """The last line that the process has printed."""
        return "" if self._companion is None else self._companion.said

    def close(self) -> None:
        """End the process and let go of the robot."""
        companion, self._companion = self._companion, None
        if companion is not None:
            companion.close()
            self._own.close()
        super().close()
