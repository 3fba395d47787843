"""``linkwright tools video``: a motion as a video."""

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
        Path | None, option("--out", "A video (.mp4, .webm, .gif, .webp). Default: an .mp4.")
    ] = None,
    model: Drawn = "",
    root: MeshDirs = None,
    scene_file: Scene = "",
    until: Until = None,
    settings: Set = None,
    initial: Initial = None,
    size: Annotated[str, own("WxH", "Width and height, pixels.", "--pixels")] = "1280x720",
    rate: Annotated[float, option("--rate")] = 30.0,
    pace: Annotated[float, option("--pace")] = 1.0,
    camera: Annotated[
        str, own("DEG,DEG[,X]", "Azimuth and height, deg, and distance of the usual.", "--camera")
    ] = "",
    dark: Annotated[bool, own(None, "The dark looks.", "--dark")] = False,
    plain: Annotated[bool, own(None, "Draw without a browser, plainly.", "--plain")] = False,
) -> CommandResult:
    """Write a video of a motion, drawn as its page in Chromium.

    \b
    Examples:
      linkwright tools video run.parquet -o run.mp4
      linkwright tools video car --until 4 -o car.gif --pixels 480x300 --rate 15
      linkwright tools video run.parquet -o slow.webm --pace 0.25 --camera=-60,25
    """
    from linkwright.cli.progress import part_bar
    from linkwright.scene.motions import may_become, open_motion
    from linkwright.studio.video import VideoLook, check_target, write_video

    stem = Path(what[0]).name.partition(":")[0]
    target = Path(f"{Path(stem).stem or stem}.mp4") if out is None else out
    wide, _, tall = size.partition("x")
    if not (wide.isdigit() and tall.isdigit()):
        raise InputError(f"--pixels {size} is not a size", remedy="give 1280x720, say")
    look = VideoLook((int(wide), int(tall)), rate, pace, _camera(camera), dark)
    check_target(target, look)
    may_become(target, [*what, model, scene_file])
    asked = read_asked(until, settings, initial, model or what[0])
    motions = [
        open_motion(n, model=model, roots=folders(root), scene_file=scene_file or None, asked=asked)
        for n in what
    ]
    with part_bar("video", len(look.times(motions[0]))) as show:
        count, how = write_video(target, motions, look, progress=show, plain=plain)
    megabytes = target.stat().st_size / 1e6
    found = {"video": target, "frames": count, "size_mb": megabytes, "drawn": how}
    return CommandResult(found, [f"{target}: {count} frames, {megabytes:.2f} MB, drawn {how}"])


def _camera(text: str) -> tuple[float | None, float | None, float]:
    """Return azimuth and height, degrees, and the distance of the usual one."""
    if not text:
        return None, None, 1.0
    words = text.split(",")
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        numbers = []
    if not 2 <= len(numbers) <= 3 or not -90 <= numbers[1] <= 90:
        raise InputError(
            f"--camera {text}: this is not a place of a camera",
            remedy="give azimuth and height in degrees, and a distance: --camera=-60,25,1.2",
        )
    return numbers[0], numbers[1], numbers[2] if len(numbers) > 2 else 1.0
