"""Contacts of a robot with what it stands on, as a whole-body controller sees them.

A contact is a few points of one frame. They are at rest; the force at each is along the normal and
never pulls, and stays in a pyramid within the cone of friction: with the tangents s and t and the
normal n, |f s| and |f t| are at most mu f n / sqrt(2), so that the force is in the cone itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import InputError, ShapeError
from linkwright.base.reprs import brief
from linkwright.blocks import checked

if TYPE_CHECKING:
    from linkwright.robots.robot import Robot

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FlatContact:
    """A foot, a hand or a knee that rests on something flat.

    Args:
        frame: the name of the robot's frame that touches.
        points: where it touches, in that frame, m; its origin alone by default.
        normal: the direction in which it is pushed, in the world.
        friction: the coefficient, or None for that of the controller.
        max_force: the greatest normal force on all its points, N.
        share: the part of `max_force` that it may carry at a time in s, from 0 to 1; at 0 the
            contact is open. A share that goes to 0 evenly lets a foot off without a jump.

    >>> FlatContact(
    ...     "left_foot", points=[(0.1, 0.05, 0), (0.1, -0.05, 0), (-0.1, 0, 0)]
    ... ).friction
    """

    frame: str
    points: Sequence[Sequence[float]] = ((0.0, 0.0, 0.0),)
    normal: Sequence[float] = (0.0, 0.0, 1.0)
    friction: float | None = None
    max_force: float = math.inf
    share: Callable[[float], float] | None = None

    def __post_init__(self) -> None:
        what = f"contact {self.frame!r}"
        if self.friction is not None:
            checked(self.friction, f"friction of {what}", above=0)
        checked(self.max_force, f"max_force of {what}", above=0, finite=False)
        if not len(self.points):
            raise InputError(f"{what} has no points", remedy="give one or more, in its frame")
        for row in (*self.points, self.normal):
            if np.shape(row) != (3,) or not np.isfinite(np.asarray(row, dtype=float)).all():
                raise InputError(f"a point or the normal of {what} is {row!r}; give x, y, z")
        if math.hypot(*self.normal) < 1e-9:
            raise InputError(f"the normal of {what} is zero", remedy="give a direction")

    def part(self, t: float) -> float:
        """Return the part of the greatest force that it may carry at a time, s."""
        if self.share is None:
            return 1.0
        value = float(self.share(t))
        if not 0.0 <= value <= 1.0:
            raise InputError(f"share of contact {self.frame!r} is {value:g} at {t:g} s, not 0 to 1")
        return value

    def axes(self) -> Array:
        """Return two tangents and the normal as rows, orthonormal."""
        n = np.asarray(self.normal, dtype=float) / math.hypot(*self.normal)
        s = np.cross(np.eye(3)[int(np.argmin(np.abs(n)))], n)
        s /= np.linalg.norm(s)
        return np.stack([s, np.cross(n, s), n])


def checked_robot(given: Any) -> Robot:
    """Return a robot, or say that something else is none."""
    from linkwright.robots.robot import Robot

    if not isinstance(given, Robot):
        raise InputError(
            f"{brief(given)} is not a robot",
            remedy="give one that lw.load has read, or lw.Robot(a mechanism)",
        )
    return given


def finite_state(robot: Robot, **given: ArrayLike) -> list[Array]:
    """Return coordinates, speeds and accelerations of a robot, or say what is wrong with them."""
    found = []
    for name, values in given.items():
        row = np.asarray(values, dtype=float)
        size = len(robot.coordinates if name == "q" else robot.speeds)
        if row.shape != (size,):
            order = "coordinates" if name == "q" else "speeds"
            raise ShapeError(
                f"{name} has the shape {row.shape}, not ({size},)",
                remedy=f"give numbers in the order of robot.{order}",
            )
        if not np.isfinite(row).all():
            raise InputError(f"{name} has a number that is not finite")
        found.append(row)
    return found


def checked_contacts(
    robot: Robot, given: str | FlatContact | Sequence[str | FlatContact], friction: float
) -> tuple[FlatContact, ...]:
    """Return contacts with their friction, and reject frames that the robot does not have."""
    contacts = []
    for item in [given] if isinstance(given, str | FlatContact) else given:
        contact = item if isinstance(item, FlatContact) else FlatContact(item)
        robot.point(contact.frame)  # which says what is wrong
        contacts.append(
            FlatContact(
                contact.frame,
                contact.points,
                contact.normal,
                friction if contact.friction is None else contact.friction,
                contact.max_force,
                contact.share,
            )
        )
    names = [c.frame for c in contacts]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            f"contact {twice[0]!r} is given twice", remedy="give one contact with all its points"
        )
    return tuple(contacts)
