"""A PUMA 560 with a camera in its hand, which follows a plate with four discs.

The plate swings on springs, along the floor and about the vertical. The discs are to be seen where
they are when the hand stands 0.45 m above the plate and square to it; joint rates that take them
there come from the picture alone. A field is read out for one field's time.
"""

from __future__ import annotations

import math
from typing import Any

from linkwright.control import ComputedTorque, ImagePoints
from linkwright.elements import DiscTarget, JointSpring, PinholeCamera
from linkwright.mechanism.shapes import Box, Cylinder
from linkwright.models.puma560 import arm
from linkwright.system import System

_START = (0.11288, 1.2111, 2.69393, 0.0, -0.76343, -3.02872)
"""Of the joints: the hand points down, 0.45 m above the plate."""
_PLATE = (0.45, -0.1, 0.3)
_HEIGHT, _SIDE, _RADIUS, _THICK = 0.45, 0.06, 0.015, 0.005
_UNDER = 0.04
"""From the plate down to what it slides on, out of the camera's sight."""
_FOCAL, _PIXELS = (600.0, 560.0), 512
_SWINGS = (("rail", 1.5, 0.25), ("carriage", 1.0, 0.15), ("plate", 0.01, 0.2))
"""A coordinate of the plate, what swings with it (kg, kg*m^2), and how often a second."""


def build() -> System:
    """Return the arm with camera, law and servo.

    >>> list(build().members)[-3:]
    ['camera', 'image', 'servo']
    """
    m = arm(drives=False, torques=False, name="puma-sees")
    m.doc = "PUMA 560 arm with a camera in its hand that follows a plate"
    corners = [(-_SIDE, -_SIDE), (_SIDE, -_SIDE), (_SIDE, _SIDE), (-_SIDE, _SIDE)]
    marks = [Cylinder(_RADIUS, _THICK, at=(x, y, _THICK), color="navy") for x, y in corners]
    sled: dict[str, Any] = {"mass": 0.5, "inertia": 1e-3}
    x, y, z = _PLATE
    below = (x, y, z - _UNDER)
    rail = m.body("rail", translate="x", at=below, doc="slides along x, on a spring", **sled)
    carriage = m.body("carriage", parent=rail, translate="y", doc="slides along y", **sled)
    plate = m.body(
        "plate",
        parent=carriage,
        at=(0, 0, _UNDER),
        rotate="z",
        mass=0.5,
        inertia=(0.005, 0.005, 0.01),
        shape=[Box((0.2, 0.2, 2 * _THICK), color="paper"), *marks],
        doc="plate with four discs",
    )
    for name in ("rail", "carriage"):
        m.shape(name, Box((0.04, 0.04, 0.04), color="steel"))
    joints = [f"q{i}" for i in range(1, 7)]
    m.set_initial(dict(zip(joints, _START, strict=True)))
    m.set_initial({"rail": 0.08, "carriage": -0.05, "plate": 0.35})
    m.set_timing(8.0, step=0.002)
    s = System(m)
    for q, inertia, hertz in _SWINGS:
        stiffness = inertia * (2 * math.pi * hertz) ** 2
        s.add(JointSpring(m, q, stiffness), name=f"spring_{q}")
    top = 1.5 * _THICK
    discs = [DiscTarget(_RADIUS, body=plate, center=(x, y, top)) for x, y in corners]
    eye = s.add(
        PinholeCamera(
            m, "tool", discs, focal=_FOCAL, pixels=(_PIXELS, _PIXELS), readout=1, noise=0.1
        ),
        rate=60,
        name="camera",
    )
    far, middle = _HEIGHT - top, _PIXELS / 2
    wanted = [(middle + _FOCAL[0] * x / far, middle - _FOCAL[1] * y / far) for x, y in corners]
    law = ImagePoints(m, "tool", wanted, depth=far, joints=joints, focal=_FOCAL, gain=6.0)
    image = s.add(law, rate=60, name="image")
    servo = s.add(ComputedTorque(m, kp=2500, kd=100, joints=joints), rate=1000, name="servo")
    s.connect([eye.u[i] for i in range(4)], "image.u")
    s.connect([eye.v[i] for i in range(4)], "image.v")
    s.connect(eye.visible[0] * eye.visible[1] * eye.visible[2] * eye.visible[3], image.seen)
    s.connect(eye.count, image.field)
    s.connect(image.command, servo.target)
    s.connect(image.command_rate, servo.target_rate)
    return s
