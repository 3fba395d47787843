"""The ways to form M and f; each checks the others.

To add one, write a function from kinematics, reduction and writer to `ReducedDynamics` (or, for a
method that knows nothing of constraints, to `TreeDynamics`, and wrap it in `projected`) and one
line here.
"""

from __future__ import annotations

from linkwright.equations.choices import Choices
from linkwright.equations.expansion import expanded
from linkwright.equations.kane import kane
from linkwright.equations.projection import Formulation, projected
from linkwright.equations.search import articulated_bodies, searched
from linkwright.equations.tree import composite

FORMULATIONS: dict[str, Formulation] = {
    "composite": searched,
    "composite-usual": projected(composite),
    "composite-plain": projected(
        lambda kinematics, writer: composite(kinematics, writer, Choices(regroup=False))
    ),
    "articulated": articulated_bodies,
    "kane": kane,
    "kane-expanded": expanded(kane),
}

QUICK = "composite-usual"
"""What is derived quickest, for those who do not count operations."""

_SMALL, _LARGE = 6, 40


def candidates(speeds: int, eliminated: int) -> tuple[str, ...]:
    """Return the formulations among which "auto" chooses by count.

    Kane's method pays where speeds are eliminated, articulated bodies where chains are long; beyond
    forty speeds of a tree the mass matrix is not even tried.

    Args:
        speeds: number of speeds of the tree.
        eliminated: how many of them constraints eliminate.

    >>> candidates(3, 2), candidates(1000, 0)
    (('composite', 'kane', 'kane-expanded'), ('articulated',))
    """
    if eliminated or speeds <= _SMALL:
        return ("composite", "kane", "kane-expanded")
    if speeds > _LARGE:
        return ("articulated",)
    both = ("composite", "articulated")
    return (*both, "kane") if speeds <= 2 * _SMALL else both
