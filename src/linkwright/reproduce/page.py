"""Files of what was reproduced: pictures, data, and one page of all."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from linkwright.base.errors import InputError
from linkwright.base.files import write_text
from linkwright.base.results import plain
from linkwright.recording.document import document, heading, paragraph, picture, table, verdict
from linkwright.reproduce.catalog import Figure
from linkwright.reproduce.drawing import figure
from linkwright.reproduce.reproduction import HEAD, Check, Reproduction


def as_data(told: Figure, found: Reproduction) -> dict[str, Any]:
    """Return a figure and its comparisons as plain data."""
    return {
        "name": told.name,
        "title": told.title,
        "document": told.document,
        "agrees": found.holds,
        "note": found.note,
        "numbers": [_number(check) for check in found.checks],
    }


def _number(check: Check) -> dict[str, Any]:
    return {
        "number": check.what,
        "printed": check.printed,
        "corrected": check.corrected,
        "ours": plain(float(check.ours)),
        "difference": plain(check.difference),
        "unit": check.unit,
        "agrees": check.holds,
        "remark": check.note,
    }


def write(folder: Path, told: Figure, found: Reproduction) -> list[Path]:
    """Write the picture, the data and the comparisons of a figure, and return their paths."""
    from linkwright.recording.plots import save_figure, styled

    if folder.exists() and not folder.is_dir():
        raise InputError("this is a file", file=str(folder), remedy="name a folder")
    folder.mkdir(parents=True, exist_ok=True)
    drawn = folder / f"{told.name}.svg"
    with styled():
        save_figure(drawn, figure(found))
    texts = found.data_files() | {".json": json.dumps(as_data(told, found), indent=2) + "\n"}
    for ending, text in texts.items():
        write_text(folder / f"{told.name}{ending}", text, replace=True)
    return [drawn, *(folder / f"{told.name}{ending}" for ending in texts)]


def write_page(path: Path, found: Mapping[str, Reproduction], figures: Sequence[Figure]) -> None:
    """Write the page of all figures."""
    write_text(path, page(found, figures), replace=True)


def page(found: Mapping[str, Reproduction], figures: Sequence[Figure]) -> str:
    """Return the page of all figures: those that were made, and those that are not yet."""
    return document("Figures and tables of five documents", list(_parts(found, figures)))


def _parts(found: Mapping[str, Reproduction], figures: Sequence[Figure]) -> Iterator[str]:
    good = sum(each.holds for each in found.values())
    yield verdict(good == len(found), summary(found, figures))
    yield paragraph(tally([check for each in found.values() for check in each.checks]))
    for told in figures:
        if told.name not in found:
            continue
        each = found[told.name]
        yield heading(f"{told.name}: {told.title}")
        yield paragraph(" ".join(filter(None, (f"{told.document}.", each.note))))
        yield picture(figure(each))
        yield table(HEAD, [check.shown() for check in each.checks])
    later = [(told.name, told.title, told.not_yet) for told in figures if told.not_yet]
    if later:
        yield heading("Not yet")
        yield table(("name", "title", "why"), later)


def tally(numbers: Sequence[Check]) -> str:
    """Return how many numbers agree, and what they are compared with, kind by kind."""
    bounds = sum(c.at_most for c in numbers)
    again = [c for c in numbers if c.recomputed and not c.at_most]
    printed = [c for c in numbers if not c.recomputed and not c.at_most]
    wide = [sum(c.wide for c in kind) for kind in (printed, again)]
    return (
        f"{sum(c.holds for c in numbers)} of {len(numbers)} numbers agree. {len(printed)} of them "
        f"are printed in the documents: {len(printed) - wide[0]} are compared to a half of their "
        f"last digit, {wide[0]} less closely, within what their rows say and why. {len(again)} are "
        "recomputed, where a plot is lost in the scan or no number is printed: they follow from "
        "the data of the document by a computation that shares nothing with ours "
        f"({wide[1]} less closely). {bounds} are bounds, such as counts that ours may stay below."
    )


def summary(found: Mapping[str, Reproduction], figures: Sequence[Figure]) -> str:
    """Return how many figures were made, how many agree, and how many are not yet made."""
    good = sum(each.holds for each in found.values())
    return (
        f"{len(found)} of {len(figures)} figures and tables made; {good} agree with their "
        "documents in all numbers"
    )
