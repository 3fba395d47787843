"""Scripts of the recorder: names of the variables to record, separated by blanks.

A `.script` chooses among them; `sample_script` lists all (SL manual, section 5.5).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from linkwright.errors import InputError, nearest
from linkwright.formats.sl.configuration import text_of, words_of

WIDTH = 96
"""Characters in a line that is written."""


def read_script(
    path: str | os.PathLike[str], known: Iterable[str] | None = None
) -> tuple[str, ...]:
    """Return the names in a script, each once.

    Args:
        path: of the file.
        known: names of variables; another one is refused.
    """
    path = Path(path)
    return parse_script(text_of(path), known, file=str(path))


def parse_script(
    text: str, known: Iterable[str] | None = None, *, file: str = ""
) -> tuple[str, ...]:
    """Return the names in the text of a script, each once.

    Args:
        text: names and C comments.
        known: names of variables; another one is refused.
        file: for messages.

    >>> parse_script("A_th B_th /* and */ A_th", ["A_th", "B_th"])
    ('A_th', 'B_th')
    >>> parse_script("A_ht", ["A_th"], file="my.script")
    Traceback (most recent call last):
    linkwright.errors.InputError: my.script:1: no variable is called 'A_ht'; did you mean 'A_th'?
    """
    words = words_of(text)
    if known is not None:
        names = tuple(known)
        there = set(names)
        unknown = [(word, line) for word, line in words if word not in there]
        if unknown:
            raise _unknown(unknown, names, file)
    return tuple(dict.fromkeys(word for word, _ in words))


def _unknown(unknown: list[tuple[str, int]], names: tuple[str, ...], file: str) -> InputError:
    word, line = unknown[0]
    near = nearest(word, names)
    others = list(dict.fromkeys(other[:40] for other, _ in unknown if other != word))
    more = f", nor {', '.join(map(repr, others[:5]))}" if others else ""
    if len(others) > 5:
        more += f" and {len(others) - 5} more"
    return InputError(
        f"no variable is called {word[:40]!r}{more}",
        file=file or None,
        line=line,
        remedy=f"did you mean {near!r}?" if near else "sample_script lists those that there are",
    )


def script_text(names: Iterable[str]) -> str:
    """Return the text of a script.

    Args:
        names: of variables, without blanks.

    >>> script_text(["A_th", "A_thd"])
    'A_th A_thd\\n'
    """
    lines: list[str] = []
    for name in names:
        if not name or name.split() != [name] or "/*" in name or "//" in name:
            raise InputError(
                f"a script cannot hold the name {name[:40]!r}",
                remedy="use underscores in place of blanks",
            )
        if lines and len(lines[-1]) + 1 + len(name) <= WIDTH:
            lines[-1] += f" {name}"
        else:
            lines.append(name)
    return "".join(f"{line}\n" for line in lines)
