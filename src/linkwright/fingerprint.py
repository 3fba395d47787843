"""A digest of our own code, by which what is stored on disk outlives no change of it."""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from pathlib import Path

from linkwright.version import __version__

_ENDINGS = (".py", ".toml", ".json")
_FRONT = ("cli", "pages", "scene", "studio")  # they show what runs leave, and compute none of it
GENERATORS = ("backends", "program", "simulation")
"""The packages that write native code for Programs and for runs."""


@lru_cache(maxsize=8)
def fingerprint(*packages: str) -> str:
    """Return a digest of some packages; of all that compute anything where none is named.

    >>> len(fingerprint()), fingerprint("algebra") == fingerprint("program")
    (32, False)
    """
    top = Path(__file__).parent
    chosen = packages or [p.name for p in top.iterdir() if p.is_dir() and p.name not in _FRONT]
    sink = hashlib.blake2b(__version__.encode(), digest_size=16)
    for package in sorted(chosen):
        sink.update(_folder(os.fspath(top / package)))
    return sink.hexdigest()


@lru_cache(maxsize=256)
def _folder(folder: str) -> bytes:
    sink = hashlib.blake2b(digest_size=16)
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_dir():
            if entry.name != "__pycache__":
                sink.update(_folder(entry.path))
        elif entry.name.endswith(_ENDINGS):
            sink.update(entry.name.encode())
            sink.update(Path(entry.path).read_bytes())
    return sink.digest()
