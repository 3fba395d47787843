"""Inspect: bodies, masses and frames, equations and their operations, C code, warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linkwright.studio.desk import Desk, desk_of, guarded
from linkwright.studio.inspecting import WHOLE, Inspection

if TYPE_CHECKING:
    from linkwright.studio.server import Studio

_VIEWS = ("Body", "Equations", "C code")


def add(studio: Studio, tabs: Any, name: str) -> None:
    """Add the tab, where it applies.

    Args:
        studio: what it shows.
        tabs: where it goes.
        name: of the tab.
    """
    desk = desk_of(studio)
    if desk.scene is not None:
        with tabs.add_tab(name):
            fill(desk)


def fill(desk: Desk) -> None:
    """Fill the tab; equations are derived when they are asked for."""
    gui, scene = desk.server.gui, desk.scene
    assert scene is not None
    seen = Inspection(scene.robot)
    warnings = [*scene.notes, *seen.warnings()]
    if warnings:
        with gui.add_folder(f"Warnings ({len(warnings)})"):
            gui.add_markdown("\n".join(f"- ⚠️ {w}" for w in warnings[:30]))
    with gui.add_folder("Tree", expand_by_default=len(seen.names) < 14):
        gui.add_markdown(seen.tree())
    body = gui.add_dropdown("Show", seen.names, initial_value=WHOLE, hint="Or click on a body")
    view = gui.add_button_group("View", _VIEWS)
    text = gui.add_markdown(seen.body(WHOLE))
    source = gui.add_html("", visible=False)
    now = {"view": "Body"}

    def show() -> None:
        source.visible = now["view"] == "C code"
        if now["view"] == "Body":
            text.content = seen.body(body.value)
            return
        text.content = "*Deriving the equations …*"
        if now["view"] == "Equations":
            text.content = "\n\n".join((seen.operations(body.value), seen.equations_of(body.value)))
        else:
            source.content = seen.c_code()
            text.content = "The program of all rates, as `linkwright write` would write it:"

    def look(event: Any) -> None:
        now["view"] = view.value
        guarded(desk, show)(event)

    view.on_click(look)

    body.on_update(guarded(desk, show))

    def chosen(name: str) -> None:
        if name in seen.names:
            body.value = name

    desk.selected.append(chosen)
