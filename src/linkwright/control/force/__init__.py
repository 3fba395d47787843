"""Laws that control force, and the gains that their sampling allows."""

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
    "CONTACT_LAWS",
    "CONTACT_ORDERS",
    "accumulating_damping",
    "accumulating_limit",
    "gain_limit",
    "sampled_matrix",
    "sampled_radius",
]
