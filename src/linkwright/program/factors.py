"""Factors L D Lᵀ of a symmetric matrix that serve many right sides.

Unlike `linkwright.program.linear.ldlt`, which is made for one right side and counts a division as
a multiplication, the reciprocals of the pivots are kept, because a division takes a processor as
long as a dozen multiplications.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwright.algebra.expr import ONE, ZERO, Expr, raised, scaled, total
from linkwright.program.linear import LinearError
from linkwright.program.program import Assign, Loop, Namer, Scanned, Stacked, Statement

_UNROLLED = 8_000  # products up to which right sides are solved for one by one


@dataclass(frozen=True, slots=True)
class Factors:
    """L and D of a symmetric matrix."""

    order: tuple[int, ...]
    lower: dict[tuple[int, int], Expr]
    reciprocals: dict[int, Expr]
    statements: list[Statement]
    namer: Namer

    def solve(self, column: Sequence[Expr], *, down_to: int | None = None) -> list[Expr]:
        """Return the solution for one right side."""
        done: dict[int, Expr] = {}
        for place, k in enumerate(self.order):
            steps = [
                scaled(-1, self.lower[k, p] * done[p])
                for p in self.order[:place]
                if (k, p) in self.lower and done[p] is not ZERO
            ]
            done[k] = self._held(total([column[k], *steps]))
        unknown: dict[int, Expr] = {}
        for place in reversed(range(len(self.order))):
            k = self.order[place]
            steps = [
                scaled(-1, self.lower[j, k] * unknown[j])
                for j in self.order[place + 1 :]
                if (j, k) in self.lower
            ]
            unknown[k] = self._held(total([done[k] * self.reciprocals[k], *steps]))
            if k == down_to:
                break
        return [unknown.get(k, ZERO) for k in range(len(self.order))]

    def solve_all(self, columns: Sequence[Sequence[Expr]]) -> list[list[Expr]]:
        """Return the solutions for many right sides, in a loop where they are many."""
        if len(columns) * len(self.lower) <= _UNROLLED:
            return [self.solve(column) for column in columns]
        n = len(self.order)
        scanned = [self.namer() for _ in range(n)]
        inner = Factors(self.order, self.lower, self.reciprocals, [], self.namer)
        found = inner.solve(scanned)
        targets = [tuple(self.namer() for _ in columns) for _ in range(n)]
        self.statements.append(
            Loop(
                len(columns),
                (),
                tuple(Scanned(x, tuple(c[i] for c in columns)) for i, x in enumerate(scanned)),
                tuple(Stacked(x, names) for x, names in zip(found, targets, strict=True)),
                tuple(inner.statements),
            )
        )
        return [[names[k] for names in targets] for k in range(len(columns))]

    def inverse(self) -> list[list[Expr]]:
        """Return the rows of the inverse, which is symmetric."""
        n = len(self.order)
        if n * len(self.lower) > _UNROLLED:
            return self.solve_all([[ONE if i == k else ZERO for i in range(n)] for k in range(n)])
        made: list[list[Expr]] = [[ZERO] * n for _ in range(n)]
        for place, k in enumerate(self.order):
            unit = [ONE if i == k else ZERO for i in range(n)]
            found = self.solve(unit, down_to=k)
            for i in self.order[place:]:
                made[i][k] = made[k][i] = found[i]
        return made

    def _held(self, value: Expr) -> Expr:
        return _held(self.statements, self.namer, value)


def factors(
    matrix: Sequence[Sequence[Expr]], namer: Namer, order: Sequence[int] | None = None
) -> Factors:
    """Return the factors of a symmetric matrix with pivots that are not zero.

    >>> from linkwright.algebra import symbols
    >>> a, b, c, y, z = symbols("a b c y z", "coordinate")
    >>> made = factors([[a, b], [b, c]], Namer(None, "z"))
    >>> made.solve([y, z])
    [z6, z7]
    >>> [str(s.operands[0]) for s in made.statements[:3]]
    ['1/c', 'b*z1', 'a - b*z2']
    """
    n = len(matrix)
    sequence = tuple(reversed(range(n))) if order is None else tuple(order)
    statements: list[Statement] = []
    lower: dict[tuple[int, int], Expr] = {}
    upper: dict[tuple[int, int], Expr] = {}
    reciprocals: dict[int, Expr] = {}
    for place, k in enumerate(sequence):
        for i in sequence[place:]:
            steps = [
                scaled(-1, lower[i, p] * upper[p, k])
                for p in sequence[:place]
                if (i, p) in lower and (p, k) in upper
            ]
            value = _held(statements, namer, total([matrix[i][k], *steps]))
            if i == k:
                if value is ZERO:
                    raise LinearError(f"the pivot of unknown {k} is zero")
                reciprocals[k] = _held(statements, namer, raised(value, -1))
            elif value is not ZERO:
                upper[k, i] = value
                lower[i, k] = _held(statements, namer, value * reciprocals[k])
    return Factors(sequence, lower, reciprocals, statements, namer)


def _held(statements: list[Statement], namer: Namer, value: Expr) -> Expr:
    if value.is_atom or (value.op == "scale" and value.args[0].is_atom and value.data == -1):
        return value
    target = namer()
    statements.append(Assign(target, value))
    return target
