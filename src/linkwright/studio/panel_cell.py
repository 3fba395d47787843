"""Cell: the arms of a cell that runs, their lamps, what switches them, and jogging by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linkwright.studio.cell_link import CellLink
from linkwright.studio.jog import PAGE_SILENCE
from linkwright.studio.side_pages import Asked, add_page, number_in
from linkwright.studio.state import panels_of

if TYPE_CHECKING:
    from linkwright.studio.server import Studio


def add(studio: Studio, tabs: Any, name: str) -> None:
    """Add the tab of a cell."""
    link, panels = studio.link, panels_of(studio)
    assert isinstance(link, CellLink)
    jog = link.jog

    def act(asked: Asked) -> object:
        link.act(str(asked.get("arm")), str(asked.get("what")))
        return link.told()

    def hold(asked: Asked) -> object:
        number, side = int(number_in(asked, "number")), int(number_in(asked, "side"))
        axis, speed = str(asked.get("axis")), number_in(asked, "speed")
        moves = jog.hold(str(asked.get("page")), number, axis, side, speed)
        return {"moves": moves, "why": jog.why}

    def release(asked: Asked) -> object:
        jog.release(str(asked.get("page")), int(number_in(asked, "number")))
        return {"moves": False}

    def halt(_: Asked) -> object:
        link.halt()
        return {"halted": True}

    add_page(
        studio,
        tabs,
        name,
        ("cell.js",),
        ("cell.css",),
        state=lambda _: link.told(),
        act=act,
        hold=hold,
        release=release,
        halt=halt,
    )
    panels.every(0.2 * PAGE_SILENCE, jog.watch)
    for motion in studio.motions:
        for note in motion.notes:
            panels.report(note)
