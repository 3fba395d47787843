"""A function of a model that has a name only is never run, by whatever door the model comes in.

Names of functions that the process has (`abort`, `system`, `cbrt`) must stay names: a model file,
or a recording that carries one, may come from anybody. The doors are walked in processes of their
own, since a name that is bound after all ends the process or worse.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import linkwright as lw
from linkwright.cli import main
from linkwright.codegen import codegen
from linkwright.formats.text.files import read_model
from linkwright.program import program

NAMES = ("system", "abort", "exit", "printf", "sin", "cbrt")

EVERYWHERE = ("system", "cbrt")
"""Of these every door is walked, of the others the kernels and `simulate`."""

DERIVED = ("check", "describe", "page", "studio")
"""Doors behind which a model is derived or drawn, and nothing is run: they say so and go on."""

MODEL = """
format = 1
name = "hostile"
[parameters]
k = {{ value = 1, unit = "N" }}
[[function]]
name = "{name}"
arguments = ["a"]
derivatives = ["1"]
[[body]]
name = "b"
translate = "x"
mass = 1
[[force]]
name = "f"
at = "b0"
along = "x"
magnitude = "k*{name}(b)"
[[output]]
name = "o"
value = "{name}(b)"
"""

WALK = """
import contextlib, io, json, sys
from pathlib import Path

import numpy as np

import linkwright as lw
from linkwright.cli import main
from linkwright.recording.recording import Channel, Recording
from linkwright.models.sources import source_of
from linkwright.scene.motions import open_motion

folder = Path(sys.argv[1])
told = {}


def say(door, outcome, words):
    told[door] = [outcome, words]
    print(json.dumps(told), flush=True)


def command(door, *words):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = main([str(w) for w in words])
    say(door, {0: "done", 2: "refused"}.get(code, code), out.getvalue())


def python(door, call):
    try:
        call()
    except lw.Error as error:
        say(door, "refused", str(error))
    else:
        say(door, "done", "")


def every_door(path, name, m, out):
    text = path.read_text()
    study = folder / f"{name}.study"
    study.write_text(
        f'model = "{path}"\\nuntil = 0.1\\nstep = 0.01\\nmethod = "rk4"\\n'
        '[parameters]\\nk = [1.0, 2.0]\\n[channels]\\nb = ["final"]\\n'
    )
    about = {
        "model": str(path), "until": 0.1, "step": 0.01, "method": "rk4", "every": 1,
        "model_text": text, "model_file": path.name, "model_hash": source_of(str(path)).digest,
    }
    recorded = folder / f"{name}.npz"
    Recording(
        np.array([0.0, 0.1]), [Channel("b", "m")], np.zeros((2, 1)), about
    ).save(recorded)
    command(f"{name}: describe", "model", "describe", path, "--equations")
    command(f"{name}: simulate rk4", "simulate", path, "--until", "0.1", "--step", "0.01",
            "--method", "rk4", "-o", f"{out}.csv")
    command(f"{name}: trusted", "simulate", path, "--trust", "--until", "0.1", "-o", f"{out}.csv")
    command(f"{name}: page", "page", path, "-o", folder / f"{name}.html")
    command(f"{name}: page until", "page", path, "--until", "0.1", "-o", f"{out}.html")
    command(f"{name}: rerun", "rerun", recorded)
    command(f"{name}: sweep", "sweep", study, "--quiet")
    command(f"{name}: linearize", "analyze", "linearize", path)
    command(f"{name}: studio until", "studio", path, "--until", "0.1", "--no-browser")
    say(f"{name}: studio", "done", " ".join(open_motion(str(path)).notes))
    command(f"{name}: codegen python", "codegen", path, "--target", "python", "-o", f"{out}-py")
    python(f"{name}: lw.simulate", lambda: lw.simulate(m, 0.1))
    python(f"{name}: redundant", lambda: lw.simulate(m, 0.1, form="redundant"))
    system = lw.System(m, base=100)
    python(f"{name}: System", lambda: lw.simulate(system, 0.1))
    python(f"{name}: batch", lambda: lw.simulate_batch(system, 0.1, runs=4))
    python(f"{name}: lw.linearize", lambda: lw.linearize(m))


