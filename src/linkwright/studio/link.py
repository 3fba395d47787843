"""What a studio is connected to that runs by itself: a cell, a laboratory or a rotator.

A thread takes samples for the scope, and whoever draws takes the newest state. What runs knows
nothing of all this, so a page or a studio that stalls costs frames and never ticks. It outlives
its link, whose end is that of the studio.

What holds: `channels` and the rows of samples have one order. A tick is kept once, and times rise
within an epoch: where the ticks begin anew, what was kept is forgotten, and the next epoch begins.
`latest` is where the newest sample was taken.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linkwright.recording import Channel, Recording
from linkwright.scene.motions import SceneMotion
from linkwright.scene.scene import Scene
from linkwright.simulation.sample_buffer import Kept
from linkwright.studio.messages import Bar

if TYPE_CHECKING:
    from linkwright.pages.scope import ScopeLayout
    from linkwright.studio.server import Studio

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LinkMoment:
    """Where something that runs by itself stands."""

    tick: int  # of its loop
    time: float  # s since its loop began
    running: bool  # whether it goes on
    epoch: int = 0  # how often it was reset


@dataclass(frozen=True, slots=True)
class LinkedModel:
    """A model that is drawn where what runs has it."""

    name: str
    joints: Sequence[str]  # names of the coordinates that `place` gives
    units: Sequence[str]  # of these
    place: Callable[[], Array]  # where they are now
    scene: Scene | None  # None where it is not drawn
    note: str = ""  # why not

    @property
    def order(self) -> list[int]:
        """Where the scene's coordinates stand among the joints."""
        names = () if self.scene is None else self.scene.poses.coordinates
        return [self.joints.index(name) for name in names]

    @property
    def motion(self) -> SceneMotion:
        """The model where it stands now."""
        channels = [Channel(n, u) for n, u in zip(self.joints, self.units, strict=True)]
        q = self.place()[None]
        recording = Recording([0.0], channels, q)
        if self.scene is None:
            return SceneMotion(self.name, recording, notes=(self.note,))
        return SceneMotion(self.name, recording, self.scene, q[:, self.order])


class StudioLink:
    """Something that runs by itself, and is looked at, until it is closed."""

    mode: ClassVar[str]  # what the bar over the scene calls it
    stop_words: ClassVar[str]  # what its stop does, as a command
    stop_line: ClassVar[str] = ""  # and in the help sheet, where that is not the same
    rate = 60.0  # samples a second
    side_by_side = False  # whether its models stand beside each other, or are ghosts of the first

    def __init__(self, name: str, channels: Sequence[Channel], about: Mapping[str, Any]) -> None:
        self.name, self.channels, self._about = name, list(channels), dict(about)
        self.acts: dict[str, Callable[[], None]] = {"halt": self.halt}
        """What the buttons in every tab do."""
        self.models: list[LinkedModel] = []
        """What is drawn of it, the first in full."""
        self._tick, self._time, self._epoch = -1, 0.0, 0
        self._kept, self._lock = Kept(len(self.channels)), threading.Lock()
        self._ending = threading.Event()
        self._thread = threading.Thread(
            target=self._watch, name=f"linkwright {self.mode.lower()}", daemon=True
        )

    def begin(self) -> None:
        """Keep samples from now on."""
        self._keep()
        self._thread.start()

    # -- what each kind says -----------------------------------------------------------------------
    @property
    @abstractmethod
    def running(self) -> bool:
        """Whether it goes on."""

    @abstractmethod
    def sample(self) -> tuple[int, float, Callable[[], Array]]:
        """Return tick and time (s) of its newest state, and what gives its row of the channels."""

    @abstractmethod
    def words(self) -> tuple[str, str, str]:
        """Return time, pace and what a user must know, for the bar over the scene."""

    @abstractmethod
    def first_layout(self) -> ScopeLayout:
        """Return what the scope shows at first."""

    @abstractmethod
    def halt(self) -> None:
        """Stop it at once."""

    def wait(self) -> None:
        """Wait until there may be something new."""
        self._ending.wait(1 / self.rate)

    def look(self) -> None:
        """Take notice of what else it says; called after each sample."""

    # -- what all have -----------------------------------------------------------------------------
    @property
    def latest(self) -> LinkMoment:
        """Where it stood when its newest sample was taken, and whether it goes on now."""
        return LinkMoment(self._tick, self._time, self.running, self._epoch)

    def samples(self, last: float | None = None) -> tuple[Array, Array]:
        """Return times and rows of the channels that were kept, copies."""
        with self._lock:
            return self._kept.of_late(last)

    def recording(self) -> Recording:
        """Return what was kept of late, and of what."""
        t, rows = self.samples()
        return Recording(t, self.channels, rows, self._about)

    def bar(self) -> Bar:
        """Return what the bar over the scene shows."""
        return Bar(self.mode, "live", *self.words(), stop=True, freeze="freeze" in self.acts)

    def close(self) -> None:
        """Leave it; it goes on."""
        self._ending.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=5)

    def _watch(self) -> None:
        while not self._ending.is_set():
            self._keep()
            self.look()
            self.wait()

    def _keep(self) -> None:
        tick, time, row = self.sample()
        if tick == self._tick:
            return
        with self._lock:
            if tick < self._tick:
                self._epoch += 1
                self._kept = Kept(len(self.channels))
            self._kept.add(np.array([time]), np.asarray(row(), float)[None])
            self._tick, self._time = tick, time


class LinkShow:
    """Draws the models of a link where its newest state has them."""

    def __init__(self, studio: Studio, link: StudioLink) -> None:
        drawn = [model for model in link.models if model.scene is not None]
        self._drawn = [(m, s, m.order) for m, s in zip(drawn, studio.stages, strict=True)]
        self._shown = [np.zeros(0) for _ in drawn]

    def show(self) -> None:
        """Move what has moved."""
        for k, (model, stage, order) in enumerate(self._drawn):
            q = model.place()[order]
            if not np.array_equal(q, self._shown[k]):
                self._shown[k] = q
                stage.show(stage.scene.poses(q))


def add_link(studio: Studio, link: StudioLink) -> None:
    """Let a studio draw what a link has, and stop it by a key."""
    from linkwright.studio.shortcuts import add_key
    from linkwright.studio.state import panels_of

    add_key(studio, "space", link.stop_words, lambda _: link.halt(), line=link.stop_line)
    panels_of(studio).every(0.0, LinkShow(studio, link).show)


def open_link_studio(
    link: StudioLink,
    models: Callable[[], Sequence[LinkedModel]],
    again: str,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    allowed: Sequence[str] = (),
) -> Studio:
    """Return the studio of a link, already serving; the link is closed with it."""
    from linkwright.studio.server import Studio

    try:
        link.models = list(models())
        made = Studio([m.motion for m in link.models], host, port, allowed, link=link)
    except BaseException:
        link.close()
        raise
    made.again = again
    return made
