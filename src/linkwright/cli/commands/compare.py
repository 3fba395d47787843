"""``linkwright mount compare``: what mounts hold around the horizon, and which is best."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwright.base.errors import InputError
from linkwright.cli.commands.deck import refuse_existing
from linkwright.cli.options import Force, option, own
from linkwright.cli.results import CommandResult, TextTable

if TYPE_CHECKING:
    from linkwright.mounts.comparison_page import MountComparison
    from linkwright.mounts.sweeps import HorizonSweep
    from linkwright.robots import Robot

HEAD = ("mount", "weights", "azimuth deg", "actuator", "effort", "unit")
NAMES = "Shipped mounts, or files of some. Default: the five of the thesis."


def command(
    mounts: Annotated[list[str] | None, typer.Argument(metavar="MOUNT", help=NAMES)] = None,
    elevation: Annotated[float, own("DEG", "Of the dish on its way around, deg.")] = 0.0,
    antenna: Annotated[
        float | None, own("KG", "Mass of the antenna, kg. Default: the model's own.")
    ] = None,
    azimuths: Annotated[int, option("--azimuths", "Of the sweep.")] = 72,
    spare: Annotated[str, option("--spare")] = "",
    rank: Annotated[
        bool, own(None, "Chart the hemisphere too, and rank the mounts.", "--rank")
    ] = False,
    out: Annotated[Path | None, option("--out", "A page with everything (.html).")] = None,
    table: Annotated[Path | None, own("FILE", "Write the efforts as a table (.csv).")] = None,
    force: Force = False,
) -> CommandResult:
    """Compare mounts: efforts around the horizon without and with the best weights, and a ranking.

    Weights hang below the arms, below the strut, or both; their moments make the greatest effort
    least.

    \b
    Examples:
      linkwright mount compare
      linkwright mount compare mount-2-rotary mount-prismatic --elevation 10 --table efforts.csv
      linkwright mount compare --antenna 150 -o compare.html
    """
    from linkwright.mounts import horizon_sweep, study_mounts
    from linkwright.mounts.comparison_page import MOUNTS
    from linkwright.mounts.sweeps import sweep_report

    if table is not None and table.suffix.lower() != ".csv":
        raise InputError(f"{table}: the efforts are a table", remedy="give a name in .csv")
    if not -90.0 < elevation < 90.0:
        raise InputError(f"--elevation {elevation:g} goes around nothing", remedy="below 90")
    if spare and (rank or out is not None):
        raise InputError("--spare is for the sweep alone", remedy="leave --rank and --out out")
    refuse_existing(out, table, force=force)
    chosen = [_opened(name, antenna) for name in dict.fromkeys(mounts or MOUNTS)]
    found: MountComparison | None = None
    if rank or out is not None:
        found = study_mounts(chosen, sweep=azimuths, elevation=math.radians(elevation))
        swept = [s.sweep for s in found.studies if s.sweep is not None]
        words = [f"{s.mount}: {s.unswept}" for s in found.studies if s.sweep is None]
    else:
        swept, words, tilted = [], [], math.radians(elevation)
        for robot in chosen:
            swept.append(horizon_sweep(robot, count=azimuths, elevation=tilted, spare=spare))
    if table is not None:
        from linkwright.base.files import write_text

        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(
            [HEAD, *(r for s in swept for r in s.rows())]
        )
        write_text(table, text.getvalue(), replace=force)
    if found is not None and out is not None:
        found.save(out, replace=force)
    data: dict[str, Any] = {"elevation_deg": elevation, "sweeps": [_plain(s) for s in swept]}
    if found is not None:
        data["ranks"] = [
            {
                "place": r.place,
                "mount": r.mount,
                "points": r.total,
                "criteria": [{"criterion": k, "place": x} for k, x in r.places.items()],
            }
            for r in found.ranks
        ]
    report = sweep_report(swept) if swept else "no mount goes around there"
    return CommandResult(
        data,
        [f"greatest efforts at an elevation of {elevation:g} deg, without weights and with the "
         "best ones:", report, *words, *_ranked(found)],
        files={"page": out, "table": table},
    )  # fmt: skip


def _opened(name: str, antenna: float | None) -> Robot:
    """Return a mount, with another antenna where one is given."""
    from linkwright.robots import Robot

    robot = Robot(name)
    if antenna is None:
        return robot
    if "antenna_mass" not in robot.mechanism.parameters:
        raise InputError(f"{name!r} has no antenna_mass", remedy="leave --antenna out")
    if not antenna >= 0.0:
        raise InputError(f"--antenna {antenna:g} kg is not a mass", remedy="give 0 or more")
    return Robot(robot.mechanism.with_parameters({"antenna_mass": antenna}))


def _plain(s: HorizonSweep) -> dict[str, Any]:
    best = [
        {
            "weights": kind,
            "peak": b.peak,
            "moments": [{"at": k, "kg_m": x} for k, x in b.moments.items()],
        }
        for kind, b in s.balances.items()
    ]
    return {"mount": s.mount, "unit": s.unit, "peak": s.peak, "balances": best}


def _ranked(found: MountComparison | None) -> Iterator[TextTable]:
    if found is not None:
        head = ("place", "mount", "points", *found.ranks[0].places)
        rows = [
            (str(r.place), r.mount, str(r.total), *(str(x) for x in r.places.values()))
            for r in found.ranks
        ]
        yield TextTable(head, rows, "Ranking", [h for h in head if h != "mount"])
