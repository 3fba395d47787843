"""Records of expressions as rows: to choose between two, to name all, to keep them as states.

A record is an expression, a tuple of records, or a dataclass of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any, TypeVar

from linkwright.algebra import Expr, where
from linkwright.algebra.triples import Hold

R = TypeVar("R")


def _parts(record: Any) -> Iterable[Any]:
    return (
        record if isinstance(record, tuple) else (getattr(record, f.name) for f in fields(record))
    )


def numbers(record: Any) -> tuple[Expr, ...]:
    """Return all expressions of a record, in the order of its fields."""
    if isinstance(record, Expr):
        return (record,)
    return tuple(x for part in _parts(record) for x in numbers(part))


def like(record: R, values: Iterable[Expr]) -> R:
    """Return a record of the same shape with other expressions, in the order of `numbers`."""
    left = list(values)[::-1]

    def made(part: Any) -> Any:
        if isinstance(part, Expr):
            return left.pop()
        found = [made(x) for x in _parts(part)]
        return tuple(found) if isinstance(part, tuple) else type(part)(*found)

    found: R = made(record)
    assert not left
    return found


def chosen(condition: Expr, yes: R, no: R, hold: Hold = lambda x: x) -> R:
    """Return one of two records of the same shape."""
    pairs = zip(numbers(yes), numbers(no), strict=True)
    return like(yes, (x if x is y else hold(where(condition, x, y)) for x, y in pairs))
