"""``linkwright tools tour``: five minutes with a double pendulum, by the commands themselves."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from linkwright.base.errors import Error
from linkwright.cli.options import option
from linkwright.cli.terminal import echo


class TourStep(NamedTuple):
    """A command, and what one sees when it has run."""

    command: str
    sight: str


STEPS = (
    TourStep(
        "model describe double-pendulum",
        "The model: two bodies with their joints, its coordinates, parameters and outputs, each "
        "with its unit. It ships with Linkwright; `linkwright model list` shows the others.",
    ),
    TourStep(
        "simulate double-pendulum --until 20 -o swing.csv --force",
        "The equations were derived, compiled to native code and integrated over 20 s. The line of "
        "the energy shows how exact the run is: what is gained is an error of the integrator.",
    ),
    TourStep(
        "plot swing.csv phi1 phi2 --terminal",
        "Both angles over time, from the recording. Without --terminal you get a picture.",
    ),
    TourStep(
        "analyze linearize double-pendulum --at phi1=0 --at phi2=0",
        "The same equations, made linear where the pendulum hangs: two modes with their "
        "frequencies, from exact derivatives.",
    ),
    TourStep(
        "simulate double-pendulum --set L2=0.5 --until 20 -o short.csv --force",
        "A parameter was changed: the lower rod has half its length. Nothing was derived anew.",
    ),
    TourStep(
        "model new my-pendulum --template pendulum --force",
        "A model of your own, in a text file with comments. Open it in an editor, and change it.",
    ),
    TourStep("model check my-pendulum.toml", "Your file is checked: names, units, mobility."),
    TourStep(
        "page swing.csv -o swing.html",
        "One file that plays the motion in any browser, without a network. You can send it.",
    ),
)
"""The tour."""


def command(
    folder: Annotated[Path, option("--folder")] = Path("linkwright-tour"),
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait for Enter before each command.")
    ] = True,
    show: Annotated[
        bool, typer.Option("--show/--no-show", help="Open the page in the browser at the end.")
    ] = True,
) -> None:
    """Show in five minutes what Linkwright does: real commands on a shipped model, step by step.

    `linkwright tour` does the same.

    \b
    Examples:
      linkwright tools tour
      linkwright tools tour --no-wait --no-show
    """
    from contextlib import chdir

    folder.mkdir(parents=True, exist_ok=True)
    wait = wait and sys.stdin.isatty()
    echo(f"A double pendulum, in {len(STEPS)} commands. Files are written to {folder}.")
    with chdir(folder):
        for number, step in enumerate(STEPS, 1):
            _take(step, f"{number} of {len(STEPS)}", wait)
    page = folder / "swing.html"
    if show:
        typer.launch(str(page))
    echo(
        f"\nThat was the tour; {page} has the motion. Next: `linkwright model list`, the "
        "tutorials, or a robot file of yours: `linkwright studio robot.urdf`."
    )


def _take(step: TourStep, place: str, wait: bool) -> None:
    """Run the command of a step, and say what one sees."""
    from linkwright.cli import main

    echo(f"\n({place}) $ linkwright {step.command}")
    if wait and input("Enter runs it, q ends the tour: ").strip().lower() in ("q", "quit"):
        raise typer.Exit
    if code := main(shlex.split(step.command)):
        raise Error(
            f"the tour ends here: `linkwright {step.command}` ended with exit code {code}",
            remedy="`linkwright doctor` shows what is missing",
        )
    echo(f"\n  {step.sight}")
