"""``linkwright check``: is a text model right, and what is it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def command(
    file: Annotated[Path, typer.Argument(help="A text model (.toml).")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")] = False,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=N", help="Set one of the model's options, as in n=4."),
    ] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Allow C code in the file to be compiled.")
    ] = False,
) -> None:
    """Validate a text model: syntax, names, units, and whether it can be derived."""
    from linkwright.formats.checking import check
    from linkwright.formats.document import ModelError
    from linkwright.formats.text import open_model

    try:
        document = open_model(file)
    except ModelError as error:
        for fault in error.faults[1:]:
            typer.echo(f"also: {fault}", err=True)
        raise
    report = check(document, options=_options(option or []), trust=trust)
    if as_json:
        facts = [{"what": label, "is": text} for label, text in report.facts]
        typer.echo(json.dumps({"facts": facts, "warnings": report.warnings}, indent=2))
        return
    for label, text in report.facts:
        typer.echo(f"{label:<12} {text}")
    for warning in report.warnings:
        typer.echo(f"warning: {warning}", err=True)
    count = len(report.warnings)
    typer.echo(f"{file}: sound" + (f", with {count} warning(s)" if count else ""))


def _options(words: list[str]) -> dict[str, int]:
    from linkwright.errors import InputError

    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not value.strip().lstrip("-").isdecimal():
            raise InputError(f"option {word!r} is not NAME=N with a whole number N")
        found[name.strip()] = int(value)
    return found
