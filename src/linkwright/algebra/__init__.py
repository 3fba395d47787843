"""Symbolic scalars, vectors and dyadics.

`Expr` is the scalar everything is made of; `symbol` makes its atoms; the functions below build,
differentiate, substitute, solve and evaluate. See `linkwright.algebra.expr` for the canonical form.
"""

from linkwright.algebra.calculus import (
    constant_part,
    free_symbols,
    gradient,
    linear_coefficients,
    nominal,
    partial,
    solve_for,
    substitute,
    substitute_all,
    time_derivative,
)
from linkwright.algebra.directions import Direction, VectorError, common_ancestor
from linkwright.algebra.dyadics import ZERO_DYADIC, Dyadic, outer
from linkwright.algebra.evaluate import evaluate, evaluate_all
from linkwright.algebra.expr import (
    ONE,
    ZERO,
    Expr,
    ExprError,
    Scalar,
    as_expr,
    constant,
    postorder,
    product,
    total,
)
from linkwright.algebra.factoring import factor, factor_all, gcf
from linkwright.algebra.foreign import ForeignFunction, foreign
from linkwright.algebra.frames import Frame
from linkwright.algebra.functions import (
    PI,
    absolute,
    acos,
    asin,
    atan,
    atan2,
    cos,
    different,
    equal,
    exp,
    log,
    maximum,
    minimum,
    select,
    sign,
    sin,
    sqrt,
    tan,
)
from linkwright.algebra.geometry import angle, direction_of, magnitude, project_on_plane
from linkwright.algebra.motion import Motion
from linkwright.algebra.smallness import order, smallness_threshold
from linkwright.algebra.symbols import SymbolInfo, symbol, symbols
from linkwright.algebra.tables import Table1, Table2
from linkwright.algebra.vectors import ZERO_VECTOR, Vector, vector_total

__all__ = [
    "ONE",
    "PI",
    "ZERO",
    "ZERO_DYADIC",
    "ZERO_VECTOR",
    "Direction",
    "Dyadic",
    "Expr",
    "ExprError",
    "ForeignFunction",
    "Frame",
    "Motion",
    "Scalar",
    "SymbolInfo",
    "Table1",
    "Table2",
    "Vector",
    "VectorError",
    "absolute",
    "acos",
    "angle",
    "as_expr",
    "asin",
    "atan",
    "atan2",
    "common_ancestor",
    "constant",
    "constant_part",
    "cos",
    "different",
    "direction_of",
    "equal",
    "evaluate",
    "evaluate_all",
    "exp",
    "factor",
    "factor_all",
    "foreign",
    "free_symbols",
    "gcf",
    "gradient",
    "linear_coefficients",
    "log",
    "magnitude",
    "maximum",
    "minimum",
    "nominal",
    "order",
    "outer",
    "partial",
    "postorder",
    "product",
    "project_on_plane",
    "select",
    "sign",
    "sin",
    "smallness_threshold",
    "solve_for",
    "sqrt",
    "substitute",
    "substitute_all",
    "symbol",
    "symbols",
    "tan",
    "time_derivative",
    "total",
    "vector_total",
]
