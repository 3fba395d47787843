"""The list of all figures and tables, made and not yet made."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from linkwright.base.errors import InputError
from linkwright.base.lazy import named
from linkwright.base.reprs import brief
from linkwright.reproduce.reproduction import Reproduction

DOCUMENTS = {
    "autosim": "AUTOSIM (Sayers, 1990)",
    "mounts": "Parallel antenna mounts",
    "server": "Motion server",
    "robsim": "ROBSIM and JNTMOD",
    "jntmod": "ROBSIM and JNTMOD",
    "sl": "SL",
}
"""The documents, by the first word of the names of their figures."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure or table of a document.

    Args:
        name: as in `autosim-fig-9-1-9`.
        title: what it shows.
        made_by: the module and the function that make it, `module:function`; or nothing.
        not_yet: why it is not made, where it is not.
        slow: whether it takes more than a second.
    """

    name: str
    title: str
    made_by: str = ""
    not_yet: str = ""
    slow: bool = False

    @property
    def document(self) -> str:
        """The document it stands in."""
        return DOCUMENTS[self.name.partition("-")[0]]

    def reproduce(self) -> Reproduction:
        """Run it."""
        if not self.made_by:
            raise InputError(f"{self.name} is not made yet: {self.not_yet}")
        make: Callable[[], Reproduction] = named(f"linkwright.reproduce.entries.{self.made_by}")
        return make()


@cache
def figures() -> dict[str, Figure]:
    """Return all figures and tables by name, in the order of the documents.

    >>> figures()["autosim-fig-9-1-9"].title
    'Lateral acceleration of the car, two models'
    """
    text = Path(__file__).with_name("figures.toml").read_text(encoding="utf-8")
    return {name: Figure(name, **told) for name, told in tomllib.loads(text).items()}


def chosen(names: Sequence[str]) -> list[Figure]:
    """Return figures by their names; an unknown name is rejected with its neighbors.

    >>> [f.name for f in chosen(["autosim-fig-9-1-9"])]
    ['autosim-fig-9-1-9']
    """
    known = figures()
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, 3)
            told = f"did you mean {' or '.join(near)}?"
            if not near:
                told = "`linkwright tools reproduce` lists them"
            raise InputError(f"there is no figure or table {brief(name)}", remedy=told)
    return [known[name] for name in dict.fromkeys(names)]
