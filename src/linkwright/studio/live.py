"""A live run of a scene: it keeps pace with the clock on the wall, and a user's hand acts on it.

The run itself is `linkwright.simulation.paced`; what a user's hand does to bodies is in
`linkwright.studio.user_force`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import Error
from linkwright.mechanism.plausibility import refuse_unreal
from linkwright.recording import Recording
from linkwright.scene.forces import Arrows, ForceFrames
from linkwright.scene.scene import Scene
from linkwright.simulation.native.session import Session
from linkwright.simulation.paced import FRAMES, Paced, Reached
from linkwright.simulation.runs import metadata_of
from linkwright.simulation.settings import LIVE
from linkwright.studio.joint_control import Poser
from linkwright.studio.live_forces import Felt
from linkwright.studio.live_sessions import live_session
from linkwright.studio.live_system import Plant, target_of
from linkwright.studio.user_force import Hand

Array: TypeAlias = NDArray[np.float64]


class Live(Paced):
    """A live run of a plant.

    Everything may be called from any thread.

    >>> from linkwright.models import load_model
    >>> from linkwright.studio.live_system import plant_of
    >>> from linkwright.scene.scene import scene_of
    >>> model = load_model("pendulum")
    >>> live = Live(plant_of(model), scene_of(model))
    >>> live.advance(240)
    >>> live.latest.time, live.latest.running
    (1.0, False)
    """

    def __init__(self, plant: Plant, scene: Scene) -> None:
        self.plant, self.scene = plant, scene
        self.values = {a.name: a.value for a in plant.adjustables}
        self._known = {a.name: a for a in plant.adjustables}
        self._home = dict(plant.system.initial)
        self.pull_hertz = 1.2
        self.poses = scene.poses
        super().__init__(self._begun(), speed=plant.speed)
        self._begin()
        self._felt = Felt(scene, self.phases, self.values, self._hand.arrows(self.phases))

    # -- starting over -----------------------------------------------------------------------------
    def _begun(self) -> Session:
        """Return a session that stands at the start, with the values of now."""
        plant = self.plant
        plant.system.set_parameters(self.values)
        tick = float(plant.system.clock().tick)
        every = max(1, round(plant.speed / (FRAMES * tick)))
        return live_session(plant.system, plant.record, every, contact=bool(plant.grounds))

    def _begin(self) -> None:
        """Take hold of a session that stands at the start."""
        names = [s.name for s in self.phases.x]
        self._coordinates = [names.index(n) for n in self.scene.poses.coordinates]
        self._held = np.array([s.value for s in self.phases.w])
        self._hand = Hand(self.scene, self.plant, self.phases.tick_seconds)
        self._refresh_poses()

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
        self._halt()
        self._stand(self._begun())
        self._begin()
        self._resume()

    # -- what the user wants -----------------------------------------------------------------------
    def set_value(self, name: str, value: float) -> None:
        """Change a parameter, a gain or an input while it runs."""
        self.set_parameters({name: value})

    def set_parameters(self, values: Mapping[str, float]) -> None:
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
            self._loop.set(wanted)
            places = {k: wanted[s.name] for k, s in enumerate(self.phases.w) if s.name in wanted}
            self._held[list(places)] = list(places.values())
            self._refresh_poses()
            self._loop.settle()

    def _close_loops(self, values: Mapping[str, float]) -> None:
        """Move the coordinates to where loops are closed with other parameters."""
        closed = Poser(self.scene, self._own(values)).closed(self.coordinates())
        if closed is None:
            changed = [n for n, v in values.items() if v != self.values[n]]
            info = ", ".join(f"{n} = {values[n]:.6g}" for n in changed)
            raise Error(f"the loops do not close with {info}", remedy="choose a value nearer by")
        names = self.scene.poses.coordinates
        self._loop.move(dict(zip(names, map(float, closed), strict=True)))

    def _own(self, values: Mapping[str, float]) -> dict[str, float]:
        """Return those values that are parameters of the mechanism."""
        known = self.scene.robot.mechanism.parameters
        return {n: v for n, v in values.items() if n in known}

    def set_ground(self, on: bool) -> None:
        """Let a robot stand on the ground, or fall through it."""
        self.set_parameters({n: stiff if on else 0.0 for n, stiff in self.plant.grounds.items()})

    def pull(self, body: str, target: Array) -> None:
        """Draw the mass center of a body to a point."""
        with self._lock:
            self._hand.pull(body, target)
            self.acting(True)

    def release(self) -> None:
        """Let go of the body that is pulled."""
        with self._lock:
            self._hand.release()
            self.put(self.act())

    def push(self, body: str, impulse: Array) -> None:
        """Give a body an impulse along the world's axes, N*s, in a twentieth of a second."""
        with self._lock:
            self._hand.push(body, impulse, self.latest.tick)
            self.acting(True)

    # -- forces ------------------------------------------------------------------------------------
    def act(self) -> dict[str, float]:
        """Return the inputs of the next tick, with what the hand does."""
        reached = self.latest
        poses = self.poses(self.coordinates(reached)).poses if self.pulling else None
        forces = self._hand.inputs(self._held, reached.tick, poses, self.pull_hertz)
        if not self._hand.acts:
            self.acting(False)
        return dict(zip((s.name for s in self.phases.w), map(float, forces), strict=True))

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
        self.poses = self.scene.poses.with_parameters(own) if own else self.scene.poses

    def coordinates(self, reached: Reached | None = None) -> Array:
        """Return the scene's coordinates where the run stands."""
        where = self.latest if reached is None else reached
        return np.asarray(where.x[self._coordinates])

    # -- what was recorded -------------------------------------------------------------------------
    def recent(self) -> Recording:
        """Return what was recorded of late, without where it comes from."""
        t, rows = self.samples()
        return Recording(t, self.channels, rows)

    def recording(self) -> Recording:
        """Return what was recorded of late, with the values of now."""
        t, rows = self.samples()
        about = {
            **metadata_of(self.plant.system, self.phases, LIVE),
            "live": True,
            "parameters": dict(self.values),
        }
        return Recording(t, self.channels, rows, about, self.plant.system)
