"""Samples of some channels over some ticks of a paced loop: a matrix that native code fills."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import Error
from linkwright.simulation.pacing.memory import SAMPLING, SAMPLINGS
from linkwright.simulation.pacing.rings import LoopMemory

Integers = NDArray[np.int64]
Array = NDArray[np.float64]

Getter = Callable[[], float]
"""What gives a number of Python's own."""


class Sampling:
    """A matrix of samples that a loop fills, and stops at its end.

    Native code writes each row where it stays: nothing is copied, none is lost, and Python has
    nothing to do meanwhile. States have the same bits whether there is one or not.

    Args:
        names: of the columns, channels first.
        columns: places of the channels; below zero, inverted places in the machine.
        first: the first tick that is sampled; where it has passed, the next that is a whole number
            of intervals later.
        every: ticks from one sample to the next.
        rows: of the matrix.
        own: numbers of Python's, by name. A virtual run asks for them at each sample; one by a
            clock takes what they were when Python last looked.

    >>> sampling = Sampling(("a",), [0], first=5, every=2, rows=10)
    >>> len(sampling), sampling.full, sampling.values.shape
    (0, False, (0, 1))
    """

    def __init__(
        self,
        names: Sequence[str],
        columns: Sequence[int],
        *,
        first: int,
        every: int,
        rows: int,
        own: Mapping[str, Getter] | None = None,
    ) -> None:
        if every < 1 or rows < 1:
            raise Error(
                f"{rows} samples, {every} ticks apart, cannot be taken", remedy="take 1 or more"
            )
        own = own or {}
        self.names = (*names, *own)
        self.every, self.rows = every, rows
        self.complaints: dict[str, str] = {}
        self._getters = dict(own)
        try:
            self._matrix: Array = np.empty((rows, len(self.names)))
            self._ticks: Integers = np.zeros(rows, np.int64)
        except MemoryError:
            raise Error(
                f"{rows} samples of {len(self.names)} channels do not fit into memory",
                remedy="take fewer channels, a lower rate or a shorter time",
            ) from None
        self._columns = np.array(columns, np.int64)
        self._own = np.full(len(own), np.nan)
        self.block: Integers = np.zeros(len(SAMPLING), np.int64)
        for name, value in (
            ("next", first),
            ("every", every),
            ("left", rows),
            ("ticks", self._ticks.ctypes.data),
            ("rows", self._matrix.ctypes.data),
            ("columns", self._columns.ctypes.data),
            ("column_count", len(columns)),
            ("computes", int(any(column >= 0 for column in columns))),
            ("own", self._own.ctypes.data),
            ("own_count", len(own)),
            ("asks", int(bool(own))),
        ):
            self.block[SAMPLING[name]] = value

    def __len__(self) -> int:
        return int(self.block[SAMPLING["filled"]])

    @property
    def full(self) -> bool:
        """Whether there is no room for another sample."""
        return len(self) == self.rows

    @property
    def ticks(self) -> Integers:
        """The ticks of the samples so far."""
        return self._ticks[: len(self)]

    @property
    def values(self) -> Array:
        """The samples so far, a column for each name."""
        return self._matrix[: len(self)]

    def ask(self) -> None:
        """Ask for the numbers of Python's own; one that fails is not a number from then on."""
        for i, (name, getter) in enumerate(self._getters.items()):
            try:
                self._own[i] = float(getter())
            except Exception as error:
                self._own[i] = np.nan
                self.complaints.setdefault(name, f"{name}: {type(error).__name__}: {error}")


class Samplings:
    """The matrices that a loop fills now."""

    def __init__(self, memory: LoopMemory) -> None:
        self._memory = memory
        self._table: Integers = np.zeros(SAMPLINGS, np.int64)
        memory.hold("samplings", self._table)
        self._lock = threading.RLock()
        self._used: dict[int, tuple[Sampling, Callable[[], None] | None]] = {}
        self._left: list[tuple[int, Sampling]] = []

    def add(self, sampling: Sampling, told: Callable[[], None] | None = None) -> None:
        """Fill a matrix from the next tick on."""
        with self._lock:
            free = [i for i in range(SAMPLINGS) if i not in self._used]
            if not free:
                raise Error(
                    f"a loop fills {SAMPLINGS} matrices of samples at a time", remedy="drop one"
                )
            self._used[free[0]] = sampling, told
            self._memory.publish_at(self._table[free[0] :].ctypes.data, sampling.block.ctypes.data)

    def remove(self, sampling: Sampling) -> None:
        """Leave a matrix as it is, from the next tick on."""
        with self._lock:
            total = self._memory.get("total")
            for i, (used, _) in list(self._used.items()):
                if used is sampling:
                    self._memory.publish_at(self._table[i:].ctypes.data, 0)
                    del self._used[i]
                    self._left.append((total, sampling))  # native code may be at it in this tick
            self._left = [(n, s) for n, s in self._left if total - n < 2]

    def ask(self) -> None:
        """Ask for numbers of Python's own."""
        for sampling, _ in list(self._used.values()):
            sampling.ask()

    def look(self, *, ask: bool = False) -> None:
        """Notify those who wait for samples that some may be there."""
        for sampling, told in list(self._used.values()):
            if ask:
                sampling.ask()
            if told is not None:
                told()
