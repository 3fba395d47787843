"""All motions, one line each. A new one is added here; text models and tests find it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linkwright.motion.blends import blended
from linkwright.motion.chains import ChainMotion, FrameProduct
from linkwright.motion.online import online
from linkwright.motion.optimal import time_optimal
from linkwright.motion.sines import Sines, minimum_jerk
from linkwright.motion.trajectory import Trajectory, hermite, point_to_point, through, via_points

MOTIONS: tuple[Callable[..., Any], ...] = (
    ChainMotion,
    FrameProduct,
    Sines,
    Trajectory,
    blended,
    hermite,
    minimum_jerk,
    online,
    point_to_point,
    through,
    time_optimal,
    via_points,
)
"""What returns a motion with a `block`, or a block that moves."""
