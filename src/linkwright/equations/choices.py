"""What may be chosen for each body without changing the motion, only the number of operations.

Frame, reference point and form of the inertia moment of a body are free, as is what stays of one
second moment when parameters are regrouped. Which is cheapest depends on the neighbors and on the
zeros among the parameters, so candidates are counted (`linkwright.equations.search`), not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from linkwright.algebra import ZERO, Expr, Vector
from linkwright.equations.inertia import own_axis
from linkwright.mechanism import Body, Kinematics

OWN, ABOVE = "own", "above"
SECOND, TENSOR, MIXED = "second", "tensor", "mixed"
NO_SHIFT, SHIFT_TURNING, SHIFT_ALL = "none", "turning", "all"
_PLACES = 4  # candidates for each reference point, besides the usual one


@dataclass(frozen=True, slots=True)
class Choice:
    """What is chosen for one body."""

    axes: str = OWN
    # "second" (U S - S Uᵀ) or "tensor" (J alpha + gyroscopic products) for the moment, or "mixed":
    # the former for components to which one second moment contributes
    form: str = SECOND
    # what stays of the second moment along the joint's axis: 0 nothing, 1 and 2 so much that the
    # moment of inertia about the second or first axis across it vanishes
    left: int = 0
    place: int = 0


DEFAULT = Choice()


@dataclass(frozen=True, slots=True)
class Choices:
    """What is chosen for a tree."""

    bodies: Mapping[str, Choice] = field(default_factory=dict)
    shift: str = NO_SHIFT
    regroup: bool = True

    def of(self, body: Body) -> Choice:
        """Return what is chosen for a body."""
        return self.bodies.get(body.name, DEFAULT)

    def with_body(self, name: str, choice: Choice) -> Choices:
        """Return the same with another choice for one body."""
        return replace(self, bodies={**self.bodies, name: choice})

    def told(self) -> dict[str, str]:
        """Return what differs from the default, in words, by body."""
        found = {} if self.shift == NO_SHIFT else {"": f"shift={self.shift}"}
        for name, c in sorted(self.bodies.items()):
            parts = [
                f"{key}={value}"
                for key, value, usual in (
                    ("axes", c.axes, OWN),
                    ("form", c.form, SECOND),
                    ("left", c.left, 0),
                    ("place", c.place, 0),
                )
                if value != usual
            ]
            if parts:
                found[name] = " ".join(parts)
        return found


def places(kinematics: Kinematics) -> dict[Body, tuple[Vector, ...]]:
    """Return candidates for the reference point of each body, relative to its usual one.

    A body that only translates may take any point: the joints of its children are offered. One that
    turns about an axis may take any point of it: the feet of its children's joints, and of its
    parent's origin. For a child that turns, the places on its own axis are offered too, so that
    the meeting point of several axes can become the place of all.
    """
    none = Vector({})
    result: dict[Body, tuple[Vector, ...]] = {}
    offered: dict[Body, list[Vector]] = {}
    for body in reversed(kinematics.mechanism.depth_first()):
        motion = kinematics.motions[body]
        assert body.parent is not None
        found = [none]
        fixed = not (motion.absolute or body.lead is not ZERO or len(body.rotations) > 1)
        if fixed:
            for place in _offers(body, offered.get(body, [])):
                if not place.is_zero and place not in found and len(found) <= _PLACES:
                    found.append(place)
        result[body] = tuple(found)
        turning = fixed and not body.translations
        along = found if turning else [none]
        offered.setdefault(body.parent, []).extend(body.offset + p for p in along)
    return result


def _offers(body: Body, points: Sequence[Vector]) -> Iterator[Vector]:
    if not body.rotations:
        yield from points
        return
    axis = body.frame.spins[0][1]
    feet: list[Expr] = [p @ axis for p in points]
    if not body.translations:
        feet.append(-(body.offset @ axis))
    yield from (axis * d for d in feet if d.is_constant)


def options(
    kinematics: Kinematics, body: Body, at: Sequence[Vector]
) -> dict[str, tuple[int | str, ...]]:
    """Return the settings to try for a body besides the usual ones, by field of `Choice`."""
    result: dict[str, tuple[int | str, ...]] = {}
    children = kinematics.mechanism.children(body)
    alone = not kinematics.motions[body].absolute and len(body.rotations) == 1
    if alone and (not children or any(_parallel(body, c) for c in children)):
        result["axes"] = (ABOVE,)
    if body.rotations or body.parent is None or body.parent.parent is not None:
        result["form"] = (MIXED, TENSOR)
    if len(at) > 1:
        result["place"] = tuple(range(1, len(at)))
    if alone and not body.translations and own_axis(body, body.frame.spins[0][1]) is not None:
        result["left"] = (1, 2)
    return result


def _parallel(body: Body, child: Body) -> bool:
    if len(child.rotations) != 1:
        return False
    return (body.frame.spins[0][1] ^ child.frame.spins[0][1]).is_zero
