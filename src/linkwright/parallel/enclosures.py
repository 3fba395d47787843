"""Enclosures: numbers with a rigorous bound on what is not known of them, many boxes at once.

A form is c + l1 e1 + l2 e2 + r with |e1|, |e2| <= 1 and |r| <= radius. Where intervals forget that
two numbers move together, forms remember it, so that what is left over is of second order (affine
arithmetic: Stolfi and de Figueiredo, 1997; Taylor models of order one). A form without slopes is an
interval. Rounding errors go into the radius: sums, products, quotients and roots of doubles are
rounded to nearest by the processor (IEEE 754), and nothing here trusts a library's sine. Sine and
cosine come from their Taylor series after a reduction by multiples of pi/2 that is itself done in
forms (Moore, Kearfott and Cloud, *Introduction to Interval Analysis*, 2009; the reduction is that
of Cody and Waite).

Products with an approximate inverse are computed by the machine's own matrix product and bounded by
the classical estimate of its rounding (Higham, *Accuracy and Stability of Numerical Algorithms*,
section 3.5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import DomainError
from linkwright.program import Code
from linkwright.program.interpret import execute

Array = NDArray[np.float64]

UNIT = 2.0**-52
SLACK = 1.0 + 1e-12
"""For the rounding of sums of less than a thousand positive terms."""
_TINY = 1e-300
# pi/2 in three parts; the first two have few bits, so that whole multiples of them are exact
_FIRST = 1.570796325802803
_SECOND = 9.920935791635221e-10
_THIRD, _LEFT = 5.170182981794106e-19, 2.5e-34
_TURNS = 2.0**19
_TERMS = 11


@dataclass(slots=True)
class AffineForm:
    """Forms of many boxes; a member that is a number is the same in all of them."""

    middle: Any  # the value at the middle
    first: Any = 0.0  # what it changes by with the first parameter
    second: Any = 0.0  # what it changes by with the second
    radius: Any = 0.0  # bound on what is left over

    @property
    def swing(self) -> Any:
        """How far it may be from the middle at most."""
        return (np.abs(self.first) + np.abs(self.second) + self.radius) * SLACK


def forms_of(code: Code, inputs: Sequence[AffineForm]) -> list[AffineForm]:
    """Return forms that hold the outputs of a lowered Program, entry by entry."""
    return execute(code, inputs, form_arithmetic)


def form_arithmetic(op: str, data: Any, args: list[AffineForm]) -> AffineForm:
    """Return the form of one instruction; one that has no rule is rejected by name."""
    if op == "const":
        return AffineForm(float(data))
    rule = _RULES.get(op)
    if rule is None:
        raise DomainError(
            f"a proof has no rule for {op!r}",
            remedy="it needs relations of sums, products, quotients, roots, sines and cosines",
        )
    found: AffineForm = rule(*args)
    return found


def _is_constant(a: AffineForm) -> bool:
    return isinstance(a.first, float) and isinstance(a.radius, float)


def _add(a: AffineForm, b: AffineForm) -> AffineForm:
    middle, first, second = a.middle + b.middle, a.first + b.first, a.second + b.second
    lost = UNIT * (np.abs(middle) + np.abs(first) + np.abs(second))
    return AffineForm(middle, first, second, (a.radius + b.radius + lost) * SLACK)


def _negative(a: AffineForm) -> AffineForm:
    return AffineForm(-a.middle, -a.first, -a.second, a.radius)


def _subtract(a: AffineForm, b: AffineForm) -> AffineForm:
    return _add(a, _negative(b))


def _multiply(a: AffineForm, b: AffineForm) -> AffineForm:
    if _is_constant(b):
        a, b = b, a
    if _is_constant(a) and a.first == 0.0 and a.second == 0.0 and a.radius == 0.0:
        k = a.middle
        middle, first, second = k * b.middle, k * b.first, k * b.second
        lost = UNIT * (np.abs(middle) + np.abs(first) + np.abs(second)) + _TINY
        return AffineForm(middle, first, second, (np.abs(k) * b.radius + lost) * SLACK)
    middle = a.middle * b.middle
    first = a.middle * b.first + a.first * b.middle
    second = a.middle * b.second + a.second * b.middle
    size_a, size_b = np.abs(a.middle), np.abs(b.middle)
    moved_a = np.abs(a.first) + np.abs(a.second)
    moved_b = np.abs(b.first) + np.abs(b.second)
    rest = (moved_a + a.radius) * (moved_b + b.radius) + size_a * b.radius + size_b * a.radius
    lost = 4 * UNIT * (size_a * size_b + size_a * moved_b + size_b * moved_a) + _TINY
    return AffineForm(middle, first, second, (rest + lost) * SLACK)


def _through(a: AffineForm, value: Any, error: Any, slope: Any, bend: Any) -> AffineForm:
    """Return f(a) from f, a bound on its error, a slope near f' and a bound on what is left."""
    first, second = slope * a.first, slope * a.second
    lost = UNIT * (np.abs(first) + np.abs(second)) + _TINY
    return AffineForm(
        value, first, second, (np.abs(slope) * a.radius + bend + error + lost) * SLACK
    )


