"""Symbols: named atoms with a role, a unit, an order of smallness and what is known of their sign.

A symbol's identity is everything that is said of it here, first of all (owner, name): two
mechanisms may both have an `L1`, and asking twice for the same symbol gives the same object.
What changes during modeling (default values, renaming) belongs to the owner, not to the symbol.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from functools import lru_cache

from linkwright.algebra.expr import Expr, intern_symbol
from linkwright.algebra.nodes import (
    ACCELERATION,
    COORDINATE,
    DISCRETE,
    INPUT,
    LOCAL,
    PARAMETER,
    SMALL,
    SPEED,
    TIME,
    ExprError,
)
from linkwright.base.arguments import worded

ROLES: dict[str, int] = {
    "parameter": PARAMETER,
    "coordinate": COORDINATE,
    "speed": SPEED,
    "acceleration": ACCELERATION,
    "input": INPUT,
    "time": TIME,
    "discrete": DISCRETE,
    "local": LOCAL,
}

_NAME = re.compile(r"[^\W\d]\w*(\.\w+)*'*(\[\d+(,\d+)*\])?\Z")


@dataclass(frozen=True, slots=True)
class SymbolInfo:
    """What is known of a symbol."""

    name: str  # letters, digits, `_`, dots between words; may end in an index such as `[2]`
    role: str = "parameter"  # one of `ROLES`
    owner: str = ""  # the name of the mechanism or program that the symbol belongs to
    unit: str = "?"  # its unit as text ("m/s"), "1" for dimensionless, "?" where it is not known
    small: int = 0  # order of smallness: 1 small, 0 ordinary, -1 large
    sign: str = ""  # "positive" or "nonzero" where that is promised, "" otherwise
    default: float | None = None  # the value it has unless another is given, or None
    doc: str = ""  # one line that says what it is
    digest: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            known = ", ".join(ROLES)
            raise ExprError(
                f"symbol {self.name!r} has the unknown role {self.role!r}; one of {known}"
            )
        if not _NAME.match(self.name):
            raise ExprError(
                f"{self.name!r} cannot be the name of a symbol; use letters, digits and underscores"
            )
        if self.sign not in ("", "positive", "nonzero"):
            raise ExprError(
                f"symbol {self.name!r}: the sign is 'positive', 'nonzero' or '', not {self.sign!r}"
            )
        identity = repr(
            (
                self.owner,
                self.name,
                self.role,
                self.unit,
                self.small,
                self.sign,
                self.default,
                self.doc,
            )
        )
        value = int.from_bytes(hashlib.blake2b(identity.encode(), digest_size=8).digest(), "big")
        object.__setattr__(self, "digest", value >> 4)

    @property
    def role_bits(self) -> int:
        """The bits that this symbol adds to `Expr.roles`."""
        return ROLES[self.role] | (SMALL if self.small else 0)


@lru_cache(maxsize=4096, typed=True)
def _described(
    name: str, role: str, owner: str, unit: str, small: int, sign: str, doc: str
) -> SymbolInfo:
    """Return a description without a default; passes ask for the same names again and again."""
    return SymbolInfo(name, role, owner, unit, small, sign, None, doc)


@worded
def symbol(
    name: str,
    role: str = "parameter",
    *,
    owner: str = "",
    unit: str = "?",
    small: int = 0,
    sign: str = "",
    default: float | None = None,
    doc: str = "",
) -> Expr:
    """Return the symbol with this description; the same description gives the same object.

    Args:
        name: letters, digits and underscores.
        role: parameter, coordinate, speed, acceleration, input, time, discrete or local.
        owner: the mechanism or program that it belongs to.
        unit: its unit as text, "?" where it is not known.
        small: order of smallness, 1 for small, -1 for large.
        sign: "positive" or "nonzero" where that is promised.
        default: the value it has unless another is given.
        doc: one line that says what it is.

    >>> symbol("m", unit="kg") is symbol("m", unit="kg")
    True
    """
    if default is not None:  # a zero has two signs, which are equal and not the same
        return intern_symbol(SymbolInfo(name, role, owner, unit, small, sign, default, doc))
    return intern_symbol(_described(name, role, owner, unit, small, sign, doc))


@worded
def symbols(
    names: str,
    role: str = "parameter",
    *,
    owner: str = "",
    unit: str = "?",
    small: int = 0,
    sign: str = "",
) -> tuple[Expr, ...]:
    """Return one symbol for each name in a text.

    Args:
        names: names separated by spaces or commas.
        role: the role of all of them.
        owner: the mechanism or program that they belong to.
        unit: the unit of all of them.
        small: the order of smallness of all of them.
        sign: "positive" or "nonzero" where that is promised of all of them.

    >>> symbols("a b c")
    (a, b, c)
    """
    return tuple(
        symbol(name, role, owner=owner, unit=unit, small=small, sign=sign)
        for name in names.replace(",", " ").split()
    )
