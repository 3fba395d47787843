"""Writing a laboratory as an SL folder: model, C files, configuration and preference files.

SL numbers its vertices itself, one for each translation that is not zero in a walk through the
model (SL manual, section 7.1); they get the names that the laboratory has for those points. What SL
has no word for is listed as left out.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace as changed
from pathlib import Path

from linkwright.base.errors import InputError
from linkwright.formats.robot.description import (
    Description,
    Ignored,
    NamedFrame,
    Place,
    Triple,
)
from linkwright.formats.robot.omissions import Leftovers
from linkwright.formats.robot.transforms import composed, euler_rotation
from linkwright.formats.sl.configuration import (
    Calibration,
    Configuration,
    Filters,
    Gains,
    SceneObject,
    SensorOffset,
)
from linkwright.formats.sl.reader import sl_from_text
from linkwright.formats.sl.writer import configuration_texts, dyn_text
from linkwright.lab.config import EndEffector, JointConfig, LabConfig, VisionConfig
from linkwright.lab.files.lab_writer import preference_files, put_in_place
from linkwright.lab.rules import FASTEST, JUMP

_WORD = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
_LONGEST = 19
_NEAR = 1e-9
_NONE = 1e10
_PARAMETERS = 5


@dataclass(frozen=True, slots=True)
class SlFolder:
    """The files of an SL folder by their names in it, and what they cannot hold."""

    texts: Mapping[str, str]
    dropped: tuple[Ignored, ...]


def write_sl_lab(
    config: LabConfig, folder: str | os.PathLike[str], *, replace: bool = False
) -> tuple[tuple[Path, ...], tuple[Ignored, ...]]:
    """Write a laboratory as an SL folder; return the files, and what they cannot hold."""
    made = sl_folder(config)
    home = Path(folder)
    files = {home / name: text.encode() for name, text in made.texts.items()}
    files |= {home / "prefs" / name: data for name, data in preference_files(config).items()}
    if home.exists() and not home.is_dir():
        raise InputError("this is a file, not a folder", file=home)
    return put_in_place(files, replace=replace), made.dropped


def sl_folder(config: LabConfig) -> SlFolder:
    """Return the texts of an SL folder.

    >>> from linkwright.lab.sources import lab_config
    >>> sorted(sl_folder(lab_config("sl-arm")).texts)[:3]
    ['SL_user.h', 'SL_user_common.c', 'config/Gains.cf']
    """
    left = Leftovers()
    description, ends = _with_ends(_plain(config, config.description, left), config, left)
    numbers = {frame: k for k, (_, frame) in enumerate(ends, 1) if frame}
    written = dyn_text(description, effectors=numbers)
    for entry in written.dropped:
        left.add(entry.what, entry.line, entry.why)
    header = dict(written.beside)["include/SL_user.h"]
    common = _end_values([end for end, _ in ends])
    empty = _end_values([changed(end, mass=0.0, mass_center=(0.0,) * 3) for end, _ in ends])
    vertices = _vertices(config, description, written.text, header + empty, left)
    ties = [vertices[_where(description, end.link, end.x)] for end, _ in ends]
    names = dict(enumerate(vertices.values(), 1))
    _note(config, left)
    texts = {
        f"{_file_name(config.name)}.dyn": written.text,
        "SL_user.h": _header(config, header, names, len(ends)),
        "SL_user_common.c": _common(config, [end.name for end, _ in ends], ties, common),
        "config/LinkParametersSim.cf": dict(written.beside)["config/LinkParametersSim.cf"],
    }
    if config.model is not None:
        believed, _ = _with_ends(_plain(config, config.model, Leftovers()), config, Leftovers())
        beside = dict(dyn_text(believed, effectors=numbers).beside)
        texts["config/LinkParameters.cf"] = beside["config/LinkParametersSim.cf"]
    for name, text in configuration_texts(_configuration(config)).items():
        texts[f"config/{name}"] = text
    return SlFolder(texts, left.entries())


def link_parameters(config: LabConfig, model: Description) -> str:
    """Return the text of the LinkParameters.cf of a model of a laboratory's robot.

    >>> from linkwright.lab.sources import lab_config
    >>> made = lab_config("sl-arm")
    >>> link_parameters(made, made.description).splitlines()[0][:20]
    '/* keyword, mass, mc'
    """
    made, _ = _with_ends(_plain(config, model, Leftovers()), config, Leftovers())
    return dict(dyn_text(made).beside)["config/LinkParametersSim.cf"]


def _plain(config: LabConfig, description: Description, left: Leftovers) -> Description:
    """Return the robot with words that C can hold, and without what coincides with a vertex."""
    names = [*(j.name for j in description.joints), *(f.name for f in description.frames)]
    for name in names:
        if not _WORD.match(name):
            raise InputError(
                f"SL cannot hold the name {name!r}",
                remedy="use letters, digits and underscores in the names of joints and frames",
            )
    for joint in description.joints:
        if joint.mimic is not None:
            raise InputError(
                f"the joint {joint.name!r} follows {joint.mimic.joint!r}, which SL has no word for",
                remedy="let it move by itself, or weld it",
            )
    links = list(description.links)
    root = description.root
    free = any(joint.kind == "free" for joint in description.joints)
    if config.base == "fixed" and description.link(root).mass is not None:
        left.add("mass of a base that stands still", 0, "SL lets a base with mass float")
        links = [changed(k, mass=None) if k.name == root else k for k in links]
    if config.base == "floating" and not free and description.link(root).mass is None:
        raise InputError(
            f"the base {root!r} floats and has no mass", remedy="give it one in the robot's file"
        )
    at_origin = {
        frame
        for frame in config.vertices.values()
        for known in description.frames
        if known.name == frame and known.place == Place() and _shifted(description, known.link)
    }
    frames = tuple(frame for frame in description.frames if frame.name not in at_origin)
    return changed(description, links=tuple(links), frames=frames)


def _shifted(description: Description, link: str) -> bool:
    return any(any(j.place.position) for j in description.joints if j.child == link)


def _with_ends(
    description: Description, config: LabConfig, left: Leftovers
) -> tuple[Description, list[tuple[EndEffector, str]]]:
    """Return the robot with a frame for each end-effector, and the frames' names; none for one that
    is its link."""
    frames = list(description.frames)
    ends: list[tuple[EndEffector, str]] = []
    for end in config.end_effectors:
        place = Place(end.x, euler_rotation(end.a))
        link, at = _link_of(config.description, end.link)
        if at != Place():
            left.add(f"end-effector {end.name}", 0, "it is on a frame, and SL wants a link")
            continue
        if not any(end.x):
            if any(end.a) or not _shifted(description, link):
                why = "SL has no vertex at the origin of its link"
                left.add(f"end-effector {end.name}", 0, why)
            else:
                ends.append((end, ""))
            continue
        same = next((f for f in frames if f.link == link and _close(f.place, place)), None)
        if same is None:
            same = NamedFrame(_free_name(end.name, description, frames), link, place)
            frames.append(same)
        ends.append((end, same.name))
    return changed(description, frames=tuple(frames)), ends


def _free_name(name: str, description: Description, frames: Sequence[NamedFrame]) -> str:
    taken = {j.name for j in description.joints} | {f.name for f in frames}
    word = name if _WORD.match(name) else "END"
    return next(w for w in (word, *(f"{word}_{k}" for k in range(1, 1000))) if w not in taken)


def _link_of(description: Description, name: str) -> tuple[str, Place]:
    for frame in description.frames:
        if frame.name == name:
            return frame.link, frame.place
    return name, Place()


def _close(a: Place, b: Place) -> bool:
    pairs = zip(
        (*a.position, *sum(a.rotation, ())), (*b.position, *sum(b.rotation, ())), strict=True
    )
    return all(abs(x - y) < _NEAR for x, y in pairs)


def _vertices(
    config: LabConfig, description: Description, text: str, header: str, left: Leftovers
) -> dict[tuple[str, Triple], str]:
    """Return the names of SL's vertices, in their order, by link and place there."""
    wanted: dict[tuple[str, Triple], str] = {}
    for name, frame in config.vertices.items():
        link, place = _link_of(config.description, frame)
        wanted[_where(description, link, place.position)] = name
    found: dict[tuple[str, Triple], str] = {}
    for vertex in sl_from_text(text, header=header).vertices:
        where = vertex.link, _rounded(vertex.place.position)
        name = wanted.pop(where, "")
        if not name and config.vertices:
            left.add("vertex of SL", 0, "SL has one wherever a translation is not zero")
        found[where] = name or f"V_{vertex.name}"
    for name in wanted.values():
        left.add(f"vertex {name}", 0, "SL has vertices only where a translation is not zero")
    return found


