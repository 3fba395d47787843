"""What the parameters of a mechanism are, and their units, deduced from where they occur.

Names and units that the model declares are taken; the rest is found as in AUTOSIM (section 9.1):
a mass is the mass of its body, a length a coordinate of a point, a factor in a force a
coefficient of it. Units follow from those of coordinates and speeds and of what the expressions
are: masses, lengths, forces. What cannot be known stays "?".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linkwright.algebra import Expr, Vector, free_symbols
from linkwright.algebra.units import deduce_units, parse_unit
from linkwright.mechanism import Body, Mechanism

_AXES = ("x", "y", "z")
_ENTRIES = ("xx", "yy", "zz", "xy", "yz", "zx")


@dataclass(frozen=True, slots=True)
class Meaning:
    """An expression of a mechanism, what it is in words, and its unit ("" where it has none)."""

    value: Expr
    words: str
    unit: str = ""


def meanings(mechanism: Mechanism) -> Iterator[Meaning]:
    """Yield every expression of a description with what it is.

    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z", mass="M", com=("L", 0, 0), inertia=0)
    >>> [(str(x.value), x.words, x.unit) for x in meanings(m)][:2]
    [('M', 'mass of b', 'kg'), ('L', 'mass center of b, x', 'm')]
    """
    for body in mechanism.bodies.values():
        yield from _of_body(body)
        if body in mechanism.armatures:
            yield Meaning(mechanism.armatures[body], f"rotor inertia of {body.name}")
    for point in mechanism.points.values():
        words = f"place of {point.name} on {point.body.name}"
        yield from _of_place(point.local, words, "m")
    yield from _of_place(mechanism.gravity_vector, "gravity", "m/s^2")
    for force in mechanism.forces:
        yield Meaning(force.magnitude, f"in force {force.name}", "N")
    for moment in mechanism.moments:
        yield Meaning(moment.magnitude, f"in moment {moment.name}", "N*m")
    for constraint in mechanism.constraints:
        if constraint.position is not None:
            yield Meaning(constraint.position, f"in constraint {constraint.name}")
        yield Meaning(constraint.speed, f"in constraint {constraint.name}")
    for state in mechanism.states:
        yield Meaning(state.derivative, f"in the rate of {state.symbol.name}")
    for output in mechanism.outputs:
        yield Meaning(output.value, f"in output {output.name}", output.unit)
    for name, rule in mechanism.initial_rules.items():
        yield Meaning(rule, f"in the start of {name}", mechanism.units.get(name, ""))


def _of_body(body: Body) -> Iterator[Meaning]:
    inertia = body.inertia
    yield Meaning(inertia.mass, f"mass of {body.name}", "kg")
    for axis, value in zip(_AXES, inertia.center, strict=True):
        yield Meaning(value, f"mass center of {body.name}, {axis}", "m")
    for entry, value in zip(_ENTRIES, inertia.tensor, strict=True):
        kind = "moment" if entry[0] == entry[1] else "product"
        yield Meaning(value, f"{kind} of inertia {entry} of {body.name}", "kg*m^2")
    yield from _of_place(body.offset, f"joint of {body.name}", "m")
    for _, spin in body.frame.spins:
        yield from _of_place(spin, f"axis of {body.name}", "")


def _of_place(v: Vector, words: str, unit: str) -> Iterator[Meaning]:
    for direction, value in v.terms:
        yield Meaning(value, f"{words} along {direction}", unit)


def parameter_words(mechanism: Mechanism) -> dict[str, str]:
    """Return what each parameter is: declared, or where it was first met.

    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z", mass="M1 + M2", com=("L", 0, 0), inertia=0)
    >>> parameter_words(m)
    {'M1': 'part of mass of b', 'M2': 'part of mass of b', 'L': 'mass center of b, x'}
    """
    found: dict[str, str] = {}
    for meaning in meanings(mechanism):
        for x in free_symbols(meaning.value):
            plain = x is meaning.value or meaning.words.startswith("in ")
            found.setdefault(x.name, meaning.words if plain else f"part of {meaning.words}")
    return {
        name: mechanism.docs.get(name) or found.get(name, "")
        for name in (*mechanism.parameters, *mechanism.inputs)
    }


def parameter_units(mechanism: Mechanism) -> dict[str, str]:
    """Return the unit of each parameter and input, "?" where it is not known.

    >>> m = Mechanism("m")
    >>> b = m.body("b", translate="x", mass="M", inertia=0)
    >>> m.strut("spring", "-K*(x - L0) - D*v", at=b.origin).name
    'spring'
    >>> parameter_units(m)
    {'M': 'kg', 'K': 'N/m', 'L0': 'm', 'D': 'N*s/m'}
    """
    m = mechanism
    m.kinematics()  # speeds get their units
    declared = {k: u for k, u in m.units.items() if u != "?"}
    known = m.known_units()
    unknown = [k for k in (*m.parameters, *m.inputs) if k not in declared]
    if not unknown:
        return {k: declared[k] for k in (*m.parameters, *m.inputs)}
    statements = [(x.value, x.unit) if x.unit not in ("", "?") else x.value for x in meanings(m)]
    deduced = deduce_units(statements, {**known, m.time: parse_unit("s")})
    texts = {x.name: str(unit) for x, unit in deduced.items()}
    return {k: declared.get(k) or texts.get(k, "?") for k in (*m.parameters, *m.inputs)}
