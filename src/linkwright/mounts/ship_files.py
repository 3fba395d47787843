"""Files of ships: sines for each freedom, or a sea and how the ship answers to it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StrictInt, StrictStr

from linkwright.base.arguments import worded
from linkwright.formats.schema import Amount, Format, Key, given, read_record, table_of
from linkwright.formats.text.document import TextSource
from linkwright.formats.text.tables import Record
from linkwright.motion import Sines
from linkwright.mounts.seas import Sea, WaveSpectrum, generic_responses, read_responses
from linkwright.mounts.ships import FREEDOMS, Ship, heave_amplitude

_LARGEST = 1_000_000  # characters of a file


class SineTable(Record):
    """One freedom of a ship that moves by a sine."""

    amplitude: Annotated[Any, Amount("rad|m", "of the sine")] = None
    acceleration: Annotated[Any, Amount("rad/s^2|m/s^2", "in place of the amplitude")] = None
    period: Annotated[float, Amount("s", "of the sine", above=0)]
    phase: Annotated[float, Amount("rad", "at the start")] = 0.0


_SINE = SineTable | None
SeaTable = table_of(
    WaveSpectrum,
    spectrum=(Literal["jonswap", "pierson-moskowitz"], Key("of the waves"), "jonswap"),
    gamma=(float, Amount("1", "peak enhancement of JONSWAP", above=0), 3.3),
    seed=(StrictInt, Field(ge=0), Key("of the waves"), 0),
    duration=(float, Amount("s", "of the motion", above=0), 3600.0),
    responses=(StrictStr, Key("CSV file beside this one; a generic ship by default"), ""),
)
ShipFile = table_of(
    Ship,
    format=(Format, ...),
    doc=(StrictStr, Key("what it is"), ""),
    surge=(_SINE, Key("along the bow"), None),
    sway=(_SINE, Key("to port"), None),
    heave=(_SINE, Key("up"), None),
    roll=(_SINE, Key("about the bow"), None),
    pitch=(_SINE, Key("about the axis to port"), None),
    yaw=(_SINE, Key("about the vertical"), None),
    sea=(SeaTable | None, Key("in place of sines"), None),
)


@worded
def read_ship(source: str | os.PathLike[str]) -> Ship:
    """Return the ship of a file.

    Args:
        source: the path of a TOML file, or the text itself where it has more than one line.

    Example:
        >>> ship = read_ship('''
        ... format = 1
        ... offset = [0, 0, 20]
        ... roll = {amplitude = "15 deg", period = 10}
        ... heave = {acceleration = 2.4525, period = 10}
        ... ''')
        >>> [round(float(x), 3) for x in ship.motion.max_abs(0)]
        [0.0, 0.0, 6.212, 0.262, 0.0, 0.0]
    """
    record, placed = read_record(source, ShipFile, "a ship", most=_LARGEST)
    tables = {name: getattr(record, name) for name in FREEDOMS}
    sea = record.sea
    if sea is None:
        rows = [[] if t is None else [_sine(placed, t, name)] for name, t in tables.items()]
        ship: Ship = record.made(motion=Sines([0.0] * 6, rows))
        return ship
    for name in (name for name, table in tables.items() if table is not None):
        raise placed.error((name,), "a ship has sines or a sea, not both", key=True)
    waves = Sea(sea.made() if sea.spectrum == "jonswap" else sea.made(gamma=1.0), sea.seed)
    beside = Path(placed.file or "").parent / sea.responses
    responses = read_responses(beside) if sea.responses else generic_responses()
    made = given(record, leave=set(FREEDOMS) | {"format", "doc", "sea"}, usual=True)
    return waves.ship(sea.duration, responses, **made)


def _sine(source: TextSource, table: SineTable, name: str) -> tuple[float, float, float]:
    sizes = given(table, source, (name,), slides=name in FREEDOMS[:3])
    if ("amplitude" in sizes) == ("acceleration" in sizes):
        raise source.error(
            (name,), "takes one of amplitude and acceleration", "give one of them", key=True
        )
    size = sizes.get("amplitude")
    if size is None:
        size = heave_amplitude(sizes["acceleration"], table.period)
    return size, table.phase, 1 / table.period
