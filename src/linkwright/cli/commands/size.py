"""``linkwright analyze size``: which motors, gears and bearings a task needs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwright.base.errors import InputError
from linkwright.cli.options import Force, Frame, Payload, RobotModel, Step, option, own
from linkwright.cli.payloads import heaviest
from linkwright.cli.results import CommandResult, TextTable

if TYPE_CHECKING:
    from linkwright.sizing.choice import Sizing


def command(
    robot: RobotModel,
    task: Annotated[Path, typer.Argument(metavar="TASK", help="A task (.toml).")],
    catalog: Annotated[
        list[str] | None, own("FILE", "A catalog (.toml), or generic (repeatable: one of all).")
    ] = None,
    payload: Payload = "",
    life: Annotated[float, own("HOURS", "That gears and bearings reach, h.")] = 20_000.0,
    ambient: Annotated[float, own("DEGREES", "Temperature around, °C.")] = 40.0,
    supply: Annotated[str, own("NAME", "Supply in the catalog.")] = "",
    order: Annotated[str, own("BY", "Rank by mass, price, energy or margin.")] = "mass",
    why: Annotated[str, own("MOTOR:JOINT", "Print every verdict on one motor.")] = "",
    pareto: Annotated[
        bool, own(None, "Print sets that are best in something.", "--pareto")
    ] = False,
    out: Annotated[Path | None, option("--out", "The chosen drives (.toml).")] = None,
    report: Annotated[Path | None, own("FILE", "Write a report of all of it (.html).")] = None,
    system: Annotated[
        Path | None, own("FILE", "Write the robot with its drives and the task as a model (.toml).")
    ] = None,
    frame: Frame = "",
    step: Step = 1e-3,
    force: Force = False,
    quiet: bool = False,
) -> CommandResult:
    """Choose motors, gears, brakes and bearings for a task, from the tip inward.

    Prints the lightest drive of each joint with its margin. The exit code is 1 if the supply is too
    weak for all of them together.

    \b
    Examples:
      linkwright analyze size puma560 pick.toml -o drives.toml --report drives.html
      linkwright analyze size puma560 pick.toml --system driven.toml
    """
    from linkwright.cli.terminal import echo
    from linkwright.robots import Robot
    from linkwright.sizing import require, size
    from linkwright.sizing.choice import UnsizedError

    if why and not why.partition(":")[2]:
        raise InputError(
            f"--why {why!r} names no joint",
            remedy=f"give motor and joint: --why {why.rstrip(':')}:JOINT",
            code="R305",
        )
    carried, _ = heaviest(payload)
    need = require(Robot(robot), task, payload=carried, frame=frame or None, step=step)
    try:
        found = size(
            need,
            catalog or "generic",
            life=life,
            ambient=ambient,
            supply=supply or None,
            order=order,
        )
    except UnsizedError as error:
        if not quiet:
            for line in (*([error.sized] if error.sized.chosen else ()), *_why(error.sized, why)):
                echo(str(line))
        raise
    if out is not None:
        from linkwright.base.files import write_text
        from linkwright.formats.catalog.writer import catalog_text

        write_text(out, catalog_text(found.as_catalog(out.stem)), replace=force)
    if system is not None:
        from linkwright.base.files import write_text
        from linkwright.formats.text.files import write_model

        write_text(system, write_model(found.system()), replace=force)
    if report is not None:
        need.report(report, found)
    return CommandResult(
        found.as_dict(pareto=pareto),
        _text(found, need.notes, why, pareto),
        files={"drives": out, "report": report, "system": system},
        next=f"simulate {system}" if system is not None else "",
        code=1 if found.bus.margin < 0.0 else 0,
    )


def _text(
    found: Sizing, notes: tuple[str, ...], why: str, pareto: bool
) -> Iterator[str | TextTable]:
    yield str(found)
    yield from notes
    yield f"{found.supply}: {found.bus}" if found.supply else str(found.bus)
    yield from _why(found, why)
    if pareto:
        rows = [
            [
                f"{s.margin:+.0%}",
                f"{s.mass:.3g} kg",
                f"{s.energy:.4g} J",
                f"{s.price:g}",
                ", ".join(f"{c.motor}/{c.gear}" for c in s.choices.values()),
            ]
            for s in found.pareto
        ]
        yield TextTable(["margin", "mass", "energy", "price", "drives"], rows)
        if not found.front.proven:
            yield "found, not proven: there are too many sets to rule out all others"


def _why(found: Sizing, why: str) -> Iterator[str]:
    """Yield why a motor does or does not suit a joint, where that is asked."""
    motor, _, joint = why.partition(":")
    if joint:
        yield str(found.why(motor, joint))
