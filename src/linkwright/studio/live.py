"""A run that keeps pace with the clock on the wall, in a thread of its own.

Time is a whole number of base ticks. The thread goes on as many ticks as are due, in slices of at
most a sixtieth of a second, and leaves what it reached in one slot, `Live.latest`; whoever shows it
takes the newest and is never waited for. A run that cannot keep up goes slower and says so.

What a user's hand does to bodies is in `linkwright.studio.user_force`, the samples that are kept in
`linkwright.studio.sample_buffer`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.errors import Error
from linkwright.mechanism.plausibility import refuse_unreal
from linkwright.mechanism.provenance import named
from linkwright.recording import Recording
from linkwright.scene.forces import Arrows, ForceFrames
from linkwright.scene.scene import Scene
from linkwright.simulation.described import phase_channels, phase_numbers
from linkwright.studio.joint_control import Poser
from linkwright.studio.live_forces import Felt
from linkwright.studio.live_sessions import SLICE_STEPS, session_of
from linkwright.studio.live_system import Plant, target_of
from linkwright.studio.sample_buffer import Kept
from linkwright.studio.user_force import Hand

Array: TypeAlias = NDArray[np.float64]
FRAMES = 60
"""Samples, and states that are shown, in a second."""

_SLICES = 50
_LATE = 0.25  # s, after which a run that is behind gives up to catch up


@dataclass(frozen=True, slots=True, eq=False)
class Reached:
    """Where a live run stands.

    Args:
        tick: base ticks since the start.
        time: s.
        x: the continuous states.
        d: discrete states and held outputs.
        w: inputs, the hand's forces among them.
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


