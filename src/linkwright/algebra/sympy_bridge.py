"""Expressions to and from SymPy, which is loaded when it is first used.

A symbol keeps its name. Functions of time as `sympy.physics.mechanics.dynamicsymbols` makes them
become coordinates, and their derivatives speeds and accelerations: q1(t), its first and second
derivative are q1, q1_dot and q1_dot_dot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, overload

from linkwright.algebra.expr import Expr, as_expr, product, total
from linkwright.algebra.functions import FUNCTIONS, PI, where
from linkwright.algebra.functions.registry import apply
from linkwright.algebra.nodes import ExprError
from linkwright.algebra.numbers import Number
from linkwright.algebra.symbols import symbol
from linkwright.algebra.walk import postorder
from linkwright.base.arguments import worded
from linkwright.base.optional import extra
from linkwright.base.reprs import brief

# Operators whose names in SymPy are others; sin, exp and so on have the same names there.
_NAMES = {
    "abs": "Abs",
    "min": "Min",
    "max": "Max",
    "pow": "Pow",
    "lt": "StrictLessThan",
    "le": "LessThan",
    "eq": "Equality",
    "ne": "Unequality",
    "and": "And",
    "or": "Or",
    "not": "Not",
}
_OPERATORS = {name: op for op, name in _NAMES.items()}
_TURNED = {"StrictGreaterThan": "lt", "GreaterThan": "le"}  # with their sides exchanged
_TRUTHS = frozenset({"lt", "le", "eq", "ne", "and", "or", "not"})


@overload
def to_sympy(value: Expr | float, names: Mapping[str, Any] | None = None) -> Any: ...
@overload
def to_sympy(value: Sequence[Any], names: Mapping[str, Any] | None = None) -> Any: ...
def to_sympy(value: Any, names: Mapping[str, Any] | None = None) -> Any:
    """Return an expression as a SymPy expression, rows of expressions as a SymPy matrix.

    Args:
        value: an expression, a sequence of them (a column), or rows of them.
        names: SymPy expressions to put for symbols, by name; by default `sympy.Symbol(name)`.

    >>> from linkwright.algebra import sin, symbols
    >>> a, q1 = symbols("a q1")
    >>> to_sympy(a**2 * sin(q1) / 3)
    a**2*sin(q1)/3
    """
    sympy = extra("sympy", "analysis")
    if isinstance(value, Sequence) and not isinstance(value, str):
        rows = [list(r) if isinstance(r, Sequence) else [r] for r in value]
        return sympy.Matrix([[to_sympy(x, names) for x in row] for row in rows])
    expr = as_expr(value)
    known: dict[Expr, Any] = {}
    for node in postorder([expr]):
        known[node] = _node(sympy, node, known, names or {})
    return known[expr]


def _node(sympy: Any, node: Expr, known: Mapping[Expr, Any], names: Mapping[str, Any]) -> Any:
    """Return one node, given its operands in SymPy."""
    op = node.op
    args = [_operand(sympy, node, k, known[a]) for k, a in enumerate(node.args)]
    if op == "sym":
        return names[node.name] if node.name in names else sympy.Symbol(node.name)
    if op == "num":
        return _number(sympy, node.data)
    if op == "pi":
        return sympy.pi
    if op == "scale":
        return _number(sympy, node.data) * args[0]
    if op == "sum":
        terms = [_number(sympy, c) * a for c, a in zip(node.data[1:], args, strict=True)]
        return sympy.Add(_number(sympy, node.data[0]), *terms)
    if op == "prod":
        return sympy.Mul(*(a**e for a, e in zip(args, node.data, strict=True)))
    if op == "select":
        return sympy.Piecewise((args[1], args[0]), (args[2], True))
    if node.data is not None:
        raise ExprError(f"SymPy cannot hold the table or function of one's own in {node}")
    return getattr(sympy, _NAMES.get(op, op))(*args)


def _operand(sympy: Any, node: Expr, k: int, made: Any) -> Any:
    """Return an operand as a truth where one is wanted, as a number where that is."""
    is_truth = node.args[k].op in _TRUTHS
    if node.op in ("and", "or", "not") or (node.op == "select" and k == 0):
        return made if is_truth else sympy.Ne(made, 0)
    return sympy.Piecewise((1, made), (0, True)) if is_truth else made


def _number(sympy: Any, value: Number) -> Any:
    if isinstance(value, Fraction):
        return sympy.Rational(value.numerator, value.denominator)
    return sympy.Integer(value) if isinstance(value, int) else sympy.Float(value)


@worded
def from_sympy(value: Any, scope: Any = None) -> Any:
    """Return a SymPy expression as an expression, a matrix as rows of expressions.

    Args:
        value: a SymPy expression or matrix, or a number.
        scope: what symbols stand for: a Mechanism, whose coordinates, speeds and parameters have
            those names, or a mapping from names to expressions; names that it does not have are
            new symbols (of a Mechanism: new parameters).

    >>> import sympy
    >>> x, y = sympy.symbols("x y")
    >>> from_sympy(sympy.sqrt(x) * y**2 + sympy.Rational(1, 3))
    1/3 + y**2*sqrt(x)
    """
    sympy = extra("sympy", "analysis")
    if isinstance(value, sympy.MatrixBase):
        rows = value.tolist()
        return tuple(tuple(from_sympy(x, scope) for x in row) for row in rows)
    try:
        root = sympy.sympify(value)
    except sympy.SympifyError:
        raise ExprError(f"{value!r} is not a SymPy expression") from None
    if not isinstance(root, sympy.Basic):
        raise ExprError(f"{value!r} is not a SymPy expression")
    known: dict[Any, Expr] = {}
    stack = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if node in known:
            continue
        name = _name(sympy, node)
        if name is not None:
            known[node] = _named(name, scope)
        elif ready or not node.args:
            known[node] = _back(sympy, node, known)
        else:
            _require_known(sympy, node)
            stack.append((node, True))
            stack.extend((a, False) for a in _operands(sympy, node))
    return known[root]


def _require_known(sympy: Any, node: Any) -> None:
    kind = type(node).__name__
    plain = (sympy.Add, sympy.Mul, sympy.Pow, sympy.Piecewise)
    if not isinstance(node, plain) and _OPERATORS.get(kind, kind) not in {*FUNCTIONS, *_TURNED}:
        raise ExprError(f"there is nothing here for SymPy's {kind} in {node}")


def _operands(sympy: Any, node: Any) -> list[Any]:
    if isinstance(node, sympy.Piecewise):
        return [x for pair in node.args for x in pair.args]
    return list(node.args)


def _name(sympy: Any, node: Any) -> str | None:
    """Return the name of a symbol, of a function of time, or of its derivative."""
    if isinstance(node, sympy.Symbol):
        return str(node.name)
    if isinstance(node, sympy.core.function.AppliedUndef):
        if len(node.args) == 1 and isinstance(node.args[0], sympy.Symbol):
            return str(node.func.__name__)
        raise ExprError(f"{node} is a function of more than time", remedy="substitute it first")
    if isinstance(node, sympy.Derivative):
        inner = _name(sympy, node.expr)
        if inner is None or len(node.variable_count) != 1:
            raise ExprError(f"{node} is not the derivative of a name", remedy="call doit() first")
        return inner + "_dot" * int(node.variable_count[0][1])
    return None


def _named(name: str, scope: Any) -> Expr:
    if scope is None:
        return symbol(name)
    if isinstance(scope, Mapping):
        found = scope.get(name)
        return symbol(name) if found is None else as_expr(found)
    if not hasattr(scope, "expr"):
        raise ExprError(
            f"{brief(scope)} holds no names", remedy="give a Mechanism, or a mapping from names"
        )
    return as_expr(scope.expr(name))


def _back(sympy: Any, node: Any, known: Mapping[Any, Expr]) -> Expr:
    """Return one node of SymPy, given its operands."""
    if node is sympy.pi:
        return PI
    if node is sympy.true or node is sympy.false:
        return as_expr(int(bool(node)))
    if isinstance(node, sympy.Integer):
        return as_expr(int(node))
    if isinstance(node, sympy.Rational):
        return as_expr(Fraction(int(node.p), int(node.q)))
    if not node.args and node.is_number and node.is_extended_real:
        return as_expr(float(node))
    if not node.args:
        raise ExprError(f"{node} is not a real number")
    if isinstance(node, sympy.Piecewise):
        *pairs, last = node.args
        result = known[last.args[0]]
        if last.args[1] is not sympy.true:
            raise ExprError(f"{node} has no value where its conditions fail")
        for pair in reversed(pairs):
            result = where(known[pair.args[1]], known[pair.args[0]], result)
        return result
    args = [known[a] for a in node.args]
    if isinstance(node, sympy.Add):
        return total(args)
    if isinstance(node, sympy.Mul):
        return product(args)
    if isinstance(node, sympy.Pow):
        base, exponent = node.args
        if isinstance(exponent, sympy.Integer):
            return known[base] ** int(exponent)
        if isinstance(exponent, sympy.Rational) and exponent.q == 2:
            return apply("sqrt", (known[base],)) ** int(exponent.p)
        return apply("pow", (known[base], known[exponent]))
    kind = type(node).__name__
    if kind in ("And", "Or"):
        result = args[0]
        for x in args[1:]:
            result = apply(_OPERATORS[kind], (result, x))
        return result
    if kind in _TURNED:
        return apply(_TURNED[kind], (args[1], args[0]))
    return apply(_OPERATORS.get(kind, kind), tuple(args))
