"""What a reader or writer left out: each kind once, with the line where it first stood."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from linkwright.formats.robot.description import Ignored
from linkwright.formats.robot.xml import XmlElement


@dataclass(slots=True)
class Leftovers:
    """What was left out so far.

    >>> left = Leftovers()
    >>> left.add("<gazebo>", 4, "for another simulator")
    >>> left.add("<gazebo>", 9)
    >>> [entry.words for entry in left.entries()]
    ['<gazebo> (2 times, first in line 4): for another simulator']
    """

    found: dict[str, Ignored] = field(default_factory=dict)

    def add(
        self, what: str, line: int = 0, why: str = "not used", *, mistake: bool = False
    ) -> None:
        """Note one thing that was left out."""
        known = self.found.get(what)
        self.found[what] = (
            Ignored(what, line, why, mistake=mistake)
            if known is None
            else replace(known, count=known.count + 1)
        )

    def rest(
        self,
        element: XmlElement,
        children: tuple[str, ...] = (),
        attributes: tuple[str, ...] = (),
        *,
        why: str = "not used",
    ) -> None:
        """Note the children and attributes of an element that are not among those used."""
        for child in element.children:
            if child.tag not in children:
                self.add(f"<{element.tag}><{child.tag}>", child.line, why)
        for name in element.attributes:
            if name not in attributes:
                self.add(f"<{element.tag} {name}=>", element.line, why)

    def entries(self) -> tuple[Ignored, ...]:
        """Return what was left out, by line."""
        return tuple(sorted(self.found.values(), key=lambda entry: (entry.line, entry.what)))
