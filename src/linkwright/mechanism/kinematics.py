"""Generalized speeds and velocities of a tree of bodies.

Speeds are chosen as in Sayers' thesis (sections 8.1 and 8.4). One rotation has its own rate as
speed; three rotations have the components of the angular velocity along body axes, in the order of
the rotation list. A body on the ground with three translations, or with two and the rotation about
their normal, has the speeds of its composite mass center (or of its origin, where the joint asks
for that) along its own axes; any other translation has its own rate. The composite mass center is
that of the body with all the masses that keep their place in it, however their joints move (a wheel
on its axle).

Velocities stay in mixed bases. Kinematical equations give the rates of coordinates in terms of
speeds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from linkwright.algebra import (
    PI,
    ZERO,
    ZERO_VECTOR,
    Expr,
    Frame,
    Motion,
    Vector,
    as_expr,
    product,
    symbol,
    total,
)
from linkwright.algebra.triples import quaternion_product
from linkwright.base.reprs import one_line
from linkwright.mechanism.joints import MechanismError
from linkwright.mechanism.parts import Body, Point

if TYPE_CHECKING:
    from linkwright.mechanism.mechanism import Mechanism

_BODY_SPEEDS = {"x": "u", "y": "v", "z": "w"}
_BODY_RATES = {"x": "p", "y": "q", "z": "r"}
_LETTERS = "xyz"


@dataclass(frozen=True, slots=True, eq=False)
class Speed:
    """A generalized speed with its partial velocities."""

    symbol: Expr
    body: Body
    omega: Vector
    velocity: Vector
    doc: str = ""


@dataclass(slots=True, eq=False)
class BodyMotion:
    """Speeds and velocities of one body; velocities are worked out when they are asked for."""

    speeds: tuple[Speed, ...]
    reference: Vector
    absolute: bool
    above: BodyMotion | None = field(default=None, repr=False)
    arm: Vector = ZERO_VECTOR
    _omega: Vector | None = None
    _velocity: Vector | None = None

    @property
    def omega(self) -> Vector:
        """The angular velocity relative to the ground."""
        found = ZERO_VECTOR
        for motion in self._from_ground():
            if motion._omega is None:
                motion._omega = found + motion.spin
            found = motion._omega
        return found

    @property
    def velocity(self) -> Vector:
        """The velocity of the reference point relative to the ground."""
        found, turning = ZERO_VECTOR, ZERO_VECTOR
        for motion in self._from_ground():
            if motion._velocity is None:
                carried = found if motion.above is None else found + (turning ^ motion.arm)
                for speed in motion.speeds:
                    carried = carried + speed.velocity * speed.symbol
                motion._velocity = carried
            found, turning = motion._velocity, motion.omega
        return found

    @property
    def spin(self) -> Vector:
        """The angular velocity relative to the parent."""
        found = ZERO_VECTOR
        for speed in self.speeds:
            found = found + speed.omega * speed.symbol
        return found

    def _from_ground(self) -> list[BodyMotion]:
        """Return the motions from the last whose velocities are known, or the ground, to this."""
        chain: list[BodyMotion] = []
        motion: BodyMotion | None = self
        while motion is not None:
            chain.append(motion)
            if motion._omega is not None and motion._velocity is not None:
                break
            motion = motion.above
        return chain[::-1]


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class Kinematics:
    """Speeds, velocities and kinematical equations of a mechanism without its constraints."""

    mechanism: Mechanism = field(repr=False)
    motions: dict[Body, BodyMotion]
    speeds: tuple[Speed, ...]
    rates: dict[Expr, Expr]
    accelerations: dict[Expr, Expr]
    motion: Motion = field(repr=False)

    def omega(self, body: Body) -> Vector:
        """Return the angular velocity of a body."""
        return ZERO_VECTOR if body.parent is None else self.motions[body].omega

    def velocity(self, point: Point) -> Vector:
        """Return the velocity of a point fixed in a body."""
        body = point.body
        if body.parent is None:
            return ZERO_VECTOR
        motion = self.motions[body]
        return motion.velocity + (motion.omega ^ (point.local - motion.reference))

    def origin_velocity(self, body: Body) -> Vector:
        """Return the velocity of a body's origin."""
        if body.parent is None:
            return ZERO_VECTOR
        motion = self.motions[body]
        if motion.reference.is_zero:
            return motion.velocity
        return motion.velocity - (motion.omega ^ motion.reference)

    def derivative(self, x: Vector | Expr) -> Vector | Expr:
        """Return the time derivative of a vector or scalar; speeds have symbols for their rates."""
        return self.motion.derivative(x) if isinstance(x, Vector) else self.motion.rate(x)


