"""What a mechanism is made of, as one value that can be kept and compared.

Parts of a mechanism are records that never change; a mechanism changes by getting other ones. So
the parts themselves, in their order, say whether it is still what it was: whatever is derived,
kept or recorded depends on its `Structure`, never by how many parts there are. Numbers (values of
parameters, where coordinates start) are not in it: they are put in last.

Snapshots and views are mechanisms beside it, with the same parts or others.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from linkwright.algebra import ZERO, Expr, Frame, Vector
from linkwright.algebra.units import Amount, by_name
from linkwright.algebra.walk import postorder
from linkwright.base.arguments import worded
from linkwright.mechanism.parts import Body, Constraint, Force, Moment, Output, Range, State
from linkwright.mechanism.shapes import Shape
from linkwright.mechanism.transactions import TABLES

if TYPE_CHECKING:
    from linkwright.mechanism.mechanism import Mechanism

_PARTS = ("forces", "moments", "constraints", "states", "outputs", "reports", "ranges", "actuators")


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


def structure_of(mechanism: Mechanism) -> Structure:
    """Return what a mechanism is made of now.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", translate="z", mass=1)
    >>> before = structure_of(m)
    >>> m.set_parameters({})
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


def content_of(mechanism: Mechanism) -> tuple[object, ...]:
    """Return the structure together with names and outputs: all that a flattened System needs."""
    m = mechanism
    outputs: tuple[Output, ...] = tuple(m.outputs)
    return (structure_of(m), outputs, tuple(m.parameters), tuple(m.inputs), m.platform)


def fingerprint_of(mechanism: Mechanism) -> str:
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
    if m.small_order != 1:
        content = (*content, m.small_order)  # type: ignore[assignment]
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


def frozen(m: Mechanism) -> Mechanism:
    """Return an immutable snapshot, which later changes of the mechanism do not reach.

    Its tables cannot be written to, and methods that would change it are rejected.
    `with_parameters`, `with_loads` and `with_outputs` give other snapshots; `fingerprint` names its
    content.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> v = m.parameter("v", 5.0)
    >>> before = m.frozen()
    >>> m.set_parameters(v=3)
    >>> before.values["v"], before.is_frozen
    (5.0, True)
    """
    if m.is_frozen:
        return m
    view = extensible(m)
    view.kinematics()
    return _sealed(view, True)


def fingerprint(m: Mechanism) -> str:
    """Return a digest of the content, numbers included; the same in every process.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> m.fingerprint() == Mechanism("m").fingerprint()
    True
    """
    return fingerprint_of(m)


@worded
def with_parameters(m: Mechanism, parameters: Mapping[str, Amount] | None) -> Mechanism:
    """Return a view with other values; the mechanism stays as it is.

    Args:
        parameters: value of each parameter or input; initial values that depend on them follow.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> v = m.parameter("v", 5.0)
    >>> m.set_initial(spin="-v/2")
    >>> m.with_parameters({"v": 3}).initial, m.initial
    ({'spin': -1.5}, {'spin': -2.5})
    """
    if parameters is None or not by_name(parameters, "parameters"):
        return m
    view = copy.copy(m)
    view.values, view.initial = dict(m.values), dict(m.initial)
    view.is_frozen = False
    view.set_parameters(parameters)
    return _sealed(view, m.is_frozen)


@worded
def with_loads(
    m: Mechanism,
    forces: Iterable[Force] = (),
    moments: Iterable[Moment] = (),
    armatures: Mapping[Body, Expr] | None = None,
) -> Mechanism:
    """Return a view on which further loads act; the mechanism stays as it is.

    Args:
        forces: beside its own.
        moments: beside its own.
        armatures: beside its own, by body.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> f = Force("f", m.input("f"), m.x, m.origin, m.ground)
    >>> len(m.with_loads([f]).forces), len(m.forces)
    (1, 0)
    """
    view = m.with_parts(forces=[*m.forces, *forces], moments=[*m.moments, *moments])
    if armatures:
        added = {b: m.armatures.get(b, ZERO) + x for b, x in armatures.items()}
        view.armatures = {**m.armatures, **added}
    return view


@worded
def with_outputs(m: Mechanism, outputs: Iterable[Output]) -> Mechanism:
    """Return a view with other outputs; the mechanism stays as it is.

    Args:
        outputs: in place of its own.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> len(m.with_outputs([Output("t", m.time, "s")]).outputs), len(m.outputs)
    (1, 0)
    """
    return m.with_parts(outputs=outputs)


def with_parts(m: Mechanism, /, **parts: Iterable[object]) -> Mechanism:
    """Return a view with other parts, by the names of its lists; the mechanism stays as it is.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> len(m.with_parts(reports=["a"]).reports), len(m.reports)
    (1, 0)
    """
    for name in parts:
        if name not in _PARTS:
            m.unknown(name, _PARTS, "list")
    view = _copied(m)
    for name in _PARTS:
        setattr(view, name, list(parts.get(name, getattr(m, name))))
    return _sealed(view, m.is_frozen)


def extensible(m: Mechanism) -> Mechanism:
    """Return a mechanism with the same parts and tables of its own, to which bodies can be added.

    The speeds of the parts stay what they are where what is added is welded, and to no body that
    moves freely by the velocity of its mass center.

    >>> from linkwright.mechanism import Mechanism, Weld
    >>> m = Mechanism("m")
    >>> rod = m.body("rod", rotate="z", mass=1, inertia=1)
    >>> more = extensible(m.frozen())
    >>> load = more.body("load", parent=rod, joint=Weld(), mass=2, com=(1, 0, 0), inertia=0)
    >>> list(more.bodies), list(m.bodies), load.com.velocity
    (['rod', 'load'], ['rod'], rod_dot*rod.y)
    """
    view = _copied(m)
    for name in TABLES:
        table = getattr(m, name)
        setattr(view, name, dict(table) if isinstance(table, Mapping) else list(table))
    view._tables_of = view
    return view


def _copied(m: Mechanism) -> Mechanism:
    view = copy.copy(m)
    view._kinematics, view.is_frozen = None, False
    return view


def copy_of(m: Mechanism) -> Mechanism:
    """Return a copy with tables of its own; those of a frozen one cannot change, and are shared.

    It belongs to the mechanism of which it is a copy, and takes no bodies.
    """
    view = object.__new__(type(m))
    view.__dict__.update(m.__dict__)
    for name in (*TABLES, "variables", "files"):
        table = getattr(m, name)
        if isinstance(table, dict | list):
            setattr(view, name, table.copy())
    view._points_of = {body: dict(points) for body, points in m._points_of.items()}
    view.scope = replace(m.scope, mechanism=view)
    return view


def _sealed(m: Mechanism, frozen: bool) -> Mechanism:
    """Let nobody write to the tables any more, if the view is to be frozen."""
    if frozen:
        for name in TABLES:
            table = getattr(m, name)
            setattr(m, name, MappingProxyType(table) if isinstance(table, dict) else table)
            if isinstance(table, list):
                setattr(m, name, tuple(table))
        m.is_frozen = True
    return m
