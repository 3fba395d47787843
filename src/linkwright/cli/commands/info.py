"""``linkwright tools info``: what a report should say about the machine, or what a robot is."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer

from linkwright.cli.robots import ROBOT, open_robot
from linkwright.cli.terminal import echo


def command(
    file: Annotated[str | None, typer.Argument(metavar="ROBOT", help=ROBOT)] = None,
    root: Annotated[
        list[Path] | None,
        typer.Option("--mesh-dir", metavar="DIR", help="A folder with meshes (repeatable)."),
    ] = None,
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Show versions and processor, or a summary of a robot.

    \b
    Examples:
      linkwright tools info
      linkwright tools info robot.urdf
    """
    if file is not None:
        _robot(file, root or [], as_json)
        return
    from linkwright.cli.machine import describe

    machine = describe()
    if as_json:
        echo(json.dumps(dataclasses.asdict(machine), indent=2))
        return
    for label, value in machine.lines():
        echo(f"{label:<10} {value}")


def _robot(file: str, roots: list[Path], as_json: bool) -> None:
    """Print what a robot file holds: a summary, its joints, and what of it was not read."""
    from linkwright.cli.tables import print_table
    from linkwright.formats.robot.summary import summary, worded
    from linkwright.mechanism.joint_kinds import JOINTS

    robot, form = open_robot(file, roots)
    if as_json:
        echo(
            json.dumps(
                dataclasses.asdict(dataclasses.replace(robot, content=None, display="mks")),
                indent=2,
            )
        )
        return
    for label, value in summary(robot, form):
        echo(f"{label:<10} {value}")
    echo()
    rows = []
    for joint in robot.joints:
        limits = joint.limits
        place, speed, effort = JOINTS[joint.kind].units
        ends = [worded(x, place, robot) for x in (limits.lower, limits.upper)]
        ends += [worded(limits.speed, speed, robot), worded(limits.effort, effort, robot)]
        axis = _listed(joint.axis) if JOINTS[joint.kind].has_axis else ""
        rows.append((joint.name, joint.kind, joint.parent, joint.child, axis, *ends))
    columns = ("joint", "kind", "parent", "child", "axis", "lower", "upper", "speed", "effort")
    print_table(columns, rows, title="joints", numbers=columns[5:])
    for entry in robot.ignored:
        echo(f"not read: {entry.words}", err=True)
    for note in robot.notes:
        echo(f"note: {note}", err=True)


def _listed(values: tuple[float, float, float]) -> str:
    return " ".join(f"{value:.4g}" for value in values)
