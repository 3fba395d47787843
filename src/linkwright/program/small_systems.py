"""Small linear systems as branch-free Programs, by the cells of a systolic array.

The rules are those of `linkwright.systolic` (the modified algorithm of Faddeev): Givens rotations
bring A to a triangle, rows of C are eliminated with its pivots, and D + C A⁻¹ B is what is left,
without back-substitution. Every decision is a selection, so a batch runs in the lanes of vector
registers: where a pivot and what meets it are both 0, nothing is turned (0/0 = 0: s = 0, c = 1).
A cell that holds nothing yet takes over what comes first; there a rotation would only change signs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby

from linkwright.algebra import equal, sqrt, symbol, where
from linkwright.algebra.expr import ONE, ZERO, Expr
from linkwright.program.program import Assign, Namer, Program, ProgramError, program

_MOST = 16
"""Unknowns and right sides together, as on the array."""


def faddeev_program(m: int, n: int, p: int, l: int | None = None) -> Program:
    """Return a Program for D + C A⁻¹ B, or for A⁻¹ B.

    Its inputs are A and B, and C and D where `l` is given; its output is X. With more rows than
    columns in A it is least squares. A pivot of 0 gives numbers that are not finite, where
    something else than 0 is divided by it.

    Args:
        m: rows of A and B, at least n.
        n: columns of A.
        p: columns of B.
        l: rows of C and D, or None for C = I and D = 0.

    Example:
        >>> found = faddeev_program(6, 6, 6)
        >>> [port.name for port in found.inputs], found.outputs[0].shape
        (['A', 'B'], (6, 6))
    """
    for name, size in (("m", m), ("n", n), ("p", p), ("l", 1 if l is None else l)):
        if type(size) is not int or size < 1:
            raise ProgramError(f"{name} is {size!r}", remedy="give a whole number from 1 on")
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
    cells = _Cells(n)
    cells.rotate([row + side for row, side in zip(A, B, strict=True)])
    results = cells.eliminate(lower)
    name = f"faddeev_{m}_{n}_{p}" + ("" if l is None else f"_{l}")
    return program(name, inputs, {"X": results}, statements=cells.statements)


def _matrix(letter: str, rows: int, columns: int) -> list[list[Expr]]:
    return [
        [symbol(f"{letter}_{i + 1}_{j + 1}", "input") for j in range(columns)] for i in range(rows)
    ]


def _diagonal(place: tuple[int, int]) -> tuple[int, int]:
    return sum(place), place[1]


class _Cells:
    """The triangle of cells, and the statements that fill it."""

    def __init__(self, n: int) -> None:
        self.held: list[list[Expr]] = [[] for _ in range(n)]
        self.statements: list[Assign] = []
        self._name = Namer(None, "z")

    def rotate(self, rows: Sequence[Sequence[Expr]]) -> None:
        """Let the rows of [A B] in, as on the array: cells of a diagonal work at the same time.

        Their roots and quotients do not wait for each other then; of each turn only the entry that
        the next one needs is applied at once, and the rest fills the time of the next root.
        """
        passing = [list(row) for row in rows]
        pairs = [(i, k) for i in range(len(rows)) for k in range(min(i + 1, len(self.held)))]
        late: list[Callable[[], None]] = []
        for _, step in groupby(sorted(pairs, key=_diagonal), key=sum):
            turns, taken = [], []
            for i, k in step:
                if self.held[k]:
                    turns.append((i, k, *self._turn(self.held[k][0], passing[i][k])))
                else:
                    taken.append((i, k))
            for finish in late:
                finish()
            for i, k in taken:
                self.held[k] = passing[i][k:]
            late = []
            for i, k, t, s, c in turns:
                self.held[k][0] = t
                self._apply(self.held[k], passing[i], k, (s, c), slice(1, 2))
                late.append(
                    partial(self._apply, self.held[k], passing[i], k, (s, c), slice(2, None))
                )
        for finish in late:
            finish()

    def _apply(
        self, held: list[Expr], x: list[Expr], k: int, turn: tuple[Expr, Expr], part: slice
    ) -> None:
        """Turn some of the entries that a cell row holds with those that pass it."""
        s, c = turn
        for at in range(len(held))[part]:
            r, come = held[at], x[k + at]
            held[at] = self._kept(r * c + come * s)
            x[k + at] = self._kept(self._kept(come * c) - r * s)

    def _turn(self, r: Expr, x: Expr) -> tuple[Expr, Expr, Expr]:
        """Return t, s and c of a boundary cell."""
        square = self._kept(r * r + x * x)
        nothing = equal(square, ZERO)
        inverse = self._kept(ONE / sqrt(where(nothing, ONE, square)))
        s, c = self._kept(x * inverse), self._kept(where(nothing, ONE, r * inverse))
        return self._kept(square * inverse), s, c

    def eliminate(self, rows: Sequence[Sequence[Expr]]) -> list[list[Expr]]:
        """Let the rows of [−C D] through, pivot by pivot, and return what comes out."""
        passing = [list(row) for row in rows]
        inverses = [self._kept(ONE / held[0]) for held in self.held]
        for k, (held, inverse) in enumerate(zip(self.held, inverses, strict=True)):
            for x in passing:
                if x[k] is ZERO:
                    continue
                if x[k] == -ONE:  # of C = I: −s is the inverse itself
                    x[k + 1 :] = [
                        self._kept(b + a * inverse)
                        for a, b in zip(held[1:], x[k + 1 :], strict=True)
                    ]
                    continue
                s = self._kept(where(equal(x[k], ZERO), ZERO, x[k] * inverse))
                x[k + 1 :] = [
                    self._kept(b - a * s) for a, b in zip(held[1:], x[k + 1 :], strict=True)
                ]
        return [x[len(self.held) :] for x in passing]

    def _kept(self, value: Expr) -> Expr:
        if value.is_constant:
            return value
        name = self._name()
        self.statements.append(Assign(name, value))
        return name
