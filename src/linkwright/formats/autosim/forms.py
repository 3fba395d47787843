"""Lisp as AUTOSIM's inputs use it: forms, symbols, numbers, strings, arrays, and F-strings.

Nothing is evaluated. A list becomes a `LispForm` with the line where it begins; an array `#(...)` a
tuple, a matrix `#2a(...)` a tuple of rows; `!"..."` and a direction `[b1]` a `FString`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from linkwright.base.errors import InputError
from linkwright.base.reprs import brief

_TOKEN = re.compile(
    r"""(?P<space>\s+|;[^\n]*)|(?P<matrix>\#2[aA](?=\s*\())|(?P<array>\#(?=\())|(?P<open>\()|(?P<close>\))
    |(?P<formula>!\s*"[^"]*")|(?P<text>"[^"]*")|(?P<direction>\[[^\]\s]*\])|(?P<quote>')
    |(?P<atom>[^\s()";'!\[\]]+)""",
    re.VERBOSE,
)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eEdD][+-]?\d+)?")
_DEEPEST = 50


class Symbol(str):
    """A Lisp symbol, in capitals."""

    __slots__ = ()


class FString(str):
    """An expression in the syntax of Fortran, or a direction in brackets."""

    __slots__ = ()


class Text(str):
    """A string."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class LispForm:
    """A list: its items, and the line where it begins."""

    items: tuple[Any, ...]
    line: int

    @property
    def name(self) -> str:
        """The name of the function or macro, in capitals; empty for a list of something else."""
        first = self.items[0] if self.items else None
        return str(first) if isinstance(first, Symbol) else ""


def read_forms(text: str, file: str = "") -> list[LispForm]:
    """Return the forms of a text.

    >>> (form,) = read_forms('(add-body b ; a cart\\n :translate (1 2) :mass !"m1 + m2")')
    >>> form.name, form.items[1:4], form.line
    ('ADD-BODY', ('B', ':TRANSLATE', LispForm(items=(1, 2), line=2)), 1)
    """
    tokens = list(_tokens(text, file))
    place, found = 0, []
    while place < len(tokens):
        kind, word, line = tokens[place]
        if kind != "open":
            raise InputError(
                f"{brief(word)} stands outside of a form", file=file or None, line=line
            )
        form, place = _list(tokens, place, file, 0)
        found.append(form)
    return found


def _tokens(text: str, file: str) -> Iterator[tuple[str, str, int]]:
    place, line = 0, 1
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise InputError(
                f"{brief(text[place : place + 12])} is not Lisp", file=file or None, line=line
            )
        kind = match.lastgroup or ""
        if kind not in ("space", "quote"):
            yield kind, match[0], line
        line += match[0].count("\n")
        place = match.end()


def _list(
    tokens: list[tuple[str, str, int]], place: int, file: str, depth: int
) -> tuple[LispForm, int]:
    """Return the list that begins at a place, and the place after it."""
    line = tokens[place][2]
    if depth > _DEEPEST:
        raise InputError(f"lists stand {_DEEPEST} deep", file=file or None, line=line)
    items: list[Any] = []
    place += 1
    while place < len(tokens):
        kind, word, here = tokens[place]
        if kind == "close":
            return LispForm(tuple(items), line), place + 1
        if kind in ("array", "matrix"):
            form, place = _list(tokens, place + 1, file, depth + 1)
            rows = [x.items if isinstance(x, LispForm) else x for x in form.items]
            items.append(tuple(rows))
        elif kind == "open":
            form, place = _list(tokens, place, file, depth + 1)
            items.append(form)
        else:
            items.append(_atom(kind, word, file, here))
            place += 1
    raise InputError("the form has no closing parenthesis", file=file or None, line=line)


def _atom(kind: str, word: str, file: str, line: int) -> Any:
    if kind == "text":
        return Text(word[1:-1])
    if kind == "formula":
        return FString("".join(word[word.index('"') + 1 : -1].split()))
    if kind == "direction":
        return FString(word)
    if _NUMBER.fullmatch(word):
        value = float(word.lower().replace("d", "e"))
        if abs(value) > 1e300:
            raise InputError(f"the number {brief(word)} is too large", file=file or None, line=line)
        return int(value) if value.is_integer() and abs(value) < 1e15 else value
    return Symbol(word.upper())
