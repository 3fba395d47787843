"""Mechanisms: what the analyst draws, with joints in the words people use."""

from linkwright.mechanism.joints import (
    Ball,
    Cylindrical,
    Free,
    Joint,
    MechanismError,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Universal,
    Weld,
)
from linkwright.mechanism.kinematics import BodyMotion, Kinematics, Speed
from linkwright.mechanism.mechanism import Mechanism, mechanism_of
from linkwright.mechanism.parts import (
    Body,
    Constraint,
    Force,
    Inertia,
    Moment,
    Output,
    Point,
    State,
    Work,
)

__all__ = [
    "Ball",
    "Body",
    "BodyMotion",
    "Constraint",
    "Cylindrical",
    "Force",
    "Free",
    "Inertia",
    "Joint",
    "Kinematics",
    "Mechanism",
    "MechanismError",
    "Moment",
    "Output",
    "Planar",
    "Point",
    "Prismatic",
    "Revolute",
    "Screw",
    "Speed",
    "State",
    "Universal",
    "Weld",
    "Work",
    "mechanism_of",
]
