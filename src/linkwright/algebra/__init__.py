"""Symbolic scalars, vectors and dyadics.

`Expr` is the scalar everything is made of; `symbol` makes its atoms; the functions below build,
differentiate, substitute, solve and evaluate. See `linkwright.algebra.expr` for the canonical form.
"""

from typing import TYPE_CHECKING

from linkwright.algebra.calculus import (
    constant_part,
    diff,
    free_symbols,
    gradient,
    linear_coefficients,
    nominal,
    solve_for,
    substitute,
    substitute_all,
    time_derivative,
)
from linkwright.algebra.directions import Direction, VectorError, common_ancestor
from linkwright.algebra.dyadics import ZERO_DYADIC, Dyadic, outer
from linkwright.algebra.evaluate import evaluate, evaluate_all
from linkwright.algebra.expr import ONE, ZERO, Expr, Scalar, as_expr, constant, product, total
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
    cosh,
    equal,
    exp,
    floor,
    log,
    maximum,
    minimum,
    not_equal,
    sign,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    where,
)
from linkwright.algebra.geometry import angle, direction_of, magnitude, project_on_plane
from linkwright.algebra.motion import Motion
from linkwright.algebra.nodes import ExprError
from linkwright.algebra.smallness import order, smallness_threshold
from linkwright.algebra.symbols import SymbolInfo, symbol, symbols
from linkwright.algebra.tables import Lookup1D, Lookup2D
from linkwright.algebra.vectors import ZERO_VECTOR, Vector, vector_total
from linkwright.algebra.walk import postorder
from linkwright.lazy import lazy_names

if TYPE_CHECKING:
    from linkwright.algebra.language import (
        Formula,
        LanguageError,
        Scope,
        SymbolScope,
        parse,
        read,
        resolve,
    )
    from linkwright.algebra.printers import latex, text
    from linkwright.algebra.units import (
        Unit,
        UnitSystem,
        check_units,
        deduce_units,
        parse_unit,
        unit_of,
    )

# Text models, printing and units are loaded when they are first used.
_HOMES: dict[str, tuple[str, ...]] = {
    "linkwright.algebra.language": (
        "Formula",
        "LanguageError",
        "Scope",
        "SymbolScope",
        "parse",
        "read",
        "resolve",
    ),
    "linkwright.algebra.printers": ("latex", "text"),
    "linkwright.algebra.units": (
        "Unit",
        "UnitSystem",
        "check_units",
        "deduce_units",
        "parse_unit",
        "unit_of",
    ),
}
if not TYPE_CHECKING:  # hidden from type checkers, so that they report an unknown name
    __getattr__ = lazy_names(__name__, _HOMES)


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
    "Formula",
    "Frame",
    "LanguageError",
    "Lookup1D",
    "Lookup2D",
    "Motion",
    "Scalar",
    "Scope",
    "SymbolInfo",
    "SymbolScope",
    "Unit",
    "UnitSystem",
    "Vector",
    "VectorError",
    "absolute",
    "acos",
    "angle",
    "as_expr",
    "asin",
    "atan",
    "atan2",
    "check_units",
    "common_ancestor",
    "constant",
    "constant_part",
    "cos",
    "cosh",
    "deduce_units",
    "diff",
    "direction_of",
    "equal",
    "evaluate",
    "evaluate_all",
    "exp",
    "factor",
    "factor_all",
    "floor",
    "foreign",
    "free_symbols",
    "gcf",
    "gradient",
    "latex",
    "linear_coefficients",
    "log",
    "magnitude",
    "maximum",
    "minimum",
    "nominal",
    "not_equal",
    "order",
    "outer",
    "parse",
    "parse_unit",
    "postorder",
    "product",
    "project_on_plane",
    "read",
    "resolve",
    "sign",
    "sin",
    "sinh",
    "smallness_threshold",
    "solve_for",
    "sqrt",
    "substitute",
    "substitute_all",
    "symbol",
    "symbols",
    "tan",
    "tanh",
    "text",
    "time_derivative",
    "total",
    "unit_of",
    "vector_total",
    "where",
]
