"""Motions that a program waits for: to a posture, to the default one, of an end-effector.

They are tasks (`goto`, `goto-cart`) that are started and waited for: in lockstep the laboratory is
run until they are done; by the clock they are waited for. They work in `init` of another task too.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwright.base.errors import Error
from linkwright.lab.builtin.frames import goal_numbers
from linkwright.lab.loop import require_sound
from linkwright.lab.slot import MEMBER

if TYPE_CHECKING:
    from linkwright.lab.lab import Lab

LONGEST = 600.0
"""s of the laboratory, after which a motion that does not end is given up."""


NEAR = 1e-3
"""m from its goal at which an end-effector counts as there."""


def go_to(
    lab: Lab,
    posture: ArrayLike | Mapping[str, float],
    *,
    inverse_dynamics: bool = False,
    speed: float | None = None,
    uff: ArrayLike | Mapping[str, float] | None = None,
) -> None:
    """Move all joints to a posture, and wait until they should be there.

    Args:
        posture: positions in order, or some by joint; others go to their default.
        inverse_dynamics: whether inverse dynamics adds torques on the way.
        speed: of the joint that goes farthest, rad/s; the task's own by default.
        uff: feedforward command there, N*m.
    """
    given: dict[str, Any] = {"target": posture, "uff": uff}
    given["inverse_dynamics"] = bool(inverse_dynamics)
    if speed is not None:
        given["speed"] = speed
    _wait_for(lab, "goto", given)


def go_default(lab: Lab, *, inverse_dynamics: bool = False, speed: float | None = None) -> None:
    """Move all joints to the default posture, and wait (SL: go0).

    Args:
        inverse_dynamics: whether inverse dynamics adds torques on the way.
        speed: of the joint that goes farthest, rad/s; the task's own by default.
    """
    lab.go_to({}, inverse_dynamics=inverse_dynamics, speed=speed)


def go_cartesian(
    lab: Lab, targets: Mapping[str, ArrayLike], *, duration: float | None = None
) -> None:
    """Move end-effectors to places in straight lines, and wait.

    Args:
        targets: positions, m, by end-effector.
        duration: s; the task's own by default.
    """
    given: dict[str, Any] = {"targets": dict(targets)}
    if duration is not None:
        given["duration"] = duration
    _wait_for(lab, "goto-cart", given)
    _require_reached(lab, targets)


def _require_reached(lab: Lab, targets: Mapping[str, ArrayLike]) -> None:
    """Say which goals the wanted joints do not reach."""
    for name, goal in targets.items():
        (x,) = lab.values(f"cart_desired.{name}_x")
        away = float(np.linalg.norm(x - np.array(goal_numbers(goal)[:3])))
        if away > NEAR:
            raise Error(
                f"{name} stays {away:.3g} m from its goal, as near as the joints come to it",
                remedy="choose a goal within reach, or give a longer duration",
            )


def _wait_for(lab: Lab, name: str, given: Mapping[str, Any]) -> None:
    """Start a task, and wait until it is done; the mode and the last task stay."""
    last, mode = lab._last.get(MEMBER), lab.servo_mode
    if not lab.start(name, **given):
        raise Error(f"{name} was not started")
    serial = lab._serials[MEMBER]
    step = max(1, round(0.02 / lab.period))
    limit = lab.tick + LONGEST / float(lab.period)
    while lab.task == name and lab._serials[MEMBER] == serial:
        if lab.tick > limit:
            lab.freeze()
            raise Error(f"{name} has not ended within {LONGEST:g} s")
        if lab._speed is None:
            lab.go_on(step)
        else:
            require_sound(lab)
            time.sleep(0.002)
    if lab.stopped is not None:
        raise Error(f"the laboratory is stopped: {lab.stopped}", remedy="reset it first")
    if lab._ended != serial:
        raise Error(f"{name} was ended before it was done")
    if lab.servo_mode != mode:
        lab.mode(mode)
    if last is not None:
        lab._last[MEMBER] = last
