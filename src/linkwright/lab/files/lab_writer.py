"""Writing a laboratory as `lab.toml`, with its robot, what controllers believe, and preferences."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from linkwright.errors import InputError
from linkwright.files import file_exists, read_bytes, write_bytes
from linkwright.formats.robot.conversion import seen_from
from linkwright.formats.robot.description import Description, Ignored
from linkwright.formats.robot.files import written_description
from linkwright.formats.sl.configuration import MOST_BYTES, SceneObject
from linkwright.formats.text.writer import record_text
from linkwright.lab.config import EndEffector, JointConfig, LabConfig, VisionConfig
from linkwright.lab.files.lab_tables import (
    CONTACT_MODELS,
    LabCameraTable,
    LabEndTable,
    LabFile,
    LabJointTable,
    LabObjectTable,
    LabVisionTable,
)

_FLAGS = ("linear_sensor", "linear_actuator", "linear_load_cell")
_POLARITIES = ("position_polarity", "load_polarity")


def starter_text(name: str) -> str:
    """Return a commented `lab.toml` to start from.

    >>> starter_text("mine").splitlines()[3]
    'name = "mine"'
    """
    if not name or name.split() != [name] or any(c in name for c in '"\\/'):
        raise InputError(f"{name!r} cannot name a laboratory", remedy="give a word")
    text = files("linkwright.lab.files").joinpath("starter.toml").read_text(encoding="utf-8")
    return text.replace('"NAME"', f'"{name}"')


def lab_text(config: LabConfig, robot: str, model: str = "", preferences: str = "") -> str:
    """Return a laboratory as the text of `lab.toml`.

    >>> from linkwright.lab.sources import lab_config
    >>> print(lab_text(lab_config("sl-arm"), "arm.urdf").splitlines()[3])
    robot = "arm.urdf"
    """
    values: dict[str, object] = {
        "format": 1,
        "name": config.name,
        "robot": robot,
        "model": model,
        "rate": float(config.rate),
        "vision_rate": float(config.vision_rate),
        "controller": config.controller,
        "gravity": _floats(config.gravity),
        "base": config.base,
        "method": config.method,
        "substeps": config.substeps,
        "misc_sensors": list(config.misc_sensors) or None,
        "estimated": list(config.estimated) if any(config.estimated) else None,
        "preferences": preferences,
        "ratios": dict(config.ratios),
        "servos": _lists(config.servos),
        "real_servos": _lists(config.real_servos),
        "vertices": dict(config.vertices),
        "vision": _vision(config.vision),
        "joint": [_joint(joint) for joint in config.joints],
        "end_effector": [_end(end) for end in config.end_effectors],
        "object": [_object(thing) for thing in config.objects] or None,
    }
    return record_text(LabFile.model_validate(values))


def write_lab(
    config: LabConfig, target: str | os.PathLike[str], *, replace: bool = False
) -> tuple[tuple[Path, ...], tuple[Ignored, ...]]:
    """Write a laboratory: `NAME.toml`, its robot as `NAME.robot.toml`, what controllers believe as
    `NAME.model.toml`, and its preference files in the folder `prefs`. Return the files, and what of
    the robot they cannot hold.
    """
    target = Path(target)
    contents: dict[Path, bytes] = {}
    stem = target.name.removesuffix(".toml")
    robot, model = f"{stem}.robot.toml", ""
    written = written_description(_seen(config.description, target), "text")
    contents[target.parent / robot] = written.text.encode()
    if config.model is not None:
        model = f"{stem}.model.toml"
        believed = written_description(_seen(config.model, target), "text")
        contents[target.parent / model] = believed.text.encode()
    preferences = preference_files(config)
    folder = "prefs" if config.preferences is not None else ""
    for name, content in preferences.items():
        contents[target.parent / folder / name] = content
    contents[target] = lab_text(config, robot, model, folder).encode()
    if folder:
        (target.parent / folder).mkdir(parents=True, exist_ok=True)
    return put_in_place(contents, replace=replace), written.dropped


def _seen(robot: Description, target: Path) -> Description:
    """Return a robot whose meshes are found from the target's folder."""
    return seen_from(robot, Path(robot.source), target) if robot.source else robot


