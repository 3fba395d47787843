"""The memory of a run in plain Python, with the face of native memory.

The Programs are NumPy functions, or kernels of another backend; `linkwright.simulation.loop` goes
through the run.
With native kernels the numbers are the bits of a native run. In NumPy they agree to rounding:
products and sums round twice where native code fuses them, and elementary functions are NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.backends.kernel import compile as compiled
from linkwright.base.errors import Error, ShapeError
from linkwright.program import Program
from linkwright.simulation.loop import SMALLEST, DetectedCrossing, DueTick, Numbers, RunMemory
from linkwright.simulation.native.called import CalledFunctions
from linkwright.simulation.native.machine import (
    Array,
    Integers,
    Settings,
    require_fit,
)
from linkwright.simulation.native.schedule import make_schedule
from linkwright.simulation.native.tables import FOREIGN, LOG, WHOLE
from linkwright.system.phases import Phases

_KEPT = ("k", "start", "target", "in_gap", "j", "grid", "cursor", "sample", "steps")
_ALSO = ("rejected", "slope_known", "events_known", "watched", "detail", "row", "logged")
_PLACES = {name: WHOLE[name] for name in (*_KEPT, *_ALSO)}
_STATES = (
    *("x", "d", "w", "f", "y", "y_f", "e", "r", "g", "g_new", "o", "c"),
    *("turn", "top", "change", "fired", "m", "count", "first"),
)
_NUMBERS = ("s", "proposed", "b")
_LOG_ROWS = 256


class PlainMachine:
    """One run of a System in lists of numbers."""

    calls_python = False

    def __init__(
        self, phases: Phases, settings: Settings, *, rows: int = 1024, backend: str = "python"
    ) -> None:
        require_fit(phases)
        if settings.method.implicit:
            raise Error(
                f"{settings.method.name} has no form in plain Python",
                remedy="take another method, or the native executor",
            )
        self.phases, self.settings, self.rows = phases, settings, rows
        self.driver = _driver(phases, settings, backend)
        self.driver.row_count, self.driver.log_rows = rows, _LOG_ROWS
        self.p = [s.value for s in phases.p]
        self.samples = np.zeros((1, rows, len(phases.outputs), 1))
        self.log: Integers = np.zeros((_LOG_ROWS + 2 * len(phases.event_list), len(LOG)), np.int64)
        self.whole: Integers = np.zeros((1, len(WHOLE) + len(phases.ticks)), np.int64)
        self.whole[0, len(WHOLE) :] = self.driver.due
        self.whole[0, WHOLE["watched"]] = 1
        self.initialized = phases.initialize is None
        self.called = CalledFunctions(phases)

    # -- memory ------------------------------------------------------------------------------------
    def field(self, name: str) -> Integers:
        """Return a view of an integer."""
        return self.whole[:, WHOLE[name]]

    def rows_of(self, name: str) -> Array:
        """Return an array as a row."""
        if name == "t":
            return np.array([[self.driver.time]])
        values = self.p if name == "p" else getattr(self.driver, name)
        if isinstance(values, float):
            values = [values]
        if name in ("y", "f") and not values:
            values = [0.0] * len(self.phases.x)
        return np.array([values], dtype=float)

    def put(self, name: str, values: ArrayLike) -> None:
        """Write an array."""
        row = np.asarray(values, dtype=float).reshape(-1)
        if row.size != self.rows_of(name).size:
            raise ShapeError(f"{name} of {self.phases.name!r} does not have {row.size} entries")
        numbers = row.tolist()
        own = self if name == "p" else self.driver
        setattr(own, name, numbers[0] if name in _NUMBERS else numbers)

    def put_whole(self, name: str, values: ArrayLike) -> None:
        """Write the seed or the number of the run."""
        setattr(self.driver, name, int(np.ravel(values)[0]))

    def prepare(self) -> None:
        """Compute what depends on parameters alone; call it whenever p has been written."""
        self.driver.prepare(self.p)

    def remember(self) -> None:
        """Let guards remember where the run stands: what runs after a step, x left as it is."""
        driver = self.driver
        slots = [i for i, s in enumerate(self.phases.d) if s.name.startswith("guard.inverse")]
        if slots:
            arrays = (driver.x, driver.d, driver.constants["accepted"], driver.w, [0.0])
            _, new = driver.functions["accepted"](*arrays)
            for i in slots:
                driver.d[i] = new[i]

    def outputs(self, times: ArrayLike) -> Array:
        """Return the outputs where the run stands, as a row."""
        t = float(np.ravel(times)[0])
        driver = self.driver
        return np.array([driver.call("output", driver.x, driver.d, driver.w, t)[0]], dtype=float)

    def take_schedule(self, other: PlainMachine) -> None:
        """Stand in the schedule where another machine stands, with its samples and its noise."""
        self.whole[:] = other.whole
        for name in ("status", "logged", "slope_known", "events_known", "watched"):
            self.field(name)[:] = 0
        for name in ("s", "proposed", "seed", "run_number", "rows", "until", "c"):
            setattr(self.driver, name, getattr(other.driver, name))
        self.initialized = True

    def initialize(self) -> None:
        """Run the Program that gives the initial states, where there is one."""
        made = self.phases.initialize
        if made is None or self.initialized:
            return
        driver = self.driver
        x, d = _function(made, "python")(driver.x, driver.d, self.p, driver.w, [0.0])
        driver.x, driver.d = x, d
        self.initialized = True

    # -- running -----------------------------------------------------------------------------------
    def budget(self, steps: int) -> None:
        """Set after how many steps it comes back at the latest."""
        self.driver.budget = steps

    def extend(self, until: int) -> None:
        """Let the run go on to a later base tick."""
        self.driver.until = until

    def run(self, first: int, count: int) -> None:
        """Go on until there is something to say."""
        del first, count
        self._read()
        self.whole[0, WHOLE["status"]] = self.driver.go()
        self._write()

    def foreign(self, block: int) -> None:
        """Call the foreign function that the run waits for."""
        del block
        self._read()
        driver = self.driver
        t = driver.k * driver.tick_seconds
        arguments = np.array(self._found(driver.cursor), dtype=float)
        found = self.called.values(driver.cursor, t, arguments)
        driver.take(found.tolist())
        self._write()

    def pass_over(self, block: int) -> int | None:
        """Let a slot hold where its function has failed at a tick; return which tick it is."""
        del block
        self._read()
        driver = self.driver
        ticks = self.phases.ticks
        if self.whole[0, WHOLE["status"]] != FOREIGN or not ticks[driver.cursor].exchanged:
            return None
        index = driver.cursor
        driver.take(self._found(index)[-len(ticks[index].slots) :])
        self._write()
        return index

    def _found(self, index: int) -> Numbers:
        """Return what the Program of a tick has given."""
        return self.driver.o[: self.phases.ticks[index].program.outputs[0].size]

    def _read(self) -> None:
        """Take the fields from the memory that others see."""
        driver, row = self.driver, self.whole[0]
        for name, place in _PLACES.items():
            setattr(driver, name, int(row[place]))
        driver.due = row[len(WHOLE) :].tolist()
        del driver.rows[driver.row :], driver.log[driver.logged :]

    def _write(self) -> None:
        """Put the fields, samples and events where others see them."""
        driver, row = self.driver, self.whole[0]
        for name, place in _PLACES.items():
            row[place] = getattr(driver, name)
        row[len(WHOLE) :] = driver.due
        for i, values in enumerate(driver.rows):
            self.samples[0, i, :, 0] = values
        for i, (event, start, s) in enumerate(driver.log):
            self.log[i, :2] = event, start
            self.log[i].view(np.float64)[LOG["s"]] = s

    # -- interruption ------------------------------------------------------------------------------
    def snapshot(self) -> dict[str, NDArray[np.generic]]:
        """Return copies of all that changes during a run."""
        driver = self.driver
        arrays: dict[str, NDArray[np.generic]] = {
            name: np.array(getattr(driver, name), dtype=float) for name in _STATES
        }
        arrays["numbers"] = np.array([getattr(driver, name) for name in _NUMBERS])
        return {**arrays, "p": np.array(self.p), "whole": self.whole.copy()}

    def restore(self, saved: Mapping[str, NDArray[np.generic]]) -> None:
        """Put back what `snapshot` returned, of the same System with the same settings."""
        for name in _STATES:
            setattr(self.driver, name, saved[name].tolist())
        for name, value in zip(_NUMBERS, saved["numbers"].tolist(), strict=True):
            setattr(self.driver, name, value)
        self.p = saved["p"].tolist()
        self.whole[:] = saved["whole"]
        self.initialized = True
        self.prepare()


def _function(program: Program, backend: str) -> Callable[..., tuple[Numbers, ...]]:
    """Return a Program as a function of lists, compiled when it is first called."""
    kernel = compiled(program, backend=backend)

    def call(*arrays: Numbers) -> tuple[Numbers, ...]:
        found: Any = kernel.scalar(*(np.array(a, dtype=float) for a in arrays))
        parts = found if isinstance(found, tuple) else (found,)
        return tuple(np.asarray(part, dtype=float).tolist() for part in parts)

    return call


def _driver(phases: Phases, settings: Settings, backend: str) -> RunMemory:
    """Return the driver of a run, at its start."""
    schedule = make_schedule(phases, settings.method)
    programs = {f"constants_{part.name}": part.constants for part in schedule.parts}
    programs |= {part.name: part.main for part in schedule.parts if part.name != "step"}
    programs |= schedule.steps
    driver = RunMemory(
        {name: _function(made, backend) for name, made in programs.items()},
        [DueTick(t.every, t.offset, t.slots, t.streams, t.called) for t in phases.ticks],
        [
            DetectedCrossing(e.direction, e.terminal, e.action is not None, e.guard, e.before)
            for e in phases.event_list
        ],
        phases.tick_seconds,
    )
    driver.until, driver.end, driver.step_size = settings.until, settings.end, settings.step
    driver.every, driver.seed = settings.every, settings.seed & (2**64 - 1)
    driver.adaptive = settings.method.adaptive
    driver.dense = settings.method.adaptive
    driver.smallest = SMALLEST * settings.until * phases.tick_seconds
    driver.c = [settings.relative, settings.absolute, 1.0]
    driver.proposed = settings.first_step
    driver.x, driver.d, driver.w = (
        [s.value for s in signals] for signals in (phases.x, phases.d, phases.w)
    )
    return driver
