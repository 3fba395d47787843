"""Values: parameters, gains and inputs of the live run, each with its unit and range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linkwright.studio.desk import Desk, desk_of, guarded
from linkwright.studio.plant import Adjustable
from linkwright.studio.telling import only_words

if TYPE_CHECKING:
    from linkwright.studio.server import Studio

_TITLES = {"gain": "Gains", "input": "Inputs", "parameter": "Parameters"}
_MANY = 80


def add(studio: Studio, tabs: Any, name: str) -> None:
    """Add the tab, where it applies.

    Args:
        studio: what it shows.
        tabs: where it goes.
        name: of the tab.
    """
    desk = desk_of(studio)
    if desk.runs:
        with tabs.add_tab(name):
            fill(desk)


def fill(desk: Desk) -> None:
    """Fill the tab as soon as the run is made."""
    gui = desk.server.gui
    words = gui.add_markdown(
        "*The values appear when the live run is ready: press **Run** in the tab Live.*"
    )
    place = gui.add_folder(None)
    made: list[bool] = []

    def refresh() -> None:
        live = desk.live
        if live is None:
            if desk.cannot:
                words.content = only_words(desk.cannot)
            return
        if made:
            return
        made.append(True)
        shown = [a for a in live.plant.adjustables if a.kind in _TITLES]
        words.content = (
            "Changes act at once. What is fixed at the start (loops, lengths of closed chains) "
            "follows after *Reset*."
            if shown
            else "This model has no parameters: all its numbers are fixed in the file."
        )
        with place:
            for kind, title in _TITLES.items():
                group = [a for a in shown if a.kind == kind][:_MANY]
                if group:
                    with gui.add_folder(f"{title} ({len(group)})"):
                        for each in group:
                            add_slider(desk, each)

    desk.every(0.3, refresh)


def add_slider(desk: Desk, each: Adjustable) -> Any:
    """Add a slider that changes a value of the live run.

    Args:
        desk: with the run.
        each: what it changes.
    """
    step = (each.high - each.low) / 200
    slider = desk.server.gui.add_slider(
        each.label,
        each.low,
        each.high,
        step,
        each.value,
        hint=f"{each.doc or each.name}: {each.value:.6g} at first",
    )

    def change() -> None:
        if desk.live is not None:
            desk.live.set_value(each.name, float(slider.value))

    slider.on_update(guarded(desk, change))
    return slider
