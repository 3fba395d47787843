"""Edits of a text model that touch nothing but their own bytes.

The scanner knows where each key and value stands; an edit replaces, adds or removes only those.
Comments, blank lines, order, spelling of numbers and line ends of all else stay. Each edit is
checked: the text that it returns holds what the old one held, with that one change.
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping
from typing import Any

from linkwright.base.errors import InputError
from linkwright.formats.text.positions import Path, Positions, scan
from linkwright.formats.text.writer import key_text, value_text


def with_value(text: str, path: Path, value: Any) -> str:
    """Return the text with a value at a key path, or without that key for None.

    >>> print(with_value("[run]\\nuntil = 8  # s\\n", ("run", "until"), 9.5), end="")
    [run]
    until = 9.5  # s
    """
    found = scan(text)
    table, key = path[:-1], path[-1]
    assert isinstance(key, str)
    wanted = _changed(text, path, value)
    if table in found.values:  # an inline table, which holds no comments
        whole = _at(wanted, table)
        return _spliced(
            text, found, found.values[table], found.ends[table], value_text(whole), wanted
        )
    if path in found.values:
        start, end = found.values[path], found.ends[path]
        if value is not None:
            return _spliced(text, found, start, end, value_text(value), wanted)
        first, last = _line_start(found.text, found.keys[path]), _line_end(found.text, end)
        return _spliced(text, found, first, last, "", wanted)
    if value is None:
        return text
    pair = f"{key_text(key)} = {value_text(value)}\n"
    if table and table not in found.tails:
        if any(isinstance(part, int) for part in table):
            raise _refused(path)
        header = ".".join(key_text(str(part)) for part in table)
        return _appended(text, found, len(found.text), f"[{header}]\n{pair}", wanted)
    at = _line_end(found.text, found.tails[table]) if table in found.tails else 0
    if at and found.text[at - 1] != "\n":
        pair = f"\n{pair}"
    return _spliced(text, found, at, at, pair, wanted)


def with_table(
    text: str, kind: str, record: Mapping[str, Any], *, after: Path | None = None
) -> str:
    """Return the text with one more table of a list, such as `[[body]]`.

    >>> print(with_table("format = 1\\n", "limit", {"coordinate": "q", "upper": 1}), end="")
    format = 1
    <BLANKLINE>
    [[limit]]
    coordinate = "q"
    upper = 1
    """
    found = scan(text)
    lines = [f"[[{kind}]]", *(f"{key_text(k)} = {value_text(v)}" for k, v in record.items())]
    block = "\n".join(lines) + "\n"
    own = [path for path in found.headers if len(path) == 2 and path[0] == kind]
    after = after if after is not None else own[-1] if own else None
    wanted = tomllib.loads(text)
    index = len(wanted.get(kind, []))
    if after is not None and after[0] == kind:
        assert isinstance(after[1], int)
        index = after[1] + 1
    wanted.setdefault(kind, []).insert(index, dict(record))
    at = len(found.text) if after is None else _line_end(found.text, found.tails[after])
    return _appended(text, found, at, block, wanted)


def without_table(text: str, path: Path) -> str:
    """Return the text without one table of a list, with the comment right above it.

    >>> text = "a = 1\\n\\n# first\\n[[b]]\\nc = 1\\n\\n# second\\n[[b]]\\nc = 2\\n"
    >>> print(without_table(text, ("b", 0)), end="")
    a = 1
    <BLANKLINE>
    # second
    [[b]]
    c = 2
    """
    found = scan(text)
    kind, index = path
    assert isinstance(index, int)
    wanted = tomllib.loads(text)
    if path not in found.headers:
        raise _refused(path)
    del wanted[str(kind)][index]
    if not wanted[str(kind)]:
        del wanted[str(kind)]
    order = list(found.headers)
    following = order[order.index(path) + 1 :]
    start = _with_comment(found.text, found.headers[path])
    end = _line_end(found.text, found.tails[path])
    limit = _with_comment(found.text, found.headers[following[0]]) if following else len(found.text)
    while end < limit and found.text[end] == "\n":
        end += 1
    if end == len(found.text):  # the blank line before it goes, too
        while start > 1 and found.text[start - 2 : start] == "\n\n":
            start -= 1
    return _spliced(text, found, start, end, "", wanted)


def _changed(text: str, path: Path, value: Any) -> dict[str, Any]:
    """Return what a text holds after a change, with no table left empty that was not before."""
    data = copy.deepcopy(tomllib.loads(text))
    inside: Any = data
    for part in path[:-1]:
        if isinstance(inside, dict) and part not in inside:
            if value is None:
                return data
            inside[part] = {}
        inside = inside[part]
    if value is None:
        inside.pop(path[-1], None)
    else:
        inside[path[-1]] = value
    return data


def _at(data: Any, path: Path) -> Any:
    for part in path:
        data = data[part]
    return data


def _appended(text: str, found: Positions, at: int, block: str, wanted: dict[str, Any]) -> str:
    """Return the text with a block of lines at a place, with a blank line before and behind it."""
    before, behind = found.text[:at], found.text[at:]
    lead = "" if not before else "\n" if before.endswith("\n") else "\n\n"
    if before.endswith("\n\n"):
        lead = ""
    rest = "" if not behind.strip("\n") or behind.startswith("\n") else "\n"
    return _spliced(text, found, at, at, lead + block + rest, wanted)


def _spliced(
    text: str, found: Positions, start: int, end: int, new: str, wanted: dict[str, Any]
) -> str:
    """Return the text with a part replaced; places are those of the text with plain line ends."""
    breaks = [k for k in range(len(text)) if text.startswith("\r\n", k)] if "\r\n" in text else []
    places = [at - k for k, at in enumerate(breaks)]
    first = start + sum(at < start for at in places)
    last = end + sum(at < end for at in places)
    if breaks and len(breaks) == found.text.count("\n"):
        new = new.replace("\n", "\r\n")
    made = text[:first] + new + text[last:]
    try:
        same = tomllib.loads(made) == wanted
    except ValueError:
        same = False
    if not same:
        raise _refused(())
    return made


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    """Return where the line behind a place starts: comments stay with what they follow."""
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _with_comment(text: str, at: int) -> int:
    """Return where the comment right above a header starts, or the header itself."""
    at = _line_start(text, at)
    while at > 0:
        above = _line_start(text, at - 1)
        if not text[above:at].lstrip().startswith("#"):
            return at
        at = above
    return at


def _refused(path: Path) -> InputError:
    where = f" at {'.'.join(map(str, path))}" if path else ""
    return InputError(
        f"the text cannot be edited{where} without changing more of it",
        remedy="write its tables as [table] and [[table]], one key to a line",
        code="R104",
    )
