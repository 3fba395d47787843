"""Rates of joints by a partition of the Jacobian: one square solve, and the rest by freedom.

With the columns of J in two sets, J = [Jp | Jr], Jp square, and

    [d C] = Jp^-1 [v Jr],   up = d - C ur

gives the velocity v for any rates ur of the others (the force and motion server's digest, section
3.9). The rates nearest to some `aim` (least norm where that is zero: the pseudo-inverse) have

    (1 + C^T C) ur = C^T (d - aim_p) + aim_r.

Which joints are free is found in the elimination: each row takes the largest entry of what is left
of it as its pivot, and its column goes to Jp (Gaussian elimination of J^T with partial pivoting).
So Jp is as far from singular as J lets it be, the set changes as the arm moves, and rates do not
jump where it does, because they do not depend on it.

In a singular pose a row whose pivot is below the threshold is left out; the residual tells what is
missing. Rates there are finite, but they are not those of least squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from linkwright.algebra import ONE, ZERO, Expr, constant, total
from linkwright.algebra.functions import absolute, maximum, minimum, where
from linkwright.algebra.triples import dot
from linkwright.base.errors import InputError
from linkwright.equations.tree import Results, Tree
from linkwright.equations.writer import Writer
from linkwright.program import Namer, Program
from linkwright.program.linear import ldlt
from linkwright.robots.fixed_frames import FixedFrame
from linkwright.robots.ik.rates import rate_inputs, refuse_quaternions
from linkwright.robots.ik.saturation import bounds, clipped, limit_inputs, saturated
from linkwright.robots.kinematics import pose_and_jacobian


@dataclass(frozen=True, slots=True)
class Partition:
    """A solved partition, columns in the order of their pivots."""

    d: list[Expr]  # rates of the square part for the right side, those of the others zero
    c: list[list[Expr]]  # Jp^-1 Jr, a row for each pivot
    # which columns changed places, in order: two places and a condition
    swaps: list[tuple[int, int, Expr]]
    live: list[Expr]  # 1 for each pivot that counts, else 0
    ratio: Expr  # of the smallest pivot to the largest

    def permuted(self, writer: Writer, values: Sequence[Expr]) -> list[Expr]:
        """Return values of the joints in the order of the pivots."""
        return _swapped(writer, values, self.swaps)

    def joints(self, writer: Writer, values: Sequence[Expr]) -> list[Expr]:
        """Return values in the order of the pivots as those of the joints."""
        return _swapped(writer, values, self.swaps[::-1])


def _swapped(
    writer: Writer, values: Sequence[Expr], swaps: Sequence[tuple[int, int, Expr]]
) -> list[Expr]:
    found = list(values)
    for i, j, swap in swaps:
        one, other = found[i], found[j]
        if one is not other:
            found[i] = writer.hold(where(swap, other, one))
            found[j] = writer.hold(where(swap, one, other))
    return found


def partitioned(
    writer: Writer, rows: Sequence[Sequence[Expr]], right: Sequence[Expr], threshold: Expr
) -> Partition:
    """Return the partition of a matrix with at most as many rows as its rank, and its solution."""
    hold = writer.hold
    a = [[*map(hold, row), v] for row, v in zip(rows, right, strict=True)]
    m, n = len(rows), len(rows[0])
    largest = hold(maximum(*(absolute(x) for row in rows for x in row if x is not ZERO), ZERO))
    limit = hold(threshold * largest)
    swaps: list[tuple[int, int, Expr]] = []
    sizes: list[Expr] = []
    live: list[Expr] = []
    for k in range(m):
        size = hold(absolute(a[k][k]))
        for i in range(k + 1, n):
            if a[k][i] is ZERO:
                continue
            other = hold(absolute(a[k][i]))
            swap = hold(other > size)
            size = hold(maximum(size, other))
            swaps.append((k, i, swap))
            for row in a:
                row[k], row[i] = _swapped(writer, [row[k], row[i]], [(0, 1, swap)])
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
    solved = [[ZERO] * (n - m + 1) for _ in range(m)]
    for k in reversed(range(m)):
        for c in range(n - m + 1):
            known = [a[k][j] * solved[j][c] for j in range(k + 1, m)]
            solved[k][c] = hold(a[k][m + c] - total(known))
    ratio = hold(minimum(*sizes) / hold(maximum(*sizes, constant(1e-280))))
    return Partition([row[-1] for row in solved], [row[:-1] for row in solved], swaps, live, ratio)


def partition_program(
    tree: Tree, spot: FixedFrame, rows: Sequence[int], *, aimed: bool, limited: bool
) -> Program:
    """Return the Program of joint rates by a partition.

    Its inputs are `q`, `rate` (6, in the world's axes), with an aim also `aim` (n), `settings`
    (the threshold), with limits also those of `saturation`; its outputs `rates` (n), `residual`
    (6; zero for components that do not count), `rank`, `ratio`, `free` (the numbers of the joints
    that the square part leaves), and with limits `scale`.
    """
    refuse_quaternions(tree)
    n, m = len(tree.coordinates), len(rows)
    rate, (threshold,) = rate_inputs("rate", 6), rate_inputs("settings", 1)
    more = {"rate": rate, "settings": (threshold,)}
    if aimed:
        more["aim"] = rate_inputs("aim", n)
    if limited:
        more |= limit_inputs(n)

    def write(writer: Writer) -> Results:
        hold = writer.hold
        _, jacobian = pose_and_jacobian(writer, tree, spot, "local-world-aligned")
        chosen = [jacobian[k] for k in rows]
        moving = [j for j in range(n) if any(row[j] is not ZERO for row in chosen)]
        _refuse_too_few(len(moving), rows)
        jacobian_rows = [[row[j] for j in moving] for row in chosen]
        made = partitioned(writer, jacobian_rows, [rate[k] for k in rows], threshold)
        spare = len(moving) - m
        basis = [
            [*(-row[c] for row in made.c), *(ONE if c == k else ZERO for k in range(spare))]
            for c in range(spare)
        ]
        task = [*made.d, *[ZERO] * spare]
        aim = [more["aim"][j] for j in moving] if aimed else [ZERO] * len(moving)
        space = NullSpace(writer, basis)
        whole: list[Expr] = list(more["aim"]) if aimed else [ZERO] * n
        results: dict[str, object] = {}
        if limited:
            low, high = bounds(writer, tree.coordinates, more)
            whole = [clipped(writer, *row) for row in zip(whole, low, high, strict=True)]
            kept = [made.joints(writer, column) for column in basis]
            space = NullSpace(writer, kept, space.gram)
            least = made.joints(writer, NullSpace(writer, basis, space.gram).without(task))
            rates, scale = saturated(
                writer,
                least,
                space.along(aim),
                space.projector(len(moving)),
                [low[j] for j in moving],
                [high[j] for j in moving],
                spare,
            )
            results["scale"] = [scale]
        elif aimed:
            wish = made.permuted(writer, aim)
            off = [hold(x - y) for x, y in zip(task, wish, strict=True)]
            left = space.without(off)
            rates = made.joints(writer, [hold(x + y) for x, y in zip(wish, left, strict=True)])
        else:
            rates = made.joints(writer, space.without(task))
        for j, x in zip(moving, rates, strict=True):
            whole[j] = x
        residual: list[Expr] = [ZERO] * 6
        for k, row in zip(rows, jacobian_rows, strict=True):
            residual[k] = hold(rate[k] - dot(row, rates))
        if spare:
            order = made.permuted(writer, [constant(j) for j in moving])
            results["free"] = order[m:]
        return {
            "rates": whole,
            "residual": residual,
            "rank": [total(made.live)],
            "ratio": [made.ratio],
            **results,
        }

    return tree.program("partition_rates", ["q"], write, more)


@dataclass(frozen=True, slots=True)
class NullSpace:
    """What joints can do without moving the frame: a basis, and projections on it."""

    writer: Writer  # takes the statements
    basis: list[list[Expr]]  # vectors that need not be orthogonal
    # their products with each other; computed where not given
    gram: list[list[Expr]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.gram:
            products = [[self.writer.hold(dot(x, y)) for y in self.basis] for x in self.basis]
            object.__setattr__(self, "gram", products)

    def _shares(self, sides: Sequence[Sequence[Expr]]) -> list[list[Expr]]:
        if not self.basis:
            return [[] for _ in sides]
        statements, found = ldlt(self.gram, sides, Namer(None, f"pn{len(self.writer.statements)}_"))
        self.writer.take(statements)
        return found

    def _share(self, vector: Sequence[Expr]) -> list[Expr]:
        return self._shares([[self.writer.hold(dot(x, vector)) for x in self.basis]])[0]

    def along(self, vector: Sequence[Expr]) -> list[Expr]:
        """Return what a vector has in the null space."""
        if all(x is ZERO for x in vector):
            return [ZERO] * len(vector)
        return self._combined([ZERO] * len(vector), self._share(vector), 1)

    def without(self, vector: Sequence[Expr]) -> list[Expr]:
        """Return a vector without what it has in the null space."""
        return self._combined(vector, self._share(vector), -1)

    def _combined(self, start: Sequence[Expr], shares: Sequence[Expr], sign: int) -> list[Expr]:
        columns = list(zip(*self.basis, strict=True)) or [()] * len(start)
        return [
            self.writer.hold(x + sign * dot(shares, column))
            for x, column in zip(start, columns, strict=True)
        ]

    def projector(self, n: int) -> list[list[Expr]]:
        """Return the symmetric matrix that projects on the null space."""
        columns = [list(c) for c in zip(*self.basis, strict=True)] or [[] for _ in range(n)]
        shares = self._shares(columns)
        found: list[list[Expr]] = [[ZERO] * n for _ in range(n)]
        for i in range(n):
            for j in range(i + 1):
                found[i][j] = found[j][i] = self.writer.hold(dot(columns[i], shares[j]))
        return found


def _refuse_too_few(count: int, rows: Sequence[int]) -> None:
    if count < len(rows):
        raise InputError(
            f"a partition needs at least as many joints as there are components of the rate, and "
            f"{count} joints move the frame for {len(rows)} components",
            remedy='leave components out with weights of 0, or use method="pseudo"',
        )
