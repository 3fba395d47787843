from linkwright.sizing.requirements.limits import Excess as Excess
from linkwright.sizing.requirements.poses import WorstPose as WorstPose, worst_pose as worst_pose
from linkwright.sizing.requirements.rainflow import LoadCycle as LoadCycle, rainflow as rainflow
from linkwright.sizing.requirements.require import require as require
from linkwright.sizing.requirements.requirement import (
    JointInfo as JointInfo,
    Requirement as Requirement,
    RequirementError as RequirementError,
)
from linkwright.sizing.requirements.screening import Screening as Screening, screen as screen
from linkwright.sizing.requirements.sensitivity import Sensitivity as Sensitivity
from linkwright.sizing.requirements.statistics import Statistic as Statistic
from linkwright.sizing.requirements.worst import Worst as Worst, WorstCase as WorstCase
