"""``linkwright page``: one HTML file that plays a motion offline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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

if TYPE_CHECKING:
    from linkwright.scene.previews import PreviewOptions

WHAT = "Recordings, a model or a robot file. The first is drawn in full, others as ghosts."


def command(
    what: Annotated[list[str] | None, typer.Argument(metavar="REC|MODEL ...", help=WHAT)] = None,
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
    most: Annotated[
        float | None,
        own("MB", "Maximum size of the page, MB. Default: 2.9, live 0.4.", "--max-size"),
    ] = None,
    live: Annotated[bool, own(None, "Let the model itself run in the page.", "--live")] = False,
    controls: Annotated[
        str, own("NAMES", "Live: parameters and inputs with sliders, with commas.", "--controls")
    ] = "",
    graphs: Annotated[
        str, own("NAMES", "Live: channels, graphs with commas, traces with +.", "--graphs")
    ] = "",
    gallery: Annotated[
        Path | None,
        own("DIR", "Live pages of models, of all shipped ones by default, with an index."),
    ] = None,
    exact: Annotated[
        bool, own(None, "Live: the bits of the native run, which takes longer.", "--exact")
    ] = False,
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
      linkwright page pendulum --live -o pendulum.html
      linkwright page whipple --live --controls Tphi,Tdelta --graphs phi+delta
      linkwright page --gallery live
    """
    from linkwright.pages.page import page_notes, write_page
    from linkwright.recording.files import is_recording
    from linkwright.scene.motions import may_become, open_motion

    if gallery is not None:
        if any((out, model, until, settings, initial, title, controls, graphs, exact)):
            raise InputError(
                "a gallery has pages of models as they are, under names of their own",
                remedy="give names of models alone, or make a page of one with --live",
            )
        return _gallery(gallery, what, show)
    if not what:
        raise InputError("there is nothing to show", remedy="name a recording or a model")
    asked = read_asked(until, settings, initial, model or what[0])
    first = what[0]
    stem = Path(first).name.partition(":")[0]
    beside = Path(first).parent if is_recording(first) else Path()
    target = beside / f"{Path(stem).stem or stem}.html" if out is None else out
    may_become(target, [*what, model, scene_file])
    if target.suffix.lower() not in (".html", ".htm"):
        raise InputError("a page is written to a file that ends in .html", file=target)
    if most is not None and not most > 0:
        raise InputError(f"--max-size {most:g}: must be positive", remedy="allow 2.9 MB, say")
    if live:
        return _live(
            target, what, model, roots=folders(root), scene=scene_file or None, asked=asked,
            title=title, controls=_names(controls), graphs=_graphs(graphs), exact=exact,
            most=400_000 if most is None else int(most * 1e6), show=show,
        )  # fmt: skip
    if controls or graphs or exact:
        raise InputError("--controls, --graphs and --exact are of live pages", remedy="add --live")
    most = 2.9 if most is None else most
    motions = [
        open_motion(n, model=model, roots=folders(root), scene_file=scene_file or None, asked=asked)
        for n in what
    ]
    size = write_page(target, motions, title=title, most=int(most * 1e6))
    notes = [f"note: {note}" for note in page_notes(motions)]
    return _written(target, size, notes, show)


def _live(
    target: Path,
    what: list[str],
    model: str,
    *,
    asked: PreviewOptions | None,
    show: bool,
    **more: Any,
) -> CommandResult:
    """Write a page in which a model runs."""
    from linkwright.recording.files import is_recording
    from linkwright.studio.live_page import write_live_page

    if len(what) != 1 or model:
        raise InputError("a live page runs one model", remedy="name one, without --model")
    if is_recording(what[0]):
        raise InputError(
            "a recording is played, and does not run", file=what[0], remedy="name its model"
        )
    if asked is not None and asked.until is not None:
        raise InputError("a live page runs on and on", remedy="leave out --until")
    values, initial = (None, None) if asked is None else (asked.values, asked.initial)
    size = write_live_page(target, what[0], parameters=values, initial=initial, **more)
    return _written(target, size, [], show)


def _gallery(folder: Path, names: list[str] | None, show: bool) -> CommandResult:
    """Write live pages of several models."""
    from linkwright.models.library import MODELS
    from linkwright.studio.live_page import write_gallery

    files, without = write_gallery(folder, names or list(MODELS))
    notes = [f"note: {words}" for words in without]
    if show:
        notes += _opened(files[0])
    count = len(files) - 1
    found = {"page": files[0], "pages": count, "without": without}
    lines = [f"{files[0]}: {count} live page{'s' * (count != 1)}"]
    return CommandResult(found, lines, notes)


def _opened(page: Path) -> list[str]:
    """Open a page in the browser; return a note where there is none."""
    import webbrowser

    done = webbrowser.open(page.absolute().as_uri())
    return [] if done else [f"note: there is no browser here; open {page} in one"]


def _names(text: str) -> list[str] | None:
    return [name.strip() for name in text.split(",")] if text else None


def _graphs(text: str) -> list[list[str]] | None:
    return [[n.strip() for n in part.split("+")] for part in text.split(",")] if text else None


def _written(target: Path, size: int, notes: list[str], show: bool) -> CommandResult:
    info = f"{target}: {size / 1e6:.2f} MB"
    if show:
        notes = [*notes, *_opened(target)]
    else:
        info += "; open it in a browser, or add --open"
    return CommandResult({"page": target, "size_mb": size / 1e6}, [info], notes)
