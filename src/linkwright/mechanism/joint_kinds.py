"""The kinds of joints: one record each, from which all else about them follows.

It is light, so that readers of robot files need no mechanism for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class JointKind:
    """All that there is to know of a kind of joint; schema, readers, writers and checks follow.

    In the zero pose the child's frame coincides with the joint's. The motion subspace is that of
    the zero pose.
    """

    # returns the joint from the keys of a text model, which are its arguments; or the name of that
    # function in `linkwright.mechanism.joints`
    make: str | Callable[..., Any]
    # one for each degree of freedom: "turn", "slide" or "screw", and along what: "axis",
    # "second_axis", "across" and "aside" (which make a right-handed frame with the axis), or an
    # axis of the joint's frame
    motions: tuple[tuple[str, str], ...] = ()
    # of the names of its coordinates; none where it has one, named as the joint
    endings: tuple[str, ...] = ()
    urdf: tuple[str, ...] = ()  # its types in URDF, the first for one with limits
    mjcf: str = ""  # its type in MJCF

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
    def units(self) -> tuple[str, str, str]:
        """Of places, speeds and efforts along its coordinates; none where they are of two kinds.

        >>> JOINTS["prismatic"].units
        ('m', 'm/s', 'N')
        """
        if 0 < self.slides < self.freedom:
            return ("", "", "")
        return ("m", "m/s", "N") if self.slides else ("rad", "rad/s", "N*m")


_QUATERNION = ("e0", "e1", "e2", "e3")
_ALL_TURNS = tuple(("turn", axis) for axis in "xyz")
_ALL_SLIDES = tuple(("slide", axis) for axis in "xyz")
_IN_PLANE = (("slide", "across"), ("slide", "aside"), ("turn", "axis"))

JOINTS: dict[str, JointKind] = {
    "weld": JointKind("Weld", urdf=("fixed",)),
    "revolute": JointKind(
        "Revolute", (("turn", "axis"),), urdf=("revolute", "continuous"), mjcf="hinge"
    ),
    "prismatic": JointKind("Prismatic", (("slide", "axis"),), urdf=("prismatic",), mjcf="slide"),
    "screw": JointKind("Screw", (("screw", "axis"),)),
    "cylindrical": JointKind(
        "Cylindrical", (("slide", "axis"), ("turn", "axis")), ("slide", "turn")
    ),
    "universal": JointKind(
        "universal_of", (("turn", "axis"), ("turn", "second_axis")), ("first", "second")
    ),
    "planar": JointKind("Planar", _IN_PLANE, ("x", "y", "turn"), urdf=("planar",)),
    "ball": JointKind("Ball", _ALL_TURNS, _QUATERNION, mjcf="ball"),
    "free": JointKind(
        "Free",
        _ALL_SLIDES + _ALL_TURNS,
        ("x", "y", "z", *_QUATERNION),
        urdf=("floating",),
        mjcf="free",
    ),
}
"""The kinds of joints by name. A kind that is added here is read, written and checked everywhere;
one that a format has no word for is written as slides and turns one after the other."""

OWN_AXIS: dict[str, tuple[str, str]] = {
    "hinge": ("revolute", "y"),
    "swivel": ("revolute", "x"),
    "sliding": ("prismatic", "x"),
}
"""Words of text models for a joint that moves about, or along, an axis of its own frame; x runs
along the link (ROBSIM's joints)."""
