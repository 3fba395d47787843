"""The integration methods of native runs: one line each.

| name | order | steps | for |
|---|---|---|---|
| midpoint | 2 | fixed | the integrator of AUTOSIM |
| rk4 | 4 | fixed | smooth motion, known step |
| semi-implicit | 1 | fixed | contacts; gains energy where bodies turn in space |
| implicit-speeds | 1 | fixed | the same, where damping is strong for the step; loses energy |
| verlet | 2 | fixed | contacts; a second evaluation where forces depend on speeds |
| dopri5 | 5(4) | adaptive | smooth motion, wanted accuracy |
| dop853 | 8(5, 3) | adaptive | high accuracy |
| rodas4 | 4(3) | adaptive | stiff systems, with the exact Jacobian |

How a step is made is described in `linkwright.simulation.native.schedule`, needed only where the
native code of a System is not at hand.
"""

from __future__ import annotations

from dataclasses import dataclass

from linkwright.base.errors import Error


@dataclass(frozen=True, slots=True)
class Method:
    """An integration method."""

    name: str  # how it is asked for
    order: int  # of the error of a step's result
    evaluations: int  # of the derivative in a step
    # whether steps are as long as the error allows; samples inside of them are interpolated
    adaptive: bool = False
    implicit: bool = False  # whether the step is one of `linkwright.simulation.native.implicit`
    stages_inside: int = 0  # evaluations that samples inside a step take
    in_turn: bool = False  # whether coordinates and the other states move in turn
    # what is to be said of a run in which turning bodies carry turning bodies, or a body turns
    # freely; empty for nothing
    note: str = ""

    @property
    def remedy(self) -> str:
        """What to try where a run could not go on.

        Example:
            >>> METHODS["rk4"].remedy
            'take smaller steps'
        """
        if not self.adaptive:
            return "take smaller steps"
        other = "dopri5 or dop853" if self.implicit else "rodas4 where it is stiff"
        return f"take another tolerance or method: {other}, rk4 over jumps"


_FIRST = (
    "this method is of order 1 and {} energy, in proportion to the step, where the mass matrix "
    "changes, as with bodies that turn in space; verlet, of order 2, and rk4 keep it better"
)

METHODS: dict[str, Method] = {
    m.name: m
    for m in (
        Method("midpoint", 2, 2),
        Method("rk4", 4, 4),
        Method("semi-implicit", 1, 1, in_turn=True, note=_FIRST.format("gains")),
        Method("implicit-speeds", 1, 1, in_turn=True, note=_FIRST.format("loses")),
        Method("verlet", 2, 2, in_turn=True),
        Method("dopri5", 5, 6, adaptive=True),
        Method("dop853", 8, 12, adaptive=True, stages_inside=3),
        Method("rodas4", 4, 6, adaptive=True, implicit=True),
    )
}

ALIASES = {"implicit": "rodas4", "rosenbrock": "rodas4"}
"""Other words for methods."""


def method_named(name: str, *more: str) -> Method:
    """Return a method; a name that is not known is an error, which names `more` as well.

    Example:
        >>> method_named("rk4").order
        4
    """
    given: object = name
    known = ALIASES.get(name, name) if isinstance(given, str) else ""
    if known not in METHODS:
        raise Error(
            f"there is no method {name!r}", remedy=f"choose one of {', '.join((*METHODS, *more))}"
        )
    return METHODS[known]
