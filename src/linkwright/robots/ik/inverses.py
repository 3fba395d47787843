"""Inverses J⁺ of a Jacobian as statements of a Program, for rates of joints u = J⁺ v + N aim.

N = 1 - J⁺ J projects on the null space, in which joints move without moving the frame; what they
have there goes toward the rates `aim`. Both inverses find the rank as they run.

`Orthogonal` is for any number of joints, singular poses and damping. The rows of J are
orthogonalized with row pivoting (modified Gram-Schmidt): P J = R^T Q, rows of Q of length one, the
diagonal of R falling. Pivots below a threshold, relative to the first, are left out with their
rows. Then

    u = Q^T (R R^T + damping^2 1)^-1 R P v + (1 - Q^T Q) aim

is the least-squares solution of least norm where there is no damping (the pseudo-inverse), and
damped least squares (Nakamura and Hanafusa 1986) where there is. Where J has full rank and there is
no damping, R^T y = P v is solved as it stands, without squares.

`Partition` takes fewer operations: one square solve. With the columns of J in two sets,
J = [Jp | Jr], Jp square, and

    [d C] = Jp^-1 [v Jr],   up = d - C ur

gives the velocity v for any rates ur of the others (the force and motion server's digest, section
3.9). The rates nearest to some `aim` (least norm where that is zero: the pseudo-inverse) have

    (1 + C^T C) ur = C^T (d - aim_p) + aim_r.

Which joints are free is found in the elimination: each row takes the largest entry of what is left
of it as its pivot, and its column goes to Jp (Gaussian elimination of J^T with partial pivoting).
So Jp is as far from singular as J lets it be, the set changes as the arm moves, and rates do not
jump where it does, because they do not depend on it. In a singular pose a row whose pivot is below
the threshold is left out; the residual says what is missing. Rates there are finite, but they are
not those of least squares.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from linkwright.algebra import ONE, ZERO, Expr, constant, sqrt, total
from linkwright.algebra.functions import absolute, maximum, minimum, where
from linkwright.algebra.triples import Hold, dot
from linkwright.base.errors import InputError
from linkwright.equations.writer import Writer
from linkwright.program import Namer
from linkwright.program.linear import gram, ldlt

_TINY = constant(1e-280)

Swap = tuple[int, int, Expr]
"""Two places and whether what stands there changes places."""
Rows = list[list[Expr]]


def _swapped(hold: Hold, values: Sequence[Expr], swaps: Iterable[Swap]) -> list[Expr]:
    """Return values of which some change places, one pair after the other."""
    found = list(values)
    for i, j, swap in swaps:
        one, other = found[i], found[j]
        if one is not other:
            found[i], found[j] = hold(where(swap, other, one)), hold(where(swap, one, other))
    return found


@dataclass(frozen=True, slots=True)
class Orthogonal:
    """The rows of a matrix made orthogonal: P J = R^T Q."""

    q: Rows  # rows of length one, zero where the rank ends
    r: Rows  # `r[k][i]` is what the i-th pivoted row has of the k-th orthogonal one
    live: list[Expr]  # 1 for each pivot that counts, else 0
    ratio: Expr  # of the smallest pivot to the first
    swaps: list[Swap]  # of rows, in order
    writer: Writer  # takes the statements
    damping: Expr  # of solutions
    stem: str = "jr"  # of the names in solutions; each matrix of a Program has its own

    def solved(self, *rights: Sequence[Expr]) -> Rows:
        """Return the solutions of J x = b of least norm for right sides."""
        hold, p, m = self.writer.hold, len(self.q), len(self.r[0])
        permuted = [_swapped(hold, b, self.swaps) for b in rights]
        level = hold(self.damping * self.damping)
        matrix: Rows = [[ZERO] * p for _ in range(p)]
        for i in range(p):
            for j in range(i + 1):
                shares = [self.r[i][k] * self.r[j][k] for k in range(i, m)]
                if i == j:
                    shares += [level, ONE - self.live[i]]
                matrix[i][j] = matrix[j][i] = hold(total(shares))
        sides = [
            [hold(total(self.r[k][i] * b[i] for i in range(k, m))) for k in range(p)]
            for b in permuted
        ]
        statements, solutions = ldlt(matrix, sides, Namer(None, self.stem))
        self.writer.take(statements)
        if p == m:
            plain = hold(where(self.damping > ZERO, ZERO, self.live[-1]))
            solutions = [
                [
                    hold(where(plain > ZERO, x, y))
                    for x, y in zip(self._substituted(b), other, strict=True)
                ]
                for b, other in zip(permuted, solutions, strict=True)
            ]
        columns = list(zip(*self.q, strict=True))
        return [[hold(dot(column, y)) for column in columns] for y in solutions]

    def _substituted(self, b: Sequence[Expr]) -> list[Expr]:
        """Return y with R^T y = b; it counts where no pivot is left out."""
        found: list[Expr] = []
        for i, side in enumerate(b):
            known = [self.r[k][i] * found[k] for k in range(i)]
            divisor = where(self.live[i] > ZERO, self.r[i][i], ONE)
            found.append(self.writer.hold((side - total(known)) / self.writer.hold(divisor)))
        return found

    def null(self, rates: Sequence[Expr]) -> list[Expr]:
        """Return what rates have in the null space."""
        hold = self.writer.hold
        shares = [hold(dot(row, rates)) for row in self.q]
        columns = zip(*self.q, strict=True)
        return [hold(z - dot(shares, column)) for z, column in zip(rates, columns, strict=True)]

    def projector(self) -> Rows:
        """Return the symmetric matrix that projects on the null space."""
        columns = list(zip(*self.q, strict=True))
        found: Rows = [[ZERO] * len(columns) for _ in columns]
        for i, one in enumerate(columns):
            for j in range(i + 1):
                entry = (ONE if i == j else ZERO) - dot(one, columns[j])
                found[i][j] = found[j][i] = self.writer.hold(entry)
        return found


def orthogonalized(
    writer: Writer,
    rows: Sequence[Sequence[Expr]],
    damping: Expr,
    threshold: Expr,
    scale: Expr = ZERO,
) -> Orthogonal:
    """Return the rows of a matrix made orthogonal, the longest remainder first.

    Pivots are relative to the first, or to `scale` where that is larger.
    """
    hold = writer.hold
    left = [[hold(x) for x in row] for row in rows]
    m, n = len(left), len(left[0])
    p = min(m, n)
    r: Rows = [[ZERO] * m for _ in range(p)]
    q: Rows = []
    live: list[Expr] = []
    swaps: list[Swap] = []
    first = ratio = ONE
    for k in range(p):
        sizes = [hold(total(x * x for x in row)) for row in left]
        for i in range(k + 1, m):
            swap = (k, i, hold(sizes[i] > sizes[k]))
            swaps.append(swap)
            columns = [_swapped(hold, column, [swap]) for column in zip(*left, strict=True)]
            left = [list(row) for row in zip(*columns, strict=True)]
            r[:k] = [_swapped(hold, row, [swap]) for row in r[:k]]
            sizes = _swapped(hold, sizes, [swap])
        size = hold(sqrt(sizes[k] + _TINY))
        if k == 0:
            first = size if scale is ZERO else hold(maximum(size, scale))
        ratio = hold(size / first)
        counts = hold(where(ratio > threshold, ONE, ZERO))
        live.append(counts)
        inverse = hold(counts / size)
        own = [hold(inverse * x) for x in left[k]]
        q.append(own)
        r[k][k] = hold(counts * size)
        for i in range(k + 1, m):
            share = hold(dot(own, left[i]))
            r[k][i] = share
            left[i] = [hold(y - share * x) for x, y in zip(own, left[i], strict=True)]
    return Orthogonal(q, r, live, ratio, swaps, writer, damping)


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition solved for one right side, columns in the order of their pivots."""

    task: list[Expr]  # rates of the square part for the right side, those of the others zero
    basis: Rows  # of the null space
    swaps: list[Swap]  # of columns, in order
    live: list[Expr]  # 1 for each pivot that counts, else 0
    ratio: Expr  # of the smallest pivot to the largest
    writer: Writer  # takes the statements

    def permuted(self, values: Sequence[Expr]) -> list[Expr]:
        """Return values of the joints in the order of the pivots."""
        return _swapped(self.writer.hold, values, self.swaps)

    def nearest(self, aim: Sequence[Expr]) -> list[Expr]:
        """Return the solution that is nearest to some rates."""
        hold = self.writer.hold
        wish = self.permuted(aim)
        off = [hold(x - y) for x, y in zip(self.task, wish, strict=True)]
        (shares,) = self._shares([hold(dot(x, off)) for x in self.basis])
        columns = list(zip(*self.basis, strict=True)) or [()] * len(off)
        left = [hold(x - dot(shares, c)) for x, c in zip(off, columns, strict=True)]
        return self._joints([hold(x + y) for x, y in zip(wish, left, strict=True)])

    def null(self, rates: Sequence[Expr]) -> list[Expr]:
        """Return what rates have in the null space."""
        if all(x is ZERO for x in rates):
            return [ZERO] * len(rates)
        hold, (basis, columns) = self.writer.hold, self._of_joints()
        (shares,) = self._shares([hold(dot(x, rates)) for x in basis])
        return [hold(dot(shares, column)) for column in columns]

    def projector(self) -> Rows:
        """Return the symmetric matrix that projects on the null space."""
        _, columns = self._of_joints()
        shares = self._shares(*columns)
        found: Rows = [[ZERO] * len(columns) for _ in columns]
        for i, column in enumerate(columns):
            for j in range(i + 1):
                found[i][j] = found[j][i] = self.writer.hold(dot(column, shares[j]))
        return found

    def _joints(self, values: Sequence[Expr]) -> list[Expr]:
        return _swapped(self.writer.hold, values, self.swaps[::-1])

    def _of_joints(self) -> tuple[Rows, Sequence[Sequence[Expr]]]:
        """Return the basis in the order of the joints, and its columns."""
        basis = [self._joints(x) for x in self.basis]
        return basis, list(zip(*basis, strict=True)) or [()] * len(self.task)

    def _shares(self, *sides: Sequence[Expr]) -> Rows:
        """Return the shares of the basis that have some products with it."""
        if not self.basis:
            return [[] for _ in sides]
        matrix = gram(self.writer.hold, self.basis)
        namer = Namer(None, f"pn{len(self.writer.statements)}_")
        statements, found = ldlt(matrix, sides, namer)
        self.writer.take(statements)
        return found


