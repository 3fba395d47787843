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

    Args:
        name: any text.

    >>> code_name("left-arm/élbow 2"), code_name("7th"), code_name("")
    ('left_arm_elbow_2', 'n7th', 'n')
    """
    plain = unicodedata.normalize("NFKD", name[:1000]).encode("ascii", "ignore").decode()
    plain = _OTHER.sub("_", plain).strip("_")[:_LONGEST]
    return plain if plain[:1].isalpha() else f"n{plain}"


def code_names(names: Iterable[str], taken: Collection[str] = ()) -> dict[str, str]:
    """Return a name for code for each name; all are different, and none is taken.

    A name that is fit already stays as it is; of the others, those that would collide get a number,
    in the order of the names.

    Args:
        names: as in the file, each once.
        taken: names that are in use for something else.

    >>> code_names(["a-b", "a b", "a_b", "t"], taken=["t"])
    {'a-b': 'a_b_2', 'a b': 'a_b_3', 'a_b': 'a_b', 't': 't_2'}
    """
    listed = list(dict.fromkeys(names))
    wanted = {name: code_name(name) for name in listed}
    used = set(taken)
    found: dict[str, str] = {}
    for name in listed:
        if wanted[name] == name and name not in used:
            found[name] = name
            used.add(name)
    counts: dict[str, int] = {}
    for name in listed:
        if name in found:
            continue
        stem = free = wanted[name]
        number = counts.get(stem, 1)
        while free in used:
            number += 1
            free = f"{stem}_{number}"
        counts[stem] = number
        used.add(free)
        found[name] = free
    return {name: found[name] for name in listed}
