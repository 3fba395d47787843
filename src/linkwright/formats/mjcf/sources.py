"""The sections of an MJCF file, with what it includes put in place.

``<include file="..."/>`` may stand anywhere and is replaced by the children of the included file's
root. Paths start at the main file, or at the including one; a file outside of `roots`, or without
any outside of the folder of the main file, is rejected. A file is included once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from linkwright.base.errors import InputError
from linkwright.formats.meshes.lookup import find_mesh
from linkwright.formats.robot.xml import Caps, XmlElement, read_xml

MJCF_CAPS = Caps(depth=5000)
"""How much is read: bodies stand in each other, so that a long chain is deep."""

_MOST_FILES = 100
_MOST_DEPTH = 100


@dataclass(frozen=True, slots=True)
class Sections:
    """An MJCF file: its root and its sections in order, each perhaps several times."""

    root: XmlElement
    sections: tuple[XmlElement, ...]

    def all(self, tag: str) -> Iterator[XmlElement]:
        """Yield the sections with this tag."""
        return (section for section in self.sections if section.tag == tag)

    def parts(self, tag: str) -> Iterator[XmlElement]:
        """Yield the children of the sections with this tag."""
        return (child for section in self.all(tag) for child in section.children)


def sections_of(
    root: XmlElement, *, roots: Sequence[str | Path] = (), caps: Caps = MJCF_CAPS
) -> Sections:
    """Return the sections of a file with everything included.

    >>> from linkwright.formats.robot.xml import parse_xml
    >>> [s.tag for s in sections_of(parse_xml("<mujoco><option/><asset/></mujoco>")).sections]
    ['option', 'asset']
    """
    if root.tag != "mujoco":
        raise root.error(
            f"the root element is <{root.tag[:60]}>", "an MJCF file starts with <mujoco>"
        )
    reading = _Including(root.file, tuple(roots), caps)
    children = reading.expanded(root.children)
    return Sections(replace(root, children=children), children)


@dataclass(slots=True)
class _Including:
    """Files that are put together."""

    main: str
    roots: tuple[str | Path, ...]
    caps: Caps
    seen: set[Path] = field(default_factory=set)
    count: int = 0

    def expanded(self, children: tuple[XmlElement, ...], depth: int = 0) -> tuple[XmlElement, ...]:
        """Return elements with the includes in them replaced."""
        found: list[XmlElement] = []
        for child in children:
            if depth >= _MOST_DEPTH and (child.tag == "include" or _has_include(child)):
                raise child.error(f"something is included deeper than {_MOST_DEPTH}")
            if child.tag == "include":
                found.extend(self.expanded(self._included(child).children, depth + 1))
            elif _has_include(child):
                inner = self.expanded(child.children, depth + 1)
                found.append(replace(child, children=inner))
            else:
                found.append(child)
        return tuple(found)

    def _included(self, element: XmlElement) -> XmlElement:
        name = element.value("file")
        if not self.main:
            raise element.error(
                f"{name[:80]!r} cannot be included in a text without a file", "read it from a file"
            )
        path = self._found(element, name)
        if path in self.seen or len(self.seen) >= _MOST_FILES:
            raise element.error(f"{name[:80]!r} is included twice", "include a file once")
        self.seen.add(path)
        root = read_xml(path, self.caps)
        if root.tag not in ("mujoco", "mujocoinclude"):
            raise root.error(f"the root element is <{root.tag[:60]}>", "start it with <mujoco>")
        self.count += _size(root)
        if self.count > self.caps.elements:
            raise element.error(f"there are more than {self.caps.elements} elements")
        return root

    def _found(self, element: XmlElement, name: str) -> Path:
        try:
            return find_mesh(name, self.main, self.roots)
        except InputError as error:
            first = error
        try:
            return find_mesh(name, element.file, self.roots)
        except InputError:
            what = first.what.replace("the mesh", "the file", 1)
            raise element.error(
                what.replace("that meshes are taken", "that files are taken"), first.remedy
            ) from None


def _has_include(element: XmlElement) -> bool:
    stack = list(element.children)
    while stack:
        part = stack.pop()
        if part.tag == "include":
            return True
        stack.extend(part.children)
    return False


def _size(element: XmlElement) -> int:
    count, stack = 0, [element]
    while stack:
        part = stack.pop()
        count += 1
        stack.extend(part.children)
    return count
