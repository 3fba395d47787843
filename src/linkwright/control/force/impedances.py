"""Stiffness, damping and mass that a tool shows: numbers for six axes, or whole matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from linkwright.algebra import ZERO, Expr, as_expr
from linkwright.blocks import BlockError, Element
from linkwright.blocks.places import AXES
from linkwright.control.force.ports import PerAxis, per_axis

Six: TypeAlias = PerAxis | Sequence[Sequence[float]]
"""Numbers for the six axes, or a symmetric matrix of six rows."""

UNITS = {"K": ("N/m", "N*m/rad"), "D": ("N*s/m", "N*m*s/rad"), "M": ("kg", "kg*m^2")}


def six_by_six(
    element: Element, name: str, given: Six, *, above: bool = False, whole: bool = True
) -> list[list[Expr]]:
    """Return the matrix of a stiffness K, a damping D or a mass M along the flange's axes.

    Numbers by axis become parameters of the element, such as `K_z`; the entries of a matrix stay
    what they are.
    """
    what = f"{name} of {element.name!r}"
    if not isinstance(given, Mapping | str) and _depth(given, what) == 2:
        if not whole:
            raise BlockError(
                f"{what} is a matrix, and the axes of this law do not mix",
                remedy="give a number, six, or numbers by axis",
            )
        return _matrix(np.asarray(given), what, above)
    values = per_axis(cast(PerAxis, given), what, least=0.0)
    none = [axis for axis, x in zip(AXES, values, strict=True) if not x]
    if above and none:
        raise BlockError(
            f"{what} is zero for {' '.join(none)}", remedy="give numbers above zero for all axes"
        )
    along, about = UNITS[name]
    rows = [[ZERO] * 6 for _ in AXES]
    for k, (axis, x) in enumerate(zip(AXES, values, strict=True)):
        unit, sign = (along if k < 3 else about), ("positive" if above else "")
        rows[k][k] = element.parameter(f"{name}_{axis}", x, unit=unit, sign=sign, lower=0.0)
    return rows


def _depth(given: Any, what: str) -> int:
    try:
        return np.ndim(given)
    except ValueError:
        raise BlockError(
            f"{what} has rows of different lengths", remedy="give 6 rows of 6"
        ) from None


def _matrix(given: np.ndarray, what: str, above: bool) -> list[list[Expr]]:
    if given.shape != (6, 6):
        raise BlockError(f"{what} is a matrix of shape {given.shape}", remedy="give 6 rows of 6")
    if not np.issubdtype(given.dtype, np.number) or not np.isfinite(given.astype(float)).all():
        raise BlockError(f"{what} has entries that are not numbers")
    matrix = given.astype(float)
    scale = np.abs(matrix).max() or 1.0
    if np.abs(matrix - matrix.T).max() > 1e-12 * scale:
        raise BlockError(
            f"{what} is not symmetric: it would give energy away on closed ways",
            remedy="give (A + A.T)/2, or check the order of its axes: x y z rx ry rz",
        )
    lowest = float(np.linalg.eigvalsh(matrix).min())
    if lowest < -1e-12 * scale or (above and lowest <= 1e-12 * scale):
        raise BlockError(
            f"{what} is {'indefinite' if lowest < 0 else 'singular'}: its smallest eigenvalue is "
            f"{lowest:g}",
            remedy=f"give a matrix with eigenvalues {'above' if above else 'not below'} zero",
        )
    return [[as_expr(float(x)) for x in row] for row in matrix]
