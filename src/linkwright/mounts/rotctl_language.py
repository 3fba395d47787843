"""The language of Hamlib's rotctld: lines of commands, and what answers them.

A command is a letter or a backslash and a long name, then its arguments; several may stand on a
line. A sign before it asks for an extended answer: the command and its arguments, each value with
its name, and at last `RPRT` with the status, one a line (`+`) or parted by that sign (`;`, `|`,
`,`). Statuses are Hamlib's: 0, or less where a command failed (rotctld(1) of Hamlib 4.5).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from linkwright.base.errors import Error
from linkwright.mounts.locators import (
    decimal_of,
    degrees_minutes_seconds,
    distance_and_bearing,
    locator_of,
    place_of,
)

OK, BAD, REFUSED, UNAVAILABLE, TOO_LONG = 0, -1, -9, -11, -8
"""Hamlib's statuses: invalid parameter, rejected, not available, protocol error."""

UP, DOWN, LEFT, RIGHT = 2, 4, 8, 16
"""Directions of a move; left is counterclockwise, seen from above."""

AROUND_EARTH = 40032.0
"""km, that long and short path are together (Hamlib's 360 times 111.2 km)."""

SIGNS = "+;|,"
LONGEST = 1024
"""Bytes of a line; more are thrown away up to its end."""


class CommandError(Exception):
    """A command that cannot be carried out."""

    def __init__(self, status: int = BAD) -> None:
        super().__init__(status)
        self.status = status


@dataclass(frozen=True, slots=True)
class RotatorLimits:
    """What directions a rotator takes, in rad.

    Args:
        min_az: azimuth, from.
        max_az: azimuth, to.
        min_el: elevation, from.
        max_el: elevation, to.

    >>> (
    ...     RotatorLimits().hold(3.0, 0.8),
    ...     RotatorLimits().hold(9.0, 0.3),
    ...     RotatorLimits().hold(float("nan"), 0.8),
    ... )
    (True, False, False)
    """

    min_az: float = -math.pi
    max_az: float = math.radians(450.0)
    min_el: float = 0.0
    max_el: float = math.pi / 2

    def __str__(self) -> str:
        low, high, down, up = map(
            math.degrees, (self.min_az, self.max_az, self.min_el, self.max_el)
        )
        return f"azimuth {low:g} to {high:g}°, elevation {down:g} to {up:g}°"

    def hold(self, azimuth: float, elevation: float) -> bool:
        """Return whether a direction lies within them."""
        inside = self.min_az <= azimuth <= self.max_az
        return inside and self.min_el <= elevation <= self.max_el


class Steerable(Protocol):
    """What commands act on; directions are in rad, compass azimuth first."""

    @property
    def name(self) -> str:
        """What it is, in a line."""

    @property
    def limits(self) -> RotatorLimits:
        """What directions it takes."""

    def position(self) -> tuple[float, float]:
        """Return where it looks."""

    def go(self, azimuth: float, elevation: float) -> None:
        """Go there."""

    def sweep(self, direction: int, percent: float) -> None:
        """Turn in a direction (`UP`, `DOWN`, `LEFT`, `RIGHT`) until the next command."""

    def stop(self) -> None:
        """Stand as soon as possible."""

    def park(self) -> None:
        """Go where it parks."""

    def reset(self) -> None:
        """Forget the commands, and stand."""

    def hear(self) -> None:
        """Note that somebody is there."""

    def flags(self) -> Sequence[str]:
        """Return what it does, in Hamlib's words."""

    @property
    def percent(self) -> float:
        """Of its greatest speed, that it uses."""

    @percent.setter
    def percent(self, value: float) -> None: ...


Values = Sequence[tuple[str, str] | tuple[str, str, str]]
"""Names (or none), values and, where a plain answer has one, what stands before the value there."""

Action = Callable[[Steerable, list[str]], Values]


