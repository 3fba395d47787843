"""Passes: functions from Program to Program that make it smaller and keep its values.

A pass is one file and one line in `PASSES`. Sums may be regrouped and products reordered, so values
may change by rounding; branches, and divisions that the model did not write, are never introduced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from linkwright.program.counts import Counts, stage_counts
from linkwright.program.passes.auxiliary import with_auxiliary, without_auxiliary
from linkwright.program.passes.choosing import cheapest
from linkwright.program.passes.common_subexpressions import common_subexpressions
from linkwright.program.passes.factor import factor
from linkwright.program.passes.inline_single_use import inline_single_use
from linkwright.program.passes.liveness import liveness
from linkwright.program.passes.merge_constants import merge_constants
from linkwright.program.passes.schedule import pressure, schedule, schedule_code
from linkwright.program.passes.split import split
from linkwright.program.passes.value_numbering import value_numbering
from linkwright.program.program import Program, ProgramError
from linkwright.program.rates import Rate

Pass: TypeAlias = Callable[[Program], Program]

PASSES: dict[str, Pass] = {
    "liveness": liveness,
    "value_numbering": value_numbering,
    "merge_constants": merge_constants,
    "factor": factor,
    "common_subexpressions": common_subexpressions,
    "inline_single_use": inline_single_use,
    "schedule": schedule,
}
"""All passes by name, in the order in which they help most."""

DEFAULT: tuple[str, ...] = ("liveness", "merge_constants", "common_subexpressions", "schedule")
"""What `optimise` runs: value numbering, factoring and inlining are part of these already."""


def optimise(program: Program, passes: Sequence[str] = DEFAULT) -> Program:
    """Return a Program with the same outputs and fewer operations.

    Args:
        program: what to optimise.
        passes: names from `PASSES`, in the order in which to run them.

    >>> from linkwright.algebra import symbols, sin
    >>> from linkwright.program import count, program
    >>> a, b, c = symbols("a b c", "coordinate")
    >>> p = program("f", {"x": [a, b, c]}, {"f": [a * sin(c) + b * sin(c), a + b + c]})
    >>> count(p).total, count(optimise(p)).total
    (5, 3)
    """
    if program.auxiliary and len(program.auxiliary) < len(program.outputs):
        inside = [name for name in passes if name != "liveness"]
        main = optimise(without_auxiliary(program), inside)
        program = cheapest(program, [with_auxiliary(program, main)])
    for name in passes:
        program = _pass(name)(program)
    return program


def report(
    program: Program, passes: Sequence[str] = tuple(PASSES)
) -> list[tuple[str, dict[Rate, Counts]]]:
    """Return the counts of each stage at the start and after each pass.

    Args:
        program: what to optimise.
        passes: names from `PASSES`, in the order in which to run them.

    >>> from linkwright.program import program
    >>> p = program("f", {"x": ["x", "y"]}, {"f": lambda x, y: [x * y + x]})
    >>> [name for name, _ in report(p, ["factor", "schedule"])]
    ['start', 'factor', 'schedule']
    """
    rows = [("start", stage_counts(program))]
    for name in passes:
        program = _pass(name)(program)
        rows.append((name, stage_counts(program)))
    return rows


def _pass(name: str) -> Pass:
    found = PASSES.get(name)
    if found is None:
        raise ProgramError(f"there is no pass {name!r}; there are {', '.join(PASSES)}")
    return found


__all__ = [
    "DEFAULT",
    "PASSES",
    "Pass",
    "common_subexpressions",
    "factor",
    "inline_single_use",
    "liveness",
    "merge_constants",
    "optimise",
    "pressure",
    "report",
    "schedule",
    "schedule_code",
    "split",
    "value_numbering",
]