def preference_files(config: LabConfig) -> dict[str, bytes]:
    """Return the preference files of a laboratory, by name.

    >>> from linkwright.lab.sources import lab_config
    >>> sorted(preference_files(lab_config("sl-arm")))[:2]
    ['default.script', 'default.sine']
    """
    if config.preferences is None or not config.preferences.is_dir():
        return {}
    kept = (".sine", ".pp", ".script", ".traj")
    return {
        path.name: read_bytes(path, 64 * MOST_BYTES)
        for path in sorted(config.preferences.iterdir())
        if path.is_file() and (path.suffix in kept or path.name == "sample_script")
    }


def put_in_place(contents: Mapping[Path, bytes], *, replace: bool) -> tuple[Path, ...]:
    """Write files whose contents are known; none where one is there and may not be replaced."""
    for path, content in contents.items():
        if path.exists() and not replace and not (path.is_file() and path.read_bytes() == content):
            raise file_exists(path)
    for path, content in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not (path.is_file() and path.read_bytes() == content):
            write_bytes(path, content, replace=replace)
    return tuple(contents)


def _joint(joint: JointConfig) -> LabJointTable:
    values = {
        key: getattr(joint, key)
        for key in LabJointTable.model_fields
        if key not in ("filters", *_FLAGS, *_POLARITIES)
    }
    numbers = {k: v if isinstance(v, str) or v is None else float(v) for k, v in values.items()}
    polarities = {key: int(getattr(joint, key)) for key in _POLARITIES}
    flags = {key: bool(getattr(joint, key)) for key in _FLAGS}
    filters = _floats(joint.filters) if any(joint.filters) else None
    return LabJointTable.model_validate({**numbers, **flags, **polarities, "filters": filters})


def _end(end: EndEffector) -> LabEndTable:
    return LabEndTable(
        name=end.name,
        link=end.link,
        x=_floats(end.x) if any(end.x) else None,
        a=_floats(end.a) if any(end.a) else None,
        mass=float(end.mass),
        mass_center=_floats(end.mass_center) if any(end.mass_center) else None,
    )


def _vision(vision: VisionConfig) -> LabVisionTable:
    return LabVisionTable(
        blobs=list(vision.blobs),
        cameras=vision.cameras,
        preferences=vision.preferences,
        position=_floats(vision.position) if any(vision.position) else None,
        a=_floats(vision.a) if any(vision.a) else None,
        noise=float(vision.noise),
        delay=float(vision.delay),
        camera=[
            LabCameraTable(
                position=_floats(eye.position),
                a=_floats(eye.a),
                focal=_floats(eye.focal),
                center=_floats(eye.center),
                size=_floats(eye.size),
            )
            for eye in vision.eyes
        ]
        or None,
    )


def _object(thing: SceneObject) -> LabObjectTable:
    if not 0 <= thing.contact_model < len(CONTACT_MODELS):
        raise InputError(
            f"the object {thing.name!r} has the contact model {thing.contact_model}",
            remedy="give 0 (none), 1 (damped spring) or 2 (Coulomb)",
        )
    return LabObjectTable.model_validate(
        {
            "name": thing.name,
            "kind": thing.kind,
            "color": _floats(thing.color),
            "position": _floats(thing.position),
            "rotation": _floats(thing.rotation) if any(thing.rotation) else None,
            "scale": _floats(thing.scale),
            "contact_model": CONTACT_MODELS[thing.contact_model],
            "contact_parameters": _floats(thing.contact_parameters) or None,
            "object_parameters": _floats(thing.object_parameters) or None,
        }
    )


def _floats(values: Sequence[float]) -> list[float]:
    return [float(value) for value in values]


def _lists(given: Mapping[str, tuple[str, ...]]) -> dict[str, list[str]] | None:
    return {name: list(joints) for name, joints in given.items()} or None
