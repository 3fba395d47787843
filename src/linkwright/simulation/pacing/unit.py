"""The compiled unit of paced loops, with the clock of this system bound to it."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from linkwright.backends.llvm.compile import NativeCode, cached_native, simplified
from linkwright.base.fingerprint import fingerprint
from linkwright.simulation.pacing.memory import NOW, PACE, PUBLISH, PULL, PUSH, TAKE, TAPE, TELLS

LINUX = sys.platform.startswith("linux")


@dataclass(frozen=True, slots=True)
class PacingCode:
    """The native functions of paced loops; calling one releases the interpreter lock."""

    code: NativeCode
    pace: Callable[[int], int]
    now: Callable[[], int]
    take_latest: Callable[[int, int, int], int]
    publish: Callable[[int, int], None]
    keep: object


@lru_cache(maxsize=1)
def unit() -> PacingCode:
    """Return the compiled unit.

    >>> unit().now() <= unit().now()
    True
    """
    bind, keep = _clock()
    code = cached_native(
        f"pacing {fingerprint('runs')} {LINUX}".encode(),
        _text,
        [PACE, NOW, TAKE, PUBLISH, TAPE, PULL, PUSH, TELLS],
        bind=bind,
    )
    i64, address = ctypes.c_int64, ctypes.c_void_p
    return PacingCode(
        code,
        code.function(PACE, i64, address),
        code.function(NOW, i64),
        code.function(TAKE, i64, address, address, i64),
        code.function(PUBLISH, None, address, i64),
        keep,
    )


def _text() -> str:
    from linkwright.simulation.pacing.function import pacing_ir

    return simplified(pacing_ir(LINUX))


def _clock() -> tuple[dict[str, int], object]:
    """Return the addresses of the clock's functions, and what keeps them valid."""
    if LINUX:
        library = ctypes.CDLL(None)
        names = ("clock_gettime", "clock_nanosleep", "syscall", "recv", "send", "ppoll")
        return {f"lw_{n}": _address(getattr(library, n)) for n in names}, library

    def until(instant: int) -> None:
        time.sleep(max(0.0, 1e-9 * (instant - time.monotonic_ns())))

    now = ctypes.CFUNCTYPE(ctypes.c_int64)(time.monotonic_ns)
    sleep = ctypes.CFUNCTYPE(None, ctypes.c_int64)(until)
    return {"lw_now": _address(now), "lw_sleep_until": _address(sleep)}, (now, sleep)


def _address(function: Any) -> int:
    found = ctypes.cast(function, ctypes.c_void_p).value
    assert found is not None
    return found
