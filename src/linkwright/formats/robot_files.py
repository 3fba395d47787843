"""The formats of robot files: how each is recognised, read and written.

A format is a line in `FORMATS`: the endings of its files, the root element where it is XML, or the
key that tells it from other TOML; where its reader is, a function of a path and `roots`; and where
its writer is, a function from a `Description` to `Written`. They are imported when they are needed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from linkwright.errors import InputError
from linkwright.formats.description import Description, Written
from linkwright.formats.xml import DEFAULT_CAPS, read_bytes, root_tag

_CONVENTION = re.compile(rb"^convention[ \t]*=", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class RobotFormat:
    """A format of robot files.

    Args:
        name: for people.
        suffixes: endings of the names of its files; the first is the usual one.
        reader: module and function, from (path, roots=...) to a Description.
        writer: module and function, from a Description to Written; empty where there is none.
        root: the root element, where it is XML.
    """

    name: str
    suffixes: tuple[str, ...]
    reader: str
    writer: str = ""
    root: str = ""


FORMATS: dict[str, RobotFormat] = {
    "urdf": RobotFormat(
        "URDF",
        (".urdf", ".xml"),
        "linkwright.formats.urdf.reader:read_urdf",
        "linkwright.formats.urdf.writer:urdf_text",
        root="robot",
    ),
    "dh": RobotFormat(
        "Denavit-Hartenberg table",
        (".toml",),
        "linkwright.formats.dh.reader:read_dh",
        "linkwright.formats.dh.writer:dh_text",
    ),
    "sl": RobotFormat(
        "SL",
        (".dyn",),
        "linkwright.formats.sl.reader:read_dyn",
        "linkwright.formats.sl.writer:dyn_text",
    ),
}


def robot_format(path: str | os.PathLike[str]) -> str | None:
    """Return the key in `FORMATS` of the format that a file is in, or None where it is in none.

    A file that ends in ``.xml`` is told by its root element, one that ends in ``.toml`` by whether
    it holds the table of joints of Denavit and Hartenberg.

    Args:
        path: of a file that exists.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    fit = [key for key, f in FORMATS.items() if suffix in f.suffixes]
    if suffix == ".xml" and fit:
        tag = root_tag(read_bytes(path, DEFAULT_CAPS.size), file=str(path))
        return next((key for key in fit if FORMATS[key].root == tag), None)
    if suffix == ".toml":
        text = read_bytes(path, DEFAULT_CAPS.size)
        return "dh" if _CONVENTION.search(text) else None
    if suffix == ".xacro":
        return "urdf"
    return fit[0] if fit else None


def read_description(
    path: str | os.PathLike[str], *, roots: Sequence[str | os.PathLike[str]] = ()
) -> Description:
    """Return what a robot file says, in whatever known format it is.

    Args:
        path: of the file.
        roots: folders in which meshes may lie; without any, the folder of the file.
    """
    key = robot_format(path)
    if key is None:
        known = sorted({s for f in FORMATS.values() for s in f.suffixes})
        raise InputError(
            "this is no robot file of a known format",
            file=path,
            remedy=f"known endings are {', '.join(known)}",
        )
    found: Description = _function(FORMATS[key].reader)(
        Path(path), roots=tuple(Path(root) for root in roots)
    )
    return found


def written_description(description: Description, key: str) -> Written:
    """Return the text of a description in a format, and what that cannot hold.

    Args:
        description: of a robot.
        key: of the format, in `FORMATS`.
    """
    if key not in FORMATS or not FORMATS[key].writer:
        held = ", ".join(k for k, f in FORMATS.items() if f.writer)
        raise InputError(f"nothing is written as {key!r}", remedy=f"use one of {held}")
    found: Written = _function(FORMATS[key].writer)(description)
    return found


def _function(place: str) -> Callable[..., Any]:
    module, _, name = place.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found
