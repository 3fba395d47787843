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

from collections.abc import Callable, Iterable, Sequence
from dataclasses import Field, dataclass, fields
from inspect import signature
from typing import Any, TypeAlias

from linkwright.algebra import Scalar, Vector
from linkwright.border import worded
from linkwright.brief import brief
from linkwright.errors import Error

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


def _universal(axes: Any) -> Joint:
    """Return a universal joint from both its axes in one list."""
    pair = axis_list(axes)
    if len(pair) != 2:
        raise MechanismError(
            "a universal joint has two axes", remedy='write them as axes = ["x", "y"]'
        )
    return Universal(*pair)


@dataclass(frozen=True, slots=True)
class JointKind:
    """All that there is to know of a kind of joint; schema, readers, writers and checks follow.

    In the zero pose the child's frame coincides with the joint's. The motion subspace is that of
    the zero pose.

    Args:
        make: returns the joint from the keys of a text model, which are its arguments.
        motions: one for each degree of freedom: "turn", "slide" or "screw", and along what: "axis",
            "second_axis", "across" and "aside" (which make a right-handed frame with the axis), or
            an axis of the joint's frame.
        endings: of the names of its coordinates; none where it has one, named as the joint.
        urdf: its types in URDF, the first for one with limits.
        mjcf: its type in MJCF.
    """

    make: Callable[..., Joint]
    motions: tuple[tuple[str, str], ...] = ()
    endings: tuple[str, ...] = ()
    urdf: tuple[str, ...] = ()
    mjcf: str = ""

    @property
    def freedom(self) -> int:
        """How many degrees of freedom it has."""
        return len(self.motions)

    @property
    def sizes(self) -> tuple[int, int]:
        """How many coordinates and speeds it has in a robot."""
        return (len(self.endings) or self.freedom, self.freedom)

    @property
    def has_axis(self) -> bool:
        """Whether it moves along or about an axis of its own."""
        return any(along == "axis" for _, along in self.motions)

    @property
    def is_coaxial(self) -> bool:
        """Whether it turns about one axis, and slides along no other."""
        along = {along for _, along in self.motions}
        return along == {"axis"} and self.slides < self.freedom

    @property
    def turns(self) -> bool:
        """Whether all its coordinates are angles."""
        return bool(self.motions) and len(self.endings) < 3 and self.slides == 0

    @property
    def slides(self) -> int:
        """How many of its coordinates are translations."""
        return sum(what == "slide" for what, _ in self.motions)

    @property
    def keys(self) -> tuple[frozenset[str], frozenset[str]]:
        """The keys of a text model that it needs, and those that it may have besides."""
        given = signature(self.make).parameters.values()
        needed = frozenset(p.name for p in given if p.default is p.empty)
        return needed, frozenset(p.name for p in given) - needed


_QUATERNION = ("e0", "e1", "e2", "e3")
_ALL_TURNS = tuple(("turn", axis) for axis in "xyz")
_ALL_SLIDES = tuple(("slide", axis) for axis in "xyz")
_IN_PLANE = (("slide", "across"), ("slide", "aside"), ("turn", "axis"))

JOINTS: dict[str, JointKind] = {
    "weld": JointKind(Weld, urdf=("fixed",)),
    "revolute": JointKind(
        Revolute, (("turn", "axis"),), urdf=("revolute", "continuous"), mjcf="hinge"
    ),
    "prismatic": JointKind(Prismatic, (("slide", "axis"),), urdf=("prismatic",), mjcf="slide"),
    "screw": JointKind(Screw, (("screw", "axis"),)),
    "cylindrical": JointKind(Cylindrical, (("slide", "axis"), ("turn", "axis")), ("slide", "turn")),
    "universal": JointKind(
        _universal, (("turn", "axis"), ("turn", "second_axis")), ("first", "second")
    ),
    "planar": JointKind(Planar, _IN_PLANE, ("x", "y", "turn"), urdf=("planar",)),
    "ball": JointKind(Ball, _ALL_TURNS, _QUATERNION, mjcf="ball"),
    "free": JointKind(
        Free,
        _ALL_SLIDES + _ALL_TURNS,
        ("x", "y", "z", *_QUATERNION),
        urdf=("floating",),
        mjcf="free",
    ),
}
"""The kinds of joints by name. A kind that is added here is read, written and checked everywhere;
one that a format has no word for is written as slides and turns one after the other."""
