"""Requirements: what a task asks of each joint of a robot."""

from linkwright.analysis.requirements.limits import Excess
from linkwright.analysis.requirements.poses import WorstPose, worst_pose
from linkwright.analysis.requirements.rainflow import LoadCycle, rainflow
from linkwright.analysis.requirements.require import require
from linkwright.analysis.requirements.requirement import JointInfo, Requirement, RequirementError
from linkwright.analysis.requirements.screening import Screening, screen
from linkwright.analysis.requirements.sensitivity import Sensitivity
from linkwright.analysis.requirements.statistics import Statistic
from linkwright.analysis.requirements.worst import Worst, WorstCase

__all__ = [
    "Excess",
    "JointInfo",
    "LoadCycle",
    "Requirement",
    "RequirementError",
    "Screening",
    "Sensitivity",
    "Statistic",
    "Worst",
    "WorstCase",
    "WorstPose",
    "rainflow",
    "require",
    "screen",
    "worst_pose",
]
