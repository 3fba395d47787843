"""What robot files say, in one form for all: links, joints, shapes, and what else they hold.

Readers of URDF, MJCF, Denavit-Hartenberg tables and SL files make a `Description`; writers take
one; `assembled` turns it into a `Mechanism`. All is numbers, in SI units; angles are radians.

A joint's frame stands at `place` in the frame of its parent link; the child's frame coincides with
it while the joint's coordinates are zero. The axis is given in the joint's frame. That is URDF's
convention; the other readers bring theirs into it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from linkwright.base.reprs import one_line

Triple: TypeAlias = tuple[float, float, float]
Rotation: TypeAlias = tuple[Triple, Triple, Triple]

UNTURNED: Rotation = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@dataclass(frozen=True, slots=True)
class Place:
    """A frame in another one."""

    position: Triple = (0.0, 0.0, 0.0)
    rotation: Rotation = UNTURNED


@dataclass(frozen=True, slots=True)
class Mass:
    """Mass and its distribution."""

    mass: float  # kg
    center: Triple = (0.0, 0.0, 0.0)
    # tensor about the mass center along the link's axes: xx, yy, zz, xy, yz, zx, kg*m^2 (products
    # with their sign in the tensor)
    inertia: tuple[float, float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class LinkShape:
    """A solid or surface of a link, to be seen or touched."""

    # "box" (full edge lengths), "sphere" (radius), "cylinder" and "capsule" (radius, length along
    # z, caps apart), "ellipsoid" (three radii), "plane" (normal z), "mesh"
    kind: str
    size: tuple[float, ...] = ()  # the numbers of the kind, m
    place: Place = Place()  # of the shape in the link's frame
    mesh: str = ""  # the file of a mesh as it is named in the description
    scale: Triple = (1.0, 1.0, 1.0)  # of a mesh, along its axes
    # red, green, blue and opacity, 0 to 1; None where the file says nothing
    color: tuple[float, float, float, float] | None = None
    seen: bool = True  # whether it is drawn
    touched: bool = False  # whether it takes part in contact
    name: str = ""  # as in the file, or empty
    material: str = ""  # the name of the material that has the color, or empty


@dataclass(frozen=True, slots=True)
class Link:
    """A rigid part; `mass` is None where the file gives none."""

    name: str
    mass: Mass | None = None
    shapes: tuple[LinkShape, ...] = ()
    line: int = 0


@dataclass(frozen=True, slots=True)
class Mimic:
    """A joint that follows another: its coordinate is multiplier times the other's plus offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class JointLimits:
    """What a joint can do: lower and upper (rad or m), speed (rad/s or m/s), effort (N*m or N)."""

    lower: float | None = None
    upper: float | None = None
    speed: float | None = None
    effort: float | None = None


@dataclass(frozen=True, slots=True)
class LinkJoint:
    """A joint between two links."""

    name: str  # of the joint; also of its coordinate, where it has one
    kind: str  # one of `linkwright.mechanism.joint_kinds.JOINTS`
    parent: str  # name of the parent link
    child: str  # name of the child link
    place: Place = Place()  # of the joint's frame in the parent link's frame
    # of rotation or translation, in the joint's frame; the normal of a planar joint; the first axis
    # of a universal joint
    axis: Triple = (0.0, 0.0, 1.0)
    second_axis: Triple = (0.0, 1.0, 0.0)  # of a universal joint, in the child's frame
    pitch: float = 0.0  # of a screw, m in a turn
    limits: JointLimits = JointLimits()  # what it can do
    damping: float = 0.0  # viscous friction, N*m*s/rad or N*s/m
    friction: float = 0.0  # dry friction, N*m or N
    stiffness: float = 0.0  # of a spring in the joint, N*m/rad or N/m
    rest: float = 0.0  # coordinate at which that spring is slack, rad or m
    armature: float = 0.0  # inertia of the rotor as felt at the joint, kg*m^2 or kg
    mimic: Mimic | None = None  # the joint that this one follows
    # coordinates at which the file draws the robot, and runs start; nothing for zero (position and
    # quaternion of a free joint)
    start: tuple[float, ...] = ()
    line: int = 0  # in the file


