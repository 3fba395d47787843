"""Executors: what runs Phases on a target.

An executor holds the memory of a run on its target. `put` and `rows_of` move arrays in and out,
`run` goes on until there is something to do outside, and `field` says where the run stands: it is
the same loop everywhere, over the Programs and tables of one schedule
(`linkwright.simulation.native.schedule`), so every executor gives the same numbers, to rounding.
A new target (NVPTX) is one class and one line in `EXECUTORS`. WebAssembly is run by a page:
`linkwright.simulation.native.wasm` writes its module from a native run at its start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import Error
from linkwright.base.lazy import named
from linkwright.simulation.native.called import CalledFunctions
from linkwright.simulation.native.machine import Array, Integers, Settings
from linkwright.system.phases import Phases


class Executor(Protocol):
    """One run, or several, of a System in the memory of a target."""

    phases: Phases
    settings: Settings
    rows: int
    samples: Array
    log: Integers
    whole: Integers
    called: CalledFunctions

    @property
    def calls_python(self) -> bool:
        """Whether steps call Python functions, so that they come back often."""

    def put(self, name: str, values: ArrayLike) -> None:
        """Write one of the arrays x, d, p, w."""

    def put_whole(self, name: str, values: ArrayLike) -> None:
        """Write the seed, or the number of the run."""

    def prepare(self) -> None:
        """Compute what depends on parameters alone."""

    def remember(self) -> None:
        """Let guards remember where the runs stand."""

    def take_schedule(self, other: Any) -> None:
        """Stand in the schedule where another executor of the same kind stands."""

    def initialize(self) -> None:
        """Let the states start where the phases put them."""

    def budget(self, steps: int) -> None:
        """Set after how many steps a call of `run` comes back at the latest."""

    def run(self, first: int, count: int) -> None:
        """Drive some blocks of runs until each has something to say."""

    def extend(self, until: int) -> None:
        """Let the runs go on to a later base tick."""

    def foreign(self, block: int) -> None:
        """Call the Python function that a block waits for."""

    def pass_over(self, block: int) -> int | None:
        """Let a slot hold where its function has failed at a tick; return which tick it is."""

    def field(self, name: str) -> Integers:
        """Return a view of an integer of each block."""

    def rows_of(self, name: str) -> Array:
        """Return an array, a row for each run."""

    def outputs(self, times: ArrayLike) -> Array:
        """Return the outputs where the runs stand, a row for each."""

    def snapshot(self) -> dict[str, NDArray[np.generic]]:
        """Return copies of all that changes."""

    def restore(self, saved: Mapping[str, NDArray[np.generic]]) -> None:
        """Put back what `snapshot` returned."""


EXECUTORS: dict[str, str] = {
    "native": "linkwright.simulation.native.machine:Machine",
    "python": "linkwright.simulation.plain.machine:PlainMachine",
}
"""The home and the class of each executor."""


def allocate(name: str, phases: Phases, settings: Settings, *, rows: int) -> Executor:
    """Return the memory of one run on a target."""
    if name not in EXECUTORS:
        there = ", ".join(EXECUTORS)
        raise Error(f"there is no executor {name!r}", remedy=f"choose one of {there}")
    make: Callable[..., Executor] = named(EXECUTORS[name])
    return make(phases, settings, rows=rows)
