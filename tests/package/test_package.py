"""The package as a user meets it: cheap to import, complete, and documented."""

from __future__ import annotations

import ast
import inspect
import operator
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from enum import Enum
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from typing import get_type_hints

import pytest

import linkwright
from linkwright.cli.commands import COMMANDS
from linkwright.elements.drives.parts import DrivePart
from linkwright.elements.drives.registry import PARTS
from scripts.book import commands, names

ROOT = Path(__file__).resolve().parents[2]
NAMES: list[str] = vars(linkwright)["__all__"]  # checkers read stubs, which do without it
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

# Public callables that take names of the caller's choosing as keywords. All others must refuse an
# unknown keyword, which Python does by itself where there is no ** in the signature.
# Here they are parameters, coordinates and lists of parts by their names.
TAKES_ANY_KEYWORD: frozenset[str] = frozenset(
    {"sweep", "Lab.start", "Lab.change"}
    | {f"Mechanism.{name}" for name in ("defaults", "set_initial", "set_parameters", "with_parts")}
)


@cache
def public_names() -> dict[str, object]:
    """Every public name with its value: those of the package, and those of its rooms."""
    found: dict[str, object] = {}
    waiting = [(name, getattr(linkwright, name)) for name in NAMES]
    while waiting:
        name, value = waiting.pop(0)
        found[name] = value
        if inspect.ismodule(value):
            told = getattr(value, "__all__", ()) if "." in name else value.__all__
            waiting += [(f"{name}.{inner}", getattr(value, inner)) for inner in told]
    return found


@cache
def public_callables() -> dict[str, Callable[..., object]]:
    """Every public function and class, and the public methods of public classes."""
    found: dict[str, Callable[..., object]] = {}
    for name, value in public_names().items():
        if inspect.isclass(value):
            found[name] = value
            for method, function in vars(value).items():
                if inspect.isfunction(function) and not method.startswith("_"):
                    found[f"{name}.{method}"] = function
        elif callable(value):
            found[name] = value
    return found


def front() -> dict[str, Callable[..., object]]:
    """The public functions and classes, without methods."""
    return {name: value for name, value in public_callables().items() if name in public_names()}


def own_signature(value: Callable[..., object]) -> list[inspect.Parameter]:
    """Return the parameters that the docstring of a function or class has to explain."""
    if inspect.isclass(value) and "__init__" not in vars(value) and "__new__" not in vars(value):
        return []  # the constructor is inherited, and explained there
    if getattr(value, "_is_protocol", False) or (
        inspect.isclass(value) and issubclass(value, Enum)
    ):
        return []  # nobody calls it
    parameters = inspect.signature(value).parameters.values()
    return [p for p in parameters if p.name not in ("self", "cls")]


def distribution(requirement: str) -> str:
    """Return the name that a requirement starts with."""
    return re.split(r"[<>=]", requirement)[0].lower()


def top_modules_loaded_by(statement: str) -> set[str]:
    """Return the top modules that a statement loads in a fresh interpreter.

    Files that are read at start-up load modules too, so what counts is the difference.
    """
    program = (
        f"import sys; before = set(sys.modules)\n{statement}\nprint(*(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_import_loads_only_numpy_and_the_standard_library() -> None:
    loaded = top_modules_loaded_by("import linkwright")
    assert "linkwright" in loaded
    assert loaded - {"linkwright", "numpy"} - sys.stdlib_module_names == set()


def test_that_check_sees_a_heavy_import() -> None:
    """The command line may load Typer, and the same check notices it there."""
    loaded = top_modules_loaded_by("import linkwright.cli.app")
    assert "typer" in loaded - sys.stdlib_module_names


def modules_of_ours(statement: str, folder: Path) -> int:
    """Count the modules of this package that a statement loads, with a cache in a folder."""
    count = "sum(name.startswith('linkwright') for name in sys.modules)"
    program = f"import sys\n{statement}\nprint({count})"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(linkwright.__file__).parents[1]),
            "LINKWRIGHT_CACHE_DIR": str(folder / "cache"),
        },
    )
    return int(done.stdout.split()[-1])


def test_only_what_a_command_needs_is_loaded(tmp_path: Path) -> None:
    """A pendulum needs no robots and no search; known from the cache, nothing that derives."""
    words = "'simulate', 'pendulum', '--until', '1', '--quiet', '--force'"
    statement = f"from linkwright.cli import main\nmain([{words}])"
    assert modules_of_ours(statement, tmp_path) <= 296
    assert modules_of_ours(statement, tmp_path) <= 125


def test_only_what_a_name_needs_is_loaded(tmp_path: Path) -> None:
    assert modules_of_ours("from linkwright.parallel import chart", tmp_path) <= 101
    assert modules_of_ours("from linkwright.control import PD", tmp_path) <= 157
    assert modules_of_ours("import linkwright", tmp_path) <= 6


