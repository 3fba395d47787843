"""``linkwright studio``: look at models, robots, recordings and cells in the browser."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from enum import Enum
from pathlib import Path

import typer

from linkwright.base.errors import InputError
from linkwright.cli.cells import Authority, Certificate, Client, Key, open_cell
from linkwright.cli.models import DRAWN, INITIAL, MESH_DIRS, SCENE, SET, UNTIL, folders
from linkwright.cli.terminal import echo

_WHAT = typer.Argument(
    ...,
    metavar="MODEL|REC|URDF|CELL ...",
    help="A model, a robot file, or recordings: the first is drawn in full, others as ghosts. "
    "Or a cell that runs, by its name or address.",
)
_NAME = typer.Option(
    [],
    "--allow-host",
    metavar="NAME",
    help="Accept requests for this host name too (repeatable).",
)


class BaseOption(Enum):
    """How the root of a robot is held."""

    auto = "auto"
    free = "free"
    fixed = "fixed"
    file = "file"


_BASE = typer.Option(
    BaseOption.auto,
    "--base",
    metavar="KIND",
    help="Base of a robot file: auto (free for walking robots), free, fixed or file.",
)


def command(
    what: list[str] = _WHAT,
    browser: bool = typer.Option(True, "--browser/--no-browser", help="Open the browser."),
    port: int = typer.Option(
        0, "--port", metavar="N", help="Port to listen on; 0 picks a free one."
    ),
    host: str = typer.Option(
        "127.0.0.1", "--host", metavar="ADDRESS", help="Address to listen on."
    ),
    allow_host: list[str] = _NAME,
    model: str = DRAWN,
    root: list[Path] = MESH_DIRS,
    scene_file: str = SCENE,
    until: float | None = UNTIL,
    settings: list[str] = SET,
    initial: list[str] = INITIAL,
    base: BaseOption = _BASE,
    client: Client = None,
    certificate: Certificate = None,
    key: Key = None,
    authority: Authority = None,
) -> None:
    """Open the interactive viewer in a browser.

    \b
    Examples:
      linkwright studio stanford-arm-controlled --until 20
      linkwright studio run.parquet
      linkwright studio robot.urdf --mesh-dir meshes --no-browser
      linkwright studio stanford-arm --scene work-cell
      linkwright studio angles.csv --model robot.urdf --scene cell.toml
      linkwright studio cell1
    """
    from linkwright.cli.models import read_asked
    from linkwright.studio.access import warning
    from linkwright.studio.cell_studio import is_cell, open_cell_studio
    from linkwright.studio.display import open_browser
    from linkwright.studio.server import open_studio

    if len(what) == 1 and is_cell(what[0]):
        if model or root or scene_file or until is not None or settings or initial:
            raise InputError(
                f"{what[0]} is a cell that runs, and is shown as it is",
                remedy="leave out --model, --mesh-dir, --scene, --until, --set and --initial",
            )
        cell = open_cell(what[0], client, certificate, key, authority)
        studio = open_cell_studio(cell, host=host, port=port, allowed=allow_host)
    else:
        asked = read_asked(until, settings, initial, model or what[0])
        studio = open_studio(
            what,
            model=model,
            roots=folders(root),
            scene_file=scene_file or None,
            asked=asked,
            base=base.value,
            host=host,
            port=port,
            allowed=allow_host,
        )
    studio.again = shlex.join(["linkwright", *sys.argv[1:]])
    if info := warning(host):
        echo(info, err=True)
    with studio, suppress(KeyboardInterrupt):  # also where Ctrl-C comes before it waits
        echo(f"studio: {studio.address} (Ctrl+C to stop)")
        if browser:
            open_browser(studio.address)
        studio.wait()
