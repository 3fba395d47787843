"""When something known changes: knots of tables and motions, clocks, conditions on time alone.

What switches is found in the Programs of a System: tables, comparisons, magnitudes, extrema, signs
and floors whose arguments depend on time, but on no state. Where such an argument a is linear in
time between two changes, the next one is exactly (b - a)/a' ahead, with b a knot, an integer or
zero; so it follows parameters, inputs and discrete states that change during a run. A step ends
just before the nearest of them, and the next one begins just behind it: no stage of a step sees the
other side.

Any other argument a is at a distance g = |a - b| from where it switches and moves away from there
at a rate r; |a''| is at most M, by the arithmetic of intervals. Then it cannot arrive before

    s = (r + sqrt(r^2 + 2 M g))/M,

the positive root of g + r s - M s^2/2. From there on that is asked again, a few times: close to a
change these are steps of Newton's rule from the near side. What is found is a change, or a time
before which there is none; a step ends there. Where M holds for all times, so does s. Where it does
not, it is that of a window which grows and shrinks with s. Poles are changes too. Arguments whose M
is not known (foreign functions, tables of two variables) are left to the control of the error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from linkwright.algebra import (
    ONE,
    ZERO,
    Expr,
    ExprError,
    Lookup1D,
    absolute,
    as_expr,
    cos,
    diff,
    floor,
    free_symbols,
    maximum,
    minimum,
    postorder,
    sign,
    sin,
    sqrt,
    substitute,
    substitute_all,
    symbol,
    where,
)
from linkwright.program import Assign, Program, optimize, program
from linkwright.system.ranges import HUGE, expr_range

_NEVER = 1e300
NEAR = 1.5e-14
"""How far from a change a step ends and the next one begins, relative to the time."""
LEAST, _AT_ONCE = 1e-15, 1e-25
_ASKED = 5
"""How often it is asked, at most, how far ahead a nonlinear argument cannot switch."""
_NOISE, _WIDEST, _SURE, _LEAP = 4e-16, 100, 1e60, 1e-8
_PAIRS = frozenset(("lt", "le", "eq", "ne", "max", "min"))
_SWITCHES = _PAIRS | {"abs", "sign", "floor", "table1"}


def breaks_program(
    programs: Iterable[Program | None], knots: Sequence[float] = ()
) -> Program | None:
    """Return how long it is until just before something known changes, and how long that takes.

    Units: `knots` in s.
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
    half = NEAR * absolute(time) + LEAST
    nearest, takes = as_expr(_NEVER), 2 * half
    curved: dict[tuple[Expr, Expr], None] = {}
    on: dict[Expr, Expr] = {}
    for switch in found:
        for a in map(_without_tangents, _arguments(switch)):
            try:
                rate = diff(a, time)
                bend = diff(rate, time)
            except ExprError:
                continue
            if bend is not ZERO:
                curved[switch if switch.op in ("table1", "floor") else ZERO, a] = None
                curved.update(((ZERO, x), None) for x in _poles(a, time))
            elif rate is not ZERO:
                ahead = substitute(_until(switch, a, rate), {time: time + half})
                nearest = minimum(nearest, ahead)
            if rate is not ZERO and switch.op not in ("table1", "floor"):
                left = absolute(substitute(a, {time: time + half}))
                on[a] = where(absolute(a) > 0, 0, where(left > 0, 1, 0))
    for switch, a in curved:
        ahead, margin = _searched(switch, a, time, half)
        takes = where(ahead < nearest, margin, takes)
        nearest = minimum(nearest, ahead)
    if nearest.is_constant:
        return None
    if on:  # a run or a tick that begins on a change goes behind it
        begins = maximum(0, *on.values()) > 0
        nearest, takes = where(begins, _AT_ONCE, nearest), where(begins, 2 * half, takes)
    made = program("breaks", inputs, {"b": [nearest, takes]})
    # a search decides by the last bits: another order of operations may end elsewhere, as well
    return made if curved else optimize(made, brief=True)


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


def _without_tangents(a: Expr) -> Expr:
    """Return an expression with tangents as quotients, whose poles are seen."""
    tangents = [x for x in postorder([a]) if x.op == "tan"]
    return substitute(a, {x: sin(x.args[0]) / cos(x.args[0]) for x in tangents}) if tangents else a


def _poles(a: Expr, time: Expr) -> Iterator[Expr]:
    """Yield what an expression is divided by, where that moves."""
    for node in postorder([a]):
        if node.op == "prod":
            for base, exponent in zip(node.args, node.data, strict=True):
                if exponent < 0 and time in free_symbols(base):
                    yield base


def _until(switch: Expr, a: Expr, rate: Expr) -> Expr:
    """Return how long it is until a switch changes, given its argument and the rate of that."""
    below, above = _between(switch, a)
    way = where(rate > 0, above - a, a - below)
    size = absolute(rate)
    return where(size > 1 / _NEVER, way / where(size > 1 / _NEVER, size, 1), _NEVER)


