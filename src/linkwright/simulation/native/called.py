"""Functions that ticks call: those of Python blocks, and those of slots by their numbers.

Native code finds them in a table for each such tick. A function there is called with its context,
the address of the time and that of the array `o`: arguments, what the slots hold, and the results,
which are what is held until the function writes others. It returns 0, or 1 where it failed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from linkwright.backends.built import require_sizes
from linkwright.backends.callbacks import in_place
from linkwright.backends.llvm.backend import scalar_call, slot_code
from linkwright.base.errors import Error, ShapeError
from linkwright.program import Program
from linkwright.simulation.native.tables import FUNCTION
from linkwright.system.phases import Phases, Tick

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Call = Callable[[float, Array, Array], object]
"""A function of a slot: time in s, its arguments (the number of the function first), and its
results, which are what is held until it writes others."""

INLINE, LEFT, TAPED, HELD = "inline", "left", "taped", "held"
"""How Python functions are called; `CalledFunctions.use` reports."""

Wrap = Callable[[int, int], tuple[int, int]]
"""From a tick and the address of its function to a function around it, and its context."""

FUNCTIONS = 4096
"""How many functions a slot can have, from 0 on."""


@dataclass(frozen=True, slots=True, eq=False)
class SlotFunction:
    """What can be called in a slot."""

    name: str  # of it, for messages
    call: Call  # the function in Python
    address: int = 0  # of its native code; 0 where Python is called
    keep: object = None  # what keeps the native code valid
    # makes a function of nothing from views of time, arguments and results, for memory that stays
    # where it is
    bind: Callable[[Array, Array, Array], Callable[[], None]] | None = None
    program: Program | None = None  # that native code was made from
    taped: bool = False  # whether the results of native code go on the tape, as those of Python do
    context: int = 0  # address that native code is called with, or 0
    # makes what is told of results of which one is not finite, from them and its place among them;
    # told by the names of the System by default
    complains: Callable[[Array, int], Error] | None = None


def python_function(name: str, call: Call) -> SlotFunction:
    """Return a Python function for a slot.

    Units: `call` in s.

    >>> def hold(t, arguments, results):
    ...     results[0] = arguments[1]
    >>> python_function("hold", hold).address
    0
    """
    return SlotFunction(name, call)


def taped_function(name: str) -> SlotFunction:
    """Return what stands for a Python function where a tape has its results.

    >>> taped_function("wave").address
    0
    """

    def call(_t: float, _arguments: Array, _results: Array) -> None:
        raise Error(f"{name!r} is not here: its results are on a tape", remedy="replay the tape")

    return SlotFunction(name, call)


def native_function(name: str, program: Program) -> SlotFunction:
    """Return a Program as a function for a slot; its native code is made here.

    >>> from linkwright.algebra import symbols
    >>> from linkwright.program import program
    >>> t, n, u, h = symbols("t n u h")
    >>> f = program("f", {"t": [t], "arguments": [n, u], "held": [h]}, {"results": [h + u]})
    >>> native_function("sum", f).address > 0
    True
    """
    shapes = [port.name for port in program.inputs]
    if shapes != ["t", "arguments", "held"] or len(program.outputs) != 1:
        raise Error(f"{program.name!r} takes {shapes}", remedy="a slot gives t, arguments, held")
    code, address = slot_code(program)
    kernel = scalar_call(program)

    def call(t: float, arguments: Array, results: Array) -> None:
        kernel(np.array([t]), np.ascontiguousarray(arguments), results.copy(), results)

    return SlotFunction(name, call, address, code, program=program)


class CalledFunctions:
    """The functions that the ticks of a run call."""

    def __init__(self, phases: Phases, hold: int = 0, staged: int = 0) -> None:
        self._ticks = phases.ticks
        self._slots = {t.name: i for i, t in enumerate(phases.ticks) if t.exchanged}
        self._names = {i: [phases.d[s].name for s in t.slots] for i, t in enumerate(phases.ticks)}
        self._tables: dict[int, Integers] = {}
        self.functions: dict[int, dict[int, SlotFunction]] = {}
        self._hold, self._staged = hold, staged
        self._mode, self._wrap = INLINE, cast("Wrap | None", None)
        self._stages: dict[int, tuple[Array, Integers]] = {}
        self._views: dict[int, tuple[Array, Array, Array]] = {}
        self._kept: dict[int, Any] = {}
        for i, tick in enumerate(phases.ticks):
            if tick.called:
                count = FUNCTIONS if tick.exchanged else 1
                self._tables[i] = np.zeros((count, len(FUNCTION)), np.int64)
                self.functions[i] = {}
                if tick.exchanged:
                    self._tables[i][0, FUNCTION["fn"]] = hold

    @property
    def any(self) -> bool:
        """Whether a tick calls a function."""
        return bool(self._tables)

    def row(self, i: int) -> list[int]:
        """Return what the table of ticks says of the functions of one."""
        tick, table = self._ticks[i], self._tables.get(i)
        if table is None:
            return [-1, 0, 0, 0, 0]
        size = tick.program.outputs[0].size
        return [0 if tick.exchanged else -1, table.ctypes.data, len(table), size, len(tick.slots)]

    def bind(self, t: Array, o: Array, staged: Mapping[int, Array]) -> None:
        """Take hold of the memory of a single run, and let native code call what is there."""
        for i, tick in enumerate(self._ticks):
            if not tick.called:
                continue
            size, results = tick.program.outputs[0].size, len(tick.slots)
            self._views[i] = t, o[: size - results], o[size : size + results]
            if i in staged:
                stage: Integers = np.array([staged[i].ctypes.data, size, results], np.int64)
                self._stages[i] = staged[i], stage
            if tick.foreign is not None:
                made = getattr(tick.foreign, "native", _no_code)(size)
                self._kept[i] = made or in_place(_caller(tick, t, o[:size], self._views[i][2]))
        self.use(self._mode)

    @property
    def mode(self) -> str:
        """How Python functions are called; see `use`."""
        return self._mode

    def use(self, mode: str, wrap: Wrap | None = None) -> None:
        """Say how Python functions are called."""
        self._mode, self._wrap = mode, wrap
        for i, tick in enumerate(self._ticks):
            if tick.foreign is not None and i in self._kept:
                kept, row = self._kept[i], self._tables[i][0]
                if isinstance(kept, tuple):  # native code
                    row[FUNCTION["fn"]], row[FUNCTION["context"]] = kept[:2]
                else:
                    row[FUNCTION["fn"]] = _address(kept) if mode in (INLINE, TAPED) else 0
            for number, function in self.functions.get(i, {}).items():
                self._put(i, number, function)

    def take_results(self, other: CalledFunctions) -> None:
        """Have the results beside the run that another machine of the same session has."""
        for i, (results, _) in self._stages.items():
            results[:] = other._stages[i][0]

    def slot(self, name: str) -> int:
        """Return which tick a slot is."""
        if name not in self._slots:
            there = ", ".join(self._slots) or "none"
            raise Error(f"there is no slot {name!r}", remedy=f"there are: {there}")
        return self._slots[name]

    def install(self, i: int, number: int, function: SlotFunction) -> None:
        """Let a number stand for a function."""
        if not 0 < number < FUNCTIONS:
            raise Error(
                f"a slot has no function number {number}", remedy=f"from 1 to {FUNCTIONS - 1}"
            )
        made, (arguments, held) = function.program, self.sizes(i)
        if made is not None:
            sizes = [port.size for port in (*made.inputs, *made.outputs)]
            what = f"the function {function.name!r} of the slot {self._ticks[i].name!r}"
            require_sizes(what, sizes, [1, arguments, held, held])
        self.functions[i][number] = function
        self._put(i, number, function)

    def sizes(self, i: int) -> tuple[int, int]:
        """Return how many arguments a slot gives a function, and how many numbers it holds."""
        held = len(self._ticks[i].slots)
        return self._ticks[i].program.outputs[0].size - held, held

    def _chosen(self, i: int, number: float) -> SlotFunction | None:
        """Return the function that a number stands for, if it is one at all."""
        known = self.functions[i]
        return known.get(int(number)) if 0 < number < FUNCTIONS and number == int(number) else None

    def _put(self, i: int, number: int, function: SlotFunction) -> None:
        address, context = function.address, function.context
        if address and function.taped and self._wrap is not None:
            address, context = self._wrap(i, address)
        elif not address and i in self._views:
            if self._mode == INLINE:
                address, context = self._inline(i, number, function)
            elif self._mode == TAPED:
                address, context = self._staged, self._stages[i][1].ctypes.data
            elif self._mode == HELD:
                address = self._hold
        row = self._tables[i][number]
        row[FUNCTION["context"]], row[FUNCTION["fn"]] = context, address

    def _inline(self, i: int, number: int, function: SlotFunction) -> tuple[int, int]:
        """Return the address and the context by which native code calls a Python function."""
        key = -1 - (i * FUNCTIONS + number)
        kept = self._kept.get(key)
        if kept is None or kept[0] is not function:
            kept = function, in_place(_slot_caller(function, *self._views[i]))
            self._kept[key] = kept
        address = _address(kept[1])
        return (address, 0) if self._wrap is None else self._wrap(i, address)

    def values(self, i: int, t: float, numbers: Array) -> Array:
        """Return what the function of a tick gives, checked (`t` in s)."""
        tick = self._ticks[i]
        if tick.foreign is not None:
            return foreign_values(tick, t, numbers.tolist())
        size = len(numbers) - len(tick.slots)
        results = numbers[size:].copy()
        number = numbers[0]
        if number != 0:
            function = self._chosen(i, number)
            if function is None:
                raise Error(
                    f"the slot {tick.name!r} has no function number {number:g}",
                    remedy="install it before its number is set",
                )
            _call(function, t, numbers[:size], results)
            self.require_finite(i, function, t, results)
        return results

    def given(self, i: int) -> tuple[SlotFunction, Array] | None:
        """Return the function that native code has called, and what it gave, if any."""
        tick = self._ticks[i]
        if not tick.exchanged or i not in self._views:
            return None
        _, arguments, results = self._views[i]
        number = arguments[0]
        function = self._chosen(i, number)
        if function is None or not self._tables[i][int(number), FUNCTION["fn"]]:
            return None
        return function, results

    def require_finite(self, i: int, function: SlotFunction, t: float, results: Array) -> None:
        """Reject what is not a finite number."""
        wrong = np.flatnonzero(~np.isfinite(results))
        if len(wrong):
            if function.complains is not None:
                raise function.complains(results, int(wrong[0]))
            name = self._names[i][int(wrong[0])]
            raise Error(
                f"{function.name!r} gave {results[wrong[0]]} for {name} at t = {t:.6g} s",
                remedy="it has to be a finite number",
            )


def foreign_values(tick: Tick, t: float, arguments: list[float]) -> Array:
    """Return what the foreign function of a tick gives, checked."""
    assert tick.foreign is not None
    try:
        found = tick.foreign(t, arguments)
    except Exception as error:
        raise _foreign_failure(tick, t, error) from error
    values = np.atleast_1d(np.asarray(found, dtype=float))
    if values.shape != (len(tick.slots),):
        raise ShapeError(
            f"the function of {tick.name!r} gave {values.size} values at t = {t:.6g} s",
            remedy=f"it has to give {len(tick.slots)}",
        )
    return values


def _no_code(_results_at: int) -> None:
    """Stand for the native code of a function that has none."""


def _caller(tick: Tick, t: Array, numbers: Array, results: Array) -> Callable[[], None]:
    bind = getattr(tick.foreign, "in_place", None)
    if bind is not None:
        direct = bind(numbers, results)

        def quick() -> None:
            now = t.item()
            try:
                direct(now)
            except Exception as error:
                raise _foreign_failure(tick, now, error) from error

        return quick

    def call() -> None:
        results[:] = foreign_values(tick, t.item(), numbers.tolist())

    return call


def _foreign_failure(tick: Tick, t: float, error: Exception) -> Error:
    return Error(
        f"the function of {tick.name!r} failed at t = {t:.6g} s: {type(error).__name__}: {error}"
    )


def _slot_caller(
    function: SlotFunction, t: Array, arguments: Array, results: Array
) -> Callable[[], None]:
    called = function.call
    if function.bind is not None:
        return function.bind(t, arguments, results)

    def call() -> None:
        try:
            called(t.item(), arguments, results)
        except Exception as error:
            raise _failed(function, t.item(), error) from error

    return call


def _call(function: SlotFunction, t: float, arguments: Array, results: Array) -> None:
    try:
        function.call(t, arguments, results)
    except Exception as error:
        raise _failed(function, t, error) from error


def _failed(function: SlotFunction, t: float, error: Exception) -> Error:
    """Return what is reported of a function that failed; an `Error` says all that is to be said."""
    if isinstance(error, Error):
        return error
    return Error(f"{function.name!r} failed at t = {t:.6g} s: {type(error).__name__}: {error}")


def _address(function: Any) -> int:
    found = ctypes.cast(function, ctypes.c_void_p).value
    assert found is not None
    return found
