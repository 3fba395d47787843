"""Expressions as text, LaTeX and MathML, and names of symbols as identifiers of C and Python.

`text` is what the expression language reads again; `latex` and `mathml` are for people. Each prints
an expression as a tree with the fewest parentheses, and none of them recurses. Programs are printed
by the backends.
"""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
