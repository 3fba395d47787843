"""Surfaces that points can touch: how deep a point is inside, and which way is out.

A surface belongs to a body (the ground by default) and has a place in it. `depth` takes the
components of a point in the surface's frame, and returns its depth (positive inside) with the
components of the outward normal at the nearest point of the surface. To add one, write a class with
that method; it may also have `body`, `center` and `rotation`, as `Placed` has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from numpy.typing import ArrayLike

from linkwright.algebra import (
    ONE,
    ZERO,
    Expr,
    Lookup2D,
    absolute,
    as_expr,
    cos,
    maximum,
    minimum,
    sign,
    sin,
    sqrt,
    total,
    where,
)
from linkwright.algebra.triples import Triple
from linkwright.base.errors import Error
from linkwright.blocks import BlockError, checked
from linkwright.mechanism import Body

UNTURNED = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_TINY = 1e-12


@runtime_checkable
class HasDepth(Protocol):
    """What somebody else's class of surfaces has at least."""

    def depth(self, x: Expr, y: Expr, z: Expr) -> Any:
        """Return the depth of a point, positive inside, and the outward normal."""


@runtime_checkable
class Surface(Protocol):
    """What a point can touch."""

    @property
    def body(self) -> Body | str | None:
        """The body that carries it, or its name; None for the ground."""

    @property
    def center(self) -> Sequence[float]:
        """Its origin in that body, m."""

    @property
    def rotation(self) -> Sequence[Sequence[float]]:
        """Rows of the matrix from its axes to the body's."""

    def depth(self, x: Expr, y: Expr, z: Expr) -> tuple[Expr, Triple]:
        """Return the depth of a point, positive inside, and the outward normal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A surface's place.

    Args:
        body: that carries it, or its name; the ground by default.
        center: its origin in that body, m.
        rotation: rows of the matrix from its axes to the body's.
    """

    body: Body | str | None = None
    center: Sequence[float] = (0.0, 0.0, 0.0)
    rotation: Sequence[Sequence[float]] = UNTURNED


@dataclass(frozen=True, slots=True)
class OwnSurface(Placed):
    """A surface of somebody else's class, whose `depth` is looked at."""

    made: HasDepth  # the surface

    def depth(self, x: Expr, y: Expr, z: Expr) -> tuple[Expr, Triple]:
        """Return its depth and normal as expressions."""
        found = self.made.depth(x, y, z)
        try:
            depth, (a, b, c) = found
            return as_expr(depth), (as_expr(a), as_expr(b), as_expr(c))
        except (TypeError, ValueError, Error):
            raise BlockError(
                f"depth of {type(self.made).__name__} returns {found!r}",
                remedy="return the depth, positive inside, and the outward normal: z, (nx, ny, nz)",
            ) from None


def surface_of(given: object) -> Surface:
    """Return a surface that can be touched; one that has `depth` alone stands on the ground.

    >>> class Bump:
    ...     def depth(self, x, y, z):
    ...         return 0.1 - z, (0, 0, 1)
    >>> surface_of(Bump()).depth(*map(as_expr, (0, 0, 0)))
    (0.1, (0, 0, 1))
    """
    if isinstance(given, Placed) and isinstance(given, Surface):
        return given
    if isinstance(given, type) or not isinstance(given, HasDepth) or not callable(given.depth):
        raise BlockError(
            f"{given!r} is not a surface",
            remedy="give a Plane() or its like, or an object with a method depth(x, y, z)",
        )
    place = {x: getattr(given, x) for x in ("body", "center", "rotation") if hasattr(given, x)}
    return OwnSurface(given, **place)


@dataclass(frozen=True, slots=True)
class Plane(Placed):
    """The half space below z = 0 of the surface's frame.

    >>> from linkwright import symbols
    >>> Plane().depth(*symbols("x y z"))
    (-z, (0, 0, 1))
    """

    def depth(self, x: Expr, y: Expr, z: Expr) -> tuple[Expr, Triple]:
        """Return the depth below the plane, and z."""
        return -z, (ZERO, ZERO, ONE)


