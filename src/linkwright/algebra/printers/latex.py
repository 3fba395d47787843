"""Expressions as LaTeX mathematics."""

from __future__ import annotations

import math
from fractions import Fraction

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
    separated,
    sum_row,
)
from linkwright.algebra.printers.names import GREEK, drawn_parts, stem_and_digits
from linkwright.base.arguments import worded

_GREEK_LETTERS = {letter: word for word, letter in GREEK.items()}
_COMMANDS = {
    "sin": r"\sin",
    "cos": r"\cos",
    "tan": r"\tan",
    "asin": r"\arcsin",
    "acos": r"\arccos",
    "atan": r"\arctan",
    "log": r"\ln",
    "tanh": r"\tanh",
    "min": r"\min",
    "max": r"\max",
    "atan2": r"\operatorname{atan2}",
    "sign": r"\operatorname{sgn}",
    "floor": r"\operatorname{floor}",
}
_RELATIONS = {"lt": "<", "le": r"\le", "eq": "=", "ne": r"\ne"}
_POWER_ON_NAME = frozenset({"sin", "cos", "tan"})


@worded
def latex(expr: Expr) -> str:
    r"""Return the expression as LaTeX mathematics, without dollar signs.

    Args:
        expr: what to print.

    >>> from linkwright.algebra import sin, symbols
    >>> m, q1, omega_x = symbols("m q1 omega_x")
    >>> print(latex(m * omega_x**2 / 2 - sin(q1) ** 2 / m))
    \frac{m\,\omega_{x}^{2}}{2} - \frac{\sin^{2}\left(q_{1}\right)}{m}
    """
    return emit(expr, _row, brackets=(r"\left(", r"\right)"))


def latex_name(name: str) -> str:
    r"""Return the name of a symbol as LaTeX: Greek letters, subscripts, upright words, dots.

    >>> latex_name("theta_a1"), latex_name("car.mass"), latex_name("q[1,2]")
    ('\\theta_{a1}', '\\mathrm{car}_{\\mathrm{mass}}', 'q_{1,2}')
    >>> latex_name("p1_dot"), latex_name("p1_dot_dot")
    ('\\dot{p}_{1}', '\\ddot{p}_{1}')
    """
    dots = 0
    while name.endswith("_dot") and name != "_dot":
        name, dots = name[:-4], dots + 1
    words, primes, index = drawn_parts(name)
    stem, digits = stem_and_digits(words.pop(0) if words else "_")
    below = [digits] if digits else []
    below += [_word(word) for word in words]
    if index is not None:
        below.append(index)
    subscript = f"_{{{','.join(below)}}}" if below else ""
    letter = _word(stem)
    if dots:
        letter = f"\\{'d' * dots}ot{{{letter}}}"
    return f"{letter}{primes}{subscript}"


def _word(word: str) -> str:
    if word in GREEK:
        return "\\" + word
    if word in _GREEK_LETTERS:
        return "\\" + _GREEK_LETTERS[word]
    if len(word) == 1:
        return r"\_" if word == "_" else word
    letters, digits = stem_and_digits(word)
    if digits and len(letters) == 1:
        return word
    return word if word.isdigit() else rf"\mathrm{{{word}}}"


def _row(x: Expr, condition: bool) -> Row:
    op = x.op
    if op in TRUTH_VALUED:
        if condition:
            return _condition(x)
        return ATOM, [r"\left[", Hole(x, condition=True), r"\right]"]
    if condition:
        return COMPARE, [Hole(x, SUM), r" \ne 0"]
    if op == "sym":
        return ATOM, [latex_name(x.name)]
    if op == "num":
        return _number(x.data)
    if is_sum(x):
        return sum_row(x, lambda c, t: Hole(scaled(c, t), PRODUCT), lambda c: _split(c)[2])
    if op == "scale" or op == "prod":
        return _product(x)
    return _function(x)


