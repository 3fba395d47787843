"""What several rows of expressions have in common: one template with holes, and what fills them.

Bodies of a chain are alike where their expressions differ in symbols and numbers only. The form of
an expression is brought into an order that does not depend on names (terms and factors by shape,
then by name without digits), and written in postfix, so that the leaves of two expressions of one
shape stand at the same places. Where all rows have the same leaf, the template has it too; where
they differ, it has a hole (anti-unification, Plotkin 1970). Putting each row's leaves into the
holes gives back its expressions, whatever was paired with what.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from linkwright.algebra import Expr, constant, postorder, product, symbol, total
from linkwright.algebra.expr import raised
from linkwright.algebra.functions import apply
from linkwright.algebra.nodes import FOREIGN, SMALL
from linkwright.algebra.numbers import times

_LONGEST = 4_000  # leaves and operations beyond which an expression is like no other
_DIGITS = re.compile(r"\d+")

Token: TypeAlias = "Expr | tuple[str, Any, int]"


@dataclass(frozen=True, slots=True)
class TemplateForm:
    """An expression in postfix; `shape` is the same number for all that differ in leaves only."""

    shape: int
    order: str
    tokens: tuple[Token, ...]

    def leaves(self) -> Iterator[Expr]:
        """Yield the leaves, in order."""
        return (t for t in self.tokens if isinstance(t, Expr))


@dataclass(frozen=True, slots=True)
class TemplateHole:
    """A symbol of a template, and what it stands for in each row."""

    symbol: Expr
    column: tuple[Expr, ...]


class Shapes:
    """Gives each shape of expressions a number.

    >>> from linkwright.algebra import sin, symbols
    >>> a, b, m, n = symbols("a b m n", "coordinate")
    >>> shapes = Shapes({})
    >>> first, second = shapes.form(2 * sin(a) + m), shapes.form(n + 3 * sin(b))
    >>> first.shape == second.shape
    True
    """

    def __init__(self, marks: Mapping[Expr, int], *, deep: bool = False) -> None:
        self.marks, self.deep = marks, deep
        self._numbers: dict[tuple[object, ...], int] = {}

    def form(self, root: Expr) -> TemplateForm:
        """Return the form of an expression; one with a foreign function is like no other."""
        if root.roles & (SMALL | FOREIGN):
            return self._alone(root)
        if self._is_leaf(root):
            return self._leaf(root)
        found: dict[Expr, TemplateForm] = {}
        for node in postorder([root], stop=self._is_leaf):
            found[node] = self._node(node, [found[a] for a in self._args(node)], found)
        return found[root]

    def _is_leaf(self, x: Expr) -> bool:
        return x.is_atom or (x.is_constant and not self.deep)

    def _args(self, x: Expr) -> tuple[Expr, ...]:
        return () if self._is_leaf(x) else x.args

    def _number(self, *key: object) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _node(
        self, node: Expr, args: Sequence[TemplateForm], found: Mapping[Expr, TemplateForm]
    ) -> TemplateForm:
        if self._is_leaf(node):
            return self._leaf(node)
        if node.op == "sum":
            return self._sum(node, node.data, args)
        if node.op == "scale":
            inner = node.args[0]
            if inner.op == "sum":
                numbers = [times(node.data, c) for c in inner.data]
                return self._sum(node, numbers, [found[a] for a in inner.args])
            return self._sum(node, (0, node.data), args)
        if node.op == "prod":
            powers = zip(node.data, args, strict=True)
            parts = [x if e == 1 else self._join(node, "power", e, [x]) for e, x in powers]
            return self._join(node, "prod", None, _in_order(parts))
        return self._join(node, node.op, node.data, args)

    def _leaf(self, x: Expr) -> TemplateForm:
        if x.is_constant and not (self.deep and x in self.marks):
            shape = self._number("constant")
        else:
            mark = self.marks.get(x)
            shape = self._number("symbol", x.roles) if mark is None else self._number("mark", mark)
        return TemplateForm(shape, _label(x), (x,))

    def _sum(
        self, node: Expr, numbers: Sequence[Any], args: Sequence[TemplateForm]
    ) -> TemplateForm:
        terms = [
            self._join(node, "term", None, [self._leaf(constant(c)), x])
            for c, x in zip(numbers[1:], args, strict=True)
        ]
        return self._join(node, "sum", None, [self._leaf(constant(numbers[0])), *_in_order(terms)])

    def _join(self, node: Expr, op: str, data: Any, parts: Sequence[TemplateForm]) -> TemplateForm:
        size = sum(len(p.tokens) for p in parts)
        if size > _LONGEST:
            return self._alone(node)
        digest = data if isinstance(data, int) else getattr(data, "digest", None)
        shape = self._number(op, digest, *(p.shape for p in parts))
        order = next((p.order for p in parts if p.order), "")
        inside = (t for p in parts for t in p.tokens)
        return TemplateForm(shape, order, (*inside, (op, data, len(parts))))

    def _alone(self, x: Expr) -> TemplateForm:
        """Return the form of what is like nothing else."""
        return TemplateForm(self._number("alone", x), _label(x), (x,))


def _label(x: Expr) -> str:
    return _DIGITS.sub("", x.name) if x.op == "sym" else ""


def _in_order(parts: Iterable[TemplateForm]) -> list[TemplateForm]:
    return sorted(parts, key=lambda p: (p.shape, p.order))


def template(
    rows: Sequence[Sequence[TemplateForm]], owner: str, prefix: str
) -> tuple[list[Expr], list[TemplateHole]]:
    """Return expressions for which every row is an example, and the holes in them.

    >>> from linkwright.algebra import sin, symbols
    >>> a, b, m, n = symbols("a b m n", "coordinate")
    >>> shapes = Shapes({})
    >>> rows = [[shapes.form(2 * sin(a) + m)], [shapes.form(n + 3 * sin(b))]]
    >>> (made,), holes = template(rows, "", "h")
    >>> [hole.column for hole in holes]
    [(m, n), (2, 3), (a, b)]
    """
    columns = zip(*([x for form in row for x in form.leaves()] for row in rows), strict=True)
    known: dict[tuple[Expr, ...], Expr] = {}
    values: list[Expr] = []
    for column in columns:
        if all(x is column[0] for x in column):
            values.append(column[0])
            continue
        if column not in known:
            fixed = all(x.is_constant for x in column)
            label = _label(column[0]).replace(".", "_").strip("[]_") or "k"
            known[column] = symbol(
                f"{prefix}{label}_{len(known) + 1}",
                "parameter" if fixed else "local",
                owner=owner,
            )
        values.append(known[column])
    rest = iter(values)
    made = [_built(form.tokens, rest) for form in rows[0]]
    return made, [TemplateHole(x, column) for column, x in known.items()]


def _built(tokens: Sequence[Token], leaves: Iterator[Expr]) -> Expr:
    """Return the expression of a form with other leaves."""
    stack: list[Expr] = []
    for token in tokens:
        if isinstance(token, Expr):
            stack.append(next(leaves))
            continue
        op, data, count = token
        args = stack[-count:]
        del stack[-count:]
        if op == "sum":
            stack.append(total(args))
        elif op in ("term", "prod"):
            stack.append(product(args))
        elif op == "power":
            stack.append(raised(args[0], data))
        else:
            stack.append(apply(op, tuple(args), data))
    (made,) = stack
    return made
