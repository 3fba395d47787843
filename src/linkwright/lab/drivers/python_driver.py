"""Drivers written in Python, each in a process of its own, beside a laboratory that never waits."""

from __future__ import annotations

import secrets
import subprocess
import sys
import tempfile
from pathlib import Path

from linkwright.base.errors import Error, InputError
from linkwright.lab.drivers.layout import DriverLayout
from linkwright.lab.drivers.places import DriverPlace
from linkwright.lab.drivers.shared_driver import SharedDriver

_START = 30.0  # s, to import what the driver needs
_END = 2.0  # s, to let go of the robot


class PythonDriver(SharedDriver):
    """A class of a Python file that drives a robot, in a process of its own.

    Units: `within` in s.
    """

    def __init__(self, place: DriverPlace, layout: DriverLayout, *, within: float = _START) -> None:
        super().__init__(place, layout, within=max(within, _START))
        self.file, self.name = Path(place.path), place.name
        self.process: subprocess.Popen[bytes] | None = None

    def open(self) -> None:
        """Start the process, and open its windows."""
        if not self.file.is_file():
            raise InputError("there is no such driver", file=self.file)
        shared = DriverPlace("shm", f"python-{secrets.token_hex(6)}")
        self._told = tempfile.TemporaryFile()  # noqa: SIM115 - it stays open as long as the process
        command = [sys.executable, "-m", "linkwright.lab.drivers.host"]
        command += [str(self.file), self.name, "--at", str(shared)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=self._told, stderr=self._told
        )
        self.place = shared
        try:
            super().open()
        except Error:
            told = self.told
            self.close()
            if told:
                raise Error(f"the driver {self.name} has not started: {told}") from None
            raise

    def _hopeless(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    @property
    def told(self) -> str:
        """The last line that the process has printed."""
        self._told.seek(0)
        lines = self._told.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else ""

    def close(self) -> None:
        """End the process and let go of the robot."""
        process, self.process = self.process, None
        if process is not None:
            assert process.stdin is not None
            process.stdin.close()  # which tells it to end
            try:
                process.wait(_END)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        super().close()
        if process is not None:
            self._told.close()
