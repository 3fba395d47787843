"""The plant of a drive: amplifier, motor, train and load, written together."""

from __future__ import annotations

from dataclasses import dataclass, fields

from linkwright.algebra import Expr, as_expr, symbol
from linkwright.elements.drives.amplifiers import Amplifier
from linkwright.elements.drives.brakes import Brake
from linkwright.elements.drives.controllers import Controller
from linkwright.elements.drives.loads import DriveLoad
from linkwright.elements.drives.motors import Motor
from linkwright.elements.drives.parts import DriveError, DrivePart, Shaft, Sketch, refuse_misplaced
from linkwright.elements.drives.trains import Rigid, Train

PLANT = ("amplifier", "motor", "thermal", "brake", "train", "load")
"""The parts of the plant, in the order of their states."""


_KINDS: dict[str, type[DrivePart]] = {
    "controller": Controller,
    "amplifier": Amplifier,
    "motor": Motor,
    "train": Train,
    "load": DriveLoad,
    "brake": Brake,
}


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a chain; a drive of a mechanism's joint has no load of its own."""

    controller: Controller | None
    amplifier: Amplifier
    motor: Motor
    train: Train
    load: DriveLoad | None = None
    brake: Brake | None = None

    def __post_init__(self) -> None:
        refuse_misplaced({f.name: getattr(self, f.name) for f in fields(self)}, _KINDS)
        for place in ("amplifier", "motor", "train"):
            if getattr(self, place) is None:
                raise DriveError(
                    f"a drive has no {place}",
                    remedy=f"give {', '.join(_KINDS)} in this order, or by name: {place}=...",
                    code="R422",
                )

    @property
    def all(self) -> tuple[DrivePart, ...]:
        """All parts."""
        found = (self.controller, self.amplifier, self.motor, self.train, self.load, self.brake)
        return tuple(p for p in found if p is not None)

    @property
    def plant(self) -> tuple[DrivePart, ...]:
        """All but the controller."""
        return tuple(p for p in self.all if p is not self.controller)


@dataclass(frozen=True, slots=True)
class Turned:
    """What a drive does to the joint that it turns: a torque, and inertia that it adds."""

    torque: Expr
    inertia: Expr


def write_plant(sketch: Sketch, parts: Parts, end: Shaft | None = None) -> Turned:
    """Write the plant: what its states do with the commands of the sketch.

    Args:
        sketch: on which it is written.
        parts: of the chain.
        end: the joint of a mechanism that takes the place of the load.
    """
    train = parts.train
    if train.rigid and sketch.split:
        raise DriveError(
            "a rigid train makes one body of rotor and load, which cannot be updated part by part",
            remedy="use update='exact', or an Elastic train",
            code="R413",
        )
    motor, teeth = sketch.of(parts.motor), sketch.of(train)
    load = None if parts.load is None else sketch.of(parts.load)
    if isinstance(train, Rigid):
        end = end or _own(load)
        (n,) = teeth.numbers("ratio")
        shaft = Shaft(n * end.angle, n * end.speed)
        motor.signal("speed", shaft.speed, unit="rad/s", doc="speed of the motor")
        motor.signal("angle", shaft.angle, unit="rad", doc="angle of the motor")
    else:
        shaft = motor.shaft()
        end = end or _own(load)
    torque = write_motor(sketch, parts.amplifier, parts.motor, shaft, parts.brake)
    (rotor,) = motor.numbers("J")
    if load is not None or not train.rigid:  # otherwise it is an armature of the mechanism
        motor.stored("rotor", rotor * shaft.speed**2 / 2)
    if isinstance(train, Rigid):
        (n,) = teeth.numbers("ratio")
        out, added = train.through(teeth, torque, shaft), n**2 * rotor
        teeth.signal("torque", out, unit="N*m", doc="torque on the load, rotor at rest")
    else:
        out, back = train.write(teeth, shaft, end)
        motor.rate(shaft.speed, (torque - motor.fed("torque", back)) / rotor)
        added = as_expr(0)
    if parts.load is not None and load is not None:
        (inertia,) = load.numbers("J")
        turned = parts.load.write(load, end, load.fed("torque", out))
        load.rate(end.speed, turned / (inertia + added))
        load.stored("kinetic", inertia * end.speed**2 / 2)
    return Turned(out, added)


def write_motor(
    sketch: Sketch, amplifier: Amplifier, motor: Motor, shaft: Shaft, brake: Brake | None = None
) -> Expr:
    """Write amplifier and motor with commands of their own; return the torque on the shaft."""
    sheet, owner = sketch.of(motor), sketch.block.owner
    names = [f"{sketch.prefix}controller.u{axis}" for axis in motor.axes]
    put = tuple(symbol(name, "input", owner=owner) for name in names)
    sketch.commands = (*sketch.commands, *put)
    currents = motor.currents(sheet)
    power = sketch.of(amplifier)
    turned = motor.electrical_angle(sheet, shaft)
    voltages = amplifier.windings(power, put, currents, motor.axes, turned)
    torque = motor.write(sheet, voltages, currents, shaft)
    return torque if brake is None else torque - brake.write(sketch.of(brake), shaft)


def _own(load: object) -> Shaft:
    from linkwright.elements.drives.parts import PartSketch

    assert isinstance(load, PartSketch)
    return load.shaft()
