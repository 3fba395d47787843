"""``linkwright mount move``: a mount from waypoint to waypoint, on stepping motors."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwright.base.errors import InputError
from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.heritage import Indexer
    from linkwright.mounts import MovePlan

_DEVICE = "Where the indexer is: simulated, or the path of a serial port."


def command(
    mount: Annotated[str, typer.Argument(metavar="MOUNT", help="A mount with rotary drives.")],
    path: Annotated[Path, typer.Argument(metavar="PATH.toml", help="A line, circle or orbit.")],
    device: Annotated[str, typer.Option(metavar="DEVICE", help=_DEVICE)] = "simulated",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Plan the moves of a mount along waypoints, and make them.

    All axes of a move have one acceleration and end together; a move that is asked for too fast
    is stretched, with a warning. A simulated indexer takes what a real one would, byte by byte at
    9600 baud, in virtual time.

    \b
    Examples:
      linkwright mount move mount-2-rotary orbit.toml --device simulated
      linkwright mount move mount-3-rotary orbit.toml --device /dev/ttyUSB0
    """
    from linkwright.heritage.indexer import Indexer
    from linkwright.heritage.indexer_driver import IndexerDriver, SerialLine, SimulatedLine
    from linkwright.mechanism import mechanism_of
    from linkwright.mounts.aiming import Aiming
    from linkwright.mounts.move_files import read_move
    from linkwright.mounts.moves import MoveWarning, plan_moves
    from linkwright.mounts.steppers import HOME_STEPS, StepperAxis, StepperMotor

    task, m = read_move(path), mechanism_of(mount)
    turning = {q for body in m.bodies.values() for q in body.rotations}
    sliding = [q.name for q in m.actuators if q not in turning]
    if sliding:
        raise InputError(
            f"{', '.join(sliding)} of {mount!r} slide, and the motors of move turn",
            remedy="take a mount with rotary drives, such as mount-2-rotary",
        )
    aim = Aiming(mount)
    axes = [StepperAxis(home) for home in HOME_STEPS[: len(aim.actuators)]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MoveWarning)  # they are told together
        plan = plan_moves(task.path, aim, axes, task.speed)
    if plan.stretched:
        first = ", ".join(map(str, plan.stretched[:5]))
        more = f" and {len(plan.stretched) - 5} more" if len(plan.stretched) > 5 else ""
        echo(f"too fast, and stretched: moves to waypoints {first}{more}", err=True)
    simulated = Indexer([StepperMotor() for _ in axes]) if device == "simulated" else None
    line = SerialLine(device) if simulated is None else SimulatedLine(simulated)
    driver = IndexerDriver(line, len(axes))
    try:
        driver.home()
        driver.run(plan)
    except KeyboardInterrupt:
        driver.stop()
        raise
    steps = driver.positions()
    told = _told(plan, steps, driver.pauses, simulated)
    if as_json:
        echo(json.dumps(told))
        return
    echo(f"{mount}: {told['waypoints']} waypoints in {plan.duration:.1f} s")
    for name, degrees, count in zip(aim.actuators, _degrees(plan, steps), steps, strict=True):
        echo(f"  {name} stands at {degrees:.3f}°, {count} steps from home")
    if simulated is not None:
        echo(f"  buffer: {told['fullest']} bytes at most, the host waited {driver.pauses} times")


def _degrees(plan: MovePlan, steps: tuple[int, ...]) -> list[float]:
    return [math.degrees(a.angle_at(s)) for a, s in zip(plan.axes, steps, strict=True)]


def _told(
    plan: MovePlan, steps: tuple[int, ...], pauses: int, device: Indexer | None
) -> dict[str, object]:
    """Return what has happened, as plain data."""
    told: dict[str, object] = {
        "waypoints": len(plan.steps),
        "duration": plan.duration,
        "stretched": list(plan.stretched),
        "steps": list(steps),
        "degrees": _degrees(plan, steps),
        "pauses": pauses,
    }
    if device is not None:
        told |= {
            "seconds": device.now,
            "fullest": max(unit.fullest for unit in device.units),
            "overflows": sum(unit.overflows for unit in device.units),
        }
    return told
