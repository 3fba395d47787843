"""Expressions as text, LaTeX and MathML, and names of symbols as identifiers of C and Python.

`text` is what the expression language reads again; `latex` and `mathml` are for people. Each prints
an expression as a tree with the fewest parentheses, and none of them recurses. Programs are printed
by the backends.
"""

from linkwright.algebra.printers.latex import latex, latex_name
from linkwright.algebra.printers.layout import tree_size
from linkwright.algebra.printers.mathml import mathml, mathml_name
from linkwright.algebra.printers.names import c_identifier, python_identifier
from linkwright.algebra.printers.text import text

__all__ = [
    "c_identifier",
    "latex",
    "latex_name",
    "mathml",
    "mathml_name",
    "python_identifier",
    "text",
    "tree_size",
]
