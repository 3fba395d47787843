"""The help sheet, under the tabs: mouse and keyboard, and what each tab is for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkwright.studio.server import Studio

SHEET = """
| key | does |
|---|---|
| Space | play or pause the recording |
| L | run or pause the live run |
| N | a single step of the live run |
| R | reset the live run |
| H | this sheet |
| Ctrl K | all commands |

| mouse | does |
|---|---|
| left drag | turn about the model |
| right drag | move sideways |
| wheel | nearer, farther |
| click on a body | choose it in *Live* and *Inspect* |
| drag a handle | pull at a body, or lead the tool |
| drag over a graph | zoom; double-click for all of it |

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

    def show(_event: Any) -> None:
        with gui.add_modal("Mouse, keys and tabs") as sheet:
            gui.add_markdown(SHEET)
            gui.add_button("Close").on_click(lambda _: sheet.close())

    gui.add_button(name, icon="help", color="gray").on_click(show)
    gui.add_command("Help", hotkey="H", icon="help").on_trigger(show)
