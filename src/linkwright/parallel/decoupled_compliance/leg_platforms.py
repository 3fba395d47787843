"""Platforms on six springy legs: their stiffness from Pluecker lines, exactly, and its slopes.

A leg is a line with the unit direction s through a point b: its Pluecker coordinates are
U = (s, b x s). With P = [U1 ... U6] forces f along the legs make the wrench F = P f about the
reference point, and legs of stiffness k answer a small displacement X of the platform with

    F = k P P^T X,        stiffness k A,  A = P P^T,        compliance its inverse.

A platform is decoupled where A is diagonal (Xu and Paul on mechanisms of decoupled compliance;
their later sections call A/k the compliance, which it is not). Points may be expressions of
parameters, so that A and its derivatives are exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import Expr, as_expr, diff, evaluate_all, free_symbols, sqrt, symbol, total
from linkwright.algebra.triples import cross
from linkwright.base.arguments import worded
from linkwright.base.errors import InputError, unknown
from linkwright.base.reprs import brief
from linkwright.blocks.places import AXES
from linkwright.elements import Spring
from linkwright.mechanism import Mechanism
from linkwright.system import System

__all__ = ["LegPlatform", "leg_platform", "mechanism_1", "mechanism_2", "octahedral_platform"]

Array = NDArray[np.float64]
Row = tuple[Expr, ...]
Number = Expr | float
OWNER = "leg platform"
_DECOUPLED = 1e-12


def _point(given: Sequence[float]) -> list[float]:
    try:
        found = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.shape != (3,) or not np.isfinite(found).all():
        raise InputError(
            f"the reference point is {brief(given)}, which is not three finite numbers",
            remedy="give its place in m, such as (0, 0, 0.1)",
        )
    return [float(x) for x in found]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LegPlatform:
    """A platform on six legs between its base and itself, each a spring along its line.

    The reference point, about which moments and turns are meant, is the origin.

    Args:
        bases: where legs begin, three components each, m.
        tips: where they end on the platform, m.
        stiffness: k of every leg, N/m.
        values: of the parameters in the points.

    >>> mechanism_2(a=0.3, h=0.2).decoupled
    True
    """

    bases: tuple[Row, ...]
    tips: tuple[Row, ...]
    stiffness: float
    values: Mapping[str, float]

    def __repr__(self) -> str:
        told = "decoupled" if self.decoupled else f"coupled by {self.coupling:.3g}"
        given = "".join(f", {n} = {v:g}" for n, v in self.values.items())
        return f"LegPlatform({told}{given}, k = {self.stiffness:g} N/m)"

    @property
    def points(self) -> tuple[Array, Array]:
        """Bases and tips as numbers, m, six rows each."""
        known = {s: self.values[s.name] for s in self._symbols()}
        flat = [x for row in (*self.bases, *self.tips) for x in row]
        found = np.array(evaluate_all(flat, known), dtype=float).reshape(12, 3)
        return found[:6], found[6:]

    @property
    def P(self) -> Array:
        """Pluecker coordinates of the legs, a column each: direction, then moment in m."""
        bases, tips = self.points
        way = tips - bases
        size = np.linalg.norm(way, axis=1, keepdims=True)
        if not size.all():
            leg = int(np.flatnonzero(size[:, 0] == 0)[0]) + 1
            raise InputError(f"leg {leg} has no length", remedy="let its ends be apart")
        s = way / size
        return np.vstack([s.T, np.cross(bases, s).T])

    @property
    def A(self) -> Array:
        """P P^T: stiffness of the platform on legs of 1 N/m; 1, m and m^2."""
        return self.P @ self.P.T

    @property
    def stiffness_matrix(self) -> Array:
        """k A: what wrench a small displacement takes, N/m, N and N*m."""
        return self.stiffness * self.A

    @property
    def compliance_matrix(self) -> Array:
        """The inverse of k A: what displacement a wrench makes."""
        self._refuse_singular()
        return np.asarray(np.linalg.inv(self.stiffness_matrix), dtype=float)

    @property
    def jacobian(self) -> Array:
        """J, the inverse of P^T: displacement of the platform from what legs lengthen by.

        Of a decoupled platform its inverse is J^T A, without any inversion.
        """
        self._refuse_singular()
        return np.asarray(np.linalg.inv(self.P.T), dtype=float)

    @property
    def manipulability(self) -> float:
        """sqrt(det(J J^T)), of a decoupled platform the product of the diagonal to the -1/2."""
        self._refuse_singular()
        return float(1 / np.sqrt(np.linalg.det(self.A)))

    @property
    def coupling(self) -> float:
        """The largest off-diagonal element of A by the root of the two diagonal ones."""
        A = self.A
        size = np.sqrt(np.diag(A))
        scaled = A / np.maximum(np.outer(size, size), 1e-300)
        return float(np.abs(scaled - np.diag(np.diag(scaled))).max())

    @property
    def decoupled(self) -> bool:
        """Whether A is diagonal, but for rounding."""
        return self.coupling < _DECOUPLED

    def about(self, point: Sequence[float]) -> LegPlatform:
        """Return the platform with another reference point.

        Args:
            point: its place, m.

        >>> shifted = mechanism_2(a=0.3, h=0.2).about((0, 0, 0.1))
        >>> shifted.decoupled
        False
        """
        by = _point(point)
        moved = [
            tuple(tuple(x - d for x, d in zip(row, by, strict=True)) for row in rows)
            for rows in (self.bases, self.tips)
        ]
        return replace(self, bases=moved[0], tips=moved[1])

    def expressions(self) -> tuple[Row, ...]:
        """Return A as expressions of the platform's parameters, row by row."""
        columns = []
        for base, tip in zip(self.bases, self.tips, strict=True):
            way = [b - a for a, b in zip(base, tip, strict=True)]
            size = sqrt(total(x * x for x in way))
            s = [x / size for x in way]
            columns.append([*s, *cross(base, s)])
        return tuple(tuple(total(c[i] * c[j] for c in columns) for j in range(6)) for i in range(6))

    def sensitivity(self, name: str) -> Array:
        """Return the derivative of A with respect to a parameter, exactly.

        Args:
            name: of the parameter.

        >>> float(mechanism_2(a=0.3, h=0.2).sensitivity("a")[2, 2].round(6))
        -9.216
        """
        known = {s: self.values[s.name] for s in self._symbols()}
        named = {s.name: s for s in known}
        if name not in named:
            there = f"it has {', '.join(named)}" if named else "its points are numbers"
            raise unknown("parameter", name, named, there, owner="the platform")
        slopes = [diff(x, named[name]) for row in self.expressions() for x in row]
        return np.array(evaluate_all(slopes, known), dtype=float).reshape(6, 6)

    def frequencies(self, mass: float, inertia: Sequence[float]) -> Array:
        """Return natural frequencies, rad/s, lowest first.

        Of a decoupled platform they are sqrt(k A_ii / M_ii).

        Args:
            mass: of what stands on the legs, kg, its center at the reference point.
            inertia: about x, y, z, kg*m^2.

        >>> mechanism_2(a=0.3, h=0.2, stiffness=1e4).frequencies(2.0, [0.01] * 3).round(1)
        array([ 73.5,  73.5, 120. , 120. , 127.3, 138.6])
        """
        M = self._mass(mass, inertia)
        root = 1 / np.sqrt(M)
        squares = np.linalg.eigvalsh(self.stiffness_matrix * np.outer(root, root))
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)), dtype=float)

    def system(self, mass: float, inertia: Sequence[float]) -> System:
        """Return the platform as a System: a free body on six springs between points.

        Args:
            mass: of the platform, kg, its center at the reference point.
            inertia: about x, y, z, kg*m^2.
        """
        self._mass(mass, inertia)
        m = Mechanism("leg-platform")
        body = m.body(
            "platform", translate="xyz", rotate="xyz", mass=float(mass),
            inertia=tuple(float(x) for x in inertia),
        )  # fmt: skip
        bases, tips = self.points
        s = System(m)
        for k, (base, tip) in enumerate(zip(bases.tolist(), tips.tolist(), strict=True), 1):
            ends = m.point(f"base{k}", at=tuple(base)), m.point(f"tip{k}", body, tuple(tip))
            length = float(np.linalg.norm(np.subtract(tip, base)))
            s.add(Spring(m, *ends, self.stiffness, length=length, name=f"leg{k}"))
        return s

    def as_dict(self) -> dict[str, object]:
        """Return the platform as plain data."""
        bases, tips = self.points
        return {
            "axes": list(AXES),
            "bases": bases.tolist(),
            "tips": tips.tolist(),
            "leg stiffness": self.stiffness,
            "diagonal": np.diag(self.A).tolist(),
            "coupling": self.coupling,
            "decoupled": self.decoupled,
        }

    def _symbols(self) -> tuple[Expr, ...]:
        return free_symbols(*(x for row in (*self.bases, *self.tips) for x in row))

    def _mass(self, mass: float, inertia: Sequence[float]) -> Array:
        M = np.array([mass] * 3 + list(inertia), dtype=float)
        if M.shape != (6,) or not (np.isfinite(M) & (M > 0)).all():
            raise InputError(
                "mass and moments of inertia are not four positive numbers",
                remedy="give mass=2.0, inertia=[0.01, 0.01, 0.02]",
            )
        return M

    def _refuse_singular(self) -> None:
        size = np.sqrt(np.diag(self.A))
        if not size.all() or np.linalg.cond(self.P / size[:, None]) > 1e12:
            raise InputError(
                "the legs do not hold the platform: P is singular, and there is no compliance",
                remedy="move the legs off the common line, plane or complex that they are in",
            )


