"""``linkwright studio``: look at models, robots, recordings and cells in the browser."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from typing import Annotated

import typer

from linkwright.base.errors import InputError
from linkwright.cli.cells import Authority, Certificate, Client, Key, open_cell
from linkwright.cli.options import (
    Base,
    Drawn,
    Initial,
    MeshDirs,
    Scene,
    Set,
    Until,
    folders,
    option,
    own,
    read_asked,
)
from linkwright.cli.terminal import echo

WHAT = (
    "A model, a robot file, or recordings: the first is drawn in full, others as ghosts. Or a cell "
    "that runs, by its name or address."
)
NAME = "Accept requests for this host name too (repeatable)."


def command(
    what: Annotated[list[str], typer.Argument(metavar="MODEL|REC|URDF|CELL ...", help=WHAT)],
    browser: Annotated[bool, own(None, "Open the browser.", "--browser/--no-browser")] = True,
    port: Annotated[int, option("--port")] = 0,
    host: Annotated[str, option("--host")] = "127.0.0.1",
    allow_host: Annotated[list[str] | None, own("NAME", NAME)] = None,
    model: Drawn = "",
    root: MeshDirs = None,
    scene_file: Scene = "",
    until: Until = None,
    settings: Set = None,
    initial: Initial = None,
    base: Annotated[Base, option("--base")] = Base.auto,
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
        studio = open_cell_studio(cell, host=host, port=port, allowed=allow_host or ())
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
            allowed=allow_host or (),
        )
    studio.again = shlex.join(["linkwright", *sys.argv[1:]])
    if info := warning(host):
        echo(info, err=True)
    with studio, suppress(KeyboardInterrupt):  # also where Ctrl-C comes before it waits
        echo(f"studio: {studio.address} (Ctrl+C to stop)")
        if browser:
            open_browser(studio.address)
        studio.wait()
