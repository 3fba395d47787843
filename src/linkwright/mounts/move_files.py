"""The file that describes a path of waypoints: a line, a circle or an orbit."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Annotated, Literal

from linkwright.base.errors import InputError
from linkwright.formats.schema import Amount, Format, Key, given, read_record
from linkwright.formats.text.tables import Record
from linkwright.mounts.moves import MoveError, TargetPath, circle_path, line_path, orbit_path

_Point = tuple[float, float, float]
_PLANNERS: dict[str, Callable[..., TargetPath]] = {
    "line": line_path,
    "circle": circle_path,
    "orbit": orbit_path,
}


class MoveFile(Record):
    """A path of waypoints; which keys a kind has are the arguments of its function."""

    format: Format
    kind: Annotated[Literal["line", "circle", "orbit"], Key("form of the path")]
    speed: Annotated[
        float, Amount("?", "along the path, m/s; of an orbit deg/s", above=0, texts=False)
    ]
    spacing: Annotated[
        float | None, Amount("?", "between waypoints, m; of an orbit deg", above=0, texts=False)
    ] = None
    start: Annotated[float | _Point | None, Key("m; of an orbit an angle, deg")] = None
    end: Annotated[float | _Point | None, Key("m; of an orbit an angle, deg")] = None
    center: Annotated[_Point | None, Amount("m", "of a circle")] = None
    normal: Annotated[_Point | None, Amount("1", "of the plane of a circle")] = None
    angle: Annotated[float | None, Amount("deg", "of a part of a circle")] = None
    radius: Annotated[float | None, Amount("m", "of an orbit", above=0)] = None
    height: Annotated[float | None, Amount("m", "of an orbit above the mount")] = None
    tilt: Annotated[float | None, Amount("deg", "of the axis from the zenith")] = None
    turn: Annotated[float | None, Amount("deg", "of the axis, from East")] = None


@dataclass(frozen=True, slots=True)
class MoveTask:
    """A path, and how fast it is to be followed.

    Args:
        path: of waypoints.
        speed: along it: m/s, or rad/s of an orbit.

    >>> MoveTask(orbit_path(1000, 577), 0.25).speed
    0.25
    """

    path: TargetPath
    speed: float


def read_move(path: str | os.PathLike[str]) -> MoveTask:
    """Return the path of a TOML file.

    Args:
        path: of the file.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder) / "orbit.toml"
    ...     _ = place.write_text(
    ...         'format = 1\\nkind = "orbit"\\nradius = 1000\\nheight = 577\\nspeed = 15'
    ...     )
    ...     len(read_move(place).path.points)
    37
    """
    record, source = read_record(path, MoveFile, "a path of waypoints", most=2**20)
    keys = given(record)
    for name in ("format", "kind", "speed"):
        keys.pop(name, None)
    takes = signature(_PLANNERS[record.kind]).parameters
    missing = [n for n, p in takes.items() if p.default is Parameter.empty and n not in keys]
    foreign = sorted(name for name in keys if name not in takes)
    angular = record.kind == "orbit"
    wrong = [n for n in ("start", "end") if n in keys and isinstance(keys[n], float) != angular]
    if missing or foreign or wrong:
        what = (
            f"needs {', '.join(missing)}"
            if missing
            else f"takes no {', '.join(foreign)}"
            if foreign
            else f"takes {' and '.join(wrong)} as {'an angle' if angular else 'a point'}"
        )
        raise InputError(f"{'an' if angular else 'a'} {record.kind} {what}", file=source.file)
    speed = record.speed
    if angular:
        keys |= {n: math.radians(keys[n]) for n in ("start", "end", "spacing") if n in keys}
        speed = math.radians(speed)
    try:
        return MoveTask(_PLANNERS[record.kind](**keys), speed)
    except (InputError, MoveError) as error:
        raise InputError(error.what, file=source.file, remedy=error.remedy) from None
