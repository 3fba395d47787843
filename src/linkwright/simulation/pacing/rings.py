"""The memory of a paced loop: fields, a histogram, and rings between it and Python."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from linkwright.simulation.pacing.counters import Counters
from linkwright.simulation.pacing.memory import BUCKETS, CHANGE, CONTROL, TAPED
from linkwright.simulation.pacing.unit import unit

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

CHANGES = 4096
"""Changes of inputs that can be under way."""

_TAPE = 1 << 19  # some ten seconds of a cell, while Python does not look
_RING_BYTES = 1 << 23
_RING_ROWS = 1 << 16


class LoopMemory:
    """What a loop shares with native code, whatever machine it drives.

    >>> memory = LoopMemory(2)
    >>> memory.put("stride", 3)
    >>> memory.get("stride"), len(memory.emptied("tape"))
    (3, 0)
    """

    def __init__(self, channels: int) -> None:
        self._native = unit()
        self.control: Integers = np.zeros(len(CONTROL), np.int64)
        self._histogram: Integers = np.zeros(BUCKETS, np.int64)
        rows = 1 << max(6, (_RING_BYTES // (8 + 8 * channels)).bit_length() - 1)
        self._rings: dict[str, Integers] = {}
        self._kept: dict[str, object] = {}
        self.place_ring("changes", CHANGES, len(CHANGE))
        self.place_ring("tape", _TAPE, len(TAPED))
        self.place_ring("ring", min(rows, _RING_ROWS), 1 + channels)
        self.put("histogram", self._histogram.ctypes.data)

    def place_ring(self, name: str, rows: int, width: int) -> None:
        """Make a ring of so many rows, a power of two."""
        self._rings[name] = np.zeros((rows, width), np.int64)
        self.put(name, self._rings[name].ctypes.data)
        self.put(f"{name}_mask", rows - 1)

    # -- fields ------------------------------------------------------------------------------------
    def address(self, name: str) -> int:
        """Return where a field lies."""
        return self.control.ctypes.data + 8 * CONTROL[name]

    def put(self, name: str, value: int) -> None:
        """Write a field."""
        self.control[CONTROL[name]] = value

    def get(self, name: str) -> int:
        """Return a field."""
        return int(self.control[CONTROL[name]])

    def publish(self, name: str, value: int) -> None:
        """Write a field after everything before, so that others see both in this order."""
        self._native.publish(self.address(name), value)

    def publish_at(self, address: int, value: int) -> None:
        """Write a word of memory that native code reads, after everything before."""
        self._native.publish(address, value)

    def hold(self, name: str, array: NDArray[np.generic], count: bool = False) -> None:
        """Let a field be the address of an array, which is kept as long."""
        self._kept[name] = array
        self.put(name, array.ctypes.data)
        if count:
            self.put(f"{name[:-1]}_count", len(array))

    # -- rings -------------------------------------------------------------------------------------
    def room(self) -> int:
        """Return how many changes can be pushed."""
        return CHANGES - (self.get("changes_head") - self.get("changes_tail"))

    def push(
        self,
        places: Sequence[int] | Integers,
        values: Array,
        serial: int,
        ticks: Integers | int = 0,
    ) -> None:
        """Leave changes for the next tick or for later ones, all at once; there must be room."""
        head, ring = self.get("changes_head"), self._rings["changes"]
        rows = (head + np.arange(len(places))) % CHANGES
        ring[rows, CHANGE["place"]] = places
        ring[rows, CHANGE["value"]] = values.view(np.int64)
        ring[rows, CHANGE["serial"]] = serial
        ring[rows, CHANGE["tick"]] = ticks
        self.publish("changes_head", head + len(places))

    def emptied(self, name: str) -> Integers:
        """Return the rows that are in a ring, and take them away."""
        ring = self._rings[name]
        head, tail = self.get(f"{name}_head"), self.get(f"{name}_tail")
        first, count = tail % len(ring), head - tail
        parts = ring[first : first + count], ring[: max(first + count - len(ring), 0)]
        found: Integers = np.concatenate(parts) if len(parts[1]) else parts[0].copy()
        self.publish(f"{name}_tail", head)
        return found

    # -- counters ----------------------------------------------------------------------------------
    @property
    def counters(self) -> Counters:
        """What was counted so far."""
        seen = self._histogram.copy()
        return Counters(
            self.get("total"),
            self.get("missed"),
            self.get("overrun"),
            1e-9 * self.get("worst"),
            1e-9 * self.get("lateness") / max(int(seen.sum()), 1),
            self.get("timeouts"),
            self.get("held"),
            self.get("lost"),
            self.get("late"),
            self.get("failures"),
            seen,
            self.get("unkept"),
        )
