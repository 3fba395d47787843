"""The file that describes a path of waypoints: a line, a circle or an orbit."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from linkwright.errors import InputError
from linkwright.files import path_of, read_text
from linkwright.formats.text.document import parse_record
from linkwright.formats.text.tables import Record
from linkwright.mounts.moves import MoveError, TargetPath, circle_path, line_path, orbit_path

_SIZE = 2**20
_Point = tuple[float, float, float]
_Positive = Annotated[float, Field(gt=0)]
_NEEDED = {
    "line": ("start", "end", "spacing"),
    "circle": ("center", "start", "normal", "spacing"),
    "orbit": ("radius", "height"),
}
_ALLOWED = {
    "line": _NEEDED["line"],
    "circle": (*_NEEDED["circle"], "angle"),
    "orbit": (*_NEEDED["orbit"], "tilt", "turn", "start", "end", "spacing"),
}


class _MoveFile(Record):
    """A path of waypoints."""

    format: int = 1
    kind: Literal["line", "circle", "orbit"]
    speed: _Positive
    spacing: _Positive | None = None
    start: float | _Point | None = None
    end: float | _Point | None = None
    center: _Point | None = None
    normal: _Point | None = None
    angle: float | None = None
    radius: _Positive | None = None
    height: float | None = None
    tilt: float | None = None
    turn: float | None = None


@dataclass(frozen=True, slots=True)
class MoveTask:
    """A path, and how fast it is to be followed.

    Args:
        path: of waypoints.
        speed: along it: m/s, or deg/s of an orbit.

    >>> MoveTask(orbit_path(1000, 577), 15.0).speed
    15.0
    """

    path: TargetPath
    speed: float


def read_move(path: str | os.PathLike[str]) -> MoveTask:
    """Return the path of a TOML file.

    Its `kind` is "line" (`start`, `end`, `spacing`, m), "circle" (`center`, `start`, `normal`,
    `spacing`, m, and `angle`, deg) or "orbit" (`radius`, `height`, m; `tilt`, `turn`, `start`,
    `end`, `spacing`, deg). `speed` is in m/s, of an orbit in deg/s.

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
    place = path_of(path, "a path of waypoints")
    record, source = parse_record(read_text(place, _SIZE), _MoveFile, file=place)
    given = {
        name: value
        for name in {key for keys in _ALLOWED.values() for key in keys}
        if (value := getattr(record, name)) is not None
    }
    missing = [name for name in _NEEDED[record.kind] if name not in given]
    foreign = sorted(name for name in given if name not in _ALLOWED[record.kind])
    angular = record.kind == "orbit"
    wrong = [
        name
        for name in ("start", "end")
        if name in given and isinstance(given[name], float) != angular
    ]
    if missing or foreign or wrong:
        what = (
            f"needs {', '.join(missing)}"
            if missing
            else f"takes no {', '.join(foreign)}"
            if foreign
            else f"takes {' and '.join(wrong)} as {'an angle' if angular else 'a point'}"
        )
        raise InputError(f"{'an' if angular else 'a'} {record.kind} {what}", file=source.file)
    planners: dict[str, Callable[..., TargetPath]] = {
        "line": line_path,
        "circle": circle_path,
        "orbit": orbit_path,
    }
    try:
        return MoveTask(planners[record.kind](**given), record.speed)
    except (InputError, MoveError) as error:
        raise InputError(error.what, file=source.file, remedy=error.remedy) from None
