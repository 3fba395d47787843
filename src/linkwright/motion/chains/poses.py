"""Poses that move, as expressions: quaternions and points with their velocities and accelerations.

Velocities have two parts, since two clocks move a pose: that of frames (real time), and the path
time of a chain, whose rate is sigma. A velocity is `flow + sigma * slope`, and an acceleration what
it is while sigma stays the same; a rate of sigma adds `slope` times it. Angular ones are along the
axes of the frame in which the pose is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from linkwright.algebra import ONE, ZERO, Expr, atan2, cos, maximum, sin, sqrt, total, where
from linkwright.algebra.triples import (
    NOTHING,
    Hold,
    Quaternion,
    Triple,
    add,
    conjugate,
    cross,
    dot,
    held,
    quaternion_product,
    subtract,
    times,
)
from linkwright.motion.chains.legs import Share
from linkwright.motion.chains.records import like, numbers

UNIT: Quaternion = (ONE, ZERO, ZERO, ZERO)
_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class MovingVector:
    """A vector over time."""

    at: Triple  # where it is
    flow: Triple = NOTHING  # its velocity by real time
    slope: Triple = NOTHING  # its velocity by path time
    second: Triple = NOTHING  # its acceleration, the rate of sigma left out


@dataclass(frozen=True, slots=True)
class Turning:
    """A rotation over time; see `MovingVector`."""

    at: Quaternion
    flow: Triple = NOTHING
    slope: Triple = NOTHING
    second: Triple = NOTHING


def multiplied(hold: Hold, a: Sequence[Expr], b: Sequence[Expr]) -> Quaternion:
    """Return the product of two quaternions (w, x, y, z)."""
    w, x, y, z = (hold(e) for e in quaternion_product(a, b))
    return w, x, y, z


def rotated(hold: Hold, q: Sequence[Expr], v: Sequence[Expr]) -> Triple:
    """Return a vector turned by a unit quaternion."""
    if all(x is ZERO for x in v):
        return NOTHING
    w, *axis = q
    side = held(hold, times(2 * ONE, cross(axis, v)))
    return held(hold, add(v, times(w, side), cross(axis, side)))


def composed(hold: Hold, sigma: Expr, a: Turning, b: Turning) -> Turning:
    """Return the rotation a b."""
    flow, slope = rotated(hold, a.at, b.flow), rotated(hold, a.at, b.slope)
    second = rotated(hold, a.at, b.second)
    own, other = add(a.flow, times(sigma, a.slope)), add(flow, times(sigma, slope))
    return Turning(
        multiplied(hold, a.at, b.at),
        held(hold, add(a.flow, flow)),
        held(hold, add(a.slope, slope)),
        held(hold, add(a.second, second, cross(own, other))),
    )


def inverse(hold: Hold, a: Turning) -> Turning:
    """Return the inverse of a rotation."""
    back = conjugate(a.at)
    flow, slope, second = (times(-ONE, rotated(hold, back, v)) for v in (a.flow, a.slope, a.second))
    return Turning(back, flow, slope, second)


def carried(hold: Hold, sigma: Expr, turn: Turning, point: Sequence[Expr]) -> MovingVector:
    """Return a point that a rotation about the origin carries along."""
    at = rotated(hold, turn.at, point)
    omega = held(hold, add(turn.flow, times(sigma, turn.slope)))
    return MovingVector(
        at,
        held(hold, cross(turn.flow, at)),
        held(hold, cross(turn.slope, at)),
        held(hold, add(cross(turn.second, at), cross(omega, cross(omega, at)))),
    )


def sums(hold: Hold, *parts: MovingVector) -> MovingVector:
    """Return the sum of vectors over time."""
    added = (total(row) for row in zip(*map(numbers, parts), strict=True))
    return like(parts[0], (x if x.is_atom else hold(x) for x in added))


def negative(a: MovingVector) -> MovingVector:
    """Return the vector in the other direction."""
    return like(a, (-x for x in numbers(a)))


def between(
    hold: Hold, sigma: Expr, a: MovingVector, b: MovingVector, share: Share
) -> MovingVector:
    """Return the point that lies a share of the way from one point to another."""
    way = held(hold, subtract(b.at, a.at))
    flow, slope = held(hold, subtract(b.flow, a.flow)), held(hold, subtract(b.slope, a.slope))
    whole = held(hold, add(flow, times(sigma, slope)))
    bend = hold(share.second * sigma**2)
    return MovingVector(
        held(hold, add(b.at, times(-share.left, way))),
        held(hold, add(a.flow, times(share.r, flow))),
        held(hold, add(a.slope, times(share.r, slope), times(share.rate, way))),
        held(
            hold,
            add(
                a.second,
                times(share.r, subtract(b.second, a.second)),
                times(hold(2 * sigma * share.rate), whole),
                times(bend, way),
            ),
        ),
    )


def turned_about(
    hold: Hold, sigma: Expr, axis: Sequence[Expr], angle: Expr, share: Share
) -> Turning:
    """Return the rotation by a share of an angle about a fixed axis."""
    half = hold(angle * share.r / 2)
    s, c = hold(sin(half)), hold(cos(half))
    x, y, z = held(hold, times(s, axis))
    return Turning(
        (c, x, y, z),
        NOTHING,
        held(hold, times(hold(angle * share.rate), axis)),
        held(hold, times(hold(angle * share.second * sigma**2), axis)),
    )


def _spun(hold: Hold, omega: Sequence[Expr], q: Sequence[Expr]) -> list[Expr]:
    """Return the rate of a quaternion that turns with an angular velocity."""
    found = multiplied(hold, (ZERO, *omega), q)
    return [hold(x / 2) for x in found]


def carry(hold: Hold, sigma: Expr, a: Turning, b: Turning, share: Share) -> Turning:
    """Return a rotation that goes from one to another: their weighted mean, made a rotation."""
    near = hold(dot(a.at, b.at) >= 0)
    other = [hold(where(near, x, -x)) for x in b.at]
    r, left = share.r, share.left
    bend = hold(share.second * sigma**2)

    def mixed(x: Sequence[Expr], y: Sequence[Expr]) -> list[Expr]:
        return [hold(left * p + r * q) for p, q in zip(x, y, strict=True)]

    s = mixed(a.at, other)
    size = hold(sqrt(maximum(total(x**2 for x in s), _TINY)))
    c = [hold(x / size) for x in s]
    flows = [_spun(hold, t.flow, q) for t, q in ((a, a.at), (b, other))]
    slopes = [_spun(hold, t.slope, q) for t, q in ((a, a.at), (b, other))]
    flow, own = mixed(*flows), mixed(*slopes)
    slope = [hold(x + share.rate * (y - z)) for x, y, z in zip(own, other, a.at, strict=True)]
    rates = [
        [hold(f + sigma * g) for f, g in zip(flows[k], slopes[k], strict=True)] for k in (0, 1)
    ]
    bends = []
    for k, (t, q) in enumerate(((a, a.at), (b, other))):
        omega = held(hold, add(t.flow, times(sigma, t.slope)))
        one, two = _spun(hold, t.second, q), _spun(hold, omega, rates[k])
        bends.append([hold(x + y) for x, y in zip(one, two, strict=True)])
    second = [
        hold(x + 2 * sigma * share.rate * (y - z) + bend * (p - q))
        for x, y, z, p, q in zip(mixed(*bends), rates[1], rates[0], other, a.at, strict=True)
    ]
    back = conjugate(c)

    def vector(rate: Sequence[Expr]) -> Triple:
        _, x, y, z = multiplied(hold, rate, back)
        return held(hold, [2 * v / size for v in (x, y, z)])

    omega_flow, omega_slope = vector(flow), vector(slope)
    omega = held(hold, add(omega_flow, times(sigma, omega_slope)))
    whole = [hold(f + sigma * g) for f, g in zip(flow, slope, strict=True)]
    growth = hold(dot(c, whole) / size)
    # d/dt of 2 vec(s' c*) / |s|: with c*' = -c* omega / 2
    turning = [-x for x in multiplied(hold, multiplied(hold, whole, back), (ZERO, *omega))]
    bent = held(hold, [x / size for x in turning[1:]])
    alpha = add(vector(second), bent, times(-growth, omega))
    w, x, y, z = c
    return Turning((w, x, y, z), omega_flow, omega_slope, held(hold, alpha))


@dataclass(frozen=True, slots=True)
class Pose:
    """A place and a rotation over time."""

    place: MovingVector
    turn: Turning


def on(hold: Hold, sigma: Expr, frame: Pose, point: Sequence[Expr], turn: Quaternion) -> Pose:
    """Return a pose that is fixed in a frame."""
    return Pose(
        sums(hold, frame.place, carried(hold, sigma, frame.turn, point)),
        composed(hold, sigma, frame.turn, Turning(turn)),
    )


def multiplied_poses(hold: Hold, a: Pose, b: Pose) -> Pose:
    """Return the product of two poses that move by real time: the second is given in the first."""
    at, v, w = (rotated(hold, a.turn.at, x) for x in (b.place.at, b.place.flow, b.place.second))
    omega = a.turn.flow
    swing = cross(omega, held(hold, add(cross(omega, at), times(2 * ONE, v))))
    return Pose(
        MovingVector(
            held(hold, add(a.place.at, at)),
            held(hold, add(a.place.flow, cross(omega, at), v)),
            second=held(hold, add(a.place.second, cross(a.turn.second, at), swing, w)),
        ),
        composed(hold, ZERO, a.turn, b.turn),
    )


def inverse_pose(hold: Hold, a: Pose) -> Pose:
    """Return the inverse of a pose that moves by real time."""
    turn = Pose(MovingVector(NOTHING), inverse(hold, a.turn))
    return multiplied_poses(hold, turn, Pose(negative(a.place), Turning(UNIT)))


def product(hold: Hold, sigma: Expr, *turns: Turning) -> Turning:
    """Return the product of rotations."""
    return reduce(lambda a, b: composed(hold, sigma, a, b), turns)


def drive_angles(hold: Hold, e: Sequence[Expr]) -> tuple[Triple, Expr, Expr]:
    """Return axis and angle of the approach vector's turn, and the angle about it, of a rotation.

    It is Rot(axis, angle) Rot(z, roll) with the axis in the plane of x and y: swing and twist.
    The angles are found by halves, so that none of them loses accuracy near 0 or a half turn.
    """
    sign = hold(where(e[0] < 0, -ONE, ONE))
    w, x, y, z = (hold(sign * v) for v in e)
    n = hold(sqrt(w**2 + z**2))
    some = hold(n > 1e-12)
    c, s = (
        hold(where(some, w / maximum(n, 1e-12), ONE)),
        hold(where(some, z / maximum(n, 1e-12), ZERO)),
    )
    a, b = hold(x * c - y * s), hold(y * c + x * s)
    m = hold(sqrt(a**2 + b**2))
    tilted = hold(m > 1e-12)
    axis = (
        hold(where(tilted, a / maximum(m, 1e-12), ONE)),
        hold(where(tilted, b / maximum(m, 1e-12), ZERO)),
        ZERO,
    )
    return axis, hold(2 * atan2(m, n)), hold(2 * atan2(s, c))


def slerp_angles(hold: Hold, e: Sequence[Expr]) -> tuple[Triple, Expr, Expr]:
    """Return axis and angle of a rotation as one turn; the third number is zero."""
    sign = hold(where(e[0] < 0, -ONE, ONE))
    w, x, y, z = (hold(sign * v) for v in e)
    m = hold(sqrt(dot((x, y, z), (x, y, z))))
    some = hold(m > 1e-12)
    size = maximum(m, 1e-12)
    axis = held(
        hold, [where(some, x / size, ONE), where(some, y / size, ZERO), where(some, z / size, ZERO)]
    )
    return axis, hold(2 * atan2(m, w)), ZERO
