"""The files that the tasks of a laboratory come from, taken up again when they are saved.

The new text of a file is imported apart, a task of it that runs is built and tried on a copy of the
state, and only then exchanged, between two ticks and with its parameters kept. A mistake leaves
everything as it is, and is reported until it is mended.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Mapping
from typing import Protocol

from linkwright.base.errors import Error, InputError
from linkwright.lab.newer_tasks import made_task, taken_up
from linkwright.lab.task_files import LoadedTasks, TaskSource, TaskWatch
from linkwright.lab.tasks import Task


class TaskHolder(Protocol):
    """Who has the tasks, and runs them."""

    tasks: dict[str, Task]

    @property
    def running_tasks(self) -> Mapping[str, Task]:
        """The tasks that run, by servo."""

    @property
    def exchanges_live(self) -> bool:
        """Whether a task that runs may be exchanged; on hardware it may not."""

    def exchange(self, servo: str, older: Task, newer: Task) -> None:
        """Let a task that runs be one of a newer text, between two ticks."""

    def tell(self, text: str) -> None:
        """Notify whoever listens."""


class TaskShelf:
    """The files of a laboratory's tasks."""

    def __init__(self, holder: TaskHolder) -> None:
        self._holder = weakref.ref(holder)
        saved, settle = weakref.WeakMethod(self.saved), weakref.WeakMethod(self.settle)
        self.watch = TaskWatch(saved, looked=settle)
        self.reloads = 0
        """How many times a file was taken up again."""
        self._waiting: dict[TaskSource, LoadedTasks] = {}
        self._lock = threading.RLock()

    @property
    def mistakes(self) -> tuple[str, ...]:
        """What is wrong in files that were saved, until it is mended."""
        return tuple(str(f.error) for f in self.watch.files if f.error is not None)

    def add(self, path: str | os.PathLike[str]) -> dict[str, Task]:
        """Read a file, look at it from now on, and return its tasks by name."""
        file = TaskSource(path)
        made = {name: made_task(cls) for name, cls in file.tasks.items()}
        holder = self._holder()
        with self._lock:
            for task in () if holder is None else holder.running_tasks.values():
                if task.name in made:
                    raise Error(
                        f"the task {task.name!r} runs",
                        remedy="freeze it first, or save its file: it is taken up then",
                    )
            self.watch.add(file)
            self.watch.start()
        return made

    def saved(self, file: TaskSource) -> None:
        """Take a file up again that was saved."""
        with self._lock:
            self._waiting.pop(file, None)
            loaded = file.read_again()
            if loaded is not None:
                self._take_up(file, loaded)
            holder = self._holder()
            if holder is not None:
                told = f"{file.path.name} is taken up again" if file.error is None else file.error
                holder.tell(str(told))

    def settle(self) -> None:
        """Take up what had to wait until no task ran."""
        with self._lock:
            for file, loaded in list(self._waiting.items()):
                self._take_up(file, loaded)

    def reload(self) -> tuple[str, ...]:
        """Read every file again, saved or not; return the names of their tasks.

        A mistake in one raises an error; the others are taken up.
        """
        with self._lock:
            for file in self.watch.files:
                self.saved(file)
            wrong = [file.error for file in self.watch.files if file.error is not None]
            if wrong:
                raise wrong[0]
            return tuple(name for file in self.watch.files for name in file.tasks)

    def close(self) -> None:
        """Look no more."""
        self.watch.stop()

    def _take_up(self, file: TaskSource, loaded: LoadedTasks) -> None:
        holder = self._holder()
        if holder is None:
            return
        own = set(file.tasks.values())
        names = {n for n, t in holder.tasks.items() if type(t) in own}
        runs = {s: t for s, t in holder.running_tasks.items() if type(t) in own}
        if runs and not holder.exchanges_live:
            self._waiting[file] = loaded
            file.error = InputError(
                "it was saved while a task of it runs on the robot",
                file=str(file.path),
                remedy="it is taken up when no task runs",
            )
            return
        try:
            for name in loaded.tasks:
                if name in holder.tasks and name not in names:
                    raise InputError(
                        f"there is a task {name!r} already",
                        file=str(file.path),
                        remedy="give it another name",
                    )
            made = {
                n: taken_up(holder.tasks[n], cls) if n in names else made_task(cls)
                for n, cls in loaded.tasks.items()
            }
            for servo, older in runs.items():
                if older.name not in made:
                    raise InputError(
                        f"the task {older.name!r} runs, but is not in it any more",
                        file=str(file.path),
                        remedy="freeze it first",
                    )
                holder.exchange(servo, older, made[older.name])
        except Error as error:
            file.error = error
            return
        self._waiting.pop(file, None)
        for name in names - made.keys():
            del holder.tasks[name]
        holder.tasks.update(made)
        file.take(loaded)
        self.reloads += 1
