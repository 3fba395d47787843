"""Noise of a drive: per step, as densities in time, and by the steps of a sensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import suggestion
from linkwright.elements.drives.parts import DriveError, number

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class DriveNoise:
    """What disturbs the states of a chain and what its sensors add.

    Args:
        process: standard deviation of what each step adds to a state, by the state's name, as in
            JNTMOD. Halving the step doubles the power of such a disturbance.
        density: of white noise in the rate of a state, by name: its unit for the root of a second.
            Van Loan's integral makes the covariance of a step of it, whatever the step.
        sensors: standard deviation of each sensor, by the name of what it measures.
        quantum: the step of a sensor, by the name of what it measures; 0 for none.

    >>> DriveNoise(sensors={"motor.speed": 1.0}).sensors
    {'motor.speed': 1.0}
    """

    process: Mapping[str, float] | None = None
    density: Mapping[str, float] | None = None
    sensors: Mapping[str, float] | None = None
    quantum: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        for table in self._tables():
            for name, value in table.items():
                number(value, f"the noise of {name!r}", least=0.0)

    def __bool__(self) -> bool:
        return any(any(table.values()) for table in self._tables())

    def _tables(self) -> list[Mapping[str, float]]:
        return [t or {} for t in (self.process, self.density, self.sensors, self.quantum)]


def column(table: Mapping[str, float] | None, names: Sequence[str], what: str) -> Array:
    """Return the numbers of a table in the order of the names; 0 where there is none.

    >>> column({"b": 2.0}, ["a", "b"], "state").tolist()
    [0.0, 2.0]
    """
    table = table or {}
    for name in table:
        if name not in names:
            raise DriveError(
                f"noise is given for {name!r}, which is not a {what} of this chain",
                remedy=suggestion(name, names, f"there are {', '.join(names)}"),
                code="R403",
            )
    return np.array([float(table.get(name, 0.0)) for name in names])


def factor(covariance: Array) -> Array:
    """Return a matrix whose product with its transpose is a covariance, singular ones too.

    >>> factor(np.diag([4.0, 0.0])).tolist()
    [[2.0, 0.0], [0.0, 0.0]]
    """
    diagonal = np.diag(np.diag(covariance))
    if np.array_equal(covariance, diagonal):
        return np.sqrt(diagonal)
    values, vectors = np.linalg.eigh(covariance)
    found: Array = vectors * np.sqrt(np.maximum(values, 0.0))
    return found
