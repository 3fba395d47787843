"""The plant of a drive: amplifier, motor, train and load, written together."""

from __future__ import annotations

from dataclasses import dataclass

from linkwright.elements.drives.amplifiers import Amplifier
from linkwright.elements.drives.controllers import Controller
from linkwright.elements.drives.loads import DriveLoad
from linkwright.elements.drives.motors import Motor
from linkwright.elements.drives.parts import DrivePart, Sketch
from linkwright.elements.drives.trains import Train

PLANT = ("amplifier", "motor", "train", "load")
"""The parts of the plant, in the order of their states."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a chain."""

    controller: Controller
    amplifier: Amplifier
    motor: Motor
    train: Train
    load: DriveLoad

    @property
    def plant(self) -> tuple[DrivePart, ...]:
        """All but the controller."""
        return self.amplifier, self.motor, self.train, self.load


def write_plant(sketch: Sketch, parts: Parts) -> None:
    """Write the plant: what its states do with the command of the sketch."""
    motor, load = sketch.of(parts.motor), sketch.of(parts.load)
    shaft, end = motor.shaft(), load.shaft()
    voltage = parts.amplifier.write(sketch.of(parts.amplifier), sketch.command)
    torque = parts.motor.write(motor, voltage, shaft)
    out, back = parts.train.write(sketch.of(parts.train), shaft, end)
    (inertia,) = motor.numbers("J")
    motor.rate(shaft.speed, (torque - motor.fed("torque", back)) / inertia)
    (inertia,) = load.numbers("J")
    load.rate(end.speed, parts.load.write(load, end, load.fed("torque", out)) / inertia)
