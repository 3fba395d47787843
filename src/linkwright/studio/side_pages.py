"""Pages of our own beside Viser's: a small server on this machine, one port further.

Viser's plots report nothing of where a user clicks, and its texts are not trees to choose from, so
the scope and the inspection are pages of our own (`assets`), shown in frames of the studio or in
windows of their own. They let in what the studio itself does (`linkwright.studio.access`), and
only its page may show them in frames. Each request is answered in a thread of its own; a browser
that stalls costs that thread only.
"""

from __future__ import annotations

import json
import math
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import parse_qs, quote, urlsplit

from linkwright.base.errors import Error, InputError
from linkwright.base.files import integer, parse_json
from linkwright.pages.assets_text import asset
from linkwright.studio.access import Gate

if TYPE_CHECKING:
    from linkwright.studio.server import Studio

FRAME = (
    "width:100%;height:calc(100vh - 9.5em);min-height:420px;border:0;border-radius:4px;"
    "display:block;color-scheme:normal"
)
"""The style of a frame that fills a tab."""

_LARGEST = 1 << 20  # bytes that are sent along with a question


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What a page sends."""

    query: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    def table(self) -> dict[str, Any]:
        """Return what was sent along, a JSON table.

        >>> PageRequest(body=b'{"a": 1}').table()
        {'a': 1}
        """
        try:
            info = parse_json(self.body or b"{}")
        except ValueError:
            raise InputError("what is asked is not JSON") from None
        if not isinstance(info, dict):
            raise InputError("what is asked is a table of names and values")
        return info


@dataclass(frozen=True, slots=True)
class Reply:
    """What a page gets."""

    content: bytes
    kind: str = "text/html; charset=utf-8"
    name: str = ""


Act: TypeAlias = Callable[[PageRequest], Reply]


Asked: TypeAlias = dict[str, Any]
"""What a page asks with, plain data."""


def number_in(asked: Asked, name: str) -> float:
    """Return a number that a page has sent.

    >>> number_in({"side": -1}, "side")
    -1.0
    """
    return finite(asked.get(name), name)


def finite(value: object, what: str) -> float:
    """Return what a page has sent if it is a finite number; JSON knows more than those."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"{what} is a finite number, not {value!r}")
    return float(value)


def text_in(asked: Asked, name: str) -> str:
    """Return a text that a page has sent.

    >>> text_in({"line": "st nod"}, "line")
    'st nod'
    """
    value = asked.get(name)
    if not isinstance(value, str):
        raise InputError(f"{name} is a text, not {value!r}")
    return value


def as_json(info: object) -> Reply:
    """Return plain data as a reply.

    >>> as_json([1]).content
    b'[1]'
    """
    return Reply(json.dumps(info, allow_nan=False).encode(), "application/json")


def add_page(
    studio: Studio,
    tabs: Any,
    title: str,
    scripts: Sequence[str],
    styles: Sequence[str] = (),
    *,
    kind: str | None = None,
    body: str | None = None,
    **answers: Callable[[Asked], object],
) -> SidePages:
    """Add a tab that is a page of our own; by name, what answers in plain data what it asks."""
    name, pages = title.lower(), side_pages_of(studio)
    pages.routes["GET", name] = assembled(name, scripts, styles, kind, body)
    for place, answer in answers.items():
        pages.routes["POST", f"{name}/{place}"] = partial(_answered, answer)
    with tabs.add_tab(title):
        studio.server.gui.add_html(pages.frame(name, title))
    return pages


def _answered(answer: Callable[[Asked], object], asked: PageRequest) -> Reply:
    return as_json(answer(asked.table()))


def assembled(
    name: str, scripts: Sequence[str], styles: Sequence[str], kind: str | None, body: str | None
) -> Act:
    """Return what gives a page beside the scene, with its scripts in it."""

    def give(_asked: PageRequest) -> Reply:
        parts = {
            "TITLE": name.capitalize(),
            "KIND": name if kind is None else kind,
            "BODY": f'<div id="{name}"></div>' if body is None else asset(body).rstrip(),
            "STYLE": "".join(map(asset, ("page.css", "plots.css", *styles, "touch.css"))),
            "SCRIPT": "\n".join(map(asset, ("keys.js", *scripts))),
        }
        pieces = asset("side.html").split("%%")
        return Reply("".join(parts[p] if k % 2 else p for k, p in enumerate(pieces)).encode())

    return give


