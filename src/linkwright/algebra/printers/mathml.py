"""Expressions as MathML, which browsers draw as mathematics without any script.

A name is drawn as people write it: Greek words as letters, digits and words behind an underscore
below the line, and a rate (`phi_dot`, or a prime) as a dot above.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from html import escape

from linkwright.algebra.expr import Expr, scaled
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
    TRUTH_VALUED,
    Hole,
    Piece,
    Row,
    data_name,
    emit,
    is_sum,
    magnitude,
    quotient,
    sum_row,
)
from linkwright.algebra.printers.names import GREEK, drawn_parts, stem_and_digits

_DOTS = {1: "˙", 2: "¨", 3: "⃛"}
_WORDS = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "log": "ln", "sign": "sgn"}
_RELATIONS = {"lt": "&lt;", "le": "≤", "eq": "=", "ne": "≠"}
_SIGNS = {" - ": "<mo>−</mo>", "-": "<mo>−</mo>", " + ": "<mo>+</mo>"}
_POWER_ON_NAME = frozenset({"sin", "cos", "tan"})
_OPEN, _CLOSE = "<mrow><mo>(</mo>", "<mo>)</mo></mrow>"
_GAP = '<mspace width="0.17em"/>'


def mathml(expr: Expr) -> str:
    """Return the expression as MathML, without the `math` element around it.

    >>> from linkwright.algebra import symbols
    >>> m, q1 = symbols("m q1")
    >>> mathml(m / q1)
    '<mfrac><mrow><mi>m</mi></mrow><mrow><msub><mi>q</mi><mn>1</mn></msub></mrow></mfrac>'
    """
    return emit(expr, _row, brackets=(_OPEN, _CLOSE))


def mathml_name(name: str) -> str:
    """Return the name of a symbol as MathML: Greek letters, subscripts, dots for rates.

    >>> mathml_name("phi1_dot'")
    '<msub><mover><mi>φ</mi><mo>¨</mo></mover><mn>1</mn></msub>'
    """
    words, primes, index = drawn_parts(name)
    dots = len(primes)
    while len(words) > 1 and words[-1] in ("dot", "ddot"):
        dots += len(words.pop()) - 2
    stem, digits = stem_and_digits(words.pop(0) if words else "_")
    below = [digits] if digits else []
    below += words
    if index is not None:
        below += index.split(",")
    drawn = f"<mi>{escape(GREEK.get(stem, stem))}</mi>"
    if dots:
        mark = _DOTS.get(dots, f"({dots})")
        drawn = f"<mover>{drawn}<mo>{mark}</mo></mover>"
    if not below:
        return drawn
    return f"<msub>{drawn}{_below(below)}</msub>"


def _below(words: Sequence[str]) -> str:
    made = [
        f"<mn>{escape(w)}</mn>" if w.isdigit() else f"<mi>{escape(GREEK.get(w, w))}</mi>"
        for w in words
    ]
    return made[0] if len(made) == 1 else f"<mrow>{'<mo>,</mo>'.join(made)}</mrow>"


def _row(x: Expr, condition: bool) -> Row:
    op = x.op
    if op in TRUTH_VALUED:
        if condition:
            return _condition(x)
        return ATOM, ["<mrow><mo>[</mo>", Hole(x, condition=True), "<mo>]</mo></mrow>"]
    if condition:
        return COMPARE, [Hole(x, SUM), "<mo>≠</mo><mn>0</mn>"]
    if op == "sym":
        return ATOM, [mathml_name(x.name)]
    if op == "num":
        return _number(x.data)
    if is_sum(x):
        level, pieces = sum_row(x, lambda c, t: Hole(scaled(c, t), PRODUCT), lambda c: _split(c)[2])
        return level, [_SIGNS.get(p, p) if isinstance(p, str) else p for p in pieces]
    if op == "scale" or op == "prod":
        return _product(x)
    return _function(x)


def _split(value: Number) -> tuple[str, str, str]:
    """Return numerator, denominator and the whole of a positive constant."""
    if isinstance(value, Fraction):
        top, bottom = value.numerator, value.denominator
        if bottom & (bottom - 1) or (top < 20 and bottom <= 16):
            over, under = f"<mn>{top}</mn>", f"<mn>{bottom}</mn>"
            return over, under, f"<mfrac>{over}{under}</mfrac>"
    return _decimal(value), "", _decimal(value)


def _decimal(value: Number) -> str:
    if isinstance(value, int):
        return f"<mn>{value}</mn>"
    if value == math.inf:
        return "<mi>∞</mi>"
    mantissa, _, exponent = repr(float(value)).partition("e")
    if not exponent:
        return f"<mn>{mantissa}</mn>"
    power = f"<msup><mn>10</mn><mn>{int(exponent)}</mn></msup>"
    return power if mantissa == "1" else f"<mrow><mn>{mantissa}</mn><mo>·</mo>{power}</mrow>"


def _number(value: Number) -> Row:
    literal = _split(magnitude(value))[2]
    if value < 0:
        return SUM, ["<mo>−</mo>", literal]
    return (PRODUCT if "<mo>" in literal or "<mfrac>" in literal else ATOM), [literal]


def _product(x: Expr) -> Row:
    coefficient, over, under = quotient(x)
    top, bottom, _ = _split(magnitude(coefficient))
    above: list[list[Piece]] = [_power(*factor) for factor in over]
    below: list[list[Piece]] = [_power(*factor) for factor in under]
    if top != "<mn>1</mn>" or not above:
        above.insert(0, [top])
    if bottom:
        below.insert(0, [bottom])
    pieces: list[Piece] = ["<mo>−</mo>"] if coefficient < 0 else []
    if below:
        pieces += ["<mfrac><mrow>", *_side(above, over), "</mrow><mrow>"]
        pieces += [*_side(below, under), "</mrow></mfrac>"]
    else:
        pieces += _chain(above)
    return SUM if coefficient < 0 else PRODUCT, pieces


def _side(rows: list[list[Piece]], powers: list[tuple[Expr, int]]) -> list[Piece]:
    """Return one side of a fraction bar; a sum that stands there alone needs no parentheses."""
    if len(rows) == 1 and len(powers) == 1 and powers[0][1] == 1:
        return [Hole(powers[0][0])]
    return _chain(rows)


def _chain(rows: list[list[Piece]]) -> list[Piece]:
    pieces: list[Piece] = []
    for row in rows:
        pieces += [_GAP, *row] if pieces else row
    return pieces


def _power(base: Expr, exponent: int) -> list[Piece]:
    if exponent == 1:
        return [Hole(base, POWER)]
    if base.op in _POWER_ON_NAME:
        name = f"<msup><mi>{base.op}</mi><mn>{exponent}</mn></msup>"
        return [name, *_arguments(base)]
    return ["<msup><mrow>", Hole(base, ATOM), f"</mrow><mn>{exponent}</mn></msup>"]


def _arguments(x: Expr) -> list[Piece]:
    pieces: list[Piece] = [_OPEN]
    for k, argument in enumerate(x.args):
        pieces += ["<mo>,</mo>", Hole(argument)] if k else [Hole(argument)]
    return [*pieces, _CLOSE]


def _condition(x: Expr) -> Row:
    op, args = x.op, x.args
    if op in _RELATIONS:
        return COMPARE, [Hole(args[0], SUM), f"<mo>{_RELATIONS[op]}</mo>", Hole(args[1], SUM)]
    if op == "not":
        return NOT, ["<mo>¬</mo>", Hole(args[0], ATOM, True)]
    level, sign = (AND, "∧") if op == "and" else (OR, "∨")
    return level, [Hole(args[0], level, True), f"<mo>{sign}</mo>", Hole(args[1], level, True)]


def _function(x: Expr) -> Row:
    op, args = x.op, x.args
    if op == "pi":
        return ATOM, ["<mi>π</mi>"]
    if op == "sqrt":
        return ATOM, ["<msqrt>", Hole(args[0]), "</msqrt>"]
    if op == "abs":
        return ATOM, ["<mrow><mo>|</mo>", Hole(args[0]), "<mo>|</mo></mrow>"]
    if op == "exp":
        return POWER, ["<msup><mi>e</mi><mrow>", Hole(args[0]), "</mrow></msup>"]
    if op == "pow":
        base: list[Piece] = ["<msup><mrow>", Hole(args[0], ATOM), "</mrow><mrow>"]
        return POWER, [*base, Hole(args[1]), "</mrow></msup>"]
    if op == "select":
        return TERNARY, _cases(x)
    if x.data is not None:
        return ATOM, [mathml_name(data_name(x)), *_arguments(x)]
    return ATOM, [f"<mi>{_WORDS.get(op, op)}</mi>", *_arguments(x)]


def _cases(x: Expr) -> list[Piece]:
    """Return a chain of selections as one table of cases."""
    pieces: list[Piece] = ["<mrow><mo>{</mo><mtable columnalign='left'>"]
    while x.op == "select":
        condition, yes, x = x.args
        pieces += ["<mtr><mtd>", Hole(yes), "</mtd><mtd><mtext>if </mtext>"]
        pieces += [Hole(condition, condition=True), "</mtd></mtr>"]
    return [
        *pieces,
        "<mtr><mtd>",
        Hole(x),
        "</mtd><mtd><mtext>otherwise</mtext></mtd></mtr></mtable></mrow>",
    ]
