"""The mass matrix of any mechanism in numbers, at one configuration.

Everything is computed with NumPy matrices in the ground's axes: rotation matrices by Rodrigues'
formula, velocities body by body, each body with its own mass and inertia (nothing is lumped),
projected with numeric partial velocities. Nothing is derived, so it is at hand before equations
are, and it shares with the formulations only the description: places, zero poses, the meaning of
speeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import Expr, Frame, Vector, evaluate, evaluate_all
from linkwright.base.rotations import axis_rotation, inertia_tensor, skew
from linkwright.mechanism import (
    Body,
    Constraint,
    Kinematics,
    Mechanism,
    MechanismError,
    Speed,
)

Array = NDArray[np.float64]


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
    known = known_values(mechanism, coordinates, values, 0.0)
    names = [s.symbol for s in kinematics.speeds]
    u = np.zeros(len(names))
    known.update(zip(names, u, strict=True))
    states, _ = outward_states(kinematics, known, u)
    mass, _ = projected(mechanism, states, known, len(u))
    mass += np.diag(armatures_of(kinematics, known))
    jacobian, _ = constraint_rows(mechanism.constraints, names, known)
    return [s.name for s in names], mass, jacobian


def known_values(
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


def constraint_rows(
    constraints: Sequence[Constraint], names: Sequence[Expr], known: Mapping[Expr, float]
) -> tuple[Array, Array]:
    """Return J and b with the constraints J u + b = 0, from their values at unit speeds."""
    n = len(names)
    units = np.vstack([np.zeros(n), np.eye(n)])
    given = {**known, **{u: units[:, k] for k, u in enumerate(names)}}
    found = evaluate_all([c.speed for c in constraints], given)
    table = np.array([np.broadcast_to(x, (n + 1,)) for x in found]).reshape(len(found), n + 1)
    return table[:, 1:] - table[:, :1], table[:, 0]


def outward_states(
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
        np.array([components_of(d, frames, known) for _, d in body.translations]).reshape(-1, 3).T
    )
    shift = components_of(body.offset, frames, known)
    shift = shift + directions @ np.array([known[q] for q, _ in body.translations])
    advance = np.zeros(3)
    if body.lead.op != "num":
        (angle,) = body.rotations
        advance = axes[0] * evaluate(body.lead, {**known, angle: 1.0})
        shift = shift + advance * known[angle]
    origin = above.origin + shift
    if kinematics.motions[body].absolute:
        arm = components_of(kinematics.motions[body].reference, frames, known)
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
        axis = components_of(body.frame.spins[0][1], frames, known)
        axis = axis / np.linalg.norm(axis)
        return [axis], axis_rotation(axis, angles[0]) @ start
    rotation, axes = start, []
    for name, angle in zip(body.joint.rotate, angles, strict=True):
        axis = rotation[:, "xyz".index(str(name)) if str(name) in "xyz" else int(name) - 1]
        axes.append(axis)
        rotation = axis_rotation(axis, angle) @ rotation
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


def _from_quaternion(e: Array) -> Array:
    w, v = e[0], e[1:]
    result: Array = (w * w - v @ v) * np.eye(3) + 2 * np.outer(v, v) + 2 * w * skew(v)
    return result


def components_of(v: Vector, frames: Mapping[Frame, Array], known: Mapping[Expr, float]) -> Array:
    """Return a vector in the ground's axes."""
    total = np.zeros(3)
    for direction, coefficient in v.terms:
        total += evaluate(coefficient, known) * frames[direction.frame][:, direction.index]
    return total


def inertia_of(
    body: Body, state: BodyState, known: Mapping[Expr, float]
) -> tuple[float, Array, Array]:
    """Return mass, arm from the origin to the mass center, and tensor about it, ground's axes."""
    mass = float(evaluate(body.inertia.mass, known))
    center = state.rotation @ np.array([evaluate(x, known) for x in body.inertia.center])
    tensor = inertia_tensor([evaluate(x, known) for x in body.inertia.tensor])
    return mass, center, state.rotation @ tensor @ state.rotation.T


def gravity_of(mechanism: Mechanism, known: Mapping[Expr, float]) -> Array:
    return components_of(mechanism.gravity_vector, {mechanism.ground.frame: np.eye(3)}, known)


def projected(
    mechanism: Mechanism,
    states: Mapping[Body, BodyState],
    known: Mapping[Expr, float],
    n: int,
) -> tuple[Array, Array]:
    mass, right = np.zeros((n, n)), np.zeros(n)
    gravity = gravity_of(mechanism, known)
    for body in mechanism.depth_first():
        state = states[body]
        m, arm, tensor = inertia_of(body, state, known)
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


def armatures_of(kinematics: Kinematics, known: Mapping[Expr, float]) -> Array:
    """Return the inertia of geared rotors by speed."""
    geared = kinematics.mechanism.armatures
    return np.array(
        [
            float(evaluate(geared[s.body], known)) if s.body in geared else 0.0
            for s in kinematics.speeds
        ]
    )
