"""``linkwright model schema``: the JSON schemas of the text files that people write."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer

from linkwright.base.errors import InputError, suggestion
from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.formats.text.tables import Record


def formats() -> dict[str, type[Record]]:
    """Return the table of each format by its name.

    >>> sorted(formats())[:2]
    ['catalog', 'cell']
    """
    from linkwright.contact.wrist_files import WristTable
    from linkwright.formats.catalog.schema import Catalog
    from linkwright.formats.text.schema import ModelFile
    from linkwright.formats.text.tasks import TaskFile
    from linkwright.lab.files.lab_tables import LabFile
    from linkwright.mounts.move_files import MoveFile
    from linkwright.mounts.ship_files import ShipFile
    from linkwright.mounts.site_files import SiteFile
    from linkwright.parallel.design_files import DesignFile
    from linkwright.parallel.locked_files import LockedFile
    from linkwright.sampling.rate_files import LoopFile
    from linkwright.scene.scene_tables import SceneTable
    from linkwright.server.cell_file import CellFile
    from linkwright.sweeps.plans import PlanFile

    return {
        "model": ModelFile,
        "scene": SceneTable,
        "catalog": Catalog,
        "lab": LabFile,
        "cell": CellFile,
        "task": TaskFile,
        "sweep": PlanFile,
        "site": SiteFile,
        "ship": ShipFile,
        "move": MoveFile,
        "wrist": WristTable,
        "loop": LoopFile,
        "design": DesignFile,
        "locked": LockedFile,
    }


def command(
    kind: str = typer.Argument("model", help="The kind of file, such as cell or task."),
    scene_file: bool = typer.Option(False, "--scene", help="The same as the argument scene."),
    catalog: bool = typer.Option(False, "--catalog", help="The same as the argument catalog."),
    lab: bool = typer.Option(False, "--lab", help="The same as the argument lab."),
) -> None:
    """Print the JSON schema of a kind of text file, for completion and checks in an editor.

    \b
    Examples:
      linkwright model schema > model.schema.json
      linkwright model schema ship > ship.schema.json
    """
    flags = (("scene", scene_file), ("catalog", catalog), ("lab", lab))
    name = next((name for name, flag in flags if flag), kind)
    known = formats()
    if name not in known:
        remedy = suggestion(name, known, f"there are {', '.join(known)}")
        raise InputError(f"no kind of file is called {name!r}", remedy=remedy)
    echo(json.dumps(known[name].model_json_schema(), indent=2))


if __name__ == "__main__":
    import sys

    from linkwright.formats.schema_page import page

    sys.stdout.write(page({name: table for name, table in formats().items() if name != "model"}))
