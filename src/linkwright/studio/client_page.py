"""The page that a browser gets: Viser's client with our title, icon and look, and a status bar.

Viser's page says "Viser" and shows nothing of what moves the scene. Ours is the same file with a
few lines more (`assets/front.css`, `assets/front.js`): the bar over the scene asks for the state of
the studio a few times a second, shows mode, time and pace in every tab, and says so when nobody
answers any more.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

from linkwright.base.errors import Error

State: TypeAlias = Callable[[dict[str, str]], dict[str, Any]]
HTML = "text/html; charset=utf-8"
ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E"
    "%3Cpath d='M7 25 15 9l10 7' fill='none' stroke='%232f6690' stroke-width='5' "
    "stroke-linecap='round' stroke-linejoin='round'/%3E"
    "%3Cg fill='%23fff' stroke='%23c8553d' stroke-width='3'%3E%3Ccircle cx='7' cy='25' r='4'/%3E"
    "%3Ccircle cx='15' cy='9' r='4'/%3E%3Ccircle cx='25' cy='16' r='4'/%3E%3C/g%3E%3C/svg%3E"
)
"""Two links and three joints."""


class Front:
    """What is served at the studio's address."""

    def __init__(
        self,
        client: Path,
        title: str,
        state: State,
        acts: Mapping[str, Callable[[], None]] | None = None,
    ) -> None:
        self.page = page_of(client.joinpath("index.html").read_text(encoding="utf-8"), title)
        self.state, self.acts = state, dict(acts or {})

    def answer(self, place: str, query: dict[str, str]) -> tuple[bytes, str] | None:
        """Return what is at a place, with its kind; None for nothing."""
        if place == "":
            return self.page, HTML
        if place == "state":
            return json.dumps(self.state(query), allow_nan=False).encode(), "application/json"
        if place in self.acts:
            self.acts[place]()
            return b"{}", "application/json"
        return None


def page_of(client: str, title: str) -> bytes:
    """Return Viser's page with our title, icon, style and script.

    >>> page = page_of('<head><link rel="icon" href="a"/><title>Viser</title></head>', "a <b>")
    >>> b"<title>a &lt;b&gt;</title>" in page, b'href="a"' in page, b"<style>" in page
    (True, False, True)
    """
    assets = files("linkwright.pages").joinpath("assets")
    style, script = (assets.joinpath(f"front.{k}").read_text("utf-8") for k in ("css", "js"))
    head = f"<style>{style}</style><script>{script}</script>"
    parts = (
        (r"<title>.*?</title>", f"<title>{html.escape(title)}</title>{head}"),
        (r'<link\s+rel="icon"\s+href="[^"]*"\s*/?>', f'<link rel="icon" href="{ICON}"/>'),
    )
    for pattern, ours in parts:
        found = re.search(pattern, client, re.S)
        if found is None:
            raise Error("this version of Viser has another page", remedy="use one from 1.1 on")
        client = client[: found.start()] + ours + client[found.end() :]
    return client.encode()
