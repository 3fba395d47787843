"""``linkwright replay``: run a recorded cell again, bit for bit."""

from __future__ import annotations

from pathlib import Path

import typer

from linkwright.cli.terminal import echo

DIFFERENT = 1
_RECORDING = typer.Argument(
    ..., metavar="RECORDING", help="Of linkwright serve --record, or the journal it has left."
)


def command(
    recording: Path = _RECORDING,
) -> None:
    """Run a recorded cell again in virtual time from its tape, and compare every bit.

    \b
    Examples:
      linkwright replay cell.parquet
    """
    from linkwright.cli.progress import run_bar
    from linkwright.server.recorded import replay_cell

    with run_bar("replay") as show:
        found = replay_cell(recording, show)
    if found.difference:
        echo(f"{found.cell.name}: {found.difference}", err=True)
        raise typer.Exit(DIFFERENT)
    compared = f"{found.ticks} ticks of {found.channels} channels, the same bits"
    gaps = f"; {found.missing} between them were not recorded" if found.missing else ""
    echo(f"{found.cell.name}: {compared}{gaps}")
