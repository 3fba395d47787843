"""``linkwright new``: a commented text model to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkwright.cli.terminal import echo


def command(
    name: Annotated[str, typer.Argument(help="Name of the new model, or of its file.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; NAME.toml by default.")
    ] = None,
    template: Annotated[
        str, typer.Option("--template", "-t", help="What to start from: pendulum, cart or arm.")
    ] = "pendulum",
    force: Annotated[
        bool, typer.Option("--force", help="Replace a file that is there already.")
    ] = False,
) -> None:
    """Write a commented text model to start from."""
    from linkwright.files import write_text
    from linkwright.formats.starters import starter

    file = Path(name if name.endswith(".toml") else f"{name}.toml")
    text = starter(file.stem, template)
    path = file if output is None else output
    write_text(path, text, replace=force)
    echo(f"wrote {path}; `linkwright check {path}` validates it")
