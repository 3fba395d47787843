"""The memory of this process: how much it has, and that freed memory goes back."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any


def megabytes() -> float:
    """The memory of this process; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@cache
def _c_library() -> Any:
    """The C library of this process, where it gives memory back on request: glibc's."""
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    return library if hasattr(library, "malloc_trim") else None


def keep_little() -> None:
    """Let freed memory go back to the system: what LLVM frees lies in pieces and would stay."""
    library = _c_library()
    if library is not None:
        library.malloc_trim(0)
