"""From an SL folder to a laboratory: the `.dyn` file, the C files and the configuration files.

Rates, ratios, blobs, cameras and names come from `SL_user.h` and `SL_user_common.c`, joints from
the `.cf` files, and the folder `prefs` beside them has the preference files (SL manual, sections
2.3, 5.6, 7.3 and 11). What a file does not say keeps the default of `LabConfig`. The load of an
end-effector is in `EndEffector` and not in the description, so that it can change.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from linkwright.base.errors import InputError, suggestion
from linkwright.formats.robot.description import Description, Place
from linkwright.formats.sl import SlRobot, read_sl
from linkwright.formats.sl.configuration import Configuration
from linkwright.formats.sl.header import Header
from linkwright.formats.sl.reader import UNLIMITED
from linkwright.formats.sl.writer import angles
from linkwright.lab.config import EndEffector, JointConfig, LabConfig, VisionConfig
from linkwright.lab.rules import FASTEST, JUMP, not_read, robot_lab
from linkwright.robots import Robot

_LOAD = re.compile(r"eff\[\d+\]\.(m|mcm\[\d\])")


def model_in(folder: Path) -> Path | None:
    """Return the one `.dyn` file of a folder (or of its folder `math`), or None."""
    found = sorted(folder.glob("*.dyn")) or sorted(folder.glob("math/*.dyn"))
    if len(found) > 1:
        names = ", ".join(path.name for path in found[:5])
        raise InputError(
            f"there are {len(found)} models in the folder: {names}",
            file=folder,
            remedy="name the .dyn file that is meant",
        )
    return found[0] if found else None


def sl_lab(path: str | Path) -> LabConfig:
    """Return the laboratory of an SL folder, or of the folder of a `.dyn` file."""
    path = Path(path)
    model = model_in(path) if path.is_dir() else path
    if model is None:
        raise InputError(
            "the folder has no .dyn file", file=path, remedy="put the robot's model there"
        )
    home = model.parent.parent if model.parent.name == "math" else model.parent
    roots = () if home == model.parent else (home,)
    robot = read_sl(model, roots=roots)
    loads = [name for name in robot.header.constants if _LOAD.fullmatch(name)]
    if any(robot.header.constants[name] for name in loads):
        robot = read_sl(model, roots=roots, constants=dict.fromkeys(loads, 0.0))
    name = home.resolve().name if path.is_dir() or home != model.parent else model.stem
    return _lab(robot, name, home, str(model))


def _lab(robot: SlRobot, name: str, home: Path, file: str) -> LabConfig:
    header = robot.header
    described = replace(robot.description, name=name)
    believed = robot.model
    preferences = home / "prefs"
    base = described.link(described.root)
    known = LabConfig(name, described, ())
    joints, made_up = _joints(robot, described)
    return LabConfig(
        name=name,
        description=described,
        joints=joints,
        model=None if believed is None else replace(believed, name=name),
        rate=float(_positive(header, "SERVO_BASE_RATE", known.rate, file)),
        ratios=_ratios(header, known.ratios, file),
        servos=_servos(robot.configuration.servos, "_sim_servo"),
        real_servos=_servos(robot.configuration.servos, "_servo"),
        end_effectors=_end_effectors(robot, file),
        vertices=MappingProxyType({vertex.name: vertex.name for vertex in robot.vertices}),
        objects=robot.configuration.objects,
        base="fixed" if base.mass is None else "floating",
        method="rk4" if header.method == "RK" else "verlet",
        substeps=_whole(
            header, "n_integration", 1 if header.substeps is None else header.substeps, file
        ),
        vision=VisionConfig(
            _names(header, "blob_names", "MAX_BLOBS", "blob"),
            _count(header, "N_CAMERAS", VisionConfig().cameras),
            header.texts.get("VISION_DEFAULT_PP", VisionConfig().preferences),
        ),
        misc_sensors=_names(header, "misc_sensor_names", "N_MISC_SENSORS", "misc"),
        estimated=(_count(header, "N_DOFS_EST", 0), _count(header, "N_DOFS_EST_SKIP", 0)),
        preferences=preferences if preferences.is_dir() else None,
        files=(file, *robot.configuration.files),
        notes=(*not_read(described), *made_up, *robot.configuration.notes),
    )


def _ordered(robot: SlRobot) -> tuple[str, ...]:
    """Return the degrees of freedom in the order of the robot's coordinates: a walk from the root,
    branches in the order of SL's numbers."""
    children: dict[str, list[str]] = {}
    moves = set(robot.degrees.values())
    for joint in robot.description.joints:
        children.setdefault(joint.parent, []).append(joint.child)
    found: list[str] = []
    stack = [robot.description.root]
    while stack:
        link = stack.pop()
        found.append(link)
        stack.extend(reversed(children.get(link, ())))
    return tuple(link for link in found if link in moves)


def _joints(
    robot: SlRobot, description: Description
) -> tuple[tuple[JointConfig, ...], tuple[str, ...]]:
    """Return the joints, and in words what was made up where a file is not there."""
    configuration = robot.configuration
    missing = [
        (file, what)
        for file, what, rows in (
            ("SensorOffset.cf", "ranges and postures", configuration.ranges),
            ("Gains.cf", "gains", configuration.gains),
        )
        if not rows
    ]
    ruled: dict[str, JointConfig] = {}
    if missing:
        ruled = {joint.name: joint for joint in robot_lab(Robot(description)).joints}
    joints = tuple(_joint(name, configuration, ruled.get(name)) for name in _ordered(robot))
    told = (f"no {file} was found: {what} follow from the robot" for file, what in missing)
    return joints, tuple(told)


