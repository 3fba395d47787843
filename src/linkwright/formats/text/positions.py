"""Where the keys and values of a TOML text stand.

`tomllib` gives values without positions. This scanner walks over a text that `tomllib` has accepted
and notes, for every key path (`("body", 2, "at", 0)`), where its key and its value start, so that a
complaint about a value can name its line and column. For strings it also knows where each of their
characters stands, through escapes and lines.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"[ \t]*")
_GAP = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE_VALUE = re.compile(r"[^,\]}\n#]*")
_ESCAPE = {"b": 1, "t": 1, "n": 1, "f": 1, "r": 1, "e": 1, '"': 1, "\\": 1, "u": 5, "U": 9, "x": 3}
_TRIMMED = re.compile(r"\\[ \t]*\n[ \t\n]*")


@dataclass(frozen=True, slots=True)
class Positions:
    """The places of everything in a text."""

    text: str  # with plain line ends
    # where keys start, and the headers of tables
    keys: dict[Path, int] = field(default_factory=dict)
    values: dict[Path, int] = field(default_factory=dict)  # where values start
    ends: dict[Path, int] = field(default_factory=dict)  # where values end
    # where the headers of tables start, in their order
    headers: dict[Path, int] = field(default_factory=dict)
    # of each table with a header, and of the file itself, where the last of its own pairs ends, or
    # its header
    tails: dict[Path, int] = field(default_factory=dict)
    lines: tuple[int, ...] = ()  # where lines start

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Return line and column, both from 1, of a place in the text."""
        line = bisect_right(self.lines, offset)
        return line, offset - self.lines[line - 1] + 1

    def place(
        self, path: Path, *, key: bool = False, character: int | None = None
    ) -> tuple[int, int]:
        """Return line and column of a value, of its key, or of a character of a string.

        A path that is not in the text has the place of the nearest one above it.

        >>> scan('a = [1, {b = "x\\\\ty"}]').place(("a", 1, "b"), character=2)
        (1, 18)
        """
        while path:
            found = (self.keys if key else self.values).get(path, self.keys.get(path))
            if found is not None:
                if character is not None and self.text[found] in "\"'":
                    places = characters(self.text, found)
                    found = places[min(character, len(places) - 1)]
                return self.line_and_column(found)
            path, character, key = path[:-1], None, False
        return 1, 1


def scan(text: str) -> Positions:
    """Return the places of all keys and values of a text that is valid TOML.

    >>> found = scan("[[body]]\\nname = 'a'\\n[[body]]\\nname = 'b'\\n")
    >>> found.place(("body", 1, "name"))
    (4, 8)
    """
    text = text.replace("\r\n", "\n")
    starts = [0, *(m.end() for m in re.finditer("\n", text))]
    scanner = _Scanner(Positions(text, lines=tuple(starts)))
    scanner.run()
    return scanner.found


def characters(text: str, start: int) -> list[int]:
    """Return where each character of a string stands, and where the string ends.

    >>> characters('"a\\\\tb"', 0)
    [1, 2, 4, 5]
    """
    quote = text[start]
    width = 3 if text.startswith(quote * 3, start) else 1
    end = _string_end(text, start) - width
    at = start + width
    if width == 3 and text.startswith("\n", at):
        at += 1
    places: list[int] = []
    while at < end:
        if quote == '"' and text[at] == "\\":
            trimmed = _TRIMMED.match(text, at)
            if trimmed is not None:
                at = trimmed.end()
                continue
            places.append(at)
            at += 1 + _ESCAPE.get(text[at + 1], 1)
            continue
        places.append(at)
        at += 1
    return [*places, end]


def _string_end(text: str, start: int) -> int:
    quote = text[start]
    if not text.startswith(quote * 3, start):
        at = start + 1
        while text[at] != quote:
            at += 2 if quote == '"' and text[at] == "\\" else 1
        return at + 1
    at = start + 3
    while not text.startswith(quote * 3, at):
        at += 2 if quote == '"' and text[at] == "\\" else 1
    at += 3
    for _ in range(2):  # one or two quotes may stand right before the closing ones
        if text.startswith(quote, at):
            at += 1
    return at


class _Scanner:
    """One walk over the text; `at` is where it is."""

    def __init__(self, found: Positions) -> None:
        self.found = found
        self.text = found.text
        self.at = 0
        self.arrays: dict[Path, int] = {}

    def run(self) -> None:
        table: Path = ()
        self._gap()
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table)
                self.found.tails[table] = self.at
            self._gap()

    def _gap(self) -> None:
        match = _GAP.match(self.text, self.at)
        assert match is not None
        self.at = match.end()

    def _blank(self) -> None:
        match = _BLANK.match(self.text, self.at)
        assert match is not None
        self.at = match.end()

    def _header(self) -> Path:
        start = self.at
        many = self.text.startswith("[[", start)
        self.at += 2 if many else 1
        path: Path = ()
        parts = self._key()
        for k, (part, offset) in enumerate(parts):
            path = (*path, part)
            self.found.keys.setdefault(path, offset)
            if many and k == len(parts) - 1:
                self.arrays[path] = self.arrays.get(path, 0) + 1
            if path in self.arrays:
                path = (*path, self.arrays[path] - 1)
        self.found.keys[path] = self.found.headers[path] = start
        self.at += 2 if many else 1
        self.found.tails[path] = self.at
        return path

    def _key(self) -> list[tuple[str, int]]:
        """Read a dotted key; afterward `at` is at the first thing behind it."""
        parts: list[tuple[str, int]] = []
        while True:
            self._blank()
            start = self.at
            if self.text[start] in "\"'":
                self.at = _string_end(self.text, start)
                parts.append((_unquoted(self.text[start : self.at]), start))
            else:
                match = _BARE_KEY.match(self.text, start)
                assert match is not None
                self.at = match.end()
                parts.append((match[0], start))
            self._blank()
            if not self.text.startswith(".", self.at):
                return parts
            self.at += 1

    def _pair(self, table: Path) -> None:
        path = table
        for part, offset in self._key():
            path = (*path, part)
            self.found.keys.setdefault(path, offset)
        self.at += 1
        self._blank()
        self._value(path)

    def _value(self, path: Path) -> None:
        self.found.values[path] = self.at
        self.found.keys.setdefault(path, self.at)
        c = self.text[self.at]
        if c in "\"'":
            self.at = _string_end(self.text, self.at)
        elif c == "[":
            self._array(path)
        elif c == "{":
            self._inline_table(path)
        else:
            match = _BARE_VALUE.match(self.text, self.at)
            assert match is not None
            self.at += len(match[0].rstrip())
        self.found.ends[path] = self.at

    def _array(self, path: Path) -> None:
        self.at += 1
        self._gap()
        index = 0
        while self.text[self.at] != "]":
            self._value((*path, index))
            index += 1
            self._gap()
            if self.text[self.at] == ",":
                self.at += 1
                self._gap()
        self.at += 1

    def _inline_table(self, path: Path) -> None:
        self.at += 1
        self._gap()
        while self.text[self.at] != "}":
            self._pair(path)
            self._gap()
            if self.text[self.at] == ",":
                self.at += 1
                self._gap()
        self.at += 1


def _unquoted(raw: str) -> str:
    import tomllib

    found = tomllib.loads(f"k = {raw}")["k"]
    assert isinstance(found, str)
    return found
