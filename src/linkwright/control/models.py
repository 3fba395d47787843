"""What controllers know of the mechanism: its inverse dynamics as expressions.

The forces that a motion takes are one recursion over the bodies (RNEA), put
into the controller's own block as statements, so that what it shares with the equations of motion
is computed once where both run at the same instant.
"""

from __future__ import annotations

from collections.abc import Mapping

from linkwright.algebra import ZERO, Expr, as_expr
from linkwright.blocks import BlockError, Element
from linkwright.equations.kernels import quick_inverse
from linkwright.equations.tree import tree_of


def inverse_dynamics(
    element: Element,
    q: Mapping[Expr, Expr],
    u: Mapping[Expr, Expr] | None = None,
    a: Mapping[Expr, Expr] | None = None,
    *,
    values: Mapping[str, float] | None = None,
) -> dict[Expr, Expr]:
    """Return the torque on each joint that accelerations take, by coordinate.

    Args:
        element: that computes them; its mechanism is the model.
        q: coordinates as they are measured or wanted; others are the mechanism's own.
        u: their speeds, by coordinate; others are zero.
        a: their accelerations, by coordinate; others are zero.
        values: numbers of parameters where the controller's model differs from the mechanism.

    >>> import linkwright as lw
    >>> servo = lw.control.PD(lw.load("pendulum"), kp=10, kd=1)
    >>> [joint.name for joint in inverse_dynamics(servo, {})]
    ['phi']
    """
    m = element.mechanism
    tree = tree_of(m)
    program = quick_inverse(tree)
    rates = tree.kinematics.rates
    place = {rates[x]: x for x in tree.coordinates}
    free = [s for s in tree.speeds if s not in place]
    if free:
        raise BlockError(
            f"{', '.join(s.name for s in free)} of {m.name!r} belongs to no joint of its own, so "
            "its inverse dynamics cannot be given by joint",
            remedy="use a PD controller for the joints that are driven",
        )
    tied = sorted(x.name for x in q if x not in place.values() or rates[x] not in tree.speeds)
    if tied:
        raise BlockError(
            f"{', '.join(tied)} of {m.name!r} follows other joints and takes no torque by itself",
            remedy="leave it out of joints=...",
        )
    unknown = sorted(set(values or {}) - set(m.parameters))
    if unknown:
        raise BlockError(f"{m.name!r} has no parameter {', '.join(unknown)}")
    arguments: dict[str, list[Expr]] = {}
    for port in program.inputs:
        if port.name == "q":
            arguments["q"] = [q.get(x, x) for x in port.entries]
        elif port.name == "u":
            arguments["u"] = [(u or {}).get(place[x], ZERO) for x in port.entries]
        elif port.name == "a":
            arguments["a"] = [(a or {}).get(place[x], ZERO) for x in tree.speeds]
        elif port.name == "p" and values:
            arguments["p"] = [as_expr(values.get(x.name, x)) for x in port.entries]
    found = element.embed(program, arguments)["tau"]
    return {place[s]: tau for s, tau in zip(tree.speeds, found, strict=True)}
