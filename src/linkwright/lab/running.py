"""Tasks as functions of the task slot: called in Python, or traced with symbols and compiled.

Both do the same around `run`. A new `serial` starts the task: its time is 0, its states are what
`init` left. Another `number` with the same serial is a task that was exchanged for a newer text:
its time and its states go on, and only states that it has not had before begin. Time is counted in
ticks of the task servo, so that a task has the exact period.
"""

from __future__ import annotations

import ctypes
import re
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import get_ident
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import Expr, as_expr, equal, substitute_all, symbol, where
from linkwright.base.errors import Error, InputError
from linkwright.blocks.slot import NUMBER
from linkwright.lab.agreement import refuse_equality, require_agreement, source_file
from linkwright.lab.slot import CARTESIAN, JOINT_TARGET, MEMORIES, SERIAL, SlotLayout
from linkwright.lab.tasks import Task
from linkwright.lab.views import DesiredView, StateView, missing_part
from linkwright.program import Program, program
from linkwright.simulation.native.called import SlotFunction, native_function

Array = NDArray[np.float64]
_BUILTIN = Path(__file__).with_name("builtin")  # whose files nobody mends
Integers = NDArray[np.int64]

LONGEST = 2.0
"""s that `run` of a Python task may take at a tick, where a laboratory follows the clock."""

_inside: dict[int, tuple[Task, float]] = {}  # by thread: whose `run` is called, and since when


class EndlessRunError(BaseException):
    """Interrupts a `run` that does not come back; no `except Exception` of a task catches it."""


def interrupt_endless(thread: int, longest: float) -> str:
    """Interrupt the task that a thread is in for too long; return what it is and where, or "".

    Python code is interrupted at its next line. Native code that it has called is waited for.

    Units: `longest` in s.

    >>> interrupt_endless(0, LONGEST)
    ''
    """
    task, began = _inside.get(thread, (None, 0.0))
    seconds, frame = time.monotonic() - began, sys._current_frames().get(thread)
    if task is None or frame is None or seconds < longest:
        return ""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), ctypes.py_object(EndlessRunError)
    )
    file = str(source_file(type(task)))
    while frame.f_code.co_filename != file and frame.f_back is not None:
        frame = frame.f_back
    at = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    return f"{task.name} has not come back for {seconds:.0f} s at {at}"


def _left(thread: int) -> None:
    """Say that a task has come back; an interrupt that is on its way arrives here at the latest."""
    del _inside[thread]


def task_function(task: Task, layout: SlotLayout, carried: Integers | None = None) -> SlotFunction:
    """Return a task as a function for the task slot.

    What was compiled lately is not compiled again.
    """
    if not task.native:
        return python_task(task, layout, carried)
    made = native_program(task, layout, carried)
    key = made.fingerprint()
    function = _compiled.pop(key, None)
    if function is None:
        function = native_function(task.name, made)
        require_agreement(task, layout, function)
        function = replace(function, complains=partial(not_finite, task, layout))
    _compiled[key] = function
    while len(_compiled) > _MOST:
        del _compiled[next(iter(_compiled))]
    return function


_MOST = 64
_compiled: dict[str, SlotFunction] = {}


def python_task(task: Task, layout: SlotLayout, carried: Integers | None = None) -> SlotFunction:
    """Return a task as a Python function for the task slot."""
    layout.kinematics.prepare(getattr(type(task).run, "__code__", None))
    runner = _Runner(task, layout, carried)
    told = partial(not_finite, task, layout)
    return SlotFunction(task.name, runner.call, bind=runner.bind, complains=told)


def not_finite(task: Task, layout: SlotLayout, results: Array, place: int) -> InputError:
    """Return what is reported of a task that gave what is not a number."""
    port = next(name for name, at in layout.result.items() if at.start <= place < at.stop)
    i = place - layout.result[port].start
    name = port
    if port.startswith("des_"):
        name = f"desired.{port.removeprefix('des_')} of {layout.joints[i]}"
    elif port.startswith("target"):
        size = layout.outputs[port].shape[1]
        part, inner = "status", i % size
        if port == "target":
            parts = [(key, k) for key, count in CARTESIAN.items() for k in range(count)]
            part, inner = parts[inner]
        name = f"desired.cart[{layout.end_effectors[i // size]!r}].{part}[{inner}]"
    elif port in ("memory", "channel"):
        kind = "state" if port == "memory" else port
        known = [n for n, at in task.places[kind].items() if at.start <= i < at.stop]
        name = f"self.{known[0]}" if known else port
    t = float(results[layout.result["ticks"]][0]) * layout.period
    return InputError(
        f"the task {task.name!r} set {name} to {results[place]} at its time t = {t:.6g} s",
        file=None if (file := source_file(type(task))) is None else str(file),
        remedy="it has to be a finite number",
    )


