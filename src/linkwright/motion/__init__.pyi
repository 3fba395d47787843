from linkwright.motion import cycles as cycles
from linkwright.motion.blends import (
    CartesianMotion as CartesianMotion,
    PoseTransform as PoseTransform,
    blended as blended,
    cartesian as cartesian,
    pose_transform as pose_transform,
)
from linkwright.motion.chains import (
    ArmMotion as ArmMotion,
    ChainMotion as ChainMotion,
    FrameProduct as FrameProduct,
    SampledIK as SampledIK,
    ToolKinematics as ToolKinematics,
    ToolPose as ToolPose,
)
from linkwright.motion.limits import Limits as Limits, voltage_line as voltage_line
from linkwright.motion.online import online as online
from linkwright.motion.optimal import (
    time_optimal as time_optimal,
    time_optimal_batch as time_optimal_batch,
)
from linkwright.motion.payloads import Payload as Payload
from linkwright.motion.registry import MOTIONS as MOTIONS
from linkwright.motion.sines import Sines as Sines, minimum_jerk as minimum_jerk
from linkwright.motion.slowing import Slowing as Slowing, slowing as slowing
from linkwright.motion.task_parts import (
    Dwell as Dwell,
    Follow as Follow,
    LoadProfile as LoadProfile,
    Move as Move,
    TaskSegment as TaskSegment,
    ToolLine as ToolLine,
)
from linkwright.motion.tasks import Task as Task
from linkwright.motion.trajectory import (
    MotionError as MotionError,
    Trajectory as Trajectory,
    hermite as hermite,
    point_to_point as point_to_point,
    through as through,
    via_points as via_points,
)
