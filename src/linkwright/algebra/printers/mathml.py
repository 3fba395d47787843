"""Expressions as MathML, which browsers draw as mathematics without any script.

A name is drawn as people write it: Greek words as letters, digits and words behind an underscore
below the line, and a rate (`phi_dot`, or a prime) as a dot above.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from linkwright.algebra.expr import Expr
from linkwright.algebra.functions.registry import FUNCTIONS
from linkwright.algebra.printers.formula import FormulaMarks
from linkwright.algebra.printers.names import GREEK, drawn_parts, stem_and_digits

_DOTS = {1: "˙", 2: "¨", 3: "⃛"}


def mathml(expr: Expr) -> str:
    """Return the expression as MathML, without the `math` element around it.

    >>> from linkwright.algebra import symbols
    >>> m, q1 = symbols("m q1")
    >>> mathml(m / q1)
    '<mfrac><mrow><mi>m</mi></mrow><mrow><msub><mi>q</mi><mn>1</mn></msub></mrow></mfrac>'
    """
    return _MATHML.of(expr)


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
    below = [*([digits] if digits else []), *words]
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


_MATHML = FormulaMarks(
    name=mathml_name,
    word=lambda op: f"<mi>{FUNCTIONS[op].word}</mi>",
    is_atom=lambda literal: "<mo>" not in literal and "<mfrac>" not in literal,
    brackets=("<mrow><mo>(</mo>", "<mo>)</mo></mrow>"),
    truth=("<mrow><mo>[</mo>", "<mo>]</mo></mrow>"),
    digits=("<mn>", "</mn>"),
    ten=("<msup><mn>10</mn><mn>", "</mn></msup>"),
    times_ten=("<mrow>", "<mo>·</mo>", "</mrow>"),
    fraction=("<mfrac><mrow>", "</mrow><mrow>", "</mrow></mfrac>"),
    number_fraction=("<mfrac>", "", "</mfrac>"),
    power=("<msup><mrow>", "</mrow><mn>", "</mn></msup>"),
    name_power=("<msup>", "<mn>", "</mn></msup>"),
    any_power=("<msup><mrow>", "</mrow><mrow>", "</mrow></msup>"),
    cases=(
        "<mrow><mo>{</mo><mtable columnalign='left'>",
        *("<mtr><mtd>", "</mtd><mtd><mtext>if </mtext>", "</mtd></mtr>"),
        *("<mtr><mtd>", "</mtd><mtd><mtext>otherwise</mtext></mtd></mtr></mtable></mrow>"),
    ),
    signs={" - ": "<mo>−</mo>", "-": "<mo>−</mo>", " + ": "<mo>+</mo>"},
    relations={"lt": "<mo>&lt;</mo>", "le": "<mo>≤</mo>", "eq": "<mo>=</mo>", "ne": "<mo>≠</mo>"},
    logic={"and": "<mo>∧</mo>", "or": "<mo>∨</mo>", "not": "<mo>¬</mo>"},
    enclosed={
        "sqrt": ("<msqrt>", "</msqrt>"),
        "abs": ("<mrow><mo>|</mo>", "<mo>|</mo></mrow>"),
        "exp": ("<msup><mi>e</mi><mrow>", "</mrow></msup>"),
    },
    comma="<mo>,</mo>",
    gap='<mspace width="0.17em"/>',
    infinity="<mi>∞</mi>",
    pi="<mi>π</mi>",
)
