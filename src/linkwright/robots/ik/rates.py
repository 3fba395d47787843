"""Rates of joints that give a frame a velocity, as a Program: one for all kinds of arms.

The rows of the weighted Jacobian J are orthogonalized with row pivoting (modified Gram-Schmidt):
P J = R^T Q, rows of Q of length one, the diagonal of R falling. Pivots below a threshold, relative
to the first, are left out with their rows; so the rank is found. Then

    u = Q^T (R R^T + damping^2 1)^-1 R P v + (1 - Q^T Q) aim

is the least-squares solution of least norm where there is no damping (the pseudo-inverse, for arms
of any number of joints and in singular poses), damped least squares (Nakamura and Hanafusa 1986)
where there is, and what freedom is left goes toward the rates `aim` (the null space). Where J has
full rank and there is no damping, R^T y = P v is solved as it stands, without squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwright.algebra import ONE, ZERO, Expr, constant, sqrt, symbol, total
from linkwright.algebra.functions import maximum, where
from linkwright.algebra.triples import dot
from linkwright.base.errors import InputError
from linkwright.equations.tree import Results, Tree
from linkwright.equations.writer import Writer
from linkwright.program import Namer, Program
from linkwright.program.linear import ldlt
from linkwright.robots.fixed_frames import FixedFrame
from linkwright.robots.ik.saturation import bounds, limit_inputs, saturated
from linkwright.robots.ik.step import pose_errors
from linkwright.robots.kinematics import pose_and_jacobian

_OWNER = "joint rates"
_TINY = constant(1e-280)


def rate_inputs(name: str, count: int) -> tuple[Expr, ...]:
    """Return symbols for the entries of an input."""
    return tuple(symbol(f"{name}[{k}]", "input", owner=_OWNER) for k in range(count))


@dataclass(frozen=True, slots=True)
class Orthogonal:
    """The rows of a matrix made orthogonal: P J = R^T Q."""

    q: list[list[Expr]]  # rows of length one, zero where the rank ends
    r: list[list[Expr]]  # `r[k][i]` is what the i-th pivoted row has of the k-th orthogonal one
    live: list[Expr]  # 1 for each pivot that counts, else 0
    ratio: Expr  # of the smallest pivot to the first
    # which rows change places, in order: two places and a condition
    swaps: list[tuple[int, int, Expr]]
    writer: Writer  # takes the statements
    damping: Expr  # of solutions
    stem: str = "jr"  # of the names in solutions; each matrix of a Program has its own

    def permuted(self, values: Sequence[Expr]) -> list[Expr]:
        """Return values of the rows in the order of the pivots."""
        found = list(values)
        hold = self.writer.hold
        for i, j, swap in self.swaps:
            one, other = found[i], found[j]
            if one is other:
                continue
            found[i] = hold(where(swap, other, one))
            found[j] = hold(where(swap, one, other))
        return found

    def solved(self, *rights: Sequence[Expr]) -> list[list[Expr]]:
        """Return the solutions of J x = b of least norm for right sides."""
        hold, p, m = self.writer.hold, len(self.q), len(self.r[0])
        permuted = [self.permuted(b) for b in rights]
        level = hold(self.damping * self.damping)
        matrix: list[list[Expr]] = [[ZERO] * p for _ in range(p)]
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
        for statement in statements:
            self.writer.assign(statement.target, statement.value)
        if p == m:
            plain = hold(where(self.damping > ZERO, ZERO, self.live[-1]))
            straight = [self._substituted(b) for b in permuted]
            solutions = [
                [hold(where(plain > ZERO, x, y)) for x, y in zip(one, other, strict=True)]
                for one, other in zip(straight, solutions, strict=True)
            ]
        width = len(self.q[0])
        return [
            [hold(total(self.q[k][j] * y[k] for k in range(p))) for j in range(width)]
            for y in solutions
        ]

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
        return [
            hold(z - total(s * row[j] for s, row in zip(shares, self.q, strict=True)))
            for j, z in enumerate(rates)
        ]

    def projector(self) -> list[list[Expr]]:
        """Return the symmetric matrix that projects on the null space."""
        n = len(self.q[0])
        found: list[list[Expr]] = [[ZERO] * n for _ in range(n)]
        for i in range(n):
            for j in range(i + 1):
                shares = total(row[i] * row[j] for row in self.q)
                entry = self.writer.hold((ONE if i == j else ZERO) - shares)
                found[i][j] = found[j][i] = entry
        return found


def orthogonalized(
    writer: Writer,
    rows: Sequence[Sequence[Expr]],
    damping: Expr,
    threshold: Expr,
    scale: Expr = ZERO,
) -> Orthogonal:
    """Return the rows of a matrix made orthogonal, the longest remainder first."""
    hold = writer.hold
    left = [[hold(x) for x in row] for row in rows]
    m, n = len(left), len(left[0])
    p = min(m, n)
    r: list[list[Expr]] = [[ZERO] * m for _ in range(p)]
    q: list[list[Expr]] = []
    live: list[Expr] = []
    swaps: list[tuple[int, int, Expr]] = []
    first = ONE
    smallest = ONE
    for k in range(p):
        sizes = [hold(total(x * x for x in row)) for row in left]
        for i in range(k + 1, m):
            swap = hold(sizes[i] > sizes[k])
            swaps.append((k, i, swap))
            left[k], left[i] = _swapped(writer, swap, left[k], left[i])
            for row in r[:k]:
                (row[k],), (row[i],) = _swapped(writer, swap, [row[k]], [row[i]])
            sizes[k], sizes[i] = (
                hold(where(swap, sizes[i], sizes[k])),
                hold(where(swap, sizes[k], sizes[i])),
            )
        size = hold(sqrt(sizes[k] + _TINY))
        if k == 0:
            first = size if scale is ZERO else hold(maximum(size, scale))
        ratio = hold(size / first)
        smallest = ratio
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
    return Orthogonal(q, r, live, smallest, swaps, writer, damping)


def _swapped(
    writer: Writer, swap: Expr, one: Sequence[Expr], other: Sequence[Expr]
) -> tuple[list[Expr], list[Expr]]:
    hold = writer.hold
    pairs = list(zip(one, other, strict=True))
    return (
        [hold(where(swap, b, a)) if a is not b else a for a, b in pairs],
        [hold(where(swap, a, b)) if a is not b else b for a, b in pairs],
    )


def refuse_quaternions(tree: Tree) -> None:
    """Refuse robots with joints that have not one coordinate and one speed each."""
    q = tree.coordinates
    if len(q) != len(tree.speeds) or any(
        tree.kinematics.rates[x] not in set(tree.speeds) for x in q
    ):
        raise InputError(
            "joint rates are those of joints with one degree of freedom, and here are others",
            remedy="fix the base, and use angles in place of quaternions",
            code="R214",
        )


def rates_program(
    tree: Tree, spot: FixedFrame, *, goal: bool = False, saturates: int | None = None
) -> Program:
    """Return the Program of joint rates.

    Its inputs are `q`, `rate` (6, in the world's axes), `weights` (6), `aim` (n), `settings`
    (damping and threshold); its outputs `rates` (n), `residual` (6: what is left of the rate),
    `rank` and `ratio` (of the smallest pivot to the first). With a goal it also takes `place` (3)
    and `turn` (a 3 x 3 rotation) where the frame should be, and `axes` (3 x 3, from the axes of the
    weights to the world's); it gives `error` (6: the way there), `step` (n) that closes it, and
    `missed` (2 x 6): residual and error along the axes of the weights, weighted. With `saturates`
    it keeps limits, and so many joints may be put on them: it also takes the inputs of
    `saturation` and gives the `scale` of the rate that they allow.
    """
    refuse_quaternions(tree)
    n = len(tree.coordinates)
    rate, weights, aim = rate_inputs("rate", 6), rate_inputs("weights", 6), rate_inputs("aim", n)
    damping, threshold = rate_inputs("settings", 2)
    more = {"rate": rate, "weights": weights, "aim": aim, "settings": (damping, threshold)}
    if goal:
        more |= {
            "place": rate_inputs("place", 3),
            "turn": rate_inputs("turn", 9),
            "axes": rate_inputs("axes", 9),
        }
    if saturates is not None:
        more |= limit_inputs(n)

    def write(writer: Writer) -> Results:
        hold = writer.hold
        at, jacobian = pose_and_jacobian(writer, tree, spot, "local-world-aligned")

        def weighted(six: Sequence[Expr]) -> list[Expr]:
            """Return six components along the axes of the weights, weighted."""
            seen = list(six)
            if goal:
                a = more["axes"]
                turned = [(a[i], a[3 + i], a[6 + i]) for i in range(3)]
                seen = [dot(row, six[h : h + 3]) for h in (0, 3) for row in turned]
            return [hold(w * x) for w, x in zip(weights, seen, strict=True)]

        columns = [weighted(column) for column in zip(*jacobian, strict=True)]
        rows = [list(row) for row in zip(*columns, strict=True)]
        made = orthogonalized(writer, rows, damping, threshold)
        wanted = weighted(rate)
        rights = [wanted]
        found: dict[str, object] = {}
        if goal:
            t, p = more["turn"], more["place"]
            target = [*t[0:3], p[0], *t[3:6], p[1], *t[6:9], p[2]]
            shift, turn = pose_errors(writer, at, target)
            error = [*shift, *turn]
            rights.append(weighted(error))
            found["error"] = error
        solutions = made.solved(*rights)
        free = made.null(aim)
        if saturates is not None:
            low, high = bounds(writer, tree.coordinates, more)
            rates, scale = saturated(
                writer, solutions[0], free, made.projector(), low, high, saturates
            )
            found["scale"] = [scale]
        else:
            rates = [hold(x + z) for x, z in zip(solutions[0], free, strict=True)]
        if goal:
            found["step"] = solutions[1]
        residual = [hold(v - dot(row, rates)) for v, row in zip(rate, jacobian, strict=True)]
        if goal:
            found["missed"] = [weighted(residual), rights[1]]
        return {
            "rates": rates,
            "residual": residual,
            "rank": [total(made.live)],
            "ratio": [maximum(made.ratio, ZERO)],
            **found,
        }

    return tree.program("joint_rates", ["q"], write, more)
