"""Failures of a mount's drives: how far an arm runs on, and what its rubber buffer takes.

An arm that its control has lost runs on from where it was: with the host gone the drive goes on to
the limit switch, which shorts the coils of the motor; without power nothing but friction holds it;
and where the switch fails too, the drive pushes on. At the end of its travel a rubber buffer on the
base cushions it, before bearings and gear take harm (section 3.11 to 3.13 of the thesis). Of rubber
the stiffness grows with the depth, F = k d (1 + (d/h)^2), and it loses a part of what it takes, by
a damping that grows with the force (Hunt and Crossley 1975).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwright.algebra import maximum, sqrt
from linkwright.base.checks import checked
from linkwright.base.errors import DomainError, InputError, unknown
from linkwright.base.reprs import one_line
from linkwright.blocks import Element, joint_of
from linkwright.equations.parallel_machine import parallel_machine
from linkwright.mechanism import ModelLike
from linkwright.mechanism.structure import extensible
from linkwright.mounts.aiming import AimError, Aiming
from linkwright.mounts.pointing import direction
from linkwright.mounts.steppers import ACCELERATION, GEAR

GEAR_MOST = 1200.0
"""N*m, what the harmonic drive of the thesis bears."""
_LASTS, _STEP = 0.5, 2e-4  # s, after the buffer at half the speed, and from sample to sample
_SMOOTH = 1e-3  # rad/s, by which friction turns over
_HOLDING = 300.0  # rad/s, of the other drives, which hold


@one_line
@dataclass(frozen=True, slots=True)
class RubberBuffer:
    """A rubber buffer that an arm runs into.

    Args:
        stiffness: at first, N/m.
        hardens: depth at which the force is twice that of the first stiffness, m.
        loss: share of the energy that it keeps, 0 to 1, of a slow impact.
        lever: of the buffer about the arm's hinge, m.
        gap: from the limit switch to the buffer, rad.

    >>> rubber = RubberBuffer(stiffness=1e5, hardens=0.02)
    >>> round(rubber.force(rubber.depth(60.0))), round(1e3 * rubber.depth(60.0), 1)
    (6788, 25.7)
    """

    stiffness: float = 2e5
    hardens: float = 0.02
    loss: float = 0.4
    lever: float = 0.25
    gap: float = math.radians(5.0)

    def __post_init__(self) -> None:
        for name in ("stiffness", "hardens", "lever"):
            checked(getattr(self, name), f"the {name} of a buffer", above=0)
        checked(self.gap, "the gap of a buffer", least=0)
        checked(self.loss, "the loss of a buffer", least=0, most=1)

    def force(self, depth: float) -> float:
        """Return what it pushes back with, N, pressed in slowly by a depth, m."""
        return self.stiffness * depth * (1 + (depth / self.hardens) ** 2)

    def depth(self, energy: float) -> float:
        """Return how far an energy, J, presses it in, m, where nothing is lost.

        From k d^2/2 + k d^4/(4 h^2) = E.
        """
        h = self.hardens**2
        return math.sqrt(h * (math.sqrt(1 + 4 * energy / (self.stiffness * h)) - 1))


@one_line
@dataclass(frozen=True, slots=True)
class DriveFailure:
    """What comes of a failure.

    Args:
        name: what failed.
        overrun: beyond the limit switch, rad.
        speed: at the buffer, rad/s; 0 where it is not reached.
        depth: by which the buffer is pressed in, m.
        force: on the buffer, N.
        gear: largest torque in the gear, of what stops the motor and of what drives it, N*m.

    >>> DriveFailure("power", 0.1, 0.5, 0.01, 4e3, 300.0).gear
    300.0
    """

    name: str
    overrun: float
    speed: float
    depth: float
    force: float
    gear: float


class ArmEnd(Element):
    """A buffer, friction and what is left of a drive, at an arm that moves to greater angles."""

    def __init__(
        self,
        mechanism: Any,
        coordinate: str,
        end: float,
        buffer: RubberBuffer,
        torque: float,
        friction: float,
        name: str = "end",
    ) -> None:
        super().__init__(name, mechanism, doc="rubber buffer at the end of an arm's travel")
        q = joint_of(self.mechanism, coordinate).coordinate
        u = self.mechanism.kinematics().rates[q]
        lever = self.parameter("lever", buffer.lever, unit="m")
        k = self.parameter("stiffness", buffer.stiffness, unit="N/m")
        h = self.parameter("hardens", buffer.hardens, unit="m")
        c = self.parameter("loss", buffer.loss, unit="s/m")
        at = self.parameter("end", end, unit="rad")
        depth = self.intermediate(maximum(0, lever * (q - at)))
        push = maximum(0, k * depth * (1 + (depth / h) ** 2) * (1 + c * lever * u))
        force = self.output("force", push, unit="N", doc="on the buffer")
        self.output("depth", depth, unit="m", doc="of the buffer")
        drive = self.parameter("drive", torque, unit="N*m")
        drag = self.parameter("friction", friction, unit="N*m")
        self.effort("effort", q, drive - drag * u / sqrt(u**2 + _SMOOTH**2) - lever * force)


def drive_failures(
    mount: ModelLike,
    axis: str,
    speed: float,
    *,
    buffer: RubberBuffer | None = None,
    acceleration: float = ACCELERATION * math.tau / GEAR,
    torque: float = 832.0,
    coils: float = 60.0,
    friction: float = 30.0,
    rotor: float = 1.1e-3 * GEAR**2,
    at: tuple[float, ...] | None = None,
) -> tuple[DriveFailure, ...]:
    """Return what comes of failures while a drive of a mount moves an arm outward.

    The limit switch is where the arm is farthest out on the horizon; the other drives hold.

    Args:
        mount: a mount with rotary drives.
        axis: the actuator that is lost.
        speed: of the arm at the switch, rad/s.
        buffer: at the end of its travel.
        acceleration: by which the host brakes, rad/s^2.
        torque: of the drive at the arm, N*m.
        coils: by which a motor with shorted coils brakes the arm, N*m.
        friction: of the arm and its gear, N*m.
        rotor: inertia of the motor as the arm feels it, kg*m^2.
        at: unit vector (East, North, up) that the dish looks along at the switch.

    >>> found = drive_failures("mount-3-rotary", "arm1", 0.8)
    >>> [f.name for f in found]
    ['stopped by the host', 'limit switch', 'power lost', 'switch fails']
    >>> found[1].speed < found[2].speed < found[3].speed
    True
    """
    machine = parallel_machine(mount)
    m, rubber = machine.mechanism, buffer or RubberBuffer()
    names = [q.name for q in machine.actuators]
    if axis not in names:
        raise unknown("actuator", axis, names, f"there are {', '.join(names)}", owner=repr(m.name))
    if m.units.get(axis) != "rad":
        raise InputError(f"{axis!r} slides, and buffers are of arms", remedy="name a rotary drive")
    for value, word in ((speed, "speed"), (acceleration, "acceleration")):
        checked(value, f"the {word} of the arm", above=0)
    for value, word in ((torque, "torque"), (coils, "brake"), (friction, "friction")):
        checked(value, f"the {word} of the drive", least=0)
    aim = Aiming(mount)
    place = _farthest(aim, axis) if at is None else aim.coordinates(np.array(at))
    start = dict(zip(aim.names, map(float, place), strict=True))
    braked = speed**2 / (2 * acceleration)
    left = math.sqrt(max(0.0, speed**2 - 2 * acceleration * rubber.gap))
    run = _Impact(m, axis, names, start, rubber, rotor)
    host = DriveFailure("stopped by the host", braked, 0.0, 0.0, 0.0, rotor * acceleration)
    if left > 0:
        host = replace(run("stopped by the host", left, 0.0, friction, rubber.gap), speed=left)
    return (
        host,
        run("limit switch", speed, 0.0, coils + friction),
        run("power lost", speed, 0.0, friction),
        run("switch fails", speed, torque, friction),
    )


def _farthest(aim: Aiming, axis: str) -> Any:
    """Return the coordinates in which an arm is farthest out, of those on the horizon."""
    found = []
    for azimuth in np.arange(0.0, 360.0, 15.0):
        try:
            found.append(aim.coordinates(direction(azimuth, 0.0)))
        except AimError:
            continue
    if not found:
        raise DomainError(
            f"{aim.name!r} does not reach the horizon", remedy="give a direction: at="
        )
    column = aim.names.index(axis)
    return max(found, key=lambda q: float(q[column]))


class _Impact:
    """Runs of an arm from its switch into its buffer, the other drives holding."""

    def __init__(
        self,
        m: Any,
        axis: str,
        drives: list[str],
        start: dict[str, float],
        buffer: RubberBuffer,
        rotor: float,
    ) -> None:
        from linkwright.elements.springs import JointSpring
        from linkwright.system import System

        self.m = extensible(m.with_parts(ranges=[]))
        for name in drives:
            body = next(b for b in self.m.bodies.values() if name in map(str, b.coordinates))
            self.m.armature(body, rotor)
        self.axis, self.start, self.buffer, self.rotor = axis, start, buffer, rotor
        self.system = System(self.m)
        self.system.add(ArmEnd(self.m, axis, start[axis] + buffer.gap, buffer, 0.0, 0.0))
        k, c = rotor * _HOLDING**2, 2 * rotor * _HOLDING
        for other in drives:
            if other != axis:
                name, rest = f"hold_{other}", start[other]
                self.system.add(JointSpring(self.m, other, k, rest=rest, damping=c, name=name))

    def __call__(
        self, name: str, speed: float, torque: float, friction: float, begun: float = 0.0
    ) -> DriveFailure:
        from linkwright.simulation import simulate

        at = self.start[self.axis]
        end = at + self.buffer.gap - begun
        run = simulate(
            self.system,
            2.0 * (end - at) / speed + _LASTS,
            step=_STEP,
            initial={**self.start, f"{self.axis}_dot": speed},
            parameters={"end.end": end, "end.drive": torque, "end.friction": friction},
            tolerance=1e-7,
        )
        q, u = run[self.axis], run[f"{self.axis}_dot"]
        depth, force = run["end.depth"], run["end.force"]
        turned = np.flatnonzero(u <= 0)
        last = int(turned[0]) + 1 if len(turned) else len(u)
        hit = np.flatnonzero(depth[:last] > 0)
        bend = np.gradient(u[:last], run.times[:last])
        return DriveFailure(
            name,
            float(q[:last].max() - at) + begun,
            float(u[hit[0]]) if len(hit) else 0.0,
            float(depth[:last].max()),
            float(force[:last].max()),
            float(np.abs(torque - self.rotor * bend).max()),
        )
