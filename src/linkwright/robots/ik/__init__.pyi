from linkwright.robots.ik.closed import (
    NoClosedForm as NoClosedForm,
    SphericalArm as SphericalArm,
    branches as branches,
    spherical_arm as spherical_arm,
)
from linkwright.robots.ik.follow import follow_quantity as follow_quantity
from linkwright.robots.ik.four_joint import (
    blended_angles as blended_angles,
    primary_angles as primary_angles,
    secondary_angles as secondary_angles,
)
from linkwright.robots.ik.numeric import Solution as Solution, Solver as Solver, solve as solve
from linkwright.robots.ik.pseudo import (
    PseudoInverse as PseudoInverse,
    pseudo_inverse as pseudo_inverse,
)
from linkwright.robots.ik.rate_block import ResolvedRates as ResolvedRates
from linkwright.robots.ik.resolution import (
    JointRates as JointRates,
    RateLimits as RateLimits,
    joint_rates as joint_rates,
)
from linkwright.robots.ik.tick import tool_kinematics as tool_kinematics
from linkwright.robots.ik.velocity import (
    VelocityIK as VelocityIK,
    checked_weights as checked_weights,
)
