"""Files of platforms on six springy legs, and mechanisms by their names and sizes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from linkwright.algebra.units import amount
from linkwright.base.errors import InputError, suggestion
from linkwright.base.reprs import brief
from linkwright.formats.schema import Amount, Format, Key, read_record
from linkwright.formats.text.tables import Record
from linkwright.parallel.decoupled_compliance.leg_platforms import (
    LegPlatform,
    leg_platform,
    mechanism_1,
    mechanism_2,
    octahedral_platform,
)

MECHANISMS: dict[str, Callable[..., LegPlatform]] = {
    "mechanism-1": mechanism_1,
    "mechanism-2": mechanism_2,
    "octahedral": octahedral_platform,
}
"""Platforms by name; their sizes are a and h."""
_SIZE = 2**20
Point = tuple[float, float, float]


class LegsFile(Record, BaseModel):
    """A platform on six springy legs."""

    format: Format
    stiffness: Annotated[float, Amount("N/m", "of every leg", above=0)] = 1.0
    bases: Annotated[list[Point], Field(min_length=6, max_length=6), Key("six places, m")]
    tips: Annotated[list[Point], Field(min_length=6, max_length=6), Key("on the platform, m")]
    center: Annotated[Point, Key("about which moments are meant, m")] = (0.0, 0.0, 0.0)


def read_legs(given: str | Path) -> LegPlatform:
    """Return the platform of a file, or of words such as "mechanism-2:a=0.3,h='20 cm'".

    >>> read_legs("mechanism-2:a=0.3,h='20 cm'")
    LegPlatform(decoupled, a = 0.3, h = 0.2, k = 1 N/m)
    """
    text = str(given)
    name, _, sizes = text.partition(":")
    if Path(text).suffix.lower() == ".toml":
        record, source = read_record(text, LegsFile, "a platform", most=_SIZE)
        try:
            made = leg_platform(record.bases, record.tips, stiffness=record.stiffness)
        except InputError as error:
            raise source.error(("bases",), error.what, error.remedy or "") from None
        return made.about(record.center) if any(record.center) else made
    if name not in MECHANISMS:
        raise InputError(
            f"there is no platform {brief(text)}",
            remedy=suggestion(name, MECHANISMS, f"give a .toml file, or {', '.join(MECHANISMS)}"),
        )
    values = {"a": 1.0, "h": 1.0, "stiffness": 1.0}
    for word in filter(None, sizes.split(",")):
        key, equals, value = word.partition("=")
        if key not in values or not equals:
            raise InputError(
                f"{brief(word)} is not a size of {name!r}", remedy=f"such as {name}:a=0.3,h=0.2"
            )
        unit = "N/m" if key == "stiffness" else "m"
        bare = value.strip("'\"")
        try:
            values[key] = float(bare)
        except ValueError:
            values[key] = amount(bare, key, unit)
    return MECHANISMS[name](**values)
