"""``linkwright model convert``: a robot file in another format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from linkwright.cli.robots import ROBOT, is_shipped
from linkwright.cli.terminal import echo


def command(
    source: Annotated[str, typer.Argument(metavar="ROBOT", help=ROBOT)],
    target: Annotated[
        Path,
        typer.Argument(
            help="The file to write: .urdf, .xml, .dh.toml, .toml or .dyn; or a folder, for a"
            " laboratory of SL."
        ),
    ],
    root: Annotated[
        list[Path] | None,
        typer.Option("--mesh-dir", metavar="DIR", help="A folder with meshes (repeatable)."),
    ] = None,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="FORMAT",
            help="Format: urdf, mjcf, dh, sl, text or lab. Default: from the file name.",
        ),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Convert a robot between URDF, MJCF, Denavit-Hartenberg tables, SL and text models, or a
    laboratory between an SL folder and a TOML file with its robot.

    \b
    Examples:
      linkwright model convert robot.urdf robot.xml
      linkwright model convert puma560 puma560.urdf
      linkwright model convert sl-arm arm/lab.toml
      linkwright model convert arm/lab.toml slfolder
      linkwright model convert robot.urdf lab.toml --to lab
    """
    from dataclasses import asdict

    from linkwright.formats.robot.conversion import convert, convert_mechanism
    from linkwright.lab.files.conversion import convert_lab
    from linkwright.lab.sources import is_lab

    if is_lab(source) or to == "lab":
        done = convert_lab(source, target, to=to, replace=force)
    elif is_shipped(source):
        from linkwright.models import load_model

        done = convert_mechanism(load_model(source), target, to=to, replace=force)
    else:
        done = convert(source, target, roots=root or (), to=to, replace=force)
    if as_json:
        report = {
            "format": done.format,
            "files": [str(file) for file in done.files],
            "not read": [asdict(entry) for entry in done.unread],
            "dropped": [asdict(entry) for entry in done.dropped],
            "notes": list(done.robot.notes),
        }
        echo(json.dumps(report, indent=2))
        return
    for label, entries in (("not read", done.unread), ("dropped", done.dropped)):
        for entry in entries:
            echo(f"{label}: {entry.words}", err=True)
    for note in done.robot.notes:
        echo(f"note: {note}", err=True)
    echo(f"wrote {', '.join(str(file) for file in done.files)}")
