"""Robots behind shared memory: windows in a folder, which a native loop reads and writes."""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress
from pathlib import Path

from linkwright.base.errors import Error, InputError
from linkwright.lab.drivers.driver import LinkDriver
from linkwright.lab.drivers.greeting import greeting, read_greeting
from linkwright.lab.drivers.places import shared_root
from linkwright.lab.drivers.robot_side import COMMANDS, LAB, ROBOT, STATES, swept
from linkwright.windows import Window
from linkwright.windows.mapping import Claim


class SharedDriver(LinkDriver):
    """A robot behind shared memory: mapped files of this user's."""

    def open(self) -> None:
        """Claim the robot, and open its windows."""
        folder = self._folder = shared_root() / self.place.path
        self._greet(folder)
        with ExitStack() as stack:
            self._claim = _claimed(folder, stack, f"the robot at {self.place}")
            commands = Window.create(folder / COMMANDS, self.layout.commands)
            stack.callback(commands.close)
            states = Window.open(folder / STATES, self.layout.states, within=self.within)
            stack.callback(states.close)
            (folder / LAB).write_bytes(greeting("knock", self.layout).packed())
            self._stack = stack.pop_all()
        self._ports = states, commands

    def _hopeless(self) -> bool:
        """Return whether no robot will come any more."""
        return False

    def _greet(self, folder: Path) -> None:
        end = time.monotonic() + self.within
        while not _alive(folder):
            if time.monotonic() >= end or self._hopeless():
                raise Error(
                    f"no robot is at {self.place}",
                    remedy="start it, or `linkwright lab fake-robot SOURCE --at URL`, simulated",
                )
            time.sleep(0.01)
        self.greet(read_greeting((folder / ROBOT).read_bytes()))

    def close(self) -> None:
        """Let go of the robot, and remove what a robot that is gone has left."""
        if self._ports is not None:
            self._ports = None
            self._stack.close()
            swept(self._folder)


def _alive(folder: Path) -> bool:
    """Return whether a robot writes there."""
    if not (folder / ROBOT).exists():
        return False
    try:
        Claim(folder / STATES, "a window").release()
    except InputError:
        return True
    except FileNotFoundError:
        pass
    return False


def _claimed(folder: Path, stack: ExitStack, what: str) -> Claim:
    """Return the claim of the one laboratory that drives a robot."""
    file = folder / LAB
    with suppress(FileExistsError):
        file.touch(exist_ok=False)
    try:
        claim = Claim(file, what)
    except InputError:
        try:
            first = str(read_greeting(file.read_bytes()))
        except (Error, OSError):  # it is just beginning
            first = "another process"
        raise Error(f"{what} cannot be driven: it is driven by {first}") from None
    stack.callback(claim.release)
    return claim