@dataclass(frozen=True, slots=True)
class SphereSurface(Placed):
    """A ball.

    Args:
        radius: m.

    >>> from linkwright.algebra import as_expr
    >>> d, n = SphereSurface(2.0).depth(as_expr(0.0), as_expr(1.0), as_expr(0.0))
    >>> d, n
    (1, (0, 1, 0))
    """

    radius: float

    def depth(self, x: Expr, y: Expr, z: Expr) -> tuple[Expr, Triple]:
        """Return the depth below the nearest point of the ball, and the direction to it."""
        return _round(x, y, z, self.radius)


@dataclass(frozen=True, slots=True)
class CapsuleSurface(Placed):
    """A cylinder along z with half balls at its ends.

    Args:
        radius: m.
        length: between the centers of the balls, m.

    >>> from linkwright.algebra import as_expr
    >>> CapsuleSurface(0.5, 2.0).depth(as_expr(0.2), as_expr(0), as_expr(0.9))
    (0.3, (1, 0, 0))
    """

    radius: float
    length: float

    def depth(self, x: Expr, y: Expr, z: Expr) -> tuple[Expr, Triple]:
        """Return the depth below the nearest point, and the direction to it from the axis."""
        half = self.length / 2
        return _round(x, y, z - minimum(maximum(z, -half), half), self.radius)


@dataclass(frozen=True, slots=True)
class BoxSurface(Placed):
    """A box, whose nearest face is the one that is touched.

    Args:
        size: lengths of its edges, m.

    >>> from linkwright.algebra import as_expr
    >>> BoxSurface((2, 2, 2)).depth(as_expr(0.0), as_expr(0.0), as_expr(-0.75))
    (0.25, (0, 0, -1))
    """

    size: Sequence[float]

    def depth(self, x: Expr, y: Expr, z: Expr) -> tuple[Expr, Triple]:
        """Return the depth below the nearest face, and its normal."""
        gaps = [half / 2 - absolute(v) for half, v in zip(self.size, (x, y, z), strict=True)]
        least = minimum(*gaps)
        on_x = gaps[0] <= minimum(gaps[1], gaps[2])
        on_y = gaps[1] <= gaps[2]
        normal = (
            where(on_x, _side(x), ZERO),
            where(on_x, ZERO, where(on_y, _side(y), ZERO)),
            where(on_x, ZERO, where(on_y, ZERO, _side(z))),
        )
        return least, normal


@dataclass(frozen=True, slots=True)
class EllipsoidSurface(Placed):
    """An ellipsoid.

    The depth is exact on the surface and for equal radii, and of first order between: with
    f = |(x/a, y/b, z/c)| it is (1 - f) f / |(x/a^2, y/b^2, z/c^2)| (after Taubin 1991, approximate
    distance), along the normal of the similar ellipsoid through the point.

    Args:
        radii: half of its axes, m.

    >>> from linkwright.algebra import as_expr
    >>> EllipsoidSurface((1, 2, 4)).depth(as_expr(0), as_expr(0), as_expr(3.5))
    (0.5, (0, 0, 1))
    """

    radii: Sequence[float]

    def depth(self, x: Expr, y: Expr, z: Expr) -> tuple[Expr, Triple]:
        """Return the depth below the surface, and the normal of the similar ellipsoid."""
        once = [v / r for v, r in zip((x, y, z), self.radii, strict=True)]
        a, b, c = (v / r for v, r in zip(once, self.radii, strict=True))
        f = sqrt(total([v**2 for v in once]))
        steep = maximum(sqrt(a**2 + b**2 + c**2), 1e-12)
        return (1 - f) * f / steep, (a / steep, b / steep, c / steep)


