"""What the panels of a studio share: what moves the scene, and how it is drawn.

What holds, from whatever thread it is looked at:

- One thing moves the scene, `mode`: a recording that is played (`PLAYED`), the live run (`RUN`), or
  a user who sets joints (`POSED`). Whoever takes it calls `take_over`, or moves the player. A live
  run that has lost the scene is paused; the player stops as soon as another has it.
- `q` and `time` are those of the scene as it is shown. It is drawn with the parameters `values`:
  those of the live run, but for what is played, which is drawn with its own.
- There is a live run or there is none yet: `LiveMaker` makes it once, in the background.
- What is done again and again is done by one thread (`Rounds`); nothing here waits for a browser.
- Points that browsers send are of the picture; all others are of the world (`to_world`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.formats.robot.description import Description
from linkwright.recording import Recording
from linkwright.scene.motions import SceneMotion
from linkwright.scene.poses import Poses
from linkwright.scene.previews import resting
from linkwright.scene.scene import Scene
from linkwright.scene.stance import Footing, footing_of, set_down
from linkwright.studio.cameras import WHOLE, Cameras
from linkwright.studio.live import Live
from linkwright.studio.live_maker import LiveMaker
from linkwright.studio.live_system import plant_of
from linkwright.studio.messages import stopped_words
from linkwright.studio.rounds import Audience, Notices, Rounds

if TYPE_CHECKING:
    from linkwright.studio.server import Studio
    from linkwright.studio.viser_scene import Stage

Array: TypeAlias = NDArray[np.float64]
PLAYED, RUN, POSED = "played", "live", "posed"
QUICK_SPEEDS = 16
"""Of a mechanism whose run is made as soon as someone looks."""

_RESHAPE = 0.1  # s between two changes of shapes


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

        # what moves the scene, and where it is shown
        self.mode = PLAYED
        self.q = resting(self.scene) if self.scene is not None else np.zeros(0)
        self.time = 0.0
        self._seen: tuple[int, int] | None = None  # tick and epoch of the live run, as drawn
        self._drawn: dict[str, float] | None = None  # parameters that the shapes have

        # the live run, and what users wish of it before it is made
        self.maker = LiveMaker(self._built, self.report)
        self.grounded, self.speed = True, 0.0  # the speed is the usual one where it is 0
        self.footing: Footing | None = None

        # what goes on beside it
        self.selected: list[Callable[[str], None]] = []
        self.troubles = Notices(self.server)
        self.cameras = Cameras(WHOLE if self._travels() else "")
        self.audience = Audience()
        self.rounds = Rounds(self.report)
        self.every = self.rounds.every
        self.every(0.0, self.show_live)
        self.every(_RESHAPE, self.reshape)
        self.every(0.0, self._rest)
        studio.player.listeners.append(self._played)
        studio.player.trouble = self.report
        if stage is not None:
            self.listen(stage)

    # -- the live run ------------------------------------------------------------------------------
    @property
    def live(self) -> Live | None:
        """The live run, or None before it is made."""
        return self.maker.live

    @property
    def runs(self) -> bool:
        """Whether there is something that could run live."""
        if self.studio.link is not None:  # which runs by itself
            return False
        return self.scene is not None and bool(self.scene.poses.coordinates)

    @property
    def quick(self) -> bool:
        """Whether the live run is made so soon that nobody needs to ask for it."""
        if self.scene is None:
            return False
        return len(self.scene.robot.mechanism.kinematics().speeds) <= QUICK_SPEEDS

    @property
    def walks(self) -> bool:
        """Whether it is a robot file with a free base, which stands on the ground when it runs."""
        scene = self.scene
        if scene is None or self.motions[0].system is not None:
            return False
        free = any(len(b.translations) == 3 for b in scene.robot.mechanism.bodies.values())
        return free and isinstance(scene.robot.source, Description) and scene.falls

    def _travels(self) -> bool:
        """Return whether the mechanism can leave the place where it stands."""
        if self.scene is None:
            return False
        m = self.scene.robot.mechanism
        return any(len(b.translations) >= 2 and b.parent is m.ground for b in m.bodies.values())

    @property
    def trouble_now(self) -> str:
        """What a user must know in whatever tab: that the run has stopped, or cannot be made."""
        if self.mode == RUN and self.live is not None and self.live.latest.stopped:
            return stopped_words(self.live.latest)
        return self.maker.cannot

    def _built(self) -> Live:
        """Derive and compile a live run that stands at the start."""
        scene = self.scene
        assert scene is not None
        system = self.motions[0].system
        self.footing = footing_of(scene, self.studio.floor or 0.0) if self.walks else None
        start = resting(scene) if self.footing is None else self.footing.start
        begin = dict(zip(scene.poses.coordinates, map(float, start), strict=True))
        plant = plant_of(system or scene.robot, begin, scene.poses.values, self.footing)
        made = Live(plant, scene)
        made.set_ground(self.grounded)
        made.set_speed(self.speed or made.speed)
        return made

    def set_speed(self, factor: float) -> None:
        """Let the live run go faster or slower, also before it is made."""
        self.speed = factor
        if self.live is not None:
            self.live.set_speed(factor)

    def set_ground(self, on: bool) -> None:
        """Let a robot stand on the ground, or fall through it."""
        self.grounded = on
        if self.live is not None:
            self.live.set_ground(on)

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

    def _rest(self) -> None:
        self.audience.rest(self.live, bool(self.server.get_clients()), time.monotonic())

    # -- who moves the scene -----------------------------------------------------------------------
    def take_over(self, mode: str) -> None:
        """Let one source move the scene."""
        if self.mode == RUN and mode != RUN and self.live is not None:
            self.live.pause()
        self.studio.player.playing = False
        if mode != self.mode and self.studio.marks is not None:
            self.studio.marks.clear()
        self.mode, self._seen = mode, None
        self.cameras.begin()

    def pose(self, q: Array) -> None:
        """Show coordinates that a user has set."""
        self.take_over(POSED)
        self.q = np.asarray(q, float)
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

    def show_live(self) -> None:
        """Draw where the live run stands, with its forces, if that is new."""
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
        stage, marks = self.studio.stage, self.studio.marks
        if stage is not None and marks is not None and stage.poses is not None:
            marks.show(live.forces(reached, stage.poses))
        self.move_cameras()

    def sample(self) -> tuple[Recording, int] | None:
        """Return the recording of what moves the scene, and which of its samples is shown."""
        live = self.live if self.mode == RUN else None
        recording = self.motions[0].recording if live is None else live.recent()
        if not len(recording):
            return None
        if live is not None:
            return recording, len(recording) - 1
        return recording, max(int(recording.times.searchsorted(self.time + 1e-9, "right")) - 1, 0)

    # -- how it is drawn ---------------------------------------------------------------------------
    @property
    def size(self) -> float:
        """The size of what is drawn of the model, m: handles are a part of it."""
        return 1.0 if self.studio.stage is None else self.studio.stage.size

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

    @property
    def _poses(self) -> Poses:
        assert self.scene is not None
        return self.scene.poses if self.live is None or self.mode == PLAYED else self.live.poses

    def show(self, q: Array) -> None:
        """Draw the scene at some coordinates."""
        if self.studio.stage is not None and self.scene is not None:
            self.studio.stage.show(self._poses(q))

    def center(self, q: Array) -> Array:
        """Return the center of mass of the scene at some coordinates, in the picture, m."""
        return self.to_picture(self._poses(q).center)

    def reshape(self) -> None:
        """Let the shapes follow the parameters while a user changes them."""
        stage = self.studio.stage
        if stage is None or self.live is None:
            return
        values, drawn = self.values, self._drawn or self._scene_values()
        if values == drawn:
            return
        self._drawn = values
        scene = (stage.worn or stage.scene).with_parameters(values)
        self.listen(stage, stage.reshape(scene))
        if self.mode != PLAYED:
            self.show(self.q)

    def to_picture(self, point: Array) -> Array:
        """Return a point of the world in the axes of the picture."""
        return np.asarray(point if self.scene is None else self.scene.upright @ point)

    def to_world(self, point: Array) -> Array:
        """Return a point of the picture in the axes of the world."""
        return np.asarray(point if self.scene is None else self.scene.upright.T @ point)

    def move_cameras(self) -> None:
        """Move the cameras along with what they follow."""
        self.cameras.move(self.server.get_clients(), self.studio.stage)

    # -- clicks and trouble ------------------------------------------------------------------------
    def listen(self, stage: Stage, nodes: Container[int] | None = None) -> None:
        """Take notice of clicks on bodies."""
        bodies = ["", *(b.name for b in stage.scene.robot.mechanism.depth_first())]
        for k, mesh in stage.meshes:
            if 0 < k < len(bodies) and (nodes is None or k in nodes):
                mesh.on_click(guarded(self, partial(self.select, bodies[k])))

    def select(self, body: str) -> None:
        """Notify the panels that a user has clicked on a body."""
        for info in self.selected:
            info(body)

    def report(self, words: str) -> None:
        """Report trouble to the user."""
        self.troubles.report(words)

    def close(self) -> None:
        """End the threads."""
        self.rounds.close()
        self.maker.close()


def panels_of(studio: Studio) -> PanelState:
    """Return what the panels of a studio share, made and started when it is first asked for."""
    if not hasattr(studio, "panels"):
        studio.panels = PanelState(studio)
        studio.closers.append(studio.panels.close)
        studio.panels.rounds.start()
    return studio.panels


def guarded(panels: PanelState, act: Callable[..., Any]) -> Callable[[Any], None]:
    """Return a callback whose errors are shown to the user."""

    def call(_event: Any) -> None:
        try:
            act()
        except Exception as error:
            panels.report(str(error))

    return call
