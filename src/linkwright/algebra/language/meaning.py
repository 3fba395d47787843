"""From the tree of an expression text to its value in a scope.

Values are expressions, or anything that has arithmetic operators: vectors and dyadics. A chain of
sums or products of scalars is built at once, so its cost grows with its length and not with the
square. Nothing here recurses over the depth of the text.
"""

from __future__ import annotations

import inspect
import math
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from linkwright.algebra.expr import Expr, as_expr, constant, linear_combination, product, raised
from linkwright.algebra.functions import PI, apply, where
from linkwright.algebra.language.scope import Kind, Scope, SymbolScope
from linkwright.algebra.language.standard import (
    ONLY_IN_A_MODEL,
    derived_function,
    standard_functions,
)
from linkwright.algebra.language.syntax import (
    Binary,
    CallSyntax,
    ChoiceSyntax,
    Comparison,
    Formula,
    Literal,
    Name,
    Node,
    Reference,
    Unary,
    UnitVector,
    parts,
    read,
)
from linkwright.algebra.language.tokens import LanguageError
from linkwright.algebra.numbers import Number
from linkwright.algebra.units.parse import parse_unit
from linkwright.algebra.units.systems import MKS, UnitSystem
from linkwright.algebra.units.unit import Unit
from linkwright.base.errors import Error, nearest

_DERIVED = re.compile(r"(?P<name>[^'\[]+)(?P<primes>'*)(?P<index>(?:\[[0-9,]+\])?)")
_NONZERO = re.compile(r"[0.]*[1-9]")
_LONGEST_INTEGER = 400
_FEW = 8
_COMPARISONS: dict[str, tuple[str, bool]] = {
    "<": ("lt", False),
    "<=": ("le", False),
    ">": ("lt", True),
    ">=": ("le", True),
    "==": ("eq", False),
    "!=": ("ne", False),
}
_OPERATORS: dict[str, Callable[[Any, Any], object]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
}
_WORDS = {
    "value": "name",
    "function": "function",
    "direction": "direction",
    "reference": "variable",
}


def parse(text: str, scope: Scope | None = None) -> Expr:
    """Return the scalar expression that a text stands for.

    >>> parse("-k*(x - x0) if x > x0 else 0")
    where(x0 < x, -k*(x - x0), 0)
    >>> parse("2*sin(30 deg)")
    1
    """
    value = resolve(read(text), scope)
    if not isinstance(value, Expr):
        raise LanguageError(
            f"the expression is a {type(value).__name__.lower()} where a scalar is needed",
            source=text,
            position=0,
            remedy="take its mag() or its dot() with a direction",
        )
    return value


def resolve(formula: Formula, scope: Scope | None = None) -> object:
    """Return the value of a text that has been read: an expression, a vector or a dyadic.

    >>> resolve(read("a + b - a"))
    b
    """
    return _Resolver(formula.source, SymbolScope() if scope is None else scope).run(formula.root)


def quantity(number: Expr, unit: Unit | None, system: UnitSystem = MKS) -> Expr:
    """Return a number with a unit as an expression in SI units, or in those of another system.

    >>> quantity(constant(10), parse_unit("in"))
    127/500
    """
    if unit is None:
        return number
    own = unit / system.coherent_unit(unit)
    return number * product([constant(own.scale), raised(PI, own.pi)])


