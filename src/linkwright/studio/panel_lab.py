"""Lab: the console of a laboratory, its tasks with sliders, its recorder, its servos in time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from linkwright.base.errors import InputError
from linkwright.studio.lab_link import LabLink
from linkwright.studio.lab_studio import LabShow
from linkwright.studio.shortcuts import add_key
from linkwright.studio.side_pages import Reply, as_json, assembled, side_pages_of
from linkwright.studio.state import panels_of

if TYPE_CHECKING:
    from linkwright.studio.server import Studio

FREEZE_KEY, STOP_KEY = "escape", "space"


def add(studio: Studio, tabs: Any, name: str) -> None:
    """Add the tab, where the studio is that of a laboratory."""
    link = studio.link
    if not isinstance(link, LabLink):
        return
    pages, panels = side_pages_of(studio), panels_of(studio)
    shown = LabShow(studio, link)
    pages.routes |= {
        ("GET", "lab"): assembled("lab", ("lab.js",), ("cell.css", "lab.css"), kind="cell lab"),
        ("POST", "lab/state"): lambda asked: _told(link, shown, asked.table()),
        ("POST", "lab/give"): lambda asked: _give(link, asked.table()),
        ("POST", "lab/reply"): lambda asked: _reply(link, asked.table()),
        ("POST", "lab/complete"): lambda asked: as_json(
            link.complete(_text(asked.table(), "line"))
        ),
    }
    with tabs.add_tab(name):
        studio.server.gui.add_html(pages.frame("lab", name))
    studio.keys[FREEZE_KEY] = "Freeze: hold the posture"
    studio.acts.setdefault(FREEZE_KEY, []).append(lambda _: link.freeze())  # within frames
    add_key(studio, STOP_KEY, "Stop", lambda _: link.halt(), line="Stop: take the power off")
    panels.every(0.0, shown.show)


def _told(link: LabLink, shown: LabShow, asked: dict[str, Any]) -> Reply:
    since = asked.get("since", 0)
    if isinstance(since, bool) or not isinstance(since, int | float) or not math.isfinite(since):
        raise InputError(f"since is the number of a line, not {since!r}")
    return as_json({**link.told(int(since)), "mistake": shown.mistake})


def _give(link: LabLink, asked: dict[str, Any]) -> Reply:
    link.give(_text(asked, "line"))
    return as_json({"given": True})


def _complete(link: LabLink, asked: dict[str, Any]) -> Reply:
    return as_json(link.complete(_text(asked, "line")))


def _reply(link: LabLink, asked: dict[str, Any]) -> Reply:
    link.reply(None if asked.get("text") is None else _text(asked, "text"))
    return as_json({"replied": True})


def _text(asked: dict[str, Any], name: str) -> str:
    found = asked.get(name)
    if not isinstance(found, str):
        raise InputError(f"{name} is a text, not {found!r}")
    return found
