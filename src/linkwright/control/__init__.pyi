from linkwright.base.hooks import kalman as kalman
from linkwright.control.axis import (
    AxisController as AxisController,
    integer_coefficients as integer_coefficients,
)
from linkwright.control.computed_torque import (
    ComputedTorque as ComputedTorque,
    Feedforward as Feedforward,
)
from linkwright.control.consistency import (
    consistency_band as consistency_band,
    inside as inside,
    whiteness as whiteness,
)
from linkwright.control.covariances import (
    correct as correct,
    intersect as intersect,
    predict as predict,
)
from linkwright.control.filters import (
    LeadLag as LeadLag,
    StateSpace as StateSpace,
    TransferFunction as TransferFunction,
)
from linkwright.control.force import (
    ForceControl as ForceControl,
    Hybrid as Hybrid,
    PositionCompensation as PositionCompensation,
)
from linkwright.control.force.admittance import Admittance as Admittance
from linkwright.control.force.flexible_joints import FlexibleJointControl as FlexibleJointControl
from linkwright.control.force.impedance import Impedance as Impedance, Stiffness as Stiffness
from linkwright.control.force.momentum_observer import MomentumObserver as MomentumObserver
from linkwright.control.force.operational_hybrid import OperationalHybrid as OperationalHybrid
from linkwright.control.force.passivity import PassivityObserver as PassivityObserver
from linkwright.control.force.thresholds import residual_bounds as residual_bounds
from linkwright.control.four_joint_wrist import FourJointWrist as FourJointWrist
from linkwright.control.kalman_filter import (
    KalmanFilter as KalmanFilter,
    SteadyKalmanFilter as SteadyKalmanFilter,
)
from linkwright.control.linear import (
    LQR as LQR,
    Observer as Observer,
    StateFeedback as StateFeedback,
    discretize as discretize,
    dlqe as dlqe,
    dlqr as dlqr,
    lqe as lqe,
    lqr as lqr,
)
from linkwright.control.pid import (
    PID as PID,
    JointPID as JointPID,
)
from linkwright.control.servo import (
    PD as PD,
    GravityCompensation as GravityCompensation,
)
from linkwright.control.visual_compensator import (
    VisualCompensator as VisualCompensator,
)
from linkwright.control.visual_moments import ImageMoments as ImageMoments
from linkwright.control.visual_points import ImagePoints as ImagePoints
from linkwright.control.visual_predictor import VisualPredictor as VisualPredictor
