"""``linkwright rerun``: run again what a recording holds, and compare."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from linkwright.cli.models import TRUST
from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.recording.comparison import BitComparison

_REC = typer.Argument(..., metavar="REC", help="A recording of a run.")


def command(
    recording: Path = _REC,
    trust: bool = TRUST,
    tasks: bool = typer.Option(
        False, "--tasks", help="Execute the Python tasks of a session again."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print nothing if both are identical."),
) -> None:
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

    with run_bar(f"running {recording} again", quiet=quiet or as_json) as show:
        found = rerun(recording, trust=trust, tasks=tasks, progress=show)
    if as_json:
        echo(json.dumps(_told(found), indent=2))
    elif found.difference is not None or not quiet:
        _say(recording, found)
    if found.difference is not None:
        raise typer.Exit(1)


def _told(found: BitComparison) -> dict[str, object]:
    return {
        "same": found.difference is None,
        "samples": found.samples,
        "channels": found.channels,
        "difference": None if found.difference is None else asdict(found.difference),
        "largest": dict(found.largest),
        "notes": list(found.notes),
    }


def _say(path: Path, found: BitComparison) -> None:
    size = f"{found.samples} samples of {found.channels} channels"
    first = found.difference
    if first is None:
        echo(f"{path}: the same bit for bit, {size}")
    elif not first.channel:
        echo(f"{path}: differs from t = {first.time:.9g} s on: other times")
    else:
        tick = "" if first.tick is None else f" (tick {first.tick})"
        echo(
            f"{path}: differs first at t = {first.time:.9g} s{tick} in {first.channel}: "
            f"{first.recorded!r} recorded, {first.again!r} now"
        )
        worst = sorted(found.largest.items(), key=lambda item: -item[1])[:5]
        echo("largest differences: " + ", ".join(f"{n} {v:.3g}" for n, v in worst))
    for note in found.notes:
        echo(note)
