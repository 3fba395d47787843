"""Masses and inertias that no rigid body can have, and joints that nothing resists.

The principal moments of a body are sums of squares over its mass, so none is negative and none is
larger than the sum of the other two. Published data sometimes break that (the links of the PUMA
560); such a mechanism is simulated all the same, but the analyst should know. Nothing is said of a
body that only ever turns about one of its axes and has a moment about that axis alone, as is usual
in the plane.
"""

from __future__ import annotations

from linkwright.algebra import ZERO, evaluate_all
from linkwright.mechanism.mechanism import Mechanism
from linkwright.mechanism.parts import Body
from linkwright.mechanism.rigidity import Finding, mass_findings


def mechanism_findings(mechanism: Mechanism) -> list[Finding]:
    """Return what speaks against the masses and inertias of a mechanism.

    Args:
        mechanism: with values for its parameters; those without count as 1.

    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z", mass=0, inertia=0)
    >>> [(found.name, found.severity) for found in mechanism_findings(m)]
    [('massless chain', 'error')]
    """
    found: list[Finding] = []
    for body in mechanism.bodies.values():
        if body.parent is None:
            continue
        mass, *tensor = _numbers(mechanism, body)
        found += mass_findings(
            body.name, mass, tensor, one_moment_acts=_only_that_moment_acts(body)
        )
    return found + _massless(mechanism)


def implausible(mechanism: Mechanism) -> list[str]:
    """Return a sentence for each body whose mass or inertia is not that of a rigid body.

    Args:
        mechanism: with values for its parameters; those without count as 1.

    >>> m = Mechanism("m")
    >>> thin = m.body("thin", rotate="z", mass=1, inertia=(0.1, 0.1, 0.2))
    >>> odd = m.body("odd", rotate="z", mass=1, inertia=(0.1, 0.1, 0.3))
    >>> implausible(m)
    ['odd: its largest moment of inertia, 0.3, exceeds the sum of the other two, 0.2']
    """
    return [str(found) for found in mechanism_findings(mechanism)]


def _numbers(mechanism: Mechanism, body: Body) -> list[float]:
    values = {x: mechanism.values.get(name, 1.0) for name, x in mechanism.parameters.items()}
    inertia = body.inertia
    return [float(x) for x in evaluate_all([inertia.mass, *inertia.tensor], values)]


def _massless(mechanism: Mechanism) -> list[Finding]:
    """Return the joints that move nothing but bodies without mass and inertia."""
    heavy: set[Body] = set()
    for body in mechanism.bodies.values():
        if any(_numbers(mechanism, body)):
            heavy.update(body.ancestors())
    return [
        Finding(
            "massless chain",
            "error",
            body.name,
            "it moves, but neither it nor what it carries has mass",
            "give it a small mass",
        )
        for body in mechanism.bodies.values()
        if body not in heavy and body.coordinates and body not in mechanism.armatures
        if body.parent is not None and not mechanism.constraints
    ]


def _only_that_moment_acts(body: Body) -> bool:
    """Whether one moment is given, about an axis to which all rotations are parallel."""
    given = [k for k, x in enumerate(body.inertia.tensor) if x is not ZERO]
    if len(given) != 1 or given[0] > 2:
        return False
    axis = body.frame.axes[given[0]]
    return all(
        len(b.rotations) == 1 and (b.frame.spins[0][1] ^ axis).is_zero
        for b in body.ancestors()
        if b.rotations
    )
