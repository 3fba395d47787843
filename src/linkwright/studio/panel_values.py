"""Values: parameters, gains and inputs of the live run, each with its unit and range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linkwright.base.errors import Error
from linkwright.studio.live_system import Adjustable
from linkwright.studio.messages import only_words, with_unit
from linkwright.studio.rows import live_tab
from linkwright.studio.state import PanelState, guarded

if TYPE_CHECKING:
    pass

_TITLES = {"input": "Inputs", "parameter": "Parameters"}
_MANY = 80
_START = "Start a live run to edit parameters: press **Run** in the tab Live."
_CHANGES = (
    "Changes apply immediately, in the live run; a recording in view stays as it is. "
    "*Reset* in the tab Live starts over."
)


def label_of(each: Adjustable) -> str:
    """Return the name of an adjustable below that of what it belongs to, with its unit.

    >>> label_of(Adjustable("ground.tangential_damping", "N*s/m", 1.0, 0.0, 3.0))
    'tangential damping [N·s/m]'
    """
    _, _, below = each.name.partition(".")
    return with_unit(below.replace("_", " "), each.unit) if below else each.label


def short(value: float) -> float:
    """Return a number that the field next to a slider can show whole: of six characters or fewer.

    >>> short(9.80665), short(10000.0), short(0.0123456)
    (9.807, 10000.0, 0.0123)
    """
    shown = [f"{value:.{digits}g}" for digits in (4, 3, 2)]
    return value if value == round(value) else float(min(shown, key=lambda s: max(len(s), 6)))


class ValuesPanel:
    """The sliders of the tab, made as soon as the run is."""

    def __init__(self, panels: PanelState) -> None:
        gui = panels.server.gui
        self.panels = panels
        self.words = gui.add_markdown(f"*{_START}*")
        self.refused = gui.add_markdown("", visible=False)
        self.command = gui.add_markdown("", visible=False)
        self.back = gui.add_button("Restore defaults", icon="restore", visible=False)
        self.back.on_click(guarded(panels, self.restore))
        self.place = gui.add_folder(None)
        self.sliders: dict[str, tuple[Adjustable, Any]] = {}
        self.made = False
        panels.every(0.3, self.refresh)

    def refresh(self) -> None:
        """Fill the tab as soon as the run is made, and show whether anything has been changed."""
        live = self.panels.live
        if live is None:
            if self.panels.maker.cannot:
                self.words.content = only_words(self.panels.maker.cannot)
            return
        if not self.made:
            self.made = True
            self._fill([a for a in live.plant.adjustables if a.kind != "target"])
        changed = {
            n: live.values[n] for n, (a, _) in self.sliders.items() if live.values[n] != a.value
        }
        for name, (each, slider) in self.sliders.items():
            wanted = label_of(each) + (" •" if name in changed else "")
            if slider.label != wanted:
                slider.label = wanted
        own = [f"--set {n}={v:.6g}" for n, v in changed.items() if "." not in n]
        info = f"`{' '.join(own)}`" if own else ""
        if self.command.content != info:
            self.command.content, self.command.visible = info, bool(info)
        if self.back.visible != bool(changed):
            self.back.visible = bool(changed)

    def _fill(self, shown: list[Adjustable]) -> None:
        gui = self.panels.server.gui
        self.words.content = _CHANGES if shown else "No adjustable parameters."
        groups: dict[str, list[Adjustable]] = {}
        for each in shown[:_MANY]:
            owner = each.name.partition(".")[0].capitalize() if "." in each.name else ""
            groups.setdefault(owner or _TITLES.get(each.kind, "Parameters"), []).append(each)
        with self.place:
            for title, group in groups.items():
                with gui.add_folder(f"{title} ({len(group)})"):
                    for each in group:
                        self._add(each)

    def _add(self, each: Adjustable) -> None:
        """Add a slider that changes a value of the live run."""
        slider = self.panels.server.gui.add_slider(
            label_of(each),
            each.low,
            each.high,
            (each.high - each.low) / 200,
            self._within(each, each.value),
            hint=f"{each.doc or each.name} (default {each.value:.6g})",
        )
        self.sliders[each.name] = each, slider

        def change(event: Any) -> None:
            if event.client is not None:  # what we set ourselves is no wish of a user's
                self.change(each.name, float(slider.value))

        slider.on_update(change)

    def change(self, name: str, value: float) -> None:
        """Change a value of the live run; what cannot be is reported here, and the slider goes
        back."""
        live = self.panels.live
        if live is None:
            return
        each, slider = self.sliders[name]
        try:
            live.set_value(name, value)
        except Error as error:
            slider.value = self._within(each, live.values[name])
            self._refuse(str(error))
        else:
            self._refuse("")

    @staticmethod
    def _within(each: Adjustable, value: float) -> float:
        """Return what a slider shows of a value."""
        return min(max(short(value), each.low), each.high)

    def _refuse(self, words: str) -> None:
        self.refused.content = f"⚠ **Not changed**: {only_words(words)}"
        self.refused.visible = bool(words)

    def restore(self) -> None:
        """Give all values back what they had at first."""
        live = self.panels.live
        if live is None:
            return
        live.set_parameters({name: each.value for name, (each, _) in self.sliders.items()})
        self._refuse("")
        for each, slider in self.sliders.values():
            slider.value = self._within(each, each.value)


add = live_tab(ValuesPanel)
