"""Wheels that a System reports of: its tires know which bodies they are, and how large."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Wheel:
    """A body that is a wheel.

    >>> Wheel("front", 0.3, "tire.radius").with_parameters({"tire.radius": 0.4}).radius
    0.4
    """

    body: str
    radius: float
    parameter: str = ""

    def with_parameters(self, values: Mapping[str, float]) -> Wheel:
        """Return the wheel as large as values of parameters make it."""
        return replace(self, radius=float(values.get(self.parameter, self.radius)))


def wheels_in(about: Mapping[str, object]) -> tuple[Wheel, ...]:
    """Return the wheels that a recording, or a flattened System, reports.

    >>> wheels_in({"wheels": [{"body": "hub", "radius": 0.3}, {"body": "x"}]})
    (Wheel(body='hub', radius=0.3, parameter=''),)
    """
    info, found = about.get("wheels"), []
    for one in info if isinstance(info, list | tuple) else ():
        try:
            made = Wheel(str(one["body"]), float(one["radius"]), str(one.get("parameter", "")))
        except (AttributeError, KeyError, TypeError, ValueError):
            continue
        if 0 < made.radius < float("inf"):
            found.append(made)
    return tuple(found)
