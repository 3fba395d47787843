"""The plant of a drive: amplifier, motor, train and load, written together."""

from __future__ import annotations

from dataclasses import dataclass, fields

from linkwright.algebra import Expr, as_expr, free_symbols, symbol
from linkwright.elements.drives.amplifiers import Amplifier
from linkwright.elements.drives.brakes import Brake
from linkwright.elements.drives.controllers import Controller
from linkwright.elements.drives.loads import DriveLoad
from linkwright.elements.drives.motors import Motor
from linkwright.elements.drives.parts import (
    DriveError,
    DrivePart,
    Shaft,
    Sketch,
    misfit,
    refuse_misplaced,
)
from linkwright.elements.drives.trains import Rigid, Train, meshed

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
        law = self.controller
        if law is not None and law.rate is not None:
            raise misfit(
                f"{type(law).__name__} runs at rates of its own, not as a part of a drive",
                "make a Servo of it, and attach it to a Drive or a Chain without controller",
            )
        if law is not None:
            law.refuse_motor(self.motor)

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
    """What a drive does to the joint that it turns: a torque, with the rotor at rest; the inertia
    of the rotor, what the joint feels of it through the teeth, and the torque that turns both."""

    torque: Expr
    inertia: Expr
    felt: Expr
    passed: Expr


def write_plant(
    sketch: Sketch, parts: Parts, end: Shaft | None = None, acceleration: Expr | None = None
) -> Turned:
    """Write the plant: what its states do with the commands of the sketch."""
    train = parts.train
    if train.rigid and sketch.split:
        raise DriveError(
            "a rigid train makes one body of rotor and load, which cannot be updated part by part",
            remedy="use update='exact', or an Elastic train",
            code="R413",
        )
    motor, teeth = sketch.of(parts.motor), sketch.of(train)
    load = None if parts.load is None else sketch.of(parts.load)
    shaft = None if isinstance(train, Rigid) else motor.shaft()
    if load is not None:
        end = load.shaft()
    if end is None:
        remedy = "give the load, such as Inertia(0.5)"
        raise DriveError("a chain has no load", remedy=remedy, code="R422")
    if shaft is None:
        (n,) = teeth.numbers("ratio")
        shaft = Shaft(n * end.angle, n * end.speed)
        motor.signal("speed", shaft.speed, unit="rad/s", doc="speed of the motor")
        motor.signal("angle", shaft.angle, unit="rad", doc="angle of the motor")
    torque = write_motor(sketch, parts.amplifier, parts.motor, shaft, parts.brake)
    (rotor,) = motor.numbers("J")
    if load is not None or not train.rigid:  # otherwise it is an armature of the mechanism
        motor.stored("rotor", rotor * shaft.speed**2 / 2)
    if isinstance(train, Rigid):
        return _rigid(sketch, parts, end, shaft, torque, acceleration)
    out, back = train.write(teeth, shaft, end)
    motor.rate(shaft.speed, (torque - motor.fed("torque", back, unit="N*m")) / rotor)
    if parts.load is not None and load is not None:
        (inertia,) = load.numbers("J")
        turned = parts.load.write(load, end, load.fed("torque", out, unit="N*m"))
        load.rate(end.speed, turned / inertia)
        load.stored("kinetic", inertia * end.speed**2 / 2)
    return Turned(out, as_expr(0), as_expr(0), out)


def _rigid(
    sketch: Sketch, parts: Parts, end: Shaft, shaft: Shaft, torque: Expr, acceleration: Expr | None
) -> Turned:
    """Write a rigid train and its load.

    The teeth pass on T / n = (free - n J a) / factor, a being the acceleration of the load and free
    the motor's torque less friction; the factor depends on the sign of that. A load that resists
    with r gets a = (n free / factor - r) / (J_load + n^2 J / factor), and the sign is that of
    free + n J r / J_load. That of a joint decides on its acceleration and follows from it.
    """
    train, load, owner = parts.train, parts.load, sketch.block.owner
    assert isinstance(train, Rigid)
    teeth = sketch.of(train)
    (n,), (rotor,) = teeth.numbers("ratio"), sketch.of(parts.motor).numbers("J")
    free = torque - meshed(teeth, train, as_expr(0), shaft.speed)
    lossy = train.efficiency is not None
    given = symbol(f"{teeth.label}.given", "input", owner=owner) if lossy else n * free
    factor, lost, resisting, inertia = as_expr(1), as_expr(0), as_expr(0), as_expr(0)
    if load is not None:
        sheet = sketch.of(load)
        (inertia,) = sheet.numbers("J")
        resisting = given - load.write(sheet, end, given)
        sheet.stored("kinetic", inertia * end.speed**2 / 2)
    if lossy and given in free_symbols(resisting):
        raise misfit(
            f"{type(load).__name__} resists by the torque that it gets, for which no rigid train "
            "with an efficiency can be solved",
            "use an Elastic train, or leave out efficiency=",
        )
    if lossy and acceleration is not None:
        factor = symbol(f"{teeth.label}.factor", "input", owner=owner)
        pulls = (free - n * rotor * acceleration, free)
        known, guess = (train.factor(teeth, pull, shaft.speed) for pull in pulls)
        sketch.pending[factor] = (known, guess)
    elif lossy:
        factor = train.factor(teeth, free + n * rotor * resisting / inertia, shaft.speed)
        sketch.pending[given] = (n * free / factor, None)
    out, felt = n * free / factor, n**2 * rotor / factor
    if load is not None:
        acceleration = (out - resisting) / (inertia + felt)
        sketch.of(load).rate(end.speed, acceleration)
    if lossy and acceleration is not None:
        lost = (1 - 1 / factor) * (free - n * rotor * acceleration)
        teeth.loss("mesh", lost * shaft.speed)
    teeth.signal("torque", out, unit="N*m", doc="torque on the load, rotor at rest")
    return Turned(out, n**2 * rotor, felt, n * (free - lost))


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
