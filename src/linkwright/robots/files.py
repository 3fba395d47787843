"""Robots from files."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from linkwright.border import worded
from linkwright.files import path_of
from linkwright.robots.robot import Robot

if TYPE_CHECKING:
    from linkwright.mechanism import Mechanism


@worded
def load(
    path: str | Path,
    *,
    base: str = "file",
    roots: Sequence[str | Path] = (),
    friction: bool | None = None,
    mimic: bool = True,
    limits: bool = True,
    locked: Mapping[str, float] | None = None,
    symbolic: bool = False,
) -> Robot:
    """Return the robot of a file: URDF, MJCF, a Denavit-Hartenberg table, SL, or a text model.

    Args:
        path: of the file, or the name of a shipped model, as "puma560".
        base: "file" for a root link that stands on the ground and joints as they are, "free" for a
            root link that moves freely, "fixed" to hold a root that is free in the file.
        roots: folders in which meshes may lie.
        friction: whether joints have the damping, dry friction and springs that the file gives. By
            default they do, except in URDF, where it is the custom to leave them out of dynamics.
        mimic: whether joints follow others where the file says so.
        limits: whether runs stop joints at the limits that the file gives, as MuJoCo and Drake do;
            what a robot computes of itself (dynamics, Jacobians) knows of no limits.
        locked: coordinates at which joints are held, by name, rad or m.
        symbolic: keep masses, mass centers and inertias as inputs, for identification and sweeps.

    >>> puma = load("puma560")
    >>> puma
    Robot('puma560': 6 coordinates, 6 speeds, 8 frames)
    >>> q, u, a = [0, 0.8, 3.1, 0, 0.8, 0], [0] * 6, [1] * 6
    >>> puma.inverse_dynamics(q, u, a).round(2)
    array([ 3.3 , 35.38,  7.24,  0.19,  0.2 ,  0.19])
    """
    from linkwright.formats.robot.files import read_description, robot_format

    started = time.perf_counter()
    path = path_of(path, "a robot")
    kind = robot_format(path)
    if kind in (None, "text"):
        from linkwright.models import load_model

        return Robot(
            load_model(str(path)),
            base=base,
            friction=friction is not False,
            mimic=mimic,
            limits=limits,
            locked=locked,
            symbolic=symbolic,
        )
    description = read_description(path, roots=roots)
    keeps = kind != "urdf" if friction is None else friction
    made = Robot(
        description,
        base=base,
        friction=keeps,
        mimic=mimic,
        limits=limits,
        locked=locked,
        symbolic=symbolic,
    )
    made.timings["read"] = time.perf_counter() - started
    return made


def robot_of(source: Robot | Mechanism) -> Robot:
    """Return the robot that a mechanism is: of the description it was assembled from, if of any.

    >>> puma = load("puma560")
    >>> robot_of(puma) is puma, robot_of(puma.mechanism).coordinates == puma.coordinates
    (True, True)
    """
    from linkwright.mechanism.structure import structure_of

    if isinstance(source, Robot):
        return source
    known = source.provenance
    if known is None or known.robot is None:
        return Robot(source)
    description, assembled = known.robot
    made = Robot(description, **known.options)
    made.__dict__["assembled"] = replace(assembled, mechanism=source)
    source.when_changed(made.forget)
    if known.structure != structure_of(source):  # the disk cache knows it as it was
        made.__dict__["_digest"] = ""
    return made
