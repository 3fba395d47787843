"""Foreign functions: a named C function, a Python callable, or both, inside an expression.

A pure function may be merged: the same arguments give the same node. An impure one (noise,
hysteresis, a device) is never merged: every application is a call of its own, numbered by the
function in the order in which the calls were written. A model that is built by the same
statements therefore gets the same numbers, and the same program, in every run.

Derivatives are declared, one for each argument; without them the function cannot be differentiated
by an argument that moves, and says so.

A C function takes its arguments as `double` and returns a `double`; with several outputs it returns
`void` and writes them to a last argument `double *out`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from linkwright.algebra.expr import Expr, Scalar, as_expr
from linkwright.algebra.functions import Args, Function, apply, register
from linkwright.algebra.nodes import ExprError
from linkwright.base.arguments import worded
from linkwright.base.errors import Error, ShapeError

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
_PROTOTYPE = re.compile(r"\s*(double|void)\s+([A-Za-z_]\w*)\s*\(([^()]*)\)\s*;?\s*\Z", re.ASCII)

Derivative = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class ForeignFunction:
    """A function that is written elsewhere; `foreign` makes one.

    Args:
        name: its name, also in C.
        arity: number of arguments, one or more.
        outputs: number of values it returns.
        python: a callable of that many numbers, or None.
        vectorized: whether the callable takes arrays; otherwise it is called element by element.
        c_prototype: its declaration in C, or empty for the standard one.
        c_source: its definition in C, or empty where it is linked from elsewhere.
        derivatives: for each argument a callable of expressions that gives the partial derivative
            (a sequence of them with several outputs), or None where they are not known.
        pure: whether equal arguments always give equal values, without side effects.
        digest: identifies the declaration, the same in every run.
    """

    name: str
    arity: int
    outputs: int
    python: Callable[..., Any] | None
    vectorized: bool
    c_prototype: str
    c_source: str
    derivatives: tuple[Derivative, ...] | None
    pure: bool
    digest: int = field(init=False, repr=False, compare=False)
    _calls: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not _IDENTIFIER.match(self.name):
            raise ExprError(f"{self.name!r} cannot name a foreign function; use letters and digits")
        if self.arity < 1 or self.outputs < 1:
            raise ExprError(f"foreign function {self.name!r} needs an argument and an output")
        if self.derivatives is not None and len(self.derivatives) != self.arity:
            raise ExprError(
                f"foreign function {self.name!r} has {self.arity} argument(s), but "
                f"{len(self.derivatives)} derivative(s) are declared"
            )
        if self.c_prototype:
            _check_prototype(self)
        text = repr((self.name, self.arity, self.outputs, self.prototype, self.c_source, self.pure))
        value = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
        object.__setattr__(self, "digest", value >> 4)
        object.__setattr__(self, "_calls", count())

    @property
    def is_bound(self) -> bool:
        """Whether it has code, in Python or in C; without it can be derived but not run."""
        return self.python is not None or bool(self.c_source)

    @property
    def prototype(self) -> str:
        """Its declaration in C, without the semicolon."""
        if self.c_prototype:
            return self.c_prototype.strip().rstrip(";").rstrip()
        arguments = ", ".join(f"double x{i}" for i in range(self.arity))
        if self.outputs == 1:
            return f"double {self.name}({arguments})"
        return f"void {self.name}({arguments}, double *out)"

    def numbers(self, *args: float) -> list[float]:
        """Call it with numbers, and return as many as it is declared to return.

        What its Python callable raises becomes an Error that names it, as does another number of
        values; Ctrl-C goes through.

        >>> foreign("pair", python=lambda x: (x, 2 * x, 3 * x), outputs=2).numbers(1.0)
        Traceback (most recent call last):
            ...
        linkwright.ShapeError: the function 'pair' returned 3 values; it is declared to
        return 2
        """
        return self._checked(self._call(args))

    def arrays(self, *args: Any) -> list[Any]:
        """Call it with arrays of one shape after broadcasting, and return one for each output."""
        given = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in args))
        shape = given[0].shape
        if self.vectorized:
            return self._checked_arrays(self._call(given), shape)
        flat = zip(*(x.ravel().tolist() for x in given), strict=True)
        rows = [self.numbers(*row) for row in flat]
        made = np.array(rows, dtype=float).reshape(-1, self.outputs)
        return [made[:, k].reshape(shape) for k in range(self.outputs)]

    def _call(self, args: Sequence[Any]) -> Any:
        if self.python is None:
            raise ExprError(
                f"the foreign function {self.name!r} has no Python callable; give python=... to "
                "evaluate it, or compile the program"
            )
        try:
            return self.python(*args)
        except Exception as error:
            raise Error(
                f"the function {self.name!r} failed: {type(error).__name__}: {error}"
            ) from error

    def _values(self, found: Any) -> list[Any]:
        """Return the values that it returned, as many as are declared."""
        if self.outputs == 1:
            return [found]
        values = list(found) if isinstance(found, Iterable) else [found]
        if len(values) != self.outputs:
            raise self._wrong("None" if found is None else f"{len(values)} values")
        return values

    def _checked(self, found: Any) -> list[float]:
        numbers = []
        for value in self._values(found):
            if isinstance(value, float | int):
                numbers.append(float(value))
                continue
            try:
                array = np.asarray(value, dtype=float)
            except (TypeError, ValueError):
                raise self._wrong(f"{_brief(value)}, which is not a number") from None
            if array.size != 1 or value is None:
                many = f"{array.size} values (an array of shape {array.shape}) for one output"
                raise self._wrong("None" if value is None else many)
            numbers.append(float(array.ravel()[0]))
        return numbers

    def _checked_arrays(self, found: Any, shape: tuple[int, ...]) -> list[Any]:
        arrays = []
        for value in self._values(found):
            try:
                arrays.append(np.broadcast_to(np.asarray(value, dtype=float), shape))
            except (TypeError, ValueError):
                what = "None" if value is None else f"{_brief(value)} for arrays of shape {shape}"
                raise self._wrong(what) from None
        return arrays

    def _wrong(self, what: str) -> ShapeError:
        return ShapeError(
            f"the function {self.name!r} returned {what}",
            remedy=f"it is declared to return {self.outputs}",
        )

    def __call__(self, *args: Scalar) -> Any:
        """Return the application to expressions: one Expr, or a tuple with several outputs."""
        if len(args) != self.arity:
            raise ExprError(f"{self.name} takes {self.arity} argument(s), not {len(args)}")
        number = 0 if self.pure else next(self._calls)
        nodes = tuple(as_expr(x) for x in args)
        results = tuple(
            apply("foreign", nodes, ForeignCall(self, output, number))
            for output in range(self.outputs)
        )
        return results[0] if self.outputs == 1 else results


@dataclass(frozen=True, slots=True)
class ForeignCall:
    """One output of one call of a foreign function: what a node of the operator `foreign` holds."""

    function: ForeignFunction
    output: int = 0
    call: int = 0
    digest: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        digest = hash((self.function.digest, self.output, self.call)) & ((1 << 60) - 1)
        object.__setattr__(self, "digest", digest)

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.function.name


@worded
def foreign(
    name: str,
    arity: int = 1,
    *,
    python: Callable[..., Any] | None = None,
    vectorized: bool = False,
    c_prototype: str = "",
    c_source: str = "",
    derivatives: Sequence[Derivative] | None = None,
    pure: bool = True,
    outputs: int = 1,
) -> ForeignFunction:
    """Declare a foreign function; calling the result makes expressions.

    Args:
        name: its name, also in C.
        arity: number of arguments, one or more.
        python: a callable of that many numbers, for evaluation in Python.
        vectorized: whether the callable takes arrays; otherwise it is called element by element.
        c_prototype: its declaration in C, where it is not the standard one.
        c_source: its definition in C, for compiled programs. Without it a written C program calls
            the function as `user_NAME`, which you link; no other is taken for it.
        derivatives: for each argument a callable of expressions that gives the partial derivative.
        pure: whether calls with equal arguments may be merged.
        outputs: number of values it returns.

    >>> from linkwright.algebra import cos, evaluate, diff, symbols
    >>> (x,) = symbols("x")
    >>> f = foreign("bump", python=lambda x: x**2 + 1, derivatives=[lambda x: 2 * x])
    >>> evaluate(f(x), {x: 3.0}), diff(f(x), x)
    (10.0, 2*x)
    """
    known = None if derivatives is None else tuple(derivatives)
    return ForeignFunction(
        name, arity, outputs, python, vectorized, c_prototype, c_source, known, pure
    )


def _check_prototype(function: ForeignFunction) -> None:
    found = _PROTOTYPE.match(function.c_prototype)
    wanted = "double" if function.outputs == 1 else "void"
    if found is None or found[1] != wanted or found[2] != function.name:
        raise ExprError(
            f"the prototype {function.c_prototype!r} does not declare {function.name!r}; write it "
            f"as '{wanted} {function.name}(double x, ...)'"
        )
    count_declared = len(found[3].split(","))
    count_wanted = function.arity + (function.outputs > 1)
    if count_declared != count_wanted:
        raise ExprError(
            f"the prototype {function.c_prototype!r} has {count_declared} argument(s), not "
            f"{count_wanted}"
        )


def _partial(args: Args, data: ForeignCall, i: int) -> Expr:
    function = data.function
    if function.derivatives is None:
        raise ExprError(
            f"the derivative of the foreign function {function.name!r} is not known; declare "
            "derivatives=(...), one for each argument"
        )
    result = function.derivatives[i](*args)
    return as_expr(result if function.outputs == 1 else result[data.output])


def _evaluate(data: ForeignCall, *args: Any) -> Any:
    function = data.function
    if any(np.ndim(x) for x in args):
        return function.arrays(*args)[data.output]
    return function.numbers(*args)[data.output]


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]} ..."


register(Function("foreign", None, lambda args, data: None, _partial, _evaluate))
