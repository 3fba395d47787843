"""What a cell is made of: arms with their axes, frames, sensors and clients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from linkwright.formats.schema import Amount, Key
from linkwright.mechanism import Mechanism
from linkwright.server.access import Client
from linkwright.server.network import Credentials

CAUSES = (
    "none",
    *("disable", "replaced"),  # motions that end with the arm switched off, or by another motion
    *("stop", "silence", "frame"),  # a client's or its absence, a sensor's
    *("touch", "loss"),  # a force above the guard; no contact where the tool is to press
    "reach",  # the tool cannot keep to its path, or a joint would leave its limits there
    *("limit", "current", "following"),  # of an axis
    *("value", "halt", "button", "device", "card", "linked"),  # PANIC
)
"""Why arms stop, by number; the first is not a stop."""

CATEGORIES: tuple[int | str, ...] = (0, 1, 2, "tell")
"""Of stops, as IEC 60204-1 has them: 0 removes power at once; 1 brakes, then removes it; 2 brakes
and holds. What is only reported stops nothing."""

STOPPABLE = {
    "stop": 2,
    "silence": 2,
    "frame": 3,
    "touch": 2,
    "loss": 2,
    "reach": 2,
    "limit": 1,
    "current": 0,
    "following": 0,
}
"""Causes whose category a cell may choose, with what it is otherwise; all others are PANIC. Legs in
a frame that is too old stand until it is seen again, where that is only reported."""


def _largest(unit: str, doc: str) -> Amount:
    return Amount(unit, doc, above=0.0, ruled=True)


def _each(doc: str) -> Amount:
    return Amount("?", doc, each=True)


RATES = (1.0, 20_000.0)
"""Hz, of cells: from the slowest to the fastest."""
_POSE = "m, m, m, 1, 1, 1, 1"
_TWIST = "m/s, m/s, m/s, rad/s, rad/s, rad/s"
_Numbers = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class CellAxis:
    """An axis of an arm: its joint, its limits and its drive."""

    name: str  # such as "puma.3"
    unit: str  # of the coordinate, rad or m
    joint: Annotated[str, Key("the coordinate that it moves")]
    low: Annotated[float, Amount("rad|m", "lowest position; the model's", ruled=True)]
    high: Annotated[float, Amount("rad|m", "highest position; the model's", ruled=True)]
    speed: Annotated[float, _largest("rad/s|m/s", "largest speed; the model's")]
    acceleration: Annotated[
        float, _largest("rad/s^2|m/s^2", "largest acceleration; 4 times the speed, 1/s")
    ]
    jerk: Annotated[float, _largest("rad/s^3|m/s^3", "largest jerk; 20 times the acceleration")]
    current: Annotated[float, _largest("A", "largest current; what gives the model's effort")]
    brake: Annotated[float, _largest("N*m|N", "largest torque or force of the brake")]
    constant: Annotated[float, Amount("N*m/A|N/A", "torque or force at the joint per current")] = (
        1.0
    )
    overload: Annotated[float, Amount("s", "how long it may be at its largest", above=0)] = 0.2
    following: Annotated[float, Amount("rad|m", "largest following error", above=0)] = 0.1
    encoder: Annotated[float, Amount("rad|m", "step of the encoder", above=0)] = 1e-6

    @property
    def slack(self) -> float:
        """How far beyond its range it may be measured while its set-point is on the border."""
        return self.following / 10


@dataclass(frozen=True, slots=True)
class ArmLaw:
    """The control of an arm; a number counts for all axes, or there is one for each."""

    kind: Annotated[Literal["computed-torque", "pd", "axes", "hybrid"], Key("the law")]
    kp: Annotated[
        _Numbers, _each("1/s^2 (computed torque), N*m/rad or N/m (pd), A/rad or A/m (axes)")
    ]
    kd: Annotated[
        _Numbers, _each("1/s (computed torque), N*m*s/rad (pd), A*s/rad (axes), or for m")
    ]
    ki: Annotated[_Numbers, _each("integral gain of axes, A/(rad*s)")] = ()
    kv: Annotated[_Numbers, _each("current of axes for wanted speed, A*s/rad")] = ()
    ka: Annotated[_Numbers, _each("the same for acceleration, A*s^2/rad")] = ()
    rated: Annotated[_Numbers, _each("current of axes that may flow for ever, A")] = ()
    heat: Annotated[_Numbers, _each("what i^2 may add up to above it, A^2*s")] = ()
    notch: Annotated[_Numbers, _each("middle of the axes' notch filter, Hz")] = ()
    ahead: Annotated[
        Literal["none", "gravity", "dynamics"], Key("torque given ahead, of axes", ruled=True)
    ] = "none"
    # of hybrid, which is computed torque with forces along x, y and z of the arm's base
    gain: Annotated[_Numbers, _each("of force, of hybrid: three numbers, or one for all")] = ()
    wrist: Annotated[float, Amount("N/m", "stiffness of the wrist, of hybrid", above=0)] = 500.0
    filter: Annotated[
        float, Amount("1", "pole of the filter of force, for a period", least=0, most=0.99)
    ] = 0.8
    period: Annotated[float, Amount("s", "that gain and filter stand for", above=0)] = 0.028
    approach: Annotated[float, Amount("m/s", "fastest speed of force control", above=0)] = 0.05
    travel: Annotated[float, Amount("m", "how far the tool goes to meet something", above=0)] = 0.1


@dataclass(frozen=True, slots=True)
class CellHardware:
    """What is behind the arms of a cell.

    It is simulated, in a process that the cell starts; or there is a window: whoever writes the
    window of states in the folder, at its clock, and reads that of commands.
    """

    kind: Annotated[str, Key("simulated, or window")] = "simulated"
    folder: Annotated[str, Key("where the windows of a device lie")] = ""


@dataclass(frozen=True, slots=True, eq=False)
class CellArm:
    """An arm."""

    file: str | None  # that the mechanism was read from, None for a shipped model
    mechanism: Mechanism  # what moves
    name: Annotated[str, Key("a word that names it")]
    model: Annotated[str, Key("a shipped model, or a file beside this one")]
    axes: Annotated[
        tuple[CellAxis, ...],
        Key("joints whose limits the model does not have", key="axis", ruled=True),
    ]
    start: tuple[float, ...]  # where its joints begin
    stops: Mapping[str, int]  # category of stops by cause, a place in `CATEGORIES`
    values: Mapping[str, float]  # of the mechanism's parameters, over the model's own
    hardware: CellHardware  # what is behind it
    law: Annotated[
        ArmLaw,
        Key("its control; computed torque with kp = 400, kd = 40", key="control", ruled=True),
    ]
    tool: Annotated[
        str, Key("the frame or body that poses are about; where it is empty joints are commanded")
    ] = ""
    mount: Annotated[
        tuple[float, ...], Amount(_POSE, "pose of its base in the world, as of a frame")
    ] = ()


@dataclass(frozen=True, slots=True)
class CellFrame:
    """A frame in which poses can be given."""

    name: Annotated[str, Key("a word that names it")]
    kind: Annotated[Literal["constant", "moving", "sensed"], Key("what moves it")]
    pose: Annotated[tuple[float, ...], Amount(_POSE, "x, y, z and a quaternion w, x, y, z")]
    twist: Annotated[tuple[float, ...], Amount(_TWIST, "its speeds, if it moves")] = (0.0,) * 6
    age: Annotated[float, Amount("s", "oldest age of what a sensor says", above=0)] = 0.2


@dataclass(frozen=True, slots=True)
class CellSurface:
    """A plane that simulated tools meet; z of its pose points out of it."""

    name: Annotated[str, Key("a word that names it")]
    pose: Annotated[tuple[float, ...], Amount(_POSE, "in the world, as of a frame")]
    stiffness: Annotated[float, Amount("N/m", "of it", above=0)] = 1e5
    damping: Annotated[float, Amount("N*s/m", "of it and the wrist", least=0)] = 3.0


@dataclass(frozen=True, slots=True)
class CellSensor:
    """A sensor node; a function is somebody else's, the others are simulated."""

    name: Annotated[str, Key("a word that names it")]
    kind: Annotated[Literal["camera", "force", "tracker", "function"], Key("what it is")]
    rate: Annotated[float, Amount("Hz", "of its observations", above=0)]
    frame: Annotated[str, Key("the sensed frame that it places")] = ""
    pose: Annotated[tuple[float, ...], Amount(_POSE, "of a camera; 1 m above its frame")] = ()
    source: Annotated[str, Key("pictures of a camera: a folder, or a device; else simulated")] = ""
    area: Annotated[float, Amount("m^2", "of the target in pictures", above=0)] = 0.01
    focal: Annotated[tuple[float, float], Amount("1, 1", "focal lengths of pictures, pixels")] = (
        800.0,
        800.0,
    )
    dark: Annotated[bool, Key("whether the target is darker than what is around it")] = False


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """A cell: arms that share a clock, and what they work with."""

    name: Annotated[str, Key("on the network too")]
    arms: tuple[CellArm, ...]  # in order
    doc: Annotated[str, Key("one line about it")] = ""
    rate: Annotated[float, Amount("Hz", "ticks in a second", least=RATES[0], most=RATES[1])] = (
        1000.0
    )
    address: Annotated[str, Key("where it listens")] = "tcp/127.0.0.1:7447"
    heartbeat: Annotated[float, Amount("s", "longest silence of device or server", above=0)] = 0.05
    relaxed: Annotated[
        float, Amount("s", "the same where real-time priority is rejected", above=0)
    ] = 0.2
    enforce: Annotated[bool, Key("whether rights of clients count on loopback too")] = False
    linked: Annotated[bool, Key("whether a PANIC is one of all arms")] = True
    frames: Annotated[
        tuple[CellFrame, ...], Key("beside the base of each arm, in the world", key="frame")
    ] = ()
    surfaces: Annotated[
        tuple[CellSurface, ...], Key("what simulated tools meet", key="surface")
    ] = ()
    sensors: Annotated[tuple[CellSensor, ...], Key("nodes that it knows", key="sensor")] = ()
    # who may do what; nobody is named where it listens on loopback alone
    clients: tuple[Client, ...] = ()
    file: str | None = None  # that it was read from, None for a cell that ships
    credentials: Credentials | None = None  # for TLS, where it listens beyond loopback
    text: str = field(default="", repr=False)  # that it was read from

    @property
    def axes(self) -> int:
        """How many axes it has."""
        return sum(len(arm.axes) for arm in self.arms)


def largest_gain(law: str, key: str, rate: float) -> float:
    """Return the largest gain of a law: no axis goes faster than the ticks that it is held by.

    >>> largest_gain("computed-torque", "kd", 1000.0)
    1000.0
    """
    if key == "gain":
        return 1.0  # of force: the limit of a filter of pole 0.8 on a stiff surface
    if law not in ("computed-torque", "hybrid"):
        return 1e9  # its unit is that of a load that is not known here
    return rate if key == "kd" else rate**2
