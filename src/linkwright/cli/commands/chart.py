"""``linkwright parallel chart``: reach and quality over directions, poses or actuators."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from linkwright.base.errors import InputError
from linkwright.cli.options import (
    Initial,
    Model,
    Set,
    Trust,
    in_rad,
    open_model,
    option,
    own,
    read_named,
    read_range,
    read_settings,
    read_tubes,
)
from linkwright.cli.results import CommandResult, TextTable

if TYPE_CHECKING:
    from linkwright.parallel.charts import Chart

AXES = ("azimuth=0:360:73", "zenith=0:120:61")
OVER = (
    "With a count, NAME=FROM:TO:COUNT: an axis of the chart; the last is the one that lines "
    "follow. Directions: azimuth and zenith or elevation (deg). Default: " + " ".join(AXES) + "."
)
OF = (
    "What to chart: reach, condition, manipulability, transmission, pressure, effort, coordinates, "
    "and with parts that give way rotary-compliance, linear-compliance, slack."
)
DRIVE = "Stiffness of an actuator, as in arm1='100 kN*m/rad' or leg1='20 MN/m' (repeatable)."
JOINT = "Radial stiffness of a joint, as in ball2='50 MN/m' (repeatable)."
CLEARANCE = "Radial clearance of a joint, as in ball2='0.05 mm' (repeatable)."


def command(
    model: Model,
    settings: Set = None,
    trust: Trust = False,
    of: Annotated[str, own("NAME,...", OF)] = "reach",
    over: Annotated[list[str] | None, option("--over", OVER)] = None,
    at: Annotated[
        list[str] | None, option("--at", "What else is known, such as distance=0.98.")
    ] = None,
    initial: Initial = None,
    tube: Annotated[list[str] | None, option("--tube")] = None,
    drive: Annotated[list[str] | None, own("NAME=VALUE", DRIVE, "--drive-stiffness")] = None,
    joint: Annotated[list[str] | None, own("NAME=VALUE", JOINT, "--joint-stiffness")] = None,
    clearance: Annotated[list[str] | None, own("NAME=VALUE", CLEARANCE)] = None,
    out: Annotated[
        Path | None,
        option("--out", "A picture (.svg, .png, .pdf), or a table (.csv, .parquet)."),
    ] = None,
    folder: Annotated[Path | None, option("--folder", "The parts of a large chart.")] = None,
    resume: Annotated[bool, option("--resume", "With --folder.")] = False,
    threads: Annotated[int | None, option("--threads")] = None,
) -> CommandResult:
    """Chart a machine: where it reaches, why not elsewhere, and how well.

    Loops are closed at every place of the grid, on the branch of the start (--initial). Azimuth is
    the compass's. Where lines stop being reached is exact, not on the grid.

    \b
    Examples:
      linkwright parallel chart mount-2-rotary --of reach,transmission,effort -o b.svg
      linkwright parallel chart mount-3-rotary --at distance=0.98 --json
      linkwright parallel chart mount-prismatic --of slack --clearance ball2='0.05 mm' -o slack.svg
      linkwright parallel chart mount-2-rotary --of rotary-compliance --tube arm='100 mm,5 mm'
    """
    from linkwright.mechanism import mechanism_of
    from linkwright.parallel import chart
    from linkwright.parallel.chart_files import checked_target
    from linkwright.parallel.flexing import soft_texts

    if out is not None:
        checked_target(out)
    opened = open_model(model, settings, trust=trust)
    names = [name.strip() for name in of.split(",") if name.strip()]
    axes = dict(read_range(text, "FROM:TO:COUNT") for text in over or AXES)
    soft = soft_texts(
        mechanism_of(opened),
        read_tubes(tube),
        read_named(drive, "--drive-stiffness", "arm1='100 kN*m/rad'"),
        read_named(joint, "--joint-stiffness", "ball2='50 MN/m'"),
        read_named(clearance, "--clearance", "ball2='0.05 mm'"),
    )
    found = chart(
        opened,
        {
            name: (in_rad(name, low), in_rad(name, high), int(count))
            for name, (low, high, count) in axes.items()
        },
        names,
        at={name: in_rad(name, value) for name, value in read_settings(at, "--at").items()},
        initial=read_settings(initial, "--initial", mechanism_of(opened)) or None,
        soft=soft,
        folder=folder,
        resume=resume,
        threads=threads or os.cpu_count() or 1,
    )
    if over is None and (found["reach"] == 0).any(axis=0).sum() == 1:
        raise InputError(
            f"the platform of {found.name!r} does not tilt",
            remedy="chart it over places: --over x=-1:1:41 --over y=0:1:41",
        )
    if out is not None:
        found.save(out, of=_shown(found, names))
    return CommandResult(
        found, _text(found), files={"chart": out}, next=f"parallel singularities {model}"
    )


def _shown(found: Chart, names: list[str]) -> str | None:
    """Return the columns of a picture: all that were asked for, and the reach where it is alone."""
    known = [n for n in names if any(c == n or c.startswith(f"{n} ") for c in found.columns)]
    return ",".join([n for n in known if n != "reach"] or known) or None


def _text(found: Chart) -> Iterator[str | TextTable]:
    data = found.as_dict()
    head = ("least", "median", "greatest")
    rows = [
        (f"{name} ({v['unit']})" if v["unit"] else name, *(f"{v[k]:.6g}" for k in head))
        for name, v in data["quantities"].items()
    ]
    grid = " x ".join(f"{a['name']} {a['from']:g} to {a['to']:g} {a['unit']}" for a in data["axes"])
    title = f"{found.name}: {grid}, {found.share:.1%} of {found['reach'].size} places reached"
    yield TextTable(("where it is reached", *head), rows, title, head) if rows else title
    causes = [f"{n} {cause}" for cause, n in data["reach"].items() if n and cause != "reached"]
    if causes:
        yield f"not        {', '.join(causes)}"
    ends, unit = data["ends"], found.axes[-1].shown_unit
    low, high = ends["lower"], ends["upper"]
    if low and high and low["nearest"] > high["nearest"]:
        yield f"ends       no {ends['axis']} is reached on all lines"
        ends = dict.fromkeys(("lower", "upper"))
    for side, word in (("lower", "down"), ("upper", "up")):
        if ends[side]:
            place = f"{ends['axis']} {word} to {ends[side]['nearest']:.6f} {unit}"
            yield f"ends       {place} on all lines"
    if "condition" in data["quantities"]:
        yield f"length     {found.length:.4g} m counts as a radian; of the {found.output}"
