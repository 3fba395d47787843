"""Rules for stations on vessels: how far a dish may be off while it transmits.

After 47 CFR 25.222 (earth stations on vessels): a pointing error of 0.2 deg at most; where it
exceeds 0.5 deg, all emissions cease within 100 ms, and begin again only when it is 0.2 deg or less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import where
from linkwright.base.checks import checked_angle
from linkwright.base.errors import InputError
from linkwright.base.reprs import one_line
from linkwright.blocks import Block

Array = NDArray[np.float64]


@one_line
@dataclass(frozen=True, slots=True)
class License:
    """What a station may do.

    Args:
        error: pointing error at most, rad.
        silence: error beyond which it must not transmit, rad.
        within: s in which it must be silent then.

    Example:
        >>> round(math.degrees(VESSELS.silence), 9)
        0.5
    """

    error: float = math.radians(0.2)
    silence: float = math.radians(0.5)
    within: float = 0.1

    def __post_init__(self) -> None:
        for name, angle in (("error", self.error), ("silence", self.silence)):
            checked_angle(angle, f"the {name} of a license", least=0.0, most=math.radians(15))
        if not (0 < self.error <= self.silence and self.within >= 0):
            raise InputError(
                f"a license of {self.error} rad, silent beyond {self.silence} rad within "
                f"{self.within} s",
                remedy="let 0 < error <= silence, and within be 0 or more",
            )

    def verdict(self, error: ArrayLike, transmits: ArrayLike, period: float) -> str:
        """Return in words whether a run kept the license.

        Args:
            error: pointing error at each sample, rad.
            transmits: whether it transmitted there.
            period: s from sample to sample.

        >>> VESSELS.verdict(np.radians([0.1, 0.1]), [1, 1], 0.01)
        'kept: 0.100 deg at most while transmitting, silent for 0.00 s'
        """
        off, on = np.asarray(error, float), np.asarray(transmits, float) > 0.5
        silent = float((~on).sum()) * period
        unknown = float((on & ~np.isfinite(off)).sum()) * period
        if unknown:
            return f"broken: transmitted for {unknown:.2f} s with an error that is not known"
        worst = float(off[on].max(initial=0.0))
        told = (
            f"{math.degrees(worst):.3f} deg at most while transmitting, silent for {silent:.2f} s"
        )
        late = _longest(on & (off > self.silence)) * period
        if late > self.within + period:
            return f"broken: transmitted {late:.3f} s beyond {_degrees(self.silence)}; {told}"
        if worst > self.error:
            over = float((on & (off > self.error)).sum()) * period
            return f"broken: beyond {_degrees(self.error)} for {over:.2f} s; {told}"
        return f"kept: {told}"


VESSELS = License()
"""The license of stations on vessels."""


def _degrees(angle: float) -> str:
    return f"{round(math.degrees(angle), 9):g} deg"


def _longest(flags: NDArray[np.bool_]) -> int:
    """Return how many samples in a row are flagged at most."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]])))
    return int(np.diff(edges)[::2].max(initial=0))


class TransmitInhibit(Block):
    """A switch that silences a transmitter while the dish is off: add it at a rate.

    It begins silent, until the error is small for the first time; an error that is not a number
    silences it as one that is too great does.

    Its input `error` is in rad. Outputs: `transmits`, 1 or 0; `cuts`, how often it was silenced;
    `late`, s that it transmitted for longer than the license allows.

    Args:
        license: that is kept.
        ticks: by which the monitor of the error is late, whole ticks.
        name: of the block.

    >>> TransmitInhibit()
    TransmitInhibit(transmitter: error -> transmits, cuts, late)
    """

    needs_rate = True
    """It counts instants."""

    def __init__(
        self,
        license: License = VESSELS,  # noqa: A002
        *,
        ticks: int = 0,
        name: str = "transmitter",
    ) -> None:
        super().__init__(name, doc="silences a transmitter while the dish is off")
        error = self.input("error", unit="rad")
        low = self.parameter("resume", license.error, unit="rad", sign="positive")
        high = self.parameter("silence", license.silence, unit="rad", lower=0.0)
        self.require(low <= high)
        within = self.parameter("within", license.within, unit="s", lower=0.0)
        seen = self.delay(error, ticks, math.pi, name="seen") if ticks else error
        before = self.discrete_state("on")
        # kept on only by an error that is small: one that is not a number silences it
        on = self.intermediate(where(seen <= low, 1, where(seen <= high, before, 0)))
        self.update(before, on)
        cuts = self.discrete_state("cut")
        cut = self.intermediate(cuts + where((before > 0.5) & (on < 0.5), 1, 0))
        self.update(cuts, cut)
        beyond = self.discrete_state("beyond")
        far = self.intermediate(where(error <= high, 0, beyond + self.period))
        self.update(beyond, far)
        late = self.discrete_state("lateness")
        more = self.intermediate(
            late + where((on > 0.5) & (far > within + self.period / 2), self.period, 0)
        )
        self.update(late, more)
        self.output("transmits", on, unit="1")
        self.output("cuts", cut, unit="1")
        self.output("late", more, unit="s")
