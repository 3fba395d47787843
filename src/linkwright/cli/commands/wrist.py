"""``linkwright analyze wrist``: whether a compliant wrist is stable in contact."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwright.base.errors import InputError
from linkwright.cli.options import option, own, read_range
from linkwright.cli.results import CommandResult, TextTable

if TYPE_CHECKING:
    from linkwright.contact.parameter_maps import ContactMap
    from linkwright.contact.wrist_files import WristFile

WRIST = (
    'A wrist along one axis (.toml): law = "position", "force" or "accumulating"; Kp or KF, m, Cw, '
    "Kw, a, T, Ke, Ce as numbers or texts with units; order; a table \\[map] of ranges."
)
OVER = "A parameter to map, two in all: its NAME, with the range of the file's \\[map]."


def command(
    wrist: Annotated[Path, typer.Argument(metavar="WRIST", help=WRIST)],
    over: Annotated[list[str] | None, option("--over", OVER)] = None,
    points: Annotated[int | None, option("--points")] = None,
    simulate: Annotated[
        bool, own(None, "Run each point of the map too.", "--simulate/--no-simulate")
    ] = True,
    out: Annotated[Path | None, option("--out", "A picture (.png, .svg, .pdf).")] = None,
) -> CommandResult:
    """Say whether a compliant wrist is stable, by Routh's conditions, as sampled, and simulated.

    \b
    Examples:
      linkwright analyze wrist wrist.toml
      linkwright analyze wrist wrist.toml --over Kp --over a -o map.png
    """
    from linkwright.contact import contact_map, read_wrist
    from linkwright.control.force.sampled_limits import CONTACT_ORDERS

    if out is not None:
        _checked(out)
    words = [name.strip() for text in over or () for name in text.split(",") if name.strip()]
    if (out is not None or points is not None) and not over:
        raise InputError(
            "a picture is that of a map" if out is not None else "points are those of a map",
            remedy="name its parameters: --over Kp --over a",
        )
    given = read_wrist(wrist)
    if not over:
        return CommandResult(
            given.loop,
            _lines(given.loop.rows()),
            next=f"analyze wrist {wrist} --over a --over T -o m.png",
        )
    if len(set(words)) != 2 or len(words) != 2:
        raise InputError(
            f"--over {', '.join(words)} does not name two parameters",
            remedy="such as --over Kp --over a",
        )
    impulse = CONTACT_ORDERS[given.loop.order].impulse
    found = contact_map(
        given.loop,
        dict(_axis(given, text, points) for text in words),
        simulate=simulate and not impulse,
    )
    notes = []
    if simulate and impulse:
        notes = [f"note: the impulse of the order {given.loop.order!r} cannot be simulated"]
    if out is not None:
        found.save(out)
    return CommandResult(found, _map(found), notes, {"plot": out})


def _checked(out: Path) -> None:
    from linkwright.recording.plots import ENDINGS

    if out.suffix.lower() not in ENDINGS:
        raise InputError(
            f"a picture is not written as {out.suffix!r}",
            file=out,
            remedy=f"end the name with one of {', '.join(ENDINGS)}",
        )


def _axis(given: WristFile, text: str, points: int | None) -> tuple[str, Any]:
    """Return the name and the values of an axis: of the file's range, or of the one given."""
    import numpy as np

    if "=" not in text:
        return text, given.axis(text, points)
    name, (low, high) = read_range(text, "FROM:TO")
    return name, np.linspace(low, high, len(given.axis(name, points)))


def _lines(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield labels with their texts, whose further lines stand below the first."""
    width = max(shutil.get_terminal_size((100, 30)).columns, 40)
    for label, text in rows:
        yield textwrap.fill(
            text, width, initial_indent=f"{label:<11}", subsequent_indent=" " * 11,
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip


def _map(found: ContactMap) -> Iterator[str | TextTable]:
    columns, *rows = found.table()
    axes = " x ".join(
        f"{n} {v[0]:g} to {v[-1]:g}" for n, v in zip(found.names, found.axes, strict=True)
    )
    title = f"{found.loop.law} law, {found.loop.order}: {axes}, {found.points}"
    yield TextTable(columns, rows, title, columns[1:])
    if found.loop.order != found.loop.continuous_order:
        yield from _lines([("continuous", found.loop.stands_for)])
