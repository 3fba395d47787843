"""Reading `cell.toml`: arms, axes, frames, sensors and clients, with the place of what is wrong.

Numbers are in SI units and rad; a text has its own unit, as in `"50 ms"` or `"-160 deg"`.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, StrictBool, StrictInt, StrictStr

from linkwright.border import worded
from linkwright.control.axis.controller import MOST_AXES
from linkwright.errors import Error, InputError, nearest
from linkwright.files import is_there, read_text
from linkwright.formats.text.document import TextSource, parse_record
from linkwright.formats.text.positions import Path, scan
from linkwright.formats.text.table_reader import TableReader
from linkwright.formats.text.tables import Record
from linkwright.mechanism import Mechanism
from linkwright.mechanism.parts import Range
from linkwright.robots import Robot
from linkwright.server.access import RIGHTS, Client
from linkwright.server.cell import (
    CATEGORIES,
    STOPPABLE,
    ArmLaw,
    Cell,
    CellArm,
    CellAxis,
    CellFrame,
    CellHardware,
    CellSensor,
    largest_gain,
)
from linkwright.server.network import Credentials
from linkwright.system import system_of

_ELSEWHERE = {
    "replay": "run a recording again with linkwright replay",
    "python": "no code comes from files; serve it from a program of yours, and name its window",
}
"""Kinds of hardware that an arm cannot have, and what to do."""
RATES = (1.0, 20_000.0)
"""Hz, of cells: from the slowest to the fastest."""
STANDS = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
"""The pose of what is where the world is."""
SHORTEST = 2
"""Ticks of a heartbeat at least."""
_SLOWEST = 0.01  # Hz, of sensors
_SPEEDING = 0.25  # s, in which an axis reaches its speed where its acceleration is not given
_LARGEST = 1_000_000  # characters
_WORD = re.compile(r"[a-z]\w*\Z")
_AXES_ALONE = ("ki", "kv", "ka", "rated", "heat", "notch")
_NAMED = TypeVar("_NAMED", bound="_NamedTable")


class _NamedTable(Record):
    name: Annotated[StrictStr, Field(description="a word that names it")]


class CellAxisTable(Record):
    """An axis: its joint, its limits and its drive."""

    joint: Annotated[StrictStr, Field(description="the coordinate that it moves")]
    low: Annotated[Any, Field(description="lowest position, rad or m; the model's")] = None
    high: Annotated[Any, Field(description="highest position, rad or m; the model's")] = None
    speed: Annotated[Any, Field(description="largest speed, rad/s or m/s; the model's")] = None
    acceleration: Annotated[
        Any, Field(description="largest acceleration, rad/s^2 or m/s^2; 4 times the speed, 1/s")
    ] = None
    jerk: Annotated[Any, Field(description="largest jerk; 20 times the acceleration")] = None
    constant: Annotated[
        Any, Field(description="torque or force at the joint per current, N*m/A or N/A")
    ] = 1.0
    current: Annotated[
        Any, Field(description="largest current, A; what gives the model's effort")
    ] = None
    overload: Annotated[Any, Field(description="how long it may be at its largest, s")] = "200 ms"
    following: Annotated[Any, Field(description="largest following error, rad or m")] = 0.1
    encoder: Annotated[Any, Field(description="step of the encoder, rad or m")] = 1e-6
    brake: Annotated[Any, Field(description="largest torque or force of the brake")] = None


class CellLawTable(Record):
    """The control of an arm."""

    kind: Annotated[Literal["computed-torque", "pd", "axes"], Field(description="the law")]
    kp: Annotated[Any, Field(description="1/s^2 (computed torque), N*m/rad (pd), A/rad (axes)")]
    kd: Annotated[Any, Field(description="1/s (computed torque), N*m*s/rad (pd), A*s/rad (axes)")]
    ki: Annotated[Any, Field(description="integral gain of axes, A/(rad*s)")] = None
    kv: Annotated[Any, Field(description="current of axes for wanted speed, A*s/rad")] = None
    ka: Annotated[Any, Field(description="the same for acceleration, A*s^2/rad")] = None
    rated: Annotated[Any, Field(description="current of axes that may flow for ever, A")] = None
    heat: Annotated[Any, Field(description="what i^2 may add up to above it, A^2*s")] = None
    notch: Annotated[Any, Field(description="middle of the axes' notch filter, Hz")] = None
    ahead: Annotated[
        Literal["none", "gravity", "dynamics"] | None, Field(description="torque given ahead")
    ] = None


class CellHardwareTable(Record):
    """What is behind an arm."""

    kind: Annotated[StrictStr, Field(description="simulated, or window")]
    folder: Annotated[StrictStr, Field(description="where the windows of a device lie")] = ""


class CellArmTable(_NamedTable):
    """An arm."""

    model: Annotated[StrictStr, Field(description="a shipped model, or a file beside this one")]
    values: Annotated[dict[str, Any], Field(default_factory=dict, description="of parameters")]
    hardware: Annotated[
        StrictStr | CellHardwareTable, Field(description="simulated, or a window's kind and folder")
    ] = "simulated"
    tool: Annotated[StrictStr, Field(description="the frame or body that poses are about")] = ""
    start: Annotated[dict[str, Any], Field(default_factory=dict, description="where joints begin")]
    mount: Annotated[
        list[Any],
        Field(default_factory=list, description="pose of its base in the world, as of a frame"),
    ]
    control: Annotated[
        CellLawTable,
        Field(
            default_factory=lambda: CellLawTable(kind="computed-torque", kp=400, kd=40),
            description="its control; computed torque with kp = 400, kd = 40",
        ),
    ]
    stop: Annotated[
        dict[str, Any],
        Field(default_factory=dict, description="what a stop is, by cause: 0, 1, 2 or tell"),
    ]
    axis: Annotated[
        list[CellAxisTable],
        Field(default_factory=list, description="of joints whose limits the model does not have"),
    ]


class CellFrameTable(_NamedTable):
    """A frame in which poses can be given."""

    kind: Annotated[Literal["constant", "moving", "sensed"], Field(description="what moves it")]
    pose: Annotated[list[Any], Field(description="x, y, z in m and a quaternion w, x, y, z")]
    twist: Annotated[
        list[Any], Field(default_factory=lambda: [0] * 6, description="m/s and rad/s, if it moves")
    ]
    age: Annotated[Any, Field(description="oldest age of what a sensor says, s")] = "200 ms"


class CellSensorTable(_NamedTable):
    """A sensor node."""

    kind: Annotated[
        Literal["camera", "force", "tracker", "function"], Field(description="what it is")
    ]
    rate: Annotated[Any, Field(description="Hz")]
    frame: Annotated[StrictStr, Field(description="the sensed frame that it places")] = ""
    pose: Annotated[
        list[Any], Field(default_factory=list, description="of a camera; 1 m above its frame")
    ]


class CellClientTable(_NamedTable):
    """Who may do what."""

    rights: Annotated[
        list[StrictStr], Field(description="look, command, supervise, sense", min_length=1)
    ]


class CellTlsTable(Record):
    """What the cell shows on the network, and whom it believes: PEM files."""

    certificate: Annotated[StrictStr, Field(description="of the cell; it names its address")]
    key: Annotated[StrictStr, Field(description="private key of the certificate")]
    authority: Annotated[StrictStr, Field(description="certificate of who signs the clients'")]


class CellFile(Record):
    """A cell as a file holds it."""

    format: Annotated[StrictInt, Field(description="1")]
    name: Annotated[StrictStr, Field(description="of the cell, on the network too")]
    doc: Annotated[StrictStr, Field(description="one line about it")] = ""
    rate: Annotated[Any, Field(description="ticks in a second, Hz")] = 1000
    address: Annotated[StrictStr, Field(description="where it listens")] = "tcp/127.0.0.1:7447"
    heartbeat: Annotated[Any, Field(description="longest silence of device or server, s")] = "50 ms"
    relaxed: Annotated[
        Any, Field(description="the same where real-time priority is refused, s")
    ] = "200 ms"
    enforce: Annotated[
        StrictBool, Field(description="whether rights of clients count on loopback too")
    ] = False
    linked: Annotated[StrictBool, Field(description="whether a PANIC is one of all arms")] = True
    arm: Annotated[list[CellArmTable], Field(description="arms", min_length=1)]
    frame: Annotated[list[CellFrameTable], Field(default_factory=list, description="frames")]
    sensor: Annotated[list[CellSensorTable], Field(default_factory=list, description="sensors")]
    client: Annotated[list[CellClientTable], Field(default_factory=list, description="clients")]
    tls: Annotated[CellTlsTable | None, Field(description="for an address beyond loopback")] = None


def refuse_weak(cell: Cell) -> None:
    """Refuse an arm whose currents cannot hold its weight where it starts.

    >>> refuse_weak(read_cell("axes2"))
    """
    for i, arm in enumerate(cell.arms):
        model = arm.mechanism.with_values(dict(arm.values))
        weight = Robot(model).gravity(arm.start)
        for axis, effort in zip(arm.axes, weight, strict=True):
            most, unit = abs(axis.constant) * axis.current, "N*m" if axis.unit == "rad" else "N"
            if abs(effort) > most:
                source = TextSource(cell.file, scan(cell.text))
                raise source.error(
                    ("arm", i),
                    f"{axis.joint} of {arm.name!r} has {most:.4g} {unit} at {axis.current:.4g} A, "
                    f"and its weight where it starts takes {abs(effort):.4g} {unit}",
                    "see to current and constant of its [[arm.axis]], and to start",
                )


def shipped() -> tuple[str, ...]:
    """Return the names of the cells that ship.

    >>> shipped()
    ('axes2', 'cell1')
    """
    folder = files("linkwright.server") / "cells"
    return tuple(
        sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".toml"))
    )


def starter_text(name: str) -> str:
    """Return the text of a cell to start from.

    >>> read_cell(starter_text("my-cell")).name
    'my_cell'
    """
    word = re.sub(r"\W", "_", name.lower())
    if not _WORD.match(word):
        raise InputError(f"{name!r} cannot be the name of a cell", remedy="begin with a letter")
    return _STARTER.replace("NAME", word)


_STARTER = """# A cell: arms that programs move over the network. `linkwright check` validates it,
# `linkwright serve` runs it. Numbers are in SI units and rad; a text has its own unit.
format = 1
name = "NAME"                      # under which clients connect: lw.server.connect("NAME")
rate = 1000                      # ticks in a second, Hz
address = "tcp/127.0.0.1:0"      # this machine alone, any port that is free

