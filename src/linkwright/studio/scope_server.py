"""The scope's own page, beside Viser's: a small server on this machine, one port further.

Viser's plots tell nothing of where a user clicks, so the scope is a page of our own (`assets`),
shown in a frame of the studio or in a window of its own. Its address holds a random word, without
which nothing is answered: other pages in the browser cannot guess it. Each request is answered in a
thread of its own; a browser that stalls costs that thread only.
"""

from __future__ import annotations

import json
import secrets
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from linkwright.errors import Error, InputError
from linkwright.studio.charts import layout_picture
from linkwright.studio.scope_desk import ScopeDesk
from linkwright.studio.takes import is_recording

SAVED_AS = (".csv", ".npz", ".parquet", ".mcap", ".erd")
"""Formats in which the scope saves."""

_LARGEST = 1 << 30  # bytes of a recording that is opened
_SCRIPTS = ("signals.js", "plots.js", "scope.js", "served.js")


def scope_page() -> str:
    """Return the page."""
    assets = files(__package__).joinpath("assets")

    def asset(name: str) -> str:
        return assets.joinpath(name).read_text(encoding="utf-8")

    parts = {
        "STYLE": asset("page.css") + asset("plots.css") + asset("touch.css"),
        "SCRIPT": "\n".join(map(asset, _SCRIPTS)),
    }
    pieces = asset("scope.html").split("%%")
    return "".join(parts[p] if k % 2 else p for k, p in enumerate(pieces))


class ScopeServer:
    """The server of a scope's page.

    Args:
        scope: what it shows.
        host: address that it is served at.
        port: tried first; any that is free otherwise.
    """

    def __init__(self, scope: ScopeDesk, host: str, port: int = 0) -> None:
        self.scope, self.token = scope, secrets.token_urlsafe(12)
        handler = type("Handler", (_Handler,), {"owner": self})
        try:
            self._server = ThreadingHTTPServer((host, port), handler)
        except OSError:
            self._server = ThreadingHTTPServer((host, 0), handler)
        self._server.daemon_threads = True
        self.host, self.port = host, int(self._server.server_address[1])
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="linkwright scope", daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{self.host}:{self.port}/{self.token}/"

    def frame(self, style: str) -> str:
        """Return a frame with the page, as HTML; it is looked for where the page around it is from.

        Args:
            style: of the frame.
        """
        go = (
            "<script>location.replace(parent.location.protocol+'//'+parent.location.hostname+"
            f"':{self.port}/{self.token}/')</script>"
        )
        inner = go.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
        words = f'class="linkwright-scope" title="Scope" srcdoc="{inner}" style="{style}"'
        return f"<iframe {words}></iframe>"

    def close(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)


class _Handler(BaseHTTPRequestHandler):
    """One request; see `ScopeServer`."""

    owner: ScopeServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Give the page, a recording or a picture."""
        self._do({"": self._page, "save": self._save, "picture": self._picture})

    def do_POST(self) -> None:
        """Answer what the page asks."""
        self._do({"ask": self._ask, "open": self._open, "last": self._last})

    def _do(self, routes: dict[str, Any]) -> None:
        place = urlsplit(self.path)
        self.query = parse_qs(place.query)
        _, token, *rest = place.path.split("/", 2)
        route = routes.get(rest[0] if rest else "-")
        known = secrets.compare_digest(token.encode(), self.owner.token.encode())
        if not known or route is None:
            self.close_connection = True  # what was sent along has not been read
            self._send(404, "text/plain", b"there is nothing here")
            return
        try:
            route()
        except Error as error:
            self._send(400, "text/plain; charset=utf-8", str(error).encode())
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def _send(self, status: int, kind: str, content: bytes, name: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        if name:
            self.send_header("Content-Disposition", f"attachment; filename*=UTF-8''{quote(name)}")
        self.end_headers()
        self.wfile.write(content)

    def _body(self) -> bytes:
        size = int(self.headers.get("Content-Length") or 0)
        if not 0 <= size <= _LARGEST:
            self.close_connection = True
            raise InputError(f"{size} bytes are more than a recording may have here")
        return self.rfile.read(size)

    def _json(self, told: object) -> None:
        self._send(200, "application/json", json.dumps(told, allow_nan=False).encode())

    # -- routes ------------------------------------------------------------------------------------
    def _page(self) -> None:
        self._send(200, "text/html; charset=utf-8", scope_page().encode())

    def _ask(self) -> None:
        try:
            asked = json.loads(self._body() or b"{}")
        except ValueError:
            raise InputError("what is asked is no JSON") from None
        if not isinstance(asked, dict):
            raise InputError("what is asked is a table of names and values")
        self._json(self.owner.scope.answer(asked))

    def _save(self) -> None:
        suffix = self.query.get("as", [".csv"])[0]
        if suffix not in SAVED_AS:
            raise InputError(f"no recording ends in {suffix!r}", remedy=", ".join(SAVED_AS))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"scope{suffix}"
            self.owner.scope.whole().save(path)
            content = path.read_bytes()
        self._send(200, "application/octet-stream", content, f"scope{suffix}")

    def _picture(self) -> None:
        scope = self.owner.scope
        told = scope.answer({"points": 50, "stamp": ""})
        layout, title = scope.layout, scope.desk.name
        assert layout is not None
        text = layout_picture(scope.columns()[0], layout, tuple(told["window"]), title)
        self._send(200, "image/svg+xml", text.encode(), "scope.svg")

    def _open(self) -> None:
        name = Path(self.query.get("name", [""])[0].replace("\\", "/")).name
        content = self._body()
        if not is_recording(name):
            raise InputError(
                f"{name or 'a file without a name'} is no recording by its name",
                remedy="open a file that linkwright has saved, or one of SL's (d00001)",
            )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(content)
            self._json({"name": self.owner.scope.open(path)})

    def _last(self) -> None:
        self._body()
        self._json({"name": self.owner.scope.open_last()})

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing: what is asked is no news."""
