"""Characteristic polynomials of a wrist's loop along one axis, and Routh's conditions on them.

The arm goes to X1 = X_in + G*(X2 - X1), where G is the law with its filter; the tool of mass m on
a wrist (Cw, Kw), in touch with surroundings (Ce, Ke), moves by

    (m*s^2 + (Cw + Ce)*s + Kw + Ke)*X2 = (Cw*s + Kw)*X1 + F,

so that m*s^2 + (Cw + Ce)*s + Kw + Ke + G*(m*s^2 + Ce*s + Ke) = 0. G is -Kp of the position law, KF
of the force law, each times the filter F(z) = (1 - a)/(z - a), and KF*F/(z - 1) of the accumulating
law, whose deflection is that from the place before the arm moves. By the bilinear rule
z = (f0 + s)/(f0 - s) with f0 = 2/T the filter is alpha0*(f0 - s)/(s + alpha0*f0), where
alpha0 = (1 - a)/(1 + a) (Paul and Xu, *The implementation of hybrid control in the presence of
passive compliance*). The bilinear rule is exact of the law, and neglects that the arm stands still
between ticks: the exact loop is that of `linkwright.control.force.sampled_matrix`.

Each polynomial stands for one order of what happens at a tick, `USUAL_ORDERS` of its law:
"new-place" of the position and the force law, "old-place" of the accumulating one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import ONE, ZERO, Expr, evaluate_all, free_symbols, symbol, total
from linkwright.base.arguments import worded
from linkwright.base.errors import InputError, unknown
from linkwright.base.results import Result
from linkwright.control.force.sampled_limits import CONTACT_LAWS, USUAL_ORDERS

__all__ = ["CharacteristicPolynomial", "RouthCondition", "characteristic", "routh_conditions"]

Array = NDArray[np.float64]
OWNER = "contact"
NAMES = ("m", "Cw", "Kw", "Kp", "KF", "Ce", "Ke", "alpha0", "f0", "a", "T")
SYMBOLS: dict[str, Expr] = {name: symbol(name, "parameter", owner=OWNER) for name in NAMES}
"""The symbols that the polynomials are written in."""
S = symbol("s", "parameter", owner=OWNER)
DEFINITIONS: dict[Expr, Expr] = {
    SYMBOLS["alpha0"]: (1 - SYMBOLS["a"]) / (1 + SYMBOLS["a"]),
    SYMBOLS["f0"]: 2 / SYMBOLS["T"],
}
"""What alpha0 and f0 are, of the filter's pole and the period."""


@dataclass(frozen=True, slots=True)
class RouthCondition:
    """Something that must be positive for the loop to be stable.

    Args:
        words: what it is.
        expression: that must be positive.

    >>> routh_conditions(characteristic("position", filter=False))[0]
    RouthCondition('coefficient of s^2': m - Kp*m > 0)
    """

    words: str
    expression: Expr

    def __repr__(self) -> str:
        return f"RouthCondition({self.words!r}: {self.expression} > 0)"


@dataclass(frozen=True, slots=True)
class CharacteristicPolynomial(Result):
    """The characteristic polynomial of a loop in s, in the usual order of its law.

    Args:
        law: a key of `linkwright.control.force.CONTACT_LAWS`.
        filter: whether the law has its filter.
        environment: whether the tool touches something.
        coefficients: of the powers of s, highest first.

    >>> characteristic("force", filter=False)
    CharacteristicPolynomial(force: (m + KF*m)*s^2 + Cw*s + Kw)
    """

    law: str
    filter: bool
    environment: bool
    coefficients: tuple[Expr, ...]

    def __repr__(self) -> str:
        return f"CharacteristicPolynomial({self.law}: {self.words})"

    @property
    def order(self) -> str:
        """The order of what happens at a tick that it stands for, a key of `CONTACT_ORDERS`."""
        return USUAL_ORDERS[self.law]

    @property
    def words(self) -> str:
        """The polynomial as a text."""
        return _written([str(c) for c in self.coefficients])

    @property
    def expression(self) -> Expr:
        """The polynomial as one expression of s."""
        last = len(self.coefficients) - 1
        return total(c * S ** (last - k) for k, c in enumerate(self.coefficients))

    def at(self, values: Mapping[str, float]) -> Array:
        """Return the coefficients as numbers.

        Args:
            values: of m, Cw, Kw, Kp or KF, Ce, Ke, a and T, as far as the polynomial has them.
        """
        known = {SYMBOLS[n]: float(v) for n, v in values.items() if n in SYMBOLS}
        for name, given in DEFINITIONS.items():
            if name not in known and all(s in known for s in free_symbols(given)):
                known[name] = float(evaluate_all([given], known)[0])
        missing = {str(s) for c in self.coefficients for s in free_symbols(c) if s not in known}
        if missing:
            raise InputError(
                f"the polynomial needs {', '.join(sorted(missing))}",
                remedy="give a number for each; alpha0 and f0 follow from a and T",
            )
        return np.array(evaluate_all(list(self.coefficients), known))

    def stable(self, values: Mapping[str, float]) -> bool:
        """Return whether Routh's conditions hold.

        Args:
            values: as for `at`.
        """
        return all(np.all(c > 0) for _, c in hurwitz(list(self.at(values))))


