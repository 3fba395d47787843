"""``linkwright recover``: what a run that died has left."""

from __future__ import annotations

from pathlib import Path

import typer

from linkwright.cli.terminal import echo

_JOURNAL = typer.Argument(..., metavar="JOURNAL", help="The .journal of the dead run.")
_OUT = typer.Option(
    None,
    "-o",
    "--out",
    metavar="FILE",
    help="The recording to write; by default beside the journal, without its ending.",
)


def command(
    journal: Path = _JOURNAL,
    out: Path | None = _OUT,
    force: bool = typer.Option(False, "--force", help="Replace a file that is there."),
) -> None:
    """Make a recording of what a killed or failed run has left.

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
