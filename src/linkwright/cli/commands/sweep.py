"""``linkwright sweep``: parameter studies and Monte Carlo from a text file."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.sweeps.sweep import Sweep

_FILE = typer.Argument(..., metavar="FILE", help="The plan of the sweep, a TOML file.")
_OUT = typer.Option(
    None,
    "-o",
    "--out",
    metavar="FOLDER",
    help="Folder for the Parquet files. Default: FILE.sweep next to FILE.",
)


def command(
    file: Path = _FILE,
    out: Path | None = _OUT,
    cluster: str | None = typer.Option(
        None, "--cluster", metavar="ADDRESS", help="Run on the workers of a Dask scheduler."
    ),
    threads: int | None = typer.Option(
        None, "--threads", metavar="N", help="Number of threads. Default: all processors."
    ),
    resume: bool = typer.Option(False, "--resume", help="Continue an interrupted sweep."),
    force: bool = typer.Option(False, "--force", help="Start over, discarding an earlier sweep."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print only errors."),
) -> None:
    """Run a model for many parameters, initial values and seeds.

    The results are Parquet files.

    \b
    A plan:
    model = "car"
    until = 5.0
    step = 0.025
    method = "rk4"
    runs = 1000
    \\[parameters]
    SPEED = [600, 800, 968]
    CA1 = { normal = [-25439, 2500] }
    \\[channels]
    r = ["final", "max"]

    \b
    Examples:
      linkwright sweep plan.toml --out runs
    """
    from linkwright.base.errors import InputError
    from linkwright.cli.progress import part_bar
    from linkwright.sweeps.plans import read_plan
    from linkwright.sweeps.sweep import run_sweep

    if threads is not None and threads < 1:
        raise InputError(f"{threads} threads cannot do anything; it is 1 or more")
    if resume and force:
        raise InputError("--resume goes on and --force starts over; take one of them")
    plan = read_plan(file)
    folder = file.with_suffix(".sweep") if out is None else out
    begun = time.perf_counter()
    try:
        with part_bar(f"sweeping {plan.model}", plan.count, quiet=quiet or as_json) as show:
            found = run_sweep(
                plan,
                folder,
                resume=resume,
                force=force,
                threads=threads,
                cluster=cluster,
                progress=show,
            )
    except KeyboardInterrupt:
        echo(f"interrupted; what is done is in {folder}, --resume goes on", err=True)
        raise typer.Exit(130) from None
    seconds = time.perf_counter() - begun
    if as_json:
        echo(json.dumps(_told(found, seconds), indent=2))
    elif not quiet:
        _say(found, seconds)


def _columns(found: Sweep) -> list[str]:
    return [f"{name}.{kept}" for name, many in found.plan.wanted.items() for kept in many]


def _told(found: Sweep, seconds: float) -> dict[str, object]:
    import numpy as np

    stopped = int(np.isfinite(found["stopped"]).sum())
    return {
        "runs": len(found),
        "stopped": stopped,
        "seconds": seconds,
        "folder": str(found.folder),
        "columns": list(found.columns),
    }


def _say(found: Sweep, seconds: float) -> None:
    import numpy as np

    from linkwright.cli.progress import brief_seconds
    from linkwright.cli.tables import print_table

    echo(f"{len(found):,} runs of {found.plan.until:g} s in {brief_seconds(seconds)}")
    stopped = int(np.isfinite(found["stopped"]).sum())
    if stopped:
        echo(f"{stopped:,} of them ended early; see the column `stopped`")
    rows = []
    for name in _columns(found)[:24]:
        good = found[name][np.isfinite(found[name])]
        if len(good):
            numbers = (good.mean(), good.std(), good.min(), good.max())
            rows.append((name, *(f"{x:.6g}" for x in numbers)))
    columns = ("quantity", "mean", "std", "min", "max")
    print_table(columns, rows, numbers=columns[1:])
    echo(f"results: {found.folder}")
