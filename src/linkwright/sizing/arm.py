"""The joints of a robot with their loads, and what a mass at one joint adds to those inboard.

A drive sits on the link inboard of its joint, as a point mass at the joint's origin. With the
acceleration a of that point, gravity g and the vector r to it from an inboard joint, a kilogram
adds the force a - g and the moment r x (a - g) to what that joint carries, and their component
along the axis to what its drive does. All of it is linear in the mass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import evaluate
from linkwright.base.errors import InputError
from linkwright.equations.rnea import armature_inertias
from linkwright.sizing.cycle import JointCycle, joint_axes
from linkwright.sizing.loads import JointLoad
from linkwright.sizing.requirements.require import joints_of, loads_of
from linkwright.sizing.requirements.requirement import Requirement
from linkwright.sizing.requirements.sampled import refuse_unsuited

if TYPE_CHECKING:
    from linkwright.robots import Robot

__all__ = ["Arm", "MassColumn"]

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True)
class MassColumn:
    """What a kilogram at one joint adds to another: series over the samples of the task."""

    torque: Array
    still: Array
    inertia: Array
    force: Array
    moment: Array


@dataclass(frozen=True, slots=True)
class Arm:
    """Cycles of all joints, tree order, with what is known of the robot.

    Args:
        cycles: of the joints, each joint before those that hang on it.
        inertia: about each joint, by name; nothing where no robot is known.
        still: torque at rest, by name.
        columns: what a kilogram adds, by joint that carries it and joint where it sits.
        robot: that moves, where it is known.
        payload: ten inertial parameters of what `frame` carries all the time, or nothing.
        frame: of the tool.
        changing: words for loads of the task other than payloads.
        payloads: what is carried from when on, s after the start, where it changes.
    """

    cycles: tuple[JointCycle, ...]
    inertia: Mapping[str, Array] = field(default_factory=dict)
    still: Mapping[str, Array] = field(default_factory=dict)
    columns: Mapping[tuple[str, str], MassColumn] = field(default_factory=dict)
    robot: Robot | None = None
    payload: Array | None = None
    frame: str = ""
    changing: tuple[str, ...] = ()
    payloads: tuple[tuple[float, Array], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The joints."""
        return tuple(c.name for c in self.cycles)

    def cycle(self, name: str) -> JointCycle:
        """Return the cycle of a joint as the task asked, without drives."""
        return self.cycles[self.names.index(name)]

    def load(self, name: str, masses: Mapping[str, float]) -> JointLoad:
        """Return the load of a joint, with masses (kg) at others by their names."""
        cycle = self.cycle(name)
        torque, force, moment = cycle.torque, cycle.force, cycle.moment
        inertia, still = self.inertia.get(name), self.still.get(name)
        for other, mass in masses.items():
            column = self.columns.get((name, other))
            if column is None or mass == 0.0:
                continue
            torque = torque + mass * column.torque
            force = None if force is None else force + mass * column.force
            moment = None if moment is None else moment + mass * column.moment
            inertia = None if inertia is None else inertia + mass * column.inertia
            still = None if still is None else still + mass * column.still
        return JointLoad(replace(cycle, torque=torque, force=force, moment=moment), inertia, still)


def arm_of(need: Any, robot: Any = None) -> Arm:
    """Return the joints of a requirement, or of a sequence of cycles, moved by a robot."""
    cycles = need.cycles() if isinstance(need, Requirement) else need
    if not isinstance(cycles, Sequence) or not all(isinstance(c, JointCycle) for c in cycles):
        raise InputError(
            "what is sized is neither a requirement nor a sequence of JointCycle",
            remedy="size(require(robot, task)), or size([JointCycle(...), ...])",
            code="R301",
        )
    names = [c.name for c in cycles]
    if not cycles or len(set(names)) < len(names):
        raise InputError(
            "there is no joint to size a drive for" if not cycles else "a joint stands twice",
            remedy="give one cycle for each joint",
            code="R301",
        )
    if isinstance(need, Requirement) and robot is None:
        machine = bool(need.robot.loops)
        q = need.dynamic_states()[0] if machine else _motion(cycles)[0]
        loads = loads_of(need.robot, need.task, cycles[0].times, q, need.payload)
        if machine:
            return _machine(need.robot, tuple(cycles), loads, need.task.frame, q)
        return _moved(need.robot, tuple(cycles), loads, need.task.frame)
    return Arm(tuple(cycles)) if robot is None else _moved(robot, tuple(cycles), {}, "")


