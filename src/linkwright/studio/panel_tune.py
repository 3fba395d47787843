"""Tune: parameters of an axis while it runs, its steps, its sweeps with margins, and its gains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linkwright.base.errors import InputError
from linkwright.studio.cell_link import CellLink
from linkwright.studio.side_pages import Asked, add_page
from linkwright.studio.tuner import Tuner

if TYPE_CHECKING:
    from linkwright.studio.server import Studio

_SCRIPTS = ("signals.js", "plots.js", "tune.js")


def add(studio: Studio, tabs: Any, name: str) -> None:
    """Add the tab of a cell."""
    link = studio.link
    assert isinstance(link, CellLink)
    tuner = Tuner(link)
    axes = [axis for arm in link.cell.arms.values() for axis in arm.axes]

    def told(asked: Asked) -> dict[str, Any]:
        return tuner.told(str(asked.get("axis")))

    def state(asked: Asked) -> object:
        info = told(asked)
        if asked.get("number") == info["number"]:  # the page has the curves
            for part in ("steps", "sweep", "relay"):
                del info[part]
        return info

    def change(asked: Asked) -> object:
        values = asked.get("values")
        if not isinstance(values, dict) or not all(
            isinstance(v, int | float) and not isinstance(v, bool) for v in values.values()
        ):
            raise InputError("parameters are names with numbers")
        tuner.set_parameters(str(asked.get("axis")), values)
        return told(asked)

    def start(asked: Asked) -> object:
        tuner.start(str(asked.get("axis")), str(asked.get("test")), asked)
        return told(asked)

    def cancel(asked: Asked) -> object:
        tuner.cancel()
        return told(asked)

    add_page(
        studio,
        tabs,
        name,
        _SCRIPTS,
        ("cell.css",),
        axes=lambda _: {"axes": axes},
        state=state,
        set=change,
        start=start,
        cancel=cancel,
    )
