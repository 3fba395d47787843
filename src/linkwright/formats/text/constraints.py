"""The relations of a text model that are written as expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwright.algebra import Expr
from linkwright.formats.text import tables
from linkwright.formats.text.components import Part
from linkwright.mechanism import Constraint
from linkwright.mechanism.parts import Work

if TYPE_CHECKING:
    from linkwright.formats.text.builder import MechanismBuilder


def add_constraint(builder: MechanismBuilder, part: Part) -> None:
    """Enter a relation that must hold."""
    m = builder.m
    c: tables.ConstraintTable = part.value
    length = m.scope.factor("m")  # in which a text takes the work of its relation
    position = None if c.position is None else m.expr(c.position)
    if c.speed is not None:
        speed = m.expr(c.speed)
    else:
        assert position is not None
        rate = m.kinematics().derivative(position)
        assert isinstance(rate, Expr)
        speed = rate
    eliminated = None
    if c.eliminate is not None:
        speeds = {s.symbol.name: s.symbol for s in m.kinematics().speeds}
        if c.eliminate not in speeds:
            raise builder.unknown(part, "eliminate", "speed", c.eliminate, speeds)
        eliminated = speeds[c.eliminate]
    if c.compute is not None and c.compute not in m.coordinates:
        raise builder.unknown(part, "compute", "coordinate", c.compute, m.coordinates)
    computed = None if c.compute is None else m.coordinates[c.compute]
    works = []
    for k, act in enumerate(c.acts):
        inner = Part(act, (*part.path, "acts", k), act.model_dump())
        at, other = builder.find_point(inner, "at"), builder.find_point(inner, "reaction")
        force = m.vector(act.along)
        works.append(Work(force if act.turns else force * length, at, other, act.turns))
    label = c.name or f"constraint {len(m.constraints) + 1}"
    strut = None
    if c.length is not None:
        if c.length not in m.bodies or c.length not in m.coordinates or len(works) != 1:
            raise builder.unknown(part, "length", "driven strut", c.length, m.coordinates)
        strut = m.coordinates[c.length]
    m.constraints.append(
        Constraint(label, speed, position, eliminated, computed, tuple(works), strut, m)
    )
