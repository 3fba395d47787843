"""Small linear systems as branch-free Programs, by the cells of a systolic array.

The rules are those of `heritage.systolic` (the modified algorithm of Faddeev): Givens rotations
bring A to a triangle, rows of C are eliminated with its pivots, and D + C A⁻¹ B is what is left,
without back-substitution. Every decision is a selection, so a batch runs in the lanes of vector
registers: where a pivot and what meets it are both 0, nothing is turned (0/0 = 0: s = 0, c = 1).
A cell that holds nothing yet takes over what comes first; there a rotation would only change signs.
Squares that overflow or underflow are taken again of numbers times a power of two, by selections
too, so that the scale of a system does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwright.algebra import absolute, equal, maximum, minimum, sqrt, symbol, where
from linkwright.algebra.expr import ONE, ZERO, Expr
from linkwright.program.program import Assign, Namer, Program, ProgramError, program

_MOST = 16
"""Unknowns and right sides together, as on the array."""

_ROWS = 64
"""Rows of A or C."""

_SMALL, _BIG = 2.0**-900, 2.0**1000
"""Sums of squares between them are exact to rounding."""

_SHIFT = 2.0**600
"""What brings all other numbers to such squares, or its inverse."""


def faddeev_program(
    m: int, n: int, p: int, l: int | None = None, *, pivot: bool = False
) -> Program:
    """Return a Program for D + C A⁻¹ B, or for A⁻¹ B.

    Its inputs are A and B, and C and D where `l` is given; its output is X. With more rows than
    columns in A it is least squares. A pivot of 0 gives numbers that are not finite, where
    something else than 0 is divided by it; rounding leaves pivots of singular matrices that are
    small instead.

    Example:
        >>> found = faddeev_program(6, 6, 6)
        >>> [port.name for port in found.inputs], found.outputs[0].shape
        (['A', 'B'], (6, 6))
    """
    for name, size in (("m", m), ("n", n), ("p", p), ("l", 1 if l is None else l)):
        if type(size) is not int or not 1 <= size <= _ROWS:
            raise ProgramError(
                f"{name} is {size!r}", remedy=f"give a whole number from 1 to {_ROWS}"
            )
    if m < n:
        raise ProgramError(f"A is {m}×{n}", remedy="give at least as many rows as columns")
    if n + p > _MOST:
        raise ProgramError(
            f"{n} unknowns and {p} right sides are too many for one Program",
            remedy=f"{_MOST} together at most",
        )
    A, B = _matrix("a", m, n), _matrix("b", m, p)
    inputs = {"A": A, "B": B}
    if l is None:
        lower = [[-ONE if j == i else ZERO for j in range(n)] + [ZERO] * p for i in range(n)]
    else:
        C, D = _matrix("c", l, n), _matrix("d", l, p)
        inputs |= {"C": C, "D": D}
        lower = [[-x for x in C[i]] + D[i] for i in range(l)]
    cells = _Cells(A)
    factors = [cells.eliminate(row[:n]) for row in lower]
    columns = []
    for j in range(p):
        held = cells.column([row[j] for row in B])
        columns.append(
            [cells.left(row[n + j], f, held) for row, f in zip(lower, factors, strict=True)]
        )
    results = [list(row) for row in zip(*columns, strict=True)]
    name = f"faddeev_{m}_{n}_{p}" + ("" if l is None else f"_{l}")
    outputs: dict[str, list[list[Expr]] | Expr] = {"X": results}
    if pivot:
        outputs["pivot"] = cells.least_pivot()
        name += "_pivot"
    return program(name, inputs, outputs, statements=cells.statements)


def _matrix(letter: str, rows: int, columns: int) -> list[list[Expr]]:
    return [
        [symbol(f"{letter}_{i + 1}_{j + 1}", "input") for j in range(columns)] for i in range(rows)
    ]


def _diagonal(place: tuple[int, int]) -> tuple[int, int]:
    return sum(place), place[1]


class _Cells:
    """The triangle of cells, and the statements that fill it.

    The columns of A go first and leave the turns; each column of B follows by itself, so that what
    it has in work is small enough for registers.
    """

    def __init__(self, A: Sequence[Sequence[Expr]]) -> None:
        n = len(A[0])
        self.statements: list[Assign] = []
        self._name = Namer(None, "z")
        self.turns: list[tuple[int, int, Expr, Expr]] = []
        held: list[list[Expr]] = [[] for _ in range(n)]
        passing = [list(row) for row in A]
        pairs = [(i, k) for i in range(len(A)) for k in range(min(i + 1, n))]
        for i, k in sorted(pairs, key=_diagonal):  # as on the array
            if not held[k]:
                held[k] = passing[i][k:]
                self.turns.append((i, k, ZERO, ZERO))
                continue
            t, s, c = self._turn(held[k][0], passing[i][k])
            self.turns.append((i, k, s, c))
            held[k][0] = t
            for at in range(1, n - k):
                held[k][at], passing[i][k + at] = self._turned(
                    held[k][at], passing[i][k + at], s, c
                )
        self.held = held
        self.inverses = [self._kept(ONE / row[0]) for row in held]

    def _turn(self, r: Expr, x: Expr) -> tuple[Expr, Expr, Expr]:
        """Return t, s and c of a boundary cell."""
        square = self._kept(r * r + x * x)
        scale = self._kept(where(square > _BIG, 1 / _SHIFT, where(square < _SMALL, _SHIFT, ONE)))
        r_scaled, x_scaled = self._kept(r * scale), self._kept(x * scale)
        safe = self._kept(r_scaled * r_scaled + x_scaled * x_scaled)
        nothing = equal(safe, ZERO)
        inverse = self._kept(ONE / sqrt(where(nothing, ONE, safe)))
        s, c = self._kept(x_scaled * inverse), self._kept(where(nothing, ONE, r_scaled * inverse))
        return self._kept(r * c + x * s), s, c

    def _turned(self, r: Expr, x: Expr, s: Expr, c: Expr) -> tuple[Expr, Expr]:
        """Return what an internal cell holds, and what leaves it."""
        return self._kept(r * c + x * s), self._kept(self._kept(x * c) - r * s)

    def column(self, side: Sequence[Expr]) -> list[Expr]:
        """Return what the cells hold of a column of B."""
        held: list[Expr] = [ZERO] * len(self.held)
        passing = list(side)
        for i, k, s, c in self.turns:
            if c is ZERO:
                held[k] = passing[i]
            else:
                held[k], passing[i] = self._turned(held[k], passing[i], s, c)
        return held

    def eliminate(self, row: Sequence[Expr]) -> list[Expr]:
        """Return the s of each pivot that a row of −C meets."""
        x, found = list(row), []
        for k, (held, inverse) in enumerate(zip(self.held, self.inverses, strict=True)):
            if x[k] is ZERO:
                found.append(ZERO)
                continue
            if x[k].is_constant:
                s = x[k] * inverse
            else:
                s = self._kept(where(equal(x[k], ZERO), ZERO, x[k] * inverse))
            found.append(s)
            x[k + 1 :] = [self._kept(b - a * s) for a, b in zip(held[1:], x[k + 1 :], strict=True)]
        return found

    def least_pivot(self) -> Expr:
        """Return the smallest pivot over the largest, 0 where all are 0."""
        sizes = [self._kept(absolute(row[0])) for row in self.held]
        most = self._kept(maximum(*sizes)) if len(sizes) > 1 else sizes[0]
        least = self._kept(minimum(*sizes)) if len(sizes) > 1 else sizes[0]
        return self._kept(where(equal(most, ZERO), ZERO, least / most))

    def left(self, d: Expr, factors: Sequence[Expr], held: Sequence[Expr]) -> Expr:
        """Return what comes out of a column of D."""
        for s, r in zip(factors, held, strict=True):
            if s is not ZERO:
                d = self._kept(d - r * s)
        return d

    def _kept(self, value: Expr) -> Expr:
        if value.is_constant:
            return value
        name = self._name()
        self.statements.append(Assign(name, value))
        return name
