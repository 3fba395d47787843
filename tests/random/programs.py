"""Random Programs for property tests, with inputs on which they are well conditioned.

Expressions stay inside the domains of their functions and bounded, so that two correct evaluations
differ by rounding only; `interpret_with_bound` says by how much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from linkwright.algebra import (
    Expr,
    absolute,
    acos,
    asin,
    atan,
    atan2,
    constant,
    cos,
    cosh,
    equal,
    exp,
    log,
    maximum,
    minimum,
    sign,
    sin,
    sinh,
    sqrt,
    symbol,
    tan,
    tanh,
    where,
)
from linkwright.program import (
    Assign,
    Call,
    Carried,
    Loop,
    Program,
    Scanned,
    Solve,
    Stacked,
    Statement,
    program,
)

Make = Callable[[Expr, Expr, Expr], Expr]


def _inside(x: Expr) -> Expr:
    """Return a function of x between -0.5 and 0.5."""
    return x / (1 + x**2)


ARITHMETIC: dict[str, Make] = {
    "sum": lambda x, y, z: x + y - z,
    "scaled sum": lambda x, y, z: 0.5 * x - 2 * y + 0.3 * z + 1,
    "product": lambda x, y, z: x * y * z,
    "common factor": lambda x, y, z: x * y + x * z,
    "nested": lambda x, y, z: x * (y + z * (x - y)),
    "square": lambda x, y, z: x**2 - y**3 * z,
    "quotient": lambda x, y, z: x / (2 + y**2) - z,
    "negated": lambda x, y, z: -x * y - z,
    "fifth power": lambda x, y, z: _inside(x) ** 5 + _inside(y) ** -2 * z**2 * _inside(y) ** 3,
}

FUNCTIONS: dict[str, Make] = {
    "sin": lambda x, y, z: sin(x) * y,
    "cos": lambda x, y, z: cos(x + y) - z,
    "tan": lambda x, y, z: tan(_inside(x)) + y * z,
    "asin": lambda x, y, z: asin(_inside(x)) * z,
    "acos": lambda x, y, z: acos(_inside(x * y)),
    "atan": lambda x, y, z: atan(x - y),
    "atan2": lambda x, y, z: atan2(x, 1 + y**2) + z,
    "sqrt": lambda x, y, z: sqrt(1 + x**2 + y**2) - z,
    "exp": lambda x, y, z: exp(sin(x)) * y,
    "log": lambda x, y, z: log(1.5 + x**2) + z,
    "tanh": lambda x, y, z: tanh(3 * x) * y - z,
    "sinh": lambda x, y, z: sinh(x) + cosh(y * z),
    "pow": lambda x, y, z: (1 + x**2) ** _inside(y) - z,
}

BRANCHES: dict[str, Make] = {
    "abs": lambda x, y, z: absolute(x - 0.01) + y * z,
    "sign": lambda x, y, z: sign(x - 0.37) * y,
    "min": lambda x, y, z: minimum(x, y + 0.21, z),
    "max": lambda x, y, z: maximum(x - 0.13, y, 0.5) * z,
    "less": lambda x, y, z: where(x < y + 0.17, x * y, z),
    "both": lambda x, y, z: where((x > 0.1) & (y <= 0.3), y, x - z),
    "either": lambda x, y, z: where((x > 1.1) | ~(y < z + 0.7), x, y * z),
    "equal": lambda x, y, z: where(equal(x, 0.25), y, z),
    "truth": lambda x, y, z: (x < 0.19) * y + z,
}

ALL_FORMS: dict[str, Make] = {**ARITHMETIC, **FUNCTIONS, **BRANCHES}


@dataclass
class _Source:
    """What an expression may read, and the names already given."""

    values: list[Expr]
    forms: dict[str, Make]
    names: int = 0
    statements: list[Statement] = field(default_factory=list)

    def local(self) -> Expr:
        self.names += 1
        return symbol(f"t{self.names}", "local")


def _bounded(x: Expr, draw: st.DrawFn) -> Expr:
    """Keep values small: what is reused often would otherwise grow without limit."""
    return draw(st.sampled_from([x, sin(x), _inside(x), x / (2 + x**2)]))


def _expression(draw: st.DrawFn, source: _Source) -> Expr:
    form = source.forms[draw(st.sampled_from(sorted(source.forms)))]
    operand = st.sampled_from(source.values)
    made = form(draw(operand), draw(operand), draw(operand))
    if draw(st.booleans()):
        inner = source.forms[draw(st.sampled_from(sorted(source.forms)))]
        made = inner(made, draw(operand), draw(operand))
    return _bounded(made, draw)


def _assign(draw: st.DrawFn, source: _Source) -> None:
    target = source.local()
    source.statements.append(Assign(target, _expression(draw, source)))
    source.values.append(target)


def _loop(draw: st.DrawFn, source: _Source, depth: int = 0) -> None:
    count = draw(st.integers(1, 4))
    state, item = source.local(), source.local()
    inner = _Source([*source.values, state, item], source.forms, source.names)
    for _ in range(draw(st.integers(0, 2))):
        _assign(draw, inner)
    if depth == 0 and draw(st.integers(0, 3)) == 0:
        _loop(draw, inner, depth + 1)
    following = sin(_expression(draw, inner)) + 0.5 * state
    stacked = _expression(draw, inner)
    source.names = inner.names
    final = source.local()
    targets = tuple(source.local() for _ in range(count))
    operand = st.sampled_from(source.values)
    source.statements.append(
        Loop(
            count,
            (Carried(state, draw(operand), following, final),),
            (Scanned(item, tuple(draw(operand) for _ in range(count))),),
            (Stacked(stacked, targets),),
            tuple(inner.statements),
        )
    )
    source.values.extend((final, *targets))


def _call(draw: st.DrawFn, source: _Source) -> None:
    a, b, c = (symbol(n, r) for n, r in (("a", "parameter"), ("b", "coordinate"), ("c", "speed")))
    inner = _Source([a, b, c], source.forms)
    for _ in range(draw(st.integers(0, 2))):
        _assign(draw, inner)
    outputs = [_expression(draw, inner), _expression(draw, inner)]
    called = program("inner", {"a": a, "bc": [b, c]}, {"y": outputs}, statements=inner.statements)
    for _ in range(draw(st.integers(1, 2))):
        operand = st.sampled_from(source.values)
        targets = (source.local(), source.local())
        arguments = tuple(draw(operand) for _ in range(3))
        source.statements.append(Call(called, arguments, targets))
        source.values.extend(targets)


def _solve(draw: st.DrawFn, source: _Source) -> None:
    n = draw(st.integers(1, 3))
    operand = st.sampled_from(source.values)
    shift = draw(st.integers(0, n - 1))  # a cyclic shift of the strong diagonal asks for pivoting
    matrix = tuple(
        0.4 * sin(draw(operand)) + 0.01 * (i + n * j) + (3 if (i + shift) % n == j else 0)
        for i in range(n)
        for j in range(n)
    )
    sides = draw(st.integers(1, 2))
    right = tuple(draw(operand) for _ in range(n * sides))
    targets = tuple(source.local() for _ in right)
    source.statements.append(Solve(n, matrix, right, targets))
    source.values.extend(targets)


@st.composite
def programs(
    draw: st.DrawFn,
    *,
    loops: bool = True,
    calls: bool = True,
    solves: bool = True,
    forms: dict[str, Make] | None = None,
    size: int = 8,
) -> Program:
    """Return a random Program over parameters, slow symbols, coordinates and speeds."""
    parameters = [symbol("k1"), symbol("k2", sign="positive")]
    q = [symbol(f"q{i}", "coordinate") for i in (1, 2)]
    u = [symbol(f"u{i}", "speed") for i in (1, 2)]
    force = symbol("f", "input")
    source = _Source([*parameters, *q, *u, force, constant(0.75)], forms or ALL_FORMS)
    kinds = [_assign, _assign, _assign]
    kinds += [_loop] * loops + [_call] * calls + [_solve] * solves
    for _ in range(draw(st.integers(1, size))):
        draw(st.sampled_from(kinds))(draw, source)
    rows = draw(st.integers(1, 2))
    matrix = [[_expression(draw, source) for _ in range(2)] for _ in range(rows)]
    return program(
        "random",
        {"k": parameters, "q": q, "u": u, "f": force},
        {"y": matrix, "s": source.values[-1], "extra": [_expression(draw, source)]},
        statements=source.statements,
        slow=[force] if draw(st.booleans()) else [],
        auxiliary=["extra"] if draw(st.booleans()) else [],
    )


def sample_inputs(
    made: Program, seed: int = 0, batch: tuple[int, ...] = ()
) -> list[npt.NDArray[np.float64]]:
    """Return seeded random inputs between -2 and 2; symbols declared positive are above 0.5."""
    rng = np.random.default_rng(seed)
    arrays = []
    for port in made.inputs:
        flat = rng.uniform(-2.0, 2.0, (*batch, port.size))
        for k, x in enumerate(port.entries):
            if x.data.sign:
                flat[..., k] = 0.5 + np.abs(flat[..., k])
        arrays.append(flat.reshape((*batch, *port.shape)))
    return arrays
