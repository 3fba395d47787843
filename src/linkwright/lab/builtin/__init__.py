"""The tasks that every laboratory has, from holding the posture to tracking a blob."""

from __future__ import annotations

from linkwright.lab.builtin.balance import GaitWalk, StandingBalance
from linkwright.lab.builtin.frames import BlobTracking, goto_cart_task
from linkwright.lab.builtin.joints import JointStep, NoTask, goto_task
from linkwright.lab.builtin.trajectories import RecordedMotion
from linkwright.lab.builtin.waves import Excite, Sine
from linkwright.lab.config import LabConfig
from linkwright.lab.tasks import Task


def builtin_tasks(config: LabConfig) -> dict[str, type[Task]]:
    """Return the tasks of a laboratory that nobody has to write, by name.

    >>> from linkwright.lab.sources import lab_config
    >>> list(builtin_tasks(lab_config("sl-arm")))
    ['none', 'goto', 'sine', 'trajectory', 'goto-cart', 'track', 'step', 'excite']
    """
    tasks: list[type[Task]] = [
        NoTask,
        goto_task(config),
        Sine,
        RecordedMotion,
        goto_cart_task(config),
        BlobTracking,
        JointStep,
        Excite,
    ]
    if config.base == "floating":
        tasks += [StandingBalance, GaitWalk]
    return {task.name: task for task in tasks}


__all__ = ["builtin_tasks"]
