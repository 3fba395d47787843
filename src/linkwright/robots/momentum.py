"""Mass center, momentum and energy of a robot.

The centroidal momentum is linear momentum, then angular momentum about the mass center, along the
world's axes; the centroidal matrix A takes speeds to it (Orin and Goswami 2008). Both come from one
sweep from the tips to the ground that gathers what hangs on each body: mass, first moment and
second moment about the body's reference point. Mass that is welded to the ground cannot move and
counts nowhere, as in Pinocchio; so a robot is the same from a file, whose root link becomes part of
the ground, and as a mechanism. The inertia of geared rotors is left out of the momentum, and counts
in the kinetic energy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from linkwright.algebra import ONE, ZERO, Expr, constant, total
from linkwright.algebra.triples import (
    NOTHING,
    Triple,
    add,
    apply,
    cross,
    dot,
    subtract,
    times,
    transposed,
)
from linkwright.equations.bodies import BodyTerms
from linkwright.equations.inertia import NO_MASS, Moments, lumped
from linkwright.equations.links import rotation_between, turned_back
from linkwright.equations.rnea import armature_inertias
from linkwright.equations.tree import Results, Tree
from linkwright.equations.writer import Writer
from linkwright.mechanism import Body
from linkwright.mechanism.kinematics import stands_still
from linkwright.program import Program
from linkwright.robots.kinematics import Columns, movements, rows_of, stances

_HALF = constant(0.5)


@dataclass(frozen=True, slots=True)
class Gathered:
    """What hangs on each body, itself included, about its reference point along its axes."""

    bodies: dict[Body, Moments]
    mass: Expr
    first: Triple


def own_of(tree: Tree) -> dict[Body, Moments]:
    """Return the moments of each body about its reference point; of the ground's parts none."""
    found = lumped(tree.kinematics, regroup=False)
    return {body: NO_MASS if stands_still(body) else own for body, own in found.items()}


def gather(writer: Writer, tree: Tree, *, second: bool) -> Gathered:
    """Sum up masses and moments toward the ground."""
    motions = tree.kinematics.motions
    own = own_of(tree)
    found: dict[Body, Moments] = {}
    received: dict[Body, Moments] = {}
    mass, first = ZERO, NOTHING
    for body in reversed(tree.kinematics.mechanism.depth_first()):
        held = own[body] + received.get(body, NO_MASS)
        if not second:
            held = Moments(held.mass, held.first, NO_MASS.second)
        held = held.held(writer)
        found[body] = held
        parent = body.parent
        assert parent is not None
        rotation = rotation_between(body.frame, parent.frame)
        arm = body.from_parent + motions[body].reference
        if parent.parent is None:
            turned = apply(transposed(rotation), held.first)
            mass = mass + held.mass
            first = add(first, turned, times(held.mass, arm.components(parent.frame)))
            continue
        r = writer.triple((arm - motions[parent].reference).components(parent.frame))
        if second:
            moved = turned_back(writer, held, rotation).moved(r)
        else:
            turned = writer.triple(apply(transposed(rotation), held.first))
            moved = Moments(held.mass, add(turned, times(held.mass, r)), NO_MASS.second)
        received[parent] = received.get(parent, NO_MASS) + moved
    return Gathered(found, writer.hold(mass), writer.triple(first))


def mass_center(writer: Writer, tree: Tree) -> Triple:
    """Return the position of the mass center in the world."""
    found = gather(writer, tree, second=False)
    return writer.triple(times(ONE / found.mass, found.first))


def mass_center_jacobian(writer: Writer, tree: Tree) -> tuple[Triple, list[list[Expr]]]:
    """Return the mass center and the three rows of its Jacobian, in the world."""
    found = gather(writer, tree, second=False)
    at = stances(writer, tree.kinematics.mechanism.depth_first())
    below = writer.hold(ONE / found.mass)
    columns: Columns = {}
    for body, stance in at.items():
        whole = found.bodies[body]
        for u, omega, velocity in _partials(tree, body):
            push = _momentum(whole, omega, velocity)[0]
            share = times(below, writer.triple(apply(stance.rotation, writer.triple(push))))
            columns[u] = list(writer.triple(share))
    center = writer.triple(times(below, found.first))
    return center, rows_of(tree.on_independent(writer, columns, 3), 3)


