"""A plain numeric evaluation of any mechanism, to check the symbolic formulations against.

Everything is computed with NumPy matrices in the ground's axes at one state: rotation matrices by
Rodrigues' formula, velocities and accelerations body by body, Newton's and Euler's equations of
each body with its own mass and inertia (nothing is lumped), projected with numeric partial
velocities, and constraints with Lagrange multipliers. Rates of constraints come from complex steps
(Squire and Trapp 1998), not from symbolic derivatives. Joint reactions follow from the balance of
each body, leaf to root.

It shares with the formulations only the description: places, zero poses, the meaning of speeds,
and the expressions of loads and constraints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import Expr, Frame, Vector, evaluate, evaluate_all
from linkwright.mechanism import (
    Body,
    Constraint,
    Kinematics,
    Mechanism,
    MechanismError,
    Point,
    Speed,
)

Array = NDArray[np.float64]
_STEP = 1e-30


@dataclass(slots=True)
class BodyState:
    """Place, velocity and what the speeds do to one body, in the ground's axes.

    `angular` and `linear` are 3 by n matrices of partial velocities, the latter of the origin;
    `alpha` and `acceleration` are those with constant speeds; `force` and `moment` (about the
    origin) are active loads.
    """

    rotation: Array
    origin: Array
    omega: Array
    velocity: Array
    angular: Array
    linear: Array
    alpha: Array
    acceleration: Array
    force: Array = field(default_factory=lambda: np.zeros(3))
    moment: Array = field(default_factory=lambda: np.zeros(3))


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What the oracle finds at one state.

    Args:
        speeds: all speeds of the tree, the eliminated ones too.
        coordinate_rates: q' by name.
        mass: mass matrix of the tree.
        right: f with M u' = f + Jᵀ λ.
        jacobian: J with J u' + drift = 0, by constraint.
        drift: see `jacobian`.
        accelerations: u' of the tree's speeds, by name.
        multipliers: one for each constraint, such that λ times the constraint is its power.
        bodies: the state of each body.
        reactions: force and moment about the body's origin that each joint puts on its body, in
            the ground's axes.
        kinetic: kinetic energy, J.
        potential: energy in the field of gravity, J, zero at the ground's origin.
        momentum: linear momentum, kg*m/s.
        angular_momentum: about the ground's origin, kg*m^2/s.
        power: power of the active forces and moments, without gravity, W.
    """

    speeds: dict[str, float]
    coordinate_rates: dict[str, float]
    mass: Array
    right: Array
    jacobian: Array
    drift: Array
    accelerations: dict[str, float]
    multipliers: Array
    bodies: dict[str, BodyState]
    reactions: dict[str, tuple[Array, Array]]
    kinetic: float
    potential: float
    momentum: Array
    angular_momentum: Array
    power: float

    def acceleration_of(self, body: str) -> tuple[Array, Array]:
        """Return the acceleration of a body's origin and its angular acceleration."""
        state = self.bodies[body]
        rates = np.array(list(self.accelerations.values()))
        return state.acceleration + state.linear @ rates, state.alpha + state.angular @ rates


