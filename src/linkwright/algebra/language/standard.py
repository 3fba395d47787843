"""The functions that every expression text may use."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache

from linkwright.algebra.calculus import diff, nominal
from linkwright.algebra.expr import Expr, as_expr
from linkwright.algebra.foreign import ForeignFunction
from linkwright.algebra.functions import FUNCTIONS, TRUTH_VALUED, WRITTEN_FUNCTIONS, apply
from linkwright.algebra.functions.registry import SPELLING
from linkwright.algebra.geometry import angle, direction_of, magnitude, project_on_plane
from linkwright.algebra.nodes import ExprError
from linkwright.algebra.tables import Lookup1D, Lookup2D
from linkwright.algebra.vectors import Vector

# Known to every mechanism, which supplies them through its scope.
ONLY_IN_A_MODEL = frozenset({"pos", "vel", "rot", "fm", "dxdt"})

_DEGREE = 3  # of the pieces of a table: one more derivative gives zero
_NO_CALLS = TRUTH_VALUED | {"pi", "table1", "table2", "foreign"}


@cache
def _scalar_function(op: str) -> Callable[..., object]:
    arity = (FUNCTIONS.get(op) or WRITTEN_FUNCTIONS[op]).arity

    def function(*values: object) -> Expr:
        return apply(op, tuple([_scalar(x) for x in values]))

    names = ["x", "y", "z"][:arity] if op != "select" else ["condition", "yes", "no"]
    kind = inspect.Parameter.POSITIONAL_ONLY
    parameters = [inspect.Parameter(name, kind) for name in names]
    if arity is None:
        parameters = [
            inspect.Parameter("x", kind),
            inspect.Parameter("more", inspect.Parameter.VAR_POSITIONAL),
        ]
    function.__dict__["__signature__"] = inspect.Signature(parameters)
    return function


def _scalar(x: object) -> Expr:
    if isinstance(x, Vector):
        raise ExprError(f"a scalar is needed, and {x} is a vector")
    return as_expr(x)


def _vector(x: object) -> Vector:
    if not isinstance(x, Vector):
        raise ExprError(f"a vector is needed, and {x} is not one")
    return x


def _dot(a: object, b: object) -> object:
    return _vector(a).dot(_vector(b))


def _cross(a: object, b: object) -> object:
    return _vector(a).cross(_vector(b))


def _dir(v: object) -> object:
    return direction_of(_vector(v))


def _mag(v: object) -> object:
    return magnitude(_vector(v))


def _dplane(v: object, normal: object) -> object:
    return project_on_plane(_vector(v), _vector(normal))


def _angle(v1: object, v2: object, v3: object = None) -> object:
    return angle(_vector(v1), _vector(v2), None if v3 is None else _vector(v3))


def _nominal(x: object) -> object:
    return x.nominal() if isinstance(x, Vector) else nominal(_scalar(x))


def _diff(y: object, x: object) -> object:
    variable = _scalar(x)
    return y.diff(variable) if isinstance(y, Vector) else diff(_scalar(y), variable)


def derived_function(base: object, primes: int, index: list[int]) -> Callable[..., object] | None:
    """Return a derivative of a table, or one output of a foreign function, by its spelling.

    >>> from linkwright.algebra.tables import Lookup1D
    >>> derived_function(Lookup1D([0, 1], [0, 5], name="spring"), 1, []).order
    1
    """
    if isinstance(base, Lookup1D) and not index:
        for _ in range(min(primes, _DEGREE + 1)):
            base = base.derivative()
        return base
    if isinstance(base, Lookup2D) and not primes and len(index) == 2:
        for argument, order in enumerate(index):
            for _ in range(min(order, _DEGREE + 1)):
                base = base.derivative(argument)
        return base
    if isinstance(base, ForeignFunction) and not primes and len(index) == 1:
        return _output(base, index[0])
    return None


def _output(function: ForeignFunction, number: int) -> Callable[..., object] | None:
    if function.outputs == 1 or number >= function.outputs:
        return None

    def output(*args: Expr) -> object:
        return function(*args)[number]

    return output


def standard_functions() -> dict[str, Callable[..., object]]:
    """Return the functions of every text by their spelling."""
    scalar = {SPELLING.get(name, name): name for name in (*FUNCTIONS, *WRITTEN_FUNCTIONS)}
    return _OF_VECTORS | {
        word: _scalar_function(name) for word, name in scalar.items() if name not in _NO_CALLS
    }


_OF_VECTORS: dict[str, Callable[..., object]] = {
    "dot": _dot,
    "cross": _cross,
    "dir": _dir,
    "mag": _mag,
    "dplane": _dplane,
    "angle": _angle,
    "nominal": _nominal,
    "diff": _diff,
}
