"""Frames: nodes of a tree, each turned relative to its parent.

The root is inertial. A frame never changes once it is made; children know their parents, not the
other way round. Where an axis of a frame is, forward or backward, an axis of its parent, both
use the same `Direction`: a frame that turns about a.y shares a.y, one that turns about -a.y has
-a.y as its second axis, and one that does not turn shares all three (Sayers, AUTOSIM, sections 5.2
and 8.1). So a rotation that does not concern a pair of directions cannot enter their products.

How a frame turns in time is not part of it: `linkwright.algebra.motion.Motion` takes the rates of
the symbols in its angles, or its angular velocity in generalized speeds, and gives time
derivatives.
"""

from __future__ import annotations

import itertools
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from linkwright.algebra import rotations
from linkwright.algebra.directions import AXIS_NAMES, Direction, Immutable, VectorError
from linkwright.algebra.expr import MINUS_ONE, ONE, ZERO, Expr, Scalar, as_expr, scaled
from linkwright.algebra.nodes import SMALL
from linkwright.algebra.rotations import Turn
from linkwright.algebra.triples import IDENTITY, Matrix, Triple
from linkwright.algebra.vectors import Vector

if TYPE_CHECKING:
    from linkwright.algebra.motion import Motion

# An axis of the parent: 1, 2, 3 or "x", "y", "z" (with a minus for the opposite one), three
# components in the parent, or a vector that stands still in the parent.
Axis: TypeAlias = "int | str | Sequence[Scalar] | Vector"
Row: TypeAlias = tuple[tuple[Expr, Direction], ...]
# The angular velocity relative to the parent is the sum of (rate of the expression) × vector.
Spins: TypeAlias = tuple[tuple[Expr, Vector], ...]

_NAME = re.compile(r"[^\W\d]\w*(\.\w+)*'*\Z")
_DIGEST_MASK = (1 << 60) - 1