@worded
def leg_platform(
    bases: Sequence[Sequence[Number]] | Array,
    tips: Sequence[Sequence[Number]] | Array,
    *,
    stiffness: float = 1.0,
    values: Mapping[str, float] | None = None,
) -> LegPlatform:
    """Return a platform on six legs.

    Args:
        bases: where legs begin, six rows of numbers in m, or of expressions.
        tips: where they end on the platform.
        stiffness: k of every leg, N/m.
        values: of the parameters in the expressions, by name.

    >>> corner = [[0, 0, 0]] * 2 + [[1, 0, 0]] * 2 + [[0, 1, 0]] * 2
    >>> top = [[0, 0, 1], [1, 0, 1], [1, 0, 1], [0, 1, 1], [0, 1, 1], [0, 0, 1]]
    >>> leg_platform(corner, top).decoupled
    False
    """
    rows = []
    for what, given in (("bases", bases), ("tips", tips)):
        made = tuple(tuple(as_expr(x) for x in row) for row in given)
        if len(made) != 6 or any(len(row) != 3 for row in made):
            raise InputError(f"the {what} are not six points", remedy="give six rows of x, y, z")
        rows.append(made)
    if not (np.isfinite(stiffness) and stiffness > 0):
        raise InputError(
            f"the stiffness of the legs is {stiffness:g}", remedy="give a positive number, N/m"
        )
    numbers = {n: float(v) for n, v in (values or {}).items()}
    missing = [
        s.name for s in free_symbols(*(x for r in rows for row in r for x in row))
        if s.name not in numbers
    ]  # fmt: skip
    if missing:
        raise InputError(
            f"the points have parameters without numbers: {', '.join(missing)}",
            remedy=f"give values={{{missing[0]!r}: ...}}",
        )
    platform = LegPlatform(rows[0], rows[1], float(stiffness), numbers)
    _ = platform.P  # refuses legs without length
    return platform


