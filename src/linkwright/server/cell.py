"""What a cell is made of: arms with their axes, frames, sensors and clients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from linkwright.mechanism import Mechanism
from linkwright.server.access import Client
from linkwright.server.network import Credentials

CAUSES = (
    "none",
    *("disable", "replaced"),  # motions that end with the arm switched off, or by another motion
    *("stop", "silence", "frame"),  # a client's or its absence, a sensor's
    "reach",  # the tool cannot keep to its path, or a joint would leave its limits there
    *("limit", "current", "following"),  # of an axis
    *("value", "halt", "button", "device", "card", "linked"),  # PANIC
)
"""Why arms stop, by number; the first is no stop."""

CATEGORIES: tuple[int | str, ...] = (0, 1, 2, "tell")
"""Of stops, as IEC 60204-1 has them: 0 removes power at once; 1 brakes, then removes it; 2 brakes
and holds. What is only told stops nothing."""

STOPPABLE = {
    "stop": 2,
    "silence": 2,
    "frame": 3,
    "reach": 2,
    "limit": 1,
    "current": 0,
    "following": 0,
}
"""Causes whose category a cell may choose, with what it is otherwise; all others are PANIC. Legs in
a frame that is too old stand until it is seen again, where that is only told."""


@dataclass(frozen=True, slots=True)
class CellAxis:
    """An axis of an arm: its joint, its limits and its drive."""

    name: str  # such as "puma.3"
    joint: str  # the coordinate that it moves
    unit: str  # of the coordinate, rad or m
    low: float  # lowest position
    high: float  # highest position
    speed: float  # the largest
    acceleration: float  # the largest
    jerk: float  # the largest
    constant: float  # torque or force at the joint per current, N*m/A or N/A
    current: float  # the largest, A
    overload: float  # how long the current may be at its largest, s
    following: float  # the largest difference from where it should be
    encoder: float  # one step of the encoder
    brake: float  # torque or force of the brake at most

    @property
    def slack(self) -> float:
        """How far beyond its range it may be measured while its set-point is on the border."""
        return self.following / 10


@dataclass(frozen=True, slots=True)
class ArmLaw:
    """The control of an arm."""

    kind: str  # "computed-torque", "pd" or "axes", an axis controller
    # for each axis, 1/s^2 of computed torque, N*m/rad or N/m of PD, A/rad or A/m of axes
    kp: tuple[float, ...]
    kd: tuple[float, ...]  # the same for speeds, 1/s, N*m*s/rad or A*s/rad
    ki: tuple[float, ...] = ()  # of axes, the same for the integral, A/(rad*s)
    kv: tuple[float, ...] = ()  # of axes, current for wanted speed, A*s/rad
    ka: tuple[float, ...] = ()  # of axes, current for wanted acceleration, A*s^2/rad
    rated: tuple[float, ...] = ()  # of axes, current that may flow for ever, A; none for any
    heat: tuple[float, ...] = ()  # of axes, what i^2 may add up to above it, A^2*s
    notch: tuple[float, ...] = ()  # of axes, middle of the notch filter, Hz; none without one
    ahead: str = "none"  # of axes, the torque that is given ahead: "none", "gravity" or "dynamics"


@dataclass(frozen=True, slots=True)
class CellHardware:
    """What is behind the arms of a cell."""

    # "simulated", in a process that the cell starts; "window", whoever writes the window of states
    # in the folder, at its clock, and reads that of commands
    kind: str = "simulated"
    folder: str = ""  # of the windows; empty where they are the cell's own


@dataclass(frozen=True, slots=True, eq=False)
class CellArm:
    """An arm of a cell."""

    name: str  # of the arm
    model: str  # name or file of its mechanism
    values: Mapping[str, float]  # of the mechanism's parameters, over the model's own
    file: str | None  # that the mechanism was read from, None for a shipped model
    mechanism: Mechanism  # what moves
    hardware: CellHardware  # what is behind it
    tool: str  # the frame or body that poses are about; empty where joints alone are commanded
    law: ArmLaw  # its control
    stops: Mapping[str, int]  # category of stops by cause, a place in `CATEGORIES`
    start: tuple[float, ...]  # where its joints begin
    axes: tuple[CellAxis, ...]  # one for each joint, in the order of the coordinates
    # pose of its base in the world: x, y, z in m and a unit quaternion w, x, y, z; empty where that
    # is not said, and frames of the cell are in its base
    mount: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class CellFrame:
    """A frame in which poses can be given."""

    name: str  # of the frame
    kind: str  # "constant", "moving" or "sensed"
    pose: tuple[float, ...]  # at the start: x, y, z in m and a unit quaternion w, x, y, z
    twist: tuple[float, ...]  # of a moving frame, m/s and rad/s
    age: float  # the oldest that a sensed one may be, s


@dataclass(frozen=True, slots=True)
class CellSensor:
    """A sensor node."""

    name: str  # of the node
    kind: str  # "camera", "tracker" and "force" are simulated; a "function" is somebody else's
    rate: float  # Hz
    frame: str = ""  # the sensed frame that it places
    # of a camera: x, y, z in m and a unit quaternion w, x, y, z; empty above its frame
    pose: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """A cell: arms that share a clock, and what they work with."""

    name: str  # on the network too
    doc: str  # one line about it
    rate: float  # ticks in a second
    address: str  # where it listens
    heartbeat: float  # the longest silence of device or server, s
    relaxed: float  # the same where real-time priority is refused, s
    linked: bool  # whether the PANIC of one arm is that of all
    arms: tuple[CellArm, ...]  # in order
    frames: tuple[CellFrame, ...] = ()  # beside the base of each arm, in the world
    sensors: tuple[CellSensor, ...] = ()  # nodes that the cell knows
    # who may do what; nobody is named where it listens on loopback alone
    clients: tuple[Client, ...] = ()
    file: str | None = None  # that it was read from, None for a cell that ships
    credentials: Credentials | None = None  # for TLS, where it listens beyond loopback
    text: str = field(default="", repr=False)  # that it was read from
    enforce: bool = False  # whether the rights of clients count on loopback too

    @property
    def axes(self) -> int:
        """How many axes it has."""
        return sum(len(arm.axes) for arm in self.arms)


def largest_gain(law: str, key: str, rate: float) -> float:
    """Return the largest gain of a law: no axis goes faster than the ticks that it is held by.

    >>> largest_gain("computed-torque", "kd", 1000.0)
    1000.0
    """
    if law != "computed-torque":
        return 1e9  # its unit is that of a load that is not known here
    return rate if key == "kd" else rate**2
