"""The robot with the drives that were chosen for it, as a System that runs.

Each drive sits as a point mass where sizing put it, its rotor turns behind its gear, and a servo
follows the motion of the task. Rotors that the model had before are left out.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.algebra import evaluate
from linkwright.base.errors import InputError
from linkwright.base.rotations import point_inertia
from linkwright.blocks import Block
from linkwright.elements import drives
from linkwright.elements.drives.trains import Train
from linkwright.formats.text.builder import build
from linkwright.formats.text.from_mechanism import describe
from linkwright.formats.text.tables import BodyTable
from linkwright.linear.estimation import FilterKind, kalman
from linkwright.motion import Trajectory, through
from linkwright.system import System

if TYPE_CHECKING:
    from linkwright.mechanism import Mechanism
    from linkwright.sizing.choice import Sizing
    from linkwright.sizing.verdicts import DriveChoice

__all__ = ["driven_system"]

KNOTS = 1000
"""Samples of the task that the reference goes through."""

DAMPING = 0.05
"""Of a gear's vibration, as a part of the critical damping."""

LASTING = 0.1
"""s, for which a disturbance is taken to last."""

LINEAR = ("time-varying", "steady")
"""Filters that are linearized once, at rest."""

PULSES = 20_000.0
"""Frequency of the amplifiers, Hz."""


def driven_system(
    found: Sizing,
    servo: drives.Cascade,
    filter_kind: FilterKind | None,
    *,
    elastic: bool,
    thermal: bool,
    ledger: bool,
    counts: float,
) -> System:
    """Return the robot with its drives."""
    arm = found.arm
    if arm.robot is None:
        raise InputError(
            "there is no robot to drive: the drives were sized from cycles alone",
            remedy="size a requirement, or give robot=",
            code="R307",
        )
    if arm.robot.loops:
        raise InputError(
            "there is no System of the drives of a machine with loops",
            remedy="let the model carry lw.drives at its actuators, or run lw.mounts.track_pass",
            code="R307",
        )
    if arm.changing:
        raise InputError(
            f"the task has {' and '.join(arm.changing)}, which a System of drives does not have",
            remedy="leave it out, and give payloads in steps; sizing itself counts all of it",
            code="R310",
        )
    mechanism = _loaded(found)
    mechanism.set_timing(float(arm.cycles[0].duration), step=1e-3)
    system = System(mechanism)
    way = _reference(found)
    block = system.add(way.block("task"))
    for k, (joint, choice) in enumerate(found.chosen.items()):
        motor, train, inertia = _parts(found, choice, servo, elastic=elastic, thermal=thermal)
        most = found.catalog.motor[choice.motor].peak / motor.kt
        if choice.amplifier:
            most = min(most, found.catalog.amplifier[choice.amplifier].peak)
        law = replace(
            calm(servo, motor, train, inertia),
            current_limit=servo.current_limit or most,
            voltage_limit=servo.voltage_limit or found.terms.voltage,
        )
        amplifier = drives.PWM(found.terms.voltage, PULSES)
        drive, follower = drives.attach(
            system,
            drives.Drive(
                mechanism,
                joint,
                amplifier,
                motor,
                train,
                rating=_rating(found, choice),
                ledger=ledger,
            ),
            drives.Servo(law, motor, train, inertia=inertia),
            f"{joint}_drive",
        )  # fmt: skip
        system.connect(block.q[k], follower.reference)
        start = float(way.start[k])
        system.set_initial({joint: start})
        if not train.rigid:
            system.set_initial({f"{joint}_drive.motor.angle": train.ratio * start})
        if filter_kind is not None:
            parts = _believed(motor, train, filter_kind)
            made = _filter(found, joint, filter_kind, (*parts, inertia), servo, counts, start)
            estimate = system.add(made)
            system.connect(drive["motor.angle"], estimate.z[0])
            system.connect(follower.u, estimate.u[0])
    return system


