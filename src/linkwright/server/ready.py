"""Cells made ready for native runs, and remembered on disk.

A cell that has run once starts without its Systems being put together: their phases are kept as
plain data in the cache of native code, under a digest of the cell, of its models and of this
package's code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from linkwright.cache import entry_key
from linkwright.fingerprint import fingerprint
from linkwright.server.cell import Cell
from linkwright.simulation.native.session import Session
from linkwright.simulation.native.stored import Tell, prepared
from linkwright.simulation.settings import RunSettings
from linkwright.system import System

FOREVER = 1e7
"""s, how long a cell may run."""


def session_of_cell(
    cell: Cell,
    build: Callable[[Cell], System],
    *,
    every: int,
    record: Iterable[str] | None = None,
    tell: Tell | None = None,
) -> Session:
    """Return a run of one of a cell's Systems that stands at its start.

    >>> from linkwright.server.cell_file import read_cell
    >>> from linkwright.server.cell_system import device_system
    >>> session_of_cell(read_cell("axes2"), device_system, every=0).tick
    0
    """
    names = None if record is None else tuple(dict.fromkeys(record))
    settings = RunSettings(FOREVER, 1 / cell.rate, "verlet", every=every)
    files = [arm.file and (str(arm.file), Path(arm.file).read_bytes()) for arm in cell.arms]
    content = (fingerprint("cells"), cell.text, build.__name__, names, files)
    return prepared(
        entry_key(repr(content).encode(), "cell"),
        lambda phases: Session(phases, settings.timed(None, phases.tick_seconds)),
        lambda: build(cell).phases(names),
        ", ".join(dict.fromkeys(arm.model for arm in cell.arms)),
        tell,
    )
