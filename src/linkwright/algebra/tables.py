"""Functions given by a table of values, in one and two dimensions.

A table is linear or monotone cubic between its points. The cubic has the slopes of Fritsch and
Butland (SIAM J. Sci. Stat. Comput. 5, 1984) with three-point ends, so that it is smooth, passes
through the points, and rises only where the points rise. In two dimensions the pieces are products
of these: bilinear, or bicubic with the monotone slopes along every grid line, and with the mean of
the two ways to take the mixed slope (a table of f(x)*g(y) or f(x)+g(y) gives exactly the product or
sum of the two one-dimensional cubics).

Outside its points a table holds the border value (``outside="hold"``, the default) or goes on along
the border slope (``outside="linear"``).

For a backend a table is a list of pieces. With n breakpoints there are n + 1 pieces, the first and
the last outside. The piece of x is s = the number of breakpoints <= x; then t = x - origins[s] and

    value = c[s][0] + t*(c[s][1] + t*(c[s][2] + t*c[s][3]))

In two dimensions c[s][r][i][j] belongs to t**i * v**j, with r and v from y as s and t from x. A
derivative of a table is a table with the same breakpoints and other coefficients, so that the
same lookup serves it; at a breakpoint the piece on the right counts. Arguments are finite or
nan; nan gives nan.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra.expr import ZERO, Expr, Scalar, as_expr, constant
from linkwright.algebra.functions import Args, Function, apply, register
from linkwright.algebra.nodes import ExprError
from linkwright.base.arguments import worded

Floats: TypeAlias = NDArray[np.float64]

KINDS = ("linear", "cubic")
OUTSIDE = ("hold", "linear")


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Lookup1D:
    """A function of one variable, given by points.

    Args:
        x: abscissae, strictly increasing, two or more.
        y: the value at each of them.
        kind: "linear" or "cubic" (monotone) between the points; `of_pieces` makes the third kind.
        outside: "hold" the border value beyond the points, or go on "linear".
        name: what it is called in printed expressions and programs.
        order: which derivative of that function is meant, 0 for the function itself.

    >>> from linkwright.algebra import evaluate, symbols
    >>> (slip,) = symbols("slip")
    >>> tire = Lookup1D(x=[0, 0.1, 0.3], y=[0, 900, 1100], name="tire")
    >>> evaluate(tire(slip), {slip: 0.05})
    450.0
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    kind: str
    outside: str
    name: str
    order: int
    digest: int = field(compare=False, repr=False)
    breakpoints: Floats = field(compare=False, repr=False)
    origins: Floats = field(compare=False, repr=False)
    coefficients: Floats = field(compare=False, repr=False)

    @worded
    def __init__(
        self,
        x: ArrayLike,
        y: ArrayLike,
        *,
        kind: str = "linear",
        outside: str = "hold",
        name: str = "table",
        order: int = 0,
    ) -> None:
        at = _abscissae(name, "x", x)
        if kind == "pieces":
            coefficients = _values(name, np.reshape(y, (-1, 4)), (len(at) + 1, 4))
            values = coefficients.ravel()
        else:
            _check_choice(name, kind, outside)
            values = _values(name, y, (len(at),))
            coefficients = _pieces(at, values, _slopes(at, values, kind), outside)
        for _ in range(order):
            coefficients = _derivative(coefficients, 1)
        _set(
            self,
            x=tuple(at.tolist()),
            y=tuple(values.tolist()),
            kind=kind,
            outside=outside,
            name=name,
            order=order,
            digest=_digest("table1", name, kind, outside, order, at, values),
            breakpoints=_frozen(at),
            origins=_frozen(np.concatenate((at[:1], at))),
            coefficients=_frozen(coefficients),
        )

    @staticmethod
    def of_pieces(x: ArrayLike, coefficients: ArrayLike, *, name: str = "table") -> Lookup1D:
        """Return the function that has a given cubic between each two breakpoints.

        Args:
            x: breakpoints, strictly increasing, two or more.
            coefficients: four for each piece, rising powers of the distance from its left
                breakpoint; the first piece lies before the first breakpoint, and counts from it.
            name: what it is called in printed expressions and programs.

        >>> step = Lookup1D.of_pieces([0, 1], [[0, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0]])
        >>> step.evaluate([-1, 0.25, 3]).tolist()
        [0.0, 0.25, 1.0]
        """
        return Lookup1D(x, coefficients, kind="pieces", name=name)

    def __call__(self, x: Scalar) -> Expr:
        """Return the value of the table at an expression."""
        return apply("table1", (as_expr(x),), self)

    def __repr__(self) -> str:
        points = f"{len(self.x)} points from {self.x[0]:g} to {self.x[-1]:g}"
        return f"Lookup1D({self.name!r}: {points}, {self.kind}, digest {self.digest:x})"

    def __hash__(self) -> int:
        return self.digest

    def derivative(self) -> Lookup1D:
        """Return the table of the derivative."""
        return Lookup1D(
            self.x,
            self.y,
            kind=self.kind,
            outside=self.outside,
            name=self.name,
            order=self.order + 1,
        )

    def evaluate(self, x: ArrayLike) -> Any:
        """Return the value at numbers."""
        x = np.asarray(x, dtype=float)
        piece = np.searchsorted(self.breakpoints, x, side="right")
        return _horner(self.coefficients[piece], x - self.origins[piece])[()]


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Lookup2D:
    """A function of two variables, given by points on a grid.

    Args:
        x: abscissae of the first argument, strictly increasing, two or more.
        y: abscissae of the second argument, likewise.
        z: the values, one row for each x and one column for each y.
        kind: "linear" (bilinear) or "cubic" (bicubic with monotone slopes along the grid lines).
        outside: "hold" the border value beyond the grid, or go on "linear".
        name: what it is called in printed expressions and programs.
        orders: which derivative by x and by y is meant, (0, 0) for the function itself.

    >>> from linkwright.algebra import evaluate, symbols
    >>> a, b = symbols("a b")
    >>> lift = Lookup2D(x=[0, 1], y=[0, 2], z=[[0, 2], [1, 5]], name="lift")
    >>> evaluate(lift(a, b), {a: 0.5, b: 1.0})
    2.0
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    z: tuple[tuple[float, ...], ...]
    kind: str
    outside: str
    name: str
    orders: tuple[int, int]
    digest: int = field(compare=False, repr=False)
    breakpoints: tuple[Floats, Floats] = field(compare=False, repr=False)
    origins: tuple[Floats, Floats] = field(compare=False, repr=False)
    coefficients: Floats = field(compare=False, repr=False)

    @worded
    def __init__(
        self,
        x: ArrayLike,
        y: ArrayLike,
        z: ArrayLike,
        *,
        kind: str = "linear",
        outside: str = "hold",
        name: str = "table",
        orders: tuple[int, int] = (0, 0),
    ) -> None:
        _check_choice(name, kind, outside)
        rows, columns = _abscissae(name, "x", x), _abscissae(name, "y", y)
        values = _values(name, z, (len(rows), len(columns)))
        coefficients = _patches(rows, columns, values, kind, outside)
        for axis in (0, 1):
            for _ in range(orders[axis]):
                coefficients = _derivative(coefficients, 2 + axis)
        _set(
            self,
            x=tuple(rows.tolist()),
            y=tuple(columns.tolist()),
            z=tuple(tuple(row) for row in values.tolist()),
            kind=kind,
            outside=outside,
            name=name,
            orders=orders,
            digest=_digest("table2", name, kind, outside, orders, rows, columns, values),
            breakpoints=(_frozen(rows), _frozen(columns)),
            origins=(
                _frozen(np.concatenate((rows[:1], rows))),
                _frozen(np.concatenate((columns[:1], columns))),
            ),
            coefficients=_frozen(coefficients),
        )

    def __call__(self, x: Scalar, y: Scalar) -> Expr:
        """Return the value of the table at two expressions."""
        return apply("table2", (as_expr(x), as_expr(y)), self)

    def __repr__(self) -> str:
        points = f"{len(self.x)} x {len(self.y)} points"
        return f"Lookup2D({self.name!r}: {points}, {self.kind}, digest {self.digest:x})"

    def __hash__(self) -> int:
        return self.digest

    def derivative(self, argument: int) -> Lookup2D:
        """Return the table of the derivative by the first (0) or second (1) argument."""
        i, j = self.orders
        return Lookup2D(
            self.x,
            self.y,
            self.z,
            kind=self.kind,
            outside=self.outside,
            name=self.name,
            orders=(i + 1, j) if argument == 0 else (i, j + 1),
        )

    def evaluate(self, x: ArrayLike, y: ArrayLike) -> Any:
        """Return the value at numbers."""
        x, y = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(y, dtype=float))
        row = np.searchsorted(self.breakpoints[0], x, side="right")
        column = np.searchsorted(self.breakpoints[1], y, side="right")
        in_y = _horner(self.coefficients[row, column], (y - self.origins[1][column])[..., None])
        return _horner(in_y, x - self.origins[0][row])[()]


# -- checks ----------------------------------------------------------------------------------------
def _check_choice(name: str, kind: str, outside: str) -> None:
    if kind not in KINDS:
        raise ExprError(f"table {name!r}: the kind is one of {', '.join(KINDS)}, not {kind!r}")
    if outside not in OUTSIDE:
        raise ExprError(
            f"table {name!r}: `outside` is one of {', '.join(OUTSIDE)}, not {outside!r}"
        )


def _abscissae(name: str, axis: str, given: ArrayLike) -> Floats:
    at = np.array(given, dtype=float)
    if at.ndim != 1 or len(at) < 2:
        raise ExprError(f"table {name!r}: {axis} needs two or more numbers in a row")
    if not np.all(np.isfinite(at)):
        raise ExprError(f"table {name!r}: every {axis} must be finite")
    wrong = np.flatnonzero(np.diff(at) <= 0)
    if len(wrong):
        k = int(wrong[0])
        raise ExprError(
            f"table {name!r}: {axis} must be strictly increasing, "
            f"but {axis}[{k + 1}] = {at[k + 1]} follows {at[k]}"
        )
    return at


def _values(name: str, given: ArrayLike, shape: tuple[int, ...]) -> Floats:
    values = np.array(given, dtype=float)
    if values.shape != shape:
        raise ExprError(f"table {name!r}: the values have the shape {values.shape}, not {shape}")
    if not np.all(np.isfinite(values)):
        raise ExprError(f"table {name!r}: every value must be finite")
    return values + 0.0  # no negative zeros: equal tables have equal bytes


def _set(table: Lookup1D | Lookup2D, **fields: object) -> None:
    for name, value in fields.items():
        object.__setattr__(table, name, value)


def _frozen(array: Floats) -> Floats:
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array


def _digest(*parts: object) -> int:
    hasher = hashlib.blake2b(digest_size=8)
    for part in parts:
        data = part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode()
        hasher.update(len(data).to_bytes(8, "big") + data)
    return int.from_bytes(hasher.digest(), "big") >> 4


# -- piecewise polynomials, along the first axis ---------------------------------------------------
def _slopes(x: Floats, y: Floats, kind: str) -> Floats | None:
    """Return the monotone slopes at the points, None for a linear table."""
    if kind == "linear":
        return None
    shape = (-1,) + (1,) * (y.ndim - 1)
    h = np.diff(x).reshape(shape)
    rise = np.diff(y, axis=0) / h
    if len(x) == 2:
        return np.concatenate((rise, rise))
    before, after = rise[:-1], rise[1:]
    w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    same = np.sign(before) * np.sign(after) > 0
    with np.errstate(all="ignore"):
        inner = np.where(same, (w1 + w2) / (w1 / before + w2 / after), 0.0)
    first = _end_slope(h[0], h[1], rise[0], rise[1])
    last = _end_slope(h[-1], h[-2], rise[-1], rise[-2])
    return np.concatenate((first[None], inner, last[None]))


def _end_slope(h0: Floats, h1: Floats, rise0: Floats, rise1: Floats) -> Floats:
    """Return the three-point slope at an end, limited so that the end piece is monotone."""
    slope = ((2 * h0 + h1) * rise0 - h0 * rise1) / (h0 + h1)
    turned = np.sign(rise0) != np.sign(rise1)
    steep = turned & (np.abs(slope) > 3 * np.abs(rise0))
    limited = np.where(steep, 3 * rise0, slope)
    return np.asarray(np.where(np.sign(slope) != np.sign(rise0), 0.0, limited))


def _pieces(x: Floats, y: Floats, slopes: Floats | None, outside: str) -> Floats:
    """Return the coefficients of the pieces: axes (piece, power of t, the other axes of y)."""
    h = np.diff(x).reshape((-1,) + (1,) * (y.ndim - 1))
    rise = np.diff(y, axis=0) / h
    result = np.zeros((len(x) + 1, 4, *y.shape[1:]))
    result[0, 0], result[1:, 0] = y[0], y
    if slopes is None:
        result[1:-1, 1] = rise
        ends = rise[0], rise[-1]
    else:
        left, right = slopes[:-1], slopes[1:]
        result[1:-1, 1] = left
        result[1:-1, 2] = (3 * rise - 2 * left - right) / h
        result[1:-1, 3] = (left + right - 2 * rise) / h**2
        ends = slopes[0], slopes[-1]
    if outside == "linear":
        result[0, 1], result[-1, 1] = ends
    return result


def _patches(x: Floats, y: Floats, z: Floats, kind: str, outside: str) -> Floats:
    """Return the coefficients of a grid: axes (piece in x, piece in y, power in x, power in y)."""
    along_x = _slopes(x, z, kind)
    if along_x is None:
        rows = _pieces(x, z, None, outside)
        patches = _pieces(y, np.moveaxis(rows, -1, 0), None, outside)
    else:
        along_y = np.transpose(_checked(_slopes(y, z.T, kind)))
        mixed = (_checked(_slopes(y, along_x.T, kind)).T + _checked(_slopes(x, along_y, kind))) / 2
        values = _pieces(x, z, along_x, outside)
        slopes = _pieces(x, along_y, mixed, outside)
        patches = _pieces(y, np.moveaxis(values, -1, 0), np.moveaxis(slopes, -1, 0), outside)
    return np.transpose(patches, (2, 0, 3, 1))


def _checked(slopes: Floats | None) -> Floats:
    assert slopes is not None
    return slopes


def _derivative(coefficients: Floats, axis: int) -> Floats:
    """Return the coefficients of the derivative, powers being along the axis."""
    shape = [1] * coefficients.ndim
    shape[axis] = 4
    return np.roll(coefficients * np.arange(4.0).reshape(shape), -1, axis=axis)


def _horner(c: Floats, t: Floats) -> Floats:
    return np.asarray(c[..., 0] + t * (c[..., 1] + t * (c[..., 2] + t * c[..., 3])))


# -- the functions ---------------------------------------------------------------------------------
def _simplify(args: Args, table: Lookup1D | Lookup2D) -> Expr | None:
    if not table.coefficients.any():
        return ZERO
    if all(x.op == "num" for x in args):
        return constant(float(table.evaluate(*[float(x.data) for x in args])))
    return None


def _partial2(args: Args, table: Lookup2D, i: int) -> Expr:
    return apply("table2", args, table.derivative(i))


register(
    Function(
        "table1",
        1,
        _simplify,
        lambda args, table, i: apply("table1", args, table.derivative()),
        lambda table, x: table.evaluate(x),
    )
)
register(Function("table2", 2, _simplify, _partial2, lambda table, x, y: table.evaluate(x, y)))
