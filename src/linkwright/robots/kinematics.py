"""Where the frames of a robot are and how they move: poses, Jacobians, velocities, accelerations.

Vectors of motion have six components, first the linear, then the angular ones, as Pinocchio and
most of robotics order them. They are seen in one of three ways (`REFERENCES`):

- "local-world-aligned": velocity of the frame's origin, along the axes of the world;
- "local": the same along the frame's own axes;
- "world": velocity of the point of the body that passes through the world's origin, along the
  axes of the world (a spatial vector).

An acceleration is the rate of the six components of the velocity in the same view, so that it is
J u' + J' u of the same Jacobian. In the view "local-world-aligned" its linear part is the
acceleration of the origin as an accelerometer's maker would write it (the classical one); in the
others it is the spatial one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from linkwright.algebra import ONE, ZERO, Expr, atan2, constant, sqrt
from linkwright.algebra.functions import maximum, where
from linkwright.algebra.triples import (
    IDENTITY,
    NOTHING,
    Matrix,
    Triple,
    add,
    apply,
    cross,
    dot,
    held_rows,
    matrix_product,
    subtract,
    transposed,
)
from linkwright.base.errors import InputError
from linkwright.equations.bodies import STILL, BodyTerms, body_motions, swung
from linkwright.equations.links import rotation_between
from linkwright.equations.tree import Tree
from linkwright.equations.writer import Writer
from linkwright.mechanism import Body
from linkwright.robots.fixed_frames import FixedFrame

REFERENCES = ("local-world-aligned", "local", "world")
ORIENTATIONS = ("rpy", "zyx", "quaternion")

_HALF = constant(0.5)
_TWO = constant(2)


def checked_reference(reference: str) -> str:
    """Return the name of a view, or reject it."""
    if reference not in REFERENCES:
        raise InputError(
            f"there is no reference {reference!r} for motion",
            remedy=f"choose one of {', '.join(REFERENCES)}",
        )
    return reference


def checked_orientation(orientation: str) -> str:
    """Return the name of numbers for an orientation, or reject it."""
    if orientation not in ORIENTATIONS:
        raise InputError(
            f"there is no orientation {orientation!r}",
            remedy=f"choose one of {', '.join(ORIENTATIONS)}",
        )
    return orientation


# -- places ----------------------------------------------------------------------------------------
def product(writer: Writer, a: Matrix, b: Matrix) -> Matrix:
    """Return the product of two matrices, with names for its entries."""
    return held_rows(writer.hold, matrix_product(a, b))


def chain_of(body: Body) -> tuple[Body, ...]:
    """Return the bodies from the ground to this one, the ground left out."""
    return body.ancestors()[::-1]


@dataclass(frozen=True, slots=True)
class Stance:
    """Where a body is: the matrix from its axes to the ground's, and its origin in the ground."""

    rotation: Matrix
    position: Triple


ON_GROUND = Stance(IDENTITY, NOTHING)


def stances(writer: Writer, bodies: Iterable[Body]) -> dict[Body, Stance]:
    """Return where bodies are; parents come first."""
    found: dict[Body, Stance] = {}
    for body in bodies:
        parent = body.parent
        assert parent is not None
        above = found.get(parent, ON_GROUND)
        turn = transposed(rotation_between(body.frame, parent.frame))
        arm = body.from_parent.components(parent.frame)
        position = writer.triple(add(above.position, apply(above.rotation, arm)))
        found[body] = Stance(product(writer, above.rotation, turn), position)
    return found


def placed(writer: Writer, stance: Stance, spot: FixedFrame) -> Stance:
    """Return where a frame is that is fixed in a body."""
    arm = apply(stance.rotation, spot.position)
    return Stance(
        product(writer, stance.rotation, spot.rotation),
        writer.triple(add(stance.position, arm)),
    )


def spot_stance(writer: Writer, spot: FixedFrame) -> Stance:
    """Return where a frame is in the ground."""
    found = stances(writer, chain_of(spot.body))
    return placed(writer, found.get(spot.body, ON_GROUND), spot)


def homogeneous(stance: Stance) -> list[list[Expr]]:
    """Return the 4 by 4 matrix of a stance."""
    rows = [[*row, x] for row, x in zip(stance.rotation, stance.position, strict=True)]
    return [*rows, [ZERO, ZERO, ZERO, ONE]]


