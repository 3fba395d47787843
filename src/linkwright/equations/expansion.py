"""Entries of M and f as sums of products with constants collected across bodies and constraints.

Where speeds are eliminated, the shares of several bodies often fall together: of two wheels on one
axle, the terms in which their rates differ cancel. A form that keeps every intermediate name cannot
see it. Here an entry is written out over the coordinates' sines and cosines and the speeds, equal
products are collected, and what depends on parameters alone becomes one constant for each product.
An entry that would have too many products stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from linkwright.algebra import ONE, ZERO, Expr, linear_coefficients, sin, total
from linkwright.algebra.assumptions import is_nonzero
from linkwright.equations.constraints import Reduction, nonzero_rows
from linkwright.equations.kane import kane
from linkwright.equations.projection import ReducedDynamics
from linkwright.equations.writer import Writer
from linkwright.mechanism import Kinematics
from linkwright.program import Assign

Polynomial = dict[Expr, Expr]
"""Coefficients, which are constant, by product."""

_DURING = 60
_AT_LAST = 16
_PASSES = 6


class TooManyProducts(Exception):
    """More products than are worth while."""


def kane_expanded(kinematics: Kinematics, reduction: Reduction, writer: Writer) -> ReducedDynamics:
    """Form M and f by Kane's method, and write out the entries where they come out short."""
    made = kane(kinematics, reduction, writer)
    tied = set(reduction.dependent)
    meaning = {s.target: s.value for s in writer.statements if s.target not in tied}
    meaning.update(_steady_shares(reduction, Expander(meaning)))
    expander = Expander(meaning)
    relations = _relations(reduction, expander, writer)
    n = len(made.right)
    lower = {
        (i, j): expander.short(made.mass[i][j], writer) for i in range(n) for j in range(i + 1)
    }
    mass = tuple(tuple(lower[max(i, j), min(i, j)] for j in range(n)) for i in range(n))
    right = tuple(expander.short(x, writer, relations) for x in made.right)
    _speeds_one_by_one(kinematics, reduction, writer)
    return ReducedDynamics(mass, right)


def _steady_shares(reduction: Reduction, expander: Expander) -> dict[Expr, Expr]:
    """Return the dependent speeds that are constant multiples of independent ones."""
    found: dict[Expr, Expr] = {}
    for i, u in enumerate(reduction.dependent):
        shares = (*reduction.matrix[i], reduction.offset[i])
        if all(expander.is_steady(a) for a in shares):
            terms = (a * v for a, v in zip(shares, reduction.independent, strict=False))
            found[u] = total([*terms, reduction.offset[i]])
    return found


def _relations(reduction: Reduction, expander: Expander, writer: Writer) -> list[Polynomial]:
    """Return polynomials that vanish: what natural speeds are, and the constraints.

    A natural speed is a name that stands for a sum of speeds (a body's angular velocity), or what
    two constraints have in common (the speed of an axle, of two wheels that roll).
    """
    speeds = {*reduction.independent, *reduction.dependent}
    found: dict[frozenset[Expr], Polynomial] = {}
    for name in expander.names():
        p = expander.polynomial(name)
        if p is not None and len(p) > 1 and all(m in speeds for m in p):
            found.setdefault(frozenset(p), {name: -ONE, **p})
    natural = list(found.values())
    constraints: list[Polynomial] = []
    for e in reduction.eliminations:
        p = None if e.speed is None else expander.polynomial(e.constraint.speed)
        if p is not None and 1 < len(p) <= _AT_LAST:
            constraints.append(_shorter(_with_sines(p), natural))
    for i, p in enumerate(constraints):
        for q in constraints[:i]:
            common = {m: c for m, c in p.items() if q.get(m) is c}
            if 1 < len(common) < min(len(p), len(q)):
                name = writer.hold(total(c * m for m, c in common.items()))
                sign = ONE if name.is_atom else -ONE
                natural.append({name * sign: -sign, **common})
    return natural + constraints