class Frame(Immutable):
    """A frame of reference with three axes `x`, `y`, `z`; made by `Frame.root` and its children.

    Attributes:
        name: its name, as in `b.x`.
        parent: the frame relative to which it is turned; None for the root.
        inertial: the root of its tree.
        depth: number of frames above it.
        axes: its three axes as vectors.
        directions: the directions that its axes lie along, some of them shared with the parent.
        signs: 1 or -1 for each axis: the axis is that many times its direction.
        cosines: the direction cosines: element (r, k) is axis r · axis k of the parent.
        rows: each axis as (cosine, direction of the parent) pairs without zeros.
        spins: pairs (expression, vector): the angular velocity relative to the parent is the sum of
            the expression's rate times the vector.
        turn: the rotation where it is about one axis, or leaves the parent's axis alone; else None.
        continues_turn: whether products may pass over the parent because both turn about one line.
        adds_angles: whether turns about one line are merged into one by adding the angles.
        is_small: whether a small angle lies between it and the root.
        digest: a number from structure and names that is the same in every process.

    >>> from linkwright.algebra import symbols
    >>> q, r = symbols("q r")
    >>> n = Frame.root("n")
    >>> a = n.rotated("a", "y", q)
    >>> b = a.rotated("b", "-y", r)
    >>> b.axes
    (b.x, -n.y, b.z)
    """

    __slots__ = (
        "__weakref__",
        "_merged",
        "_serials",
        "adds_angles",
        "axes",
        "continues_turn",
        "cosines",
        "depth",
        "digest",
        "directions",
        "inertial",
        "is_small",
        "name",
        "parent",
        "rows",
        "signs",
        "spins",
        "turn",
    )

    name: str
    parent: Frame | None
    inertial: Frame
    depth: int
    axes: tuple[Vector, Vector, Vector]
    directions: tuple[Direction, Direction, Direction]
    signs: tuple[int, int, int]
    cosines: Matrix
    rows: tuple[Row, Row, Row]
    spins: Spins
    turn: Turn | None
    continues_turn: bool
    adds_angles: bool
    digest: int
    is_small: bool
    _serials: Iterator[int]
    _merged: dict[int, tuple[Row, Row, Row]]

    def __init__(self) -> None:
        raise VectorError("a Frame is made by Frame.root() or by its parent, as in n.rotated(...)")

    def __repr__(self) -> str:
        if self.parent is None:
            return f"<Frame {self.name!r}, root>"
        return f"<Frame {self.name!r} in {self.parent.name!r}>"

    # -- content -----------------------------------------------------------------------------------
    @property
    def x(self) -> Vector:
        """The first axis."""
        return self.axes[0]

    @property
    def y(self) -> Vector:
        """The second axis."""
        return self.axes[1]

    @property
    def z(self) -> Vector:
        """The third axis."""
        return self.axes[2]

    def vector(self, x: Scalar, y: Scalar, z: Scalar) -> Vector:
        """Return the vector with these components along the axes.

        >>> Frame.root("n").vector(1, 0, -2)
        n.x - 2*n.z
        """
        parts = zip(self.directions, self.signs, (x, y, z), strict=True)
        return Vector({d: scaled(s, as_expr(c)) for d, s, c in parts})

    def direction_cosines(self, other: Frame) -> tuple[tuple[Expr, ...], ...]:
        """Return the matrix whose element (r, k) is axis r of this frame · axis k of the other.

        Its transpose takes coordinates in this frame to coordinates in the other.
        """
        return tuple(axis.components(other) for axis in self.axes)

    def angular_velocity(
        self, rates: Mapping[Expr, Scalar] | Motion, relative_to: Frame | None = None
    ) -> Vector:
        """Return the angular velocity, relative to the root or to another frame.

        >>> from linkwright.algebra import symbols
        >>> q, r, u, v = symbols("q r u v")
        >>> b = Frame.root("n").rotated("a", "x", q).rotated("b", "y", r)
        >>> b.angular_velocity({q: u, r: v})
        u*n.x + v*a.y
        """
        from linkwright.algebra.motion import as_motion

        return as_motion(rates).angular_velocity(self, relative_to)

    def rows_above(self, ancestor: Frame) -> tuple[Row, Row, Row]:
        """Return the axes in an ancestor's directions; every turn between is about one line."""
        found = self._merged.get(ancestor.depth)
        if found is None:
            turn, frame = self.turn, self
            while frame.parent is not None and frame.parent is not ancestor:
                upper = frame.parent
                assert turn is not None
                assert upper.turn is not None
                sense = self.signs[turn.index] * upper.signs[upper.turn.index]
                turn = turn.after(upper.turn, sense)
                frame = upper
            assert turn is not None
            found = _sparse_rows(turn.cosines(), ancestor)
            self._merged[ancestor.depth] = found
        return found

    # -- makers ------------------------------------------------------------------------------------
    @staticmethod
    def root(name: str, *, add_angles: bool = False) -> Frame:
        """Return the root of a new tree, the inertial frame.

        >>> from linkwright.algebra import symbols
        >>> q, r = symbols("q r")
        >>> for n in Frame.root("n"), Frame.root("n", add_angles=True):
        ...     n.x @ n.rotated("a", "z", q).rotated("b", "z", r).x
        cos(q)*cos(r) - sin(q)*sin(r)
        cos(q + r)
        """
        return _make(name, None, IDENTITY, lambda frame: (), add_angles=add_angles)

    def aligned(self, name: str) -> Frame:
        """Return a frame that does not turn relative to this one and shares its three axes."""
        return _make(name, self, IDENTITY, lambda frame: ())

    def rotated(
        self,
        name: str,
        axis: Axis,
        angle: Scalar,
        *,
        reference: Axis | None = None,
        body_axis: int | str | None = None,
    ) -> Frame:
        """Return a frame that turns about one axis.

        At angle zero, axis k of the new frame (`body_axis`) lies along the rotation axis, axis i
        along the reference and axis j along rotation axis × reference, with (i, j, k) cyclic. A
        positive angle takes axis i toward axis j.

        Args:
            angle: the angle, rad.

        >>> from linkwright.algebra import symbols
        >>> (q,) = symbols("q")
        >>> n = Frame.root("n")
        >>> n.rotated("b", "-x", 0).axes
        (-n.x, n.y, -n.z)
        >>> n.x @ n.rotated("b", "-x", q).x
        -1
        """
        along, number = self._axis(axis, "the rotation axis")
        k = number if body_axis is None else _axis_number(body_axis)[0]
        if k is None:
            raise VectorError(
                f"frame {name!r}: its rotation axis is inclined to the axes of {self.name!r}",
                remedy="say by body_axis which of the new axes it is, or use turned()",
            )
        nominal = self._nominal(k, along, number, reference)
        turn = Turn(k, as_expr(angle), nominal)
        return _make(
            name, self, turn.cosines(), lambda frame: ((turn.angle, frame.axes[k]),), turn=turn
        )

    def turned(self, name: str, axis: Axis, angle: Scalar) -> Frame:
        """Return a frame that turns about any axis and coincides with this one at angle zero.

        >>> from linkwright.algebra import symbols
        >>> (q,) = symbols("q")
        >>> n = Frame.root("n")
        >>> b = n.turned("b", (0, -1, 0), q)
        >>> b.axes, b.spins
        ((b.x, n.y, b.z), ((q, -n.y),))
        """
        along, number = self._axis(axis, "the rotation axis")
        turn_angle = as_expr(angle)

        def spins(frame: Frame) -> Spins:
            return ((turn_angle, self.vector(*along)),)

        if number is None:
            return _make(name, self, rotations.axis_angle_cosines(along, turn_angle), spins)
        turn = Turn(number, scaled(along[number].data, turn_angle), IDENTITY)
        return _make(name, self, turn.cosines(), spins, turn=turn)

    def euler(
        self,
        name: str,
        axes: str | Sequence[int],
        angles: Sequence[Scalar],
        *,
        axis: Axis | None = None,
        reference: Axis | None = None,
    ) -> Frame:
        """Return a frame that turns three times in sequence, each time about an axis of its own.

        Args:
            angles: the three angles, rad.

        >>> from linkwright.algebra import symbols
        >>> yaw, pitch, roll = symbols("yaw pitch roll")
        >>> n = Frame.root("n")
        >>> n.z @ n.euler("b", "zyx", (yaw, pitch, roll)).x
        -sin(pitch)
        """
        order = [_axis_number(k)[0] for k in axes]
        if len(order) != 3 or order[0] == order[1] or order[1] == order[2]:
            raise VectorError(
                f"frame {name!r}: {axes!r} is not a sequence of three axes",
                remedy="name three, no two neighbors the same; for one rotation use rotated()",
            )
        if len(angles) != 3:
            raise VectorError(f"frame {name!r}: three rotations take 3 angles, not {len(angles)}")
        first, second, third = (as_expr(x) for x in angles)
        along, number = self._axis(order[0] + 1 if axis is None else axis, "the first axis")
        nominal = self._nominal(order[0], along, number, reference)
        cosines = rotations.turned_rows(order[0], first, nominal)
        cosines = rotations.matrix_product(rotations.simple_cosines(order[1], second), cosines)
        last = rotations.simple_cosines(order[2], third)
        cosines = rotations.matrix_product(last, cosines)
        middle = [last[r][order[1]] for r in range(3)]

        def spins(frame: Frame) -> Spins:
            return (
                (first, self.vector(*along)),
                (second, frame.vector(*middle)),
                (third, frame.axes[order[2]]),
            )

        return _make(name, self, cosines, spins)

    def oriented(self, name: str, quaternion: Sequence[Scalar]) -> Frame:
        """Return a frame whose orientation is a unit quaternion.

        Args:
            quaternion: (w, x, y, z), scalar part first, with w² + x² + y² + z² = 1; it takes the
                axes of this frame to those of the new one.
        """
        if len(quaternion) != 4:
            raise VectorError(f"frame {name!r}: a quaternion has 4 parts, not {len(quaternion)}")
        w, x, y, z = e = [as_expr(part) for part in quaternion]

        def spins(frame: Frame) -> Spins:
            return (
                (w, frame.vector(-2 * x, -2 * y, -2 * z)),
                (x, frame.vector(2 * w, -2 * z, 2 * y)),
                (y, frame.vector(2 * z, 2 * w, -2 * x)),
                (z, frame.vector(-2 * y, 2 * x, 2 * w)),
            )

        return _make(name, self, rotations.quaternion_cosines(e), spins)

    def with_matrix(self, name: str, matrix: Sequence[Sequence[Scalar]]) -> Frame:
        """Return a frame by its rotation matrix.

        >>> Frame.root("n").with_matrix("b", [[0, -1, 0], [1, 1e-17, 0], [0, 0, 1]]).axes
        (n.y, -n.x, n.z)
        """
        cosines = rotations.cosines_of_matrix(matrix)

        def spins(frame: Frame) -> Spins:
            return tuple(
                (cosines[(i + 1) % 3][k], frame.axes[i] * cosines[(i + 2) % 3][k])
                for i in range(3)
                for k in range(3)
                if cosines[(i + 1) % 3][k].op != "num"
            )

        return _make(name, self, cosines, spins)

    def with_rpy(self, name: str, roll: Scalar, pitch: Scalar, yaw: Scalar) -> Frame:
        """Return a fixed frame by the angles of a URDF origin: about fixed x, then y, then z.

        Args:
            roll: angle about x, rad.
            pitch: angle about y, rad.
            yaw: angle about z, rad.

        >>> import math
        >>> Frame.root("n").with_rpy("b", math.pi / 2, 0, 0).axes
        (n.x, n.z, -n.y)
        """
        return self.euler(name, "zyx", (yaw, pitch, roll))

    # -- reading axes ------------------------------------------------------------------------------
    def _axis(self, axis: Axis, what: str) -> tuple[Triple, int | None]:
        """Return unit components in this frame, and the number of the axis that it lies along."""
        if isinstance(axis, int | str):
            k, sign = _axis_number(axis)
            return _signed_unit(k, sign), k
        if isinstance(axis, Vector):
            parts = axis.components(self)
            if not all(x.is_constant for x in parts):
                raise VectorError(f"{what} {axis} does not stand still in frame {self.name!r}")
        else:
            parts = rotations.triple(axis, what)
        unit = rotations.normalized(parts, what)
        number = next((k for k in range(3) if unit[k] is ONE or unit[k] is MINUS_ONE), None)
        if number is not None:
            unit = _signed_unit(number, 1 if unit[number] is ONE else -1)
        return unit, number

    def _nominal(self, k: int, along: Triple, number: int | None, reference: Axis | None) -> Matrix:
        if reference is None:
            reference = ((k if number is None else number) + 1) % 3 + 1
        return rotations.nominal_triad(k, along, self._axis(reference, "the reference axis")[0])