def calm(
    servo: drives.Cascade, motor: drives.DC, train: drives.Rigid | drives.Elastic, inertia: float
) -> drives.Cascade:
    """Return a cascade whose open gains do not make an elastic gear ring.

    With w^2 = K/J_L, the square of the load's frequency while the motor stands, and R the load's
    inertia over the rotor's, both seen at the motor, a PI speed loop has all four poles at w, with
    the damping sqrt(R)/2, for the gain 2 sqrt(R) w J_M/kt and the time 2 sqrt(R)/w. A higher gain
    holds the motor still, and the load vibrates on its gear. The position loop is a fifth as fast.
    """
    if not isinstance(train, drives.Elastic):
        return servo
    w = math.sqrt(train.stiffness / inertia)
    root = math.sqrt(inertia / train.ratio**2 / motor.J)
    usual = servo.tuned(motor, train, inertia)
    assert usual.speed_gain is not None
    assert usual.position_gain is not None
    gain = 2.0 * root * w * motor.J / motor.kt
    if servo.speed_gain is not None or gain >= usual.speed_gain:
        return servo
    return replace(
        servo,
        speed_gain=gain,
        speed_time=servo.speed_time or 2.0 * root / w,
        position_gain=servo.position_gain or min(w / 5.0, usual.position_gain),
    )


def _rating(found: Sizing, choice: DriveChoice) -> drives.Rating:
    """Return the limits of a motor, by which the studio measures margins."""
    motor = found.catalog.motor[choice.motor]
    return drives.Rating(motor.continuous, motor.peak, motor.speed, motor.hottest)


def _believed(
    motor: drives.DC, train: drives.Rigid | drives.Elastic, kind: FilterKind
) -> tuple[drives.DC, Train]:
    """Return motor and train as a filter has them: the winding as warm as where the run starts.

    A linear filter has no dry friction, gap or error of a gear. Linearized at rest they would damp
    and loosen the whole motion; left out, they belong to the disturbance.
    """
    heat = motor.thermal
    warm = 1.0 if heat is None else 1.0 + heat.coefficient * (heat.ambient - heat.reference)
    plain = replace(motor, thermal=None, R=motor.R * warm)
    if kind not in LINEAR:
        return plain, train
    plain = replace(plain, coulomb=None)
    if isinstance(train, drives.Elastic):
        return plain, replace(train, drag=None, efficiency=None, gap=None, error=None)
    return plain, replace(train, drag=None, efficiency=None)


def _filter(
    found: Sizing,
    joint: str,
    kind: FilterKind,
    parts: tuple[drives.DC, Train, float],
    servo: drives.Cascade,
    counts: float,
    start: float,
) -> Block:
    """Return the filter of one drive: its own chain, with the rest of the arm as a disturbance.

    What the arm does beyond a mean inertia is taken as white acceleration: the largest such torque,
    for a tenth of a second.
    """
    motor, train, inertia = parts
    load = found.options[joint].load
    rest = np.abs(load.cycle.torque - inertia * load.cycle.acceleration).max()
    plant = System(name=f"{joint}_plant")
    plant.add(drives.Chain(None, drives.Ideal(), motor, train, drives.Inertia(inertia), name=joint))
    at = {f"{joint}.load.angle": start}
    if not train.rigid:
        at[f"{joint}.motor.angle"] = train.ratio * start
    return kalman(
        plant,
        {f"{joint}.motor.angle": 2.0 * math.pi / counts / math.sqrt(12.0)},
        kind,
        rate=servo.current,
        density={f"{joint}.load.speed": float(rest) / inertia * math.sqrt(2.0 * LASTING)},
        inputs=[f"{joint}.u"],
        covariance=1e-8,
        at=at,
        steps=1,
        name=f"{joint}_filter",
    )


def _reference(found: Sizing) -> Trajectory:
    """Return the motion of the task, as a spline through its samples."""
    cycles = found.arm.cycles
    times = cycles[0].times
    every = max(1, math.ceil((len(times) - 1) / KNOTS))
    kept = np.unique(np.append(np.arange(0, len(times), every), len(times) - 1))
    values = np.stack([c.position[kept] for c in cycles], axis=1)
    return through(times[kept] - times[0], values, ends="natural" if len(kept) > 3 else "clamped")


