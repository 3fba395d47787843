"""Kinetic and potential energy, momentum, and the power of loads, from each body's own inertia.

The expressions hold coordinates, speeds and parameters; of a motion without loads, T + V is
constant, and otherwise its rate is the power of the loads (and of moving constraints). They are
made apart from the equations of motion, so they check them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from linkwright.algebra import ZERO, Expr, constant, total
from linkwright.algebra.triples import NOTHING, Triple, add, apply, cross, dot, times, transposed
from linkwright.base.arguments import worded
from linkwright.base.energies import ENERGIES
from linkwright.base.reprs import one_line
from linkwright.base.results import Result
from linkwright.equations.bodies import body_terms, geared, own_tensor
from linkwright.mechanism import Body, Kinematics, Mechanism, ModelLike, mechanism_of
from linkwright.mechanism.parts import Output

_HALF = constant(0.5)


@one_line
@dataclass(frozen=True, slots=True)
class Energy(Result):
    """Energies in J, momenta along the ground's axes, power in W.

    Args:
        kinetic: kinetic energy.
        potential: energy in the field of gravity, zero at the ground's origin.
        momentum: linear momentum, kg*m/s.
        angular_momentum: about the ground's origin, kg*m^2/s.
        power: of the active forces and moments together, gravity left out.

    >>> m = Mechanism("ball")
    >>> b = m.body("b", translate="x", mass="m", inertia=0)
    >>> energy(m).momentum[0]
    b_dot*m
    """

    kinetic: Expr
    potential: Expr
    momentum: Triple
    angular_momentum: Triple
    power: Expr


@worded
def energy(model: ModelLike) -> Energy:
    """Return energies, momenta and power of a mechanism as expressions.

    Args:
        model: a mechanism, a robot, a file or the name of a shipped model;
            `mechanism.output_all("energies")` records them.

    >>> m = Mechanism("ball")
    >>> b = m.body("b", translate="x", mass="m", inertia=0)
    >>> energy(m).kinetic
    0.5*b_dot**2*m
    """
    model = mechanism_of(model, "energy")
    kinematics = model.kinematics()
    terms = body_terms(kinematics)
    kinetic = [_HALF * (inertia * u * u) for inertia, u in geared(kinematics)]
    gravity = model.gravity_vector.components(model.ground.frame)
    potential: list[Expr] = []
    carried: dict[Body, tuple[Triple, Triple, Expr, Triple]] = {}
    for body in reversed(model.depth_first()):
        own, m, c = terms[body], body.inertia.mass, body.inertia.center
        center_velocity = add(own.velocity, cross(own.omega, c))
        push = times(m, center_velocity)
        spin = apply(own_tensor(body), own.omega)
        kinetic.append(_HALF * (dot(push, center_velocity) + dot(spin, own.omega)))
        # momentum, moment of momentum and mass of what hangs on this body, about its origin
        force, moment, mass, first = carried.get(body, (NOTHING, NOTHING, ZERO, NOTHING))
        force = add(force, push)
        moment = add(moment, spin, cross(c, push))
        mass, first = mass + m, add(first, times(m, c))
        assert body.parent is not None
        back = transposed(own.rotation)
        force_above = apply(back, force)
        moment_above = add(apply(back, moment), cross(own.arm, force_above))
        first_above = add(apply(back, first), times(mass, own.arm))
        old = carried.get(body.parent, (NOTHING, NOTHING, ZERO, NOTHING))
        carried[body.parent] = (
            add(old[0], force_above),
            add(old[1], moment_above),
            old[2] + mass,
            add(old[3], first_above),
        )
    everything = carried.get(model.ground, (NOTHING, NOTHING, ZERO, NOTHING))
    potential.append(-dot(gravity, everything[3]))
    return Energy(
        total(kinetic), total(potential), everything[0], everything[1], _power(kinematics)
    )


def _power(kinematics: Kinematics) -> Expr:
    mechanism = kinematics.mechanism
    parts = []
    for load in mechanism.forces:
        at = load.point
        lever = at.position - load.reaction.origin.position
        opposite = kinematics.origin_velocity(load.reaction)
        opposite = opposite + (kinematics.omega(load.reaction) ^ lever)
        parts.append(load.magnitude * (load.direction @ (at.velocity - opposite)))
    for couple in mechanism.moments:
        turning = kinematics.omega(couple.body) - kinematics.omega(couple.reaction)
        parts.append(couple.magnitude * (couple.direction @ turning))
    return total(parts)


def energy_outputs(
    mechanism: Mechanism, unfelt: Mapping[Body, Expr] | None = None
) -> tuple[Output, ...]:
    """Return outputs for the energies of a mechanism and the power of its loads.

    `unfelt` are inertias of rotors, by body, that joints do not feel behind teeth with losses.

    >>> m = Mechanism("ball")
    >>> b = m.body("b", translate="x", mass="m", inertia=0)
    >>> [o.name for o in energy_outputs(m)]
    ['energy.kinetic', 'energy.potential', 'energy.power']
    """
    found = energy(mechanism)
    kinematics, rotors = mechanism.kinematics(), unfelt or {}
    momenta = [(rotors[s.body] * s.symbol, s.symbol) for s in kinematics.speeds if s.body in rotors]
    kinetic = total([found.kinetic, *(_HALF * h * u for h, u in momenta)])
    power = total([found.power, *(h * kinematics.accelerations[u] for h, u in momenta)])
    return tuple(
        Output(name, value, unit, doc, made="energies")
        for name, value, unit, doc in zip(
            ENERGIES,
            (kinetic, found.potential, power),
            ("J", "J", "W"),
            ("kinetic energy", "energy in the field of gravity", "power of loads"),
            strict=True,
        )
    )


def add_energy_outputs(mechanism: Mechanism) -> None:
    """Add energies, momenta and power to the outputs of a mechanism.

    >>> m = Mechanism("ball")
    >>> b = m.body("b", translate="x", mass="m", inertia=0)
    >>> add_energy_outputs(m)
    >>> [o.name for o in m.outputs][:3]
    ['kinetic_energy', 'potential_energy', 'energy']
    """
    found = energy(mechanism)
    mechanism.output("kinetic_energy", found.kinetic, unit="J", doc="kinetic energy")
    mechanism.output(
        "potential_energy", found.potential, unit="J", doc="energy in the field of gravity"
    )
    mechanism.output(
        "energy", found.kinetic + found.potential, unit="J", doc="kinetic and potential energy"
    )
    for letter, x in zip("xyz", found.momentum, strict=True):
        mechanism.output(f"momentum_{letter}", x, unit="kg*m/s", doc=f"momentum along {letter}")
    for letter, x in zip("xyz", found.angular_momentum, strict=True):
        mechanism.output(
            f"angular_momentum_{letter}",
            x,
            unit="kg*m^2/s",
            doc=f"angular momentum about the origin along {letter}",
        )
    mechanism.output("power", found.power, unit="W", doc="power of the loads")
