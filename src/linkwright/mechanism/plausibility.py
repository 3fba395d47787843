"""Masses and inertias that no rigid body can have, and joints that nothing resists.

The principal moments of a body are sums of squares over its mass, so none is negative and none is
larger than the sum of the other two. Published data sometimes break that (the links of the PUMA
560); such a mechanism is simulated all the same, but the analyst should know. Nothing is said of a
body that only ever turns about one of its axes and has a moment about that axis alone, as is usual
in the plane.

A run of negative or infinite masses and moments gives numbers that mean nothing, so `refuse_unreal`
stands at the door of every run, with the values that the run has, and `refuse_negative` where
joints that move no mass do no harm: at equilibria and at what a robot computes of itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import ZERO, Expr, evaluate_all, free_symbols
from linkwright.mechanism.joints import MechanismError
from linkwright.mechanism.mechanism import Mechanism
from linkwright.mechanism.parts import Body
from linkwright.mechanism.rigidity import SLACK, TINY, Finding, mass_findings

Array: TypeAlias = NDArray[Any]


def mechanism_findings(mechanism: Mechanism) -> list[Finding]:
    """Return what speaks against the masses and inertias of a mechanism.

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

    >>> m = Mechanism("m")
    >>> thin = m.body("thin", rotate="z", mass=1, inertia=(0.1, 0.1, 0.2))
    >>> odd = m.body("odd", rotate="z", mass=1, inertia=(0.1, 0.1, 0.3))
    >>> implausible(m)
    ['odd: its largest moment of inertia, 0.3 kg*m^2, exceeds the sum of the other two, 0.2 kg*m^2']
    """
    return [str(found) for found in mechanism_findings(mechanism)]


def refuse_unreal(mechanism: Mechanism, values: Mapping[str, ArrayLike] | None = None) -> None:
    """Reject masses and inertias that are negative or not finite, and joints that move none.

    >>> m = Mechanism("m")
    >>> arm = m.body("arm", rotate="z", mass="2*m1", inertia=1)
    >>> m.defaults(m1=1)
    >>> refuse_unreal(m, {"m1": [1, 2, -3]})
    Traceback (most recent call last):
        ...
    linkwright.mechanism.joints.MechanismError: arm: its mass, -6 kg, is negative (run 2); it \
comes from m1 = -3
    """
    heavy = _moved(mechanism, values)
    if heavy is not None:
        _refuse_massless(mechanism, heavy)


def refuse_negative(mechanism: Mechanism, values: Mapping[str, ArrayLike] | None = None) -> None:
    """Reject masses and inertias that are negative or not finite.

    >>> m = Mechanism("m")
    >>> arm = m.body("arm", rotate="z", mass=-2, inertia=1)
    >>> refuse_negative(m)
    Traceback (most recent call last):
        ...
    linkwright.mechanism.joints.MechanismError: arm: its mass, -2 kg, is negative; give it a \
positive mass and inertia
    """
    _moved(mechanism, values)


def _moved(
    mechanism: Mechanism, values: Mapping[str, ArrayLike] | None
) -> dict[Body, Array] | None:
    """Return in which runs each body moves mass, None where values are missing; reject the rest."""
    given = {**mechanism.values, **(values or {})}
    known = {
        x: np.asarray(given[name], dtype=float)
        for name, x in mechanism.parameters.items()
        if name in given
    }
    heavy: dict[Body, Array] = {}
    for body in mechanism.bodies.values():
        inertia = body.inertia
        parts = [inertia.mass, *inertia.tensor, *inertia.center]
        parts += [c for _, c in body.offset.terms]
        used = free_symbols(*parts)
        if not known.keys() >= set(used):
            return None  # a parameter without a value is told of where the run needs it
        found = evaluate_all(parts, known)
        count = max(np.size(x) for x in found)
        rows = np.array([np.broadcast_to(x, (count,)) for x in found], dtype=float).T
        for run in np.flatnonzero(_is_unreal(rows))[:1]:
            where = "" if count == 1 else f" (run {run})"
            raise MechanismError(
                f"{_why(body, rows[run])}{where}", remedy=_origin(used, known, run)
            )
        weighs = rows[:, :7].any(axis=1)
        for above in body.ancestors():
            heavy[above] = heavy.get(above, np.zeros(1, bool)) | weighs
    return heavy


def _is_unreal(rows: Array) -> NDArray[np.bool_]:
    """Return which rows of mass, moments and places are negative or not finite."""
    finite = np.asarray(np.isfinite(rows).all(axis=1))
    mass, xx, yy, zz, xy, yz, zx = np.where(finite[:, None], rows[:, :7], 0.0).T
    matrices = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]]).transpose(2, 0, 1)
    sizes = np.linalg.eigvalsh(matrices)
    slack = SLACK * np.maximum(np.abs(sizes).max(axis=1), TINY * np.abs(mass))
    unreal: NDArray[np.bool_] = ~finite | (mass < 0) | (sizes[:, 0] < -slack)
    return unreal


def _why(body: Body, row: Array) -> str:
    """Return what is wrong with a body that cannot be."""
    mass, *tensor = (float(x) for x in row[:7])
    for found in mass_findings(body.name, mass, tensor):
        if found.severity == "error":
            return str(found)
    what = "mass center" if not np.isfinite(row[7:10]).all() else "place in its parent"
    return f"{body.name}: its {what} is not finite"


def _origin(used: Iterable[Expr], known: Mapping[Expr, Array], run: int) -> str:
    """Return which values of parameters a number comes from."""
    told = [f"{x.name} = {np.ravel(known[x])[run % np.size(known[x])]:g}" for x in used]
    return f"it comes from {', '.join(told)}" if told else "give it a positive mass and inertia"


def _refuse_massless(mechanism: Mechanism, heavy: Mapping[Body, Array]) -> None:
    """Reject joints that move nothing but bodies without mass, where nothing else holds them."""
    if mechanism.constraints:
        return
    for body in mechanism.bodies.values():
        if body.coordinates and body not in mechanism.armatures and not heavy[body].all():
            lanes = heavy[body]
            where = "" if len(lanes) == 1 else f" (run {int(np.flatnonzero(~lanes)[0])})"
            raise MechanismError(
                f"{body.name}: it moves, but neither it nor what it carries has mass{where}, so no "
                "acceleration can be found",
                remedy="give it a small mass",
            )


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