def _motion(cycles: Sequence[JointCycle]) -> tuple[Array, Array, Array]:
    """Return coordinates, speeds and accelerations, one row for each sample."""
    q, u, a = (
        np.stack([getattr(c, key) for c in cycles], axis=1)
        for key in ("position", "speed", "acceleration")
    )
    return q, u, a


def _moved(
    robot: Robot, cycles: tuple[JointCycle, ...], loads: Mapping[str, Array], frame: str
) -> Arm:
    """Return the joints with inertia, torque at rest and what a kilogram at each adds.

    A payload counts in both; a wrench at the tool and the base's motion do not.
    """
    links = _links(robot, cycles)
    gravity = _gravity(robot)
    down = gravity - loads.get("base", np.zeros(3))
    q = _motion(cycles)[0]
    held = {k: v if k == "payload" else np.zeros_like(v) for k, v in loads.items()}
    more: dict[str, Any] = {**held, "frame": frame} if held else {}
    nothing = np.zeros_like(q)
    still = np.asarray(robot.joint_loads(q, nothing, nothing, **more)[0])
    rotors = _rotors(robot)
    masses = np.empty_like(q)
    for k in range(len(cycles)):
        unit = nothing.copy()
        unit[:, k] = 1.0
        pushed = robot.joint_loads(q, nothing, unit, **more)[0]
        masses[:, k] = pushed[:, k] - still[:, k] - rotors[k]
    columns = {}
    for k, far in enumerate(links):
        for j in far.inboard:
            columns[cycles[j].name, cycles[k].name] = _column(links[j], far, down, gravity)
    return Arm(
        tuple(
            replace(c, torque=c.torque - rotor * c.acceleration)
            for c, rotor in zip(cycles, rotors, strict=True)
        ),
        {c.name: masses[:, k] for k, c in enumerate(cycles)},
        {c.name: still[:, k] for k, c in enumerate(cycles)},
        columns,
        robot,
        loads["payload"][0] if "payload" in loads else None,
        frame,
        _changing(loads),
        _payloads(loads, cycles[0].times),
    )


def _machine(
    robot: Robot, cycles: tuple[JointCycle, ...], loads: Mapping[str, Array], frame: str, q: Array
) -> Arm:
    """Return the actuators of a machine with loops, each with the inertia that it alone feels.

    Nothing is added for masses of drives: those at the base stand still, and what a drive that
    rides on a link adds has to be in the model.
    """
    held = {k: v if k == "payload" else np.zeros_like(v) for k, v in loads.items()}
    more: dict[str, Any] = {**held, "frame": frame} if held else {}
    nothing = np.zeros((len(q), len(cycles)))
    still = np.asarray(robot.joint_loads(q, nothing, nothing, **more)[0])
    known = dict(zip(robot.coordinates, _rotors(robot), strict=True))
    rotors = [known[c.name] for c in cycles]
    inertia = {}
    for k, c in enumerate(cycles):
        unit = nothing.copy()
        unit[:, k] = 1.0
        inertia[c.name] = (robot.joint_loads(q, nothing, unit, **more)[0] - still)[:, k] - rotors[k]
    return Arm(
        tuple(
            replace(c, torque=c.torque - rotor * c.acceleration)
            for c, rotor in zip(cycles, rotors, strict=True)
        ),
        inertia,
        {c.name: still[:, k] for k, c in enumerate(cycles)},
        {},
        robot,
        loads["payload"][0] if "payload" in loads else None,
        frame,
        _changing(loads),
        _payloads(loads, cycles[0].times),
    )


def _changing(loads: Mapping[str, Array]) -> tuple[str, ...]:
    """Return words for what acts beside a payload that stays."""
    found = [
        word
        for key, word in (("wrench", "a wrench at the tool"), ("base", "a base that accelerates"))
        if key in loads and loads[key].any()
    ]
    if len(_changes(loads)) > _MOST_PAYLOADS:
        found.insert(0, "a payload that changes all the time")
    return tuple(found)


def _changes(loads: Mapping[str, Array]) -> NDArray[np.int_]:
    """Return the samples from which another payload is carried."""
    given = loads.get("payload")
    if given is None:
        return np.zeros(0, dtype=int)
    return np.flatnonzero((given[1:] != given[:-1]).any(axis=1)) + 1


def _payloads(loads: Mapping[str, Array], times: Array) -> tuple[tuple[float, Array], ...]:
    """Return what is carried from when on, in s after the start, where it changes."""
    found = _changes(loads)
    if not 0 < len(found) <= _MOST_PAYLOADS:
        return ()
    return tuple((float(times[k] - times[0]), loads["payload"][k]) for k in (0, *found))