def evaluate_numerically(
    mechanism: Mechanism,
    coordinates: Mapping[str, float],
    speeds: Mapping[str, float],
    values: Mapping[str, float] | None = None,
    time: float = 0.0,
) -> Evaluation:
    """Evaluate a mechanism by Newton's and Euler's equations at one state.

    >>> m = Mechanism("pendulum")
    >>> rod = m.body("rod", rotate="z", mass=2, com=(0.5, 0, 0), inertia=0)
    >>> m.gravity(along=-m.y)
    >>> round(evaluate_numerically(m, {"rod": 0}, {"rod_dot": 0}).accelerations["rod_dot"], 6)
    -19.62
    """
    kinematics = mechanism.kinematics()
    known = _known(mechanism, coordinates, values, time)
    names = [s.symbol for s in kinematics.speeds]
    u = _all_speeds(mechanism, names, speeds, known)
    known.update(zip(names, u, strict=True))
    states, rates = _outward(kinematics, known, u)
    _apply_loads(mechanism, states, known)
    mass, right = _project(mechanism, states, known, len(u))
    geared = _armatures(kinematics, known)
    mass += np.diag(geared)
    jacobian, _ = _rows(mechanism.constraints, names, known)
    drift = _drifts(mechanism, rates, known)
    rates_of_speeds, multipliers = _solve(mass, right, jacobian, drift)
    named = {s.name: float(a) for s, a in zip(names, rates_of_speeds, strict=True)}
    _apply_constraints(mechanism, states, known, multipliers)
    return Evaluation(
        {s.name: float(x) for s, x in zip(names, u, strict=True)},
        {q.name: float(x) for q, x in rates.items()},
        mass,
        right,
        jacobian,
        drift,
        named,
        multipliers,
        {b.name: s for b, s in states.items() if b.parent is not None},
        _reactions(mechanism, states, known, rates_of_speeds),
        *_energy(mechanism, states, known, float(geared @ (u * u)) / 2),
        _power(mechanism, states, known),
    )


def mass_numerically(
    mechanism: Mechanism,
    coordinates: Mapping[str, float],
    values: Mapping[str, float] | None = None,
) -> tuple[list[str], Array, Array]:
    """Return the names of the tree's speeds, their mass matrix, and the rows of the constraints.

    >>> m = Mechanism("cart")
    >>> b = m.body("b", translate="x", mass=2, inertia=0)
    >>> mass_numerically(m, {"b": 0})[:2]
    (['b_dot'], array([[2.]]))
    """
    kinematics = mechanism.kinematics()
    known = _known(mechanism, coordinates, values, 0.0)
    names = [s.symbol for s in kinematics.speeds]
    u = np.zeros(len(names))
    known.update(zip(names, u, strict=True))
    states, _ = _outward(kinematics, known, u)
    mass, _ = _project(mechanism, states, known, len(u))
    mass += np.diag(_armatures(kinematics, known))
    jacobian, _ = _rows(mechanism.constraints, names, known)
    return [s.name for s in names], mass, jacobian


def _known(
    mechanism: Mechanism,
    coordinates: Mapping[str, float],
    values: Mapping[str, float] | None,
    time: float,
) -> dict[Expr, float]:
    given = {**mechanism.values, **(values or {})}
    known: dict[Expr, float] = {mechanism.time: time}
    for name, x in (*mechanism.parameters.items(), *mechanism.inputs.items()):
        if name not in given:
            raise MechanismError(f"{name!r} of {mechanism.name!r} has no value")
        known[x] = given[name]
    for name, x in mechanism.coordinates.items():
        if name not in coordinates:
            raise MechanismError(f"the coordinate {name!r} of {mechanism.name!r} has no value")
        known[x] = float(coordinates[name])
    return known


# -- constraints -----------------------------------------------------------------------------------
def _rows(
    constraints: Sequence[Constraint], names: Sequence[Expr], known: Mapping[Expr, float]
) -> tuple[Array, Array]:
    """Return J and b with the constraints J u + b = 0, from their values at unit speeds."""
    n = len(names)
    units = np.vstack([np.zeros(n), np.eye(n)])
    given = {**known, **{u: units[:, k] for k, u in enumerate(names)}}
    found = evaluate_all([c.speed for c in constraints], given)
    table = np.array([np.broadcast_to(x, (n + 1,)) for x in found]).reshape(len(found), n + 1)
    return table[:, 1:] - table[:, :1], table[:, 0]


def _all_speeds(
    mechanism: Mechanism,
    names: Sequence[Expr],
    speeds: Mapping[str, float],
    known: Mapping[Expr, float],
) -> Array:
    unknown = set(speeds) - {s.name for s in names}
    if unknown:
        raise MechanismError(f"{mechanism.name!r} has no speed {sorted(unknown)[0]!r}")
    u = np.array([float(speeds.get(s.name, 0.0)) for s in names])
    missing = [k for k, s in enumerate(names) if s.name not in speeds]
    if missing:
        jacobian, offset = _rows(mechanism.constraints, names, known)
        if not len(jacobian):
            raise MechanismError(f"the speed {names[missing[0]].name!r} has no value")
        u[missing] = np.linalg.lstsq(jacobian[:, missing], -(jacobian @ u + offset), rcond=1e-13)[0]
    return u


