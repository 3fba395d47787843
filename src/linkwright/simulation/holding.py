"""What the run of a mechanism holds from step to step: values of its inputs, and its records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from linkwright.algebra.units import by_name
from linkwright.equations.evaluation import Array
from linkwright.mechanism import Mechanism

Input = float | Callable[[float], float]


class Held:
    """Values of the inputs: numbers, functions of time, and what was sampled last."""

    def __init__(
        self, mechanism: Mechanism, values: Mapping[str, float], inputs: Mapping[str, Input]
    ) -> None:
        self.mechanism = mechanism
        self.now = {n: values[n] for n in mechanism.inputs}
        for name, value in by_name(inputs, "inputs").items():
            self._check(name)
            if not callable(value):
                self.now[name] = mechanism.amount(name, value, "the input")
        self.functions = {n: f for n, f in inputs.items() if callable(f)}

    def _check(self, name: str) -> None:
        if name not in self.mechanism.inputs:
            self.mechanism.unknown(name, self.mechanism.inputs, "input")

    def hold(self, values: Mapping[str, float]) -> None:
        """Take values that hold from now on."""
        for name, value in values.items():
            self._check(name)
            self.now[name] = float(value)

    def __call__(self, t: float) -> Mapping[str, float]:
        """Return the values of all inputs at a time."""
        for name, function in self.functions.items():
            self.now[name] = float(function(t))
        return self.now


@dataclass(slots=True)
class Records:
    """What is written down at the recorded times."""

    times: list[float] = field(default_factory=list)
    rows: list[tuple[Array, ...]] = field(default_factory=list)
    inputs: list[dict[str, float]] = field(default_factory=list)
    residual: float = 0.0
    sink: Callable[[float, tuple[Array, ...], Mapping[str, float]], None] | None = None

    def add(self, t: float, row: tuple[Array, ...], inputs: Mapping[str, float]) -> None:
        """Write down one time."""
        self.times.append(t)
        self.rows.append(row)
        self.inputs.append(dict(inputs))
        if self.sink is not None:
            self.sink(t, row, inputs)
