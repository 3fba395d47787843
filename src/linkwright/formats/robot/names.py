"""Names of robot files turned into names of mechanisms.

A robot file may call a link anything. Names in a mechanism, which reach generated code, are ASCII
letters, digits and underscores and start with a letter.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable

_OTHER = re.compile(r"[^A-Za-z0-9_]+")
_LONGEST = 60


def code_name(name: str) -> str:
    """Return a name of letters, digits and underscores that is like the one given.

    >>> code_name("left-arm/élbow 2"), code_name("7th"), code_name("")
    ('left_arm_elbow_2', 'n7th', 'n')
    """
    plain = unicodedata.normalize("NFKD", name[:1000]).encode("ascii", "ignore").decode()
    plain = _OTHER.sub("_", plain).strip("_")[:_LONGEST]
    return plain if plain[:1].isalpha() else f"n{plain}"


class UniqueNames:
    """Names for code, each given out once.

    >>> names = UniqueNames(["t"], r".*_dot")
    >>> [names.new(wish) for wish in ("left-arm", "left arm", "7", "t", "a_dot")]
    ['left_arm', 'left_arm_2', 'n7', 't_2', 'a_dot_']

    Names that are `kept` and fit are for those who wish exactly them, whoever comes first.

    >>> names = UniqueNames(kept=["left-arm", "left_arm"])
    >>> names.new("left-arm"), names.new("left_arm")
    ('left_arm_2', 'left_arm')
    """

    def __init__(
        self, taken: Iterable[str] = (), reserved: str = "", kept: Iterable[str] = ()
    ) -> None:
        self._taken = set(taken)
        self._reserved = re.compile(reserved)
        self._numbers: dict[str, int] = {}
        self._kept = {name for name in kept if self.fits(name)}
        self._taken |= self._kept

    def fits(self, name: str) -> bool:
        """Return whether a name can be given out as it is."""
        return code_name(name) == name and self._word(name) == name and name not in self._taken

    def new(self, wish: str) -> str:
        """Return a name of ASCII letters, digits and underscores that is like the one given."""
        if wish in self._kept:
            self._kept.remove(wish)
            return wish
        stem = free = self._word(code_name(wish))
        number = self._numbers.get(stem, 1)
        while free in self._taken:
            number += 1
            free = f"{stem}_{number}"
        self._numbers[stem] = number
        self._taken.add(free)
        return free

    def _word(self, name: str) -> str:
        return f"{name}_" if self._reserved.fullmatch(name) else name


def code_names(names: Iterable[str], taken: Collection[str] = ()) -> dict[str, str]:
    """Return a name for code for each name; all are different, and none is taken.

    A name that is fit already stays as it is; of the others, those that would collide get a number,
    in the order of the names.

    >>> code_names(["a-b", "a b", "a_b", "t"], taken=["t"])
    {'a-b': 'a_b_2', 'a b': 'a_b_3', 'a_b': 'a_b', 't': 't_2'}
    """
    listed = list(dict.fromkeys(names))
    given = UniqueNames(taken, kept=listed)
    return {name: given.new(name) for name in listed}
