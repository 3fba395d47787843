"""Joints: how a body may move relative to its parent.

One building block serves all (AUTOSIM, section 8.1): up to three translations along directions
fixed in the parent, then no rotation, one rotation, or three. The named joints are blocks with
particular axes.

An axis is a direction, however it is written: `"-z"`, `-3`, `(0, 0, -1)`, `(0, 0, -2)` and
`-m.z` are one joint. A positive angle turns the body about that direction by the right-hand rule,
and a positive shift moves it that way. With all coordinates zero, a body's frame coincides with
its parent's. Only where `body_axis` or `reference` is given, the frame is placed by them
(`Frame.rotated`).

A universal joint is two blocks with a massless body between them; `Mechanism.body` makes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import Field, dataclass, fields
from typing import Any, TypeAlias

from linkwright.algebra import Scalar, Vector
from linkwright.base.arguments import worded
from linkwright.base.errors import Error
from linkwright.base.reprs import brief

# "x", "-z", 3, three components in the parent, a vector, or the text of a vector such as "[b1]".
Axis: TypeAlias = "str | int | Sequence[Scalar | str] | Vector"

_NAMES = frozenset("xyz")


class MechanismError(Error):
    """A mechanism that cannot be built as described."""


@dataclass(frozen=True, slots=True, repr=False)
class Joint:
    """A joint in the words of the building block.

    Args:
        translate: directions of translation, fixed in the parent: "x", "-z", three components, or
            a vector.
        rotate: () for none; one axis, fixed in the parent; or three body axes such as "xyz".
        quaternion: describe three rotations by a quaternion instead of three angles.
        body_axis: for one rotation: which axis of the body lies along it.
        first_axis: for three rotations: the direction of the first one in the parent.
        reference: the parent's direction from which the (first) angle is measured.
        advance_per_radian: advance along the axis of the one rotation, m/rad (a screw).
        second: a further block that follows, with a massless body between (universal joint).
        offset: what is added to the one angle, rad.
        matrix: of a weld: rows of the rotation that takes components in the body to the parent's.
        at_origin: for a free body on the ground: its speeds are those of its origin along its own
            axes, not those of its composite mass center.
        name: its name in robot files, where that is not the name of its coordinate.
    """

    translate: tuple[Any, ...] = ()
    rotate: tuple[Any, ...] = ()
    quaternion: bool = False
    body_axis: str | int | None = None
    first_axis: Any = None
    reference: Any = None
    advance_per_radian: Any = 0
    second: Joint | None = None
    offset: Any = 0
    matrix: Any = None
    at_origin: bool = False
    name: str = ""

    def __repr__(self) -> str:
        told = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if self._is_set(f))
        return f"Joint({', '.join(told)})"

    def _is_set(self, of: Field[Any]) -> bool:
        value = getattr(self, of.name)
        return value is not of.default and not (value == () == of.default)

    def __post_init__(self) -> None:
        if self.matrix is not None and self.rotate:
            raise MechanismError(
                "a joint has rotations or a constant matrix, not both",
                remedy="leave out one of rotate and matrix",
            )
        if len(self.translate) > 3:
            raise MechanismError("a joint has at most three translations")
        if len(self.rotate) == 2:
            raise MechanismError(
                "a joint block has 0, 1 or 3 rotations, not 2",
                remedy="use Universal(a, b), or two bodies of which the first has no mass",
            )
        if len(self.rotate) > 3:
            raise MechanismError("a joint has at most three rotations")


def axis_list(value: Any) -> tuple[Any, ...]:
    """Return a list of axes from the ways people write one: "xy", "x", 3, ["x", (1, 0, 1)].

    >>> axis_list("xy"), axis_list("-z"), axis_list([0, 0, 1]), axis_list(["x", (1, 0, 1)])
    (('x', 'y'), ('-z',), ((0, 0, 1),), ('x', (1, 0, 1)))
    >>> axis_list("[b1] + [b2]")
    ('[b1] + [b2]',)
    """
    if isinstance(value, Vector | int):
        return (value,)
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        if value.lstrip("+-") in _NAMES:
            return (value.lstrip("+"),)
        return tuple(value) if _NAMES.issuperset(value) else (value,)
    if not isinstance(value, Iterable):
        raise MechanismError(
            f"{brief(value)} is not an axis", remedy='give "x", "y", "z", or three components'
        )
    items = tuple(tuple(v) if isinstance(v, list) else v for v in value)
    plain = all(not isinstance(v, tuple | Vector) for v in items)
    names = all(isinstance(v, str) and v.lstrip("+-") in _NAMES for v in items)
    if len(items) == 3 and plain and not names:
        return (items,)
    return items


def Revolute(
    axis: Axis,
    *,
    body_axis: str | int | None = None,
    reference: Any = None,
    offset: Scalar | str = 0,
) -> Joint:
    """Return a joint with one rotation.

    Args:
        axis: the axis, fixed in the parent.
        body_axis: which axis of the body lies along it; by default the body's frame coincides with
            the parent's at angle zero.
        reference: the parent's direction from which the angle is measured.
        offset: the angle by which the body is turned with the coordinate at zero, rad.

    >>> Revolute("z").rotate
    ('z',)
    """
    return Joint(rotate=_one(axis), body_axis=body_axis, reference=reference, offset=offset)


def Prismatic(axis: Axis) -> Joint:
    """Return a joint with one translation.

    Args:
        axis: the direction, fixed in the parent.

    >>> Prismatic("x").translate
    ('x',)
    """
    return Joint(translate=_one(axis))


def Screw(axis: Axis, pitch: Scalar | str) -> Joint:
    """Return a joint that advances while it turns.

    Args:
        axis: the axis, fixed in the parent.
        pitch: advance in one turn, m.

    >>> Screw("z", 0.01).rotate
    ('z',)
    """
    return Joint(rotate=_one(axis), advance_per_radian=("per turn", pitch))


def Cylindrical(axis: Axis) -> Joint:
    """Return a joint that slides along and turns about the same axis.

    Args:
        axis: the axis, fixed in the parent.

    >>> Cylindrical("z").translate
    ('z',)
    """
    return Joint(translate=_one(axis), rotate=_one(axis))


def Universal(first: Axis, second: Axis) -> Joint:
    """Return a joint that turns about an axis of the parent, then about one that turns with it.

    Args:
        first: the axis in the parent.
        second: the axis in the body.

    >>> Universal("x", "y").second.rotate
    ('y',)
    """
    return Joint(rotate=_one(first), second=Joint(rotate=_one(second)))


@worded
def Ball(sequence: str = "xyz", *, quaternion: bool = False) -> Joint:
    """Return a joint with three rotations about one point.

    Args:
        sequence: the body axes of the three angles, in order.
        quaternion: use four quaternion components instead of angles.

    >>> Ball("zyx").rotate
    ('z', 'y', 'x')
    """
    return Joint(rotate=tuple(sequence), quaternion=quaternion)


def Planar(axis: str = "z") -> Joint:
    """Return a joint with two translations in a plane and the rotation about its normal.

    Args:
        axis: the normal: "x", "y" or "z" of the parent.

    >>> Planar("z").translate
    ('x', 'y')
    """
    others = {"x": "yz", "y": "zx", "z": "xy"}
    if axis not in others:
        raise MechanismError(f"the normal of a planar joint is 'x', 'y' or 'z', not {axis!r}")
    return Joint(translate=tuple(others[axis]), rotate=(axis,))


@worded
def Free(sequence: str = "xyz", *, quaternion: bool = False, at_origin: bool = False) -> Joint:
    """Return the absence of a joint: three translations and three rotations.

    Args:
        sequence: the body axes of the three angles, in order.
        quaternion: use four quaternion components instead of angles.
        at_origin: let the speeds be those of the body's origin, not of its composite mass center.

    >>> len(Free().translate)
    3
    """
    return Joint(
        translate=("x", "y", "z"),
        rotate=tuple(sequence),
        quaternion=quaternion,
        at_origin=at_origin,
    )


def Weld(matrix: Any = None) -> Joint:
    """Return the joint that does not move.

    Args:
        matrix: rows of the constant rotation that takes components in the body to components in
            the parent; none by default.

    >>> Weld().rotate
    ()
    """
    return Joint(matrix=matrix)


def _one(axis: Axis) -> tuple[Any, ...]:
    found = axis_list(axis)
    if len(found) != 1:
        raise MechanismError(f"this joint has one axis, not {axis!r}")
    return found


def universal_of(axes: Any) -> Joint:
    """Return a universal joint from both its axes in one list.

    >>> universal_of(["x", "y"]) == Universal("x", "y")
    True
    """
    pair = axis_list(axes)
    if len(pair) != 2:
        raise MechanismError(
            "a universal joint has two axes", remedy='write them as axes = ["x", "y"]'
        )
    return Universal(*pair)