def quaternion(writer: Writer, rotation: Matrix) -> list[Expr]:
    """Return (w, x, y, z) of a rotation matrix, with w not negative.

    The largest of the four components is found by a root, the others by division by it (Shepperd
    1978), so that all are as accurate as the matrix.
    """
    hold = writer.hold
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = rotation
    squares = [
        hold(ONE + xx + yy + zz),
        hold(ONE + xx - yy - zz),
        hold(ONE - xx + yy - zz),
        hold(ONE - xx - yy + zz),
    ]
    wx, wy, wz = hold(zy - yz), hold(xz - zx), hold(yx - xy)
    sxy, syz, szx = hold(xy + yx), hold(yz + zy), hold(zx + xz)
    table = [
        [squares[0], wx, wy, wz],
        [wx, squares[1], sxy, szx],
        [wy, sxy, squares[2], syz],
        [wz, szx, syz, squares[3]],
    ]
    upper = hold(squares[0] >= squares[1])
    lower = hold(squares[2] >= squares[3])
    first = hold(maximum(squares[0], squares[1]))
    second = hold(maximum(squares[2], squares[3]))
    which = hold(first >= second)
    row = [
        hold(
            where(
                which,
                where(upper, table[0][k], table[1][k]),
                where(lower, table[2][k], table[3][k]),
            )
        )
        for k in range(4)
    ]
    largest = hold(maximum(first, second))
    scale = hold(_HALF / sqrt(largest))
    signed = hold(where(row[0] >= ZERO, scale, -scale))
    return [hold(signed * x) for x in row]


def rpy(writer: Writer, rotation: Matrix) -> list[Expr]:
    """Return roll, pitch and yaw of a rotation matrix: turns about x, then y, then z, fixed axes.

    Roll and yaw are not defined where the pitch is a quarter turn.
    """
    level = writer.hold(sqrt(rotation[0][0] ** 2 + rotation[1][0] ** 2))
    return [
        atan2(rotation[2][1], rotation[2][2]),
        atan2(-rotation[2][0], level),
        atan2(rotation[1][0], rotation[0][0]),
    ]


# -- Jacobians -------------------------------------------------------------------------------------
Columns = dict[Expr, list[Expr]]


def _partial(
    writer: Writer, tree: Tree, body: Body, axes: Matrix, lever: Triple
) -> Iterable[tuple[Expr, list[Expr]]]:
    """Yield the speeds of a body's joint with what each adds to the six components."""
    for speed in tree.kinematics.motions[body].speeds:
        omega = writer.triple(apply(axes, speed.omega.components(body.frame)))
        push = apply(axes, speed.velocity.components(body.frame))
        velocity = writer.triple(add(push, cross(omega, lever)))
        yield speed.symbol, [*velocity, *omega]


def _ground_columns(
    writer: Writer, tree: Tree, chain: Sequence[Body], found: Mapping[Body, Stance], point: Triple
) -> Columns:
    columns: Columns = {}
    for body in chain:
        at = found[body]
        reference = tree.kinematics.motions[body].reference.components(body.frame)
        base = add(at.position, apply(at.rotation, reference))
        lever = writer.triple(subtract(point, base))
        columns.update(_partial(writer, tree, body, at.rotation, lever))
    return columns


def _local_columns(writer: Writer, tree: Tree, spot: FixedFrame) -> Columns:
    """Return the columns along the frame's own axes, going from the frame to the ground."""
    columns: Columns = {}
    if spot.body.parent is None:
        return columns
    axes = transposed(spot.rotation)
    motions = tree.kinematics.motions
    reference = motions[spot.body].reference.components(spot.body.frame)
    lever = writer.triple(apply(axes, subtract(spot.position, reference)))
    for body in spot.body.ancestors():
        columns.update(_partial(writer, tree, body, axes, lever))
        parent = body.parent
        assert parent is not None
        if parent.parent is None:
            break
        axes = product(writer, axes, rotation_between(body.frame, parent.frame))
        arm = body.from_parent + motions[body].reference - motions[parent].reference
        lever = writer.triple(add(lever, apply(axes, arm.components(parent.frame))))
    return columns


def jacobian(writer: Writer, tree: Tree, spot: FixedFrame, reference: str) -> list[list[Expr]]:
    """Return the six rows of the Jacobian of a frame."""
    return pose_and_jacobian(writer, tree, spot, reference)[1]


def pose_and_jacobian(
    writer: Writer, tree: Tree, spot: FixedFrame, reference: str
) -> tuple[Stance, list[list[Expr]]]:
    """Return where a frame is and its Jacobian; see `jacobian`."""
    chain = chain_of(spot.body)
    found = stances(writer, chain)
    at = placed(writer, found.get(spot.body, ON_GROUND), spot)
    if checked_reference(reference) == "local":
        columns = _local_columns(writer, tree, spot)
    else:
        point = at.position if reference == "local-world-aligned" else NOTHING
        columns = _ground_columns(writer, tree, chain, found, point)
    return at, rows_of(tree.on_independent(writer, columns, 6), 6)


