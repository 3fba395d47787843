"""A task of a newer text in the place of one that runs: built, and tried on a copy of the state.

It is built beside the loop (called with symbols and compiled, where it is native) and called once
with what the slot would be given where the loop stands. Only what came through that is exchanged.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import Error, InputError
from linkwright.lab.agreement import copied_task, source_file
from linkwright.lab.running import carried_states, python_task, task_failure, task_function
from linkwright.lab.slot import SlotLayout
from linkwright.lab.tasks import Task
from linkwright.simulation.native.called import SlotFunction
from linkwright.simulation.native.machine import Machine
from linkwright.simulation.native.session import Session
from linkwright.simulation.pacing.binding import Snapshot

Array = NDArray[np.float64]


def taken_up(older: Task, cls: type[Task]) -> Task:
    """Return a task of a newer text with what an older one has: attributes, parameters, states."""
    made = made_task(cls)
    made.__dict__.update(copied_task(older).__dict__)
    known = made.parameters()
    for name, value in older.values.items():
        if name in known:
            try:
                setattr(made, name, value)
            except Error as error:
                raise InputError(
                    f"the parameter {name} of {cls.name!r} is {value:g} at present; "
                    f"{error.remedy or error.what}",
                    file=str(source_file(cls)),
                    remedy="change it first, or its bounds",
                ) from None
    for name, place in cls.places["state"].items():
        before = older.places["state"].get(name)
        if before is not None and before.stop - before.start == place.stop - place.start:
            made.numbers["state"][place] = older.numbers["state"][before]
    return made


def made_task(cls: type[Task]) -> Task:
    """Return a task of a class; what goes wrong has its file and line."""
    try:
        return cls()
    except Exception as error:
        raise task_failure(cls, error, "making") from error


def newer_function(
    newer: Task, older: Task, layout: SlotLayout, standing: Callable[[], tuple[float, Array, Array]]
) -> SlotFunction:
    """Return a task as a function that takes the place of an older one while that runs."""
    carried = carried_states(newer, older)
    function = task_function(newer, layout, carried)
    tried = function if newer.native else python_task(copied_task(newer), layout, carried)
    t, arguments, results = standing()
    tried.call(t, arguments, results)
    wrong = np.flatnonzero(~np.isfinite(results))
    if len(wrong):
        place = int(wrong[0])
        port = next(n for n, at in layout.result.items() if at.start <= place < at.stop)
        raise InputError(
            f"run of the task {newer.name!r} gives {results[place]} for {port}",
            file=str(source_file(type(newer))),
        )
    return function


def slot_standing(
    session: Session, layout: SlotLayout, stood: Snapshot
) -> tuple[float, Array, Array]:
    """Return the time, and copies of a slot's arguments and of what it holds."""
    machine = session.machine
    assert isinstance(machine, Machine)
    index, k = machine.called.slot(layout.servo), max(stood.tick, 0)
    found = machine.arguments(index, k, stood.x, stood.d, stood.w)
    size = layout.argument_count
    return k * machine.phases.tick_seconds, found[:size], found[size:].copy()
