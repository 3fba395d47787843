"""Reading tasks from TOML: parts, payloads, loads and limits, with the place of what is wrong.

Numbers are in SI units and rad; a text has its own unit, as in `"25 mm"` or `"30 deg/s"`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, Field, StrictBool, StrictInt, StrictStr

from linkwright.algebra.units import amount
from linkwright.base.arguments import worded
from linkwright.base.errors import Error, InputError
from linkwright.formats.schema import Amount, Format, Key, read_record
from linkwright.formats.text.document import TextSource
from linkwright.formats.text.positions import Path
from linkwright.formats.text.tables import Record
from linkwright.motion.payloads import Payload
from linkwright.motion.task_parts import (
    FORCES,
    TOOL,
    Dwell,
    Follow,
    LoadProfile,
    Move,
    Part,
    TaskSegment,
    ToolLine,
)
from linkwright.motion.tasks import Mention, PartError, Task
from linkwright.motion.trajectory import Trajectory, through

_LARGEST = 4_000_000  # characters
Made = TypeVar("Made")
_Table = TypeVar("_Table")


class PartTable(Record, BaseModel):
    """A part of a task."""

    kind: Annotated[Literal["segment", "move", "line", "dwell", "follow"], Key("what it is")]
    start: Annotated[float | None, Amount("s", "when it begins")] = None
    duration: Annotated[float | None, Amount("s", "how long it lasts")] = None
    control: Annotated[Literal["joint", "tool"], Key("what moves")] = "joint"
    profile: Annotated[Literal["rate", "position"], Key("of what")] = "rate"
    time: Annotated[Literal["segment", "absolute"], Key("from when t counts")] = "segment"
    axes: Annotated[Literal["base", "tool", "world"], Key("of the tool")] = "base"
    channels: Annotated[dict[str, Any], Key("coefficients, constant first")] = {}
    free: Annotated[list[StrictStr], Key("channels left as they come")] = []
    to: Annotated[dict[str, Any], Key("where joints go")] = {}
    by: Annotated[dict[str, Any], Key("how far the tool goes")] = {}
    law: Annotated[Literal["quintic", "cubic", "trapezoid", "linear"], Key("of the motion")] = (
        "quintic"
    )
    relative: Annotated[StrictBool, Key("from where the joints are")] = False
    table: Annotated[StrictStr, Key("a recording to follow")] = ""
    times: Annotated[tuple[float, ...], Amount("s", "of positions")] = ()
    positions: Annotated[dict[str, list[Any]], Key("of joints at the times")] = {}


class PayloadTable(Record):
    """What the tool carries from an instant on."""

    at: Annotated[float, Amount("s", "when")] = 0.0
    mass: Annotated[float, Amount("kg", "0 releases it")]
    center: Annotated[tuple[float, float, float], Amount("m", "of mass")] = (0, 0, 0)
    inertia: Annotated[
        tuple[float, float, float, float, float, float],
        Amount("kg*m^2", "about the center: xx, yy, zz, xy, yz, zx"),
    ] = (0, 0, 0, 0, 0, 0)


class LoadTable(Record):
    """A wrench of the tool, or an acceleration of the base."""

    start: Annotated[float, Amount("s", "when it begins")] = 0.0
    duration: Annotated[float | None, Amount("s", "how long it lasts")] = None
    time: Annotated[Literal["segment", "absolute"], Key("from when t counts")] = "segment"
    axes: Annotated[Literal["base", "tool", "world"], Key("of it")] = "world"
    channels: Annotated[dict[str, Any], Key("coefficients, constant first")]


class TaskFile(Record, BaseModel):
    """A task as a file holds it."""

    format: Format
    name: Annotated[StrictStr, Key("of the task")] = "task"
    frame: Annotated[StrictStr, Key("the tool's")] = "tool"
    begin: Annotated[float, Amount("s", "when it begins")] = 0.0
    stop: Annotated[float | None, Amount("s", "when it ends")] = None
    repeat: Annotated[StrictInt, Field(ge=1, le=10_000), Key("how often it is done")] = 1
    start: Annotated[dict[str, Any], Key("where joints begin")] = {}
    part: Annotated[list[PartTable], Key("what moves")]
    payload: Annotated[list[PayloadTable], Key("what is carried")] = []
    wrench: Annotated[list[LoadTable], Key("what the tool pushes with")] = []
    base: Annotated[list[LoadTable], Key("how the base accelerates")] = []
    limits: Annotated[dict[str, dict[str, Any]], Key("of joints")] = {}


@worded
def read_task(source: str | os.PathLike[str]) -> Task:
    """Return the task of a file.

    Args:
        source: the path of a TOML file, or the text itself where it has more than one line.

    Example:
        >>> task = read_task('''
        ... format = 1
        ... [[part]]
        ... kind = "move"
        ... to = {shoulder = "30 deg"}
        ... duration = 1.5
        ... [[payload]]
        ... at = 0.5
        ... mass = "500 g"
        ... ''')
        >>> task.duration, task.payloads[0][1].mass
        (1.5, 0.5)
    """
    try:
        record, placed = read_record(
            source, TaskFile, "a task", most=_LARGEST, code="R212", amounts="R208"
        )
    except InputError as error:  # of a file that is not there
        error.code = error.code or "R212"
        raise
    file = placed.file
    return _Reader(placed, FilePath(file).parent if file else FilePath()).task(record)


class _Reader:
    """Makes a task of a file's tables; what goes wrong gets its place in the text."""

    def __init__(self, source: TextSource, folder: FilePath) -> None:
        self.source, self.folder = source, folder
        self.mentions: list[Mention] = []  # of joints, for when the robot is known

    def task(self, record: TaskFile) -> Task:
        parts = self.each("part", record.part, self.part)
        carried = self.each("payload", record.payload, self.payload)
        wrench = self.each("wrench", record.wrench, self.load)
        base = self.each("base", record.base, self.load)
        limits = {
            joint: {what: self.limit(x, joint, what) for what, x in own.items()}
            for joint, own in record.limits.items()
        }
        made = self.placed(
            (),
            lambda: Task(
                parts,
                self.joints(record.start, ("start",)),
                record.frame,
                record.begin,
                record.stop,
                carried,
                wrench,
                base,
                limits,
                record.name,
                self.mentions,
            ),
        )
        return made.repeated(record.repeat) if record.repeat > 1 else made

    def each(
        self, key: str, tables: Sequence[_Table], make: Callable[[_Table, Path], Made]
    ) -> list[Made]:
        """Return what is made of each table of an array."""
        return [
            self.placed((key, k), partial(make, table, (key, k))) for k, table in enumerate(tables)
        ]

    def placed(self, path: Path, make: Callable[[], Made]) -> Made:
        """Return what is made; an error gets the place of the table."""
        try:
            return make()
        except InputError:
            raise
        except PartError as error:
            where = (error.key, error.index)
            raise self.source.error(where, error.what, error.remedy, code=error.code) from None
        except Error as error:
            raise self.source.error(path, error.what, error.remedy, code=error.code) from None

    def joint(self, value: object, path: Path, name: str, units: tuple[str, str]) -> float:
        """Return a value of a joint that turns or slides; its unit says which of the two fits."""
        numbers = {}
        for kind, unit in zip(("revolute", "prismatic"), units, strict=True):
            with suppress(Error):
                numbers[kind] = amount(value, str(path[-1]), unit)
        if not numbers:
            unit = " or ".join(dict.fromkeys(units))
            self.number(value, path, units[0], f"give a number, or a text with a unit of {unit}")
        if len(numbers) == 1:
            (kind,) = numbers
            self.mention(path, name, kind, str(value), key=False)
        return next(iter(numbers.values()))

    def mention(
        self, path: Path, name: str, kind: str = "", given: str = "", *, key: bool = True
    ) -> None:
        """Note where a joint is named, or the unit of one of its values."""
        at = self.source.error(path, "", key=key)
        self.mentions.append(Mention(name, kind, given, at.file, at.line, at.column))

    def joints(self, given: Mapping[str, Any], path: Path) -> dict[str, float]:
        """Return positions of joints."""
        for name in given:
            self.mention((*path, name), name)
        return {name: self.joint(x, (*path, name), name, _POSITION) for name, x in given.items()}

    def limit(self, value: object, joint: str, what: str) -> float:
        """Return a limit of a joint."""
        path = ("limits", joint, what)
        if what not in _LIMITS:
            raise self.source.error(
                path,
                f"a joint has no limit {what!r}",
                f"use {', '.join(_LIMITS)}",
                key=True,
                code="R206",
            )
        self.mention(path[:2], joint)
        return self.joint(value, path, joint, _LIMITS[what])

    def number(self, value: object, path: Path, unit: str, remedy: str | None = None) -> float:
        try:
            return amount(value, str(path[-1]), unit)
        except Error as error:
            remedy = remedy or error.remedy or f"give a number, or a text with a unit of {unit}"
            raise self.source.error(path, error.what, remedy, code="R208") from None

    def numbers(
        self, given: Mapping[str, Any], path: Path, unit: Callable[[str], str]
    ) -> dict[str, float]:
        return {name: self.number(x, (*path, name), unit(name)) for name, x in given.items()}

    def row(self, given: object, path: Path, units: Callable[[int], str]) -> list[float]:
        return [self.number(x, own, units(k)) for k, (own, x) in enumerate(_members(given, path))]

    def joint_rows(
        self, given: Mapping[str, Any], path: Path, units: Callable[[int], tuple[str, str]]
    ) -> dict[str, list[float]]:
        """Return a row of values for each joint."""
        found = {}
        for name, row in given.items():
            self.mention((*path, name), name)
            found[name] = [
                self.joint(x, own, name, units(k))
                for k, (own, x) in enumerate(_members(row, (*path, name)))
            ]
        return found

    def polynomials(
        self, given: Mapping[str, Any], path: Path, unit: Callable[[str], str]
    ) -> dict[str, list[float]]:
        """Return coefficients; those of the k-th power are in the channel's unit by s^k."""

        def powers(name: str) -> Callable[[int], str]:
            own = unit(name)
            return lambda k: own if k == 0 else f"{own}/s^{k}"

        return {
            name: self.row(x, (*path, "channels", name), powers(name)) for name, x in given.items()
        }

    def part(self, p: PartTable, path: Path) -> Part:
        start, duration = p.start, p.duration
        self.refuse_unused(p, path)
        if p.kind == "dwell":
            return Dwell(duration, start)
        if p.kind == "follow":
            return self.follow(p, path, start)
        if p.kind == "segment":
            if p.control == "tool":
                unit = _tool_unit("/s" if p.profile == "rate" else "")
                channels = self.polynomials(p.channels, path, unit)
            else:
                order = int(p.profile == "rate")
                channels = self.joint_rows(
                    p.channels, (*path, "channels"), lambda k: _per_time(k + order)
                )
            return TaskSegment(
                channels,
                start,
                duration,
                control=p.control,
                profile=p.profile,
                time=p.time,
                axes=p.axes,
                free=p.free,
            )
        if duration is None:
            raise self.source.error(
                path, f"a {p.kind} needs a duration", "add duration = ...", code="R201"
            )
        if p.kind == "move":
            to = self.joints(p.to, (*path, "to"))
            return Move(to, duration, start, p.law, p.relative)
        by = self.numbers(p.by, (*path, "by"), _tool_unit(""))
        return ToolLine(by, duration, start, p.law, p.axes, tuple(p.free))

    def refuse_unused(self, p: PartTable, path: Path) -> None:
        """Reject keys that a part of this kind does not read."""
        for key in sorted(p.model_fields_set - _KEYS[p.kind] - {"kind", "start"}):
            raise self.source.error(
                (*path, key),
                f"a {p.kind} has no {key!r}",
                f"it has {', '.join(sorted(_KEYS[p.kind]))}",
                key=True,
            )

    def follow(self, p: PartTable, path: Path, start: float | None) -> Follow:
        if bool(p.table) == bool(p.positions):
            raise self.source.error(
                path, "what to follow is a table, or times and positions", 'add table = "run.csv"'
            )
        if p.table:
            joints, made = self.recorded(p, path)
            return Follow(made, joints, start)
        times = p.times
        found = self.joint_rows(p.positions, (*path, "positions"), lambda _: _POSITION)
        rows = list(found.values())
        if len(times) < 2 or any(len(row) != len(times) for row in rows):
            raise self.source.error(path, f"each joint takes {len(times)} positions, two or more")
        made = through(times, [list(row) for row in zip(*rows, strict=True)])
        return Follow(made, tuple(p.positions), start)

    def recorded(self, p: PartTable, path: Path) -> tuple[tuple[str, ...] | None, Trajectory]:
        from linkwright.recording.files import read_recording

        try:
            found = read_recording(self.folder / p.table)
        except Error as error:
            raise self.source.error((*path, "table"), error.what, error.remedy) from None
        place = (*path, "table")
        factors = []
        for channel in found.channels:
            self.mention(place, channel.name, key=False)
            plain = channel.unit in ("", "-", "?", "1")
            given = 1.0 if plain else f"1 {channel.unit}"
            factors.append(self.joint(given, place, channel.name, _POSITION))
        return found.names, through(found.times, found.data * factors)

    def payload(self, p: PayloadTable, path: Path) -> tuple[float, Payload]:
        return p.at, Payload(p.mass, p.center, p.inertia)

    def load(self, p: LoadTable, path: Path) -> LoadProfile:
        units = {**dict.fromkeys(FORCES[:3], "N"), **dict.fromkeys(FORCES[3:], "N*m")}
        if path[0] == "base":
            units = dict.fromkeys(TOOL[:3], "m/s^2")
        wrong = [name for name in p.channels if name not in units]
        if wrong:
            raise self.source.error(
                (*path, "channels", wrong[0]),
                f"there is no channel {wrong[0]!r}",
                f"there are {', '.join(units)}",
                key=True,
                code="R203",
            )
        channels = self.polynomials(p.channels, path, units.__getitem__)
        return LoadProfile(
            {name: tuple(c) for name, c in channels.items()},
            p.start,
            p.duration,
            p.time,
            p.axes,
        )


