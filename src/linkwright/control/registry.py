"""All controllers, one line each. A new one is added here, and the battery of tests finds it."""

from __future__ import annotations

from linkwright.blocks.kinds import Kind
from linkwright.control.axis.controller import AxisController
from linkwright.control.computed_torque import ComputedTorque, Feedforward
from linkwright.control.filters import LeadLag, StateSpace, TransferFunction
from linkwright.control.force.admittance import Admittance
from linkwright.control.force.flexible_joints import FlexibleJointControl
from linkwright.control.force.force_control import ForceControl
from linkwright.control.force.hybrid import Hybrid
from linkwright.control.force.impedance import Impedance, Stiffness
from linkwright.control.force.momentum_observer import MomentumObserver
from linkwright.control.force.operational_hybrid import OperationalHybrid
from linkwright.control.force.passivity import PassivityObserver
from linkwright.control.force.position_compensation import PositionCompensation
from linkwright.control.four_joint_wrist import FourJointWrist
from linkwright.control.kalman_filter import KalmanFilter, SteadyKalmanFilter
from linkwright.control.linear import LQR, Observer, StateFeedback
from linkwright.control.pid import PID, JointPID
from linkwright.control.servo import PD, GravityCompensation
from linkwright.control.visual_compensator import VisualCompensator
from linkwright.control.visual_moments import ImageMoments
from linkwright.control.visual_points import ImagePoints
from linkwright.control.visual_predictor import VisualPredictor

CONTROLLERS = (
    Kind(Admittance, passive=True),
    Kind(AxisController, passive=True),
    Kind(ComputedTorque),
    Kind(Feedforward),
    Kind(FlexibleJointControl),
    Kind(ForceControl, passive=True),
    Kind(FourJointWrist, passive=True),
    Kind(GravityCompensation),
    Kind(Hybrid, passive=True),
    Kind(ImageMoments, passive=True),
    Kind(ImagePoints, passive=True),
    Kind(Impedance),
    Kind(JointPID),
    Kind(KalmanFilter, passive=True),
    Kind(LQR),
    Kind(LeadLag, passive=True),
    Kind(MomentumObserver),
    Kind(Observer, passive=True),
    Kind(OperationalHybrid),
    Kind(PD, passive=True),
    Kind(PID, passive=True),
    Kind(PassivityObserver),
    Kind(PositionCompensation, passive=True),
    Kind(StateFeedback),
    Kind(StateSpace, passive=True),
    Kind(SteadyKalmanFilter, passive=True),
    Kind(Stiffness),
    Kind(TransferFunction, passive=True),
    Kind(VisualCompensator, passive=True),
    Kind(VisualPredictor, passive=True),
)
"""Every kind of controller."""
