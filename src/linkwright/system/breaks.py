"""When something known changes: knots of tables and motions, clocks, conditions on time alone.

What switches is found in the Programs of a System: tables, comparisons, magnitudes, extrema, signs
and floors whose arguments depend on time, but on no state. Where such an argument a is linear in
time between two changes, the next one is exactly (b - a)/a' ahead, with b a knot, an integer or
zero; so it follows parameters, inputs and discrete states that change during a run. A step ends
just before the nearest of them, and the next one begins just behind it: no stage of a step sees the
other side. Arguments that are not linear in time are left to the control of the error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from linkwright.algebra import (
    ZERO,
    Expr,
    ExprError,
    Lookup1D,
    absolute,
    as_expr,
    diff,
    floor,
    free_symbols,
    minimum,
    postorder,
    substitute,
    where,
)
from linkwright.program import Assign, Program, optimize, program

_NEVER = 1e300
_NEAR = 1.5e-14
"""How far from a change a step ends and the next one begins, relative to the time."""
_LEAST = 1e-15
_PAIRS = frozenset(("lt", "le", "eq", "ne", "max", "min"))
_SWITCHES = _PAIRS | {"abs", "sign", "floor", "table1"}


def breaks_program(
    programs: Iterable[Program | None], knots: Sequence[float] = ()
) -> Program | None:
    """Return how long it is until just before something known changes, and how long that takes.

    Args:
        programs: of phases, all with the same arrays.
        knots: instants at which something changes besides, s, rising; none, or two or more.
    """
    given = [made for made in programs if made is not None]
    found = {x: None for made in given for x in _switches(made)}
    inputs = {port.name: list(port.entries) for port in given[0].inputs}
    (time,) = inputs["t"]
    if knots:
        steps = [[float(i), 0.0, 0.0, 0.0] for i in range(len(knots) + 1)]
        found[Lookup1D.of_pieces(knots, steps, name="knots")(time)] = None
    if not found:
        return None
    half = _NEAR * absolute(time) + _LEAST
    nearest = as_expr(_NEVER)
    for switch in found:
        for a in _arguments(switch):
            try:
                rate = diff(a, time)
                straight = diff(rate, time) is ZERO
            except ExprError:
                continue
            if straight and rate is not ZERO:
                ahead = substitute(_until(switch, a, rate), {time: time + half})
                nearest = minimum(nearest, ahead)
    if nearest.is_constant:
        return None
    return optimize(program("breaks", inputs, {"b": [nearest, 2 * half]}), brief=True)


def _switches(made: Program) -> Iterator[Expr]:
    """Yield what switches with time alone, in terms of the arrays of a phase."""
    (time,) = made.port("t").entries
    steady = {x for name in ("d", "p", "w") for x in made.port(name).entries}
    plain: dict[Expr, Expr | None] = dict.fromkeys(made.port("x").entries)
    plain |= {x: x for x in (time, *steady)}

    def resolved(x: Expr) -> Expr | None:
        """Return an expression in terms of the arrays; None where it depends on a state."""
        symbols = free_symbols(x)
        if any(plain.get(s) is None for s in symbols):
            return None
        return substitute(x, {s: e for s in symbols if (e := plain[s]) is not None and e is not s})

    seen: set[Expr] = set()
    timed = {time}
    roots = [x for port in made.outputs for x in port.entries]
    for statement in (*made.statements, None):
        values = roots if statement is None else statement.operands
        if any(timed.intersection(free_symbols(x)) for x in values):
            for node in postorder(values):
                if node.op in _SWITCHES and node not in seen:
                    seen.add(node)
                    found = resolved(node)
                    if found is not None and time in free_symbols(found):
                        yield found
            timed.update(() if statement is None else statement.targets)
        if statement is not None:
            straight = isinstance(statement, Assign)
            for x in statement.targets:
                plain[x] = resolved(statement.operands[0]) if straight else None


def _arguments(switch: Expr) -> Iterator[Expr]:
    """Yield what must reach a knot, an integer or zero for a switch to change."""
    if switch.op not in _SWITCHES:
        return  # a number, or what it was simplified to
    if switch.op not in _PAIRS:
        yield switch.args[0]
        return
    for i, x in enumerate(switch.args):
        yield from (x - y for y in switch.args[:i])


def _until(switch: Expr, a: Expr, rate: Expr) -> Expr:
    """Return how long it is until a switch changes, given its argument and the rate of that."""
    if switch.op == "table1":
        knots = _knots(switch.data)
        edges = (-_NEVER, *knots, _NEVER)
        above, below = (
            Lookup1D.of_pieces(knots, [[b, 0, 0, 0] for b in side], name=name)(a)
            for side, name in ((edges[1:], "above"), (edges[:-1], "below"))
        )
    elif switch.op == "floor":
        below = floor(a)
        above = below + 1
    else:
        above, below = where(a < 0, 0, _NEVER), where(a > 0, 0, -_NEVER)
    way = where(rate > 0, above - a, a - below)
    size = absolute(rate)
    return where(size > 1 / _NEVER, way / where(size > 1 / _NEVER, size, 1), _NEVER)


def _knots(table: Lookup1D) -> list[float]:
    """Return where the pieces of a table do not go on as one polynomial."""
    x, pieces = table.breakpoints, table.coefficients
    origins = table.origins
    kept = []
    for i, knot in enumerate(x):
        left, right = (np.polynomial.Polynomial(pieces[i + k]) for k in (0, 1))
        shifted = left(np.polynomial.Polynomial([knot - origins[i], 1.0])).coef
        there = right(np.polynomial.Polynomial([knot - origins[i + 1], 1.0])).coef
        size = max(len(shifted), len(there))
        a, b = (np.pad(c, (0, size - len(c))) for c in (shifted, there))
        if not np.allclose(a, b, rtol=1e-12, atol=0.0):
            kept.append(float(knot))
    return kept if len(kept) > 1 else [float(k) for k in x]
