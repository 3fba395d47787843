"""Tasks of joints: none, goto and step (SL: NO_TASK, GOTO_TASK and the command step)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError, unknown
from linkwright.lab.config import LabConfig
from linkwright.lab.functions import absolute, equal, maximum, where
from linkwright.lab.slot import PARAMETERS
from linkwright.lab.tasks import Task, parameter, setting, state


def task_period(config: LabConfig) -> float:
    """Return the time between two ticks of the task servo, s."""
    return float(config.ratios.get("task", 2) / config.rate)


def posture_of(config: LabConfig, given: Any) -> NDArray[np.float64]:
    """Return positions of all joints, in order."""
    found = np.array([joint.default for joint in config.joints])
    if isinstance(given, Mapping):
        for name, value in given.items():
            if name not in config.names:
                raise unknown("joint", name, config.names, owner=f"the laboratory {config.name!r}")
            found[config.names.index(name)] = float(value)
    elif given is not None:
        values = np.asarray(given, dtype=float).ravel()
        if len(values) != len(found):
            raise InputError(f"{len(values)} positions for {len(found)} joints")
        found = values
    if not np.isfinite(found).all():
        raise InputError("a posture has finite numbers", remedy="give angles in rad")
    return found


class NoTask(Task):
    """Holds the posture."""

    name = "none"
    native = True

    def run(self, t: Any, state: Any, desired: Any) -> None:
        """Want nothing else."""


class GoTo(Task):
    """Moves all joints to a posture at constant speed, straight in the space of the joints.

    Each joint has a parameter of its name. The joint that goes farthest has the speed, and the
    others arrive with it. The feedforward command goes to that of `uff` in the same way; what
    inverse dynamics adds is not counted in it.
    """

    name = "goto"
    native = True
    speed = parameter(
        0.5, unit="rad/s", lower=0.001, upper=20, doc="of the joint that goes farthest"
    )
    target = setting(None, doc="a posture: positions in order, or some by joint")
    uff = setting(None, doc="feedforward command there: in order, or some by joint")
    inverse_dynamics = setting(False, doc="whether inverse dynamics adds torques on the way")
    duration = state(0.0)
    goals: ClassVar[tuple[str, ...]] = ()
    feeds: ClassVar[tuple[str, ...]] = ()

    def init(self, lab: Any) -> None:
        """Take up the posture."""
        config: LabConfig = lab.config
        self.period = task_period(config)
        posture = posture_of(config, self.target)
        feed = np.zeros(len(posture))
        if self.uff is not None:
            at_rest = dict.fromkeys(config.names, 0.0)
            feed = posture_of(
                config, {**at_rest, **self.uff} if isinstance(self.uff, Mapping) else self.uff
            )
        if self.target is not None or not self.goals:
            self.posture = posture
            for name, value in zip(self.goals, posture, strict=False):
                setattr(self, name, value)
        self.feed = feed
        for name, value in zip(self.feeds, feed, strict=False):
            setattr(self, name, value)

    def run(self, t: Any, state: Any, desired: Any) -> None:
        """Go on by a tick."""
        first = equal(t, 0)
        goal = _row(self, self.goals) if self.goals else self.posture
        before = desired.q.copy()
        far = _largest(absolute(goal - before))
        whole = where(first, maximum(far / self.speed, self.period), self.duration)
        self.duration = whole
        left = whole - t
        going = left > 1e-6 * self.period
        share = where(first, 0, where(going, self.period / (left + self.period), 1))
        moved = before + share * (goal - before)
        desired.q = where(going, moved, goal)
        desired.u = where(going, (goal - moved) / maximum(left, 1e-6 * self.period), 0)
        desired.a = 0
        feed = _row(self, self.feeds) if self.feeds else self.feed
        fed = desired.uff.copy()
        desired.uff = where(going, fed + share * (feed - fed), feed)
        desired.done = where(going, 0, 1)


def goto_task(config: LabConfig) -> type[GoTo]:
    """Return the task goto of a laboratory, with a parameter for each joint.

    >>> from linkwright.lab.sources import lab_config
    >>> task = goto_task(lab_config("sl-arm"))
    >>> task.parameters()["R_EB"].default, task.parameters()["R_EB"].bounds
    (1.57, 'from 0.53 to 2.25 rad')
    """
    space = PARAMETERS - len(GoTo.parameters())
    taken = set(dir(GoTo))
    goals = tuple(n if n not in taken else f"{n}_th" for n in config.names)
    feeds = tuple(f"{name}_uff" for name in config.names)
    parts: dict[str, Any] = {"name": "goto", "__doc__": GoTo.__doc__}
    if len(goals) <= space:
        parts["goals"] = goals
        for name, joint in zip(goals, config.joints, strict=True):
            default = min(max(joint.default, joint.lower), joint.upper)
            parts[name] = parameter(
                default,
                unit=config.units[joint.name][0],
                lower=joint.lower,
                upper=joint.upper,
                doc=f"{joint.name} goes to",
            )
    if 2 * len(goals) <= space:
        parts["feeds"] = feeds
        for name, joint in zip(feeds, config.joints, strict=True):
            unit = config.units[joint.name][1]
            parts[name] = parameter(0.0, unit=unit, doc=f"feedforward of {joint.name} there")
    return type("GoTo", (GoTo,), parts)


class JointStep(Task):
    """Gives one joint a step of its wanted position; the others hold."""

    name = "step"
    native = True
    size = parameter(0.1, unit="rad", doc="of the step")
    duration = parameter(
        1.0, unit="s", lower=0, doc="until the task is done; 0: until it is frozen"
    )
    joint = setting("", doc="the joint; the first one where it is not named")
    origin = state(0.0)

    def init(self, lab: Any) -> None:
        """Look which joint it is."""
        names = lab.config.names
        wanted = self.joint or names[0]
        if wanted not in names:
            raise unknown("joint", wanted, names)
        self.place = names.index(wanted)

    def run(self, t: Any, state: Any, desired: Any) -> None:
        """Want the joint where it was, and the step."""
        first = equal(t, 0)
        self.origin = where(first, desired.q[self.place], self.origin)
        desired.q[self.place] = self.origin + self.size
        desired.u = 0
        desired.a = 0
        ends = (self.duration > 0) & (t >= self.duration)
        desired.done = where(ends, 1, 0)


def _row(task: Task, names: tuple[str, ...]) -> Any:
    return np.array([getattr(task, name) for name in names])


def _largest(values: Any) -> Any:
    found = values[0]
    for value in values[1:]:
        found = maximum(found, value)
    return found