class SidePages:
    """The server of the pages beside Viser's.

    `routes` says what answers a method and a place; `largest` how many bytes may be sent along to
    places where that is more than a question.
    """

    def __init__(self, gate: Gate, port: int = 0, around: int = 0) -> None:
        self.gate, self.token, self.around = gate, gate.token, around
        self.routes: dict[tuple[str, str], Act] = {}
        self.largest: dict[str, int] = {}
        self.closed = False
        handler = type("Handler", (_Handler,), {"owner": self})
        try:
            self._server = _Server((gate.served, port), handler)
        except (OSError, OverflowError):  # it is taken, or there is none beyond the last
            self._server = _Server((gate.served, 0), handler)
        self.host, self.port = gate.served, int(self._server.server_address[1])
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="linkwright pages", daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> str:
        """Where the pages are."""
        return f"http://{self.host}:{self.port}/{self.token}/"

    def frame(self, place: str, title: str) -> str:
        """Return a frame with a page, as HTML, from the host of the page around it."""
        go = (
            "<script>location.replace(parent.location.protocol+'//'+parent.location.hostname+"
            f"':{self.port}/{self.token}/{place}')</script>"
        )
        inner = go.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
        words = f'class="linkwright-{title.lower()}" title="{title}" srcdoc="{inner}"'
        return f'<iframe {words} style="{FRAME}"></iframe>'

    def close(self) -> None:
        """End it."""
        self.closed = True
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)


def side_pages_of(studio: Studio) -> SidePages:
    """Return the pages beside those of a studio, served since they were first asked for."""
    if not hasattr(studio, "pages"):
        studio.pages = SidePages(studio.gate, studio.port + 1, studio.port)
        studio.pages.routes["POST", "key"] = lambda asked: _press(studio, asked)
        studio.closers.append(studio.pages.close)
    return studio.pages


def _press(studio: Studio, asked: PageRequest) -> Reply:
    """Do what a key does in the studio: a frame keeps its keys from the page around it."""
    acts = studio.acts.get(str(asked.table().get("key")).lower(), ())
    client = next(iter(studio.server.get_clients().values()), None)
    for act in acts:
        act(SimpleNamespace(client=client))
    return as_json({"done": bool(acts)})


class _Server(ThreadingHTTPServer):
    """A server that does not determine in the terminal that a browser has gone."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report mistakes of ours only."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """One request; see `SidePages`."""

    owner: SidePages
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # the head and what follows leave together
    timeout = 300.0  # s, after which a browser that says nothing is taken to have gone

    def do_GET(self) -> None:
        """Give a page or a file."""
        self._do("GET")

    def do_POST(self) -> None:
        """Answer what a page asks."""
        self._do("POST")

    def _do(self, method: str) -> None:
        if self.owner.closed:  # a browser that has held the line since before
            self.close_connection = True
            return
        said = self.headers
        hosts, origins = said.get_all("Host", []), said.get_all("Origin", [])
        why = self.owner.gate.refusal(self.path, hosts, origins)
        if why:
            self._refuse(403, f"rejected: {why}")
            return
        _, place = self.owner.gate.split(self.path)
        act = self.owner.routes.get((method, place))
        if act is None:
            self._refuse(404, "there is nothing here")
            return
        query = {k: v[0] for k, v in parse_qs(self.path.partition("?")[2]).items()}
        try:
            self._send(200, act(PageRequest(query, self._body(place))))
        except (ConnectionError, TimeoutError):
            self.close_connection = True
        except Exception as error:
            words = str(error) if isinstance(error, Error) else f"{type(error).__name__}: {error}"
            if method == "POST":  # the page tells it
                self._send(200, as_json({"error": words}))
            else:
                self._send(400, Reply(words.encode(), "text/plain; charset=utf-8"))

    def _refuse(self, status: int, words: str) -> None:
        self.close_connection = True  # what was sent along has not been read
        self._send(status, Reply(words.encode(), "text/plain; charset=utf-8"))

    def _body(self, place: str) -> bytes:
        info = self.headers.get("Content-Length") or "0"
        size = integer(info)
        most = self.owner.largest.get(place, _LARGEST)
        if size is None or not 0 <= size <= most:
            self.close_connection = True
            raise InputError(
                f"{info[:20]} bytes cannot be sent here", remedy=f"send {most} at the most"
            )
        return self.rfile.read(size)

    def _send(self, status: int, reply: Reply) -> None:
        self.send_response(status)
        self.send_header("Content-Type", reply.kind)
        self.send_header("Content-Length", str(len(reply.content)))
        for name, value in self.owner.gate.headers(self._around()).items():
            self.send_header(name, value)
        if reply.name:
            saved = f"attachment; filename*=UTF-8''{quote(reply.name)}"
            self.send_header("Content-Disposition", saved)
        self.end_headers()
        self.wfile.write(reply.content)
        self.wfile.flush()

    def _around(self) -> str:
        """Return the page that may show this one in a frame: the studio's, by the same name."""
        try:
            name = urlsplit(f"//{self.headers.get('Host', '')}").hostname or ""
        except ValueError:
            name = ""
        plain = "".join(c for c in name if c.isalnum() or c in ".-:")
        host = f"[{plain}]" if ":" in plain else plain
        return f"http://{host}:{self.owner.around} https://{host}:{self.owner.around}"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing: nobody needs to see each request."""