@dataclass(frozen=True, slots=True)
class RotatorCommand:
    """A command."""

    letter: str  # its short name, or empty
    name: str  # its long one
    arguments: int  # how many it takes
    # what it does; it returns named values, and nothing where a status is the answer
    action: Action
    gives: bool = True  # whether values answer it, not a status


@dataclass(frozen=True, slots=True)
class RotatorAnswer:
    """What answers a line."""

    text: str  # to be sent
    ends: bool = False  # whether the client has taken its leave
    acted: bool = False  # whether anything but a question was in it


def answer(line: str, device: Steerable) -> RotatorAnswer:
    """Return the answer to a line, and do what it says."""
    words, acted = line.split("#", 1)[0].split(), False
    said: list[str] = []
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        sign = word[0] if word[0] in SIGNS else ""
        word = word[len(sign) :]
        if not word:
            continue
        if word in ("q", "Q", "\\quit", "\\exit"):
            return RotatorAnswer("".join(said), ends=True, acted=acted)
        command = _found(word)
        if command is None:
            said.append(f"RPRT {BAD}\n")  # what follows may be anything: it is left
            break
        if not word.startswith("\\") and len(word) > 1:  # letters may stand together: "pp"
            words[place - 1 : place] = [sign + word[0], word[1:]]
        wanted = command.arguments
        if words[place : place + 1] == ["?"] and command.name[4:] in ("level", "func", "parm"):
            wanted = 1
        given = words[place : place + wanted]
        place += wanted
        if len(given) < wanted:
            said.append(_written(command, sign, given, (), BAD))
            break
        try:
            values, status = command.action(device, given), OK
        except CommandError as error:
            values, status = (), error.status
        except Error:  # out of the mount's reach, say
            values, status = (), BAD
        acted = acted or not command.gives
        said.append(_written(command, sign, given, values, status))
    return RotatorAnswer("".join(said), acted=acted)


def _found(word: str) -> RotatorCommand | None:
    if word.startswith("\\"):
        return LONG.get(word[1:])
    return SHORT.get(word[0])


def _written(
    command: RotatorCommand, sign: str, given: Sequence[str], values: Values, status: int
) -> str:
    """Return an answer, plain or extended."""
    if sign:
        told = [f"{command.name}:{''.join(f' {word}' for word in given)}"]
        told += [f"{value[0]}: {value[1]}" if value[0] else value[1] for value in values]
        return ("\n" if sign == "+" else sign).join([*told, f"RPRT {status}"]) + "\n"
    told = ["".join([*value[2:], value[1]]) for value in values]
    if status != OK or not command.gives or command.name == "dump_caps":
        told.append(f"RPRT {status}")
    return "".join(f"{line}\n" for line in told)


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise CommandError from None
    if "_" in text:  # Python's own, as in 1_000
        raise CommandError
    if not math.isfinite(number):
        raise CommandError
    return number


# -- what commands do ------------------------------------------------------------------------------
def _set_pos(device: Steerable, given: list[str]) -> Values:
    azimuth, elevation = (math.radians(_number(text)) for text in given)
    if not device.limits.hold(azimuth, elevation):
        raise CommandError
    device.go(azimuth, elevation)
    return ()


def _get_pos(device: Steerable, given: list[str]) -> Values:
    del given
    azimuth, elevation = map(math.degrees, device.position())
    return (("Azimuth", _hundredths(azimuth)), ("Elevation", _hundredths(elevation)))


def _hundredths(number: float) -> str:
    return f"{round(number, 2) + 0.0:.2f}"  # no minus before zero


def _move(device: Steerable, given: list[str]) -> Values:
    direction, percent = map(_number, given)
    if direction not in (UP, DOWN, LEFT, RIGHT) or not (percent == -1 or 0 <= percent <= 100):
        raise CommandError
    device.sweep(int(direction), device.percent if percent == -1 else percent)
    return ()


def _stop(device: Steerable, given: list[str]) -> Values:
    del given
    device.stop()
    return ()


def _park(device: Steerable, given: list[str]) -> Values:
    del given
    device.park()
    return ()


