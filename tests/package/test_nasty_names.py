"""Names that are not identifiers, or words of C or Python, through every backend and writer."""

import keyword
import re
import subprocess
import sys
from pathlib import Path

import pytest

import linkwright as lw
from linkwright.algebra import symbol
from linkwright.algebra.printers import c_identifier, python_identifier
from linkwright.backends.c import c_source
from linkwright.cli import main
from linkwright.models.library import MODELS
from linkwright.program import Call, Program, program
from tests.seeds import cases

DIGITS = ["2link", "4-bar", "0", "1e5", "2q'", "0[1]", "9.9", "٣"]
WORDS = (
    "lambda class None True match type print float int len range exec self np math",
    "double for main restrict bool inline asm errno NAN I static_assert nullptr thread_local",
    "cbrt hypot sin erf tgamma y0 gamma signgam exit abort printf inf nan",
    "lw_real lw_rows user_f f x v z1 out1 t q q_dot _x __init__ _Bool é ² a.b q[0] q'",
)
NASTY = [*DIGITS, *(word for line in WORDS for word in line.split())]
FUNCTIONS = [n for n in NASTY if re.fullmatch(r"[A-Za-z_]\w*", n, re.ASCII)]
MODEL_NAMES = ["4-bar"]


def test_identifiers_are_identifiers_and_stay_different() -> None:
    for identifier in (c_identifier, python_identifier):
        made = {name: identifier(name) for name in NASTY}
        assert len(set(made.values())) == len(NASTY)
        for name, found in made.items():
            assert re.fullmatch(r"[A-Za-z_]\w*", found, re.ASCII), (name, found)
    assert not any(keyword.iskeyword(python_identifier(name)) for name in NASTY)


def called(name: str) -> Program:
    """Return a Program in which everything that may be so called has a name."""
    x, y = lw.symbols("x y")
    inner, z = symbol("inner", "coordinate"), symbol("z", "local")
    part = program(name, {name: x}, {f"{name}_of": 2 * x})
    return program(
        name,
        {name: [inner, y]},
        {f"{name}_p": [z + y], f"{name}_q": inner * y},
        statements=[Call(part, (y,), (z,))],
    )


@pytest.mark.parametrize("backend", ["llvm", "python"])
def test_programs_and_ports_may_have_any_name(backend: str) -> None:
    for name in NASTY if backend == "python" else cases(NASTY, daily=16):
        first, second = lw.compile(called(name), backend=backend)([3.0, 5.0])
        assert (first.tolist(), second) == ([15.0], 15.0), name


def test_c_kernels_may_have_names_with_digits_first() -> None:
    for name in DIGITS[:3]:
        first, second = lw.compile(called(name), backend="c")([3.0, 5.0])
        assert (first.tolist(), second) == ([15.0], 15.0), name


def test_c_compiles_programs_of_any_name(tmp_path: Path) -> None:
    """All in one run of the compiler, each in a file of its own."""
    files = []
    for k, name in enumerate(cases(NASTY, daily=24)):
        files.append(tmp_path / f"p{k}.c")
        files[-1].write_text(c_source(called(name)))
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"]
    done = subprocess.run(["cc", *flags, *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("backend", ["llvm", "python", "c"])
def test_foreign_functions_may_have_any_name(backend: str) -> None:
    """Each gives what it alone gives, and none stands in the way of a function of the language."""
    x, f = symbol("x", "coordinate"), {}
    for k, name in enumerate(FUNCTIONS):
        f[name] = lw.foreign(name, python=lambda a, k=k: a + k)(x)
    found = [3 * value + lw.sin(x - 2) for value in f.values()]
    kernel = lw.compile(program("p", {"x": x}, {"y": found}), backend=backend)
    told = dict(zip(f, kernel(2.0).tolist(), strict=True))
    assert told == {name: 3.0 * (2 + k) for k, name in enumerate(f)}


@pytest.fixture(scope="module")
def text() -> str:
    """A text model, the shipped pendulum."""
    folder = Path(sys.modules["linkwright.models"].__file__ or "").parent
    found = (folder / "text" / MODELS["pendulum"].home).read_text(encoding="utf-8")
    assert 'name = "pendulum"' in found
    return found


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_a_model_of_any_name_goes_through_every_door(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.toml").write_text(text.replace('"pendulum"', f'"{name}"', 1), encoding="utf-8")
    assert main(["model", "check", "m.toml"]) == 0
    assert main(["simulate", "m.toml", "--until", "0.01", "-q", "-o", "run.npz"]) == 0
    assert main(["analyze", "linearize", "m.toml"]) == 0
    for target in (["c"], ["python"], ["kernel"]):
        folder = Path("_".join(target))
        assert main(["codegen", "m.toml", "--target", *target, "-o", str(folder)]) == 0
        for file in folder.glob("*.c"):
            subprocess.run(
                ["cc", "-std=c99", "-Wall", "-Werror", "-fsyntax-only", file], check=True
            )
        for file in folder.glob("*.py"):
            compile(file.read_text(encoding="utf-8"), str(file), "exec")
