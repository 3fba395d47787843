"""Live: run, pause, step, reset, speed; pull at a body, and push it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.algebra import ZERO
from linkwright.studio.desk import RUN, Desk, desk_of, guarded
from linkwright.studio.keys import add_key, also_key
from linkwright.studio.live import Live
from linkwright.studio.telling import only_words

if TYPE_CHECKING:
    from linkwright.studio.server import Studio

_WAITING = "**Run** derives and compiles the equations of motion, and starts."
_DERIVING = "*Deriving and compiling the equations of motion …*"
_PUSHES = {
    "along": {"+x": (0, 1), "+y": (1, 1), "+z": (2, 1)},
    "against": {"−x": (0, -1), "−y": (1, -1), "−z": (2, -1)},
}


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
    """Fill the tab; the run itself is made in the background."""
    gui = desk.server.gui
    status = gui.add_markdown(_WAITING)
    run = gui.add_button("Run", icon="player-play", color="green")
    row = gui.add_button_group("Run by hand", ("Step", "Reset"))
    speed = gui.add_slider(
        "Speed [×]", 0.05, 4.0, 0.05, 1.0, hint="Times the usual; the status tells the true pace"
    )
    follow = gui.add_checkbox("Camera goes along", desk.follows)
    if desk.walks:
        ground = gui.add_checkbox("Stands on the ground", True, hint="Without it, it falls")

        def stand() -> None:
            desk.grounded = bool(ground.value)
            if desk.live is not None:
                desk.live.set_ground(desk.grounded)

        ground.on_update(guarded(desk, stand))
    ready = _Ready(desk, status, run)
    run.on_click(guarded(desk, ready.toggle))

    def by_hand(event: Any) -> None:
        guarded(desk, ready.step if row.value == "Step" else ready.reset)(event)

    row.on_click(by_hand)

    def pace(event: Any) -> None:
        if desk.live is not None:
            desk.live.set_speed(float(speed.value) * desk.live.plant.speed)

    speed.on_update(pace)

    def go_along() -> None:
        desk.follows = bool(follow.value)

    follow.on_update(guarded(desk, go_along))

    _keys(desk, ready)
    with gui.add_folder("Pull and push"):
        _hand(desk)
    desk.every(0.2, ready.refresh)
    if desk.quick:
        desk.server.on_client_connect(lambda _: desk.prepare())


def _keys(desk: Desk, ready: _Ready) -> None:
    """Let keys run, step and reset; those that the recording has too act in a live run only."""
    studio = desk.studio
    add_key(studio, "L", "run or pause the live run", lambda _: ready.toggle())
    for key, words, act in (("N", "a step", ready.step), ("R", "reset", ready.reset)):
        if key not in studio.shared["keys"]:
            add_key(studio, key, f"{words} of the live run", partial(_always, act))
            continue
        also_key(studio, key, f"{words} of the live run", partial(_running, desk, act))


def _always(act: Callable[[], None], _event: Any) -> None:
    act()


def _running(desk: Desk, act: Callable[[], None], _event: Any) -> None:
    if desk.mode == RUN:
        act()


class _Ready:
    """The buttons of the run."""

    def __init__(self, desk: Desk, status: Any, run: Any) -> None:
        self.desk, self.status, self.run = desk, status, run
        self._text = ""

    def toggle(self) -> None:
        """Run or pause."""
        live = self.desk.live
        if live is None:
            self.desk.prepare(self.toggle)
        elif live.latest.running:
            live.pause()
        else:
            self.desk.take_over(RUN)
            live.play()
        self.refresh()

    def step(self) -> None:
        """Go on by one sample."""
        if self.desk.live is None:
            self.desk.prepare(self.step)
        else:
            self.desk.take_over(RUN)
            self.desk.live.step()

    def reset(self) -> None:
        """Start over."""
        if self.desk.live is None:
            self.desk.prepare(self.reset)
        else:
            self.desk.take_over(RUN)
            self.desk.live.reset()

    def refresh(self) -> None:
        """Show where the run stands."""
        text = self._words(self.desk.live)
        if text != self._text:
            self._text = text
            self.status.content = text
        live = self.desk.live
        if live is None:
            return
        label = "Pause" if live.latest.running else "Run"
        if self.run.label != label:
            self.run.label = label
            self.run.icon = "player-pause" if live.latest.running else "player-play"

    def _words(self, live: Live | None) -> str:
        if live is None:
            return only_words(self.desk.cannot) or (_DERIVING if self.desk.preparing else _WAITING)
        now = live.latest
        if now.stopped:
            return f"**Stopped**: {only_words(now.stopped)}. Reset to start over."
        state = "running" if now.running else "paused"
        if live.pushed and not now.running:
            state += ", a push waits for *Run*"
        places = 4 if live.plant.speed != 1 else 1 if now.running else 3  # steps are to be seen
        words = f"**t = {now.time:.{places}f} s**, {state}"
        if now.running and now.pace:
            words += f", {now.pace:.3g} × real time"
            if now.pace < 0.9 * live.speed:
                words += " (cannot keep up)"
        return words


def _hand(desk: Desk) -> None:
    gui, scene = desk.server.gui, desk.scene
    assert scene is not None
    m = scene.robot.mechanism
    bodies = [b.name for b in m.depth_first() if b.inertia.mass is not ZERO]
    if not bodies:
        gui.add_markdown("No body has mass: there is nothing to pull at.")
        return
    body = gui.add_dropdown(
        "Body", bodies, initial_value=bodies[0 if desk.walks else -1], hint="Or click on it"
    )
    hold = gui.add_checkbox("Hold it by a handle", False, hint="Drag the handle: a spring pulls")
    stiff = gui.add_slider(
        "Stiffness [Hz]", 0.2, 4.0, 0.1, 1.2, hint="Frequency of the spring with the whole mass"
    )
    impulse = gui.add_slider("Push [N·s]", 0.1, 50.0, 0.1, 5.0)
    groups = [gui.add_button_group(f"Push {w}", tuple(a)) for w, a in _PUSHES.items()]
    handle = _Handle(desk)

    def choose(event: Any) -> None:
        if hold.value:
            handle.hold(body.value)

    body.on_update(choose)

    def grasp(event: Any) -> None:
        guarded(desk, (lambda: handle.hold(body.value)) if hold.value else handle.drop)(event)

    hold.on_update(grasp)

    def stiffen(event: Any) -> None:
        if desk.live is not None:
            desk.live.pull_hertz = float(stiff.value)

    stiff.on_update(stiffen)

    def shove(axis: int, sign: int) -> None:
        vector = np.zeros(3)
        vector[axis] = sign * float(impulse.value)
        if desk.live is None:
            desk.prepare(lambda: shove(axis, sign))
        else:
            if desk.mode != RUN:
                desk.take_over(RUN)
            desk.live.push(body.value, desk.to_world(vector))

    for group, axes in zip(groups, _PUSHES.values(), strict=True):
        group.on_click(guarded(desk, lambda g=group, a=axes: shove(*a[g.value])))

    def chosen(name: str) -> None:
        if name in bodies:
            body.value = name

    desk.selected.append(chosen)
    desk.every(0.05, handle.refresh)


class _Handle:
    """A handle in the scene by which a body is pulled."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.control: Any = None
        self.line: Any = None
        self.body = ""

    def hold(self, body: str) -> None:
        """Show the handle at a body, and pull when it is moved."""
        self.drop()
        live = self.desk.live
        if live is None:
            self.desk.prepare(lambda: self.hold(body))
            return
        if self.desk.mode != RUN:
            self.desk.take_over(RUN)
        at = self.desk.to_picture(live.centre(body))
        self.body = body
        scene = self.desk.server.scene
        size = 0.18 * self.desk.size
        self.control = scene.add_transform_controls(
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
            if self.control is not None:
                live.pull(body, self.desk.to_world(np.array(self.control.position)))

        self.control.on_update(pulled)

    def drop(self) -> None:
        """Let go."""
        for part in (self.control, self.line):
            if part is not None:
                part.remove()
        self.control = self.line = None
        if self.desk.live is not None:
            self.desk.live.release()

    def refresh(self) -> None:
        """Draw the spring, and keep a handle that pulls nothing at its body."""
        live = self.desk.live
        if live is None or self.control is None or self.line is None:
            return
        at = self.desk.to_picture(live.centre(self.body))
        if not live.pulling:
            self.control.position = tuple(at)
        ends = np.array([[at, np.array(self.control.position)]], np.float32)
        self.line.points = ends
