"""Balance on what stands: a whole-body controller as a task of every laboratory whose base floats.

The controller (`linkwright.wholebody.Controller`) finds accelerations and contact forces that obey
the equations of motion with the feet at rest, inside the cones of friction and the limits of the
joints, and takes the mass center where it is asked to be, the base upright, and the posture. Its
torques are the feedforward command; the measured state is what is wanted of the joints, so that the
feedback of the motor servo rests.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwright.base.errors import InputError, unknown
from linkwright.lab.tasks import Task, channel, parameter, setting, state

LOW = 0.02
"""m above the lowest vertex up to which others count as feet."""


class StandingBalance(Task):
    """Keeps the mass center above the feet, or takes it elsewhere; height below 0 is a squat."""

    name = "balance"
    x = parameter(0.0, unit="m", low=-1, high=1, doc="of the mass center from its start")
    y = parameter(0.0, unit="m", low=-1, high=1, doc="of the mass center from its start")
    height = parameter(0.0, unit="m", low=-1, high=1, doc="of the mass center from its start")
    kp = parameter(100.0, unit="1/s^2", low=1, high=1e4, doc="acceleration for an error")
    quickness = parameter(
        10.0, unit="1/s", low=0.1, high=100, doc="with which goals are approached"
    )
    contacts = setting("", doc="vertices that stand, with commas; the lowest by default")
    friction = setting(0.5, doc="coefficient of the feet")
    relaxed = channel("1", doc="limits that gave way at a tick")
    error = channel("m", doc="of the mass center")
    away = state((0.0, 0.0, 0.0))
    speed = state((0.0, 0.0, 0.0))

    def init(self, lab: Any) -> None:
        """Take the robot as it stands."""
        from linkwright.robots import Robot

        config = lab.config
        base = "file" if any(j.kind == "free" for j in config.description.joints) else "free"
        self.robot = Robot(config.description, base=base, friction=False)
        free = next(j for j in self.robot.assembled.joints if j.kind == "free")
        names = list(self.robot.coordinates)
        self.of_base = [names.index(x.name) for x in free.coordinates]
        self.joints = [names.index(name) for name in config.names]
        self.speeds = [k - len(free.coordinates) + 6 for k in self.joints]
        self.period = config.ratios.get("task", 2) / config.rate
        q, u = self._state(lab.base, lab.state)
        self.feet = self._feet(config, q)
        self.center = self.robot.center_of_mass(q)
        self.goal = self.center, np.zeros(3), np.zeros(3)
        self.body = self._controller(q, free.child)
        self.order = [self.body.joints.index(name) for name in config.names]
        self.body.solve(q, u)  # what is derived is there before the first tick

    def _state(self, base: Any, joints: Any) -> tuple[Any, Any]:
        """Return coordinates and speeds of the robot."""
        from linkwright.lab.kinematics import rotation

        q = self.robot.neutral.copy()
        q[self.of_base], q[self.joints] = [*base.x, *base.q], joints.q
        u = np.zeros(len(self.robot.speeds))
        turn = rotation(base.q).T
        u[:6], u[self.speeds] = [*(turn @ base.xd), *(turn @ base.w)], joints.u
        return q, u

    def _feet(self, config: Any, q: Any) -> list[str]:
        """Return the frames that stand."""
        if words := [word.strip() for word in str(self.contacts).split(",") if word.strip()]:
            for word in words:
                if word not in config.vertices:
                    raise unknown("vertex", word, config.vertices)
            return [config.vertices[word] for word in words]
        if not config.vertices:
            raise InputError(
                f"{config.name!r} has no vertices to stand on", remedy="name its feet in vertices"
            )
        heights = {f: float(self.robot.position(q, f)[2]) for f in config.vertices.values()}
        return [f for f, z in heights.items() if z < min(heights.values()) + LOW]

    def _controller(self, q: Any, trunk: str) -> Any:
        from linkwright import wholebody

        made = wholebody.Controller(self.robot, self.feet, friction=float(self.friction))
        upright = self.robot.pose(q, trunk)[:3, :3]
        made.track(trunk, orientation=upright, weight=10.0, kp=100.0)
        posture = dict(zip(self.robot.coordinates, q.tolist(), strict=True))
        made.posture({name: posture[name] for name in made.joints}, priority=2)
        made.track(wholebody.center_of_mass, position=lambda _: self.goal, weight=10.0)
        return made

    def run(self, t: Any, state: Any, desired: Any) -> None:
        """Give the torques of the controller; goals are approached without a jump of the speed."""
        q, u = self._state(state.base, state)
        asked = np.array([self.x, self.y, self.height])
        way, speed, w = self.away, self.speed, self.quickness
        pull = w * w * (asked - way) - 2 * w * speed
        # the controller's own gain is 100: the rest of `kp` comes by the acceleration it is given
        place = self.center + way
        miss = place - self.robot.center_of_mass(q)
        self.goal = place, speed.copy(), pull + (self.kp - 100.0) * miss
        found = self.body.solve(q, u, t)
        self.error, self.relaxed = float(np.linalg.norm(miss)), float(len(found.relaxed))
        desired.q, desired.u, desired.a = state.q, state.u, 0.0
        desired.uff = found.effort[self.order]
        self.speed = speed + self.period * pull
        self.away = way + self.period * self.speed
