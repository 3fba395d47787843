"""The grammar of the expression language, read into a small tree.

::

    expression:  or-part [ "if" or-part "else" expression ]
    or-part:     and-part { "or" and-part }
    and-part:    not-part { "and" not-part }
    not-part:    [ "not" ] comparison
    comparison:  sum { ("<" | "<=" | ">" | ">=" | "==" | "!=") sum }
    sum:         product { ("+" | "-") product }
    product:     signed { ("*" | "/") signed }
    signed:      [ "-" | "+" ] power
    power:       item [ ("**" | "^") signed ]
    item:        number [ unit ] | name | name "(" [ expression { "," expression } ] ")"
                 | "(" expression ")" | "[" name "]" | "#" name

A comparison may be a chain, `0 <= x < 1`. A unit is a name (`30 deg`) or stands in braces
(`9.81 {m/s^2}`); the number is converted to SI at once. A compound unit without braces is rejected.
`[b1]` is a direction, `#f1` a variable of the model. The operators are kept on a stack of their
own, so nesting is bounded by the text alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn, TypeAlias

from linkwright.algebra.language.compounds import compound_after
from linkwright.algebra.language.tokens import LanguageError, Token, tokens
from linkwright.base.errors import InputError

_COMPARE = 4
_LEVEL = {
    "or": 1,
    "and": 2,
    "not": 3,
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), _COMPARE),
    "+": 5,
    "-": 5,
    "*": 6,
    "/": 6,
    "**": 8,
    "^": 8,
}
_SIGN_LEVEL = 7
_OPEN = -1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Literal:
    """A number, with its unit where one is written."""

    position: int
    text: str
    unit: str | None = None
    unit_position: int = 0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Name:
    """A name that the scope knows; quoted names are never words of the language."""

    position: int
    name: str
    quoted: bool = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UnitVector:
    """A direction in brackets: `[b1]`."""

    position: int
    name: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reference:
    """A variable of the model: `#f1`."""

    position: int
    name: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CallSyntax:
    """A function applied to arguments."""

    position: int
    name: str
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Unary:
    """`-x`, `+x` or `not x`."""

    position: int
    operator: str
    operand: Node


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Binary:
    """Two operands with an arithmetic or logical operator between them."""

    position: int
    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison:
    """A chain of comparisons: one operator fewer than operands."""

    position: int
    operators: tuple[str, ...]
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ChoiceSyntax:
    """`yes if condition else no`."""

    position: int
    condition: Node
    yes: Node
    no: Node


Node: TypeAlias = (
    Literal
    | Name
    | UnitVector
    | Reference
    | CallSyntax
    | Unary
    | Binary
    | Comparison
    | ChoiceSyntax
)


@dataclass(frozen=True, slots=True)
class Formula:
    """A text that has been read, before its names are given a meaning."""

    source: str
    root: Node = field(repr=False, compare=False)

    def nodes(self) -> Iterator[Node]:
        """Yield every node, a node before its parts, from left to right."""
        stack = [self.root]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(parts(node)))

    def names(self) -> tuple[str, ...]:
        """Return the names that stand for values, each once, in order of first use.

        >>> read("k*(x - x0) - sin(x)").names()
        ('k', 'x', 'x0')
        """
        return tuple(dict.fromkeys(x.name for x in self.nodes() if isinstance(x, Name)))

    def functions(self) -> tuple[str, ...]:
        """Return the names of the functions that are called, each once, in order of first use."""
        return tuple(dict.fromkeys(x.name for x in self.nodes() if isinstance(x, CallSyntax)))


def parts(node: Node) -> tuple[Node, ...]:
    """Return the operands or arguments of a node, from left to right."""
    if isinstance(node, CallSyntax):
        return node.args
    if isinstance(node, Unary):
        return (node.operand,)
    if isinstance(node, Binary):
        return (node.left, node.right)
    if isinstance(node, Comparison):
        return node.operands
    if isinstance(node, ChoiceSyntax):
        return (node.yes, node.condition, node.no)
    return ()


def read(source: str) -> Formula:
    """Read a text into its tree.

    >>> read("a + b*c").source
    'a + b*c'
    """
    if not isinstance(source, str):
        raise InputError(
            f"an expression is a text, and {source!r} is a {type(source).__name__}",
            remedy="write it in quotes, or use as_expr for a number",
        )
    return Formula(source, _Reader(source).read())


@dataclass(slots=True)
class _Pending:
    """An operator or bracket that waits for what stands to its right."""

    kind: str  # "binary", "sign", "compare", "if", "else", "group" or "call"
    level: int
    token: Token
    operators: list[str] = field(default_factory=list)
    operands: list[Node] = field(default_factory=list)


class _Reader:
    """Operands and pending operators of the text read so far (Dijkstra's shunting yard)."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = tokens(source)
        self.next = 0
        self.operands: list[Node] = []
        self.pending: list[_Pending] = []

    def read(self) -> Node:
        wants_operand = True
        while True:
            token = self.tokens[self.next]
            self.next += 1
            if wants_operand:
                wants_operand = self._operand(token)
            elif token.kind == "end":
                break
            else:
                wants_operand = self._operator(token)
        self._reduce(0)
        if self.pending:
            self._unclosed(self.pending[-1])
        return self.operands.pop()

    # -- where an operand is wanted; the result says whether one still is --------------------------
    def _operand(self, token: Token) -> bool:
        if token.kind == "number":
            self.operands.append(self._literal(token))
            return False
        if token.kind == "name":
            return self._name(token)
        if token.kind == "unit":
            self._fail("a unit stands after a number", token, "for example 9.81 {m/s^2}")
        if token.text in ("-", "+"):
            self.pending.append(_Pending("sign", _SIGN_LEVEL, token))
        elif token.text == "not":
            self._not(token)
        elif token.text == "(":
            self.pending.append(_Pending("group", _OPEN, token))
        elif token.text == "[":
            name = self._expect_name("a direction", "[b1]")
            self._expect("]", name)
            self.operands.append(UnitVector(token.position, name.text))
            return False
        elif token.text == "#":
            name = self._expect_name("a variable", "#f1")
            self.operands.append(Reference(token.position, name.text))
            return False
        elif token.kind == "end":
            self._fail("the expression ends where a value is expected", token)
        else:
            self._fail(f"{token.text!r} stands where a value is expected", token)
        return True

    def _literal(self, token: Token) -> Literal:
        follower = self.tokens[self.next]
        if follower.kind == "unit" or (follower.kind == "name" and not follower.quoted):
            if follower.kind == "name":
                self._refuse_compound(token, follower)
            self.next += 1
            return Literal(token.position, token.text, follower.text, follower.position)
        return Literal(token.position, token.text)

    def _refuse_compound(self, number: Token, unit: Token) -> None:
        found = compound_after(self.source, self.tokens, self.next)
        value, name = number.text, unit.text
        power = self.tokens[self.next + 1]
        powered = power.kind == "operator" and power.text in ("^", "**")
        if found is not None:
            alone = f"({value} {name})" if powered else f"{value} {{{name}}}"
            self._fail(
                f"the unit of '{value} {found.unit}' needs braces",
                unit,
                f"write {value} {{{found.unit}}}, or {alone}{found.rest} where {name!r} alone is "
                "the unit",
            )
        if powered:
            self._fail(
                f"the power of '{value} {name}' can be that of the unit or of the quantity",
                unit,
                f"write ({value} {name}){power.text}..., or the unit in braces",
            )

    def _name(self, token: Token) -> bool:
        if not self._is_next("("):
            self.operands.append(Name(token.position, token.text, token.quoted))
            return False
        self.next += 1
        if self._is_next(")"):
            self.next += 1
            self.operands.append(CallSyntax(token.position, token.text, ()))
            return False
        self.pending.append(_Pending("call", _OPEN, token))
        return True

    def _not(self, token: Token) -> None:
        if self.pending and self.pending[-1].level > _LEVEL["not"]:
            self._fail("'not' stands inside arithmetic", token, "put it in parentheses")
        self.pending.append(_Pending("sign", _LEVEL["not"], token))

    # -- where an operator may stand ---------------------------------------------------------------
    def _operator(self, token: Token) -> bool:
        text = token.text
        if token.kind != "operator":
            self._fail(f"{text!r} stands where an operator is expected", token)
        if text in _LEVEL and text != "not":
            self._binary(token)
        elif text == "if":
            self._reduce(1)
            self.pending.append(_Pending("if", 0, token))
        elif text == "else":
            self._else(token)
        elif text == ",":
            self._comma(token)
        elif text == ")":
            self._close(token)
            return False
        elif text == "(":
            self._fail("'(' stands where an operator is expected", token, "write * for a product")
        else:
            self._fail(f"{text!r} stands where an operator is expected", token)
        return True

    def _binary(self, token: Token) -> None:
        level = _LEVEL[token.text]
        if level == _COMPARE:
            self._reduce(level + 1)
            if self.pending and self.pending[-1].kind == "compare":
                self.pending[-1].operators.append(token.text)
            else:
                self.pending.append(_Pending("compare", level, token, [token.text]))
            return
        right_to_left = token.text in ("**", "^")
        self._reduce(level + 1 if right_to_left else level)
        self.pending.append(_Pending("binary", level, token))

    def _else(self, token: Token) -> None:
        self._reduce(0)
        if not self.pending or self.pending[-1].kind != "if":
            self._fail("'else' without 'if'", token)
        waiting = self.pending.pop()
        condition = self.operands.pop()
        yes = self.operands.pop()
        self.pending.append(_Pending("else", 0, waiting.token, operands=[condition, yes]))

    def _comma(self, token: Token) -> None:
        self._reduce(0)
        if not self.pending or self.pending[-1].kind != "call":
            self._check_no_if()
            self._fail("',' stands outside the arguments of a function", token)
        self.pending[-1].operands.append(self.operands.pop())

    def _close(self, token: Token) -> None:
        self._reduce(0)
        if not self.pending:
            self._fail("')' without '('", token)
        self._check_no_if()
        opened = self.pending.pop()
        if opened.kind == "call":
            args = (*opened.operands, self.operands.pop())
            self.operands.append(CallSyntax(opened.token.position, opened.token.text, args))

    # -- building ----------------------------------------------------------------------------------
    def _reduce(self, level: int) -> None:
        """Build the nodes of all pending operators that bind at least as tightly as `level`."""
        while self.pending and self.pending[-1].level >= level and self.pending[-1].kind != "if":
            done = self.pending.pop()
            self.operands.append(self._built(done))

    def _built(self, done: _Pending) -> Node:
        position, text = done.token.position, done.token.text
        if done.kind == "sign":
            return Unary(position, text, self.operands.pop())
        if done.kind == "else":
            return ChoiceSyntax(position, done.operands[0], done.operands[1], self.operands.pop())
        count = len(done.operators) + 1 if done.kind == "compare" else 2
        operands = tuple(self.operands[-count:])
        del self.operands[-count:]
        if done.kind == "compare":
            return Comparison(position, tuple(done.operators), operands)
        return Binary(position, "**" if text == "^" else text, operands[0], operands[1])

    # -- complaints --------------------------------------------------------------------------------
    def _expect_name(self, what: str, example: str) -> Token:
        token = self.tokens[self.next]
        if token.kind != "name":
            self._fail(f"the name of {what} is expected", token, f"for example {example}")
        self.next += 1
        return token

    def _expect(self, text: str, after: Token) -> None:
        if not self._is_next(text):
            token = self.tokens[self.next]
            self._fail(f"{text!r} is expected after {after.text!r}", token)
        self.next += 1

    def _is_next(self, operator: str) -> bool:
        token = self.tokens[self.next]
        return token.kind == "operator" and token.text == operator

    def _check_no_if(self) -> None:
        if self.pending and self.pending[-1].kind == "if":
            self._unclosed(self.pending[-1])

    def _unclosed(self, pending: _Pending) -> NoReturn:
        if pending.kind == "if":
            self._fail("'if' without 'else'", pending.token, "write `a if condition else b`")
        what = "'('" if pending.kind == "group" else f"the '(' of {pending.token.text!r}"
        self._fail(f"{what} is not closed", pending.token)

    def _fail(self, what: str, token: Token, remedy: str | None = None) -> NoReturn:
        raise LanguageError(what, source=self.source, position=token.position, remedy=remedy)
