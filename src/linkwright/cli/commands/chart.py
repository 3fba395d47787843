"""``linkwright parallel chart``: reach and quality over directions, poses or actuators."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwright.cli.models import MODEL, SET, TRUST
from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.parallel import Chart

AXES = ("azimuth=0:360:73", "zenith=0:120:61")
OVER = (
    "An axis from one value to another; the last is the one that lines follow. Directions: azimuth "
    f"and zenith or elevation (deg). Default: {' '.join(AXES)}."
)
OF = "What to chart: reach, condition, manipulability, transmission, pressure, effort, coordinates."
AT = "What else is known, such as distance=0.98 (repeatable)."
OUT = "Picture (.svg, .png, .pdf) of the last quantity, or table (.csv, .parquet)."


def command(
    model: str = MODEL,
    settings: list[str] = SET,
    trust: bool = TRUST,
    of: Annotated[str, typer.Option("--of", metavar="NAME,...", help=OF)] = "reach",
    over: Annotated[
        list[str] | None, typer.Option("--over", metavar="NAME=FROM:TO:COUNT", help=OVER)
    ] = None,
    at: Annotated[list[str] | None, typer.Option("--at", metavar="NAME=VALUE", help=AT)] = None,
    start: Annotated[
        list[str] | None,
        typer.Option(
            "--start",
            metavar="NAME=VALUE",
            help="Coordinate of the start, whose branch is charted.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help=OUT)] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--folder", metavar="DIR", help="Keep the parts of a large chart here."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with what is in the folder.")
    ] = False,
    threads: Annotated[int, typer.Option("--threads", metavar="N", help="Number of threads.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Chart a machine: where it reaches, why not elsewhere, and how well.

    Loops are closed at every place of the grid, on the branch of the start. Azimuth is the
    compass's. Where lines stop being reached is exact, not on the grid.

    \b
    Examples:
      linkwright parallel chart mount-2-rotary --of reach,transmission,effort -o b.svg
      linkwright parallel chart mount-3-rotary --at distance=0.98 --json
    """
    from linkwright.base.errors import InputError
    from linkwright.cli.models import open_model, read_settings
    from linkwright.mechanism import mechanism_of
    from linkwright.parallel import chart
    from linkwright.parallel.chart_files import checked_target

    if out is not None:
        checked_target(out)
    opened = open_model(model, settings, trust=trust)
    mechanism = mechanism_of(opened)
    names = [name.strip() for name in of.split(",") if name.strip()]
    found = chart(
        opened,
        dict(_axis(text) for text in over or AXES),
        names,
        at=read_settings(at or [], "--at"),
        start=read_settings(start or [], "--start", mechanism) or None,
        folder=folder,
        resume=resume,
        threads=threads,
    )
    if over is None and (found["reach"] == 0).any(axis=0).sum() == 1:
        raise InputError(
            f"the platform of {found.name!r} does not tilt",
            remedy="chart it over places: --over x=-1:1:41 --over y=0:1:41",
        )
    if out is not None:
        found.save(out, of=_shown(found, names))
    if as_json:
        echo(json.dumps(found.as_dict(), indent=2))
        return
    _print(found)
    if out is not None:
        echo(f"wrote      {out}")


def _axis(text: str) -> tuple[str, Any]:
    """Return the name and the range of an axis.

    >>> _axis("zenith=0:90:10")
    ('zenith', (0.0, 90.0, 10))
    """
    from linkwright.base.errors import InputError

    name, _, values = (part.strip() for part in text.partition("="))
    try:
        first, last, count = values.split(":")
        return name, (float(first), float(last), int(count))
    except ValueError:
        raise InputError(
            f"--over {text!r} is not NAME=FROM:TO:COUNT", remedy="such as --over zenith=0:90:91"
        ) from None


def _shown(found: Chart, names: list[str]) -> str | None:
    """Return the columns of a picture: all that were asked for, and the reach where it is alone."""
    known = [n for n in names if any(c == n or c.startswith(f"{n} ") for c in found.columns)]
    return ",".join([n for n in known if n != "reach"] or known) or None


def _print(found: Chart) -> None:
    from linkwright.cli.tables import print_table

    told = found.as_dict()
    head = ("least", "median", "greatest")
    rows = [
        (f"{name} ({v['unit']})" if v["unit"] else name, *(f"{v[k]:.6g}" for k in head))
        for name, v in told["quantities"].items()
    ]
    grid = " x ".join(f"{a['name']} {a['from']:g} to {a['to']:g} {a['unit']}" for a in told["axes"])
    title = f"{found.name}: {grid}, {found.share:.1%} of {found['reach'].size} places reached"
    if rows:
        print_table(("where it is reached", *head), rows, title=title, numbers=head)
    else:
        echo(title)
    causes = [f"{n} {cause}" for cause, n in told["reach"].items() if n and cause != "reached"]
    if causes:
        echo(f"not        {', '.join(causes)}")
    ends, unit = told["ends"], found.axes[-1].unit
    low, high = ends["lower"], ends["upper"]
    if low and high and low["nearest"] > high["nearest"]:
        echo(f"ends       no {ends['axis']} is reached on all lines")
        ends = dict.fromkeys(("lower", "upper"))
    for side, word in (("lower", "down"), ("upper", "up")):
        if ends[side]:
            place = f"{ends['axis']} {word} to {ends[side]['nearest']:.6f} {unit}"
            echo(f"ends       {place} on all lines")
    if "condition" in told["quantities"]:
        echo(f"length     {found.length:.4g} m counts as a radian; of the {found.output}")
