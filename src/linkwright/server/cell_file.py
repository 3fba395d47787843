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
from typing import Annotated, Any

from pydantic import Field, StrictStr

from linkwright.base.arguments import worded
from linkwright.base.errors import Error, InputError, unknown
from linkwright.base.files import is_there, read_text
from linkwright.control.axis.controller import MOST_AXES
from linkwright.formats.schema import Format, Key, Table, given, rows, table_of
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
    "replay": "run a recording again with linkwright rerun",
    "python": "no code comes from files; serve it from a program of yours, and name its window",
}
"""Kinds of hardware that an arm cannot have, and what to do."""
STANDS = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
"""The pose of what is where the world is."""
SHORTEST = 2
"""Ticks of a heartbeat at least."""
_SLOWEST = 0.01  # Hz, of sensors
_SPEEDING = 0.25  # s, in which an axis reaches its speed where its acceleration is not given
_LARGEST = 1_000_000  # characters
_WORD = re.compile(r"[a-z]\w*\Z")


class CellClientTable(Record):
    """Who may do what."""

    name: Annotated[StrictStr, Key("a word that names it")]
    rights: Annotated[list[StrictStr], Field(min_length=1), Key("look, command, supervise, sense")]


class CellTlsTable(Record):
    """What the cell shows on the network, and whom it believes: PEM files."""

    certificate: Annotated[StrictStr, Key("of the cell; it names its address")]
    key: Annotated[StrictStr, Key("private key of the certificate")]
    authority: Annotated[StrictStr, Key("certificate of who signs the clients'")]


_KEYS = {
    "axes": ("kp", "kd", "ki", "kv", "ka", "rated", "heat", "notch", "ahead"),
    "hybrid": ("kp", "kd", "gain", "wrist", "filter", "period", "approach", "travel"),
}
"""What laws have beside kp and kd."""

_ARM = table_of(
    CellArm,
    values=(dict[str, Any], Key("of parameters"), {}),
    hardware=(
        StrictStr | table_of(CellHardware),
        Key("simulated, or a window's kind and folder"),
        "simulated",
    ),
    start=(dict[str, Any], Key("where joints begin"), {}),
    stop=(dict[str, Any], Key('what a stop is, by cause: 0, 1, 2 or "tell"'), {}),
)
_USUAL_LAW = table_of(ArmLaw)(kind="computed-torque", kp=400.0, kd=40.0)
CellFile = table_of(
    Cell,
    format=(Format, ...),
    arm=(rows(_ARM), Field(min_length=1), Key("arms"), ...),
    client=(rows(CellClientTable), Key("clients"), ()),
    tls=(CellTlsTable | None, Key("for an address beyond loopback"), None),
)


def refuse_weak(cell: Cell) -> None:
    """Reject an arm whose currents cannot hold its weight where it starts.

    >>> refuse_weak(read_cell("axes2"))
    """
    for i, arm in enumerate(cell.arms):
        model = arm.mechanism.with_parameters(dict(arm.values))
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
    ('axes2', 'cell1', 'press1')
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
    text = (files("linkwright.server") / "starter.toml").read_text("utf-8")
    return text.replace("NAME", word)


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
            raise unknown("cell", text, shipped())
        file, text = text, read_text(source, _LARGEST)
    record, placed = parse_record(text, CellFile, file=file)
    return _Reader(placed, FilePath(file).parent if file else FilePath()).cell(record, text)


