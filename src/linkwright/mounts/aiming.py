"""From a direction to the actuators of any mount, by closing its loops along the way there."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.arguments import worded
from linkwright.base.errors import DomainError, InputError
from linkwright.equations.batch_closing import CLOSED, Closing
from linkwright.equations.parallel_machine import parallel_machine
from linkwright.mechanism import Mechanism, ModelLike
from linkwright.mounts.chains import beyond, limits_of, refuse_beyond
from linkwright.mounts.inverse_pointing import start_at, way_to
from linkwright.mounts.pointing import angles, direction

Array = NDArray[np.float64]

_STEP = math.radians(5.0)  # of the way from the mount's own direction
_GRID = 5.0  # deg, of the directions that are looked at beforehand


class AimError(DomainError):
    """A direction that a mount cannot look along."""


class Aiming:
    """What the actuators of a mount are where its dish looks along a direction.

    A mount with two actuators is determined by the direction; one with three keeps the distance of
    its platform. Every pose is reached from the mount's own, around the zenith, so that it lies
    on the branch that the mount works on; two axes in series, which may begin in their keyhole,
    have theirs in closed form.

    Args:
        model: a robot, mechanism, file or shipped model with actuators and a platform.

    >>> aim = Aiming("mount-x-y")
    >>> aim.actuators, np.degrees(aim(direction(30, 45))).round(3).tolist()
    (('x_axis', 'y_axis'), [-40.893, 20.705])
    """

    @worded
    def __init__(self, model: ModelLike) -> None:
        machine = parallel_machine(model)
        self.actuators = tuple(q.name for q in machine.actuators)
        self.name = machine.mechanism.name
        known = {2: ("direction",), 3: ("direction", "distance")}.get(len(self.actuators))
        if known is None:
            raise InputError(
                f"{self.name!r} has {len(self.actuators)} actuators",
                remedy="aim a mount with two or three",
            )
        self._closing = Closing(machine, known)
        self._columns = [self._closing.names.index(name) for name in self.actuators]
        self._more: tuple[float, ...] = ()
        if len(known) > 1:
            at = self._closing.values_of(self._closing.start[None])[0]
            self._more = (float(at[self._closing.entries.index("distance")]),)
        self._limits = limits_of(machine)
        self._reach: NDArray[np.bool_] | None = None
        chain = not machine.relations and len(machine.coordinates) == 2
        self._chain = machine.mechanism if chain else None

    def __call__(self, d: ArrayLike) -> Array:
        """Return the values of the actuators, rad or m, to look along (East, North, up)."""
        return self.coordinates(d)[self._columns]

    @property
    def names(self) -> tuple[str, ...]:
        """The coordinates of the mount, those of its passive joints included."""
        return tuple(self._closing.names)

    def coordinates(self, d: ArrayLike) -> Array:
        """Return all coordinates of the mount, in the order of `names`, rad or m.

        Args:
            d: unit vector (East, North, up) that the dish is to look along.
        """
        way = self._way(np.asarray(d, float))
        if self._chain is not None:
            return self._turned(self._chain, way[-1])
        found = self._closing.follow(self._rows(way))
        if found.status[-1] != CLOSED:
            azimuth, elevation = (float(x) for x in angles(d))
            raise AimError(
                f"{self.name} cannot look to azimuth {azimuth:.1f}°, elevation {elevation:.1f}°: "
                f"{found.relations[int(found.worst[-1])]} does not close",
                remedy="keep to its reach",
            )
        try:
            refuse_beyond(self.name, self.names, found.q[-1:], self._limits, "look there")
        except InputError as error:
            raise AimError(error.what, remedy=error.remedy) from None
        return np.asarray(found.q[-1])

    def reaches(self, d: ArrayLike) -> bool:
        """Return whether a direction is in reach; where all around it is, without any closing.

        Args:
            d: unit vector (East, North, up).
        """
        if self._chain is None and self._surrounded(d):
            return True
        try:
            self(d)
        except AimError:
            return False
        return True

    @property
    def park(self) -> tuple[float, float]:
        """Azimuth and elevation where it parks, rad: the zenith, or where it looks at first."""
        if self.reaches((0.0, 0.0, 1.0)):
            return 0.0, math.pi / 2
        azimuth, elevation = angles(self._closing.values_of(self._closing.start[None])[0][:3])
        return math.radians(azimuth), math.radians(elevation)

    def _turned(self, chain: Mechanism, d: Array) -> Array:
        """Return the angles of two axes in series, in the order of `names`."""
        try:
            at = start_at(chain, d)
        except InputError as error:
            raise AimError(error.what, remedy=error.remedy) from None
        q = np.array([at[name] for name in self._closing.names])
        if not float(np.abs(self._closing.values_of(q[None])[0][:3] - d).max()) < 1e-6:
            azimuth, elevation = (float(x) for x in angles(d))
            raise AimError(
                f"{self.name} cannot look to azimuth {azimuth:.1f}°, elevation {elevation:.1f}°",
                remedy="keep to its reach",
            )
        return q

    def _surrounded(self, d: ArrayLike) -> bool:
        """Return whether all directions of the grid around one are in reach."""
        azimuth, elevation = (float(x) for x in angles(d))
        if self._reach is None:
            self._reach = self._looked()
        row, column = int((90 - elevation) // _GRID), int(azimuth // _GRID) % (len(self._reach[0]))
        around = self._reach[row : row + 2, [column, (column + 1) % len(self._reach[0])]]
        return bool(around.shape == (2, 2) and around.all())

    def _looked(self) -> NDArray[np.bool_]:
        """Return which directions of a grid, from the zenith to the horizon, are in reach."""
        tilts, turns = np.arange(0, 90 + _GRID, _GRID), np.arange(0, 360, _GRID)
        grid = np.stack([direction(turns, np.full(len(turns), 90 - tilt)) for tilt in tilts])
        rows = self._rows(grid.reshape(-1, 3)).reshape(*grid.shape[:2], -1)
        found = self._closing.follow(rows)
        return np.asarray(found.closed & (beyond(found.q, self._limits).max(axis=-1) <= 0))

    def _way(self, d: Array) -> Array:
        """Return directions from the mount's own to one, both included."""
        if d.shape != (3,) or not abs(float(np.linalg.norm(d)) - 1) < 1e-6:
            raise InputError("a direction is a unit vector: East, North, up")
        own = self._closing.values_of(self._closing.start[None])[0][:3]
        return way_to(own, d, _STEP)

    def _rows(self, directions: Array) -> Array:
        more = np.broadcast_to(self._more, (len(directions), len(self._more)))
        return np.concatenate([directions, more], axis=1)