def build(mechanism: Mechanism) -> Kinematics:
    """Choose the speeds of a mechanism and derive its velocities."""
    composites = composite_centers(mechanism)
    motions: dict[Body, BodyMotion] = {}
    speeds: list[Speed] = []
    rates: dict[Expr, Expr] = {}
    for body in mechanism.depth_first():
        motion = _body_motion(mechanism, body, motions, composites)
        motions[body] = motion
        speeds.extend(motion.speeds)
    result_rates: dict[Expr, Expr] = {}
    for body in mechanism.depth_first():
        result_rates.update(_rates(body, motions))
    rates.update(result_rates)
    accelerations = {
        s.symbol: symbol(
            f"{s.symbol.name}_dot", "acceleration", owner=mechanism.name, small=s.symbol.data.small
        )
        for s in speeds
    }
    for state in mechanism.states:
        rates[state.symbol] = state.derivative
    spins: dict[Frame, Vector] = {b.frame: m.spin for b, m in motions.items()}
    motion_of_all = Motion({**rates, **accelerations}, relative_velocities=spins)
    return Kinematics(mechanism, motions, tuple(speeds), rates, accelerations, motion_of_all)


# -- composite mass centers ------------------------------------------------------------------------
def keeps_mass_in_place(body: Body, center: Vector, mass: Expr) -> bool:
    """Whether the body's mass keeps its place in the parent, whatever the joint does."""
    if mass is ZERO:
        return True
    if body.translations or body.lead is not ZERO:
        return False
    if center.is_zero or not body.rotations:
        return True
    return len(body.rotations) == 1 and (center ^ body.frame.spins[0][1]).is_zero


def composite_centers(mechanism: Mechanism) -> dict[Body, tuple[Expr, Vector]]:
    """Return the composite mass of each body and its center relative to the body's origin."""
    result: dict[Body, tuple[Expr, Vector]] = {}
    for body in reversed(mechanism.depth_first()):
        shares = [(body.inertia.mass, body.frame.vector(*body.inertia.center))]
        for child in mechanism.children(body):
            mass, center = result[child]
            if keeps_mass_in_place(child, center, mass):
                shares.append((mass, child.offset + _in_parent(child, center)))
        result[body] = _lump(shares)
    return result


def _in_parent(child: Body, center: Vector) -> Vector:
    """Return a place that the joint does not move, in the parent's axes."""
    if center.is_zero:
        return ZERO_VECTOR
    assert child.parent is not None
    if child.rotations:
        axis = child.frame.spins[0][1]
        center = axis * (center @ axis)
    return center.expressed(child.parent.frame)


def _lump(shares: list[tuple[Expr, Vector]]) -> tuple[Expr, Vector]:
    heavy = [(m, r) for m, r in shares if m is not ZERO]
    if not heavy:
        return ZERO, shares[0][1]
    mass = total(m for m, _ in heavy)
    if all(r == heavy[0][1] for _, r in heavy):
        return mass, heavy[0][1]
    center = ZERO_VECTOR
    for m, r in heavy:
        center = center + r * m
    return mass, center / mass


# -- speeds ----------------------------------------------------------------------------------------
def _body_motion(
    mechanism: Mechanism,
    body: Body,
    motions: dict[Body, BodyMotion],
    composites: dict[Body, tuple[Expr, Vector]],
) -> BodyMotion:
    parent = body.parent
    assert parent is not None
    absolute = stands_still(parent) and _moves_freely(body)
    turning = _rotation_speeds(mechanism, body)
    if absolute:
        moving = _absolute_speeds(mechanism, body)
        place = ZERO_VECTOR if body.joint.at_origin else composites[body][1]
        return BodyMotion((*moving, *turning), place, True)
    moving = tuple(
        Speed(
            _speed_symbol(mechanism, f"{q.name}_dot", q, "m/s"),
            body,
            ZERO_VECTOR,
            direction,
            f"translation of {body.name} along {direction}",
        )
        for q, direction in body.translations
    )
    if body.lead is not ZERO:
        (turn,) = turning
        advance = body.lead / body.rotations[0]
        turning = (Speed(turn.symbol, body, turn.omega, turn.omega * advance, turn.doc),)
    above = None if parent.parent is None else motions[parent]
    arm = body.from_parent if above is None else body.from_parent - above.reference
    return BodyMotion((*moving, *turning), ZERO_VECTOR, False, above, arm)


def stands_still(body: Body) -> bool:
    """Whether a body is the ground, or welded to it."""
    while body.parent is not None and not body.coordinates:
        body = body.parent
    return body.parent is None


def _moves_freely(body: Body) -> bool:
    """Whether the speeds of a body on the ground are those of its mass center in its own axes."""
    if len(body.translations) == 3:
        return True
    if len(body.translations) != 2 or len(body.rotations) != 1:
        return False
    (_, a), (_, b) = body.translations
    return ((a ^ b) ^ body.frame.spins[0][1]).is_zero


def _absolute_speeds(mechanism: Mechanism, body: Body) -> tuple[Speed, ...]:
    small = max((q.data.small for q, _ in body.translations), default=0)
    axes = list(zip(_LETTERS, body.frame.axes, strict=True))
    place = "origin" if body.joint.at_origin else "composite mass center"
    if len(body.translations) == 2:
        spin = body.frame.spins[0][1]
        axes = [(letter, axis) for letter, axis in axes if (axis @ spin) is ZERO]
    return tuple(
        Speed(
            mechanism.speed_symbol(f"{body.name}.{_BODY_SPEEDS[letter]}", "m/s", small),
            body,
            ZERO_VECTOR,
            axis,
            f"speed of the {place} of {body.name} along its axis {letter}",
        )
        for letter, axis in axes
    )


