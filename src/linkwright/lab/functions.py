"""Functions of numbers, arrays and symbols alike, so that one text of a task is Python or native.

With numbers they are NumPy's; with symbols they build expressions; in arrays they work entry by
entry.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from linkwright import algebra
from linkwright.algebra import Expr
from linkwright.base.arguments import worded

pi = float(np.pi)


def _symbolic(*values: Any) -> bool:
    return any(
        isinstance(v, Expr) or (isinstance(v, np.ndarray) and v.dtype == object) for v in values
    )


def _made(
    name: str,
    numbers: Callable[..., Any],
    symbols: Callable[..., Any],
    count: int,
    quick: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """Return a function of numbers, arrays and symbols; `quick` takes single numbers."""
    entries = np.frompyfunc(symbols, count, 1)
    single = numbers if quick is None else quick

    def function(*values: Any) -> Any:
        if len(values) == 1 and type(values[0]) is float and count == 1:
            return single(values[0])
        if len(values) != count:
            raise TypeError(f"{name}() takes {count} arguments, not {len(values)}")
        held = [np.array(v, dtype=object) if isinstance(v, list | tuple) else v for v in values]
        return entries(*held) if _symbolic(*held) else numbers(*values)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Return {name} of numbers, arrays or symbols, entry by entry.

    Args:
        values: {count} of them.

    >>> {name}({", ".join(["0.5"] * count)}) is not None
    True
    """
    return function


def _expr(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: function(*(algebra.as_expr(v) for v in values))


sin = _made("sin", np.sin, _expr(algebra.sin), 1, math.sin)
cos = _made("cos", np.cos, _expr(algebra.cos), 1, math.cos)
tan = _made("tan", np.tan, _expr(algebra.tan), 1, math.tan)
asin = _made("asin", np.arcsin, _expr(algebra.asin), 1, math.asin)
acos = _made("acos", np.arccos, _expr(algebra.acos), 1, math.acos)
atan = _made("atan", np.arctan, _expr(algebra.atan), 1, math.atan)
atan2 = _made("atan2", np.arctan2, _expr(algebra.atan2), 2)
sinh = _made("sinh", np.sinh, _expr(algebra.sinh), 1, math.sinh)
cosh = _made("cosh", np.cosh, _expr(algebra.cosh), 1, math.cosh)
tanh = _made("tanh", np.tanh, _expr(algebra.tanh), 1, math.tanh)
exp = _made("exp", np.exp, _expr(algebra.exp), 1, math.exp)
log = _made("log", np.log, _expr(algebra.log), 1, math.log)
sqrt = _made("sqrt", np.sqrt, _expr(algebra.sqrt), 1, math.sqrt)
floor = _made("floor", np.floor, _expr(algebra.floor), 1)
sign = _made("sign", np.sign, _expr(algebra.sign), 1)
absolute = _made("absolute", np.abs, _expr(algebra.absolute), 1, abs)
minimum = _made("minimum", np.minimum, _expr(algebra.minimum), 2)
maximum = _made("maximum", np.maximum, _expr(algebra.maximum), 2)
equal = _made("equal", np.equal, _expr(algebra.equal), 2)
where = _made("where", np.where, _expr(algebra.where), 3)
"""The second value where the first one holds, else the third."""


@worded
def clip(value: Any, lower: Any, upper: Any) -> Any:
    """Return a value within bounds, entry by entry.

    Args:
        value: numbers or symbols.
        lower: least.
        upper: greatest.

    >>> float(clip(3.0, 0.0, 1.0))
    1.0
    """
    return minimum(maximum(value, lower), upper)
