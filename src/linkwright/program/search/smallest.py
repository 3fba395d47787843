"""The thorough search: fewer operations than the passes find, for minutes instead of milliseconds.

Definitions are multiplied out and shared anew, thousands of times, and sums are recognized as
simple combinations of other values; the shortest Program is kept. See `docs/smallest-programs.md`.
"""

from __future__ import annotations

from collections.abc import Callable

from linkwright.program.passes import careful, optimize
from linkwright.program.passes.auxiliary import with_auxiliary, without_auxiliary
from linkwright.program.passes.blocks import through_networks
from linkwright.program.passes.choice import cheapest
from linkwright.program.passes.names import renamed
from linkwright.program.passes.network import Network
from linkwright.program.passes.schedule import schedule
from linkwright.program.program import Program
from linkwright.program.search.numerals import with_numbers, with_symbols
from linkwright.program.search.operands import OperandSheet
from linkwright.program.search.verification import (
    VerificationError,
    verify_exactly,
    verify_rounding,
)
from linkwright.program.search.walk import Walk

Progress = Callable[[int, int, int], None]

MOVES = 20_000


def thorough(
    program: Program, *, moves: int = MOVES, seed: int = 0, progress: Progress | None = None
) -> Program:
    """Return a Program with the same outputs and as few operations as a search finds.

    >>> from linkwright.algebra import symbols
    >>> from linkwright.program import count_operations, program
    >>> a, b, c, d = symbols("a b c d", "coordinate")
    >>> p = program("f", {"x": [a, b, c, d]}, {"f": [a * c + a * d + b * c + b * d]})
    >>> count_operations(thorough(p, moves=20)).total
    3
    """
    exact, numbers = with_symbols(program)
    main = without_auxiliary(exact) if program.auxiliary else exact
    best = _searched(main, careful(main), moves, seed, progress)
    if main is not exact:
        best = with_auxiliary(exact, best)
    best = renamed(best)
    fast = optimize(program)
    try:
        verify_exactly(exact, best, seed=seed)
        best = with_numbers(best, program, numbers)
        verify_rounding(program, best, seed=seed)
    except VerificationError:
        return renamed(fast)
    return cheapest(renamed(fast), [best], or_equal=True)


def _searched(
    program: Program, start: Program, moves: int, seed: int, progress: Progress | None
) -> Program:
    """Search from the Program as written and as the passes left it, then from the best found."""
    short = max(moves // 8, 1)
    best = start
    done = 0
    for turn in range(2):
        for source in (start, program):
            found, stopped = _walked(
                source, short, 3 * seed + turn, _shifted(progress, done, moves)
            )
            best = cheapest(best, [found], or_equal=best is start)
            done += short
            if stopped:
                return schedule(best)
    found, _ = _walked(best, max(moves - done, 0), 3 * seed + 2, _shifted(progress, done, moves))
    return schedule(cheapest(best, [found]))


def _shifted(progress: Progress | None, done: int, moves: int) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda made, ops: progress(done + made, moves, ops)


def _walked(
    program: Program, moves: int, seed: int, progress: Callable[[int, int], None] | None
) -> tuple[Program, bool]:
    """Return what a walk finds, and whether it was interrupted."""
    stopped = False

    def transform(network: Network) -> None:
        nonlocal stopped
        loaded = OperandSheet(network)
        walk = Walk(loaded.sheet, seed)
        if not stopped:
            try:
                walk.run(moves, progress)
            except KeyboardInterrupt:
                stopped = True
        loaded.store(walk.best, walk.best_names)

    return through_networks(program, transform), stopped
