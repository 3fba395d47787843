"""What a recording is of: the thing at hand, a shipped model, a robot file, or text that it holds.

A recording may come from anywhere, so nothing in it is executed and no path in it leads anywhere by
itself: a robot file is read only where it is in the folder of the recording or in one that the
user declares (`--mesh-dir`), symbolic links followed. Where it may not be read, is missing,
or has changed since, the text in the recording says how the robot was.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from linkwright.base.errors import Error, InputError
from linkwright.base.files import LARGEST, digest_of, read_bytes
from linkwright.formats.robot.files import endings, read_description, robot_format
from linkwright.formats.text.files import read_any
from linkwright.mechanism import Mechanism
from linkwright.models import opened
from linkwright.models.library import MODELS
from linkwright.recording import Recording
from linkwright.recording.origins import FOLDER, KEY
from linkwright.robots import Robot
from linkwright.system import System

_REMEDY = "name its folder with --mesh-dir, or the file with --model"
Thing = Robot | Mechanism | System
_FLAGS = ("friction", "mimic", "symbolic")


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """What a recording is of."""

    thing: Robot | Mechanism | None
    system: System | None = None
    roots: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()
    without_meshes: str = ""


def what_moved(
    recording: Recording, folder: Path | None = None, roots: Sequence[str | Path] = ()
) -> Moved:
    """Return what a recording is of."""
    if recording.source is not None:
        return at_hand(recording.source, roots)
    about = recording.metadata
    info = about.get(KEY)
    origin: Mapping[str, Any] = info if isinstance(info, Mapping) else {}
    if not origin.get("file") and isinstance(about.get("file"), str):  # as others may write it
        origin = {**origin, "file": str((folder or Path()) / about["file"])}
    place = origin.get(FOLDER)
    home = folder if folder is not None else Path(place) if isinstance(place, str) else None
    told_apart = any(origin.get(k) for k in ("model", "file", "text"))
    others = () if told_apart else (about.get(k) for k in ("model", "system", "title"))
    for word in (origin.get("model"), *others):
        if is_shipped(word):
            return at_hand(opened(str(word)), roots)
    return _from_file_or_text(about, origin, home, _paths(roots))


def is_shipped(word: object) -> bool:
    """Return whether a word is the name of a shipped model with options, and no path.

    >>> is_shipped("n-four-bar:n=40"), is_shipped("car:/x.urdf"), is_shipped("arm.urdf")
    (True, False, False)
    """
    if not isinstance(word, str) or word.partition(":")[0] not in MODELS:
        return False
    return not any(part in word for part in ("/", "\\", *endings()))


def _paths(roots: Sequence[str | Path]) -> tuple[Path, ...]:
    return tuple(Path(root) for root in roots)


def at_hand(of: Any, roots: Sequence[str | Path]) -> Moved:
    """Return what a recording is of, where that is at hand."""
    if isinstance(of, System):
        return Moved(of.mechanism if of.mechanism.bodies else None, of, _paths(roots))
    return Moved(of if isinstance(of, Robot | Mechanism) else None, roots=_paths(roots))


def _from_file_or_text(
    about: Mapping[str, Any], origin: Mapping[str, Any], home: Path | None, roots: tuple[Path, ...]
) -> Moved:
    file, text = origin.get("file"), origin.get("text") or about.get("model_text")
    name = Path(file).name if isinstance(file, str) else ""
    name = name or Path(str(about.get("model_file", ""))).name
    allowed = [root.resolve() for root in ((home, *roots) if home is not None else roots)]
    found, outside = _allowed_file(file, name, allowed)
    options = origin.get("options")
    given = options if isinstance(options, Mapping) else {}
    if found is not None and origin.get("digest") in (None, _digest(found)):
        return at_hand(_of_file(found, given, roots), roots)
    if isinstance(text, str) and text:
        base = found.parent if found is not None else home or Path()
        made = _of_text(text, name or "model.toml", given, base)
        near = tuple(dict.fromkeys((base.resolve(), *allowed)))
        notes = () if found is None else (_changed(name) + "; it is drawn as it was",)
        missing = _why(name, outside, bool(file)) if found is None else ""
        return replace(at_hand(made, near), notes=notes, without_meshes=missing)
    if found is not None:
        return replace(at_hand(_of_file(found, given, roots), roots), notes=(_changed(name),))
    skeleton = origin.get("skeleton")
    if isinstance(skeleton, str) and skeleton:
        note = f"{_why(name, outside, True)}; generated shapes stand in"
        return replace(at_hand(_of_text(skeleton, "model.toml", {}, Path()), ()), notes=(note,))
    if file:
        raise InputError(_why(name, outside, True))
    why = origin.get("why")
    return Moved(None, notes=(why,) if isinstance(why, str) else ())


def _changed(name: str) -> str:
    return f"{name} has changed since this was recorded"


def _why(name: str, outside: bool, known: bool) -> str:
    if not known:
        return ""
    if outside:
        return f"{name} lies outside the folder of the recording, and is not read: {_REMEDY}"
    return f"{name} is not in the folder of the recording: {_REMEDY}"


def _allowed_file(file: object, name: str, allowed: Sequence[Path]) -> tuple[Path | None, bool]:
    """Return the robot file where it may be read, and whether its own place may not be."""
    outside = False
    if not isinstance(file, str) or not file:
        return None, outside
    for path in (Path(file), *(root / name for root in allowed)):
        try:
            whole = path.resolve()
            inside = any(whole.is_relative_to(root) for root in allowed)
            if inside and whole.is_file():
                return whole, False
        except (OSError, RuntimeError, ValueError):  # a name that no file can have
            continue
        outside = outside or not inside
    return None, outside


def _digest(path: Path) -> str:
    return digest_of(read_bytes(path, LARGEST))


def _of_file(path: Path, options: Mapping[str, Any], roots: Sequence[Path]) -> Thing:
    kind = robot_format(path)
    if kind in (None, "text"):
        return read_any(path, options=_numbers(options) or None)
    return Robot(path, roots=roots, **_choices(options))


def _of_text(text: str, name: str, options: Mapping[str, Any], folder: Path) -> Thing:
    """Return what a text says; it is read where there is no other file, so it takes in none."""
    with tempfile.TemporaryDirectory(prefix="linkwright-") as place:
        ending = Path(name).suffix.lower()
        path = Path(place) / f"model{ending if ending in endings() else '.toml'}"
        path.write_text(text, encoding="utf-8", newline="")
        kind = robot_format(path)
        if kind in (None, "text"):
            return read_any(path, options=_numbers(options) or None)
        description = read_description(path)
    return Robot(replace(description, source=str(folder / name)), **_choices(options))


def _numbers(options: Mapping[str, Any]) -> dict[str, int]:
    return {str(k): v for k, v in options.items() if isinstance(v, int)}


def _choices(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return with which options a robot was assembled; what is no such option is left out."""
    found: dict[str, Any] = {k: options[k] for k in _FLAGS if isinstance(options.get(k), bool)}
    if isinstance(options.get("base"), str):
        found["base"] = options["base"]
    locked = options.get("locked")
    if isinstance(locked, Mapping) and locked:
        try:
            found["locked"] = {str(k): float(v) for k, v in locked.items()}
        except (TypeError, ValueError):
            raise Error("what the recording says of its robot is damaged") from None
    return found
