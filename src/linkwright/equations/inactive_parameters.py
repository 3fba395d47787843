"""Parameters that drop out of the equations, although they stand in them.

Names for intermediate results hide cancellations: a moment of inertia may be the sum of two second
moments in which two other moments of inertia cancel. A parameter has no effect if the derivative
of all results by it vanishes as a rational function. That is decided by one sweep of reverse
differentiation in a finite field, where results are summed with random weights; functions that are
opaque there have random derivatives, so that nothing is dropped by mistake (but for odds of about
1e-36). AUTOSIM lists only parameters that matter (section 9.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linkwright.algebra import Expr, postorder
from linkwright.program import Assign
from linkwright.program.passes.fields import (
    PRIME,
    FieldValues,
    function_value,
    inverse_value,
    number_value,
    opaque_value,
)


def idle_parameters(
    statements: Sequence[Assign], results: Iterable[Expr], parameters: Iterable[Expr]
) -> frozenset[Expr]:
    """Return the parameters that no result depends on.

    >>> from linkwright.algebra import symbols
    >>> a, b, c, d = symbols("a b c d")
    >>> sorted(x.name for x in idle_parameters([Assign(c, a - b)], [c + b], [a, b, d]))
    ['b', 'd']
    """
    slopes = slopes_of(statements, results, FieldValues())
    return frozenset(p for p in parameters if not slopes.get(p))


def slopes_of(
    statements: Sequence[Assign], results: Iterable[Expr], values: FieldValues, number: int = 0
) -> dict[Expr, int]:
    """Return the derivatives of a random combination of results by the symbols, in the field."""
    for s in statements:
        values.known[s.target] = values.of(s.value)
    slopes: dict[Expr, int] = {}
    for k, result in enumerate(results):
        values.of(result)
        slopes[result] = (slopes.get(result, 0) + opaque_value("result", None, (number, k))) % PRIME
    _sweep(list(slopes), values, slopes)
    for s in reversed(statements):
        slope = slopes.pop(s.target, 0)
        if slope:
            slopes[s.value] = slope
            _sweep([s.value], values, slopes)
    return slopes


def _sweep(roots: Sequence[Expr], values: FieldValues, slopes: dict[Expr, int]) -> None:
    """Hand the slopes of expressions on to the symbols in them."""
    for node in reversed(list(postorder(roots))):
        if node.op == "sym":
            continue
        slope = slopes.pop(node, 0)
        if not slope:
            continue
        for x, factor in _partials(node, values):
            slopes[x] = (slopes.get(x, 0) + slope * factor) % PRIME


def _partials(node: Expr, values: FieldValues) -> Iterable[tuple[Expr, int]]:
    """Yield the arguments of a node with the derivative of its value by each."""
    op, args = node.op, node.args
    if op == "scale":
        return [(args[0], number_value(node.data))]
    if op == "sum":
        return [(x, number_value(c)) for x, c in zip(args, node.data[1:], strict=True)]
    known = values.known
    if op == "prod":
        return _factors(node, values)
    if op == "sin" or op == "cos":
        sine, cosine = (_wave(kind, args[0], values) for kind in ("sin", "cos"))
        return [(args[0], cosine if op == "sin" else PRIME - sine)]
    marks = [known[a] for a in args]
    return [(x, opaque_value(f"slope {op}", k, marks)) for k, x in enumerate(args)]


def _wave(kind: str, angle: Expr, values: FieldValues) -> int:
    return function_value(kind, None, [values.known[angle]])


def _factors(node: Expr, values: FieldValues) -> list[tuple[Expr, int]]:
    """Return the derivatives of a product of powers."""
    powers = list(zip(node.args, node.data, strict=True))
    bases = {x: values.known[x] for x, _ in powers}
    result = []
    for x, e in powers:
        base = bases[x] if e > 0 else inverse_value(bases[x])
        slope = e * pow(base, e - 1 if e > 0 else 1 - e, PRIME) % PRIME
        for y, f in powers:
            if y is not x:
                other = bases[y] if f > 0 else inverse_value(bases[y])
                slope = slope * pow(other, abs(f), PRIME) % PRIME
        result.append((x, slope))
    return result
