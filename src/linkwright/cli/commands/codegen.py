"""``linkwright codegen``: a stand-alone program of a model, or its controllers as firmware."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from linkwright.cli.options import (
    Force,
    Formulation,
    Model,
    Set,
    Trust,
    open_model,
    option,
    own,
    read_settings,
)
from linkwright.cli.results import CommandResult

TARGET = (
    "A whole program in C or Python, the bare equations in C for embedding, the controllers in C "
    "for a processor of their own, or the math files of SL."
)
CONTROLLER = "The member to write as firmware (repeatable). Default: all members with a rate."
CHANNELS = "Also output all coordinates, speeds, accelerations, forces or moments (repeatable)."
UNITS = "Units of the program's input and output. Default: in-lb for models in inches."
METHODS = (
    "An integration method with fixed steps that the program offers (repeatable); the first is "
    "the usual one. Default: midpoint and rk4."
)


def command(
    model: Model,
    out: Annotated[Path, option("--out", "A folder.")],
    target: Annotated[str, own("c|python|kernel|firmware|sl", TARGET)] = "c",
    controllers: Annotated[list[str] | None, own("NAME", CONTROLLER, "--controller")] = None,
    settings: Set = None,
    trust: Trust = False,
    channels: Annotated[list[str] | None, own("KIND", CHANNELS, "--channels")] = None,
    units: Annotated[str, own("model|deg|in-lb", UNITS)] = "auto",
    methods: Annotated[list[str] | None, own("NAME", METHODS, "--methods")] = None,
    formulation: Formulation = "auto",
    force: Force = False,
) -> CommandResult:
    """Generate a stand-alone program, or controllers as firmware.

    The program does not need Linkwright. It reads parameters and initial conditions from a text
    file, integrates, and writes its results; STEP, STOPT and IPRINT set the run, here with --set
    and later in that file.

    \b
    Examples:
      linkwright codegen car --out car-c
      linkwright codegen servo.toml --target firmware --out board
      linkwright codegen sl-arm --target sl --out math
    """
    if target == "sl":
        from linkwright.lab.files.math_files import write_math
        from linkwright.lab.sources import lab_config

        files = write_math(lab_config(model), out, replace=force)
        words = [*(f"wrote {path}" for path in files), f"\nIn {out}:", "    make"]
        return CommandResult({"folder": out, "files": files, "commands": ["make"]}, words)
    from linkwright.codegen import codegen, timing_of

    given = settings or []
    run = [s for s in given if s.partition("=")[0].strip() in ("STEP", "STOPT", "IPRINT")]
    opened = open_model(model, [s for s in given if s not in run], trust=trust)
    done = codegen(
        opened,
        out,
        target=target,
        controllers=controllers or (),
        timing=timing_of(opened, read_settings(run)),
        channels=channels or (),
        units=units,
        formulation=formulation,
        methods=methods or ["midpoint", "rk4"],
        force=force,
    )
    text = [*(f"wrote {path}" for path in done.files), f"\nIn {out}:"]
    text += [f"    {line}" for line in done.commands]
    return CommandResult({"folder": out, "files": done.files, "commands": done.commands}, text)
