"""Whether the links and joints of a robot file make a tree, and what is wrong where they do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from linkwright.base.errors import InputError, nearest
from linkwright.formats.robot.description import Description, Link, LinkJoint
from linkwright.mechanism.joint_kinds import JOINTS

_LONGEST_NAME = 200
_Part: TypeAlias = Link | LinkJoint


def require_tree(description: Description) -> Description:
    """Return the description, or complain of the first thing that keeps it from being a tree.

    >>> links = Link("a", line=1), Link("b", line=2)
    >>> require_tree(Description("r", links, (), source="r.urdf"))
    Traceback (most recent call last):
        ...
    linkwright.InputError: r.urdf:2: two links are no joint's child: 'a' and 'b'; join them,
    with a fixed joint where nothing moves
    """
    source = description.source
    if not description.links:
        raise InputError("the robot has no link", file=source or None, remedy="give it one")
    _unlike_names(source, "link", description.links)
    _unlike_names(source, "joint", description.joints)
    parents = _parents(description)
    _one_root(description, parents)
    _mimics(description)
    return description


def _fault(source: str, part: _Part, what: str, remedy: str | None = None) -> InputError:
    return InputError(what, file=source or None, line=part.line or None, remedy=remedy)


def _unlike_names(source: str, kind: str, parts: Sequence[_Part]) -> None:
    seen: dict[str, _Part] = {}
    for part in parts:
        name = part.name
        if not name or not name.isprintable() or len(name) > _LONGEST_NAME:
            raise _fault(
                source,
                part,
                f"{name[:60]!r} is not a name for a {kind}",
                f"use up to {_LONGEST_NAME} characters that can be printed",
            )
        if name in seen:
            where = f", as in line {seen[name].line}" if seen[name].line else ""
            raise _fault(source, part, f"a second {kind} is called {name!r}{where}", "rename one")
        seen[name] = part


def _parents(description: Description) -> dict[str, LinkJoint]:
    """Return the joint above each link that has one."""
    known = {link.name for link in description.links}
    above: dict[str, LinkJoint] = {}
    for joint in description.joints:
        if joint.kind not in JOINTS:
            raise _fault(description.source, joint, f"joint {joint.name!r}: kind {joint.kind!r}")
        for role, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in known:
                raise _fault(
                    description.source,
                    joint,
                    f"the {role} of joint {joint.name!r}, {name[:60]!r}, is not a link",
                    _nearest(name, known),
                )
        other = above.get(joint.child)
        if other is not None:
            raise _fault(
                description.source,
                joint,
                f"link {joint.child!r} is the child of two joints, {other.name!r} and "
                f"{joint.name!r}",
                "a loop cannot be written this way; cut it, or use a format with closures",
            )
        if joint.parent == joint.child:
            raise _fault(description.source, joint, f"joint {joint.name!r} joins a link to itself")
        above[joint.child] = joint
    return above


def _nearest(name: str, known: set[str]) -> str:
    close = nearest(name[:_LONGEST_NAME], sorted(known)[:2000])
    return f"did you mean {close!r}?" if close else "name a link of the file"


def _one_root(description: Description, above: dict[str, LinkJoint]) -> None:
    roots = [link for link in description.links if link.name not in above]
    if len(roots) > 1:
        names = [repr(link.name) for link in roots[:4]]
        count = {2: "two", 3: "three", 4: "four"}.get(len(roots), str(len(roots)))
        more = "" if len(roots) <= 4 else ", ..."
        shown = ", ".join(names[:-1]) + f" and {names[-1]}" if not more else ", ".join(names) + more
        raise _fault(
            description.source,
            roots[1],
            f"{count} links are no joint's child: {shown}",
            "join them, with a fixed joint where nothing moves",
        )
    sound: set[str] = {link.name for link in roots}
    for link in description.links:
        path: dict[str, None] = {}
        at = link.name
        while at not in sound:
            if at in path:
                ring = list(path)[list(path).index(at) :]
                raise _fault(
                    description.source,
                    above[at],
                    f"the joints make a ring: {' -> '.join([*reversed(ring[-6:]), ring[-1]])}",
                    "cut it; a tree has one link that is not a joint's child",
                )
            path[at] = None
            at = above[at].parent
        sound.update(path)


def _mimics(description: Description) -> None:
    joints = {joint.name: joint for joint in description.joints}
    for joint in description.joints:
        if joint.mimic is None:
            continue
        target = joints.get(joint.mimic.joint)
        if target is None:
            raise _fault(
                description.source,
                joint,
                f"joint {joint.name!r} mimics {joint.mimic.joint[:60]!r}, which is not a joint",
                _nearest(joint.mimic.joint, set(joints)),
            )
        for one in (joint, target):
            if JOINTS[one.kind].freedom != 1:
                raise _fault(
                    description.source,
                    joint,
                    f"joint {joint.name!r} mimics {target.name!r}, but {one.name!r} is "
                    f"{one.kind} and has no single coordinate",
                )
        seen = {joint.name}
        at = joint
        while at.mimic is not None:
            if at.mimic.joint in seen:
                raise _fault(
                    description.source, joint, f"joint {joint.name!r} mimics itself in the end"
                )
            seen.add(at.mimic.joint)
            following = joints.get(at.mimic.joint)
            if following is None:
                break
            at = following
