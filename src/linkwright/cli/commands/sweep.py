"""``linkwright sweep``: parameter studies and Monte Carlo from a text file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwright.cli.options import Force, option, own
from linkwright.cli.results import CommandResult, TextTable

if TYPE_CHECKING:
    from linkwright.sweeps.sweep import Sweep


def command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The plan of the sweep, a TOML file.")
    ],
    out: Annotated[
        Path | None,
        option("--out", "A folder of Parquet files. Default: FILE.sweep next to FILE."),
    ] = None,
    cluster: Annotated[
        str | None,
        own("ADDRESS", "Run on the workers of a Dask scheduler."),
    ] = None,
    device: Annotated[str, option("--device", "cpu, or cuda for an NVIDIA card.")] = "cpu",
    threads: Annotated[int | None, option("--threads")] = None,
    resume: Annotated[bool, option("--resume")] = False,
    force: Force = False,
    quiet: bool = False,
) -> CommandResult:
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
    from linkwright.cli.terminal import echo
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
        with part_bar(f"sweeping {plan.model}", plan.count, quiet=quiet) as show:
            found = run_sweep(
                plan,
                folder,
                resume=resume,
                force=force,
                threads=threads,
                cluster=cluster,
                device=device,
                progress=show,
            )
    except KeyboardInterrupt:
        echo(f"interrupted; what is done is in {folder}, --resume goes on", err=True)
        raise typer.Exit(130) from None
    seconds = time.perf_counter() - begun
    data = found.as_dict() | {"run_s": seconds}
    return CommandResult(data, _text(found, seconds), files={"results": found.folder})


def _text(found: Sweep, seconds: float) -> Iterator[str | TextTable]:
    from linkwright.cli.progress import brief_seconds

    yield f"{len(found):,} runs of {found.plan.until:g} s in {brief_seconds(seconds)}"
    if found.stopped:
        yield f"{found.stopped:,} of them ended early; see the column `stopped`"
    columns, *rows = found.table()
    yield TextTable(columns, rows, numbers=columns[1:])
    for name, known in found.reduced.items():
        for word, runs in (("worst", known.worst), ("least", known.least)):
            if runs:
                cells = [tuple(f"{x:.6g}" for x in run.values()) for run in runs]
                yield TextTable(tuple(runs[0]), cells, f"{name}: {word}", tuple(runs[0]))
