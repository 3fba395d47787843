"""Driving any rotctld: a client, and a tracker that leads a rotator along a path in the sky."""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from numpy.typing import ArrayLike

from linkwright.base.checks import checked, checked_angle
from linkwright.base.closable import Closable
from linkwright.base.errors import Error
from linkwright.mounts.pointing import angles

_LONGEST = 65536


class RotatorError(Error):
    """A rotator that cannot be reached, does not answer, or rejects a command."""


class SkyPath(Protocol):
    """A path in the sky: what is to be followed, such as a pass."""

    @property
    def duration(self) -> float:
        """s."""

    def __call__(self, t: float) -> ArrayLike:
        """Return the unit vector (East, North, up) at a time."""


class RotatorClient(Closable):
    """A connection to a rotctld.

    Args:
        host: where it listens.
        port: there.
        timeout: s, for an answer.

    >>> from linkwright.mounts.rotator import Rotator, RotatorPort
    >>> with Rotator() as rotator, RotatorPort(rotator, port=0) as port:
    ...     with RotatorClient("127.0.0.1", port.port) as client:
    ...         client.stop()
    ...         print(client.position(), client.ask("_"))
    (0.0, 1.5707963267948966) ['Linkwright pointing']
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 4533, *, timeout: float = 5.0) -> None:
        self.place = f"{host}:{port}"
        try:
            self._socket = socket.create_connection((host, port), timeout=timeout)
        except OSError as error:
            raise RotatorError(
                f"there is no rotator at {self.place}: {error.strerror or error}",
                remedy="start rotctld or linkwright mount rotator there",
            ) from error
        self._socket.settimeout(timeout)
        self._rest = b""

    def ask(self, command: str) -> list[str]:
        """Send a command, and return the lines of values that answer it.

        Args:
            command: such as "P 180 45"; it is sent as an extended one, so that its end is known.
        """
        try:
            self._socket.sendall(f"+{command}\n".encode("ascii"))
            lines = [self._line()]  # the command itself, or a bare status
            while not lines[-1].startswith("RPRT "):
                lines.append(self._line())
        except OSError as error:
            raise RotatorError(f"the rotator at {self.place} does not answer: {error}") from error
        status = lines[-1].removeprefix("RPRT ").strip()
        if status != "0":
            raise RotatorError(f"the rotator at {self.place} answers {command!r} with {status}")
        return [line.split(": ", 1)[-1] for line in lines[1:-1]]

    def _line(self) -> str:
        while b"\n" not in self._rest:
            chunk = self._socket.recv(4096)
            if not chunk:
                raise ConnectionError("it has hung up")
            self._rest += chunk
            if len(self._rest) > _LONGEST:
                raise ConnectionError("its answer does not end")
        line, self._rest = self._rest.split(b"\n", 1)
        return line.decode("ascii", "replace")

    def position(self) -> tuple[float, float]:
        """Return azimuth and elevation, rad."""
        found = self.ask("p")
        try:
            azimuth, elevation = map(float, found)
        except ValueError:
            raise RotatorError(f"the rotator at {self.place} is at {found}") from None
        return math.radians(azimuth), math.radians(elevation)

    def go(self, azimuth: float, elevation: float) -> None:
        """Send it to a direction.

        Args:
            azimuth: rad, clockwise from North.
            elevation: rad.
        """
        checked_angle(elevation, "the elevation", least=-math.pi, most=math.pi)
        checked_angle(azimuth, "the azimuth")
        self.ask(f"P {math.degrees(azimuth):.4f} {math.degrees(elevation):.4f}")

    def stop(self) -> None:
        """Let it stand."""
        self.ask("S")

    def park(self) -> None:
        """Let it park."""
        self.ask("K")

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


@dataclass(frozen=True, slots=True)
class Led:
    """How a rotator was led along a path."""

    times: tuple[float, ...]  # s from the start of the path, one for each command
    commands: tuple[tuple[float, float], ...]  # azimuth and elevation that were asked for, rad
    # where the rotator was when it was asked for them, rad
    positions: tuple[tuple[float, float], ...]
    errors: tuple[float, ...]  # angles between the rotator and the path then, rad
    below: int  # how many instants the path was below the horizon: nothing was asked for then


def drive_rotator(
    host: str,
    port: int,
    path: SkyPath,
    *,
    every: float = 0.5,
    lead: float = 0.0,
    speed: float = 1.0,
    lowest: float = 0.0,
    goes_on: Callable[[], bool] = lambda: True,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> Led:
    """Lead any rotctld along a path in the sky, by the clock, and let it stand at the end.

    Args:
        host: where the rotator listens.
        port: there.
        path: a pass, or anything with a duration that gives a unit vector for a time.
        every: s from one command to the next.
        lead: s that commands are ahead of the path, for a rotator that lags.
        speed: seconds of the path in a second.
        lowest: elevation below which nothing is asked for, rad.
        goes_on: asked before each command.
        clock: what time it is, s.
        pause: what waits.

    >>> from linkwright.mounts.pointing import direction
    >>> from linkwright.mounts.rotator import Rotator, RotatorPort
    >>> class Rise:
    ...     duration = 2.0
    ...
    ...     def __call__(self, t):
    ...         return direction(90, 5 + t)
    >>> with (
    ...     Rotator(speed=1.5, acceleration=15) as rotator,
    ...     RotatorPort(rotator, port=0) as port,
    ... ):
    ...     led = drive_rotator("127.0.0.1", port.port, Rise(), speed=100)
    >>> [round(math.degrees(elevation), 9) for _, elevation in led.commands]
    [5.0, 5.5, 6.0, 6.5, 7.0]
    """
    for what, value in (("every", every), ("speed", speed)):
        checked(value, what, above=0)
    checked_angle(lowest, "the lowest elevation", least=-math.pi / 2, most=math.pi / 2)
    times, commands, positions, errors, below = [], [], [], [], 0
    with RotatorClient(host, port) as client:
        began, azimuth_before = clock(), 0.0
        try:
            for number in range(math.floor(path.duration / every + 1e-9) + 1):
                t = number * every
                wait = began + t / speed - clock()
                if wait > 0:
                    pause(wait)
                if not goes_on():
                    break
                azimuth, elevation = _angles(path(min(t + lead, path.duration)))
                if elevation < lowest - 1e-9:
                    below += 1
                    continue
                azimuth += math.tau * round(
                    (azimuth_before - azimuth) / math.tau
                )  # no turn back at North
                if not -math.pi <= azimuth <= 2.5 * math.pi:
                    azimuth %= math.tau
                azimuth_before = azimuth
                at = client.position()
                client.go(azimuth, max(elevation, lowest))
                times.append(t)
                commands.append((azimuth, elevation))
                positions.append(at)
                errors.append(_between(at, _angles(path(t))))
        finally:
            client.stop()
    return Led(tuple(times), tuple(commands), tuple(positions), tuple(errors), below)


def _angles(d: ArrayLike) -> tuple[float, float]:
    azimuth, elevation = angles(d)
    return math.radians(azimuth), math.radians(elevation)


def _between(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Return the angle between two directions, rad; exact for small ones too."""
    (az, el), (az2, el2) = a, b
    across = math.sin((az2 - az) / 2) ** 2 * math.cos(el) * math.cos(el2)
    return 2 * math.asin(math.sqrt(min(1, math.sin((el2 - el) / 2) ** 2 + across)))
