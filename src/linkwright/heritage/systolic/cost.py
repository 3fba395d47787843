"""What the array takes for a problem: steps, cycles and seconds.

After the report's appendix A.4, section 5.2. Each step is the same set of operations in every
element, and the boundary cells take longest. Rows enter one a step, and each of them is in the
array for 2n + p steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from linkwright.base.errors import InputError

STEP: dict[str, tuple[int, int]] = {
    "division with shift": (6, 11),
    "multiplication": (5, 7),
    "addition": (5, 1),
    "absolute value": (1, 2),
    "comparison": (1, 1),
    "subtraction": (1, 2),
    "transfer inside": (15, 1),
    "transfer with memory": (2, 3),
    "transfer to a neighbor": (8, 2),
}
"""How often a boundary cell does each operation in a step, and the cycles that one takes."""

STEP_CYCLES = sum(times * cycles for times, cycles in STEP.values())
"""148."""

SYSTEM_CLOCK = 8e6
"""Hz."""


@dataclass(frozen=True, slots=True)
class ArrayCost:
    """What the array takes.

    Args:
        steps: of the whole problem.
        cycles: of the system clock.
        seconds: at the clock that was given.

    Example:
        >>> ArrayCost(30, 4440, 0.000555).steps
        30
    """

    steps: int
    cycles: int
    seconds: float

    def __add__(self, other: ArrayCost) -> ArrayCost:
        return ArrayCost(
            self.steps + other.steps, self.cycles + other.cycles, self.seconds + other.seconds
        )


def array_cost(m: int, n: int, p: int, l: int, *, clock: float = SYSTEM_CLOCK) -> ArrayCost:
    """Return what D + C A⁻¹ B takes by the report's model.

    Args:
        m: rows of A and B.
        n: columns of A and C.
        p: columns of B and D.
        l: rows of C and D.
        clock: Hz of the system clock.

    Example:
        >>> found = array_cost(6, 6, 6, 6)  # the inverse of a 6×6 matrix
        >>> found.steps, found.cycles, f"{found.seconds * 1e3:.3f} ms"
        (30, 4440, '0.555 ms')
    """
    for name, size in (("m", m), ("n", n), ("p", p), ("l", l)):
        if type(size) is not int or size < 1:
            raise InputError(f"{name} is {size!r}", remedy="give a whole number from 1 on")
    if type(clock) not in (int, float) or not 0 < clock < math.inf:
        raise InputError(f"the clock is {clock!r}", remedy="give its frequency in Hz, above 0")
    steps = 2 * n + p + m + l
    cycles = STEP_CYCLES * steps
    return ArrayCost(steps, cycles, cycles / clock)


def pseudo_inverse_cost(
    rows: int, columns: int, *, clock: float = SYSTEM_CLOCK
) -> tuple[ArrayCost, ArrayCost, ArrayCost]:
    """Return what the three passes to the pseudo-inverse of a wide matrix J take.

    They are the product J Jᵀ, its inverse, and the product Jᵀ (J Jᵀ)⁻¹.

    Args:
        rows: of J.
        columns: of J, at least as many.
        clock: Hz of the system clock.

    Example:
        >>> passes = pseudo_inverse_cost(6, 7)
        >>> [one.steps for one in passes], f"{sum(one.seconds for one in passes) * 1e3:.2f} ms"
        ([33, 30, 31], '1.74 ms')
    """
    return (
        array_cost(columns, columns, rows, rows, clock=clock),
        array_cost(rows, rows, rows, rows, clock=clock),
        array_cost(rows, rows, rows, columns, clock=clock),
    )
