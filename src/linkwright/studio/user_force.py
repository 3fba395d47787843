"""A user's hand in a live run: it pulls at bodies, and pushes them.

A pull is a spring between the mass center of a body and a point that the user moves. It is held
during a tick, so its frequency is bounded by the tick: stiffness is at most (60 rad/s)^2 times the
mass of the body, which stays well damped at 240 ticks a second whatever else hangs on the body.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from linkwright.base.errors import Error
from linkwright.base.rotations import turned
from linkwright.scene.body_geometry import Array, Geometry, body_rows
from linkwright.scene.forces import NodeForce
from linkwright.scene.scene import Scene
from linkwright.studio.live_system import Plant
from linkwright.system.phases import Phases

_PUSH = 0.05  # s
_STIFFEST = 60.0  # rad/s


@dataclass(frozen=True, slots=True, eq=False)
class Pull:
    """A spring from the mass center of a body to a point of the world."""

    body: str
    target: Array


class Hand:
    """What pulls and pushes do."""

    def __init__(self, scene: Scene, plant: Plant, tick: float) -> None:
        self._plant, self._tick = plant, tick
        self._bodies = _centers(scene, plant)
        self._where: dict[str, Array] = {}
        self.pulled: Pull | None = None
        self.pushes: list[tuple[str, Array, int]] = []
        self._lock = threading.Lock()

    @property
    def acts(self) -> bool:
        """Whether it pulls or pushes."""
        return self.pulled is not None or bool(self.pushes)

    def arrows(self, phases: Phases) -> list[NodeForce]:
        """Return the arrows of what it pulls with."""
        made = []
        for body, (row, center, _) in self._bodies.items():
            x, y, z = (phases.w[k].name for k in self._plant.hands[body])
            at = (float(center[0]), float(center[1]), float(center[2]))
            made.append(NodeForce(f"pull at {body}", row, at, (x, y, z)))
        return made

    def pull(self, body: str, target: ArrayLike) -> None:
        """Draw the mass center of a body to a point."""
        if body not in self._plant.hands:
            raise Error(f"{body!r} has no mass to pull at")
        self.pulled = Pull(body, np.asarray(target, float))

    def release(self) -> None:
        """Let go of the body that is pulled."""
        self.pulled = None

    def push(self, body: str, impulse: ArrayLike, now: int) -> None:
        """Give a body a push."""
        if body not in self._plant.hands:
            raise Error(f"{body!r} has no mass to push")
        ticks = max(1, round(_PUSH * self._plant.speed / self._tick))
        force = np.asarray(impulse, float) / (ticks * self._tick)
        with self._lock:
            self.pushes.append((body, force, now + ticks))

    def inputs(self, held: Array, now: int, poses: Array | None, hertz: float) -> Array:
        """Return the inputs of the System with the forces that act now."""
        forces = held.copy()
        for body in self._plant.hands:
            forces[list(self._plant.hands[body])] = 0.0
        # Whoever pulls, pushes and lets go does so from another thread than the run's.
        with self._lock:
            self.pushes = [p for p in self.pushes if p[2] > now]
            pushes, pulled = list(self.pushes), self.pulled
        for body, force, _ in pushes:
            forces[list(self._plant.hands[body])] += force
        if pulled is not None and poses is not None:
            spring = self._spring(pulled, now, poses, hertz)
            forces[list(self._plant.hands[pulled.body])] += spring
        return forces

    def _spring(self, pull: Pull, now: int, poses: Array, hertz: float) -> Array:
        mass = self._bodies[pull.body][2]
        place = self.place(pull.body, poses)
        before = self._where.get(pull.body)
        self._where = {pull.body: np.concatenate([place, [now]])}
        speed = np.zeros(3)
        if before is not None and now > before[3]:
            speed = (place - before[:3]) / ((now - before[3]) * self._tick)
        whole = sum(m for _, _, m in self._bodies.values())
        stiffest = min(_STIFFEST / self._plant.speed, 0.25 / self._tick) ** 2 * mass
        stiff = min((2 * np.pi * hertz / self._plant.speed) ** 2 * whole, stiffest)
        damping = np.sqrt(stiff * mass)
        return np.asarray(stiff * (pull.target - place) - damping * speed)

    def place(self, body: str, poses: Array) -> Array:
        """Return the mass center of a body, in the world's axes, m."""
        if body not in self._bodies:
            raise Error(f"{body!r} has no mass to pull at")
        row, center, _ = self._bodies[body]
        return np.asarray(poses[row, :3] + turned(poses[row, 3:], center))


def _centers(scene: Scene, plant: Plant) -> dict[str, tuple[int, Array, float]]:
    """Return the row of each body in the poses, its mass center in its frame, and its mass."""
    geometry = Geometry(scene.robot.mechanism, scene.poses.values)
    return {
        body.name: (row, geometry.center(body), geometry.mass(body))
        for body, row in body_rows(scene.robot.mechanism).items()
        if body.name in plant.hands
    }
