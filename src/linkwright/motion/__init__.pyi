from linkwright.motion import cycles as cycles
from linkwright.motion.blends import (
    blended as blended,
    cartesian as cartesian,
)
from linkwright.motion.chains import (
    ArmMotion as ArmMotion,
    ChainMotion as ChainMotion,
)
from linkwright.motion.limits import Limits as Limits
from linkwright.motion.online import online as online
from linkwright.motion.optimal import (
    time_optimal as time_optimal,
    time_optimal_batch as time_optimal_batch,
)
from linkwright.motion.sines import Sines as Sines, minimum_jerk as minimum_jerk
from linkwright.motion.slowing import slowing as slowing
from linkwright.motion.task_parts import (
    Dwell as Dwell,
    Follow as Follow,
    LoadProfile as LoadProfile,
    Move as Move,
    TaskSegment as TaskSegment,
    ToolLine as ToolLine,
)
from linkwright.motion.trajectory import (
    Trajectory as Trajectory,
    hermite as hermite,
    point_to_point as point_to_point,
    through as through,
    via_points as via_points,
)