class Live:
    """A live run of a plant.

    Args:
        clock: seconds on the wall, never backward.

    Everything but the thread's own loop may be called from any thread.

    >>> from linkwright.models import load_model
    >>> from linkwright.studio.live_system import plant_of
    >>> from linkwright.scene.scene import scene_of
    >>> model = load_model("pendulum")
    >>> live = Live(plant_of(model), scene_of(model))
    >>> live.advance(240)
    >>> live.latest.time, live.latest.running
    (1.0, False)
    """

    def __init__(
        self, plant: Plant, scene: Scene, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.plant, self.scene = plant, scene
        self._clock = clock
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._quit = False
        self.running, self.speed = False, plant.speed
        self.values = {a.name: a.value for a in plant.adjustables}
        self._known = {a.name: a for a in plant.adjustables}
        self._home = dict(plant.system.initial)
        self.pull_hertz = 1.2
        self._epoch = 0
        self.poses = scene.poses
        self._begin()

    # -- starting over -----------------------------------------------------------------------------
    def _begin(self) -> None:
        """Make a session that stands at the start, with the values of now."""
        self.plant.system.set(self.values)
        phases = self.plant.phases()
        self.phases = phases
        self.every = max(1, round(self.plant.speed / (FRAMES * phases.tick_seconds)))
        self._session = session_of(phases, self.every, contact=bool(self.plant.grounds))
        self._tick = 0
        names = [s.name for s in phases.x]
        self._coordinates = [names.index(n) for n in self.scene.poses.coordinates]
        self.channels = phase_channels(phases)
        self._kept = Kept(len(self.channels))
        self._held = np.array([s.value for s in phases.w])
        self._hand = Hand(self.scene, self.plant, phases.tick_seconds)
        if self._epoch == 0:
            self._felt = Felt(self.scene, self.phases, self.values, self._hand.arrows(phases))
        self._anchor: tuple[float, int] | None = None
        self._pace = 0.0
        self.stopped = ""
        self._refresh_poses()
        self._publish()

    def reset(self) -> None:
        """Stand at the start again, with the parameters of now; servos hold the start."""
        with self._lock:
            self.plant.system.initial.clear()
            self.plant.system.set_initial(self._home)
            held = {a.name: a.value for a in self.plant.adjustables if a.kind == "target"}
            self._begin_again(held)

    def start_at(self, q: Array) -> None:
        """Start where a user has put the scene, with the initial speeds; servos hold it there."""
        names = self.scene.poses.coordinates
        where = dict(zip(names, map(float, q), strict=True))
        with self._lock:
            self.plant.system.set_initial(where)
            held = {target_of(n): v for n, v in where.items() if target_of(n) in self.values}
            self._begin_again(held)

    def _begin_again(self, targets: Mapping[str, float]) -> None:
        self.values.update(targets)
        self._epoch += 1
        self._begin()
        self._wake.set()

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

    def set_value(self, name: str, value: float) -> None:
        """Change a parameter, a gain or an input while it runs."""
        self.set_values({name: value})

    def set_values(self, values: Mapping[str, float]) -> None:
        """Change several at once: all, or none where one of them cannot be."""
        wanted = {name: float(value) for name, value in values.items()}
        for name, value in wanted.items():
            if name not in self.values:
                known = ", ".join(self.values)
                raise Error(f"{name!r} cannot be changed", remedy=f"there are {known}")
            if why := self._known[name].refusal(value):
                raise Error(why)
        with self._lock:
            changed = {**self.values, **wanted}
            refuse_unreal(self.scene.robot.mechanism, self._own(changed))
            if self._own(wanted):
                self._close_loops(changed)
            self.values = changed
            machine = self._session.machine
            for array, signals in (("p", self.phases.p), ("w", self.phases.w)):
                places = {k: wanted[s.name] for k, s in enumerate(signals) if s.name in wanted}
                if not places:
                    continue
                rows = machine.rows_of(array)
                rows[:, list(places)] = list(places.values())
                machine.put(array, rows)
                if array == "w":
                    self._held[list(places)] = list(places.values())
                else:
                    machine.prepare()
                    self._refresh_poses()
            machine.field("slope_known")[:] = 0
            if not self.running:
                self._publish()

    def _close_loops(self, values: Mapping[str, float]) -> None:
        """Move the coordinates to where loops are closed with other parameters."""
        closed = Poser(self.scene, self._own(values)).closed(self.coordinates())
        if closed is None:
            changed = [n for n, v in values.items() if v != self.values[n]]
            told = ", ".join(f"{n} = {values[n]:.6g}" for n in changed)
            raise Error(f"the loops do not close with {told}", remedy="choose a value nearer by")
        rows = self._session.machine.rows_of("x")
        rows[:, self._coordinates] = closed
        self._session.machine.put("x", rows)

    def _own(self, values: Mapping[str, float]) -> dict[str, float]:
        """Return those values that are parameters of the mechanism."""
        known = self.scene.robot.mechanism.parameters
        return {n: v for n, v in values.items() if n in known}

    def set_ground(self, on: bool) -> None:
        """Let a robot stand on the ground, or fall through it."""
        self.set_values({n: stiff if on else 0.0 for n, stiff in self.plant.grounds.items()})

    def pull(self, body: str, target: Array) -> None:
        """Draw the mass center of a body to a point."""
        with self._lock:
            self._hand.pull(body, target)

    def release(self) -> None:
        """Let go of the body that is pulled."""
        with self._lock:
            self._hand.release()
            self._put_forces()

    def push(self, body: str, impulse: Array) -> None:
        """Give a body a push.

        Args:
            impulse: N*s, along the world's axes; it acts for a twentieth of a second.
        """
        with self._lock:
            self._hand.push(body, impulse, self._tick)

    # -- going on ----------------------------------------------------------------------------------
    def advance(self, ticks: int) -> None:
        """Go on by some base ticks, as fast as it goes, and show where that led."""
        with self._lock:
            end, slices = self._tick + ticks, 0
            while self._tick < end and not self.stopped:
                acts = self._hand.acts
                if acts:
                    self._put_forces()
                before = self._tick
                self._go_to(min(end, self._tick + 1) if acts else end)
                slices = slices + 1 if self._tick == before else 0
                if slices > _SLICES:  # many small steps; look at the user's wishes again
                    break
            self._publish()

    def _go_to(self, tick: int) -> None:
        session = self._session
        session.machine.extend(tick)
        session.done = False
        samples = session.advance(SLICE_STEPS)
        self._kept.add(samples.times, samples.values)
        self._tick = int(session.machine.field("k")[0])
        if session.stop is not None:
            self._stop(session.stop.reason)

    def _stop(self, reason: str) -> None:
        self.stopped, self.running = reason, False
        self._publish()

    def _publish(self) -> None:
        x, d, w = (self._session.machine.rows_of(array)[0] for array in "xdw")
        seconds = self._tick * self.phases.tick_seconds
        self.latest = Reached(
            self._tick, seconds, x, d, w, self.running, self._pace, self.stopped, self._epoch
        )

    # -- forces ------------------------------------------------------------------------------------
    def _put_forces(self) -> None:
        poses = self.poses(self.coordinates()).poses if self.pulling else None
        forces = self._hand.inputs(self._held, self._tick, poses, self.pull_hertz)
        self._session.machine.put("w", forces)
        self._session.machine.field("slope_known")[:] = 0

    def center(self, body: str) -> Array:
        """Return the mass center of a body now, in the world's axes, m."""
        return self._hand.place(body, self.poses(self.coordinates(self.latest)).poses)

    def forces(self, reached: Reached, poses: Array) -> tuple[Arrows, ForceFrames] | None:
        """Return the forces where the run stood, or None where it has none.

        They are computed here, from the state; the run itself takes no notice.
        """
        arrows = self._felt.arrows
        if not arrows.each:
            return None
        state = (reached.x, reached.d, reached.w, reached.time)
        now = self._felt.columns(self.phases, self.values, *state)
        return arrows, arrows.at(poses, now.__getitem__)

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters that shapes follow, as they are now: the mechanism's, radii of wheels."""
        radii = {w.parameter for w in self.scene.wheels}
        held = {n: v for n, v in self.values.items() if n in radii}
        return self._own(dict(self.values)) | held

    @property
    def pushed(self) -> bool:
        """Whether a push acts, or will when the run goes on."""
        return bool(self._hand.pushes)

    @property
    def pulling(self) -> bool:
        """Whether a spring acts."""
        return self._hand.pulled is not None

    def _refresh_poses(self) -> None:
        own = self._own(self.values)
        self.poses = self.scene.poses.with_values(own) if own else self.scene.poses

    def coordinates(self, reached: Reached | None = None) -> Array:
        """Return the scene's coordinates where the run stands."""
        x = self._session.machine.rows_of("x")[0] if reached is None else reached.x
        return np.asarray(x[self._coordinates])

    # -- what was recorded -------------------------------------------------------------------------
    def samples(self, last: float | None = None) -> tuple[Array, Array]:
        """Return times and rows of the channels, copies.

        Args:
            last: only so many seconds; all that is kept by default.
        """
        with self._lock:
            return self._kept.of_late(last)

    def recent(self) -> Recording:
        """Return what was recorded of late, without where it comes from."""
        t, rows = self.samples()
        return Recording(t, self.channels, rows)

    def recording(self) -> Recording:
        """Return what was recorded of late, with the values of now."""
        t, rows = self.samples()
        mechanism = self.plant.system.mechanism
        about = {
            "model": named(mechanism),
            **(self.phases.meta or {}),
            **phase_numbers(self.phases),
            "parameters": dict(self.values),
        }
        return Recording(t, self.channels, rows, about, self.plant.system)

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
        if due * self.phases.tick_seconds > _LATE * max(self.speed, self.plant.speed):
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
            most = self.every * max(1, round(self.speed / self.plant.speed))
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