def centroidal_matrix(writer: Writer, tree: Tree) -> tuple[Triple, list[list[Expr]]]:
    """Return the mass center and the six rows of the centroidal matrix, in the world."""
    found = gather(writer, tree, second=True)
    at = stances(writer, tree.kinematics.mechanism.depth_first())
    center = writer.triple(times(ONE / found.mass, found.first))
    columns: Columns = {}
    for body, stance in at.items():
        whole = found.bodies[body]
        reference = tree.kinematics.motions[body].reference.components(body.frame)
        place = add(stance.position, apply(stance.rotation, reference))
        lever = writer.triple(subtract(place, center))
        for u, omega, velocity in _partials(tree, body):
            push, spin = _momentum(whole, omega, velocity)
            linear = writer.triple(apply(stance.rotation, writer.triple(push)))
            own = apply(stance.rotation, writer.triple(spin))
            angular = writer.triple(add(own, cross(lever, linear)))
            columns[u] = [*linear, *angular]
    return center, rows_of(tree.on_independent(writer, columns, 6), 6)


def _partials(tree: Tree, body: Body) -> list[tuple[Expr, Triple, Triple]]:
    """Return each speed of a joint with what it adds to angular velocity and velocity."""
    return [
        (s.symbol, s.omega.components(body.frame), s.velocity.components(body.frame))
        for s in tree.kinematics.motions[body].speeds
    ]


def _momentum(whole: Moments, omega: Triple, velocity: Triple) -> tuple[Triple, Triple]:
    """Return momentum and angular momentum about the point whose velocity is given."""
    push = add(times(whole.mass, velocity), cross(omega, whole.first))
    spin = add(apply(whole.tensor(), omega), cross(whole.first, velocity))
    return push, spin


def centroidal_momentum(
    writer: Writer, tree: Tree, rates: Mapping[Expr, Expr] | None = None
) -> tuple[list[Expr], list[Expr]]:
    """Return the six components of the centroidal momentum, and of its rate if rates are given."""
    bodies = tree.kinematics.mechanism.depth_first()
    moving = movements(writer, tree, bodies, rates)
    own = _about_origins(tree)
    momenta = {b: _momentum(own[b], m.omega, m.velocity) for b, m in moving.items()}
    first = {b: own[b] for b in moving}
    force, moment, mass, center = _summed(writer, tree, momenta, first)
    below = writer.hold(ONE / mass)
    middle = writer.triple(times(below, center))
    momentum = [*force, *writer.triple(subtract(moment, cross(middle, force)))]
    if rates is None:
        return momentum, []
    changes = {b: _momentum_rate(own[b], m) for b, m in moving.items()}
    push, couple, _, _ = _summed(writer, tree, changes, first)
    # about the mass center the velocity of the center is along the momentum, and drops out
    return momentum, [*push, *writer.triple(subtract(couple, cross(middle, push)))]


def _about_origins(tree: Tree) -> dict[Body, Moments]:
    result = {}
    for body, moments in own_of(tree).items():
        reference = tree.kinematics.motions[body].reference.components(body.frame)
        result[body] = moments.moved(reference)
    return result


def _momentum_rate(own: Moments, moving: BodyTerms) -> tuple[Triple, Triple]:
    """Return inertia force and its moment about the body's origin, along the body's axes."""
    tensor, w = own.tensor(), moving.omega
    h = own.first
    push = add(times(own.mass, moving.acceleration), cross(moving.alpha, h))
    push = add(push, cross(w, cross(w, h)))
    couple = add(apply(tensor, moving.alpha), cross(w, apply(tensor, w)))
    return push, add(couple, cross(h, moving.acceleration))


