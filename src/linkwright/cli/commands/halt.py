"""``linkwright cell halt``: stop a cell at once."""

from __future__ import annotations

from linkwright.cli.cells import Authority, Cell, Certificate, Client, Key
from linkwright.cli.terminal import echo


def command(
    cell: Cell,
    client: Client = None,
    certificate: Certificate = None,
    key: Key = None,
    authority: Authority = None,
) -> None:
    """Stop all arms of a running cell at once, whoever commands them.

    \b
    Examples:
      linkwright cell halt cell1
    """
    from linkwright.server.joining import halt_cell

    echo(halt_cell(cell, client=client, certificate=certificate, key=key, authority=authority))
