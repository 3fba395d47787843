"""A run that keeps pace with the clock on the wall, for whoever looks at it.

The pace is that of a `PacedLoop`: native code drives the run in a thread of its own, and leaves
what it reached; whoever shows it takes the newest and is never waited for. What is pending a
quarter of a second later is left out: a run that cannot keep up goes slower and says so.

What acts on the run from tick to tick (a hand) overrides `act`, and says by `acting` when it does.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import Error
from linkwright.recording.recording import Array
from linkwright.simulation.described import phase_channels
from linkwright.simulation.native.session import Samples, Session
from linkwright.simulation.pacing import PacedLoop
from linkwright.simulation.sample_buffer import Kept

FRAMES = 60
"""Samples, and states that are shown, in a second."""

SLICE_STEPS = 4000
"""Steps of the integration between two looks at what the user wants."""

_LATE = 0.25  # s, after which a run that is behind gives up to catch up
_FASTEST = 1000.0  # instants in a second on the wall


@dataclass(frozen=True, slots=True, eq=False)
class Reached:
    """Where a paced run stands."""

    tick: int  # base ticks since the start
    time: float  # s
    x: Array  # the continuous states, in the order of the phases that it began with
    d: Array  # discrete states and held outputs
    w: Array  # inputs from outside
    running: bool  # whether it goes on
    pace: float = 0.0  # seconds of the run in a second on the wall, of late
    stopped: str = ""  # why it cannot go on, or empty
    epoch: int = 0  # how often it was reset


class Paced:
    """A run that keeps pace with the clock.

    Everything may be called from any thread.

    >>> from linkwright.blocks import Integrator
    >>> from linkwright.simulation.runs import session_of
    >>> from linkwright.simulation.settings import LIVE
    >>> from linkwright.system import System
    >>> s = System(name="s", base=240)
    >>> member = s.add(Integrator())
    >>> s.connect("t", member.u)
    >>> run = Paced(session_of(s, LIVE)[0])
    >>> run.advance(480)
    >>> run.latest.time, round(float(run.latest.x[0]), 9)
    (2.0, 2.0)
    """

    def __init__(self, session: Session, *, speed: float = 1.0) -> None:
        self._lock, self._samples_lock = threading.RLock(), threading.Lock()
        self._started = False
        self.running, self.speed, self.usual_speed = False, speed, speed
        self._epoch = 0
        self._stand(session)

    def _stand(self, session: Session) -> None:
        """Stand where a session stands."""
        self.phases = session.phases
        tick = session.phases.tick_seconds
        self.every = session.machine.settings.every or max(
            1, round(self.usual_speed / (FRAMES * tick))
        )
        self.channels = phase_channels(session.phases)
        self._kept = Kept(len(self.channels))
        self._failed = ""
        self._loop = PacedLoop(
            session,
            speed=self.speed,
            stride=max(1, round(self.usual_speed / (_FASTEST * tick))),
            patience=_LATE,
            priority=False,
            waits=True,
            sink=self,
            visitor=self.act,
        )
        self._mark, self._pace = (time.monotonic(), session.tick), 0.0

    # -- what the user wants -----------------------------------------------------------------------
    def play(self) -> None:
        """Go on."""
        with self._lock:
            self.running = not self.stopped
            self._resume()

    def pause(self) -> None:
        """Stand still."""
        with self._lock:
            self.running = False
            self._halt()

    def step(self) -> None:
        """Stand still, a sample further."""
        with self._lock:
            self.pause()
            self.advance(self.every)

    def set_speed(self, factor: float) -> None:
        """Run faster or slower than the clock on the wall."""
        if not factor > 0:
            raise Error(f"a run does not go {factor} times as fast as time", remedy="above zero")
        with self._lock:
            self._halt()
            self.speed = float(factor)
            self._loop.set_speed(self.speed)
            self._resume()

    def put(self, values: Mapping[str, float]) -> None:
        """Change parameters and inputs while it runs."""
        with self._lock:
            self._loop.set(values)
            self._loop.settle()

    # -- what acts from outside --------------------------------------------------------------------
    def act(self) -> Mapping[str, float]:
        """Return the inputs of the next tick, where something acts from tick to tick."""
        return {}

    def acting(self, now: bool) -> None:
        """Say whether something acts from tick to tick."""
        self._loop.visited = now

    # -- going on ----------------------------------------------------------------------------------
    def advance(self, ticks: int) -> None:
        """Go on by some base ticks, as fast as it goes."""
        with self._lock:
            self._halt()
            try:
                if not self.stopped:
                    self._loop.go_to(self._loop.session.tick + ticks)
            finally:
                self._resume()

    def _halt(self) -> None:
        """Let the thread end, whoever wants it to run."""
        try:
            self._loop.stop()
        except Exception as error:  # of a user's own block, say; it is told where it stands
            self._failed = f"{type(error).__name__}: {error}"

    def _resume(self) -> None:
        """Let the thread run where it is wanted."""
        if self._started and self.running and not self.stopped:
            self._mark = (time.monotonic(), self._loop.session.tick)
            self._loop.start()

    @property
    def stopped(self) -> str:
        """Why the run cannot go on, or empty."""
        stop, failure = self._loop.stopped, self._loop.failure
        if stop is not None:
            return stop.reason
        return f"{type(failure).__name__}: {failure}" if failure is not None else self._failed

    @property
    def latest(self) -> Reached:
        """Where the run stands now; it is not waited for."""
        stood = self._loop.standing()
        ended = self.stopped
        if ended:
            self.running = False
        tick = max(stood.tick, 0)
        return Reached(
            tick,
            tick * self.phases.tick_seconds,
            np.array([stood.x[s.name] for s in self.phases.x]),
            np.array([stood.d.get(s.name, s.value) for s in self.phases.d]),
            np.array([stood.w[s.name] for s in self.phases.w]),
            self.running,
            self._paced(tick),
            ended,
            self._epoch,
        )

    def _paced(self, tick: int) -> float:
        """Return the seconds of the run in a second on the wall, of late."""
        now, (mark, before) = time.monotonic(), self._mark
        if now - mark > 0.5:
            self._pace = max(0, tick - before) * self.phases.tick_seconds / (now - mark)
            self._mark = (now, tick)
        return self._pace

    # -- what was recorded -------------------------------------------------------------------------
    def take(self, changes: NDArray[np.int64], samples: Samples) -> None:
        """Keep what the loop leaves; it calls this from its threads."""
        del changes
        with self._samples_lock:
            self._kept.add(samples.times, samples.values)

    def samples(self, last: float | None = None) -> tuple[Array, Array]:
        """Return times and rows of the channels, copies."""
        with self._samples_lock:
            return self._kept.of_late(last)

    # -- the thread --------------------------------------------------------------------------------
    def start(self) -> None:
        """Let it have a thread; it stands still until `play`."""
        with self._lock:
            self._started = True
            self._resume()

    def close(self) -> None:
        """End the thread."""
        with self._lock:
            self._started = False
            self._halt()
