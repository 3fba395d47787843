"""Inverse kinematics: in closed form, by damped least squares, and by rates."""

from linkwright.robots.ik.closed import NoClosedForm, SphericalArm, branches, spherical_arm
from linkwright.robots.ik.follow import follow_quantity
from linkwright.robots.ik.four_joint import blended_angles, primary_angles, secondary_angles
from linkwright.robots.ik.numeric import Solution, Solver, solve
from linkwright.robots.ik.pseudo import PseudoInverse, pseudo_inverse
from linkwright.robots.ik.rate_block import ResolvedRates
from linkwright.robots.ik.resolution import JointRates, RateLimits, joint_rates
from linkwright.robots.ik.tick import tool_kinematics
from linkwright.robots.ik.velocity import VelocityIK, checked_weights

__all__ = [
    "JointRates",
    "NoClosedForm",
    "PseudoInverse",
    "RateLimits",
    "ResolvedRates",
    "Solution",
    "Solver",
    "SphericalArm",
    "VelocityIK",
    "blended_angles",
    "branches",
    "checked_weights",
    "follow_quantity",
    "joint_rates",
    "primary_angles",
    "pseudo_inverse",
    "secondary_angles",
    "solve",
    "spherical_arm",
    "tool_kinematics",
]
