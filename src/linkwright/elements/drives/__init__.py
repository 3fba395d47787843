"""Drives of joints: controller, amplifier, motor, train and load."""

from linkwright.elements.drives.amplifiers import (
    PWM,
    Amplifier,
    CurrentLoop,
    Ideal,
    Lag,
    SwitchedPWM,
)
from linkwright.elements.drives.brakes import Brake
from linkwright.elements.drives.cascade import Cascade
from linkwright.elements.drives.chain import Chain
from linkwright.elements.drives.controllers import PD, PI, PID, Controller, LeadLag, Steps
from linkwright.elements.drives.coupled import CoupledDrives
from linkwright.elements.drives.drive import Drive, attach
from linkwright.elements.drives.loads import DriveLoad, Inertia, Pendulum
from linkwright.elements.drives.matrices import ChainMatrices, StepBlock
from linkwright.elements.drives.motors import DC, PMSM, Motor, Stepper, Thermal, TorqueSource
from linkwright.elements.drives.noise import DriveNoise
from linkwright.elements.drives.parts import DriveError, DrivePart
from linkwright.elements.drives.rating import Rating
from linkwright.elements.drives.registry import DRIVES, PARTS
from linkwright.elements.drives.sensing import CurrentSensor, Resolver, RotaryEncoder
from linkwright.elements.drives.servo import Servo
from linkwright.elements.drives.supplies import Battery, DCBus
from linkwright.elements.drives.trains import Elastic, Rigid, Train

__all__ = [
    "DC",
    "DRIVES",
    "PARTS",
    "PD",
    "PI",
    "PID",
    "PMSM",
    "PWM",
    "Amplifier",
    "Battery",
    "Brake",
    "Cascade",
    "Chain",
    "ChainMatrices",
    "Controller",
    "CoupledDrives",
    "CurrentLoop",
    "CurrentSensor",
    "DCBus",
    "Drive",
    "DriveError",
    "DriveLoad",
    "DriveNoise",
    "DrivePart",
    "Elastic",
    "Ideal",
    "Inertia",
    "Lag",
    "LeadLag",
    "Motor",
    "Pendulum",
    "Rating",
    "Resolver",
    "Rigid",
    "RotaryEncoder",
    "Servo",
    "StepBlock",
    "Stepper",
    "Steps",
    "SwitchedPWM",
    "Thermal",
    "TorqueSource",
    "Train",
    "attach",
]