def _between(switch: Expr, a: Expr) -> tuple[Expr, Expr]:
    """Return where a switch changes next, below and above the value of its argument."""
    if switch.op == "table1":
        knots = _knots(switch.data)
        edges = (-_NEVER, *knots, _NEVER)
        below, above = (
            Lookup1D.of_pieces(knots, [[b, 0, 0, 0] for b in side], name=name)(a)
            for side, name in ((edges[:-1], "below"), (edges[1:], "above"))
        )
        return below, above
    if switch.op == "floor":
        return floor(a), floor(a) + 1
    return where(a > 0, 0, -_NEVER), where(a < 0, 0, _NEVER)


def _searched(switch: Expr, a: Expr, time: Expr, half: Expr) -> tuple[Expr, Expr]:
    """Return how long it is until a change of a nonlinear argument, and how long that takes.

    Where the change is farther than what was looked at, it is how far that was, and no time.
    """
    rate = diff(a, time)
    bend = diff(rate, time)
    window = symbol("window", "local")
    divided = any(True for _ in _poles(bend, time))
    bounds = expr_range(bend, time, time, time + window, narrow=divided)
    if bounds is None:
        return as_expr(_NEVER), ZERO
    most = maximum(*map(absolute, bounds))
    always = not {time, window} & set(free_symbols(most))
    start = time + half
    first = 0.01 * absolute(time) + 1e-3
    begin, pace = substitute_all([a, rate], {time: start})
    edges: list[tuple[Expr, Expr]] = [(ZERO, where(begin > 0, 1, where(begin < 0, -1, sign(pace))))]
    if switch is not ZERO:
        below, above = _between(switch, begin)
        edges = [(maximum(below, -HUGE), ONE), (minimum(above, HUGE), -ONE)]
    size = absolute(a)
    if a.op == "sum":
        size = sum((abs(c) * absolute(x) for c, x in zip(a.data[1:], a.args, strict=True)), ZERO)
        size += abs(a.data[0])
    at, wide, found, margin = start, first, ZERO, ZERO
    for k in range(_ASKED):
        value, r, bent, m, scale = substitute_all(
            [a, rate, bend, most, size], {time: at, window: wide}
        )
        m = maximum(m, 1 / HUGE)
        far, arrived, close, hop = 1e9 * first, ZERO, ZERO, ZERO
        for edge, side in edges:
            away, off = side * r, side * (value - edge)
            gap = maximum(off, 0)  # rounding may have gone beyond, or another change
            root = sqrt(away**2 + 2 * m * gap)
            nears = away < 0
            s = where(nears, 2 * gap, away + root) / where(nears, root - away, m)
            # what is zero and stays zero does not switch; what touches zero goes on
            s = where(gap + absolute(r) > 0, s, where(absolute(bent) > 0, _LEAP, _NEVER))
            noise, pace = _NOISE * scale, where(nears, -away, 1)
            touches = noise > _WIDEST * half * absolute(away)
            s = where(touches, where(gap <= noise, maximum(s, sqrt(2 * noise / m)), s), s)
            width = half + noise / pace
            there = where(nears, where(gap <= 64 * width * pace, where(touches, 0, 1), 0), 0)
            close = where(there > arrived, maximum(off / pace, -64 * width), close)
            hop = where(there > arrived, width, hop)
            arrived = maximum(arrived, there)
            far = minimum(far, s)
        if not always:
            sure = m < _SURE
            step = where(sure, minimum(far, wide), 0)
            grown = where(far < wide, maximum(4 * far, wide / 64), 8 * wide)
            wide, far = where(sure, grown, wide / 64), step
        if k == _ASKED - 1:
            far = 0.75 * far  # clearly before a change, if there is one
        # what has arrived stays there
        margin = where(found > 0, margin, hop)
        at = where(found > 0, at, at + where(arrived > 0, close, far))
        found = maximum(found, arrived)
    ahead = at - time
    least = 4 * half
    before = maximum(ahead - margin, half)
    free = where(ahead > least, ahead, first)  # at a pole nothing is known
    return where(found > 0, before, free), where(found > 0, 2 * margin, 0)


def _knots(table: Lookup1D) -> list[float]:
    """Return where the pieces of a table do not go on as one polynomial."""
    x, origins = table.breakpoints, table.origins
    left = table.coefficients[:-1].T.copy()  # Taylor's coefficients about the knot, by Horner
    for k in range(len(left) - 1):
        for j in range(len(left) - 2, k - 1, -1):
            left[j] += (x - origins[:-1]) * left[j + 1]
    same = np.isclose(left.T, table.coefficients[1:], rtol=1e-12, atol=0.0).all(axis=1)
    kept = x[~same] if (~same).sum() > 1 else x
    return [float(knot) for knot in kept]
