"""A progress bar for runs: simulated time, how many times real time, what is left.

It shows on a terminal, on stderr, and goes away when the run has ended. Elsewhere a long run says
once a minute on stderr how far it is.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from linkwright.cli.terminal import harmless

Show = Callable[[float, float], None]
MINUTE = 60.0


@contextmanager
def run_bar(words: str, *, quiet: bool = False) -> Iterator[Show | None]:
    """Give a function that shows the time that was reached, or None where nothing is shown."""
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        yield _said_each_minute(words)
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[pace]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(escape(harmless(words)), total=None, pace="", completed=0)
        first: list[tuple[float, float]] = []  # preparing does not count

        def show(t: float, until: float) -> None:
            pace, now = f"{t:.4g} of {until:g} s", time.perf_counter()
            if first:
                pace += f", {real_time(t - first[0][0], now - first[0][1])}"
            else:
                first.append((t, now))
            bar.update(task, completed=t, total=until, pace=pace)

        yield show


def _said_each_minute(words: str) -> Show:
    """Return a function that prints how far a run is, and how long it will take, once a minute."""
    begun: list[tuple[float, float]] = []
    said = [0.0]

    def show(t: float, until: float) -> None:
        now = time.monotonic()
        if not begun:
            begun.append((t, now))
            said[0] = now
        elif now - said[0] >= MINUTE:
            said[0] = now
            gone = t - begun[0][0]
            left = brief_seconds((until - t) / gone * (now - begun[0][1])) if gone > 0 else "no end"
            line = f"{harmless(words)}: t = {t:.6g} of {until:g} s; {left} to go at this pace"
            print(line, file=sys.stderr, flush=True)

    return show


@contextmanager
def part_bar(words: str, total: int, *, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """Give a function that shows how many of a number are done."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(escape(harmless(words)), total=total)
        yield lambda done: bar.update(task, completed=done)


def real_time(simulated: float, seconds: float) -> str:
    """Return how fast a run is, in words.

    >>> real_time(10, 0.02), real_time(1, 4)
    ('500x real time', '0.25x real time')
    """
    pace = simulated / max(seconds, 1e-9)
    shown = f"{pace:,.0f}" if pace >= 10 else f"{pace:.2g}"
    return f"{shown}x real time"


def brief_seconds(seconds: float) -> str:
    """Return a duration as people say it.

    >>> brief_seconds(0.0213), brief_seconds(3.04), brief_seconds(754)
    ('0.021 s', '3 s', '12 min 34 s')
    """
    if seconds >= 60:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    return f"{seconds:.2g} s"
