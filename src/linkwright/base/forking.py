"""Forks of a process whose threads are at work: the child finds no lock that nobody will release.

A fork copies locks as they are, but only the thread that forks. So it waits until the locks of this
package, and that of LLVM, are free, and holds them while the process is copied; the child then has
whole tables, too. Values that are computed once are not computed under a lock at all.
"""

from __future__ import annotations

import concurrent.futures.thread
import functools
import logging
import os
import sys
import threading
from contextlib import AbstractContextManager
from types import FrameType
from typing import TYPE_CHECKING, Any

__all__ = ["cached_property", "held_over_forks", "importing"]

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801
        """A property that is computed once, as in Python 3.12: without a lock."""

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if instance is None:
                return self
            found = instance.__dict__
            if self.attrname not in found:
                found[self.attrname] = self.func(instance)
            return found[self.attrname]


_locks: list[tuple[int, AbstractContextManager[Any]]] = []


def held_over_forks(lock: AbstractContextManager[Any], rank: int) -> None:
    """Let a fork wait for a lock."""
    _locks.append((rank, lock))
    _locks.sort(key=lambda entry: entry[0])


class _Imports:
    """A lock that is held while modules are imported on first use.

    A thread within an import of its own does not wait for it: it holds the lock of that module, and
    whoever holds this one may wait for that.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._entered = threading.local()

    def __enter__(self) -> None:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_name != "_find_and_load":  # of importlib
            frame = frame.f_back
        if frame is None:
            self._lock.acquire()
        self._entered.__dict__.setdefault("waited", []).append(frame is None)

    def __exit__(self, *_: object) -> None:
        if self._entered.waited.pop():
            self._lock.release()

    def take(self) -> None:
        """Wait until nobody imports on first use, for a fork."""
        self._lock.acquire()

    def release(self) -> None:
        """Let others import again."""
        self._lock.release()


importing = _Imports()
"""Held while modules are imported on first use: a child could not import what is half done."""


class _Taken(threading.local):
    """What this thread holds while it forks; more may be registered while it waits."""

    locks: tuple[AbstractContextManager[Any], ...] | None = None


_taken = _Taken()
_KNOWN = (logging, concurrent.futures.thread)
"""Modules that let forks wait, too. One that a thread imports while another has begun to fork has
its lock released that was never taken, and Python prints that."""


def _take() -> None:
    importing.take()
    _taken.locks = tuple(lock for _, lock in _locks)
    for lock in _taken.locks:
        lock.__enter__()


def _release() -> None:
    if _taken.locks is None:  # registered by another thread while this one was about to fork
        return
    for lock in reversed(_taken.locks):
        lock.__exit__(None, None, None)
    _taken.locks = None
    importing.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take, after_in_parent=_release, after_in_child=_release)
