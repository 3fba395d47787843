"""The inverse-kinematics servo: joints from the Cartesian targets of a task.

It is `VelocityIK` with the end-effectors, rest posture, weights and ranges of the laboratory. An
end-effector's place in the list is its priority. Components whose status is 0 are free; where none
is wanted, it stands by.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwright.algebra import Expr, total, where
from linkwright.base.errors import InputError
from linkwright.formats.robot.description import Description
from linkwright.lab.config import LabConfig
from linkwright.lab.servos.desired import listed
from linkwright.robots import Robot
from linkwright.robots.ik import VelocityIK, checked_weights
from linkwright.system import System

FRAME = {"x": 3, "xd": 3, "xdd": 3, "q": 4, "w": 3, "wd": 3}
"""Numbers of a target: position and its rates, quaternion (w, x, y, z), angular velocity and
acceleration, along the world's axes."""

_SIZE = sum(FRAME.values())


def inverse_kinematics_servo(config: LabConfig, *, name: str = "invkin") -> VelocityIK:
    """Return the inverse-kinematics servo of a laboratory, as a block.

    >>> from linkwright.lab.sources import lab_config
    >>> servo = inverse_kinematics_servo(lab_config("sl-arm"))
    >>> len(servo.inputs["pose"].values), sorted(servo.outputs)[:3]
    (7, ['a', 'error', 'q'])
    """
    if not config.end_effectors:
        raise InputError(
            f"the laboratory {config.name!r} has no end-effector for inverse kinematics",
            remedy="name one or more in end_effectors",
        )
    robot = _robot(config)
    order = _order(config, robot)
    by_name = {joint.name: joint for joint in config.joints}
    joints = [by_name[config.names[k]] for k in order]
    return VelocityIK(
        robot,
        [effector.link for effector in config.end_effectors],
        [joint.default for joint in joints],
        rest=[joint.rest for joint in joints],
        weights=[joint.weight for joint in joints],
        limits=[(joint.lower, joint.upper) for joint in joints],
        tools=[(*effector.x, *effector.a) for effector in config.end_effectors],
        name=name,
    )


def check_weights(config: LabConfig) -> None:
    """Reject weights of the rest posture that are not positive, and warn of those that overshoot.

    >>> from linkwright.lab.sources import lab_config
    >>> check_weights(lab_config("sl-arm"))
    """
    period = float(config.ratios.get("invkin", 2) / config.rate)
    weights = [joint.weight for joint in config.joints]
    checked_weights(weights, config.names, period, where=repr(config.name))


def add_invkin(
    system: System,
    config: LabConfig,
    *,
    rate: Any,  # of the servo, Hz
    on: Any,
    start: Sequence[Any],
    target: Sequence[Any],
    status: Sequence[Any],
    base: Sequence[Any] = (),
    base_rate: Sequence[Any] = (),
    real: bool = False,
) -> tuple[list[Expr], list[Expr], list[Expr]]:
    """Add the inverse-kinematics servo to the System of a laboratory, and connect it.

    Returns the positions, speeds and accelerations that it gives, in the laboratory's order.
    """
    servo = inverse_kinematics_servo(config)
    order = _order(config, _robot(config))
    member = system.add(servo, rate=rate)
    asked = total(system.expr(x) for x in status)
    system.connect(where(on, where(asked > 0, 1, 0), 0), member.on)
    system.connect([start[k] for k in order], member.start)
    own = set(listed(config, "invkin", real=real))
    system.connect([1.0 if config.names[k] in own else 0.0 for k in order], member.moves)
    system.connect(list(status), member.mask)
    for i, effector in enumerate(config.end_effectors):
        here = list(target[_SIZE * i : _SIZE * (i + 1)])
        parts = {key: here[at : at + size] for key, (at, size) in _places().items()}
        sides = {
            "pose": [*parts["x"], *parts["q"]],
            "twist": [*parts["xd"], *parts["w"]],
            "acceleration": [*parts["xdd"], *parts["wd"]],
        }
        if base:
            from linkwright.motion.chains import FrameProduct

            frame = FrameProduct(["base", "frame"], inverse=["base"], name=f"{effector.name}_seen")
            seen = system.add(frame, rate=rate)
            system.connect(list(base), seen.base_pose)
            system.connect(list(base_rate), seen.base_twist)
            for key, values in sides.items():
                system.connect(values, getattr(seen, f"frame_{key}"))
            sides = {key: list(getattr(seen, key)) for key in sides}
        for key, values in sides.items():
            port, size = getattr(member, key), len(values)
            for k, value in enumerate(values):
                system.connect(value, port[size * i + k])
    back = [order.index(k) for k in range(len(order))]
    q, u, a = ([getattr(member, key)[k] for k in back] for key in "qua")
    return q, u, a


def _places() -> dict[str, tuple[int, int]]:
    found, at = {}, 0
    for key, size in FRAME.items():
        found[key] = (at, size)
        at += size
    return found


def _robot(config: LabConfig) -> Robot:
    believed: Description = config.description if config.model is None else config.model
    return Robot(believed, base="fixed")


def _order(config: LabConfig, robot: Robot) -> list[int]:
    """Return which joint of the laboratory each coordinate of the robot is."""
    names = list(config.names)
    if sorted(names) != sorted(robot.coordinates):
        raise InputError(
            f"inverse kinematics of {config.name!r} moves {', '.join(robot.coordinates)}, and the "
            f"laboratory has the joints {', '.join(names)}",
            remedy="list every joint of the robot once",
        )
    return [names.index(name) for name in robot.coordinates]
