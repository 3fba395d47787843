"""The laboratory of a robot whose file says little of what a laboratory needs.

What it does not say follows these rules:

- Posture: zero where the range of a joint holds it, else the middle of the range. A joint without
  limits may go from -pi to pi rad, or from -1 to 1 m.
- Gains: of the inertia that a joint feels in that posture while the others are held, so that alone
  it would be a spring and damper of `FREQUENCY` with `DAMPING`; no integral part.
- Greatest command: that of the file, else `RESERVE` times what holds the arm in that posture
  together with the spring at a quarter of a radian (or meter).
- Greatest speed: that of the file, else 20 rad/s or m/s.
- Filters: none. End-effectors and vertices: the links at which branches end. Objects: none; a free
  base that has shapes to touch with stands on the ground of `simulate --ground`, lifted onto it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from linkwright.algebra import free_symbols
from linkwright.base.errors import InputError
from linkwright.formats.robot.description import Description, Place
from linkwright.formats.robot.ground import ground_of
from linkwright.formats.robot.names import code_names
from linkwright.formats.robot.transforms import (
    composed,
    quaternion_rotation,
    rotation_quaternion,
)
from linkwright.lab.config import MEMBERS, EndEffector, JointConfig, LabConfig, VisionConfig
from linkwright.mechanism import Mechanism
from linkwright.robots import Robot

FASTEST = 20.0
"""Greatest wanted speed where no file says one, rad/s or m/s."""

JUMP = 0.5
"""Greatest change of a wanted position in a tick where no file says one, rad or m."""

FREQUENCY = 3.0
"""Of the spring that gains are chosen for, Hz."""

DAMPING = 1.0
"""Of that spring: 1 is critical."""

RESERVE = 4.0
"""How much greater the greatest command is than what is needed."""

_STRETCH = 0.25


def described(robot: Robot) -> Description:
    """Return the description of a robot, also of one that is a mechanism.

    >>> described(Robot("puma560")).joints[0].name
    'q1'
    """
    from linkwright.formats.robot.from_mechanism import description_of

    source, known = robot.source, robot.mechanism.provenance
    if isinstance(source, Description):
        return source
    if known is not None and known.robot is not None:  # a shipped model that is a robot file
        found: Description = known.robot[0]
        return found
    return description_of(source)


def not_read(description: Description) -> tuple[str, ...]:
    """Return what a robot's file says and a laboratory does not use, in words.

    >>> from linkwright.formats.robot.description import Ignored
    >>> not_read(Description("r", (), (), ignored=(Ignored("<gazebo>", 4, "for another"),)))
    ('not read: <gazebo> (line 4): for another',)
    """
    return tuple(f"not read: {entry.words}" for entry in description.ignored)


def posture_in(lower: float, upper: float, start: float = 0.0) -> float:
    """Return where a joint of some range starts: where its file says, else in the middle.

    >>> posture_in(-1.0, 2.0), posture_in(1.0, 2.0)
    (0.0, 1.5)
    """
    return start if lower <= start <= upper else (lower + upper) / 2


def robot_lab(robot: Robot, *, gains: bool = True) -> LabConfig:
    """Return a laboratory for a robot, by the rules of this module.

    >>> puma = robot_lab(Robot("puma560"))
    >>> len(puma.joints), puma.base, puma.joints[1].kp > puma.joints[5].kp
    (6, 'fixed', True)
    """
    description = _in_the_world(_as_in_programs(described(robot), robot))
    own = own_mechanism(robot)
    if own is not None:
        robot = Robot(of_joints_alone(own))
    elif robot.source is not description:
        robot = Robot(description)
    free = [joint.name for joint in description.joints if joint.kind == "free"]
    names = _single(description, robot)
    where = [robot.coordinates.index(name) for name in names]
    posture = robot.neutral.copy()
    spans = [
        _span(description, name, *robot.limits[k]) for name, k in zip(names, where, strict=True)
    ]
    for k, (lower, upper) in zip(where, spans, strict=True):
        posture[k] = posture_in(lower, upper, float(posture[k]))
    moves = len(robot.coordinates) - len(robot.speeds)
    inertia = weight = still = np.zeros(len(robot.speeds))
    if gains:
        inertia = np.diag(np.asarray(robot.mass_matrix(posture)))
        weight = np.asarray(robot.inverse_dynamics(posture, still, still))
    omega = 2 * math.pi * FREQUENCY
    joints: list[JointConfig] = []
    for name, k, (lower, upper) in zip(names, where, spans, strict=True):
        at = k - moves if free else k
        kp = float(inertia[at]) * omega**2
        effort, speed = float(robot.effort_limits[at]), float(robot.speed_limits[at])
        if not math.isfinite(effort) or effort <= 0:
            effort = RESERVE * (abs(float(weight[at])) + _STRETCH * kp)
        joints.append(
            JointConfig(
                name,
                lower,
                upper,
                float(posture[k]),
                float(posture[k]),
                kp=kp,
                kd=2 * DAMPING * float(inertia[at]) * omega,
                max_effort=effort,
                max_speed=speed if math.isfinite(speed) and speed > 0 else FASTEST,
                max_jump=JUMP,
            )
        )
    if free:
        description = _lifted(
            description, robot, {n: posture[k] for n, k in zip(names, where, strict=True)}
        )
    ends = code_names(_ends(description))
    return LabConfig(
        name=description.name or "robot",
        description=replace(description, name=description.name or "robot"),
        joints=tuple(joints),
        end_effectors=tuple(EndEffector(name, link) for link, name in ends.items()),
        vertices=MappingProxyType({name: link for link, name in ends.items()}),
        gravity=description.gravity or (0.0, 0.0, -9.81),
        base="floating" if free else "fixed",
        vision=VisionConfig(),
        files=(description.source,) if description.source else (),
        mechanism=own,
        notes=not_read(description) if own is None else (),
    )


def own_mechanism(robot: Robot) -> Mechanism | None:
    """Return the mechanism that a robot was made from, where a laboratory can run it as it is.

    That is a tree on the ground whose joints have one coordinate each, none of which follows
    another. Else the laboratory runs what a robot file says.
    """
    m = robot.mechanism
    if (
        isinstance(robot.source, Description)
        or m.constraints
        or not m.bodies.keys().isdisjoint(MEMBERS)
    ):
        return None
    if any(len(body.coordinates) > 1 for body in m.bodies.values()):
        return None
    return m.frozen()


def of_joints_alone(m: Mechanism) -> Mechanism:
    """Return a mechanism as controllers know it: joints and parameters, without what else acts.

    That are states of its own, and loads that depend on them, on inputs or on time.
    """
    unknown = {*m.inputs.values(), *(state.symbol for state in m.states), m.time}
    forces = [x for x in m.forces if unknown.isdisjoint(free_symbols(x.magnitude))]
    moments = [x for x in m.moments if unknown.isdisjoint(free_symbols(x.magnitude))]
    if len(forces) == len(m.forces) and len(moments) == len(m.moments) and not m.states:
        return m
    return m.with_parts(forces=forces, moments=moments, states=())


def _in_the_world(description: Description) -> Description:
    """Return a robot whose base has coordinates of the world, and starts where its file puts it."""
    above = {joint.child: joint for joint in description.joints}
    joints = list(description.joints)
    for k, joint in enumerate(joints):
        if joint.kind != "free":
            continue
        x, y, z, *turn = joint.start or (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
        at, parent = (
            composed(joint.place, Place((x, y, z), quaternion_rotation(turn))),
            joint.parent,
        )
        while parent in above:
            at, parent = composed(above[parent].place, at), above[parent].parent
        start = (*at.position, *rotation_quaternion(at.rotation))
        joints[k] = replace(joint, parent=parent, place=Place(), start=start)
    same = all(x is y for x, y in zip(joints, description.joints, strict=True))
    return description if same else replace(description, joints=tuple(joints))


def _lifted(description: Description, robot: Robot, posture: Mapping[str, float]) -> Description:
    """Return a robot whose free base starts where nothing of it is in the ground."""
    found = ground_of(description, robot.assembled)
    moved = found.lifted(posture) if found.touches else {}
    if not moved:
        return description
    at = {**dict.fromkeys(robot.coordinates, 0.0), **robot.mechanism.initial, **moved}
    joints = [
        replace(j, start=(*(float(at[n]) for n in robot.coordinates[:3]), *j.start[3:]))
        if j.kind == "free" and j.start
        else j
        for j in description.joints
    ]
    return replace(description, joints=tuple(joints))


def _as_in_programs(description: Description, robot: Robot) -> Description:
    """Return a robot whose joints are called as their coordinates: `turn-1` as `turn_1`."""
    single = (joint for joint in robot.assembled.joints if len(joint.coordinates) == 1)
    names = {joint.name: joint.coordinates[0].name for joint in single}
    if all(name == other for name, other in names.items()):
        return description
    joints = [replace(x, name=names.get(x.name, x.name)) for x in description.joints]
    for k, x in enumerate(joints):
        if x.mimic is not None:
            joints[k] = replace(x, mimic=replace(x.mimic, joint=names[x.mimic.joint]))
    return replace(description, joints=tuple(joints))


def _single(description: Description, robot: Robot) -> tuple[str, ...]:
    """Return the joints that a laboratory commands; joints of other kinds are rejected."""
    known = set(robot.coordinates)
    for joint in description.joints:
        if joint.kind in ("weld", "free") or joint.mimic is not None or joint.name in known:
            continue
        raise InputError(
            f"the joint {joint.name!r} is {joint.kind}, and a laboratory commands joints of one"
            " degree of freedom",
            file=description.source or None,
            line=joint.line or None,
            remedy="write it as several joints, or weld it",
        )
    if description.closures:
        raise InputError(
            f"the robot has a loop ({description.closures[0].name!r})",
            file=description.source or None,
            line=description.closures[0].line or None,
            remedy="a laboratory has a tree of joints",
        )
    single = {joint.name for joint in description.joints if joint.kind not in ("weld", "free")}
    return tuple(name for name in robot.coordinates if name in single)


def _span(description: Description, name: str, lower: float, upper: float) -> tuple[float, float]:
    kind = next(joint.kind for joint in description.joints if joint.name == name)
    reach = 1.0 if kind == "prismatic" else math.pi
    if not math.isfinite(lower) and not math.isfinite(upper):
        return -reach, reach
    if not math.isfinite(lower):
        return float(upper) - 2 * reach, float(upper)
    if not math.isfinite(upper):
        return float(lower), float(lower) + 2 * reach
    return float(lower), float(upper)


def _ends(description: Description) -> tuple[str, ...]:
    """Return the links at which branches end."""
    parents = {joint.parent for joint in description.joints}
    root = description.root
    return tuple(
        link.name for link in description.links if link.name not in parents and link.name != root
    )
