"""``linkwright tools info``: what a report should say about the machine, or what a robot is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from linkwright.cli.options import AnyRobot, MeshDirs
from linkwright.cli.results import CommandResult, TextTable, labeled
from linkwright.cli.robots import open_robot

if TYPE_CHECKING:
    from linkwright.formats.robot.description import Description


def command(
    file: AnyRobot = None,
    root: MeshDirs = None,
) -> CommandResult:
    """Show versions and processor, or a summary of a robot.

    \b
    Examples:
      linkwright tools info
      linkwright tools info robot.urdf
    """
    if file is None:
        from linkwright.cli.machine import describe

        machine = describe()
        return CommandResult(machine, labeled(machine.lines(), 10))
    robot, form = open_robot(file, root or [])
    notes = [f"not read: {entry.words}" for entry in robot.ignored]
    notes += [f"note: {note}" for note in robot.notes]
    return CommandResult(
        replace(robot, content=None, display="mks"),
        _robot(robot, form),
        notes,
        next=f"model check {file}",
    )


def _robot(robot: Description, form: str) -> Iterator[str | TextTable]:
    """Yield what a robot file holds: a summary, and its joints."""
    from linkwright.formats.robot.summary import summary, worded
    from linkwright.mechanism.joint_kinds import JOINTS

    yield from labeled(summary(robot, form), 10)
    yield ""
    rows = []
    for joint in robot.joints:
        limits = joint.limits
        place, speed, effort = JOINTS[joint.kind].units
        ends = [worded(x, place, robot) for x in (limits.lower, limits.upper)]
        ends += [worded(limits.speed, speed, robot), worded(limits.effort, effort, robot)]
        has_axis = JOINTS[joint.kind].has_axis
        axis = " ".join(f"{x:.4g}" for x in joint.axis) if has_axis else ""
        rows.append((joint.name, joint.kind, joint.parent, joint.child, axis, *ends))
    columns = ("joint", "kind", "parent", "child", "axis", "lower", "upper", "speed", "effort")
    yield TextTable(columns, rows, "joints", columns[5:])
