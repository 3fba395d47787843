"""A hold whose samples come at random, to try on a machine what is said of a loop."""

from __future__ import annotations

from fractions import Fraction

from linkwright.algebra import Expr, floor, where
from linkwright.algebra.functions.calls import maximum
from linkwright.base.errors import InputError
from linkwright.blocks import Block, Rate
from linkwright.sampling.regimes import Distribution, Piece

_PIECES = 48  # of a record, by which its intervals are represented


class RandomHold(Block):
    """Samples its input at random instants, and holds it in between.

    Intervals are whole numbers of instants of its rate, at least one. They depend on the seed and
    the run, so that `simulate_batch` has a stream for each run.

    Args:
        distribution: of the intervals, independent of each other and without delay.
        count: entries of its input; None for a number.
        name: of the block.
        rate: hertz or a `Rate`; intervals are rounded to its instants.

    >>> from linkwright.sampling import Uniform
    >>> RandomHold(Uniform("10 ms", "30 ms"), rate=1000)
    RandomHold(random_hold: u -> y)
    """

    needs_rate = True
    """A hold has instants."""

    def __init__(
        self,
        distribution: Distribution,
        count: int | None = None,
        *,
        name: str = "random_hold",
        rate: Rate | float | Fraction | None = None,
    ) -> None:
        super().__init__(name, rate=rate, doc="hold with random intervals")
        self.uneven = "it samples at some of its instants only"
        regimes = distribution.regimes().fewer(_PIECES)
        if len(regimes.each) > 1 or regimes.depth:
            raise InputError(
                f"a hold cannot have intervals of {type(distribution).__name__}, which depend on "
                "each other or come with a delay",
                remedy="choose a distribution of independent intervals",
                code="R623",
            )
        left = self.discrete_state("left", doc="instants until the next sample")
        due = self.intermediate(where(left < 0.5, 1, 0))
        wait = _quantile(list(regimes.each[0].pieces), self.uniform("luck"))
        instants = maximum(floor(wait / self.period + 0.5), 1)
        self.update(left, where(due, instants, left) - 1)
        taken = [self.input("u")] if count is None else list(self.input_vector("u", count))
        shown = []
        for i, u in enumerate(taken):
            held = self.discrete_state(f"held{i}")
            now = self.intermediate(where(due, u, held))
            self.update(held, now)
            shown.append(now)
        if count is None:
            self.output("y", shown[0])
        else:
            self.output_vector("y", shown)


def _quantile(pieces: list[Piece], luck: Expr) -> Expr:
    """Return the interval that a number, uniform in (0, 1), stands for."""
    pieces = sorted(pieces, key=lambda p: p.low)
    first, found = 1.0, None
    for p in reversed(pieces):
        first -= p.weight
        value = p.low + (p.high - p.low) * ((luck - first) / p.weight)
        found = value if found is None else where(luck < first + p.weight, value, found)
    assert found is not None
    return found
