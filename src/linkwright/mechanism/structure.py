"""What a mechanism is made of, as one value that can be kept and compared.

Parts of a mechanism are records that never change; a mechanism changes by getting other ones. So
the parts themselves, in their order, tell whether it is still what it was: whatever is derived,
kept or recorded goes by its `Structure`, never by how many parts there are. Numbers (values of
parameters, where coordinates start) are not in it: they are put in last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from linkwright.algebra import Expr, Vector
from linkwright.mechanism.parts import Body, Constraint, Force, Moment, Output, Range, State
from linkwright.shapes import Shape

if TYPE_CHECKING:
    from linkwright.mechanism.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Structure:
    """The parts of a mechanism at some time; equal where nothing has changed.

    Args:
        bodies: with their joints, masses and places.
        constraints: the relations that hold.
        loads: forces and moments.
        states: extra states.
        gravity: the field.
        armatures: of joints.
        ranges: how far joints may go in runs.
        shapes: that bodies are drawn with, by their names.
    """

    bodies: tuple[Body, ...]
    constraints: tuple[Constraint, ...]
    loads: tuple[Force | Moment, ...]
    states: tuple[State, ...]
    gravity: Vector
    armatures: tuple[tuple[Body, Expr], ...]
    ranges: tuple[Range, ...] = ()
    shapes: tuple[tuple[str, tuple[Shape, ...]], ...] = ()

    def moves_alike(self, other: Structure) -> bool:
        """Whether the bodies and relations are the same, whatever acts on them."""
        own, others = ((s.bodies, s.constraints, s.shapes) for s in (self, other))
        return own == others


def structure_of(mechanism: Workspace) -> Structure:
    """Return what a mechanism is made of now.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", translate="z", mass=1)
    >>> before = structure_of(m)
    >>> m.set_values({})
    >>> structure_of(m) == before
    True
    >>> m.gravity()
    >>> structure_of(m) == before
    False
    """
    m = mechanism
    return Structure(
        tuple(m.bodies.values()),
        tuple(m.constraints),
        (*m.forces, *m.moments),
        tuple(m.states),
        m.gravity_vector,
        tuple(m.armatures.items()),
        tuple(m.ranges),
        tuple(m.shapes.items()),
    )


def content_of(mechanism: Workspace) -> tuple[object, ...]:
    """Return the structure together with names and outputs: all that a flattened System needs."""
    m = mechanism
    outputs: tuple[Output, ...] = tuple(m.outputs)
    return (structure_of(m), outputs, tuple(m.parameters), tuple(m.inputs))
