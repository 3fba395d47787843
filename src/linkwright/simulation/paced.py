"""A run that keeps pace with the clock on the wall, in a thread of its own.

Time is a whole number of base ticks. The thread goes on as many ticks as are due, in slices of at
most a sixtieth of a second, and leaves what it reached in one slot, `Paced.latest`; whoever shows
it takes the newest and is never waited for. A run that cannot keep up goes slower and says so.

What acts on the run from outside (a hand, a console, a server) overrides `acts` and `act`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from linkwright.errors import Error
from linkwright.recording.recording import Array
from linkwright.simulation.described import phase_channels
from linkwright.simulation.native.session import Session
from linkwright.simulation.sample_buffer import Kept

FRAMES = 60
"""Samples, and states that are shown, in a second."""

SLICE_STEPS = 4000
"""Steps of the integration between two looks at what the user wants."""

_SLICES = 50
_LATE = 0.25  # s, after which a run that is behind gives up to catch up


@dataclass(frozen=True, slots=True, eq=False)
class Reached:
    """Where a paced run stands.

    Args:
        tick: base ticks since the start.
        time: s.
        x: the continuous states, in the order of the phases that it began with.
        d: discrete states and held outputs.
        w: inputs from outside.
        running: whether it goes on.
        pace: seconds of the run in a second on the wall, of late.
        stopped: why it cannot go on, or empty.
        epoch: how often it was reset.
    """

    tick: int
    time: float
    x: Array
    d: Array
    w: Array
    running: bool
    pace: float = 0.0
    stopped: str = ""
    epoch: int = 0


class Paced:
    """A run that keeps pace with the clock.

    Args:
        session: stands at the start; one that ends as late as anyone would wait for.
        speed: seconds of the run in a second on the wall, unless another is asked for.
        clock: seconds on the wall, never backward.

    Everything but the thread's own loop may be called from any thread.

    >>> from linkwright.blocks import Integrator
    >>> from linkwright.simulation.runs import session_of
    >>> from linkwright.simulation.settings import LIVE
    >>> from linkwright.system import System
    >>> s = System(name="s", base=240)
    >>> member = s.add(Integrator())
    >>> s.connect("t", member.u)
    >>> run = Paced(session_of(s, LIVE)[0])
    >>> run.advance(480)
    >>> run.latest.time, float(run.latest.x[0])
    (2.0, 2.0)
    """

    def __init__(
        self,
        session: Session,
        *,
        speed: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._quit = False
        self.running, self.speed, self.usual_speed = False, speed, speed
        self._epoch = 0
        self._stand(session)

    def _stand(self, session: Session) -> None:
        """Stand where a session stands."""
        self._session, self.phases = session, session.phases
        self._tick = session.tick
        self.every = session.machine.settings.every or max(
            1, round(self.usual_speed / (FRAMES * session.phases.tick_seconds))
        )
        self.channels = phase_channels(session.phases)
        self._kept = Kept(len(self.channels))
        self._anchor: tuple[float, int] | None = None
        self._pace = 0.0
        self.stopped = ""
        self._publish()

    # -- what the user wants -----------------------------------------------------------------------
    def play(self) -> None:
        """Go on."""
        with self._lock:
            self.running = not self.stopped
            self._anchor = None
            self._publish()
        self._wake.set()

    def pause(self) -> None:
        """Stand still."""
        with self._lock:
            self.running = False
            self._publish()

    def step(self) -> None:
        """Stand still, a sample further."""
        with self._lock:
            self.running = False
            self.advance(self.every)

    def set_speed(self, factor: float) -> None:
        """Run faster or slower than the clock on the wall.

        Args:
            factor: seconds of the run in a second on the wall, above zero.
        """
        if not factor > 0:
            raise Error(f"a run does not go {factor} times as fast as time", remedy="above zero")
        with self._lock:
            self.speed, self._anchor = float(factor), None

    def put(self, values: Mapping[str, float]) -> None:
        """Change parameters and inputs while it runs."""
        with self._lock:
            self._session.set(values)
            if not self.running:
                self._publish()

    # -- what acts from outside --------------------------------------------------------------------
    @property
    def acts(self) -> bool:
        """Whether something acts from tick to tick."""
        return False

    def act(self) -> None:
        """Let it act, before a tick."""

    # -- going on ----------------------------------------------------------------------------------
    def advance(self, ticks: int) -> None:
        """Go on by some base ticks, as fast as it goes, and show where that led."""
        with self._lock:
            end, slices = self._tick + ticks, 0
            while self._tick < end and not self.stopped:
                acts = self.acts
                if acts:
                    self.act()
                before = self._tick
                self._go_to(min(end, self._tick + 1) if acts else end)
                slices = slices + 1 if self._tick == before else 0
                if slices > _SLICES:  # many small steps; look at the user's wishes again
                    break
            self._publish()

    def _go_to(self, tick: int) -> None:
        session = self._session
        session.extend(tick)
        samples = session.advance(SLICE_STEPS)
        self._kept.add(samples.times, samples.values)
        self._tick = session.tick
        if session.stop is not None:
            self._stop(session.stop.reason)

    def _stop(self, reason: str) -> None:
        self.stopped, self.running = reason, False
        self._publish()

    def _publish(self) -> None:
        place, state = self._session.place(), self._session.state()
        x = np.array([state[s.name] for s in self.phases.x])
        d = np.array([place.d.get(s.name, s.value) for s in self.phases.d])
        w = np.array([place.w[s.name] for s in self.phases.w])
        seconds = self._tick * self.phases.tick_seconds
        self.latest = Reached(
            self._tick, seconds, x, d, w, self.running, self._pace, self.stopped, self._epoch
        )

    # -- what was recorded -------------------------------------------------------------------------
    def samples(self, last: float | None = None) -> tuple[Array, Array]:
        """Return times and rows of the channels, copies.

        Args:
            last: only so many seconds; all that is kept by default.
        """
        with self._lock:
            return self._kept.of_late(last)

    # -- the thread --------------------------------------------------------------------------------
    def start(self) -> None:
        """Start the thread; it stands still until `play`."""
        if self._thread is None:
            self._quit = False
            self._thread = threading.Thread(target=self._loop, name="linkwright live", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._quit = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
            self._thread = None

    def due(self, now: float) -> int:
        """Return how many base ticks a running run should go on at a time."""
        if self._anchor is None:
            self._anchor = (now, self._tick)
        began, tick = self._anchor
        due = tick + int((now - began) * self.speed / self.phases.tick_seconds) - self._tick
        if due * self.phases.tick_seconds > _LATE * max(self.speed, self.usual_speed):
            self._anchor = (now, self._tick)  # it cannot keep up
            return self.every
        return max(due, 0)

    def _loop(self) -> None:
        mark, ticks = self._clock(), self._tick
        while not self._quit:
            if not self.running:
                self._wake.wait(0.5)
                self._wake.clear()
                mark, ticks = self._clock(), self._tick
                continue
            most = self.every * max(1, round(self.speed / self.usual_speed))
            with self._lock:
                n = self.due(self._clock())
                try:
                    if n:
                        self.advance(min(n, most))
                except Exception as error:  # of a user's own block, say; it is told where it stands
                    self._stop(f"{type(error).__name__}: {error}")
            now = self._clock()
            if now - mark > 0.5:
                self._pace = max(0, self._tick - ticks) * self.phases.tick_seconds / (now - mark)
                mark, ticks = now, self._tick
            if n <= most:
                time.sleep(1 / 240)
