"""What is stored on disk goes cold with a change of the code that it comes from, and no other."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import grimp
import pytest

import linkwright
import linkwright.base.fingerprint as keys
from linkwright.base.fingerprint import ROOMS, fingerprint, sources
from tests.seeds import cases, seeds, seldom

TOP = Path(linkwright.__file__).parent
MAKERS = {
    "programs": ("program.passes", "program.passes.kept"),
    "kernels": ("backends.llvm.backend", "backends.llvm.stored"),
    "choices": ("equations.search", "equations.kernels"),
    "starts": ("homotopy.squares", "homotopy.start_sets"),
    "runs": ("simulation.native.bundle", "simulation.pacing.unit"),
    "robots": ("robots.robot", "robots.stored"),
    "wholebody": ("wholebody.native_tick", "wholebody.tick_program"),
    "models": ("models.runner", "models.prepared"),
    "cells": ("server.cell_system",),
    "labs": ("lab.system", "lab.ready"),
}
"""The modules that make each kind of result, and that store it."""


def module_of(path: str) -> str:
    return "linkwright." + path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def homes() -> dict[tuple[str, str], str]:
    """Where the names of packages come from, which import them on first use."""
    found = {}
    for file in TOP.rglob("*/__init__.pyi"):
        package = module_of(file.with_suffix(".py").relative_to(TOP).as_posix())
        for statement in ast.parse(file.read_text()).body:
            assert isinstance(statement, ast.ImportFrom)
            for alias in statement.names:
                found[package, alias.name] = statement.module or ""
    return found


def imports(node: ast.AST, later: bool = True) -> Iterator[str]:
    """Yield the homes of what is imported when a module runs, and on first use.

    Calls are looked at where some of them import `later`.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr) and not later:
            continue
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            for other in child.orelse:
                yield from imports(other, later)
        elif isinstance(child, ast.ImportFrom):
            for alias in child.names:
                home = child.module or ""
                while (home, alias.name) in homes() and homes()[home, alias.name] != home:
                    home = homes()[home, alias.name]
                yield f"{home}.{alias.name}" if (home, alias.name) in homes() else home
        elif isinstance(child, ast.Call) and ast.unparse(child.func) in ("Later", "later"):
            yield ast.literal_eval(child.args[0]).partition(":")[0]
        else:
            yield from imports(child, later)


@cache
def graph() -> grimp.ImportGraph:
    """Return who imports whom when it runs, those included that are imported on first use."""
    found = grimp.build_graph("linkwright", cache_dir=None, exclude_type_checking_imports=True)
    known = found.modules - {"linkwright"}
    for file in TOP.rglob("*.py"):
        importer = module_of(file.relative_to(TOP).as_posix())
        text = file.read_text()
        named = imports(ast.parse(text), "ater(" in text)
        for name in known.intersection(named) - {importer}:
            found.add_import(importer=importer, imported=name)
    return found


def needed(result: str) -> set[str]:
    roots = {f"linkwright.{name}" for name in MAKERS[result]}
    return roots.union(*(graph().find_upstream_modules(root) for root in roots))


def room(module: str) -> str:
    return module.split(".")[1]


@pytest.mark.parametrize("result", ROOMS)
def test_a_key_covers_all_that_is_imported_for_a_result(result: str) -> None:
    covered = {module_of(name) for name, _, _ in sources(result, TOP) if name.endswith(".py")}
    assert needed(result) - covered == {"linkwright.version"}


@pytest.mark.parametrize("result", ROOMS)
def test_a_key_covers_no_room_that_is_not_imported_for_it(result: str) -> None:
    assert set(ROOMS[result]) - {room(module) for module in needed(result)} == set()


def test_no_result_comes_from_the_root() -> None:
    """But from the version, which every key holds."""
    imported = {m for result in ROOMS for m in needed(result) if (TOP / f"{room(m)}.py").exists()}
    assert imported == {"linkwright.version"}


@seldom(daily="test_an_edit_makes_cold_what_comes_from_it")
@pytest.mark.parametrize("part", cases(range(6), daily=[seeds(1)[0] % 6]))
def test_an_edit_of_any_module_makes_cold_what_its_room_is_imported_for(
    part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each module in turn, a sixth of them a day; the files are listed once, without texts."""
    edited = ""
    listed = {result: sources(result, TOP) for result in ROOMS}

    class Text:
        def __init__(self, path: str) -> None:
            self.path = path

        def read_bytes(self) -> bytes:
            return b"edited" if self.path == edited else b"as it was"

    monkeypatch.setattr(keys, "sources", lambda result, top: listed[result])
    monkeypatch.setattr(keys, "open_cache", lambda: None)
    monkeypatch.setattr(keys, "Path", Text)
    digest = fingerprint.__wrapped__
    before = {result: digest(result, TOP) for result in ROOMS}
    rooms = {result: {room(module) for module in needed(result)} for result in ROOMS}
    files = sorted([*TOP.rglob("*.py"), *TOP.rglob("*/__init__.pyi")])  # stubs are read at run time
    assert len(files) > 500
    for file in files[part::6]:
        parts = file.relative_to(TOP).parts
        name = parts[0].removesuffix(".py")
        edited = str(file)
        cold = {result for result in ROOMS if digest(result, TOP) != before[result]}
        wanted = {r for r in ROOMS if len(parts) > 1 and name in rooms[r]}
        assert cold == wanted, file


@pytest.mark.parametrize("seed", seeds(1))
def test_an_edit_makes_cold_what_comes_from_it(seed: int, tmp_path: Path) -> None:
    """Edited for a moment: two modules that were named, and a sample of all others."""
    top = tmp_path / "linkwright"
    shutil.copytree(TOP, top, ignore=shutil.ignore_patterns("__pycache__", "*.html", "*.js"))
    everywhere = sorted(file.relative_to(top).as_posix() for file in top.rglob("*.py"))
    sample = everywhere[seed % 300 :: 300]

    def digests() -> dict[str, str]:
        fingerprint.cache_clear()
        return {result: fingerprint(result, top) for result in ROOMS}

    before = digests()
    for name in ("base/rotations.py", "mounts/sun.py", "doors.py", "robots/robot.py", *sample):
        text = (top / name).read_text()
        (top / name).write_text(text + "# \n")
        after = digests()
        cold = {result for result in ROOMS if after[result] != before[result]}
        wanted = {r for r in ROOMS if name in {file for file, _, _ in sources(r, top)}}
        assert cold == wanted, name
        if name == "base/rotations.py":
            assert cold == set(ROOMS)
        if name in ("mounts/sun.py", "doors.py"):
            assert cold == set()
        if name == "robots/robot.py":
            assert cold == {"robots", "wholebody", "cells", "labs"}
        (top / name).write_text(text)
    assert digests() == before
    fingerprint.cache_clear()
