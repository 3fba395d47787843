"""Blocks and elements: the symbolic parts of a System, with ports, states and rates."""

from linkwright.blocks.basic import Delay, Hold, Integrator, WhiteNoise
from linkwright.blocks.block import Block
from linkwright.blocks.element import (
    Arrow,
    Element,
    JointCoordinate,
    Location,
    joint_of,
)
from linkwright.blocks.foreign import KEEP, Foreign
from linkwright.blocks.kinds import Kind
from linkwright.blocks.numbers import checked, checked_all, checked_rotation
from linkwright.blocks.ports import BlockState, Crossing, Noise, Parameter, Port
from linkwright.blocks.rates import (
    CONTINUOUS,
    BlockError,
    Continuous,
    Rate,
    Sampled,
    Ticks,
    as_rate,
    exact,
    sampled,
)
from linkwright.blocks.registry import BLOCKS
from linkwright.blocks.slot import FunctionSlot, SlotPort
from linkwright.blocks.workspace import Value, indices, with_targets
from linkwright.mechanism import mechanism_of

__all__ = [
    "BLOCKS",
    "CONTINUOUS",
    "KEEP",
    "Arrow",
    "Block",
    "BlockError",
    "BlockState",
    "Continuous",
    "Crossing",
    "Delay",
    "Element",
    "Foreign",
    "FunctionSlot",
    "Hold",
    "Integrator",
    "JointCoordinate",
    "Kind",
    "Location",
    "Noise",
    "Parameter",
    "Port",
    "Rate",
    "Sampled",
    "SlotPort",
    "Ticks",
    "Value",
    "WhiteNoise",
    "as_rate",
    "checked",
    "checked_all",
    "checked_rotation",
    "exact",
    "indices",
    "joint_of",
    "mechanism_of",
    "sampled",
    "with_targets",
]
