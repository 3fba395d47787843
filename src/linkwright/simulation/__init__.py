"""Simulation: running mechanisms and Systems over time.

A name is imported when it is first used: a run whose native code is in the cache needs nothing that
derives equations.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

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

_HOMES = {
    "METHODS": "native.methods",
    "Batch": "native.batch",
    "Energies": "run",
    "Run": "run",
    "RunInterrupted": "runs",
    "RunSettings": "settings",
    "RunStopped": "runs",
    "simulate": "runs",
    "simulate_batch": "batches",
}

if not TYPE_CHECKING:  # hidden from type checkers, so that they report an unknown name

    def __getattr__(name: str) -> object:
        """Import a name from its home and remember it."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = found
        return found
