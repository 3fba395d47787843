"""Joining the network of a cell, and asking it. Little is imported, so that a halt is quick."""

from __future__ import annotations

import getpass
import os
import re
import time

from linkwright.base.errors import Error, InputError
from linkwright.server.access import ROOT, check_name
from linkwright.server.network import Credentials, NetworkSession, open_session
from linkwright.server.registry import running_cell

_ATTEMPTS = (0.3, 0.6, 1.1)  # s that are waited for the answer to each


class LostError(Error):
    """The cell does not answer, or sends no states.

    Args:
        what: in a sentence.
        remedy: what to do.
    """


def joined(
    cell: str,
    client: str | None = None,
    certificate: str | None = None,
    key: str | None = None,
    authority: str | None = None,
) -> tuple[NetworkSession, str]:
    """Return a session that is connected to a cell, and our name there; see `connect`."""
    credentials = None
    if certificate or key or authority:
        if not (certificate and key and authority):
            raise InputError(
                "a certificate comes with its key and an authority",
                remedy="give certificate=, key= and authority=, the paths of three PEM files",
            )
        credentials = Credentials(certificate, key, authority)
        credentials.check()
        if client not in (None, credentials.name):
            raise InputError(
                f"the certificate is that of {credentials.name!r}, not of {client!r}",
                remedy="leave client= out: with a certificate it is its common name",
            )
        client = credentials.name
    me = check_name(client or _own_name(), "a client")
    endpoint = cell if "/" in cell else running_cell(cell).endpoint
    return open_session(connect=endpoint, credentials=credentials), me


def answer_of(
    network: NetworkSession, client: str, what: str, data: bytes = b"", *, again: bool = False
) -> bytes:
    """Return the answer of a cell; raise `RefusedError` where it rejects, as `RemoteCell.ask`."""
    for attempt, seconds in enumerate(_ATTEMPTS):
        answers = network.session.get(f"{ROOT}/as/{client}/{what}", payload=data, timeout=seconds)
        for answer in answers:  # the first counts; its stream is not waited for to end
            if answer.ok is not None:
                found: bytes = answer.ok.payload.to_bytes()
                return found
            said: bytes = answer.err.payload.to_bytes()
            if said.startswith(b"{"):  # else zenoh's own word for silence
                from linkwright.server.messages import refused

                error = refused(said)
                if (attempt or again) and error.name == "repeated":  # the answer got lost
                    return b""
                raise error
        info = network.session.info
        if not (list(info.peers_zid()) or list(info.routers_zid())):
            time.sleep(seconds)  # nobody to be asked: zenoh says so at once
    raise LostError(
        f"the cell at {network.endpoint} does not answer",
        remedy=f"see that it runs, and that {client!r} is one of its clients",
    )


def halt_cell(cell: str, **options: str | None) -> str:
    """Stop all arms of a cell at once, and say so; nothing else is asked of it."""
    network, me = joined(cell, **options)
    try:
        answer_of(network, me, "halt")
    finally:
        network.close()
    return f"{cell}: halted; clear and enable its arms before they move again"


def _own_name() -> str:
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):  # a user without a name
        user = "client"
    return f"{re.sub('[^A-Za-z0-9_.-]', '', user) or 'client'}-{os.getpid()}"
