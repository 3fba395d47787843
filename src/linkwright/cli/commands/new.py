"""``linkwright model new``: a commented text model to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkwright.cli.options import Force, option
from linkwright.cli.results import CommandResult


def command(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the new model, or of its file.")
    ],
    out: Annotated[Path | None, option("--out", "Default: NAME.toml.")] = None,
    template: Annotated[
        str,
        typer.Option(
            "--template",
            "-t",
            metavar="WHAT",
            help="What to start from: pendulum, cart (wheels that roll), arm (any number of "
            "links), crank (a closed loop), motor (ready for a controller), lab (a laboratory), "
            "cell (arms to serve), or any shipped model.",
        ),
    ] = "pendulum",
    force: Force = False,
) -> CommandResult:
    """Write a commented text model, a laboratory, or a cell, to start from.

    \b
    Examples:
      linkwright model new swing
      linkwright model new press --template crank
      linkwright model new my-car --template car
      linkwright model new my-lab --template lab
      linkwright model new my-cell --template cell
    """
    from linkwright.base.files import write_text
    from linkwright.formats.text.starters import STARTERS, starter
    from linkwright.models.library import model_text

    file = Path(name if name.endswith(".toml") else f"{name}.toml")
    if template == "lab":
        from linkwright.lab.files.lab_writer import starter_text

        text = starter_text(file.stem)
    elif template == "cell":
        from linkwright.server.cell_file import starter_text

        text = starter_text(file.stem)
    elif template in STARTERS:
        text = starter(file.stem, template)
    else:
        text = model_text(template, file.stem)
    path = file if out is None else out
    write_text(path, text, replace=force)
    return CommandResult(
        {"file": path},
        [f"wrote {path}; `linkwright model check {path}` validates it"],
        next=f"model check {path}",
    )
