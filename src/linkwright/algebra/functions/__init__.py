"""The functions that may occur in an expression, each with its rules, derivative and evaluation.

See `registry` for what a function is and how to add one.
"""

from linkwright.algebra.functions import choices as choices, smooth as smooth
from linkwright.algebra.functions.calls import (
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
from linkwright.algebra.functions.registry import FUNCTIONS, Args, Function, apply, register
from linkwright.algebra.functions.smooth import PI

__all__ = [
    "FUNCTIONS",
    "PI",
    "Args",
    "Function",
    "absolute",
    "acos",
    "apply",
    "asin",
    "atan",
    "atan2",
    "cos",
    "cosh",
    "equal",
    "exp",
    "floor",
    "log",
    "maximum",
    "minimum",
    "not_equal",
    "register",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "where",
]
