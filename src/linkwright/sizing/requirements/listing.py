"""Listings of a requirement as ROBSIM printed them: motion, dynamics, and the history of joints.

Each is a file of its own with its own interval (the digest, section 4). Lengths stand in inches and
meters, forces in kg*in/s^2 and N, torques in kg*in^2/s^2 and N*m; vectors along the axes of the
joint's link and along those of the base, which is the link that carries the first joint (not the
world). Angles are reduced to one turn here, and only here; sliding joints never are. What belongs
to the wanted motion of the tool stands only where the tool is under control.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.checks import checked
from linkwright.base.errors import InputError
from linkwright.base.files import write_text
from linkwright.motion.task_parts import TaskSegment, ToolLine
from linkwright.sizing.requirements.tool_motion import base_pose

if TYPE_CHECKING:
    from linkwright.recording.recording import Recording
    from linkwright.sizing.requirements.requirement import JointInfo, Requirement

Array = NDArray[np.float64]
INCH = 0.0254
"""Meters in an inch; also N in a kg*in/s^2."""
SQUARE_INCH = 0.00064516
"""Square meters in a square inch; also N*m in a kg*in^2/s^2."""
_FORMS = {
    "m": (INCH, "in"),
    "m/s": (INCH, "in/s"),
    "m/s^2": (INCH, "in/s^2"),
    "N": (INCH, "kg*in/s^2"),
    "N*m": (SQUARE_INCH, "kg*in^2/s^2"),
    "kg*m^2": (SQUARE_INCH, "kg*in^2"),
}


def samples_at(need: Requirement, every: float | None) -> NDArray[np.int_]:
    """Return the samples of a listing: the first at or after each multiple of an interval.

    Units: `every` in s.
    """
    times = need.times
    if every is None:
        return np.arange(len(times))
    checked(every, "the interval in s", above=0, code="R213")
    marks = np.arange(times[0], times[-1] + 1e-9, every)
    found = np.unique(np.searchsorted(times, marks - 1e-9))
    return np.asarray(found[found < len(times)])


def wrapped(joint: JointInfo, value: float) -> float:
    """Return an angle within one turn, 0 to 2 pi; a displacement as it is."""
    return value % (2 * math.pi) if joint.kind == "revolute" else value


def _row(values: Sequence[float] | Array) -> str:
    return " ".join(f"{x: .9e}" for x in np.atleast_1d(values))


def _line(label: str, values: Sequence[float] | Array, unit: str) -> str:
    """Return a line: in meters, and in inches where there is such a unit."""
    given = np.atleast_1d(np.asarray(values, dtype=float))
    text = f"  {label:<44} {unit:<10} {_row(given)}"
    if unit in _FORMS:
        factor, old = _FORMS[unit]
        text += f"   {old:<12} {_row(given / factor)}"
    return text


class _Frames:
    """Where links and tool are at samples, and how they move, along the axes of the base."""

    def __init__(self, need: Requirement, rows: NDArray[np.int_]) -> None:
        robot = need.robot
        if robot.loops:
            raise InputError(
                "listings are of chains of joints, and this robot has closed loops",
                remedy="save the recording: Requirement.recording, or --recording FILE",
                code="R214",
            )
        names = [j.name for j in need.joints]
        self.q = np.array([need[n][rows] for n in names]).T
        self.u = np.array([need[n][rows] for n in robot.speeds]).T
        self.a = np.array([need[f"{n}.acceleration"][rows] for n in names]).T
        self.base = base_pose(robot)
        turn = self.base[:3, :3]
        self.tool = need.task.frame if need.task.frame in robot.frames else need.joints[-1].link
        frames = [*(j.link for j in need.joints), self.tool]
        poses = [np.linalg.inv(self.base) @ robot.pose(self.q, f) for f in frames]
        self.rotations = [p[:, :3, :3] for p in poses]
        self.places = [p[:, :3, 3] for p in poses]

        def seen(six: Array) -> Array:
            return np.concatenate([six[:, :3] @ turn, six[:, 3:] @ turn], axis=1)

        self.velocities = [seen(robot.velocity(self.q, self.u, f)) for f in frames]
        self.accelerations = [seen(robot.acceleration(self.q, self.u, self.a, f)) for f in frames]


def motion_listing(need: Requirement, every: float | None = None) -> str:
    """Return the listing of the motion (`every` in s)."""
    return "\n".join(_motion_lines(need, samples_at(need, every))) + "\n"


def _motion_lines(need: Requirement, rows: NDArray[np.int_]) -> Iterator[str]:
    frames = _Frames(need, rows)
    n = len(need.joints)
    task = need.task
    yield f"MOTION OF {task.name}"
    yield _line("stop time", [task.end], "s")
    yield _line("step", [float(np.diff(need.times).max())], "s")
    yield _line("base in the world: origin", frames.base[:3, 3], "m")
    for k, row in enumerate(frames.base[:3, :3]):
        yield _line(f"base in the world: row {k + 1} of base to world", row, "1")
    for k, joint in enumerate(need.joints):
        yield f"JOINT {joint.name} ({joint.kind})"
        yield _line("free axis, joint axes", joint.axis, "1")
        way = frames.rotations[k][0].T @ (frames.places[k + 1][0] - frames.places[k][0])
        yield _line("vector to the next joint or tool, joint axes", way, "m")
        first = float(need[joint.name][0])
        yield _line("initial displacement", [wrapped(joint, first)], joint.units["position"])
    for begin, end, part in task.schedule():
        yield f"PART from {begin:g} s to {end:g} s: {type(part).__name__}"
        if isinstance(part, TaskSegment):
            yield f"  {part.control} control, {part.profile}, {part.time} time, {part.axes} axes"
            for name, c in part.channels.items():
                yield _line(f"profile of {name}, constant first", c, "1")
        elif isinstance(part, ToolLine):
            for name, way in part.by.items():
                unit = "rad" if name.startswith("r") else "m"
                yield _line(f"way along {name} of {part.axes}, {part.law}", [way], unit)
    tool = "tool.error" in need.recording
    for i, sample in enumerate(rows):
        yield f"TIME {need.times[sample]:.9g} s"
        velocity, place = frames.velocities[n][i], frames.places[n][i]
        yield _line("tool velocity, base axes", velocity[:3], "m/s")
        yield _line("tool angular velocity, base axes", velocity[3:], "rad/s")
        yield _line("tool position, base axes", place, "m")
        if tool and not math.isnan(need["tool.error"][sample]):
            yield from _ideal_lines(need, frames, int(sample), velocity)
        for k, joint in enumerate(need.joints):
            yield from _joint_motion(need, frames, int(sample), i, k, joint)


def _ideal_lines(need: Requirement, frames: _Frames, sample: int, velocity: Array) -> Iterator[str]:
    """Yield what belongs to the wanted motion of the tool."""
    turn = frames.base[:3, :3]
    world = np.array([need[f"tool.{x}"][sample] for x in "xyz"])
    error = np.array([need[f"tool.error_{x}"][sample] for x in "xyz"])
    left = np.array([need[f"tool.residual_{x}"][sample] for x in ("x", "y", "z")])
    yield _line("ideal tool velocity, base axes", velocity[:3] + left @ turn, "m/s")
    yield _line("ideal tool position, base axes", (world - frames.base[:3, 3]) @ turn, "m")
    yield _line("tool position error, base axes", error @ turn, "m")
    yield _line("size of the error", [float(np.linalg.norm(error))], "m")


def _joint_motion(
    need: Requirement, frames: _Frames, sample: int, i: int, k: int, joint: JointInfo
) -> Iterator[str]:
    """Yield rate, displacement and place of a joint."""
    n = len(need.joints)
    turn = frames.rotations[k][i]
    arm = frames.places[n][i] - frames.places[k][i]
    value = wrapped(joint, float(need[joint.name][sample]))
    yield f" {joint.name}"
    yield _line("rate", [frames.u[i, k]], joint.units["speed"])
    yield _line("displacement", [value], joint.units["position"])
    if joint.kind == "revolute":
        yield _line("displacement", [math.degrees(value)], "deg")
    for row in range(3):
        yield _line(f"joint to base, row {row + 1}", turn[row], "1")
    yield _line("joint to tool, joint axes", turn.T @ arm, "m")
    yield _line("joint to tool, base axes", arm, "m")
    yield _line("location, base axes", frames.places[k][i], "m")


def dynamics_listing(need: Requirement, every: float | None = None) -> str:
    """Return the listing of the dynamics."""
    if not need.dynamics:
        raise InputError(
            "there are no forces to list: dynamics were left out",
            remedy="ask for the requirement with dynamics",
            code="R215",
        )
    return "\n".join(_dynamics_lines(need, samples_at(need, every))) + "\n"


def _dynamics_lines(need: Requirement, rows: NDArray[np.int_]) -> Iterator[str]:
    robot, task = need.robot, need.task
    frames = _Frames(need, rows)
    inertias = robot.inertial_parameters.reshape(-1, 10)
    yield f"DYNAMICS OF {task.name}"
    yield f"  {len(need.joints)} joints; torques of {need.scheme} scheme"
    yield _line("start, stop, step", [task.begin, task.end, np.diff(need.times).max()], "s")
    for k, joint in enumerate(need.joints):
        mass, *rest = inertias[robot.links.index(joint.link)]
        first = np.array(rest[:3])
        way = frames.rotations[k][0].T @ (frames.places[k + 1][0] - frames.places[k][0])
        yield f"LINK {joint.link} on {joint.name} ({joint.kind})"
        yield _line("dimension: to the next joint or tool", way, "m")
        yield _line("center of mass", first / mass if mass else first, "m")
        yield _line("mass", [mass], "kg")
        yield _line("inertia about the joint: xx xy yy xz yz zz", rest[3:], "kg*m^2")
    for i, sample in enumerate(rows):
        yield f"TIME {need.times[sample]:.9g} s"
        for k, joint in enumerate(need.joints):
            yield f" {joint.name}"
            for label, values, unit in _dynamic_items(need, frames, int(sample), i, k, joint):
                if not np.isnan(values).all():  # steps of the old scheme have none at the start
                    yield _line(label, values, unit)


def _dynamic_items(
    need: Requirement, frames: _Frames, sample: int, i: int, k: int, joint: JointInfo
) -> Iterator[tuple[str, Any, str]]:
    """Yield label, values and unit of what is listed of a joint at an instant."""
    turn = frames.rotations[k][i]
    axis = np.array(joint.axis)
    turns = joint.kind == "revolute"
    value = wrapped(joint, float(need[joint.name][sample]))
    yield "displacement", [value], joint.units["position"]
    pairs: list[tuple[str, Array, str]] = [
        ("location", frames.places[k][i], "m"),
        ("link vector", frames.places[k + 1][i] - frames.places[k][i], "m"),
        ("relative angular velocity", turn @ (axis * frames.u[i, k] * turns), "rad/s"),
        ("absolute angular velocity", frames.velocities[k][i, 3:], "rad/s"),
        ("relative angular acceleration", turn @ (axis * frames.a[i, k] * turns), "rad/s^2"),
        ("absolute angular acceleration", frames.accelerations[k][i, 3:], "rad/s^2"),
        ("absolute linear acceleration", frames.accelerations[k][i, :3], "m/s^2"),
        (
            "reaction force",
            turn @ np.array([need[f"{joint.name}.f{x}"][sample] for x in "xyz"]),
            "N",
        ),
        (
            "reaction torque",
            turn @ np.array([need[f"{joint.name}.m{x}"][sample] for x in "xyz"]),
            "N*m",
        ),
    ]
    for label, based, unit in pairs:
        yield f"{label}, joint axes", turn.T @ based, unit
        yield f"{label}, base axes", based, unit


def history(need: Requirement, every: float | None = None) -> Recording:
    """Return the history of the joints, as replay takes it, with the extrema in its header."""
    from linkwright.recording.recording import Recording

    rows = samples_at(need, every)
    full = need.recording.select([j.name for j in need.joints])
    made = Recording(full.times[rows], full.channels, full.data[rows], full.metadata, full.source)
    return made.with_extrema()


def write_listing(text: str, path: str | os.PathLike[str]) -> None:
    """Write a listing, all of it or nothing."""
    write_text(path, text, replace=True)
