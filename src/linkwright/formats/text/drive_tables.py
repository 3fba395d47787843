"""The tables of text models that say what drives a machine and what it moves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, StrictStr

from linkwright.formats.text.tables import Record
from linkwright.formats.text.values import Direction, Expression, Name


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
