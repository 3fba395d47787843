"""Results: what an analysis found, as plain data and as columns of text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar


class Result:
    """A dataclass that says what was found: its fields and some properties, as plain data."""

    __slots__ = ()
    _also: ClassVar[tuple[str, ...]] = ()  # properties that belong to the data

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data, None for a number that is not finite."""
        return _members(self) | {name: plain(getattr(self, name)) for name in self._also}


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: arrays as lists, None for a number that is not finite.

    >>> plain({"gain": math.inf, "at": (1.5, None)})
    {'gain': None, 'at': [1.5, None]}
    """
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if hasattr(value, "as_dict"):
        return plain(value.as_dict())
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if is_dataclass(value) and not isinstance(value, type):
        return _members(value)
    return [plain(each) for each in value] if isinstance(value, Iterable) else str(value)


def _members(value: Any) -> dict[str, Any]:
    return {f.name: plain(getattr(value, f.name)) for f in fields(value)}


def in_columns(rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Return rows of text as columns, the first ones to the left and the others to the right.

    >>> print(in_columns([("stage", "add"), ("velocity", "12")]))
    stage     add
    velocity   12
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if k < left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
