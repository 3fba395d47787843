"""Laws that control force, and the gains that their sampling allows."""

from linkwright.control.force.ports import AXES, ForceLaw, ToolPlacement, WristLike, selection
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
    "ForceLaw",
    "ToolPlacement",
    "WristLike",
    "accumulating_damping",
    "accumulating_limit",
    "gain_limit",
    "sampled_matrix",
    "sampled_radius",
    "selection",
]
