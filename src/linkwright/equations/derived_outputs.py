"""Outputs that follow from all loads of a mechanism together: reactions and energies.

Their expressions hold for the loads and constraints that the mechanism had when they were asked
for. Elements of a System, or a force that comes later, add loads; so whoever derives equations
takes the values from `output_values`, which finds them again for the mechanism as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from linkwright.algebra import Expr
from linkwright.equations.energy import energy_outputs
from linkwright.equations.reactions import reaction_outputs
from linkwright.mechanism import Mechanism
from linkwright.mechanism.parts import Output

Outputs: TypeAlias = tuple[Output, ...]

DERIVED: dict[str, Callable[[Mechanism], Outputs]] = {
    "energies": energy_outputs,
    "reactions": reaction_outputs,
}
"""What makes the outputs of each kind."""


def output_values(mechanism: Mechanism) -> list[Expr]:
    """Return the expressions of a mechanism's outputs, for the loads that it has now.

    >>> m = Mechanism("hanging")
    >>> b = m.body("b", rotate="z", mass="m", inertia=0)
    >>> m.output_all("reactions")
    >>> m.gravity(along=-m.z)
    >>> [str(x) for x in output_values(m)][:3]
    ['0', '0', '9.81*m']
    """
    again: dict[str, Expr] = {}
    for kind in {o.made for o in mechanism.outputs if o.made}:
        again |= {o.name: o.value for o in DERIVED[kind](mechanism)}
    return [again.get(o.name, o.value) if o.made else o.value for o in mechanism.outputs]
