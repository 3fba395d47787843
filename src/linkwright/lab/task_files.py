"""Files of tasks: imported apart, looked at for changes, and taken up again when they are saved.

A file is executed in a module of its own that Python's table of modules does not know, and so are
modules beside it that it imports: each time it is read, all of its text is new. A mistake in it
has its file and line.
"""

from __future__ import annotations

import hashlib
import linecache
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.abc import SourceLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from weakref import WeakKeyDictionary

from linkwright.base.errors import Error, InputError
from linkwright.base.files import LARGEST, read_text
from linkwright.lab.tasks import Task, require_run

_LOOK = 0.1  # s, from one look at the files to the next
_importing = threading.RLock()


@dataclass(frozen=True, slots=True, eq=False)
class LoadedTasks:
    """What a file of tasks holds."""

    path: Path  # of the file
    text: str  # of it
    tasks: dict[str, type[Task]]  # its classes by the names of the tasks, in order
    beside: tuple[Path, ...] = ()  # files in its folder that it imports


@dataclass(frozen=True, slots=True, eq=False)
class TaskText:
    """The text of a file of tasks."""

    name: str  # of the file
    content: str  # of it
    # texts that it imports from its folder, by the names of their files there
    beside: Mapping[str, str] = field(default_factory=dict)


_texts: WeakKeyDictionary[type, TaskText] = WeakKeyDictionary()


def text_of(cls: type[Task]) -> TaskText | None:
    """Return the text of the file that a class of tasks was read from, as it was read."""
    return _texts.get(cls)


class _Text(SourceLoader):
    """Imports a text that is at hand, whatever was compiled before."""

    def __init__(self, file: Path, text: str) -> None:
        self._file, self._text = file, text

    def get_filename(self, fullname: str) -> str:
        return str(self._file)

    def get_data(self, path: bytes | str) -> bytes:
        if Path(os.fsdecode(path)) != self._file:
            raise OSError("only the text is at hand")
        return self._text.encode()


def load_tasks(path: str | os.PathLike[str]) -> LoadedTasks:
    """Return the tasks of a file."""
    file = Path(path).resolve()
    text = read_text(file, LARGEST)
    loader = _Text(file, text)
    spec = spec_from_loader(f"linkwright_tasks.{file.stem}", loader, origin=str(file))
    assert spec is not None
    module = module_from_spec(spec)
    linecache.checkcache(str(file))
    with _apart(file.parent) as beside:
        try:
            loader.exec_module(module)
        except SyntaxError as error:
            raise InputError(
                f"it does not parse: {error.msg}",
                file=str(error.filename or file),
                line=error.lineno,
                column=error.offset or None,
            ) from None
        except Exception as error:
            raise _failure(file, error) from error
    tasks: dict[str, type[Task]] = {}
    for value in vars(module).values():
        if not (isinstance(value, type) and issubclass(value, Task)):
            continue
        if value.__module__ != module.__name__ or value.__name__.startswith("_"):
            continue
        if value.name in tasks and tasks[value.name] is not value:
            raise InputError(f"two tasks are called {value.name!r}", file=str(file))
        tasks[value.name] = value
    for name, task in tuple(tasks.items()):
        if task.run is Task.run and any(
            other is not task and issubclass(other, task) for other in tasks.values()
        ):
            del tasks[name]  # what others are derived from
            continue
        try:
            require_run(task)
        except Error as error:
            raise InputError(error.what, file=str(file), remedy=error.remedy) from None
    if not tasks:
        raise InputError(
            "it has no task",
            file=str(file),
            remedy="write a class derived from linkwright.lab.Task",
        )
    texts = {}
    for other in beside:
        if other.suffix == ".py" and other.is_file():
            texts[other.relative_to(file.parent).as_posix()] = other.read_text(encoding="utf-8")
    told = TaskText(file.name, text, texts)
    _texts.update(dict.fromkeys(tasks.values(), told))
    return LoadedTasks(file, text, tasks, tuple(beside))


@contextmanager
def _apart(folder: Path) -> Iterator[list[Path]]:
    """Import what is in a folder for once, and forget it afterwards; gives its files."""
    beside: list[Path] = []
    with _importing:
        known, path = set(sys.modules), list(sys.path)
        writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        sys.path.insert(0, str(folder))
        try:
            yield beside
        finally:
            sys.dont_write_bytecode = writes
            sys.path[:] = path
            for name in set(sys.modules) - known:
                file = getattr(sys.modules[name], "__file__", None)
                if file is not None and folder in Path(file).resolve().parents:
                    beside.append(Path(file).resolve())
                    del sys.modules[name]


