"""Chains of legs as sampled blocks: goals come while they run, and nothing waits for Python."""

from linkwright.motion.chains.arm import CAUSES, ArmMotion
from linkwright.motion.chains.chain import ChainMotion
from linkwright.motion.chains.goals import GOALS, REASONS, Goal
from linkwright.motion.chains.solver import FrameProduct, SampledIK, ToolKinematics, ToolPose

__all__ = [
    "CAUSES",
    "GOALS",
    "REASONS",
    "ArmMotion",
    "ChainMotion",
    "FrameProduct",
    "Goal",
    "SampledIK",
    "ToolKinematics",
    "ToolPose",
]
