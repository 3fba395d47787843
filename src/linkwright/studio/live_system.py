"""What runs live: a System with a hand that can pull at each body, and servos for a robot's joints.

The hand is an Element with a force at the mass center of every body that has mass, its components
along the world's axes being inputs of the System. A robot file says nothing of control: each of its
joints gets a servo,

    tau = M (w^2 (target - q) - 2 zeta w u) + g(q),

M being what the joint moves at the start (the diagonal of the mass matrix), w the servo's frequency
in rad/s, zeta its damping, and g(q) what gravity and springs ask of the joint, so that it stands at
its target (zero for a base that is free, and in loops). Both are parameters of the run, and the
targets inputs of it. A robot that stands on the ground (`linkwright.scene.stance`) is held more
stiffly by the joints between its base and its feet, which carry it: with three times its weight
times the height of its mass center for a radian.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import ZERO, Expr
from linkwright.base.errors import Error
from linkwright.blocks import BlockError, Element
from linkwright.control.models import inverse_dynamics
from linkwright.formats.robot.description import Description
from linkwright.formats.robot.ground import GROUND, add_ground
from linkwright.mechanism import Body, Mechanism
from linkwright.models.starts import STARTS
from linkwright.robots import Robot
from linkwright.scene.stance import Footing
from linkwright.studio.messages import with_unit
from linkwright.studio.playback import usual_speed
from linkwright.system import System
from linkwright.system.phases import Phases, Signal

Array: TypeAlias = NDArray[np.float64]
HAND, SERVO = "hand", "servo"
RATE = 240
"""Base ticks in a second, where a System does not ask for others."""

STEPS = 24
"""Steps of the integration in a tick, on the ground."""

_FIRMEST = 0.3  # of the inertia that a joint feels, taken away by its damping in one step
_LOAD = 3.0  # of the weight times the height, for a radian of the joints that carry it

_INERTIA = ("kg", "g", "t", "lbm", "slug", "kg*m^2", "lbm*in^2", "slug*ft^2", "kg/m^3")
_NONNEGATIVE_UNITS = (
    *("N/m", "N*s/m", "N*s^2/m^2", "N*m/rad", "N*m*s/rad", "N*s/rad", "Pa", "kg/s", "kg/s^2"),
    *("lbf/in", "lbf/ft", "lbf*s/in", "lbf*s/ft", "lbf*in*s/rad", "lbf*in/rad"),
)
_POSITIVE = {"mass", "radius", "frequency"}
_NONNEGATIVE = {"damping", "stiffness", "friction", "static", "dynamic", "viscous", "dissipation"}

FREQUENCY, DAMPING = 12.0, 1.0
"""Of servos: rad/s, and the share of critical damping."""


@dataclass(frozen=True, slots=True)
class Adjustable:
    """A number that can be changed during a run."""

    name: str  # of a parameter or an input of the System
    unit: str  # as text
    value: float  # at the start
    low: float  # end of its range
    high: float  # end of its range
    doc: str = ""  # what it is, in words
    kind: str = "parameter"  # "parameter", "gain", "input" or "target"
    sign: str = "any"  # what it can be: "any", "nonnegative" or "positive"

    @property
    def label(self) -> str:
        """The name with its unit.

        >>> Adjustable("I", "kg*m^2", 1.0, 0.1, 3.0).label
        'I [kg·m²]'
        """
        short = self.name.removeprefix(f"{SERVO}.").removeprefix("target_")
        return with_unit(short, self.unit)

    def refusal(self, value: float) -> str:
        """Return why a value cannot be, or nothing where it can.

        >>> Adjustable("m", "kg", 1.0, 0.1, 3.0, sign="positive").refusal(0.0)
        'm must be above zero: got 0'
        """
        if not math.isfinite(value):
            return f"{self.name} must be a finite number: got {value:g}"
        if self.sign == "positive" and value <= 0:
            return f"{self.name} must be above zero: got {value:g}"
        if self.sign == "nonnegative" and value < 0:
            return f"{self.name} cannot be below zero: got {value:g}"
        return ""


@dataclass(eq=False)
class Plant:
    """A System that is ready to run, with the places of what a user changes in it.

    >>> from linkwright.models import load_model
    >>> plant = plant_of(load_model("pendulum"))
    >>> plant.hands, [a.label for a in plant.adjustables][:2]
    ({'rod': (0, 1, 2)}, ['L [m]', 'g [m/s²]'])
    """

    system: System  # with the hand and, for robots, the servos added
    record: tuple[str, ...]  # names of the channels
    # by the name of a body, where its force stands in the inputs w
    hands: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    servos: tuple[str, ...] = ()  # coordinates that have servos
    adjustables: tuple[Adjustable, ...] = ()  # what can be changed
    speed: float = 1.0  # at which it is best looked at, seconds in a second on the wall
    # parameters that are the stiffness of the ground, with their values, N/m
    grounds: dict[str, float] = field(default_factory=dict)

    def phases(self) -> Phases:
        """Return the System flattened, with the numbers that it has now."""
        return self.system.phases(self.record)


def plant_of(
    source: Robot | Mechanism | System,
    start: Mapping[str, float] | None = None,
    values: Mapping[str, float] | None = None,
    footing: Footing | None = None,
) -> Plant:
    """Return a plant that can be run live."""
    if isinstance(source, System):
        system, robot = source.copy(), None
    else:
        robot = source if isinstance(source, Robot) else Robot(source)
        system = System(robot.mechanism)
        system.set_initial(STARTS.get(robot.mechanism.name, {}))
    known = {n: v for n, v in (values or {}).items() if n in system.mechanism.parameters}
    system.set_parameters(known)
    speed = speed_of(system.mechanism)
    system.base = _base(system, round(RATE / speed))
    taken = _add_hand(system)
    servos: tuple[str, ...] = ()
    if robot is not None and isinstance(robot.source, Description):
        begin = {q: float(v) for q, v in (start or {}).items() if q in robot.coordinates}
        system.set_initial(begin)
        servos = _add_servos(system, robot, begin, footing)
    grounds: dict[str, float] = {}
    if footing is not None:
        grounds = add_ground(system, footing.touches, footing.floor, footing.up)
    record = _recorded(system)
    phases = system.phases(record)
    place = {s.name: k for k, s in enumerate(phases.w)}
    hands = {
        body: (place[f"{HAND}.{word}_x"], place[f"{HAND}.{word}_y"], place[f"{HAND}.{word}_z"])
        for body, word in taken.items()
        if f"{HAND}.{word}_x" in place
    }
    return Plant(system, record, hands, servos, _adjustables(system, phases, robot), speed, grounds)


def speed_of(mechanism: Mechanism) -> float:
    """Return the speed at which a mechanism is best looked at, seconds in a second on the wall."""
    timing = mechanism.timing
    return usual_speed(timing.until) if timing is not None and timing.until < 3 else 1.0


def _recorded(system: System) -> tuple[str, ...]:
    """Return the channels worth recording: states, outputs, ports of members, not the hand's."""
    m = system.mechanism
    kinematics = m.kinematics()
    names = [q.name for q in kinematics.rates]
    names += [s.symbol.name for s in kinematics.speeds]
    names += [o.name for o in m.outputs]
    for n, member in system.members.items():
        inner = {load.name for load in getattr(member.block, "forces", ()) if n.startswith(GROUND)}
        ports = [port for port, _, _ in member.outputs() if n != HAND and port.name not in inner]
        names += [f"{n}.{x.name}" for port in ports for x in port.symbols]
    return tuple(dict.fromkeys(names))