def _reset(device: Steerable, given: list[str]) -> Values:
    _number(given[0])
    device.reset()
    return ()


def _get_info(device: Steerable, given: list[str]) -> Values:
    del given
    return (("Info", device.name),)


def _get_status(device: Steerable, given: list[str]) -> Values:
    del given
    return (("Status flags", "".join(f"{flag} " for flag in device.flags())),)


def _set_level(device: Steerable, given: list[str]) -> Values:
    if given[0] == "?":
        return (("", "SPEED "),)
    if given[0] != "SPEED":
        raise CommandError(UNAVAILABLE)
    percent = _number(given[1])
    if not 1 <= percent <= 100:
        raise CommandError
    device.percent = percent
    return ()


def _get_level(device: Steerable, given: list[str]) -> Values:
    if given[0] == "?":
        return (("", "SPEED "),)
    if given[0] != "SPEED":
        raise CommandError
    return (("", f"{device.percent:.0f}"),)


def _has_none(status: int) -> Action:
    """Return what lists nothing, and knows no name."""

    def action(device: Steerable, given: list[str]) -> Values:
        del device
        if given[0] == "?":
            return (("", ""),)
        raise CommandError(status)

    return action


def _refuse(device: Steerable, given: list[str]) -> Values:
    del device, given
    raise CommandError(UNAVAILABLE)


def _dump_state(device: Steerable, given: list[str]) -> Values:
    del given
    found = device.limits
    return (
        ("rotctld Protocol Ver", "1"),
        ("Rotor Model", "2"),
        ("Minimum Azimuth", f"{math.degrees(found.min_az):.6f}", "min_az="),
        ("Maximum Azimuth", f"{math.degrees(found.max_az):.6f}", "max_az="),
        ("Minimum Elevation", f"{math.degrees(found.min_el):.6f}", "min_el="),
        ("Maximum Elevation", f"{math.degrees(found.max_el):.6f}", "max_el="),
        ("South Zero", "0", "south_zero="),
        ("", "rot_type=AzEl"),
        ("", "done"),
    )


def _dump_caps(device: Steerable, given: list[str]) -> Values:
    del given
    found = device.limits
    lines = [
        "Caps dump for model:\t2",
        f"Model name:\t\t{device.name}",
        "Mfg name:\t\tLinkwright",
        "Rot type:\t\tAz-El",
        "Port type:\t\tNetwork link",
        "Get functions: ",
        "Set functions: ",
        "Get level: SPEED(1..100/1) ",
        "Set level: SPEED(1..100/1) ",
        "Get parameters: ",
        "Set parameters: ",
        f"Min Azimuth:\t\t{math.degrees(found.min_az):.2f}",
        f"Max Azimuth:\t\t{math.degrees(found.max_az):.2f}",
        f"Min Elevation:\t\t{math.degrees(found.min_el):.2f}",
        f"Max Elevation:\t\t{math.degrees(found.max_el):.2f}",
        *(f"Can {what}:\tY" for what in _CAN),
        *(f"Can {what}:\tN" for what in ("set Conf", "set Func", "get Func")),
        *(f"Can {what}:\tN" for what in ("set Param", "get Param")),
    ]
    return tuple(("", line) for line in lines)


_CAN = (
    *("set Position", "get Position", "Stop", "Park", "Reset", "Move"),
    *("get Info", "get Status", "set Level", "get Level"),
)


def _lonlat2loc(device: Steerable, given: list[str]) -> Values:
    del device
    longitude, latitude, length = map(_number, given)
    if not (abs(longitude) <= 180 and abs(latitude) <= 90 and 2 <= length <= 12):
        raise CommandError
    return (("Locator", locator_of(longitude, latitude, int(length))),)


def _loc2lonlat(device: Steerable, given: list[str]) -> Values:
    del device
    found = place_of(given[0])
    if found is None:
        raise CommandError
    return (("Longitude", f"{found[0]:.6f}"), ("Latitude", f"{found[1]:.6f}"))


