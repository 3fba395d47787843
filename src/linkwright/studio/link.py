"""What a studio is connected to that runs by itself: a cell, a laboratory or a rotator."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from linkwright.simulation.sample_buffer import Kept
from linkwright.studio.scope_requests import Array, LiveSource

if TYPE_CHECKING:
    from linkwright.pages.scope import ScopeLayout


@dataclass(frozen=True, slots=True)
class LinkMoment:
    """Where something that runs by itself stands."""

    tick: int  # of its loop
    time: float  # s since its loop began
    running: bool  # whether it goes on
    epoch: int = 0  # how often it was reset


class SampleKeeper:
    """Samples of some channels, kept by one thread and read by others."""

    def __init__(self, count: int) -> None:
        self._count, self._kept, self._lock = count, Kept(count), threading.Lock()

    def add(self, time: float, row: Array) -> None:
        """Keep a sample.

        Units: `time` in s.
        """
        with self._lock:
            self._kept.add(np.array([time]), np.asarray(row, float)[None])

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._kept = Kept(self._count)

    def of_late(self, last: float | None = None) -> tuple[Array, Array]:
        """Return times and rows, copies."""
        with self._lock:
            return self._kept.of_late(last)


class KeepsSamples:
    """Something whose channels are kept for the scope."""

    _kept: SampleKeeper

    def samples(self, last: float | None = None) -> tuple[Array, Array]:
        """Return times and rows of the channels that were kept, copies."""
        return self._kept.of_late(last)


class StudioLink(LiveSource, Protocol):
    """Something that runs by itself, and is looked at."""

    side_by_side: bool
    """Whether its robots stand beside each other; else all but the first are ghosts of it."""

    @property
    def name(self) -> str:
        """What it is called."""

    def first_layout(self) -> ScopeLayout:
        """Return what the scope shows at first."""

    def bar(self) -> dict[str, Any]:
        """Return what the bar over the scene shows."""

    @property
    def freeze(self) -> Callable[[], None] | None:
        """What lets it hold its posture, or None where there is no such thing."""

    def halt(self) -> None:
        """Stop it at once."""

    def close(self) -> None:
        """Leave it."""
