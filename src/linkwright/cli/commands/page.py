"""``linkwright page``: one HTML file that plays a motion offline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkwright.base.errors import InputError
from linkwright.cli.options import (
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
from linkwright.cli.results import CommandResult

WHAT = "Recordings, a model or a robot file. The first is drawn in full, others as ghosts."


def command(
    what: Annotated[list[str], typer.Argument(metavar="REC|MODEL ...", help=WHAT)],
    out: Annotated[
        Path | None, option("--out", "A page (.html). Default: next to the input, or here.")
    ] = None,
    model: Drawn = "",
    root: MeshDirs = None,
    scene_file: Scene = "",
    until: Until = None,
    settings: Set = None,
    initial: Initial = None,
    title: Annotated[str, option("--title")] = "",
    most: Annotated[float, own("MB", "Maximum size of the page, MB.", "--max-size")] = 2.9,
    show: Annotated[bool, own(None, "Open the page in the browser.", "--open")] = False,
) -> CommandResult:
    """Write an HTML page that plays a recording in any browser, offline.

    \b
    Examples:
      linkwright page run.parquet -o run.html --open
      linkwright page before.parquet after.parquet -o both.html
      linkwright page car --until 4 --set STEER=0.02
      linkwright page robot.urdf --mesh-dir meshes
      linkwright page angles.csv --model robot.urdf --scene cell.toml
    """
    from linkwright.pages.page import page_notes, write_page
    from linkwright.recording.files import is_recording
    from linkwright.scene.motions import may_become, open_motion

    asked = read_asked(until, settings, initial, model or what[0])
    first = what[0]
    stem = Path(first).name.partition(":")[0]
    beside = Path(first).parent if is_recording(first) else Path()
    target = beside / f"{Path(stem).stem or stem}.html" if out is None else out
    may_become(target, [*what, model, scene_file])
    if target.suffix.lower() not in (".html", ".htm"):
        raise InputError("a page is written to a file that ends in .html", file=target)
    if not most > 0:
        raise InputError(f"--max-size {most:g}: must be positive", remedy="allow 2.9 MB, say")
    motions = [
        open_motion(n, model=model, roots=folders(root), scene_file=scene_file or None, asked=asked)
        for n in what
    ]
    size = write_page(target, motions, title=title, most=int(most * 1e6))
    notes = [f"note: {note}" for note in page_notes(motions)]
    info = f"{target}: {size / 1e6:.2f} MB"
    if show:
        import webbrowser

        if not webbrowser.open(target.absolute().as_uri()):
            notes.append(f"note: there is no browser here; open {target} in one")
    else:
        info += "; open it in a browser, or add --open"
    return CommandResult({"page": target, "size_mb": size / 1e6}, [info], notes)
