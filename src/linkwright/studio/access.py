"""Who may ask a server of the studio: pages that it serves itself, and nobody else.

Any page in a browser can send requests to this machine, and open a WebSocket to it: the loopback
keeps other machines out, not other pages, and not other users of this machine. So

- the address holds a random word, without which nothing is answered;
- browsers say where a request comes from (`Origin`), and pages cannot change that (RFC 6454): what
  comes from another page is rejected;
- browsers say for whom a request is (`Host`; RFC 9110, 7.2). Somebody else's name can be led to our
  address (DNS rebinding), so a name that is not ours is rejected. A number such as 192.168.0.7
  cannot be led anywhere, and is an address of ours, or the request would not be here;
- other pages may not show the studio in a frame, where a user would click on what is not seen.

Programs that are not browsers send no `Origin` and are not held up by that.
"""

from __future__ import annotations

import logging
import secrets
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qs, urlsplit

from linkwright.base.errors import Error

HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Of all that is answered."""

_turn = threading.Lock()
_UNKNOWN = "open the address that the studio has printed, with the word at its end"


def refused(
    served: str, hosts: Sequence[str], origins: Sequence[str], names: Sequence[str] = ()
) -> str:
    """Return why a request is rejected, or nothing where it is not.

    >>> refused("127.0.0.1", ["localhost:8080"], ["http://localhost:8080"])
    ''
    >>> refused("127.0.0.1", ["localhost:8080"], ["https://example.org"])
    'it comes from another page'
    >>> refused("0.0.0.0", ["example.org:8080"], [])
    "it is for another machine, 'example.org'; --allow-host NAME allows a name"
    >>> refused("0.0.0.0", ["example.org:8080"], [], ["example.org"])
    ''
    """
    if len(hosts) != 1 or len(origins) > 1:
        return "it does not say whom it is for"
    try:
        name = urlsplit(f"//{hosts[0]}").hostname or ""
    except ValueError:
        return "it does not say whom it is for"
    if not _ours(served, name, names):
        return f"it is for another machine, {name!r}; --allow-host NAME allows a name"
    ours = {f"{scheme}://{hosts[0]}".lower() for scheme in ("http", "https")}
    if origins and origins[0].lower() not in ours:
        return "it comes from another page"
    return ""


def _ours(served: str, name: str, names: Sequence[str]) -> bool:
    """Return whether a name in a request is one of this machine's."""
    known = {served.lower(), *(n.lower().rstrip(".") for n in names)}
    if name.rstrip(".") in known or _only_here(name):
        return True
    if _only_here(served):
        return False
    return _is_number(name) or name == socket.gethostname().lower()


def _is_number(host: str) -> bool:
    """Return whether a host is an address in numbers, which no name server has a say in."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _only_here(host: str) -> bool:
    """Return whether an address is one that no other machine reaches.

    >>> [_only_here(h) for h in ("localhost", "127.0.0.1", "::1", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    return host.lower() == "localhost" or (_is_number(host) and ip_address(host).is_loopback)


def warning(served: str) -> str:
    """Return what a user should know of an address to serve at; nothing where only we reach it.

    >>> warning("127.0.0.1")
    ''
    >>> warning("0.0.0.0")[:57]
    'warning: other machines that reach 0.0.0.0 can see and st'
    """
    if _only_here(served):
        return ""
    return (
        f"warning: other machines that reach {served} can see and steer this studio, and save "
        "recordings where it runs, if they know the address below, which travels unencrypted; "
        "web sites are rejected unless their name is given with --allow-host"
    )


@dataclass(frozen=True, slots=True)
class Gate:
    """What a server lets in."""

    served: str
    names: Sequence[str] = ()
    framed: bool = False
    token: str = field(default_factory=lambda: secrets.token_urlsafe(12), repr=False)

    def refusal(self, path: str, hosts: Sequence[str], origins: Sequence[str]) -> str:
        """Return why a request is rejected, or nothing where it is not."""
        why = refused(self.served, hosts, origins, self.names)
        if why:
            return why
        token, _ = self.split(path)
        known = secrets.compare_digest(token.encode(), self.token.encode())
        return "" if known else _UNKNOWN

    def split(self, path: str) -> tuple[str, str]:
        """Return the word in a path, and the place behind it.

        >>> Gate("127.0.0.1").split("/word/place?a=1")
        ('word', 'place')
        """
        _, token, place, *_ = [*path.partition("?")[0].split("/", 2), "", ""]
        return token, place

    def headers(self, ancestors: str = "'self'") -> dict[str, str]:
        """Return the headers of an answer."""
        if self.framed:
            return HEADERS
        return {**HEADERS, "Content-Security-Policy": f"frame-ancestors {ancestors}"}


@contextmanager
def guarding(
    gate: Gate, answer: Callable[[str, dict[str, str]], tuple[bytes, str] | None]
) -> Iterator[None]:
    """Let a Viser server that is made meanwhile reject what comes from other pages.

    Viser says neither who may connect nor lets others say it; what it starts its WebSocket server
    with does. What that server would log is left out: that a browser has gone.
    """
    from websockets.asyncio import server as sockets
    from websockets.datastructures import Headers
    from websockets.http11 import Response

    plain, made = sockets.serve, []
    silent = logging.Logger("linkwright.studio.connections", logging.CRITICAL + 1)

    def serve(handler: Any, *places: Any, **options: Any) -> Any:
        def look(connection: Any, request: Any) -> Any:
            said, path = request.headers, request.path
            why = gate.refusal(path, said.get_all("Host"), said.get_all("Origin"))
            if why:
                return connection.respond(403, f"rejected: {why}\n")
            if said.get("Upgrade", "").lower() == "websocket":
                return None
            query = {k: v[0] for k, v in parse_qs(path.partition("?")[2]).items()}
            found = answer(gate.split(path)[1], query)
            if found is None:
                return connection.respond(404, "there is nothing here\n")
            content, kind = found
            info = {"Content-Type": kind, "Content-Length": str(len(content)), **gate.headers()}
            return Response(200, "OK", Headers(info | {"Connection": "close"}), content)

        made.append(True)
        return plain(handler, *places, **(options | {"process_request": look, "logger": silent}))

    names = vars(sockets)
    with _turn:
        names["serve"] = serve
        try:
            yield
        finally:
            names["serve"] = plain
    if not made:
        raise Error("this version of Viser cannot be guarded", remedy="use one from 1.1 on")