def mechanism_1(a: float, h: float, *, stiffness: float = 1.0) -> LegPlatform:
    """Return the decoupled mechanism of three base points with two legs each.

    The base points are (-sqrt(3) a/6, a/2, 0) and its turns by -120 degrees; the legs go a to both
    sides, turned likewise, and h up. With rho = a^2 + h^2
    A = diag(3 a^2, 3 a^2, 6 h^2, a^2 h^2, a^2 h^2, a^4/2)/rho.

    Args:
        a: way of a leg to the side, m.
        h: height, m.
        stiffness: k of every leg, N/m.

    >>> np.diag(mechanism_1(a=1.0, h=1.0).A).round(12)
    array([1.5 , 1.5 , 3.  , 0.5 , 0.5 , 0.25])
    """
    A, H = _sizes(a, h)
    return _threefold((-sqrt(3) * A / 6, A / 2), (0 * A, A), H, {"a": a, "h": h}, stiffness)


def mechanism_2(a: float, h: float, *, stiffness: float = 1.0) -> LegPlatform:
    """Return the decoupled mechanism from the mid-sides of a triangle to the vertices above.

    With rho = a^2 + 4 h^2
    A = diag(3 a^2, 3 a^2, 24 h^2, a^2 h^2, a^2 h^2, a^4/2)/rho.

    Args:
        a: side of the triangle, m.
        h: height, m.
        stiffness: k of every leg, N/m.

    >>> np.diag(mechanism_2(a=1.0, h=0.5).A).round(12)
    array([1.5  , 1.5  , 3.   , 0.125, 0.125, 0.25 ])
    """
    A, H = _sizes(a, h)
    return _threefold((0 * A, -A / (2 * sqrt(3))), (A / 2, 0 * A), H, {"a": a, "h": h}, stiffness)


