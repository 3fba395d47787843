"""``linkwright codegen``: a stand-alone program of a model, or its controllers as firmware."""

from __future__ import annotations

from pathlib import Path

import typer

from linkwright.cli.models import MODEL, SET, TRUST
from linkwright.cli.terminal import echo

_FOLDER = typer.Option(..., "-o", "--out", metavar="DIR", help="The folder to write to.")
_CONTROLLERS = typer.Option(
    [],
    "--controller",
    metavar="NAME",
    help="The member to write as firmware. Default: all members with a rate.",
)
_METHODS = typer.Option(
    ["midpoint", "rk4"],
    "--method",
    metavar="NAME",
    help="An integration method with fixed steps that the program offers; the first is usual.",
)
_CHANNELS = typer.Option(
    [],
    "--channels",
    metavar="KIND",
    help="Also output all coordinates, speeds, accelerations, forces or moments.",
)


def command(
    model: str = MODEL,
    folder: Path = _FOLDER,
    target: str = typer.Option(
        "c",
        "--target",
        metavar="c|python|kernel|firmware",
        help="A whole program in C or Python, the bare equations in C for embedding, or the "
        "controllers in C for a processor of their own.",
    ),
    controllers: list[str] = _CONTROLLERS,
    settings: list[str] = SET,
    trust: bool = TRUST,
    channels: list[str] = _CHANNELS,
    units: str = typer.Option(
        "auto",
        "--units",
        metavar="model|deg|in-lb",
        help="Units of the program's input and output. Default: in-lb for models in inches.",
    ),
    methods: list[str] = _METHODS,
    formulation: str = typer.Option(
        "auto", "--formulation", metavar="NAME", help="Formulation of the equations."
    ),
    force: bool = typer.Option(False, "--force", help="Overwrite existing files."),
) -> None:
    """Generate a stand-alone program, or controllers as firmware.

    The program does not need Linkwright. It reads parameters and initial conditions from a text
    file, integrates, and writes its results; STEP, STOPT and IPRINT set the run, here with --set
    and later in that file.

    \b
    Examples:
      linkwright codegen car --out car-c
      linkwright codegen servo.toml --target firmware --out board
    """
    from linkwright.cli.models import open_model, read_settings
    from linkwright.codegen import codegen, timing_of

    run = [s for s in settings if s.partition("=")[0].strip() in ("STEP", "STOPT", "IPRINT")]
    opened = open_model(model, [s for s in settings if s not in run], trust=trust)
    done = codegen(
        opened,
        folder,
        target=target,
        controllers=controllers,
        timing=timing_of(opened, read_settings(run)),
        channels=channels,
        units=units,
        formulation=formulation,
        methods=methods,
        force=force,
    )
    for path in done.files:
        echo(f"wrote {path}")
    echo(f"\nIn {folder}:")
    for line in done.commands:
        echo(f"    {line}")
