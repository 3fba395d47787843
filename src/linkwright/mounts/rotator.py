"""A mount as a rotator: a System that runs by the clock, and Hamlib's rotctld protocol before it.

The System is driven by native code in a thread of its own; whoever speaks to the port can neither
delay nor stop it. All clients are answered in one thread, so that commands have an order: the last
one wins.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from linkwright.base.checks import checked, checked_angle
from linkwright.base.closable import Closable
from linkwright.base.errors import Error, InputError
from linkwright.mounts.pointing import direction
from linkwright.mounts.pointing_drive import GO, HOLD, SWEEP, PointingDrive
from linkwright.mounts.rotctl_language import (
    BAD,
    DOWN,
    LEFT,
    LONGEST,
    REFUSED,
    RIGHT,
    TOO_LONG,
    UP,
    RotatorAnswer,
    RotatorLimits,
    answer,
)
from linkwright.simulation.native.session import Samples
from linkwright.simulation.pacing import Counters, PacedLoop
from linkwright.simulation.runs import session_of
from linkwright.simulation.settings import FOREVER, RunSettings
from linkwright.system import System

PORT = 4533
"""Where rotctld listens."""

RATE = 100
"""Hz, of a rotator's control."""

CLIENTS = 256
"""That may be connected at once."""

_LOOK = 0.1  # s, from one look for new messages to the next
_SLOW = 30.0  # s, that an answer may wait for a client to read
_CHUNK = 4096


def _plain(azimuth: float, elevation: float) -> tuple[float, float, float]:
    """Return a direction as plain numbers."""
    x, y, z = direction(math.degrees(azimuth), math.degrees(elevation)).tolist()
    return x, y, z


def _words(azimuth: float, elevation: float) -> str:
    return f"azimuth {math.degrees(azimuth):.6g}°, elevation {math.degrees(elevation):.6g}°"


class _Nowhere:
    """Where samples and tape of a rotator go."""

    def take(self, changes: NDArray[np.int64], samples: Samples) -> None:
        """Let them go."""


