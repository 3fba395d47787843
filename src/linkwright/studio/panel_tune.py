"""Tune: parameters of an axis while it runs, its steps, its sweeps with margins, and its gains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linkwright.base.errors import InputError
from linkwright.studio.cell_link import CellLink
from linkwright.studio.side_pages import Reply, as_json, assembled, side_pages_of
from linkwright.studio.tuner import Tuner

if TYPE_CHECKING:
    from linkwright.studio.server import Studio

_SCRIPTS = ("signals.js", "plots.js", "tune.js")


def add(studio: Studio, tabs: Any, name: str) -> None:
    """Add the tab, where the studio is that of a cell."""
    link = studio.link
    if not isinstance(link, CellLink):
        return
    pages, tuner = side_pages_of(studio), Tuner(link)
    axes = [axis for arm in link.cell.arms.values() for axis in arm.axes]
    pages.routes |= {
        ("GET", "tune"): assembled("tune", _SCRIPTS, ("cell.css",)),
        ("POST", "tune/axes"): lambda _: as_json({"axes": axes}),
        ("POST", "tune/state"): lambda asked: _told(tuner, asked.table()),
        ("POST", "tune/set"): lambda asked: _set(tuner, asked.table()),
        ("POST", "tune/start"): lambda asked: _start(tuner, asked.table()),
        ("POST", "tune/cancel"): lambda asked: _cancel(tuner, asked.table()),
    }
    with tabs.add_tab(name):
        studio.server.gui.add_html(pages.frame("tune", name))


def _told(tuner: Tuner, asked: dict[str, Any]) -> Reply:
    told = tuner.told(str(asked.get("axis")))
    if asked.get("number") == told["number"]:  # the page has the curves
        for name in ("steps", "sweep", "relay"):
            del told[name]
    return as_json(told)


def _set(tuner: Tuner, asked: dict[str, Any]) -> Reply:
    axis, values = str(asked.get("axis")), asked.get("values")
    if not isinstance(values, dict) or not all(
        isinstance(v, int | float) and not isinstance(v, bool) for v in values.values()
    ):
        raise InputError("parameters are names with numbers")
    tuner.set_parameters(axis, values)
    return as_json(tuner.told(axis))


def _start(tuner: Tuner, asked: dict[str, Any]) -> Reply:
    axis = str(asked.get("axis"))
    tuner.start(axis, str(asked.get("test")), asked)
    return as_json(tuner.told(axis))


def _cancel(tuner: Tuner, asked: dict[str, Any]) -> Reply:
    tuner.cancel()
    return as_json(tuner.told(str(asked.get("axis"))))