class _Resolver:
    """One walk over a tree: a stack of nodes to visit and a stack of their values."""

    def __init__(self, source: str, scope: Scope) -> None:
        self.source = source
        self.scope = scope

    def run(self, root: Node) -> object:
        values: list[object] = []
        todo: list[tuple[Node, Sequence[Node] | None]] = [(root, None)]
        while todo:
            node, operands = todo.pop()
            if operands is None:
                operands = self._operands(node)
                todo.append((node, operands))
                todo.extend((operand, None) for operand in reversed(operands))
            else:
                first = len(values) - len(operands)
                arguments = values[first:]
                del values[first:]
                values.append(self._value(node, arguments))
        return values.pop()

    def _operands(self, node: Node) -> Sequence[Node]:
        if isinstance(node, Binary):
            return [operand for _, operand in _chain(node)]
        if isinstance(node, CallSyntax) and node.name == "func" and node.args:
            return node.args[1:]
        return parts(node)

    def _value(self, node: Node, args: list[object]) -> object:
        if isinstance(node, Literal):
            return self._literal(node)
        if isinstance(node, Name):
            return self._name(node)
        if isinstance(node, UnitVector):
            return self._look_up("direction", node.name, node.position)
        if isinstance(node, Reference):
            return self._look_up("reference", node.name, node.position)
        if isinstance(node, CallSyntax):
            return self._call(node, args)
        if isinstance(node, ChoiceSyntax):
            yes, condition, no = args
            return self._guarded(node.position, lambda: where(*_scalars(condition, yes, no)))
        if isinstance(node, Unary):
            return self._unary(node, args[0])
        if isinstance(node, Comparison):
            return self._guarded(node.position, lambda: _comparison(node.operators, args))
        return self._binary(node, args)

    # -- atoms -------------------------------------------------------------------------------------
    def _literal(self, node: Literal) -> Expr:
        value: Number
        if node.text.isdigit() and len(node.text) <= _LONGEST_INTEGER:
            value = int(node.text)
        else:
            value = float(node.text)
            if math.isinf(value):
                self._fail("the number is larger than the largest float", node.position)
            if not value and _NONZERO.match(node.text):
                self._fail(
                    "the number is smaller than the smallest float, but not 0",
                    node.position,
                    "write 0, or use other units",
                )
        number = self._guarded(node.position, lambda: constant(value))
        assert isinstance(number, Expr)
        try:
            unit = None if node.unit is None else parse_unit(node.unit)
        except Error:
            self._fail(
                f"{node.unit!r} is not a unit",
                node.unit_position,
                f"write {node.text}*{node.unit} for a product",
            )
        enter = getattr(self.scope, "literal", quantity)
        result = self._guarded(node.position, lambda: enter(number, unit))
        assert isinstance(result, Expr)
        return result

    def _name(self, node: Name) -> object:
        if not node.quoted and node.name == "pi":
            return PI
        if not node.quoted and node.name == "inf":
            return constant(math.inf)
        return self._look_up("value", node.name, node.position)

    def _look_up(self, kind: Kind, name: str, position: int) -> object:
        found = self._guarded(position, lambda: self.scope.lookup(kind, name))
        if found is None:
            self._unknown(kind, name, position, self.scope.names(kind))
        return found

    # -- functions ---------------------------------------------------------------------------------
    def _call(self, node: CallSyntax, args: list[object]) -> object:
        name = node.name
        if name == "func":
            if not node.args or not isinstance(node.args[0], Name):
                self._fail(
                    "func() takes the name of a function first", node.position, "func(name, x, y)"
                )
            name = node.args[0].name
            function = self._function(name)
        else:
            function = self._function(name) or standard_functions().get(name)
        if function is None:
            if name in ONLY_IN_A_MODEL:
                self._fail(f"{name}() has a meaning only in the text of a mechanism", node.position)
            known = [*standard_functions(), *self.scope.names("function")]
            self._unknown("function", name, node.position, known)
        if not callable(function):
            self._fail(f"{name!r} is not a function", node.position)
        self._check_arguments(name, function, args, node.position)
        return self._guarded(node.position, lambda: function(*args), f"{name}(): ")

    def _function(self, name: str) -> object | None:
        """Return a function of the scope, or a derivative or output of one: f', f[1,0], f[1]."""
        function = self.scope.lookup("function", name)
        if function is not None or name[-1] not in "']":
            return function
        match = _DERIVED.fullmatch(name)
        base = None if match is None else self.scope.lookup("function", match["name"])
        if match is None or base is None:
            return None
        return derived_function(
            base, len(match["primes"]), [int(i) for i in re.findall(r"[0-9]+", match["index"])]
        )

    def _check_arguments(
        self, name: str, function: Callable[..., object], args: list[object], position: int
    ) -> None:
        try:
            signature = inspect.signature(function)
        except ValueError:
            return
        try:
            signature.bind(*args)
        except TypeError:
            wanted = ", ".join(
                f"[{p.name}]" if p.default is not p.empty else p.name
                for p in signature.parameters.values()
                if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)
            )
            self._fail(f"{name}() takes ({wanted}), not {len(args)} argument(s)", position)

    # -- operators ---------------------------------------------------------------------------------
    def _unary(self, node: Unary, operand: Any) -> object:
        if node.operator == "not":
            return self._guarded(node.position, lambda: apply("not", _scalars(operand)))
        if node.operator == "+":
            return self._guarded(node.position, lambda: +operand)
        return self._guarded(node.position, lambda: -operand)

    def _binary(self, node: Binary, args: list[object]) -> object:
        chain = _chain(node)
        steps = [(link.operator, link.position) for link, _ in chain if link is not None]
        scalars = [x for x in args if isinstance(x, Expr)]
        if len(scalars) == len(args):
            if node.operator in ("+", "-"):
                return self._guarded(node.position, lambda: _sum(steps, scalars))
            if node.operator in ("*", "/"):
                return self._product(node, steps, scalars)
        result: Any = args[0]
        for (symbol, position), x in zip(steps, args[1:], strict=True):
            result = self._apply(symbol, position, result, x)
        return result

    def _product(self, node: Binary, steps: list[tuple[str, int]], values: list[Expr]) -> object:
        items = [values[0]]
        for (symbol, position), x in zip(steps, values[1:], strict=True):
            if symbol == "/":
                items.append(self._inverse(x, position))
            else:
                items.append(x)
        return self._guarded(node.position, lambda: product(items))

    def _inverse(self, x: Expr, position: int) -> Expr:
        result = self._guarded(position, lambda: raised(x, -1))
        assert isinstance(result, Expr)
        return result

    def _apply(self, symbol: str, position: int, a: object, b: object) -> object:
        if symbol in ("and", "or"):
            return self._guarded(position, lambda: apply(symbol, _scalars(a, b)))
        return self._guarded(position, lambda: _OPERATORS[symbol](a, b))

    # -- complaints --------------------------------------------------------------------------------
    def _guarded(self, position: int, compute: Callable[[], object], prefix: str = "") -> object:
        """Return what is computed; what goes wrong is said with the place in the text."""
        try:
            return compute()
        except LanguageError as error:
            if error.source == self.source:
                raise
            self._fail(prefix + error.what, position, error.remedy, error)
        except Error as error:
            self._fail(prefix + error.what, position, error.remedy, error)
        except (ArithmeticError, ValueError) as error:
            self._fail(f"{prefix}has no value ({error})", position, None, error)
        except TypeError as error:
            self._fail(f"{prefix}cannot be combined ({error})", position, None, error)

    def _unknown(self, kind: Kind, name: str, position: int, known: Any) -> NoReturn:
        names = sorted(known)
        near = nearest(name, names)
        if near:
            remedy = f"did you mean {near!r}?"
        elif 0 < len(names) <= _FEW:
            remedy = f"known are {', '.join(names)}"
        else:
            remedy = "declare it first"
        self._fail(f"unknown {_WORDS[kind]} {name!r}", position, remedy)

    def _fail(
        self,
        what: str,
        position: int,
        remedy: str | None = None,
        cause: Exception | None = None,
    ) -> NoReturn:
        raise LanguageError(what, source=self.source, position=position, remedy=remedy) from cause


