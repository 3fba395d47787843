"""The door by which everything is opened: models, robots and recordings, by file or by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.base.files import path_of


@worded
def load(
    source: str | os.PathLike[str],
    *,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    trust: bool = False,
    base: str = "file",
    roots: Sequence[str | os.PathLike[str]] = (),
    friction: bool = True,
    mimic: bool = True,
    limits: bool = True,
    locked: Mapping[str, float] | None = None,
    symbolic: bool = False,
) -> Any:
    """Open a model, a robot or a recording, by its file or its name.

    The name of a shipped model (with options: "n-four-bar:n=40") and a text model give a
    `Mechanism`, a `Robot` where it names actuators and a platform, or a `System` where the file has
    members. A robot file (URDF, MJCF, SL, a Denavit-Hartenberg table) gives a `Robot`; a file of
    samples (.parquet, .csv, .npz, .mcap, .mat, .erd) a `Recording`.

    Args:
        source: the name, or the path of the file.
        functions: of a text model, Python callables for its `[[function]]` tables.
        trust: of a text model, whether C code and Python functions in it may be run.
        base: this and all that follows is for robot files, as for `Robot`.
        roots: folders in which meshes may lie.
        friction: whether joints have the friction that the file gives.
        mimic: whether joints follow others where the file says so.
        limits: whether runs stop joints at the limits that the file gives.
        locked: coordinates at which joints are held, by name, rad or m.
        symbolic: keep masses, mass centers and inertias as inputs.

    >>> load("pendulum")
    Mechanism('pendulum': 1 body, 1 coordinate, 3 parameters)
    >>> load("tests/robots/gripper.urdf", base="free")
    Robot('gripper': 10 coordinates, 9 speeds, 9 frames)
    """
    from linkwright.formats.robot.files import robot_format

    path = path_of(source, "what is loaded")
    options: dict[str, Any] = {"base": base, "friction": friction, "mimic": mimic}
    options |= {"limits": limits, "locked": locked, "symbolic": symbolic}
    if robot_format(source) not in (None, "text"):
        from linkwright.robots import Robot

        return Robot(source, roots=roots, **options)
    from linkwright.recording.files import is_recording, read_recording

    kind = "a recording" if is_recording(path) else "a mechanism"
    _refuse_options(source, kind, options)
    if is_recording(path):
        return read_recording(source)
    if functions is not None:
        from linkwright.formats.text.files import read_any

        return _driven(read_any(source, functions=functions, trust=trust))
    from linkwright.models import opened

    return _driven(opened(source, trust=trust))


def _driven(found: Any) -> Any:
    """Return a mechanism that names actuators and a platform as the robot that it is."""
    from linkwright.mechanism import Mechanism

    if isinstance(found, Mechanism) and found.actuators and found.platform is not None:
        from linkwright.robots import Robot

        return Robot(found)
    return found


def _refuse_options(source: str | os.PathLike[str], kind: str, options: Mapping[str, Any]) -> None:
    usual = {"base": "file", "friction": True, "mimic": True, "limits": True, "locked": None}
    given = [n for n, value in options.items() if value != usual.get(n, False)]
    if given:
        raise InputError(
            f"{os.fspath(source)!r} is {kind}, and {', '.join(given)} are for robot files",
            remedy=f"open it as a robot: Robot({os.fspath(source)!r}, {given[0]}=...)",
        )