@worded
def characteristic(
    law: str,
    *,
    filter: bool = True,  # noqa: A002 - the word of the field
    environment: bool = False,
) -> CharacteristicPolynomial:
    """Return the characteristic polynomial of a wrist's loop along one axis.

    It stands for the order "new-place" of the position and the force law, and for "old-place" of
    the accumulating one; there is none of the other orders.

    Args:
        law: "position", "force" or "accumulating".
        filter: with the filter and its delay; without, the law follows the deflection at once.
        environment: with surroundings (Ke, Ce) that the tool touches.

    >>> for c in characteristic("position").coefficients:
    ...     print(c)
    m + Kp*alpha0*m
    Cw - Kp*alpha0*f0*m + alpha0*f0*m
    Kw + Cw*alpha0*f0
    Kw*alpha0*f0
    """
    if law not in CONTACT_LAWS:
        raise unknown("law of contact", law, CONTACT_LAWS)
    at: dict[str, Any] = dict(SYMBOLS)
    if not environment:
        at |= {"Ce": ZERO, "Ke": ZERO}
    gain = -at["Kp"] if law == "position" else at["KF"]
    found = coefficients(law, at, gain, filtered=filter, one=ONE)
    while found[-1] == ZERO:  # nothing touched: an arm that accumulates stays anywhere
        found = found[:-1]
    return CharacteristicPolynomial(law, filter, environment, tuple(found))


def coefficients(
    law: str, at: Mapping[str, Any], gain: Any, *, filtered: bool, one: Any = 1.0
) -> list[Any]:
    """Return coefficients of the polynomial, highest first, of expressions or of arrays.

    Units: `at` in m.
    """
    tool = [at["m"], at["Cw"] + at["Ce"], at["Kw"] + at["Ke"]]
    pushed = [at["m"], at["Ce"], at["Ke"]]
    above, below = [gain * one], [one]
    if filtered:
        above = _times(above, [-at["alpha0"] * one, at["alpha0"] * at["f0"]])
        below = _times(below, [one, at["alpha0"] * at["f0"]])
    if law == "accumulating":  # 1/(z - 1) = (f0 - s)/(2 s)
        above = _times(above, [-one, at["f0"] * one])
        below = _times(below, [2 * one, 0 * one])
    first, second = _times(below, tool), _times(above, pushed)
    size = max(len(first), len(second))
    pad = [0 * one]
    first, second = (pad * (size - len(p)) + p for p in (first, second))
    return [a + b for a, b in zip(first, second, strict=True)]


def routh_conditions(polynomial: CharacteristicPolynomial) -> tuple[RouthCondition, ...]:
    """Return what must be positive for the loop to be stable, of which no one is to spare.

    They are those of Lienard and Chipart: the coefficients, and every second determinant of
    Hurwitz. Of a cubic c3, c2, c1, c0 the determinant is Routh's c2*c1 - c3*c0.

    Args:
        polynomial: from `characteristic`.

    >>> routh_conditions(characteristic("position"))[-1].words
    'determinant 2 of Hurwitz'
    """
    found = hurwitz(list(polynomial.coefficients))
    return tuple(RouthCondition(words, expression) for words, expression in found)


def hurwitz(c: Sequence[Any]) -> list[tuple[str, Any]]:
    """Return what must be positive, in words and as expressions or arrays."""
    degree = len(c) - 1
    powers = [_power(degree - k) for k in range(len(c))]
    found = list(zip(powers, c, strict=True))
    zero = 0 * c[0]
    for size in range(degree - 1, 1, -2):
        rows = [
            [c[2 * j - i + 1] if 0 <= 2 * j - i + 1 <= degree else zero for j in range(size)]
            for i in range(size)
        ]
        found.append((f"determinant {size} of Hurwitz", _determinant(rows)))
    return found


def _power(power: int) -> str:
    return (
        "constant"
        if power == 0
        else f"coefficient of s^{power}"
        if power > 1
        else "coefficient of s"
    )


def _determinant(rows: Sequence[Sequence[Any]]) -> Any:
    if len(rows) == 1:
        return rows[0][0]
    found: Any = None
    for k, value in enumerate(rows[0]):
        rest = [[x for j, x in enumerate(row) if j != k] for row in rows[1:]]
        part = value * _determinant(rest)
        found = part if found is None else (found + part if k % 2 == 0 else found - part)
    return found


def _times(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    found: list[Any] = [None] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            found[i + j] = x * y if found[i + j] is None else found[i + j] + x * y
    return found


def _written(coefficients: Sequence[str]) -> str:
    last = len(coefficients) - 1
    parts = []
    for k, text in enumerate(coefficients):
        power = last - k
        shown = f"({text})" if power and (" " in text or text.startswith("-")) else text
        tail = "" if power == 0 else ("*s" if power == 1 else f"*s^{power}")
        parts.append(shown + tail)
    return " + ".join(parts)
