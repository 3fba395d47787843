"""Examples in docstrings: a pytest plugin that imports a module when its examples run.

pytest's own `--doctest-modules` imports every module with an example while it collects, in every
worker. Here a file is one test, named as its module: it imports the module, runs what doctest finds
in it, and fails where the file has an example in no docstring.
"""

from __future__ import annotations

import doctest
import importlib
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import pytest

_EXAMPLE = re.compile(r"^ *>>> ", re.MULTILINE)


class ExamplesFailed(Exception):
    """What doctest says of examples that give something else."""


class _Finder(doctest.DocTestFinder):
    """Also looks at cached properties, which doctest of Python before 3.13 passes over."""

    def _from_module(self, module: object, object: object) -> bool:  # noqa: A002
        inner = object.func if isinstance(object, cached_property) else object
        if getattr(inner, "__module__", "") == "linkwright":  # errors say where callers find them
            return getattr(module, "__name__", "") == "linkwright.base.errors"
        return bool(super()._from_module(module, inner))  # type: ignore[misc]


class Examples(pytest.Item):
    """All examples of a module."""

    def runtest(self) -> None:
        """Run each docstring until its first example that fails."""
        module = importlib.import_module(self.name)
        flags = doctest.NORMALIZE_WHITESPACE | doctest.FAIL_FAST
        runner = doctest.DocTestRunner(verbose=False, optionflags=flags)
        said: list[str] = []
        count = 0
        for test in _Finder().find(module, self.name):
            count += len(test.examples)
            runner.run(test, out=said.append)
        if said:
            raise ExamplesFailed("".join(said))
        written = len(_EXAMPLE.findall(self.path.read_text(encoding="utf-8")))
        if count < written:
            raise ExamplesFailed(f"{self.path}: {written - count} examples are in no docstring")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> object:  # type: ignore[override]
        """Show what doctest says, without our own calls."""
        if isinstance(excinfo.value, ExamplesFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Tell the file."""
        return self.path, 0, f"examples of {self.name}"


class ExampleFile(pytest.File):
    """A file of Python with examples."""

    def collect(self) -> Iterator[Examples]:
        """One test, by the name that the file is imported by."""
        parts = self.path.relative_to(self.config.rootpath).with_suffix("").parts
        parts = parts[parts[0] == "src" : len(parts) - (parts[-1] == "__init__")]
        yield Examples.from_parent(self, name=".".join(parts))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ExampleFile | None:
    """Take every file of Python that has an example."""
    if file_path.suffix == ".py" and _EXAMPLE.search(file_path.read_text(encoding="utf-8")):
        return ExampleFile.from_parent(parent, path=file_path)
    return None
