"""Laws that control force, and the gains that their sampling allows."""

from linkwright.blocks.places import AXES
from linkwright.control.force.force_control import ForceControl
from linkwright.control.force.hybrid import Hybrid
from linkwright.control.force.ports import ForceLaw, ToolPlacement, WristLike, selection
from linkwright.control.force.position_compensation import PositionCompensation
from linkwright.control.force.sampled_limits import (
    CONTACT_LAWS,
    CONTACT_ORDERS,
    accumulating_damping,
    accumulating_limit,
    gain_limit,
    sampled_matrix,
    sampled_radius,
)

__all__ = [
    "AXES",
    "CONTACT_LAWS",
    "CONTACT_ORDERS",
    "ForceControl",
    "ForceLaw",
    "Hybrid",
    "PositionCompensation",
    "ToolPlacement",
    "WristLike",
    "accumulating_damping",
    "accumulating_limit",
    "gain_limit",
    "sampled_matrix",
    "sampled_radius",
    "selection",
]
