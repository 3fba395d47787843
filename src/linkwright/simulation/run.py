"""What a simulation leaves behind: states and outputs over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from linkwright.equations.evaluation import Array
from linkwright.errors import Error
from linkwright.mechanism import Mechanism


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A simulation that was carried out.

    Args:
        mechanism: what moved.
        values: numbers of its parameters and inputs.
        times: s, from the start to the end.
        states: coordinates, extra states and all speeds by name, over time.
        accelerations: the rates of the speeds by name, over time.
        outputs: the mechanism's outputs by name, over time.
        units: the unit of each channel.
        steps: accepted steps.
        evaluations: of the derivative.
        residual: the largest violation of a relation of position at a recorded time, relative to
            the size of its Jacobian.
        report: what happened, in sentences.

    >>> from linkwright.simulation import simulate
    >>> m = Mechanism("cart")
    >>> b = m.body("b", translate="x", mass=2)
    >>> f = m.force("push", 4, at=b.origin, along="x")
    >>> run = simulate(m, 1.0, method="rk4", step=0.1)
    >>> run.steps, round(float(run["b"][-1]), 6)
    (10, 1.0)
    """

    mechanism: Mechanism = field(repr=False)
    values: Mapping[str, float] = field(repr=False)
    times: Array
    states: dict[str, Array] = field(repr=False)
    accelerations: dict[str, Array] = field(repr=False)
    outputs: dict[str, Array] = field(repr=False)
    units: dict[str, str] = field(repr=False)
    steps: int
    evaluations: int
    residual: float
    report: tuple[str, ...] = field(repr=False)

    def __getitem__(self, name: str) -> Array:
        """Return a state, an acceleration or an output over time."""
        for table in (self.states, self.outputs, self.accelerations):
            if name in table:
                return table[name]
        known = [*self.states, *self.outputs]
        raise Error(f"the run of {self.mechanism.name!r} has no channel {name!r}; it has {known}")

    def at(self, time: float) -> dict[str, float]:
        """Return states and outputs at a recorded time.

        Args:
            time: s; the nearest recorded time must be within 1e-9 of it, relative to the end.
        """
        k = int(np.abs(self.times - time).argmin())
        if abs(self.times[k] - time) > 1e-9 * max(abs(float(self.times[-1])), 1e-300):
            raise Error(
                f"t = {time} s was not recorded; the nearest time is {self.times[k]}",
                remedy="choose a step that divides it",
            )
        return {n: float(v[k]) for n, v in (*self.states.items(), *self.outputs.items())}

    @property
    def final(self) -> dict[str, float]:
        """States and outputs at the end."""
        return self.at(float(self.times[-1]))