def _joint(name: str, configuration: Configuration, ruled: JointConfig | None) -> JointConfig:
    span, gains = configuration.ranges.get(name), configuration.gains.get(name)
    joint = ruled or JointConfig(name, 0.0, 0.0)
    joint = replace(joint, max_speed=FASTEST, max_jump=JUMP)
    if span is not None:
        joint = replace(
            joint,
            lower=span.lower,
            upper=span.upper,
            default=span.default,
            rest=span.rest,
            weight=span.weight,
            offset=span.offset,
        )
    if gains is not None:
        joint = replace(
            joint,
            kp=gains.position,
            kd=gains.velocity,
            ki=gains.integral,
            max_effort=math.inf if gains.greatest >= UNLIMITED else gains.greatest,
        )
    filters, parts = configuration.filters.get(name), configuration.calibration.get(name)
    if filters is not None:
        cutoffs = (filters.position, filters.velocity, filters.acceleration, filters.load)
        joint = replace(joint, filters=cutoffs)
    if parts is None:
        return joint
    return replace(
        joint,
        linear_sensor=bool(parts.linear_sensor),
        linear_actuator=bool(parts.linear_actuator),
        linear_load_cell=bool(parts.linear_load_cell),
        moment_arm=parts.moment_arm,
        attachment=parts.attachment,
        position_polarity=parts.position_polarity,
        load_polarity=parts.load_polarity,
    )


def _end_effectors(robot: SlRobot, file: str) -> tuple[EndEffector, ...]:
    """Return the end-effectors: those of `link2endeffmap`, else the frames that use `eff`."""
    vertices = {vertex.name: vertex for vertex in robot.vertices}
    ends = robot.header.end_vertices or robot.end_effectors
    names = robot.header.names.get("cart_names", ())
    found: list[EndEffector] = []
    for at, end in enumerate(ends, 1):
        if robot.header.end_vertices and end not in vertices:
            raise InputError(
                f"link2endeffmap ties end-effector {at} to {end!r}, which is not a vertex",
                file=file,
                remedy=suggestion(end, vertices, f"there are {', '.join(vertices)}"),
            )
        link, place = _carried(robot.description, vertices[end].name if end in vertices else end)
        mass = robot.header.constants.get(f"eff[{at}].m", 0.0)
        moment = tuple(robot.header.constants.get(f"eff[{at}].mcm[{k}]", 0.0) for k in (1, 2, 3))
        found.append(
            EndEffector(
                names[at - 1] if at <= len(names) else end,
                link,
                place.position,
                angles(place.rotation),
                mass,
                (moment[0], moment[1], moment[2]),
            )
        )
    return tuple(found)


def _carried(description: Description, frame: str) -> tuple[str, Place]:
    """Return the link that carries a frame, and the frame's place there."""
    for known in description.frames:
        if known.name == frame:
            return known.link, known.place
    return frame, Place()


def _servos(lists: Mapping[str, tuple[str, ...]], ending: str) -> Mapping[str, tuple[str, ...]]:
    """Return which joints each servo commands, of the simulation (`_sim_servo`) or the robot."""
    chosen = {
        name.removesuffix(ending): joints
        for name, joints in lists.items()
        if name.endswith(ending) and (ending == "_sim_servo" or not name.endswith("_sim_servo"))
    }
    return MappingProxyType(chosen)


def _names(header: Header, table: str, count: str, word: str) -> tuple[str, ...]:
    """Return the names in a table of C, as many as a constant says; missing ones are numbered."""
    given = header.names.get(table, ())
    many = _count(header, count, len(given))
    return (*given, *(f"{word}{k}" for k in range(len(given) + 1, many + 1)))[:many]


def _said(header: Header, name: str, default: float, file: str = "") -> float:
    """Return a number of the headers; a name that is defined without one is an error."""
    if name in header.places and name not in header.constants:
        where, line = header.places[name]
        told = f"{name} is defined without a number that can be read"
        raise InputError(told, file=where or file, line=line, remedy="write a number behind it")
    return header.constants.get(name, default)


def _count(header: Header, name: str, default: int) -> int:
    return max(0, int(_said(header, name, default)))


def _ratios(header: Header, usual: Mapping[str, int], file: str) -> Mapping[str, int]:
    """Return the ratios of servos to the motor servo; what is not said is the task servo's."""
    ratios = dict(usual)
    if "TASK_SERVO_RATIO" in header.places:
        task = _said(header, "TASK_SERVO_RATIO", 1, file)
        ratios = dict.fromkeys(usual, _whole(header, "TASK_SERVO_RATIO", task, file))
    for name in header.places:
        if name.endswith("_SERVO_RATIO"):
            given = _said(header, name, 1, file)
            ratios[name.removesuffix("_SERVO_RATIO").lower()] = _whole(header, name, given, file)
    return MappingProxyType(ratios)


def _positive(header: Header, name: str, default: float, file: str) -> float:
    found = _said(header, name, default, file)
    if not (math.isfinite(found) and found > 0):
        raise _wrong(header, name, found, file, "a rate is greater than 0")
    return found


def _whole(header: Header, name: str, given: float, file: str) -> int:
    if given != int(given) or given < 1:
        raise _wrong(header, name, given, file, "it is a whole number from 1 on")
    return int(given)


def _wrong(header: Header, name: str, given: float, file: str, remedy: str) -> InputError:
    where, line = header.places.get(name, (file, None))
    return InputError(f"{name} is {given:g}", file=where or file, line=line, remedy=remedy)