[[arm]]
name = "arm"
model = "puma560"                # a shipped model, or a file beside this one: "my_robot.urdf"
values = {creep = 0.05}          # parameters of the model; leave it out for a robot file
tool = "tool"                    # the frame or link that poses are about
mount = [0, 0, 0.5, 1, 0, 0, 0]  # its base in the world: x, y, z, and a quaternion w, x, y, z
start = {q2 = "45 deg", q3 = "-180 deg", q5 = "45 deg"}
control = {kind = "computed-torque", kp = 400, kd = 40}

# Limits, speeds and efforts come from the model where it has them, as a URDF does. Then an
# [[arm.axis]] is needed only for what is to be otherwise. Here the model has none.
[[arm.axis]]
joint = "q1"
low = "-160 deg"
high = "160 deg"
speed = "1.5 rad/s"
acceleration = 5                 # rad/s^2; 4 times the speed where it is left out
constant = -11.9                 # N*m/A, with the gear; 1 where it is left out
current = 15                     # A; what gives the model's effort where it is left out
[[arm.axis]]
joint = "q2"
low = "-225 deg"
high = "225 deg"
speed = "1.2 rad/s"
constant = 23.7
current = 15
[[arm.axis]]
joint = "q3"
low = "-270 deg"
high = "90 deg"
speed = "1.5 rad/s"
constant = -10.7
current = 15
[[arm.axis]]
joint = "q4"
low = "-266 deg"
high = "266 deg"
speed = "3 rad/s"
constant = 5.7
current = 5
[[arm.axis]]
joint = "q5"
low = "-100 deg"
high = "100 deg"
speed = "3 rad/s"
constant = 4.7
current = 5
[[arm.axis]]
joint = "q6"
low = "-266 deg"
high = "266 deg"
speed = "3 rad/s"
constant = 3.7
current = 5

