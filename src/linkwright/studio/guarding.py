"""Who may ask a server of the studio: pages that it serves itself, and nobody else.

Any page in a browser can send requests to this machine, and open a WebSocket to it: the loopback
keeps other machines out, not other pages. But browsers say where a request comes from (`Origin`)
and for whom it is (`Host`), and pages cannot change either (RFC 6454; RFC 9110, 7.2). So what comes
from another page is refused; and where only this machine is served, so is what is for any name but
its own, because somebody else's name can be led to our address (DNS rebinding). Programs that are
no browsers send no `Origin` and are not held up.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from linkwright.errors import Error

_turn = threading.Lock()


def refused(served: str, hosts: Sequence[str], origins: Sequence[str]) -> str:
    """Return why a request is refused, or nothing where it is not.

    Args:
        served: the address that we serve at.
        hosts: what the request says of `Host`.
        origins: what it says of `Origin`.

    >>> refused("127.0.0.1", ["localhost:8080"], ["http://localhost:8080"])
    ''
    >>> refused("127.0.0.1", ["localhost:8080"], ["https://example.org"])
    'it comes from another page'
    >>> refused("127.0.0.1", ["example.org:8080"], [])
    'it is for another machine'
    """
    if len(hosts) != 1 or len(origins) > 1:
        return "it does not say whom it is for"
    try:
        name = urlsplit(f"//{hosts[0]}").hostname or ""
    except ValueError:
        return "it does not say whom it is for"
    if _only_here(served) and not (_only_here(name) or name == served.lower()):
        return "it is for another machine"
    ours = {f"{scheme}://{hosts[0]}".lower() for scheme in ("http", "https")}
    if origins and origins[0].lower() not in ours:
        return "it comes from another page"
    return ""


def _only_here(host: str) -> bool:
    """Return whether an address is one that no other machine reaches.

    >>> [_only_here(h) for h in ("localhost", "127.0.0.1", "::1", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def warning(served: str) -> str:
    """Return what a user should know of an address to serve at; nothing where only we reach it.

    Args:
        served: the address.

    >>> warning("127.0.0.1")
    ''
    >>> warning("0.0.0.0")[:57]
    'warning: other machines that reach 0.0.0.0 can see and st'
    """
    if _only_here(served):
        return ""
    words = "can see and steer this studio, and save recordings where it runs"
    return f"warning: other machines that reach {served} {words}; nothing asks for a password"


@contextmanager
def guarding(served: str) -> Iterator[None]:
    """Let a Viser server that is made meanwhile refuse what comes from other pages.

    Viser says neither who may connect nor lets others say it; what it starts its WebSocket server
    with does.

    Args:
        served: the address that it serves at.
    """
    from websockets.asyncio import server as sockets

    plain, made = sockets.serve, []

    def serve(handler: Any, *places: Any, **options: Any) -> Any:
        inner = options.get("process_request")

        def look(connection: Any, request: Any) -> Any:
            said = request.headers
            why = refused(served, said.get_all("Host"), said.get_all("Origin"))
            if why:
                return connection.respond(403, f"refused: {why}\n")
            return None if inner is None else inner(connection, request)

        made.append(True)
        return plain(handler, *places, **(options | {"process_request": look}))

    names = vars(sockets)
    with _turn:
        names["serve"] = serve
        try:
            yield
        finally:
            names["serve"] = plain
    if not made:
        raise Error("this version of Viser cannot be guarded", remedy="use one from 1.1 on")
