"""What a mechanism is made of, as one value that can be kept and compared.

Parts of a mechanism are records that never change; a mechanism changes by getting other ones. So
the parts themselves, in their order, tell whether it is still what it was: whatever is derived,
kept or recorded goes by its `Structure`, never by how many parts there are. Numbers (values of
parameters, where coordinates start) are not in it: they are put in last.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING

from linkwright.algebra import Expr, Frame, Vector
from linkwright.algebra.walk import postorder
from linkwright.mechanism.parts import Body, Constraint, Force, Moment, Output, Range, State
from linkwright.mechanism.shapes import Shape

if TYPE_CHECKING:
    from linkwright.mechanism.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Structure:
    """The parts of a mechanism at some time; equal where nothing has changed."""

    bodies: tuple[Body, ...]  # with their joints, masses and places
    constraints: tuple[Constraint, ...]  # the relations that hold
    loads: tuple[Force | Moment, ...]  # forces and moments
    states: tuple[State, ...]  # extra states
    gravity: Vector  # the field
    armatures: tuple[tuple[Body, Expr], ...]  # of joints
    ranges: tuple[Range, ...] = ()  # how far joints may go in runs
    # that bodies are drawn with, by their names
    shapes: tuple[tuple[str, tuple[Shape, ...]], ...] = ()
    actuators: tuple[Expr, ...] = ()  # the coordinates that are driven

    def moves_alike(self, other: Structure) -> bool:
        """Whether the bodies and relations are the same, whatever acts on them."""
        own, others = ((s.bodies, s.constraints, s.shapes, s.actuators) for s in (self, other))
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
        tuple(m.actuators),
    )


def content_of(mechanism: Workspace) -> tuple[object, ...]:
    """Return the structure together with names and outputs: all that a flattened System needs."""
    m = mechanism
    outputs: tuple[Output, ...] = tuple(m.outputs)
    return (structure_of(m), outputs, tuple(m.parameters), tuple(m.inputs), m.platform)


def fingerprint_of(mechanism: Workspace) -> str:
    """Return a digest of all that a mechanism holds, numbers included; documentation is not in it.

    >>> from linkwright.mechanism import Mechanism
    >>> len(fingerprint_of(Mechanism("m")))
    32
    """
    m = mechanism
    numbers = sorted(m.values.items()), sorted(m.initial.items()), sorted(m.initial_rules.items())
    bodies = [
        [b.name, b.parent and b.parent.name, *(getattr(b, name) for name in _OF_BODIES)]
        for b in m.bodies.values()
    ]
    bounds = tuple(m.cones), tuple(m.collision_capsules)
    content = m.name, bodies, content_of(m), numbers, m.timing, bounds
    return hashlib.blake2b(repr(_plain(content, {})).encode(), digest_size=16).hexdigest()


_OF_BODIES = ("joint", "frame", "inertia", "translations", "rotations", "offset", "lead")
_WORDS = ("doc", "mechanism", "formula")  # fields that say nothing of the motion


def _plain(x: object, known: dict[Expr, str]) -> object:
    """Return what stands for a part: texts and numbers in tuples."""
    if isinstance(x, Expr):
        return _digest(x, known)
    if isinstance(x, Vector):
        return tuple((d.key, _digest(c, known)) for d, c in x.terms)
    if isinstance(x, Frame):
        return x.digest
    if isinstance(x, Body):
        return x.name
    if is_dataclass(x):
        values = (getattr(x, f.name) for f in fields(x) if f.name not in _WORDS)
        return type(x).__name__, *(_plain(value, known) for value in values)
    if isinstance(x, list | tuple):
        return tuple(_plain(y, known) for y in x)
    return repr(x)


def _digest(x: Expr, known: dict[Expr, str]) -> str:
    """Return a digest of an expression, that of functions of one declaration the same."""
    for node in postorder([x], stop=known.__contains__):
        data = getattr(node.data, "digest", node.data)
        parts = node.op, repr(data), [known[y] for y in node.args]
        known[node] = hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()
    return known[x]
