"""From a robot file of one format to one of another, with the list of what was dropped on the way.

Nothing is written unless all of it can be: the text of every file is made first, and each file is
put in place whole.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.base.files import file_exists, write_text
from linkwright.base.results import Result
from linkwright.formats.robot.description import Description, Ignored, LinkShape
from linkwright.formats.robot.files import (
    is_autosim,
    read_description,
    robot_format,
    target_format,
    written_description,
)

if TYPE_CHECKING:
    from linkwright.mechanism import Mechanism


@dataclass(frozen=True, slots=True)
class Conversion(Result):
    """What was written, and what was not."""

    robot: Description
    format: str
    files: tuple[Path, ...]
    unread: tuple[Ignored, ...]
    dropped: tuple[Ignored, ...]


@worded
def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    roots: Sequence[str | os.PathLike[str]] = (),
    to: str = "",
    replace: bool = False,
) -> Conversion:
    """Read a robot file and write it in another format.

    Args:
        source: the file to read.
        target: the file to write.
        roots: folders in which meshes may lie.
        to: key of the format to write; without it, the target's ending decides.
        replace: whether files that are there already may be replaced.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "r.urdf"
    ...     _ = file.write_text(
    ...         "<robot name='r'><link name='a'/><gazebo/><link name='b'/>"
    ...         "<joint name='j' type='continuous'><parent link='a'/><child link='b'/>"
    ...         "</joint></robot>"
    ...     )
    ...     done = convert(file, Path(folder) / "r.dh.toml")
    >>> done.format, [entry.what for entry in done.unread]
    ('dh', ['<gazebo>'])
    """
    if is_autosim(source):
        from linkwright.formats.autosim.reader import read_autosim

        read = read_autosim(source)
        done = convert_mechanism(read.mechanism, target, to=to, replace=replace)
        return dataclasses.replace(done, unread=(*read.ignored, *done.unread))
    key = to or target_format(target)
    if key == "text" and robot_format(source) == "text":
        from linkwright.formats.text.files import open_model
        from linkwright.formats.text.writer import model_text

        return _write_model(model_text(open_model(source).model), target, replace)
    robot = seen_from(read_description(source, roots=roots), Path(source), Path(target))
    return write_description(robot, target, to=key, replace=replace)


def convert_mechanism(
    mechanism: Mechanism, target: str | os.PathLike[str], *, to: str = "", replace: bool = False
) -> Conversion:
    """Write a mechanism in a format of robots; as a text model it keeps all that it has."""
    from linkwright.formats.robot.from_mechanism import description_of
    from linkwright.formats.text.files import write_model

    if (to or target_format(target)) == "text":
        return _write_model(write_model(mechanism), target, replace)
    return write_description(description_of(mechanism), target, to=to, replace=replace)


def _write_model(text: str, target: str | os.PathLike[str], replace: bool) -> Conversion:
    write_text(target, text, replace=replace)
    return Conversion(Description(Path(target).stem, (), ()), "text", (Path(target),), (), ())


def seen_from(robot: Description, source: Path, target: Path) -> Description:
    """Return the robot with the names of its meshes relative to the target's folder."""
    before, after = source.parent.resolve(), target.parent.resolve()
    if before == after:
        return robot
    links = tuple(
        dataclasses.replace(
            link, shapes=tuple(_moved_mesh(shape, before, after) for shape in link.shapes)
        )
        for link in robot.links
    )
    return dataclasses.replace(robot, links=links)


def _moved_mesh(shape: LinkShape, before: Path, after: Path) -> LinkShape:
    name = shape.mesh
    if not name or "://" in name or "\0" in name or Path(name).is_absolute():
        return shape
    return dataclasses.replace(shape, mesh=os.path.relpath(before / name, after))


@worded
def write_description(
    robot: Description,
    target: str | os.PathLike[str],
    *,
    to: str = "",
    replace: bool = False,
) -> Conversion:
    """Write a robot as a file.

    Args:
        robot: what to write.
        target: the file.
        to: key of the format; without it, the target's ending decides.
        replace: whether files that are there already may be replaced.

    >>> import tempfile
    >>> from linkwright.formats.robot.description import Link
    >>> robot = Description("r", (Link("a"),), ())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = write_description(robot, Path(folder) / "r.urdf")
    ...     read_description(done.files[0]).name
    'r'
    """
    target = Path(target)
    key = to or target_format(target)
    written = written_description(robot, key)
    texts = {target: written.text}
    for name, text in written.beside:
        texts[target.parent / name] = text
    if not replace:
        for path in texts:
            if path.exists():
                raise file_exists(path)
    for path, text in reversed(texts.items()):  # the robot file last, when all it needs is there
        if path.parent != target.parent:
            try:
                path.parent.mkdir(exist_ok=True)
            except OSError as error:
                raise InputError(
                    f"the folder cannot be made: {error.strerror}", file=path.parent
                ) from None
        write_text(path, text, replace=replace)
    return Conversion(robot, key, tuple(texts), robot.ignored, written.dropped)
