"""``linkwright tools reproduce``: figures and tables of five documents, made again by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwright.base.errors import InputError
from linkwright.cli.options import option, own
from linkwright.cli.results import CommandResult, TextTable

if TYPE_CHECKING:
    from linkwright.reproduce.catalog import Figure


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME ...", help="Figures and tables, as listed. Default: list them."
        ),
    ] = None,
    every: Annotated[bool, own(None, "Make all of them.", "--all")] = False,
    out: Annotated[
        Path | None, option("--out", "A folder, for pictures and data; with --all also a page.")
    ] = None,
) -> CommandResult:
    """Reproduce figures and tables of five documents, and compare their numbers with ours.

    The documents are theses and manuals that Linkwright takes as its standard: AUTOSIM, parallel
    antenna mounts, a motion server, ROBSIM and SL. `linkwright reproduce` does the same.

    \b
    Examples:
      linkwright tools reproduce
      linkwright tools reproduce autosim-fig-9-1-9 -o out
      linkwright tools reproduce --all -o out
    """
    from linkwright.reproduce.catalog import chosen, figures

    if every and names:
        raise InputError("--all makes all of them", remedy="leave the names out")
    if not every and not names:
        if out is not None:
            raise InputError("there is nothing to make", remedy="name a figure, or give --all")
        return _listed(list(figures().values()))
    if every:
        return _made([f for f in figures().values() if f.made_by], out, page=True)
    return _made(chosen(names or ()), out)


def _listed(all_of_them: list[Figure]) -> CommandResult:
    done = sum(bool(f.made_by) for f in all_of_them)
    rows = [(f.name, f.title, "" if f.made_by else f"not yet: {f.not_yet}") for f in all_of_them]
    data = [
        {"name": f.name, "document": f.document, "title": f.title, "not_yet": f.not_yet or None}
        for f in all_of_them
    ]
    return CommandResult(
        data,
        [TextTable(("name", "title", "remark"), rows), f"{done} of {len(rows)} can be made"],
        next=f"tools reproduce {all_of_them[0].name} -o out",
    )


def _made(asked: list[Figure], out: Path | None, *, page: bool = False) -> CommandResult:
    from linkwright.reproduce import page as pages
    from linkwright.reproduce.catalog import figures
    from linkwright.reproduce.reproduction import HEAD

    found = {told.name: told.reproduce() for told in asked}
    written = None
    if out is not None:
        for told in asked:
            pages.write(out, told, found[told.name])
        written = out
    if out is not None and page:
        written = out / "index.html"
        pages.write_page(written, found, list(figures().values()))
    text: list[str | TextTable] = []
    for told in asked:
        each = found[told.name]
        title = f"{told.name}: {told.title} ({told.document})"
        text.append(TextTable(HEAD, [c.shown() for c in each.checks], title, HEAD[1:4]))
        text.extend(filter(None, (each.note, "")))
    if page:
        text.append(pages.summary(found, list(figures().values())))
    return CommandResult(
        [pages.as_data(told, found[told.name]) for told in asked],
        text,
        files={"written": written},
        code=0 if all(each.holds for each in found.values()) else 1,
    )
