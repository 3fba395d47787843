"""The schema of a table of Denavit and Hartenberg's parameters.

A row is a joint and the link behind it. In the standard convention (Denavit and Hartenberg 1955;
Paul 1981) the frame of link i follows that of link i-1 by Rot(z, theta) Trans(z, d) Trans(x, a)
Rot(x, alpha): it stands at the far end of the link. In the modified one (Craig 1986) it follows by
Rot(x, alpha) Trans(x, a) Rot(z, theta) Trans(z, d) and stands on the link's own joint. The
coordinate is added to theta of a revolute joint, and to d of a prismatic one.
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, PlainValidator

from linkwright.formats.robot.xml import LARGEST, finite
from linkwright.formats.text.tables import Record
from linkwright.formats.text.values import Name, wrong

_ANGLE = re.compile(
    r"(?P<sign>[+-]?)\s*(?:(?P<times>[0-9.]+(?:[eE][+-]?[0-9]+)?)?\s*\*?\s*(?P<pi>pi)"
    r"(?:\s*/\s*(?P<over>[0-9.]+))?|(?P<degrees>[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*deg)"
)
MOST_ROWS = 1000


def angle(value: object) -> float:
    """Return an angle in radians: a number, or a text such as "pi/2" or "-90 deg".

    >>> angle("-pi/2") == -math.pi / 2, angle("180 deg") == math.pi, angle(0.5)
    (True, True, 0.5)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise wrong('an angle is needed here: radians, or a text such as "pi/2" or "90 deg"')
    if not isinstance(value, str):
        return _number(value)
    found = _ANGLE.fullmatch(value.strip()) if len(value) < 100 else None
    if found is not None:
        parts = [finite(found[key] or "1") for key in ("times", "over", "degrees")]
        times, over, degrees = parts
        if times is not None and over and degrees is not None:
            size = math.radians(degrees) if found["degrees"] else times * math.pi / over
            if size <= LARGEST:
                return -size if found["sign"] == "-" else size
    raise wrong(f'{value[:40]!r} is not an angle; write radians, "pi/2" or "90 deg"')


def _three(value: object) -> tuple[float, float, float]:
    x, y, z = _some(value, (3,))
    return x, y, z


def _angles(value: object) -> tuple[float, float, float]:
    if not isinstance(value, list | tuple) or len(value) != 3:
        raise wrong("three angles are needed here")
    x, y, z = (angle(item) for item in value)
    return x, y, z


def _moments(value: object) -> tuple[float, ...]:
    return _some(value, (3, 6))


def _some(value: object, counts: tuple[int, ...]) -> tuple[float, ...]:
    if not isinstance(value, list | tuple) or len(value) not in counts:
        raise wrong(f"{' or '.join(map(str, counts))} numbers in brackets are needed here")
    for item in value:
        if isinstance(item, bool) or not isinstance(item, int | float):
            raise wrong("only numbers may stand in these brackets")
    return tuple(_number(item) for item in value)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong("a number is needed here")
    if not abs(value) <= LARGEST:
        raise wrong(f"a finite number up to {LARGEST:g} is needed here")
    return float(value)


Number: TypeAlias = Annotated[Any, PlainValidator(_number)]
Angle: TypeAlias = Annotated[Any, PlainValidator(angle)]
Three: TypeAlias = Annotated[Any, PlainValidator(_three)]
Angles: TypeAlias = Annotated[Any, PlainValidator(_angles)]
MomentsOf: TypeAlias = Annotated[Any, PlainValidator(_moments)]


class DhPlace(Record):
    """A frame in another one: position in m, and roll, pitch and yaw in rad about x, y, z."""

    position: Three = (0.0, 0.0, 0.0)
    rpy: Angles = (0.0, 0.0, 0.0)


class DhRow(Record):
    """A joint and the link behind it; masses are given in the link's frame."""

    name: Name | None = None
    link: Name | None = None
    type: Literal["revolute", "prismatic"] = "revolute"
    theta: Angle = 0.0
    d: Number = 0.0
    a: Number = 0.0
    alpha: Angle = 0.0
    lower: Angle | None = None
    upper: Angle | None = None
    speed: Number | None = None
    effort: Number | None = None
    damping: Number = 0.0
    friction: Number = 0.0
    stiffness: Number = 0.0
    rest: Angle = 0.0
    armature: Number = 0.0
    motor_inertia: Number = 0.0
    gear: Number = 1.0
    mass: Number | None = None
    center: Three = (0.0, 0.0, 0.0)
    inertia: MomentsOf = (0.0, 0.0, 0.0)


class DhTable(Record):
    """The whole file."""

    format: Literal[1]
    convention: Literal["standard", "modified"]
    name: Name = "robot"
    doc: str = ""
    base_link: Name = "base"
    gravity: Three | None = None
    base: DhPlace = DhPlace()
    tool: DhPlace = DhPlace()
    tool_name: Name = "tool"
    joint: Annotated[list[DhRow], Field(min_length=1, max_length=MOST_ROWS)]
