"""Controllers and filters, as blocks and elements of a System."""

from typing import Any

from linkwright.control.axis import (
    AxisCoefficients,
    AxisController,
    AxisError,
    AxisMode,
    RoundedCoefficients,
    axis_coefficients,
    integer_coefficients,
    notch_coefficients,
    pid_coefficients,
)
from linkwright.control.computed_torque import ComputedTorque, Feedforward
from linkwright.control.consistency import Whiteness, consistency_band, inside, whiteness
from linkwright.control.covariances import Correction, corrected, intersected, predicted
from linkwright.control.filters import LeadLag, StateSpace, TransferFunction
from linkwright.control.force import ForceControl, Hybrid, PositionCompensation
from linkwright.control.force.admittance import Admittance
from linkwright.control.force.flexible_joints import FlexibleJointControl
from linkwright.control.force.impedance import Impedance, Stiffness
from linkwright.control.force.momentum_observer import MomentumObserver
from linkwright.control.force.operational_hybrid import OperationalHybrid
from linkwright.control.force.passivity import PassivityObserver
from linkwright.control.force.thresholds import residual_bounds
from linkwright.control.four_joint_wrist import FourJointWrist
from linkwright.control.joints import JointController, driven_joints
from linkwright.control.kalman_filter import KalmanFilter, SteadyKalmanFilter
from linkwright.control.linear import (
    LQR,
    Gain,
    Observer,
    StateFeedback,
    StateModel,
    discretized,
    dlqe,
    dlqr,
    lqe,
    lqr,
)
from linkwright.control.models import inverse_dynamics
from linkwright.control.pid import PID, JointPID, PidGains, PidParts, PidTerms, pid_law, pid_parts
from linkwright.control.registry import CONTROLLERS
from linkwright.control.servo import PD, GravityCompensation, saturated
from linkwright.control.step_model import Measurement
from linkwright.control.visual_compensator import (
    VisualCompensator,
    tracking_gain_limit,
    tracking_poles,
)
from linkwright.control.visual_interaction import (
    moment_interaction,
    place_interaction,
    point_interaction,
)
from linkwright.control.visual_moments import ImageMoments
from linkwright.control.visual_points import ImagePoints
from linkwright.control.visual_predictor import VisualPredictor
from linkwright.lazy import lazy_names

__all__ = [
    "CONTROLLERS",
    "LQR",
    "PD",
    "PID",
    "Admittance",
    "AxisCoefficients",
    "AxisController",
    "AxisError",
    "AxisMode",
    "ComputedTorque",
    "Correction",
    "Feedforward",
    "FlexibleJointControl",
    "ForceControl",
    "FourJointWrist",
    "Gain",
    "GravityCompensation",
    "Hybrid",
    "ImageMoments",
    "ImagePoints",
    "Impedance",
    "JointController",
    "JointPID",
    "KalmanFilter",
    "LeadLag",
    "Measurement",
    "MomentumObserver",
    "Observer",
    "OperationalHybrid",
    "PassivityObserver",
    "PidGains",
    "PidParts",
    "PidTerms",
    "PositionCompensation",
    "RoundedCoefficients",
    "StateFeedback",
    "StateModel",
    "StateSpace",
    "SteadyKalmanFilter",
    "Stiffness",
    "TransferFunction",
    "VisualCompensator",
    "VisualPredictor",
    "Whiteness",
    "axis_coefficients",
    "consistency_band",
    "corrected",
    "discretized",
    "dlqe",
    "dlqr",
    "driven_joints",
    "inside",
    "integer_coefficients",
    "intersected",
    "inverse_dynamics",
    "kalman",
    "lqe",
    "lqr",
    "moment_interaction",
    "notch_coefficients",
    "pid_coefficients",
    "pid_law",
    "pid_parts",
    "place_interaction",
    "point_interaction",
    "predicted",
    "residual_bounds",
    "saturated",
    "tracking_gain_limit",
    "tracking_poles",
    "whiteness",
]

_above = lazy_names(__name__, {"linkwright.analysis.estimation": ("kalman",)})


def __getattr__(name: str) -> Any:
    """Return `kalman`, which knows Systems and therefore lives above this package."""
    return _above(name)
