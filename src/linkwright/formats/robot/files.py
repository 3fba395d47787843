"""The formats of robot files: one record each, from which all else about them follows.

A format is an entry in `FORMATS`. Its record says which endings are read and written, how a file is
distinguished from others with the same ending, whether a file says everything by itself, where
its reader is (a function of a path and `roots`) and where its writer is (a function from a
`Description` to `Written`). Readers and writers are imported when they are needed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.base.files import LARGEST, opened_file, path_of, read_bytes
from linkwright.base.lazy import named
from linkwright.formats.robot.xml import root_tag

if TYPE_CHECKING:
    from linkwright.formats.robot.description import Description, WrittenDescription
    from linkwright.mechanism import Mechanism
    from linkwright.system import System


@dataclass(frozen=True, slots=True)
class RobotFormat:
    """A format of robot files."""

    name: str  # for people
    endings: tuple[str, ...]  # of files that are read
    reader: str | Callable[..., Description]  # the function, or `module:function`
    # the function, or `module:function`; empty where nothing is written
    writer: str | Callable[[Description], WrittenDescription] = ""
    # endings of files that are written in it; as `endings` unless given
    targets: tuple[str, ...] | None = None
    root: str = ""  # the root element, where it is XML
    mark: str = ""  # a pattern that its files hold and others with the same ending do not
    # a pattern of what takes in other files that matter to the motion; None where no file does, ""
    # where every file does
    refers: str | None = ""

    def holds(self, content: bytes, file: str) -> bool:
        """Whether a file with one of the endings is in this format."""
        if self.root:
            return root_tag(content, file=file) == self.root
        return re.search(self.mark.encode(), content, re.MULTILINE) is not None

    def is_whole(self, content: bytes) -> bool:
        """Whether a file says by itself how the robot moves."""
        return self.refers is None or not re.search(self.refers.encode(), content)


FORMATS: dict[str, RobotFormat] = {
    "urdf": RobotFormat(
        "URDF",
        (".urdf", ".xml", ".xacro"),
        "linkwright.formats.urdf.reader:read_urdf",
        "linkwright.formats.urdf.writer:urdf_text",
        targets=(".urdf",),
        root="robot",
        refers=None,
    ),
    "mjcf": RobotFormat(
        "MJCF",
        (".xml", ".mjcf"),
        "linkwright.formats.mjcf.reader:read_mjcf",
        "linkwright.formats.mjcf.writer:mjcf_text",
        root="mujoco",
        refers="<(include|mesh|hfield|model)",
    ),
    "dh": RobotFormat(
        "Denavit-Hartenberg table",
        (".toml",),
        "linkwright.formats.dh.reader:read_dh",
        "linkwright.formats.dh.writer:dh_text",
        targets=(".dh.toml",),
        mark=r"^convention[ \t]*=",
        refers=None,
    ),
    "text": RobotFormat(
        "text model",
        (".toml",),
        "linkwright.formats.robot.from_mechanism:read_text_model",
        "linkwright.formats.robot.to_text:robot_text",
        refers=r"(?m)^\s*(\[\[\s*(component\.\S+\.)?part\s*\]\]|part\s*=)",
    ),
    "sl": RobotFormat(
        "SL",
        (".dyn",),
        "linkwright.formats.sl.reader:read_dyn",
        "linkwright.formats.sl.writer:dyn_text",
    ),
}


AUTOSIM = (".lsp", ".lisp")
"""Endings of descriptions in AUTOSIM's Lisp, which are models and not robots."""


def endings() -> tuple[str, ...]:
    """Return the endings of all files that are read.

    >>> ".urdf" in endings()
    True
    """
    found = [ending for form in FORMATS.values() for ending in form.endings]
    return tuple(dict.fromkeys((*found, *AUTOSIM)))


def is_autosim(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a description in AUTOSIM's Lisp, by its name.

    >>> is_autosim("car.lsp"), is_autosim("car.toml")
    (True, False)
    """
    return Path(path).suffix.lower() in AUTOSIM


def robot_format(path: str | os.PathLike[str], content: bytes | None = None) -> str | None:
    """Return the key in `FORMATS` of the format that a file is in, or None where it is in none.

    What the file holds is looked at where several formats have its ending.
    """
    suffix = Path(path).suffix.lower()
    fit = [key for key, form in FORMATS.items() if suffix in form.endings]
    if len(fit) < 2:
        return fit[0] if fit else None
    found = read_bytes(path, LARGEST) if content is None else content
    return next((key for key in fit if FORMATS[key].holds(found, str(path))), None)


def is_whole(path: str | os.PathLike[str], content: bytes) -> bool:
    """Whether a file says everything by itself, so that its digest stands for the robot.

    >>> is_whole("a.mjcf", b"<mujoco/>"), is_whole("a.mjcf", b"<mujoco><include file='b'/>")
    (True, False)
    """
    try:
        key = robot_format(path, content)
    except InputError:  # whoever reads the file says what is wrong with it
        return False
    return key is not None and FORMATS[key].is_whole(content)


def target_format(path: str | os.PathLike[str]) -> str:
    """Return the key of the format that a file to be written should have, from its name.

    >>> target_format("arm.urdf"), target_format("arm.dh.toml"), target_format("arm.toml")
    ('urdf', 'dh', 'text')
    """
    name = Path(path).name.lower()
    known = {
        ending: key
        for key, form in FORMATS.items()
        if form.writer
        for ending in (form.endings if form.targets is None else form.targets)
    }
    fit = max((ending for ending in known if name.endswith(ending)), key=len, default=None)
    if fit is None:
        raise InputError(
            f"the ending {Path(name).suffix!r} has no format to write",
            file=path,
            remedy=f"use one of {', '.join(known)}, or say the format",
        )
    return known[fit]


def read_mechanism(
    path: str | os.PathLike[str],
    *,
    options: Mapping[str, int] | None = None,
    trust: bool = False,
) -> Mechanism | System:
    """Return the mechanism of a robot file, or what a text model describes; it is opened once."""
    path = opened_file(path)
    if robot_format(path) == "text":
        from linkwright.formats.text.files import read_any

        return read_any(path, options=options, trust=trust)
    if is_autosim(path):
        if options:
            raise InputError("a description in Lisp has no options", file=path)
        read: Callable[..., Mechanism] = named("linkwright.formats.autosim.reader:read_lisp")
        return read(path)
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
    path_of(path, "a robot")
    path = opened_file(path)
    key = robot_format(path)
    if key is None:
        raise InputError(
            "this is not a robot file of a known format",
            file=path,
            remedy=f"known endings are {', '.join(sorted(endings()))}",
        )
    reader = FORMATS[key].reader
    read = named(reader) if isinstance(reader, str) else reader
    found: Description = read(path, roots=tuple(Path(root) for root in roots))
    return replace(found, content=path.content)


def written_description(description: Description, key: str) -> WrittenDescription:
    """Return the text of a description in a format, and what that cannot hold."""
    writer = FORMATS[key].writer if key in FORMATS else ""
    if not writer:
        held = ", ".join(k for k, f in FORMATS.items() if f.writer)
        raise InputError(f"nothing is written as {key!r}", remedy=f"use one of {held}")
    found: WrittenDescription = (named(writer) if isinstance(writer, str) else writer)(description)
    return found