def _dms2dec(device: Steerable, given: list[str]) -> Values:
    del device
    return (("Dec Degrees", f"{decimal_of(*map(_number, given)):.6f}"),)


def _dec2dms(device: Steerable, given: list[str]) -> Values:
    del device
    degrees, minutes, seconds, west = degrees_minutes_seconds(_number(given[0]))
    return (
        ("Degrees", str(degrees)),
        ("Minutes", str(minutes)),
        ("Seconds", f"{seconds:.6f}"),
        ("S/W", str(int(west))),
    )


def _dmmm2dec(device: Steerable, given: list[str]) -> Values:
    del device
    degrees, minutes, west = map(_number, given)
    return (("Dec Deg", f"{decimal_of(degrees, minutes, 0.0, west):.6f}"),)


def _dec2dmmm(device: Steerable, given: list[str]) -> Values:
    del device
    degrees, minutes, seconds, west = degrees_minutes_seconds(_number(given[0]))
    return (
        ("Degrees", str(degrees)),
        ("Dec Minutes", f"{minutes + seconds / 60:.6f}"),
        ("S/W", str(int(west))),
    )


def _qrb(device: Steerable, given: list[str]) -> Values:
    del device
    places = list(map(_number, given))
    if any(abs(x) > most for x, most in zip(places, (180, 90, 180, 90), strict=True)):
        raise CommandError
    distance, bearing = distance_and_bearing(*places)
    return (("QRB Distance", f"{distance:.6f}"), ("QRB Azimuth", f"{bearing:.6f}"))


def _long_bearing(device: Steerable, given: list[str]) -> Values:
    del device
    return (("Long Path Deg", f"{(_number(given[0]) + 180) % 360:.6f}"),)


def _long_distance(device: Steerable, given: list[str]) -> Values:
    del device
    return (("Long Path km", f"{AROUND_EARTH - _number(given[0]):.6f}"),)


COMMANDS = (
    RotatorCommand("P", "set_pos", 2, _set_pos, gives=False),
    RotatorCommand("p", "get_pos", 0, _get_pos),
    RotatorCommand("K", "park", 0, _park, gives=False),
    RotatorCommand("S", "stop", 0, _stop, gives=False),
    RotatorCommand("R", "reset", 1, _reset, gives=False),
    RotatorCommand("M", "move", 2, _move, gives=False),
    RotatorCommand("V", "set_level", 2, _set_level, gives=False),
    RotatorCommand("v", "get_level", 1, _get_level),
    RotatorCommand("U", "set_func", 2, _has_none(UNAVAILABLE), gives=False),
    RotatorCommand("u", "get_func", 1, _has_none(BAD)),
    RotatorCommand("X", "set_parm", 2, _has_none(BAD), gives=False),
    RotatorCommand("x", "get_parm", 1, _has_none(BAD)),
    RotatorCommand("C", "set_conf", 2, _refuse, gives=False),
    RotatorCommand("_", "get_info", 0, _get_info),
    RotatorCommand("s", "get_status", 0, _get_status),
    RotatorCommand("w", "send_cmd", 1, _refuse),
    RotatorCommand("1", "dump_caps", 0, _dump_caps),
    RotatorCommand("", "dump_state", 0, _dump_state),
    RotatorCommand("L", "lonlat2loc", 3, _lonlat2loc),
    RotatorCommand("l", "loc2lonlat", 1, _loc2lonlat),
    RotatorCommand("D", "dms2dec", 4, _dms2dec),
    RotatorCommand("d", "dec2dms", 1, _dec2dms),
    RotatorCommand("E", "dmmm2dec", 3, _dmmm2dec),
    RotatorCommand("e", "dec2dmmm", 1, _dec2dmmm),
    RotatorCommand("B", "qrb", 4, _qrb),
    RotatorCommand("A", "a_sp2a_lp", 1, _long_bearing),
    RotatorCommand("a", "d_sp2d_lp", 1, _long_distance),
)
SHORT = {command.letter: command for command in COMMANDS if command.letter}
LONG = {command.name: command for command in COMMANDS}
