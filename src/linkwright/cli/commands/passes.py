"""``linkwright mount passes``: when satellites come over a site."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.mounts import Pass, Passes

ORBITS = "Elements of satellites: two lines, or an OMM as .json, .csv, .xml or KVN."
SITE = "Where the antenna stands (.toml)."
POINTS = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")
START = "When to begin, UTC, such as 2026-11-16T12:00; by default the epoch of the elements."


def command(
    orbits: Annotated[Path, typer.Argument(metavar="ELEMENTS", help=ORBITS)],
    site: Annotated[Path, typer.Option(metavar="FILE", help=SITE)],
    days: Annotated[float, typer.Option(metavar="DAYS", help="How long to look.")] = 3.0,
    above: Annotated[
        float, typer.Option(metavar="DEGREES", help="Elevation from which a pass counts.")
    ] = 10.0,
    satellite: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Name or catalog number; may be repeated. Default: all."),
    ] = None,
    start: Annotated[str, typer.Option(metavar="TIME", help=START)] = "",
    refraction: Annotated[
        bool, typer.Option("--refraction", help="Let the air lift the satellites.")
    ] = False,
    frequency: Annotated[
        float, typer.Option(metavar="MHZ", help="Print the Doppler shift at rise, MHz.")
    ] = 0.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the passes of satellites over a site: rise, culmination and set, in UTC.

    \b
    Examples:
      linkwright mount passes stations.json --site site.toml --days 3
      linkwright mount passes stations.json --site site.toml --satellite 25544 --json
    """
    from linkwright.mounts import read_orbits, read_site
    from linkwright.mounts.passes import find_passes

    known, place = read_orbits(orbits), read_site(site)
    chosen = [known[name] for name in satellite] if satellite else list(known)
    found = [
        find_passes(place, orbit, days, above, start or None, refraction=refraction)
        for orbit in chosen
    ]
    if as_json:
        rows = [_plain(p, frequency) for passes in found for p in passes]
        said = [words for passes in found for words in passes.words]
        echo(json.dumps({"site": place.name, "passes": rows, "words": said}, indent=2))
        return
    _print(place.name, found, frequency)
    for passes in found:
        for words in passes.words:
            echo(words)


def _print(site: str, found: list[Passes], frequency: float) -> None:
    from linkwright.cli.tables import print_table

    passes = sorted((p for passes in found for p in passes), key=lambda p: p.rise)
    if not passes:
        return
    columns = ["satellite", "rise (UTC)", "at", "highest", "elevation", "set", "at", "lasts", ""]
    rows = [_row(p) for p in passes]
    if frequency:
        columns.append("Doppler")
        rows = [
            [*row, f"{_shift(p, frequency) / 1e3:+.2f} kHz"]
            for row, p in zip(rows, passes, strict=True)
        ]
    title = f"{len(passes)} passes over {site}"
    print_table(columns, rows, title=title, numbers=["elevation", "lasts", "Doppler"])


def _row(found: Pass) -> list[str]:
    first, _, last = (_compass(found, t) for t in (0.0, found.culminates, found.duration))
    minutes, seconds = divmod(round(found.duration), 60)
    hours, minutes = divmod(minutes, 60)
    lasts = f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
    up = {(True, True): "", (False, True): "up already", (True, False): "still up"}
    return [
        found.orbit.name,
        f"{found.rise:%Y-%m-%d %H:%M:%S}",
        first,
        f"{found.top:%H:%M:%S}",
        f"{found.culmination:.1f}°",
        f"{found.set:%H:%M:%S}",
        last,
        lasts,
        up.get((found.rises, found.sets), "never sets"),
    ]


def _compass(found: Pass, t: float) -> str:
    azimuth = float(found.look(t).azimuth[0])
    return f"{azimuth:3.0f}° {POINTS[round(azimuth / 45) % 8]}"


def _shift(found: Pass, frequency: float) -> float:
    return float(found.look(0.0).doppler(frequency * 1e6)[0])


def _plain(found: Pass, frequency: float) -> dict[str, object]:
    look = found.look([0.0, found.culminates, found.duration])
    info: dict[str, object] = {
        "satellite": found.orbit.name,
        "number": found.orbit.number,
        "rise": found.rise.isoformat(timespec="milliseconds"),
        "top": found.top.isoformat(timespec="milliseconds"),
        "set": found.set.isoformat(timespec="milliseconds"),
        "duration": round(found.duration, 3),
        "culmination": round(found.culmination, 4),
        "azimuth": [round(float(a), 4) for a in look.azimuth],
        "range": [round(float(r), 1) for r in look.range],
        "rises": found.rises,
        "sets": found.sets,
    }
    if frequency:
        info["doppler"] = [round(float(f), 1) for f in look.doppler(frequency * 1e6)]
    return info
