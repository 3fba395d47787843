"""Extras: what each installs is what its doors ask for, and a missing one is one line."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

import linkwright as lw
from linkwright.base.optional import EXTRAS, extra
from linkwright.cli import surroundings
from tests.seeds import seldom

ROOT = Path(__file__).resolve().parents[2]
WRITTEN: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))[
    "project"
]["optional-dependencies"]
OLD = {
    name
    for name, packages in WRITTEN.items()
    if len(packages) == 1 and packages[0].startswith("linkwright[") and name != "all"
}
"""Names of release 0.1."""
MEGABYTES = 4.0
INSTALLED = {d.metadata["Name"].lower() for d in metadata.distributions()}


def packages(name: str) -> set[str]:
    """The packages that an extra installs, through other extras too."""
    found = set()
    for line in WRITTEN[name]:
        inner = re.fullmatch(r"linkwright\[([\w,]+)\]", line)
        if inner:
            found |= {p for part in inner[1].split(",") for p in packages(part)}
        else:
            found.add(re.split(r"[<>=;\s]", line)[0].lower())
    return found


def asked() -> dict[str, set[str]]:
    """The modules that the source asks an extra for, by `extra(module, name)`."""
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text("utf-8")
        if "extra(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "id", "") == "extra"
                and len(node.args) == 2
                and all(isinstance(a, ast.Constant) for a in node.args)
            ):
                module, name = (str(getattr(a, "value", "")) for a in node.args)
                found.setdefault(name, set()).add(module)
    return found


def block(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Let a package be as if it were not installed."""
    for name in [n for n in sys.modules if n.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)


def test_an_extra_installs_what_its_doors_ask_for() -> None:
    homes = metadata.packages_distributions()
    wanting = {
        (name, module)
        for name, modules in asked().items()
        for module in modules
        if name not in EXTRAS
        or not {d.lower() for d in homes.get(module.partition(".")[0], [module.partition(".")[0]])}
        & _reached(name)
    }
    assert wanting == set()


def _reached(name: str) -> set[str]:
    """Packages of an extra, and what those and the core need themselves."""
    found = packages(name) | {"scipy", "numpy"}
    for package in sorted(found):
        for line in metadata.requires(package) or () if package in INSTALLED else ():
            if "extra ==" not in line:
                found.add(re.split(r"[<>=;\s\[(!~]", line)[0].lower())
    return found


def test_every_extra_says_what_it_adds_and_all_has_them_all() -> None:
    own = {name for name in WRITTEN if name not in {"test", "bench", "all"} | OLD}
    assert own == set(EXTRAS) | {"gpu"}
    assert packages("all") == {p for name in own for p in packages(name)}
    assert set().union(*(packages(name) for name in OLD)) <= packages("all")


@pytest.mark.parametrize(
    ("name", "module"), sorted((n, m) for n, modules in asked().items() for m in modules)
)
def test_a_missing_package_is_one_line_with_the_command(
    monkeypatch: pytest.MonkeyPatch, name: str, module: str
) -> None:
    package = module.partition(".")[0]
    block(monkeypatch, package)
    with pytest.raises(lw.Error) as caught:
        extra(module, name)
    assert str(caught.value) == (
        f"this needs the package {package}, which is not installed; "
        f"pip install 'linkwright[{name}]'"
    )


def _solver() -> object:
    from linkwright.wholebody.daqp_door import python_solver

    return python_solver()


def _environment() -> object:
    return importlib.reload(importlib.import_module("linkwright.learning.environments"))


DOORS: dict[str, Callable[[Path], object]] = {
    "matplotlib": lambda folder: lw.simulate("pendulum", 0.1).plot("rod"),
    "pandas": lambda folder: lw.simulate("pendulum", 0.1).to_pandas(),
    "pyarrow": lambda folder: lw.simulate("pendulum", 0.1).save(folder / "run.parquet"),
    "mcap": lambda folder: lw.simulate("pendulum", 0.1).save(folder / "run.mcap"),
    "viser": lambda folder: lw.show("pendulum"),
    "sympy": lambda folder: lw.to_sympy(lw.symbol("x")),
    "control": lambda folder: lw.linearize("double-pendulum").to_control(),
    "daqp": lambda folder: _solver(),
    "gymnasium": lambda folder: _environment(),
    "distributed": lambda folder: lw.sweep(
        "pendulum", 0.1, parameters={"L": [1.0]}, cluster="tcp://127.0.0.1:1"
    ),
    "skyfield": lambda folder: lw.mounts.sun_path(
        lw.mounts.Site(0.0, 0.0), "2026-03-20T12:00", 60.0, ephemeris=True
    ),
}


