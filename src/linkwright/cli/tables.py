"""Tables for people: with lines and colors on a terminal, plain columns in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence

from linkwright.cli.terminal import echo, harmless

Row = Sequence[str]


def print_table(
    columns: Row, rows: Sequence[Row], *, title: str = "", numbers: Collection[str] = ()
) -> None:
    """Print a table to the standard output; columns that are empty are left out.

    >>> print_table(("name", "value"), [("L", "1.5"), ("mass", "20")], numbers=["value"])
    name  value
    L       1.5
    mass     20
    """
    kept = [k for k in range(len(columns)) if any(row[k] for row in rows)]
    names = [columns[k] for k in kept]
    cells = [[harmless(row[k]) for k in kept] for row in rows]
    title = harmless(title)
    if sys.stdout.isatty():
        _rich(names, cells, title, numbers)
    else:
        _plain(names, cells, title, numbers)


def _plain(
    names: Sequence[str], cells: Sequence[Row], title: str, numbers: Collection[str]
) -> None:
    if title:
        echo(title)
    widths = [max(len(name), *(len(row[k]) for row in cells), 0) for k, name in enumerate(names)]
    for row in (names, *cells):
        padded = [
            cell.rjust(width) if name in numbers else cell.ljust(width)
            for name, cell, width in zip(names, row, widths, strict=True)
        ]
        echo("  ".join(padded).rstrip())


def _rich(names: Sequence[str], cells: Sequence[Row], title: str, numbers: Collection[str]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD)
    for k, name in enumerate(names):
        table.add_column(
            name,
            justify="right" if name in numbers else "left",
            style="bold cyan" if k == 0 else None,
            overflow="fold",
        )
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)
