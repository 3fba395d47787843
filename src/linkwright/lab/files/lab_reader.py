"""Reading `lab.toml` (`linkwright.lab.files.lab_tables`), with the place of what is wrong."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from types import MappingProxyType
from typing import Any

from linkwright.base.errors import Error, InputError
from linkwright.base.files import is_there, read_text
from linkwright.formats.robot.description import Description
from linkwright.formats.schema import Table, given
from linkwright.formats.sl.configuration import SceneObject
from linkwright.formats.text.document import TextSource, parse_record
from linkwright.formats.text.positions import Path
from linkwright.formats.text.table_reader import TableReader
from linkwright.lab.config import EndEffector, JointConfig, LabConfig, VisionConfig
from linkwright.lab.contacts import MODELS
from linkwright.lab.files.lab_tables import CONTACT_MODELS, LabFile
from linkwright.lab.rules import described, own_mechanism, posture_in, robot_lab
from linkwright.mechanism.joint_kinds import JOINTS
from linkwright.robots import Robot

_LARGEST = 4_000_000  # characters
_LONGEST = 20  # characters of an object's name, as in SL
_RULED = ("lower", "upper", "default", "rest", "kp", "kd", "max_effort", "max_speed", "max_jump")


def is_lab_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a TOML file that sets up a laboratory: one that names its robot.

    >>> is_lab_file("arm.urdf")
    False
    """
    place = FilePath(path)
    if place.suffix.lower() != ".toml" or not is_there(place):
        return False
    try:
        return isinstance(tomllib.loads(read_text(place, _LARGEST)).get("robot"), str)
    except (ValueError, RecursionError, InputError):
        return False


def read_lab(path: str | os.PathLike[str]) -> LabConfig:
    """Return the laboratory of a file."""
    place = FilePath(path)
    return parse_lab(read_text(place, _LARGEST), file=str(place), folder=place.parent)


def parse_lab(
    text: str, *, file: str | None = None, folder: str | os.PathLike[str] = ""
) -> LabConfig:
    """Return the laboratory of a text.

    >>> made = parse_lab('''format = 1
    ... name = "mine"
    ... robot = "puma560"
    ... rate = "1 kHz"
    ... [[joint]]
    ... name = "q2"
    ... default = "-90 deg"
    ... ''')
    >>> made.rate, round(made.joints[1].default, 4), made.joints[1].kp > 100
    (1000.0, -1.5708, True)
    """
    record, source = parse_record(text, LabFile, file=file)
    return _Reader(source, FilePath(folder)).lab(record)


