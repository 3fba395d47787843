from linkwright.base.hooks import kalman as kalman
from linkwright.control.axis import (
    AxisCoefficients as AxisCoefficients,
    AxisController as AxisController,
    AxisError as AxisError,
    AxisMode as AxisMode,
    RoundedCoefficients as RoundedCoefficients,
    axis_coefficients as axis_coefficients,
    integer_coefficients as integer_coefficients,
    notch_coefficients as notch_coefficients,
    pid_coefficients as pid_coefficients,
)
from linkwright.control.computed_torque import (
    ComputedTorque as ComputedTorque,
    Feedforward as Feedforward,
)
from linkwright.control.consistency import (
    Whiteness as Whiteness,
    consistency_band as consistency_band,
    inside as inside,
    whiteness as whiteness,
)
from linkwright.control.covariances import (
    Correction as Correction,
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
from linkwright.control.joints import (
    JointController as JointController,
    driven_joints as driven_joints,
)
from linkwright.control.kalman_filter import (
    KalmanFilter as KalmanFilter,
    SteadyKalmanFilter as SteadyKalmanFilter,
)
from linkwright.control.linear import (
    LQR as LQR,
    Gain as Gain,
    Observer as Observer,
    StateFeedback as StateFeedback,
    StateModel as StateModel,
    discretize as discretize,
    dlqe as dlqe,
    dlqr as dlqr,
    lqe as lqe,
    lqr as lqr,
)
from linkwright.control.models import inverse_dynamics as inverse_dynamics
from linkwright.control.pid import (
    PID as PID,
    JointPID as JointPID,
    PidGains as PidGains,
    PidParts as PidParts,
    PidTerms as PidTerms,
    pid_law as pid_law,
    pid_parts as pid_parts,
)
from linkwright.control.registry import CONTROLLERS as CONTROLLERS
from linkwright.control.servo import (
    PD as PD,
    GravityCompensation as GravityCompensation,
    saturate as saturate,
)
from linkwright.control.step_model import Measurement as Measurement
from linkwright.control.visual_compensator import (
    VisualCompensator as VisualCompensator,
    tracking_gain_limit as tracking_gain_limit,
    tracking_poles as tracking_poles,
)
from linkwright.control.visual_interaction import (
    moment_interaction as moment_interaction,
    place_interaction as place_interaction,
    point_interaction as point_interaction,
)
from linkwright.control.visual_moments import ImageMoments as ImageMoments
from linkwright.control.visual_points import ImagePoints as ImagePoints
from linkwright.control.visual_predictor import VisualPredictor as VisualPredictor
