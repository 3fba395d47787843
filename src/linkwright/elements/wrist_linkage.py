"""The serial linkage that measures a compliant wrist: six hinges with potentiometers.

It leads from the flange to the tool and carries no load, so the tool moves it (R. P. Paul and Y.
Xu, University of Pennsylvania, measure their wrist in this way). With the axes w_i and points p_i
of the hinges at rest, along the flange's axes and from the tool's reference point, the tool has
moved by the product of exponentials (Brockett 1984)

    T = exp(S_1 f_1) ... exp(S_6 f_6),    exp(S f) x = p + R(w, f) (x - p)

where f_i are the angles from rest. Direct kinematics is a formula; angles from a deflection need
the loop to be closed, by Newton's method with the Jacobian of the hinges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import Expr, as_expr, cos, sin
from linkwright.algebra.triples import (
    Hold,
    Matrix,
    Triple,
    add,
    apply,
    cross,
    held,
    held_rows,
    matrix_product,
    subtract,
)
from linkwright.base.arguments import worded
from linkwright.base.errors import InputError, ShapeError, suggestion
from linkwright.base.rotations import exponential, quaternion_matrix, rotation_vectors, skew
from linkwright.blocks import BlockError, checked
from linkwright.mechanism import Joint, Mechanism

Array = NDArray[np.float64]
_AXES = ((0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
_POINTS = ((1, 0, -1.2), (1, 0, -1), (1, 0, 0), (0.3, 0, 0), (0, 0, 0), (0, 0, 0.2))
_SINGULAR = 1e-6


@dataclass(frozen=True, slots=True)
class LinkagePlacement:
    """Where a linkage is, along the flange's axes from the tool's reference point at rest."""

    rotation: Matrix  # rows of the matrix by which the tool has turned from rest
    position: Triple  # of the tool's reference point, m
    axes: tuple[Triple, ...]  # directions of the hinges
    points: tuple[Triple, ...]  # on these, m

    def jacobian(self) -> tuple[tuple[Expr, ...], ...]:
        """Return how the tool moves with the hinges: six rows, x y z and rx ry rz."""
        columns = [
            (*cross(axis, subtract(self.position, point)), *axis)
            for axis, point in zip(self.axes, self.points, strict=True)
        ]
        return tuple(zip(*columns, strict=True))


@dataclass(frozen=True, slots=True)
class WristLinkage:
    """Six hinges in series between flange and tool, as they are at rest.

    Without arguments it is a linkage for a wrist of about 50 mm.

    Args:
        size: what the points are multiplied with, m.
        axes: directions of the six hinges along the flange's axes.
        points: a point on each, from the tool's reference point, in units of `size`.
        offsets: what the potentiometers show at rest, rad; none by default.

    >>> linkage = WristLinkage(0.05)
    >>> x = linkage.deflection(np.zeros(6))
    >>> bool(np.abs(x).max() < 1e-15)
    True
    >>> f = linkage.angles([0.002, 0.003, -0.001, 0.01, 0.03, 0.02])
    >>> [round(float(v), 9) for v in linkage.deflection(f)]
    [0.002, 0.003, -0.001, 0.01, 0.03, 0.02]
    """

    size: float = 0.05
    axes: Sequence[Sequence[float]] = _AXES
    points: Sequence[Sequence[float]] = _POINTS
    offsets: Sequence[float] = (0.0,) * 6
    condition: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        size = checked(self.size, "size of a linkage", above=0)
        for name, shape in (("axes", (6, 3)), ("points", (6, 3)), ("offsets", (6,))):
            given = _array(getattr(self, name), name)
            if given.shape != shape or not np.isfinite(given).all():
                raise BlockError(
                    f"{name} of a linkage have the shape {given.shape}"
                    if given.shape != shape
                    else f"{name} of a linkage hold numbers that are not finite",
                    remedy=f"give {' x '.join(map(str, shape))} finite numbers",
                )
        long = np.linalg.norm(np.array(self.axes, dtype=float), axis=1)
        if (long == 0).any():
            raise BlockError(
                f"axis {int(np.argmin(long)) + 1} of a linkage is zero", remedy="give a direction"
            )
        table = self._table(*self._geometry(), np.zeros(3))
        table[:3] /= size
        values = np.linalg.svd(table, compute_uv=False)
        if values[-1] < _SINGULAR * values[0]:
            raise BlockError(
                "the linkage is singular at rest: some deflection moves none of its hinges",
                remedy="move an axis, so that no line meets or is parallel to all six",
            )
        object.__setattr__(self, "condition", float(values[0] / values[-1]))

    def _geometry(self) -> tuple[Array, Array]:
        axes = np.array(self.axes, dtype=float)
        points = self.size * np.array(self.points, dtype=float)
        return axes / np.linalg.norm(axes, axis=1)[:, None], points

    @staticmethod
    def _table(axes: Array, points: Array, tip: Array) -> Array:
        return np.vstack([np.cross(axes, tip - points).T, axes.T])

    # -- numbers -----------------------------------------------------------------------------------
    @worded
    def placement(self, shown: ArrayLike) -> tuple[Array, Array]:
        """Return the rotation of the tool from rest, and the way of its reference point, m.

        Args:
            shown: by the six potentiometers, rad.
        """
        turned, moved, _, _ = self._moved(_six(shown, "shown") - np.asarray(self.offsets))
        return turned, moved

    def _moved(self, angles: Array) -> tuple[Array, Array, Array, Array]:
        axes, points = self._geometry()
        turned, moved = np.eye(3), np.zeros(3)
        here, there = [], []
        for w, p, f in zip(axes, points, angles, strict=True):
            here.append(turned @ w)
            there.append(moved + turned @ p)
            hinge = quaternion_matrix(exponential(f * w))
            moved = moved + turned @ (p - hinge @ p)
            turned = turned @ hinge
        return turned, moved, np.array(here), np.array(there)

    @worded
    def deflection(self, shown: ArrayLike) -> Array:
        """Return the deflection, x y z (m) and rx ry rz (rad), from what potentiometers show.

        Args:
            shown: by the six potentiometers, rad.
        """
        turned, moved = self.placement(shown)
        return np.concatenate([moved, rotation_vectors(turned)])

    @worded
    def angles(self, deflection: ArrayLike, *, max_iterations: int = 30) -> Array:
        """Return what the potentiometers show at a deflection, by closing the loop.

        Args:
            deflection: x y z (m) and rx ry rz (rad).
            max_iterations: steps of Newton's method.
        """
        wanted = _six(deflection, "deflection")
        goal = quaternion_matrix(exponential(wanted[3:]))
        angles: Array = np.zeros(6)
        for _ in range(max_iterations):
            turned, moved, axes, points = self._moved(angles)
            left = np.concatenate([wanted[:3] - moved, rotation_vectors(goal @ turned.T)])
            scale = np.array([self.size] * 3 + [1.0] * 3)
            if np.abs(left / scale).max() < 1e-14:
                break
            angles = angles + np.linalg.solve(self._table(axes, points, moved), left)
        turned, moved, _, _ = self._moved(angles)
        left = np.concatenate([(wanted[:3] - moved) / self.size, rotation_vectors(goal @ turned.T)])
        if not np.abs(left).max() < 1e-9:
            raise InputError(
                f"the linkage does not reach the deflection {np.round(wanted, 4).tolist()}",
                remedy="give a smaller deflection, or a larger linkage",
            )
        return np.asarray(angles + np.asarray(self.offsets), dtype=float)

    # -- expressions -------------------------------------------------------------------------------
    def expressions(self, angles: Sequence[Expr], hold: Hold) -> LinkagePlacement:
        """Return where the linkage is as expressions of its angles from rest.

        Args:
            angles: six, rad.
            hold: gives a partial result a name.
        """
        numbers = self._geometry()
        turned: Matrix = _rows(np.eye(3).ravel())
        moved = _triple(np.zeros(3))
        axes, points = [], []
        for w, p, f in zip(*numbers, angles, strict=True):
            axes.append(held(hold, apply(turned, _triple(w))))
            points.append(held(hold, add(moved, apply(turned, _triple(p)))))
            hinge = _hinge(w, hold(sin(f)), hold(cos(f)))
            left = subtract(_triple(p), apply(hinge, _triple(p)))
            moved = held(hold, add(moved, apply(turned, left)))
            turned = held_rows(hold, matrix_product(turned, hinge))
        return LinkagePlacement(turned, moved, tuple(axes), tuple(points))

    # -- calibration -------------------------------------------------------------------------------
    def mechanism(self) -> Mechanism:
        """Return the linkage as a mechanism, for `analysis.calibrate`.

        Its actuators are the hinges, its platform the tool. Its parameters are `offset1`, ...
        (rad): what potentiometers show at rest; and `length1`, ... (m): how far each hinge is from
        the one before, hinge 1 from the tool's reference point at rest, and `length7`: the tool
        from hinge 6. Lengths of zero are left out.

        >>> list(WristLinkage().mechanism().coordinates)
        ['hinge1', 'hinge2', 'hinge3', 'hinge4', 'hinge5', 'hinge6']
        """
        m = Mechanism("linkage", "serial linkage of a wrist")
        axes, points = self._geometry()
        ways = np.diff(np.vstack([np.zeros(3), points, np.zeros(3)]), axis=0)
        parent = m.ground
        for k, (w, way, zero) in enumerate(zip(axes, ways, self.offsets, strict=False), 1):
            offset = m.parameter(f"offset{k}", float(zero), unit="rad")
            parent = m.body(
                f"link{k}",
                parent=parent,
                at=_length(m, k, way),
                joint=Joint(rotate=(tuple(map(float, w)),), offset=-offset),
                mass=0,
                inertia=0,
                coordinates=(f"hinge{k}",),
            )
        tip = m.point("tip", parent, _length(m, 7, ways[6]))
        m.set_platform(tip)
        m.actuate(*m.coordinates)
        m.set_initial({f"hinge{k}": float(v) for k, v in enumerate(self.offsets, 1)})
        return m

    def calibrated(self, values: Mapping[str, float]) -> WristLinkage:
        """Return the linkage with other offsets and lengths.

        Args:
            values: by the names of `mechanism()`, such as those that `analysis.calibrate` finds.

        >>> WristLinkage().calibrated({"offset2": 0.1}).offsets[1]
        0.1
        """
        _, points = self._geometry()
        ways = np.diff(np.vstack([np.zeros(3), points, np.zeros(3)]), axis=0)
        long = np.linalg.norm(ways, axis=1)
        known = [f"offset{k}" for k in range(1, 7)]
        known += [f"length{k}" for k in range(1, 8) if long[k - 1] > 0]
        offsets = list(self.offsets)
        for name, value in values.items():
            if name not in known:
                raise InputError(
                    f"a linkage has no {name!r}",
                    remedy=suggestion(name, known, f"it has {', '.join(known)}"),
                )
            k = int(name[6:]) - 1
            if name.startswith("offset"):
                offsets[k] = float(value)
            else:
                ways[k] *= float(value) / long[k]
        points = np.cumsum(ways, axis=0)
        tip = points[6]
        points = (points[:6] - tip) / self.size
        return replace(self, points=points.tolist(), offsets=tuple(offsets))


def _six(given: ArrayLike, what: str) -> Array:
    found = np.asarray(given, dtype=float)
    if found.shape != (6,) or not np.isfinite(found).all():
        raise ShapeError(f"{what} has the shape {found.shape}", remedy="give six finite numbers")
    return found


def _array(given: object, name: str) -> Array:
    try:
        return np.array(given, dtype=float)
    except (TypeError, ValueError) as error:
        raise BlockError(f"{name} of a linkage are {given!r}", remedy="give numbers") from error


def _length(m: Mechanism, k: int, way: Array) -> tuple[object, ...]:
    """Return the way to a hinge as a length along its direction, which is a parameter."""
    long = float(np.linalg.norm(way))
    if long == 0:
        return (0, 0, 0)
    length = m.parameter(f"length{k}", long, unit="m")
    return tuple(length * float(x / long) for x in way)


def _triple(numbers: Array) -> Triple:
    x, y, z = (as_expr(_plain(float(v))) for v in numbers)
    return x, y, z


def _plain(value: float) -> float | int:
    near = round(value)
    return near if value == near else value


def _rows(nine: Array) -> Matrix:
    return _triple(nine[:3]), _triple(nine[3:6]), _triple(nine[6:])


def _hinge(axis: Array, sine: Expr, cosine: Expr) -> Matrix:
    k = skew(axis)
    square = k @ k

    def row(i: int) -> Triple:
        x, y, z = (
            _plain(float(i == j))
            + _plain(float(k[i, j])) * sine
            + _plain(float(square[i, j])) * (1 - cosine)
            for j in range(3)
        )
        return x, y, z

    return row(0), row(1), row(2)
