"""Where a cell listens and for whom: looked at before anything of it starts."""

from __future__ import annotations

from dataclasses import dataclass

from linkwright.base.errors import InputError
from linkwright.formats.text.document import TextSource
from linkwright.formats.text.positions import scan
from linkwright.server.access import Client
from linkwright.server.cell import Cell
from linkwright.server.network import Credentials, Endpoint, check_listening
from linkwright.server.registry import running_cells


@dataclass(frozen=True, slots=True)
class Listening:
    """Where a cell listens."""

    endpoint: Endpoint  # its address
    # who may connect; on loopback nobody is named, and whoever is on the machine may
    clients: tuple[Client, ...]
    credentials: Credentials | None  # for TLS
    notes: tuple[str, ...] = ()  # what one should know about it


def listening_of(
    cell: Cell, *, listen: str | None = None, credentials: Credentials | None = None
) -> Listening:
    """Return where a cell listens; reject what would be open to others without TLS.

    >>> from linkwright.server.cell_file import read_cell
    >>> str(listening_of(read_cell("cell1")).endpoint)
    'tcp/127.0.0.1:7447'
    """
    shown = cell.credentials if credentials is None else credentials
    try:
        endpoint = Endpoint.read(cell.address if listen is None else listen)
        named = endpoint.protocol == "tls" or cell.enforce
        clients = cell.clients if named else ()
        if cell.enforce and endpoint.protocol != "tls" and cell.sensors:
            clients = (*clients, Client("coordinator", ("sense",)))  # which the cell starts
        check_listening(endpoint, clients, shown)
    except InputError as error:
        if listen is not None:
            raise
        source = TextSource(cell.file, scan(cell.text))
        raise source.error(("address",), error.what, error.remedy) from None
    notes = []
    if cell.clients and not clients:
        names = ", ".join(client.name for client in cell.clients)
        notes.append(
            f"on loopback whoever has an account on this machine may do everything: the rights of "
            f"{names} count only at an address with TLS, or with enforce = true"
        )
    if clients and endpoint.protocol != "tls":
        notes.append("names of clients are believed on loopback; certificates hold them with TLS")
    return Listening(endpoint, clients, shown, tuple(notes))


def require_alone(cell: Cell) -> None:
    """Reject a cell of which one runs on this machine, or a folder that others may enter."""
    found = running_cells().get(cell.name)
    if found is not None:
        raise InputError(
            f"a cell called {cell.name!r} runs already, process {found.process}",
            remedy="give this one another name, or end that one",
        )
