"""``linkwright info``: what a bug report or a table of timings should say about the machine."""

from __future__ import annotations

import dataclasses
import json

import typer


def command(
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of a table."),
) -> None:
    """Show the versions and the processor that results here come from."""
    from linkwright.cli.machine import describe

    machine = describe()
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(machine), indent=2))
        return
    for label, value in machine.lines():
        typer.echo(f"{label:<10} {value}")
