"""What the commands about satellites share: elements, a site, and the passes over it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwright.base.errors import InputError
from linkwright.cli.options import option

if TYPE_CHECKING:
    from linkwright.mounts import Site
    from linkwright.mounts.passes import Passes

Elements = Annotated[
    Path,
    typer.Argument(
        metavar="ELEMENTS",
        help="Elements of satellites: two lines, or an OMM as .json, .csv, .xml or KVN.",
    ),
]
SiteFile = Annotated[Path, option("--site")]
Satellites = Annotated[list[str] | None, option("--satellite", "Default: all (repeatable).")]
Days = Annotated[float, option("--days")]
Above = Annotated[float, option("--above")]
Start = Annotated[str, option("--start")]


def find_passes(
    elements: Path,
    site: Path,
    satellites: list[str] | None,
    days: float,
    above: float,
    start: str,
    *,
    refraction: bool = False,
) -> tuple[Site, list[Passes]]:
    """Return the site, and the passes of each satellite over it."""
    from linkwright.mounts import read_orbits, read_site
    from linkwright.mounts.passes import find_passes

    known, place = read_orbits(elements), read_site(site)
    orbits = [known[name] for name in satellites] if satellites else list(known)
    if not -5.0 <= above < 90.0:
        raise InputError(f"--above {above:g} is out of range", remedy="give -5 to below 90 degrees")
    lowest = math.radians(above)
    return place, [
        find_passes(place, orbit, days, lowest, start or None, refraction=refraction)
        for orbit in orbits
    ]
