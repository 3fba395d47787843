"""Grasps: grasp matrix, form and force closure, quality, and finger forces for a load.

With the wrenches w_i that unit forces along the edges of all friction pyramids put on the object, a
grasp has force closure if they span all wrenches and a positive combination of all of them is zero
(Mishra, Schwartz and Sharir 1987): a linear program finds the largest smallest coefficient. Form
closure is the same of the normals alone. The quality is the radius of the largest ball about zero
in the convex hull of the w_i (Ferrari and Canny 1992): the least wrench, of any direction, that
breaks the grasp while the normal forces add up to 1 N. Moments are divided by a length, so that
they can be compared with forces.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.arguments import worded
from linkwright.base.checks import checked
from linkwright.base.errors import DomainError, InputError
from linkwright.base.reprs import brief
from linkwright.base.results import Result
from linkwright.grasp.contacts import FingerContact

__all__ = ["Grasp"]

Array = NDArray[np.float64]
EDGES = 8
_RANK = 1e-9  # singular values below this part of the largest count as zero
_CLOSED = 1e-9  # of the smallest coefficient of a positive combination that adds up to one
PLANE = (0, 1, 5)
"""Forces along x and y and the moment about z, which count in a plane."""


@dataclass(frozen=True, slots=True, eq=False)
class Grasp(Result):
    """Fingers on an object.

    Args:
        contacts: the fingers.
        center: about which moments are meant, such as the mass center, m.
        length: by which moments are divided, m; by default the farthest contact from the center.
        planar: whether only x, y and the turn about z count.
        edges: of each pyramid of friction, 3 or more.

    >>> fingers = [FingerContact((x, 0, 0), (-x, 0, 0), torsion=0.01) for x in (0.05, -0.05)]
    >>> Grasp(fingers)
    Grasp(2 fingers, force closure, quality 0.184)
    """

    contacts: Sequence[FingerContact]
    center: Sequence[float] = (0.0, 0.0, 0.0)
    length: float | None = None
    planar: bool = False
    edges: int = EDGES
    _held: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "contacts", tuple(self.contacts))
        if not self.contacts:
            raise InputError("a grasp without fingers", remedy="give one FingerContact or more")
        if not all(isinstance(c, FingerContact) for c in self.contacts):
            raise InputError("a finger of a grasp is none", remedy="give FingerContacts")
        middle = np.asarray(self.center, dtype=float).ravel()
        if middle.shape != (3,) or not np.isfinite(middle).all():
            raise InputError(
                f"the center is {brief(self.center)}, which is not three finite numbers",
                remedy="give its place in m, such as (0, 0, 0.1)",
            )
        if self.length is not None:
            checked(self.length, "the length", above=0)
        if not 3 <= self.edges <= 256:
            raise InputError(f"{self.edges} edges make no pyramid", remedy="give 3 to 256")

    def __repr__(self) -> str:
        count = len(self.contacts)
        fingers = "1 finger" if count == 1 else f"{count} fingers"
        return f"Grasp({fingers}, {self.words}, quality {self.quality:.3g})"

    # -- wrenches ----------------------------------------------------------------------------------
    @property
    def components(self) -> tuple[int, ...]:
        """Which of the six components of a wrench count."""
        return PLANE if self.planar else tuple(range(6))

    @property
    def scale(self) -> float:
        """The length by which moments are divided, m."""
        if self.length is not None:
            return self.length
        arms = [math.dist(c.at, self.center) for c in self.contacts]
        return max(arms) or 1.0

    def _arms(self) -> Array:
        return np.asarray(np.array([c.at for c in self.contacts], float) - self.center)

    @property
    def matrix(self) -> Array:
        """The grasp matrix, 6 x 4 n: the wrench of unit normal and tangent forces, and moments.

        Each finger has four columns: normal, two tangents, and the moment about the normal; those
        that it cannot pass on are zero. Forces in N, moments in N*m about the center.
        """
        columns = []
        for contact, arm in zip(self.contacts, self._arms(), strict=True):
            for k, axis in enumerate(contact.axes.T):
                known = k == 0 or contact.friction > 0
                columns.append(np.concatenate([axis, np.cross(arm, axis)]) * known)
            twist = np.concatenate([np.zeros(3), contact.direction])
            columns.append(twist * (contact.torsion > 0))
        return np.array(columns).T + 0.0

    def wrenches(self, *, friction: bool = True) -> Array:
        """Return the extreme wrenches of unit normal forces: rows, moments divided by the scale.

        Args:
            friction: whether the fingers have theirs.
        """
        key = f"wrenches {friction}"
        if key not in self._held:
            rows = []
            for contact, arm in zip(self.contacts, self._arms(), strict=True):
                given = self._edges(contact) if friction else _normal(contact)
                forces, moments = given[:, :3], given[:, 3:]
                moments = moments + np.cross(arm, forces)
                rows.append(np.concatenate([forces, moments / self.scale], axis=1))
            self._held[key] = np.concatenate(rows)[:, self.components]
        return np.asarray(self._held[key])

    def _edges(self, contact: FingerContact) -> Array:
        """Return extreme forces; in a plane these are the two edges of the cone."""
        if not self.planar:
            return contact.edges(self.edges)
        n = contact.direction
        if abs(n[2]) > 1e-9:
            raise InputError(
                "a finger of a planar grasp pushes out of the plane",
                remedy="give normals without z",
            )
        if contact.friction == 0:
            return _normal(contact)
        side = np.array([-n[1], n[0], 0.0])
        forces = n + contact.friction * np.array([side, -side])
        return np.concatenate([forces, np.zeros_like(forces)], axis=1)

    # -- closure -----------------------------------------------------------------------------------
    @property
    def closure(self) -> str:
        """ "form", "force" or "none": form closure needs no friction."""
        if "closure" not in self._held:
            found = "none"
            if _closed(self.wrenches(friction=False)):
                found = "form"
            elif _closed(self.wrenches()):
                found = "force"
            self._held["closure"] = found
        return str(self._held["closure"])

    @property
    def words(self) -> str:
        """The closure in words."""
        return "no closure" if self.closure == "none" else f"{self.closure} closure"

    @property
    def quality(self) -> float:
        """The radius of the largest ball about zero in the hull of wrenches, N; 0 if not closed."""
        if "quality" not in self._held:
            self._held["quality"] = _ball(self.wrenches()) if self.closure != "none" else 0.0
        return float(self._held["quality"])

    @property
    def volume(self) -> float:
        """The volume of the hull of wrenches, which does not depend on where moments are taken."""
        from scipy.spatial import ConvexHull

        return float(ConvexHull(self.wrenches()).volume) if self.closure != "none" else 0.0

    # -- forces ------------------------------------------------------------------------------------
    @worded
    def forces(
        self, wrench: ArrayLike, *, min_force: float = 0.0, max_force: float = math.inf
    ) -> Array:
        """Return finger forces that hold the object against a wrench: rows of f and m, N and N*m.

        The largest normal force is as small as can be. Where the wrench cannot be held, there is
        an error.

        Args:
            wrench: what acts on the object besides the fingers, force and moment about the center.
            min_force: normal force of each finger at least, N.
            max_force: normal force of each finger at most, N.

        >>> fingers = [FingerContact((x, 0, 0), (-x, 0, 0), torsion=0.01) for x in (0.05, -0.05)]
        >>> Grasp(fingers).forces([0, 0, -9.81, 0, 0, 0])[:, 0].round(2)
        array([-9.81,  9.81])
        """
        from scipy.optimize import linprog

        load = np.asarray(wrench, dtype=float).ravel()
        if load.shape != (6,) or not np.isfinite(load).all():
            raise InputError(
                f"the wrench is {brief(wrench)}, which is not six finite numbers",
                remedy="give force and moment, such as [0, 0, -9.81, 0, 0, 0]",
            )
        parts = [self._edges(c) for c in self.contacts]
        counts = [len(p) for p in parts]
        size = sum(counts) + 1
        scaled = np.concatenate([load[:3], load[3:] / self.scale])[list(self.components)]
        equal = np.column_stack([self.wrenches().T, np.zeros(len(self.components))])
        above, right = [], []
        for k in range(len(parts)):
            row = np.zeros(size)
            row[sum(counts[:k]) : sum(counts[: k + 1])] = 1.0
            above += [np.concatenate([row[:-1], [-1.0]]), -row]
            right += [0.0, -min_force]
        cost = np.zeros(size)
        cost[-1] = 1.0
        bounds = [(0, None)] * (size - 1) + [(0, max_force if math.isfinite(max_force) else None)]
        found = linprog(cost, A_ub=np.array(above), b_ub=right, A_eq=equal, b_eq=-scaled,
                        bounds=bounds, method="highs")  # fmt: skip
        if found.status != 0:
            raise DomainError(
                f"this grasp ({self.words}) cannot hold the wrench",
                remedy="allow more force, or choose another grasp",
            )
        share = np.split(found.x[:-1], np.cumsum(counts)[:-1])
        return np.array([x @ p for x, p in zip(share, parts, strict=True)]) + 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return the grasp as plain data."""
        return {
            "closure": self.closure,
            "quality": self.quality,
            "volume": self.volume,
            "length_m": self.scale,
            "contacts": [
                {
                    "at_m": list(c.at),
                    "normal": c.direction.tolist(),
                    "friction": c.friction,
                    "torsion_m": c.torsion,
                }
                for c in self.contacts
            ],
        }


