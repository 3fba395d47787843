"""What the methods that describe a mechanism have in common: a rejected call leaves no trace."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from linkwright.algebra.smallness import terms_kept
from linkwright.base.arguments import RAW, at_home, refusal
from linkwright.mechanism.joints import MechanismError

Method = TypeVar("Method", bound=Callable[..., Any])

TABLES = (
    "parameters",
    "inputs",
    "values",
    "initial",
    "initial_rules",
    "armatures",
    "passives",
    "bodies",
    "shapes",
    "points",
    "frames",
    "forces",
    "moments",
    "constraints",
    "states",
    "outputs",
    "ranges",
    "loops",
    "actuators",
    "cones",
    "collision_capsules",
    "sensors",
    "coordinates",
    "units",
    "docs",
    "reports",
    "functions",
    "_orders",
    "_signs",
)
"""What a mechanism holds in lists and dictionaries."""

_WATCHED = (*TABLES, "_points_of")


def builder(method: Method) -> Method:
    """Let a method of a mechanism leave it as it was where it ends in an error.

    What a call has added to the tables of the mechanism goes away again, parameters that its texts
    named among it. An argument of a wrong kind is rejected in our words (`base.arguments`).

    >>> from linkwright.mechanism import Mechanism, MechanismError
    >>> m = Mechanism("m")
    >>> try:
    ...     m.gravity(along="down")
    ... except MechanismError:
    ...     print(m.parameters)
    {}
    """
    raw, refused, sizes, undo, keep = RAW, refusal, _sizes, _undo, terms_kept

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.is_frozen:
            raise MechanismError(
                f"{self.name!r} is a frozen snapshot, which {method.__name__} would change",
                remedy="change the mechanism, and take frozen() of it again",
            )
        before, kinematics = sizes(self), self._kinematics
        try:
            if self.small_order == 1:
                return method(self, *args, **kwargs)
            with keep(self.small_order):
                return method(self, *args, **kwargs)
        except Exception as error:
            undo(self, before)
            self._kinematics = kinematics
            found = refused(method, (self, *args), kwargs) if isinstance(error, raw) else None
            if found is None:
                raise
            raise found from error

    made = at_home(call, method)
    made.__dict__["builds"] = True
    return made


def _sizes(mechanism: Any) -> list[int]:
    return [len(getattr(mechanism, name)) for name in _WATCHED]


def _undo(mechanism: Any, before: list[int]) -> None:
    """Take away what came after; dicts and lists keep the order of entry."""
    for name, size in zip(_WATCHED, before, strict=True):
        table = getattr(mechanism, name)
        if isinstance(table, list):
            del table[size:]
        else:
            while len(table) > size:
                table.popitem()