def _drifts(
    mechanism: Mechanism, rates: Mapping[Expr, float], known: Mapping[Expr, float]
) -> Array:
    """Return the rates of the constraints with constant speeds."""
    if not mechanism.constraints:
        return np.zeros(0)
    moved: dict[Expr, complex] = dict(known)
    for q, rate in {**rates, mechanism.time: 1.0}.items():
        moved[q] = complex(known[q], _STEP * rate)
    found = evaluate_all([c.speed for c in mechanism.constraints], moved)
    return np.array([np.imag(x) / _STEP for x in found])


def _solve(mass: Array, right: Array, jacobian: Array, drift: Array) -> tuple[Array, Array]:
    n, m = len(right), len(drift)
    whole = np.block([[mass, -jacobian.T], [jacobian, np.zeros((m, m))]])
    side = np.concatenate([right, -drift])
    if np.linalg.matrix_rank(jacobian) == m if m else True:
        x = np.linalg.solve(whole, side) if n + m else side
    else:
        x = np.linalg.lstsq(whole, side, rcond=1e-12)[0]
    return x[:n], x[n:]


# -- motion ----------------------------------------------------------------------------------------
def _outward(
    kinematics: Kinematics, known: Mapping[Expr, float], u: Array
) -> tuple[dict[Body, BodyState], dict[Expr, float]]:
    mechanism = kinematics.mechanism
    n = len(u)
    zero, none = np.zeros(3), np.zeros((3, n))
    ground = BodyState(np.eye(3), zero, zero, zero, none, none, zero, zero)
    states = {mechanism.ground: ground}
    index = {s.symbol.name: k for k, s in enumerate(kinematics.speeds)}
    rates: dict[Expr, float] = {}
    for body in mechanism.depth_first():
        states[body] = _next(kinematics, body, states, known, u, index, rates)
    for state in mechanism.states:
        rates[state.symbol] = float(evaluate(state.derivative, known))
    return states, rates


