"""The table of functions: what is written by which emitter, and how far each may be off."""

from collections.abc import Callable
from dataclasses import dataclass

from linkwright.backends.llvm.functions import basic, exponential, inverse, trig
from linkwright.backends.llvm.functions.emitter import Emitter

TEXT_VERSION = 2
"""Counts the changes of any function's IR text, for the keys of caches; a test holds it to that."""

Writer = Callable[..., list[str]]
"""(emitter, operands...) -> result operands."""


@dataclass(frozen=True, slots=True)
class NativeFunction:
    """One elementary function: its number of arguments and results, and what writes its IR."""

    arity: int
    results: int
    write: Writer


def _by_double(double: Writer, single: Writer | None = None) -> Writer:
    """Writer whose float form is the double form, or `single`, rounded once."""

    def write(e: Emitter, *arguments: str) -> list[str]:
        if e.scalar == "f32":
            return e.through_double(single or double, *arguments)
        return double(e, *arguments)

    return write


def _in_pairs(writer: Writer) -> Writer:
    """Writer that evaluates a scalar in a vector of two lanes: for functions with many selects."""

    def write(e: Emitter, *arguments: str) -> list[str]:
        if e.width == 1:
            return e.through_pair(writer, *arguments)
        return writer(e, *arguments)

    return write


FUNCTIONS: dict[str, NativeFunction] = {
    "sin": NativeFunction(1, 1, trig.sin),
    "cos": NativeFunction(1, 1, trig.cos),
    "sincos": NativeFunction(1, 2, trig.sincos),
    "tan": NativeFunction(1, 1, _in_pairs(_by_double(trig.tan))),
    "asin": NativeFunction(1, 1, _in_pairs(_by_double(inverse.asin))),
    "acos": NativeFunction(1, 1, _in_pairs(_by_double(inverse.acos))),
    "atan": NativeFunction(1, 1, _in_pairs(_by_double(inverse.atan))),
    "atan2": NativeFunction(2, 1, _in_pairs(_by_double(inverse.atan2))),
    "exp": NativeFunction(1, 1, _by_double(exponential.exp)),
    "log": NativeFunction(1, 1, _in_pairs(_by_double(exponential.log))),
    "tanh": NativeFunction(1, 1, _in_pairs(_by_double(exponential.tanh))),
    "pow": NativeFunction(
        2, 1, _in_pairs(_by_double(exponential.power, exponential.power_through_log))
    ),
    "sqrt": NativeFunction(1, 1, basic.sqrt),
    "abs": NativeFunction(1, 1, basic.absolute),
    "sign": NativeFunction(1, 1, basic.sign),
    "min": NativeFunction(2, 1, basic.minimum),
    "max": NativeFunction(2, 1, basic.maximum),
    "floor": NativeFunction(1, 1, basic.floor),
    "ceil": NativeFunction(1, 1, basic.ceil),
    "trunc": NativeFunction(1, 1, basic.trunc),
}
"""Every function by name. sincos gives sine and cosine from one reduction."""

ERROR_BOUNDS: dict[str, dict[str, float]] = {
    "sin": {"f64": 1.3, "f32": 1.6},
    "cos": {"f64": 1.3, "f32": 1.6},
    "sincos": {"f64": 1.3, "f32": 1.6},
    "tan": {"f64": 1.5, "f32": 0.51},
    "asin": {"f64": 1.5, "f32": 0.51},
    "acos": {"f64": 1.5, "f32": 0.51},
    "atan": {"f64": 2.0, "f32": 0.51},
    "atan2": {"f64": 2.0, "f32": 0.51},
    "exp": {"f64": 1.5, "f32": 0.51},
    "log": {"f64": 1.0, "f32": 0.51},
    "tanh": {"f64": 3.0, "f32": 0.51},
    "pow": {"f64": 1.5, "f32": 0.51},
    "sqrt": {"f64": 0.5, "f32": 0.5},
    "abs": {"f64": 0.0, "f32": 0.0},
    "sign": {"f64": 0.0, "f32": 0.0},
    "min": {"f64": 0.0, "f32": 0.0},
    "max": {"f64": 0.0, "f32": 0.0},
    "floor": {"f64": 0.0, "f32": 0.0},
    "ceil": {"f64": 0.0, "f32": 0.0},
    "trunc": {"f64": 0.0, "f32": 0.0},
}
"""Largest error in units in the last place of the exact result, over the whole domain.

For sin, cos, sincos and tan this holds up to trig.RANGE_LIMIT, next to the multiples of π/2
included, and with `guard.guarded_group` for every finite argument. The float figures of sin and cos
come from all floats up to the limit (largest error found 1.553)."""
