"""The ways to form M and f; each checks the others.

To add one, write a function from kinematics, reduction and writer to `ReducedDynamics` (or, for a
method that knows nothing of constraints, to `TreeDynamics`, and wrap it in `projected`) and one
line here.
"""

from __future__ import annotations

from linkwright.base.lazy import later
from linkwright.equations.choices import Choices
from linkwright.equations.crba import composite
from linkwright.equations.projection import Formulation, projected
from linkwright.mechanism import Kinematics

FORMULATIONS: dict[str, Formulation] = {
    "composite": later("linkwright.equations.search:searched"),
    "composite-usual": projected(composite),
    "composite-plain": projected(
        lambda kinematics, writer: composite(kinematics, writer, Choices(regroup=False))
    ),
    "articulated": later("linkwright.equations.search:articulated_bodies"),
    "articulated-looped": later("linkwright.equations.search:looped_bodies"),
    "kane": later("linkwright.equations.kane:kane"),
    "kane-expanded": later("linkwright.equations.expansion:kane_expanded"),
}

QUICK = "quick"
"""Stands for what is derived quickest, or for the smallest Program that ships (see `shipped`)."""

_SMALL, _LARGE = 6, 40
_ALIKE = 32  # like bodies in a row from which on a loop takes their place


def candidates(speeds: int, eliminated: int, alike: int = 0) -> tuple[str, ...]:
    """Return the formulations among which "auto" chooses by count.

    Kane's method pays where speeds are eliminated, articulated bodies where chains are long; beyond
    forty speeds of a tree the mass matrix is not even tried, and like bodies share a loop.

    >>> candidates(3, 2), candidates(50, 0), candidates(1000, 0, alike=998)
    (('composite', 'kane', 'kane-expanded'), ('articulated',), ('articulated-looped',))
    """
    if eliminated or speeds <= _SMALL:
        return ("composite", "kane", "kane-expanded")
    if speeds > _LARGE:
        return ("articulated-looped",) if alike >= _ALIKE else ("articulated",)
    both = ("composite", "articulated")
    return (*both, "kane") if speeds <= 2 * _SMALL else both


def automatic(kinematics: Kinematics, eliminated: int) -> tuple[str, ...]:
    """Return the `candidates` of a mechanism."""
    speeds = len(kinematics.speeds)
    if speeds <= _LARGE or eliminated:
        return candidates(speeds, eliminated)
    from linkwright.equations.repeated_bodies import longest, plan

    return candidates(speeds, eliminated, longest(plan(kinematics)))


def resolved(formulation: str, kinematics: Kinematics, eliminated: int) -> tuple[str, ...]:
    """Return the formulations that a name stands for: itself, or those of "auto" and "quick"."""
    if formulation == "auto":
        return automatic(kinematics, eliminated)
    if formulation != QUICK:
        return (formulation,)
    large = len(kinematics.speeds) > _LARGE and not eliminated
    return automatic(kinematics, eliminated) if large else ("composite-usual",)