def _rotation_speeds(mechanism: Mechanism, body: Body) -> tuple[Speed, ...]:
    if len(body.rotations) == 1:
        (q,) = body.rotations
        axis = body.frame.spins[0][1]
        return (
            Speed(
                _speed_symbol(mechanism, f"{q.name}_dot", q, "rad/s"),
                body,
                axis,
                ZERO_VECTOR,
                f"rotation of {body.name} about {axis}",
            ),
        )
    if not body.rotations:
        return ()
    small = max(q.data.small for q in body.rotations)
    order = [str(a).lstrip("+-") for a in body.joint.rotate]
    letters = [_LETTERS[int(a) - 1] if a.isdigit() else a for a in order]
    if sorted(letters) != ["x", "y", "z"]:
        letters = list(_LETTERS)
    axes = dict(zip(_LETTERS, body.frame.axes, strict=True))
    return tuple(
        Speed(
            mechanism.speed_symbol(f"{body.name}.{_BODY_RATES[letter]}", "rad/s", small),
            body,
            axes[letter],
            ZERO_VECTOR,
            f"angular velocity of {body.name} along its axis {letter}",
        )
        for letter in letters
    )


def _speed_symbol(mechanism: Mechanism, name: str, q: Expr, unit: str) -> Expr:
    return mechanism.speed_symbol(name, unit, q.data.small)


# -- kinematical equations -------------------------------------------------------------------------
def _rates(body: Body, motions: dict[Body, BodyMotion]) -> dict[Expr, Expr]:
    motion = motions[body]
    rates: dict[Expr, Expr] = {}
    if motion.absolute:
        origin = motion.velocity - (motion.omega ^ motion.reference)
        directions = [d for _, d in body.translations]
        values = _components(origin, directions, body.name)
        rates.update(zip((q for q, _ in body.translations), values, strict=True))
    else:
        for (q, _), speed in zip(body.translations, motion.speeds, strict=False):
            rates[q] = speed.symbol
    turning = [s for s in motion.speeds if not s.omega.is_zero]
    if len(body.rotations) == 1:
        rates[body.rotations[0]] = turning[0].symbol
    elif body.joint.quaternion:
        rates.update(_quaternion_rates(body, turning))
    elif body.rotations:
        rates.update(_angle_rates(body, turning))
    return rates


def _components(v: Vector, directions: list[Vector], name: str) -> list[Expr]:
    """Return the components of a vector along directions that may be oblique."""
    oblique = any(
        (a @ b) is not ZERO for i, a in enumerate(directions) for b in directions[i + 1 :]
    )
    if not oblique:
        return [v @ d for d in directions]
    if len(directions) == 3:
        a, b, c = directions
        volume = a @ (b ^ c)
        return [(v @ (b ^ c)) / volume, (v @ (c ^ a)) / volume, (v @ (a ^ b)) / volume]
    if len(directions) == 2:
        a, b = directions
        normal = a ^ b
        size = normal @ normal
        return [(v @ (b ^ normal)) / size, (v @ (normal ^ a)) / size]
    raise MechanismError(f"the translations of {name} cannot be resolved")


def _angle_rates(body: Body, turning: list[Speed]) -> dict[Expr, Expr]:
    """Solve the angular velocity for the rates of three angles."""
    omega = ZERO_VECTOR
    for s in turning:
        omega = omega + s.omega * s.symbol
    omega = omega.expressed(body.frame)
    axes = [axis.expressed(body.frame) for _, axis in body.frame.spins]
    first, second, third = axes
    normal = second ^ third
    rate1 = (omega @ normal) / (first @ normal)
    rate2 = omega @ second
    if (first @ second) is not ZERO:
        rate2 = rate2 - rate1 * (first @ second)
    rate3 = omega @ third - rate1 * (first @ third)
    return dict(zip(body.rotations, (rate1, rate2, rate3), strict=True))


def _quaternion_rates(body: Body, turning: list[Speed]) -> dict[Expr, Expr]:
    """Return the rates of (e0, e1, e2, e3) from the angular velocity in body axes."""
    along = dict.fromkeys(_LETTERS, ZERO)
    for s in turning:
        for letter, axis in zip(_LETTERS, body.frame.axes, strict=True):
            if s.omega == axis:
                along[letter] = s.symbol
    half = as_expr(0.5)
    rows = quaternion_product(body.rotations, (ZERO, *along.values()))
    return {e: product((half, row)) for e, row in zip(body.rotations, rows, strict=True)}


def advance_per_radian(pitch: Expr) -> Expr:
    """Return the lead in m/rad of a screw from its pitch in m per turn."""
    return pitch / (2 * PI)
