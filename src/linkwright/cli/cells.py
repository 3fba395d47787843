"""Options of commands that go to a running cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from linkwright.cli.options import option

if TYPE_CHECKING:
    from linkwright.server.client import RemoteCell

Cell = Annotated[
    str, typer.Argument(metavar="CELL", help="Name of a running cell, or tls/HOST:PORT.")
]
Certificate = Annotated[str | None, option("--certificate")]
Key = Annotated[str | None, option("--key")]
Authority = Annotated[str | None, option("--authority")]
Client = Annotated[str | None, option("--client")]


def open_cell(
    cell: str,
    client: str | None,
    certificate: str | None,
    key: str | None,
    authority: str | None,
    rate: float = 20.0,
) -> RemoteCell:
    """Connect to a cell with the options of the command line."""
    from linkwright.server.client import connect

    credentials = {"certificate": certificate, "key": key, "authority": authority}
    return connect(cell, client=client, **credentials, rate=rate)
