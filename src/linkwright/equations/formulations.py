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
from linkwright.equations.search import searched
from linkwright.equations.tree import composite

FORMULATIONS: dict[str, Formulation] = {
    "composite": searched,
    "composite-usual": projected(composite),
    "composite-plain": projected(
        lambda kinematics, writer: composite(kinematics, writer, Choices(regroup=False))
    ),
    "kane": kane,
    "kane-expanded": expanded(kane),
}

AUTOMATIC: tuple[str, ...] = ("composite", "kane", "kane-expanded")
"""Those among which "auto" chooses by count."""
