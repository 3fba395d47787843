"""Scripts of the recorder: names of the variables to record, separated by blanks.

A `.script` chooses among them; `sample_script` lists all (SL manual, section 5.5).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from linkwright.base.errors import InputError, nearest
from linkwright.formats.sl.configuration import text_of, words_of

WIDTH = 96
"""Characters in a line that is written."""

_TOLD = 6  # names in a message


def read_script(
    path: str | os.PathLike[str], known: Iterable[str] | None = None
) -> tuple[str, ...]:
    """Return the names in a script, each once."""
    path = Path(path)
    return parse_script(text_of(path), known, file=str(path))


def parse_script(
    text: str, known: Iterable[str] | None = None, *, file: str = ""
) -> tuple[str, ...]:
    """Return the names in the text of a script, each once.

    >>> parse_script("A_th B_th /* and */ A_th", ["A_th", "B_th"])
    ('A_th', 'B_th')
    >>> parse_script("A_ht", ["A_th"], file="my.script")
    Traceback (most recent call last):
    linkwright.InputError: my.script:1: the laboratory has no variable 'A_ht'; did you mean \
'A_th' for 'A_ht'?
    """
    words = words_of(text)
    if known is not None:
        there = tuple(known)
        names = set(there)
        unknown = [(word, line) for word, line in words if word not in names]
        if unknown:
            strange = tuple(dict.fromkeys(word for word, _ in unknown))
            raise unknown_variables(strange, there, file=file, line=unknown[0][1])
    return tuple(dict.fromkeys(word for word, _ in words))


def unknown_variables(
    names: Sequence[str], known: Iterable[str], *, file: str = "", line: int | None = None
) -> InputError:
    """Return the error that says which variables are not there, with the nearest that are.

    >>> unknown_variables(["A_ht"], ["A_th"]).remedy
    "did you mean 'A_th' for 'A_ht'?"
    """
    there = tuple(known)
    told = list(names[:_TOLD])
    near = [(name, nearest(name, there)) for name in told]
    meant = ", ".join(f"{found!r} for {name[:40]!r}" for name, found in near if found)
    more = f" and {len(names) - _TOLD} more" if len(names) > _TOLD else ""
    return InputError(
        f"the laboratory has no variable {', '.join(repr(name[:40]) for name in told)}{more}",
        file=file or None,
        line=line,
        remedy=f"did you mean {meant}?" if meant else "sample_script has all of them",
    )


def script_text(names: Iterable[str]) -> str:
    """Return the text of a script.

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
