"""What recordings report forces, so that pictures can show them as arrows.

Each force that an element puts on a body at a point is reported by the channels that hold it and
the place where it acts, in numbers:

    {"name": "floor.force1", "body": "foot", "at": [x, y, z],
     "force": ["floor.force1_x", "floor.force1_y", "floor.force1_z"], "touch": "floor.depth1"}

`at` is in the body's axes (m), the channels of `force` are components in the ground's axes (N). A
force that is given by its magnitude has one channel, and `along`, a unit vector in the body's axes
or, with `"axes": "ground"`, in the ground's. `touch` is there for contact points: the channel that
is positive while the point touches; `down` says how far below `at` that is, m. Whoever has the
recording and the poses of the bodies needs nothing else. What else is drawn of a System is reported
alike: planes that are the ground (`floors`), and bodies that tires make wheels of (`wheels`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from linkwright.algebra import Expr, Frame, evaluate, free_symbols
from linkwright.blocks import Arrow, Element
from linkwright.mechanism import Body

if TYPE_CHECKING:
    from linkwright.system.system import System


def told_forces(
    system: System, values: Mapping[str, float], channels: Sequence[str]
) -> list[dict[str, Any]]:
    """Return where the forces of a System act and which channels hold them.

    >>> from linkwright.elements import Contact, Plane
    >>> from linkwright.mechanism import Mechanism
    >>> from linkwright.system import System
    >>> m = Mechanism("m")
    >>> ball = m.body("ball", translate="z", mass=1)
    >>> s = System(m)
    >>> floor = s.add(Contact(m, [ball], Plane(), stiffness=1e4, viscous=1), name="floor")
    >>> told = s.phases().meta["forces"][0]
    >>> told["name"], told["body"], told["touch"]
    ('floor.force1', 'ball', 'floor.depth1')
    """
    there = set(channels)
    found = []
    for member in system.members.values():
        if not isinstance(member.block, Element):
            continue
        for arrow in member.block.arrows.values():
            told = _told(member.name, system.mechanism.ground.frame, arrow, values)
            if told is not None and there.issuperset(told["force"]):
                if told.get("touch", "") not in there:
                    told.pop("touch", None)
                found.append(told)
    return found


def told_floors(system: System) -> list[dict[str, Any]]:
    """Return the planes of the ground that something can touch: a point, and what is up."""
    found = []
    for member in system.members.values():
        for center, up in getattr(member.block, "floors", ()):
            found.append({"at": list(map(float, center)), "up": list(map(float, up))})
    return found


def told_wheels(system: System, values: Mapping[str, float]) -> list[dict[str, Any]]:
    """Return the bodies that elements know to be wheels: radius, m, and its parameter."""
    found = []
    for member in system.members.values():
        wheel = getattr(member.block, "wheel", None)
        parameter = f"{member.name}.radius"
        if isinstance(wheel, Body) and parameter in values:
            told = {"body": wheel.name, "radius": values[parameter], "parameter": parameter}
            found.append(told)
    return found


def _told(
    member: str, ground: Frame, arrow: Arrow, values: Mapping[str, float]
) -> dict[str, Any] | None:
    body = arrow.point.body
    at = _numbers(arrow.point.local.components(body.frame), values)
    if at is None or body.parent is None:
        return None
    told: dict[str, Any] = {"name": f"{member}.{arrow.name}", "body": body.name, "at": at}
    told["force"] = [f"{member}.{name}" for name in arrow.outputs]
    if arrow.along is not None:
        along = _numbers(arrow.along.components(body.frame), values)
        if along is None:
            along = _numbers(arrow.along.components(ground), values)
            told["axes"] = "ground"
        if along is None:
            return None
        told["along"] = along
    if arrow.touch:
        told["touch"] = f"{member}.{arrow.touch}"
    if arrow.below:
        told["down"] = arrow.below
    return told


def _numbers(components: Sequence[Expr], values: Mapping[str, float]) -> list[float] | None:
    """Return the numbers of components, or None where there are none."""
    found = []
    for x in components:
        wanted = free_symbols(x)
        if any(s.name not in values for s in wanted):
            return None
        found.append(float(evaluate(x, {s: values[s.name] for s in wanted})))
    return found
