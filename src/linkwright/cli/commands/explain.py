"""``linkwright tools explain``: what the number of an error means."""

from __future__ import annotations

from typing import Annotated

import typer

from linkwright.cli.terminal import echo


def command(
    number: Annotated[
        str | None,
        typer.Argument(metavar="NUMBER", help="Of an error, such as R101. Default: list them."),
    ] = None,
) -> None:
    """Explain the number of an error, or list all numbers.

    \b
    Examples:
      linkwright tools explain R101
      linkwright tools explain
    """
    from linkwright.cli.error_codes import ERRORS, PARTS, explanation
    from linkwright.cli.tables import print_table

    if number is None:
        rows = [(code, e.title, PARTS[code[1]]) for code, e in ERRORS.items()]
        print_table(("number", "error", "part"), rows)
        return
    found = explanation(number)
    echo(f"{number.upper()}: {found.title}")
    echo(found.why)
    echo(found.remedy)
