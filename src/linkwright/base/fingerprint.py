"""A digest of our own code, by which what is stored on disk outlives no change of it.

A result is stored under a digest of the rooms (packages) that it comes from: a test holds that
these are the rooms which are imported for it, all of them and no other.
"""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from pathlib import Path

from linkwright.base.cache import entry_key, open_cache
from linkwright.version import __version__

_KERNELS = ("algebra", "backends", "base", "program")
_SYSTEMS = ("blocks", "control", "elements", "equations", "formats", "mechanism", "motion")
_RUNS = ("simulation", "system", "windows")
ROOMS = {
    "programs": ("algebra", "base", "program"),
    "kernels": _KERNELS,
    "choices": (*_KERNELS, "equations", "mechanism"),
    "starts": (*_KERNELS, "homotopy"),
    "runs": (*_KERNELS, *_RUNS),
    "robots": (*_KERNELS, *_SYSTEMS, "homotopy", "robots", "system"),
    "wholebody": (*_KERNELS, *_SYSTEMS, "homotopy", "robots", "system", "wholebody"),
    "models": (*_KERNELS, *_SYSTEMS, *_RUNS, "models", "recording"),
    "cells": (*_KERNELS, *_SYSTEMS, *_RUNS, "homotopy", "robots", "server"),
    "labs": (*_KERNELS, *_SYSTEMS, *_RUNS, "homotopy", "lab", "recording", "robots"),
}
"""For each kind of result the packages that it comes from."""

_ENDINGS = (".py", ".pyi", ".toml", ".json")  # stubs say where names come from


@lru_cache(maxsize=16)
def fingerprint(result: str, top: Path = Path(__file__).parents[1]) -> str:
    """Return a digest of all code that a kind of result comes from.

    The cache remembers it by the times and sizes of the files, which are not read again then.

    >>> len(fingerprint("kernels")), fingerprint("kernels") == fingerprint("robots")
    (32, False)
    """
    files = sources(result, top)
    looks = [(name, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for name, _, s in files]
    store = (
        open_cache() if len({look[2:] for look in looks}) > 1 else None
    )  # else times say nothing
    key = entry_key(repr((__version__, looks)).encode(), "sources")
    known = None if store is None else store.fetch(key)
    if known is not None:
        return known.decode()
    sink = hashlib.blake2b(__version__.encode(), digest_size=16)
    for name, path, state in files:
        sink.update(f"\0{name}\0{state.st_size}\0".encode())
        sink.update(Path(path).read_bytes())
    if store is not None:
        store.put(key, sink.hexdigest().encode())
    return sink.hexdigest()


def sources(result: str, top: Path) -> list[tuple[str, str, os.stat_result]]:
    """Return the files that a kind of result comes from: names from the top, paths, states."""
    found = []
    folders = [os.fspath(top / room) for room in ROOMS[result]]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_file():
                    found.append(entry)
                elif entry.name != "__pycache__":
                    folders.append(entry.path)
    start = len(os.fspath(top)) + 1
    return sorted((e.path[start:], e.path, e.stat()) for e in found if e.name.endswith(_ENDINGS))
