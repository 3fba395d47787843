"""``linkwright tools recover``: what a run that died has left."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import typer

from linkwright.cli.terminal import echo

_JOURNAL = typer.Argument(..., metavar="JOURNAL", help="The .journal file that the run left.")
_OUT = typer.Option(
    None,
    "-o",
    "--out",
    metavar="FILE",
    help="The recording to write. Default: the journal's name without .journal.",
)


def command(
    journal: Path = _JOURNAL,
    out: Path | None = _OUT,
    force: bool = typer.Option(False, "--force", help="Overwrite an existing file."),
) -> None:
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
    if target == journal:
        raise InputError(
            "the journal's name has no ending to leave out", file=journal, remedy="give --out"
        )
    keep_stream(target, replace(found, metadata=bare.metadata), replace=force)
    echo(f"{count} samples of {len(found.channels)} channels up to t = {end:g} s are in {target}")
