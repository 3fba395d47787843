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
    """An axis of an arm: its joint, its limits and its drive.

    Args:
        name: such as "puma.3".
        joint: the coordinate that it moves.
        unit: of the coordinate, rad or m.
        low: lowest position.
        high: highest position.
        speed: the largest.
        acceleration: the largest.
        jerk: the largest.
        constant: torque or force at the joint per current, N*m/A or N/A.
        current: the largest, A.
        overload: how long the current may be at its largest, s.
        following: the largest difference from where it should be.
        encoder: one step of the encoder.
        brake: torque or force of the brake at most.
    """

    name: str
    joint: str
    unit: str
    low: float
    high: float
    speed: float
    acceleration: float
    jerk: float
    constant: float
    current: float
    overload: float
    following: float
    encoder: float
    brake: float

    @property
    def slack(self) -> float:
        """How far beyond its range it may be measured while its set-point is on the border."""
        return self.following / 10


@dataclass(frozen=True, slots=True)
class ArmLaw:
    """The control of an arm.

    Args:
        kind: "computed-torque", "pd" or "axes", an axis controller.
        kp: for each axis, 1/s^2 of computed torque, N*m/rad or N/m of PD, A/rad or A/m of axes.
        kd: the same for speeds, 1/s, N*m*s/rad or A*s/rad.
        ki: of axes, the same for the integral, A/(rad*s).
        kv: of axes, current for wanted speed, A*s/rad.
        ka: of axes, current for wanted acceleration, A*s^2/rad.
        rated: of axes, current that may flow for ever, A; none for any.
        heat: of axes, what i^2 may add up to above it, A^2*s.
        notch: of axes, middle of the notch filter, Hz; none without one.
        ahead: of axes, the torque that is given ahead: "none", "gravity" or "dynamics".
    """

    kind: str
    kp: tuple[float, ...]
    kd: tuple[float, ...]
    ki: tuple[float, ...] = ()
    kv: tuple[float, ...] = ()
    ka: tuple[float, ...] = ()
    rated: tuple[float, ...] = ()
    heat: tuple[float, ...] = ()
    notch: tuple[float, ...] = ()
    ahead: str = "none"


@dataclass(frozen=True, slots=True)
class CellHardware:
    """What is behind the arms of a cell.

    Args:
        kind: "simulated", in a process that the cell starts; "window", whoever writes the window of
            states in the folder, at its clock, and reads that of commands.
        folder: of the windows; empty where they are the cell's own.
    """

    kind: str = "simulated"
    folder: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class CellArm:
    """An arm of a cell.

    Args:
        name: of the arm.
        model: name or file of its mechanism.
        values: of the mechanism's parameters, over the model's own.
        file: that the mechanism was read from, None for a shipped model.
        mechanism: what moves.
        hardware: what is behind it.
        tool: the frame or body that poses are about; empty where joints alone are commanded.
        law: its control.
        stops: category of stops by cause, a place in `CATEGORIES`.
        start: where its joints begin.
        axes: one for each joint, in the order of the coordinates.
        mount: pose of its base in the world: x, y, z in m and a unit quaternion w, x, y, z; empty
            where that is not said, and frames of the cell are in its base.
    """

    name: str
    model: str
    values: Mapping[str, float]
    file: str | None
    mechanism: Mechanism
    hardware: CellHardware
    tool: str
    law: ArmLaw
    stops: Mapping[str, int]
    start: tuple[float, ...]
    axes: tuple[CellAxis, ...]
    mount: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class CellFrame:
    """A frame in which poses can be given.

    Args:
        name: of the frame.
        kind: "constant", "moving" or "sensed".
        pose: at the start: x, y, z in m and a unit quaternion w, x, y, z.
        twist: of a moving frame, m/s and rad/s.
        age: the oldest that a sensed one may be, s.
    """

    name: str
    kind: str
    pose: tuple[float, ...]
    twist: tuple[float, ...]
    age: float


@dataclass(frozen=True, slots=True)
class CellSensor:
    """A sensor node.

    Args:
        name: of the node.
        kind: "camera", "tracker" and "force" are simulated; a "function" is somebody else's.
        rate: Hz.
        frame: the sensed frame that it places.
        pose: of a camera: x, y, z in m and a unit quaternion w, x, y, z; empty above its frame.
    """

    name: str
    kind: str
    rate: float
    frame: str = ""
    pose: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """A cell: arms that share a clock, and what they work with.

    Args:
        name: on the network too.
        doc: one line about it.
        rate: ticks in a second.
        address: where it listens.
        heartbeat: the longest silence of device or server, s.
        relaxed: the same where real-time priority is refused, s.
        linked: whether the PANIC of one arm is that of all.
        arms: in order.
        frames: beside the base of each arm, in the world.
        sensors: nodes that the cell knows.
        clients: who may do what; nobody is named where it listens on loopback alone.
        file: that it was read from, None for a cell that ships.
        credentials: for TLS, where it listens beyond loopback.
        text: that it was read from.
        enforce: whether the rights of clients count on loopback too.
    """

    name: str
    doc: str
    rate: float
    address: str
    heartbeat: float
    relaxed: float
    linked: bool
    arms: tuple[CellArm, ...]
    frames: tuple[CellFrame, ...] = ()
    sensors: tuple[CellSensor, ...] = ()
    clients: tuple[Client, ...] = ()
    file: str | None = None
    credentials: Credentials | None = None
    text: str = field(default="", repr=False)
    enforce: bool = False

    @property
    def axes(self) -> int:
        """How many axes it has."""
        return sum(len(arm.axes) for arm in self.arms)


def largest_gain(law: str, key: str, rate: float) -> float:
    """Return the largest gain of a law: no axis goes faster than the ticks that it is held by.

    Args:
        law: "computed-torque" or "pd".
        key: "kp" or "kd".
        rate: ticks in a second.

    >>> largest_gain("computed-torque", "kd", 1000.0)
    1000.0
    """
    if law != "computed-torque":
        return 1e9  # its unit is that of a load that is not known here
    return rate if key == "kd" else rate**2
