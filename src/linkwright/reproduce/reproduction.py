"""What a figure or table has come to: pictures, data, and comparisons with printed numbers."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

Line = Sequence[float] | np.ndarray


class Series(NamedTuple):
    """A curve, or points with a `style` such as "o"."""

    x: Line
    y: Line
    label: str = ""
    style: str = "-"


@dataclass(frozen=True)
class Panel:
    """Axes with curves."""

    curves: Sequence[Series]
    x_label: str = ""
    y_label: str = ""
    title: str = ""
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    logarithmic: bool = False  # the vertical axis
    equal: bool = False  # one scale for both axes
    solid: bool = False  # no dashes tell its curves apart

    def rows(self) -> Iterator[Sequence[Any]]:
        """Yield the data as rows, with their head first: points of curves one after the other."""
        yield ("curve", self.x_label or "x", self.y_label or "y")
        for k, curve in enumerate(self.curves, 1):
            for x, y in zip(curve.x, curve.y, strict=True):
                yield (curve.label or str(k), f"{x:.9g}", f"{y:.9g}")


@dataclass(frozen=True)
class DataTable:
    """A table as the document sets it."""

    columns: Sequence[str]
    cells: Sequence[Sequence[Any]]
    title: str = ""

    def rows(self) -> Iterator[Sequence[Any]]:
        """Yield its rows, with their head first."""
        yield self.columns
        yield from self.cells


@dataclass(frozen=True)
class Listing:
    """Lines of text: a program, a file, what a console has said."""

    text: str
    title: str = ""


Part = Panel | DataTable | Listing


@dataclass(frozen=True, slots=True)
class Check:
    """A number of the document beside ours.

    Args:
        what: what it is the number of.
        printed: the number in its digits, as in "0.5635".
        ours: what was computed here.
        unit: of both.
        corrected: what should stand there, where the document errs.
        why: why it should, or why ours may differ.
        recomputed: the number is not printed but follows from the document's data by a computation
            of its own: the plot is lost in the scan.
        at_most: a bound, such as a count of operations: ours may be smaller.
        within: how far ours may be off; by default a half of the last printed digit.
    """

    what: str
    printed: str
    ours: float
    unit: str = ""
    corrected: str = ""
    why: str = ""
    recomputed: bool = False
    at_most: bool = False
    within: float = 0.0

    @property
    def wanted(self) -> float:
        """The number that ours is compared with."""
        return float(self.corrected or self.printed)

    @property
    def tolerance(self) -> float:
        """How far ours may be off: a half of the last digit, and a little for rounding."""
        return self.within or self.half_digit

    @property
    def half_digit(self) -> float:
        """A half of the last printed digit, and a little for rounding."""
        exponent = Decimal(self.corrected or self.printed).as_tuple().exponent
        return 0.51 * 10.0 ** int(exponent)

    @property
    def wide(self) -> bool:
        """Whether ours may be off by more than a half of the last digit.

        >>> Check("x", "1.00", 1.2, within=0.3).wide, Check("x", "1.00", 1.0).wide
        (True, False)
        """
        return not self.at_most and self.within > self.half_digit

    @property
    def difference(self) -> float:
        """Ours less the number that it is compared with."""
        return float(self.ours) - self.wanted

    @property
    def holds(self) -> bool:
        """Whether ours agrees.

        >>> Check("angle", "0.5635", 0.56347).holds, Check("angle", "0.5635", 0.5636).holds
        (True, False)
        >>> Check("multiplications", "108", 60, at_most=True).holds
        True
        """
        if not math.isfinite(self.ours):
            return False
        return (self.at_most and self.difference <= 0) or abs(self.difference) <= self.tolerance

    @property
    def note(self) -> str:
        """What is to be said of it."""
        words = [self.why] if self.why else []
        if self.corrected:
            words.insert(0, f"should be {self.corrected}")
        if self.at_most:
            words.append("a bound")
        if self.recomputed:
            words.append("recomputed")
        if self.wide:
            words.append(f"within {self.within:.2g}")
        return "; ".join(words)

    def shown(self) -> tuple[str, str, str, str, str, str, str]:
        """Return it as a row: what, printed, ours, difference, unit, whether it holds, why."""
        digits = max(2, len(Decimal(self.corrected or self.printed).as_tuple().digits) + 1)
        return (
            self.what,
            self.printed,
            f"{self.ours:.{digits}g}",
            f"{self.difference:+.1e}" if self.difference else "0",
            self.unit,
            "yes" if self.holds else "NO",
            self.note,
        )


HEAD = ("number", "printed", "ours", "difference", "unit", "agrees", "remark")
"""What stands over the rows of checks."""


@dataclass(frozen=True)
class Reproduction:
    """A figure or table, made again.

    Args:
        parts: what is drawn, in the document's order.
        checks: its numbers beside ours.
        across: how many panels stand side by side.
        note: what is to be known of it.
    """

    parts: Sequence[Part]
    checks: Sequence[Check]
    across: int = 1
    note: str = ""
    files: dict[str, str] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether all numbers agree."""
        return all(check.holds for check in self.checks)

    def data_files(self) -> dict[str, str]:
        """Return the texts of its data files by their endings: CSV of curves and tables, text."""
        made = {}
        for k, part in enumerate(self.parts, 1):
            number = "" if len(self.parts) == 1 else f"-{k}"
            if isinstance(part, Listing):
                made[f"{number}.txt"] = part.text + "\n"
                continue
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows(part.rows())
            made[f"{number}.csv"] = text.getvalue()
        return made | self.files


def checks(what: str | Sequence[str], printed: str, ours: ArrayLike, **more: Any) -> list[Check]:
    """Return a check for each number of a row or matrix, in their order.

    >>> [c.what for c in checks("u", "1.0 2.0", [1.01, 2.0])]
    ['u 1', 'u 2']
    >>> [c.holds for c in checks(["a", "b"], "1.0 2.0", [1.01, 2.2], unit="m")]
    [True, False]
    """
    numbers = printed.split()
    names = [f"{what} {k}" for k in range(1, len(numbers) + 1)] if isinstance(what, str) else what
    values = np.ravel(np.asarray(ours, dtype=float))
    return [
        Check(name, text, float(value), **more)
        for name, text, value in zip(names, numbers, values, strict=True)
    ]
