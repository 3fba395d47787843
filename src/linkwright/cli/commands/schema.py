"""``linkwright model schema``: the JSON schemas of the text files that people write."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from linkwright.base.errors import InputError, suggestion
from linkwright.base.lazy import named
from linkwright.cli.terminal import echo

FORMATS = {
    "model": "linkwright.formats.text.schema:ModelFile",
    "scene": "linkwright.scene.scene_tables:SceneTable",
    "catalog": "linkwright.formats.catalog.schema:Catalog",
    "lab": "linkwright.lab.files.lab_tables:LabFile",
    "cell": "linkwright.server.cell_file:CellFile",
    "task": "linkwright.formats.text.tasks:TaskFile",
    "sweep": "linkwright.sweeps.plans:PlanFile",
    "site": "linkwright.mounts.site_files:SiteFile",
    "ship": "linkwright.mounts.ship_files:ShipFile",
    "move": "linkwright.mounts.move_files:MoveFile",
    "wrist": "linkwright.contact.wrist_files:WristTable",
    "loop": "linkwright.sampling.rate_files:LoopFile",
    "design": "linkwright.parallel.design_files:DesignFile",
    "locked": "linkwright.parallel.locked_files:LockedFile",
}
"""Where the table of each format is described, by its name."""


def command(
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help=f"The kind of file: {', '.join(FORMATS)}.")
    ] = "model",
) -> None:
    """Print the JSON schema of a kind of text file, for completion and checks in an editor.

    \b
    Examples:
      linkwright model schema > model.schema.json
      linkwright model schema ship > ship.schema.json
    """
    if kind not in FORMATS:
        remedy = suggestion(kind, FORMATS, f"there are {', '.join(FORMATS)}")
        raise InputError(f"no kind of file is called {kind!r}", remedy=remedy)
    echo(json.dumps(named(FORMATS[kind]).model_json_schema(), indent=2))
