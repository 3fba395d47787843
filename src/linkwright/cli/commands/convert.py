"""``linkwright model convert``: a robot file in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkwright.cli.options import Force, MeshDirs, RobotModel, own
from linkwright.cli.results import CommandResult
from linkwright.cli.robots import is_shipped

TARGET = (
    "The file to write: .urdf, .xml, .dh.toml, .toml or .dyn; a folder, for a laboratory of SL; or "
    "a recording."
)
FORMAT = "Format: urdf, mjcf, dh, sl, text or lab. Default: from the file name."


def command(
    source: RobotModel,
    target: Annotated[Path, typer.Argument(metavar="TARGET", help=TARGET)],
    root: MeshDirs = None,
    to: Annotated[str, own("FORMAT", FORMAT, "--format")] = "",
    force: Force = False,
) -> CommandResult:
    """Convert a robot, a laboratory or a recording into another format.

    Robots: URDF, MJCF, Denavit-Hartenberg tables, SL and text models; systems in AUTOSIM's Lisp
    (.lsp). Laboratories: an SL folder, or a TOML file with its robot. Recordings: those of
    `simulate`, with names and units.

    \b
    Examples:
      linkwright model convert robot.urdf robot.xml
      linkwright model convert puma560 puma560.urdf
      linkwright model convert sl-arm arm/lab.toml
      linkwright model convert arm/lab.toml slfolder
      linkwright model convert robot.urdf lab.toml --format lab
      linkwright model convert d00012 run.mat
      linkwright model convert car.lsp car.toml
    """
    from linkwright.recording.files import is_recording

    if is_recording(str(source)) and is_recording(target):
        return _recording(Path(str(source)), target, force)
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
    notes = [f"not read: {entry.words}" for entry in done.unread]
    notes += [f"dropped: {entry.words}" for entry in done.dropped]
    notes += [f"note: {note}" for note in done.robot.notes]
    return CommandResult(
        {
            "format": done.format,
            "files": done.files,
            "not_read": done.unread,
            "dropped": done.dropped,
            "notes": done.robot.notes,
        },
        [f"wrote {', '.join(str(file) for file in done.files)}"],
        notes,
        next=f"model check {done.files[0]}",
    )


def _recording(source: Path, target: Path, force: bool) -> CommandResult:
    """Convert a recording; what a format cannot keep is said."""
    from linkwright.recording.files import file_format, read_recording, write_recording

    made, chosen = read_recording(source), file_format(target)
    write_recording(target, made, replace=force)
    notes = [] if chosen.exact else [f"a {chosen.words} has numbers of single precision"]
    return CommandResult(
        {"format": chosen.words, "files": [target], "samples": len(made), "channels": made.names},
        [f"wrote {target}: {len(made)} samples of {len(made.channels)} channels"],
        notes,
        next=f"plot {target}",
    )
