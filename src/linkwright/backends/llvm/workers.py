"""Sharing the blocks of a batch among threads; native entries run without the interpreter lock."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from linkwright.backends.llvm.signature import Array

_pool_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None


def share_blocks(
    entry: Callable[[Any, int, int], None],
    records: Any,
    arrays: Sequence[Array],
    blocks: int,
    threads: int,
) -> None:
    """Run `blocks` blocks on several threads, in contiguous parts of nearly equal size.

    >>> parts = []
    >>> share_blocks(lambda records, first, count: parts.append((first, count)), None, (), 7, 2)
    >>> sorted(parts)
    [(0, 3), (3, 4)]
    """
    threads = min(threads, blocks)
    if threads <= 1:
        if blocks:
            entry(records, 0, blocks)
        return
    edges = [blocks * i // threads for i in range(threads + 1)]
    pool = _thread_pool()
    others: list[Future[None]] = [
        pool.submit(_run_part, entry, records, arrays, edges[i], edges[i + 1])
        for i in range(1, threads)
    ]
    try:
        entry(records, 0, edges[1])
    finally:
        wait(others)
    for other in others:
        other.result()


def _run_part(
    entry: Callable[[Any, int, int], None],
    records: Any,
    arrays: Sequence[Array],
    begin: int,
    end: int,
) -> None:
    """One thread's part; holding `arrays` keeps their memory until it is done, come what may."""
    entry(records, begin, end - begin)


def _thread_pool() -> ThreadPoolExecutor:
    global _pool
    with _pool_lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="linkwright-batch")
        return _pool


def _forget_pool() -> None:
    """The threads of a pool do not exist in a forked child; it starts its own when needed."""
    global _pool, _pool_lock
    _pool, _pool_lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