def _axis_number(axis: int | str) -> tuple[int, int]:
    """Return the number 0, 1, 2 and the sign of an axis written as 1, -2, "z", "-x"."""
    if isinstance(axis, int):
        if 1 <= abs(axis) <= 3:
            return abs(axis) - 1, 1 if axis > 0 else -1
    else:
        name = axis.lstrip("+-").lower()
        if len(name) == 1 and len(axis) <= 2 and name in AXIS_NAMES + "123":
            return (AXIS_NAMES + "123").index(name) % 3, -1 if axis[0] == "-" else 1
    raise VectorError(f"there is no axis {axis!r}", remedy="use 1, 2, 3 or 'x', 'y', 'z'")


def _signed_unit(k: int, sign: int) -> Triple:
    x, y, z = (scaled(sign, c) for c in IDENTITY[k])
    return x, y, z


def _make(
    name: str,
    parent: Frame | None,
    cosines: Matrix,
    spins: Callable[[Frame], Spins],
    *,
    turn: Turn | None = None,
    add_angles: bool = False,
) -> Frame:
    """Return a new frame; axes that the cosines say are axes of the parent are shared."""
    if not _NAME.match(name):
        raise VectorError(
            f"{name!r} cannot be the name of a frame; use letters, digits, underscores"
        )
    frame: Frame = object.__new__(Frame)

    def put(attribute: str, value: object) -> None:
        object.__setattr__(frame, attribute, value)

    put("name", name)
    put("parent", parent)
    put("inertial", frame if parent is None else parent.inertial)
    put("depth", 0 if parent is None else parent.depth + 1)
    put("adds_angles", add_angles if parent is None else parent.adds_angles)
    put("_serials", itertools.count() if parent is None else parent._serials)
    put("_merged", {})
    put("cosines", cosines)
    small = any(x.roles & SMALL for row in cosines for x in row)
    put("is_small", small or (parent is not None and parent.is_small))
    above = 0 if parent is None else parent.digest
    keys = [x.key & _DIGEST_MASK for row in cosines for x in row]
    put("digest", hash((above, zlib.crc32(name.encode()), *keys)) & _DIGEST_MASK)
    found = [_shared(parent, row) or (_own(frame, r), 1) for r, row in enumerate(cosines)]
    put("directions", tuple(d for d, _ in found))
    put("signs", tuple(s for _, s in found))
    put("axes", tuple(Vector({d: s}) for d, s in found))
    put("rows", ((), (), ()) if parent is None else _sparse_rows(cosines, parent))
    put("spins", tuple((x, axis) for x, axis in spins(frame) if x.op != "num"))
    put("turn", turn or _unmoved_turn(frame))
    put("continues_turn", _continues(frame))
    return frame