def _shorter(p: Polynomial, relations: Sequence[Polynomial]) -> Polynomial:
    """Replace products by way of relations as long as that leaves fewer of them."""
    while True:
        best = p
        for relation in relations:
            for m, c in relation.items():
                if not is_nonzero(c):
                    continue
                rest = {k: -v / c for k, v in relation.items() if k is not m}
                try:
                    trial = _replaced(p, m, rest)
                except TooManyProducts:
                    continue
                if len(trial) < len(best):
                    best = trial
        if best is p:
            return p
        p = best


def _replaced(p: Polynomial, old: Expr, new: Polynomial) -> Polynomial:
    """Return a polynomial with a product replaced, wherever it is a factor."""
    for _ in range(_PASSES):
        parts: list[Polynomial] = []
        changed = False
        for m, c in p.items():
            rest = _quotient(m, old)
            if rest is None:
                parts.append({m: c})
            else:
                changed = True
                parts.append({rest * k: c * v for k, v in new.items()})
        if not changed:
            return p
        p = _with_sines(_sum(parts))
    raise TooManyProducts


def _quotient(m: Expr, divisor: Expr) -> Expr | None:
    """Return m / divisor where the divisor is a factor of the product m."""
    if divisor is ONE:
        return None
    powers = _powers(m)
    if all(powers.get(a, 0) >= e > 0 for a, e in _powers(divisor).items()):
        return m * divisor**-1
    return None


def _powers(m: Expr) -> dict[Expr, int]:
    if m.op == "prod":
        return dict(zip(m.args, m.data, strict=True))
    return {} if m is ONE else {m: 1}


def _speeds_one_by_one(kinematics: Kinematics, reduction: Reduction, writer: Writer) -> None:
    """Let each dependent speed follow from its relation and the speeds before it, where it can.

    M and f written out do not need the shares A of the independent speeds, so to compute the
    dependent speeds by way of A would be a detour.
    """
    speeds = [s.symbol for s in kinematics.speeds]
    active = [e for e in reduction.eliminations if e.speed is not None]
    split = [linear_coefficients(e.constraint.speed, speeds) for e in active]
    table = nonzero_rows([row for row, _ in split], speeds)
    rows = [dict(zip(speeds, row, strict=True)) for row in table]
    open_speeds, left = set(reduction.dependent), set(range(len(active)))
    chosen: dict[Expr, Expr] = {}
    while left:
        for i in sorted(left):
            unknown = [u for u in speeds if u in open_speeds and rows[i][u] is not ZERO]
            if len(unknown) == 1:
                break
        else:
            return
        (u,) = unknown
        known = [x * v for v, x in rows[i].items() if v is not u and x is not ZERO]
        side = Expander({}).short(-total([*known, split[i][1]]), writer)
        chosen[u] = side / rows[i][u]
        left.remove(i)
        open_speeds.remove(u)
    writer.statements[:] = [
        Assign(s.target, chosen[s.target], s.note) if s.target in chosen else s
        for s in writer.statements
    ]


