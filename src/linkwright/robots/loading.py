"""Robots from files."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from linkwright.robots.robot import Robot


def load(
    path: str | Path,
    *,
    base: str = "file",
    roots: Sequence[str | Path] = (),
    friction: bool | None = None,
    mimic: bool = True,
    locked: Mapping[str, float] | None = None,
    symbolic: bool = False,
) -> Robot:
    """Return the robot of a file: URDF, MJCF, a Denavit-Hartenberg table, SL, or a text model.

    Args:
        path: of the file.
        base: "file" for a root link that stands on the ground and joints as they are, "free" for a
            root link that moves freely, "fixed" to hold a root that is free in the file.
        roots: folders in which meshes may lie.
        friction: whether joints have the damping, dry friction and springs that the file gives. By
            default they do, except in URDF, where it is the custom to leave them out of dynamics.
        mimic: whether joints follow others where the file says so.
        locked: coordinates at which joints are held, by name, rad or m.
        symbolic: keep masses, mass centres and inertias as inputs, for identification and sweeps.

    >>> robot = load("tests/robots/arm.urdf")  # doctest: +SKIP
    >>> robot.inverse_dynamics(q, u, a)  # doctest: +SKIP
    """
    from linkwright.formats.robot_files import read_description, robot_format

    started = time.perf_counter()
    kind = robot_format(path)
    if kind in (None, "text"):
        from linkwright.models import load_model

        return Robot(
            load_model(str(path)),
            base=base,
            friction=friction is not False,
            mimic=mimic,
            locked=locked,
            symbolic=symbolic,
        )
    description = read_description(path, roots=roots)
    keeps = kind != "urdf" if friction is None else friction
    made = Robot(
        description, base=base, friction=keeps, mimic=mimic, locked=locked, symbolic=symbolic
    )
    made.timings["read"] = time.perf_counter() - started
    return made
