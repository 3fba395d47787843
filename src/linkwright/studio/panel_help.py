"""The help sheet, under the tabs: mouse and keyboard, and what each tab is for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linkwright.studio.keys import add_key, sheet

if TYPE_CHECKING:
    from linkwright.studio.server import Studio

SHEET = """
Keys act everywhere but where text is typed; in the scope + − 0 zoom, and M sets a second cursor.

| mouse | does |
|---|---|
| left drag | turn about the model |
| right drag | move sideways |
| wheel | nearer, farther |
| click on a body | choose it in *Live* and *Inspect* |
| drag a handle | pull at a body, or lead the tool |
| click in a graph | go to that time; with Shift: a second cursor |
| drag over the bar of time | choose what the graphs show; double-click for all |
| Ctrl and wheel in a graph | zoom |

**Play** shows a recording, **Live** runs the model at the pace of the clock and lets you pull and
push, **Values** changes parameters, gains and inputs while it runs, **Joints** sets coordinates and
drags the tool, **Scope** plots channels, **Inspect** shows bodies, equations and code.
"""


def add(studio: Studio, tabs: Any, name: str) -> None:
    """Add a button below the tabs, and the key H.

    Args:
        studio: what it explains.
        tabs: where tabs go; it needs none.
        name: on the button.
    """
    gui = studio.server.gui
    open_now: dict[int, Any] = {}  # by the number of the browser that asked for it

    def show(event: Any) -> None:
        close(event)
        if event.client is None:
            return
        own = event.client.gui
        with own.add_modal("Mouse, keys and tabs") as made:
            own.add_button("Close", hint="Or H, or Escape").on_click(close)
            own.add_markdown(f"{sheet(studio)}\n{SHEET}")
        open_now[event.client.client_id] = made

    def close(event: Any) -> None:
        found = None if event.client is None else open_now.pop(event.client.client_id, None)
        if found is not None:
            found.close()

    def turn(event: Any) -> None:
        shown = event.client is not None and event.client.client_id in open_now
        (close if shown else show)(event)

    gui.add_button(name, icon="help", color="gray").on_click(show)
    add_key(studio, "H", "this sheet", turn)
    gui.add_command("Close the sheet", hotkey="escape").on_trigger(close)
