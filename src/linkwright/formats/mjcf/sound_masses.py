"""Masses that MuJoCo accepts, of robots that move alike.

MuJoCo wants of each body that the largest principal moment of inertia is at most the sum of the
others, which holds for solids: the matrix P = tr(J)/2 - J has no negative eigenvalue. Measured and
idealized robots often break that. Their motion is the same where a tensor D is added to a link and
taken from its parent, if the joint between leaves D and the angular velocity across it alone
(Khalil and Dombre, Modeling, Identification and Control of Robots, section 9.4.2): D = c (1 - a a')
for a joint that turns about the axis a, since only the turn about a differs, and D = c 1 for one
that does not turn. The first adds c a a' to P, the second c/2. The ground takes any D.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError
from linkwright.formats.robot.description import Description, LinkJoint
from linkwright.formats.robot.omissions import Leftovers
from linkwright.formats.robot.transforms import inertia_of, tensor
from linkwright.mechanism.joint_kinds import JOINTS

Array: TypeAlias = NDArray[np.float64]

_MOST = 1e100
LEAST = 1e-12
"""Mass and moments of inertia that a moving body has at least, kg and kg*m^2; MuJoCo's bound is
1e-15."""


def sound_masses(robot: Description, left: Leftovers) -> Description:
    """Return a robot that moves alike and whose moving links have masses that MuJoCo accepts.

    It is an `InputError` if there is none.

    >>> from linkwright.formats.robot.description import Link, Mass
    >>> disk = Link("disk", Mass(1.0, inertia=(0.0, 0.0, 1.0, 0.0, 0.0, 0.0)))
    >>> hinge = LinkJoint("hinge", "revolute", "ground", "disk")
    >>> robot = Description("r", (Link("ground"), disk), (hinge,))
    >>> [round(x, 6) for x in sound_masses(robot, Leftovers()).link("disk").mass.inertia[:3]]
    [0.5, 0.5, 1.0]
    """
    masses = {link.name: link.mass for link in robot.links}
    inertias = {name: np.array(tensor(m.inertia)) for name, m in masses.items() if m is not None}
    above = {joint.child: joint for joint in robot.joints}
    for joint in _inward(robot):
        if joint.child in inertias:
            _mend(joint, above, inertias, left)
    for name, mass in masses.items():
        if mass is None or name not in above:
            continue
        j = inertias[name]
        least = float(np.linalg.eigvalsh(j)[0])
        if mass.mass < LEAST or least < LEAST:
            left.add("masses or inertias of zero", 0, f"MuJoCo has none; they are {LEAST:g} here")
            j = j + max(0.0, LEAST - least) * np.eye(3)
        rows = [[float(x) for x in row] for row in j]
        a, b, c = ((row[0], row[1], row[2]) for row in rows)
        masses[name] = replace(mass, mass=max(mass.mass, LEAST), inertia=inertia_of((a, b, c)))
    links = tuple(replace(link, mass=masses[link.name]) for link in robot.links)
    return replace(robot, links=links)


def _mend(
    joint: LinkJoint, above: dict[str, LinkJoint], inertias: dict[str, Array], left: Leftovers
) -> None:
    """Give a link an inertia that a solid can have, and take what was added from its parent."""
    j = inertias[joint.child]
    size = float(np.abs(j).max())
    if size > _MOST:
        raise _unreal(joint)
    p = np.trace(j) / 2 * np.eye(3) - j
    if np.linalg.eigvalsh(p)[0] >= -1e-10 * size:
        return
    turns = [along for what, along in JOINTS[joint.kind].motions if what != "slide"]
    axis = np.array(joint.axis)
    if not turns:
        d = (1e-9 * size - 2 * float(np.linalg.eigvalsh(p)[0])) * np.eye(3)
    elif turns == ["axis"] and (c := _missing(p, axis)) is not None:
        d = (c + 1e-9 * size) * (np.eye(3) - np.outer(axis, axis))
    else:
        raise _unreal(joint)
    inertias[joint.child] = j + d
    left.add(
        "inertias that no solid has", 0, "a part is counted to the link before, which moves alike"
    )
    while True:
        turn = np.array(joint.place.rotation)
        d, axis = turn @ d @ turn.T, turn @ axis
        before = above.get(joint.parent)
        if before is None:
            return
        if joint.parent in inertias:
            inertias[joint.parent] = inertias[joint.parent] - d
            return
        turns = [along for what, along in JOINTS[before.kind].motions if what != "slide"]
        same = turns == ["axis"] and abs(abs(np.dot(axis, before.axis)) - 1) < 1e-12
        if turns and not same:  # a link without mass that turns otherwise cannot have it
            raise _unreal(joint)
        joint = before


def _missing(p: Array, axis: Array) -> float | None:
    """Return the least c for which P + c a a' has no negative eigenvalue; None where none has."""
    basis = np.linalg.svd(axis.reshape(1, 3))[2]
    turned = basis @ p @ basis.T
    block, beside = turned[1:, 1:], turned[1:, 0]
    size = float(np.abs(p).max())
    if np.linalg.eigvalsh(block)[0] < -1e-12 * size:
        return None
    solved = np.linalg.pinv(block, rcond=1e-12) @ beside
    if np.abs(block @ solved - beside).max() > 1e-9 * size:
        return None
    return max(0.0, float(beside @ solved - turned[0, 0]))


def _inward(robot: Description) -> Iterable[LinkJoint]:
    """Return the joints so that each comes before the one that carries its parent."""
    after: dict[str, list[LinkJoint]] = {}
    for joint in robot.joints:
        after.setdefault(joint.parent, []).append(joint)
    found: list[LinkJoint] = []
    stack = [robot.root]
    while stack:
        below = after.get(stack.pop(), [])
        found += below
        stack += [joint.child for joint in below]
    return reversed(found)


def _unreal(joint: LinkJoint) -> InputError:
    return InputError(
        f"no solid has the inertia of link {joint.child!r}, and MuJoCo takes no other: a principal "
        "moment is larger than the sum of the others",
        line=joint.line or None,
        remedy="correct its inertia (`linkwright model check` shows it), or write a text model",
    )
