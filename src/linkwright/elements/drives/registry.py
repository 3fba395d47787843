"""All parts of drives, one line each. A new one is added here; text models and tests find it."""

from __future__ import annotations

from linkwright.blocks.kinds import Kind
from linkwright.elements.drives.amplifiers import PWM, CurrentLoop, Ideal, Lag, SwitchedPWM
from linkwright.elements.drives.brakes import Brake
from linkwright.elements.drives.cascade import Cascade
from linkwright.elements.drives.chain import Chain
from linkwright.elements.drives.controllers import PD, PI, PID, LeadLag, Steps
from linkwright.elements.drives.coupled import CoupledDrives
from linkwright.elements.drives.drive import Drive
from linkwright.elements.drives.loads import Inertia, Pendulum
from linkwright.elements.drives.motors import DC, PMSM, Stepper, Thermal, TorqueSource
from linkwright.elements.drives.parts import DrivePart
from linkwright.elements.drives.sensing import CurrentSensor, Resolver, RotaryEncoder
from linkwright.elements.drives.servo import Servo
from linkwright.elements.drives.supplies import Battery, DCBus
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
    SwitchedPWM,
    DC,
    PMSM,
    Stepper,
    TorqueSource,
    Thermal,
    Brake,
    Elastic,
    Rigid,
    Inertia,
    Pendulum,
)
"""Every part of a drive."""

DRIVES = (
    Kind(Battery),
    Kind(Chain),
    Kind(CoupledDrives),
    Kind(CurrentSensor),
    Kind(DCBus),
    Kind(Drive),
    Kind(Resolver),
    Kind(RotaryEncoder),
    Kind(Servo),
)
"""Every block that is made of such parts, or stands beside them."""


def parts_of(base: type[DrivePart]) -> tuple[type[DrivePart], ...]:
    """Return the parts of a kind.

    >>> from linkwright.elements.drives.motors import Motor
    >>> DC in parts_of(Motor)
    True
    """
    return tuple(kind for kind in PARTS if issubclass(kind, base))
