"""``linkwright page``: one HTML file that plays a motion offline."""

from __future__ import annotations

from pathlib import Path

import typer

from linkwright.base.errors import InputError
from linkwright.cli.models import DRAWN, INITIAL, MESH_DIRS, SCENE, SET, UNTIL, folders
from linkwright.cli.terminal import echo

_WHAT = typer.Argument(
    ...,
    metavar="REC|MODEL ...",
    help="Recordings, a model or a robot file. The first is drawn in full, others as ghosts.",
)
_OUT = typer.Option(
    None,
    "-o",
    "--out",
    metavar="FILE",
    help="The page to write. Default: next to the input, or in this folder.",
)


def command(
    what: list[str] = _WHAT,
    out: Path | None = _OUT,
    model: str = DRAWN,
    root: list[Path] = MESH_DIRS,
    scene_file: str = SCENE,
    until: float | None = UNTIL,
    settings: list[str] = SET,
    initial: list[str] = INITIAL,
    title: str = typer.Option("", "--title", metavar="TEXT", help="Title of the page."),
    most: float = typer.Option(2.9, "--max-size", metavar="MB", help="Maximum size of the page."),
    show: bool = typer.Option(False, "--open", help="Open the page in the browser."),
) -> None:
    """Write an HTML page that plays a recording in any browser, offline.

    \b
    Examples:
      linkwright page run.parquet -o run.html --open
      linkwright page before.parquet after.parquet -o both.html
      linkwright page car --until 4 --set STEER=0.02
      linkwright page robot.urdf --mesh-dir meshes
      linkwright page angles.csv --model robot.urdf --scene cell.toml
    """
    from linkwright.cli.models import read_asked
    from linkwright.pages.page import page_notes, write_page
    from linkwright.recording.files import is_recording
    from linkwright.scene.motions import may_become, open_motion

    asked = read_asked(until, settings, initial, model or what[0])
    first = what[0]
    stem = Path(first).name.partition(":")[0]
    beside = Path(first).parent if is_recording(first) else Path()
    target = beside / f"{Path(stem).stem or stem}.html" if out is None else out
    may_become(target, [*what, model, scene_file])
    if not most > 0:
        raise InputError(f"--max-size {most:g}: must be positive", remedy="allow 2.9 MB, say")
    motions = [
        open_motion(n, model=model, roots=folders(root), scene_file=scene_file or None, asked=asked)
        for n in what
    ]
    size = write_page(target, motions, title=title, most=int(most * 1e6))
    for note in page_notes(motions):
        echo(f"note: {note}", err=True)
    info = f"{target}: {size / 1e6:.2f} MB"
    if not show:
        echo(f"{info}; open it in a browser, or add --open")
        return
    echo(info)
    import webbrowser

    if not webbrowser.open(target.absolute().as_uri()):
        echo(f"note: there is no browser here; open {target} in one", err=True)
