"""Writing a laboratory as `lab.toml`, with its robot, what controllers believe, and preferences."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from linkwright.base.errors import InputError
from linkwright.base.files import file_exists, read_bytes, write_bytes
from linkwright.formats.robot.conversion import seen_from
from linkwright.formats.robot.description import Description, Ignored
from linkwright.formats.robot.files import written_description
from linkwright.formats.schema import Table
from linkwright.formats.sl.configuration import MOST_BYTES, SceneObject
from linkwright.formats.text.files import write_model
from linkwright.formats.text.writer import record_text
from linkwright.lab.config import LabConfig
from linkwright.lab.files.lab_tables import CONTACT_MODELS, LabFile, ObjectTable
from linkwright.mechanism import Mechanism


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
    objects = [_object(thing) for thing in config.objects]
    files = {"robot": robot, "model": model, "preferences": preferences}
    return record_text(LabFile.of(config, format=1, objects=objects, **files))


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
    text, dropped = _robot_text(config.description, config.mechanism, target)
    contents[target.parent / robot] = text
    if config.model is not None:
        model = f"{stem}.model.toml"
        contents[target.parent / model], _ = _robot_text(config.model, config.believed, target)
    preferences = preference_files(config)
    folder = "prefs" if config.preferences is not None else ""
    for name, content in preferences.items():
        contents[target.parent / folder / name] = content
    contents[target] = lab_text(config, robot, model, folder).encode()
    if folder:
        (target.parent / folder).mkdir(parents=True, exist_ok=True)
    return put_in_place(contents, replace=replace), dropped


def _robot_text(
    robot: Description, own: Mechanism | None, target: Path
) -> tuple[bytes, tuple[Ignored, ...]]:
    """Return a robot as a text model, with meshes found from the target's folder, and what of it
    is left out."""
    if own is not None:
        return write_model(own).encode(), ()
    seen = seen_from(robot, Path(robot.source), target) if robot.source else robot
    written = written_description(seen, "text")
    return written.text.encode(), written.dropped


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


def _object(thing: SceneObject) -> Table:
    if not 0 <= thing.contact_model < len(CONTACT_MODELS):
        raise InputError(
            f"the object {thing.name!r} has the contact model {thing.contact_model}",
            remedy="give 0 (none), 1 (damped spring) or 2 (Coulomb)",
        )
    return ObjectTable.of(thing, contact_model=CONTACT_MODELS[thing.contact_model])