for path in sorted(folder.glob("*.toml")):
    name = path.stem
    out = folder / f"{name}-out"
    m = lw.load(path)
    command(f"{name}: check", "model", "check", path)
    command(f"{name}: simulate", "simulate", path, "--until", "0.1", "-o", f"{out}.csv")
    made = lw.derive(m).program()
    for backend in ("llvm", "c", "python"):
        kernel = lw.compile(made, backend=backend)
        single = [np.zeros(p.shape) for p in made.inputs]
        rows = [np.zeros((8, *p.shape)) for p in made.inputs]
        python(f"{name}: {backend}", lambda: kernel(*single))
        python(f"{name}: {backend} batch", lambda: kernel.batch(*rows, threads=2))
    if name in sys.argv[2:]:
        every_door(path, name, m, out)
    left = [str(p) for p in folder.glob(f"{name}-out*")]
    assert not left, left
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What came of each door; those behind one that ended the process are missing."""
    folder = tmp_path_factory.mktemp("hostile")
    for name in NAMES:
        (folder / f"{name}.toml").write_text(MODEL.format(name=name))
    done = subprocess.run(
        [sys.executable, "-c", WALK, str(folder), *EVERYWHERE],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(Path(lw.__file__).parents[1])},
    )
    assert done.returncode == 0, (done.stdout.splitlines()[-1:], done.stderr[-2000:])
    found: dict[str, list[str]] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("name", NAMES)
def test_no_door_runs_a_function_by_its_name(name: str, told: dict[str, list[str]]) -> None:
    doors = {door: found for door, found in told.items() if door.startswith(f"{name}: ")}
    assert len(doors) == (24 if name in EVERYWHERE else 8)
    for door, (outcome, words) in doors.items():
        done = door.split(": ")[1] in DERIVED
        assert outcome == ("done" if done else "refused"), (door, outcome, words)
        if door != f"{name}: describe":
            assert f"function {name!r} has no " in words, (door, words)
    assert "with 1 warning(s)" in told[f"{name}: check"][1]


def test_a_written_program_links_no_function_of_the_c_library(tmp_path: Path) -> None:
    """It calls `user_cbrt`, which nobody but the user defines."""
    done = codegen(read_model(MODEL.format(name="cbrt")), tmp_path)
    assert "double user_cbrt(double x0)" in done.commands[0]
    text = (tmp_path / "hostile.c").read_text()
    assert " cbrt(" not in text
    assert "user_cbrt(" in text


def test_c_source_that_does_not_define_its_function_is_refused() -> None:
    (x,) = lw.symbols("x")
    empty = lw.foreign("cbrt", c_source="double other(double x) { return x; }")
    with pytest.raises(lw.CompileError, match="'cbrt' does not define it"):
        lw.compile(program("p", {"x": x}, {"y": empty(x)}))(8.0)


def test_trusted_c_code_runs_and_its_recording_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The flag counts for the file that is named with it, and for nothing that comes of it."""
    source = 'c_source = "double pull(double a) { return -4*a; }"\n[[body]]'
    path, out = tmp_path / "m.toml", tmp_path / "run.npz"
    path.write_text(MODEL.format(name="pull").replace("[[body]]", source, 1))
    words = ["simulate", str(path), "--until", "0.1", "--quiet", "-o", str(out)]
    assert main(words) == 2
    assert not out.exists()
    assert main([*words, "--trust"]) == 0
    assert main(["rerun", str(out)]) == 2
    refusals = capsys.readouterr().err.splitlines()
    assert len(refusals) == 2
    assert all("the function 'pull' has no code" in line for line in refusals)
