"""What the symbols of a mechanism are, in words and units.

Where the analyst has said nothing, texts and units are deduced from the first place in which a
symbol occurs (Sayers' thesis, sections 8.5 and 9.1): a mass, an entry of an inertia tensor, a
coordinate of a point, a coefficient of a force. A unit that equations do not determine is "?".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linkwright.algebra import Expr, Vector, free_symbols
from linkwright.algebra.units import Unit, deduce_units, parse_unit, unit_text
from linkwright.errors import UnitError
from linkwright.mechanism.joints import MechanismError
from linkwright.mechanism.parts import Body
from linkwright.mechanism.workspace import Workspace

KINDS = ("coordinates", "speeds", "accelerations", "forces", "moments")
_ENTRIES = ("xx", "yy", "zz", "xy", "yz", "zx")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity of a mechanism: its expression, unit, description and body."""

    name: str
    value: Expr
    unit: str
    doc: str
    body: str = ""


def quantities_of(mechanism: Workspace, kind: str) -> tuple[Quantity, ...]:
    """Return all quantities of a kind, with units and descriptions.

    Args:
        mechanism: whose quantities.
        kind: one of `KINDS`.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", translate="xy")
    >>> [q.doc for q in quantities_of(m, "coordinates")]
    ['Trans. of b rel. to n, axis x', 'Trans. of b rel. to n, axis y']
    """
    if kind == "coordinates":
        return tuple(_coordinates(mechanism))
    if kind == "speeds":
        return tuple(_speeds(mechanism))
    if kind == "accelerations":
        rates = mechanism.kinematics().accelerations
        return tuple(
            Quantity(rates[s.value].name, rates[s.value], _per_second(s.unit), s.doc, s.body)
            for s in _speeds(mechanism)
        )
    if kind == "forces":
        return tuple(
            Quantity(f.name, f.magnitude, "N", f.doc or f.name, f.point.body.name)
            for f in mechanism.forces
        )
    if kind == "moments":
        return tuple(
            Quantity(c.name, c.magnitude, "N*m", c.doc or c.name, c.body.name)
            for c in mechanism.moments
        )
    raise MechanismError(f"there are no quantities {kind!r}; there are {', '.join(KINDS)}")


def _coordinates(mechanism: Workspace) -> Iterator[Quantity]:
    for body in mechanism.depth_first():
        for q, text in _joint_texts(body):
            doc = mechanism.docs.get(q.name, text)
            yield Quantity(q.name, q, mechanism.units.get(q.name, "?"), doc, body.name)
    for state in mechanism.states:
        name = state.symbol.name
        doc = mechanism.docs.get(name, f"State {name}")
        yield Quantity(name, state.symbol, mechanism.units.get(name, "?"), doc)


def _joint_texts(body: Body) -> Iterator[tuple[Expr, str]]:
    assert body.parent is not None
    ends = f"of {body.name} rel. to {body.parent.name}"
    for k, (q, _) in enumerate(body.translations):
        yield q, f"Trans. {ends}, {_axis(body.joint.translate[k])}"
    for k, q in enumerate(body.rotations):
        if body.joint.quaternion:
            yield q, f"Rot. {ends}, quaternion {k}"
        else:
            which = "Rot." if len(body.rotations) == 1 else f"Rot. {k + 1}"
            yield q, f"{which} {ends}, {_axis(body.joint.rotate[k])}"


def _axis(axis: object) -> str:
    text = str(axis)
    if text.lstrip("-+") in ("1", "2", "3"):
        text = text.replace("1", "x").replace("2", "y").replace("3", "z")
    return f"axis {text}" if text.lstrip("-+") in ("x", "y", "z") else "inclined axis"


def _speeds(mechanism: Workspace) -> Iterator[Quantity]:
    rates = {u: q for q, u in mechanism.kinematics().rates.items()}
    for s in mechanism.kinematics().speeds:
        name = s.symbol.name
        text = f"Rate of {rates[s.symbol]}" if s.symbol in rates else s.doc
        doc = mechanism.docs.get(name, text)
        yield Quantity(name, s.symbol, mechanism.units.get(name, "?"), doc, s.body.name)


def _per_second(unit: str) -> str:
    return "?" if unit == "?" else unit_text(parse_unit(unit) / parse_unit("s"))


