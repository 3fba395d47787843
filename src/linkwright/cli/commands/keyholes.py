"""``linkwright mount keyholes``: which mounts lose satellites because an axis is too slow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

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
    from linkwright.mounts import Site
    from linkwright.mounts.axes import MountAxes
    from linkwright.mounts.keyholes import Keyholes
    from linkwright.mounts.passes import Pass

MOUNTS = (
    "Mounts with commas between: alt-az, x-y, equatorial, 3-axis, 2-rotary, 3-rotary, prismatic, "
    "or a file of one. x-y@90 stands turned; x-y+x-y@90 are two dishes that cover each other."
)


def command(
    elements: Elements,
    site: SiteFile,
    mounts: Annotated[str, own("NAMES", MOUNTS)] = "alt-az,x-y,2-rotary,prismatic",
    days: Days = 3.0,
    above: Above = 10.0,
    satellite: Satellites = None,
    start: Start = "",
    speed: Annotated[float, option("--speed")] = 5.0,
    beamwidth: Annotated[float, option("--beamwidth", "Contact is lost beyond half of it.")] = 0.8,
) -> CommandResult:
    """Compare mounts: how well servos of limited speed follow the passes over a site.

    Nothing but the speed of the axes is limited here. A jack is taken as fast as it must be to turn
    the dish at that speed at the zenith.

    \b
    Examples:
      linkwright mount keyholes stations.json --site site.toml --mounts alt-az,prismatic
      linkwright mount keyholes stations.json --site site.toml --mounts x-y,x-y+x-y@90
    """
    from linkwright.mounts import compare_mounts

    names = [name.strip() for name in mounts.split(",") if name.strip()]
    if not names:
        raise InputError("there are no mounts to compare", remedy="give --mounts alt-az,2-rotary")
    place, searches = find_passes(elements, site, satellite, days, above, start)
    passes = [found for search in searches for found in search]
    limit = math.radians(speed)
    axes = {name: _axes(name, place, limit) for name in dict.fromkeys(names)}
    found = compare_mounts(axes, passes, speed=limit, beamwidth=math.radians(beamwidth))
    words = [text for search in searches for text in search.words]
    data = {"site": place.name, "passes": [p.as_dict() for p in passes], "words": words}
    return CommandResult(found.as_dict() | data, _text(place.name, found, passes, words))


def _axes(name: str, place: Site, limit: float) -> MountAxes | list[MountAxes]:
    """Return the axes of a mount, or of the dishes that stand side by side."""
    from linkwright.mounts import mount_axes

    made = [mount_axes(each.strip(), place, speed=limit) for each in name.split("+")]
    return made if len(made) > 1 else made[0]


def _text(
    site: str, found: Keyholes, passes: Sequence[Pass], words: Sequence[str]
) -> Iterator[str | TextTable]:
    columns = ("mount", "lost in", "for", "largest error", "needs", "worst pass")
    rows = []
    for row in found.rows() if passes else ():
        worst = max(found.followings[row.mount], key=lambda f: (f.error, f.fastest))
        at = passes[found.followings[row.mount].index(worst)]
        rows.append(
            [
                row.mount,
                f"{row.losing} of {row.passes}",
                f"{row.lost:.1f} s",
                f"{math.degrees(row.error):.2f}°",
                f"{row.need * math.degrees(found.speed):.2f}°/s",
                f"{at.orbit.name} {at.top:%Y-%m-%d %H:%M} at {math.degrees(at.culmination):.1f}°",
            ]
        )
    title = (
        f"{len(passes)} passes over {site}; axes of {math.degrees(found.speed):g}°/s, "
        f"beamwidth {math.degrees(found.beamwidth):g}°"
    )
    if rows:
        yield TextTable(columns, rows, title, ["lost in", "for", "largest error", "needs"])
    yield from words
