"""Tasks of end-effectors through inverse kinematics: goto-cart and track."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from linkwright.base.errors import InputError, unknown
from linkwright.formats.robot.transforms import rotation_quaternion
from linkwright.lab.builtin.joints import task_period
from linkwright.lab.builtin.quintics import gone_on, turned, way_to
from linkwright.lab.config import LabConfig
from linkwright.lab.functions import equal, maximum, where
from linkwright.lab.slot import PARAMETERS
from linkwright.lab.tasks import Task, parameter, setting

GOAL = ("x", "y", "z", "q0", "q1", "q2", "q3")
"""Endings of the parameters of a goal: position, m, and a quaternion, scalar first."""


class GoToCart(Task):
    """Moves end-effectors to goals on straight lines with minimum jerk (SL: GOTO_CART_TASK).

    Inverse kinematics makes joints of that and inverse dynamics torques. Each end-effector has
    parameters for its goal, such as `R_HAND_x`; one that is changed on the way bends the motion,
    which still arrives in time. What is not asked for is free: other end-effectors, and the
    orientation unless the goal has one.
    """

    name = "goto-cart"
    native = True
    duration = parameter(1.0, unit="s", lower=0.02, upper=1000, doc="of the motion")
    targets = setting(None, doc="goals by end-effector: x, y, z, a quaternion or a matrix too")
    end_effector = setting("", doc="which one moves by x, y, z; the first one by default")
    x = setting(None, doc="of the goal, m; where it is by default")
    y = setting(None, doc="likewise")
    z = setting(None, doc="likewise")
    effectors: ClassVar[tuple[str, ...]] = ()

    def init(self, lab: Any) -> None:
        """Take up the goals."""
        self.period = task_period(lab.config)
        goals = self._goals(lab)
        self.moves = tuple(goals)
        self.turns = tuple(name for name, goal in goals.items() if len(goal) == 7)
        for name, goal in goals.items():
            for end, value in zip(GOAL, goal, strict=False):
                setattr(self, f"{name}_{end}", value)
        lab.mode("cart")

    def _goals(self, lab: Any) -> dict[str, list[float]]:
        known = list(self.effectors)
        if not known:
            raise InputError(f"the laboratory {lab.config.name!r} has no end-effector")
        if self.targets is not None:
            if not isinstance(self.targets, Mapping) or not self.targets:
                raise InputError("targets are goals by end-effector", remedy="give {'NAME': x}")
            for name in self.targets:
                _require(name, known, "end-effector")
            return {name: goal_numbers(value) for name, value in self.targets.items()}
        name = self.end_effector or known[0]
        _require(name, known, "end-effector")
        here = lab.cart_desired[name].x
        given = (self.x, self.y, self.z)
        return {name: [float(a if g is None else g) for a, g in zip(here, given, strict=True)]}

    def run(self, t: Any, state: Any, desired: Any) -> None:
        """Go on by a tick."""
        first, h = equal(t, 0), self.period
        left = self.duration - t + h  # at the tick before
        going = left > 1.5 * h
        time = maximum(left, h)
        for name in self.moves:
            frame = desired.cart[name]
            goal = np.array([getattr(self, f"{name}_{end}") for end in GOAL])
            x, v, a = frame.x.copy(), frame.xd.copy(), frame.xdd.copy()
            step, speed, rate = gone_on(goal[:3] - x, v, a, 0, 0, time, h)
            frame.x = where(first, x, where(going, x + step, goal[:3]))
            frame.xd = where(first, v, where(going, speed, 0))
            frame.xdd = where(first, a, where(going, rate, 0))
            if name in self.turns:
                q, w, wd = frame.q.copy(), frame.w.copy(), frame.wd.copy()
                step, speed, rate = gone_on(way_to(q, goal[3:]), w, wd, 0, 0, time, h)
                frame.q = where(first, q, where(going, turned(q, step), goal[3:]))
                frame.w = where(first, w, where(going, speed, 0))
                frame.wd = where(first, wd, where(going, rate, 0))
            frame.status = [1, 1, 1, *[1 if name in self.turns else 0] * 3]
        desired.done = where(t >= self.duration, 1, 0)

    def draw(self, scene: Any, state: Any) -> None:
        """Show the way to each goal."""
        for name in self.moves:
            goal = [float(getattr(self, f"{name}_{end}")) for end in "xyz"]
            scene.line([state.cart[name].x, goal], color="green")
            scene.sphere(goal, radius=0.015, color="green")


def goal_numbers(value: Any) -> list[float]:
    """Return a goal as x, y, z and, where it has an orientation, a unit quaternion.

    >>> goal_numbers(np.eye(4))
    [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    """
    try:
        given = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.shape == (4, 4):
        a, b, c = ((float(r[0]), float(r[1]), float(r[2])) for r in given[:3, :3])
        given = np.array([*given[:3, 3], *rotation_quaternion((a, b, c))])
    if given.shape not in ((3,), (7,)) or not np.isfinite(given).all():
        raise InputError(
            f"{value!r} is not a goal of an end-effector",
            remedy="give x, y, z; or a quaternion w, x, y, z too; or a 4 by 4 matrix",
        )
    if len(given) == 7:
        size = float(np.linalg.norm(given[3:]))
        if abs(size - 1) > 1e-3:
            raise InputError(f"a goal has a quaternion of length {size:g}", remedy="give length 1")
        given = np.array([*given[:3], *given[3:] / size])
    return [float(x) for x in given]


def _require(name: str, known: list[str], what: str) -> None:
    if name not in known:
        raise unknown(what, name, known)


def goto_cart_task(config: LabConfig) -> type[GoToCart]:
    """Return the task goto-cart of a laboratory, with parameters for each end-effector.

    >>> from linkwright.lab.sources import lab_config
    >>> list(goto_cart_task(lab_config("sl-arm")).parameters())[:3]
    ['duration', 'R_HAND_x', 'R_HAND_y']
    """
    names = [effector.name for effector in config.end_effectors]
    most = (PARAMETERS - len(GoToCart.parameters())) // len(GOAL)
    parts: dict[str, Any] = {"name": "goto-cart", "__doc__": GoToCart.__doc__}
    parts["effectors"] = tuple(names[:most])
    for name in names[:most]:
        for end in GOAL:
            unit = "m" if end in "xyz" else "1"
            start = 1.0 if end == "q0" else 0.0
            parts[f"{name}_{end}"] = parameter(start, unit=unit, doc=f"{end} of the goal")
    return type("GoToCart", (GoToCart,), parts)


class BlobTracking(Task):
    """Follows a blob with an end-effector, through inverse kinematics (SL: TRACKING_TASK).

    At first it comes to the blob in `approach` seconds; then it goes toward where the blob is
    predicted to be `horizon` seconds ahead, always on the motion of minimum jerk that meets it
    there, with its speed and acceleration. While the blob is not seen it comes to rest.
    """

    name = "track"
    native = True
    approach = parameter(1.0, unit="s", lower=0.05, upper=60, doc="time to come to the blob")
    horizon = parameter(0.15, unit="s", lower=0.02, upper=2, doc="how far ahead it looks")
    blob = setting("", doc="which one; the first one by default")
    end_effector = setting("", doc="which one; the first one by default")

    def init(self, lab: Any) -> None:
        """Look what follows what."""
        self.period = task_period(lab.config)
        effectors = [effector.name for effector in lab.config.end_effectors]
        blobs = list(lab.config.vision.blobs)
        if not effectors or not blobs:
            what = "blob" if effectors else "end-effector"
            raise InputError(f"the laboratory {lab.config.name!r} has no {what} to track with")
        self.target, self.hand = self.blob or blobs[0], self.end_effector or effectors[0]
        _require(self.target, blobs, "blob")
        _require(self.hand, effectors, "end-effector")
        lab.mode("cart")

    def run(self, t: Any, state: Any, desired: Any) -> None:
        """Go on by a tick."""
        first, h = equal(t, 0), self.period
        blob, hand = state.blobs[self.target], desired.cart[self.hand]
        x, v, a = hand.x.copy(), hand.xd.copy(), hand.xdd.copy()
        seen = blob.status > 0
        left = maximum(self.approach - t, self.horizon)
        bx, bv, ba = blob.x, blob.xd, blob.xdd
        goal = where(seen, bx + left * (bv + left * ba / 2), x)
        goal_v, goal_a = where(seen, bv + left * ba, 0), where(seen, ba, 0)
        step, speed, rate = gone_on(goal - x, v, a, goal_v, goal_a, left, h)
        hand.x, hand.xd, hand.xdd = (
            where(first, old, new) for old, new in ((x, x + step), (v, speed), (a, rate))
        )
        hand.status = [1, 1, 1, 0, 0, 0]

    def draw(self, scene: Any, state: Any) -> None:
        """Show the blob that is followed."""
        blob = state.blobs[self.target]
        color = "orange" if blob.status else "gray"
        scene.sphere(blob.x, radius=0.03, color=color)
