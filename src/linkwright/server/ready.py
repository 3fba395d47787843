"""Cells made ready for native runs, and remembered on disk.

A cell that has run once starts without its Systems being put together: their phases are kept as
plain data in the cache of native code, under a digest of the cell, of its models and of this
package's code.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path

from linkwright.cache import entry_key, open_cache
from linkwright.fingerprint import fingerprint
from linkwright.server.cell import Cell
from linkwright.simulation.native.session import Session
from linkwright.simulation.native.stored import Forgotten, from_data, is_storable, to_data
from linkwright.simulation.settings import RunSettings
from linkwright.system import Phases, System

FOREVER = 1e7
"""s, how long a cell may run."""

_FORMAT = 1


Tell = Callable[[str], None]
"""What takes lines for whoever waits."""


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
    key = _key(cell, build, names)
    store = open_cache()
    entry = None if store is None else store.fetch(key)
    if entry is not None:
        try:
            return _session(from_data(json.loads(entry)), settings)
        except (ValueError, Forgotten):
            pass  # an entry of another kind, or one whose code is gone: it is made again
    if tell is not None:
        models = ", ".join(dict.fromkeys(arm.model for arm in cell.arms))
        tell(f"preparing the equations of {models}; the next start is quick")
    phases = build(cell).phases(names)
    if store is not None and is_storable(phases):
        store.put(key, json.dumps(to_data(phases)).encode())
    return _session(phases, settings)


def _session(phases: Phases, settings: RunSettings) -> Session:
    return Session(phases, settings.timed(None, phases.tick_seconds))


def _key(cell: Cell, build: Callable[[Cell], System], names: tuple[str, ...] | None) -> bytes:
    told = hashlib.blake2b(digest_size=32)
    parts = [fingerprint("cells"), cell.text, build.__name__, repr(names)]
    for arm in cell.arms:
        parts.append(str(arm.file))
        if arm.file is not None:
            parts.append(hashlib.blake2b(Path(arm.file).read_bytes()).hexdigest())
    for part in parts:
        told.update(f"{len(part)} {part}".encode())
    return entry_key(f"cell {_FORMAT}".encode() + told.digest(), "phases")
