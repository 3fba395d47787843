"""Links that fixed joints hold together, as one rigid group each, in a tree of joints that move."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from linkwright.formats.robot.description import Description, LinkJoint, Mass, Place, Triple
from linkwright.formats.robot.transforms import composed, joined_masses, moved_mass

HERE = Place()
_DUST = 2e-11  # what direction cosines may differ by from 0 and be made 0


@dataclass(slots=True, eq=False)
class RigidGroup:
    """Links that move as one."""

    name: str  # of its first link, in whose frame all is given
    joint: LinkJoint | None = None  # by which it hangs on the group above; None for the root
    above: RigidGroup | None = None  # that group
    at: Place = HERE  # place of the joint's frame in the frame of the group above
    members: dict[str, Place] = field(default_factory=dict)  # place of each link
    # the groups that hang on it, in the order of the joints
    below: list[RigidGroup] = field(default_factory=list)
    mass: Mass | None = None

    def walk(self) -> list[RigidGroup]:
        """Return the group and all below it, each before what hangs on it."""
        found: list[RigidGroup] = []
        stack = [self]
        while stack:
            group = stack.pop()
            found.append(group)
            stack.extend(reversed(group.below))
        return found


def grouped(
    description: Description, held: Mapping[str, Place] | None = None
) -> tuple[RigidGroup, int]:
    """Return the root of the tree of groups, and how many entries of rotations were made exact.

    >>> from linkwright.formats.robot.description import Link
    >>> links = Link("a"), Link("b"), Link("c")
    >>> joints = LinkJoint("f", "weld", "a", "b"), LinkJoint("j", "revolute", "b", "c")
    >>> root, _ = grouped(Description("r", links, joints))
    >>> list(root.members), root.below[0].name
    (['a', 'b'], 'c')
    """
    still = held or {}
    below: dict[str, list[LinkJoint]] = {}
    for joint in description.joints:
        below.setdefault(joint.parent, []).append(joint)
    root = RigidGroup(description.root, members={description.root: Place()})
    changed = 0
    stack = [(description.root, root)]
    while stack:
        link, group = stack.pop()
        following: list[tuple[str, RigidGroup]] = []
        for joint in below.get(link, ()):
            place, count = exact(composed(group.members[link], joint.place))
            changed += count
            if joint.kind == "weld" or joint.name in still:
                group.members[joint.child] = composed(place, still.get(joint.name, Place()))
                following.append((joint.child, group))
            else:
                made = RigidGroup(joint.child, joint, group, place, {joint.child: Place()})
                group.below.append(made)
                following.append((joint.child, made))
        stack.extend(reversed(following))
    masses = {link.name: link.mass for link in description.links}
    for group in root.walk():
        parts = [
            moved_mass(mass, place)
            for name, place in group.members.items()
            if (mass := masses[name]) is not None
        ]
        group.mass = joined_masses(parts)
    order = {joint.name: k for k, joint in enumerate(description.joints)}
    for group in root.walk():
        group.below.sort(key=lambda g: order[g.joint.name] if g.joint else 0)
    return root, changed


def exact(place: Place) -> tuple[Place, int]:
    """Return a place whose rotation has exact zeros and ones, and how many entries were changed.

    >>> exact(Place(rotation=((1.0, 1e-12, 0.0), (-1e-12, 1.0, 0.0), (0.0, 0.0, 1.0))))[1]
    2
    """
    rows = tuple(snapped(row) for row in place.rotation)
    changed = sum(
        a != b for r, s in zip(rows, place.rotation, strict=True) for a, b in zip(r, s, strict=True)
    )
    if not changed:
        return place, 0
    (a, b, c), (d, e, f), (g, h, i) = rows
    return replace(place, rotation=((a, b, c), (d, e, f), (g, h, i))), changed


def snapped(row: Triple) -> Triple:
    """Return a unit vector with zeros where it is within 2e-11 of them, one along an axis whole.

    A component near one says little: it is one only where the others vanish.

    >>> snapped((1e-12, -1.0, 0.0)), snapped((0.0, 1e-6, 1.0 - 5e-13))
    ((0.0, -1.0, 0.0), (0.0, 1e-06, 0.9999999999995))
    """
    x, y, z = (0.0 if abs(c) < _DUST else c for c in row)
    if sum(c != 0.0 for c in (x, y, z)) != 1:
        return x, y, z
    return _signed(x), _signed(y), _signed(z)


def _signed(x: float) -> float:
    return math.copysign(1.0, x) if x else 0.0
