"""The help sheet: mouse and keyboard, and what each tab is for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linkwright.studio.shortcuts import add_key, sheet

if TYPE_CHECKING:
    from linkwright.studio.server import Studio

_CAMERA = """
Keys work everywhere but where text is typed; in the scope + − 0 zoom, and M sets a marker.

| mouse | action |
|---|---|
| drag | orbit |
| right-drag | pan |
| scroll | zoom |
"""
_GRAPHS = """| click in a graph | go to that time; with Shift: set the marker |
| drag over the timeline | choose what the graphs show; double-click for all |
| Ctrl-scroll in a graph | zoom |
"""
SHEET = f"""{_CAMERA}| click on a body | select it in *Live* and *Inspect* |
| drag a handle | pull a body, or move the tool |
{_GRAPHS}
**Play** shows a recording, **Live** runs the model in real time and lets you pull and push it,
**Parameters** changes parameters, gains and inputs while it runs, **Pose** sets joints and moves
the tool, **Scope** plots channels, **Inspect** shows bodies, equations and code.
"""
CELL_SHEET = f"""{_CAMERA}| hold − or + of an axis | jog it; letting go stops it |
{_GRAPHS}
**Stop** halts all arms at once, whoever commands them. **Cell** shows the arms, switches them and
jogs them: an axis moves only while its button is held. **Tune** changes the parameters of an axis
while it runs and measures its loop: steps, sweeps, relays. **Scope** plots positions, errors and
currents, how late the loop was and how old what we see is.
"""

LAB_SHEET = f"""{_CAMERA}{_GRAPHS}
**Freeze** ends the task and holds the posture, **Stop** takes the power off until *Reset*. **Lab**
has the tasks with their parameters, the recorder, the servos and the console: its commands are
those of the prompt, and `man` lists them. The gray robot is what is wanted. **Scope** plots joints.
"""

ROTATOR_SHEET = f"""{_CAMERA}{_GRAPHS}
**Stop** lets the mount stand, whoever drives it. **Rotator** sends it somewhere: the last command
counts, from the page or from the port. The orange line is its path in the sky, the blue one what
it looks along. **Scope** plots its angles.
"""
_SHEETS = {"CELL": CELL_SHEET, "LAB": LAB_SHEET, "ROTATOR": ROTATOR_SHEET}


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
            words = SHEET if studio.link is None else _SHEETS[studio.link.mode]
            own.add_markdown(f"{sheet(studio)}\n{words}")
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
