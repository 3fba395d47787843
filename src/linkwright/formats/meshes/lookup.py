"""Where the meshes of robot files are, and that they lie inside the folders that were declared.

A file from elsewhere may name any path. A mesh is looked for only in the folder of the robot file
and inside `roots`. ``package://NAME/rest`` stands for ``rest`` in a folder called NAME: a
root of that name, a folder of a root, or a folder above the robot file that is in a root or holds
a ``package.xml``, as ROS packages do. Links of the file system are followed before the place is
compared with the roots, so that none leads outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from linkwright.base.errors import InputError

_LONGEST = 4096
PLAIN = (".stl", ".obj", ".msh")
"""Endings of meshes of one color, which MuJoCo reads as well."""

ENDINGS = (*PLAIN, ".dae")
"""Endings of all meshes that are read."""


def find_mesh(name: str, source: str | Path, roots: Sequence[str | Path] = ()) -> Path:
    """Return where a mesh is; it is an `InputError` if it lies outside the roots or is missing.

    >>> find_mesh("../../etc/passwd", "robot.urdf")
    Traceback (most recent call last):
        ...
    linkwright.InputError: robot.urdf: the mesh '../../etc/passwd' lies outside the folders
    that meshes are taken from; declare its folder (roots=, --mesh-dir)
    """
    _require_plain(name, source)
    candidates = _candidates(name, Path(source), [Path(root) for root in roots])
    if not candidates:
        raise InputError(
            f"the mesh {_shortened(name)} lies outside the folders that meshes are taken from",
            file=source,
            remedy=f"declare {_where(name)} (roots=, --mesh-dir)",
        )
    for path in candidates:
        try:
            if path.is_file():
                return path
        except OSError:  # a name that no file of this system can have
            continue
    raise InputError(f"the mesh {_shortened(name)} is missing", file=source)


def mesh_note(name: str, source: str | Path, roots: Sequence[str | Path] = ()) -> str:
    """Return a sentence where `find_mesh` would complain, else nothing."""
    try:
        find_mesh(name, source, roots)
    except InputError as error:
        return error.what + (f"; {error.remedy}" if error.remedy else "")
    return ""


def _where(name: str) -> str:
    """Return in words which folder a user would have to declare for a mesh.

    >>> _where("package://go2_description/meshes/hip.dae"), _where("../hip.dae")
    ("the folder that holds 'go2_description'", 'its folder')
    """
    scheme, _, rest = name.partition("://")
    package = unquote(rest).lstrip("/").partition("/")[0] if scheme in ("package", "model") else ""
    return f"the folder that holds {_shortened(package)}" if package else "its folder"


def _require_plain(name: str, source: str | Path) -> None:
    if not name.isprintable() or len(name) > _LONGEST:
        raise InputError(f"the mesh {_shortened(name)} has no name of a file", file=source)
    scheme, colon, _ = name.partition("://")
    if colon and scheme not in ("package", "file", "model"):
        raise InputError(
            f"the mesh {_shortened(name)} is not on this machine",
            file=source,
            remedy="store it beside the robot file",
        )


def _candidates(name: str, source: Path, roots: list[Path]) -> list[Path]:
    """Return the paths inside the roots that the name may stand for."""
    try:
        folder = source.resolve().parent
        declared = [*(root.resolve() for root in roots), folder]
        scheme, colon, rest = name.partition("://")
        if not colon:
            starts = [(folder, declared), *((root, declared) for root in declared)]
            return _inside(starts, name)
        rest = unquote(rest)
        if scheme == "file":
            return _inside([(folder, declared)], rest)
        package, _, inner = rest.lstrip("/").partition("/")
        return _inside(_packages(package, folder, declared), inner)
    except (OSError, RuntimeError, ValueError):  # a ring of links, a name that the system refuses
        return []


def _packages(name: str, folder: Path, declared: list[Path]) -> list[tuple[Path, list[Path]]]:
    """Return the folders that a package of that name may be, each with the roots that hold it."""
    if name in ("", ".", "..") or "\\" in name:
        return []
    found = [(root, declared) for root in declared if root.name == name]
    found += [(root / name, declared) for root in declared if (root / name).is_dir()]
    for above in (folder, *folder.parents):
        if above.name != name:
            continue
        if any(above.is_relative_to(root) for root in declared):
            found.append((above, declared))
        elif (above / "package.xml").is_file():
            found.append((above, [above]))
    return found


def _inside(starts: list[tuple[Path, list[Path]]], inner: str) -> list[Path]:
    """Return where the name leads from each start, without those outside the start's roots."""
    found: dict[Path, None] = {}
    for start, roots in starts:
        path = (start / inner).resolve()
        if any(path.is_relative_to(root) for root in roots):
            found[path] = None
    return list(found)


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")
