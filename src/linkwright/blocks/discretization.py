"""How the continuous states of a block with a rate go from one instant to the next.

Between two instants whatever a block reads holds, so that its states solve x' = f(x) alone. Where f
is linear in them, with A = df/dx, that has a closed form for any period T (Hochbruck and Ostermann,
Exponential integrators, Acta Numerica 2010, section 2),

    x(T) = x + G f(x),    G = T phi(T A),    phi(Z) = Z^-1 (exp(Z) - 1),

which is exact and, where the block is stable, stable at every rate. A state on which no rate
depends has G = T: it is summed up, and that is exact too. G is made of expressions of parameters,
so that it is computed once for a run and follows what the run sets. What a block decides
(comparisons, limits, signs), it decides at its instants: a decision holds as inputs do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import (
    ONE,
    ZERO,
    Expr,
    as_expr,
    equal,
    exp,
    free_symbols,
    substitute,
    symbol,
    tanh,
    total,
    where,
)
from linkwright.algebra.assumptions import is_nonzero
from linkwright.algebra.calculus import tangents
from linkwright.algebra.triples import dot
from linkwright.algebra.walk import postorder
from linkwright.blocks.rates import BlockError
from linkwright.program import Assign, Call, Program, Rate, program, symbol_rate
from linkwright.program.repeat import repeated

if TYPE_CHECKING:
    from linkwright.blocks.block import Block

Array = NDArray[np.float64]
Matrix = list[list[Expr]]

Entries = dict[tuple[Expr, Expr], Expr]
"""The entries of a matrix that are not zero, by state and state."""

DOUBLINGS, TERMS = 30, 3
"""How often a matrix of parameters is halved for its series, and how many terms that has."""

DECISIONS = 4
"""The most decisions on which the slopes of states that belong together may depend."""


def advanced(block: Block, period: Expr) -> tuple[dict[Expr, Expr], list[Call]]:
    """Return the next values of the continuous states of a block, and what these read besides.

    Units: `period` in s.

    >>> from linkwright.blocks import Block
    >>> b = Block("lag")
    >>> u, a = b.input("u"), b.parameter("a", 2.0, sign="positive")
    >>> x = b.state("x", "a*(u - x)")
    >>> advanced(b, as_expr(0.5))[0][x]
    x + tanh(0.25*a)*(1 + exp(-0.5*a))*(u - x)
    """
    found = {x: s.step for x, s in block.states.items() if s.step is not None}
    left = {x: s for x, s in block.states.items() if x not in found}
    rates = {x: s.following for x, s in left.items() if s.following is not None}
    slopes, calls = _Slopes(block), list[Call]()
    matrix = {(x, y): a for x, rate in rates.items() for y, a in slopes.of([rate])[0].items()}
    for group in _groups(rates, matrix):
        own = {key: slope for key, slope in matrix.items() if key[0] in group}
        try:
            if any(y in found for _, y in own) or any(slopes.of(list(own.values()))):
                raise ValueError("changes with its states in other ways than in proportion")
            weights = _weights(group, own, period, slopes, calls)
        except ValueError as error:
            raise BlockError(
                f"{block.name!r} is given a rate, but how {', '.join(x.name for x in group)} goes "
                f"on between its instants has no closed form: it {error}",
                remedy="add it without rate=, so that it is integrated, and sample what reads it; "
                "or say its next value with discrete_state and update",
            ) from None
        for x in group:
            terms = [weights[x, y] * rates[y] for y in group if (x, y) in weights]
            found[x] = x + total(terms)
    return found, calls


class _Slopes:
    """What the values of a block depend on: their derivatives by its states."""

    def __init__(self, block: Block) -> None:
        self.known: dict[Expr, dict[Expr, Expr]] = {x: {x: ONE} for x in block.states}
        self._fixed: set[Expr] = set()
        waiting = [(s.targets, s.operands, isinstance(s, Assign)) for s in block.statements]
        for port in block.outputs.values():
            pairs = zip(port.symbols, port.values, strict=True)
            waiting += [((x,), (value,), True) for x, value in pairs]
        open_ = {x for targets, _, _ in waiting for x in targets}
        while waiting:
            later = []
            for item in waiting:
                targets, values, plain = item
                if open_ & set(free_symbols(*values)):
                    later.append(item)
                    continue
                open_ -= set(targets)
                self._fixed |= set(targets) if self.fixed(values) else set()
                found = self.of(values)
                for x in targets:
                    # what a solution or a call depends on, it is not known how
                    self.known[x] = found[0] if plain else {y: y for s in found for y in s}
            if len(later) == len(waiting):
                return  # an algebraic loop, which is told where the System is flattened
            waiting = later

    def fixed(self, values: Iterable[Expr]) -> bool:
        """Whether values change with nothing but parameters."""
        return all(
            x in self._fixed or (x not in self.known and symbol_rate(x) <= Rate.PARAMETER)
            for x in free_symbols(*values)
        )

    def of(self, values: Sequence[Expr]) -> list[dict[Expr, Expr]]:
        """Return for each value its derivatives by the states, where these are not zero."""
        read = [x for x in free_symbols(*values) if self.known.get(x)]
        found: list[dict[Expr, Expr]] = [{} for _ in values]
        for y in dict.fromkeys(y for x in read for y in self.known[x]):
            inner = {x: self.known[x][y] for x in read if y in self.known[x]}
            for slopes, slope in zip(found, tangents(values, inner), strict=True):
                if slope is not ZERO:
                    slopes[y] = slope
        return found


def _groups(states: Iterable[Expr], matrix: Iterable[tuple[Expr, Expr]]) -> list[list[Expr]]:
    """Return the states apart, those together that depend on each other."""
    group = {x: [x] for x in states}
    for x, y in matrix:
        if group[x] is not group.get(y, group[x]):
            group[x] += group[y]
            for z in group[y]:
                group[z] = group[x]
    return list({id(g): g for g in group.values()}.values())


def _weights(
    group: Sequence[Expr], matrix: Entries, period: Expr, slopes: _Slopes, calls: list[Call]
) -> Entries:
    """Return G of states that belong together, or raise what is wrong with them."""
    choices = [x for x in postorder(matrix.values()) if x.op == "select"]
    if len(choices) > DECISIONS:
        raise ValueError("depends on too many decisions")
    if choices:
        choice = choices[-1]
        yes, no = (
            _weights(group, _chosen(matrix, choice, k), period, slopes, calls) for k in (1, 2)
        )
        keys = dict.fromkeys((*yes, *no))
        pairs = {key: (yes.get(key, ZERO), no.get(key, ZERO)) for key in keys}
        return {key: where(choice.args[0], *both) for key, both in pairs.items()}
    found: Entries = {}
    for part in _groups(group, matrix):
        if len(part) == 1:
            x = part[0]
            found[x, x] = _scalar(matrix.get((x, x), ZERO), period)
            continue
        own = {key: slope for key, slope in matrix.items() if key[0] in part}
        if not slopes.fixed(own.values()):
            raise ValueError("depends on the others by what changes during a run")
        found |= _coupled(part, own, period, calls)
    return found


def _chosen(matrix: Entries, choice: Expr, branch: int) -> Entries:
    taken = {choice: choice.args[branch]}
    new = {key: substitute(slope, taken) for key, slope in matrix.items()}
    return {key: slope for key, slope in new.items() if slope is not ZERO}


def _scalar(slope: Expr, period: Expr) -> Expr:
    """Return (exp(T a) - 1) / a, with exp(z) - 1 = tanh(z/2) (exp(z) + 1), exact near 0 too."""
    if slope is ZERO:
        return period
    if slope.op == "num":
        a = float(slope.data)
        return as_expr(math.expm1(a * float(period.data)) / a)
    z = period * slope
    grown = tanh(z / 2) * (exp(z) + 1)
    if is_nonzero(slope) or is_nonzero(-slope):
        return grown / slope
    none = equal(slope, 0)
    return where(none, period, grown / where(none, 1, slope))


def _coupled(states: Sequence[Expr], matrix: Entries, period: Expr, calls: list[Call]) -> Entries:
    """Return T phi(T A): of numbers by SciPy, of parameters by its series, halved and doubled."""
    n = len(states)
    A = [[matrix.get((x, y), ZERO) for y in states] for x in states]
    if all(x.op == "num" for row in A for x in row):
        numbers = np.array([[float(x.data) for x in row] for row in A])
        G = held(numbers, np.eye(n), float(period.data))[1]
        entries = [as_expr(float(g)) for g in G.flat]
    else:
        step = period / 2**DOUBLINGS
        Z = [[step * x for x in row] for row in A]
        one = phi = [[ONE if i == j else ZERO for j in range(n)] for i in range(n)]
        for k in range(TERMS, 1, -1):  # 1 + Z/2 (1 + Z/3 (...))
            phi = _added(one, _times(Z, phi), 1 / as_expr(k))
        made = _doubling(n)
        stem, owner = f"step{len(calls)}", states[0].data.owner
        ends = [symbol(f"{stem}[{k}]", "local", owner=owner) for k in range(2 * n * n)]
        given = [x for rows in (phi, _times(Z, phi)) for row in rows for x in row]
        calls.append(Call(made, tuple(given), tuple(ends)))
        entries = [period * x for x in ends[: n * n]]
    pairs = [(x, y) for x in states for y in states]
    return {key: g for key, g in zip(pairs, entries, strict=True) if g is not ZERO}


def held(a: Array, b: Array, step: float) -> tuple[Array, Array]:
    """Return the matrices of a step with inputs that hold: expm([a b; 0 0] step).

    >>> held(np.array([[0.0]]), np.array([[2.0]]), 0.5)[1].tolist()
    [[1.0]]
    """
    from scipy.linalg import expm

    n, m = b.shape
    whole = np.zeros((n + m, n + m))
    whole[:n, :n], whole[:n, n:] = a, b
    found = expm(whole * step)
    return found[:n, :n], found[:n, n:]


def van_loan(a: Array, noise: Array, step: float) -> Array:
    """Return the covariance that white noise adds over a step (Van Loan, 1978).

    Units: `step` in s.

    >>> van_loan(np.array([[0.0]]), np.array([[9.0]]), 0.5).round(9).tolist()
    [[4.5]]
    """
    from scipy.linalg import expm

    n = len(a)
    doublings = max(0, math.ceil(math.log2(max(float(np.abs(a).sum(axis=0).max()) * step, 1.0))))
    part = step / 2**doublings  # over a long one exp(-a step) of fast modes drowns the others
    whole = np.zeros((2 * n, 2 * n))
    whole[:n, :n], whole[:n, n:], whole[n:, n:] = -a, noise, a.T
    found = expm(whole * part)
    phi = found[n:, n:].T
    covariance: Array = phi @ found[:n, n:]
    for _ in range(doublings):
        covariance, phi = covariance + phi @ covariance @ phi.T, phi @ phi
    return (covariance + covariance.T) / 2


@cache
def _doubling(n: int) -> Program:
    """Return the Program from phi(Z) and exp(Z) - 1 to those of Z times a power of two.

    exp(2 Z) - 1 = 2 E + E^2 with E = exp(Z) - 1 keeps its digits where Z is small.
    """
    places = [(i, j) for i in range(n) for j in range(n)]
    phi, E = ([symbol(f"{m}[{i},{j}]") for i, j in places] for m in ("phi", "E"))
    P, Q = ([m[n * i : n * i + n] for i in range(n)] for m in (phi, E))
    following = (
        _added(P, _times(Q, P), as_expr(0.5)),
        _added(Q, _added(Q, _times(Q, Q), ONE), ONE),
    )
    flat = [[x for row in rows for x in row] for rows in following]
    names = ("phi_next", "E_next")
    body = program(f"doubling{n}", {"phi": phi, "E": E}, dict(zip(names, flat, strict=True)))
    return repeated(body, DOUBLINGS, {"phi": "phi_next", "E": "E_next"})


def _times(a: Matrix, b: Matrix) -> Matrix:
    return [[dot(row, column) for column in zip(*b, strict=True)] for row in a]


def _added(a: Matrix, b: Matrix, scale: Expr) -> Matrix:
    return [[x + scale * y for x, y in zip(*rows, strict=True)] for rows in zip(a, b, strict=True)]
