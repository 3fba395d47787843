from linkwright.blocks.basic import (
    Delay as Delay,
    Hold as Hold,
    Integrator as Integrator,
    WhiteNoise as WhiteNoise,
)
from linkwright.blocks.block import Block as Block
from linkwright.blocks.element import (
    Arrow as Arrow,
    Element as Element,
    JointCoordinate as JointCoordinate,
    Location as Location,
    joint_of as joint_of,
)
from linkwright.blocks.foreign import KEEP as KEEP, Foreign as Foreign
from linkwright.blocks.kinds import Kind as Kind
from linkwright.blocks.numbers import (
    checked as checked,
    checked_all as checked_all,
    checked_rotation as checked_rotation,
)
from linkwright.blocks.ports import (
    BlockState as BlockState,
    Crossing as Crossing,
    Noise as Noise,
    Parameter as Parameter,
    Port as Port,
)
from linkwright.blocks.rates import (
    CONTINUOUS as CONTINUOUS,
    BlockError as BlockError,
    Continuous as Continuous,
    Rate as Rate,
    Sampled as Sampled,
    Ticks as Ticks,
    as_rate as as_rate,
    exact as exact,
    sampled as sampled,
)
from linkwright.blocks.registry import BLOCKS as BLOCKS
from linkwright.blocks.slot import FunctionSlot as FunctionSlot, SlotPort as SlotPort
from linkwright.blocks.workspace import (
    Value as Value,
    indices as indices,
    with_targets as with_targets,
)
from linkwright.mechanism import mechanism_of as mechanism_of
