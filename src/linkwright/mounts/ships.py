"""Ships: a motion in six freedoms, a stabilized platform or none, and a mount that they carry.

A ship moves by surge, sway and heave along x (the bow), y (port) and z (up), and turns by yaw,
pitch and roll about z, y and x in this order (3-2-1), so that a vector of the ship has the
components R v on axes that keep the mean heading, R = Rz(yaw) Ry(pitch) Rx(roll). A mount stands
at `offset` from the center of rotation. A stabilized platform under it turns by -roll, -pitch and
-yaw about x, y and z (1-2-3), R_stab = R^T, and keeps its axes still; it still heaves.

The motion is prescribed. A mechanism that is carried gets no coordinates and no constraints: its
ground is the deck, gravity is what is felt there, and on a deck that turns the inertial forces act
on every body (Landau and Lifshitz, *Mechanics*, section 39).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import Expr, Scalar, Vector, as_expr, cos, evaluate_all, sin, symbol
from linkwright.algebra.triples import (
    IDENTITY,
    NOTHING,
    Matrix,
    Triple,
    add,
    apply,
    cross,
    subtract,
    transposed,
)
from linkwright.base.arguments import worded
from linkwright.base.checks import checked_angle
from linkwright.base.errors import InputError
from linkwright.base.reprs import one_line
from linkwright.control.computed_torque import TrajectoryLike
from linkwright.equations.bodies import own_tensor
from linkwright.formats.schema import Amount, Key, described
from linkwright.mechanism import Body, Force, Mechanism, ModelLike, Moment, mechanism_of
from linkwright.motion import Sines

Array = NDArray[np.float64]
FREEDOMS = ("surge", "sway", "heave", "roll", "pitch", "yaw")
"""The six motions of a ship, in order: three in m, then three in rad."""
GRAVITY = 9.81
"""m/s^2, of the report."""


@dataclass(frozen=True, slots=True)
class Deck:
    """Where a mount stands, as expressions of time; vectors have components on the deck's axes.

    Args:
        rotation: rows of the matrix that takes components on the deck to East, North, up.
        rate: angular velocity, rad/s.
        angular_acceleration: rad/s^2.
        acceleration: of the mount's base, m/s^2.

    Example:
        >>> report_ship(stabilized=True).deck(0).rate
        (0, 0, 0)
    """

    rotation: Matrix
    rate: Triple
    angular_acceleration: Triple
    acceleration: Triple


@described
@one_line
@dataclass(frozen=True, slots=True)
class Ship:
    """A ship that carries a mount.

    Example:
        >>> ship = report_ship()
        >>> ship.stabilized, ship.felt(2.5).round(2)  # at the top of heave and roll
        (True, array([ 5.85, -7.59, -9.61]))
    """

    motion: Annotated[
        TrajectoryLike,
        Key(
            "surge, sway, heave (m), roll, pitch, yaw (rad): sines, or a trajectory", internal=True
        ),
    ]
    offset: Annotated[
        tuple[float, float, float], Amount("m", "from the center of rotation to the mount's base")
    ] = (0.0, 0.0, 0.0)
    # at pi/2 the axes of the ship are East, North, up
    heading: Annotated[float, Amount("deg", "of the bow, compass")] = math.pi / 2
    stabilized: Annotated[bool, Key("whether a platform keeps the mount's axes still")] = False

    def __post_init__(self) -> None:
        if self.motion.size != len(FREEDOMS):
            raise InputError(
                f"a ship's motion has {self.motion.size} values",
                remedy=f"give six: {', '.join(FREEDOMS)}",
            )
        if not all(map(math.isfinite, [*self.offset, self.heading])):
            raise InputError("the offset and the heading of a ship are finite numbers")
        checked_angle(self.heading, "the heading of a ship")

    # -- expressions -------------------------------------------------------------------------------
    def deck(self, t: Scalar) -> Deck:
        """Return how the mount's base moves.

        Args:
            t: an expression for the time, s.

        >>> still = Ship(Sines([0.0] * 6, [[]] * 6))
        >>> still.deck(0).rotation[2]
        (0, 0, 1)
        """
        place, rate, bend = (self.motion.expressions(t, order) for order in range(3))
        to_level = _turned(*place[3:])
        omega = _rates(place[3:], rate[3:])
        alpha = _accelerations(place[3:], rate[3:], bend[3:])
        arm = _triple(self.offset)
        swung = add(cross(alpha, arm), cross(omega, cross(omega, arm)))
        heaved = _triple(bend[:3])
        if self.stabilized:
            return Deck(
                self._to_east(IDENTITY), NOTHING, NOTHING, add(heaved, apply(to_level, swung))
            )
        acceleration = add(apply(transposed(to_level), heaved), swung)
        return Deck(self._to_east(to_level), omega, alpha, acceleration)

    def _to_east(self, rows: Matrix) -> Matrix:
        """Return a matrix to axes with the mean heading as one to East, North, up."""
        turn = math.pi / 2 - self.heading
        c, s = (as_expr(round(x, 16)) for x in (math.cos(turn), math.sin(turn)))
        x, y, z = rows
        first = _triple(c * a - s * b for a, b in zip(x, y, strict=True))
        second = _triple(s * a + c * b for a, b in zip(x, y, strict=True))
        return first, second, z

    def seen(self, target: Sequence[Sequence[Scalar]], t: Scalar) -> tuple[Triple, ...]:
        """Return a direction, its rate and its acceleration as they are seen from the deck.

        Args:
            target: direction in East, North, up; its rate; its acceleration (or the first of them).
            t: an expression for the time, s.

        >>> still = Ship(Sines([0.0] * 6, [[]] * 6))
        >>> still.seen([(0, 1, 0)], 0)
        ((0, 1, 0),)
        """
        deck = self.deck(t)
        back = transposed(deck.rotation)
        given = [apply(back, _triple(x)) for x in target]
        d = given[0]
        found = [d]
        if len(given) > 1:
            found.append(subtract(given[1], cross(deck.rate, d)))
        if len(given) > 2:
            turning = add(cross(deck.angular_acceleration, d), cross(deck.rate, found[1]))
            found.append(subtract(given[2], add(cross(deck.rate, given[1]), turning)))
        return tuple(found)

    # -- numbers -----------------------------------------------------------------------------------
    def attitude(self, t: ArrayLike) -> Array:
        """Return the matrices that take components on the deck to East, North, up.

        Args:
            t: times, s.

        >>> Ship(Sines([0.0] * 6, [[]] * 6)).attitude([0.0]).shape
        (1, 3, 3)
        """
        times = np.asarray(t, dtype=float)
        clock = symbol("t", "time")
        rows = self.deck(clock).rotation
        return _numbers([x for row in rows for x in row], clock, times, (3, 3))

    def felt(self, t: ArrayLike, g: float = GRAVITY) -> Array:
        """Return gravity as it is felt on the deck, at the mount's base, m/s^2.

        Args:
            t: times, s.
            g: of gravity, m/s^2.

        >>> Ship(Sines([0.0] * 6, [[]] * 6)).felt([0.0])
        array([[ 0.  ,  0.  , -9.81]])
        """
        clock = symbol("t", "time")
        felt = self._felt(self.deck(clock), _triple((0, 0, -g)))
        return _numbers(felt, clock, np.asarray(t, dtype=float), (3,))

    @staticmethod
    def _felt(deck: Deck, gravity: Triple) -> Triple:
        return subtract(apply(transposed(deck.rotation), gravity), deck.acceleration)

    # -- a mount on it -----------------------------------------------------------------------------
    @worded
    def carry(self, model: ModelLike) -> Mechanism:
        """Return a mechanism as it moves on this ship: its ground is the deck.

        Args:
            model: a mechanism, a robot, a file or the name of a shipped model.

        Example:
            >>> m = Mechanism("pendulum")
            >>> rod = m.body("rod", rotate="x", mass=1, com=(0, 0, -1), inertia=0)
            >>> m.gravity()
            >>> carried = report_ship(stabilized=False).carry(m)
            >>> len(carried.coordinates), len(carried.constraints), len(carried.forces)
            (1, 0, 3)
        """
        m = mechanism_of(model)
        deck = self.deck(m.time)
        ground = m.ground.frame
        gravity = _triple(m.gravity_vector.components(ground))
        forces, moments = ([], []) if self.stabilized else _inertial_loads(m, deck)
        view = m.with_loads(forces, moments)
        view.gravity_vector = ground.vector(*self._felt(deck, gravity))
        return view


def report_ship(
    *,
    stabilized: bool = True,
    offset: Sequence[float] = (0.0, 0.0, 76.0),
    heading: float = math.pi / 2,
) -> Ship:
    """Return the ship of 10,000 t of the report on parallel mounts.

    It rolls by 15 degrees in 10 s, pitches by 7.5 degrees in 7 s and heaves with a quarter of
    gravity in 10 s, which is 6.21 m. The report gives the antenna's distance from the center of
    rotation, 76 m, and no direction.

    Args:
        stabilized: whether a platform keeps the mount's axes still.
        offset: from the center of rotation to the mount, m.
        heading: of the bow from North over East, rad.

    Example:
        >>> [round(float(x), 3) for x in report_ship().motion.max_abs(0)]
        [0.0, 0.0, 6.212, 0.262, 0.131, 0.0]
    """
    heave = heave_amplitude(0.25 * GRAVITY, 10.0)
    sines = {
        "heave": (heave, 0.0, 1 / 10),
        "roll": (math.radians(15), 0.0, 1 / 10),
        "pitch": (math.radians(7.5), 0.0, 1 / 7),
    }
    rows = [[sines[name]] if name in sines else [] for name in FREEDOMS]
    x, y, z = map(float, offset)
    return Ship(Sines([0.0] * 6, rows), (x, y, z), heading, stabilized)


def heave_amplitude(acceleration: float, period: float) -> float:
    """Return the amplitude of a sine whose acceleration is known, m.

    Args:
        acceleration: largest, m/s^2.
        period: s.

    Example:
        >>> round(heave_amplitude(0.25 * 9.81, 10), 3)
        6.212
    """
    return acceleration * (period / (2 * math.pi)) ** 2


# -- inertial loads --------------------------------------------------------------------------------
def _inertial_loads(m: Mechanism, deck: Deck) -> tuple[list[Force], list[Moment]]:
    """Return what bodies feel on a deck that turns, beside gravity that is felt at its origin."""
    kinematics, ground = m.kinematics(), m.ground
    omega, alpha = (ground.frame.vector(*x) for x in (deck.rate, deck.angular_acceleration))
    forces: list[Force] = []
    moments: list[Moment] = []
    for body in m.bodies.values():
        if not _is_zero([body.inertia.mass]):
            place, v = body.com.position, kinematics.velocity(body.com)
            pull = (alpha ^ place) + (omega ^ ((omega ^ place) + v * 2))
            parts = (pull * -body.inertia.mass).components(ground.frame)
            forces += [
                Force(f"{body.name}_ship_{c}", x, axis, body.com, ground)
                for c, x, axis in zip("xyz", parts, ground.frame.axes, strict=True)
            ]
        if not _is_zero(body.inertia.tensor):
            couple = _couple(body, kinematics.omega(body), omega, alpha)
            moments += [
                Moment(f"{body.name}_ship_t{c}", x, axis, body, ground)
                for c, x, axis in zip("xyz", couple, body.frame.axes, strict=True)
            ]
    return forces, moments


def _couple(body: Body, own: Vector, omega: Vector, alpha: Vector) -> Triple:
    """Return the inertial moment about a body's center: of its spin relative to the deck, w.

    With W = omega + w it is -(I (alpha + omega x w) + W x I W - w x I w).
    """
    frame = body.frame
    tensor = own_tensor(body)
    w, base = _triple(own.components(frame)), _triple(omega.components(frame))
    turned = add(_triple(alpha.components(frame)), cross(base, w))
    whole = add(base, w)
    gyroscopic = subtract(cross(whole, apply(tensor, whole)), cross(w, apply(tensor, w)))
    x, y, z = add(apply(tensor, turned), gyroscopic)
    return -x, -y, -z


def _is_zero(entries: Iterable[Expr]) -> bool:
    return all(x.op == "num" and float(x) == 0.0 for x in entries)


# -- rotations -------------------------------------------------------------------------------------
def _triple(values: Iterable[Scalar]) -> Triple:
    x, y, z = (as_expr(v) for v in values)
    return x, y, z


def _turned(roll: Expr, pitch: Expr, yaw: Expr) -> Matrix:
    """Return Rz(yaw) Ry(pitch) Rx(roll)."""
    (cr, sr), (cp, sp), (cy, sy) = ((cos(x), sin(x)) for x in (roll, pitch, yaw))
    return (
        (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        (-sp, cp * sr, cp * cr),
    )


def _rates(angles: Sequence[Expr], rates: Sequence[Expr]) -> Triple:
    """Return the angular velocity along the ship's axes: S_A of the report."""
    r, p, _ = angles
    dr, dp, dy = rates
    return dr - dy * sin(p), dp * cos(r) + dy * sin(r) * cos(p), dy * cos(r) * cos(p) - dp * sin(r)


def _accelerations(angles: Sequence[Expr], rates: Sequence[Expr], bends: Sequence[Expr]) -> Triple:
    """Return the angular acceleration along the ship's axes: the rate of `_rates`."""
    r, p, _ = angles
    dr, dp, dy = rates
    x, y, z = _rates(angles, bends)
    cr, sr, cp, sp = cos(r), sin(r), cos(p), sin(p)
    return (
        x - dy * dp * cp,
        y - dr * dp * sr + dy * (dr * cr * cp - dp * sr * sp),
        z - dr * dp * cr - dy * (dr * sr * cp + dp * cr * sp),
    )


def _numbers(exprs: Sequence[Expr], clock: Expr, times: Array, shape: tuple[int, ...]) -> Array:
    given: Mapping[Expr, Array] = {clock: times}
    rows = [np.broadcast_to(np.asarray(x, float), times.shape) for x in evaluate_all(exprs, given)]
    return np.stack(rows, axis=-1).reshape(times.shape + shape)