def _parts(
    found: Sizing, choice: DriveChoice, servo: drives.Cascade, *, elastic: bool, thermal: bool
) -> tuple[drives.DC, drives.Rigid | drives.Elastic, float]:
    """Return motor, train and the load's mean inertia of a drive.

    A gear that vibrates faster than a tenth of the current loop's rate is taken as rigid.
    """
    motor, gear = found.catalog.motor[choice.motor], found.catalog.gear[choice.gear]
    brake = found.catalog.brake[choice.brake].J if choice.brake else 0.0
    rotor = motor.J + gear.J + brake
    load = found.options[choice.joint].load.inertia
    inertia = gear.reduction**2 * rotor if load is None else float(load.mean())
    heat: dict[str, Any] = {}
    if thermal:
        (rw, tw), (rh, th) = motor.winding, motor.housing or (1e-3, 1e3)
        heat["thermal"] = drives.Thermal(
            rw, tw / rw, rh, th / rh, found.terms.ambient, motor.alpha, 20.0
        )
    made = drives.DC(
        motor.R,
        motor.L or 1e-4,
        motor.kt,
        rotor,
        motor.damping,
        coulomb=motor.friction or None,
        creep=1.0,
        **heat,
    )
    losses: dict[str, Any] = {"efficiency": gear.efficiency, "drag": gear.no_load or None}
    fast = 2.0 * math.pi * servo.current / 10.0
    if not elastic or gear.stiffness is None or gear.stiffness > inertia * fast**2:
        return made, drives.Rigid(gear.reduction, **losses), inertia
    far = gear.reduction**2 * rotor
    moved = inertia * far / (inertia + far)
    train = drives.Elastic(
        gear.reduction,
        stiffness=gear.stiffness,
        damping=2.0 * DAMPING * math.sqrt(gear.stiffness * moved),
        gap=gear.backlash / 2.0 or None,
        error=gear.kinematic_error or None,
        **losses,
    )
    return made, train, inertia


def _loaded(found: Sizing) -> Mechanism:
    """Return the robot's mechanism with the masses of drives and payload, without old rotors."""
    robot = found.arm.robot
    assert robot is not None
    m = robot.mechanism
    model = describe(m)
    owner = {str(b.coordinates[0]): b.name for b in m.bodies.values() if len(b.coordinates) == 1}
    tables = {b.name: b.model_copy(update={"armature": None}) for b in model.body}
    more = []
    for joint, choice in found.chosen.items():
        child = tables[owner[joint]]
        seat: dict[str, Any] = {"name": f"{child.name}_seat", "at": child.at}
        if child.parent:
            seat["parent"] = child.parent
        more.append(BodyTable.model_validate({**seat, "mass": choice.mass, "inertia": 0}))
    payload = found.arm.payload
    ends = (*(start for start, _ in found.arm.payloads[1:]), math.inf)
    for k, ((start, held), end) in enumerate(zip(found.arm.payloads, ends, strict=False), 1):
        if held[0] > 0.0:
            more.append(_carried(found.arm.frame, robot, held, f"payload_{k}", (start, end)))
    if not found.arm.payloads and payload is not None and payload[0] > 0.0:
        more.append(_carried(found.arm.frame, robot, payload))
    return build(model.model_copy(update={"body": [*tables.values(), *more]}))


def _carried(
    frame: str,
    robot: Any,
    payload: np.ndarray,
    name: str = "payload",
    span: tuple[float, float] | None = None,
) -> BodyTable:
    """Return the payload as a body that is fixed to the link of its frame, with mass for a span."""
    spot = robot.spot(frame)
    mass = float(payload[0])
    c = payload[1:4] / mass
    xx, xy, yy, xz, yz, zz = payload[4:]
    about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    own = about - mass * point_inertia(c)
    m = robot.mechanism
    known = {x: m.values[name] for name, x in m.parameters.items() if name in m.values}
    place = [float(evaluate(x, known)) for x in spot.position]
    turn = [[float(evaluate(x, known)) for x in row] for row in spot.rotation]
    if span is not None:
        return BodyTable(
            name=name,
            parent=spot.body.name,
            at=place,
            matrix=turn,
            mass=_while(mass, span),
            com=c.tolist(),
            inertia=[[_while(float(x), span) for x in row] for row in own],
        )
    return BodyTable(
        name=name,
        parent=spot.body.name,
        at=place,
        matrix=turn,
        mass=mass,
        com=c.tolist(),
        inertia=own.tolist(),
    )


def _while(value: float, span: tuple[float, float]) -> str | float:
    """Return a number that counts from one time to another, as an expression of time."""
    start, end = span
    if value == 0.0:
        return 0.0
    until = "" if math.isinf(end) else f" and t < {end!r}"
    return f"where(t >= {start!r}{until}, {value!r}, 0)"
