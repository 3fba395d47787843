"""``linkwright mount passes``: when satellites come over a site."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np

from linkwright.base.errors import InputError
from linkwright.cli.options import option, own
from linkwright.cli.results import CommandResult, TextTable
from linkwright.cli.satellites import (
    Above,
    Days,
    Elements,
    Satellites,
    SiteFile,
    Start,
    find_passes,
)

if TYPE_CHECKING:
    from linkwright.mounts.passes import Pass
    from linkwright.recording import Recording

PARTS = ("east", "north", "up")
POINTS = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")


def command(
    elements: Elements,
    site: SiteFile,
    days: Days = 3.0,
    above: Above = 10.0,
    satellite: Satellites = None,
    start: Start = "",
    refraction: Annotated[
        bool, own(None, "Let the air lift the satellites.", "--refraction")
    ] = False,
    frequency: Annotated[float, own("MHZ", "Print the Doppler shift at rise, MHz.")] = 0.0,
    out: Annotated[
        Path | None, option("--out", "The way of the highest pass, as a table (.csv, .parquet).")
    ] = None,
) -> CommandResult:
    """List the passes of satellites over a site: rise, culmination and set, in UTC.

    \b
    Examples:
      linkwright mount passes stations.json --site site.toml --days 3
      linkwright mount passes stations.json --site site.toml --satellite 25544 --json
      linkwright mount passes stations.json --site site.toml --satellite 25544 -o pass.csv
    """
    place, found = find_passes(elements, site, satellite, days, above, start, refraction=refraction)
    words = [text for passes in found for text in passes.words]
    rows = [p.as_dict(frequency * 1e6) for passes in found for p in passes]
    every = [p for passes in found for p in passes]
    if out is not None:
        if not every:
            raise InputError("there is no pass to write", remedy="look at more days, or lower")
        _way(max(every, key=lambda p: p.culmination)).save(out)
    return CommandResult(
        {"site": place.name, "passes": rows, "words": words},
        _text(place.name, every, frequency, words),
        files={"way": out},
        next=f"mount keyholes {elements} --site {site}",
    )


def _way(found: Pass) -> Recording:
    """Return where a satellite is over a pass, every second: a table that tasks follow."""
    from linkwright.recording import Channel, Recording

    t = np.linspace(0.0, found.duration, math.ceil(found.duration) + 1)
    channels = [Channel(name, "1", f"{name} part of the direction") for name in PARTS]
    return Recording(
        t, channels, found(t), {"satellite": found.orbit.name, "rise": f"{found.rise}"}
    )


def _text(
    site: str, passes: Sequence[Pass], frequency: float, words: Sequence[str]
) -> Iterator[str | TextTable]:
    columns = ["satellite", "rise (UTC)", "at", "highest", "elevation", "set", "at", "lasts", ""]
    rows = [_row(p) for p in sorted(passes, key=lambda p: p.rise)]
    if frequency:
        columns.append("Doppler")
        for row, p in zip(rows, sorted(passes, key=lambda p: p.rise), strict=True):
            shift = float(p.look(0.0).doppler(frequency * 1e6)[0])
            row.append(f"{shift / 1e3:+.2f} kHz")
    if rows:
        title = f"{len(passes)} passes over {site}"
        yield TextTable(columns, rows, title, ["elevation", "lasts", "Doppler"])
    yield from words


def _row(found: Pass) -> list[str]:
    azimuths = [math.degrees(found.look(t).azimuth[0]) for t in (0.0, found.duration)]
    first, last = (f"{a:3.0f}° {POINTS[round(a / 45) % 8]}" for a in azimuths)
    minutes, seconds = divmod(round(found.duration), 60)
    hours, minutes = divmod(minutes, 60)
    lasts = f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
    up = {(True, True): "", (False, True): "up already", (True, False): "still up"}
    return [
        found.orbit.name,
        f"{found.rise:%Y-%m-%d %H:%M:%S}",
        first,
        f"{found.top:%H:%M:%S}",
        f"{math.degrees(found.culmination):.1f}°",
        f"{found.set:%H:%M:%S}",
        last,
        lasts,
        up.get((found.rises, found.sets), "never sets"),
    ]