def _where(description: Description, link: str, position: Triple) -> tuple[str, Triple]:
    """Return what SL calls a link, and a point's place in it. A link without mass on a fixed joint,
    on which nothing hangs, is a frame of its parent."""
    joint = next((j for j in description.joints if j.child == link), None)
    if joint is None:
        return link, _rounded(position)
    carries = any(j.parent == link for j in description.joints) or any(
        frame.link == link for frame in description.frames
    )
    if joint.kind == "weld" and not carries and description.link(link).mass is None:
        inner = composed(joint.place, Place(position)).position
        return _where(description, joint.parent, inner)
    return joint.name, _rounded(position)


def _rounded(position: Triple) -> Triple:
    x, y, z = (round(value, 9) + 0.0 for value in position)
    return x, y, z


def _note(config: LabConfig, left: Leftovers) -> None:
    usual = LabConfig(config.name, config.description, ())
    eyes = config.vision
    if changed(eyes, blobs=(), cameras=2, preferences="") != VisionConfig(preferences=""):
        left.add("places, noise and delay of cameras", 0, "SL has no place for them")
    for what, given, known in (
        ("rate of the vision servo", config.vision_rate, usual.vision_rate),
        ("law of the motor servo", config.controller, usual.controller),
        ("gravity", tuple(config.gravity), usual.gravity),
    ):
        if given != known:
            left.add(what, 0, f"SL has {known}")
    for muscle in config.muscles:
        left.add(f"muscle {muscle.name}", 0, "SL has them in one's own C code")
    for thing in config.objects:
        if thing.mass:
            left.add(f"mass of the object {thing.name}", 0, "objects of SL stand fast")
    if not config.ground:
        left.add("no ground", 0, "SL has no word for it")
    for joint in config.joints:
        if joint.max_speed != FASTEST or joint.max_jump != JUMP:
            left.add("greatest speed and jump of a joint", 0, "SL has no place for them")
        if joint.theta0 is not None:
            left.add("theta0 of a joint", 0, "SensorCalibration.cf has no column for it")
    names = (*config.names, *config.vertices, *config.vision.blobs, *config.misc_sensors)
    for name in names:
        if len(name) > _LONGEST:
            left.add(f"{name}, a long name", 0, f"SL keeps {_LONGEST} characters of a name")


