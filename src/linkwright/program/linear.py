"""Linear systems solved symbolically, as statements of a Program.

`ldlt` factors a symmetric matrix as L D Lᵀ without square roots and `lu` a general one; both use
every structural zero, eliminate in an order that keeps fill and operations low, and never pivot at
run time (the `Solve` statement does that). With AUTOSIM's Crout scheme (Sayers' thesis, section
7.2) a symmetric matrix is factored twice; the symmetric form halves that.

The cost of eliminating an unknown depends only on which ones are gone, not on their order, so the
best order up to ten unknowns is found by dynamic programming over sets; beyond that by minimum
degree and by moving single unknowns about (budgeted, without a clock). Arithmetic between
parameters is free in these costs, as it is in the operation counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from linkwright.algebra.expr import ZERO, Expr, constant, raised, scaled, total
from linkwright.algebra.functions.calls import absolute, where
from linkwright.algebra.triples import dot
from linkwright.program.program import Assign, Namer, ProgramError

_EXACT = 10  # up to so many unknowns the order is the best there is
_ROUNDS = 4  # of local search beyond that

_NONE, _FIXED, _MOVING = 0, 1, 2


class LinearError(ProgramError):
    """A system that cannot be solved in this way."""


# -- normal equations ------------------------------------------------------------------------------
def gram(
    hold: Callable[[Expr], Expr], rows: Sequence[Sequence[Expr]], level: Expr = ZERO
) -> list[list[Expr]]:
    """Return the products A Aᵀ of rows, a level added to the diagonal, with names for entries."""
    found: list[list[Expr]] = [[ZERO] * len(rows) for _ in rows]
    for i, row in enumerate(rows):
        for j in range(i + 1):
            entry = dot(row, rows[j])
            found[i][j] = found[j][i] = hold(entry + level if i == j else entry)
    return found


def damped_inverse(
    hold: Callable[[Expr], Expr],
    rows: Sequence[Sequence[Expr]],
    rights: Sequence[Sequence[Expr]],
    level: Expr,
    namer: Namer,
) -> tuple[list[Assign], list[list[Expr]]]:
    """Return Aᵀ (A Aᵀ + level 1)⁻¹ b of rows A for right sides b, with the statements it takes."""
    statements, solutions = ldlt(gram(hold, rows, level), rights, namer)
    columns = list(zip(*rows, strict=True))
    return statements, [[dot(c, solution) for c in columns] for solution in solutions]


# -- structure -------------------------------------------------------------------------------------
def kinds(matrix: Sequence[Sequence[Expr]]) -> list[list[int]]:
    """Return 0 for structural zeros, 1 for constants and parameters, 2 for what moves.

    >>> from linkwright.algebra import symbol
    >>> q = symbol("q", "coordinate")
    >>> kinds([[q, 0 * q], [0 * q, q / q]])
    [[2, 0], [0, 1]]
    """
    return [
        [_NONE if x is ZERO else _FIXED if x.is_constant else _MOVING for x in row]
        for row in matrix
    ]


def _eliminate(pattern: list[list[int]], k: int, left: Sequence[int]) -> int:
    """Update the pattern as unknown k is eliminated from those left; return the operations."""
    rows = [i for i in left if i != k and pattern[i][k]]
    columns = [j for j in left if j != k and pattern[k][j]]
    pivot = pattern[k][k]
    cost = 0
    for i in rows:
        ratio = max(pattern[i][k], pivot)
        cost += ratio == _MOVING
        for j in columns:
            product = max(ratio, pattern[k][j])
            cost += product == _MOVING
            cost += pattern[i][j] != _NONE and max(product, pattern[i][j]) == _MOVING
            pattern[i][j] = max(pattern[i][j], product)
    return cost


def _eliminate_symmetric(pattern: list[list[int]], k: int, left: Sequence[int]) -> int:
    """As `_eliminate`, with each pair of rows and columns computed once."""
    rows = [i for i in left if i != k and pattern[i][k]]
    pivot = pattern[k][k]
    cost = 0
    for a, i in enumerate(rows):
        ratio = max(pattern[i][k], pivot)
        cost += ratio == _MOVING
        for j in rows[: a + 1]:
            product = max(ratio, pattern[k][j])
            cost += product == _MOVING
            cost += pattern[i][j] != _NONE and max(product, pattern[i][j]) == _MOVING
            pattern[i][j] = pattern[j][i] = max(pattern[i][j], product)
    return cost


def _substitution(pattern: list[list[int]], k: int, left: Sequence[int], sides: int) -> int:
    """Return the operations that unknown k costs on right sides, which are taken to move."""
    rows = sum(1 for i in left if i != k and pattern[i][k])
    columns = sum(1 for j in left if j != k and pattern[k][j])
    return sides * (2 * rows + 2 * columns + 1)


def order_cost(
    pattern: Sequence[Sequence[int]],
    order: Sequence[int],
    *,
    symmetric: bool = True,
    sides: int = 1,
    limit: int | None = None,
) -> int | None:
    """Return the operations of a solve in this order, or None where a pivot is structurally zero.

    Right sides are taken to move.

    >>> dense = [[2] * 6 for _ in range(6)]
    >>> order_cost(dense, range(6))
    151
    """
    rows = [{j: kind for j, kind in enumerate(row) if kind} for row in pattern]
    columns: list[set[int]] = [set() for _ in rows]
    for i, entries in enumerate(rows):
        for j in entries:
            columns[j].add(i)
    cost = 0
    for k in order:
        across = rows[k]
        pivot = across.pop(k, _NONE)
        if not pivot:
            return None
        columns[k].discard(k)
        below = list(columns[k])
        cost += sides * (2 * len(below) + 2 * len(across) + 1)
        for a, i in enumerate(below):
            entries = rows[i]
            ratio = max(entries.pop(k), pivot)
            cost += ratio == _MOVING
            for j in below[: a + 1] if symmetric else across:
                product = max(ratio, across.get(j, _NONE))
                old = entries.get(j, _NONE)
                new = max(product, old)
                cost += (product == _MOVING) + (old != _NONE and new == _MOVING)
                entries[j] = new
                columns[j].add(i)
                if symmetric:
                    rows[j][i] = new
                    columns[i].add(j)
        for j in across:
            columns[j].discard(k)
        if limit is not None and cost >= limit:
            return cost
    return cost


def fill(
    pattern: Sequence[Sequence[int]], order: Sequence[int] | None = None
) -> list[tuple[int, int]]:
    """Return the zeros of a symmetric matrix that its factors do not keep, one of each pair.

    Without an order it is eliminated as it stands (Sayers' thesis, table 7.2.1).

    >>> arrow = [[2, 2, 2, 2], [2, 2, 0, 0], [2, 0, 2, 0], [2, 0, 0, 2]]
    >>> len(fill(arrow)), len(fill(arrow, (1, 2, 3, 0)))
    (3, 0)
    """
    left, work = list(range(len(pattern)) if order is None else order), [list(r) for r in pattern]
    for k in tuple(left):
        _eliminate_symmetric(work, k, left)
        left.remove(k)
    return [
        (i, j)
        for i, row in enumerate(work)
        for j in range(i)
        if row[j] != _NONE and pattern[i][j] == _NONE
    ]


def elimination_order(
    pattern: Sequence[Sequence[int]], *, symmetric: bool = True, sides: int = 1
) -> tuple[int, ...]:
    """Return the order of elimination with the fewest operations (beyond ten unknowns: a good one).

    >>> arrow = [[2, 2, 2, 2], [2, 2, 0, 0], [2, 0, 2, 0], [2, 0, 0, 2]]
    >>> elimination_order(arrow)
    (1, 2, 0, 3)
    """
    found = _good_order(tuple(tuple(row) for row in pattern), symmetric, sides)
    if found is None:
        raise LinearError(
            "every order of elimination meets a pivot that is structurally zero; "
            "use lu() for a general matrix, or a Solve statement, which pivots at run time"
        )
    return found


@lru_cache(maxsize=128)
def _good_order(
    pattern: tuple[tuple[int, ...], ...], symmetric: bool, sides: int
) -> tuple[int, ...] | None:
    if len(pattern) <= _EXACT:
        return _best_order(pattern, symmetric, sides)
    found = _degree_order(pattern, symmetric, sides)
    return None if found is None else _improved(pattern, found, symmetric, sides)


@dataclass(slots=True)
class _State:
    cost: int
    order: tuple[int, ...]
    pattern: list[list[int]]


def _best_order(
    pattern: Sequence[Sequence[int]], symmetric: bool, sides: int
) -> tuple[int, ...] | None:
    n = len(pattern)
    states = {0: _State(0, (), [list(row) for row in pattern])}
    step = _eliminate_symmetric if symmetric else _eliminate
    for size in range(n):
        following: dict[int, _State] = {}
        for chosen in combinations(range(n), size):
            mask = sum(1 << i for i in chosen)
            state = states.get(mask)
            if state is None:
                continue
            left = [i for i in range(n) if not mask >> i & 1]
            for k in left:
                if not state.pattern[k][k]:
                    continue
                work = [list(row) for row in state.pattern]
                cost = state.cost + _substitution(work, k, left, sides) + step(work, k, left)
                known = following.get(mask | 1 << k)
                order = (*state.order, k)
                if known is None or (cost, order) < (known.cost, known.order):
                    following[mask | 1 << k] = _State(cost, order, work)
        states = following
    best = states.get((1 << n) - 1)
    return None if best is None else best.order


def _degree_order(
    pattern: Sequence[Sequence[int]], symmetric: bool, sides: int
) -> tuple[int, ...] | None:
    work = [list(row) for row in pattern]
    left = list(range(len(pattern)))
    step = _eliminate_symmetric if symmetric else _eliminate
    order = []
    while left:
        ready = [k for k in left if work[k][k]]
        if not ready:
            return None
        k = min(ready, key=lambda k: (_substitution(work, k, left, sides), k))
        step(work, k, left)
        left.remove(k)
        order.append(k)
    return tuple(order)


def _improved(
    pattern: Sequence[Sequence[int]], order: tuple[int, ...], symmetric: bool, sides: int
) -> tuple[int, ...]:
    """Move single unknowns to other places for as long as that lowers the cost."""
    n = len(order)
    reach = n if n <= 16 else max(2, 256 // n)
    best = order_cost(pattern, order, symmetric=symmetric, sides=sides)
    assert best is not None
    for _ in range(_ROUNDS):
        before = best
        for k in range(n):
            place = order.index(k)
            rest = [i for i in order if i != k]
            for target in range(max(0, place - reach), min(n, place + reach + 1)):
                trial = (*rest[:target], k, *rest[target:])
                cost = order_cost(pattern, trial, symmetric=symmetric, sides=sides, limit=best)
                if cost is not None and cost < best:
                    best, order = cost, trial
        if best == before:
            break
    return order


# -- statements ------------------------------------------------------------------------------------
class AssignedNames:
    """Names for values, and their assignments; an atom, or its negative, needs none."""

    def __init__(self, namer: Namer) -> None:
        self.namer = namer
        self.statements: list[Assign] = []

    def hold(self, value: Expr, note: str = "") -> Expr:
        """Return a name for a value, or itself."""
        if value.is_atom or (value.op == "scale" and value.args[0].is_atom and value.data == -1):
            return value
        target = self.namer()
        self.statements.append(Assign(target, value, note))
        return target


def ldlt(
    matrix: Sequence[Sequence[Expr]],
    right: Sequence[Sequence[Expr]],
    namer: Namer,
    order: str | Sequence[int] = "auto",
) -> tuple[list[Assign], list[list[Expr]]]:
    """Return the statements that solve a symmetric system, and its solutions.

    >>> from linkwright.algebra import symbols
    >>> from linkwright.program import Namer
    >>> a, b, c, y, z = symbols("a b c y z", "coordinate")
    >>> statements, ((first, second),) = ldlt(
    ...     [[a, b], [b, c]], [[y, z]], Namer(None, "z"), (0, 1)
    ... )
    >>> for s in statements:
    ...     print(s.target, "=", s.value)
    z1 = b/a
    z2 = c - b*z1
    z3 = z - y*z1
    z4 = z3/z2
    z5 = y/a - z1*z4
    """
    n = _checked(matrix, right)
    for i in range(n):
        for j in range(i):
            if matrix[i][j] is not matrix[j][i]:
                raise LinearError(
                    f"the matrix is not symmetric: entry ({i}, {j}) is {matrix[i][j]}, "
                    f"entry ({j}, {i}) is {matrix[j][i]}; use lu()"
                )
    sequence = _sequence(order, n, lambda: elimination_order(kinds(matrix), sides=len(right)))
    writer = AssignedNames(namer)
    upper: dict[tuple[int, int], Expr] = {}  # what is left of row i in column j when i is a pivot
    lower: dict[tuple[int, int], Expr] = {}
    for place, k in enumerate(sequence):
        for i in sequence[place:]:
            steps = [
                scaled(-1, lower[i, p] * upper[p, k])
                for p in sequence[:place]
                if (i, p) in lower and (p, k) in upper
            ]
            value = total([matrix[i][k], *steps])
            if i == k and value is ZERO:
                raise _zero_pivot(k)
            if value is ZERO:
                continue
            held = writer.hold(value, f"pivot {k}" if i == k else "")
            upper[k, i] = held
            if i != k:
                lower[i, k] = writer.hold(held * raised(upper[k, k], -1))
    above = {(k, i): lower[i, k] for i, k in lower}
    divided = {k: upper[k, k] for k in sequence}
    unknowns = [
        _substitute(writer, sequence, lower, above, divided, column, scale_first=True)
        for column in right
    ]
    return writer.statements, unknowns


def lu(
    matrix: Sequence[Sequence[Expr]],
    right: Sequence[Sequence[Expr]],
    namer: Namer,
    order: str | Sequence[int] = "auto",
    *,
    least: float = 0.0,
) -> tuple[list[Assign], list[list[Expr]]]:
    """Return the statements that solve a general system without pivoting, and its solutions.

    Rows are exchanged beforehand where a diagonal entry is structurally zero. With `least` above
    zero, a pivot of smaller magnitude counts as that, and the solution is refined once by what is
    left of the system (static pivoting; Li and Demmel 1998), so that a pivot may vanish where the
    matrix does not.

    >>> from linkwright.algebra import symbols, ZERO
    >>> from linkwright.program import Namer
    >>> a, b, y, z = symbols("a b y z", "coordinate")
    >>> lu([[ZERO, a], [b, ZERO]], [[y, z]], Namer(None, "z"))[1]
    [[z2, z1]]
    """
    n = _checked(matrix, right)
    rows = _zero_free_rows(matrix)
    matrix = [matrix[r] for r in rows]
    right = [[column[r] for r in rows] for column in right]
    sequence = _sequence(
        order, n, lambda: elimination_order(kinds(matrix), symmetric=False, sides=len(right))
    )
    writer = AssignedNames(namer)
    upper: dict[tuple[int, int], Expr] = {}
    lower: dict[tuple[int, int], Expr] = {}
    guarded = False

    def left_of(i: int, j: int, done: Sequence[int]) -> Expr:
        steps = [
            scaled(-1, lower[i, p] * upper[p, j])
            for p in done
            if (i, p) in lower and (p, j) in upper
        ]
        return total([matrix[i][j], *steps])

    for place, k in enumerate(sequence):
        done = sequence[:place]
        for j in sequence[place:]:
            value = left_of(k, j, done)
            if value is not ZERO:
                upper[k, j] = writer.hold(value, f"pivot {k}" if j == k else "")
        if (k, k) not in upper:
            raise _zero_pivot(k)
        if least > 0.0 and not upper[k, k].is_constant:
            upper[k, k] = writer.hold(_no_less(upper[k, k], least))
            guarded = True
        for i in sequence[place + 1 :]:
            value = left_of(i, k, done)
            if value is not ZERO:
                lower[i, k] = writer.hold(value * raised(upper[k, k], -1))
    divided = {k: upper[k, k] for k in sequence}

    def solved(column: Sequence[Expr]) -> list[Expr]:
        return _substitute(writer, sequence, lower, upper, divided, column, scale_first=False)

    unknowns = [solved(column) for column in right]
    if guarded:
        unknowns = [
            [writer.hold(x + more) for x, more in zip(first, solved(left), strict=True)]
            for first, left in (
                (first, [writer.hold(x) for x in _left_over(matrix, first, column)])
                for first, column in zip(unknowns, right, strict=True)
            )
        ]
    return writer.statements, unknowns


def _no_less(pivot: Expr, least: float) -> Expr:
    """Return a pivot, or one of its sign that is large enough to divide by."""
    limit = constant(least)
    return where(absolute(pivot) < limit, where(pivot < 0, -limit, limit), pivot)


def _left_over(
    matrix: Sequence[Sequence[Expr]], unknown: Sequence[Expr], column: Sequence[Expr]
) -> list[Expr]:
    """Return what a solution leaves of the right side."""
    return [
        total([y, *(scaled(-1, a * x) for a, x in zip(row, unknown, strict=True))])
        for row, y in zip(matrix, column, strict=True)
    ]


def _substitute(
    writer: AssignedNames,
    sequence: Sequence[int],
    lower: dict[tuple[int, int], Expr],
    upper: dict[tuple[int, int], Expr],
    pivots: dict[int, Expr],
    column: Sequence[Expr],
    *,
    scale_first: bool,
) -> list[Expr]:
    """Write both substitutions; `upper` is divided by its pivots already if `scale_first`."""
    done: dict[int, Expr] = {}
    for place, k in enumerate(sequence):
        steps = [scaled(-1, lower[k, p] * done[p]) for p in sequence[:place] if (k, p) in lower]
        done[k] = writer.hold(total([column[k], *steps])) if steps else column[k]
    unknown: dict[int, Expr] = {}
    for place in reversed(range(len(sequence))):
        k = sequence[place]
        steps = [
            scaled(-1, upper[k, j] * unknown[j]) for j in sequence[place + 1 :] if (k, j) in upper
        ]
        inverse = raised(pivots[k], -1)
        if scale_first:
            value = total([done[k] * inverse, *steps])
        else:
            value = writer.hold(total([done[k], *steps])) * inverse if steps else done[k] * inverse
        unknown[k] = writer.hold(value, f"unknown {k}")
    return [unknown[k] for k in range(len(sequence))]


def _checked(matrix: Sequence[Sequence[Expr]], right: Sequence[Sequence[Expr]]) -> int:
    n = len(matrix)
    if any(len(row) != n for row in matrix):
        raise LinearError(f"a matrix with {n} rows needs {n} columns in each of them")
    if any(len(column) != n for column in right):
        raise LinearError(f"a right side of a system of size {n} needs {n} entries")
    return n


def _zero_pivot(k: int) -> LinearError:
    return LinearError(
        f"the pivot of unknown {k} is zero; choose another order, or a Solve statement, "
        "which pivots at run time"
    )


def _sequence(
    order: str | Sequence[int], n: int, automatic: Callable[[], tuple[int, ...]]
) -> tuple[int, ...]:
    if isinstance(order, str):
        if order != "auto":
            raise LinearError(f"the order is a sequence of indices or 'auto', not {order!r}")
        return automatic()
    given = tuple(order)
    if sorted(given) != list(range(n)):
        raise LinearError(f"the order {given} does not name each of 0 to {n - 1} once")
    return given


def _zero_free_rows(matrix: Sequence[Sequence[Expr]]) -> list[int]:
    """Return for each column a row of its own with an entry there, its own row where possible."""
    n = len(matrix)
    row_of: list[int] = [j if matrix[j][j] is not ZERO else -1 for j in range(n)]
    column_of = {r: j for j, r in enumerate(row_of) if r >= 0}
    for j in range(n):
        if row_of[j] >= 0:
            continue
        parent: dict[int, int] = {}
        queue = [j]
        end = -1
        while queue and end < 0:
            column = queue.pop(0)
            for r in range(n):
                if matrix[r][column] is ZERO or r in parent:
                    continue
                parent[r] = column
                if r not in column_of:
                    end = r
                    break
                queue.append(column_of[r])
        if end < 0:
            raise LinearError(f"the matrix is structurally singular: column {j} has no pivot")
        r = end
        while True:
            column = parent[r]
            previous = row_of[column]
            row_of[column] = r
            column_of[r] = column
            if column == j:
                break
            r = previous
    return row_of