@dataclass(frozen=True, slots=True)
class NamedFrame:
    """A frame or point of interest that is fixed in a link (a site, a tool, an end-effector)."""

    name: str
    link: str
    place: Place = Place()
    line: int = 0


@dataclass(frozen=True, slots=True)
class LinkSensor:
    """A sensor: what it measures, in MJCF's words, and the joint, link or frame that it is on."""

    name: str
    kind: str
    on: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Closure:
    """A loop: two frames, each fixed in a link, that stay together."""

    name: str
    first: tuple[str, Place]
    second: tuple[str, Place]  # link and place of the other
    kind: str = "ball"
    line: int = 0


@dataclass(frozen=True, slots=True)
class Ignored:
    """Something in a file that was not used: what it was, the line where it first stood, why.

    It is a `mistake` where the format has no such thing, so that something else may be missing.
    """

    what: str
    line: int
    why: str = "not used"
    count: int = 1
    mistake: bool = False

    @property
    def words(self) -> str:
        """The entry as a line for people.

        >>> Ignored("<gazebo>", 4, "for another simulator", 2).words
        '<gazebo> (2 times, first in line 4): for another simulator'
        """
        places = [f"{self.count} times"] if self.count > 1 else []
        if self.line:
            places.append(f"first in line {self.line}" if places else f"line {self.line}")
        return self.what + (f" ({', '.join(places)})" if places else "") + f": {self.why}"


@one_line
@dataclass(frozen=True, slots=True)
class Description:
    """All that a robot file says and Linkwright uses."""

    name: str  # of the robot
    # in the order of the file; the one that is not a joint's child stands on the ground
    links: tuple[Link, ...]
    joints: tuple[LinkJoint, ...]  # in the order of the file
    frames: tuple[NamedFrame, ...] = ()  # beyond those of the links
    closures: tuple[Closure, ...] = ()  # of loops
    # acceleration of free fall in the root's frame, m/s^2; None for 9.81 along -z
    gravity: Triple | None = None
    ignored: tuple[Ignored, ...] = ()  # what was left out, once for each kind
    source: str = ""  # the file, for messages
    notes: tuple[str, ...] = field(default=())
    content: bytes | None = field(default=None, repr=False, compare=False)  # what the file held
    sensors: tuple[LinkSensor, ...] = ()  # declared ones
    # the system of units in which people read its numbers, all of which are SI here
    display: str = field(default="mks", compare=False)

    def link(self, name: str) -> Link:
        """Return the link of that name."""
        return next(link for link in self.links if link.name == name)

    @property
    def mimics(self) -> dict[str, Mimic]:
        """By what joints follow others: each the first in its chain, which follows none."""
        joints = {joint.name: joint for joint in self.joints}
        found: dict[str, Mimic] = {}
        for name, joint in joints.items():
            mimic = joint.mimic
            while mimic is not None and (above := joints[mimic.joint].mimic) is not None:
                offset = mimic.offset + mimic.multiplier * above.offset
                mimic = Mimic(above.joint, mimic.multiplier * above.multiplier, offset)
            if mimic is not None:
                found[name] = mimic
        return found

    @property
    def root(self) -> str:
        """The name of the link that is not a joint's child.

        >>> a, b = Link("a"), Link("b")
        >>> Description("two", (a, b), (LinkJoint("j", "weld", "b", "a"),)).root
        'b'
        """
        children = {joint.child for joint in self.joints}
        return next(link.name for link in self.links if link.name not in children)


@dataclass(frozen=True, slots=True)
class WrittenDescription:
    """A description as the text of a file."""

    text: str
    dropped: tuple[Ignored, ...] = ()
    beside: tuple[tuple[str, str], ...] = ()