def _next(
    kinematics: Kinematics,
    body: Body,
    states: dict[Body, BodyState],
    known: Mapping[Expr, float],
    u: Array,
    index: Mapping[str, int],
    rates: dict[Expr, float],
) -> BodyState:
    assert body.parent is not None
    above = states[body.parent]
    frames = {b.frame: s.rotation for b, s in states.items()}
    zero_pose = np.array(
        [[evaluate(x, _at_zero(body, known)) for x in row] for row in body.frame.cosines]
    )
    start = above.rotation @ zero_pose.T
    angles = [known[q] for q in body.rotations]
    axes, rotation = _turns(body, start, angles, {**frames, body.frame: start}, known)
    frames[body.frame] = rotation
    own = kinematics.motions[body].speeds
    columns = [index[s.symbol.name] for s in own]
    pick = np.zeros((len(own), len(u)))
    pick[range(len(own)), columns] = 1
    turning = [k for k, s in enumerate(own) if _is_turn(body, s.symbol.name)]
    moving = [k for k in range(len(own)) if k not in turning]
    spin_axes = (
        np.array(axes).T if len(body.rotations) == 1 else _letters(own, turning, rotation, "pqr")
    )
    spin = spin_axes @ pick[turning] if turning else np.zeros((3, len(u)))
    relative = spin @ u
    omega, angular = above.omega + relative, above.angular + spin
    if len(body.rotations) == 1:
        alpha = above.alpha + np.cross(above.omega, relative)
    else:
        alpha = above.alpha + np.cross(omega, relative)
    _turn_rates(body, axes, rotation, relative, [known[q] for q in body.rotations], rates)
    directions = (
        np.array([_numeric(d, frames, known) for _, d in body.translations]).reshape(-1, 3).T
    )
    shift = _numeric(body.offset, frames, known)
    shift = shift + directions @ np.array([known[q] for q, _ in body.translations])
    advance = np.zeros(3)
    if body.lead.op != "num":
        (angle,) = body.rotations
        advance = axes[0] * evaluate(body.lead, {**known, angle: 1.0})
        shift = shift + advance * known[angle]
    origin = above.origin + shift
    if kinematics.motions[body].absolute:
        arm = _numeric(kinematics.motions[body].reference, frames, known)
        push = _letters(own, moving, rotation, "uvw") @ pick[moving]
        speed = push @ u
        at_reference = np.cross(omega, speed)
        velocity = speed - np.cross(omega, arm)
        linear = push - np.cross(angular, arm, axisa=0, axisc=0)
        acceleration = at_reference - np.cross(alpha, arm) - np.cross(omega, np.cross(omega, arm))
        found = np.linalg.lstsq(directions, velocity, rcond=None)[0]
        rates.update(zip((q for q, _ in body.translations), map(float, found), strict=True))
    else:
        push = directions @ pick[moving] + np.outer(advance, pick[turning].sum(axis=0))
        slide = push @ u
        velocity = above.velocity + np.cross(above.omega, shift) + slide
        linear = above.linear + np.cross(above.angular, shift, axisa=0, axisc=0) + push
        acceleration = (
            above.acceleration
            + np.cross(above.alpha, shift)
            + np.cross(above.omega, np.cross(above.omega, shift))
            + 2 * np.cross(above.omega, slide)
        )
        rates.update((q, u[columns[k]]) for k, (q, _) in enumerate(body.translations))
    return BodyState(rotation, origin, omega, velocity, angular, linear, alpha, acceleration)


def _at_zero(body: Body, known: Mapping[Expr, float]) -> dict[Expr, float]:
    """Return the values with the body's own joint in its zero pose."""
    rest = dict.fromkeys(body.rotations, 0.0)
    if body.joint.quaternion:
        rest[body.rotations[0]] = 1.0
    return {**known, **rest}


def _is_turn(body: Body, name: str) -> bool:
    if len(body.rotations) == 1:
        return name == f"{body.rotations[0].name}_dot"
    return bool(body.rotations) and name.rsplit(".", 1)[-1] in ("p", "q", "r")


def _letters(own: Sequence[Speed], chosen: Sequence[int], rotation: Array, letters: str) -> Array:
    names = [own[k].symbol.name.rsplit(".", 1)[-1] for k in chosen]
    return rotation[:, [letters.index(name) for name in names]]


def _turns(
    body: Body,
    start: Array,
    angles: Sequence[float],
    frames: Mapping[Frame, Array],
    known: Mapping[Expr, float],
) -> tuple[list[Array], Array]:
    """Return the axes of the angles, and the rotation matrix."""
    if not angles:
        return [], start
    if body.joint.quaternion:
        return [], start @ _from_quaternion(np.array(angles))
    if len(angles) == 1:
        axis = _numeric(body.frame.spins[0][1], frames, known)
        axis = axis / np.linalg.norm(axis)
        return [axis], _rodrigues(axis, angles[0]) @ start
    rotation, axes = start, []
    for name, angle in zip(body.joint.rotate, angles, strict=True):
        axis = rotation[:, "xyz".index(str(name)) if str(name) in "xyz" else int(name) - 1]
        axes.append(axis)
        rotation = _rodrigues(axis, angle) @ rotation
    return axes, rotation


def _turn_rates(
    body: Body,
    axes: Sequence[Array],
    rotation: Array,
    relative: Array,
    angles: Sequence[float],
    rates: dict[Expr, float],
) -> None:
    if not body.rotations:
        return
    found: Array
    if body.joint.quaternion:
        e0, e = angles[0], np.array(angles[1:])
        own = rotation.T @ relative
        found = np.concatenate([[-e @ own], e0 * own + np.cross(e, own)]) / 2
    else:
        found = np.array(np.linalg.lstsq(np.array(axes).T, relative, rcond=None)[0], float)
    rates.update(zip(body.rotations, map(float, found), strict=True))


