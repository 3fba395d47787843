"""Symbolic scalars, vectors and dyadics.

`Expr` is the scalar everything is made of; `symbol` makes its atoms; the functions below build,
differentiate, substitute, solve and evaluate. See `linkwright.algebra.expr` for the canonical form.
"""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
