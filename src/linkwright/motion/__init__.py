"""Motion: trajectories as expressions of time, and the fastest of them."""

from linkwright.motion import cycles
from linkwright.motion.blends import (
    CartesianMotion,
    PoseTransform,
    blended,
    cartesian,
    pose_transform,
)
from linkwright.motion.chains import (
    ArmMotion,
    ChainMotion,
    FrameProduct,
    SampledIK,
    ToolKinematics,
    ToolPose,
)
from linkwright.motion.limits import Limits, voltage_line
from linkwright.motion.online import online
from linkwright.motion.optimal import time_optimal, time_optimal_batch
from linkwright.motion.payloads import Payload
from linkwright.motion.registry import MOTIONS
from linkwright.motion.sines import Sines, minimum_jerk
from linkwright.motion.slowing import Slowing, slowing
from linkwright.motion.task_parts import Dwell, Follow, LoadProfile, Move, TaskSegment, ToolLine
from linkwright.motion.tasks import Task
from linkwright.motion.trajectory import (
    MotionError,
    Trajectory,
    hermite,
    point_to_point,
    through,
    via_points,
)

__all__ = [
    "MOTIONS",
    "ArmMotion",
    "CartesianMotion",
    "ChainMotion",
    "Dwell",
    "Follow",
    "FrameProduct",
    "Limits",
    "LoadProfile",
    "MotionError",
    "Move",
    "Payload",
    "PoseTransform",
    "SampledIK",
    "Sines",
    "Slowing",
    "Task",
    "TaskSegment",
    "ToolKinematics",
    "ToolLine",
    "ToolPose",
    "Trajectory",
    "blended",
    "cartesian",
    "cycles",
    "hermite",
    "minimum_jerk",
    "online",
    "point_to_point",
    "pose_transform",
    "slowing",
    "through",
    "time_optimal",
    "time_optimal_batch",
    "via_points",
    "voltage_line",
]