def _chain(node: Binary) -> list[tuple[Binary | None, Node]]:
    """Return the operands of a chain of like operators, each with the link before it."""
    together = {"+": "+-", "-": "+-", "*": "*/", "/": "*/"}.get(node.operator)
    if together is None:
        return [(None, node.left), (node, node.right)]
    links: list[tuple[Binary | None, Node]] = []
    left: Node = node
    while isinstance(left, Binary) and left.operator in together:
        links.append((left, left.right))
        left = left.left
    links.append((None, left))
    links.reverse()
    return links


def _sum(steps: list[tuple[str, int]], values: list[Expr]) -> Expr:
    signs = [1, *[-1 if symbol == "-" else 1 for symbol, _ in steps]]
    return linear_combination(zip(signs, values, strict=True))


def _scalars(*values: object) -> tuple[Expr, ...]:
    return tuple(as_expr(x) for x in values)


def _comparison(symbols: tuple[str, ...], operands: list[object]) -> Expr:
    values = _scalars(*operands)
    result: Expr | None = None
    for symbol, a, b in zip(symbols, values, values[1:], strict=False):
        op, swapped = _COMPARISONS[symbol]
        link = apply(op, (b, a) if swapped else (a, b))
        result = link if result is None else apply("and", (result, link))
    assert result is not None
    return result