def point_jacobian(
    writer: Writer, tree: Tree, spot: FixedFrame
) -> tuple[Triple, list[list[Expr]], list[list[Expr]]]:
    """Return the position of a point, its three-row Jacobian and the angular rows, in the world."""
    at, rows = pose_and_jacobian(writer, tree, spot, "local-world-aligned")
    return at.position, rows[:3], rows[3:]


def rows_of(columns: Sequence[Sequence[Expr]], height: int) -> list[list[Expr]]:
    """Return the rows of a matrix from its columns."""
    return [[column[i] for column in columns] for i in range(height)]


def analytic_jacobian(
    writer: Writer, tree: Tree, spot: FixedFrame, orientation: str
) -> list[list[Expr]]:
    """Return the Jacobian of position and orientation as numbers."""
    at, rows = pose_and_jacobian(writer, tree, spot, "local-world-aligned")
    hold = writer.hold
    if checked_orientation(orientation) == "quaternion":
        half = [hold(_HALF * e) for e in quaternion(writer, at.rotation)]
        w, i, j, k = half
        turns = [[-i, -j, -k], [w, k, -j], [-k, w, i], [j, -i, w]]
    else:
        turns = _angle_rates(writer, at.rotation)
        turns = turns if orientation == "rpy" else turns[::-1]
    columns = list(zip(*rows[3:], strict=True))
    return [*rows[:3], *([hold(dot(turn, c)) for c in columns] for turn in turns)]


def _angle_rates(writer: Writer, rotation: Matrix) -> list[list[Expr]]:
    """Return the matrix from the angular velocity in the world to the rates of roll, pitch, yaw."""
    hold = writer.hold
    a, b, c = rotation[0][0], rotation[1][0], rotation[2][0]
    square = hold(a**2 + b**2)
    level = hold(sqrt(square))
    roll = [hold(a / square), hold(b / square), ZERO]
    pitch = [hold(-b / level), hold(a / level), ZERO]
    yaw = [hold(-c * roll[0]), hold(-c * roll[1]), ONE]
    return [roll, pitch, yaw]


# -- velocities and accelerations ------------------------------------------------------------------
def movements(
    writer: Writer,
    tree: Tree,
    bodies: Iterable[Body],
    rates: Mapping[Expr, Expr] | None = None,
    lift: Triple = NOTHING,
) -> dict[Body, BodyTerms]:
    """Return velocities and, where rates of speeds are given, accelerations of bodies."""
    return body_motions(
        tree.kinematics, bodies, rates, lift=lift, hold=writer.hold, between=rotation_between
    )


def _at_spot(writer: Writer, spot: FixedFrame, moving: BodyTerms) -> BodyTerms:
    """Return how a frame moves that is fixed in a body, along its own axes."""
    axes = transposed(spot.rotation)
    r = spot.position
    return BodyTerms(
        writer.triple(apply(axes, moving.omega)),
        writer.triple(apply(axes, add(moving.velocity, cross(moving.omega, r)))),
        writer.triple(apply(axes, moving.alpha)),
        writer.triple(apply(axes, add(moving.acceleration, swung(moving.omega, moving.alpha, r)))),
    )


def velocity(writer: Writer, tree: Tree, spot: FixedFrame, reference: str) -> list[Expr]:
    """Return the six components of the velocity of a frame; see `REFERENCES`."""
    local = _spot_moving(writer, tree, spot, None)
    if checked_reference(reference) == "local":
        return [*local.velocity, *local.omega]
    at = spot_stance(writer, spot)
    omega = writer.triple(apply(at.rotation, local.omega))
    linear = writer.triple(apply(at.rotation, local.velocity))
    if reference == "world":
        linear = writer.triple(add(linear, cross(at.position, omega)))
    return [*linear, *omega]


def acceleration(
    writer: Writer, tree: Tree, spot: FixedFrame, reference: str, rates: Mapping[Expr, Expr]
) -> list[Expr]:
    """Return the six components of the acceleration of a frame; see `REFERENCES`."""
    local = _spot_moving(writer, tree, spot, rates)
    spatial = subtract(local.acceleration, cross(local.omega, local.velocity))
    if checked_reference(reference) == "local":
        return [*writer.triple(spatial), *local.alpha]
    at = spot_stance(writer, spot)
    alpha = writer.triple(apply(at.rotation, local.alpha))
    if reference == "local-world-aligned":
        return [*writer.triple(apply(at.rotation, local.acceleration)), *alpha]
    turned = apply(at.rotation, writer.triple(spatial))
    return [*writer.triple(add(turned, cross(at.position, alpha))), *alpha]


def _spot_moving(
    writer: Writer, tree: Tree, spot: FixedFrame, rates: Mapping[Expr, Expr] | None
) -> BodyTerms:
    found = movements(writer, tree, chain_of(spot.body), rates)
    return _at_spot(writer, spot, found.get(spot.body, STILL))
