"""Programs of the array that are shipped as source, and the data that they take."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import InputError
from linkwright.heritage.systolic.assembler import assemble
from linkwright.heritage.systolic.cells import stacked
from linkwright.heritage.systolic.code import ArrayCode
from linkwright.heritage.systolic.cost import SYSTEM_CLOCK, ArrayCost
from linkwright.heritage.systolic.fixed import ArrayFault, Words, to_numbers, to_words
from linkwright.heritage.systolic.instructions import SIDE
from linkwright.heritage.systolic.machine import ArrayMachine
from linkwright.heritage.systolic.memory import read_data
from linkwright.heritage.systolic.roots import HALVES, QUARTER

FADDEEV = "faddeev.asm"


@dataclass(frozen=True, slots=True, eq=False)
class ArrayRun:
    """What a program left behind.

    Args:
        results: D + C A⁻¹ B.
        words: the same as words of the array.
        cost: what was executed, the loading of constants too.
        warnings: what was questionable.

    Example:
        >>> run_faddeev([[0.5]], [[0.5]], [[0.5]], [[0.0]]).warnings
        ()
    """

    results: NDArray[np.float64]
    words: Words
    cost: ArrayCost
    warnings: tuple[str, ...]


def program_source(name: str = FADDEEV) -> str:
    """Return the source of a shipped program.

    Args:
        name: of its file.

    Example:
        >>> program_source().splitlines()[0]
        '# D + C A⁻¹ B by the modified algorithm of Faddeev, for A m×n, B m×p, C l×n, D l×p.'
    """
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def faddeev_data(A: ArrayLike, B: ArrayLike, C: ArrayLike, D: ArrayLike) -> str:
    """Return the data file that the Faddeev program takes.

    Args:
        A: m×n, with m at least n.
        B: m×p.
        C: l×n.
        D: l×p.

    Example:
        >>> text = faddeev_data([[0.5]], [[1.0]], [[0.25]], [[0.0]])
        >>> text.splitlines()[8]
        '0.5 1.0 0 0 0 0 0 0 0 0 0 0 0 0 0 0'
    """
    A, B, C, D = stacked(A, B, C, D)
    to_words(np.hstack([part.ravel() for part in (A, B, C, D)]))  # refuses what is out of range
    rows = np.vstack([np.hstack([A, B]), np.hstack([-C, D])])
    lines = ["# constants: h2, a quarter, h1, h0, one"]
    h0, h1, h2 = HALVES
    lines += [_row([float(to_numbers(w))]) for w in (h2, QUARTER, h1, h0)]
    lines += [_row([1.0]), "# M, then a row of [A B; -C D], and so on"]
    for i, row in enumerate(rows):
        lines += [_row([1.0 if i < len(A) else 0.0]), _row([float(v) for v in row])]
    lines += ["# zeros", _row([])]
    return "\n".join(lines) + "\n"


def _row(values: list[float]) -> str:
    return " ".join([*map(repr, values), *["0"] * (SIDE - len(values))])


@lru_cache(maxsize=16)
def faddeev_code(m: int, n: int, p: int, l: int) -> ArrayCode:
    """Return the Faddeev program for some sizes.

    >>> len(faddeev_code(6, 6, 6, 6).instructions) < 250
    True
    """
    return assemble(program_source(), file=FADDEEV, settings={"m": m, "n": n, "p": p, "l": l})


def run_faddeev(A: ArrayLike, B: ArrayLike, C: ArrayLike, D: ArrayLike) -> ArrayRun:
    """Return D + C A⁻¹ B as the machine computes it, with the shipped program.

    Args:
        A: m×n, with m at least n, and n + p at most 16.
        B: m×p.
        C: l×n, with l at most 2n + p.
        D: l×p.

    Example:
        >>> found = run_faddeev([[0.8]], [[0.5]], [[0.5]], [[0.1]])
        >>> abs(float(found.results[0, 0]) - 0.4125) < 1e-5, found.cost.steps
        (True, 5)
    """
    parts = stacked(A, B, C, D)
    (m, n), (l, p) = parts[0].shape, parts[3].shape
    code = faddeev_code(m, n, p, l)
    memory, warnings = read_data(faddeev_data(*parts), code.queues)
    machine = ArrayMachine(code, memory)
    machine.run()
    queue = next(q for q in code.queues if q.name == "results")
    words = machine.memory[list(queue.addresses), :p]
    cost = ArrayCost(machine.marks, machine.cycle, machine.cycle / SYSTEM_CLOCK)
    return ArrayRun(to_numbers(words), words, cost, (*warnings, *machine.warnings))


def run_pseudo_inverse(J: ArrayLike) -> tuple[NDArray[np.float64], tuple[ArrayRun, ...]]:
    """Return the pseudo-inverse of a wide matrix as the machine computes it, and its three passes.

    They are the product J Jᵀ, its inverse, and the product Jᵀ (J Jᵀ)⁻¹, each by the Faddeev
    program. Data are scaled by powers of two, smaller and smaller until no number leaves the range.

    Args:
        J: rows of full rank, as many columns or more; rows and columns are at most 16 together.

    Example:
        >>> found, passes = run_pseudo_inverse([[1.0, 0.0, 1.0], [0.0, 2.0, 0.0]])
        >>> found.round(4).tolist(), [one.cost.steps for one in passes]
        ([[0.5, 0.0], [0.0, 0.5], [0.5, 0.0]], [13, 10, 11])
    """
    given = np.atleast_2d(np.asarray(J, dtype=float))
    if given.ndim != 2 or not 0 < given.shape[0] <= given.shape[1] or not np.isfinite(given).all():
        raise InputError(
            f"a matrix of shape {given.shape} is not wide", remedy="give its transpose, or numbers"
        )
    rows, columns = given.shape
    if not np.abs(given).max() > 0:
        raise InputError("a matrix of zeros has no rank", remedy="give rows of full rank")
    size = np.linalg.norm(given, axis=1).max()
    scale = 2.0 ** -np.ceil(np.log2(size) + 0.5)
    J_, one = scale * given, np.eye
    fault: ArrayFault | None = None
    for k in range(_SMALLER):
        part = 2.0**-k
        try:
            product = run_faddeev(one(columns), J_.T, J_, np.zeros((rows, rows)))
            inverse = run_faddeev(
                product.results, part * one(rows), part * one(rows), np.zeros((rows, rows))
            )
            last = run_faddeev(one(rows), inverse.results, J_.T, np.zeros((columns, rows)))
        except ArrayFault as error:
            fault = error
            continue
        return scale * last.results / part**2, (product, inverse, last)
    assert fault is not None
    raise fault


_SMALLER = 12  # powers of two, beyond which too few digits are left