def carried_states(task: Task, older: Task) -> Integers:
    """Return for each memory of a task where its value was in an older text of it, or -1."""
    found = np.arange(MEMORIES)
    for name, place in task.places["state"].items():
        before = older.places["state"].get(name)
        same = before is not None and before.stop - before.start == place.stop - place.start
        found[place] = np.arange(before.start, before.stop) if before is not None and same else -1
    return found


def task_failure(task: Task | type[Task], error: BaseException, method: str = "run") -> InputError:
    """Return what is reported of a task that failed, with its file and line."""
    if isinstance(error, InputError) and error.line is not None:
        return error
    file = source_file(task if isinstance(task, type) else type(task))
    if isinstance(error, Error) and file is not None and file.is_relative_to(_BUILTIN):
        place = error.file if isinstance(error, InputError) else None
        return InputError(error.what, file=place, remedy=error.remedy)
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if file is not None and Path(f.filename) == file]
    frame = own[-1] if own else frames[-1] if frames else None
    if isinstance(error, AttributeError):
        error = missing_part(error) or error
    if isinstance(error, ValueError) and "read-only" in str(error):
        error = _read_only(frame)
    said = f"failed: {error.what if isinstance(error, Error) else _named(error)}"
    if isinstance(error, EndlessRunError):
        said = f"has not come back for {LONGEST:g} s, and was interrupted"
        error = Error(said, remedy="end its loop; run is called again at the next tick")
    return InputError(
        f"{method} of the task {task.name!r} {said}",
        file=None if frame is None else frame.filename,
        line=None if frame is None else frame.lineno,
        remedy=error.remedy if isinstance(error, Error) else None,
    )


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _read_only(frame: traceback.FrameSummary | None) -> Error:
    """Return what is reported of a task that writes to what it is handed to read."""
    found = re.search(r"\bstate\.(?:desired\.)?(\w+)", (frame and frame.line) or "")
    if found is None:
        return Error(
            "an array that is read only is written to, such as those of state",
            remedy="set desired, or write to a copy",
        )
    part = found[1] if found[1] in JOINT_TARGET or found[1] == "cart" else "q"
    return Error("state is read only", remedy=f"set desired.{part}")


class _Runner:
    """Calls the `run` of a task with views of the slot's arrays."""

    def __init__(self, task: Task, layout: SlotLayout, carried: Integers | None) -> None:
        self.task, self.layout = task, layout
        self.initial = task.numbers["state"].copy()
        moved = np.arange(MEMORIES) if carried is None else carried
        self.carried = None if np.array_equal(moved, np.arange(MEMORIES)) else moved
        self._own: tuple[Array, Array, Callable[[], None]] | None = None

    def bind(self, _t: Array, arguments: Array, results: Array) -> Callable[[], None]:
        """Return a function that runs the task on these arrays."""
        layout, task, period = self.layout, self.task, self.layout.period
        number, serial = layout.argument[NUMBER].start, layout.argument[SERIAL].start
        begun, chosen, ticks, done = (
            layout.result[name].start for name in ("begun", "chosen", "ticks", "done")
        )
        memory = results[layout.result["memory"]]
        slack = results[layout.result.get("activation", slice(0, 0))]  # muscles begin slack
        state, desired = StateView(layout, arguments), DesiredView(layout, results)
        seen = arguments[layout.argument["parameter"]].view()
        seen.flags.writeable = False
        numbers = {
            "parameter": seen,
            "state": memory,
            "channel": results[layout.result["channel"]],
        }
        run = task.stand_in("python", numbers).run
        argument, result, initial = arguments.item, results.item, self.initial
        carried = self.carried

        def call() -> None:
            now = argument(serial)
            if result(begun) != now:
                count = 0.0
                memory[:] = initial
                slack[:] = 0.0
                results[begun], results[chosen], results[done] = now, argument(number), 0.0
            else:
                count = result(ticks) + 1.0
                if result(chosen) != argument(number):
                    if carried is not None:
                        memory[:] = np.where(carried < 0, initial, memory[carried])
                    results[chosen] = argument(number)
            results[ticks] = count
            thread = get_ident()
            try:
                _inside[thread] = task, time.monotonic()
                run(count * period, state, desired)
                _left(thread)
            except KeyboardInterrupt:
                _inside.pop(thread, None)
                raise
            except BaseException as error:
                _inside.pop(thread, None)
                raise task_failure(task, error) from error

        return call

    def call(self, _t: float, arguments: Array, results: Array) -> None:
        """Run the task on any arrays."""
        if self._own is None:
            mine = np.zeros(len(arguments)), np.zeros(len(results))
            self._own = (*mine, self.bind(np.zeros(1), *mine))
        given, found, call = self._own
        given[:], found[:] = arguments, results
        call()
        results[:] = found


