"""What the panels of a studio share.

One of several things moves the scene at a time: a recording that is played, a live run, or a user
who sets joints. Whoever takes the scene names itself; the others stand back. A thread goes round
at most sixty times a second, shows the newest state and lets each panel refresh itself; the
live run never waits for it, and it never waits for a browser, whose messages are queued.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Container
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.formats.robot.description import Description
from linkwright.recording import Recording
from linkwright.scene.motions import SceneMotion
from linkwright.scene.previews import resting
from linkwright.scene.scene import Scene
from linkwright.scene.stance import Footing, footing_of, set_down
from linkwright.simulation.paced import Reached
from linkwright.studio.cameras import move_cameras
from linkwright.studio.live import Live
from linkwright.studio.live_system import plant_of
from linkwright.studio.messages import stopped_words

if TYPE_CHECKING:
    from linkwright.studio.server import Studio
    from linkwright.studio.viser_scene import Stage

Array: TypeAlias = NDArray[np.float64]
PLAYED, RUN, POSED = "played", "live", "posed"
WHOLE = "whole model"
"""What a camera follows of a model that travels."""
QUICK_SPEEDS = 16
"""Of a mechanism whose run is made as soon as someone looks."""

FASTEST = 60
"""Rounds in a second."""

UNSEEN = 15.0
"""Seconds without a browser after which a live run is paused."""

_RESHAPE = 0.1  # s between two changes of shapes
_AGAIN = 10.0  # s, after which the same trouble is told again
_REMEMBERED = 50  # troubles
_ON_ITS_WAY = 5.0  # s, for which a value that a user has set is waited for


@dataclass(eq=False)
class PanelState:
    """What panels share."""

    studio: Studio = field(repr=False)

    def __post_init__(self) -> None:
        studio = self.studio
        self.server = studio.server
        self.motions: list[SceneMotion] = studio.motions
        stage = studio.stage
        self.scene: Scene | None = None if stage is None else stage.scene
        self.name = studio.title if self.scene is None or studio.link else self.scene.name
        self.trouble: list[str] = []
        self._told: dict[str, float] = {}
        self.cannot = ""
        self.preparing = False
        self._waiting: list[Callable[[], None]] = []
        self.grounded = True
        self.followed = WHOLE if self._travels() else ""
        self._before: dict[int, Array] = {}
        self._turn = threading.Lock()
        self.live: Live | None = None
        self.mode = PLAYED
        self.q = resting(self.scene) if self.scene is not None else np.zeros(0)
        self.refreshers: list[tuple[float, Callable[[], None], list[float]]] = []
        self.selected: list[Callable[[str], None]] = []
        self.time = 0.0
        self._quit = threading.Event()
        self._seen: tuple[int, int] | None = None
        self._drawn: dict[str, float] | None = None
        self._reshaped = -np.inf
        self.footing: Footing | None = None
        self.speed: float | None = None
        self.unseen = self._met = False
        self._alone = 0.0
        self._thread: threading.Thread | None = None
        studio.player.listeners.append(self._played)
        studio.player.trouble = self.report
        if stage is not None:
            self.listen(stage)

    @property
    def runs(self) -> bool:
        """Whether there is something that could run live."""
        if self.studio.link is not None:  # which runs by itself
            return False
        return self.scene is not None and bool(self.scene.poses.coordinates)

    @property
    def size(self) -> float:
        """The size of what is drawn of the model, m: handles are a part of it."""
        return 1.0 if self.studio.stage is None else self.studio.stage.size

    @property
    def trouble_now(self) -> str:
        """What a user must know in whatever tab: that the run has stopped, or cannot be made."""
        if self.mode == RUN and self.live is not None and self.live.latest.stopped:
            return stopped_words(self.live.latest)
        return self.cannot

    @property
    def busy(self) -> bool:
        """Whether somebody waits for the live run, which is being made."""
        waited = self.preparing and bool(self._waiting)
        return waited and self.live is None and not self.cannot

    def set_speed(self, factor: float) -> None:
        """Let the live run go faster or slower, also before it is made."""
        self.speed = factor
        if self.live is not None:
            self.live.set_speed(factor)

    def listen(self, stage: Stage, nodes: Container[int] | None = None) -> None:
        """Take notice of clicks on bodies."""
        bodies = ["", *(b.name for b in stage.scene.robot.mechanism.depth_first())]
        for k, mesh in stage.meshes:
            if 0 < k < len(bodies) and (nodes is None or k in nodes):
                mesh.on_click(guarded(self, partial(self.select, bodies[k])))

    @property
    def quick(self) -> bool:
        """Whether the live run is made so soon that nobody needs to ask for it."""
        if self.scene is None:
            return False
        return len(self.scene.robot.mechanism.kinematics().speeds) <= QUICK_SPEEDS

    def prepare(self, then: Callable[[], None] | None = None) -> None:
        """Make the live run in a thread of its own, once."""
        with self._turn:
            there = self.live is not None
            if not there:
                self._waiting[:] = [then] if then is not None else self._waiting
                if self.preparing:
                    return
                self.preparing = True
        if there:
            if then is not None:
                then()
            return

        def make() -> None:
            self.make_live()
            with self._turn:
                wanted = self._waiting.copy() if self.live is not None else []
                self._waiting.clear()
            for each in wanted:
                guarded(self, each)(None)

        threading.Thread(target=make, name="linkwright build", daemon=True).start()

    def _travels(self) -> bool:
        """Return whether the mechanism can leave the place where it stands."""
        if self.scene is None:
            return False
        m = self.scene.robot.mechanism
        return any(len(b.translations) >= 2 and b.parent is m.ground for b in m.bodies.values())

    @property
    def walks(self) -> bool:
        """Whether it is a robot file with a free base, which stands on the ground when it runs."""
        scene = self.scene
        if scene is None or self.motions[0].system is not None:
            return False
        free = any(len(b.translations) == 3 for b in scene.robot.mechanism.bodies.values())
        return free and isinstance(scene.robot.source, Description) and scene.falls

    def make_live(self) -> None:
        """Derive, compile and start the live run; it stands still until someone runs it."""
        scene = self.scene
        assert scene is not None
        try:
            system = self.motions[0].system
            footing = footing_of(scene, self.studio.floor or 0.0) if self.walks else None
            self.footing = footing
            start = resting(scene) if footing is None else footing.start
            begin = dict(zip(scene.poses.coordinates, map(float, start), strict=True))
            plant = plant_of(system or scene.robot, begin, scene.poses.values, footing)
            made = Live(plant, scene)
            made.set_ground(self.grounded)
            made.set_speed(self.speed or made.speed)
        except Exception as error:
            self.cannot = f"Cannot run live: {error}"
            self.preparing = False
            return
        with self._turn:
            if not self._quit.is_set():  # else the studio has been closed meanwhile
                made.start()
                self.live = made

    def show(self, q: Array) -> None:
        """Draw the scene at some coordinates."""
        stage, scene = self.studio.stage, self.scene
        if stage is not None and scene is not None:
            own = self.live is None or self.mode == PLAYED
            poses = scene.poses if own or self.live is None else self.live.poses
            stage.show(poses(q))

    @property
    def values(self) -> dict[str, float]:
        """The parameters that the scene is drawn with: of the live run, but for what is played."""
        own = self._scene_values()
        return own if self.live is None or self.mode == PLAYED else own | self.live.parameters

    def _scene_values(self) -> dict[str, float]:
        assert self.scene is not None
        m = self.scene.robot.mechanism
        own = {n: float(v) for n, v in m.values.items() if n in m.parameters}
        radii = {w.parameter: w.radius for w in self.scene.wheels if w.parameter}
        return own | dict(self.scene.poses.values) | radii

    def reshape(self, now: float) -> None:
        """Let the shapes follow the parameters, a few times a second while a user changes them."""
        stage = self.studio.stage
        if stage is None or self.live is None or now - self._reshaped < _RESHAPE:
            return
        values, drawn = self.values, self._drawn or self._scene_values()
        if values == drawn:
            return
        self._reshaped, self._drawn = now, values
        scene = (stage.worn or stage.scene).with_values(values)
        nodes = stage.reshape(scene)
        self.listen(stage, nodes)
        if self.mode != PLAYED:
            self.show(self.q)

    def _played(self, t: float) -> None:
        """Take notice that the player shows a time."""
        if self.mode == RUN and self.live is not None:
            self.live.pause()
        self.mode, self.time = PLAYED, t
        track = self.motions[0]
        if track.q is not None and len(track.q):
            k = int(np.clip(np.searchsorted(track.recording.times, t), 0, len(track.q) - 1))
            self.q = np.asarray(track.q[k], float)

    def to_picture(self, point: Array) -> Array:
        """Return a point of the world in the axes of the picture."""
        return np.asarray(point if self.scene is None else self.scene.upright @ point)

    def to_world(self, point: Array) -> Array:
        """Return a point of the picture in the axes of the world."""
        return np.asarray(point if self.scene is None else self.scene.upright.T @ point)

    def every(self, seconds: float, refresh: Callable[[], None]) -> None:
        """Call a function again and again."""
        self.refreshers.append((seconds, refresh, [0.0]))

    def take_over(self, mode: str) -> None:
        """Let one source move the scene."""
        if self.mode == RUN and mode != RUN and self.live is not None:
            self.live.pause()
        self.studio.player.playing = False
        if mode != self.mode and self.studio.marks is not None:
            self.studio.marks.clear()
        self.mode = mode
        self._seen, self._before = None, {}

    def pose(self, q: Array) -> None:
        """Show coordinates that a user has set."""
        self.take_over(POSED)
        self.q = np.asarray(q, float)
        self.show(self.q)

    def run_from_here(self) -> None:
        """Let the live run move the scene, from the pose that a user has set if there is one."""
        live, scene = self.live, self.scene
        assert live is not None
        assert scene is not None
        posed = self.mode == POSED
        self.take_over(RUN)
        if posed:
            footing = self.footing if self.grounded else None
            live.start_at(self.q if footing is None else set_down(scene, footing, self.q))

    def select(self, body: str) -> None:
        """Tell the panels that a user has clicked on a body."""
        for info in self.selected:
            info(body)

    def recording(self) -> Recording:
        """Return the channels to plot: of the live run when it moves the scene, else of a take."""
        if self.live is not None and self.mode == RUN:
            return self.live.recent()
        return self.motions[0].recording

    # -- going round -------------------------------------------------------------------------------
    def start(self) -> None:
        """Start the thread that shows the newest state."""
        self._thread = threading.Thread(target=self._loop, name="linkwright panels", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the threads."""
        self._quit.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
        with self._turn:
            live = self.live
        if live is not None:
            live.close()

    def _loop(self) -> None:
        while not self._quit.wait(1 / FASTEST):
            self.go_round(time.monotonic())

    def go_round(self, now: float) -> None:
        """Show the newest state of the live run, and refresh panels whose time has come."""
        self._try(self.show_live)
        self._try(lambda: self.reshape(now))
        self._try(lambda: self.rest(now))
        for period, refresh, last in tuple(self.refreshers):
            if now - last[0] >= period:
                last[0] = now
                self._try(refresh)

    def rest(self, now: float) -> None:
        """Pause a live run that nobody has looked at for a while."""
        live = self.live
        if self.server.get_clients() or not self._met:
            self._met, self._alone = self._met or bool(self.server.get_clients()), now
            self.unseen = self.unseen and live is not None and not live.latest.running
        elif live is not None and live.latest.running and now - self._alone > UNSEEN:
            live.pause()
            self.unseen = True

    def _try(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:  # one panel's trouble must not stop the others
            self.report(f"{type(error).__name__}: {error}")

    def show_live(self) -> None:
        """Draw where the live run stands, if that is new."""
        live = self.live
        if live is None or self.mode != RUN:
            return
        reached = live.latest
        if (reached.tick, reached.epoch) == self._seen:
            return
        self._seen = (reached.tick, reached.epoch)
        self.time = reached.time
        self.q = live.coordinates(reached)
        self.show(self.q)
        self._show_forces(live, reached)
        self.move_cameras()

    def _show_forces(self, live: Live, reached: Reached) -> None:
        """Draw the forces of the state that is shown."""
        stage, marks = self.studio.stage, self.studio.marks
        if stage is None or marks is None or stage.poses is None:
            return
        found = live.forces(reached, stage.poses)
        if found is None:
            marks.clear()
        else:
            marks.show(*found)

    def center(self, q: Array) -> Array:
        """Return the center of mass of the scene at some coordinates, in world axes, m."""
        assert self.scene is not None
        own = self.live is None or self.mode == PLAYED
        poses = self.scene.poses if own or self.live is None else self.live.poses
        return self.to_picture(poses(q).center)

    def follow_with_cameras(self, what: str) -> None:
        """Let the cameras go along with a body, with the whole model, or with nothing ("")."""
        self.followed, self._before = what, {}

    def move_cameras(self) -> None:
        """Move the cameras along with what they follow; the whole model is its mass center."""
        stage = self.studio.stage
        if not self.followed or stage is None:
            return
        whole = self.followed == WHOLE
        now = stage.mass_center if whole else stage.position(stage.scene.index(self.followed))
        self._before = move_cameras(self.server.get_clients(), now, self._before, self.size)

    def report(self, words: str) -> None:
        """Tell the user of trouble; the same again only after some seconds."""
        now = time.monotonic()
        before = self._told.pop(words, -np.inf)
        if now - before < _AGAIN:
            self._told[words] = before
            return
        self._told[words] = now
        self.trouble = [*self.trouble[-_REMEMBERED:], words]
        for old in list(self._told)[:-_REMEMBERED]:
            del self._told[old]
        for client in self.server.get_clients().values():
            client.add_notification("Error", words, color="red")


def panels_of(studio: Studio) -> PanelState:
    """Return what the panels of a studio share, made and started when it is first asked for."""
    if not hasattr(studio, "panels"):
        studio.panels = PanelState(studio)
        studio.closers.append(studio.panels.close)
        studio.panels.start()
    return studio.panels


class Control:
    """A control that shows our value and takes a user's, which we do not overwrite unread.

    viser tells of a change in another thread, some time after the control took it: a value that is
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


def guarded(panels: PanelState, act: Callable[..., Any]) -> Callable[[Any], None]:
    """Return a callback whose errors are shown to the user."""

    def call(_event: Any) -> None:
        try:
            act()
        except Exception as error:
            panels.report(str(error))

    return call
