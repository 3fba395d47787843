"""Passes: functions from Program to Program that make it smaller and keep its values.

A pass is one file and one line in `PASSES`. Sums may be regrouped and products reordered, so values
may change by rounding; branches, and divisions that the model did not write, are never introduced.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import islice
from typing import TypeAlias

from linkwright.algebra.walk import postorder
from linkwright.base.arguments import worded
from linkwright.program.counts import Counts, stage_counts
from linkwright.program.passes.auxiliary import (
    beside_auxiliary,
    with_auxiliary,
    without_auxiliary,
)
from linkwright.program.passes.choice import cheapest, cost
from linkwright.program.passes.common_subexpressions import common_subexpressions
from linkwright.program.passes.comparison import agree
from linkwright.program.passes.factor import factor
from linkwright.program.passes.fast import fast
from linkwright.program.passes.inline_single_use import inline_single_use
from linkwright.program.passes.liveness import liveness
from linkwright.program.passes.merge_constants import merge_constants
from linkwright.program.passes.schedule import pressure, schedule, schedule_code
from linkwright.program.passes.split import split
from linkwright.program.passes.value_numbering import value_numbering
from linkwright.program.program import Assign, Program, ProgramError, mentioned
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
"""What a few passes do best: value numbering, factoring and inlining are part of these already."""

FACTORED: tuple[str, ...] = (
    "liveness",
    "value_numbering",
    "merge_constants",
    "factor",
    "common_subexpressions",
    "schedule",
)
"""What `careful` also tries on Programs that are not large; it often ends elsewhere."""

_TINY = 60  # operations up to which `optimize` also multiplies out definitions, one by one
_SMALL = 200  # and `careful`
_LARGE = 3_000  # operations beyond which `careful` has one sequence and one round
_ROUNDS = 3
_KEPT = 64  # Programs whose results are kept: a model that is run again needs no second pass
_BRIEF = 1_000  # operations beyond which `optimize` may be brief
_LEAST = 20  # nodes from which reading from disk is quicker than optimizing
_AGAIN = 240  # operations up to which `optimize` has several rounds


@worded
def optimize(
    program: Program,
    passes: Sequence[str] | None = None,
    *,
    rounds: int = _ROUNDS,
    brief: bool = False,
) -> Program:
    """Return a Program with the same outputs and fewer operations.

    Before it is returned it is compared with the one that was given; if they ever differed by more
    than rounding, a warning would say so, and the given one would be returned.

    Args:
        program: what to optimize.
        passes: names from `PASSES`, in the order in which to run them; by default all is done at
            once (`linkwright.program.passes.fast`), in time that grows with the size.
        rounds: run them again as long as that lowers the counts, at most so often; without
            `passes` only small Programs get more than one round.
        brief: without `passes`, do only what helps most where the Program is not small, in less
            than half the time; for Programs that run seldom.

    >>> from linkwright.algebra import symbols, sin
    >>> from linkwright.program import count_operations, program
    >>> a, b, c = symbols("a b c", "coordinate")
    >>> p = program("f", {"x": [a, b, c]}, {"f": [a * sin(c) + b * sin(c), a + b + c]})
    >>> count_operations(p).total, count_operations(optimize(p)).total
    (5, 3)
    """
    if passes is None:
        return _known(program, rounds, brief)
    start = program
    if _has_both(program):
        main = _tried(without_auxiliary(program), passes, rounds, keep=("liveness",))
        program = cheapest(program, [with_auxiliary(program, main)])
    return _compared(start, _tried(program, passes, rounds))


@lru_cache(maxsize=_KEPT)
def careful(program: Program) -> Program:
    """Return a Program with the same outputs, for which several sequences of passes were tried.

    It takes several times as long as `optimize` and is often no smaller; the thorough search starts
    from it.

    >>> from linkwright.program import count_operations, program
    >>> p = program("f", {"x": ["x", "y"]}, {"f": lambda x, y: [x * y + x]})
    >>> careful(p).inputs == p.inputs
    True
    """
    start = program
    if _has_both(program):
        main = _tried(without_auxiliary(program), None, _ROUNDS, keep=("liveness",))
        program = cheapest(program, [with_auxiliary(program, main)])
    found = _tried(program, None, _ROUNDS)
    return _compared(start, _swept(found) if cost(found)[0] <= _SMALL else found)


def _compared(program: Program, made: Program) -> Program:
    """Return what was made of a Program if it computes the same, otherwise the Program."""
    if agree(program, made):
        return made
    warnings.warn(
        f"the optimizer changed the values of {program.name!r}, which is a fault of Linkwright; it "
        "runs as it was derived, slower and right; please report the model",
        RuntimeWarning,
        stacklevel=2,
    )
    return program


def _has_both(program: Program) -> bool:
    """Whether there are auxiliary outputs beside others."""
    return bool(program.auxiliary) and len(program.auxiliary) < len(program.outputs)


@lru_cache(maxsize=_KEPT)
def _known(program: Program, rounds: int, brief: bool) -> Program:
    """Return what is kept of the fast mode, in this process or on disk."""
    if next(islice(postorder(mentioned(program)), _LEAST, None), None) is None:
        return _fast(program, rounds)
    from linkwright.program.passes.kept import kept

    def make() -> Program:
        return _fast(program, rounds, brief and cost(program)[0] > _BRIEF)

    return kept(program, (rounds, brief), make)


def _fast(program: Program, rounds: int, brief: bool = False) -> Program:
    if not _has_both(program):
        found = _fast_rounds(program, rounds, brief=brief)
        return _compared(program, _swept(found) if cost(found)[0] <= _TINY else found)
    alone = without_auxiliary(program)
    plain = all(isinstance(s, Assign) for s in program.statements)
    if plain:
        main = _known(alone, rounds, False)
    else:
        main = _fast_rounds(alone, rounds, whole=True)
        if cost(main)[0] <= _TINY:
            main = _swept(main, DEFAULT[1:])
    kept = [with_auxiliary(program, main)]
    if plain:
        kept.append(beside_auxiliary(program, main))
    found = _fast_rounds(cheapest(program, kept[:1]), rounds)
    if cost(found)[0] <= _TINY:
        found = _swept(found)
    return _compared(program, cheapest(found, kept))


def _fast_rounds(
    program: Program, rounds: int, *, whole: bool = False, brief: bool = False
) -> Program:
    """Run `fast` again as long as that helps; where it does harm, the passes one by one."""
    before = cost(program)
    for _ in range(rounds if before[0] <= _AGAIN else 1):
        made = fast(program, whole=whole, brief=brief)
        after = cost(made)
        if after > before:
            made = _repeated(program, DEFAULT[1:] if whole else DEFAULT, 1)
            after = cost(made)
        program = made
        if after >= before:
            break
        before = after
    return program


def _swept(program: Program, passes: Sequence[str] = DEFAULT) -> Program:
    from linkwright.program.search.removal import swept  # which needs the passes itself

    return cheapest(program, [_repeated(swept(program), passes, 1)])


def _tried(
    program: Program, passes: Sequence[str] | None, rounds: int, keep: Sequence[str] = ()
) -> Program:
    """Return the cheapest result of the sequences to try, without the passes in `keep`."""
    large = cost(program)[0] > _LARGE
    if large:
        rounds = 1
    sequences = (passes,) if passes is not None else (DEFAULT,) if large else (DEFAULT, FACTORED)
    found = [_repeated(program, [n for n in s if n not in keep], rounds) for s in sequences]
    return found[0] if len(found) == 1 else cheapest(found[0], found[1:])


def _repeated(program: Program, passes: Sequence[str], rounds: int) -> Program:
    """Run passes again and again, until that no longer helps."""
    before = cost(program)
    for left in reversed(range(rounds)):
        for name in passes:
            program = _pass(name)(program)
        if left == 0 or cost(program) >= before:
            break
        before = cost(program)
    return program


def report(
    program: Program, passes: Sequence[str] = tuple(PASSES)
) -> list[tuple[str, dict[Rate, Counts]]]:
    """Return the counts of each stage at the start and after each pass.

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
    "FACTORED",
    "PASSES",
    "Pass",
    "careful",
    "common_subexpressions",
    "factor",
    "fast",
    "inline_single_use",
    "liveness",
    "merge_constants",
    "optimize",
    "pressure",
    "report",
    "schedule",
    "schedule_code",
    "split",
    "value_numbering",
]
