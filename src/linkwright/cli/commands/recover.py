"""``linkwright recover``: what a run that died has left."""

from __future__ import annotations

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
      linkwright recover run.parquet.journal -o run.parquet
    """
    from linkwright.errors import InputError
    from linkwright.recording import recovered
    from linkwright.recording.origins import as_read

    found = as_read(recovered(journal), journal.parent)
    if not len(found):
        raise InputError("the journal holds no sample", file=journal)
    target = journal.with_suffix("") if out is None else out
    if target == journal:
        raise InputError(
            "the journal's name has no ending to leave out", file=journal, remedy="give --out"
        )
    found.save(target, replace=force)
    echo(
        f"{len(found)} samples of {len(found.channels)} channels up to t = {found.times[-1]:g} s "
        f"are in {target}"
    )
