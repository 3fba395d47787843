"""Calibration: the dimensions of a machine from measured poses of its platform.

Actuators were read, and the platform was measured: its place, its rotation, or both. The dimensions
that explain the measurements best are found by the method of Gauss and Newton, with loops closed
anew and exact sensitivities in every turn (Mooring, Roth and Driels, Fundamentals of Manipulator
Calibration, 1991). Columns are scaled; combinations of dimensions that the measurements do not
determine apart are left as they were, and named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.arguments import worded
from linkwright.base.errors import DomainError, InputError, ShapeError
from linkwright.base.reprs import one_line
from linkwright.base.results import Result
from linkwright.base.rotations import rotation_vectors
from linkwright.equations.parallel_machine import parallel_machine
from linkwright.mechanism import ModelLike
from linkwright.parallel.pose_errors import PoseSlopes, closed_coordinates, closed_with

__all__ = ["DimensionCalibration", "calibrate"]

Array = NDArray[np.float64]
_TURNS = 30
_SEEN = 1e-7  # of the largest singular value: below it measurements say nothing


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class DimensionCalibration(Result):
    """Dimensions found from measurements.

    Args:
        values: of the dimensions, by name.
        deviations: their standard deviations, from the scatter of the measurements.
        residual: root of the mean square of what is left, in the units of the measurements.
        unseen: combinations of dimensions that the measurements do not distinguish, in words.
        covariance: of the values, in their order.

    >>> DimensionCalibration({"L": 1.0}, {"L": 1e-4}, 1e-5, (), np.eye(1)).values
    {'L': 1.0}
    """

    values: dict[str, float]
    deviations: dict[str, float]
    residual: float
    unseen: tuple[str, ...]
    covariance: Array = field(repr=False)


@worded
def calibrate(
    model: ModelLike,
    q: Mapping[str, float] | ArrayLike,
    dimensions: Sequence[str],
    drives: ArrayLike,
    *,
    places: ArrayLike | None = None,
    rotations: ArrayLike | None = None,
) -> DimensionCalibration:
    """Return the dimensions of a machine that explain measured poses best.

    Args:
        model: a machine that names its actuators and its platform.
        q: closed coordinates on the branch of the measurements, by name or in order.
        dimensions: names of the parameters to find.
        drives: values of the actuators, one row for each measurement.
        places: measured places of the platform's point, m, one row each.
        rotations: measured rotations of the platform, 3 x 3 each.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("lever")
    >>> arm = m.body("arm", rotate="z")
    >>> p = m.set_platform(m.point("tip", arm, ("L", 0, 0)))
    >>> m.actuate("arm")
    >>> m.defaults(L=2.0)
    >>> seen = [[2.1, 0, 0], [0, 2.1, 0]]
    >>> found = calibrate(m, {"arm": 0.0}, ["L"], [[0.0], [np.pi / 2]], places=seen)
    >>> round(found.values["L"], 9)
    2.1
    """
    machine = parallel_machine(model)
    if not dimensions:
        raise InputError("there are no dimensions to find", remedy="name at least one")
    slopes = PoseSlopes(machine, dimensions)
    rows = np.atleast_2d(np.array(drives, dtype=float))
    if rows.shape[1] != len(machine.actuators):
        raise ShapeError(
            f"the drives have the shape {rows.shape}",
            remedy=f"give rows of {len(machine.actuators)} numbers",
        )
    seen = _Measured(len(rows), places, rotations)
    values, at = slopes.nominal, closed_coordinates(machine, q)
    at = _approached(slopes, at, rows, values)
    left = seen.errors(*slopes.poses(at, _repeated(values, len(rows))))
    for _ in range(_TURNS):
        table = _table(slopes, at, values, seen)
        step, _ = _least(table, left)
        change, share = float(np.abs(step).max()), 1.0
        while True:
            tried = values + share * step
            try:
                q_new = closed_with(slopes, at, rows, _repeated(tried, len(rows)))
                new = seen.errors(*slopes.poses(q_new, _repeated(tried, len(rows))))
            except DomainError:
                new = np.full_like(left, np.inf)
                q_new = at
            if np.linalg.norm(new) <= np.linalg.norm(left) or share < 1e-4:
                break
            share *= 0.5
        if not np.linalg.norm(new) <= np.linalg.norm(left):
            break
        values, at, left = tried, q_new, new
        if change <= 1e-13 * max(1.0, float(np.abs(values).max())):
            break
    return _told(slopes, values, _table(slopes, at, values, seen), left)


class _Measured:
    """What was measured, and how far poses are from it."""

    def __init__(self, count: int, places: ArrayLike | None, rotations: ArrayLike | None) -> None:
        self.places = None if places is None else np.array(places, dtype=float)
        self.rotations = None if rotations is None else np.array(rotations, dtype=float)
        if self.places is None and self.rotations is None:
            raise InputError("nothing was measured", remedy="give places, rotations or both")
        for name, given, shape in (
            ("places", self.places, (count, 3)),
            ("rotations", self.rotations, (count, 3, 3)),
        ):
            if given is not None and given.shape != shape:
                raise ShapeError(f"{name} have the shape {given.shape}", remedy=f"give {shape}")
            if given is not None and not np.isfinite(given).all():
                raise InputError(f"{name} hold numbers that are not finite")
        self.rows = [k for k in range(6) if (places if k < 3 else rotations) is not None]

    def errors(self, place: Array, turned: Array) -> Array:
        """Return what was measured less what poses are, in one list."""
        parts = []
        if self.places is not None:
            parts.append(self.places - place)
        if self.rotations is not None:
            parts.append(rotation_vectors(self.rotations @ np.swapaxes(turned, 1, 2)))
        return np.hstack(parts).ravel()


def _repeated(values: Array, count: int) -> Array:
    return np.broadcast_to(values, (count, len(values)))


def _approached(slopes: PoseSlopes, at: Array, rows: Array, values: Array) -> Array:
    """Return closed coordinates for all measurements, from one pose in small steps."""
    machine = slopes.machine
    here = at[[machine.coordinates.index(z) for z in machine.actuators]]
    found: Array = np.broadcast_to(at, (len(rows), len(at))).copy()
    for share in np.linspace(0.0, 1.0, 9)[1:]:
        now = here + share * (rows - here)
        found = closed_with(slopes, found, now, _repeated(values, len(rows)))
    return found


def _table(slopes: PoseSlopes, at: Array, values: Array, seen: _Measured) -> Array:
    """Return the change of everything measured for a unit of each dimension."""
    return np.vstack([slopes.at(row, values).of_dimensions[seen.rows] for row in at])


def _least(table: Array, left: Array) -> tuple[Array, Array]:
    """Return the shortest scaled step, and the directions that measurements do not determine."""
    size = np.linalg.norm(table, axis=0)
    size[size == 0.0] = 1.0
    u, s, vt = np.linalg.svd(table / size, full_matrices=False)
    keep = s > _SEEN * s[0] if len(s) and s[0] > 0 else np.zeros(len(s), dtype=bool)
    step = vt[keep].T @ ((u[:, keep].T @ left) / s[keep])
    _, _, full = np.linalg.svd(table / size)
    return step / size, full[int(keep.sum()) :] / size


def _told(slopes: PoseSlopes, values: Array, table: Array, left: Array) -> DimensionCalibration:
    moved = np.abs(table).max(axis=1) > 0.0  # what no dimension moves tells nothing of the scatter
    table, left = table[moved], left[moved]
    _, unseen = _least(table, left)
    free = max(len(left) - (len(values) - len(unseen)), 1)
    scatter = float(left @ left) / free
    covariance = np.asarray(scatter * np.linalg.pinv(table.T @ table, rcond=_SEEN**2), dtype=float)
    names = slopes.dimensions
    words = []
    for row in unseen:
        row = row / np.abs(row).max()
        parts = [f"{x:+.3g} {n}" for x, n in zip(row, names, strict=True) if abs(x) > 1e-6]
        words.append("the measurements do not determine " + " ".join(parts))
    return DimensionCalibration(
        dict(zip(names, map(float, values), strict=True)),
        dict(zip(names, map(float, np.sqrt(np.diag(covariance).clip(0.0))), strict=True)),
        float(np.sqrt(np.mean(left**2))) if len(left) else 0.0,
        tuple(words),
        covariance,
    )
