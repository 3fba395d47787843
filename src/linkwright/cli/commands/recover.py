"""``linkwright tools recover``: what a run that died has left."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from linkwright.cli.options import Force, option
from linkwright.cli.results import CommandResult


def command(
    journal: Annotated[
        Path, typer.Argument(metavar="JOURNAL", help="The .journal file that the run left.")
    ],
    out: Annotated[
        Path | None,
        option("--out", "The recording. Default: the journal's name without .journal."),
    ] = None,
    force: Force = False,
) -> CommandResult:
    """Recover a recording from the journal of a killed or failed run.

    \b
    Examples:
      linkwright tools recover run.parquet.journal -o run.parquet
    """
    from linkwright.base.errors import InputError
    from linkwright.recording.files import keep_stream
    from linkwright.recording.journal import journal_stream
    from linkwright.recording.origins import as_read
    from linkwright.recording.recording import Recording

    found = journal_stream(journal)
    bare = as_read(Recording([], found.channels, [], found.metadata), journal.parent)
    count, end = 0, 0.0
    for part in found.parts():
        count += len(part.times)
        end = float(part.times[-1]) if len(part.times) else end
    if not count:
        raise InputError("the journal holds no sample", file=journal)
    target = journal.with_suffix("") if out is None else out
    if target == journal or (out is None and not target.suffix):
        raise InputError(
            "the journal's name does not say what to write",
            file=journal,
            remedy=f"give --out {journal.stem}.parquet, say",
        )
    keep_stream(target, replace(found, metadata=bare.metadata), replace=force)
    size = f"{count} samples of {len(found.channels)} channels up to t = {end:g} s"
    return CommandResult(
        {"recording": target, "samples": count, "channels": len(found.channels), "end_s": end},
        [f"{size} are in {target}"],
        next=f"plot {target}",
    )
