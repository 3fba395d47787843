"""Drives of joints: controller, amplifier, motor, train and load."""

from linkwright.elements.drives.amplifiers import Amplifier, Ideal, Lag
from linkwright.elements.drives.chain import Chain
from linkwright.elements.drives.controllers import PD, Controller
from linkwright.elements.drives.loads import DriveLoad, Inertia
from linkwright.elements.drives.matrices import ChainMatrices, StepBlock
from linkwright.elements.drives.motors import DC, Motor
from linkwright.elements.drives.noise import DriveNoise
from linkwright.elements.drives.parts import DriveError, DrivePart
from linkwright.elements.drives.registry import DRIVES, PARTS
from linkwright.elements.drives.trains import Elastic, Train

__all__ = [
    "DC",
    "DRIVES",
    "PARTS",
    "PD",
    "Amplifier",
    "Chain",
    "ChainMatrices",
    "Controller",
    "DriveError",
    "DriveLoad",
    "DriveNoise",
    "DrivePart",
    "Elastic",
    "Ideal",
    "Inertia",
    "Lag",
    "Motor",
    "StepBlock",
    "Train",
]