@pytest.mark.parametrize("package", DOORS)
def test_a_door_says_what_it_needs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, package: str
) -> None:
    block(monkeypatch, package)
    with pytest.raises(lw.Error) as caught:
        DOORS[package](tmp_path)
    line = str(caught.value)
    (command,) = re.findall(r"pip install 'linkwright\[(\w+)\]'", line)
    assert "\n" not in line
    assert package in line.lower()
    assert package in packages(command)
    assert list(tmp_path.iterdir()) == []


def test_the_doctor_reads_what_the_metadata_say(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"{p}>=1; extra == '{name}'" for name in EXTRAS for p in sorted(packages(name))]
    monkeypatch.setattr(surroundings, "requires", lambda name: lines)
    there = {part.name: part for part in surroundings.surroundings()}
    for name in EXTRAS:
        numbers = {p: metadata.version(p) for p in packages(name) & INSTALLED}
        assert all(f"{p} {number}" in there[f"[{name}]"].found for p, number in numbers.items())
        assert there[f"[{name}]"].there == (packages(name) <= INSTALLED)
    monkeypatch.setattr(surroundings, "_version", lambda name: "")
    assert [p.remedy for p in surroundings.surroundings() if p.name == "[mounts]"] == [
        "pip install 'linkwright[mounts]'"
    ]


def wheel(folder: Path) -> Path:
    """Build the wheel, without a network."""
    options = ["--no-deps", "--no-build-isolation", "--disable-pip-version-check", "-qq"]
    command = [sys.executable, "-m", "pip", "wheel", *options, "-w", str(folder), str(ROOT)]
    subprocess.run(command, check=True)
    (made,) = folder.glob("*.whl")
    return made


@seldom(daily="test_every_extra_says_what_it_adds_and_all_has_them_all")
def test_the_wheel_is_small_and_has_its_licenses(tmp_path: Path) -> None:
    made = wheel(tmp_path)
    assert made.stat().st_size < MEGABYTES * 1e6
    with zipfile.ZipFile(made) as archive:
        names = archive.namelist()
        about = next(n for n in names if n.endswith("METADATA"))
        text = archive.read(about).decode()
    assert any(n.endswith("licenses/LICENSE") for n in names)
    assert not [n for n in names if n.startswith(("tests/", "docs/", "scripts/"))]
    assert {f"Provides-Extra: {name}" for name in WRITTEN} <= set(text.splitlines())


@seldom(daily="test_a_door_says_what_it_needs")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", ["", *EXTRAS, "gpu"])
def test_the_wheel_works_in_an_empty_environment_with_each_extra_alone(
    tmp_path: Path, name: str
) -> None:
    made = wheel(tmp_path)
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    wanted = f"{made}[{name}]" if name else str(made)
    pip = [str(python), "-m", "pip", "install", "-qq", "-c", str(ROOT / "constraints.txt"), wanted]
    subprocess.run(pip, check=True)
    words = ["-m", "linkwright", "simulate", "pendulum", "--until", "1", "-o", "run.csv"]
    subprocess.run([str(python), *words], check=True, cwd=tmp_path)
    code = "; ".join(
        ["import importlib"]
        + [f"importlib.import_module({module!r})" for module in sorted(asked().get(name, ()))]
    )
    subprocess.run([str(python), "-c", code], check=True, cwd=tmp_path)
    doctor = [str(python), "-m", "linkwright", "doctor"]
    done = subprocess.run(doctor, check=True, cwd=tmp_path, capture_output=True, text=True)
    there = done.stdout.partition("missing")[0]
    assert (f"[{name}]" in there) == (name in EXTRAS)
