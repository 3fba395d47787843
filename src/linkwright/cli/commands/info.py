"""``linkwright info``: what a report should say about the machine, or what a robot file holds."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer


def command(
    file: Annotated[
        Path | None, typer.Argument(help="A robot file to describe instead of the machine.")
    ] = None,
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of a table."),
) -> None:
    """Show the versions and the processor that results here come from, or what a robot file is."""
    if file is not None:
        _robot(file, as_json)
        return
    from linkwright.cli.machine import describe

    machine = describe()
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(machine), indent=2))
        return
    for label, value in machine.lines():
        typer.echo(f"{label:<10} {value}")


def _robot(file: Path, as_json: bool) -> None:
    """Print what a robot file holds: a summary, its links and its joints."""
    from linkwright.cli.tables import print_table
    from linkwright.formats.robot_files import read_description, robot_format
    from linkwright.formats.robot_summary import summary

    robot = read_description(file)
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(robot), indent=2))
        return
    for label, value in summary(robot, robot_format(file) or ""):
        typer.echo(f"{label:<10} {value}")
    typer.echo()
    rows = []
    for joint in robot.joints:
        limits = joint.limits
        ends = [_shown(x) for x in (limits.lower, limits.upper, limits.speed, limits.effort)]
        axis = "" if joint.kind in ("fixed", "ball", "free") else _listed(joint.axis)
        rows.append((joint.name, joint.kind, joint.parent, joint.child, axis, *ends))
    columns = ("joint", "kind", "parent", "child", "axis", "lower", "upper", "speed", "effort")
    print_table(columns, rows, title="joints", numbers=columns[5:])


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _listed(values: tuple[float, float, float]) -> str:
    return " ".join(f"{value:.4g}" for value in values)
