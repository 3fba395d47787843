"""The formats of robot files: how each is recognized, read and written.

A format is an entry in `FORMATS`: the endings of its files and the root element where it is XML;
where its reader is, a function of a path and `roots`; and where its writer is, a function from a
`Description` to `Written`. They are imported when they are needed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwright.border import worded
from linkwright.errors import InputError
from linkwright.files import path_of
from linkwright.formats.robot.description import Description, Written
from linkwright.formats.robot.xml import DEFAULT_CAPS, read_bytes, root_tag

if TYPE_CHECKING:
    from linkwright.mechanism import Mechanism

_TARGETS = {".urdf": "urdf", ".xml": "mjcf", ".mjcf": "mjcf", ".dyn": "sl", ".toml": "text"}
_CONVENTION = re.compile(rb"^convention[ \t]*=", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class RobotFormat:
    """A format of robot files."""

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
    "mjcf": RobotFormat(
        "MJCF",
        (".xml", ".mjcf"),
        "linkwright.formats.mjcf.reader:read_mjcf",
        "linkwright.formats.mjcf.writer:mjcf_text",
        root="mujoco",
    ),
    "dh": RobotFormat(
        "Denavit-Hartenberg table",
        (".toml",),
        "linkwright.formats.dh.reader:read_dh",
        "linkwright.formats.dh.writer:dh_text",
    ),
    "text": RobotFormat(
        "text model",
        (".toml",),
        "linkwright.formats.robot.from_mechanism:read_text_model",
        "linkwright.formats.robot.to_text:robot_text",
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
    """
    path = Path(path)
    suffix = path.suffix.lower()
    fit = [key for key, f in FORMATS.items() if suffix in f.suffixes]
    if suffix == ".xml" and fit:
        tag = root_tag(read_bytes(path, DEFAULT_CAPS.size), file=str(path))
        return next((key for key in fit if FORMATS[key].root == tag), None)
    if suffix == ".toml":
        text = read_bytes(path, DEFAULT_CAPS.size)
        return "dh" if _CONVENTION.search(text) else "text"
    if suffix == ".xacro":
        return "urdf"
    return fit[0] if fit else None


def target_format(path: str | os.PathLike[str]) -> str:
    """Return the key of the format that a file to be written should have, from its name.

    >>> target_format("arm.urdf"), target_format("arm.dh.toml"), target_format("arm.toml")
    ('urdf', 'dh', 'text')
    """
    name = Path(path).name.lower()
    if name.endswith(".dh.toml"):
        return "dh"
    suffix = Path(name).suffix
    found = _TARGETS.get(suffix)
    if found is None:
        raise InputError(
            f"the ending {suffix!r} tells no format to write",
            file=path,
            remedy=f"use one of {', '.join(_TARGETS)}, or say the format",
        )
    return found


def read_mechanism(
    path: str | os.PathLike[str],
    *,
    options: Mapping[str, int] | None = None,
    trust: bool = False,
) -> Mechanism:
    """Return the mechanism of a robot file, or of a text model."""
    if robot_format(path) == "text":
        from linkwright.formats.text.files import read_model

        return read_model(path, options=options, trust=trust)
    if options:
        raise InputError("a robot file has no options", file=path)
    from linkwright.formats.robot.to_mechanism import assembled

    return assembled(read_description(path)).mechanism


@worded
def read_description(
    path: str | os.PathLike[str], *, roots: Sequence[str | os.PathLike[str]] = ()
) -> Description:
    """Return what a robot file says, in whatever known format it is.

    Args:
        path: of the file.
        roots: folders in which meshes may lie, beside the folder of the file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "r.urdf"
    ...     _ = file.write_text("<robot name='r'><link name='a'/></robot>")
    ...     read_description(file).links
    (Link(name='a', mass=None, shapes=(), line=1),)
    """
    path = path_of(path, "a robot")
    key = robot_format(path)
    if key is None:
        known = sorted({s for f in FORMATS.values() for s in f.suffixes})
        raise InputError(
            "this is no robot file of a known format",
            file=path,
            remedy=f"known endings are {', '.join(known)}",
        )
    found: Description = _function(FORMATS[key].reader)(
        path, roots=tuple(Path(root) for root in roots)
    )
    return found


def written_description(description: Description, key: str) -> Written:
    """Return the text of a description in a format, and what that cannot hold."""
    if key not in FORMATS or not FORMATS[key].writer:
        held = ", ".join(k for k, f in FORMATS.items() if f.writer)
        raise InputError(f"nothing is written as {key!r}", remedy=f"use one of {held}")
    found: Written = _function(FORMATS[key].writer)(description)
    return found


def _function(place: str) -> Callable[..., Any]:
    module, _, name = place.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found
