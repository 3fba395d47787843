"""Imports between packages go one way: the contract in pyproject.toml would notice another.

That it is kept, and that types agree, `make test` checks beside the tests (`make lint`).
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

from linkwright.base import hooks

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "linkwright"
IMPORTERS = {"import_module", "__import__", "run_module", "run_path"}
AT_FIRST_USE = {"linkwright.base.lazy", "linkwright.base.optional"}
"""The modules that import what a string names; who calls them holds that string."""


@cache
def graph() -> grimp.ImportGraph:
    """Return who imports whom, by statements."""
    return grimp.build_graph("linkwright", cache_dir=None)


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts of the pyproject.toml in a folder, in a process of its own."""
    program = (
        "import sys; from importlinter.cli import lint_imports;"
        "sys.exit(lint_imports(no_cache=True, no_logo=True))"
    )
    return subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("algebra/__init__.py", "from linkwright.cli import main\n"),
        ("base/errors.py", "import linkwright.cli.app\n"),
        ("unplaced.py", ""),
    ],
)
def test_the_contract_would_notice(tmp_path: Path, file: str, text: str) -> None:
    """A wrong import, and a package without a place, are both reported by the same contract."""
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    package = tmp_path / "linkwright"
    for name in ("__init__.py", "base/__init__.py", "version.py", "cli/__init__.py", "cli/app.py"):
        (package / name).parent.mkdir(exist_ok=True)
        (package / name).write_text("")
    assert lint(tmp_path).returncode == 0
    (package / file).parent.mkdir(exist_ok=True)
    (package / file).write_text(text)
    done = lint(tmp_path)
    assert done.returncode == 1
    assert Path(file).parts[0].removesuffix(".py") in done.stdout


def test_nothing_imports_the_front_door() -> None:
    """Inside the package a name is imported from its home: the top module would hide the layers."""
    assert graph().find_modules_that_directly_import("linkwright") == set()


@cache
def trees() -> dict[Path, ast.Module]:
    """What is parsed of all modules, and of the stubs that are read at run time."""
    files = sorted((*SOURCE.rglob("*.py"), *SOURCE.rglob("__init__.pyi")))
    return {file: ast.parse(file.read_text(encoding="utf-8")) for file in files}


def module_of(file: Path) -> str:
    """Return the name of a module."""
    name = ".".join(("linkwright", *file.relative_to(SOURCE).with_suffix("").parts))
    return name.removesuffix(".__init__")


def named_in(file: Path) -> Iterator[str]:
    """Yield the modules that strings name (`module`, `module:name`), and the homes in a stub."""
    for node in ast.walk(trees()[file]):
        if isinstance(node, ast.ImportFrom) and file.suffix == ".pyi":
            yield node.module or ""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            match = re.fullmatch(r"(linkwright[\w.]*)(:\w+)?", node.value)
            if match and (match[1] != "linkwright" or match[2]):
                yield match[1]


def edges() -> set[tuple[str, str]]:
    """All imports, by statements and by strings: who, and what."""
    known = graph().modules
    found = {(a, b) for a in known for b in graph().find_modules_directly_imported_by(a)}
    return found | {(module_of(f), name) for f in trees() for name in named_in(f) if name in known}


def package_of(module: str) -> str:
    """Return the package, or the module at the root, that a module belongs to."""
    return ".".join(module.split(".")[:2])


def test_packages_are_no_cycle_with_strings_counted() -> None:
    """What a string or a stub names counts as an import; hooks are filled by the front door."""
    packages: dict[str, set[str]] = {}
    for importer, imported in edges():
        below = packages.setdefault(package_of(importer), set())
        below |= {package_of(imported)} - {package_of(importer)}
    assert {"linkwright.doors", "linkwright.studio", "linkwright.lab"} <= packages["linkwright"]
    assert "linkwright.formats" in packages["linkwright.doors"]
    TopologicalSorter(packages).prepare()
    with pytest.raises(CycleError):
        TopologicalSorter(packages | {"linkwright.mechanism": {"linkwright"}}).prepare()


def test_packages_go_one_way_with_strings_counted() -> None:
    """The order of the layers in pyproject.toml holds for what strings name, too."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    names = [re.findall(r"\w+", layer) for layer in contract["contracts"][0]["layers"]]
    rank = {f"linkwright.{name}": -k for k, layer in enumerate(names) for name in layer}
    rank["linkwright"] = 1
    wrong = {
        (a, b)
        for a, b in edges()
        if package_of(a) != package_of(b) and rank[package_of(a)] <= rank[package_of(b)]
    }
    assert wrong == set()


def test_only_the_registry_imports_what_a_string_names() -> None:
    """Elsewhere only packages of others are imported by their names, as written there."""
    for file, tree in trees().items():
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            name = getattr(call.func, "id", getattr(call.func, "attr", ""))
            if name not in IMPORTERS or module_of(file) in AT_FIRST_USE:
                continue
            given = call.args[0]
            assert isinstance(given, ast.Constant), f"{file}: {ast.unparse(call)}"
            assert str(given.value).partition(".")[0] != "linkwright", file


def test_every_hook_is_filled_and_asked_for() -> None:
    asked = set()
    for tree in trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module == "linkwright.base.hooks":
                asked |= {alias.name for alias in node.names}
    assert asked - {"fill"} == set(vars(hooks)["_places"])
    for name in asked:
        assert getattr(hooks, name) is not None
    with pytest.raises(AttributeError, match="nothing fills the hook 'nonesuch'"):
        _ = hooks.nonesuch
