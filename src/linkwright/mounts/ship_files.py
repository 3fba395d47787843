"""Files of ships: sines for each freedom, or a sea and how the ship answers to it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictInt, StrictStr

from linkwright.border import worded
from linkwright.files import read_text
from linkwright.formats.text.document import parse_record
from linkwright.formats.text.table_reader import TableReader
from linkwright.formats.text.tables import Record
from linkwright.motion import Sines
from linkwright.mounts.seas import Sea, WaveSpectrum, generic_responses, read_responses
from linkwright.mounts.ships import FREEDOMS, Ship, heave_amplitude

_LARGEST = 1_000_000  # characters of a file


class SineTable(Record):
    """One freedom of a ship that moves by a sine."""

    amplitude: Annotated[Any, Field(description="m, or rad; a text has its unit")] = None
    acceleration: Annotated[Any, Field(description="in place of the amplitude")] = None
    period: Annotated[Any, Field(description="s")]
    phase: Annotated[Any, Field(description="rad")] = 0.0


class SeaTable(Record):
    """A sea in which a ship moves."""

    spectrum: Annotated[
        Literal["jonswap", "pierson-moskowitz"], Field(description="of the waves")
    ] = "jonswap"
    height: Annotated[Any, Field(description="significant wave height, m")]
    period: Annotated[Any, Field(description="of the peak, s")]
    gamma: Annotated[Any, Field(description="peak enhancement of JONSWAP")] = 3.3
    seed: Annotated[StrictInt, Field(description="of the waves", ge=0)] = 0
    duration: Annotated[Any, Field(description="of the motion, s")] = 3600.0
    responses: Annotated[
        StrictStr, Field(description="CSV file beside this one; a generic ship by default")
    ] = ""


class ShipFile(Record):
    """A file of a ship."""

    format: Annotated[int, Field(description="1")]
    doc: Annotated[StrictStr, Field(description="what it is")] = ""
    offset: Annotated[tuple[Any, ...], Field(description="from the center, m")] = (0, 0, 0)
    heading: Annotated[Any, Field(description="of the bow, compass, deg")] = 90.0
    stabilized: Annotated[StrictBool, Field(description="whether a platform keeps level")] = False
    surge: Annotated[SineTable | None, Field(description="along the bow")] = None
    sway: Annotated[SineTable | None, Field(description="to port")] = None
    heave: Annotated[SineTable | None, Field(description="up")] = None
    roll: Annotated[SineTable | None, Field(description="about the bow")] = None
    pitch: Annotated[SineTable | None, Field(description="about the axis to port")] = None
    yaw: Annotated[SineTable | None, Field(description="about the vertical")] = None
    sea: Annotated[SeaTable | None, Field(description="in place of sines")] = None


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
    text, file = os.fspath(source), None
    if isinstance(source, os.PathLike) or "\n" not in text:
        file, text = text, read_text(source, _LARGEST)
    record, placed = parse_record(text, ShipFile, file=file)
    reader = TableReader(placed)
    x, y, z = reader.row(record.offset, ("offset",), ("m",) * 3)
    heading = reader.number(record.heading, ("heading",), "deg")
    tables = {name: getattr(record, name) for name in FREEDOMS}
    if record.sea is not None:
        sines = [name for name, table in tables.items() if table is not None]
        if sines:
            raise placed.error((sines[0],), "a ship has sines or a sea, not both", key=True)
        folder = Path(file).parent if file else Path()
        sea, duration = _sea(reader, record.sea)
        answer = record.sea.responses
        responses = read_responses(folder / answer) if answer else generic_responses()
        return sea.ship(
            duration, responses, offset=(x, y, z), heading=heading, stabilized=record.stabilized
        )
    rows = []
    for name, table in tables.items():
        rows.append([] if table is None else [_sine(reader, table, name)])
    return Ship(Sines([0.0] * 6, rows), (x, y, z), heading, record.stabilized)


def _sine(reader: TableReader, table: SineTable, name: str) -> tuple[float, float, float]:
    unit = "m" if name in FREEDOMS[:3] else "rad"
    period = reader.positive(table.period, (name, "period"), "s")
    if (table.amplitude is None) == (table.acceleration is None):
        raise reader.source.error(
            (name,), "takes one of amplitude and acceleration", "give one of them", key=True
        )
    if table.amplitude is not None:
        size = reader.number(table.amplitude, (name, "amplitude"), unit)
    else:
        top = reader.number(table.acceleration, (name, "acceleration"), f"{unit}/s^2")
        size = heave_amplitude(top, period)
    return size, reader.number(table.phase, (name, "phase"), "rad"), 1 / period


def _sea(reader: TableReader, table: SeaTable) -> tuple[Sea, float]:
    height = reader.positive(table.height, ("sea", "height"), "m")
    period = reader.positive(table.period, ("sea", "period"), "s")
    gamma = reader.positive(table.gamma, ("sea", "gamma"), "1")
    duration = reader.positive(table.duration, ("sea", "duration"), "s")
    peak = gamma if table.spectrum == "jonswap" else 1.0
    return Sea(WaveSpectrum(height, period, peak), table.seed), duration