def _base(system: System, rate: int) -> Fraction | None:
    """Return the base tick: that of a rate (Hz) where all others allow it, else the own one."""
    own = system.base
    system.base = System(name="base", base=rate).base
    try:
        system.clock()
    except Error:
        system.base = own
    return system.base


def _add_hand(system: System) -> dict[str, str]:
    m = system.mechanism
    hand = Element(HAND, m, doc="what a user pulls at bodies with")
    taken: dict[str, str] = {}
    for k, body in enumerate(m.depth_first()):
        if body.inertia.mass is ZERO:
            continue
        word = f"b{k}"
        parts = [hand.input(f"{word}_{c}", unit="N") for c in "xyz"]
        hand.force_vector(f"pull_{word}", parts, at=body.com, doc=f"pull at {body.name}")
        taken[body.name] = word
    if taken:
        system.add(hand, name=HAND)
    return taken


def _carrying(robot: Robot, footing: Footing) -> set[Body]:
    """Return the bodies between the base and the feet."""
    found: set[Body] = set()
    for touch in footing.touches:
        if touch.foot:
            found.update(touch.body.ancestors())
    return found


def _add_servos(
    system: System, robot: Robot, begin: Mapping[str, float], footing: Footing | None
) -> tuple[str, ...]:
    """Put servos on the joints of one coordinate; return the coordinates."""
    m = robot.mechanism
    free = set(robot.coordinates)
    joints = [
        joint.coordinates[0]
        for joint in robot.assembled.joints
        if len(joint.coordinates) == 1 and joint.coordinates[0].name in free
    ]
    if not joints:
        return ()
    felt, light = _felt(robot, begin)
    carrying = set() if footing is None else _carrying(robot, footing)
    bodies = {q: joint.body for joint in robot.assembled.joints for q in joint.coordinates}
    servo = Element(SERVO, m, doc="holds joints at their targets")
    w = servo.parameter("frequency", FREQUENCY, unit="1/s", doc="how stiff the joints are held")
    zeta = servo.parameter("damping", DAMPING, unit="1", doc="share of critical damping")
    carried = _carried(servo, joints) if footing is None else {}
    for q in joints:
        u = _speed_of(robot, q)
        word = _word(q.name)
        target = servo.input(f"target_{word}", unit=m.units.get(q.name, "?"))
        size = drag = felt[q.name]
        if footing is not None and bodies[q] in carrying:
            size = _LOAD * footing.mass * 9.81 * footing.height / FREQUENCY**2
            most = _FIRMEST * light[q.name] * RATE * STEPS / (2 * FREQUENCY * DAMPING)
            drag = min(max(drag, 1.5 * math.sqrt(size * drag)), max(drag, most))
        law = size * w * w * (target - q) - 2 * zeta * w * drag * u + carried.get(q, ZERO)
        servo.effort(f"tau_{word}", q, law)
    member = system.add(servo, name=SERVO)
    held = {q.name: begin.get(q.name, float(m.initial.get(q.name, 0.0))) for q in joints}
    system.set_parameters(
        {f"{member.name}.target_{_word(name)}": value for name, value in held.items()}
    )
    return tuple(q.name for q in joints)


