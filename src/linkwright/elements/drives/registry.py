"""All parts of drives, one line each. A new one is added here; text models and tests find it."""

from __future__ import annotations

from linkwright.blocks.kinds import Kind
from linkwright.elements.drives.amplifiers import Ideal, Lag
from linkwright.elements.drives.chain import Chain
from linkwright.elements.drives.controllers import PD
from linkwright.elements.drives.loads import Inertia
from linkwright.elements.drives.motors import DC
from linkwright.elements.drives.parts import DrivePart
from linkwright.elements.drives.trains import Elastic

PARTS: tuple[type[DrivePart], ...] = (
    PD,
    Ideal,
    Lag,
    DC,
    Elastic,
    Inertia,
)
"""Every part of a drive."""

DRIVES = (Kind(Chain),)
"""Every block that is made of such parts."""


def parts_of(base: type[DrivePart]) -> tuple[type[DrivePart], ...]:
    """Return the parts of a kind.

    >>> from linkwright.elements.drives.motors import Motor
    >>> DC in parts_of(Motor)
    True
    """
    return tuple(kind for kind in PARTS if issubclass(kind, base))
