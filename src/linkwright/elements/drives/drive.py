"""The Drive: amplifier, motor and train on a joint of a mechanism."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from linkwright.algebra import Expr, substitute
from linkwright.blocks import Block, Element
from linkwright.blocks.element import joint_of
from linkwright.elements.drives.amplifiers import Amplifier
from linkwright.elements.drives.brakes import Brake
from linkwright.elements.drives.controllers import Controller
from linkwright.elements.drives.emission import commanded, emit
from linkwright.elements.drives.matrices import measured
from linkwright.elements.drives.motors import Motor
from linkwright.elements.drives.parts import DriveError, Shaft, Sketch
from linkwright.elements.drives.plant import Parts, write_plant
from linkwright.elements.drives.rating import Rating
from linkwright.elements.drives.servo import Servo
from linkwright.elements.drives.trains import Train


class Drive(Element):
    """The drive of a mechanism's joint: amplifier, motor and train, integrated with it.

    An elastic train has the rotor as a body of its own. A rigid one adds ratio^2 J to the inertia
    of the joint, as an armature.

    Args:
        mechanism: whose joint is driven.
        joint: a coordinate, or the name of a body with one.
        amplifier: from the command to a voltage.
        motor: from the voltage to a torque.
        train: between motor and joint.
        brake: on the shaft of the motor; none by default.
        rating: limits of the motor, by which the studio measures margins; none by default.
        controller: integrated as well; by default none, but a port `u` for a `Servo`, which
            `attach` connects.
        ledger: whether energies are integrated: `energy.supply`, `energy.loss...`, `energy.work`,
            `energy.stored`, and `energy.missing`, which stays what it is at the start.
        name: of the element.

    Ports: `u` (for each winding, as `u_d` and `u_q`) or `reference` goes in. The signals come out
    under their names (`motor.i`, `train.torque`, `load.angle`), as do powers, W.

    >>> from linkwright.elements.drives import DC, Ideal, Rigid
    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> rod = m.body("rod", rotate="z", mass=1, com=(1, 0, 0), inertia=0)
    >>> drive = Drive(m, "rod", Ideal(), DC(R=1, L=2e-3, kt=0.05, J=1e-4), Rigid(50))
    >>> [x.name for x in drive.states], drive.armatures[rod]
    (['motor.i'], motor.J*train.ratio**2)
    """

    def __init__(
        self,
        mechanism: Any,
        joint: str,
        amplifier: Amplifier,
        motor: Motor,
        train: Train,
        *,
        brake: Brake | None = None,
        rating: Rating | None = None,
        controller: Controller | None = None,
        ledger: bool = False,
        name: str = "drive",
    ) -> None:
        super().__init__(name, mechanism, doc=f"drive of {joint}")
        self.parts = Parts(controller, amplifier, motor, train, brake=brake)
        self.rating = rating
        found = joint_of(self.mechanism, joint)
        angle = found.coordinate
        speed = self.mechanism.kinematics().rates[angle]
        sketch = Sketch(self, numeric=False)
        turns = found.turns
        sketch.signals["load.angle"] = (angle, "rad" if turns else "m", "place of the joint")
        sketch.signals["load.speed"] = (speed, "rad/s" if turns else "m/s", "speed of the joint")
        rate = self.mechanism.kinematics().accelerations[speed]
        turned = write_plant(sketch, self.parts, Shaft(angle, speed), rate)
        known = {n: value for n, (value, _, _) in sketch.signals.items()}
        wanted: Expr = angle
        if controller is not None:
            wanted = self.input(
                "reference", unit=controller.reference_unit, doc="what is wanted of the joint"
            )
        put = commanded(self, sketch, wanted, lambda n: measured(known, n), controller)
        emit(self, sketch, put, ledger=ledger, work=turned.passed * speed)
        self.effort("tau", angle, substitute(turned.torque, put))
        if train.rigid:
            self.armature(angle, turned.inertia, felt=substitute(turned.felt, put))


class Wired(Protocol):
    """What two blocks can be added to: a System."""

    def add(self, part: Block, *, name: str = "") -> Any:
        """Add a block."""

    def connect(self, source: Any, target: Any) -> None:
        """Connect ports."""


def attach(
    system: Wired,
    drive: Drive,
    servo: Block,
    name: str = "",
    sensors: Mapping[str, Block] | None = None,
) -> tuple[Any, Any]:
    """Add a drive and its servo to a System, connected by the names of their ports.

    Args:
        system: to which they are added.
        drive: without a controller of its own.
        servo: a `Servo`; its inputs are signals of the drive, its outputs the commands. It is made
            again for the drive's amplifier, unless it was made for one.
        name: of the drive in the System; that of the servo is this with `_servo`.
        sensors: blocks between a signal and the servo, by the signal, such as a `RotaryEncoder` at
            `motor.angle`; its `speed` is taken for `motor.speed` where that has no sensor.

    Returns:
        the members of drive and servo; `servo.reference` is left to be connected.

    >>> import linkwright as lw
    >>> from linkwright.elements.drives import DC, PD, Drive, Ideal, Rigid, Servo, attach
    >>> m = lw.load("pendulum")
    >>> s = lw.System(m)
    >>> joint = Drive(m, "phi", Ideal(), DC(R=1, L=2e-3, kt=0.05, J=1e-4), Rigid(50))
    >>> drive, servo = attach(s, joint, Servo(PD(200, 2), rate=1000))
    >>> s.connect(0.3, servo.reference)
    >>> s.inputs()
    {}
    """
    label = name or drive.name
    servo = servo.on(drive.parts.amplifier) if isinstance(servo, Servo) else servo
    one = system.add(drive, name=label)
    two = system.add(servo, name=f"{label}_servo")
    ports = [p for p in servo.inputs if p != "reference"]
    shared = [p for p in ports if p in drive.names() or p in drive.outputs]
    read = {port: one[port] for port in shared}
    if len(ports) > len(shared) and isinstance(servo, Servo):
        lost = ", ".join(p for p in ports if p not in shared)
        raise DriveError(
            f"the servo measures {lost}, which the drive does not have",
            remedy=f"they share {', '.join(shared)}: give another controller or motor",
            code="R421",
        )
    for signal, block in (sensors or {}).items():
        if signal not in read:
            raise DriveError(
                f"a sensor stands at {signal!r}, which is not what both drive and servo have",
                remedy=f"they share {', '.join(shared)}",
                code="R421",
            )
        added = system.add(block, name=f"{label}_{block.name}")
        system.connect(one[signal], added[next(iter(block.inputs))])
        read[signal] = added["measured"]
        rate = signal.replace("angle", "speed")
        if rate != signal and rate in read and rate not in (sensors or {}):
            read[rate] = added["speed"]
    for port, value in read.items():
        system.connect(value, two[port])
    for port in drive.inputs:
        if port in servo.outputs:
            system.connect(two[port], one[port])
    return one, two
