"""``linkwright analyze require``: what a task asks of each joint of a robot."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwright.base.errors import Error, InputError
from linkwright.base.files import file_exists
from linkwright.cli.options import Force, Frame, Payload, RobotModel, Scene, Step, option, own
from linkwright.cli.payloads import heaviest
from linkwright.cli.results import CommandResult, TextTable
from linkwright.cli.terminal import echo
from linkwright.cli.window import following

if TYPE_CHECKING:
    from linkwright.sizing.requirements import Requirement, Worst

SCHEME = "exact, or robsim: Euler's steps, and dynamics of means over them."
MOTION = "Write ROBSIM's listing of the motion."
DYNAMICS = "Write ROBSIM's listing of forces and torques."
HISTORY = "Write the history of the joints, for replay (.parquet, .csv)."
DAMPING = "Of joint rates near singular poses, in the units of the Jacobian."
WORST = "Worst cases over payloads of the range in the box."
TASK = "A task (.toml). Default: the one that the model names."


def command(
    robot: RobotModel,
    task: Annotated[Path | None, typer.Argument(metavar="TASK", help=TASK)] = None,
    payload: Payload = "",
    worst: Annotated[bool, own(None, WORST, "--worst")] = False,
    box: Annotated[str, own("X,Y,Z", "Edges of the box of payloads, m.")] = "0,0,0",
    frame: Frame = "",
    step: Step = 1e-3,
    begin: Annotated[
        float | None, own("S", "First instant that counts, s. Default: all.", "--begin")
    ] = None,
    until: Annotated[float | None, option("--until", "Default: the task's end.")] = None,
    dynamics: Annotated[
        bool, own(None, "Torques and forces too.", "--dynamics/--no-dynamics")
    ] = True,
    recording: Annotated[
        Path | None,
        option("--recording"),
    ] = None,
    list_motion: Annotated[Path | None, own("FILE", MOTION)] = None,
    list_dynamics: Annotated[Path | None, own("FILE", DYNAMICS)] = None,
    list_every: Annotated[float | None, own("S", "Interval of listings, s. Default: all.")] = None,
    history: Annotated[Path | None, own("FILE", HISTORY)] = None,
    history_every: Annotated[
        float | None, own("S", "Interval of the history, s. Default: all.")
    ] = None,
    scheme: Annotated[str, own("NAME", SCHEME)] = "exact",
    damping: Annotated[float, own("D", DAMPING)] = 0.0,
    correct: Annotated[
        bool, own(None, "Feed the tool's error of pose back.", "--correct/--no-correct")
    ] = True,
    studio: Annotated[bool, option("--studio", "The robot moves while it is computed.")] = False,
    scene: Scene = "",
    out: Annotated[Path | None, option("--out", "A report (.html).")] = None,
    force: Force = False,
) -> CommandResult:
    """Find what a task asks of a robot: motion, torques, powers, and loads in the joints.

    Prints peaks, their times and RMS of each joint. The exit code is 1 if a limit is exceeded.

    \b
    Examples:
      linkwright analyze require puma560 pick.toml --payload 2 -o pick.html
      linkwright analyze require arm.toml
      linkwright analyze require puma560 pick.toml --begin 0.5 --until 1.5 --step 0.01
      linkwright analyze require ref6 line.toml --studio --scene bay.toml
      linkwright analyze require ref6 line.toml --scheme robsim --step 0.02 --list-motion wrout.txt
    """
    from linkwright.robots import Robot
    from linkwright.sizing import require

    carried, ranged = heaviest(payload)
    arm = Robot(robot)
    path = task or arm.mechanism.file_beside("task")
    if not path:
        raise InputError(f"{robot!r} names no task", remedy="give a task (.toml)", code="R115")
    files = {"listing of motion": list_motion, "listing of dynamics": list_dynamics}
    files["history"] = history
    files["report"] = out
    files["recording"] = recording
    for target in files.values():
        if target is not None and target.exists() and not force:
            raise file_exists(target)
    if list_dynamics is not None and not dynamics:
        raise InputError(
            "there are no forces to list: dynamics were left out",
            remedy="leave --no-dynamics out, or --list-dynamics",
            code="R215",
        )
    if scene and not studio:
        raise InputError("a scene is for the studio", remedy="give --studio too", code="R213")
    with ExitStack() as beside:
        say = partial(echo, err=True)
        shown = following(robot, arm, scene, say) if studio else None
        need = require(
            arm,
            path,
            payload=carried,
            frame=frame or None,
            step=step,
            dynamics=dynamics,
            damping=damping,
            correct=correct,
            scheme=scheme,
            begin=begin,
            until=until,
            watch=None if shown is None else beside.enter_context(shown),
        )
    cases = _worst(need, carried, box, ranged=ranged) if worst else None
    kept = need.history(history_every) if history is not None else None
    if list_motion is not None:
        need.list_motion(list_motion, list_every)
    if list_dynamics is not None:
        need.list_dynamics(list_dynamics, list_every)
    if history is not None and kept is not None:
        kept.save(history, replace=force)
    if recording is not None:
        need.save(recording)
    if out is not None:
        need.report(out, worst=cases)
    data: dict[str, Any] = {"task": need.task.name, "joints": need.rows()}
    if cases is not None:
        data["worst"] = cases.cases
    return CommandResult(
        data,
        _text(need, cases),
        files=files,
        next=f"analyze size {robot} {path}",
        code=1 if need.excesses else 0,
    )


def _worst(need: Requirement, most: float | None, box: str, *, ranged: bool) -> Worst:
    """Return the worst cases over payloads of up to a mass."""
    from linkwright.algebra.units import amount
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


def _text(need: Requirement, cases: Worst | None) -> Iterator[str | TextTable]:
    columns = ["joint", "speed", "rms", "acceleration"]
    if need.dynamics:
        columns += ["torque", "at s", "rms torque", "power", "energy J", "force N", "moment N*m"]
    rows = [_row(need, joint.name) for joint in need.joints]
    title = f"{need.task.name}: {need.task.duration:g} s, {len(need.times)} samples"
    yield TextTable(columns, rows, title, columns[1:])
    yield ""
    yield from need.notes
    yield from map(str, need.excesses)
    if not need.excesses:
        known = sum(math.isfinite(x) for of in need.limits.values() for x in of.values())
        yield f"all {known} limits are kept" if known else "the robot has no limits to check"
    if cases is not None:
        yield f"\n{cases}"


def _row(need: Requirement, joint: str) -> list[str]:
    speed, acceleration = (need.statistic(joint, what) for what in ("speed", "acceleration"))
    row = [
        joint,
        f"{speed.peak:.4g} {speed.unit}",
        f"{speed.rms:.4g} {speed.unit}",
        f"{acceleration.peak:.4g} {acceleration.unit}",
    ]
    if not need.dynamics:
        return row
    torque = need.statistic(joint, "torque")
    return [
        *row,
        f"{torque.peak:.4g} {torque.unit}",
        f"{torque.time:.4g}",
        f"{torque.rms:.4g} {torque.unit}",
        f"{need.statistic(joint, 'power').peak:.4g} W",
        f"{need[f'{joint}.energy'][-1]:.4g}",
        f"{need.statistic(joint, 'force').peak:.4g}",
        f"{need.statistic(joint, 'moment').peak:.4g}",
    ]
