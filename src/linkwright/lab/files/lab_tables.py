"""The tables of `lab.toml`: those of `linkwright.lab.config`, and the files that it names.

Numbers are in SI units and rad; a text has its own unit, as in `"90 deg"` or `"1 kHz"`. What is
left out follows the rules of `linkwright.lab.rules`.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import StrictInt, StrictStr

from linkwright.formats.schema import Amount, Format, Key, empty_as, rows, table_of
from linkwright.formats.sl.configuration import SceneObject
from linkwright.lab.config import LabConfig

CONTACT_MODELS = ("none", "damped-spring", "coulomb")
"""Words for SL's numbers of contact models."""
_TRIPLE = tuple[float, float, float]
_GRAY = (0.5, 0.5, 0.5)
_ROW = tuple[float, ...]

ObjectTable = table_of(
    SceneObject,
    name=(StrictStr, Key("at most 20 characters"), ...),
    kind=(Literal["cube", "sphere"], Key("spheres of unequal scales are ellipsoids"), ...),
    color=(_TRIPLE, Amount("1", "red, green, blue, 0 to 1"), empty_as(_GRAY), _GRAY),
    position=(_TRIPLE, Amount("m", "of its center"), ...),
    rotation=(_TRIPLE, Amount("rad", "angles about x, y, z"), (0.0, 0.0, 0.0)),
    scale=(_TRIPLE, Amount("m", "edge lengths or diameters"), ...),
    contact_model=(
        Literal["none", "damped-spring", "coulomb"],
        Key("none: only seen"),
        "none",
    ),
    contact_parameters=(
        _ROW,
        Amount("?", "k_n, b_n, b_v (damped-spring); k_n, b_n, k_c, c_s, c_d (coulomb)"),
        (),
    ),
    object_parameters=(_ROW, Amount("?", "one's own numbers"), ()),
    mass=(float, Amount("kg", "of one that moves freely; one without stands fast", least=0), 0.0),
)
LabFile = table_of(
    LabConfig,
    format=(Format, ...),
    robot=(StrictStr, Key("a robot file beside this one, or a model"), ...),
    model=(StrictStr, Key("what controllers believe the robot to be; the same"), ""),
    preferences=(StrictStr, Key("folder of preference files"), ""),
    estimated=(
        tuple[StrictInt, ...],
        Key("joints that estimation counts, and how many of the last it skips"),
        (0, 0),
    ),
    ratios=(
        dict[str, Any] | None,
        Key("ticks of the motor servo in one of each servo; whole numbers"),
        None,
    ),
    objects=(rows(ObjectTable), Key("what may be touched", key="object"), []),
)