def _carried(servo: Element, joints: Sequence[Expr]) -> dict[Expr, Expr]:
    """Return what gravity and springs ask of each joint; nothing where that is not by joint."""
    try:
        return inverse_dynamics(servo, {q: q for q in joints})
    except BlockError:  # a free base, or joints that follow others
        return {}


def _felt(robot: Robot, begin: Mapping[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    """Return what each coordinate moves at the start while others are held, and while they are not.

    In kg*m^2, or kg.
    """
    pairs = zip(robot.coordinates, np.asarray(robot.neutral, float), strict=True)
    q0 = np.array([begin.get(n, float(v)) for n, v in pairs])
    try:
        whole = np.atleast_2d(robot.mass_matrix(q0))
        held, free = np.diag(whole), 1 / np.diag(np.linalg.pinv(whole))
    except Error:
        held = free = np.ones(len(robot.speeds))
    return _by_coordinate(robot, held), _by_coordinate(robot, free)


def _by_coordinate(robot: Robot, sizes: Array) -> dict[str, float]:
    sized = dict(zip(robot.speeds, sizes, strict=True))
    found = {}
    for joint in robot.assembled.joints:
        if len(joint.coordinates) == 1:
            q = joint.coordinates[0]
            value = float(sized.get(_speed_of(robot, q).name, 1.0))
            found[q.name] = value if math.isfinite(value) and value > 1e-6 else 1e-3
    return found


def _speed_of(robot: Robot, q: Expr) -> Expr:
    return robot.mechanism.kinematics().rates[q]


def target_of(coordinate: str) -> str:
    """Return the name of the input that a servo brings a coordinate to.

    >>> target_of("joint-1")
    'servo.target_joint_1'
    """
    return f"{SERVO}.target_{_word(coordinate)}"


def _word(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name)


# -- what can be changed ---------------------------------------------------------------------------
def _adjustables(system: System, phases: Phases, robot: Robot | None) -> tuple[Adjustable, ...]:
    limits: dict[str, tuple[float, float]] = {}
    if robot is not None:
        pairs = zip(robot.coordinates, np.asarray(robot.limits, float), strict=True)
        limits = {target_of(n): (float(a), float(b)) for n, (a, b) in pairs}
    made = [_parameter(system, s) for s in phases.p]
    made += [_input(s, limits) for s in phases.w if not s.name.startswith(f"{HAND}.")]
    return tuple(made)


def _parameter(system: System, signal: Signal) -> Adjustable:
    m = system.mechanism
    own = signal.name in m.parameters
    unit = m.units.get(signal.name, signal.unit) if own else signal.unit
    doc = m.docs.get(signal.name, "") if own else signal.long_name
    sign = sign_of(signal.name, unit, signal.value)
    low, high = range_of(signal.value, unit, sign)
    kind = "parameter" if own else "gain"
    return Adjustable(signal.name, unit, signal.value, low, high, doc, kind, sign)


def _input(signal: Signal, limits: Mapping[str, tuple[float, float]]) -> Adjustable:
    low, high = limits.get(signal.name, range_of(signal.value, signal.unit))
    turn = math.pi if signal.unit == "rad" else 2.0
    low = signal.value - turn if not math.isfinite(low) else low
    high = signal.value + turn if not math.isfinite(high) else high
    kind = "target" if signal.name in limits else "input"
    value = min(max(signal.value, low), high)
    return Adjustable(signal.name, signal.unit, value, low, high, signal.long_name, kind)


def sign_of(name: str, unit: str, value: float) -> str:
    """Return what a quantity can be: "any", "nonnegative" or "positive".

    Masses, moments of inertia, stiffness and damping are known by their units, others by what they
    are called. A model that gives such a quantity another sign knows what it does.

    >>> [
    ...     sign_of(*told)
    ...     for told in (("m", "kg", 2.0), ("ground.damping", "?", 0.0), ("x", "m", 0.0))
    ... ]
    ['positive', 'nonnegative', 'any']
    """
    plain = unit.replace(" ", "").replace("²", "^2").replace("**", "^")
    words = set(re.split(r"[\W_\d]+", name.lower()))
    if (plain in _INERTIA or words & _POSITIVE) and value > 0:
        return "positive"
    if (plain in (*_INERTIA, *_NONNEGATIVE_UNITS) or words & _NONNEGATIVE) and value >= 0:
        return "nonnegative"
    return "any"


def range_of(value: float, unit: str = "?", sign: str = "any") -> tuple[float, float]:
    """Return a range for a slider about a value.

    >>> range_of(9.80665), range_of(-4.0), range_of(0.0, "rad")[1] > 3
    ((0.98, 29.0), (-12.0, -0.4), True)
    >>> range_of(0.0, "N*s/m", "nonnegative"), range_of(5.0, "N*s/m", "nonnegative")
    ((0.0, 1.0), (0.0, 15.0))
    """
    if value == 0:
        reach = {"rad": math.pi, "N": 100.0, "N*m": 100.0}.get(unit, 1.0)
        return (0.0 if sign == "nonnegative" else -reach), reach
    first, second = sorted((0.1 * value, 3 * value))
    if sign == "nonnegative":
        first = 0.0
    return float(f"{first:.2g}"), float(f"{second:.2g}")
