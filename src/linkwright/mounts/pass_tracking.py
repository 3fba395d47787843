"""Tracking: a mount follows a pass, on the ground or on a ship.

At each tick the direction of the satellite, seen from the deck, goes through the inverse kinematics
of the mount to references of its actuators, with rates and accelerations. A cascade of a position
loop and a speed loop gives their accelerations, and the inverse dynamics of the mount, deck and
all, the forces. The pointing error is the angle between the dish's true direction and the
satellite's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import (
    Expr,
    Scalar,
    as_expr,
    asin,
    evaluate_all,
    minimum,
    sqrt,
    symbol,
    total,
)
from linkwright.base.arguments import worded
from linkwright.base.checks import checked
from linkwright.base.errors import InputError
from linkwright.base.reprs import one_line
from linkwright.blocks import Block
from linkwright.control.computed_torque import ComputedTorque
from linkwright.control.servo import saturate
from linkwright.elements import Encoder
from linkwright.equations.parallel_machine import parallel_machine
from linkwright.mechanism import Mechanism, ModelLike, mechanism_of
from linkwright.mechanism.parts import Output
from linkwright.motion.trajectory import Trajectory, through
from linkwright.mounts.attitude import AttitudeSensors, SensedMotion, attitude
from linkwright.mounts.gimbals import GimbalPointing, gimbal_start, on_gimbal
from linkwright.mounts.inverse_pointing import InversePointing, actuator_rates, start_at
from linkwright.mounts.keyholes import checked_beam
from linkwright.mounts.license import VESSELS, License, TransmitInhibit
from linkwright.mounts.machines import on_site
from linkwright.mounts.ships import Ship
from linkwright.mounts.spare_freedoms import plan_spare
from linkwright.mounts.wind import Wind, WindLoad
from linkwright.system import System

Array = NDArray[np.float64]

ERROR = "pointing error"
"""The channel of a run that has it, rad."""
_KNOT = 0.1
"""From knot to knot of a planned path, s."""
_LOOK = 0.5
"""From one direction to the next at which a path is looked at beforehand, s."""
_DIRECTION = ("d", "d_dot", "d_ddot")
_UP = ("up", "up_dot", "up_ddot")
_VERTICAL = ((0, 0, 1), (0, 0, 0), (0, 0, 0))


class PathInSky(Protocol):
    """A path of unit vectors East, North, up over time: a pass, or another trajectory."""

    @property
    def size(self) -> int:
        """3."""

    @property
    def duration(self) -> float:
        """s."""

    def expressions(self, t: Scalar, order: int = 0) -> tuple[Expr, ...]:
        """Return the direction, its rate (1) or its acceleration (2)."""


@one_line
@dataclass(frozen=True, slots=True)
class TrackingServo:
    """The servos of a mount's actuators.

    Args:
        rate: ticks in a second, Hz.
        turning: fastest of an actuator that turns, rad/s.
        sliding: fastest of an actuator that slides, m/s.
        position: gain of the position loop, 1/s.
        speed: gain of the speed loop, 1/s.
        integral: of the speed error, 1/s^2.
        angle_step: of encoders of actuators that turn, rad; 0 for none.
        length_step: of encoders of actuators that slide, m; 0 for none.

    Example:
        >>> TrackingServo(turning=0.1).position
        12.0
    """

    rate: float = 1000.0
    turning: float = math.radians(5.0)
    sliding: float = 0.1
    position: float = 12.0
    speed: float = 40.0
    integral: float = 150.0
    angle_step: float = 0.0
    length_step: float = 0.0

    def __post_init__(self) -> None:
        for name in ("rate", "turning", "sliding", "position", "speed"):
            checked(getattr(self, name), f"{name} of a servo", above=0)
        for name in ("integral", "angle_step", "length_step"):
            checked(getattr(self, name), f"{name} of a servo", least=0)


@worded
def track_pass(
    model: ModelLike,
    pass_: PathInSky,
    *,
    beamwidth: float = math.radians(0.8),
    ship: Ship | None = None,
    wind: Wind | None = None,
    servo: TrackingServo | None = None,
    license: License = VESSELS,  # noqa: A002
    sensors: AttitudeSensors | None = None,
    spare: str = "",
    aim: PathInSky | None = None,
) -> System:
    """Return the System of a mount that follows a pass.

    Its channel "pointing error" is the angle between the dish and the satellite, rad; "pointing
    loss" what that costs, dB; `transmitter` is silenced while the dish is off.

    Args:
        model: a mechanism, a robot, a file or the name of a shipped model, with actuators and
            platform.
        pass_: a path of unit vectors East, North, up.
        beamwidth: full width of the beam at half power, rad.
        ship: that carries the mount; on the ground by default.
        wind: that blows on the dish.
        servo: of its actuators.
        license: that the transmitter keeps.
        sensors: from which the attitude of an unstabilized deck is estimated; known by default.
        spare: what a mount with three or six actuators spends its spare freedoms on, planned over
            the whole pass: "farthest from singular", "stiffest" or "least effort"; by default it
            keeps its plunge, or its place.
        aim: what the dish follows in place of the pass, such as a shaped path of an alt-az mount
            (`ShapedPath.aim`); the pointing error stays that to the pass.

    Example:
        >>> import linkwright as lw
        >>> m = Mechanism("x_y")
        >>> yoke = m.body("yoke", rotate="x", mass=20, inertia=2)
        >>> dish = m.body("dish", parent=yoke, rotate="y", mass=50, inertia=5)
        >>> m.actuate("yoke", "dish")
        >>> platform = m.set_platform(dish)
        >>> d, rate = [[0, 0, 1], [0.02, 0, 0.9998]], [[0.02, 0, 0], [0.02, 0, -0.0004]]
        >>> s = track_pass(m, lw.motion.hermite([0, 1], d, rate))
        >>> list(s.members)
        ['target', 'inverse', 'torque', 'cascade', 'transmitter']
    """
    if pass_.size != 3:
        raise InputError(f"a pass is a path of 3 numbers, not of {pass_.size}")
    checked_beam(beamwidth)
    servo = servo or TrackingServo()
    m = on_site(mechanism_of(model), getattr(pass_, "site", None))
    m = _observed(m, pass_, beamwidth, ship)
    s = System(m, base=servo.rate)
    sensed = sensors is not None and ship is not None and not ship.stabilized
    if sensors is not None and not sensed:
        raise InputError(
            "attitude sensors serve a deck that moves, and this one does not",
            remedy="give an unstabilized ship, or leave the sensors out",
        )
    aim = pass_ if aim is None else aim
    gimbal = on_gimbal(parallel_machine(m))
    target = s.add(_target(aim, ship, sensed, gimbal), rate=servo.rate)
    if sensed and ship is not None:
        estimate = s.add(attitude(ship, sensors, rate=servo.rate), name="attitude")
        s.connect(estimate.angles, target.angles)
        s.connect(estimate.rates, target.angle_rates)
    path, turning = _numbers(aim, ship)
    begun: dict[str, float] = {}
    sliding = _sliding(m)
    fastest = [servo.sliding if slides else servo.turning for slides in sliding]
    if spare:
        if sensed:
            raise InputError(
                "spare freedoms are planned beforehand, and attitude sensors see the way as it is",
                remedy="leave one of the two out",
            )
        start, way = _planned(model, m, aim, ship, spare, fastest)
        plan = s.add(way.block("plan"), rate=servo.rate)
        ports = {"q": plan.q, "u": plan.q_dot, "a": plan.q_ddot}
    elif gimbal:
        up = _up_at_first(ship)
        seen = (path[0].tolist(), turning.tolist())
        start, begun = gimbal_start(parallel_machine(m), up, seen)
        inverse = s.add(GimbalPointing(m, [q.name for q in m.actuators], start), rate=servo.rate)
        for port in (*_DIRECTION, *_UP):
            s.connect(target[port], inverse[port])
        ports = {port: inverse[port] for port in "qua"}
    else:
        start = start_at(m, path, step=_LOOK, speed=servo.turning)
        inverse = s.add(InversePointing(m, start, fastest), rate=servo.rate)
        for port in _DIRECTION:
            s.connect(target[port], inverse[port])
        ports = {port: inverse[port] for port in "qua"}
    names = [q.name for q in m.actuators]
    torque = s.add(ComputedTorque(m, 0.0, 0.0, joints=names, name="torque"), rate=servo.rate)
    cascade = s.add(_cascade(len(names), servo), rate=servo.rate)
    for port, value in ports.items():
        s.connect(value, cascade[port])
    measured = _measured(s, m, names, sliding, servo)
    s.connect(measured, cascade.measured)
    s.connect(measured, torque.q)
    s.connect([m.kinematics().rates[q] for q in m.actuators], cascade.speed)
    s.connect(cascade.acceleration, torque.target_acceleration)
    transmitter = s.add(TransmitInhibit(license), rate=servo.rate)
    s.connect(_error(m, pass_, ship), transmitter.error)
    if wind is not None:
        s.add(WindLoad(m, wind, pass_.duration, ship=ship))
    s.set_initial({**start, **(begun or actuator_rates(m, start, turning))})
    return s


def _up_at_first(ship: Ship | None) -> list[list[float]]:
    """Return the vertical as the deck sees it at first, and its rate."""
    if ship is None:
        return [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    t = symbol("t", "time", owner="pass")
    seen = ship.seen(_VERTICAL[:2], t)
    return [[float(v) for v in evaluate_all(list(row), {t: 0.0})] for row in seen]


def _planned(
    mount: ModelLike,
    m: Mechanism,
    pass_: PathInSky,
    ship: Ship | None,
    aim: str,
    fastest: Sequence[float],
) -> tuple[dict[str, float], Trajectory]:
    """Return where a mount with spare freedoms begins, and the way of its actuators."""
    from linkwright.robots import Robot

    robot = Robot(on_site(mechanism_of(mount), getattr(pass_, "site", None)))
    times = np.linspace(0.0, pass_.duration, 1 + math.ceil(pass_.duration / _KNOT))
    plan = plan_spare(robot, _numbers(pass_, ship, times)[0], aim)
    names = robot.coordinates
    way = through(times, plan.q[:, [names.index(q.name) for q in m.actuators]])
    for name, most, found in zip(m.actuators, fastest, way.max_abs(1), strict=True):
        if found > most:
            raise InputError(
                f"{name.name!r} would have to move at {found:.4g}, and its servo at most at "
                f"{most:.4g}",
                remedy="take a faster servo, another aim, or another pass",
            )
    return dict(zip(names, plan.q[0].tolist(), strict=True)), way


def _observed(m: Mechanism, pass_: PathInSky, beamwidth: float, ship: Ship | None) -> Mechanism:
    """Return a mount on its ship, with what its run reports."""
    if m.platform is None or not m.actuators:
        raise InputError(
            f"{m.name!r} names no actuators and platform",
            remedy="let it be a mount, such as mount-prismatic, or name them",
        )
    carried = m if ship is None else ship.carry(m)
    error = _error(m, pass_, ship)
    loss = 12 * (error / beamwidth) ** 2
    outputs = [
        Output(ERROR, error, "rad", "angle between dish and satellite", ""),
        Output("pointing loss", loss, "1", "what the error costs, dB", ""),
    ]
    return carried.with_outputs([*carried.outputs, *outputs])


def _error(m: Mechanism, pass_: PathInSky, ship: Ship | None) -> Expr:
    """Return the angle between dish and satellite, rad."""
    assert m.platform is not None
    target = pass_.expressions(m.time)
    seen = target if ship is None else ship.seen([target], m.time)[0]
    return between(m.platform.axis.components(m.ground.frame), seen)


def between(a: Sequence[Scalar], b: Sequence[Scalar]) -> Expr:
    """Return the angle between two unit vectors, rad; exact where it is small."""
    gap = total((as_expr(x) - y) ** 2 for x, y in zip(a, b, strict=True))
    return 2 * asin(minimum(1, sqrt(gap) / 2))


def _target(pass_: PathInSky, ship: Ship | None, sensed: bool, upright: bool = False) -> Block:
    """Return where the satellite is seen from the deck."""
    block = Block("target", doc="the satellite, seen from the mount")
    rows = [pass_.expressions(block.time, order) for order in range(3)]
    if sensed and ship is not None:
        angles = block.input_vector("angles", 3, unit="rad")
        rates = block.input_vector("angle_rates", 3, unit="rad/s")
        ship = replace(ship, motion=SensedMotion(angles, rates))
    seen = rows if ship is None else ship.seen(rows, block.time)
    for port, row, unit in zip(_DIRECTION, seen, ("1", "1/s", "1/s^2"), strict=True):
        block.output_vector(port, row, unit=unit)
    if upright:
        level = [tuple(as_expr(x) for x in row) for row in _VERTICAL]
        vertical = level if ship is None else ship.seen(level, block.time)
        for port, up, unit in zip(_UP, vertical, ("1", "1/s", "1/s^2"), strict=True):
            block.output_vector(port, list(up), unit=unit)
    return block


def _cascade(count: int, servo: TrackingServo) -> Block:
    """Return a position loop over a speed loop with an integral: accelerations of actuators."""
    block = Block("cascade", doc="position loop over speed loop")
    outer = block.parameter("position", servo.position, unit="1/s", lower=0.0)
    inner = block.parameter("speed_gain", servo.speed, unit="1/s", lower=0.0)
    slow = block.parameter("integral", servo.integral, unit="1/s^2", lower=0.0)
    q, u, a = (block.input_vector(n, count) for n in "qua")
    at, moving = block.input_vector("measured", count), block.input_vector("speed", count)
    made = []
    for i in range(count):
        wanted = block.intermediate(u[i] + outer * (q[i] - at[i]))
        off = block.intermediate(wanted - moving[i])
        summed = block.discrete_state(f"sum_{i}")
        block.update(summed, saturate(summed + off * block.period, -1.0, 1.0))
        made.append(a[i] + outer * (u[i] - moving[i]) + inner * off + slow * summed)
    block.output_vector("acceleration", made)
    return block


def _sliding(m: Mechanism) -> list[bool]:
    found = []
    for q in m.actuators:
        body = next(b for b in m.bodies.values() if q in b.coordinates)
        found.append(q not in body.rotations)
    return found


def _measured(
    s: System, m: Mechanism, names: Sequence[str], sliding: Sequence[bool], servo: TrackingServo
) -> list[Expr]:
    """Return what encoders show of the actuators."""
    found: list[Expr] = []
    for name, slides in zip(names, sliding, strict=True):
        step = servo.length_step if slides else servo.angle_step
        if step:
            encoder = Encoder(m, name, resolution=step, name=f"encoder_{len(found) + 1}")
            found.append(s.add(encoder, rate=servo.rate).angle)
        else:
            found.append(m.coordinates[name])
    return found


def _numbers(
    pass_: PathInSky, ship: Ship | None, times: Array | None = None
) -> tuple[Array, Array]:
    """Return the directions of the satellite on deck over time, and its rate at the beginning."""
    t = symbol("t", "time", owner="pass")
    rows = [pass_.expressions(t, order) for order in range(2)]
    seen = [e for row in (rows if ship is None else ship.seen(rows, t)) for e in row]
    times = np.arange(0.0, pass_.duration, _LOOK) if times is None else times
    found = np.array([evaluate_all(seen, {t: float(at)}) for at in times], dtype=float)
    return found[:, :3], found[0, 3:6]
