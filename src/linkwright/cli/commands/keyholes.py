"""``linkwright mount keyholes``: which mounts lose satellites because an axis is too slow."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwright.base.errors import InputError
from linkwright.cli.commands.passes import ORBITS, SITE, START
from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.mounts import Keyholes, Pass

MOUNTS = (
    "Mounts with commas between: alt-az, x-y, equatorial, 3-axis, 2-rotary, 3-rotary, prismatic, "
    "or a file of one."
)


def command(
    orbits: Annotated[Path, typer.Argument(metavar="ELEMENTS", help=ORBITS)],
    site: Annotated[Path, typer.Option(metavar="FILE", help=SITE)],
    mounts: Annotated[
        str, typer.Option(metavar="NAMES", help=MOUNTS)
    ] = "alt-az,x-y,2-rotary,prismatic",
    days: Annotated[float, typer.Option(metavar="DAYS", help="How long to look.")] = 3.0,
    above: Annotated[
        float, typer.Option(metavar="DEGREES", help="Elevation from which a pass counts.")
    ] = 10.0,
    satellite: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Name or catalog number; may be repeated. Default: all."),
    ] = None,
    start: Annotated[str, typer.Option(metavar="TIME", help=START)] = "",
    speed: Annotated[
        float, typer.Option(metavar="DEG/S", help="Speed that no axis exceeds, deg/s.")
    ] = 5.0,
    beamwidth: Annotated[
        float, typer.Option(metavar="DEGREES", help="Contact is lost beyond half of it.")
    ] = 0.8,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare mounts: how well servos of limited speed follow the passes over a site.

    Nothing but the speed of the axes is limited here. A jack is taken as fast as it must be to turn
    the dish at that speed at the zenith.

    \b
    Examples:
      linkwright mount keyholes stations.json --site site.toml --mounts alt-az,prismatic
    """
    from linkwright.mounts import compare_mounts, mount_axes, read_orbits, read_site
    from linkwright.mounts.passes import find_passes

    names = [name.strip() for name in mounts.split(",") if name.strip()]
    if not names:
        raise InputError("there are no mounts to compare", remedy="give --mounts alt-az,2-rotary")
    known, place = read_orbits(orbits), read_site(site)
    chosen = [known[name] for name in satellite] if satellite else list(known)
    searches = [find_passes(place, orbit, days, above, start or None) for orbit in chosen]
    passes = [found for search in searches for found in search]
    limit = math.radians(speed)
    axes = {name: mount_axes(name, place, speed=limit) for name in dict.fromkeys(names)}
    found = compare_mounts(axes, passes, speed=limit, beamwidth=math.radians(beamwidth))
    said = [words for search in searches for words in search.words]
    if as_json:
        echo(json.dumps(_plain(place.name, found, passes, said), indent=2))
        return
    if passes:
        _print(place.name, found, passes)
    for words in said:
        echo(words)


def _print(site: str, found: Keyholes, passes: list[Pass]) -> None:
    from linkwright.cli.tables import print_table

    columns = ("mount", "lost in", "for", "largest error", "needs", "worst pass")
    rows = []
    for row in found.rows():
        worst = max(found.followings[row.mount], key=lambda f: (f.error, f.fastest))
        at = passes[found.followings[row.mount].index(worst)]
        rows.append(
            [
                row.mount,
                f"{row.losing} of {row.passes}",
                f"{row.lost:.1f} s",
                f"{math.degrees(row.error):.2f}°",
                f"{row.need * math.degrees(found.speed):.2f}°/s",
                f"{at.orbit.name} {at.top:%Y-%m-%d %H:%M} at {at.culmination:.1f}°",
            ]
        )
    title = (
        f"{len(passes)} passes over {site}; axes of {math.degrees(found.speed):g}°/s, "
        f"beamwidth {math.degrees(found.beamwidth):g}°"
    )
    print_table(columns, rows, title=title, numbers=["lost in", "for", "largest error", "needs"])


def _plain(site: str, found: Keyholes, passes: list[Pass], words: list[str]) -> dict[str, object]:
    return {
        "site": site,
        "speed": math.degrees(found.speed),
        "beamwidth": math.degrees(found.beamwidth),
        "passes": [
            {
                "satellite": p.orbit.name,
                "top": p.top.isoformat(timespec="milliseconds"),
                "culmination": round(p.culmination, 4),
            }
            for p in passes
        ],
        "mounts": {
            row.mount: {
                "losing": row.losing,
                "lost": row.lost,
                "error": math.degrees(row.error),
                "need": row.need,
                "each": [
                    {"error": math.degrees(f.error), "lost": f.lost, "need": f.fastest}
                    for f in found.followings[row.mount]
                ],
            }
            for row in found.rows()
        },
        "words": words,
    }
