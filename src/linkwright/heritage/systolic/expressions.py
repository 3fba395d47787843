"""Whole numbers in a source of the array: names, +, −, *, //, parentheses, lists of ranges."""

from __future__ import annotations

import re
from collections.abc import Mapping

from linkwright.base.errors import InputError, suggestion

_TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_]\w*)|(//|\.\.|[-+*(),]))")
_LARGEST = 10**9
_LONGEST = 100  # tokens


class WholeNumbers:
    """A reader of whole-number expressions.

    Example:
        >>> WholeNumbers("2*n + (p - 1)", {"n": 6, "p": 3}).value()
        14
        >>> WholeNumbers("1, 3..n", {"n": 5}).ranges()
        [1, 3, 4, 5]
    """

    def __init__(self, text: str, names: Mapping[str, int]) -> None:
        self.names = names
        self.tokens: list[str] = []
        self.at = 0
        end = 0
        text = text.strip()
        while end < len(text):
            found = _TOKEN.match(text, end)
            if found is None:
                raise InputError(f"{text[end : end + 20].strip()!r} is not understood")
            self.tokens.append(found[0].strip())
            end = found.end()
            if len(self.tokens) > _LONGEST:
                raise InputError("this expression is too long", remedy="set parts of it before")

    def value(self) -> int:
        """Return the only number."""
        value = self._sum()
        self._ended()
        return value

    def ranges(self) -> list[int]:
        """Return the numbers of a list such as ``1, 3..5``; an empty range has none."""
        values: list[int] = []
        while True:
            first = self._sum()
            last = first
            if self._take(".."):
                last = self._sum()
            if last - first > 10_000:
                raise InputError(f"the range {first}..{last} is too long")
            values += range(first, last + 1)
            if not self._take(","):
                break
        self._ended()
        return values

    def _ended(self) -> None:
        if self.at < len(self.tokens):
            raise InputError(f"{self.tokens[self.at]!r} is one too many")

    def _take(self, *tokens: str) -> str:
        if self.at < len(self.tokens) and self.tokens[self.at] in tokens:
            self.at += 1
            return self.tokens[self.at - 1]
        return ""

    def _sum(self) -> int:
        value = self._product()
        while sign := self._take("+", "-"):
            other = self._product()
            value = value + other if sign == "+" else value - other
        return value

    def _product(self) -> int:
        value = self._factor()
        while sign := self._take("*", "//"):
            other = self._factor()
            if sign == "//" and not other:
                raise InputError("this divides by 0")
            value = value * other if sign == "*" else value // other
            if abs(value) > _LARGEST:
                raise InputError(f"{value} is too large")
        return value

    def _factor(self) -> int:
        if self._take("-"):
            return -self._factor()
        if self._take("("):
            value = self._sum()
            if not self._take(")"):
                raise InputError("a ')' is missing")
            return value
        if self.at >= len(self.tokens):
            raise InputError("a number is missing")
        token = self.tokens[self.at]
        self.at += 1
        if token.isdigit() and len(token) < 10:
            return int(token)
        if token not in self.names:
            raise InputError(
                f"{token!r} is not known here",
                remedy=suggestion(token, self.names, f"write `set {token} = ...` before"),
            )
        return self.names[token]
