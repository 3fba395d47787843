"""The help sheet: mouse and keyboard, and what each tab is for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linkwright.studio.shortcuts import add_key, sheet

if TYPE_CHECKING:
    from linkwright.studio.server import Studio

SHEET = """
Keys work everywhere but where text is typed; in the scope + − 0 zoom, and M sets a marker.

| mouse | action |
|---|---|
| drag | orbit |
| right-drag | pan |
| scroll | zoom |
| click on a body | select it in *Live* and *Inspect* |
| drag a handle | pull a body, or move the tool |
| click in a graph | go to that time; with Shift: set the marker |
| drag over the timeline | choose what the graphs show; double-click for all |
| Ctrl-scroll in a graph | zoom |

**Play** shows a recording, **Live** runs the model in real time and lets you pull and push it,
**Parameters** changes parameters, gains and inputs while it runs, **Pose** sets joints and moves
the tool, **Scope** plots channels, **Inspect** shows bodies, equations and code.
"""


def add(studio: Studio, tabs: Any, name: str) -> None:
    """Add the key H, which the button in the bar over the scene presses."""
    gui = studio.server.gui
    open_now: dict[int, Any] = {}  # by the number of the browser that asked for it

    def show(event: Any) -> None:
        close(event)
        if event.client is None:
            return
        own = event.client.gui
        with own.add_modal("Shortcuts") as made:
            own.add_markdown(f"{sheet(studio)}\n{SHEET}")
            own.add_button("Close", hint="Or H, or Escape").on_click(close)
        open_now[event.client.client_id] = made

    def close(event: Any) -> None:
        found = None if event.client is None else open_now.pop(event.client.client_id, None)
        if found is not None:
            found.close()

    def turn(event: Any) -> None:
        shown = event.client is not None and event.client.client_id in open_now
        (close if shown else show)(event)

    add_key(studio, "H", "Shortcuts", turn)
    gui.add_command("Close the shortcuts", hotkey="escape").on_trigger(close)
