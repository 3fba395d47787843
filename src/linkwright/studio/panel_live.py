"""Live: run, pause, step, reset, speed; pull at a body, and push it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.algebra import ZERO
from linkwright.studio.live import Live
from linkwright.studio.live_system import speed_of
from linkwright.studio.messages import only_words, stopped_words
from linkwright.studio.playback import SPEEDS
from linkwright.studio.rows import Rows, live_tab
from linkwright.studio.shortcuts import add_key, also_key
from linkwright.studio.state import RUN, PanelState, guarded
from linkwright.studio.status import DERIVING, pace_of, places

if TYPE_CHECKING:
    pass

_WAITING = "Press **Run** to build and start the simulation."
_SLOWEST, _FASTEST = 0.01, 10.0  # times real time


@live_tab
def add(panels: PanelState) -> None:
    """Fill the tab; the run itself is made in the background."""
    gui, rows, scene = panels.server.gui, Rows(panels.studio), panels.scene
    assert scene is not None
    status = gui.add_markdown(_WAITING)
    run = gui.add_button("Run", icon="player-play", color="green")
    ready = _Ready(panels, status, run)
    run.on_click(guarded(panels, ready.toggle))
    rows.buttons("Simulation", {"Step": ready.step, "Reset": ready.reset})
    usual = speed_of(scene.robot.mechanism)
    speeds = sorted({usual, *(k for k in SPEEDS if _SLOWEST <= k <= _FASTEST)})
    rows.speed(speeds, usual, panels.set_speed)
    if panels.walks:
        rows.box("Ground contact", True, panels.set_ground, hint="Off: the robot falls freely")
    _keys(panels, ready)
    with gui.add_folder("Apply forces"):
        _hand(panels, rows)
    panels.every(0.2, ready.refresh)
    if panels.quick:
        panels.server.on_client_connect(lambda _: panels.maker.prepare())


def _keys(panels: PanelState, ready: _Ready) -> None:
    """Let keys run, step and reset; those that the recording has too act in a live run only."""
    studio = panels.studio
    add_key(studio, "L", "Run or pause the live run", lambda _: ready.toggle())
    for key, words, act in (("N", "Step", ready.step), ("R", "Reset", ready.reset)):
        known = key in studio.keys

        def press(_: Any, act: Callable[[], None] = act, known: bool = known) -> None:
            if not known or panels.mode == RUN:
                act()

        (also_key if known else add_key)(studio, key, f"{words} the live run", press)


class _Ready:
    """The buttons of the run."""

    def __init__(self, panels: PanelState, status: Any, run: Any) -> None:
        self.panels, self.status, self.run = panels, status, run
        self._text = ""

    def toggle(self) -> None:
        """Run or pause."""
        live = self.panels.live
        if live is None:
            self.panels.maker.prepare(self.toggle)
        elif live.latest.running:
            live.pause()
        else:
            self.panels.run_from_here()
            live.play()
        self.refresh()

    def step(self) -> None:
        """Go on by one sample."""
        if self.panels.live is None:
            self.panels.maker.prepare(self.step)
        else:
            self.panels.run_from_here()
            self.panels.live.step()

    def reset(self) -> None:
        """Start over."""
        if self.panels.live is None:
            self.panels.maker.prepare(self.reset)
        else:
            self.panels.take_over(RUN)
            self.panels.live.reset()

    def refresh(self) -> None:
        """Show where the run stands."""
        text = self._words(self.panels.live)
        if text != self._text:
            self._text = text
            self.status.content = text
        live = self.panels.live
        if live is None:
            busy = self.panels.maker.busy
            self._button("Building …" if busy else "Run", disabled=busy)
            return
        self._button("Pause" if live.latest.running else "Run", disabled=False)

    def _button(self, label: str, *, disabled: bool) -> None:
        """Show what a press would do; while the run is made it would do nothing."""
        if (self.run.label, self.run.disabled) != (label, disabled):
            self.run.label, self.run.disabled = label, disabled
            icons = {"Run": "player-play", "Pause": "player-pause", "Building …": "loader"}
            self.run.icon = icons[label]

    def _words(self, live: Live | None) -> str:
        if live is None:
            maker = self.panels.maker
            return only_words(maker.cannot) or (DERIVING if maker.busy else _WAITING)
        now = live.latest
        if now.stopped:
            return f"⚠ {only_words(stopped_words(now))}"
        state = pace_of(live, now) or "running"
        if self.panels.audience.unseen:
            state += ", because nobody was looking"
        if live.pushed and not now.running:
            state += ", an impulse waits for *Run*"
        return f"**t = {now.time:.{places(live) + (not now.running)}f} s**, {state}"


def _hand(panels: PanelState, rows: Rows) -> None:
    gui, scene = panels.server.gui, panels.scene
    assert scene is not None
    m = scene.robot.mechanism
    bodies = [b.name for b in m.depth_first() if b.inertia.mass is not ZERO]
    if not bodies:
        gui.add_markdown("No body has mass, so no force can be applied.")
        return
    handle = _Handle(panels)

    def grasp(_: object) -> None:
        if hold.value:
            handle.hold(body.value)
        else:
            handle.drop()

    def choose(_: object) -> None:
        if hold.value:
            handle.hold(body.value)

    def stiffen(_: Any) -> None:
        if panels.live is not None:
            panels.live.pull_hertz = float(stiff.value)

    def shove(axis: int, sign: int) -> None:
        if panels.live is None:
            panels.maker.prepare(partial(shove, axis, sign))
            return
        if panels.mode != RUN:
            panels.take_over(RUN)
        vector = sign * float(impulse.value) * np.eye(3)[axis]
        panels.live.push(body.value, panels.to_world(vector))

    first = bodies[0 if panels.walks else -1]
    body = rows.choice("Body", bodies, first, choose, hint="Or click on it")
    hold = rows.box("Show drag handle", False, grasp, hint="Drag to pull the body with a spring")
    stiff = gui.add_slider(
        "Spring [Hz]", 0.2, 4.0, 0.1, 1.2, hint="Frequency of the spring with the whole mass"
    )
    stiff.on_update(stiffen)
    impulse = gui.add_slider("Impulse [N·s]", 0.1, 50.0, 0.1, 5.0)
    for word, sign in (("+", 1), ("−", -1)):
        rows.buttons(
            f"Impulse {word}", {f"{word}{c}": partial(shove, k, sign) for k, c in enumerate("xyz")}
        )

    def chosen(name: str) -> None:
        if name in bodies:
            body.value = name

    panels.selected.append(chosen)
    panels.every(0.05, handle.refresh)


class _Handle:
    """A handle in the scene by which a body is pulled."""

    def __init__(self, panels: PanelState) -> None:
        self.panels = panels
        self.control: Any = None
        self.line: Any = None
        self.body = ""
        self._lock = threading.RLock()  # the page's events come from several threads

    def hold(self, body: str) -> None:
        """Show the handle at a body, and pull when it is moved."""
        self.drop()
        live = self.panels.live
        if live is None:
            self.panels.maker.prepare(lambda: self.hold(body))
            return
        if self.panels.mode != RUN:
            self.panels.take_over(RUN)
        at = self.panels.to_picture(live.center(body))
        self.body = body
        scene = self.panels.server.scene
        size = 0.18 * self.panels.size
        self.control = control = scene.add_transform_controls(
            "/handle", scale=size, disable_rotations=True, depth_test=False, position=tuple(at)
        )
        self.line = scene.add_line_segments(
            "/pull",
            np.array([[at, at]], np.float32),
            (232, 113, 10),
            thickness=2.5,
            thickness_units="screen",
        )

        def pulled(event: Any) -> None:
            with self._lock:
                if self.control is control:  # not one that came after it was let go
                    live.pull(body, self.panels.to_world(np.array(control.position)))

        control.on_update(pulled)

    def drop(self) -> None:
        """Let go."""
        with self._lock:
            for part in (self.control, self.line):
                if part is not None:
                    part.remove()
            self.control = self.line = None
            if self.panels.live is not None:
                self.panels.live.release()

    def refresh(self) -> None:
        """Draw the spring, and keep a handle that pulls nothing at its body."""
        with self._lock:
            live = self.panels.live
            if live is None or self.control is None or self.line is None:
                return
            at = self.panels.to_picture(live.center(self.body))
            if not live.pulling:
                self.control.position = tuple(at)
            ends = np.array([[at, np.array(self.control.position)]], np.float32)
            self.line.points = ends
