"""The tables of text models that say what drives a machine and what it moves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, StrictBool, StrictStr

from linkwright.formats.text.tables import Record
from linkwright.formats.text.values import Direction, Expression, Name, Text


class DrivenStrutTable(Record):
    """A massless strut whose length is a coordinate of its name: a cylinder between two balls."""

    name: Annotated[Name, Field(description="of the strut, and of its length, m")]
    first: Annotated[Name, Field(description="a point of one body")]
    second: Annotated[Name, Field(description="a point of another")]
    length: Annotated[
        Expression, Field(description="a constant near which the assembly looks for it, m")
    ] = 1
    doc: Annotated[StrictStr, Field(description="what it is")] = ""


class PlatformTable(Record):
    """What a machine moves; `platform = "dish"` gives only the place."""

    at: Annotated[Name, Field(description="a point, or a body for its origin")]
    axis: Annotated[
        Direction, Field(description="where it points, in the axes of the platform's body")
    ] = "z"

    @classmethod
    def from_short(cls, data: Any) -> Any:
        """Return the table of `platform = "dish"`."""
        return data if isinstance(data, Mapping | Record) else {"at": data}


class ConeLimitTable(Record):
    """How far a ball or a universal joint may tilt; charts and proofs keep to it, runs do not."""

    joint: Annotated[
        Name,
        Field(description="the body that it moves, the loop that it closes, or a driven strut"),
    ]
    angle: Annotated[Expression, Field(description="half the opening of the cone, a constant, rad")]
    axis: Annotated[
        Direction, Field(description="of the cone, in the axes of the parent or first body")
    ] = "z"
    second_axis: Annotated[
        Direction | None,
        Field(description="what stays in it, in the axes of the second body; else the same"),
    ] = None
    at_second: Annotated[
        StrictBool, Field(description="of a strut, the cone is at its second end")
    ] = False


class CollisionCapsuleTable(Record):
    """All within a radius of a line, for the search for interference; runs do not feel it."""

    name: Annotated[Text, Field(description="of what it stands for")]
    first: Annotated[Name, Field(description="a point at one end")]
    second: Annotated[Name, Field(description="a point at the other, of the same body or another")]
    radius: Annotated[Expression, Field(description="m")]