def parameter_texts(mechanism: Workspace) -> dict[str, str]:
    """Return what each parameter and input is: what the analyst said, else where it occurs.

    Args:
        mechanism: whose parameters.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z", mass="M", com=("L", 0, 0), inertia=(0, 0, "I"))
    >>> parameter_texts(m)
    {'M': 'mass of b', 'I': 'moment of inertia of b', 'L': 'coordinate of the mass centre of b'}
    """
    texts: dict[str, str] = {}
    for name in (*mechanism.parameters, *mechanism.inputs):
        if name in mechanism.docs:
            texts[name] = mechanism.docs[name]
    for value, alone, within in _contexts(mechanism):
        for x in sorted(free_symbols(value), key=lambda x: x.name):
            if x.name in mechanism.parameters or x.name in mechanism.inputs:
                texts.setdefault(x.name, alone if value is x or value is -x else within)
    known = (*mechanism.parameters, *mechanism.inputs)
    return {name: texts.get(name, "") for name in known}


def _contexts(mechanism: Workspace) -> Iterator[tuple[Expr, str, str]]:
    """Yield expressions, and what a symbol is that stands alone or occurs in them."""
    for b in mechanism.bodies.values():
        yield b.inertia.mass, f"mass of {b.name}", f"in the mass of {b.name}"
        for entry, value in zip(_ENTRIES, b.inertia.tensor, strict=True):
            kind = "moment" if entry[0] == entry[1] else "product"
            text = f"{kind} of inertia of {b.name}"
            yield value, text, f"in the {text}"
        for value in b.inertia.centre:
            text = f"coordinate of the mass centre of {b.name}"
            yield value, text, f"in a {text}"
        yield from _in_vector(b.offset, f"coordinate of the joint of {b.name}")
    for point in mechanism.points.values():
        yield from _in_vector(point.local, f"coordinate of point {point.name}")
    for force in mechanism.forces:
        yield force.magnitude, force.doc or force.name, f"coefficient in {force.name}"
    for moment in mechanism.moments:
        yield moment.magnitude, moment.doc or moment.name, f"coefficient in {moment.name}"
    for c in mechanism.constraints:
        yield c.speed, c.name, f"in the constraint {c.name}"
    yield from _in_vector(mechanism.gravity_vector, "gravity")
    for o in mechanism.outputs:
        yield o.value, o.doc or o.name, f"in the output {o.name}"


def _in_vector(vector: Vector, text: str) -> Iterator[tuple[Expr, str, str]]:
    for _, value in vector.terms:
        yield value, text, f"in a {text}"


def parameter_units(mechanism: Workspace) -> dict[str, str]:
    """Return the units of parameters and inputs, deduced where nothing was said; "?" if unknown.

    Args:
        mechanism: whose parameters.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", translate="x", mass="M")
    >>> f = m.force("spring", "-K*b - D*b_dot", at=b.origin, along=m.x)
    >>> parameter_units(m)["K"], parameter_units(m)["D"]
    ('N/m', 'N*s/m')
    """
    known: dict[Expr, Unit | str] = {}
    symbols = {**mechanism.parameters, **mechanism.inputs, **mechanism.coordinates}
    symbols |= {s.symbol.name: s.symbol for s in mechanism.kinematics().speeds}
    for name, x in symbols.items():
        if mechanism.units.get(name, "?") != "?":
            known[x] = mechanism.units[name]
    known[mechanism.time] = "s"
    names = (*mechanism.parameters, *mechanism.inputs)
    missing = [n for n in names if mechanism.units.get(n, "?") == "?"]
    found: dict[str, str] = {n: mechanism.units.get(n, "?") for n in names}
    if missing:
        try:
            deduced = deduce_units(_expected(mechanism), known)
        except UnitError:
            deduced = {}
        found |= {x.name: unit_text(u) for x, u in deduced.items() if x.name in missing}
    return found


def _expected(mechanism: Workspace) -> Iterator[tuple[Expr, str]]:
    for b in mechanism.bodies.values():
        yield b.inertia.mass, "kg"
        yield from ((value, "kg*m^2") for value in b.inertia.tensor)
        yield from ((value, "m") for value in b.inertia.centre)
        yield from ((value, "m") for value, _, _ in _in_vector(b.offset, ""))
    for point in mechanism.points.values():
        yield from ((value, "m") for value, _, _ in _in_vector(point.local, ""))
    yield from ((f.magnitude, "N") for f in mechanism.forces)
    yield from ((c.magnitude, "N*m") for c in mechanism.moments)
    yield from ((value, "m/s^2") for value, _, _ in _in_vector(mechanism.gravity_vector, ""))
