"""Robots that stand on a ground."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from linkwright.robots.robot import Robot

if TYPE_CHECKING:
    from linkwright.system import System


def on_ground(
    robot: Robot,
    height: float | None = None,
    *,
    start: Mapping[str, float] | None = None,
    roots: Sequence[str | Path] = (),
) -> System:
    """Return a System of a robot from a file, whose shapes for contact touch a level ground.

    It has the same contact elements as the studio's live runs, named "ground", "ground2" and so on,
    to which controllers and other members can be added. Their outputs are named by links:
    `normal_left_foot`, or `normal_box_1` and so on where one has several points. Balls stand on
    their lowest points, but friction acts at their centers: they do not roll. A free base that
    would start in the ground is lifted onto it, and touches it by a nanometer.

    >>> from linkwright.robots import Robot
    >>> system = on_ground(Robot("tests/robots/quadruped.urdf"))
    >>> list(system.members), system.members["ground"].block.outputs["normal_trunk_1"].unit
    (['ground', 'ground2'], 'N')
    """
    from linkwright.formats.robot.ground import grounded
    from linkwright.system import System

    found = grounded(robot, height, roots=roots)
    system = System(robot)
    found.add_to(system)
    given = dict(start or {})
    system.set_initial({**found.lifted(given), **given})
    return system
