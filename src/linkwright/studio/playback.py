"""Playing takes: a clock in a thread of its own, and poses at hand for any time.

The player knows nothing of browsers. It computes where everything is, hands that to whoever listens
and goes on; a listener that is slow costs frames, not time.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from linkwright.recording.spread import spread
from linkwright.scene.forces import Arrows, ForceFrames, ForceTrack, force_track
from linkwright.scene.motions import SceneMotion
from linkwright.scene.relative_poses import against, carriers
from linkwright.scene.viewpoint import upright

Array = NDArray[np.float64]
MOST_FRAMES = 20_000


@dataclass(eq=False)
class Track:
    """The poses of a take in the picture's axes, ready to be looked up."""

    motion: SceneMotion
    times: Array = field(init=False)
    poses: NDArray[np.float32] = field(init=False)
    hung: NDArray[np.float32] = field(init=False)
    centers: Array = field(init=False)
    forces: ForceTrack | None = field(init=False)

    def __post_init__(self) -> None:
        scene, q = self.motion.scene, self.motion.q
        assert scene is not None
        assert q is not None
        times = self.motion.recording.times
        keep = spread(len(times), MOST_FRAMES)
        where = scene.poses(q[keep])
        self.times = times[keep]
        poses = upright(scene, where.poses)
        self.poses = poses.astype(np.float32)
        self.hung = against(poses, carriers(scene)).astype(np.float32)
        self.centers = where.center @ scene.upright.T
        self.forces = force_track(scene, self.motion.recording, keep, poses)

    def at(self, t: float) -> tuple[Array, Array, Array]:
        """Return poses (nodes x 7), the mass center, and poses against what carries each node.

        Between samples all go along lines.
        """
        k, j, f = self._near(t)
        center = (1 - f) * self.centers[k] + f * self.centers[j]
        return _between(self.poses, k, j, f), center, _between(self.hung, k, j, f)

    def forces_at(self, t: float, poses: Array) -> tuple[Arrows, ForceFrames] | None:
        """Return the forces at a time, or None where the recording has none."""
        if self.forces is None:
            return None
        return self.forces.arrows, self.forces.between(*self._near(t), poses)

    @property
    def reference(self) -> float | None:
        """The force whose arrow has the usual length, N."""
        return None if self.forces is None else self.forces.reference

    def _near(self, t: float) -> tuple[int, int, float]:
        """Return the samples before and after a time, and how far it is between them."""
        last = len(self.times) - 1
        k = int(np.clip(np.searchsorted(self.times, t, "right") - 1, 0, max(last - 1, 0)))
        j = min(k + 1, last)
        gap = float(self.times[j] - self.times[k])
        return k, j, min(max((t - float(self.times[k])) / gap, 0.0), 1.0) if gap > 0 else 0.0


def _between(rows: NDArray[np.float32], k: int, j: int, f: float) -> Array:
    made: Array = (1 - f) * rows[k].astype(float) + f * rows[j].astype(float)
    made[:, 3:] /= np.linalg.norm(made[:, 3:], axis=1, keepdims=True)
    return made


@dataclass(eq=False)
class Player:
    """The clock of playback.

    >>> player = Player(0.0, 2.0, rate=10.0)
    >>> player.step(3)
    >>> round(player.time, 6)
    0.3
    """

    start: float
    end: float
    rate: float = 60.0  # samples in a second of the recording, for single steps
    frames: float = 60.0  # shown in a second
    speed: float = 1.0
    loop: bool = True
    playing: bool = False
    time: float = 0.0
    listeners: list[Callable[[float], None]] = field(default_factory=list)
    trouble: Callable[[str], None] = field(default=warnings.warn, repr=False)
    _thread: threading.Thread | None = field(default=None, repr=False)
    _over: threading.Event = field(default_factory=threading.Event, repr=False)
    _turn: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def __post_init__(self) -> None:
        self.time = self.start

    def go_to(self, t: float) -> None:
        """Show a time."""
        with self._turn:
            self.time = min(self.end, max(self.start, t))
            for listener in tuple(self.listeners):
                listener(self.time)

    def step(self, samples: int) -> None:
        """Pause, and go some samples on or back."""
        self.playing = False
        now = round((self.time - self.start) * self.rate)
        self.go_to(self.start + (now + samples) / self.rate)

    def advance(self, seconds: float) -> None:
        """Let time go on as playing would."""
        with self._turn:
            t = self.time + seconds * self.speed
            if t > self.end:
                if not self.loop:
                    self.playing = False
                    t = self.end
                else:
                    t = self.start + (t - self.start) % ((self.end - self.start) or 1.0)
            self.go_to(t)

    def run(self) -> None:
        """Start the thread that plays."""
        self._thread = threading.Thread(target=self._play, name="studio playback", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(timeout=2.0)

    def _play(self) -> None:
        last = time.monotonic()
        while not self._over.wait(1.0 / self.frames):
            now = time.monotonic()
            passed, last = now - last, now
            with self._turn:  # whoever pauses and goes elsewhere is not called back
                try:
                    if self.playing:
                        self.advance(passed)
                except Exception as error:  # of a listener; the next that plays is another matter
                    self.playing = False
                    self.trouble(f"{type(error).__name__}: {error}")


def player_for(motions: Sequence[SceneMotion]) -> Player:
    """Return a player over the time of all takes, at a speed that lasts some seconds at least."""
    spans = [t.recording.times for t in motions if len(t.recording)]
    start = min((float(t[0]) for t in spans), default=0.0)
    end = max((float(t[-1]) for t in spans), default=0.0)
    rates = [(len(t) - 1) / float(t[-1] - t[0]) for t in spans if len(t) > 1 and t[-1] > t[0]]
    made = Player(start, end, max(rates, default=1.0))
    made.speed = usual_speed(end - start)
    return made


SPEEDS = (
    0.001,
    0.002,
    0.005,
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.5,
    1.0,
    2.0,
    5.0,
    10.0,
    20.0,
    50.0,
    100.0,
)


def usual_speed(seconds: float) -> float:
    """Return the speed at which a motion is best looked at first.

    >>> usual_speed(10.0), usual_speed(1000.0), usual_speed(0.03)
    (1.0, 50.0, 0.01)
    """
    if seconds > 30:
        return next((k for k in SPEEDS if seconds / k <= 30), SPEEDS[-1])
    if 0 < seconds < 3:
        return next((k for k in reversed(SPEEDS) if seconds / k >= 3), SPEEDS[0])
    return 1.0
