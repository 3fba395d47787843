"""From a robot and a task to what the task requires."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import evaluate
from linkwright.base.arguments import worded
from linkwright.base.checks import checked
from linkwright.base.errors import InputError
from linkwright.base.reprs import brief
from linkwright.motion.payloads import Payload, payload_of
from linkwright.motion.task_parts import FORCES, TOOL, LoadProfile
from linkwright.motion.tasks import Task
from linkwright.motion.trajectory import MotionError, Trajectory
from linkwright.recording.recording import Channel, Recording
from linkwright.robots.closing import driven_names
from linkwright.sizing.requirements.limits import limits_of
from linkwright.sizing.requirements.machine_motion import machine_motion
from linkwright.sizing.requirements.requirement import WRENCH, JointInfo, Requirement
from linkwright.sizing.requirements.robsim import robsim_motion, step_means
from linkwright.sizing.requirements.sampled import SampledMotion, sampled
from linkwright.sizing.requirements.tool_motion import ToolOptions, base_pose, known_frame

if TYPE_CHECKING:
    from linkwright.robots import Robot

Array = NDArray[np.float64]
SCHEMES = ("exact", "robsim")
_SHOWN = 0.04  # s of a task between two pictures of it


@worded
def require(
    model: Robot | str | os.PathLike[str],
    task: Task | Trajectory | str | os.PathLike[str],
    *,
    payload: Payload | float | None = None,
    frame: str | None = None,
    step: float = 1e-3,
    dynamics: bool = True,
    damping: float = 0.0,
    correct: bool = True,
    scheme: str = "exact",
    limits: Mapping[str, Mapping[str, float]] | None = None,
    begin: float | None = None,
    until: float | None = None,
    watch: Callable[[float, Array], object] | None = None,
) -> Requirement:
    """Return what a task requires of a robot: motion, torques, powers, and loads in the joints.

    Args:
        model: a robot, or the file or shipped model of one.
        task: a task, its file, or a trajectory of all joints.
        payload: what the tool carries all the time; a number is a point mass in its origin, kg.
        frame: the tool's, in place of the task's.
        step: s, the longest between two samples.
        dynamics: whether torques and forces are computed; without them it is motion alone.
        damping: of joint rates under tool control, in the units of the Jacobian: near singular
            poses the tool then falls behind (and is drawn back) instead of being rejected.
        correct: whether the error of the tool's pose is fed back, so that it does not drift.
        scheme: "exact", or "robsim" for Euler's steps of that length, dynamics of means over
            steps, and an end by half a step, as the old program had them.
        limits: of joints by name, in place of the robot's and the task's.
        begin: s, the first instant that counts; of samples, the next one. The task's by default.
            What comes before is carried out, and left out of statistics, limits and work.
        until: s, the last instant that counts; of samples, the one before.
        watch: called as the analysis goes on, 25 times in a second of the task, with the time in
            s that has been reached and the coordinates there.

    Example:
        >>> import linkwright as lw
        >>> arm = lw.Robot("puma560")
        >>> there = lw.motion.point_to_point([0.0] * 6, [0.5] * 6, 1.0)
        >>> need = lw.sizing.require(arm, there, payload=2.0, step=0.01)
        >>> peak = need.statistic(arm.coordinates[1], "torque")
        >>> round(abs(peak.peak), 1) > 30, peak.unit
        (True, 'N*m')
    """
    model, task = robot_of(model), task_of(task)
    if frame is not None:
        task = replace(task, frame=known_frame(model, frame))
    carried = None if payload is None else payload_of(payload)
    if carried is not None and carried.up_to is not None:
        raise MotionError(
            "a payload of up to a mass in a box is for worst cases",
            remedy="ask Requirement.worst(payload=...)",
            code="R209",
        )
    if scheme not in SCHEMES:
        raise InputError(
            f"there is no scheme {scheme!r}", remedy=f"use {' or '.join(SCHEMES)}", code="R213"
        )
    checked(damping, "the damping", least=0.0, code="R213")
    if model.loops:
        if scheme == "robsim":
            raise InputError(
                "the old program's scheme has no machines with loops",
                remedy='leave scheme as it is: "exact"',
                code="R213",
            )
        moved = machine_motion(model, task, step)
    elif scheme == "robsim":
        moved = robsim_motion(model, task, step)
    else:
        moved = sampled(model, task, step, ToolOptions(damping=damping, correct=correct))
    moved = _window(moved, begin, until)
    own = {joint: dict(values) for joint, values in task.limits.items()}
    for joint, values in (limits or {}).items():
        own.setdefault(joint, {}).update(values)
    joints = joints_of(model)
    recording = _recording(model, task, joints, moved, carried, scheme, watch, dynamics=dynamics)
    return Requirement(recording, model, task, joints, limits_of(model, own), carried, scheme)


def _window(moved: SampledMotion, begin: float | None, until: float | None) -> SampledMotion:
    """Return the samples between two instants."""
    times = moved.times
    first = times[0] if begin is None else checked(begin, "the start in s", code="R213")
    last = times[-1] if until is None else checked(until, "the stop in s", code="R213")
    inside = (times >= first - 1e-9) & (times <= last + 1e-9)
    beyond = first < times[0] - 1e-9 or last > times[-1] + 1e-9
    if beyond or inside.sum() < 2:
        raise InputError(
            f"{first:g} to {last:g} s is not within the task"
            if beyond
            else f"there are no two samples between {first:g} and {last:g} s",
            remedy=f"the task goes from {times[0]:g} to {times[-1]:g} s",
            code="R213",
        )
    return _samples(moved, inside)


def _samples(moved: SampledMotion, chosen: slice | NDArray[np.bool_]) -> SampledMotion:
    """Return some samples of a motion."""
    return SampledMotion(*(getattr(moved, f.name)[chosen] for f in fields(moved)))


def robot_of(given: Robot | str | os.PathLike[str]) -> Robot:
    """Return a robot, from a file or by its name where it is not one."""
    from linkwright.robots import Robot

    return given if isinstance(given, Robot) else Robot(given)


def task_of(given: Task | Trajectory | str | os.PathLike[str]) -> Task:
    """Return a task, of a trajectory or a file where it is not one."""
    if isinstance(given, Task):
        return given
    if isinstance(given, Trajectory):
        return Task(given)
    if not isinstance(given, str | os.PathLike):
        raise InputError(
            f"a task is a Task, its file, or a trajectory, not {brief(given)}",
            remedy="see linkwright.Task",
            code="R202",
        )
    from linkwright.formats.text.tasks import read_task

    return read_task(given)


def joints_of(robot: Robot) -> tuple[JointInfo, ...]:
    """Return what is known of the joints of a robot, in the order of its coordinates.

    Of a machine with loops it is what is known of its actuators. A strut of driven length carries
    nothing but its own force; its axis is its z.
    """
    m = robot.mechanism
    known = {x: m.values[name] for name, x in m.parameters.items() if name in m.values}
    known |= dict.fromkeys(m.coordinates.values(), 0.0)  # the axis does not turn in its own link
    made = {}
    for joint in robot.assembled.joints:
        if len(joint.coordinates) != 1 or joint.follows is not None:
            continue
        name = joint.coordinates[0].name
        if robot.loops and (name not in robot.actuators or joint.child not in robot.links):
            made[name] = JointInfo(name, "prismatic", joint.child, (0.0, 0.0, 1.0))
            continue
        body, place = robot.assembled.places[joint.child]
        motion = robot.tree.kinematics.motions[body]
        speed = motion.speeds[0]
        turns = not speed.omega.is_zero
        vector = speed.omega if turns else speed.velocity
        along = np.array([float(evaluate(x, known)) for x in vector.components(body.frame)])
        x, y, z = map(float, np.array(place.rotation).T @ along)
        kind = "revolute" if turns else "prismatic"
        made[name] = JointInfo(name, kind, joint.child, (x, y, z))
    return tuple(made[name] for name in moved_names(robot))


def moved_names(robot: Robot) -> tuple[str, ...]:
    """Return what a task moves: all coordinates, or the actuators of a machine with loops."""
    return driven_names(robot) if robot.loops else tuple(robot.coordinates)


def loads_of(
    robot: Robot, task: Task, times: Array, q: Array, payload: Payload | None
) -> dict[str, Array]:
    """Return the loads of a task at samples, as the quantities under loads take them."""
    found: dict[str, Array] = {}
    if payload is not None or task.payloads:
        rows = np.zeros((len(times), 10))
        if payload is not None:
            rows += payload.parameters
        for k, (at, body) in enumerate(task.payloads):
            later = task.payloads[k + 1][0] if k + 1 < len(task.payloads) else np.inf
            rows[(times >= at - 1e-9) & (times < later - 1e-9)] += body.parameters
        found["payload"] = rows
    if task.wrench:
        found["wrench"] = _profiles(robot, task, times, q, task.wrench, FORCES)
    if task.base:
        found["base"] = _profiles(robot, task, times, q, task.base, TOOL[:3])
    return found


def _profiles(
    robot: Robot,
    task: Task,
    times: Array,
    q: Array,
    profiles: tuple[LoadProfile, ...],
    names: tuple[str, ...],
) -> Array:
    """Return the sum of loads at samples, along the axes of the world."""
    found = np.zeros((len(times), len(names)))
    for profile in profiles:
        values = profile.values(names, times)
        for half in range(0, len(names), 3):
            part = values[:, half : half + 3]
            if profile.axes == "tool":
                turn = robot.pose(q, task.frame)[:, :3, :3]
                part = np.einsum("kij,kj->ki", turn, part)
            elif profile.axes == "base":
                part = part @ base_pose(robot)[:3, :3].T
            found[:, half : half + 3] += part
    return found


def _recording(
    robot: Robot,
    task: Task,
    joints: tuple[JointInfo, ...],
    moved: SampledMotion,
    payload: Payload | None,
    scheme: str,
    watch: Callable[[float, Array], object] | None,
    *,
    dynamics: bool,
) -> Recording:
    channels: list[Channel] = []
    columns: list[Array] = []
    means = step_means(moved) if scheme == "robsim" else moved
    if scheme == "robsim":
        moved = replace(moved, a=np.concatenate([moved.a[:1], means.a]))

    def put(name: str, unit: str, long: str, values: Array, joint: JointInfo) -> None:
        channels.append(Channel(name, unit, long, body=joint.link))
        columns.append(values)

    place = [robot.coordinates.index(j.name) for j in joints]
    for k, j in zip(place, joints, strict=True):
        put(j.name, j.units["position"], f"position of {j.name}", moved.q[:, k], j)
    for k, j in enumerate(joints):
        put(robot.speeds[k], j.units["speed"], f"speed of {j.name}", moved.u[:, k], j)
    for k, j in enumerate(joints):
        for what, values in (("acceleration", moved.a), ("jerk", moved.jerk)):
            put(f"{j.name}.{what}", j.units[what], f"{what} of {j.name}", values[:, k], j)
    if moved.tool.any():
        _put_tool(task, moved, channels, columns)
    if dynamics:
        if watch is None:
            tau, reactions = forces(robot, task, means, payload)
        else:
            tau, reactions = _watched(robot, task, means, payload, watch)
        power = tau * means.u
        if scheme == "robsim":  # the first instant holds initial conditions alone
            tau, reactions, power = (
                np.concatenate([np.full_like(x[:1], np.nan), x]) for x in (tau, reactions, power)
            )
        work = np.zeros_like(power)
        h = np.diff(moved.times)[:, None]
        mean = power[1:] if scheme == "robsim" else 0.5 * (power[1:] + power[:-1])
        work[1:] = np.cumsum(h * mean, axis=0)
        wrenches = [_wrench(robot, j, tau[:, k], reactions) for k, j in enumerate(joints)]
        for k, j in enumerate(joints):
            for what, values in (("torque", tau), ("power", power), ("energy", work)):
                put(f"{j.name}.{what}", j.units[what], f"{what} of {j.name}", values[:, k], j)
            for i, end in enumerate(WRENCH):
                what = "force" if i < 3 else "moment"
                long = f"{what} in {j.name} along {end[1]} of {j.link}"
                put(f"{j.name}.{end}", j.units[what], long, wrenches[k][:, i], j)
    elif watch is not None:
        for part in _pictures(moved):
            watch(float(part.times[-1]), part.q[-1])
    for k, name in enumerate(robot.coordinates):
        if k not in place:  # what the loops of a machine move
            unit = robot.mechanism.units.get(name, "1")
            channels.append(Channel(name, unit, f"{name}, which nothing drives"))
            columns.append(moved.q[:, k])
    metadata = {
        "model": getattr(robot.source, "name", ""),
        "task": task.name,
        "kind": "requirement",
        "scheme": scheme,
    }
    made = Recording(moved.times, channels, np.array(columns).T, metadata, robot.mechanism)
    return made.with_extrema()


def _watched(
    robot: Robot,
    task: Task,
    moved: SampledMotion,
    payload: Payload | None,
    watch: Callable[[float, Array], object],
) -> tuple[Array, Array]:
    """Return the forces at samples, and say by and by which motion they have reached."""
    found = []
    for part in _pictures(moved):
        found.append(forces(robot, task, part, payload))
        watch(float(part.times[-1]), part.q[-1])
    tau, reactions = zip(*found, strict=True)
    return np.concatenate(tau), np.concatenate(reactions)


def _pictures(moved: SampledMotion) -> Iterator[SampledMotion]:
    """Yield a motion in parts, each from one picture of it to the next."""
    ends = np.arange(moved.times[0], moved.times[-1], _SHOWN)
    cuts = np.searchsorted(moved.times, ends, "right").tolist()
    for begin, end in itertools.pairwise(sorted({0, *cuts, len(moved.times)})):
        yield _samples(moved, slice(begin, end))


def _wrench(robot: Robot, joint: JointInfo, effort: Array, reactions: Array) -> Array:
    """Return force and moment in a joint; a strut of driven length pulls along itself."""
    if joint.link in robot.links:
        return np.asarray(reactions[:, robot.links.index(joint.link)])
    found = np.zeros((len(effort), 6))
    found[:, 2] = effort
    return found


def _put_tool(
    task: Task, moved: SampledMotion, channels: list[Channel], columns: list[Array]
) -> None:
    """Add what is known of the tool; there is nothing while joints are under control."""
    for i, x in enumerate("xyz"):
        name, long = f"tool.{x}", f"{x} where {task.frame} should be, world axes"
        channels.append(Channel(name, "m", long))
        columns.append(moved.ideal[:, i])
    for i, x in enumerate(TOOL):
        unit = "m" if i < 3 else "rad"
        channels.append(Channel(f"tool.error_{x}", unit, f"error of {task.frame} in {x}"))
        columns.append(moved.error[:, i])
    channels.append(Channel("tool.error", "m", f"distance of {task.frame} from its place"))
    columns.append(np.linalg.norm(moved.error[:, :3], axis=1))
    for i, x in enumerate(TOOL):
        unit = "m/s" if i < 3 else "rad/s"
        channels.append(Channel(f"tool.residual_{x}", unit, f"rate left over in {x}"))
        columns.append(moved.residual[:, i])


def forces(
    robot: Robot, task: Task, moved: SampledMotion, payload: Payload | None
) -> tuple[Array, Array]:
    """Return efforts, and force and moment in each joint, at samples."""
    loads = loads_of(robot, task, moved.times, moved.q, payload)
    if {"payload", "wrench"} & set(loads):
        known_frame(robot, task.frame)
    motion = (moved.q, moved.u, moved.a)
    if not loads:
        tau, reactions = robot.joint_loads(*motion)
    else:
        tau, reactions = robot.joint_loads(*motion, **loads, frame=task.frame)
    return np.asarray(tau), np.asarray(reactions)
