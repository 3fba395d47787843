"""Rates: how often a value changes, and so in which stage of a Program it is computed.

One split by rate gives precomputed constants (AUTOSIM's PC), background and foreground dynamics
(the motion server), kinematics that several calls share, and outputs kept out of the derivative.
"""

from __future__ import annotations

from collections.abc import Container
from enum import IntEnum

from linkwright.algebra.expr import Expr
from linkwright.algebra.nodes import ACCELERATION, COORDINATE, DISCRETE, INPUT, SPEED, TIME


class Rate(IntEnum):
    """How often a value changes, from never to at every evaluation of the outputs."""

    CONSTANT = 0
    PARAMETER = 1
    SLOW = 2
    CONFIGURATION = 3
    VELOCITY = 4
    ACCELERATION = 5
    OUTPUT = 6

    @property
    def label(self) -> str:
        """The word for this rate in reports."""
        return self.name.lower()


STAGES: tuple[Rate, ...] = tuple(rate for rate in Rate if rate is not Rate.CONSTANT)


def symbol_rate(x: Expr, slow: Container[Expr] = ()) -> Rate:
    """Return the rate of an input symbol by its role.

    >>> from linkwright.algebra import symbol
    >>> symbol_rate(symbol("q", "coordinate"))
    <Rate.CONFIGURATION: 3>
    """
    if x in slow:
        return Rate.SLOW
    if x.roles & (INPUT | ACCELERATION):
        return Rate.ACCELERATION
    if x.roles & SPEED:
        return Rate.VELOCITY
    if x.roles & (COORDINATE | TIME):
        return Rate.CONFIGURATION
    return Rate.SLOW if x.roles & DISCRETE else Rate.PARAMETER


def is_impure(x: Expr) -> bool:
    """Whether this node must be computed anew at every evaluation, whatever its arguments.

    >>> from linkwright.algebra import symbol
    >>> from linkwright.algebra.foreign import foreign
    >>> is_impure(foreign("noise", pure=False)(symbol("k")))
    True
    """
    return x.op == "foreign" and not x.data.function.pure
