"""What a tool carries: a body of known mass, or all bodies of up to a mass inside a box."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwright.base.arguments import worded
from linkwright.base.rotations import inertia_tensor, point_inertia
from linkwright.motion.trajectory import MotionError

Triple = tuple[float, float, float]
Six = tuple[float, float, float, float, float, float]


@dataclass(frozen=True, slots=True)
class Payload:
    """What a tool carries, in the axes of the tool's frame.

    Args:
        mass: kg, of a known body.
        center: of mass, m; for bodies in a box, the middle of the box.
        inertia: about the center of mass: xx, yy, zz, xy, yz, zx, kg*m^2.
        up_to: kg; every body of at most this mass inside the box may be carried, for worst cases.
        box: lengths of the edges of that box along x, y and z, m.

    Example:
        >>> Payload(3.0, center=(0, 0, 0.1)).parameters[:4]
        array([3. , 0. , 0. , 0.3])
        >>> Payload(up_to=3.0, box=(0.1, 0.1, 0.15)).corners.shape
        (8, 3)
    """

    mass: float = 0.0
    center: Triple = (0.0, 0.0, 0.0)
    inertia: Six = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    up_to: float | None = None
    box: Triple | None = None

    @worded
    def __init__(
        self,
        mass: float = 0.0,
        center: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: Sequence[float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        *,
        up_to: float | None = None,
        box: Sequence[float] | None = None,
    ) -> None:
        if (up_to is None) != (box is None) or (up_to is not None and mass):
            raise MotionError(
                "a payload has a mass, or it has up_to and box together",
                remedy="Payload(3.0, center=...) or Payload(up_to=3.0, box=(0.1, 0.1, 0.15))",
                code="R209",
            )
        heavy = _number(mass if up_to is None else up_to, "the mass of a payload", least=0.0)
        object.__setattr__(self, "mass", 0.0 if up_to is not None else heavy)
        object.__setattr__(self, "center", _row(center, "the center of a payload", 3))
        object.__setattr__(self, "inertia", _row(inertia, "the inertia of a payload", 6))
        object.__setattr__(self, "up_to", None if up_to is None else heavy)
        edges = None if box is None else _row(box, "the box of a payload", 3)
        if edges is not None and min(edges) < 0:
            raise MotionError("the edges of a box are not below zero", code="R209")
        object.__setattr__(self, "box", edges)
        self._refuse_unreal()

    def _refuse_unreal(self) -> None:
        """Reject inertias that no body has: negative, or against the triangle inequality."""
        tensor = inertia_tensor(self.inertia)
        second = 0.5 * np.trace(tensor) * np.eye(3) - tensor
        least = float(np.linalg.eigvalsh(second)[0])
        if least < -1e-9 * (abs(float(np.trace(tensor))) or 1.0):
            raise MotionError(
                f"no body has the inertia {self.inertia}",
                remedy="each principal moment is at most the sum of the two others",
                code="R209",
            )

    @property
    def parameters(self) -> NDArray[np.float64]:
        """The ten inertial parameters about the frame's origin: m, m c, Ixx, Ixy, Iyy, Ixz, Iyz,
        Izz."""
        m, c = self.mass, np.array(self.center)
        tensor = inertia_tensor(self.inertia)
        moved = tensor + m * point_inertia(c)
        order = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
        return np.array([m, *(m * c), *(moved[i, j] for i, j in order)])

    @property
    def corners(self) -> NDArray[np.float64]:
        """The corners of the box, m; the center alone for a body that is known."""
        middle = np.array(self.center)
        if self.box is None:
            return middle[None]
        signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1], indexing="ij")).reshape(3, 8).T
        return np.asarray(middle + 0.5 * signs * np.array(self.box))


def payload_of(given: Payload | float) -> Payload:
    """Return a payload; a number is a point mass in the frame's origin, kg.

    >>> payload_of(2.0).mass
    2.0
    """
    if isinstance(given, Payload):
        return given
    return Payload(given)


def _number(value: object, what: str, least: float = -math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise MotionError(f"{what} is a number, not {value!r}", code="R209")
    if not least <= float(value) < math.inf:
        raise MotionError(
            f"{what} is {float(value):g}",
            remedy="give a finite number, not below zero",
            code="R209",
        )
    return float(value)


def _row(values: Sequence[float], what: str, count: int) -> tuple[float, ...]:
    try:
        found = tuple(float(x) for x in values)
    except (TypeError, ValueError):
        found = ()
    if len(found) != count or not all(map(math.isfinite, found)):
        raise MotionError(f"{what} is {count} finite numbers", code="R209")
    return found
