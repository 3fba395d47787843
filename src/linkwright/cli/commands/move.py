"""``linkwright mount move``: a mount from waypoint to waypoint, on stepping motors."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Annotated

import typer

from linkwright.base.errors import InputError
from linkwright.cli.options import own
from linkwright.cli.results import CommandResult

_DEVICE = "Where the indexer is: simulated, or the path of a serial port."


def command(
    mount: Annotated[str, typer.Argument(metavar="MOUNT", help="A mount with rotary drives.")],
    path: Annotated[Path, typer.Argument(metavar="PATH.toml", help="A line, circle or orbit.")],
    device: Annotated[str, own("DEVICE", _DEVICE)] = "simulated",
) -> CommandResult:
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
        warnings.simplefilter("ignore", MoveWarning)  # they are printed together
        plan = plan_moves(task.path, aim, axes, task.speed)
    notes = []
    if plan.stretched:
        first = ", ".join(map(str, plan.stretched[:5]))
        more = f" and {len(plan.stretched) - 5} more" if len(plan.stretched) > 5 else ""
        notes = [f"too fast, and stretched: moves to waypoints {first}{more}"]
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
    degrees = [math.degrees(a.angle_at(n)) for a, n in zip(plan.axes, steps, strict=True)]
    data: dict[str, object] = {
        "waypoints": len(plan.steps),
        "duration_s": plan.duration,
        "stretched": list(plan.stretched),
        "steps": list(steps),
        "angles_deg": degrees,
        "pauses": driver.pauses,
    }
    lines = [f"{mount}: {len(plan.steps)} waypoints in {plan.duration:.1f} s"]
    lines += [
        f"  {name} stands at {angle:.3f}°, {count} steps from home"
        for name, angle, count in zip(aim.actuators, degrees, steps, strict=True)
    ]
    if simulated is not None:
        fullest = max(unit.fullest for unit in simulated.units)
        data |= {
            "device_s": simulated.now,
            "buffer_max_bytes": fullest,
            "overflows": sum(unit.overflows for unit in simulated.units),
        }
        waits = f"the host waited {driver.pauses} times"
        lines.append(f"  buffer: {fullest} bytes at most, {waits}")
    return CommandResult(data, lines, notes)
