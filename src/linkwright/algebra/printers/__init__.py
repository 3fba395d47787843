"""Expressions as text, LaTeX, MathML, C and Python.

`text` is what the expression language reads again; `latex` and `mathml` are for people; `c_source`
and `python_source` are for the backends. Each prints an expression as a tree with the fewest
parentheses, and none of them recurses.
"""

from linkwright.algebra.printers.c import C_HELPERS, c_helpers, c_literal, c_source
from linkwright.algebra.printers.latex import latex, latex_name
from linkwright.algebra.printers.layout import tree_size
from linkwright.algebra.printers.mathml import mathml, mathml_name
from linkwright.algebra.printers.names import c_identifier, python_identifier
from linkwright.algebra.printers.python import python_literal, python_source
from linkwright.algebra.printers.text import text

__all__ = [
    "C_HELPERS",
    "c_helpers",
    "c_identifier",
    "c_literal",
    "c_source",
    "latex",
    "latex_name",
    "mathml",
    "mathml_name",
    "python_identifier",
    "python_literal",
    "python_source",
    "text",
    "tree_size",
]
