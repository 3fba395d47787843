"""Sleeping until a 32-bit word in shared memory changes: Linux's futex, between processes."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import sys
import time
from functools import cache

from linkwright.base.errors import Error

_NUMBERS = {"x86_64": 202, "aarch64": 98, "riscv64": 98, "ppc64le": 221, "s390x": 238}
"""The system call on 64-bit machines, from the kernel's tables."""
_WAIT, _WAKE = 0, 1


class _Span(ctypes.Structure):
    """A length of time as the kernel wants it."""

    _fields_ = (("seconds", ctypes.c_int64), ("nanoseconds", ctypes.c_int64))


@cache
def futex_number() -> int:
    """Return the number of the system call; raise an error where there is none."""
    number = _NUMBERS.get(platform.machine()) if sys.platform == "linux" else None
    if number is None:
        raise Error(
            f"waking processes through a window needs Linux on a 64-bit machine, "
            f"not {sys.platform} on {platform.machine()}",
            remedy="read the window at intervals instead",
        )
    return number


@cache
def _call() -> ctypes._NamedFuncPointer:
    return ctypes.CDLL(None, use_errno=True).syscall


def wake(address: int) -> int:
    """Wake whoever sleeps on the word at an address, and return how many did."""
    many = ctypes.c_int(2**31 - 1)
    return int(
        _call()(
            ctypes.c_long(futex_number()), ctypes.c_void_p(address), ctypes.c_int(_WAKE), many, 0
        )
    )


def wait(address: int, seen: int, seconds: float) -> bool:
    """Sleep while the word at an address is `seen`, and return whether it changed in time."""
    word = ctypes.c_uint32.from_address(address)
    end = time.monotonic() + seconds
    while word.value == seen:
        left = end - time.monotonic()
        if left <= 0:
            return False
        span = _Span(int(left), int(left % 1 * 1e9))
        failed = _call()(
            ctypes.c_long(futex_number()),
            ctypes.c_void_p(address),
            ctypes.c_int(_WAIT),
            ctypes.c_uint32(seen),
            ctypes.byref(span),
            None,
            0,
        )
        why = ctypes.get_errno() if failed else 0
        if why not in (0, errno.EAGAIN, errno.EINTR, errno.ETIMEDOUT):
            raise Error(f"cannot wait for a window: {os.strerror(why)}")
    return True