def _split(value: Number) -> tuple[str, str, str]:
    """Return numerator, denominator and the whole of a positive constant."""
    if isinstance(value, Fraction):
        top, bottom = value.numerator, value.denominator
        if bottom & (bottom - 1) or (top < 20 and bottom <= 16):
            return str(top), str(bottom), rf"\frac{{{top}}}{{{bottom}}}"
    return _decimal(value), "", _decimal(value)


def _decimal(value: Number) -> str:
    if isinstance(value, int):
        return str(value)
    if value == math.inf:
        return r"\infty"
    mantissa, _, exponent = repr(float(value)).partition("e")
    if not exponent:
        return mantissa
    power = f"10^{{{int(exponent)}}}"
    return power if mantissa == "1" else rf"{mantissa}\cdot {power}"


def _number(value: Number) -> Row:
    literal = _split(magnitude(value))[2]
    if value < 0:
        return SUM, ["-", literal]
    return (ATOM if literal.replace(".", "").isdigit() else PRODUCT), [literal]


def _product(x: Expr) -> Row:
    coefficient, over, under = quotient(x)
    top, bottom, _ = _split(magnitude(coefficient))
    above: list[list[Piece]] = [_power(*factor) for factor in over]
    below: list[list[Piece]] = [_power(*factor) for factor in under]
    if top != "1" or not above:
        above.insert(0, [top])
    if bottom:
        below.insert(0, [bottom])
    pieces: list[Piece] = ["-"] if coefficient < 0 else []
    if below:
        pieces += [r"\frac{", *_side(above, over), "}{", *_side(below, under), "}"]
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
        pieces += [r"\,", *row] if pieces else row
    return pieces


def _power(base: Expr, exponent: int) -> list[Piece]:
    if exponent == 1:
        return [Hole(base, POWER)]
    if base.op in _POWER_ON_NAME:
        return [f"{_COMMANDS[base.op]}^{{{exponent}}}", *_arguments(base)]
    return [Hole(base, ATOM), f"^{{{exponent}}}"]


def _arguments(x: Expr) -> list[Piece]:
    return [r"\left(", *separated([Hole(a) for a in x.args], ", "), r"\right)"]


def _condition(x: Expr) -> Row:
    op, args = x.op, x.args
    if op in _RELATIONS:
        return COMPARE, [Hole(args[0], SUM), f" {_RELATIONS[op]} ", Hole(args[1], SUM)]
    if op == "not":
        return NOT, [r"\lnot ", Hole(args[0], ATOM, True)]
    level = AND if op == "and" else OR
    symbol = r" \land " if op == "and" else r" \lor "
    return level, [Hole(args[0], level, True), symbol, Hole(args[1], level, True)]


def _function(x: Expr) -> Row:
    op, args = x.op, x.args
    if op == "pi":
        return ATOM, [r"\pi"]
    if op == "sqrt":
        return ATOM, [r"\sqrt{", Hole(args[0]), "}"]
    if op == "abs":
        return ATOM, [r"\left|", Hole(args[0]), r"\right|"]
    if op == "exp":
        return POWER, ["e^{", Hole(args[0]), "}"]
    if op == "pow":
        return POWER, [Hole(args[0], ATOM), "^{", Hole(args[1]), "}"]
    if op == "select":
        return TERNARY, _cases(x)
    if x.data is not None:
        return ATOM, [latex_name(data_name(x)), *_arguments(x)]
    return ATOM, [_COMMANDS.get(op, rf"\operatorname{{{op}}}"), *_arguments(x)]


def _cases(x: Expr) -> list[Piece]:
    """Return a chain of selections as one list of cases."""
    pieces: list[Piece] = [r"\begin{cases}"]
    while x.op == "select":
        condition, yes, x = x.args
        pieces += [Hole(yes), r" & \text{if } ", Hole(condition, condition=True), r" \\ "]
    return [*pieces, Hole(x), r" & \text{otherwise}\end{cases}"]
