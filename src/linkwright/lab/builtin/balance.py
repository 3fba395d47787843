"""Balance and walking: a whole-body controller as tasks of every laboratory whose base floats.

The controller (`linkwright.wholebody.Controller`) finds accelerations and contact forces that obey
the equations of motion with the feet at rest, inside the cones of friction and the limits of the
joints, and takes the mass center where it is asked to be, the base upright, and the posture. Its
torques are the feedforward command; the measured state is what is wanted of the joints, so that the
feedback of the motor servo rests.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from linkwright.base.errors import InputError, unknown
from linkwright.formats.robot.from_mechanism import link_name
from linkwright.lab.tasks import Task, channel, parameter, setting, state

LOW = 0.02
"""m above the lowest vertex up to which others count as feet."""

SETTLING = 0.1
"""s in which a foot that has landed comes to rest."""

AT_REST, LANDED = 0.05, 0.1
"""m/s that feet on the ground move at most, and s after which they have landed."""


class WholeBody(Task):
    """The robot of a laboratory with what it stands on, and torques of a whole-body controller."""

    contacts = setting("", doc="vertices that stand, with commas; the lowest by default")
    friction = setting(0.5, doc="coefficient of the feet")
    relaxed = channel("1", doc="limits that gave way at a tick")
    error = channel("m", doc="of the mass center")

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
        self.body = self._controller(q, free.child)
        self.order = [self.body.joints.index(name) for name in config.names]
        self.body.solve(q, u)  # what is derived is there before the first tick

    @abstractmethod
    def _controller(self, q: Any, trunk: str) -> Any:
        """Return the controller, for a robot that stands at q with the base `trunk`."""

    def _give(self, t: Any, q: Any, u: Any, state: Any, desired: Any) -> Any:
        """Give the torques of the controller, with feedback at rest."""
        found = self.body.solve(q, u, t)
        self.relaxed = float(len(found.relaxed))
        desired.q, desired.u, desired.a = state.q, state.u, 0.0
        desired.uff = found.effort[self.order]
        return found

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


class StandingBalance(WholeBody):
    """Keeps the mass center above the feet, or takes it elsewhere; height below 0 is a squat.

    A robot that is not on the ground yet stands as high above it as it was above its feet.
    """

    name = "balance"
    x = parameter(0.0, unit="m", lower=-1, upper=1, doc="of the mass center from its start")
    y = parameter(0.0, unit="m", lower=-1, upper=1, doc="of the mass center from its start")
    height = parameter(0.0, unit="m", lower=-1, upper=1, doc="of the mass center from its start")
    kp = parameter(100.0, unit="1/s^2", lower=1, upper=1e4, doc="acceleration for an error")
    quickness = parameter(
        10.0, unit="1/s", lower=0.1, upper=100, doc="with which goals are approached"
    )
    away = state((0.0, 0.0, 0.0))
    speed = state((0.0, 0.0, 0.0))
    still = state(0.0)  # s for which its feet have been at rest; below 0 once it has landed
    lowered = state(0.0)

    def _controller(self, q: Any, trunk: str) -> Any:
        from linkwright import wholebody

        self.center, self.level = self.robot.center_of_mass(q), self._level(q)
        self.goal = self.center, np.zeros(3), np.zeros(3)
        made = wholebody.Controller(self.robot, self.feet, friction=float(self.friction))
        upright = self.robot.pose(q, trunk)[:3, :3]
        made.track(trunk, orientation=upright, weight=10.0, kp=100.0)
        posture = dict(zip(self.robot.coordinates, q.tolist(), strict=True))
        made.posture({name: posture[name] for name in made.joints}, priority=2)
        made.track(wholebody.center_of_mass, position=lambda _: self.goal, weight=10.0)
        return made

    def _level(self, q: Any) -> float:
        """Return the mean height of the feet."""
        return float(np.mean([self.robot.position(q, foot)[2] for foot in self.feet]))

    def _land(self, t: float, q: Any, u: Any) -> None:
        """Once the feet have come to rest, take the mass center above them, without a jump."""
        fastest = max(abs(float(self.robot.velocity(q, u, foot)[2])) for foot in self.feet)
        self.still = self.still + self.period if fastest < AT_REST and t > 0 else 0.0
        if self.still > LANDED:
            self.still, self.lowered = -1.0, self._level(q) - self.level
            self.away = self.away - np.array([0.0, 0.0, self.lowered])

    def run(self, t: Any, state: Any, desired: Any) -> None:
        """Give the torques of the controller; goals are approached without a jump of the speed."""
        q, u = self._state(state.base, state)
        if self.still >= 0:
            self._land(t, q, u)
        asked = np.array([self.x, self.y, self.height])
        way, speed, w = self.away.copy(), self.speed, self.quickness
        pull = w * w * (asked - way) - 2 * w * speed
        # the controller's own gain is 100: the rest of `kp` comes by the acceleration it is given
        place = self.center + way + np.array([0.0, 0.0, self.lowered])
        miss = place - self.robot.center_of_mass(q)
        self.goal = place, speed.copy(), pull + (self.kp - 100.0) * miss
        self.error = float(np.linalg.norm(miss))
        self._give(t, q, u, state, desired)
        self.speed = speed + self.period * pull
        self.away = way + self.period * self.speed


class GaitWalk(WholeBody):
    """Walks with footsteps that are planned at its start, and stands at their end.

    The plan is a `linkwright.wholebody.gait.Gait`: one foot after the other, the first and the last
    step half as long. Vertices on one link are one foot.
    """

    name = "walk"
    steps = setting(4, doc="how many; the first and the last are half as long")
    stride = setting(0.2, doc="of a step forward, along the start's x axis of the base, m")
    sideways = setting(0.0, doc="likewise, along its y axis, m")
    step_time = setting(0.7, doc="from one step to the next, s")
    transfer = setting(0.2, doc="the part of it in which all feet stand, s")
    clearance = setting(0.05, doc="how high feet are lifted, m")
    rest = setting(1.0, doc="how long it stands before the first and after the last step, s")

    def _controller(self, q: Any, trunk: str) -> Any:
        from linkwright.wholebody.gait import Gait

        x, y = (float(v) for v in self.robot.pose(q, trunk)[:2, 0])
        ahead = np.array([x, y]) / max(float(np.hypot(x, y)), 1e-9)
        far = float(self.stride) * ahead + float(self.sideways) * np.array([-ahead[1], ahead[0]])
        self.gait = Gait(
            self.robot,
            q,
            self._soles(q),
            steps=self.steps,
            stride=far.tolist(),
            step_time=self.step_time,
            transfer=self.transfer,
            clearance=self.clearance,
            rest=self.rest,
        )
        return self.gait.controller(trunk, friction=float(self.friction), settling=SETTLING)

    def _soles(self, q: Any) -> list[Any]:
        """Return a contact for each link that has vertices on the ground."""
        from linkwright.wholebody import FlatContact

        links: dict[str, list[str]] = {}
        for frame in self.feet:
            links.setdefault(link_name(self.robot.assembled.places[frame][0]), []).append(frame)
        soles = []
        for link, frames in links.items():
            if len(frames) == 1:
                soles.append(FlatContact(frames[0]))
                continue
            pose = self.robot.pose(q, link)
            points = [(self.robot.position(q, f) - pose[:3, 3]) @ pose[:3, :3] for f in frames]
            soles.append(FlatContact(link, points=[p.tolist() for p in points]))
        return soles

    def run(self, t: Any, state: Any, desired: Any) -> None:
        """Give the torques that follow the plan."""
        q, u = self._state(state.base, state)
        miss = self.gait.center(t)[0] - self.robot.center_of_mass(q)
        self.error = float(np.linalg.norm(miss))
        self._give(t, q, u, state, desired)
        desired.done = t >= self.gait.duration
