from linkwright.algebra.calculus import (
    constant_part as constant_part,
    diff as diff,
    free_symbols as free_symbols,
    gradient as gradient,
    linear_coefficients as linear_coefficients,
    nominal as nominal,
    solve_for as solve_for,
    substitute as substitute,
    substitute_all as substitute_all,
    time_derivative as time_derivative,
)
from linkwright.algebra.directions import (
    Direction as Direction,
    VectorError as VectorError,
    common_ancestor as common_ancestor,
)
from linkwright.algebra.dyadics import ZERO_DYADIC as ZERO_DYADIC, Dyadic as Dyadic, outer as outer
from linkwright.algebra.evaluate import evaluate as evaluate, evaluate_all as evaluate_all
from linkwright.algebra.expr import (
    ONE as ONE,
    ZERO as ZERO,
    Expr as Expr,
    Scalar as Scalar,
    as_expr as as_expr,
    constant as constant,
    product as product,
    total as total,
)
from linkwright.algebra.factoring import factor as factor, factor_all as factor_all, gcf as gcf
from linkwright.algebra.foreign import ForeignFunction as ForeignFunction, foreign as foreign
from linkwright.algebra.frames import Frame as Frame
from linkwright.algebra.functions import (
    PI as PI,
    absolute as absolute,
    acos as acos,
    asin as asin,
    atan as atan,
    atan2 as atan2,
    cos as cos,
    cosh as cosh,
    equal as equal,
    exp as exp,
    floor as floor,
    log as log,
    maximum as maximum,
    minimum as minimum,
    not_equal as not_equal,
    sign as sign,
    sin as sin,
    sinh as sinh,
    sqrt as sqrt,
    tan as tan,
    tanh as tanh,
    where as where,
)
from linkwright.algebra.geometry import (
    angle as angle,
    direction_of as direction_of,
    magnitude as magnitude,
    project_on_plane as project_on_plane,
)
from linkwright.algebra.language import (
    Formula as Formula,
    LanguageError as LanguageError,
    Scope as Scope,
    SymbolScope as SymbolScope,
    parse as parse,
    read as read,
    resolve as resolve,
)
from linkwright.algebra.motion import Motion as Motion
from linkwright.algebra.nodes import ExprError as ExprError
from linkwright.algebra.printers import latex as latex, text as text
from linkwright.algebra.smallness import order as order, smallness_threshold as smallness_threshold
from linkwright.algebra.symbols import (
    SymbolInfo as SymbolInfo,
    symbol as symbol,
    symbols as symbols,
)
from linkwright.algebra.tables import Lookup1D as Lookup1D, Lookup2D as Lookup2D
from linkwright.algebra.units import (
    Unit as Unit,
    UnitSystem as UnitSystem,
    check_units as check_units,
    deduce_units as deduce_units,
    parse_unit as parse_unit,
    unit_of as unit_of,
)
from linkwright.algebra.vectors import (
    ZERO_VECTOR as ZERO_VECTOR,
    Vector as Vector,
    vector_total as vector_total,
)
from linkwright.algebra.walk import postorder as postorder
