"""Plain blocks: delay, hold, noise and integrator.

Gains and sums need no block: `System.connect` takes expressions of ports.
"""

from __future__ import annotations

from fractions import Fraction

from linkwright.blocks.block import Block
from linkwright.blocks.rates import Rate
from linkwright.blocks.workspace import Value


class Delay(Block):
    """What its input was so many instants ago: a ring buffer of ticks.

    Args:
        ticks: how many instants, 1 or more.
        count: entries of its input; None for a number.
        initial: what the input was before the start.
        name: of the block.
        rate: hertz or a `Rate`.

    >>> Delay(3, rate=100)
    Delay(delay: u -> y)
    """

    needs_rate = True
    """A delay counts instants."""

    def __init__(
        self,
        ticks: int,
        *,
        count: int | None = None,
        initial: float = 0.0,
        name: str = "delay",
        rate: Rate | float | Fraction | None = None,
    ) -> None:
        super().__init__(name, rate=rate, doc=f"delay of {ticks} instants")
        if count is None:
            u = self.input("u")
            self.output("y", self.delay(u, ticks, initial, name="ring"), initial=initial)
        else:
            many = self.input_vector("u", count)
            late = [self.delay(x, ticks, initial, name=f"ring{i}") for i, x in enumerate(many)]
            self.output_vector("y", late, initial=initial)


class Hold(Block):
    """A zero-order hold: samples its input at its instants and holds it in between.

    Args:
        count: entries of its input; None for a number.
        name: of the block.
        rate: hertz or a `Rate`.

    >>> Hold(rate=100)
    Hold(hold: u -> y)
    """

    needs_rate = True
    """A hold has instants."""

    def __init__(
        self,
        count: int | None = None,
        *,
        name: str = "hold",
        rate: Rate | float | Fraction | None = None,
    ) -> None:
        super().__init__(name, rate=rate, doc="zero-order hold")
        if count is None:
            self.output("y", self.input("u"))
        else:
            self.output_vector("y", self.input_vector("u", count))


class WhiteNoise(Block):
    """Normal random numbers, new at each instant.

    Args:
        deviation: standard deviation.
        mean: of the numbers.
        unit: of the numbers.
        name: of the block.
        rate: hertz or a `Rate`.

    >>> WhiteNoise(0.1, rate=100)
    WhiteNoise(noise: nothing -> y)
    """

    def __init__(
        self,
        deviation: float = 1.0,
        *,
        mean: float = 0.0,
        unit: str = "?",
        name: str = "noise",
        rate: Rate | float | Fraction | None = None,
    ) -> None:
        super().__init__(name, rate=rate, doc="white noise")
        sigma = self.parameter(
            "deviation", deviation, unit=unit, doc="standard deviation", lower=0.0
        )
        center = self.parameter("mean", mean, unit=unit, doc="mean")
        self.output("y", center + sigma * self.noise("stream"), unit=unit)


class Integrator(Block):
    """The integral of its input over time.

    Args:
        initial: where it starts.
        name: of the block.
        rate: hertz or a `Rate`.

    >>> Integrator()
    Integrator(integrator: u -> y)
    """

    def __init__(
        self,
        initial: Value = 0.0,
        *,
        name: str = "integrator",
        rate: Rate | float | Fraction | None = None,
    ) -> None:
        super().__init__(name, rate=rate, doc="integral over time")
        u = self.input("u")
        self.output("y", self.state("x", u, initial))
