"""Results: what an analysis found, as plain data and as columns of text."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

from linkwright.base.reprs import brief

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


class Result:
    """What an analysis found: the same six methods for every result, made from its fields.

    `_units` says the units of fields, which end their keys; `_also` names properties that belong to
    the data; `_not` names fields that do not, such as the model it was found for.
    """

    __slots__ = ()
    _also: ClassVar[tuple[str, ...]] = ()
    _not: ClassVar[tuple[str, ...]] = ()
    _units: ClassVar[tuple[tuple[str, str], ...]] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data: keys end in units, None for a number that is not finite."""
        names = [f.name for f in fields(self)]  # type: ignore[arg-type] # results are dataclasses
        names = [n for n in names if n[0] != "_" and n not in self._not]
        units = dict(self._units)
        return {
            unit_key(n, units.get(n, "")): plain(getattr(self, n)) for n in (*names, *self._also)
        }

    def summary(self) -> str:
        """Return what it says, in columns of text."""
        words = getattr(self, "words", "")
        rows = self.table()
        lines = [words] if isinstance(words, str) and words else []
        return "\n".join([*lines, in_columns(rows)] if len(rows) > 1 else lines or [repr(self)])

    def table(self) -> list[tuple[str, ...]]:
        """Return its heads and rows as text."""
        rows = [(name, _cell(value)) for name, value in _flat(self.as_dict()) if name != "words"]
        return [("quantity", "value"), *rows]

    def to_pandas(self) -> DataFrame:
        """Return its rows as a pandas DataFrame (extra `plot`)."""
        from linkwright.base.optional import extra

        pandas = extra("pandas", "plot")
        columns = _columns(self.as_dict())
        if columns:
            return pandas.DataFrame(columns)
        heads, *rows = self.table()
        return pandas.DataFrame(rows, columns=list(heads))

    def plot(self) -> Figure:
        """Return a figure of it: its columns of numbers, or its table."""
        from linkwright.base.hooks import result_figure

        drawing: Figure = result_figure(type(self).__name__, _columns(self.as_dict()), self.table())
        return drawing

    def save(self, path: str | os.PathLike[str], *, replace: bool = True) -> Any:
        """Write it to a file; the ending of the name says what.

        Args:
            path: .json for all its data, .csv for its table, .txt for its summary, .html for a
                page, or .png, .svg and .pdf for its figure.
            replace: whether a file that is there already may be replaced.
        """
        from linkwright.base.hooks import save_result

        save_result(self, path, replace=replace)

    def _repr_html_(self) -> str:
        """Return its table as HTML, for notebooks."""
        heads, *rows = self.table()
        lines = [_html_row("th", heads), *(_html_row("td", row) for row in rows)]
        return f"<table>{''.join(lines)}</table>"


def unit_key(name: str, unit: str) -> str:
    """Return a key with its unit.

    >>> unit_key("speed", "rad/s"), unit_key("torque", "N*m"), unit_key("squares", "1/s^2")
    ('speed_rad_s', 'torque_n_m', 'squares_per_s2')
    """
    word = unit.lower().replace("1/", "per_").replace("^", "").replace("/", "_").replace("*", "_")
    return f"{name}_{word}" if word and word != name else name


def _flat(data: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the values of plain data by their names, two levels deep."""
    for name, value in data.items():
        if isinstance(value, Mapping) and value:
            yield from ((f"{name}.{inner}", each) for inner, each in value.items())
        else:
            yield name, value


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, str | int):
        return str(value)
    if isinstance(value, list) and value and all(isinstance(x, float | int) for x in value):
        few = ", ".join(_cell(float(x)) for x in value)
        return few if len(value) <= 6 else f"{len(value)} from {min(value):.6g} to {max(value):.6g}"
    return brief(value) if value else "-"


def _columns(data: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the columns of plain data: the lists in it that are as long as the first."""
    rows = next((v for v in data.values() if _is_rows(v)), None)
    if rows is not None:
        return {name: [row.get(name) for row in rows] for name in rows[0]}
    lists = {
        n: v
        for n, v in _flat(data)
        if isinstance(v, list) and len(v) > 1 and isinstance(v[0], float | int)
    }
    size = max(map(len, lists.values()), default=0)
    return {n: v for n, v in lists.items() if len(v) == size}


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(x, dict) for x in value)


def _html_row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(str(x))}</{tag}>' for x in cells)}</tr>"


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: arrays as lists, None for a number that is not finite.

    >>> plain({"gain": math.inf, "at": (1.5, None)})
    {'gain': None, 'at': [1.5, None]}
    """
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
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
