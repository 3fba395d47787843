"""Coordinates, speeds, accelerations and loads as quantities with names, units and descriptions.

Descriptions are short enough for the labels of a channel (Sayers' thesis, appendix A: "Rot. of A
rel. to N, axis #3").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linkwright.algebra import Expr
from linkwright.algebra.units import parse_unit, unit_text
from linkwright.mechanism.joints import MechanismError
from linkwright.mechanism.parts import Body
from linkwright.mechanism.workspace import Workspace

KINDS = ("coordinates", "speeds", "accelerations", "forces", "moments")
DERIVED = ("energies", "reactions")  # found by `linkwright.equations.derived_outputs`


@dataclass(frozen=True, slots=True)
class MechanismQuantity:
    """A quantity of a mechanism: its expression, unit, description and body."""

    name: str
    value: Expr
    unit: str
    doc: str
    body: str = ""


def quantities_of(mechanism: Workspace, kind: str) -> tuple[MechanismQuantity, ...]:
    """Return all quantities of a kind, with units and descriptions.

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
            MechanismQuantity(
                rates[s.value].name, rates[s.value], per_second(s.unit), s.doc, s.body
            )
            for s in _speeds(mechanism)
        )
    if kind == "forces":
        return tuple(
            MechanismQuantity(f.name, f.magnitude, "N", f.doc or f.name, f.point.body.name)
            for f in mechanism.forces
        )
    if kind == "moments":
        return tuple(
            MechanismQuantity(c.name, c.magnitude, "N*m", c.doc or c.name, c.body.name)
            for c in mechanism.moments
        )
    raise MechanismError(
        f"there are no quantities {kind!r}; there are {', '.join((*KINDS, *DERIVED))}"
    )


def _coordinates(mechanism: Workspace) -> Iterator[MechanismQuantity]:
    for body in mechanism.depth_first():
        for q, text in _joint_texts(body):
            doc = mechanism.docs.get(q.name, text)
            yield MechanismQuantity(q.name, q, mechanism.units.get(q.name, "?"), doc, body.name)
    for state in mechanism.states:
        name = state.symbol.name
        doc = mechanism.docs.get(name, f"State {name}")
        yield MechanismQuantity(name, state.symbol, mechanism.units.get(name, "?"), doc)


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


def _speeds(mechanism: Workspace) -> Iterator[MechanismQuantity]:
    rates = {u: q for q, u in mechanism.kinematics().rates.items()}
    for s in mechanism.kinematics().speeds:
        name = s.symbol.name
        text = f"Rate of {rates[s.symbol]}" if s.symbol in rates else s.doc
        doc = mechanism.docs.get(name, text)
        yield MechanismQuantity(name, s.symbol, mechanism.units.get(name, "?"), doc, s.body.name)


def per_second(unit: str) -> str:
    """Return the unit of the rate of what is in a unit."""
    return "?" if unit == "?" else unit_text(parse_unit(unit) / parse_unit("s"))
