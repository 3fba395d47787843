"""The process of a driver that is written in Python: ``... FILE CLASS --at shm://name``.

It calls the driver at each command of the laboratory, or, where the robot keeps time, at each tick
of the robot. What the driver raises is printed, and is a fault of the robot. Without commands for
five periods the robot is disabled. It ends with its standard input.
"""

from __future__ import annotations

import argparse
import importlib.util
import select
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linkwright.base.errors import Error, InputError
from linkwright.lab.drivers.driver import RobotDriver
from linkwright.lab.drivers.layout import KEEPERS, DriverLayout
from linkwright.lab.drivers.links import driver_place
from linkwright.lab.drivers.memory_link import SharedEnd
from linkwright.simulation.hardware import ACTIVE, FAILED

PATIENCE = 5
"""Periods without a command after which a robot is left to itself."""


def loaded(file: Path, name: str) -> RobotDriver:
    """Return a driver of a Python file."""
    spec = importlib.util.spec_from_file_location(f"lab_driver_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise InputError("this is not a Python file", file=file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = getattr(module, name, None)
    if not isinstance(made, type) or not issubclass(made, RobotDriver):
        raise InputError(
            f"it has no driver {name!r}", file=file, remedy="derive it from RobotDriver"
        )
    driver = made()
    if not driver.joints or not driver.rate > 0 or driver.keeps_time not in KEEPERS:
        raise InputError(
            f"{name} lacks joints, a rate or who keeps time",
            file=file,
            remedy="set joints, rate, keeps_time",
        )
    return driver


class DriverHost:
    """Calls a driver, and exchanges with a laboratory through windows."""

    def __init__(self, driver: RobotDriver, end: SharedEnd) -> None:
        self.driver, self.end = driver, end
        self.active = False
        n, more = len(driver.joints), len(driver.sensors)
        self._told: dict[str, Any] = {name: np.zeros(n) for name in ("q", "u", "load")}
        if more:
            self._told["misc"] = np.zeros(more)
        if driver.floating:
            self._told |= {"base": np.array([0, 0, 0, 1.0, 0, 0, 0]), "base_rate": np.zeros(6)}
        self._needs = tuple(self._told)
        self._tick, self._fault = 0, 0.0
        self._seen, self._heard = -1, time.monotonic()

    def turn(self) -> None:
        """Take what the laboratory commands, where it is new, and say what the robot does."""
        leads = self.driver.keeps_time == "robot"
        if not leads:
            self.end.commands.wait(PATIENCE / self.driver.rate)
        try:
            if leads:
                self._told |= self._known(self.driver.read())
            self._command()
            if not leads:
                self._told |= self._known(self.driver.read())
            self._fault = float(self._told.pop("fault", 0.0))
        except Exception:  # of the user's own code
            if self._fault != FAILED:
                traceback.print_exc()
                sys.stderr.flush()
            self._fault = float(FAILED)
            time.sleep(1 / self.driver.rate)
        self._tick += 1
        whole = {**self._told, "fault": self._fault, "beat": float(self._tick)}
        self.end.states.send(whole, tick=self._tick)

    def _known(self, told: Mapping[str, Any]) -> dict[str, Any]:
        found = {name: np.asarray(value, float) for name, value in told.items()}
        for name, value in found.items():
            if name != "fault" and (
                name not in self._told or value.shape != self._told[name].shape
            ):
                raise Error(f"the driver read {name!r} with the shape {value.shape}")
        missing = [name for name in self._needs if name not in found]
        if missing:
            raise Error(f"the driver did not read {', '.join(map(repr, missing))}")
        return found

    def _command(self) -> None:
        frame = self.end.commands.read()
        now = time.monotonic()
        if frame.sequence != self._seen and frame.sequence:
            self._seen, self._heard = frame.sequence, now
            wanted = frame.values["life"] == ACTIVE
            if wanted != self.active:
                (self.driver.enable if wanted else self.driver.disable)()
                self.active = wanted
            self.driver.write({"tau": frame.values["tau"]})
        elif self.active and now - self._heard > PATIENCE / self.driver.rate:
            self.driver.disable()
            self.active = False


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a driver until standard input ends."""
    parser = argparse.ArgumentParser(prog="python -m linkwright.lab.drivers.host")
    parser.add_argument("file", type=Path)
    parser.add_argument("name")
    parser.add_argument("--at", required=True)
    chosen = parser.parse_args(arguments)
    try:
        driver = loaded(chosen.file, chosen.name)
        layout = DriverLayout(
            tuple(driver.joints), driver.rate, tuple(driver.sensors), bool(driver.floating)
        )
        with (
            driver,
            SharedEnd(driver_place(chosen.at), layout, keeps_time=driver.keeps_time) as end,
        ):
            host = DriverHost(driver, end)
            while not select.select([sys.stdin], [], [], 0)[0]:
                host.turn()
            if host.active:
                driver.disable()
    except Error as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
