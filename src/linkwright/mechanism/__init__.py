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
from linkwright.mechanism.mechanism import Mechanism
from linkwright.mechanism.model_like import HasMechanism, ModelLike, mechanism_of, resolved
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
    "HasMechanism",
    "Inertia",
    "Joint",
    "Kinematics",
    "Mechanism",
    "MechanismError",
    "ModelLike",
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
    "resolved",
]
