"""``linkwright rerun``: run again what a recording holds, and compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkwright.cli.options import Trust, own
from linkwright.cli.results import CommandResult


def command(
    recording: Annotated[Path, typer.Argument(metavar="REC", help="A recording of a run.")],
    trust: Trust = False,
    tasks: Annotated[
        bool,
        own(None, "Execute the Python tasks of a session again.", "--execute-tasks"),
    ] = False,
    quiet: bool = False,
) -> CommandResult:
    """Run the model of a recording again, and compare all channels.

    The session of a laboratory, or a run of a cell, is repeated in virtual time from its tape.
    The exit code is 0 if both are identical bit for bit, and 1 if they differ.

    \b
    Examples:
      linkwright rerun run.parquet
      linkwright rerun session00001.journal
      linkwright rerun cell.parquet
    """
    from linkwright.cli.progress import run_bar
    from linkwright.models.rerun import rerun

    with run_bar(f"running {recording} again", quiet=quiet) as show:
        found = rerun(recording, trust=trust, tasks=tasks, progress=show)
    first, *more = found.lines()
    return CommandResult(
        found, [f"{recording}: {first}", *more], code=0 if found.difference is None else 1
    )