[[frame]]                        # in the world; poses can be given in it, and in "base", "world"
name = "table"
kind = "constant"
pose = [0.5, 0, 0.5, 1, 0, 0, 0]
"""


def is_cell(name: str) -> bool:
    """Whether a name is that of a cell that ships, or of a TOML file with arms.

    >>> is_cell("cell1"), is_cell("pendulum")
    (True, False)
    """
    if name in shipped():
        return True
    if not name.endswith(".toml") or not is_there(name):
        return False
    try:
        return "arm" in tomllib.loads(read_text(name, _LARGEST))
    except (ValueError, RecursionError, InputError):
        return False


@worded
def read_cell(source: str | os.PathLike[str]) -> Cell:
    """Return the cell of a file.

    Example:
        >>> cell = read_cell("cell1")
        >>> cell.rate, [(arm.name, len(arm.axes)) for arm in cell.arms]
        (1000.0, [('puma', 6), ('ref', 6)])
    """
    text, file = os.fspath(source), None
    if text in shipped():
        text = (files("linkwright.server") / "cells" / f"{text}.toml").read_text("utf-8")
    elif isinstance(source, os.PathLike) or "\n" not in text:
        if not is_there(text) and os.sep not in text and not text.endswith(".toml"):
            near = nearest(text, list(shipped()))
            raise InputError(
                f"no cell is called {text!r}",
                remedy=f"did you mean {near!r}?" if near else f"there are {', '.join(shipped())}",
            )
        file, text = text, read_text(source, _LARGEST)
    record, placed = parse_record(text, CellFile, file=file)
    return _Reader(placed, FilePath(file).parent if file else FilePath()).cell(record, text)


class _Reader(TableReader):
    """Makes a cell of a file's tables; what goes wrong gets its place in the text."""

    def __init__(self, source: TextSource, folder: FilePath) -> None:
        super().__init__(source)
        self.folder = folder

    def cell(self, record: CellFile, text: str) -> Cell:
        self.word(record.name, ("name",))
        for key in ("arm", "frame", "sensor", "client"):
            self.names(getattr(record, key), key)
        rate = self.rate(record.rate, ("rate",), RATES)
        heartbeat, relaxed = self.heartbeats(record, rate)
        arms = tuple(self.arm(x, i, rate) for i, x in enumerate(record.arm))
        for i, arm in enumerate(arms):
            if arm.hardware != arms[0].hardware:
                raise self.source.error(
                    ("arm", i, "hardware"),
                    f"{arm.name!r} has other hardware than {arms[0].name!r}",
                    "one device has the clock and the PANIC line of all arms of a cell",
                )
        frames = tuple(self.frame(x, i) for i, x in enumerate(record.frame))
        if any(arm.mount for arm in arms):
            frames = (CellFrame("world", "constant", STANDS, (0.0,) * 6, 1.0), *frames)
        if record.enforce and not record.client:
            raise self.source.error(("enforce",), "no client is named", "give each its [[client]]")
        return Cell(
            name=record.name,
            doc=record.doc,
            rate=rate,
            address=record.address,
            heartbeat=heartbeat,
            relaxed=relaxed,
            linked=record.linked,
            enforce=record.enforce,
            arms=arms,
            frames=frames,
            sensors=tuple(self.sensor(x, i, frames, rate) for i, x in enumerate(record.sensor)),
            clients=tuple(self.client(x, i) for i, x in enumerate(record.client)),
            file=self.source.file,
            credentials=self.credentials(record.tls),
            text=text,
        )

    def rate(self, given: object, path: Path, allowed: tuple[float, float]) -> float:
        rate, (low, high) = self.positive(given, path, "Hz"), allowed
        if not low <= rate <= high:
            raise self.source.error(
                path, f"{rate:.6g} Hz cannot be kept", f"give a rate from {low:g} to {high:g} Hz"
            )
        return rate

    def heartbeats(self, record: CellFile, rate: float) -> tuple[float, float]:
        heartbeat = self.positive(record.heartbeat, ("heartbeat",), "s")
        relaxed = self.positive(record.relaxed, ("relaxed",), "s")
        shortest = SHORTEST / rate
        if heartbeat < shortest:
            raise self.source.error(
                ("heartbeat",),
                f"{heartbeat * 1e3:.6g} ms is shorter than {SHORTEST} ticks at {rate:g} Hz",
                f'give at least "{shortest * 1e3:.6g} ms"',
            )
        if relaxed < heartbeat:
            raise self.source.error(
                ("relaxed",),
                f"{relaxed * 1e3:.6g} ms is shorter than the heartbeat, {heartbeat * 1e3:.6g} ms",
                f'give at least "{heartbeat * 1e3:.6g} ms": it counts without real-time priority',
            )
        return heartbeat, relaxed

    # -- tables ------------------------------------------------------------------------------------
    def arm(self, table: CellArmTable, i: int, rate: float) -> CellArm:
        at: Path = ("arm", i)
        model = self.model(table, at)
        several = [b.name for b in model.bodies.values() if b.joint.quaternion]
        several += [constraint.name for constraint in model.constraints]
        if several:
            raise self.source.error(
                (*at, "model"),
                f"{table.model!r} has joints with a quaternion, joints that follow others, or "
                f"closed loops ({', '.join(several[:4])}), which an arm of a cell cannot have",
                "give a model each of whose joints turns or slides by itself",
            )
        tree = [x.name for x in model.kinematics().rates if x.name in model.coordinates]
        given = [axis.joint for axis in table.axis]
        joints = given + [joint for joint in tree if joint not in given]
        for k, joint in enumerate(given):
            self.known(joint, tree, (*at, "axis", k, "joint"), f"joint of {table.model!r}")
            if joint in given[:k]:
                raise self.source.error(
                    (*at, "axis", k, "joint"), f"{joint!r} has two axes", "take one of them out"
                )
        for joint in table.start:
            self.known(joint, tree, (*at, "start", joint), f"joint of {table.model!r}")
        for name in table.values:
            self.known(name, model.parameters, (*at, "values", name), "parameter")
        values = {
            n: self.number(x, (*at, "values", n), model.parameters[n].data.unit)
            for n, x in table.values.items()
        }
        if table.tool:
            self.known(table.tool, Robot(model).frames, (*at, "tool"), f"frame of {table.model!r}")
        tables = [*table.axis, *(CellAxisTable(joint=x) for x in joints[len(given) :])]
        ordered = sorted(tables, key=lambda axis: tree.index(axis.joint))
        axes = tuple(
            self.axis(
                axis,
                (*at, "axis", given.index(axis.joint)) if axis.joint in given else at,
                model,
                table.name,
                k,
            )
            for k, axis in enumerate(ordered)
        )
        start = {
            axis.joint: self.number(
                table.start.get(axis.joint, model.initial.get(axis.joint, 0.0)),
                (*at, "start", axis.joint),
                axis.unit,
            )
            for axis in axes
        }
        for axis in axes:
            if not axis.low <= start[axis.joint] <= axis.high:
                raise self.source.error(
                    (*at, "start", axis.joint),
                    f"{axis.joint} starts at {start[axis.joint]:.6g} {axis.unit}, beyond its "
                    f"limits {axis.low:.6g} and {axis.high:.6g}",
                    "let it start within them, or give it wider ones",
                )
        return CellArm(
            name=table.name,
            model=table.model,
            values=values,
            file=str(self.folder / table.model) if is_there(self.folder / table.model) else None,
            mechanism=model,
            hardware=self.hardware(table.hardware, (*at, "hardware")),
            tool=table.tool,
            law=self.law(table.control, (*at, "control"), axes, rate),
            stops=self.stops(table.stop, (*at, "stop")),
            start=tuple(start[axis.joint] for axis in axes),
            mount=self.pose(table.mount, (*at, "mount")) if table.mount else (),
            axes=axes,
        )

    def hardware(self, given: str | CellHardwareTable, at: Path) -> CellHardware:
        named = isinstance(given, str)
        kind, folder = (given, "") if isinstance(given, str) else (given.kind, given.folder)
        place = at if named else (*at, "kind")
        if kind in _ELSEWHERE:
            raise self.source.error(place, f"an arm cannot be of kind {kind!r}", _ELSEWHERE[kind])
        self.known(kind, ("simulated", "window"), place, "kind of hardware of an arm")
        if (kind == "window") != bool(folder):
            raise self.source.error(
                at,
                f"{kind} hardware has {'a' if folder else 'no'} folder",
                'give {kind = "window", folder = "..."}, or "simulated"',
            )
        return CellHardware(kind, str(self.folder / folder) if folder else "")

    def model(self, table: CellArmTable, at: Path) -> Mechanism:
        beside = self.folder / table.model
        try:
            return system_of(beside if is_there(beside) else table.model).mechanism
        except Error as error:
            raise self.source.error((*at, "model"), error.what, error.remedy) from None

    def axis(self, table: CellAxisTable, at: Path, model: Mechanism, arm: str, k: int) -> CellAxis:
        turns = {q.name for body in model.bodies.values() for q in body.rotations}
        unit = "rad" if table.joint in turns else "m"
        effort = "N*m" if unit == "rad" else "N"

        found = [x for x in model.ranges if x.coordinate.name == table.joint]
        known = found[0] if found else Range(model.coordinates[table.joint])

        def given(key: str, of_model: float | None) -> object:
            value = getattr(table, key)
            if value is not None or of_model is not None:
                return of_model if value is None else value
            raise self.source.error(
                at,
                f"{table.joint!r} has no {key}, and its model has no limit to take it from",
                f'give its [[arm.axis]] with joint = "{table.joint}" and {key}',
            )

        def number(key: str, of: str, of_model: float | None = None) -> float:
            return self.positive(given(key, of_model), (*at, key), of)

        low, high = (
            self.number(given(x, y), (*at, x), unit)
            for x, y in (("low", known.lower), ("high", known.upper))
        )
        if not low < high:
            raise self.source.error(
                (*at, "high"),
                f"{high:.6g} {unit} is not above low, {low:.6g} {unit}",
                "give a high above low",
            )
        speed = number("speed", f"{unit}/s", known.speed or None)
        acceleration = number("acceleration", f"{unit}/s^2", speed / _SPEEDING)
        constant = self.number(table.constant, (*at, "constant"), f"{effort}/A")
        if constant == 0:
            raise self.source.error(
                (*at, "constant"), "a current without torque moves nothing", "give a number but 0"
            )
        enough = known.effort / abs(constant) if known.effort else None  # files have 0 for none
        current = number("current", "A", enough)
        return CellAxis(
            name=f"{arm}.{k + 1}",
            joint=table.joint,
            unit=unit,
            low=low,
            high=high,
            speed=speed,
            acceleration=acceleration,
            jerk=20 * acceleration if table.jerk is None else number("jerk", f"{unit}/s^3"),
            constant=constant,
            current=current,
            overload=number("overload", "s"),
            following=number("following", unit),
            encoder=number("encoder", unit),
            brake=abs(constant) * current if table.brake is None else number("brake", effort),
        )

    def law(self, table: CellLawTable, at: Path, axes: Sequence[CellAxis], rate: float) -> ArmLaw:
        def row(key: str, least: float | None = None) -> tuple[float, ...]:
            given, most = getattr(table, key), largest_gain(table.kind, key, rate)
            return () if given is None else self.each(given, (*at, key), axes, least, most)

        kp, kd = row("kp"), row("kd")
        more = [key for key in (*_AXES_ALONE, "ahead") if getattr(table, key) is not None]
        if table.kind != "axes":
            if more:
                raise self.source.error(
                    (*at, more[0]),
                    f"{table.kind!r} has no {more[0]}",
                    'leave it away, or give kind = "axes"',
                )
            return ArmLaw(table.kind, kp, kd)
        if len(axes) > MOST_AXES:
            raise self.source.error((*at, "kind"), f"an axis controller has {MOST_AXES} at most")
        if (table.rated is None) != (table.heat is None):
            raise self.source.error(at, "rated and heat go together", "give both or none")
        zero = (0.0,) * len(axes)
        return ArmLaw(
            "axes",
            kp,
            kd,
            ki=row("ki", 0.0) or zero,
            kv=row("kv", 0.0) or zero,
            ka=row("ka", 0.0) or zero,
            rated=row("rated"),
            heat=row("heat"),
            notch=row("notch"),
            ahead=table.ahead or "gravity",
        )

    def stops(self, given: Mapping[str, Any], at: Path) -> dict[str, int]:
        found = dict(STOPPABLE)
        for cause, category in given.items():
            self.known(cause, STOPPABLE, (*at, cause), "cause of a stop whose category can be set")
            if category not in CATEGORIES:
                raise self.source.error(
                    (*at, cause), f"{category!r} is no category of a stop", 'give 0, 1, 2 or "tell"'
                )
            found[cause] = CATEGORIES.index(category)
        return found

    def frame(self, table: CellFrameTable, i: int) -> CellFrame:
        at: Path = ("frame", i)
        pose = self.pose(table.pose, (*at, "pose"))
        twist = self.row(table.twist, (*at, "twist"), ["m/s"] * 3 + ["rad/s"] * 3)
        return CellFrame(
            table.name, table.kind, pose, twist, self.positive(table.age, (*at, "age"), "s")
        )

    def sensor(
        self, table: CellSensorTable, i: int, frames: Sequence[CellFrame], most: float
    ) -> CellSensor:
        at: Path = ("sensor", i)
        if table.frame:
            sensed = [frame.name for frame in frames if frame.kind == "sensed"]
            self.known(table.frame, sensed, (*at, "frame"), "sensed frame")
        elif table.kind in ("camera", "tracker"):
            raise self.source.error(
                at, f"the {table.kind} {table.name!r} sees nothing", "give the frame that it places"
            )
        if table.pose and table.kind != "camera":
            raise self.source.error(
                (*at, "pose"), f"a sensor of kind {table.kind} has no place", "leave it out"
            )
        rate = self.rate(table.rate, (*at, "rate"), (min(_SLOWEST, most), most))
        pose = self.pose(table.pose, (*at, "pose")) if table.pose else ()
        return CellSensor(table.name, table.kind, rate, table.frame, pose)

    def credentials(self, table: CellTlsTable | None) -> Credentials | None:
        if table is None:
            return None
        paths = (str(self.folder / x) for x in (table.certificate, table.key, table.authority))
        return Credentials(*paths)

    def client(self, table: CellClientTable, i: int) -> Client:
        for k, right in enumerate(table.rights):
            self.known(right, RIGHTS, ("client", i, "rights", k), "right")
        return Client(table.name, tuple(table.rights))

    # -- pieces ------------------------------------------------------------------------------------
    def word(self, name: str, path: Path) -> None:
        if not _WORD.match(name):
            raise self.source.error(
                path, f"{name!r} cannot be a name", "use small letters, digits and underscores"
            )

    def names(self, tables: Sequence[_NAMED], key: str) -> None:
        known: set[str] = set()
        for i, table in enumerate(tables):
            self.word(table.name, (key, i, "name"))
            if table.name in known or (key == "frame" and table.name in ("base", "world")):
                raise self.source.error(
                    (key, i, "name"), f"the name {table.name!r} is taken", "give another"
                )
            known.add(table.name)

    def pose(self, given: Sequence[Any], path: Path) -> tuple[float, ...]:
        """Return a place in m and a quaternion, which is made a unit one."""
        pose = self.row(given, path, ["m"] * 3 + ["1"] * 4)
        size = sum(x * x for x in pose[3:]) ** 0.5
        if abs(size - 1) > 1e-3:
            raise self.source.error(
                path, f"the quaternion has the length {size:.6g}", "give length 1"
            )
        return (*pose[:3], *(x / size for x in pose[3:]))

    def each(
        self, given: Any, path: Path, axes: Sequence[CellAxis], least: float | None, most: float
    ) -> tuple[float, ...]:
        """Return a number for each axis, above zero or not below a least; one counts for all."""
        many, found = isinstance(given, list), []
        rows = given if many else [given] * len(axes)
        if len(rows) != len(axes):
            raise self.source.error(
                path, f"has {len(rows)} numbers for {len(axes)} axes", "give one, or one for each"
            )
        for k, given_one in enumerate(rows):
            here = (*path, k) if many else path
            x = self.number(given_one, here, "?")
            if x > most or (x <= 0 if least is None else x < least):
                low = "above 0" if least is None else f"from {least:g}"
                raise self.source.error(
                    here, f"{x:.6g} cannot be a gain at this rate", f"give {low} up to {most:.6g}"
                )
            found.append(x)
        return tuple(found)