def octahedral_platform(a: float, h: float, *, stiffness: float = 1.0) -> LegPlatform:
    """Return the simple six-leg link of two congruent triangles, one turned by 60 degrees.

    About its base it couples Fx with My and Fy with Mx; its center of compliance is at h/2.

    Args:
        a: side of the triangles, m.
        h: height, m.
        stiffness: k of every leg, N/m.

    >>> link = octahedral_platform(a=0.3, h=0.2)
    >>> link.decoupled, link.about((0, 0, 0.1)).decoupled
    (False, True)
    """
    A, H = _sizes(a, h)
    vertex = (0 * A, A / sqrt(3))  # and to the two neighbors of the other triangle
    return _threefold(vertex, (A / 2, 0 * A), H, {"a": a, "h": h}, stiffness, inward=True)


def _sizes(a: float, h: float) -> tuple[Expr, Expr]:
    for name, value in (("a", a), ("h", h)):
        if not (np.isfinite(value) and value > 0):
            raise InputError(f"{name} is {value:g}", remedy="give a positive length, m")
    made = [symbol(name, "parameter", owner=OWNER) for name in ("a", "h")]
    return made[0], made[1]


def _threefold(
    base: tuple[Expr, Expr], side: tuple[Expr, Expr], h: Expr, values: Mapping[str, float],
    stiffness: float, *, inward: bool = False,
) -> LegPlatform:  # fmt: skip
    """Return pairs of legs that go to both sides and up, turned by -120 degrees twice.

    Inward they also go toward the axis, to the vertices of the triangle that is turned by 60.
    """
    bases, tips = [], []
    zero = 0 * h
    for k in range(3):
        cosine = as_expr(1) if k == 0 else -as_expr(1) / 2
        sine = zero if k == 0 else (-sqrt(3) / 2 if k == 1 else sqrt(3) / 2)

        def turned(v: tuple[Expr, Expr], c: Expr = cosine, s: Expr = sine) -> tuple[Expr, Expr]:
            return c * v[0] - s * v[1], s * v[0] + c * v[1]

        at = turned(base)
        for sign in (1, -1):
            way = turned((sign * side[0], sign * side[1]))
            step = tuple(-x / 2 if inward else zero for x in at)
            bases.append((*at, zero))
            tips.append((at[0] + way[0] + step[0], at[1] + way[1] + step[1], h))
    return leg_platform(bases, tips, stiffness=stiffness, values=values)


def rigid_tips(platform: LegPlatform, poses: ArrayLike) -> Array:
    """Return where the legs' tips are when the platform is at poses, m."""
    given = np.asarray(poses, dtype=float)
    if given.ndim == 2:
        given = given[None]
    if given.shape[1:] != (4, 4):
        raise InputError("poses are not matrices of 4 by 4", remedy="give an array (n, 4, 4)")
    turned = given[:, :3, :3] @ given[:, :3, :3].transpose(0, 2, 1)
    if not np.allclose(turned, np.eye(3), atol=1e-6):
        raise InputError(
            "a pose turns by what is not a rotation", remedy="let the upper 3 by 3 be orthonormal"
        )
    tips = platform.points[1]
    found: Array = np.einsum("nij,lj->nli", given[:, :3, :3], tips) + given[:, None, :3, 3]
    return found
