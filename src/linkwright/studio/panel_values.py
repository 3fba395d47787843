"""Values: parameters, gains and inputs of the live run, each with its unit and range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linkwright.errors import Error
from linkwright.studio.desk import Desk, desk_of, guarded
from linkwright.studio.plant import Adjustable
from linkwright.studio.telling import only_words

if TYPE_CHECKING:
    from linkwright.studio.server import Studio

_TITLES = {"gain": "Gains", "input": "Inputs", "parameter": "Parameters"}
_MANY = 80
_START = "Start a live run to edit parameters: press **Run** in the tab Live."
_CHANGES = (
    "Changes apply immediately, and the picture follows. *Reset* in the tab Live starts over."
)


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
            Values(desk)


class Values:
    """The sliders of the tab, made as soon as the run is.

    Args:
        desk: with the run.
    """

    def __init__(self, desk: Desk) -> None:
        gui = desk.server.gui
        self.desk = desk
        self.words = gui.add_markdown(f"*{_START}*")
        self.refused = gui.add_markdown("", visible=False)
        self.back = gui.add_button("Restore defaults", icon="restore", visible=False)
        self.back.on_click(guarded(desk, self.restore))
        self.place = gui.add_folder(None)
        self.sliders: dict[str, tuple[Adjustable, Any]] = {}
        self.made = False
        desk.every(0.3, self.refresh)

    def refresh(self) -> None:
        """Fill the tab as soon as the run is made, and show whether anything has been changed."""
        live = self.desk.live
        if live is None:
            if self.desk.cannot:
                self.words.content = only_words(self.desk.cannot)
            return
        if not self.made:
            self.made = True
            self._fill([a for a in live.plant.adjustables if a.kind in _TITLES])
        for name, (each, slider) in self.sliders.items():
            wanted = each.label if live.values[name] == each.value else f"{each.label} •"
            if slider.label != wanted:
                slider.label = wanted
        changed = any(live.values[n] != a.value for n, (a, _) in self.sliders.items())
        if self.back.visible != changed:
            self.back.visible = changed

    def _fill(self, shown: list[Adjustable]) -> None:
        gui = self.desk.server.gui
        self.words.content = _CHANGES if shown else "No adjustable parameters."
        with self.place:
            for kind, title in _TITLES.items():
                group = [a for a in shown if a.kind == kind][:_MANY]
                if group:
                    with gui.add_folder(f"{title} ({len(group)})"):
                        for each in group:
                            self._add(each)

    def _add(self, each: Adjustable) -> None:
        """Add a slider that changes a value of the live run."""
        slider = self.desk.server.gui.add_slider(
            each.label,
            each.low,
            each.high,
            (each.high - each.low) / 200,
            each.value,
            hint=f"{each.doc or each.name} (default {each.value:.6g})",
        )
        self.sliders[each.name] = each, slider

        def change(event: Any) -> None:
            if event.client is not None:  # what we set ourselves is no wish of a user's
                self.change(each.name, float(slider.value))

        slider.on_update(change)

    def change(self, name: str, value: float) -> None:
        """Change a value of the live run; what cannot be is told here, and the slider goes back.

        Args:
            name: of the adjustable.
            value: in its unit.
        """
        live = self.desk.live
        if live is None:
            return
        each, slider = self.sliders[name]
        try:
            live.set_value(name, value)
        except Error as error:
            slider.value = min(max(live.values[name], each.low), each.high)
            self._refuse(str(error))
        else:
            self._refuse("")

    def _refuse(self, words: str) -> None:
        self.refused.content = f"⚠ **Not changed**: {only_words(words)}"
        self.refused.visible = bool(words)

    def restore(self) -> None:
        """Give all values back what they had at first."""
        live = self.desk.live
        if live is None:
            return
        live.set_values({name: each.value for name, (each, _) in self.sliders.items()})
        self._refuse("")
        for each, slider in self.sliders.values():
            slider.value = each.value