def _quotient(a: AffineForm, b: AffineForm) -> AffineForm:
    return _multiply(a, _reciprocal(b))


def _reciprocal(b: AffineForm) -> AffineForm:
    least = np.abs(b.middle) - b.swing
    value = 1.0 / b.middle
    slope = -value * value
    # the slope is rounded: its error times the swing belongs to what is left over
    bend = (b.swing**2 / least**3 + 4 * UNIT * np.abs(slope) * b.swing) * SLACK
    bend = np.where(least > 0, bend, np.inf)
    return _through(b, value, UNIT * np.abs(value), slope, bend)


def _root(a: AffineForm) -> AffineForm:
    least = a.middle - a.swing
    value = np.sqrt(a.middle)
    slope = 0.5 / value
    bend = (a.swing**2 / (8.0 * least * np.sqrt(least)) + 4 * UNIT * slope * a.swing) * SLACK
    return _through(a, value, UNIT * value, slope, np.where(least > 0, bend, np.inf))


def _sine(a: AffineForm) -> AffineForm:
    (value, error), (slope, doubt) = _waves(a.middle)
    bend = 0.5 * a.swing**2 * np.minimum(1.0, np.abs(value) + error + a.swing)
    return _through(a, value, error, slope, (bend + doubt * a.swing) * SLACK)


def _cosine(a: AffineForm) -> AffineForm:
    (slope, doubt), (value, error) = _waves(a.middle)
    bend = 0.5 * a.swing**2 * np.minimum(1.0, np.abs(value) + error + a.swing)
    return _through(a, value, error, -slope, (bend + doubt * a.swing) * SLACK)


