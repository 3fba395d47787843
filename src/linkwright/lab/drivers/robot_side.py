"""The robot's end of a driver: who drives it, where frames come from, and where they go."""

from __future__ import annotations

import os
import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from linkwright.base.closable import Closable
from linkwright.base.errors import Error, InputError
from linkwright.lab.drivers.driver import Port
from linkwright.lab.drivers.greeting import LARGEST, Greeting, greeting, read_greeting, refusal
from linkwright.lab.drivers.layout import DriverLayout
from linkwright.lab.drivers.places import DriverPlace, shared_root, udp_address
from linkwright.lab.drivers.relay import Relay, Troubles
from linkwright.lab.drivers.socket_driver import data_socket, peer_address
from linkwright.windows import Window, Wire

ROBOT, LAB, STATES, COMMANDS = "robot.json", "lab.json", "states", "commands"
"""Files of shared memory that a robot and a laboratory use."""

SILENCE, GRACE = 0.5, 5.0
"""s without a command, and before the first one, after which another laboratory may drive."""


class SocketEnd(Closable):
    """The robot's end of sockets: it answers knocks, and has one laboratory at a time."""

    def __init__(
        self,
        place: DriverPlace,
        layout: DriverLayout,
        *,
        keeps_time: str = "lab",
        troubles: Troubles | None = None,
    ) -> None:
        self.layout, self.keeps_time = layout, keeps_time
        self.driver: Greeting | None = None
        """The laboratory that drives the robot."""
        self._stack = ExitStack()
        with ExitStack() as stack:
            self._door, self.place = _door(place, stack)
            data, self._data = data_socket(self.place)
            nobody = stack.enter_context(_unread(data))
            self._nobody = nobody.getsockname()
            data.connect(self._nobody)
            self.wire = Wire(data, inward=layout.commands, outward=layout.states)
            stack.callback(self.wire.close)
            self._relay = None
            if troubles is not None:
                self._relay = stack.enter_context(Relay(self.place, troubles))
            self._stack = stack.pop_all()

    @property
    def source(self) -> Port:
        """Where commands come from."""
        return self.wire

    @property
    def target(self) -> Port:
        """Where states go to."""
        return self.wire

    def attend(self, seconds: float = 0.05) -> None:
        """Answer knocks for a while, and let go of a laboratory that has fallen silent."""
        end = time.monotonic() + seconds
        if self._relay is not None and self._relay.failure is not None:
            raise self._relay.failure
        if self.driver is not None:
            received = self.wire.counts.received
            if received != self._received:
                self._received, self._granted = received, time.monotonic() + SILENCE
            elif time.monotonic() > self._granted:
                self._let_go()
        while (left := end - time.monotonic()) > 0:
            self._door.settimeout(left)
            try:
                data, sender = self._door.recvfrom(LARGEST)
            except OSError:
                continue
            if sender is not None:  # a Unix socket without a name cannot be answered
                self._answer(data, sender)

    def _answer(self, data: bytes, sender: Any) -> None:
        token = ""
        try:
            said = read_greeting(data)
            token = said.token
            if said.word == "bye":
                if self.driver is not None and said.token == self.driver.token:
                    self._let_go()
                return
            if said.word != "knock":
                return
            reply = self._judged(said, sender)
        except (Error, OSError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            reply = greeting("refused", self.layout, token, reason=why or "it cannot be reached")
        with suppress(OSError):
            self._door.sendto(reply.packed(), sender)

    def _judged(self, said: Greeting, sender: Any) -> Greeting:
        mine = greeting("welcome", self.layout, said.token, keeps_time=self.keeps_time)
        why = refusal(said, mine)
        if not why and self.driver is not None and self.driver.token != said.token:
            why = f"it is driven by {self.driver}"
        if why:
            return greeting("refused", self.layout, said.token, reason=why)
        host = sender[0] if isinstance(sender, tuple) else ""
        lab, data = peer_address(self.place, said.data, host), self._data
        if self._relay is not None:
            lab, data = self._relay.between(lab, self.wire.own)
        self.wire.connect(lab)
        self.driver, self._granted = said, time.monotonic() + GRACE
        self._received = self.wire.counts.received
        told = {"keeps_time": self.keeps_time, "data": data}
        return greeting("welcome", self.layout, said.token, **told)

    _granted, _received = 0.0, 0

    def _let_go(self) -> None:
        self.driver = None
        self.wire.connect(self._nobody)

    def close(self) -> None:
        """Close it; a second time does nothing."""
        self._stack.close()


class SharedEnd(Closable):
    """The robot's end of shared memory: windows in a folder of the user's."""

    driver: Greeting | None = None

    def __init__(
        self, place: DriverPlace, layout: DriverLayout, *, keeps_time: str = "lab"
    ) -> None:
        self.place, self.layout, self.keeps_time = place, layout, keeps_time
        folder = self._folder = shared_root() / place.path
        folder.mkdir(mode=0o700, exist_ok=True)
        with ExitStack() as stack:
            self.states = stack.enter_context(Window.create(folder / STATES, layout.states))
            with suppress(InputError):  # a laboratory has it already
                Window.create(folder / COMMANDS, layout.commands).close()
            commands = Window.open(folder / COMMANDS, layout.commands)
            self.commands = stack.enter_context(commands)
            whole = greeting("welcome", layout, keeps_time=keeps_time).packed()
            made = folder / f".{ROBOT}.{os.getpid()}"
            made.write_bytes(whole)
            made.replace(folder / ROBOT)
            self._stack = stack.pop_all()

    @property
    def source(self) -> Port:
        """Where commands come from."""
        return self.commands

    @property
    def target(self) -> Port:
        """Where states go to."""
        return self.states

    def attend(self, seconds: float = 0.05) -> None:
        """Sleep for a while: laboratories sort themselves out by their claims."""
        time.sleep(seconds)

    def close(self) -> None:
        """Close it, and remove what no laboratory uses."""
        self._stack.close()
        swept(self._folder)


def robot_end(
    place: DriverPlace,
    layout: DriverLayout,
    *,
    keeps_time: str = "lab",
    troubles: Troubles | None = None,
) -> SocketEnd | SharedEnd:
    """Return the robot's end of a driver."""
    if place.scheme in ("udp", "unix"):
        return SocketEnd(place, layout, keeps_time=keeps_time, troubles=troubles)
    if place.scheme == "shm":
        if troubles is not None:
            raise InputError("memory loses and delays nothing", remedy="take udp:// or unix://")
        return SharedEnd(place, layout, keeps_time=keeps_time)
    raise InputError(f"a robot cannot be at {place}", remedy="take udp://, unix:// or shm://")


def swept(folder: Path) -> None:
    """Remove a folder of windows that no process has a claim on."""
    from linkwright.windows.mapping import Claim

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


def _door(place: DriverPlace, stack: ExitStack) -> tuple[socket.socket, DriverPlace]:
    """Return the socket that greetings come to, and its place."""
    unix = place.scheme == "unix"
    family = socket.AF_UNIX if unix else udp_address(place)[0]
    door = stack.enter_context(socket.socket(family, socket.SOCK_DGRAM))
    try:
        if unix:
            _claim_path(door, place.path)
            stack.callback(Path(place.path).unlink, missing_ok=True)
            return door, place
        door.bind(udp_address(place)[1])
    except OSError as error:
        raise InputError(
            f"a robot cannot listen at {place}: {error.strerror}",
            remedy="choose another place; port 0 picks one",
        ) from None
    return door, DriverPlace("udp", place.path, door.getsockname()[1])


def _claim_path(door: socket.socket, path: str) -> None:
    """Bind a Unix socket; a file that a robot left that is gone is replaced."""
    try:
        door.bind(path)
    except OSError:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect(path)
            except ConnectionRefusedError:
                Path(path).unlink()
            else:
                raise
        door.bind(path)


def _unread(data: socket.socket) -> socket.socket:
    """Return a socket beside another that nobody reads: where frames go before there is a lab."""
    other = socket.socket(data.family, socket.SOCK_DGRAM)
    own = data.getsockname()
    other.bind((own[0], 0) if isinstance(own, tuple) else "")
    return other
