"""``linkwright tools explain``: what the number of an error means."""

from __future__ import annotations

from typing import Annotated

import typer

from linkwright.cli.results import CommandResult, TextTable


def command(
    number: Annotated[
        str | None,
        typer.Argument(metavar="NUMBER", help="Of an error, such as R101. Default: list them."),
    ] = None,
) -> CommandResult:
    """Explain the number of an error, or list all numbers.

    Errors without a number say by themselves what is wrong, where, and what to do.

    \b
    Examples:
      linkwright tools explain R101
      linkwright tools explain
    """
    from linkwright.cli.error_codes import ERRORS, NOTE, PARTS, explanation

    if number is None:
        rows = [(code, e.title, PARTS[code[1]]) for code, e in ERRORS.items()]
        data = [{"number": code, **e._asdict()} for code, e in ERRORS.items()]
        return CommandResult(data, [TextTable(("number", "error", "part"), rows), NOTE])
    found, code = explanation(number), number.upper()
    return CommandResult(
        {"number": code, **found._asdict()},
        [f"{code}: {found.title}", found.why, found.remedy],
    )