def _waves(middle: Any) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Return sine and cosine of numbers with bounds on their errors."""
    m = np.asarray(middle, dtype=float)
    near = np.abs(m) < _TURNS
    safe = np.where(near, m, 0.0)
    k = np.rint(safe / (np.pi / 2))
    x = _subtract(AffineForm(safe), AffineForm(k * _FIRST))
    x = _subtract(x, AffineForm(k * _SECOND))
    x = _subtract(x, _multiply(AffineForm(k), AffineForm(_THIRD, radius=np.asarray(_LEFT))))
    square = _multiply(x, x)
    s, c = _multiply(x, _series(square, 1)), _series(square, 0)
    turn = np.mod(k, 4.0).astype(int)

    def wave(quarter: NDArray[np.int_]) -> tuple[Array, Array]:
        value = np.choose(quarter % 4, [s.middle, c.middle, -s.middle, -c.middle])
        error = np.where(quarter % 2 == 0, s.radius, c.radius)
        return np.where(near, value, 0.0), np.where(near, error, 1.0)

    return wave(turn), wave(turn + 1)


def _series(square: AffineForm, odd: int) -> AffineForm:
    """Return sin(x)/x or cos(x) from x^2 below 0.65: 1 - x^2/(1*2) (1 - x^2/(3*4) (1 - ...))."""
    # the series alternates and falls: what is left out, in parentheses, is between 0.9 and 1
    found = AffineForm(np.full_like(square.middle, 0.95), radius=np.full_like(square.middle, 0.051))
    for n in range(_TERMS - 1, -1, -1):
        factor = AffineForm(float((2 * n + 1 + odd) * (2 * n + 2 + odd)))
        found = _subtract(AffineForm(1.0), _quotient(_multiply(square, found), factor))
    return found


_RULES: dict[str, Any] = {
    "add": _add,
    "sub": _subtract,
    "mul": _multiply,
    "div": _quotient,
    "neg": _negative,
    "fma": lambda a, b, c: _add(_multiply(a, b), c),
    "fms": lambda a, b, c: _subtract(_multiply(a, b), c),
    "fnma": lambda a, b, c: _subtract(c, _multiply(a, b)),
    "sqrt": _root,
    "sin": _sine,
    "cos": _cosine,
}


# -- matrices --------------------------------------------------------------------------------------
def inverses(matrices: Array) -> Array:
    """Return approximate inverses; of a singular matrix, not numbers."""
    try:
        return np.asarray(np.linalg.inv(matrices))
    except np.linalg.LinAlgError:
        found = np.full_like(matrices, np.nan)
        for k, matrix in enumerate(matrices):
            try:
                found[k] = np.linalg.inv(matrix)
            except np.linalg.LinAlgError:
                continue
        return found


def stacked_forms(found: list[AffineForm], count: int, shape: tuple[int, ...]) -> list[Array]:
    """Return middle, both slopes and radius of forms, one axis of boxes in front."""
    parts = np.empty((4, count, len(found)))
    for k, x in enumerate(found):
        parts[0, :, k], parts[1, :, k] = x.middle, x.first
        parts[2, :, k], parts[3, :, k] = x.second, x.radius
    return [x.reshape(count, *shape) for x in parts]


def _rounding(a: Array, b: Array) -> Array:
    """Return a bound on the rounding of a product of matrices, itself rounded up."""
    return np.asarray((a.shape[-1] + 4) * UNIT * (np.abs(a) @ np.abs(b)) * SLACK + 1e-290)


def off_unit(inverse: Array, matrix: list[Array]) -> tuple[Array, list[Array]]:
    """Return bounds on |1 - C M| over forms M, and C M as middle, slopes and radius."""
    middle, first, second, radius = matrix
    parts = [inverse @ x for x in (middle, first, second)]
    rest = np.abs(inverse) @ radius
    rest = rest + _rounding(inverse, np.abs(middle) + np.abs(first) + np.abs(second))
    rest = rest * SLACK
    off = np.abs(np.eye(inverse.shape[-1]) - parts[0]) + np.abs(parts[1]) + np.abs(parts[2]) + rest
    return off * SLACK, [*parts, rest]


def product_bound(inverse: Array, f: list[Array]) -> Array:
    """Return bounds on |C f| for forms f without slopes."""
    middle, radius = f[0][..., None], f[3][..., None]
    found = np.abs(inverse @ middle) + np.abs(inverse) @ radius + _rounding(inverse, middle)
    return np.asarray(found[..., 0] * SLACK)


def slope_bound(inverse: Array, product: list[Array], slope: Array, shift: list[Array]) -> Array:
    """Return bounds on |C J S + C F_s|."""
    found = product[3] @ np.abs(slope) + np.abs(inverse) @ shift[3]
    for a, b in zip(product[:3], shift[:3], strict=True):
        found = found + np.abs(a @ slope + inverse @ b)
        found = found + 3 * _rounding(a, slope) + 3 * _rounding(inverse, b)
    return np.asarray(found * SLACK)