class _Reader(TableReader):
    """Makes a laboratory of a file's tables."""

    def __init__(self, source: TextSource, folder: FilePath) -> None:
        super().__init__(source)
        self.folder = folder

    def lab(self, record: Table) -> LabConfig:
        if not record.name or record.name.split() != [record.name] or "/" in record.name:
            raise self.source.error(("name",), f"{record.name!r} cannot be a name", "give a word")
        robot = self.robot(record.robot, ("robot",))
        joints = record.joints or []
        tables = {table.name: table for table in joints}
        ruled = self.ruled(robot, tables)
        description = self.named(ruled.description, record.name, record.robot)
        frames = [*(x.name for x in description.links), *(x.name for x in description.frames)]
        names = ruled.names
        for k, table in enumerate(joints):
            self.known(table.name, names, ("joint", k, "name"), "joint")
            if list(tables).index(table.name) != k:
                raise self.source.error(
                    ("joint", k, "name"), f"{table.name!r} is given twice", "take one of them out"
                )
        where = {name: k for k, name in enumerate(tables)}
        model = believed = None
        if record.model:
            other = self.robot(record.model, ("model",))
            model = self.named(described(other), record.name, record.model)
            believed = own_mechanism(other)
        preferences = self.folder / record.preferences if record.preferences else None
        if preferences is not None and not preferences.is_dir():
            raise self.source.error(
                ("preferences",), f"there is no folder {record.preferences!r}", "make one"
            )
        for name, frame in (record.vertices or {}).items():
            self.known(frame, frames, ("vertices", name), "link or frame of the robot")
        values = given(record, leave=("format", "robot", "joints", "vision"))
        values |= {
            "description": description,
            "model": model,
            "believed": believed,
            "joints": tuple(
                self.joint(tables[j.name], j, ("joint", where[j.name]), description)
                if j.name in tables
                else j
                for j in ruled.joints
            ),
            "preferences": preferences,
            "servos": self.servos(record.servos, names, "servos"),
            "real_servos": self.servos(record.real_servos, names, "real_servos"),
            "objects": tuple(self.thing(x, ("object", k)) for k, x in enumerate(record.objects)),
            "files": self.files(record),
            "estimated": self.estimated(record.estimated),
            "ratios": self.ratios(record.ratios or {}, ruled.ratios),
        }
        if record.vertices is not None:
            values["vertices"] = MappingProxyType(record.vertices)
        if record.end_effectors is not None:
            values["end_effectors"] = tuple(
                self.end(x, ("end_effector", k), frames) for k, x in enumerate(record.end_effectors)
            )
        if record.vision is not None:
            values["vision"] = self.vision(record.vision)
        return replace(ruled, **values)

    def named(self, robot: Description, name: str, file: str) -> Description:
        """Return a robot with the laboratory's name, and with its file."""
        beside = self.folder / file
        source = str(beside) if is_there(beside) else robot.source
        return replace(robot, name=name, source=source)

    def files(self, record: Table) -> tuple[str, ...]:
        """Return the files that the laboratory is read from, as far as they are files."""
        beside = [self.folder / name for name in (record.robot, record.model) if name]
        own = [self.source.file] if self.source.file else []
        return (*own, *(str(path) for path in beside if is_there(path) and path.is_file()))

    def robot(self, name: str, path: Path) -> Robot:
        beside = self.folder / name
        try:
            robot = Robot(beside if is_there(beside) else name)
            _ = robot.coordinates
        except Error as error:
            raise self.source.error(path, error.what, error.remedy) from None
        return robot

    def ruled(self, robot: Robot, tables: Mapping[str, Table]) -> LabConfig:
        """Return the laboratory by rule; its gains are not worked out where all are given."""
        given = all(
            name in tables and all(getattr(tables[name], key) is not None for key in _RULED)
            for name in robot.coordinates
        )
        try:
            return robot_lab(robot, gains=not given)
        except Error as error:
            raise self.source.error(("robot",), error.what, error.remedy) from None

    # -- tables ------------------------------------------------------------------------------------
    def joint(
        self, table: Table, ruled: JointConfig, at: Path, description: Description
    ) -> JointConfig:
        kind = next(j.kind for j in description.joints if j.name == table.name)
        slides = JOINTS[kind].motions[0][0] != "turn"
        made = replace(ruled, **given(table, self.source, at, slides=slides))
        for k, cutoff in enumerate(made.filters):
            if not 0 <= cutoff <= 100:
                raise self.source.error(
                    (*at, "filters", k), f"{cutoff:g} percent is not a cutoff", "give 0 to 100"
                )
        if table.default is None:
            made = replace(made, default=posture_in(made.lower, made.upper))
        if table.rest is None:
            made = replace(made, rest=made.default)
        if not made.lower < made.upper:
            raise self.source.error(
                (*at, "upper"), f"{made.upper:g} is not above lower, {made.lower:g}"
            )
        if not made.lower <= made.default <= made.upper:
            raise self.source.error(
                (*at, "default"),
                f"{made.default:g} is beyond {made.lower:g} and {made.upper:g}",
                "let the joint start within its range",
            )
        return made

    def end(self, table: Table, at: Path, frames: Sequence[str]) -> EndEffector:
        self.known(table.link, frames, (*at, "link"), "link or frame of the robot")
        made: EndEffector = table.made()
        return made

    def vision(self, table: Table) -> VisionConfig:
        """Return the eyes."""
        if table.eyes and len(table.eyes) != table.cameras:
            raise self.source.error(
                ("vision", "camera"),
                f"there are {table.cameras} cameras, and {len(table.eyes)} are placed",
                remedy="place each of them, or none",
            )
        made: VisionConfig = table.made()
        return made

    def thing(self, table: Table, at: Path) -> SceneObject:
        if not table.name or len(table.name) > _LONGEST or table.name.split() != [table.name]:
            raise self.source.error(
                (*at, "name"),
                f"{table.name!r} cannot be the name of an object",
                f"give a word of at most {_LONGEST} characters",
            )
        least = min(table.scale)
        if least <= 0:
            raise self.source.error((*at, "scale"), f"a scale of {least:g}", "give it above 0")
        number = CONTACT_MODELS.index(table.contact_model)
        parameters, needed = table.contact_parameters, MODELS.get(number, ())
        if len(parameters) < len(needed):
            raise self.source.error(
                (*at, "contact_parameters" if parameters else "contact_model"),
                f"{table.contact_model!r} has {len(needed)} parameters, and {len(parameters)} are "
                "given",
                f"give {', '.join(needed)}",
            )
        made: SceneObject = table.made(contact_model=number)
        return made

    def servos(
        self, given: Mapping[str, tuple[str, ...]], names: Sequence[str], key: str
    ) -> Mapping[str, tuple[str, ...]]:
        for servo, joints in given.items():
            for k, joint in enumerate(joints):
                self.known(joint, names, (key, servo, k), "joint")
        return MappingProxyType({servo: tuple(joints) for servo, joints in given.items()})

    def ratios(self, given: Mapping[str, Any], usual: Mapping[str, int]) -> Mapping[str, int]:
        for servo, ratio in given.items():
            if isinstance(ratio, bool) or not isinstance(ratio, int) or ratio < 1:
                raise self.source.error(
                    ("ratios", servo), f"{ratio!r} is not a ratio", "give a whole number from 1 on"
                )
        return MappingProxyType({**usual, **given})

    def estimated(self, given: tuple[int, ...]) -> tuple[int, int]:
        if len(given) != 2 or min(given) < 0:
            raise self.source.error(
                ("estimated",), "two counts are needed", "give N_DOFS_EST and N_DOFS_EST_SKIP"
            )
        return given[0], given[1]
