"""What `numbers.parameters` demands of values, as a Program: for a run without Python beside it.

Masses are not negative and inertias have no negative moment, within the slack of `rigidity`: the
principal minors of a tensor with that slack on its diagonal are not negative. Numbers of members
are within their bounds, and meet their relations.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from linkwright.algebra import (
    ONE,
    ZERO,
    Expr,
    absolute,
    as_expr,
    constant,
    free_symbols,
    maximum,
    substitute,
    symbol,
    total,
    where,
)
from linkwright.mechanism import Mechanism
from linkwright.mechanism.rigidity import SLACK, TINY
from linkwright.program import Program, program
from linkwright.system.numbers import followed
from linkwright.system.phases import Phases
from linkwright.system.system import System


def conditions_program(system: System, phases: Phases) -> tuple[Program | None, list[str]]:
    """Return a Program of parameters p and inputs w, and what each of its numbers says.

    Where a number is negative or not finite, the values are rejected, and the words say why. There
    is none where nothing is demanded.
    """
    fresh = {
        s.name: symbol(f"{a}{k}", "parameter", owner="conditions")
        for a in "pw"
        for k, s in enumerate(getattr(phases, a))
    }
    m = system.mechanism
    fixed = {**m.values, **system.values}
    known: dict[Expr, Any] = {x: fresh.get(n, fixed.get(n, ZERO)) for n, x in m.parameters.items()}
    for member in system.members.values():
        named = {p.symbol: p.value for p in member.block.parameters.values()}
        for own, x in member.symbols.items():
            if x.op != "num":
                value = fresh.get(x.name, fixed.get(x.name, named.get(own)))
                known |= {} if value is None else {x: value}
    for x, rule in followed(system).items():
        known[x] = substitute(rule, known)
    asked = [(substitute(x, known), words) for x, words in _demanded(system, known)]
    asked = [(x, words) for x, words in asked if free_symbols(x)]
    if not asked:
        return None, []
    ports = {a: [fresh[s.name] for s in getattr(phases, a)] for a in "pw"}
    made = program(
        "conditions", {a: v for a, v in ports.items() if v}, {"holds": [x for x, _ in asked]}
    )
    return made, [words for _, words in asked]


def _holds(condition: Expr) -> Expr:
    return where(condition, ONE, -ONE)


def _demanded(system: System, known: Mapping[Expr, Any]) -> Iterator[tuple[Expr, str]]:
    """Yield what is not to be negative, and why."""
    yield from _bodies(system.mechanism, known)
    for member in system.members.values():
        for p in member.block.parameters.values():
            x, what = (
                as_expr(known[member.symbols[p.symbol]]),
                f"{p.symbol.name} of {member.name!r}",
            )
            if p.symbol.data.sign == "positive":
                yield _holds(x > ZERO), f"{what} must be above 0"
            elif p.symbol.data.sign == "nonzero":
                yield absolute(x) + _holds(_other(x)), f"{what} cannot be 0"
            if p.least > -math.inf:
                yield x - constant(p.least), f"{what} must be {p.least:g} or more"
            if p.most < math.inf:
                yield constant(p.most) - x, f"{what} must be {p.most:g} or less"
        for relation in member.block.requirements:
            own = {y: member.symbols.get(y, y) for y in free_symbols(relation.holds)}
            if all(x.op == "num" or x in known for x in own.values()):
                holds = substitute(relation.holds, own)
                why = f" ({relation.why})" if relation.why else ""
                yield (
                    _holds(substitute(holds, known)),
                    f"{member.name!r} needs {relation.holds}{why}",
                )


def _other(x: Expr) -> Expr:
    return absolute(x) > ZERO


def _bodies(m: Mechanism, known: Mapping[Expr, Any]) -> Iterator[tuple[Expr, str]]:
    weights: dict[str, list[Expr]] = {}
    for body in m.bodies.values():
        inertia = body.inertia
        mass, *tensor = (substitute(x, known) for x in (inertia.mass, *inertia.tensor))
        yield mass, f"{body.name}: its mass must not be negative"
        yield from _moments(mass, tensor, f"{body.name}: its inertia must have no negative moment")
        places = [*inertia.center, *(c for _, c in body.offset.terms)]
        for place in places:
            yield absolute(substitute(place, known)), f"{body.name}: its place must be finite"
        for above in body.ancestors():
            weights.setdefault(above.name, []).extend(map(absolute, (mass, *tensor)))
    for body in m.bodies.values():
        if body.coordinates and body not in m.armatures and not m.constraints:
            moved = total(weights.get(body.name, [ZERO]))
            yield _holds(moved > ZERO), f"{body.name}: it moves, but nothing on it has mass"


def _moments(mass: Expr, tensor: Sequence[Expr], why: str) -> Iterator[tuple[Expr, str]]:
    """Yield the principal minors of a tensor, in its own size, with the slack for rounding."""
    whole = maximum(total([absolute(x) for x in tensor]), TINY * absolute(mass))
    size = where(whole > ZERO, whole, ONE)
    xx, yy, zz, xy, yz, zx = (x / size for x in tensor)
    rows = [[xx + SLACK, xy, zx], [xy, yy + SLACK, yz], [zx, yz, zz + SLACK]]
    for count in (1, 2, 3):
        for kept in combinations(range(3), count):
            yield _determinant([[rows[i][j] for j in kept] for i in kept]), why


def _determinant(rows: Sequence[Sequence[Expr]]) -> Expr:
    if len(rows) == 1:
        return rows[0][0]
    parts = []
    for j, x in enumerate(rows[0]):
        minor = _determinant([[*row[:j], *row[j + 1 :]] for row in rows[1:]])
        parts.append(x * minor if j % 2 == 0 else -x * minor)
    return total(parts)
