"""Reading `lab.toml` (`linkwright.lab.files.lab_tables`), with the place of what is wrong."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from types import MappingProxyType
from typing import Any

from linkwright.errors import Error, InputError
from linkwright.files import is_there, read_text
from linkwright.formats.robot.description import Description, Triple
from linkwright.formats.sl.configuration import SceneObject
from linkwright.formats.text.document import TextSource, parse_record
from linkwright.formats.text.positions import Path
from linkwright.formats.text.table_reader import TableReader
from linkwright.joint_kinds import JOINTS
from linkwright.lab.config import Camera, EndEffector, JointConfig, LabConfig, VisionConfig
from linkwright.lab.contacts import MODELS
from linkwright.lab.files.lab_tables import (
    CONTACT_MODELS,
    LabCameraTable,
    LabEndTable,
    LabFile,
    LabJointTable,
    LabObjectTable,
    LabVisionTable,
)
from linkwright.lab.rules import described, posture_in, robot_lab
from linkwright.robots import Robot

_LARGEST = 4_000_000  # characters
_LONGEST = 20  # characters of an object's name, as in SL
_RULED = ("lower", "upper", "default", "rest", "kp", "kd", "max_effort", "max_speed", "max_jump")
_ENDLESS = ("max_effort", "max_speed", "max_jump")


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

    def lab(self, record: LabFile) -> LabConfig:
        if not record.name or record.name.split() != [record.name] or "/" in record.name:
            raise self.source.error(("name",), f"{record.name!r} cannot be a name", "give a word")
        robot = self.robot(record.robot, ("robot",))
        tables = {table.name: table for table in record.joint or ()}
        ruled = self.ruled(robot, tables)
        description = self.named(ruled.description, record.name, record.robot)
        frames = [*(x.name for x in description.links), *(x.name for x in description.frames)]
        names = ruled.names
        for k, table in enumerate(record.joint or ()):
            self.known(table.name, names, ("joint", k, "name"), "joint")
            if list(tables).index(table.name) != k:
                raise self.source.error(
                    ("joint", k, "name"), f"{table.name!r} is given twice", "take one of them out"
                )
        where = {name: k for k, name in enumerate(tables)}
        model = None
        if record.model:
            believed = self.robot(record.model, ("model",))
            model = self.named(described(believed), record.name, record.model)
        preferences = self.folder / record.preferences if record.preferences else None
        if preferences is not None and not preferences.is_dir():
            raise self.source.error(
                ("preferences",), f"there is no folder {record.preferences!r}", "make one"
            )
        made = replace(
            ruled,
            name=record.name,
            description=description,
            model=model,
            joints=tuple(
                self.joint(tables[j.name], j, ("joint", where[j.name]), description)
                if j.name in tables
                else j
                for j in ruled.joints
            ),
            rate=self.positive(record.rate, ("rate",), "Hz"),
            vision_rate=self.positive(record.vision_rate, ("vision_rate",), "Hz"),
            controller=record.controller,
            base=record.base or ruled.base,
            method=record.method,
            substeps=record.substeps,
            misc_sensors=tuple(record.misc_sensors or ()),
            preferences=preferences,
            servos=self.servos(record.servos or {}, names, "servos"),
            real_servos=self.servos(record.real_servos or {}, names, "real_servos"),
            objects=tuple(self.thing(x, ("object", k)) for k, x in enumerate(record.object or ())),
            files=self.files(record),
        )
        if record.gravity is not None:
            made = replace(made, gravity=self.three(record.gravity, ("gravity",), "m/s^2"))
        if record.ratios is not None:
            made = replace(made, ratios=self.ratios(record.ratios, made.ratios))
        if record.estimated is not None:
            made = replace(made, estimated=self.estimated(record.estimated))
        if record.vertices is not None:
            for name, frame in record.vertices.items():
                self.known(frame, frames, ("vertices", name), "link or frame of the robot")
            made = replace(made, vertices=MappingProxyType(dict(record.vertices)))
        if record.end_effector is not None:
            ends = tuple(
                self.end(x, ("end_effector", k), frames) for k, x in enumerate(record.end_effector)
            )
            made = replace(made, end_effectors=ends)
        if record.vision is not None:
            made = replace(made, vision=self.vision(record.vision))
        return made

    def named(self, robot: Description, name: str, file: str) -> Description:
        """Return a robot with the laboratory's name, and with its file."""
        beside = self.folder / file
        source = str(beside) if is_there(beside) else robot.source
        return replace(robot, name=name, source=source)

    def files(self, record: LabFile) -> tuple[str, ...]:
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

    def ruled(self, robot: Robot, tables: Mapping[str, LabJointTable]) -> LabConfig:
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
        self, table: LabJointTable, ruled: JointConfig, at: Path, description: Description
    ) -> JointConfig:
        kind = next(j.kind for j in description.joints if j.name == table.name)
        turns = JOINTS[kind].motions[0][0] == "turn"
        q, f = ("rad", "N*m") if turns else ("m", "N")
        units = {"lower": q, "upper": q, "default": q, "rest": q, "weight": "1/s", "offset": q}
        units |= {"kp": f"{f}/{q}", "kd": f"{f}*s/{q}", "ki": f"{f}/({q}*s)", "max_effort": f}
        units |= {"max_speed": f"{q}/s", "max_jump": q, "moment_arm": "m", "attachment": "m"}
        units["theta0"] = "rad"
        values: dict[str, Any] = {}
        for key, unit in units.items():
            given = getattr(table, key)
            if given is None:
                continue
            endless = key in _ENDLESS and isinstance(given, float) and given == math.inf
            values[key] = given if endless else self.number(given, (*at, key), unit)
        for key in ("linear_sensor", "linear_actuator", "linear_load_cell"):
            values[key] = getattr(table, key)
        for key in ("position_polarity", "load_polarity"):
            values[key] = float(getattr(table, key))
        if table.filters is not None:
            cutoffs = self.row(table.filters, (*at, "filters"), ["1"] * 4)
            values["filters"] = cutoffs
            for k, cutoff in enumerate(cutoffs):
                if not 0 <= cutoff <= 100:
                    raise self.source.error(
                        (*at, "filters", k), f"{cutoff:g} percent is no cutoff", "give 0 to 100"
                    )
        made = replace(ruled, **values)
        if table.default is None:
            made = replace(made, default=posture_in(made.lower, made.upper))
        if table.rest is None:
            made = replace(made, rest=made.default)
        self._check_joint(made, at)
        return made

    def _check_joint(self, joint: JointConfig, at: Path) -> None:
        if not joint.lower < joint.upper:
            raise self.source.error(
                (*at, "upper"), f"{joint.upper:g} is not above lower, {joint.lower:g}"
            )
        if not joint.lower <= joint.default <= joint.upper:
            raise self.source.error(
                (*at, "default"),
                f"{joint.default:g} is beyond {joint.lower:g} and {joint.upper:g}",
                "let the joint start within its range",
            )
        if not joint.weight > 0:
            raise self.source.error(
                (*at, "weight"), f"a weight of {joint.weight:g}", "give a number above 0"
            )
        for key in ("kp", "kd", "ki", *_ENDLESS):
            if getattr(joint, key) < 0:
                raise self.source.error((*at, key), f"{getattr(joint, key):g} is below 0")

    def end(self, table: LabEndTable, at: Path, frames: Sequence[str]) -> EndEffector:
        self.known(table.link, frames, (*at, "link"), "link or frame of the robot")
        return EndEffector(
            table.name,
            table.link,
            self.three(table.x, (*at, "x"), "m"),
            self.three(table.a, (*at, "a"), "rad"),
            self.number(table.mass, (*at, "mass"), "kg"),
            self.three(table.mass_center, (*at, "mass_center"), "kg*m"),
        )

    def vision(self, table: LabVisionTable) -> VisionConfig:
        """Return the eyes."""
        cameras = tuple(
            self.camera(x, ("vision", "camera", k)) for k, x in enumerate(table.camera or ())
        )
        if cameras and len(cameras) != table.cameras:
            raise self.source.error(
                ("vision", "camera"),
                f"there are {table.cameras} cameras, and {len(cameras)} are placed",
                remedy="place each of them, or none",
            )
        return VisionConfig(
            tuple(table.blobs or ()),
            table.cameras,
            table.preferences,
            cameras,
            self.three(table.position, ("vision", "position"), "m"),
            self.three(table.a, ("vision", "a"), "rad"),
            self.number(table.noise, ("vision", "noise"), "1"),
            self.number(table.delay, ("vision", "delay"), "s"),
        )

    def camera(self, table: LabCameraTable, at: Path) -> Camera:
        usual = Camera((0.0, 0.0, 0.0))

        def two(key: str) -> tuple[float, float]:
            given = getattr(table, key)
            if given is None:
                found: tuple[float, float] = getattr(usual, key)
                return found
            x, y = self.row(given, (*at, key), ["1", "1"])
            return x, y

        return Camera(
            self.three(table.position, (*at, "position"), "m"),
            usual.a if table.a is None else self.three(table.a, (*at, "a"), "rad"),
            two("focal"),
            two("center"),
            two("size"),
        )

    def thing(self, table: LabObjectTable, at: Path) -> SceneObject:
        if not table.name or len(table.name) > _LONGEST or table.name.split() != [table.name]:
            raise self.source.error(
                (*at, "name"),
                f"{table.name!r} cannot be the name of an object",
                f"give a word of at most {_LONGEST} characters",
            )
        scale = self.three(table.scale, (*at, "scale"), "m")
        if min(scale) <= 0:
            raise self.source.error((*at, "scale"), f"a scale of {min(scale):g}", "give it above 0")
        number = CONTACT_MODELS.index(table.contact_model)
        given = table.contact_parameters or []
        needed = MODELS.get(number, ())
        if len(given) < len(needed):
            raise self.source.error(
                (*at, "contact_parameters" if given else "contact_model"),
                f"{table.contact_model!r} has {len(needed)} parameters, and {len(given)} are given",
                f"give {', '.join(needed)}",
            )

        def numbers(values: list[Any], key: str) -> tuple[float, ...]:
            return self.row(values, (*at, key), ["?"] * len(values))

        return SceneObject(
            table.name,
            table.kind,
            self.three(table.color or [0.5, 0.5, 0.5], (*at, "color"), "1"),
            self.three(table.position, (*at, "position"), "m"),
            self.three(table.rotation, (*at, "rotation"), "rad"),
            scale,
            number,
            numbers(table.object_parameters or [], "object_parameters"),
            numbers(given, "contact_parameters"),
        )

    def servos(
        self, given: Mapping[str, list[str]], names: Sequence[str], key: str
    ) -> Mapping[str, tuple[str, ...]]:
        for servo, joints in given.items():
            for k, joint in enumerate(joints):
                self.known(joint, names, (key, servo, k), "joint")
        return MappingProxyType({servo: tuple(joints) for servo, joints in given.items()})

    def ratios(self, given: Mapping[str, Any], usual: Mapping[str, int]) -> Mapping[str, int]:
        for servo, ratio in given.items():
            if isinstance(ratio, bool) or not isinstance(ratio, int) or ratio < 1:
                raise self.source.error(
                    ("ratios", servo), f"{ratio!r} is no ratio", "give a whole number from 1 on"
                )
        return MappingProxyType({**usual, **given})

    def estimated(self, given: list[int]) -> tuple[int, int]:
        if len(given) != 2 or min(given) < 0:
            raise self.source.error(
                ("estimated",), "two counts are needed", "give N_DOFS_EST and N_DOFS_EST_SKIP"
            )
        return given[0], given[1]

    def three(self, given: list[Any] | None, path: Path, unit: str) -> Triple:
        if given is None:
            return 0.0, 0.0, 0.0
        x, y, z = self.row(given, path, [unit] * 3)
        return x, y, z