class Rotator(Closable):
    """A beam that is turned by commands, in real time.

    Args:
        name: of the mount.
        speed: the greatest, rad/s.
        acceleration: rad/s^2.
        limits: what directions it takes.
        reaches: whether a unit vector is in reach of the mount; all are by default.
        park: azimuth and elevation where it parks and begins, rad.
        watchdog: s without a message after which a move in a direction (`M`) ends; 0 for never.
        parks: whether it parks then, whatever it was doing.
        clock: "wall", or "virtual" where `advance` lets time pass.
        patience: s, how late a tick may be before it counts as missed.

    >>> with Rotator(speed=0.4, acceleration=0.8, clock="virtual") as rotator:
    ...     rotator.go(1.5, 0.5)
    ...     rotator.advance(10)
    ...     azimuth, elevation = rotator.position()
    >>> round(azimuth, 6), round(elevation, 6), rotator.counters.missed
    (1.5, 0.5, 0)
    """

    def __init__(
        self,
        name: str = "pointing",
        *,
        speed: float = math.radians(5.0),
        acceleration: float = math.radians(5.0),
        limits: RotatorLimits | None = None,
        reaches: Callable[[tuple[float, float, float]], bool] = lambda d: True,
        park: tuple[float, float] = (0.0, math.pi / 2),
        watchdog: float = 10.0,
        parks: bool = False,
        clock: str = "wall",
        patience: float | None = None,
    ) -> None:
        self._name, self._limits, self._park = name, limits or RotatorLimits(), park
        self._reaches = reaches
        for what, value in (("speed", speed), ("acceleration", acceleration)):
            checked(value, f"{what} of a rotator in rad", above=0)
        if not (self._limits.hold(*park) and reaches(_plain(*park))):
            raise InputError(f"it cannot park at {_words(*park)}", remedy="park within its limits")
        self._speed, self._percent = speed, 100.0
        self._toward = park[0]  # the azimuth that was asked for last
        self._heard = 0
        self._home = start = _plain(*park)
        system = System(name="rotator", base=RATE)
        system.add(
            PointingDrive(
                speed=speed,
                acceleration=acceleration,
                lowest=self._limits.min_el,
                highest=self._limits.max_el,
                start=start,
                heading=park[0],
                park=start,
                watchdog=watchdog,
                parks=parks,
            ),
            rate=RATE,
        )
        session, _ = session_of(system, RunSettings(FOREVER, every=RATE))
        names = [signal.name for signal in session.phases.outputs]
        self._places = [names.index(f"drive.d[{i}]") for i in range(3)]
        self._virtual = clock == "virtual"
        self.loop = PacedLoop(session, clock=clock, patience=patience, sink=_Nowhere())

    # -- what it is told ---------------------------------------------------------------------------
    def go(self, azimuth: float, elevation: float) -> None:
        """Go to a direction, along the great circle.

        Args:
            azimuth: rad, clockwise from North.
            elevation: rad.
        """
        checked_angle(elevation, "the elevation", least=-math.pi, most=math.pi)
        checked_angle(azimuth, "the azimuth")
        if not self._limits.hold(azimuth, elevation):
            raise InputError(
                f"{_words(azimuth, elevation)} is out of limits",
                remedy=f"stay within {self._limits}",
            )
        x, y, z = _plain(azimuth, elevation)
        if not self._reaches((x, y, z)):
            raise InputError(
                f"{_words(azimuth, elevation)} is out of reach",
                remedy="choose another direction",
            )
        self._toward = azimuth
        self._tell({"mode": GO, "target[0]": x, "target[1]": y, "target[2]": z})

    def sweep(self, direction: int, percent: float) -> None:
        """Turn until the next command, or to a limit of elevation.

        Args:
            direction: `UP`, `DOWN`, `LEFT` or `RIGHT`.
            percent: percent of the greatest speed.
        """
        rate = self._speed * percent / 100
        swing = {LEFT: -rate, RIGHT: rate}.get(direction, 0.0)
        lift = {UP: rate, DOWN: -rate}.get(direction, 0.0)
        self._tell({"mode": SWEEP, "swing": swing, "lift": lift})

    def stop(self) -> None:
        """Stand as soon as its acceleration allows."""
        self._tell({"mode": HOLD})

    def park(self) -> None:
        """Go where it parks."""
        self.go(*self._park)

    def reset(self) -> None:
        """Stand, and use its whole speed again."""
        self.percent = 100.0
        self.stop()

    def hear(self) -> None:
        """Note that somebody is there: what the watchdog waits for."""
        self._tell({})

    @property
    def percent(self) -> float:
        """Of its greatest speed, that it uses."""
        return self._percent

    @percent.setter
    def percent(self, value: float) -> None:
        self._percent = value
        self._tell({"share": value / 100})

    def _tell(self, values: dict[str, float]) -> None:
        self._heard += 1
        values = {**values, "heard": self._heard % 1e9}
        self.loop.set({f"drive.{name}": float(value) for name, value in values.items()})

    # -- what it tells -----------------------------------------------------------------------------
    @property
    def name(self) -> str:
        """What it is, in a line."""
        return f"Linkwright {self._name}"

    @property
    def limits(self) -> RotatorLimits:
        """What directions it takes."""
        return self._limits

    @property
    def counters(self) -> Counters:
        """Ticks of its control that were run and missed."""
        return self.loop.counters

    def looks_along(self) -> tuple[float, float, float]:
        """Return the unit vector that it looks along: East, North, up."""
        stood = self.loop.latest()
        if stood.tick < 0:
            return self._home
        x, y, z = stood.outputs[self._places].tolist()
        return x, y, z

    def position(self) -> tuple[float, float]:
        """Return azimuth and elevation, rad.

        Of all the azimuths that are the same it is the one nearest to what was asked for last.
        """
        x, y, z = self.looks_along()
        level = math.hypot(x, y)
        azimuth = math.atan2(x, y) if level > 1e-9 else self._toward
        azimuth += math.tau * round((self._toward - azimuth) / math.tau)
        if azimuth > self._limits.max_az:
            azimuth -= math.tau
        elif azimuth < self._limits.min_az:
            azimuth += math.tau
        return azimuth, math.atan2(z, level)

    def flags(self) -> Sequence[str]:
        """Return what it does, in Hamlib's words."""
        stood = self.loop.latest()
        return ("MOVING",) if stood.tick >= 0 and stood["drive.moving"] else ()

    # -- time --------------------------------------------------------------------------------------
    def advance(self, seconds: float) -> None:
        """Let virtual time pass.

        Args:
            seconds: how much, s.
        """
        self.loop.go_to(max(self.loop.latest().tick, 0) + round(seconds * RATE))

    def close(self) -> None:
        """Let go; a second time does nothing."""
        self.loop.stop()

    def __enter__(self) -> Self:
        if not self._virtual:
            self.loop.start()
        return self


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens; a port that is taken is reported.

    >>> with listening_socket("127.0.0.1", 0) as found:
    ...     found.getsockname()[0]
    '127.0.0.1'
    """
    if not 0 <= port <= 65535:
        raise InputError(
            f"cannot listen on {host}:{port}: ports go up to 65535",
            remedy="give another --port; 0 picks one that is free",
        )
    try:
        return socket.create_server((host, port), backlog=CLIENTS)
    except OSError as error:
        said = error.strerror or error
        raise InputError(
            f"cannot listen on {host}:{port}: {said}",
            remedy="give another --port; 0 picks one that is free",
        ) from error


class RotatorPort(Closable):
    """A rotctld in front of a rotator, answered in a thread of its own.

    Args:
        rotator: what is driven; it is neither started nor closed here.
        host: where to listen; loopback by default.
        port: 0 picks one, which `port` reports.
        listening: what `listening_socket` returned, in place of both.

    >>> import socket
    >>> with (
    ...     Rotator(speed=9, acceleration=90) as rotator,
    ...     RotatorPort(rotator, port=0) as port,
    ... ):
    ...     with socket.create_connection(("127.0.0.1", port.port), timeout=10) as client:
    ...         client.sendall(b"+S\\n")
    ...         print(client.recv(100).decode(), end="")
    stop:
    RPRT 0
    """

    def __init__(
        self,
        rotator: Rotator,
        host: str = "127.0.0.1",
        port: int = PORT,
        *,
        listening: socket.socket | None = None,
    ) -> None:
        self._socket = listening_socket(host, port) if listening is None else listening
        self.rotator, self.port = rotator, int(self._socket.getsockname()[1])
        self.clients = 0
        self._news = False
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._ready: threading.Event = threading.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name="rotator port", daemon=True)
        self._thread.start()
        self._ready.wait()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._ready.set()
            self._loop.close()

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._meet, sock=self._socket, limit=_CHUNK)
        self._ready.set()
        async with server:
            while not self._stopping.is_set():
                if self._news:
                    self._news = False
                    self.rotator.hear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), _LOOK)
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.clients += 1
        try:
            if self.clients > CLIENTS:
                writer.write(f"RPRT {REFUSED}\n".encode())
            else:
                await self._talk(reader, writer)
        except (OSError, TimeoutError):
            writer.transport.abort()  # it has gone, or does not read
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            self.clients -= 1
            self._tasks.discard(task)
            writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """RotatorAnswer a client line by line until it goes; half a line is not carried out."""
        rest, skipping = b"", False
        while chunk := await reader.read(_CHUNK):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if skipping or len(line) > LONGEST:
                    skipping = False
                    writer.write(f"RPRT {TOO_LONG}\n".encode())
                    continue
                self._news = True
                said = self._answered(line)
                writer.write(said.text.encode())
                if said.ends:
                    await writer.drain()
                    return
            if len(rest) > LONGEST:
                rest, skipping = b"", True
            if writer.transport.get_write_buffer_size():  # it does not read as fast as it asks
                async with asyncio.timeout(_SLOW):
                    await writer.drain()

    def _answered(self, line: bytes) -> RotatorAnswer:
        try:
            return answer(line.decode("ascii"), self.rotator)
        except UnicodeDecodeError:
            return RotatorAnswer(f"RPRT {BAD}\n")

    def close(self) -> None:
        """Listen no more, and let all clients go."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join(10.0)
            if self._thread.is_alive():
                raise Error("the rotator's port has not ended within 10 s")
