"""Lab: the console of a laboratory, its tasks with sliders, its recorder, its servos in time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linkwright.studio.lab_link import LabLink
from linkwright.studio.lab_studio import LabShow
from linkwright.studio.side_pages import Asked, add_page, finite, text_in
from linkwright.studio.state import panels_of

if TYPE_CHECKING:
    from linkwright.studio.server import Studio

FREEZE_KEY = "escape"


def add(studio: Studio, tabs: Any, name: str) -> None:
    """Add the tab of a laboratory."""
    link = studio.link
    assert isinstance(link, LabLink)
    shown = LabShow(studio, link)

    def state(asked: Asked) -> object:
        since = int(finite(asked.get("since", 0), "since"))
        return {**link.told(since), "mistake": shown.mistake}

    def give(asked: Asked) -> object:
        link.give(text_in(asked, "line"))
        return {"given": True}

    def reply(asked: Asked) -> object:
        link.reply(None if asked.get("text") is None else text_in(asked, "text"))
        return {"replied": True}

    add_page(
        studio,
        tabs,
        name,
        ("lab.js",),
        ("cell.css", "lab.css"),
        kind="cell lab",
        state=state,
        give=give,
        reply=reply,
        complete=lambda asked: link.complete(text_in(asked, "line")),
    )
    studio.keys[FREEZE_KEY] = "Freeze: hold the posture"
    studio.acts.setdefault(FREEZE_KEY, []).append(lambda _: link.acts["freeze"]())  # within frames
    panels_of(studio).every(0.0, shown.show)
