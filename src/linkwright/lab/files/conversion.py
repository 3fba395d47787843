"""From a laboratory of one kind to another: SL folder, `lab.toml`, or its robot alone."""

from __future__ import annotations

import os
from dataclasses import replace as changed
from pathlib import Path

from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.formats.robot.conversion import Conversion, write_description
from linkwright.lab.config import LabConfig
from linkwright.lab.files.lab_writer import write_lab
from linkwright.lab.files.sl_writer import write_sl_lab
from linkwright.lab.sources import lab_config


@worded
def convert_lab(
    source: str | os.PathLike[str] | LabConfig,
    target: str | os.PathLike[str],
    *,
    to: str = "",
    replace: bool = False,
) -> Conversion:
    """Write a laboratory as an SL folder or as `lab.toml` with its robot, or its robot alone.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = convert_lab("sl-arm", Path(folder) / "lab.toml")
    ...     again = convert_lab(folder, Path(folder) / "sl")
    >>> done.format, again.format, [file.name for file in again.files][0]
    ('lab', 'sl', 'sl-arm.dyn')
    """
    config, target = lab_config(source), Path(target)
    suffix = "" if target.is_dir() else target.suffix.lower()
    lab = target.name.endswith(".toml") and not target.name.endswith(".dh.toml")
    key = to or ("sl" if not suffix else "lab" if lab else "")
    if key not in ("sl", "lab"):
        return write_description(config.description, target, to=key, replace=replace)
    if key == "lab" and suffix != ".toml":
        raise InputError("a laboratory is written to a file that ends in .toml", file=target)
    if key == "sl" and suffix:
        raise InputError(
            "a laboratory of SL is a folder, and this is the name of a file",
            file=target,
            remedy="name a folder, or convert the robot's own file",
        )
    write = write_sl_lab if key == "sl" else write_lab
    files, dropped = write(config, target, replace=replace)
    robot = changed(config.description, notes=(*config.description.notes, *config.notes))
    return Conversion(robot, key, files, (), dropped)
