"""Controls of a tab, laid out one under the other: what a panel says is what each shows and does.

This is the one place where panels meet Viser's controls. An act gets the value that a user has
chosen; what goes wrong in it is reported to the user. A control with a key does by it what a hand
would
do: it is turned on and off, or goes on to the next that can be chosen.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from linkwright.studio.shortcuts import add_key
from linkwright.studio.state import PanelState, guarded, panels_of

if TYPE_CHECKING:
    from linkwright.studio.server import Studio

_ON_ITS_WAY = 5.0  # s, for which a value that a user has set is waited for


class Rows:
    """The controls of a tab, or of a folder in one."""

    def __init__(self, studio: Studio) -> None:
        self._studio, self.gui, self._panels = studio, studio.server.gui, panels_of(studio)

    def _does(self, handle: Any, act: Callable[[Any], object]) -> Any:
        handle.on_update(guarded(self._panels, lambda: act(handle.value)))
        return handle

    def _by_key(self, key: str, words: str, turn: Callable[[], None]) -> None:
        if key:
            add_key(self._studio, key, words, lambda _: turn())

    def box(
        self, label: str, on: bool, act: Callable[[bool], object], *, key: str = "", hint: str = ""
    ) -> Any:
        """Add a box that is turned on and off."""
        handle = self._does(self.gui.add_checkbox(label, on, hint=hint or None), act)

        def turn() -> None:
            handle.value = not handle.value

        self._by_key(key, label, turn)
        return handle

    def choice(
        self,
        label: str,
        options: Sequence[str],
        first: str,
        act: Callable[[str], object],
        *,
        key: str = "",
        words: str = "",
        hint: str = "",
    ) -> Any:
        """Add a list of which one is chosen."""
        made = self.gui.add_dropdown(label, options, initial_value=first, hint=hint or None)
        handle = self._does(made, act)

        def turn() -> None:
            names = list(handle.options)
            handle.value = names[(names.index(handle.value) + 1) % len(names)]

        self._by_key(key, words, turn)
        return handle

    def speed(self, speeds: Sequence[float], first: float, act: Callable[[float], object]) -> Any:
        """Add a list of speeds, as times real time."""
        return self.choice(
            "Speed",
            [f"{k:g}×" for k in speeds],
            f"{first:g}×",
            lambda chosen: act(float(chosen.rstrip("×"))),
            hint="Times real time: 0.1× shows a second in ten seconds",
        )

    def buttons(self, label: str, acts: Mapping[str, Callable[[], object]]) -> Any:
        """Add buttons beside each other."""
        handle = self.gui.add_button_group(label, tuple(acts))
        handle.on_click(guarded(self._panels, lambda: acts[handle.value]()))
        return handle

    def button(self, label: str, act: Callable[[], object], **looks: Any) -> Any:
        """Add a button."""
        handle = self.gui.add_button(label, **looks)
        handle.on_click(guarded(self._panels, act))
        return handle


def live_tab(fill: Callable[[PanelState], object]) -> Callable[[Studio, Any, str], None]:
    """Return what adds a tab where something could run live, from what fills it."""

    def add(studio: Studio, tabs: Any, name: str) -> None:
        panels = panels_of(studio)
        if panels.runs:
            with tabs.add_tab(name):
                fill(panels)

    return add


class Control:
    """A control that shows our value and takes a user's, which we do not overwrite unread.

    viser reports a change in another thread, some time after the control took it: a value that is
    not the one that was shown is on its way. The control takes it in the thread of viser's loop,
    where ours is shown too: none comes between a look at the value and its change.
    """

    def __init__(self, handle: Any, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self.handle = handle
        self._loop = loop
        self._known = handle.value
        self._since = 0.0  # when a value of a user was first seen that nobody has taken yet

    def show(self, value: float) -> None:
        """Show a value of ours, unless a user's is on its way; after a while that user has left."""
        if self._loop is None:
            self._show(value)
        else:
            with suppress(RuntimeError):  # the server is closed
                self._loop.call_soon_threadsafe(self._show, value)

    def _show(self, value: float) -> None:
        if self.handle.value == self._known:
            self._since = 0.0
            self.handle.value = self._known = value
            return
        self._since = self._since or time.monotonic()
        if time.monotonic() - self._since > _ON_ITS_WAY:
            self._known = self.handle.value

    def take(self) -> float:
        """Return the value of the user."""
        value = self._known = self.handle.value
        return float(value)
