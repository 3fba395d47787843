"""Controllers, as blocks and elements of a System."""

from linkwright.control.computed_torque import ComputedTorque, Feedforward
from linkwright.control.filters import LeadLag, StateSpace, TransferFunction
from linkwright.control.joints import JointController, driven_joints
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
from linkwright.control.pid import PID, JointPID, PidGains, pid_law
from linkwright.control.registry import CONTROLLERS
from linkwright.control.servo import PD, GravityCompensation, saturated

__all__ = [
    "CONTROLLERS",
    "LQR",
    "PD",
    "PID",
    "ComputedTorque",
    "Feedforward",
    "Gain",
    "GravityCompensation",
    "JointController",
    "JointPID",
    "LeadLag",
    "Observer",
    "PidGains",
    "StateFeedback",
    "StateModel",
    "StateSpace",
    "TransferFunction",
    "discretized",
    "dlqe",
    "dlqr",
    "driven_joints",
    "inverse_dynamics",
    "lqe",
    "lqr",
    "pid_law",
    "saturated",
]
