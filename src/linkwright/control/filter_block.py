"""What every filter is as a block: its ports, its channels, and when its sensors are due."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from linkwright.algebra import ONE, Expr, where
from linkwright.blocks import Block, BlockError, Rate, Sampled, checked_all


class FilterBlock(Block):
    """A filter: from what is measured and the inputs to an estimate of the states.

    Args:
        states: names of the states.
        sensors: how many there are.
        inputs: how many there are.
        initial: the estimate at the start, before the first measurement; zero by default.
        truth: whether there is a port `truth` for the true states.
        every: for each sensor, at how many instants once it has a new value; always by default.
        switched: whether sensors can be left out at an instant.
        name: of the block.
        rate: hertz or a `Rate`.
    """

    needs_rate = True
    """A filter works at instants."""

    def __init__(
        self,
        states: Sequence[str],
        sensors: int,
        inputs: int,
        *,
        initial: Sequence[float] | None,
        truth: bool,
        every: Sequence[int] | None,
        switched: bool,
        name: str,
        rate: Rate | float | Fraction | None,
    ) -> None:
        super().__init__(name, rate=rate, doc="Kalman filter")
        self.designed_for = self.rate.period if isinstance(self.rate, Sampled) else None
        n = len(states)
        self.state_names = tuple(states)
        self.unobservable: tuple[str, ...] = ()
        start: Sequence[float] = [0.0] * n
        if initial is not None:
            start = checked_all(initial, f"initial of {name!r}", count=n)
        self._z = self.input_vector("z", sensors, doc="what is measured")
        self._u = self.input_vector("u", inputs, doc="inputs") if inputs else ()
        self._truth = self.input_vector("truth", n, doc="the true states") if truth else ()
        self._used: list[Expr] = [ONE] * sensors
        if switched:
            told = "1 where a sensor has a new value"
            self._used = list(self.input_vector("used", sensors, 1.0, unit="1", doc=told))
        for k, due in enumerate(every or ()):
            self._used[k] = self._used[k] * self._every(k, due)
        self._prior = [
            self.discrete_state(f"prior[{i}]", initial=start[i], doc=f"predicted {called}")
            for i, called in enumerate(self.state_names)
        ]

    def _every(self, sensor: int, due: int) -> Expr:
        """Return 1 at one of so many instants, 0 at others."""
        if due < 1 or not float(due).is_integer():
            raise BlockError(
                f"sensor {sensor} of {self.name!r} has a new value every {due} instants",
                remedy="give a whole number of 1 or more",
                code="R507",
            )
        if due == 1:
            return ONE
        count = self.discrete_state(f"count[{sensor}]", unit="1")
        self.update(count, where(count > due - 1.5, 0, count + 1))
        return where(count < 0.5, 1, 0)

    def _put_out(
        self,
        x: Sequence[Expr],
        sigma: Sequence[Expr],
        nis: Expr,
        filtered: Sequence[Expr],
        expected: Sequence[Expr],
    ) -> None:
        """Make the ports."""
        self.output_vector("x", x, doc="estimate")
        self.output_vector("sigma", sigma, doc="standard deviation of the estimate")
        self.output_vector("y", filtered, doc="what is measured, from the estimate")
        self.output_vector("z_hat", expected, doc="what was expected to be measured")
        innovations = [z - e for z, e in zip(self._z, expected, strict=True)]
        self.output_vector("innovation", innovations, doc="measured less expected")
        self.output("nis", nis, unit="1", doc="normalized innovation squared")
