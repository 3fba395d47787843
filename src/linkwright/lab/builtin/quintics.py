"""Minimum jerk from any state to any state, taken up anew at each tick: for numbers and symbols.

The quintic from place, speed and acceleration now to those at the goal in the time that is left is
gone for one tick (SL's technical report, section 3.7: the restartable form). From rest to rest over
T it is x0 + D (10 s^3 - 15 s^4 + 6 s^5), s = t/T, with a peak speed of 1.875 D/T (Flash and Hogan
1985); a goal that changes bends the motion without a jump of the acceleration.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwright.base.rotations import quaternion_product
from linkwright.lab.functions import atan2, cos, sin, sqrt, where

_TINY = 1e-300


def gone_on(way: Any, v: Any, a: Any, goal_v: Any, goal_a: Any, left: Any, h: float) -> Any:
    """Return how far a quintic goes in a tick, and the speed and acceleration then.

    Units: `left` in s, `h` in s.

    >>> x, v, a, left = 0.0, 0.0, 0.0, 1.0
    >>> while left > 0.5 + 1e-9:
    ...     dx, v, a = gone_on(1.0 - x, v, a, 0.0, 0.0, left, 0.01)
    ...     x, left = x + dx, left - 0.01
    >>> round(float(x), 9), round(float(v), 9)
    (0.5, 1.875)
    """
    c3 = (20 * way - (8 * goal_v + 12 * v) * left - (3 * a - goal_a) * left**2) / (2 * left**3)
    c4 = (-30 * way + (14 * goal_v + 16 * v) * left + (3 * a - 2 * goal_a) * left**2) / (
        2 * left**4
    )
    c5 = (12 * way - 6 * (goal_v + v) * left - (a - goal_a) * left**2) / (2 * left**5)
    step = h * (v + h * (a / 2 + h * (c3 + h * (c4 + h * c5))))
    speed = v + h * (a + h * (3 * c3 + h * (4 * c4 + 5 * h * c5)))
    return step, speed, a + h * (6 * c3 + h * (12 * c4 + 20 * h * c5))


def way_to(turn: Any, goal: Any) -> Any:
    """Return the rotation vector from one unit quaternion (w, x, y, z) to another, the short way.

    >>> half = np.sqrt(0.5)
    >>> way_to(np.array([1.0, 0, 0, 0]), np.array([half, 0, 0, half])).round(6).tolist()
    [0.0, 0.0, 1.570796]
    """
    w, x, y, z = turn
    a, b, c, d = goal
    cosine = a * w + b * x + c * y + d * z
    sines = np.array(
        [
            b * w - a * x - c * z + d * y,
            c * w - a * y - d * x + b * z,
            d * w - a * z - b * y + c * x,
        ]
    )
    side = where(cosine < 0, -1, 1)
    size = sqrt(sines[0] ** 2 + sines[1] ** 2 + sines[2] ** 2 + _TINY)
    return sines * (2 * side * atan2(size, side * cosine) / size)


def turned(turn: Any, step: Any) -> Any:
    """Return a unit quaternion turned by a rotation vector along the world's axes.

    >>> turned(np.array([1.0, 0, 0, 0]), np.array([0, 0, np.pi])).round(6).tolist()
    [0.0, 0.0, 0.0, 1.0]
    """
    size = sqrt(step[0] ** 2 + step[1] ** 2 + step[2] ** 2 + _TINY)
    a, (b, c, d) = cos(size / 2), step * (sin(size / 2) / size)
    found = quaternion_product([a, b, c, d], turn)
    return found / sqrt(found[0] ** 2 + found[1] ** 2 + found[2] ** 2 + found[3] ** 2)
