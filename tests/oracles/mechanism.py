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
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import Expr, Frame, evaluate, evaluate_all
from linkwright.equations.numeric_mass import (
    BodyState,
    armatures_of,
    components_of,
    constraint_rows,
    gravity_of,
    inertia_of,
    known_values,
    outward_states,
    projected,
)
from linkwright.mechanism import (
    Body,
    Mechanism,
    MechanismError,
    Point,
)

Array = NDArray[np.float64]
_STEP = 1e-30


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
    known = known_values(mechanism, coordinates, values, time)
    names = [s.symbol for s in kinematics.speeds]
    u = _all_speeds(mechanism, names, speeds, known)
    known.update(zip(names, u, strict=True))
    states, rates = outward_states(kinematics, known, u)
    _apply_loads(mechanism, states, known)
    mass, right = projected(mechanism, states, known, len(u))
    geared = armatures_of(kinematics, known)
    mass += np.diag(geared)
    jacobian, _ = constraint_rows(mechanism.constraints, names, known)
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
        jacobian, offset = constraint_rows(mechanism.constraints, names, known)
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


def _frames(states: Mapping[Body, BodyState]) -> dict[Frame, Array]:
    return {b.frame: s.rotation for b, s in states.items()}


def _place(point: Point, states: Mapping[Body, BodyState], known: Mapping[Expr, float]) -> Array:
    return states[point.body].origin + components_of(point.local, _frames(states), known)


def _push(state: BodyState, force: Array, at: Array, sign: float = 1.0) -> None:
    state.force = state.force + sign * force
    state.moment = state.moment + sign * np.cross(at - state.origin, force)


def _apply_loads(
    mechanism: Mechanism, states: Mapping[Body, BodyState], known: Mapping[Expr, float]
) -> None:
    frames = _frames(states)
    for load in mechanism.forces:
        force = evaluate(load.magnitude, known) * components_of(load.direction, frames, known)
        at = _place(load.point, states, known)
        _push(states[load.point.body], force, at)
        _push(states[load.reaction], force, at, -1)
    for couple in mechanism.moments:
        moment = evaluate(couple.magnitude, known) * components_of(couple.direction, frames, known)
        states[couple.body].moment = states[couple.body].moment + moment
        states[couple.reaction].moment = states[couple.reaction].moment - moment


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
                    turned = multiplier * components_of(work.direction, frames, known)
                    state.moment = state.moment + sign * turned
                else:
                    force = multiplier * components_of(work.direction, frames, known)
                    _push(state, force, _place(point, states, known), sign)


def _reactions(
    mechanism: Mechanism,
    states: Mapping[Body, BodyState],
    known: Mapping[Expr, float],
    rates: Array,
) -> dict[str, tuple[Array, Array]]:
    gravity = gravity_of(mechanism, known)
    carried: dict[Body, tuple[Array, Array]] = {}
    result: dict[str, tuple[Array, Array]] = {}
    for body in reversed(mechanism.depth_first()):
        state = states[body]
        m, arm, tensor = inertia_of(body, state, known)
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


def _energy(
    mechanism: Mechanism,
    states: Mapping[Body, BodyState],
    known: Mapping[Expr, float],
    rotors: float,
) -> tuple[float, float, Array, Array]:
    kinetic, potential = rotors, 0.0
    momentum, angular = np.zeros(3), np.zeros(3)
    gravity = gravity_of(mechanism, known)
    for body in mechanism.depth_first():
        state = states[body]
        m, arm, tensor = inertia_of(body, state, known)
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
        force = evaluate(load.magnitude, known) * components_of(load.direction, frames, known)
        at = _place(load.point, states, known)
        for body, sign in ((load.point.body, 1), (load.reaction, -1)):
            s = states[body]
            power += sign * force @ (s.velocity + np.cross(s.omega, at - s.origin))
    for couple in mechanism.moments:
        moment = evaluate(couple.magnitude, known) * components_of(couple.direction, frames, known)
        power += moment @ (states[couple.body].omega - states[couple.reaction].omega)
    return float(power)
