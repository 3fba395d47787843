"""Operation counts as tables of plain rows, for text, terminals and JSON alike."""

from __future__ import annotations

from collections.abc import Sequence

from linkwright.base.results import in_columns
from linkwright.program.counts import Counts, counts_as_dict, stage_counts
from linkwright.program.passes import PASSES, report
from linkwright.program.program import Program
from linkwright.program.rates import STAGES, Rate

COLUMNS = ("add", "mul", "call", "select")

Row = tuple[str, ...]


def ops_table(program: Program) -> list[Row]:
    """Return the operations of a Program as rows: a header, one for each stage in use, a total.

    >>> from linkwright.algebra import symbol, sin
    >>> from linkwright.program import program
    >>> q, k = symbol("q", "coordinate"), symbol("k")
    >>> for row in ops_table(program("f", {"q": q, "k": k}, {"f": k**2 * sin(q) + q})):
    ...     print(*row)
    stage add mul call select
    parameter 0 1 0 0
    configuration 1 1 1 0
    derivative 1 1 1 0
    """
    stages = stage_counts(program)
    rows: list[Row] = [("stage", *COLUMNS)]
    rows += [(rate.label, *_cells(stages[rate])) for rate in STAGES if stages[rate] != Counts()]
    rows.append(("derivative", *_cells(_derivative(stages))))
    return rows


def passes_table(program: Program, passes: Sequence[str] = tuple(PASSES)) -> list[Row]:
    """Return what each pass leaves of a Program: a header and one row for each pass.

    >>> from linkwright.algebra import symbols
    >>> from linkwright.program import program
    >>> a, b, c = symbols("a b c", "coordinate")
    >>> p = program("f", {"x": [a, b, c]}, {"f": a * b + a * c})
    >>> for row in passes_table(p, ["factor"]):
    ...     print(*row)
    pass add mul call select parameter
    start 1 2 0 0 0
    factor 1 1 0 0 0
    """
    rows: list[Row] = [("pass", *COLUMNS, "parameter")]
    for name, stages in report(program, passes):
        fixed = stages[Rate.PARAMETER]
        rows.append((name, *_cells(_derivative(stages)), str(fixed.total + fixed.call)))
    return rows


def ops_as_dict(program: Program, passes: Sequence[str] | None = None) -> dict[str, object]:
    """Return the counts as plain data for JSON, with those after each pass if asked for."""
    result = counts_as_dict(program)
    if passes is not None:
        result["passes"] = [
            {"pass": name, "derivative": _derivative(stages).as_dict()}
            for name, stages in report(program, passes)
        ]
    return result


def as_text(rows: Sequence[Row]) -> str:
    """Return a table as text with aligned columns; numbers go to the right.

    >>> print(as_text([("stage", "add"), ("velocity", "12")]))
    stage     add
    velocity   12
    """
    return in_columns(rows)


def _derivative(stages: dict[Rate, Counts]) -> Counts:
    moving = [c for rate, c in stages.items() if Rate.PARAMETER < rate < Rate.OUTPUT]
    return sum(moving, start=Counts())


def _cells(counts: Counts) -> Row:
    return tuple(str(n) for n in counts.as_dict().values())