class Expander:
    """Writes expressions out, through the meaning of names; results are kept."""

    def __init__(self, meaning: Mapping[Expr, Expr]) -> None:
        self._meaning = meaning
        self._known: dict[Expr, Polynomial | None] = {}

    def short(self, x: Expr, writer: Writer, relations: Sequence[Polynomial] = ()) -> Expr:
        """Return an expression written out and collected, or itself where that is long."""
        found = self._polynomial(x)
        if found is None:
            return x
        try:
            found = _with_sines(found)
            if len(found) <= _DURING // 2:
                found = _shorter(found, relations)
        except TooManyProducts:
            return x
        if len(found) > _AT_LAST:
            return x
        return writer.hold(total(writer.hold(c) * m for m, c in found.items()))

    def polynomial(self, x: Expr) -> Polynomial | None:
        """Return an expression written out, None where it is too long."""
        return self._polynomial(x)

    def names(self) -> Iterable[Expr]:
        """Return the names whose meaning is known."""
        return self._meaning

    def is_steady(self, x: Expr) -> bool:
        """Whether an expression depends on parameters alone."""
        found = self._polynomial(x)
        return found is not None and all(m is ONE for m in found)

    def _polynomial(self, x: Expr) -> Polynomial | None:
        for node in self._order(x):
            if node not in self._known:
                self._known[node] = self._expand(node)
        return self._known[x]

    def _order(self, x: Expr) -> Iterable[Expr]:
        """Yield what an expression is made of, through names, parts first."""
        stack, done = [(x, False)], set()
        while stack:
            node, ready = stack.pop()
            if ready:
                yield node
                continue
            if node in done or node in self._known:
                continue
            done.add(node)
            stack.append((node, True))
            stack.extend((part, False) for part in self._parts(node))

    def _parts(self, node: Expr) -> tuple[Expr, ...]:
        if node.is_constant:
            return ()
        if node in self._meaning:
            return (self._meaning[node],)
        if node.op == "prod":
            return tuple(a for a, e in zip(node.args, node.data, strict=True) if e > 0)
        return node.args if node.op in ("sum", "scale") else ()

    def _expand(self, node: Expr) -> Polynomial | None:
        if node.is_constant:
            return {ONE: node} if node is not ZERO else {}
        if node in self._meaning:
            inner = self._known[self._meaning[node]]
            return {node: ONE} if inner is None else inner
        parts = self._parts(node)
        if not parts:
            return {node: ONE}
        if any(self._known[a] is None for a in parts):
            return None
        try:
            return self._combine(node)
        except TooManyProducts:
            return None

    def _combine(self, node: Expr) -> Polynomial:
        if node.op == "scale":
            return {m: c * node.data for m, c in self._of(node.args[0]).items()}
        if node.op == "sum":
            parts: list[Polynomial] = [{ONE: ONE * node.data[0]}] if node.data[0] != 0 else []
            for factor, a in zip(node.data[1:], node.args, strict=True):
                parts.append({m: c * factor for m, c in self._of(a).items()})
            return _sum(parts)
        result: Polynomial = {ONE: ONE}
        for a, exponent in zip(node.args, node.data, strict=True):
            if exponent > 0:
                for _ in range(exponent):
                    result = _times(result, self._of(a))
            else:
                result = _times(result, _reciprocal(a, exponent))
        return result

    def _of(self, node: Expr) -> Polynomial:
        found = self._known[node]
        assert found is not None
        return found


def _reciprocal(base: Expr, exponent: int) -> Polynomial:
    power = base**exponent
    return {ONE: power} if base.is_constant else {power: ONE}


def _sum(parts: Iterable[Polynomial]) -> Polynomial:
    collected: dict[Expr, list[Expr]] = {}
    for part in parts:
        for m, c in part.items():
            collected.setdefault(m, []).append(c)
    return _limited({m: total(cs) for m, cs in collected.items()})


def _times(a: Polynomial, b: Polynomial) -> Polynomial:
    if len(a) * len(b) > _DURING * 4:
        raise TooManyProducts
    return _sum({m * n: c * d} for m, c in a.items() for n, d in b.items())


def _limited(p: Polynomial) -> Polynomial:
    found = {m: c for m, c in p.items() if c is not ZERO}
    if len(found) > _DURING:
        raise TooManyProducts
    return found


def _with_sines(p: Polynomial) -> Polynomial:
    """Return the polynomial with cos**2 written as 1 - sin**2."""
    while True:
        for m in p:
            split = _squared_cosine(m)
            if split is not None:
                angle, rest = split
                c = p[m]
                others = {k: v for k, v in p.items() if k is not m}
                p = _sum([others, {rest: c}, {rest * sin(angle) ** 2: -c}])
                break
        else:
            return p


def _squared_cosine(m: Expr) -> tuple[Expr, Expr] | None:
    """Return the angle of a squared cosine in a product, and the rest of the product."""
    factors = zip(m.args, m.data, strict=True) if m.op == "prod" else ()
    for a, exponent in factors:
        if a.op == "cos" and exponent >= 2:
            return a.args[0], m * a**-2
    return None
