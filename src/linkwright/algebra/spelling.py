"""How names are spelled in text: what the expression language reads and the text printer writes."""

from __future__ import annotations

import re

KEYWORDS = frozenset({"and", "or", "not", "if", "else"})
CONSTANTS = frozenset({"pi", "inf"})

# As `linkwright.algebra.symbols` allows it; an index touches its name.
NAME = r"[^\W\d]\w*(?:\.\w+)*'*(?:\[[0-9]+(?:,[0-9]+)*\])?"

_NAME = re.compile(NAME)


def quoted(name: str) -> str:
    """Return a name as the expression language reads it, in backquotes where it must be.

    >>> quoted("q1"), quoted("pi")
    ('q1', '`pi`')
    """
    plain = _NAME.fullmatch(name) and name not in KEYWORDS and name not in CONSTANTS
    return name if plain else f"`{name}`"
