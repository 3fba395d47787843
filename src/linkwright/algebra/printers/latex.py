"""Expressions as LaTeX mathematics."""

from __future__ import annotations

from linkwright.algebra.expr import Expr
from linkwright.algebra.functions.registry import FUNCTIONS
from linkwright.algebra.printers.formula import FormulaMarks
from linkwright.algebra.printers.names import GREEK, drawn_parts, stem_and_digits
from linkwright.base.arguments import worded

_LETTERS = {letter: word for word, letter in GREEK.items()}
_COMMANDS = {"sin", "cos", "tan", "arcsin", "arccos", "arctan", "tanh", "ln", "min", "max"}


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
    return _LATEX.of(expr)


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
    if word in _LETTERS:
        return "\\" + _LETTERS[word]
    if len(word) == 1:
        return r"\_" if word == "_" else word
    letters, digits = stem_and_digits(word)
    upright = not word.isdigit() and not (digits and len(letters) == 1)
    return rf"\mathrm{{{word}}}" if upright else word


def _function_word(op: str) -> str:
    word = FUNCTIONS[op].word
    return f"\\{word}" if word in _COMMANDS else rf"\operatorname{{{word}}}"


_LATEX = FormulaMarks(
    name=latex_name,
    word=_function_word,
    is_atom=lambda literal: literal.replace(".", "").isdigit(),
    brackets=(r"\left(", r"\right)"),
    truth=(r"\left[", r"\right]"),
    digits=("", ""),
    ten=("10^{", "}"),
    times_ten=("", r"\cdot ", ""),
    fraction=(r"\frac{", "}{", "}"),
    number_fraction=(r"\frac{", "}{", "}"),
    power=("", "^{", "}"),
    name_power=("", "^{", "}"),
    any_power=("", "^{", "}"),
    cases=(
        *(r"\begin{cases}", "", r" & \text{if } ", r" \\ "),
        *("", r" & \text{otherwise}\end{cases}"),
    ),
    signs={"-": "-"},
    relations={"lt": " < ", "le": r" \le ", "eq": " = ", "ne": r" \ne "},
    logic={"and": r" \land ", "or": r" \lor ", "not": r"\lnot "},
    enclosed={
        "sqrt": (r"\sqrt{", "}"),
        "abs": (r"\left|", r"\right|"),
        "exp": ("e^{", "}"),
    },
    comma=", ",
    gap=r"\,",
    infinity=r"\infty",
    pi=r"\pi",
)
