from linkwright.analysis.requirements.limits import Excess as Excess
from linkwright.analysis.requirements.poses import WorstPose as WorstPose, worst_pose as worst_pose
from linkwright.analysis.requirements.rainflow import LoadCycle as LoadCycle, rainflow as rainflow
from linkwright.analysis.requirements.require import require as require
from linkwright.analysis.requirements.requirement import (
    JointInfo as JointInfo,
    Requirement as Requirement,
    RequirementError as RequirementError,
)
from linkwright.analysis.requirements.screening import Screening as Screening, screen as screen
from linkwright.analysis.requirements.sensitivity import Sensitivity as Sensitivity
from linkwright.analysis.requirements.statistics import Statistic as Statistic
from linkwright.analysis.requirements.worst import Worst as Worst, WorstCase as WorstCase