def _normal(contact: FingerContact) -> Array:
    return np.concatenate([contact.direction, np.zeros(3)])[None]


def _closed(rows: Array) -> bool:
    """Say whether wrenches span their space, and a positive combination of all of them is zero."""
    from scipy.optimize import linprog

    size, space = rows.shape
    if size <= space or np.linalg.matrix_rank(rows, tol=_RANK * np.linalg.norm(rows, 2)) < space:
        return False
    cost = np.zeros(size + 1)
    cost[-1] = -1.0
    equal = np.zeros((space + 1, size + 1))
    equal[:space, :size], equal[space, :size] = rows.T, 1.0
    above = np.column_stack([-np.eye(size), np.ones(size)])
    found = linprog(cost, A_ub=above, b_ub=np.zeros(size), A_eq=equal,
                    b_eq=np.r_[np.zeros(space), 1.0], bounds=[(0, None)] * size + [(None, None)],
                    method="highs")  # fmt: skip
    return bool(found.status == 0 and found.x[-1] > _CLOSED)


def _ball(rows: Array) -> float:
    """Return the distance from zero to the nearest facet of the hull; 0 outside."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        facets = ConvexHull(rows).equations
    except QhullError:
        return 0.0
    return float(max(0.0, -facets[:, -1].max()))
