"""Servos: PD control of joints, with gravity compensation, feedforward and saturation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from linkwright.algebra import Expr, maximum, minimum
from linkwright.blocks import Element
from linkwright.control.joints import JointController, PerJoint, driven_joints, gains, numbers
from linkwright.control.models import inverse_dynamics


def saturate(value: Expr, low: Expr | float, high: Expr | float) -> Expr:
    """Return a value kept between two bounds.

    Args:
        value: what is limited.
        low: the lower bound.
        high: the upper bound.

    >>> from linkwright.algebra import symbol
    >>> saturate(symbol("u"), -1, 1)
    max(-1, min(1, u))
    """
    return maximum(low, minimum(high, value))


def bounded(
    element: Element, efforts: Sequence[Expr], limit: PerJoint | None, joints: Sequence[str]
) -> list[Expr]:
    """Return efforts of joints within limits, parameters of an element; others have no limit."""
    if limit is None:
        return list(efforts)
    numbers(limit, joints, "limit", least=0.0)  # which knows the names
    named = [n for n in joints if n in limit] if isinstance(limit, Mapping) else joints
    bounds = dict(zip(named, gains(element, "limit", limit, named), strict=True))
    return [
        saturate(x, -bounds[n], bounds[n]) if n in bounds else x
        for n, x in zip(joints, efforts, strict=True)
    ]


class PD(JointController):
    """Proportional and derivative control of joints, tau = kp (target - q) + kd (rate - u).

    Args:
        mechanism: what is driven; it measures and drives joints of it.
        kp: stiffness, N*m/rad or N/m: for all joints, for each, or by coordinate.
        kd: damping, N*m*s/rad or N*s/m.
        joints: names of the coordinates; all that can be driven by default.
        target: where they should be; where the mechanism starts by default.
        gravity: add what holds the joints against gravity where they are.
        feedforward: add torques that are given at the port `feedforward`.
        limit: largest torque or force of each joint.
        name: of the element.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("pendulum")
    >>> rod = m.body("rod", rotate="z", mass=1, com=(1, 0, 0), inertia=0)
    >>> PD(m, kp=20, kd=5, target=1.0)
    PD(pd: q, u, target, target_rate -> tau_rod)
    """

    def __init__(
        self,
        mechanism: Any,
        kp: PerJoint,
        kd: PerJoint = 0.0,
        *,
        joints: Iterable[str] | None = None,
        target: PerJoint | None = None,
        gravity: bool = False,
        feedforward: bool = False,
        limit: PerJoint | None = None,
        name: str = "pd",
    ) -> None:
        super().__init__(name, mechanism, joints, target)
        stiff = gains(self, "kp", kp, self.names_of_joints)
        damp = gains(self, "kd", kd, self.names_of_joints)
        rows = zip(stiff, damp, self.q, self.u, self.target, self.target_rate, strict=True)
        tau = [k * (r - q) + d * (v - u) for k, d, q, u, r, v in rows]
        if gravity:
            held = holding_torques(self, self.q)
            tau = [x + held[q] for x, q in zip(tau, self.joints, strict=True)]
        if feedforward:
            more = self.input_vector("feedforward", len(tau), doc="torques to be added")
            tau = [x + y for x, y in zip(tau, more, strict=True)]
        self.efforts("tau", self.joints, bounded(self, tau, limit, self.names_of_joints))


class GravityCompensation(Element):
    """Torques that hold joints against gravity, springs and other loads where they are.

    Args:
        mechanism: what is held.
        joints: names of the coordinates; all that can be driven by default.
        values: numbers of the mechanism's parameters as the controller believes them to be.
        name: of the element.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("pendulum")
    >>> rod = m.body("rod", rotate="z", mass=1, com=(1, 0, 0), inertia=0)
    >>> m.gravity(along="-y")
    >>> GravityCompensation(m)
    GravityCompensation(gravity: q -> tau_rod)
    """

    def __init__(
        self,
        mechanism: Any,
        *,
        joints: Iterable[str] | None = None,
        values: dict[str, float] | None = None,
        name: str = "gravity",
    ) -> None:
        super().__init__(name, mechanism)
        chosen = [q for q, _ in driven_joints(self.mechanism, joints)]
        measured = self.input_vector("q", len(chosen), chosen, doc="measured coordinates")
        held = holding_torques(self, measured, chosen, values)
        self.efforts("tau", chosen, [held[q] for q in chosen])


def holding_torques(
    element: Element,
    measured: Sequence[Expr],
    joints: Sequence[Expr] | None = None,
    values: dict[str, float] | None = None,
) -> dict[Expr, Expr]:
    """Return the torque on each joint with which the mechanism stays where it is."""
    if joints is None:
        assert isinstance(element, JointController)
        joints = element.joints
    return inverse_dynamics(element, dict(zip(joints, measured, strict=True)), values=values)
