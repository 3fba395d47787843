"""``linkwright mount move``: a mount from waypoint to waypoint, on stepping motors."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwright.algebra.units import amount
from linkwright.base.errors import InputError
from linkwright.cli.options import option, own
from linkwright.cli.results import CommandResult, TextTable

if TYPE_CHECKING:
    from linkwright.mounts.buffers import RubberBuffer

_DEVICE = "simulated, or the path of a serial port."
_FAILURES = "Also what comes of failures as this drive moves: overrun, load on the buffer and gear."
_BUFFER = "The rubber buffer: stiffness, depth at which it is twice as stiff, lever of the arm."


def command(
    mount: Annotated[str, typer.Argument(metavar="MOUNT", help="A mount with rotary drives.")],
    path: Annotated[Path, typer.Argument(metavar="PATH.toml", help="A line, circle or orbit.")],
    device: Annotated[str, option("--device", _DEVICE)] = "simulated",
    failures: Annotated[str, own("AXIS", _FAILURES)] = "",
    buffer: Annotated[str, own("K,DEPTH,LEVER", _BUFFER)] = "",
) -> CommandResult:
    """Plan the moves of a mount along waypoints, and make them.

    All axes of a move have one acceleration and end together; a move that is asked for too fast
    is stretched, with a warning. A simulated indexer takes what a real one would, byte by byte at
    9600 baud, in virtual time.

    \b
    Examples:
      linkwright mount move mount-2-rotary orbit.toml --device simulated
      linkwright mount move mount-3-rotary orbit.toml --device /dev/ttyUSB0
      linkwright mount move mount-2-rotary o.toml --failures arm1 --buffer '200 kN/m,2 cm,25 cm'
    """
    from linkwright.heritage.indexer import Indexer
    from linkwright.heritage.indexer_driver import IndexerDriver, SerialLine, SimulatedLine
    from linkwright.mechanism import mechanism_of
    from linkwright.mounts.aiming import Aiming
    from linkwright.mounts.buffers import GEAR_MOST, drive_failures
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
    rubber = _rubber(buffer, failures)
    aim = Aiming(mount)
    if failures and failures not in aim.actuators:
        known = ", ".join(aim.actuators)
        raise InputError(f"{mount!r} has no drive {failures!r}", remedy=f"there are {known}")
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
    if rubber is not None:
        k = aim.actuators.index(failures)
        speed = max(move.speeds[k] for move in plan.moves) * math.tau / plan.axes[k].gear
        found = drive_failures(m, failures, speed, buffer=rubber)
        data["failures"] = [
            {"name": f.name, "overrun_deg": math.degrees(f.overrun), "depth_m": f.depth,
             "speed_deg_s": math.degrees(f.speed), "force_n": f.force, "gear_nm": f.gear}
            for f in found
        ]  # fmt: skip
        head = ("failure", "overrun deg", "at the buffer deg/s", "depth mm", "force N", "gear N*m")
        rows = [
            (f.name, f"{math.degrees(f.overrun):.4g}", f"{math.degrees(f.speed):.4g}",
             f"{1e3 * f.depth:.3g}", f"{f.force:.4g}",
             f"{f.gear:.4g}{' (too much)' if f.gear > GEAR_MOST else ''}")
            for f in found
        ]  # fmt: skip
        title = f"{failures} at {math.degrees(speed):.4g} deg/s, farthest out on the horizon"
        return CommandResult(data, [*lines, TextTable(head, rows, title, head[1:])], notes)
    return CommandResult(data, lines, notes)


def _rubber(text: str, failures: str) -> RubberBuffer | None:
    """Return the buffer, where failures are asked for."""
    from linkwright.mounts.buffers import RubberBuffer

    if text and not failures:
        raise InputError("--buffer is that of --failures", remedy="name a drive: --failures arm1")
    if not failures:
        return None
    if not text:
        return RubberBuffer()
    parts = text.split(",")
    if len(parts) != 3:
        raise InputError(
            f"--buffer {text!r} is not STIFFNESS,DEPTH,LEVER", remedy="as in '200 kN/m,20 mm,25 cm'"
        )
    k, depth, lever = (
        amount(p.strip(), "--buffer", u) for p, u in zip(parts, ("N/m", "m", "m"), strict=True)
    )
    return RubberBuffer(k, depth, lever=lever)
