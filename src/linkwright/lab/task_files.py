"""Tasks from files: a file is imported apart, under a name that nothing else has."""

from __future__ import annotations

import os
import traceback
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from itertools import count
from pathlib import Path
from types import CodeType

from linkwright.errors import InputError
from linkwright.lab.tasks import Task

_serial = count(1)


class _Fresh(SourceFileLoader):
    """Reads a file as it is now, and leaves nothing beside it."""

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the file."""
        return self.source_to_code(self.get_data(self.path), self.path)


def tasks_in(file: str | os.PathLike[str]) -> tuple[type[Task], ...]:
    """Return the classes of the tasks that are written in a file, in its order.

    Args:
        file: of Python.
    """
    path = Path(file)
    if not path.is_file():
        raise InputError("there is no such task file", file=path)
    name = f"linkwright_task_{next(_serial)}_{path.stem}"
    loader = _Fresh(name, os.fspath(path.resolve()))
    spec = spec_from_loader(name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    try:
        loader.exec_module(module)
    except SyntaxError as error:
        raise InputError(f"{error.msg}", file=path, line=error.lineno) from error
    except Exception as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == loader.path]
        line = frames[-1].lineno if frames else None
        said = f"{type(error).__name__}: {error}"
        raise InputError(f"the file cannot be imported: {said}", file=path, line=line) from error
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Task) and value.__module__ == name
    ]
    if not found:
        raise InputError(
            "the file has no task", file=path, remedy="write a class that derives from Task"
        )
    return tuple(found)
