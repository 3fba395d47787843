"""What the analyst draws: bodies, points, forces, moments, constraints and outputs.

Each part is a record that belongs to one `Mechanism`. Positions and directions are vectors without
coordinates, at hand as soon as a body exists. Velocities are in terms of generalized speeds, which
are chosen when the first one is asked for; from then on no body can be added
(`Mechanism.kinematics`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from linkwright.algebra import Expr, Frame, Vector
from linkwright.algebra.triples import Triple, apply
from linkwright.base.arguments import fixed
from linkwright.base.errors import Error
from linkwright.base.reprs import brief, one_line
from linkwright.mechanism.joints import Joint

if TYPE_CHECKING:
    from linkwright.mechanism.mechanism import Mechanism

Value: TypeAlias = Any
"""What stands for a number or a place: a number, a text, an expression, a part."""


@dataclass(frozen=True, slots=True, eq=False)
class Inertia:
    """Mass in kg, mass center in m, and the inertia tensor about it in kg*m^2, in body axes.

    `tensor` holds the entries xx, yy, zz, xy, yz, zx of the tensor (products with their sign in
    it).
    """

    mass: Expr
    center: Triple
    tensor: tuple[Expr, Expr, Expr, Expr, Expr, Expr]


@fixed
@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """A rigid body with its joint to the parent; `parent` is None only for the ground."""

    name: str
    mechanism: Mechanism = field(repr=False)
    parent: Body | None = field(repr=False)
    joint: Joint = field(repr=False)
    frame: Frame = field(repr=False)
    inertia: Inertia = field(repr=False)
    translations: tuple[tuple[Expr, Vector], ...] = field(repr=False)
    rotations: tuple[Expr, ...] = field(repr=False)
    offset: Vector = field(repr=False)
    lead: Expr = field(repr=False)
    doc: str = ""

    def __repr__(self) -> str:
        if self.parent is None:
            return f"Body({self.name!r}: the ground)"
        moves = ", ".join(q.name for q in self.coordinates) or "no coordinate"
        told = f"; {self.doc}" if self.doc else ""
        return f"Body({self.name!r} on {self.parent.name!r}: {moves}{told})"

    @property
    def x(self) -> Vector:
        """The first axis of the body."""
        return self.frame.x

    @property
    def y(self) -> Vector:
        """The second axis of the body."""
        return self.frame.y

    @property
    def z(self) -> Vector:
        """The third axis of the body."""
        return self.frame.z

    @property
    def coordinates(self) -> tuple[Expr, ...]:
        """The coordinates of the joint, translations first."""
        return (*(q for q, _ in self.translations), *self.rotations)

    @property
    def origin(self) -> Point:
        """The point of the body at its joint."""
        return self.mechanism.point_of(self, (0, 0, 0), f"{self.name}0")

    @property
    def com(self) -> Point:
        """The body's own mass center."""
        return self.mechanism.point_of(self, self.inertia.center, f"{self.name}cm")

    @property
    def from_parent(self) -> Vector:
        """The position of the body's origin relative to its parent's."""
        shift = self.offset
        for q, direction in self.translations:
            shift = shift + direction * q
        if self.lead.op != "num":
            shift = shift + self.frame.spins[0][1] * self.lead
        return shift

    @property
    def omega(self) -> Vector:
        """The angular velocity relative to the ground, in generalized speeds."""
        return self.mechanism.kinematics().omega(self)

    def ancestors(self) -> tuple[Body, ...]:
        """Return the body and those it hangs on, the ground left out."""
        chain = []
        body: Body | None = self
        while body is not None and body.parent is not None:
            chain.append(body)
            body = body.parent
        return tuple(chain)

    def vector(self, x: Expr | float, y: Expr | float, z: Expr | float) -> Vector:
        """Return a vector from components along the body's axes."""
        return self.frame.vector(x, y, z)


