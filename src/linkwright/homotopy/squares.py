"""As many equations as unknowns: what is redundant is mixed in, what is idle is held.

Relations of overconstrained loops are more than their rank; the independent ones each get a random
multiple of every other one, which keeps all solutions. Unknowns that move freely without changing
any feature (a strut that twists about its own axis) are held at a value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import qr

from linkwright.algebra import as_expr
from linkwright.base.cache import entry_key
from linkwright.base.errors import Error
from linkwright.base.fingerprint import fingerprint
from linkwright.homotopy.family import IMAGINARY, Complex, Family, features, slopes
from linkwright.homotopy.start_sets import made_up, stored_arrays

HELD = 0.40625 + 0.28125j
"""The value at which an idle unknown is held."""
_SEED = 17
_RANK = 1e-8
_TRIALS = 4


class MobileError(Error):
    """Equations whose solutions are never isolated."""

    def __init__(self, what: str, remedy: str | None = None, *, dimension: int = 1) -> None:
        super().__init__(what, remedy=remedy)
        self.dimension = dimension


@dataclass(frozen=True, slots=True, eq=False)
class Square:
    """A family with as many equations as unknowns, made of another one."""

    family: Family  # with the held unknowns as its last parameters
    kept: tuple[int, ...]  # places of the unknowns that are left
    held: tuple[int, ...]  # places of those that are held

    def parameters(self, p: Complex) -> Complex:
        """Return the parameters of the new family for those of the old one."""
        return np.append(p, np.full(len(self.held), HELD))

    def unknowns(self, z: Complex) -> Complex:
        """Return all unknowns, one row a solution, for those that are left."""
        whole = np.full((len(z), len(self.kept) + len(self.held)), HELD)
        whole[:, list(self.kept)] = z
        return whole


def squared(family: Family) -> Square:
    """Return a family with as many equations as unknowns and the same solutions.

    >>> from linkwright.algebra import symbol
    >>> x, y, p = symbol("x", "coordinate"), symbol("y", "coordinate"), symbol("p")
    >>> made = squared(Family("twice", (x, y), (p,), (x**2 - p, 2 * x**2 - 2 * p), (x,)))
    >>> made.family.size, made.held
    (1, (1,))
    """
    rows, held = _structure(family)
    kept = tuple(k for k in range(family.size) if k not in held)
    rest = [k for k in range(len(family.equations)) if k not in rows]
    rng = np.random.default_rng(_SEED)
    equations = []
    for row in rows:
        mixed = family.equations[row]
        for other in rest:
            real, imaginary = (as_expr(float(np.round(x, 6))) for x in rng.uniform(-1, 1, 2))
            mixed = mixed + (real + imaginary * IMAGINARY) * family.equations[other]
        equations.append(mixed)
    made = replace(
        family,
        unknowns=tuple(family.unknowns[k] for k in kept),
        parameters=(*family.parameters, *(family.unknowns[k] for k in held)),
        equations=tuple(equations),
    )
    return Square(made, kept, tuple(held))


def _structure(family: Family) -> tuple[list[int], list[int]]:
    """Return independent equations and idle unknowns, from disk where they are known."""
    key = entry_key(f"{fingerprint('starts')} {family.fingerprint()}".encode(), "square")

    def make() -> dict[str, npt.NDArray[Any]]:
        rows, held = _found(family)
        return {"rows": np.array(rows, int), "held": np.array(held, int)}

    data = stored_arrays(key, make)
    return data["rows"].tolist(), data["held"].tolist()


def _found(family: Family) -> tuple[list[int], list[int]]:
    rng = np.random.default_rng(_SEED)
    tried = [_trial(family, *made_up(family, rng, anywhere=True)) for _ in range(_TRIALS)]
    z, p, by_z, right, rank = max(tried, key=lambda x: x[4])  # some may be special places
    idle = family.size - rank
    if idle:
        step = 1e-6
        for motion in right[rank:].conj():
            change = features(family, z + step * motion, p) - features(family, z - step * motion, p)
            if np.abs(change).max() > 1e-3 * step:
                raise MobileError(
                    f"with these coordinates locked {family.name!r} still moves in {idle} "
                    f"way{'s' if idle > 1 else ''}",
                    remedy="name more actuators, or lock more coordinates",
                    dimension=idle,
                )
    columns = _pivots(by_z)
    rows = _pivots(by_z.T)
    return sorted(rows[:rank]), sorted(columns[rank:])


def _trial(
    family: Family, z: Complex, p: Complex
) -> tuple[Complex, Complex, Complex, Complex, int]:
    """Return a place with the derivatives there, their right singular vectors and their rank."""
    _, by_z, _ = slopes(family, z, p)
    _, sizes, right = np.linalg.svd(by_z)
    return z, p, by_z, right, int(np.sum(sizes > _RANK * sizes[0]))


def _pivots(matrix: Complex) -> list[int]:
    order: npt.NDArray[np.intp] = qr(matrix, pivoting=True, mode="r")[1]
    return [int(k) for k in order]
