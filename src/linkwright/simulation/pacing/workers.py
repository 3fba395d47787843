"""Threads that answer for the Python blocks of a paced loop."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import Error
from linkwright.blocks.slot import NUMBER
from linkwright.simulation.pacing.memory import ANSWERED, ASKED, IDLE, MAIL
from linkwright.simulation.pacing.unit import LINUX, unit
from linkwright.system.phases import Phases, Tick
from linkwright.windows import futex

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
_BEGIN = 0.1  # s, in which a thread begins
_LOOK = 0.05  # s, from one look whether to end to the next


class Workers:
    """The mail boxes of a loop's Python blocks, and who answers."""

    def __init__(
        self,
        phases: Phases,
        number: Callable[[str], int | None],
        values: Callable[[int, float, Array], Array],
        count_late: Callable[[], None],
    ) -> None:
        self._seconds, self._values, self._count_late = phases.tick_seconds, values, count_late
        self.complaints: list[str] = []
        foreign = [(i, t) for i, t in enumerate(phases.ticks) if t.called]
        self._ticks = [tick for _, tick in foreign]
        self.rows: Integers = np.zeros((len(foreign), len(MAIL)), np.int64)
        self._arguments = [np.zeros(t.program.outputs[0].size) for t in self._ticks]
        self._results = [np.zeros(len(t.slots)) for t in self._ticks]
        self._places = [
            np.array([_place(number(phases.d[s].name)) for s in t.slots], np.int64)
            for t in self._ticks
        ]
        for k, (i, tick) in enumerate(foreign):
            self.rows[k] = [
                *(IDLE, 0, self._arguments[k].ctypes.data, len(self._arguments[k])),
                *(self._results[k].ctypes.data, len(tick.slots), self._places[k].ctypes.data),
                *(i, tick.every, _choice(tick, number)),
            ]
        self._threads: list[threading.Thread] = []
        self._quit = threading.Event()

    def _state(self, k: int) -> int:
        return int(self.rows[k, MAIL["state"]])

    def answer(self, k: int) -> None:
        """Call the function of a box that was asked, and put what it gives there."""
        t = int(self.rows[k, MAIL["asked"]]) * self._seconds
        try:
            self._results[k][:] = self._values(
                int(self.rows[k, MAIL["tick"]]), t, self._arguments[k]
            )
            state = ANSWERED
        except Error as error:
            if str(error) not in self.complaints:
                self.complaints.append(str(error))
            self._count_late()
            state = IDLE
        unit().publish(self._address(k), state)

    def answer_all(self) -> None:
        """Answer every box that was asked."""
        for k in range(len(self.rows)):
            if self._state(k) == ASKED:
                self.answer(k)

    def start(self) -> None:
        """Start a thread for each box."""
        self._quit.clear()
        self._threads = [
            threading.Thread(target=self._serve, args=(k,), name=tick.name, daemon=True)
            for k, tick in enumerate(self._ticks)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self, timeout: float) -> None:
        """End the threads, each after the call that it is at."""
        self._quit.set()
        for thread in self._threads:
            ended(thread, timeout)
        self._threads = []

    def _address(self, k: int) -> int:
        return int(self.rows[k].ctypes.data) + 8 * MAIL["state"]

    def _serve(self, k: int) -> None:
        word = ctypes.c_uint32.from_address(self._address(k))
        while not self._quit.is_set():
            seen = word.value
            if seen == ASKED:
                self.answer(k)
            elif LINUX:
                futex.wait(self._address(k), seen, _LOOK)
            else:
                time.sleep(0.001)


def ended(thread: threading.Thread, timeout: float) -> bool:
    """Wait until a thread has ended; return whether it has.

    A signal may have interrupted whoever started it, before it began or while it was beginning:
    that cannot be known, so it is given a moment.

    Units: `timeout` in s.
    """
    limit = time.monotonic() + _BEGIN
    while True:
        try:
            thread.join(timeout)
            return not thread.is_alive()
        except RuntimeError:  # it has not begun
            if time.monotonic() > limit:
                return True
        time.sleep(0.001)


def _place(found: int | None) -> int:
    return -1 if found is None else found


def _choice(tick: Tick, number: Callable[[str], int | None]) -> int:
    """Return the place on the tape of a slot's number: -1 for what is not a slot, -2 where the
    System itself says which function is called."""
    if not tick.exchanged:
        return -1
    found = number(f"{tick.name}.{NUMBER}")
    return -2 if found is None else found