def _header(config: LabConfig, header: str, vertices: Mapping[int, str], ends: int) -> str:
    constants: dict[str, object] = {
        "N_DOFS": len(config.joints),
        "N_LINKS": len(vertices),
        "N_ENDEFFS": ends,
        "N_DOFS_EST": config.estimated[0],
        "N_DOFS_EST_SKIP": config.estimated[1],
        "MAX_BLOBS": len(config.vision.blobs),
        "N_CAMERAS": config.vision.cameras,
        "VISION_DEFAULT_PP": f'"{config.vision.preferences}"',
        "N_MISC_SENSORS": len(config.misc_sensors),
        "SERVO_BASE_RATE": _number(config.rate),
        **{f"{name.upper()}_SERVO_RATIO": ratio for name, ratio in config.ratios.items()},
    }
    rows = ",\n".join(f"  {name} = {number}" for number, name in vertices.items())
    lines = "\n".join(f"#define {name} {value}" for name, value in constants.items())
    enum = f"/* vertices */\nenum RobotLinks {{\n{rows}\n}};\n"
    return f"/* {config.name}, written by Linkwright */\n{header}\n{enum}\n{lines}\n"


def _common(config: LabConfig, ends: Sequence[str], ties: Sequence[str], values: str) -> str:
    tables = {
        "joint_names": config.names,
        "cart_names": ends,
        "blob_names": config.vision.blobs,
        "misc_sensor_names": config.misc_sensors,
    }
    rows = "".join(_names(name, entries) for name, entries in tables.items())
    links = ", ".join(ties)
    method = "INTEGRATE_RK" if config.method == "rk4" else "INTEGRATE_EULER"
    return (
        '#include "SL.h"\n#include "SL_user.h"\n\n'
        f"{rows}int link2endeffmap[] = {{0{', ' if links else ''}{links}}};\n"
        f"int n_integration = {config.substeps};\nint integrate_method = {method};\n\n{values}"
    )


