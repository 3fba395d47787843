"""Expressions as formulas for people: what LaTeX and MathML have in common.

Each is a `FormulaMarks`: the marks that stand before, between and after the parts of a formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from linkwright.algebra.expr import Expr, scaled
from linkwright.algebra.functions.registry import TRUTH_VALUED
from linkwright.algebra.numbers import Number
from linkwright.algebra.printers.layout import (
    AND,
    ATOM,
    COMPARE,
    NOT,
    OR,
    POWER,
    PRODUCT,
    SUM,
    TERNARY,
    Hole,
    Piece,
    Row,
    data_name,
    emit,
    is_sum,
    magnitude,
    quotient,
    separated,
    sum_row,
)

_POWER_ON_NAME = frozenset({"sin", "cos", "tan"})

Around: TypeAlias = tuple[str, str]  # before and after
Between: TypeAlias = tuple[str, str, str]  # before, between and after


@dataclass(frozen=True, slots=True)
class FormulaMarks:
    """The marks of a language of formulas."""

    name: Callable[[str], str]  # the text of a symbol's name
    word: Callable[[str], str]  # the text of a function's name, by its operator
    is_atom: Callable[[str], bool]  # whether the text of a number binds like a digit
    brackets: Around
    truth: Around  # about a condition that counts as a number
    digits: Around
    ten: Around  # about the exponent of ten
    times_ten: Between
    fraction: Between
    number_fraction: Between
    power: Between  # of a whole number
    name_power: Between  # where it stands on the name of a function
    any_power: Between
    cases: tuple[str, str, str, str, str, str]  # begin; before, between, after; last before, after
    signs: Mapping[str, str]  # of sums
    relations: Mapping[str, str]
    logic: Mapping[str, str]
    enclosed: Mapping[str, Around]  # functions that are drawn about their argument
    comma: str
    gap: str  # between factors
    infinity: str
    pi: str

    def of(self, expr: Expr) -> str:
        """Return the formula of an expression."""
        return emit(expr, self._row, brackets=self.brackets)

    def _row(self, x: Expr, condition: bool) -> Row:
        op = x.op
        if op in TRUTH_VALUED:
            if condition:
                return self._condition(x)
            return ATOM, [self.truth[0], Hole(x, condition=True), self.truth[1]]
        if condition:
            return COMPARE, [Hole(x, SUM), self.relations["ne"], self._literal("0")]
        if op == "sym":
            return ATOM, [self.name(x.name)]
        if op == "num":
            literal = self._split(magnitude(x.data))[2]
            if x.data < 0:
                return SUM, [self.signs["-"], literal]
            return (ATOM if self.is_atom(literal) else PRODUCT), [literal]
        if is_sum(x):
            level, pieces = sum_row(
                x, lambda c, t: Hole(scaled(c, t), PRODUCT), lambda c: self._split(c)[2]
            )
            return level, [self.signs.get(p, p) if isinstance(p, str) else p for p in pieces]
        if op == "scale" or op == "prod":
            return self._product(x)
        return self._function(x)

    def _literal(self, digits: str) -> str:
        return digits.join(self.digits)

    def _split(self, value: Number) -> tuple[str, str, str]:
        """Return numerator, denominator and the whole of a positive constant."""
        if isinstance(value, Fraction):
            top, bottom = value.numerator, value.denominator
            if bottom & (bottom - 1) or (top < 20 and bottom <= 16):
                over, under = self._literal(str(top)), self._literal(str(bottom))
                before, between, after = self.number_fraction
                return over, under, before + over + between + under + after
        decimal = self._decimal(value)
        return decimal, "", decimal

    def _decimal(self, value: Number) -> str:
        if isinstance(value, int):
            return self._literal(str(value))
        if value == math.inf:
            return self.infinity
        mantissa, _, exponent = repr(float(value)).partition("e")
        if not exponent:
            return self._literal(mantissa)
        power = str(int(exponent)).join(self.ten)
        before, between, after = self.times_ten
        whole = before + self._literal(mantissa) + between + power + after
        return power if mantissa == "1" else whole

    def _product(self, x: Expr) -> Row:
        coefficient, over, under = quotient(x)
        top, bottom, _ = self._split(magnitude(coefficient))
        above: list[list[Piece]] = [self._power(*factor) for factor in over]
        below: list[list[Piece]] = [self._power(*factor) for factor in under]
        if top != self._literal("1") or not above:
            above.insert(0, [top])
        if bottom:
            below.insert(0, [bottom])
        pieces: list[Piece] = [self.signs["-"]] if coefficient < 0 else []
        if below:
            before, between, after = self.fraction
            pieces += [before, *self._side(above, over), between, *self._side(below, under), after]
        else:
            pieces += self._chain(above)
        return SUM if coefficient < 0 else PRODUCT, pieces

    def _side(self, rows: list[list[Piece]], powers: list[tuple[Expr, int]]) -> list[Piece]:
        """Return one side of a fraction bar; a sum that stands there alone needs no parentheses."""
        if len(rows) == 1 and len(powers) == 1 and powers[0][1] == 1:
            return [Hole(powers[0][0])]
        return self._chain(rows)

    def _chain(self, rows: list[list[Piece]]) -> list[Piece]:
        pieces: list[Piece] = []
        for row in rows:
            pieces += [self.gap, *row] if pieces else row
        return pieces

    def _power(self, base: Expr, exponent: int) -> list[Piece]:
        if exponent == 1:
            return [Hole(base, POWER)]
        if base.op in _POWER_ON_NAME:
            before, between, after = self.name_power
            name = f"{before}{self.word(base.op)}{between}{exponent}{after}"
            return [name, *self._arguments(base.args)]
        before, between, after = self.power
        return [before, Hole(base, ATOM), f"{between}{exponent}{after}"]

    def _arguments(self, args: Sequence[Expr]) -> list[Piece]:
        before, after = self.brackets
        return [before, *separated([Hole(a) for a in args], self.comma), after]

    def _condition(self, x: Expr) -> Row:
        op, args = x.op, x.args
        if op in self.relations:
            return COMPARE, [Hole(args[0], SUM), self.relations[op], Hole(args[1], SUM)]
        if op == "not":
            return NOT, [self.logic[op], Hole(args[0], ATOM, True)]
        level = AND if op == "and" else OR
        return level, [Hole(args[0], level, True), self.logic[op], Hole(args[1], level, True)]

    def _function(self, x: Expr) -> Row:
        op, args = x.op, x.args
        if op == "pi":
            return ATOM, [self.pi]
        if op in self.enclosed:
            before, after = self.enclosed[op]
            return POWER if op == "exp" else ATOM, [before, Hole(args[0]), after]
        if op == "pow":
            before, between, after = self.any_power
            return POWER, [before, Hole(args[0], ATOM), between, Hole(args[1]), after]
        if op == "select":
            return TERNARY, self._cases(x)
        word = self.word(op) if x.data is None else self.name(data_name(x))
        return ATOM, [word, *self._arguments(args)]

    def _cases(self, x: Expr) -> list[Piece]:
        """Return a chain of selections as one list of cases."""
        begin, before, between, after, last, end = self.cases
        pieces: list[Piece] = [begin]
        while x.op == "select":
            condition, yes, x = x.args
            pieces += [before, Hole(yes), between, Hole(condition, condition=True), after]
        return [*pieces, last, Hole(x), end]
