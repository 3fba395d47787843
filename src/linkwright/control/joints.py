"""The joints that a controller drives, and numbers for each of them.

A joint here is a coordinate whose own rate is an independent speed; a torque (a force, for a
translation) acts on it alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import SupportsFloat, TypeAlias

import numpy as np

from linkwright.algebra import ZERO, Expr
from linkwright.algebra.triples import NOTHING, Triple, cross, held, subtract
from linkwright.blocks import BlockError, Element, checked, joint_of
from linkwright.blocks.places import Places
from linkwright.equations.closure import assemble
from linkwright.equations.tree import tree_of
from linkwright.mechanism import Body, Mechanism

PerJoint: TypeAlias = float | Sequence[float] | Mapping[str, float]
"""One number for all joints, one for each in order, or by the name of the coordinate."""


def driven_joints(
    mechanism: Mechanism, wanted: Iterable[str] | None = None
) -> list[tuple[Expr, Expr]]:
    """Return the coordinates that can be driven, each with its speed.

    Args:
        mechanism: whose joints they are.
        wanted: names of coordinates, or of bodies with one; by default the actuators that the
            mechanism names, else all that can be driven, those left out that follow others by
            constraints.

    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z", mass=1, inertia=1)
    >>> driven_joints(m)
    [(b, b_dot)]
    """
    rates = mechanism.kinematics().rates
    own = {s.symbol for s in mechanism.kinematics().speeds}
    if wanted is None and mechanism.actuators:
        wanted = [q.name for q in mechanism.actuators]
    if wanted is not None:
        chosen = [joint_of(mechanism, name).coordinate for name in wanted]
        for q in chosen:
            if rates[q] not in own:
                raise BlockError(f"the rate of {q} is not a speed of {mechanism.name!r} by itself")
        return [(q, rates[q]) for q in chosen]
    if mechanism.constraints:
        own = set(tree_of(mechanism).speeds)
    several = {q for b in mechanism.bodies.values() if len(b.rotations) > 1 for q in b.rotations}
    states = {s.symbol for s in mechanism.states}
    found = [
        (q, rate)
        for q, rate in rates.items()
        if rate in own and q not in several and q not in states
    ]
    if not found:
        raise BlockError(f"{mechanism.name!r} has no joint that a controller could drive")
    return found


def carrying_joints(mechanism: Mechanism, body: Body) -> list[str]:
    """Return the names of the coordinates that can be driven and that move a body."""
    above = body.ancestors()
    return [q.name for q, _ in driven_joints(mechanism) if joint_of(mechanism, q).body in above]


def motion_rows(
    element: Element,
    joints: Sequence[Expr],
    tip: tuple[Body, Triple],
    places: Places,
    inward: Callable[[Sequence[Expr]], Triple],
    seen: Callable[[Sequence[Expr]], Sequence[Expr]] = tuple,
) -> tuple[tuple[Expr, ...], ...]:
    """Return six rows: how a point of a body moves with the speed of each joint.

    The tip is the body with the point's position in the ground's axes; `inward` gives components
    along the axes of the rows from those, and `seen` puts values in.
    """
    hold, (body, at) = element.intermediate, tip
    columns: list[tuple[Expr, ...]] = []
    for q in joints:
        joint = joint_of(element.mechanism, q)
        parent = joint.body.parent
        if joint.body not in body.ancestors() or parent is None:
            columns.append((ZERO,) * 6)
            continue
        axis = seen(places.outward(parent, seen(joint.axis.components(parent.frame))))
        around = held(hold, inward(axis))
        if not joint.turns:
            columns.append((*around, *NOTHING))
            continue
        lever = subtract(at, seen(places.of(joint.body).origin))
        along = inward(held(hold, cross(held(hold, axis), held(hold, lever))))
        columns.append((*held(hold, along), *around))
    return tuple(zip(*columns, strict=True))


def _start(mechanism: Mechanism) -> Mapping[str, float]:
    """Return where coordinates start; those of actuators where the loops are closed."""
    if not (mechanism.actuators and mechanism.constraints):
        return mechanism.initial
    return assemble(mechanism).coordinates


def numbers(
    given: PerJoint,
    names: Sequence[str],
    what: str,
    *,
    least: float = -math.inf,
    others: Sequence[float] | None = None,
) -> list[float]:
    """Return a number for each joint; those that are not named have `others`, or zero.

    >>> numbers({"b": 2}, ["a", "b"], "kp"), numbers(3, ["a", "b"], "kp")
    ([0.0, 2.0], [3.0, 3.0])
    """
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if isinstance(given, Mapping):
        unknown = sorted(set(given) - set(names))
        if unknown:
            raise BlockError(f"{what} is given for {', '.join(unknown)}, which is not driven")
        rest = [0.0] * len(names) if others is None else others
        found = [given.get(name, x) for name, x in zip(names, rest, strict=True)]
    elif isinstance(given, SupportsFloat):
        found = [float(given)] * len(names)
    elif not _is_list(given):
        raise BlockError(f"{what} is {given!r}", remedy="give a number, or one for each joint")
    elif len(given) != len(names):
        raise BlockError(f"{what} has {len(given)} numbers for {len(names)} joints")
    else:
        found = list(given)
    named = given if isinstance(given, Mapping) else names
    rows = zip(found, names, strict=True)
    return [
        checked(value, f"{what} of {name!r}", least=least) if name in named else value
        for value, name in rows
    ]


def _is_list(given: object) -> bool:
    return hasattr(given, "__len__") and not isinstance(given, str)


def gains(
    element: Element, name: str, given: PerJoint, joints: Sequence[str], sign: str = ""
) -> list[Expr]:
    """Return parameters of an element, none below zero: one for all joints, or one for each."""
    values = numbers(given, joints, name, least=0.0)
    if isinstance(given, SupportsFloat) and not np.ndim(given):
        return [element.parameter(name, float(given), lower=0.0, sign=sign)] * len(joints)
    return [
        element.parameter(f"{name}_{joint.replace('.', '_')}", value, lower=0.0, sign=sign)
        for joint, value in zip(joints, values, strict=True)
    ]


class JointElement(Element):
    """An element that measures joints: `q` and `u`, the mechanism's own unless a sensor is
    connected; base of observers and of the joint controllers.

    Args:
        name: of the element.
        mechanism: what is measured.
        joints: names of the coordinates; by default the actuators, else all that can be driven.
    """

    def __init__(self, name: str, mechanism: object, joints: Iterable[str] | None) -> None:
        super().__init__(name, mechanism)
        pairs = driven_joints(self.mechanism, joints)
        self.joints = [q for q, _ in pairs]
        self.names_of_joints = [q.name for q in self.joints]
        n = len(pairs)
        self.q = self.input_vector("q", n, self.joints, doc="measured coordinates")
        self.u = self.input_vector("u", n, [u for _, u in pairs], doc="measured speeds")

    def by_joint(self, values: Sequence[Expr]) -> dict[Expr, Expr]:
        """Return values of the joints by coordinate."""
        return dict(zip(self.joints, values, strict=True))


class JointController(JointElement):
    """An element that measures joints and drives them; base of the joint controllers.

    Its ports are vectors over the joints: `q` and `u`, what is measured (the mechanism's own
    coordinates and speeds unless a sensor is connected), and `target`, `target_rate`, what is
    wanted; the target is where the mechanism starts unless another is given or connected.

    Args:
        name: of the element.
        mechanism: what is driven.
        joints: names of the coordinates; by default the actuators, else all that can be driven.
        target: where the joints should be, rad or m.

    >>> import linkwright as lw
    >>> servo = lw.control.PD(lw.load("pendulum"), kp=10, kd=1)
    >>> isinstance(servo, JointController)
    True
    """

    def __init__(
        self,
        name: str,
        mechanism: object,
        joints: Iterable[str] | None,
        target: PerJoint | None,
    ) -> None:
        super().__init__(name, mechanism, joints)
        start = _start(self.mechanism)
        wanted = numbers(
            {} if target is None else target,
            self.names_of_joints,
            "target",
            others=[start.get(n, 0.0) for n in self.names_of_joints],
        )
        n = len(self.joints)
        self.target = self.input_vector("target", n, wanted, doc="wanted coordinates")
        self.target_rate = self.input_vector("target_rate", n, doc="wanted speeds")
