"""A model from one instant to the next as Programs: what nonlinear filters predict with."""

from __future__ import annotations

from dataclasses import dataclass

from linkwright.blocks import BlockError, checked
from linkwright.program import Program


@dataclass(frozen=True, slots=True)
class Measurement:
    """How well something is measured, and when.

    Args:
        deviation: standard deviation of its noise, in the unit of what is measured; 0 is exact.
        quantum: the step of its readings, which adds quantum²/12 to the variance.
        every: it has a new value at every so many instants of the filter.
        delay: how many instants ago the value was true.

    >>> Measurement(0.0, quantum=0.12).variance.__round__(6)
    0.0012
    """

    deviation: float
    quantum: float = 0.0
    every: int = 1
    delay: int = 0

    def __post_init__(self) -> None:
        for name in ("deviation", "quantum"):
            try:
                checked(getattr(self, name), f"the {name} of a sensor", least=0.0)
            except BlockError as error:
                raise BlockError(error.what, remedy=error.remedy, code="R502") from None
        for name, least in (("every", 1), ("delay", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise BlockError(
                    f"the {name} of a sensor is {value!r} instants",
                    remedy=f"give a whole number of {least} or more",
                    code="R507",
                )

    @property
    def variance(self) -> float:
        """The variance of what it shows."""
        return self.deviation**2 + self.quantum**2 / 12


@dataclass(frozen=True, slots=True)
class ModelParameter:
    """A parameter of a model: its name, what it is unless another value is given, its unit."""

    name: str
    value: float
    unit: str = "?"


@dataclass(frozen=True, slots=True, eq=False)
class StepModel:
    """A model from one instant to the next, x+ = f(x, u), z = h(x, u)."""

    states: tuple[str, ...]  # their names
    inputs: tuple[str, ...]  # their names
    sensors: tuple[str, ...]  # their names
    step: Program  # the Program f: from `x`, `u`, `p` and `t` to `x_next`
    measure: Program  # the Program h: from the same to `z`
    start: tuple[float, ...]  # the states at the start
    parameters: tuple[ModelParameter, ...] = ()  # what `p` holds
