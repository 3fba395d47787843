"""What `make test-rest` adds: a pytest plugin that leaves out what `make test` has run already.

`pytest --rest` takes the files that ask `tests.seeds` for more, and of them the tests that
`make test` does not have by the same name, and those that do more under that name. A process of its
own collects what `make test` has, beside the collection here.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.seeds import ALL

ROOT = Path(__file__).parents[2]
_ASKS = {"cases", "examples", "seeds"}
_LIMIT = 600.0  # s for the collection of what make test has


def own_names(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Yield the names that the statements of a module give, each with its statement."""
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            yield statement.name, statement
        for node in ast.walk(statement) if not hasattr(statement, "name") else ():
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id, statement
            elif isinstance(node, ast.alias):
                yield (node.asname or node.name).partition(".")[0], statement


def _parts(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the nodes of a statement, but for the cases of tests, which their names tell apart."""
    cases_of = [
        node
        for node in getattr(statement, "decorator_list", ())
        if ast.unparse(node).startswith("pytest.mark.parametrize(")
    ]
    left = [statement]
    while left:
        node = left.pop()
        yield node
        left += [child for child in ast.iter_child_nodes(node) if child not in cases_of]  # type: ignore[misc]


@cache
def module(path: Path) -> dict[str, ast.stmt]:
    """Return the statements of a module by the names that they give."""
    return dict(own_names(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def does_more(path: Path, name: str) -> bool:
    """Whether what a module of tests names so does more where everything is asked for.

    >>> does_more(ROOT / "tests" / "server" / "test_random_cells.py", "served")
    False
    >>> does_more(
    ...     ROOT / "tests" / "server" / "test_random_cells.py",
    ...     "test_check_refuses_what_serve_refuses",
    ... )
    True
    """
    seen: set[tuple[Path, str]] = set()
    left = [(path, name)]
    while left:
        place = left.pop()
        statement = module(place[0]).get(place[1])
        if place in seen or statement is None:
            continue
        seen.add(place)
        if isinstance(statement, ast.ImportFrom):
            folder = ROOT.joinpath(*(statement.module or "").split("."))
            source, part = folder.with_suffix(".py"), folder / f"{place[1]}.py"
            if statement.module == "tests.seeds":
                if place[1] == "everything":
                    return True
            elif ROOT / "tests" in source.parents and source.is_file():
                names = [a.name for a in statement.names if place[1] in (a.asname, a.name)]
                left += [(source, name) for name in names]
            elif ROOT / "tests" in part.parents and part.is_file():
                text = part.read_text(encoding="utf-8")
                if "daily=" in text or "everything()" in text:
                    return True
            continue
        for node in _parts(statement):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                more = len(node.args) > 1 or any(k.arg == "daily" for k in node.keywords)
                if node.func.id in _ASKS and more:
                    return True
            if isinstance(node, ast.Name):
                left.append((place[0], node.id))
            elif isinstance(node, ast.arg):  # a fixture
                left.append((place[0], node.arg))
    return False


def is_new(item: pytest.Item, daily: set[str]) -> bool:
    """Whether a test is not one of those that `make test` has run, as it is."""
    if item.nodeid not in daily:
        return True
    if not isinstance(item, pytest.Function):
        return False
    call = getattr(item, "callspec", None)
    if call is not None and re.search(rf"(^|-)({'|'.join(call.params)})\d+(-|$)", call.id):
        return True  # numbered: another case may have that number there
    name = item.originalname if item.cls is None else item.cls.__name__
    return does_more(item.path, name)


class Rest:
    """Asks another process for the names of `make test`, and leaves these tests out."""

    def __init__(self, config: pytest.Config) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._file = Path(self._folder.name) / "names.json"
        environment = {k: v for k, v in os.environ.items() if k != ALL}
        command = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-n", "0", "-p"]
        self._other = subprocess.Popen(
            [*command, "no:cacheprovider", "--daily-names", str(self._file), *config.args],
            cwd=config.invocation_params.dir,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Leave out what was run."""
        said, _ = self._other.communicate(timeout=_LIMIT)
        if not self._file.is_file():
            raise pytest.UsageError(f"what make test has could not be collected:\n{said[-2000:]}")
        daily = set(json.loads(self._file.read_text(encoding="utf-8")))
        self._folder.cleanup()
        chosen = [item for item in items if is_new(item, daily)]
        config.hook.pytest_deselected(items=[item for item in items if not is_new(item, daily)])
        items[:] = chosen


class Names:
    """In the other process: writes the names of what was collected."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Write them, and leave nothing to be run."""
        self._path.write_text(json.dumps([item.nodeid for item in items]), encoding="utf-8")
        items.clear()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--rest`, and what it asks the other process for."""
    parser.addoption("--rest", action="store_true", help="only tests that --all adds or enlarges")
    parser.addoption("--daily-names", metavar="FILE", help="write names of tests, and run none")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files that `--rest` adds nothing to."""
    asked = config.getoption("--rest") or config.getoption("--daily-names")
    if not asked or collection_path.suffix not in (".py", ".md"):
        return None
    return None if "daily=" in collection_path.read_text(encoding="utf-8") else True


def pytest_configure(config: pytest.Config) -> None:
    """Ask for the names as early as can be."""
    if config.getoption("--rest"):
        config.pluginmanager.register(Rest(config), "rest")
    if config.getoption("--daily-names"):
        config.pluginmanager.register(Names(Path(config.getoption("--daily-names"))), "names")