def partitioned(
    writer: Writer, rows: Sequence[Sequence[Expr]], right: Sequence[Expr], threshold: Expr
) -> Partition:
    """Return the partition of a matrix with at most as many rows as its rank, and its solution."""
    hold = writer.hold
    m, n = len(rows), len(rows[0])
    if n < m:
        raise InputError(
            "a partition needs at least as many joints as there are components of the rate, "
            f"and {n} joints move the frame for {m} components",
            remedy='leave components out with weights of 0, or use method="pseudo"',
        )
    a = [[*map(hold, row), v] for row, v in zip(rows, right, strict=True)]
    largest = hold(maximum(*(absolute(x) for row in rows for x in row if x is not ZERO), ZERO))
    limit = hold(threshold * largest)
    swaps: list[Swap] = []
    sizes: list[Expr] = []
    live: list[Expr] = []
    for k in range(m):
        size = hold(absolute(a[k][k]))
        for i in range(k + 1, n):
            if a[k][i] is ZERO:
                continue
            other = hold(absolute(a[k][i]))
            swaps.append((k, i, hold(other > size)))
            size = hold(maximum(size, other))
            a = [_swapped(hold, row, swaps[-1:]) for row in a]
        sizes.append(size)
        counts = hold(size > limit)
        live.append(hold(where(counts, ONE, ZERO)))
        inverse = hold(where(counts, ONE / hold(where(counts, a[k][k], ONE)), ZERO))
        a[k][k + 1 :] = [hold(inverse * x) for x in a[k][k + 1 :]]
        for i in range(k + 1, m):
            factor = a[i][k]
            a[i][k + 1 :] = [
                hold(x - factor * y) for x, y in zip(a[i][k + 1 :], a[k][k + 1 :], strict=True)
            ]
    spare = n - m
    solved = [[ZERO] * (spare + 1) for _ in range(m)]
    for k in reversed(range(m)):
        for c in range(spare + 1):
            known = [a[k][j] * solved[j][c] for j in range(k + 1, m)]
            solved[k][c] = hold(a[k][m + c] - total(known))
    ratio = hold(minimum(*sizes) / hold(maximum(*sizes, _TINY)))
    basis = [
        [*(-row[c] for row in solved), *(ONE if c == k else ZERO for k in range(spare))]
        for c in range(spare)
    ]
    return Partition(
        [*(row[-1] for row in solved), *[ZERO] * spare], basis, swaps, live, ratio, writer
    )
