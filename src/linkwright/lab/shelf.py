"""The tasks of a laboratory by name, and the files that they come from.

A file that is saved is taken up again: its new text is imported apart, a task of it that runs is
built and tried on a copy of the state, and only then exchanged, between two ticks and with its
parameters kept. A mistake leaves everything as it is, and is told until it is mended.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from linkwright.errors import Error, InputError, nearest
from linkwright.lab.task_files import LoadedTasks, TaskSource, TaskWatch
from linkwright.lab.task_slot import TaskSlot, taken_up
from linkwright.lab.tasks import Task

Exchange = Callable[[Task, int], None]
"""Lets the running task be another one: what it is now, and its number in the slot."""


class TaskShelf(Mapping[str, Task]):
    """Tasks by name.

    `running` is the task that runs, or None; whoever starts and ends tasks sets it.

    Args:
        slot: that tasks run in.
        exchange: called where the running task is taken up from a newer text.
        live: whether a running task may be exchanged at present; on hardware it may not.
    """

    def __init__(
        self, slot: TaskSlot, exchange: Exchange, live: Callable[[], bool] = lambda: True
    ) -> None:
        self.slot, self.running = slot, _none()
        self.watch = TaskWatch(self.saved)
        self.reloads = 0
        """How many times a file was taken up again."""
        self._exchange, self._live = exchange, live
        self._tasks: dict[str, Task] = {}
        self._waiting: dict[TaskSource, LoadedTasks] = {}
        self._lock = threading.RLock()

    def __getitem__(self, name: str) -> Task:
        if name not in self._tasks:
            near = nearest(name, list(self._tasks))
            there = ", ".join(self._tasks) or "none"
            raise _NoTask(
                f"there is no task {name!r}",
                remedy=f"did you mean {near!r}?" if near else f"there are: {there}",
            )
        return self._tasks[name]

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._tasks))

    def __len__(self) -> int:
        return len(self._tasks)

    def __contains__(self, name: object) -> bool:
        return name in self._tasks

    @property
    def mistakes(self) -> tuple[str, ...]:
        """What is wrong in files that were saved, until it is mended."""
        return tuple(str(f.error) for f in self.watch.files if f.error is not None)

    def add(self, source: Any, name: str = "") -> tuple[str, ...]:
        """Add tasks; return their names.

        Args:
            source: a file of tasks, a task, or its class.
            name: that a task is started by, where it is not to be its own.
        """
        if isinstance(source, str | os.PathLike):
            file = TaskSource(source)
            made = {n: _made(cls) for n, cls in file.tasks.items()}
            with self._lock:
                own = {t for f in self.watch.files if f.path == file.path for t in f.tasks}
                self._refuse_taken([n for n in made if n not in own])
                self._tasks |= made
                self.watch.add(file)
            return tuple(made)
        task = _made(source) if isinstance(source, type) else source
        if not isinstance(task, Task):
            raise Error(f"{source!r} is no task", remedy="give a file, or a class of Task")
        label = name or task.name
        with self._lock:
            self._refuse_taken([label])
            self._tasks[label] = task
        return (label,)

    def _refuse_taken(self, names: list[str]) -> None:
        taken = [n for n in names if n in self._tasks]
        if taken:
            raise Error(f"there is a task {taken[0]!r} already", remedy="give it another name")

    # -- files that were saved ---------------------------------------------------------------------
    def saved(self, file: TaskSource) -> None:
        """Take a file up again that was saved.

        Args:
            file: whose text has changed.
        """
        with self._lock:
            self._waiting.pop(file, None)
            loaded = file.read_again()
            if loaded is not None:
                self._take_up(file, loaded)

    def settle(self) -> None:
        """Take up what had to wait until no task ran."""
        with self._lock:
            for file, loaded in list(self._waiting.items()):
                self._take_up(file, loaded)

    def reload(self) -> int:
        """Read every file again, saved or not; return how many were taken up."""
        with self._lock:
            before = self.reloads
            for file in self.watch.files:
                self.saved(file)
            return self.reloads - before

    def _take_up(self, file: TaskSource, loaded: LoadedTasks) -> None:
        running = self.running
        names = {n for n, t in self._tasks.items() if type(t) in file.tasks.values()}
        here = running is not None and type(running) in file.tasks.values()
        if here and not self._live():
            self._waiting[file] = loaded
            file.error = InputError(
                "it was saved while a task of it runs on the robot",
                file=str(file.path),
                remedy="it is taken up when no task runs",
            )
            return
        try:
            self._refuse_taken([n for n in loaded.tasks if n not in names and n in self._tasks])
            made = {
                n: taken_up(self._tasks[n], cls) if n in names else _made(cls)
                for n, cls in loaded.tasks.items()
            }
            if here and running is not None:
                self._replace(file, running, made)
        except Error as error:
            file.error = error
            return
        self._waiting.pop(file, None)
        kept = {n: t for n, t in self._tasks.items() if n not in names}
        self._tasks = kept | made
        file.take(loaded)
        self.reloads += 1

    def _replace(self, file: TaskSource, running: Task, made: dict[str, Task]) -> None:
        """Exchange the running task."""
        newer = made.get(running.name)
        if newer is None:
            raise InputError(
                f"the task {running.name!r} runs, but is not in it any more",
                file=str(file.path),
                remedy="freeze it first",
            )
        number = self.slot.install(newer, running)
        self._exchange(newer, number)
        self.running = newer


class _NoTask(Error, KeyError):
    """A name that no task has."""

    __str__ = Error.__str__


def _none() -> Task | None:
    return None


def _made(cls: type[Task]) -> Task:
    from linkwright.lab.running import task_failure

    if not issubclass(cls, Task):
        raise Error(f"{cls.__name__} is no task", remedy="derive it from linkwright.lab.Task")
    try:
        return cls()
    except Exception as error:
        raise task_failure(cls, error, "making") from error