def _summed(
    writer: Writer,
    tree: Tree,
    wrenches: Mapping[Body, tuple[Triple, Triple]],
    moments: Mapping[Body, Moments],
) -> tuple[Triple, Triple, Expr, Triple]:
    """Return the sums in the world about its origin: force, moment, mass, first moment."""
    none: tuple[Triple, Triple, Expr, Triple] = (NOTHING, NOTHING, ZERO, NOTHING)
    carried: dict[Body, tuple[Triple, Triple, Expr, Triple]] = {}
    ground = tree.kinematics.mechanism.ground
    for body in reversed(tree.kinematics.mechanism.depth_first()):
        parent = body.parent
        assert parent is not None
        force, moment, mass, first = carried.get(body, none)
        push, couple = wrenches[body]
        force, moment = writer.triple(add(force, push)), writer.triple(add(moment, couple))
        mass = writer.hold(mass + moments[body].mass)
        first = writer.triple(add(first, moments[body].first))
        back = transposed(rotation_between(body.frame, parent.frame))
        arm = writer.triple(body.from_parent.components(parent.frame))
        up = writer.triple(apply(back, force))
        old = carried.get(parent, none)
        carried[parent] = (
            add(old[0], up),
            add(old[1], apply(back, moment), cross(arm, up)),
            old[2] + mass,
            add(old[3], apply(back, first), times(mass, arm)),
        )
    force, moment, mass, first = carried.get(ground, none)
    return writer.triple(force), writer.triple(moment), writer.hold(mass), writer.triple(first)


def kinetic_energy(writer: Writer, tree: Tree) -> Expr:
    """Return the kinetic energy, geared rotors included, J."""
    moving = movements(writer, tree, tree.kinematics.mechanism.depth_first())
    own = _about_origins(tree)
    parts = []
    for body, m in moving.items():
        push, spin = _momentum(own[body], m.omega, m.velocity)
        parts.append(dot(push, m.velocity) + dot(spin, m.omega))
    rotors = zip(armature_inertias(tree.kinematics), tree.kinematics.speeds, strict=True)
    parts += [j * s.symbol**2 for j, s in rotors]
    return _HALF * total(writer.hold(x) for x in parts)


def potential_energy(writer: Writer, tree: Tree) -> Expr:
    """Return the energy in the field of gravity, zero at the world's origin, J."""
    mechanism = tree.kinematics.mechanism
    gravity = mechanism.gravity_vector.components(mechanism.ground.frame)
    return -dot(gravity, gather(writer, tree, second=False).first)


# -- Programs --------------------------------------------------------------------------------------
def center_of_mass(tree: Tree) -> Program:
    """Return the Program of the mass center in the world, m."""
    return tree.program("center_of_mass", ["q"], lambda w: {"c": list(mass_center(w, tree))})


def center_of_mass_jacobian(tree: Tree) -> Program:
    """Return the Program of the Jacobian of the mass center, 3 x n."""
    return tree.program(
        "center_of_mass_jacobian", ["q"], lambda w: {"J": mass_center_jacobian(w, tree)[1]}
    )


def centroidal_matrix_of(tree: Tree) -> Program:
    """Return the Program of the centroidal matrix, 6 x n."""
    return tree.program("centroidal_matrix", ["q"], lambda w: {"A": centroidal_matrix(w, tree)[1]})


def centroidal_momentum_of(tree: Tree) -> Program:
    """Return the Program of the centroidal momentum, kg*m/s and kg*m^2/s."""
    return tree.program(
        "centroidal_momentum", ["q", "u"], lambda w: {"h": centroidal_momentum(w, tree)[0]}
    )


def centroidal_momentum_rate(tree: Tree) -> Program:
    """Return the Program of the rate of the centroidal momentum, N and N*m."""

    def write(writer: Writer) -> Results:
        rates = tree.all_rates(writer, tree.accelerations)
        return {"h_dot": centroidal_momentum(writer, tree, rates)[1]}

    return tree.program("centroidal_momentum_rate", ["q", "u", "a"], write)


def kinetic_energy_of(tree: Tree) -> Program:
    """Return the Program of the kinetic energy, J."""
    return tree.program("kinetic_energy", ["q", "u"], lambda w: {"T": kinetic_energy(w, tree)})


def coordinate_rates_of(tree: Tree) -> Program:
    """Return the Program of the rates of all coordinates, passive ones and quaternions too."""
    rates = tree.kinematics.rates
    return tree.program(
        "coordinate_rates", ["q", "u"], lambda w: {"rates": [rates[x] for x in tree.coordinates]}
    )


def potential_energy_of(tree: Tree) -> Program:
    """Return the Program of the energy in the field of gravity, J."""
    return tree.program("potential_energy", ["q"], lambda w: {"V": potential_energy(w, tree)})
