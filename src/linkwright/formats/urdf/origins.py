"""Origins of URDF, with roll, pitch and yaw about the fixed x, then y, then z axis."""

from __future__ import annotations

import math

from linkwright.formats.robot.description import Place, Rotation, Triple
from linkwright.formats.robot.omissions import Leftovers
from linkwright.formats.robot.transforms import cosine_sine, quaternion_rotation
from linkwright.formats.robot.xml import XmlElement

NO_END = 1e9
"""A limit of a joint this large, in any unit, means that there is none: URDF has no other word."""


def rpy_rotation(roll: float, pitch: float, yaw: float) -> Rotation:
    """Return the matrix of a rotation; quarter turns come out exactly.

    Units: `roll` in rad, `pitch` in rad, `yaw` in rad.

    >>> rpy_rotation(0.0, 0.0, math.pi / 2)
    ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    """
    cr, sr = cosine_sine(roll)
    cp, sp = cosine_sine(pitch)
    cy, sy = cosine_sine(yaw)
    return (
        (cy * cp + 0.0, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp + 0.0, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        (0.0 - sp, cp * sr + 0.0, cp * cr + 0.0),
    )


def rotation_rpy(rotation: Rotation) -> Triple:
    """Return roll, pitch and yaw of a matrix; where pitch is a right angle, yaw is 0.

    Roll is taken from what is left after yaw, so that the two fit each other near that angle.

    >>> [round(x, 12) for x in rotation_rpy(rpy_rotation(0.1, -0.2, 0.3))]
    [0.1, -0.2, 0.3]
    """
    a, b, c = rotation
    cosine = math.hypot(a[0], b[0])
    pitch = math.atan2(-c[0], cosine)
    yaw = math.atan2(b[0], a[0]) if cosine > 1e-15 else 0.0
    cy, sy = cosine_sine(yaw)
    return math.atan2(sy * a[2] - cy * b[2], cy * b[1] - sy * a[1]), pitch, yaw


def place_of(element: XmlElement, left: Leftovers) -> Place:
    """Return the place that the ``<origin>`` in an element gives."""
    origin = element.one("origin")
    if origin is None:
        return Place()
    left.rest(origin, (), ("xyz", "rpy", "quat_xyzw"))
    position = origin.triple("xyz", (0.0, 0.0, 0.0))
    if "quat_xyzw" in origin.attributes:
        if "rpy" in origin.attributes:
            raise origin.error("both rpy and quat_xyzw are given", "keep one of them")
        x, y, z, w = origin.numbers("quat_xyzw", 4)
        largest = max(abs(v) for v in (x, y, z, w))
        if largest == 0.0:
            raise origin.error("quat_xyzw is zero", 'write "0 0 0 1" for no turn')
        parts = [v / largest for v in (w, x, y, z)]
        return Place(position, quaternion_rotation(parts))
    return Place(position, rpy_rotation(*origin.triple("rpy", (0.0, 0.0, 0.0))))
