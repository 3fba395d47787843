"""Poles of three angles: where the first and third rotation are about one line.

A ball or free joint with three angles has the angular velocity as its speeds, and the rates of the
angles follow by a division by cos(q2) (by sin(q2) where the first and third axis are the same, as
in "zxz"). At the pole that is zero: a motion through it is smooth in space, but the angles jump,
steps of fixed length lose accuracy near it, and a linear model in angles does not exist there. A
quaternion has no pole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from linkwright.base.errors import DomainError
from linkwright.mechanism import Mechanism

NEAR = 0.1
"""Sine of the angle from a pole below which steps of fixed length lose accuracy."""

AT = 1e-6
"""The same, below which angles cannot determine how the body is turned."""

REMEDY = "describe the joint by a quaternion: Ball(quaternion=True), or quaternion = true in a text"


@dataclass(frozen=True, slots=True)
class Pole:
    """A joint with three angles."""

    body: str
    coordinate: str  # name of the second angle
    repeats: bool

    def distance(self, angle: ArrayLike) -> np.ndarray:
        """Return the sine of the angle from the pole.

        Units: `angle` in rad.

        >>> float(Pole("b", "b.ry", False).distance(0.0))
        1.0
        """
        found = np.sin(angle) if self.repeats else np.cos(angle)
        return np.asarray(np.abs(found))


def poles(mechanism: Mechanism) -> tuple[Pole, ...]:
    """Return the joints of a mechanism that have a pole.

    >>> from linkwright.mechanism import Ball
    >>> m = Mechanism("m")
    >>> a = m.body("a", joint=Ball("zxz"))
    >>> b = m.body("b", joint=Ball(quaternion=True))
    >>> poles(m)
    (Pole(body='a', coordinate='a.r2', repeats=True),)
    """
    return tuple(
        Pole(
            body.name,
            body.rotations[1].name,
            str(body.joint.rotate[0]) == str(body.joint.rotate[2]),
        )
        for body in mechanism.bodies.values()
        if len(body.rotations) == 3 and not body.joint.quaternion
    )


def pole_words(
    joints: Iterable[Pole], columns: Mapping[str, ArrayLike], times: ArrayLike, near: float = NEAR
) -> list[str]:
    """Return a sentence for each joint whose angles came near their pole.

    >>> pole_words([Pole("a", "a.ry", False)], {"a.ry": [0.0, 1.57]}, [0.0, 0.5])[0][:60]
    "the angles of 'a' came within 0.046 deg of their pole at t ="
    """
    found = []
    for pole in joints:
        if pole.coordinate not in columns:
            continue
        distance = pole.distance(columns[pole.coordinate])
        k = int(distance.argmin())
        if distance[k] < near:
            degrees = np.degrees(np.arcsin(distance[k]))
            found.append(
                f"the angles of {pole.body!r} came within {degrees:.2g} deg of their pole at t = "
                f"{np.asarray(times)[k]:.6g} s, where they lose accuracy; {REMEDY}"
            )
    return found


def refuse_pole(mechanism: Mechanism, coordinates: Mapping[str, float], what: str) -> None:
    """Reject what does not exist where the angles of a joint are at their pole.

    Units: `coordinates` in rad.
    """
    for pole in poles(mechanism):
        angle = coordinates.get(pole.coordinate)
        if angle is not None and float(pole.distance(angle)) < AT:
            raise DomainError(
                f"{what}: the angles of {pole.body!r} are at their pole "
                f"({pole.coordinate} = {np.degrees(angle):.6g} deg)",
                remedy=REMEDY,
            )