def _names(table: str, names: Iterable[str]) -> str:
    rows = "".join(f',\n  {{"{name}"}}' for name in names)
    return f'char {table}[][20] = {{\n  {{"dummy"}}{rows}\n}};\n\n'


def _end_values(ends: Sequence[EndEffector]) -> str:
    """Return the function that sets end-effectors."""
    lines: list[str] = []
    for k, end in enumerate(ends, 1):
        lines.append(f"  endeff[{k}].m = {_number(end.mass)};")
        for part, letters, values in (
            ("mcm", "XYZ", end.mass_center),
            ("x", "XYZ", end.x),
            ("a", "ABG", end.a),
        ):
            lines += (
                f"  endeff[{k}].{part}[_{letter}_] = {_number(value)};"
                for letter, value in zip(letters, values, strict=True)
            )
    return "void\nsetDefaultEndeffector(void)\n{\n" + "".join(f"{row}\n" for row in lines) + "}\n"


def _configuration(config: LabConfig) -> Configuration:
    servos = {f"{name}_servo": joints for name, joints in config.real_servos.items()}
    servos |= {f"{name}_sim_servo": joints for name, joints in config.servos.items()}
    joints = config.joints
    return Configuration(
        ranges={
            j.name: SensorOffset(j.lower, j.upper, j.default, j.rest, j.weight, j.offset)
            for j in joints
        },
        gains={j.name: Gains(j.kp, j.kd, j.ki, min(j.max_effort, _NONE)) for j in joints},
        filters={j.name: Filters(*j.filters) for j in joints},
        calibration={j.name: _calibration(j) for j in joints},
        servos=servos,
        objects=tuple(_padded(thing) for thing in config.objects),
    )


def _calibration(joint: JointConfig) -> Calibration:
    return Calibration(
        float(joint.linear_sensor),
        float(joint.linear_actuator),
        float(joint.linear_load_cell),
        joint.moment_arm,
        joint.attachment,
        joint.position_polarity,
        joint.load_polarity,
    )


def _padded(thing: SceneObject) -> SceneObject:
    def five(values: tuple[float, ...]) -> tuple[float, ...]:
        return (*values, *(0.0,) * _PARAMETERS)[: max(_PARAMETERS, len(values))]

    return changed(
        thing,
        object_parameters=five(thing.object_parameters),
        contact_parameters=five(thing.contact_parameters),
    )


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise InputError(f"{value} cannot stand in an SL file")
    return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def _file_name(name: str) -> str:
    return re.sub(r"[^\w-]", "_", name) or "robot"
