"""Numbers that depend on two parameters: linear in them, with a rigorous bound on the rest.

A form is c + l1 e1 + l2 e2 + r with |e1|, |e2| <= 1 and |r| <= radius. Where intervals forget that
two numbers move together, forms remember it, so that what is left over is of second order (affine
arithmetic: Stolfi and de Figueiredo, 1997; Taylor models of order one). Rounding errors go into the
radius. All members are arrays over many boxes at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import DomainError
from linkwright.parallel.intervals import middle_and_radius, waves_at_points
from linkwright.program import Code
from linkwright.program.interpret import execute

Array = NDArray[np.float64]

_U = 2.0**-52
_MORE = 1.0 + 1e-12  # for the rounding of sums of a few positive terms


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
        return (np.abs(self.first) + np.abs(self.second) + self.radius) * _MORE


def forms_of(code: Code, inputs: Sequence[AffineForm]) -> list[AffineForm]:
    """Return forms that hold the outputs of a lowered Program, entry by entry."""
    return execute(code, inputs, form_arithmetic)


def form_arithmetic(op: str, data: Any, args: list[AffineForm]) -> AffineForm:
    """Return the form of one instruction; one that has no rule is refused by name."""
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
    lost = _U * (np.abs(middle) + np.abs(first) + np.abs(second))
    return AffineForm(middle, first, second, (a.radius + b.radius + lost) * _MORE)


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
        lost = _U * (np.abs(middle) + np.abs(first) + np.abs(second)) + 1e-300
        return AffineForm(middle, first, second, (np.abs(k) * b.radius + lost) * _MORE)
    middle = a.middle * b.middle
    first = a.middle * b.first + a.first * b.middle
    second = a.middle * b.second + a.second * b.middle
    size_a, size_b = np.abs(a.middle), np.abs(b.middle)
    moved_a = np.abs(a.first) + np.abs(a.second)
    moved_b = np.abs(b.first) + np.abs(b.second)
    rest = (moved_a + a.radius) * (moved_b + b.radius) + size_a * b.radius + size_b * a.radius
    lost = 4 * _U * (size_a * size_b + size_a * moved_b + size_b * moved_a) + 1e-300
    return AffineForm(middle, first, second, (rest + lost) * _MORE)


def _through(a: AffineForm, value: Any, error: Any, slope: Any, bend: Any) -> AffineForm:
    """Return f(a) from f, a bound on its error, a slope near f' and a bound on what is left."""
    first, second = slope * a.first, slope * a.second
    lost = _U * (np.abs(first) + np.abs(second)) + 1e-300
    return AffineForm(
        value, first, second, (np.abs(slope) * a.radius + bend + error + lost) * _MORE
    )


def _quotient(a: AffineForm, b: AffineForm) -> AffineForm:
    return _multiply(a, _reciprocal(b))


def _reciprocal(b: AffineForm) -> AffineForm:
    least = np.abs(b.middle) - b.swing
    value = 1.0 / b.middle
    slope = -value * value
    # the slope is rounded: its error times the swing belongs to what is left over
    bend = (b.swing**2 / least**3 + 4 * _U * np.abs(slope) * b.swing) * _MORE
    bend = np.where(least > 0, bend, np.inf)
    return _through(b, value, _U * np.abs(value), slope, bend)


def _root(a: AffineForm) -> AffineForm:
    least = a.middle - a.swing
    value = np.sqrt(a.middle)
    slope = 0.5 / value
    bend = (a.swing**2 / (8.0 * least * np.sqrt(least)) + 4 * _U * slope * a.swing) * _MORE
    return _through(a, value, _U * value, slope, np.where(least > 0, bend, np.inf))


def _sine(a: AffineForm) -> AffineForm:
    (value, error), (slope, doubt) = _waves(a.middle)
    bend = 0.5 * a.swing**2 * np.minimum(1.0, np.abs(value) + a.swing)
    return _through(a, value, error, slope, (bend + doubt * a.swing) * _MORE)


def _cosine(a: AffineForm) -> AffineForm:
    (slope, doubt), (value, error) = _waves(a.middle)
    bend = 0.5 * a.swing**2 * np.minimum(1.0, np.abs(value) + a.swing)
    return _through(a, value, error, -slope, (bend + doubt * a.swing) * _MORE)


def _waves(middle: Any) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    sine, cosine = waves_at_points(np.asarray(middle, dtype=float))
    return middle_and_radius(sine), middle_and_radius(cosine)


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
