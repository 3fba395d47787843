"""What a loop asks of the system: real-time priority, locked memory, a core of its own.

None of them is needed. Where the system rejects one, a line says so and what to type; the loop then
runs as any thread does, and is late now and then.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass

PRIORITY = 40
"""Of a loop's thread among those with real-time priority, 1 to 99; the kernel's own have 50."""

_CURRENT, _FUTURE, _ON_FAULT = 1, 2, 4  # flags of mlockall


@dataclass(frozen=True, slots=True)
class Rights:
    """What a thread was given.

    >>> Rights().refused
    ()
    """

    priority: bool = False  # whether it runs before all ordinary threads
    locked: bool = False  # whether its memory stays in memory
    core: int | None = None  # the core that it runs on alone, or None
    refused: tuple[str, ...] = ()  # a line for each thing that was refused, with what to type


NO_RIGHTS = Rights()


def take_rights(priority: bool, core: int | None) -> Rights:
    """Ask for rights for the calling thread, and return what it was given.

    >>> take_rights(False, None)
    Rights(priority=False, locked=False, core=None, refused=())
    """
    refused: list[str] = []
    urgent = locked = False
    if priority:
        urgent = _asked(refused, _take_priority)
        locked = _asked(refused, _lock_memory)
    given = core if core is not None and _asked(refused, lambda: _take_core(core)) else None
    return Rights(urgent, locked, given, tuple(refused))


def _asked(refused: list[str], take: object) -> bool:
    assert callable(take)
    line = take()
    if line:
        refused.append(line)
    return not line


def _take_priority() -> str:
    """Give the calling thread real-time priority; return why it has none, or nothing."""
    told = (
        "no real-time priority: ticks are late while others compute; type `ulimit -r 99` before, "
        "or once `sudo setcap cap_sys_nice+ep $(readlink -f $(which python3))`, or put "
        "`@realtime - rtprio 99` into /etc/security/limits.conf"
    )
    if not hasattr(os, "sched_setscheduler"):
        return "no real-time priority: this system does not have it"
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except OSError:
        return told
    return ""


def _lock_memory() -> str:
    """Keep the memory of this process in memory; return why it may be paged out, or nothing.

    Pages are locked as they are used. Where there is a limit nothing is locked: what is allocated
    beyond it would fail from then on.
    """
    try:
        import resource
    except ImportError:
        return "memory is not locked: this system cannot"
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    told = (
        "memory is not locked: pages may be missing at a tick; type `ulimit -l unlimited` before, "
        "or put `@realtime - memlock unlimited` into /etc/security/limits.conf"
    )
    if limit != resource.RLIM_INFINITY:
        return told
    lock = getattr(ctypes.CDLL(None, use_errno=True), "mlockall", None)
    return "" if lock is not None and lock(_CURRENT | _FUTURE | _ON_FAULT) == 0 else told


def _take_core(core: int) -> str:
    """Let the calling thread run on one core; return why it does not, or nothing."""
    try:
        os.sched_setaffinity(0, {core})
    except (AttributeError, OSError, ValueError):
        there = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        names = ", ".join(map(str, there)) or "none"
        return (
            f"core {core} is not this process's: there are {names}; start it by "
            f"`taskset -c {core},... linkwright ...`, and keep others away by isolcpus={core}"
        )
    return ""
