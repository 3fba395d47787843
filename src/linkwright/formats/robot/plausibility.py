"""What in a robot file no real robot has, and the repair that is offered.

Masses and inertias are held against what a rigid body can have (`linkwright.mechanism.rigidity`),
and mass centers against the size of the robot; a joint must have something to move, and its limits
must leave it a range. A repair changes as little as it can: the nearest inertia, the smallest mass
that still counts, limits put in order. Where a mass center should be, nobody knows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from linkwright.formats.robot.description import (
    Description,
    JointLimits,
    Link,
    LinkJoint,
    Mass,
    Mimic,
    Place,
)
from linkwright.formats.robot.transforms import (
    composed,
    dot,
    joined_masses,
    moved_mass,
    plus_six,
    point_inertia,
    rotate,
    tensor,
    turned,
)
from linkwright.mechanism.joint_kinds import JOINTS
from linkwright.mechanism.rigidity import Finding, mass_findings, nearest_inertia

_SMALL = 1e-6  # of the robot's mass; a part with that little changes no figure that matters
_RADIUS = 0.01  # m, of the ball that a part without mass gets
_FAR = 5.0  # times the size of the robot: no link has its mass center there
_POSES = (0.0, 0.7)  # rad or m: what is singular in both is so everywhere


def description_findings(description: Description) -> tuple[Finding, ...]:
    """Return what speaks against the masses and joints of a robot, in the order of the file.

    >>> arm = Link("arm", Mass(1.0, (0.0, 0.0, 0.0), (0.1, 0.1, 0.3, 0.0, 0.0, 0.0)))
    >>> limits = JointLimits(1.0, -1.0, effort=5.0)
    >>> hinge = LinkJoint("hinge", "revolute", "base", "arm", limits=limits)
    >>> robot = Description("r", (Link("base"), arm), (hinge,))
    >>> [(found.part, found.name, found.severity) for found in description_findings(robot)]
    [('arm', 'triangle inequality', 'warning'), ('hinge', 'limits', 'error')]
    """
    found: list[Finding] = []
    for link in description.links:
        if link.mass is not None:
            found += mass_findings(link.name, link.mass.mass, link.mass.inertia)
    found += _far_centers(description)
    found += _nothing_moved(description)
    for joint in description.joints:
        found += _joint_findings(joint)
    found += _followed_limits(description)
    found += _without_effort(description)
    return tuple(found)


def repaired(description: Description) -> tuple[Description, tuple[Finding, ...]]:
    """Return the description with the offered repairs, and the findings that are left."""
    small = _small_mass(description)
    links = tuple(_repaired_link(link, small) for link in description.links)
    joints = tuple(_repaired_joint(joint) for joint in description.joints)
    better = replace(description, links=links, joints=joints)
    light = {found.part for found in _nothing_moved(better)}
    carriers = {joint.child for joint in joints if joint.name in light}
    ball = 0.4 * small * _RADIUS**2
    links = tuple(
        replace(link, mass=_with_ball(link.mass, small, ball)) if link.name in carriers else link
        for link in better.links
    )
    better = replace(better, links=links)
    return better, description_findings(better)


def _small_mass(description: Description) -> float:
    masses = [link.mass.mass for link in description.links if link.mass is not None]
    return _SMALL * max(1.0, sum(mass for mass in masses if mass > 0))


def _repaired_link(link: Link, small: float) -> Link:
    mass = link.mass
    if mass is None or not any(mass_findings(link.name, mass.mass, mass.inertia)):
        return link
    amount = mass.mass if mass.mass > 0 else small
    return replace(link, mass=Mass(amount, mass.center, nearest_inertia(mass.inertia)))


def _with_ball(mass: Mass | None, small: float, moment: float) -> Mass:
    """Return a mass with that of a small ball added at its center."""
    known = Mass(0.0) if mass is None else mass
    added = plus_six(known.inertia, (moment, moment, moment, 0.0, 0.0, 0.0))
    return Mass(max(known.mass, small), known.center, added)


def _repaired_joint(joint: LinkJoint) -> LinkJoint:
    limits = joint.limits
    if limits.lower is not None and limits.upper is not None and limits.lower > limits.upper:
        limits = replace(limits, lower=limits.upper, upper=limits.lower)
    limits = JointLimits(
        limits.lower,
        limits.upper,
        None if limits.speed is None or limits.speed <= 0 else limits.speed,
        None if limits.effort is None or limits.effort <= 0 else limits.effort,
    )
    return replace(
        joint,
        limits=limits,
        damping=max(0.0, joint.damping),
        friction=max(0.0, joint.friction),
        armature=max(0.0, joint.armature),
    )


def _joint_findings(joint: LinkJoint) -> Iterator[Finding]:
    name, limits = joint.name, joint.limits
    lower, upper = limits.lower, limits.upper
    if lower is not None and upper is not None and joint.mimic is None:
        if lower > upper:
            words = f"its lower limit, {lower:g}, is above its upper one, {upper:g}"
            yield Finding("limits", "error", name, words, "exchange them")
        elif lower == upper:
            words = f"its limits leave it no range: both are {lower:g}"
            yield Finding("range", "warning", name, words)
    for what, value in (("speed", limits.speed), ("effort", limits.effort)):
        if value is not None and value <= 0:
            words = f"its greatest {what} is {value:g}"
            yield Finding(what, "warning", name, words, "take it for no limit")
    for what, value in (
        ("damping", joint.damping),
        ("friction", joint.friction),
        ("armature", joint.armature),
    ):
        if value < 0:
            words = f"its {what}, {value:g}, is negative"
            yield Finding(what, "error", name, words, "set it to 0")


def _followed_limits(description: Description) -> Iterator[Finding]:
    """Yield the joints whose limits, and those of joints that follow them, leave them no range."""
    mimics, spans = description.mimics, dict[str, tuple[float, float]]()
    for joint in description.joints:
        lower, upper = joint.limits.lower, joint.limits.upper
        ends = (-math.inf if lower is None else lower, math.inf if upper is None else upper)
        mimic = mimics.get(joint.name, Mimic(joint.name))
        if ends[0] < ends[1] and mimic.multiplier:
            low, high = sorted((x - mimic.offset) / mimic.multiplier for x in ends)
            before = spans.get(mimic.joint, (-math.inf, math.inf))
            spans[mimic.joint] = max(low, before[0]), min(high, before[1])
    for name, (low, high) in spans.items():
        if low >= high:
            words = f"its limits and those of joints that follow it leave it {low:g} to {high:g}"
            yield Finding("limits", "warning" if low == high else "error", name, words)


def _without_effort(description: Description) -> list[Finding]:
    """Return one note for all joints whose greatest effort is not given."""
    names = [
        joint.name
        for joint in description.joints
        if JOINTS[joint.kind].freedom == 1 and joint.mimic is None and joint.limits.effort is None
    ]
    if not names:
        return []
    shown = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
    words = f"no greatest effort is given for {len(names)} joint(s): {shown}"
    return [Finding("effort", "note", description.name, words)]


def _far_centers(description: Description) -> list[Finding]:
    """Return the links whose mass center is far beyond the robot: wrong units, or mass times center
    with next to no mass. Nothing is said of a robot whose size is not known."""
    size = _size(description)
    found: list[Finding] = []
    for link in description.links:
        if link.mass is None or link.mass.mass <= 0 or size <= 0:
            continue
        away = math.hypot(*link.mass.center)
        if away > _FAR * size:
            words = (
                f"its mass center is {away:.3g} m from its origin, and the robot is"
                f" {size:.3g} m long"
            )
            found.append(Finding("mass center", "warning", link.name, words))
    return found


def _size(description: Description) -> float:
    """Return a length that no part of a robot with its joints at zero is beyond, m; 0 where it is
    not known, since a link has a mesh."""
    steps = [math.hypot(*joint.place.position) for joint in description.joints]
    for joint in description.joints:
        if JOINTS[joint.kind].slides:
            ends = (joint.limits.lower, joint.limits.upper)
            steps.append(max((abs(x) for x in ends if x is not None), default=0.0))
    frames = [math.hypot(*frame.place.position) for frame in description.frames]
    shapes = [shape for link in description.links for shape in link.shapes]
    if any(shape.kind == "mesh" for shape in shapes) and not any(steps):
        return 0.0
    extents = [
        math.hypot(*shape.place.position) + sum(map(abs, shape.size))
        for shape in shapes
        if shape.kind not in ("mesh", "plane")
    ]
    return sum(steps) + max(frames, default=0.0) + max(extents, default=0.0)


def _nothing_moved(description: Description) -> list[Finding]:
    """Return the joints along or about whose axis nothing has mass or inertia.

    In a robot with loops another link may carry the mass, so there it is a warning.
    """
    felt = [_felt(description, pose) for pose in _POSES]
    return [
        Finding(
            "massless chain",
            "warning" if description.closures else "error",
            joint.name,
            f"it moves {joint.child!r}, but nothing behind it has mass that resists",
            f"give {joint.child!r} a small mass",
        )
        for joint in description.joints
        if JOINTS[joint.kind].freedom > 0 and joint.mimic is None
        if joint.armature <= 0 and all(found[joint.name] <= 0 for found in felt)
    ]


def _felt(description: Description, coordinate: float) -> dict[str, float]:
    """Return the mass or inertia that each joint moves while the others are held."""
    found: dict[str, float] = {}
    behind: dict[str, list[Mass]] = {
        link.name: [] if link.mass is None else [link.mass] for link in description.links
    }
    for joint in reversed(_outward(description)):
        masses = behind.pop(joint.child)
        whole = joined_masses(masses)
        found[joint.name] = 0.0 if whole is None else _resistance(joint, whole)
        place = composed(joint.place, _motion(joint, coordinate))
        if whole is not None:
            behind[joint.parent].append(moved_mass(whole, place))
    return found


def _resistance(joint: LinkJoint, whole: Mass) -> float:
    """Return what a joint with one coordinate feels of a mass; of others, the mass."""
    kind = JOINTS[joint.kind]
    if not kind.is_coaxial or ("turn", "axis") not in kind.motions:
        return whole.mass
    about = tensor(plus_six(whole.inertia, point_inertia(whole.mass, whole.center)))
    inertia = dot(joint.axis, rotate(about, joint.axis))
    scale = max(abs(x) for row in about for x in row)
    if inertia <= 1e-12 * scale:
        return 0.0
    return min(inertia, whole.mass) if kind.slides else inertia


def _motion(joint: LinkJoint, coordinate: float) -> Place:
    x, y, z = joint.axis
    if JOINTS[joint.kind].slides == JOINTS[joint.kind].freedom == 1:
        return Place((x * coordinate, y * coordinate, z * coordinate))
    if JOINTS[joint.kind].freedom == 0:
        return Place()
    return Place((0.0, 0.0, 0.0), turned(joint.axis, coordinate))


def _outward(description: Description) -> list[LinkJoint]:
    """Return the joints so that each comes after the one that carries its parent."""
    after: dict[str, list[LinkJoint]] = {}
    for joint in description.joints:
        after.setdefault(joint.parent, []).append(joint)
    found: list[LinkJoint] = []
    stack = [description.root]
    while stack:
        joints = after.get(stack.pop(), [])
        found += joints
        stack.extend(joint.child for joint in joints)
    return found
