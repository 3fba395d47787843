"""Tables as compiled backends see them.

A table is searched for its piece and evaluated by Horner's rule in double precision, whatever the
kernel's type; `linkwright.algebra.tables` defines the pieces. Trailing powers that no piece has are
left out, which changes no result; the first power stays, so that nan gives nan.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwright.algebra.tables import Floats, Lookup1D, Lookup2D


@dataclass(frozen=True, slots=True)
class Lookup:
    """The numbers of a table: for each axis its breakpoints and origins, then the coefficients."""

    points: tuple[Floats, ...]
    origins: tuple[Floats, ...]
    coefficients: Floats

    @property
    def powers(self) -> tuple[int, ...]:
        """The number of coefficients along each axis."""
        return self.coefficients.shape[len(self.points) :]


def lookup(table: Lookup1D | Lookup2D) -> Lookup:
    """Return the numbers of a table, without powers that no piece has.

    >>> lookup(Lookup1D(x=[0, 1], y=[2, 3])).coefficients.tolist()
    [[2.0, 0.0], [2.0, 1.0], [3.0, 0.0]]
    """
    c = table.coefficients
    if isinstance(table, Lookup1D):
        kept = c[:, : _kept(c)]
        return Lookup((table.breakpoints,), (table.origins,), kept)
    rows, columns = _kept(np.moveaxis(c, 2, -1)), _kept(c)
    return Lookup(table.breakpoints, table.origins, c[:, :, :rows, :columns])


def _kept(coefficients: Floats) -> int:
    """Return how many powers, along the last axis, have to be evaluated."""
    used = np.flatnonzero(coefficients.any(axis=tuple(range(coefficients.ndim - 1))))
    return max(2, int(used[-1]) + 1 if len(used) else 0)
