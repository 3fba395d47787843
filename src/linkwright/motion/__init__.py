"""Motion: trajectories as expressions of time, and the fastest of them."""

from linkwright.motion.blends import CartesianMotion, Drive, blended, cartesian, drive
from linkwright.motion.optimal import Limits, time_optimal
from linkwright.motion.sines import Sines, minimum_jerk
from linkwright.motion.trajectory import (
    MotionError,
    Trajectory,
    hermite,
    point_to_point,
    through,
    via_points,
)

__all__ = [
    "CartesianMotion",
    "Drive",
    "Limits",
    "MotionError",
    "Sines",
    "Trajectory",
    "blended",
    "cartesian",
    "drive",
    "hermite",
    "minimum_jerk",
    "point_to_point",
    "through",
    "time_optimal",
    "via_points",
]
