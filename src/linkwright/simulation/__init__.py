"""Simulation: running mechanisms and Systems over time.

A name is imported when it is first used: a run whose native code is in the cache needs nothing that
derives equations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwright.lazy import lazy_names

if TYPE_CHECKING:
    from linkwright.simulation.batches import simulate_batch
    from linkwright.simulation.native.batch import Batch
    from linkwright.simulation.native.methods import METHODS
    from linkwright.simulation.run import Energies, Run
    from linkwright.simulation.runs import RunInterrupted, RunStopped, simulate
    from linkwright.simulation.settings import RunSettings

__all__ = [
    "METHODS",
    "Batch",
    "Energies",
    "Run",
    "RunInterrupted",
    "RunSettings",
    "RunStopped",
    "simulate",
    "simulate_batch",
]

_HOMES: dict[str, tuple[str, ...]] = {
    ".native.methods": ("METHODS",),
    ".native.batch": ("Batch",),
    ".run": ("Energies", "Run"),
    ".runs": ("RunInterrupted", "RunStopped", "simulate"),
    ".settings": ("RunSettings",),
    ".batches": ("simulate_batch",),
}

if not TYPE_CHECKING:  # hidden from type checkers, so that they report an unknown name
    __getattr__ = lazy_names(__name__, _HOMES)