def test_every_public_name_resolves() -> None:
    assert sorted(set(NAMES)) == sorted(NAMES), "a name stands twice"
    for name in NAMES:
        assert getattr(linkwright, name) is not None
        assert name in dir(linkwright)


def test_the_rooms_are_policed_too() -> None:
    """Every public module says what is public in it, and the tests below walk over that."""
    rooms = {name for name, value in public_names().items() if inspect.ismodule(value)}
    assert {"control", "elements", "motion", "shapes", "identification"} <= rooms
    assert {"control.PD", "elements.Contact", "motion.Sines", "shapes.Box"} <= set(front())
    assert len(public_callables()) > 800


def test_names_are_few_and_each_has_one_path() -> None:
    """What only results, tests and other rooms need is imported from its home module."""
    names = public_names()
    assert len(names) <= 450
    homes: dict[int, list[str]] = {}
    for name, value in names.items():
        if inspect.isclass(value) or inspect.isfunction(value):
            homes.setdefault(id(value), []).append(name)
    assert [paths for paths in homes.values() if len(paths) > 1] == []
    shown = {name for name in dir(linkwright) if not name.startswith("__")}
    assert shown == set(NAMES) - {"__version__"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonesuch"):
        operator.attrgetter("nonesuch")(linkwright)


def stubs() -> dict[str, ast.Module]:
    """The `__init__.pyi` of each package that has one, by the package's name."""
    top = Path(linkwright.__file__).parents[1]
    files = sorted(Path(linkwright.__file__).parent.rglob("__init__.pyi"))
    return {".".join(f.parent.relative_to(top).parts): ast.parse(f.read_text()) for f in files}


def test_stubs_only_import_names_from_their_homes() -> None:
    """They are read at run time: whatever else stands in one would be there for checkers alone."""
    assert {"linkwright", "linkwright.mounts", "linkwright.parallel"} <= set(stubs())
    for package, stub in stubs().items():
        for statement in stub.body:
            assert isinstance(statement, ast.ImportFrom), package
            assert all(alias.asname == alias.name for alias in statement.names), package


def test_names_of_stubs_stay_when_a_module_of_the_same_name_is_imported() -> None:
    same = 0
    for package in stubs():
        module = import_module(package)
        folder = Path(module.__file__ or "").parent
        beside = {path.stem for path in folder.iterdir()}
        for name in beside & set(module.__all__):
            before = getattr(module, name)
            import_module(f"{package}.{name}")
            assert getattr(module, name) is before
            same += 1
    assert same > 5  # rooms of the package among them, which are used by their names


def test_version_is_that_of_the_metadata() -> None:
    assert linkwright.__version__ == metadata.version("linkwright")


def test_changelog_speaks_of_this_version() -> None:
    assert f"## {linkwright.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_typed() -> None:
    assert (Path(linkwright.__file__).parent / "py.typed").is_file()


def test_pins_cover_what_is_required() -> None:
    """Every requirement is pinned, and every pin is what these tests run with."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(line.lower().split("==") for line in lines if not line.startswith("#"))
    extras = PYPROJECT["project"]["optional-dependencies"]
    wanted = list(PYPROJECT["project"]["dependencies"])
    for requirements in extras.values():
        wanted += requirements
    wanted = [line for line in wanted if not line.startswith("linkwright[")]
    assert {distribution(line) for line in wanted} - set(pins) == set()
    for line in PYPROJECT["project"]["dependencies"] + extras["test"]:
        assert metadata.version(distribution(line)) == pins[distribution(line)]


def test_public_callable_has_a_docstring() -> None:
    """The first line is a whole sentence."""
    lines = {
        name: (inspect.getdoc(value) or "").partition("\n")[0]
        for name, value in public_callables().items()
    }
    assert {name: line for name, line in lines.items() if not line.endswith((".", ":"))} == {}


def unexplained(value: Callable[..., object]) -> list[str]:
    """Arguments that the docstring does not name; what is inherited is explained at its origin."""
    text = "\n".join(
        c.__doc__ or "" for c in (inspect.getmro(value) if inspect.isclass(value) else [value])
    )
    return [
        p.name
        for p in own_signature(value)
        if not re.search(
            rf"^\s*\*{{0,2}}{p.name}\b[^:\n]*:|`\*{{0,2}}{p.name}`", text, re.MULTILINE
        )
    ]


def test_public_callable_explains_each_argument() -> None:
    missing = {name: unexplained(value) for name, value in front().items()}
    assert {name: arguments for name, arguments in missing.items() if arguments} == {}


def test_public_callable_shows_an_example() -> None:
    assert [
        name
        for name, value in front().items()
        if not (inspect.isclass(value) and own_signature(value) == [])
        and ">>>" not in (inspect.getdoc(value) or "")
    ] == []


def test_unknown_keywords_are_refused() -> None:
    swallow = {
        name
        for name, value in public_callables().items()
        if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in own_signature(value))
    }
    assert swallow == TAKES_ANY_KEYWORD


def test_every_public_name_and_command_is_in_the_reference() -> None:
    """Signature, arguments and example of each callable; usage and options of each command."""
    text = "\n".join(names.pages().values())
    assert [n for n in public_names() if n not in names.public()] == []
    described = set(re.findall(r"\{py:(?:class|function|data)\} (\w+)", text))
    values = {n for n, value in public_names().items() if not inspect.ismodule(value)}
    assert {n.rpartition(".")[2] for n in values} == described
    unheard = [
        f"{name}: {p.name}"
        for name, value in front().items()
        for p in own_signature(value)
        if f"`{p.name}`" not in text and f" {p.name}" not in text
    ]
    assert unheard == []
    shown = "\n".join(commands.pages().values())
    assert [name for name in COMMANDS if f"## linkwright {name}\n" not in shown] == []
    assert shown.count("`--json`") > 30


def test_the_glossary_explains_the_words_of_the_field() -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert glossary.count("\n| **") >= 24


# what is a result, can be looked at, closed, sent elsewhere, reached through two ports
MIXINS = {"Result", "Shown", "Closable", "Transferable", "DeviceLink"}


def test_no_class_is_a_chain_of_parts() -> None:
    """A class is not split by inheritance: its parts are members, or functions that it binds.

    Below a kind that others extend (blocks, parts of drives) classes may have what they share; any
    other class has one base of ours at most, beside mixins with a meaning of their own.
    """
    kinds = BaseException, linkwright.Block, *DrivePart.__subclasses__()
    chains = {
        name: [base.__name__ for base in value.__mro__ if base.__module__.startswith("linkwright.")]
        for name, value in public_names().items()
        if inspect.isclass(value) and not issubclass(value, kinds)
    }
    assert {n: c for n, c in chains.items() if len([x for x in c if x not in MIXINS]) > 2} == {}


def test_no_public_class_name_lives_twice() -> None:
    homes: dict[str, list[str]] = {}
    source = ROOT / "src" / "linkwright"
    for path in sorted(source.rglob("*.py")):
        if path.name == "script.py":  # the text of a stand-alone program, a world of its own
            continue
        for name in re.findall(r"^class ([^\W_]\w*)", path.read_text(encoding="utf-8"), re.M):
            homes.setdefault(name, []).append(str(path.relative_to(source)))
    for kind in PARTS:  # parts of drives have their own namespace: lw.drives.PD
        homes[kind.__name__].remove(f"{kind.__module__.replace('.', '/')}.py"[len("linkwright/") :])
    for name in ("Frame", *vars(linkwright.windows)["__all__"]):  # and records: lw.windows.Field
        homes[name] = [file for file in homes.get(name, []) if not file.startswith("windows/")]
    for room in ("learning", "sampling", "wholebody"):  # and lw.sampling.Loop
        for name in vars(getattr(linkwright, room))["__all__"]:
            homes[name] = [f for f in homes.get(name, []) if not f.startswith(f"{room}/")]
    twice = {name: found for name, found in homes.items() if len(found) > 1}
    # what a robot does in a laboratory, and what a machine is sized for: both fields say task
    assert twice == {"Task": ["lab/tasks.py", "motion/tasks.py"]}


def test_a_public_name_stays_when_a_folder_of_its_name_is_imported() -> None:
    """`linkwright.codegen` is a folder, and `lw.codegen` the function that users call."""
    import_module("linkwright.codegen.files")
    assert linkwright.codegen is sys.modules["linkwright.codegen"].codegen


def test_names_that_are_imported_later_are_listed() -> None:
    """Completion in a notebook knows them before they are used."""
    for package in ("linkwright.mounts", "linkwright.parallel"):
        module = import_module(package)
        assert set(module.__all__) <= set(dir(module))


def test_each_public_name_of_a_package_stands_once() -> None:
    """A second table beside the imports, for checkers or for completion, would be a stub's."""
    top = Path(linkwright.__file__).parent
    for file in sorted(top.rglob("__init__.py")):
        body = ast.parse(file.read_text()).body
        package = ".".join(("linkwright", *file.parent.relative_to(top).parts))
        holds_code = any(isinstance(x, ast.FunctionDef | ast.AnnAssign) for x in body)
        registers = any(isinstance(x, ast.ImportFrom) and x.module == package for x in body)
        lists = any(isinstance(x, ast.Assign) and isinstance(x.value, ast.List) for x in body)
        assert not any(isinstance(x, ast.If) for x in body), file
        assert holds_code or registers or not lists, file


@pytest.mark.parametrize("kind", [linkwright.Mechanism, linkwright.Lab])
def test_hints_of_methods_that_are_functions_are_found_at_run_time(kind: type) -> None:
    """Though they stand in modules that their class imports."""
    made = {n: m for n, m in vars(kind).items() if inspect.isfunction(m) and n != "kinematics"}
    homes = {
        get_type_hints(m).get(next(iter(inspect.signature(m).parameters))) for m in made.values()
    }
    assert kind in homes
    assert homes <= {kind, None}
