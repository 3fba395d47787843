"""``linkwright analyze require``: what a task asks of each joint of a robot."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwright.base.errors import InputError
from linkwright.cli.robots import ROBOT
from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.sizing import Requirement, Worst


def command(
    robot: Annotated[str, typer.Argument(metavar="MODEL", help=ROBOT)],
    task: Annotated[
        Path | None, typer.Argument(help="A task (.toml). Default: the one that the model names.")
    ] = None,
    payload: Annotated[
        str,
        typer.Option(
            metavar="KG",
            help="Point mass in the tool's origin, such as 3 or '500 g'; 0..3 a range.",
        ),
    ] = "",
    worst: Annotated[
        bool, typer.Option("--worst", help="Worst cases over payloads of the range in the box.")
    ] = False,
    box: Annotated[
        str, typer.Option(metavar="X,Y,Z", help="Edges of the box of payloads, m.")
    ] = "0,0,0",
    frame: Annotated[
        str, typer.Option(metavar="NAME", help="Frame of the tool, instead of the task's.")
    ] = "",
    step: Annotated[
        float, typer.Option(metavar="SECONDS", help="Longest time between samples.")
    ] = 1e-3,
    dynamics: Annotated[
        bool, typer.Option("--dynamics/--no-dynamics", help="Torques and forces too.")
    ] = True,
    recording: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the recording too (.parquet, .csv)."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="Write a report (.html).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find what a task asks of a robot: motion, torques, powers, and loads in the joints.

    Prints peaks, their times and RMS of each joint. The exit code is 1 if a limit is exceeded.

    \b
    Examples:
      linkwright analyze require puma560 pick.toml --payload 2 -o pick.html
      linkwright analyze require arm.toml
    """
    from linkwright.cli.payloads import heaviest
    from linkwright.robots import Robot
    from linkwright.sizing import require

    carried, ranged = heaviest(payload)
    arm = Robot(robot)
    path = task or arm.mechanism.file_beside("task")
    if not path:
        raise InputError(f"{robot!r} names no task", remedy="give a task (.toml)", code="R115")
    need = require(arm, path, payload=carried, frame=frame or None, step=step, dynamics=dynamics)
    cases = _worst(need, carried, box, ranged=ranged) if worst else None
    if recording is not None:
        need.save(recording)
    if out is not None:
        need.report(out, worst=cases)
    if as_json:
        found: dict[str, Any] = {"task": need.task.name, "joints": need.table()}
        if cases is not None:
            found["worst"] = [asdict(case) for case in cases.cases]
        echo(json.dumps(found, indent=2))
    else:
        _print(need)
        if cases is not None:
            echo()
            echo(str(cases))
    if need.excesses:
        raise typer.Exit(1)


def _worst(need: Requirement, most: float | None, box: str, *, ranged: bool) -> Worst:
    """Return the worst cases over payloads of up to a mass."""
    from linkwright.algebra.units import amount
    from linkwright.base.errors import Error
    from linkwright.motion.payloads import Payload

    if most is None or not ranged:
        raise InputError(
            "worst cases need a range of payloads",
            remedy="give --payload 0..3 and perhaps --box 0.1,0.1,0.15",
            code="R702",
        )
    try:
        edges = [amount(x, "--box", "m") for x in box.split(",")]
    except Error as error:
        raise InputError(error.what, remedy="such as --box 0.1,0.1,0.15", code="R209") from None
    return need.worst(payload=Payload(up_to=most, box=edges))


def _print(need: Requirement) -> None:
    from linkwright.cli.tables import print_table

    columns = ["joint", "speed", "rms", "acceleration"]
    if need.dynamics:
        columns += ["torque", "at s", "rms torque", "power", "energy J", "force N", "moment N*m"]
    rows = []
    for joint in need.joints:
        speed = need.statistic(joint.name, "speed")
        acceleration = need.statistic(joint.name, "acceleration")
        row = [
            joint.name,
            f"{speed.peak:.4g} {speed.unit}",
            f"{speed.rms:.4g} {speed.unit}",
            f"{acceleration.peak:.4g} {acceleration.unit}",
        ]
        if need.dynamics:
            torque = need.statistic(joint.name, "torque")
            row += [
                f"{torque.peak:.4g} {torque.unit}",
                f"{torque.time:.4g}",
                f"{torque.rms:.4g} {torque.unit}",
                f"{need.statistic(joint.name, 'power').peak:.4g} W",
                f"{need[f'{joint.name}.energy'][-1]:.4g}",
                f"{need.statistic(joint.name, 'force').peak:.4g}",
                f"{need.statistic(joint.name, 'moment').peak:.4g}",
            ]
        rows.append(row)
    title = f"{need.task.name}: {need.task.duration:g} s, {len(need.times)} samples"
    print_table(columns, rows, title=title, numbers=columns[1:])
    echo()
    for note in need.notes:
        echo(note)
    for excess in need.excesses:
        echo(str(excess))
    if not need.excesses:
        known = sum(math.isfinite(x) for of in need.limits.values() for x in of.values())
        echo(f"all {known} limits are kept" if known else "the robot has no limits to check")