class _Reader(TableReader):
    """Makes a cell of a file's tables; what goes wrong gets its place in the text."""

    def __init__(self, source: TextSource, folder: FilePath) -> None:
        super().__init__(source)
        self.folder = folder

    def cell(self, record: Table, text: str) -> Cell:
        self.word(record.name, ("name",))
        for key, tables in (
            ("arm", record.arm),
            ("frame", record.frames),
            ("sensor", record.sensors),
            ("surface", record.surfaces),
            ("client", record.client),
        ):
            self.names(tables, key)
        self.check_heartbeats(record)
        arms = tuple(self.arm(x, ("arm", i), record.rate) for i, x in enumerate(record.arm))
        for i, arm in enumerate(arms):
            if arm.hardware != arms[0].hardware:
                raise self.source.error(
                    ("arm", i, "hardware"),
                    f"{arm.name!r} has other hardware than {arms[0].name!r}",
                    "one device has the clock and the PANIC line of all arms of a cell",
                )
        frames = tuple(
            x.made(pose=self.pose(x.pose, ("frame", i, "pose")))
            for i, x in enumerate(record.frames)
        )
        if any(arm.mount for arm in arms):
            frames = (CellFrame("world", "constant", STANDS, (0.0,) * 6, 1.0), *frames)
        if record.enforce and not record.client:
            raise self.source.error(("enforce",), "no client is named", "give each its [[client]]")
        made: Cell = record.made(
            arms=arms,
            frames=frames,
            surfaces=tuple(
                x.made(pose=self.pose(x.pose, ("surface", i, "pose")))
                for i, x in enumerate(record.surfaces)
            ),
            sensors=tuple(
                self.sensor(x, ("sensor", i), frames, record.rate)
                for i, x in enumerate(record.sensors)
            ),
            clients=tuple(self.client(x, i) for i, x in enumerate(record.client)),
            file=self.source.file,
            credentials=self.credentials(record.tls),
            text=text,
        )
        return made

    def check_heartbeats(self, record: Table) -> None:
        heartbeat, relaxed, rate = record.heartbeat, record.relaxed, record.rate
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

    # -- tables ------------------------------------------------------------------------------------
    def arm(self, table: Table, at: Path, rate: float) -> CellArm:
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
        tables: dict[str, tuple[Table, Path]] = {}
        for k, axis in enumerate(table.axes or ()):
            place = (*at, "axis", k)
            self.known(axis.joint, tree, (*place, "joint"), f"joint of {table.model!r}")
            if axis.joint in tables:
                raise self.source.error(
                    (*place, "joint"), f"{axis.joint!r} has two axes", "take one of them out"
                )
            tables[axis.joint] = (axis, place)
        for joint in table.start:
            self.known(joint, tree, (*at, "start", joint), f"joint of {table.model!r}")
        for name in table.values:
            self.known(name, model.parameters, (*at, "values", name), "parameter")
        if table.tool:
            self.known(table.tool, Robot(model).frames, (*at, "tool"), f"frame of {table.model!r}")
        if table.law is not None and table.law.kind == "hybrid" and not table.tool:
            raise self.source.error(
                (*at, "control"),
                f"{table.name!r} has no tool, and nothing that forces act on",
                "name the tool of the arm",
            )
        axes = []
        for k, joint in enumerate(tree):
            axis, place = tables.get(joint) or (table_of(CellAxis)(joint=joint), at)
            axes.append(self.axis(axis, place, model, f"{table.name}.{k + 1}"))
        start = []
        for axis in axes:
            place = (*at, "start", axis.joint)
            begin = table.start.get(axis.joint, model.initial.get(axis.joint, 0.0))
            start.append(self.number(begin, place, axis.unit))
            if not axis.low <= start[-1] <= axis.high:
                raise self.source.error(
                    place,
                    f"{axis.joint} starts at {start[-1]:.6g} {axis.unit}, beyond its "
                    f"limits {axis.low:.6g} and {axis.high:.6g}",
                    "let it start within them, or give it wider ones",
                )
        beside = self.folder / table.model
        made: CellArm = table.made(
            values={
                n: self.number(x, (*at, "values", n), model.parameters[n].data.unit)
                for n, x in table.values.items()
            },
            file=str(beside) if is_there(beside) else None,
            mechanism=model,
            hardware=self.hardware(table.hardware, (*at, "hardware")),
            law=self.law(table.law or _USUAL_LAW, (*at, "control"), axes, rate),
            stops=self.stops(table.stop, (*at, "stop")),
            start=tuple(start),
            mount=self.pose(table.mount, (*at, "mount")) if table.mount else (),
            axes=tuple(axes),
        )
        return made

    def hardware(self, given: str | Table, at: Path) -> CellHardware:
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

    def model(self, table: Table, at: Path) -> Mechanism:
        beside = self.folder / table.model
        try:
            return system_of(beside if is_there(beside) else table.model).mechanism
        except Error as error:
            raise self.source.error((*at, "model"), error.what, error.remedy) from None

    def axis(self, table: Table, at: Path, model: Mechanism, name: str) -> CellAxis:
        """Return an axis; what the table does not give is the model's, or follows from the rest."""
        turns = {q.name for body in model.bodies.values() for q in body.rotations}
        values = given(table, self.source, at, slides=table.joint not in turns)
        found = [x for x in model.ranges if x.coordinate.name == table.joint]
        known = found[0] if found else Range(model.coordinates[table.joint])
        constant = values.setdefault("constant", 1.0)
        if constant == 0:
            raise self.source.error(
                (*at, "constant"), "a current without torque moves nothing", "give a number but 0"
            )
        usual = {
            "low": known.lower,
            "high": known.upper,
            "speed": known.speed or None,  # files have 0 for none
            "current": known.effort / abs(constant) if known.effort else None,
        }
        for key, of_model in usual.items():
            if values.setdefault(key, of_model) is None:
                raise self.source.error(
                    at,
                    f"{table.joint!r} has no {key}, and its model has no limit to take it from",
                    f'give its [[arm.axis]] with joint = "{table.joint}" and {key}',
                )
        if not values["low"] < values["high"]:
            unit = "rad" if table.joint in turns else "m"
            raise self.source.error(
                (*at, "high"),
                f"{values['high']:.6g} {unit} is not above low, {values['low']:.6g} {unit}",
                "give a high above low",
            )
        values.setdefault("acceleration", values["speed"] / _SPEEDING)
        values.setdefault("jerk", 20 * values["acceleration"])
        values.setdefault("brake", abs(constant) * values["current"])
        return CellAxis(name=name, unit="rad" if table.joint in turns else "m", **values)

    def law(self, table: Table, at: Path, axes: Sequence[CellAxis], rate: float) -> ArmLaw:
        values = given(table)
        kind = values.pop("kind")
        allowed = _KEYS.get(kind, ("kp", "kd"))
        more = [key for key in values if key not in allowed]
        if more:
            owner = next((k for k, keys in _KEYS.items() if more[0] in keys), "axes")
            raise self.source.error(
                (*at, more[0]),
                f"{kind!r} has no {more[0]}",
                f'leave it away, or give kind = "{owner}"',
            )
        if kind == "hybrid":
            gain = values.pop("gain", 0.2)
            values["gain"] = self.each(
                gain, (*at, "gain"), range(3), 0.0, largest_gain(kind, "gain", rate)
            )
        for key in values:
            if key in ("kp", "kd") or (kind == "axes" and key != "ahead"):
                least = 0.0 if key in ("ki", "kv", "ka") else None
                most = largest_gain(kind, key, rate)
                values[key] = self.each(values[key], (*at, key), axes, least, most)
        if kind != "axes":
            return ArmLaw(kind, **values)
        if len(axes) > MOST_AXES:
            raise self.source.error((*at, "kind"), f"an axis controller has {MOST_AXES} at most")
        if ("rated" in values) != ("heat" in values):
            raise self.source.error(at, "rated and heat go together", "give both or none")
        zero = (0.0,) * len(axes)
        return ArmLaw(kind, **{"ki": zero, "kv": zero, "ka": zero, "ahead": "gravity", **values})

    def stops(self, given: Mapping[str, Any], at: Path) -> dict[str, int]:
        found = dict(STOPPABLE)
        for cause, category in given.items():
            self.known(cause, STOPPABLE, (*at, cause), "cause of a stop whose category can be set")
            if category not in CATEGORIES:
                raise self.source.error(
                    (*at, cause),
                    f"{category!r} is not a category of a stop",
                    'give 0, 1, 2 or "tell"',
                )
            found[cause] = CATEGORIES.index(category)
        return found

    def sensor(
        self, table: Table, at: Path, frames: Sequence[CellFrame], most: float
    ) -> CellSensor:
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
        if table.source and table.kind != "camera":
            raise self.source.error(
                (*at, "source"), f"a sensor of kind {table.kind} has no pictures", "leave it out"
            )
        if table.source and not is_there(self.folder / table.source):
            raise self.source.error(
                (*at, "source"), f"there is no folder or camera {table.source!r}", "see to its name"
            )
        slowest = min(_SLOWEST, most)
        if not slowest <= table.rate <= most:
            raise self.source.error(
                (*at, "rate"),
                f"{table.rate:.6g} Hz cannot be kept",
                f"give a rate from {slowest:g} to {most:g} Hz",
            )
        pose = self.pose(table.pose, (*at, "pose")) if table.pose else ()
        source = str(self.folder / table.source) if table.source else ""
        made: CellSensor = table.made(pose=pose, source=source)
        return made

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

    def names(self, tables: Sequence[Any], key: str) -> None:
        known: set[str] = set()
        for i, table in enumerate(tables):
            self.word(table.name, (key, i, "name"))
            if table.name in known or (key == "frame" and table.name in ("base", "world")):
                raise self.source.error(
                    (key, i, "name"), f"the name {table.name!r} is taken", "give another"
                )
            known.add(table.name)

    def pose(self, pose: tuple[float, ...], path: Path) -> tuple[float, ...]:
        """Return a place in m and a quaternion, which is made a unit one."""
        size = sum(x * x for x in pose[3:]) ** 0.5
        if abs(size - 1) > 1e-3:
            raise self.source.error(
                path, f"the quaternion has the length {size:.6g}", "give length 1"
            )
        return (*pose[:3], *(x / size for x in pose[3:]))

    def each(
        self,
        gains: float | tuple[float, ...],
        path: Path,
        axes: Sequence[object],
        least: float | None,
        most: float,
    ) -> tuple[float, ...]:
        """Return a number for each axis, above zero or not below a least; one counts for all."""
        many = isinstance(gains, tuple)
        rows = gains if isinstance(gains, tuple) else (gains,) * len(axes)
        if len(rows) != len(axes):
            raise self.source.error(
                path, f"has {len(rows)} numbers for {len(axes)} axes", "give one, or one for each"
            )
        for k, x in enumerate(rows):
            if x > most or (x <= 0 if least is None else x < least):
                low = "above 0" if least is None else f"from {least:g}"
                raise self.source.error(
                    (*path, k) if many else path,
                    f"{x:.6g} cannot be a gain at this rate",
                    f"give {low} up to {most:.6g}",
                )
        return rows
