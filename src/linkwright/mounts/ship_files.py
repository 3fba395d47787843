"""Files of ships: sines for each freedom, or a sea and how the ship answers to it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictInt, StrictStr

from linkwright.border import worded
from linkwright.formats.schema import Amount, Format, Key, given, read_record
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


class SeaTable(Record):
    """A sea in which a ship moves."""

    spectrum: Annotated[Literal["jonswap", "pierson-moskowitz"], Key("of the waves")] = "jonswap"
    height: Annotated[float, Amount("m", "significant wave height", above=0)]
    period: Annotated[float, Amount("s", "of the peak", above=0)]
    gamma: Annotated[float, Amount("1", "peak enhancement of JONSWAP", above=0)] = 3.3
    seed: Annotated[StrictInt, Field(ge=0), Key("of the waves")] = 0
    duration: Annotated[float, Amount("s", "of the motion", above=0)] = 3600.0
    responses: Annotated[StrictStr, Key("CSV file beside this one; a generic ship by default")] = ""


class ShipFile(Record):
    """A file of a ship."""

    format: Format
    doc: Annotated[StrictStr, Key("what it is")] = ""
    offset: Annotated[tuple[float, float, float], Amount("m", "from the center")] = (0, 0, 0)
    heading: Annotated[float, Amount("deg", "of the bow, compass")] = 90.0
    stabilized: Annotated[StrictBool, Key("whether a platform keeps level")] = False
    surge: Annotated[SineTable | None, Key("along the bow")] = None
    sway: Annotated[SineTable | None, Key("to port")] = None
    heave: Annotated[SineTable | None, Key("up")] = None
    roll: Annotated[SineTable | None, Key("about the bow")] = None
    pitch: Annotated[SineTable | None, Key("about the axis to port")] = None
    yaw: Annotated[SineTable | None, Key("about the vertical")] = None
    sea: Annotated[SeaTable | None, Key("in place of sines")] = None


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
    shape: dict[str, Any] = record.model_dump(include={"offset", "heading", "stabilized"})
    sea = record.sea
    if sea is not None:
        for name in (name for name, table in tables.items() if table is not None):
            raise placed.error((name,), "a ship has sines or a sea, not both", key=True)
        beside = Path(placed.file or "").parent / sea.responses
        peak = sea.gamma if sea.spectrum == "jonswap" else 1.0
        waves = Sea(WaveSpectrum(sea.height, sea.period, peak), sea.seed)
        responses = read_responses(beside) if sea.responses else generic_responses()
        return waves.ship(sea.duration, responses, **shape)
    rows = [[] if t is None else [_sine(placed, t, name)] for name, t in tables.items()]
    return Ship(Sines([0.0] * 6, rows), **shape)


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