def _rodrigues(axis: Array, angle: float) -> Array:
    x, y, z = axis
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    result: Array = np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * (k @ k)
    return result


def _from_quaternion(e: Array) -> Array:
    w, v = e[0], e[1:]
    x, y, z = v
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    result: Array = (w * w - v @ v) * np.eye(3) + 2 * np.outer(v, v) + 2 * w * k
    return result


def _numeric(v: Vector, frames: Mapping[Frame, Array], known: Mapping[Expr, float]) -> Array:
    """Return a vector in the ground's axes."""
    total = np.zeros(3)
    for direction, coefficient in v.terms:
        total += evaluate(coefficient, known) * frames[direction.frame][:, direction.index]
    return total


# -- forces ----------------------------------------------------------------------------------------
def _frames(states: Mapping[Body, BodyState]) -> dict[Frame, Array]:
    return {b.frame: s.rotation for b, s in states.items()}


def _place(point: Point, states: Mapping[Body, BodyState], known: Mapping[Expr, float]) -> Array:
    return states[point.body].origin + _numeric(point.local, _frames(states), known)


def _push(state: BodyState, force: Array, at: Array, sign: float = 1.0) -> None:
    state.force = state.force + sign * force
    state.moment = state.moment + sign * np.cross(at - state.origin, force)


def _apply_loads(
    mechanism: Mechanism, states: Mapping[Body, BodyState], known: Mapping[Expr, float]
) -> None:
    frames = _frames(states)
    for load in mechanism.forces:
        force = evaluate(load.magnitude, known) * _numeric(load.direction, frames, known)
        at = _place(load.point, states, known)
        _push(states[load.point.body], force, at)
        _push(states[load.reaction], force, at, -1)
    for couple in mechanism.moments:
        moment = evaluate(couple.magnitude, known) * _numeric(couple.direction, frames, known)
        states[couple.body].moment = states[couple.body].moment + moment
        states[couple.reaction].moment = states[couple.reaction].moment - moment


def _inertia_of(
    body: Body, state: BodyState, known: Mapping[Expr, float]
) -> tuple[float, Array, Array]:
    """Return mass, arm from the origin to the mass center, and tensor about it, ground's axes."""
    mass = float(evaluate(body.inertia.mass, known))
    center = state.rotation @ np.array([evaluate(x, known) for x in body.inertia.center])
    xx, yy, zz, xy, yz, zx = (evaluate(x, known) for x in body.inertia.tensor)
    tensor = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
    return mass, center, state.rotation @ tensor @ state.rotation.T


def _gravity(mechanism: Mechanism, known: Mapping[Expr, float]) -> Array:
    return _numeric(mechanism.gravity_vector, {mechanism.ground.frame: np.eye(3)}, known)


def _project(
    mechanism: Mechanism,
    states: Mapping[Body, BodyState],
    known: Mapping[Expr, float],
    n: int,
) -> tuple[Array, Array]:
    mass, right = np.zeros((n, n)), np.zeros(n)
    gravity = _gravity(mechanism, known)
    for body in mechanism.depth_first():
        state = states[body]
        m, arm, tensor = _inertia_of(body, state, known)
        partial = state.linear + np.cross(state.angular, arm, axisa=0, axisc=0)
        acceleration = (
            state.acceleration
            + np.cross(state.alpha, arm)
            + np.cross(state.omega, np.cross(state.omega, arm))
        )
        spin = tensor @ state.alpha + np.cross(state.omega, tensor @ state.omega)
        mass += m * partial.T @ partial + state.angular.T @ tensor @ state.angular
        right += partial.T @ (m * (gravity - acceleration)) - state.angular.T @ spin
        right += state.linear.T @ state.force + state.angular.T @ state.moment
    return mass, right


