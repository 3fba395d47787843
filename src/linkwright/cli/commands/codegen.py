"""``linkwright codegen``: the stand-alone simulation program of a model."""

from __future__ import annotations

from pathlib import Path

import typer

from linkwright.cli.models import MODEL, SET, TRUST
from linkwright.cli.terminal import echo

_FOLDER = typer.Option(..., "-o", "--out", metavar="DIR", help="The folder in which to write.")
_CHANNELS = typer.Option(
    [],
    "--channels",
    metavar="KIND",
    help="Put out all coordinates, speeds, accelerations, forces or moments as well.",
)


def command(
    model: str = MODEL,
    folder: Path = _FOLDER,
    target: str = typer.Option("c", "--target", metavar="c|python", help="The language."),
    kernel: bool = typer.Option(
        False, "--kernel", help="Write the bare equations in C, with a header, for embedding."
    ),
    settings: list[str] = SET,
    trust: bool = TRUST,
    channels: list[str] = _CHANNELS,
    units: str = typer.Option(
        "auto",
        "--units",
        metavar="model|deg|in-lb",
        help="Units that users of the program see; by default in-lb for models in inches.",
    ),
    formulation: str = typer.Option(
        "auto", "--formulation", metavar="NAME", help="Pin one formulation of the equations."
    ),
    force: bool = typer.Option(False, "--force", help="Replace files that are there."),
) -> None:
    """Write a complete simulation program of a model, which needs no Linkwright.

    It reads parameters and initial conditions from a text file, integrates, and writes its results;
    STEP, STOPT and IPRINT set the run, here with --set and later in that file.

    \b
    Examples:
      linkwright codegen car --out car-c
    """
    from linkwright.cli.models import open_model, read_settings
    from linkwright.codegen import timing_of, write_program
    from linkwright.errors import InputError

    if kernel and target != "c":
        raise InputError(f"--kernel is written in C, not in {target}")
    if target not in ("c", "python"):
        raise InputError(f"there is no target {target!r}", remedy="choose c or python")
    run = [s for s in settings if s.partition("=")[0].strip() in ("STEP", "STOPT", "IPRINT")]
    mechanism = open_model(model, [s for s in settings if s not in run], trust=trust)
    done = write_program(
        mechanism,
        folder,
        target="kernel" if kernel else target,
        timing=timing_of(mechanism, read_settings(run)),
        channels=channels,
        units=units,
        formulation=formulation,
        force=force,
    )
    for path in done.files:
        echo(f"wrote {path}")
    echo(f"\nIn {folder}:")
    for line in done.commands:
        echo(f"    {line}")
