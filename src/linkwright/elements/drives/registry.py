"""All parts of drives, one line each. A new one is added here; text models and tests find it."""

from __future__ import annotations

from linkwright.elements.drives.amplifiers import Ideal, Lag
from linkwright.elements.drives.controllers import PD
from linkwright.elements.drives.loads import Inertia
from linkwright.elements.drives.motors import DC
from linkwright.elements.drives.parts import DrivePart
from linkwright.elements.drives.trains import Elastic

CONTROLLER_PARTS: tuple[type[DrivePart], ...] = (PD,)
AMPLIFIER_PARTS: tuple[type[DrivePart], ...] = (Ideal, Lag)
MOTOR_PARTS: tuple[type[DrivePart], ...] = (DC,)
TRAIN_PARTS: tuple[type[DrivePart], ...] = (Elastic,)
LOAD_PARTS: tuple[type[DrivePart], ...] = (Inertia,)

PARTS = (*CONTROLLER_PARTS, *AMPLIFIER_PARTS, *MOTOR_PARTS, *TRAIN_PARTS, *LOAD_PARTS)
"""Every part of a drive."""