def _own(frame: Frame, index: int) -> Direction:
    return Direction(frame, index, next(frame._serials))


def _shared(parent: Frame | None, row: Triple) -> tuple[Direction, int] | None:
    """Return the direction and sign of the parent's axis that the row of cosines names, if any."""
    if parent is None:
        return None
    for k in range(3):
        if row[k] is not ONE and row[k] is not MINUS_ONE:
            continue
        if row[k - 1] is ZERO and row[k - 2] is ZERO:
            return parent.directions[k], parent.signs[k] * (1 if row[k] is ONE else -1)
    return None


def _sparse_rows(cosines: Matrix, above: Frame) -> tuple[Row, Row, Row]:
    rows = [
        tuple(
            (scaled(above.signs[k], row[k]), above.directions[k])
            for k in range(3)
            if row[k] is not ZERO
        )
        for row in cosines
    ]
    return rows[0], rows[1], rows[2]


def _unmoved_turn(frame: Frame) -> Turn | None:
    """Return the constant rotation as one about the axis that the parent turns about, if it is."""
    parent = frame.parent
    if parent is None or parent.turn is None or frame.spins:
        return None
    line = parent.directions[parent.turn.index]
    if line not in frame.directions:
        return None
    return Turn(frame.directions.index(line), ZERO, frame.cosines)


def _continues(frame: Frame) -> bool:
    """Whether the frame and its parent turn about one line, and their angles may be added."""
    parent, turn = frame.parent, frame.turn
    if not frame.adds_angles or parent is None or turn is None or parent.turn is None:
        return False
    return frame.directions[turn.index] is parent.directions[parent.turn.index]
