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
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Named:
    """What a module names: few words of its tree, which takes far more memory."""

    modules: tuple[str, ...]
    """Modules in strings (`module`, `module:name`), and the homes in a stub."""
    imports: tuple[tuple[str, str | None], ...]
    """What its calls import by a string: the call, and the string where it is written there."""
    hooks: frozenset[str]


@cache
def named() -> dict[Path, Named]:
    """What all modules name, and the stubs that are read at run time."""
    files = sorted((*SOURCE.rglob("*.py"), *SOURCE.rglob("__init__.pyi")))
    return {file: named_in(file) for file in files}


NAMING = re.compile(rf"[\"'}}]linkwright|linkwright\.base\.hooks|\b({'|'.join(IMPORTERS)})\b")


def named_in(file: Path) -> Named:
    """Parse one module, where its text has a string or a call of the kind at all."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".py" and not NAMING.search(text):
        return Named((), (), frozenset())
    nodes = list(ast.walk(ast.parse(text)))
    hooks_asked: set[str] = set()
    imports = []
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "linkwright.base.hooks":
            hooks_asked |= {alias.name for alias in node.names}
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in IMPORTERS:
                given = node.args[0]
                written = str(given.value) if isinstance(given, ast.Constant) else None
                imports.append((ast.unparse(node), written))
    modules = tuple(modules_of(nodes, file.suffix == ".pyi"))
    return Named(modules, tuple(imports), frozenset(hooks_asked))


def modules_of(nodes: list[ast.AST], stub: bool) -> Iterator[str]:
    """Yield the modules that strings name, and the homes in a stub."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and stub:
            yield node.module or ""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            match = re.fullmatch(r"(linkwright[\w.]*)(:\w+)?", node.value)
            if match and (match[1] != "linkwright" or match[2]):
                yield match[1]


def module_of(file: Path) -> str:
    """Return the name of a module."""
    name = ".".join(("linkwright", *file.relative_to(SOURCE).with_suffix("").parts))
    return name.removesuffix(".__init__")


def edges() -> set[tuple[str, str]]:
    """All imports, by statements and by strings: who, and what."""
    known = graph().modules
    found = {(a, b) for a in known for b in graph().find_modules_directly_imported_by(a)}
    return found | {
        (module_of(file), name)
        for file, what in named().items()
        for name in what.modules
        if name in known
    }


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
    for file, what in named().items():
        for call, text in () if module_of(file) in AT_FIRST_USE else what.imports:
            assert text is not None, f"{file}: {call}"
            assert text.partition(".")[0] != "linkwright", file


def test_every_hook_is_filled_and_asked_for() -> None:
    asked = {name for what in named().values() for name in what.hooks}
    assert asked - {"fill"} == set(vars(hooks)["_places"])
    for name in asked:
        assert getattr(hooks, name) is not None
    with pytest.raises(AttributeError, match="nothing fills the hook 'nonesuch'"):
        _ = hooks.nonesuch
