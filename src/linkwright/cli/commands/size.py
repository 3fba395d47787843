"""``linkwright analyze size``: which motors, gears and bearings a task needs."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwright.base.errors import InputError
from linkwright.cli.robots import ROBOT
from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.sizing import Sizing


def command(
    robot: Annotated[str, typer.Argument(metavar="MODEL", help=ROBOT)],
    task: Annotated[Path, typer.Argument(help="A task (.toml).")],
    catalog: Annotated[
        str, typer.Option(metavar="FILE", help="A catalog (.toml), or generic.")
    ] = "generic",
    payload: Annotated[
        str,
        typer.Option(
            metavar="KG",
            help="Point mass in the tool's origin, such as 3 or '500 g'; of 0..3 the heaviest.",
        ),
    ] = "",
    life: Annotated[
        float, typer.Option(metavar="HOURS", help="That gears and bearings reach, h.")
    ] = 20_000.0,
    ambient: Annotated[
        float, typer.Option(metavar="DEGREES", help="Temperature around, °C.")
    ] = 40.0,
    supply: Annotated[str, typer.Option(metavar="NAME", help="Supply in the catalog.")] = "",
    order: Annotated[
        str, typer.Option(metavar="BY", help="Rank by mass, price, energy or margin.")
    ] = "mass",
    why: Annotated[
        str, typer.Option(metavar="MOTOR:JOINT", help="Print every verdict on one motor.")
    ] = "",
    pareto: Annotated[
        bool, typer.Option("--pareto", help="Print sets that are best in something.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="Write the chosen drives (.toml)."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a report of all of it (.html).")
    ] = None,
    frame: Annotated[
        str, typer.Option(metavar="NAME", help="Frame of the tool, instead of the task's.")
    ] = "",
    step: Annotated[
        float, typer.Option(metavar="S", help="Longest time between samples, s.")
    ] = 1e-3,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE if it exists.")] = False,
) -> None:
    """Choose motors, gears, brakes and bearings for a task, from the tip inward.

    Prints the lightest drive of each joint with its margin. The exit code is 1 if the supply is too
    weak for all of them together.

    \b
    Examples:
      linkwright analyze size puma560 pick.toml -o drives.toml --report drives.html
    """
    from linkwright.cli.payloads import heaviest
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
        found = size(need, catalog, life=life, ambient=ambient, supply=supply or None, order=order)
    except UnsizedError as error:
        if not as_json:
            if error.sized.chosen:
                echo(str(error.sized))
            _why(error.sized, why)
        raise
    if output is not None:
        _write(found, output, force)
    if report is not None:
        need.report(report, found)
    if as_json:
        echo(json.dumps(_plain(found, pareto), indent=2))
    else:
        echo(str(found))
        for note in need.notes:
            echo(note)
        echo(f"{found.supply}: {found.bus}" if found.supply else str(found.bus))
        _why(found, why)
        if pareto:
            _print_front(found)
    if found.bus.margin < 0.0:
        raise typer.Exit(1)


def _why(found: Sizing, why: str) -> None:
    """Print why a motor does or does not suit a joint, where that is asked."""
    motor, _, joint = why.partition(":")
    if joint:
        echo(str(found.why(motor, joint)))


def _write(found: Sizing, output: Path, force: bool) -> None:
    from linkwright.base.files import write_text
    from linkwright.formats.catalog.writer import catalog_text

    write_text(output, catalog_text(found.as_catalog(output.stem)), replace=force)


def _plain(found: Sizing, pareto: bool) -> dict[str, object]:
    info: dict[str, object] = {
        "supply": found.supply,
        "joints": {name: asdict(choice) for name, choice in found.chosen.items()},
        "bus": {
            "energy": found.bus.energy,
            "regenerated": found.bus.regenerated,
            "burned": found.bus.burned,
            "capacitance": found.bus.capacitance,
            "verdicts": [asdict(v) for v in found.bus.verdicts],
        },
    }
    if pareto:
        info["pareto"] = [asdict(s) for s in found.pareto]
    return info


def _print_front(found: Sizing) -> None:
    from linkwright.cli.tables import print_table

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
    print_table(["margin", "mass", "energy", "price", "drives"], rows)
    if not found.front.proven:
        echo("found, not proven: there are too many sets to rule out all others")
