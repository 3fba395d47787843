"""Speeds that no inertia resists: why a mass matrix is singular, by names.

With M the mass matrix of the tree's speeds and J the constraints J u = 0, accelerations exist just
when no speeds u with J u = 0 have uᵀ M u = 0. Rows and columns are scaled to a unit diagonal first,
so that kilograms and kilogram square meters compare.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from linkwright.mechanism import Mechanism, MechanismError

_SINGULAR = 1e-13  # of the largest resistance
_SHOWN = 6


def unresisted(
    mechanism: Mechanism,
    coordinates: Mapping[str, float] | None = None,
    values: Mapping[str, float] | None = None,
) -> tuple[str, ...]:
    """Return the names of speeds with which nothing that has mass moves; none in a sound mechanism.

    >>> m = Mechanism("m")
    >>> carriage = m.body("carriage", translate="x", mass=0, inertia=0)
    >>> cart = m.body("cart", parent=carriage, translate="x", mass="mc", inertia=0)
    >>> m.defaults(mc=1)
    >>> unresisted(m)
    ('carriage_dot', 'cart_dot')
    """
    from linkwright.equations.numeric_mass import mass_numerically

    known = {**mechanism.values, **(values or {})}
    if any(name not in known for name in (*mechanism.parameters, *mechanism.inputs)):
        return ()
    pose = _pose(mechanism) if coordinates is None else coordinates
    names, mass, jacobian = mass_numerically(mechanism, pose, known)
    if not names or not np.isfinite(mass).all() or not np.isfinite(jacobian).all():
        return ()
    size = np.sqrt(np.maximum(np.diag(mass), 0.0))
    light = size <= 0
    scale = np.where(light, 1.0, 1.0 / np.where(light, 1.0, size))
    mass = mass * np.outer(scale, scale)
    free = _null_space(jacobian * scale)
    if not free.shape[1]:
        return ()
    sizes, ways = np.linalg.eigh(free.T @ mass @ free)
    if sizes[0] > _SINGULAR * max(float(sizes[-1]), 1.0):
        return ()
    way = np.abs(free @ ways[:, 0])
    return tuple(n for n, x in zip(names, way, strict=True) if x > 0.1 * way.max())


def refuse_unresisted(
    mechanism: Mechanism,
    coordinates: Mapping[str, float] | None = None,
    values: Mapping[str, float] | None = None,
) -> None:
    """Reject a mechanism that can move without moving any mass.

    >>> m = Mechanism("m")
    >>> top = m.body("top", rotate="z", mass="ma", inertia=0)
    >>> m.defaults(ma=1)
    >>> refuse_unresisted(m)
    Traceback (most recent call last):
        ...
    linkwright.mechanism.joints.MechanismError: nothing that has mass moves with top_dot, so no \
acceleration can be found; give the bodies that move a mass and, where they turn, an inertia
    """
    found = unresisted(mechanism, coordinates, values)
    if not found:
        return
    shown = ", ".join(found[:_SHOWN]) + (", ..." if len(found) > _SHOWN else "")
    alone = len(found) == 1
    words = f"nothing that has mass moves with {shown}" + ("" if alone else " where they balance")
    raise MechanismError(
        f"{words}, so no acceleration can be found",
        remedy="give the bodies that move a mass and, where they turn, an inertia"
        if alone
        else "these joints move against each other; take one away, or give the bodies between a "
        "mass and an inertia",
    )


def refuse_idle(mechanism: Mechanism, values: Mapping[str, float] | None = None) -> None:
    """Reject a mechanism on which nothing acts and which can move without moving any mass.

    Its accelerations are zero whatever its masses are, so that no run would notice.

    >>> m = Mechanism("m")
    >>> rod = m.body("rod", rotate="z", mass=1, com=("L", 0, 0), inertia=0)
    >>> m.defaults(L=1)
    >>> refuse_idle(m)
    """
    loads = (*mechanism.forces, *mechanism.moments, *mechanism.constraints)
    if not loads and mechanism.gravity_vector.is_zero:
        refuse_unresisted(mechanism, None, values)


def _pose(mechanism: Mechanism) -> dict[str, float]:
    """Return coordinates that no symmetry makes special."""
    found = {name: 0.3 + 0.37 * np.sin(1.7 * k) for k, name in enumerate(mechanism.coordinates)}
    for body in mechanism.bodies.values():
        if body.joint.quaternion:
            e = np.array([found[q.name] for q in body.rotations])
            e /= np.linalg.norm(e)
            found.update(zip((q.name for q in body.rotations), map(float, e), strict=True))
    return {name: float(x) for name, x in found.items()}


def _null_space(matrix: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis, as columns, of what a matrix takes to zero."""
    if not len(matrix):
        return np.eye(matrix.shape[1])
    _, sizes, rows = np.linalg.svd(matrix)
    rank = int((sizes > 1e-12 * max(float(sizes[0]), 1e-300)).sum())
    return np.asarray(rows[rank:].T)
