"""Subsystems in files of their own: a text model put into another one, under a prefix.

`[[part]]` names a file, which is a whole text model and runs by itself. Its names get the prefix,
its ground becomes a place on a body of the larger model, and its parameters stay its own
unless the larger model says what stands for them. Its gravity and its run are left out: they are
those of its own trials.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from linkwright.formats.text.positions import Path
from linkwright.formats.text.tables import BodyTable, PartFileTable, Record

if TYPE_CHECKING:
    from linkwright.formats.text.components import Flat
    from linkwright.formats.text.document import TextLimits, TextSource

_NAMED = re.compile(r"(#?)([A-Za-z_]\w*)((?:\.\w+)*)")
_WORDS = frozenset({"doc", "unit", "kind", "color", "rotate", "translate", "body_axis", "sign"})
_WORDS_OF_AXES = frozenset({"x", "y", "z", "t", "n", "o"})
_ENDS = ("_dot_dot", "_dot", "cm", "0", "1", "2", "3")
_WITHOUT = ("member", "wire", "expose", "actuators", "collision_capsule")
_OF_GROUND = {
    "body": "parent",
    "point": "body",
    "force": "reaction",
    "moment": "reaction",
    "strut": "to",
}
"""Keys whose usual value is the ground."""


def part_of(
    table: PartFileTable,
    path: Path,
    source: TextSource,
    limits: TextLimits,
    depth: int,
) -> Iterator[tuple[str, Any, str]]:
    """Yield what a part adds to a model: kind, value and key of each table or entry."""
    from linkwright.formats.text.components import expand
    from linkwright.formats.text.files import open_model

    file = _file_of(table, path, source)
    try:
        document = open_model(file, limits=limits)
        flat = expand(document.model, None, document.source, limits, depth=depth + 1)
    except OSError as error:
        raise source.error(
            (*path, "file"), f"{table.file} cannot be read: {error.strerror}"
        ) from None
    refused = [kind for kind in _WITHOUT if flat[kind]]
    refused += [kind for kind in ("table", "function") if getattr(document.model, kind)]
    if refused:
        raise source.error(
            (*path, "file"), f"{table.file} has {', '.join(refused)}, which a part cannot bring"
        )
    renaming = _Renaming(table, _names(flat), path, source)
    if renaming.mount is not None:
        mount = {
            "name": renaming.mount,
            "parent": table.parent,
            "at": table.at,
            "mass": 0,
            "inertia": 0,
        }
        yield "body", BodyTable.model_validate(mount), ""
    for kind, parts in flat.parts.items():
        for part in parts:
            if kind == "parameters" and part.key in table.parameters:
                continue
            if kind == "output" and getattr(part.value, "all", None) is not None:
                continue
            key = renaming.name(part.key) if part.key else ""
            yield kind, renaming.value(kind, part.value), key


def _file_of(table: PartFileTable, path: Path, source: TextSource) -> FilePath:
    """Return the file of a part, which is in the folder of the model or below it."""
    if source.file is None:
        raise source.error((*path, "file"), "a text that is not a file has no folder with parts")
    folder = FilePath(source.file).resolve().parent
    found = (folder / table.file).resolve()
    if FilePath(table.file).is_absolute() or not found.is_relative_to(folder):
        raise source.error(
            (*path, "file"), f"{table.file} lies outside of the model's folder", "move it there"
        )
    if not found.is_file():
        raise source.error((*path, "file"), f"there is no file {table.file} beside the model")
    return found


def _names(flat: Flat) -> set[str]:
    """Return the names that a model declares."""
    found: set[str] = set()
    for kind, parts in flat.parts.items():
        for part in parts:
            if kind in ("parameters", "inputs", "variables"):
                found.add(part.key)
            elif kind != "output":
                found.add(str(getattr(part.value, "name", "") or ""))
            if kind == "body":
                found.update(part.value.coordinates or ())
    return found - {""}


class _Renaming:
    """Names of a part as they are in the larger model."""

    def __init__(
        self, table: PartFileTable, names: set[str], path: Path, source: TextSource
    ) -> None:
        for name in sorted(names & _WORDS_OF_AXES):
            raise source.error(
                (*path, "file"), f"{table.file} calls something {name!r}", "rename it there"
            )
        unknown = sorted(set(table.parameters) - names)
        if unknown:
            raise source.error(
                (*path, "parameters", unknown[0]),
                f"{table.file} has no parameter {unknown[0]!r}",
                key=True,
            )
        self.prefix, self.names = table.prefix, names
        self.given = {name: f"({value})" for name, value in table.parameters.items()}
        standing = table.parent == "n" and all(x == 0 for x in table.at)
        self.mount = None if standing else self.name("mount")
        self.ground = self.mount or "n"

    def name(self, name: str) -> str:
        """Return a name, or that of a state of a body, with the prefix."""
        return f"{self.prefix}_{name}"

    def text(self, text: str) -> str:
        """Return an expression, a direction or a name with all names of the part renamed."""
        return _NAMED.sub(self._renamed, text)

    def _renamed(self, match: re.Match[str]) -> str:
        sign, stem, rest = match.groups()
        if stem in self.given and not sign and not rest:
            return self.given[stem]
        if stem in self.names:
            return f"{sign}{self.name(stem)}{rest}"
        if stem in ("n", "n1", "n2", "n3", "n0", "o"):
            return f"{self.ground}{stem[1:]}{rest}" if stem != "o" else self._origin()
        for end in _ENDS:
            if stem.endswith(end) and stem[: -len(end)] in self.names:
                return f"{self.name(stem[: -len(end)])}{end}{rest}"
        return match[0]

    def _origin(self) -> str:
        return "o" if self.mount is None else f"{self.mount}0"

    def value(self, kind: str, value: Any) -> Any:
        """Return a table or entry of the part."""
        if not isinstance(value, Record):
            return self._deep(value)
        data = value.model_dump(exclude_unset=True)
        key = _OF_GROUND.get(kind)
        if key is not None and key not in data:
            data[key] = "o" if key == "to" else "n"
        name = data.pop("name", None)
        data = self._deep(data)
        if name is not None:
            data["name"] = self.name(name)
        return type(value).model_validate(data)

    def _deep(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list | tuple):
            return [self._deep(x) for x in value]
        if isinstance(value, Mapping):
            return {k: x if k in _WORDS else self._deep(x) for k, x in value.items()}
        return value
