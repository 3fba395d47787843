"""The file that describes a site, and its mask of the horizon."""

from __future__ import annotations

import math
import os
from pathlib import Path

from linkwright.base.errors import InputError
from linkwright.base.files import csv_rows, path_of, read_text
from linkwright.formats.robot.xml import finite
from linkwright.formats.schema import Format, Key, read_record, table_of
from linkwright.mounts.sites import Site

_SIZE = 4 * 2**20
_MASK = Key("pairs of azimuth and elevation, deg, or a CSV file of them beside this one")

SiteFile = table_of(
    Site, format=(Format, ...), mask=(str | tuple[tuple[float, float], ...], _MASK, ())
)


def read_site(path: str | os.PathLike[str]) -> Site:
    """Return the site of a TOML file.

    Args:
        path: of the file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder) / "site.toml"
    ...     _ = place.write_text(
    ...         "format = 1\\nlatitude = -43.52\\nlongitude = 172.58\\nheight = 20"
    ...     )
    ...     math.degrees(read_site(place).latitude)
    -43.52
    """
    place = path_of(path, "a site")
    record, source = read_record(place, SiteFile, "a site")
    mask = record.mask
    mask = _read_mask(place.parent / mask) if isinstance(mask, str) else mask
    try:
        rows = tuple((math.radians(a), math.radians(e)) for a, e in mask)
        site: Site = record.made(mask=rows, name=record.name or place.stem)
    except InputError as error:
        raise InputError(error.what, file=source.file, remedy=error.remedy) from None
    return site


def _read_mask(path: Path) -> tuple[tuple[float, float], ...]:
    """Return the pairs of azimuth and elevation of a CSV file, with or without a header."""
    found: list[tuple[float, float]] = []
    for line, row in enumerate(csv_rows(read_text(path, _SIZE), path), 1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or cells[0].startswith("#"):
            continue
        numbers = [finite(cell) for cell in cells]
        if not found and line == 1 and None in numbers:
            continue  # the header
        if len(numbers) != 2 or numbers[0] is None or numbers[1] is None:
            raise InputError(
                f"{', '.join(cells)!r} is not a pair of azimuth and elevation",
                file=path,
                line=line,
                remedy="write two numbers in degrees, such as 90, 12.5",
            )
        found.append((numbers[0], numbers[1]))
    if not found:
        raise InputError(
            "the mask is empty", file=path, remedy="write rows of azimuth and elevation, deg"
        )
    return tuple(found)
