"""Cell: the arms of a cell that runs, their lamps, what switches them, and jogging by hand."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from linkwright.base.errors import InputError
from linkwright.studio.cell_link import CellLink
from linkwright.studio.cell_studio import CellShow
from linkwright.studio.jog import PAGE_SILENCE
from linkwright.studio.shortcuts import add_key
from linkwright.studio.side_pages import PageRequest, Reply, as_json, assembled, side_pages_of
from linkwright.studio.state import panels_of

if TYPE_CHECKING:
    from linkwright.studio.server import Studio

STOP_KEY = "space"


def add(studio: Studio, tabs: Any, name: str) -> None:
    """Add the tab, where the studio is that of a cell."""
    link = studio.link
    if not isinstance(link, CellLink):
        return
    pages, panels = side_pages_of(studio), panels_of(studio)
    pages.routes |= {
        ("GET", "cell"): assembled("cell", ("cell.js",), ("cell.css",)),
        ("POST", "cell/state"): lambda _: as_json(link.told()),
        ("POST", "cell/act"): lambda asked: _act(link, asked.table()),
        ("POST", "cell/hold"): lambda asked: _hold(link, asked.table()),
        ("POST", "cell/release"): lambda asked: _release(link, asked),
        ("POST", "cell/halt"): lambda _: _halt(link),
    }
    with tabs.add_tab(name):
        studio.server.gui.add_html(pages.frame("cell", name))
    add_key(studio, STOP_KEY, "Stop the cell", lambda _: link.halt(), line="Stop all arms (halt)")
    panels.every(0.0, CellShow(studio, link).show)
    panels.every(0.2 * PAGE_SILENCE, link.jog.watch)
    for motion in studio.motions:
        for note in motion.notes:
            panels.report(note)


def _act(link: CellLink, asked: dict[str, Any]) -> Reply:
    link.act(str(asked.get("arm")), str(asked.get("what")))
    return as_json(link.told())


def _halt(link: CellLink) -> Reply:
    link.halt()
    return as_json({"halted": True})


def _hold(link: CellLink, asked: dict[str, Any]) -> Reply:
    moves = link.jog.hold(
        str(asked.get("page")),
        int(_number(asked, "number")),
        str(asked.get("axis")),
        int(_number(asked, "side")),
        _number(asked, "speed"),
    )
    return as_json({"moves": moves, "why": link.jog.why})


def _release(link: CellLink, asked: PageRequest) -> Reply:
    table = asked.table()
    link.jog.release(str(table.get("page")), int(_number(table, "number")))
    return as_json({"moves": False})


def _number(asked: dict[str, Any], name: str) -> float:
    value = asked.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"{name} is a finite number, not {value!r}")
    return float(value)
