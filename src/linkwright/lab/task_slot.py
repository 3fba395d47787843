"""The task slot of a running laboratory: tasks get numbers there, and are exchanged for newer ones.

A task is built beside the loop (called with symbols and compiled, where it is native), tried on a
copy of where the loop stands, and installed under a number. It starts where its number, its
parameters and a new serial enter, all at one tick.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.errors import Error, InputError
from linkwright.lab.agreement import copied_task, require_agreement, source_file
from linkwright.lab.running import carried_states, native_program, python_task, task_failure
from linkwright.lab.slot import SlotLayout
from linkwright.lab.tasks import Task
from linkwright.simulation.native.called import SlotFunction, native_function
from linkwright.simulation.native.machine import Machine
from linkwright.simulation.native.session import Session
from linkwright.simulation.pacing.binding import Snapshot

Array = NDArray[np.float64]


class TaskSlot:
    """Tasks in the slot of a session.

    Args:
        session: of the laboratory's System.
        layout: of the slot.
        latest: tells where the loop stands, all of one tick.
    """

    def __init__(
        self, session: Session, layout: SlotLayout, latest: Callable[[], Snapshot] | None = None
    ) -> None:
        self.session, self.layout = session, layout
        self.functions: dict[int, SlotFunction] = {}
        """What was installed, by number."""
        self._latest = latest
        self._known: dict[Any, tuple[int, object]] = {}

    def install(self, task: Task, older: Task | None = None) -> int:
        """Build a task, and return the number that it has in the slot.

        Where the same was built before, it has the number that it had.

        Args:
            task: whose `init` was called.
            older: that it takes the place of while it runs: what both have stays, and the newer
                one is tried on a copy of the state first.
        """
        carried = None if older is None else carried_states(task, older)
        if task.native:
            made = native_program(task, self.layout, carried)
            key: Any = made.fingerprint()
            if key not in self._known:
                function = native_function(task.name, made)
                require_agreement(task, self.layout, function)
                if older is not None:
                    self._try(function)
                self._put(key, task, function)
        else:
            states = task.numbers["state"].tobytes()
            key = id(task), states, None if carried is None else carried.tobytes()
            if key not in self._known:
                if older is not None:
                    self._try(python_task(copied_task(task), self.layout, carried))
                self._put(key, task, python_task(task, self.layout, carried))
        return self._known[key][0]

    def _put(self, key: Any, task: Task, function: SlotFunction) -> None:
        number = len(self.functions) + 1
        self.session.install(self.layout.servo, number, function)
        self.functions[number] = function
        self._known[key] = number, task  # the task is kept, so that no other has its identity

    def parameters(self, task: Task) -> dict[str, float]:
        """Return the inputs of the System that are the parameters of a task, as they are in it.

        Args:
            task: whose they are.
        """
        return self.inputs(task, task.values)

    def inputs(self, task: Task, values: dict[str, float]) -> dict[str, float]:
        """Return the inputs of the System that parameters of a task are.

        Args:
            task: whose they are.
            values: by name, checked.
        """
        names = self.layout.argument_names("parameter")
        places = task.places["parameter"]
        return {names[places[name].start]: value for name, value in values.items()}

    def standing(self) -> tuple[float, Array, Array]:
        """Return the time, and copies of the slot's arguments and of what it holds."""
        machine = self.session.machine
        assert isinstance(machine, Machine)
        index = machine.called.slot(self.layout.servo)
        if self._latest is None:
            x, d, w = (machine.rows_of(array)[0] for array in "xdw")
            k = self.session.tick
        else:
            stood = self._latest()
            x, d, w, k = stood.x, stood.d, stood.w, max(stood.tick, 0)
        found = machine.arguments(index, k, x, d, w)
        size = self.layout.argument_count
        return k * machine.phases.tick_seconds, found[:size], found[size:].copy()

    def _try(self, function: SlotFunction) -> None:
        """Call a function once on a copy of the state."""
        t, arguments, results = self.standing()
        function.call(t, arguments, results)
        wrong = np.flatnonzero(~np.isfinite(results))
        if len(wrong):
            place = int(wrong[0])
            ports = self.layout.result.items()
            port = next(name for name, at in ports if at.start <= place < at.stop)
            raise Error(f"{function.name!r} gave {results[place]} for {port}")


def taken_up(older: Task, cls: type[Task]) -> Task:
    """Return a task of a newer text with what an older one has: attributes, parameters, states.

    Args:
        older: as it is.
        cls: of the newer text.
    """
    try:
        made = cls()
    except Exception as error:
        raise task_failure(cls, error, "making") from error
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
