"""All parts of drives, one line each. A new one is added here; text models and tests find it."""

from __future__ import annotations

from linkwright.blocks.kinds import Kind
from linkwright.elements.drives.amplifiers import PWM, CurrentLoop, Ideal, Lag
from linkwright.elements.drives.cascade import Cascade
from linkwright.elements.drives.chain import Chain
from linkwright.elements.drives.controllers import PD, PI, PID, LeadLag, Steps
from linkwright.elements.drives.drive import Drive
from linkwright.elements.drives.loads import Inertia, Pendulum
from linkwright.elements.drives.motors import DC, PMSM, Stepper, Thermal, TorqueSource
from linkwright.elements.drives.parts import DrivePart
from linkwright.elements.drives.servo import Servo
from linkwright.elements.drives.trains import Elastic, Rigid

PARTS: tuple[type[DrivePart], ...] = (
    Cascade,
    LeadLag,
    PD,
    PI,
    PID,
    Steps,
    CurrentLoop,
    Ideal,
    Lag,
    PWM,
    DC,
    PMSM,
    Stepper,
    TorqueSource,
    Thermal,
    Elastic,
    Rigid,
    Inertia,
    Pendulum,
)
"""Every part of a drive."""

DRIVES = (Kind(Chain), Kind(Drive), Kind(Servo))
"""Every block that is made of such parts."""


def parts_of(base: type[DrivePart]) -> tuple[type[DrivePart], ...]:
    """Return the parts of a kind.

    >>> from linkwright.elements.drives.motors import Motor
    >>> DC in parts_of(Motor)
    True
    """
    return tuple(kind for kind in PARTS if issubclass(kind, base))
