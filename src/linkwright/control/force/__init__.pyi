from linkwright.blocks.places import AXES as AXES
from linkwright.control.force.force_control import ForceControl as ForceControl
from linkwright.control.force.hybrid import Hybrid as Hybrid
from linkwright.control.force.ports import (
    ForceLaw as ForceLaw,
    ToolPlacement as ToolPlacement,
    WristLike as WristLike,
    selection as selection,
)
from linkwright.control.force.position_compensation import (
    PositionCompensation as PositionCompensation,
)
from linkwright.control.force.sampled_limits import (
    CONTACT_LAWS as CONTACT_LAWS,
    CONTACT_ORDERS as CONTACT_ORDERS,
    accumulating_damping as accumulating_damping,
    accumulating_limit as accumulating_limit,
    gain_limit as gain_limit,
    sampled_matrix as sampled_matrix,
    sampled_radius as sampled_radius,
)
