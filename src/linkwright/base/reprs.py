"""One informative line for `print` and `repr` of whatever is large.

`one_line` gives a dataclass such a line from its fields: arrays by their shape, long sequences by
their first members and their number, long expressions cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import fields
from itertools import islice
from typing import Any, TypeVar

_WIDTH = 60
_LINE = 240
_FEW = 4
_DEEP = 6  # levels of what holds others

Made = TypeVar("Made")


def one_line(cls: type[Made]) -> type[Made]:
    """Let the `repr` of a dataclass be one line, whatever its fields hold.

    >>> from dataclasses import dataclass
    >>> @one_line
    ... @dataclass
    ... class Found:
    ...     values: list[int]
    >>> Found(list(range(1000)))
    Found(values=[0, 1, 2, 3, … 1000 in all])
    """
    setattr(cls, "__repr__", _repr)  # noqa: B010 - a type checker refuses the plain assignment
    return cls


def _repr(self: Any) -> str:
    parts = [f"{f.name}={brief(getattr(self, f.name))}" for f in fields(self) if f.repr]
    inside = ", ".join(parts)
    if len(inside) > _LINE:
        inside = inside[: _LINE - 1].rstrip(" ,") + "…"
    return f"{type(self).__name__}({inside})"


def brief(value: object, width: int = _WIDTH, depth: int = 0) -> str:
    """Return a value in a few words, on one line.

    >>> print(brief({"a": 1, "b": 2}), brief("x" * 100)[-3:])
    {'a': 1, 'b': 2} xx…
    """
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and getattr(value, "dtype", None) is not None:
        size = " x ".join(map(str, shape)) or "one number"
        small = len(shape) <= 1 and all(n <= _FEW for n in shape)
        return _cut(" ".join(str(value).split()), width) if small else f"<{size}>"
    nested = isinstance(value, Mapping | Set | list) or type(value) is tuple
    if nested and depth == _DEEP:
        return "…"
    if isinstance(value, Mapping):
        members = (f"{brief(k)}: {brief(v, 20, depth + 1)}" for k, v in value.items())
        return _listed("{", members, "}", value)
    if isinstance(value, list | tuple | Set) and nested:
        opening, closing = (
            "[]" if isinstance(value, list) else "{}" if isinstance(value, Set) else "()"
        )
        return _listed(opening, (brief(v, 20, depth + 1) for v in value), closing, value)
    return _cut(" ".join(repr(value).split()), width)


def _listed(opening: str, parts: Any, closing: str, whole: Any) -> str:
    shown = list(islice(parts, _FEW))
    more = [f"… {len(whole)} in all"] if len(whole) > _FEW else []
    if closing == ")" and len(shown) == 1 and not more:
        shown = [f"{shown[0]},"]
    return opening + ", ".join([*shown, *more]) + closing


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