_MOST_PAYLOADS = 50
"""Changes of the payload in a task, beyond which it has no steps."""


@dataclass(frozen=True, slots=True)
class _Link:
    """A joint and the link behind it, in the world's axes: series over the samples."""

    kind: str
    inboard: tuple[int, ...]
    axis: Array
    axes: Array
    origin: Array
    seat: Array
    acceleration: Array


def _links(robot: Robot, cycles: Sequence[JointCycle]) -> list[_Link]:
    names = [c.name for c in cycles]
    refuse_unsuited(robot)
    if names != list(robot.coordinates):
        raise InputError(
            f"the cycles are of the joints {', '.join(names)}, and the robot has the coordinates "
            f"{', '.join(robot.coordinates)}",
            remedy="give one cycle for each joint of a robot on a fixed base, in its order",
            code="R306",
        )
    q, u, a = _motion(cycles)
    made: list[_Link] = []
    links = [joint.link for joint in joints_of(robot)]
    for k, (cycle, link) in enumerate(zip(cycles, links, strict=True)):
        pose, jacobian = robot.pose_and_jacobian(q, link)
        moved = robot.acceleration(q, u, a, link)
        inboard = tuple(j for j in range(k) if jacobian[:, :, j].any())
        slides = cycle.kind == "prismatic"
        axis = jacobian[:, :3, k] if slides else jacobian[:, 3:, k]
        seat, push = pose[:, :3, 3], moved[:, :3]
        if slides:
            seat = seat - axis * cycle.position[:, None]
            push = _carried(robot, links[max(inboard)] if inboard else "", seat, (q, u, a))
        turn = pose[:, :3, :3] @ joint_axes(pose[0, :3, :3].T @ axis[0])
        made.append(_Link(cycle.kind, inboard, axis, turn, pose[:, :3, 3], seat, push))
    return made


def _carried(robot: Robot, link: str, seat: Array, motion: tuple[Array, Array, Array]) -> Array:
    """Return the acceleration of a point that a link carries; nothing carries it on the ground."""
    if not link:
        return np.zeros_like(seat)
    q, u, a = motion
    r = seat - robot.pose(q, link)[:, :3, 3]
    rate, moved = robot.velocity(q, u, link), robot.acceleration(q, u, a, link)
    turning = np.cross(rate[:, 3:], np.cross(rate[:, 3:], r))
    return np.asarray(moved[:, :3] + np.cross(moved[:, 3:], r) + turning)


def _column(near: _Link, far: _Link, down: Array, still: Array) -> MassColumn:
    """Return what a kilogram at the seat of one joint adds to another.

    `down` is gravity as the moving base feels it, `still` gravity itself.
    """
    r = far.seat - near.origin
    push = far.acceleration - down
    moment = np.cross(r, push)
    weight = np.broadcast_to(-still, push.shape)
    if near.kind == "prismatic":
        torque, held = (push * near.axis).sum(axis=1), (weight * near.axis).sum(axis=1)
        inertia = np.ones(len(r))
    else:
        torque = (moment * near.axis).sum(axis=1)
        held = (np.cross(r, weight) * near.axis).sum(axis=1)
        inertia = (np.cross(near.axis, r) ** 2).sum(axis=1)
    force = np.einsum("nij,ni->nj", near.axes, push)
    return MassColumn(torque, held, inertia, force, np.einsum("nij,ni->nj", near.axes, moment))


def _gravity(robot: Robot) -> Array:
    m = robot.mechanism
    known = {x: m.values[name] for name, x in m.parameters.items() if name in m.values}
    parts = m.gravity_vector.components(m.ground.frame)
    return np.array([float(evaluate(x, known)) for x in parts])


def _rotors(robot: Robot) -> list[float]:
    """Return the geared inertia of the rotors that the robot has already, joint by joint.

    They belong to other drives, and are taken out before new ones are judged. A rotor at a joint
    that follows another counts there, times the square of its ratio.
    """
    m = robot.mechanism
    known = {x: m.values[name] for name, x in m.parameters.items() if name in m.values}
    leaders = {j.coordinates[0]: j.follows for j in robot.assembled.joints if j.follows is not None}
    found = dict.fromkeys(robot.coordinates, 0.0)
    kinematics = robot.tree.kinematics
    for speed, rotor in zip(kinematics.speeds, armature_inertias(kinematics), strict=True):
        q, ratio = speed.body.coordinates[0], 1.0
        while q in leaders:
            q, factor, _ = leaders[q]
            ratio *= factor
        found[str(q)] += ratio**2 * float(evaluate(rotor, known))
    return list(found.values())
