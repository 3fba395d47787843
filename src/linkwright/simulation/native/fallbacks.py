"""How a run goes on where its phases are not to be trusted: the same System in another form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from linkwright.system.phases import Phases


@dataclass(frozen=True, slots=True, eq=False)
class SessionPlace:
    """Where a run stands: time in s, continuous states, discrete ones and inputs by name."""

    t: float
    x: Mapping[str, float]
    d: Mapping[str, float]
    w: Mapping[str, float]


class Fallback(Protocol):
    """What knows how to go on where phases are not to be trusted."""

    @property
    def phases(self) -> Phases:
        """The phases to go on with; all have the same ticks and channels."""

    @property
    def stepwise(self) -> bool:
        """Whether every step is to be looked at."""

    @property
    def report(self) -> Sequence[str]:
        """What happened, in sentences."""

    @property
    def values(self) -> Mapping[str, float]:
        """The parameters and inputs that it knows."""

    def set(self, values: Mapping[str, float]) -> None:
        """Take other parameters and inputs."""

    @property
    def form(self) -> NDArray[np.generic]:
        """What its phases are, as numbers."""

    def take_form(self, form: NDArray[np.generic]) -> None:
        """Take the phases that numbers of `form` stand for."""

    def instead(
        self, place: SessionPlace, t_new: float, x_new: Mapping[str, float]
    ) -> dict[str, float]:
        """Choose phases in which to repeat a step that is not trusted; return the state in them."""

    def after(self, place: SessionPlace) -> dict[str, float] | None:
        """Look at an accepted state; return it where other phases are better from here on."""

    def whole(self, place: SessionPlace) -> dict[str, float]:
        """Return all states of a place, those included that its phases eliminate."""

    def ahead(self, place: SessionPlace, method: str, size: float) -> tuple[float, bool]:
        """Return the next step of an adaptive method, s, and whether its error does not count."""