_KEYS: dict[str, set[str]] = {
    "segment": {"duration", "control", "profile", "time", "axes", "channels", "free"},
    "move": {"duration", "to", "law", "relative"},
    "line": {"duration", "by", "law", "axes", "free"},
    "dwell": {"duration"},
    "follow": {"table", "times", "positions"},
}


def _per_time(power: int) -> tuple[str, str]:
    """Return the units of a derivative of a position by time, of joints that turn and slide."""
    per = {0: "", 1: "/s"}.get(power, f"/s^{power}")
    return f"rad{per}", f"m{per}"


_POSITION = ("rad", "m")
_LIMITS: dict[str, tuple[str, str]] = {
    "lower": _POSITION,
    "upper": _POSITION,
    "speed": _per_time(1),
    "acceleration": _per_time(2),
    "jerk": _per_time(3),
    "torque": ("N*m", "N"),
    "power": ("W", "W"),
}


def _members(given: object, path: Path) -> list[tuple[Path, object]]:
    """Return the members of an array with their places; a single value is one."""
    if isinstance(given, list):
        return [((*path, k), x) for k, x in enumerate(given)]
    return [(path, given)]


def _tool_unit(per: str) -> Callable[[str], str]:
    """Return the unit of a channel of the tool."""

    def unit(name: str) -> str:
        return f"{'rad' if name.startswith('r') else 'm'}{per}"

    return unit
