"""Masses and inertias that no rigid body can have.

The principal moments of a body are sums of squares over its mass, so none is negative and none is
larger than the sum of the other two. Published data sometimes break that (the links of the PUMA
560); such a mechanism is simulated all the same, but the analyst should know. Nothing is said of a
body that only ever turns about one of its axes and has a moment about that axis alone, as is usual
in the plane.
"""

from __future__ import annotations

import numpy as np

from linkwright.algebra import ZERO, evaluate_all
from linkwright.mechanism.mechanism import Mechanism
from linkwright.mechanism.parts import Body

_SLACK = 1e-9


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
    found = [_words(mechanism, body) for body in mechanism.bodies.values()]
    return [
        f"{body}: {words}" for body, words in zip(mechanism.bodies, found, strict=True) if words
    ]


def _words(mechanism: Mechanism, body: Body) -> str:
    inertia = body.inertia
    values = {x: mechanism.values.get(name, 1.0) for name, x in mechanism.parameters.items()}
    mass, xx, yy, zz, xy, yz, zx = evaluate_all([inertia.mass, *inertia.tensor], values)
    if mass < 0:
        return f"its mass, {mass:g}, is negative"
    low, middle, high = np.linalg.eigvalsh([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
    if mass == 0 and high > 0:
        return "it has moments of inertia but no mass"
    if low < -_SLACK * high:
        return f"its smallest moment of inertia, {low:g}, is negative"
    if high > (low + middle) * (1 + _SLACK) and not _only_that_moment_acts(body):
        return (
            f"its largest moment of inertia, {high:g}, exceeds the sum of the other two, "
            f"{low + middle:g}"
        )
    return ""


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