@fixed
@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A point fixed in a body; `local` is its position relative to the body's origin.

    A point with a `matrix` is a frame: rows of the rotation that takes components along its axes to
    components along the body's.
    """

    name: str
    body: Body = field(repr=False)
    local: Vector = field(repr=False)
    matrix: tuple[tuple[Expr, ...], ...] | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"Point({self.name!r} of {self.body.name!r}: {brief(self.local)})"

    @property
    def axes(self) -> tuple[Vector, Vector, Vector]:
        """The axes of the frame; those of the body for a point without a matrix."""
        if self.matrix is None:
            return self.body.frame.axes
        x, y, z = (self.body.frame.vector(*column) for column in zip(*self.matrix, strict=True))
        return x, y, z

    def vector(self, x: Expr, y: Expr, z: Expr) -> Vector:
        """Return a vector from components along the frame's axes."""
        return self.body.frame.vector(*self.outward((x, y, z)))

    def inward(self, parts: Sequence[Expr]) -> Triple:
        """Return components along the frame's axes from those along the body's."""
        return _times(None if self.matrix is None else zip(*self.matrix, strict=True), parts)

    def outward(self, parts: Sequence[Expr]) -> Triple:
        """Return components along the body's axes from those along the frame's."""
        return _times(self.matrix, parts)

    @property
    def position(self) -> Vector:
        """The position relative to the ground's origin, in native form."""
        total = self.local
        for body in self.body.ancestors():
            total = total + body.from_parent
        return total

    @property
    def velocity(self) -> Vector:
        """The velocity relative to the ground, in generalized speeds."""
        return self.body.mechanism.kinematics().velocity(self)


def as_point(place: Point | Body) -> Point:
    """Return a point as it is, and a body as its origin."""
    return place.origin if isinstance(place, Body) else place


def _times(rows: Iterable[Sequence[Expr]] | None, parts: Sequence[Expr]) -> Triple:
    if rows is not None:
        return apply(rows, parts)
    x, y, z = parts
    return x, y, z


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class Range:
    """How far a joint may go; runs stop it there (`linkwright.equations.joint_stops`)."""

    coordinate: Expr
    lower: float | None = None  # end of the range, rad or m; None for none
    upper: float | None = None  # end of the range, rad or m; None for none
    # greatest speed, rad/s or m/s, for controllers and robot files; None for none
    speed: float | None = None
    # greatest effort, N*m or N, for controllers and robot files; None for none
    effort: float | None = None


@dataclass(frozen=True, slots=True)
class Passive:
    """A joint's own effort: -damping u - friction sign(u) - stiffness (q - rest)."""

    damping: Expr  # N*m*s/rad or N*s/m
    friction: Expr  # N*m or N
    stiffness: Expr  # of a joint with one coordinate, N*m/rad or N/m
    rest: Expr  # coordinate at which the spring is slack, rad or m
    # names of the forces and moments of the mechanism that are this
    loads: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class ClosedLoop:
    """A joint that closes a loop; its relations are among the constraints of the mechanism."""

    name: str
    first: Point
    second: Point
    joint: Joint
    relations: frozenset[str] = frozenset()  # names of its constraints
    # expressions that are 1 where its axes point the same way in both bodies; its relations hold,
    # too, where one is -1
    aligned: tuple[Expr, ...] = ()


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class DrivenStrut:
    """A massless strut between two points, whose length is a coordinate."""

    name: str  # of the strut, and of the coordinate
    first: Point  # where it begins
    second: Point  # where it ends
    length: Expr  # its coordinate, m
    slider: Body  # the massless body on the ground that has this coordinate; nothing is drawn of it


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class ConeLimit:
    """How far a ball or a universal joint may tilt: its axis stays within a cone."""

    joint: str  # name of the body that it moves, of the loop that it closes, or of a driven strut
    axis: Vector  # of the cone, fixed in `body`
    body: Body  # in which the cone is fixed
    second: Vector  # unit vector that stays in the cone: fixed in the other body, or along a strut
    angle: float  # greatest angle between the two, half the opening of the cone, rad
    other: Body | None = None  # the body in which `second` is fixed; None for a strut
    at_second: bool = False  # of a strut, whether the cone is at its second end

    @property
    def cosine(self) -> Expr:
        """The cosine of the angle between the axes; within the cone it is above `cos(angle)`."""
        return self.axis @ self.second


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class CollisionCapsule:
    """A capsule for the search for interference: all that is within a radius of a line."""

    name: str  # of what it stands for
    first: Point  # one end of the line
    second: Point  # the other end, of the same body or of another (a strut between two)
    radius: Expr  # m


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class Platform:
    """What a machine moves: a point of a body, and the direction along which it points."""

    point: Point
    axis: Vector