def _failure(file: Path, error: Exception) -> InputError:
    """Return what is reported of an exception while a file was read."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if Path(f.filename).parent == file.parent]
    frame = own[-1] if own else None
    said = error.what if isinstance(error, Error) else f"{type(error).__name__}: {error}"
    return InputError(
        said,
        file=str(file) if frame is None else frame.filename,
        line=None if frame is None else frame.lineno,
        remedy=error.remedy if isinstance(error, Error) else None,
    )


class TaskSource:
    """A file of tasks that is looked at for changes.

    `tasks` are those of the last text without a mistake; `error` is the mistake of the newest text,
    until it is mended.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.loaded = load_tasks(path)
        self.error: Error | None = None
        self._seen = self._stamp()
        self._digest = self._content()

    @property
    def path(self) -> Path:
        """Of the file."""
        return self.loaded.path

    @property
    def tasks(self) -> dict[str, type[Task]]:
        """Its tasks by name."""
        return self.loaded.tasks

    def changed(self) -> bool:
        """Return whether its text is another one than when it was looked at last."""
        seen = self._stamp()
        if seen == self._seen:
            return False
        self._seen = seen
        digest = self._content()
        if digest == self._digest:
            return False
        self._digest = digest
        return True

    def read_again(self) -> LoadedTasks | None:
        """Read the file; return its tasks, or None where it has a mistake, which `error` reports.

        The tasks that it has stay until `take` is called.
        """
        try:
            found = load_tasks(self.path)
        except Error as error:
            self.error = error
            return None
        return found

    def take(self, loaded: LoadedTasks) -> None:
        """Have the tasks of another text."""
        self.loaded, self.error = loaded, None
        self._seen, self._digest = self._stamp(), self._content()

    def _files(self) -> tuple[Path, ...]:
        return (self.loaded.path, *self.loaded.beside)

    def _stamp(self) -> tuple[tuple[int, int] | None, ...]:
        """Return when the files were written, and how long they are."""
        found: list[tuple[int, int] | None] = []
        for file in self._files():
            try:
                about = file.stat()
            except OSError:
                found.append(None)
            else:
                found.append((about.st_mtime_ns, about.st_size))
        return tuple(found)

    def _content(self) -> str:
        total = hashlib.blake2b(digest_size=16)
        for file in self._files():
            try:
                total.update(file.read_bytes())
            except OSError:
                total.update(b"missing")
        return total.hexdigest()


class TaskWatch:
    """Looks at files of tasks beside the loop, and says which were saved."""

    def __init__(
        self,
        saved: Callable[[], Callable[[TaskSource], None] | None],
        interval: float = _LOOK,  # s, from one look to the next
        looked: Callable[[], Callable[[], None] | None] = lambda: None,
    ) -> None:
        self.files: list[TaskSource] = []
        self._saved, self._interval, self._looked = saved, interval, looked
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, file: TaskSource) -> None:
        """Look at a file from now on."""
        self.files = [f for f in self.files if f.path != file.path] + [file]

    def look(self) -> int:
        """Look once, and say what was saved; return how many files were."""
        saved = [file for file in list(self.files) if file.changed()]
        for file in saved:
            call = self._saved()
            if call is not None:
                call(file)
        after = self._looked()
        if after is not None:
            after()
        return len(saved)

    def start(self) -> None:
        """Look again and again, until `stop`."""
        if self._thread is None or not self._thread.is_alive():
            self._end.clear()
            self._thread = threading.Thread(target=self._run, name="tasks", daemon=True)
            self._thread.start()

    def stop(self, timeout: float = 5.0) -> None:
        """End the thread (`timeout` in s)."""
        self._end.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)
        self._thread = None

    def _run(self) -> None:
        while not self._end.wait(self._interval) and self._saved() is not None:
            self.look()


def watch(saved: Callable[[TaskSource], None], *files: TaskSource) -> TaskWatch:
    """Return what looks at files of tasks, started."""
    made = TaskWatch(lambda: saved)
    for file in files:
        made.add(file)
    made.start()
    return made