# -- native ----------------------------------------------------------------------------------------
def native_program(task: Task, layout: SlotLayout, carried: Integers | None = None) -> Program:
    """Return the Program of a task, by calling its `run` once with symbols."""
    refuse_equality(task)
    moved = np.arange(MEMORIES) if carried is None else carried
    t = symbol("t", "time")
    arguments = _symbols("argument", layout.argument_count)
    held = _symbols("held", layout.result_count)
    results = held.copy()

    def one(array: Any, place: slice) -> Expr:
        found: Expr = array[place.start]
        return found

    serial, number = (one(arguments, layout.argument[n]) for n in (SERIAL, NUMBER))
    begun, chosen, ticks = (one(held, layout.result[n]) for n in ("begun", "chosen", "ticks"))
    goes_on = equal(begun, serial)
    same = equal(chosen, number)
    count = where(goes_on, ticks + 1, 0)
    at = layout.result
    results[at["begun"].start], results[at["chosen"].start] = serial, number
    results[at["ticks"].start] = count
    results[at["done"].start] = where(goes_on, one(held, at["done"]), 0)
    for i in range(*at.get("activation", slice(0, 0)).indices(len(held))):
        results[i] = where(goes_on, held[i], 0)
    memory = results[at["memory"]]
    last = held[at["memory"]]
    for i, (start, source) in enumerate(
        zip(task.numbers["state"].tolist(), moved.tolist(), strict=True)
    ):
        kept = last[i]
        if source != i:
            kept = where(same, last[i], start if source < 0 else last[source])
        memory[i] = where(goes_on, kept, start)
    shown, wanted = _shown(task, layout)
    known = dict(zip([*shown, *wanted], [*arguments, *results], strict=True))
    now = symbol("t", "time")
    known[now] = count * layout.period
    results = wanted.copy()
    numbers = {
        "parameter": shown[layout.argument["parameter"]],
        "state": results[at["memory"]],
        "channel": results[at["channel"]],
    }
    before = _shallow(task)
    try:
        views = StateView(layout, shown), DesiredView(layout, results)
        task.stand_in("native", numbers).run(now, *views)
        values = [_value(task, layout, i, v) for i, v in enumerate(results)]
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise task_failure(task, error) from error
    changed = [name for name, value in _shallow(task).items() if not _same(before.get(name), value)]
    if changed:
        raise InputError(
            f"run of the native task {task.name!r} changes self.{changed[0]}, "
            "which is not a declared state",
            file=str(source_file(type(task))),
            line=type(task).run.__code__.co_firstlineno,
            remedy=f"write {changed[0]} = state(...) in the class, or leave out native = True",
        )
    return program(
        f"task_{task.name}",
        {"t": [t], "arguments": list(arguments), "held": list(held)},
        {"results": substitute_all(values, known)},
    )


def _shown(task: Task, layout: SlotLayout) -> tuple[Any, Any]:
    """Return symbols for arguments and results by the names that a task has for them."""
    arguments = _symbols("argument", layout.argument_count)
    results = _symbols("result", layout.result_count)
    rows = (
        (arguments, layout.argument, "parameter", "parameter"),
        (results, layout.result, "memory", "state"),
        (results, layout.result, "channel", "channel"),
    )
    for array, places, port, kind in rows:
        start = places[port].start
        for name, place in task.places[kind].items():
            for i in range(place.start, place.stop):
                index = f"[{i - place.start}]" if place.stop - place.start > 1 else ""
                array[start + i] = symbol(f"self.{name}{index}", "input")
    for array, places in ((arguments, layout.argument), (results, layout.result)):
        for port, place in places.items():
            if port in ("parameter", "memory", "channel", "done"):
                continue
            path = "state." if array is arguments else "desired."
            name = port.replace("now_", "desired.").replace("des_", "").replace("target", "cart")
            for k, i in enumerate(range(place.start, place.stop)):
                array[i] = symbol(f"{path}{name}[{k}]", "input")
    return arguments, results


def _symbols(stem: str, count: int) -> Any:
    found = np.empty(count, dtype=object)
    found[:] = [symbol(f"{stem}[{i}]", "input") for i in range(count)]
    return found


def _value(task: Task, layout: SlotLayout, i: int, value: Any) -> Expr:
    try:
        return as_expr(value)
    except Exception:
        port = next(name for name, place in layout.result.items() if place.start <= i < place.stop)
        raise Error(f"{task.name!r} sets {port} to {value!r}, which is not a number") from None


def _shallow(task: Task) -> dict[str, Any]:
    """Return what a task remembers undeclared, with copies of what could change in place."""
    return {
        name: value.copy() if isinstance(value, np.ndarray | list | dict | set) else value
        for name, value in task.__dict__.items()
    }


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return first.dtype == second.dtype and np.array_equal(first, second)
    if isinstance(first, list | dict | set):
        return type(first) is type(second) and repr(first) == repr(second)
    return first is second