@dataclass(frozen=True, slots=True)
class Sensor:
    """A sensor that a robot file declares: what it measures, and where."""

    name: str
    kind: str  # what it measures, in MJCF's words: "jointpos", "gyro", "force", ..
    on: str  # name of the coordinate, body or point that it is on


@dataclass(frozen=True, slots=True, eq=False)
class Force:
    """A force of some magnitude along a line, on one body and the opposite on another.

    Args:
        name: its name.
        magnitude: in N; positive pushes `point` along `direction`.
        direction: a unit vector.
        point: where it acts; the line of action goes through it.
        reaction: the body that feels the opposite force (the ground for none).
        formula: the magnitude as the analyst wrote it, where it was a text.
        away_from: for a force along the line between two points, the other point.
    """

    name: str
    magnitude: Expr
    direction: Vector
    point: Point
    reaction: Body
    doc: str = ""
    formula: str = ""
    away_from: Point | None = None


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """A couple in N m about a direction, on one body and the opposite on another."""

    name: str
    magnitude: Expr
    direction: Vector
    body: Body
    reaction: Body
    doc: str = ""
    formula: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """How the multiplier of a constraint acts: with the multiplier 1, a force or couple."""

    direction: Vector
    point: Point
    reaction: Point
    turns: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Constraint:
    """A relation that must hold.

    Args:
        name: its name.
        speed: an expression, linear in the speeds, that must vanish.
        position: the expression of coordinates whose rate `speed` is, or None (nonholonomic).
        eliminate: the speed that the user wants eliminated, or None.
        eliminate_coordinate: the coordinate that the user wants computed, or None.
        works: where its force acts; empty for a relation that acts in the joints of its speeds.
        length: of a driven strut, the coordinate that is its length; None for others.
        mechanism: what it belongs to.

    `replaces`, `by` and `satisfied` say what it eliminates, after the constraints before it.
    """

    name: str
    speed: Expr
    position: Expr | None = None
    eliminate: Expr | None = None
    eliminate_coordinate: Expr | None = None
    works: tuple[Work, ...] = ()
    length: Expr | None = None
    mechanism: Mechanism | None = field(default=None, repr=False)

    @property
    def replaces(self) -> Expr | None:
        """The speed that it eliminates; None where earlier constraints satisfy it already.

        >>> from linkwright.mechanism import Mechanism
        >>> m = Mechanism("m")
        >>> b = m.body("b", translate="xy", rotate="z")
        >>> made = m.constrain("dot(vel(b0), [b1]) - V")
        >>> made.replaces, made.by
        (b.u, V)
        >>> made
        Constraint('constraint 1': replaces b.u by V)
        """
        found: Expr | None = self._reply().replaces
        return found

    @property
    def by(self) -> Expr | None:
        """What the speed is replaced by, in terms of the speeds that are left with it."""
        found: Expr | None = self._reply().by
        return found

    @property
    def satisfied(self) -> bool:
        """Whether earlier constraints satisfy it already, so that it eliminates nothing."""
        return self.replaces is None

    def _reply(self) -> Any:
        from linkwright.base.hooks import reply_to

        return reply_to(self)

    def __repr__(self) -> str:
        m, said = self.mechanism, ""
        if m is not None and m._kinematics is not None:  # which no further body could join
            try:
                said = f": {self._reply()}"
            except Error:
                said = ": it has no speed that it could eliminate yet"
        return f"Constraint({self.name!r}{said})"


@dataclass(frozen=True, slots=True)
class Timing:
    """Default settings of a run."""

    until: float
    step: float
    every: int = 1


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class State:
    """An extra state of the analyst's, with the expression of its derivative."""

    symbol: Expr
    derivative: Expr
    initial: float = 0.0


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class Output:
    """A channel of results: its expression, unit and names.

    `made` says what finds it from all loads together ("reactions", "energies"); empty for others.
    """

    name: str
    value: Expr
    unit: str = "?"
    doc: str = ""
    body: str = ""
    made: str = ""