def _apply_constraints(
    mechanism: Mechanism,
    states: Mapping[Body, BodyState],
    known: Mapping[Expr, float],
    multipliers: Array,
) -> None:
    """Add the forces of the constraints whose working is known to the loads on the bodies."""
    frames = _frames(states)
    for constraint, multiplier in zip(mechanism.constraints, multipliers, strict=True):
        for work in constraint.works:
            for point, sign in ((work.point, 1.0), (work.reaction, -1.0)):
                state = states[point.body]
                if work.turns:
                    turned = multiplier * _numeric(work.direction, frames, known)
                    state.moment = state.moment + sign * turned
                else:
                    force = multiplier * _numeric(work.direction, frames, known)
                    _push(state, force, _place(point, states, known), sign)


def _reactions(
    mechanism: Mechanism,
    states: Mapping[Body, BodyState],
    known: Mapping[Expr, float],
    rates: Array,
) -> dict[str, tuple[Array, Array]]:
    gravity = _gravity(mechanism, known)
    carried: dict[Body, tuple[Array, Array]] = {}
    result: dict[str, tuple[Array, Array]] = {}
    for body in reversed(mechanism.depth_first()):
        state = states[body]
        m, arm, tensor = _inertia_of(body, state, known)
        alpha = state.alpha + state.angular @ rates
        acceleration = (
            state.acceleration
            + state.linear @ rates
            + np.cross(alpha, arm)
            + np.cross(state.omega, np.cross(state.omega, arm))
        )
        force = m * (acceleration - gravity)
        moment = np.cross(arm, force) + tensor @ alpha
        moment += np.cross(state.omega, tensor @ state.omega)
        below, turned = carried.get(body, (np.zeros(3), np.zeros(3)))
        force = force - state.force + below
        moment = moment - state.moment + turned
        result[body.name] = force, moment
        parent = body.parent
        assert parent is not None
        old_force, old_moment = carried.get(parent, (np.zeros(3), np.zeros(3)))
        lever = state.origin - states[parent].origin
        carried[parent] = old_force + force, old_moment + moment + np.cross(lever, force)
    return result


def _armatures(kinematics: Kinematics, known: Mapping[Expr, float]) -> Array:
    """Return the inertia of geared rotors by speed."""
    geared = kinematics.mechanism.armatures
    return np.array(
        [
            float(evaluate(geared[s.body], known)) if s.body in geared else 0.0
            for s in kinematics.speeds
        ]
    )


def _energy(
    mechanism: Mechanism,
    states: Mapping[Body, BodyState],
    known: Mapping[Expr, float],
    rotors: float,
) -> tuple[float, float, Array, Array]:
    kinetic, potential = rotors, 0.0
    momentum, angular = np.zeros(3), np.zeros(3)
    gravity = _gravity(mechanism, known)
    for body in mechanism.depth_first():
        state = states[body]
        m, arm, tensor = _inertia_of(body, state, known)
        velocity = state.velocity + np.cross(state.omega, arm)
        spin = tensor @ state.omega
        kinetic += 0.5 * float(m * velocity @ velocity + state.omega @ spin)
        potential -= m * float(gravity @ (state.origin + arm))
        momentum += m * velocity
        angular += spin + np.cross(state.origin + arm, m * velocity)
    return kinetic, potential, momentum, angular


def _power(
    mechanism: Mechanism, states: Mapping[Body, BodyState], known: Mapping[Expr, float]
) -> float:
    frames = _frames(states)
    power = 0.0
    for load in mechanism.forces:
        force = evaluate(load.magnitude, known) * _numeric(load.direction, frames, known)
        at = _place(load.point, states, known)
        for body, sign in ((load.point.body, 1), (load.reaction, -1)):
            s = states[body]
            power += sign * force @ (s.velocity + np.cross(s.omega, at - s.origin))
    for couple in mechanism.moments:
        moment = evaluate(couple.magnitude, known) * _numeric(couple.direction, frames, known)
        power += moment @ (states[couple.body].omega - states[couple.reaction].omega)
    return float(power)
