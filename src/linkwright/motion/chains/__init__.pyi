from linkwright.motion.chains.arm import CAUSES as CAUSES, ArmMotion as ArmMotion
from linkwright.motion.chains.chain import ChainMotion as ChainMotion
from linkwright.motion.chains.goals import GOALS as GOALS, REASONS as REASONS, Goal as Goal
from linkwright.motion.chains.solver import (
    FrameProduct as FrameProduct,
    SampledIK as SampledIK,
    ToolKinematics as ToolKinematics,
    ToolPose as ToolPose,
)
