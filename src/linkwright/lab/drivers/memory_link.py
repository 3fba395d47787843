"""Robots behind shared memory: windows in a folder, which a native loop reads and writes."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from linkwright.base.errors import Error, InputError
from linkwright.base.files import own_folder
from linkwright.base.shared_folders import memory_root
from linkwright.lab.drivers.driver import DriverPlace, LinkDriver, RobotEnd
from linkwright.lab.drivers.greeting import greeting, read_greeting
from linkwright.lab.drivers.layout import DriverLayout
from linkwright.lab.drivers.relay import Troubles
from linkwright.windows import Window
from linkwright.windows.mapping import Claim

ROBOT, LAB, STATES, COMMANDS = "robot.json", "lab.json", "states", "commands"
"""Files of shared memory that a robot and a laboratory use."""


def shared_root() -> Path:
    """Return the folder for what processes of this user map, in memory where there is one."""
    return own_folder(memory_root() / f"linkwright-{os.getuid()}", "let its owner remove it")


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
        self.ports = states, commands

    def _hopeless(self) -> bool:
        """Return whether no robot will come any more."""
        return False

    def _greet(self, folder: Path) -> None:
        end = time.monotonic() + self.within
        while not _alive(folder):
            if time.monotonic() >= end or self._hopeless():
                raise Error(
                    f"no robot is at {self.place}",
                    remedy="start it, or `linkwright lab fake-robot SOURCE --listen URL`",
                )
            time.sleep(0.01)
        self.greet(read_greeting((folder / ROBOT).read_bytes()))

    def close(self) -> None:
        """Let go of the robot, and remove what a robot that is gone has left."""
        if self.ports is not None:
            self.ports = None
            self._stack.close()
            swept(self._folder)


class SharedEnd(RobotEnd):
    """The robot's end of shared memory: windows in a folder of the user's."""

    def __init__(
        self,
        place: DriverPlace,
        layout: DriverLayout,
        *,
        keeps_time: str = "lab",
        troubles: Troubles | None = None,
    ) -> None:
        if troubles is not None:
            raise InputError("memory loses and delays nothing", remedy="take udp:// or unix://")
        super().__init__(place, layout, keeps_time)
        folder = self._folder = shared_root() / place.path
        folder.mkdir(mode=0o700, exist_ok=True)
        with ExitStack() as stack:
            states = stack.enter_context(Window.create(folder / STATES, layout.states))
            with suppress(InputError):  # a laboratory has it already
                Window.create(folder / COMMANDS, layout.commands).close()
            commands = Window.open(folder / COMMANDS, layout.commands)
            stack.enter_context(commands)
            self.ports = self.commands, self.states = commands, states
            whole = greeting("welcome", layout, keeps_time=keeps_time).packed()
            made = folder / f".{ROBOT}.{os.getpid()}"
            made.write_bytes(whole)
            made.replace(folder / ROBOT)
            self._stack = stack.pop_all()

    def attend(self, seconds: float = 0.05) -> None:
        """Sleep for a while: laboratories sort themselves out by their claims."""
        time.sleep(seconds)

    def close(self) -> None:
        """Close it, and remove what no laboratory uses."""
        self._stack.close()
        swept(self._folder)


def swept(folder: Path) -> None:
    """Remove a folder of windows that no process has a claim on."""
    claims = []
    try:
        for file in folder.iterdir():
            with suppress(FileNotFoundError):
                claims.append(Claim(file, "a window"))
        for file in folder.iterdir():
            file.unlink(missing_ok=True)
        folder.rmdir()
    except OSError:  # it is gone, or has something of somebody's in it
        pass
    except InputError:  # somebody uses it
        pass
    finally:
        for claim in claims:
            claim.release()


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
