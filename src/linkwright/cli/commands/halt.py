"""``linkwright halt``: stop a cell at once."""

from __future__ import annotations

from linkwright.cli.cells import Authority, Cell, Certificate, Key, open_cell
from linkwright.cli.terminal import echo


def command(
    cell: Cell, certificate: Certificate = None, key: Key = None, authority: Authority = None
) -> None:
    """Stop all arms of a running cell at once, whoever commands them.

    \b
    Examples:
      linkwright halt cell1
    """
    with open_cell(cell, certificate, key, authority) as found:
        found.halt()
        echo(f"{found.name}: halted; clear and enable its arms before they move again")