@dataclass(frozen=True, slots=True)
class HeightField(Placed):
    """Ground whose height over x and y is given by a table, smooth between its points.

    Args:
        x: abscissae of the table, m.
        y: likewise.
        heights: one row for each x, one column for each y, m.
        interpolation: "cubic" or "linear" between the points.

    >>> from linkwright.algebra import as_expr, evaluate
    >>> slope = HeightField([0, 1], [0, 1], [[0, 0], [1, 1]], interpolation="linear")
    >>> depth, _ = slope.depth(as_expr(0.5), as_expr(0.5), as_expr(0.2))
    >>> round(evaluate(depth, {}), 3)
    0.212
    """

    x: ArrayLike
    y: ArrayLike
    heights: ArrayLike
    interpolation: str = "cubic"
    table: Lookup2D = field(init=False, repr=False)

    def __post_init__(self) -> None:
        made = Lookup2D(self.x, self.y, self.heights, kind=self.interpolation, name="height")
        object.__setattr__(self, "table", made)

    def depth(self, x: Expr, y: Expr, z: Expr) -> tuple[Expr, Triple]:
        """Return the depth below the tangent plane under the point, and that plane's normal."""
        by_x, by_y = self.table.derivative(0)(x, y), self.table.derivative(1)(x, y)
        long = sqrt(1 + by_x**2 + by_y**2)
        return (self.table(x, y) - z) / long, (-by_x / long, -by_y / long, 1 / long)


@dataclass(frozen=True, slots=True)
class Wave(Placed):
    """Ground whose height is amplitude * sin(2 pi x / length), the same for all y.

    The depth is that below the nearest point of the surface, with the normal there: two steps of
    Newton's method from the point straight below, which are exact to rounding as long as the point
    is nearer than about a tenth of the least radius of curvature, length^2 / (4 pi^2 amplitude).
    Far away, where these steps lead across the surface, they are those of the tangent plane under
    the point.

    Args:
        amplitude: from the mean height to a crest, m.
        length: from crest to crest, m.

    >>> from linkwright.algebra import as_expr, evaluate
    >>> depth, normal = Wave(0.01, 0.2).depth(as_expr(0.05), as_expr(0.0), as_expr(0.009))
    >>> round(evaluate(depth, {}), 12), evaluate(normal[2], {})
    (0.001, 1.0)
    """

    amplitude: float
    length: float

    def __post_init__(self) -> None:
        checked(self.amplitude, "amplitude of a wave", least=0)
        checked(self.length, "length of a wave", above=0)

    def depth(self, x: Expr, y: Expr, z: Expr) -> tuple[Expr, Triple]:
        """Return the depth below the nearest point of the wave, and the normal there."""
        k = 2 * math.pi / self.length
        foot = x
        for _ in range(2):
            height, slope = self._height(foot, k), self._slope(foot, k)
            low = height - z
            steep = 1 + slope**2
            bend = maximum(steep - k**2 * height * low, steep / 2)
            foot = foot - (foot - x + low * slope) / bend
        height, slope = self._height(foot, k), self._slope(foot, k)
        below = self._height(x, k) - z
        same = (height - z + slope * (x - foot)) * below > 0
        slope = where(same, slope, self._slope(x, k))
        under = where(same, height - z + slope * (x - foot), below)
        long = sqrt(1 + slope**2)
        return under / long, (-slope / long, ZERO, 1 / long)

    def _height(self, x: Expr, k: float) -> Expr:
        return self.amplitude * sin(k * x)

    def _slope(self, x: Expr, k: float) -> Expr:
        return self.amplitude * k * cos(k * x)


def _round(x: Expr, y: Expr, z: Expr, radius: float) -> tuple[Expr, Triple]:
    far = sqrt(x**2 + y**2 + z**2)
    if far.op == "num":
        safe = as_expr(max(float(far.data), _TINY))
    else:
        safe = maximum(far, _TINY)
    return radius - far, (x / safe, y / safe, z / safe)


def _side(v: Expr) -> Expr:
    """Return the sign of a coordinate, 1 for zero."""
    return sign(v) if v.op == "num" and v.data != 0 else where(v < 0, -ONE, ONE)
