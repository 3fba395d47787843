"""Where laboratories come from: shipped ones, SL folders, `lab.toml`, and any robot file."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from linkwright.base.errors import InputError, unknown
from linkwright.base.files import is_there, path_of
from linkwright.base.lazy import Later
from linkwright.lab.config import LabConfig
from linkwright.lab.rules import robot_lab
from linkwright.robots import Robot

if TYPE_CHECKING:
    from linkwright.lab.files import lab_reader, sl_folder
else:
    sl_folder = Later("linkwright.lab.files.sl_folder")
    lab_reader = Later("linkwright.lab.files.lab_reader")

SHIPPED = ("sl-arm", "humanoid")
"""The names of laboratories that ship."""

LAB_FILE = "lab.toml"
"""What the file of a laboratory is called in its folder."""


def shipped_folder(name: str) -> Path:
    """Return the folder of a laboratory that ships.

    >>> (shipped_folder("sl-arm") / "arm.dyn").is_file()
    True
    """
    return Path(str(files("linkwright.lab"))) / "robots" / name


def is_lab(source: str | os.PathLike[str]) -> bool:
    """Whether a name is that of a laboratory: a shipped one, its folder or file.

    >>> is_lab("sl-arm"), is_lab("puma560")
    (True, False)
    """
    path = Path(source)
    if is_there(path) and path.is_dir():
        return (path / LAB_FILE).is_file() or sl_folder.model_in(path) is not None
    return str(source) in SHIPPED or lab_reader.is_lab_file(path)


def lab_config(source: str | os.PathLike[str] | LabConfig | Robot) -> LabConfig:
    """Return what a laboratory is set up with.

    >>> arm = lab_config("sl-arm")
    >>> arm.names[:4], arm.rate, arm.end_effectors[0].link
    (('R_SFE', 'R_SAA', 'R_HR', 'R_EB'), 960.0, 'R_WAA')
    """
    if isinstance(source, LabConfig):
        return source
    if isinstance(source, Robot):
        return robot_lab(source)
    path = path_of(source, "a laboratory")
    if str(path) in SHIPPED:
        path = shipped_folder(str(path))
    if is_there(path) and path.is_dir():
        if (path / LAB_FILE).is_file():
            return lab_reader.read_lab(path / LAB_FILE)
        if sl_folder.model_in(path) is None:
            raise InputError(
                f"the folder has no {LAB_FILE} and no .dyn file",
                file=path,
                remedy="name the folder of a laboratory, or the file of a robot",
            )
        return sl_folder.sl_lab(path)
    if path.suffix.lower() == ".dyn":
        return sl_folder.sl_lab(path)
    if lab_reader.is_lab_file(path):
        return lab_reader.read_lab(path)
    if not is_there(path) and not path.suffix:
        from linkwright.models.library import MODELS

        stem = str(path).partition(":")[0]
        if stem not in MODELS:
            ships = " and ".join(SHIPPED)
            there = f"the laboratories {ships} ship, and `linkwright model list` lists more"
            raise unknown("laboratory or model", stem, (*SHIPPED, *MODELS), there)
    return robot_lab(Robot(path if is_there(path) else str(path)))
