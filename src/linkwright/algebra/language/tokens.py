"""The words of the expression language: numbers, names and operators with their places."""

from __future__ import annotations

import re
from dataclasses import dataclass

from linkwright.algebra.spelling import KEYWORDS, NAME
from linkwright.base.errors import InputError

_TOKEN = re.compile(
    rf"""(?P<blank>\s+)
    |(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    |(?P<name>{NAME})
    |`(?P<quoted>[^`\n]+)`
    |\{{(?P<unit>[^{{}}\n]*)\}}
    |(?P<operator>\*\*|<=|>=|==|!=|[-+*/^<>()\[\],#])""",
    re.VERBOSE,
)

_INSTEAD = {
    "=": "write == to compare",
    "&": "write `and`",
    "|": "write `or`",
    "!": "write `not`",
    "~": "write `not`",
    "%": "there is no remainder",
    ";": "an expression stands alone",
    "?": "write `a if condition else b`",
    "−": "write the minus sign as -",
    "×": "write the product as *",
    "·": "write the product as *",
    "{": "a unit in braces is closed on the same line: 9.81 {m/s^2}",
    "`": "a quoted name is closed on the same line",
}


class LanguageError(InputError):
    """An expression text that cannot be read, with the place in it.

    >>> error = LanguageError("unexpected ')'", source="a + )", position=4)
    >>> print(error)
    column 5: unexpected ')'
    >>> print(error.excerpt)
    a + )
        ^
    """

    def __init__(self, what: str, *, source: str, position: int, remedy: str | None = None) -> None:
        start = source.rfind("\n", 0, position) + 1
        line = source.count("\n", 0, position) + 1 if "\n" in source else None
        super().__init__(what, line=line, column=position - start + 1, remedy=remedy)
        self.source = source
        self.position = position
        self.add_note(self.excerpt)

    @property
    def excerpt(self) -> str:
        """The line with the error and a caret below the place, cut to what is near."""
        start = self.source.rfind("\n", 0, self.position) + 1
        end = self.source.find("\n", self.position)
        line = self.source[start:] if end < 0 else self.source[start:end]
        first = max(0, self.position - start - 60)
        shown = line[first : first + 100].replace("\t", " ")
        return f"{shown}\n{' ' * (self.position - start - first)}^"


@dataclass(frozen=True, slots=True)
class Token:
    """One word of a text."""

    kind: str
    text: str
    position: int
    quoted: bool = False


def tokens(source: str) -> list[Token]:
    """Return the words of a text, the last of them of kind "end".

    >>> [token.text for token in tokens("2*body.x - q[1]")]
    ['2', '*', 'body.x', '-', 'q[1]', '']
    """
    found: list[Token] = []
    position = 0
    while position < len(source):
        match = _TOKEN.match(source, position)
        if match is None:
            c = source[position]
            shown = c if c.isprintable() else f"U+{ord(c):04X}"
            raise LanguageError(
                f"the character {shown!r} has no meaning here",
                source=source,
                position=position,
                remedy=_INSTEAD.get(c),
            )
        kind = str(match.lastgroup)
        word = match[kind]
        if kind == "name" and word in KEYWORDS:
            kind = "operator"
        if kind == "quoted":
            found.append(Token("name", word, position, quoted=True))
        elif kind != "blank":
            found.append(Token(kind, word, position))
        position = match.end()
    found.append(Token("end", "", len(source)))
    return found
