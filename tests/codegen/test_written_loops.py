"""Written programs of mechanisms with loops: the bits of the native run, or a stop with its reason.

A written program eliminates the same speeds throughout. Where the constraints cannot be solved for
them any longer, `simulate` goes on with others, and the program stops.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.algebra import sin, symbol
from linkwright.backends.kernel import compile as compiled
from linkwright.models import MODELS as SHIPPED
from linkwright.program import program
from linkwright.system.forms import is_regular
from tests.seeds import VARIABLE, cases, seldom
from tests.simulation.test_guards import ball

SMALL = {
    "slider-crank": 2.0,
    "n-four-bar": 1.0,
    "five-bar": 0.5,
    "planar-3-rpr": 0.4,
}
LARGE = (
    *("four-bar", "delta", "andrews", "cart", "whipple", "mount-3-rotary", "mount-2-rotary"),
    *("mount-truss-3", "mount-truss-2", "mount-prismatic", "stewart", "agile-eye", "tripod"),
    *("unitru", "spherical-coplanar", "spherical-collinear", "spherical-shoulder"),
)
MODELS = SMALL if VARIABLE not in os.environ else SMALL | dict.fromkeys(LARGE, 0.5)
COMPILE = ("cc", "-std=c99", "-O0", "-ffp-contract=off", "-march=native")


def system_of(name: str) -> lw.System:
    """The System of a shipped model."""
    model = lw.load(name)
    return model if isinstance(model, lw.System) else lw.System(model)


def test_every_shipped_model_with_loops_is_among_them() -> None:
    found = {n for n in SHIPPED if not is_regular(system_of(n).mechanism)}
    assert found == {*SMALL, *LARGE}


def written(s: lw.System, folder: Path, until: float, step: float, target: str = "c") -> list[str]:
    """Write a program with its run; return how it is called."""
    lw.codegen(s, folder, target=target, methods=["rk4"], units="model")
    par = next(folder.glob("*.par"))
    own = [x for x in par.read_text().splitlines() if not re.match("STEP|STOPT|IPRINT", x)]
    run = [f"STEP {step!r}", f"STOPT {until!r}", "IPRINT 7"]
    par.write_text("\n".join([own[0], *run, *own[1:]]) + "\n")
    if target == "python":
        return [sys.executable, f"{par.stem}.py", par.name, "-f", "final"]
    subprocess.run([*COMPILE, f"{par.stem}.c", "-lm", "-o", "made"], cwd=folder, check=True)
    return ["./made", par.name, "-f", "final"]


@pytest.mark.parametrize("name", cases(MODELS, daily=["slider-crank", "n-four-bar"]))
def test_a_program_has_the_bits_of_the_native_run_or_stops(name: str, tmp_path: Path) -> None:
    s, until = system_of(name), MODELS[name]
    step = until / 250
    call = written(s, tmp_path, until, step)
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    run = lw.simulate(s, until, method="rk4", step=step)
    passed = any(re.search("switched|kept all|singular", words) for words in run.report)
    if done.returncode:
        assert passed
        found = re.search(r"singular.*simulate.* at t = (\S+) s", done.stderr)
        assert found is not None
        told = min(float(t) for x in run.report for t in re.findall(r"t = ([\d.e-]+) s", x))
        assert float(found[1]) <= told + 1e-9
        assert not (tmp_path / "final").exists()
    else:
        assert not passed
        lines = (x.split() for x in (tmp_path / "final").read_text().splitlines())
        final = {x[0]: float(x[1]) for x in lines if len(x) > 1 and x[0] in run.x}
        assert final == {n: run.x[n] for n in final}
        assert len(final) > 1


@seldom(daily="test_a_program_has_the_bits_of_the_native_run_or_stops")
def test_a_python_program_stops_too(tmp_path: Path) -> None:
    call = written(system_of("planar-3-rpr"), tmp_path, 0.3, 0.002, "python")
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "the constraints become singular" in done.stderr
    again = written(system_of("planar-3-rpr"), tmp_path / "c", 0.3, 0.002)
    other = subprocess.run(again, cwd=tmp_path / "c", capture_output=True, text=True, check=False)
    assert other.stderr == done.stderr


@pytest.mark.parametrize("target", cases(["c", "python"], daily=["c"]))
def test_a_program_stops_where_a_ball_comes_to_rest(target: str, tmp_path: Path) -> None:
    call = written(ball(0.7), tmp_path, 2.7, 0.03, target)
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "an event happens without end" in done.stderr
    assert "t = 2.55864 s" in done.stderr


@pytest.mark.parametrize("counts", [False, True])
def test_a_program_with_friction_and_events_agrees_with_the_native_run(
    counts: bool, tmp_path: Path
) -> None:
    m = lw.Mechanism("slider")
    m.passive(m.body("c", translate="x", mass=1), friction=2.0, stiffness=30.0)
    s = lw.System(m)
    watch = lw.Block("watch")
    q, n = watch.input("q"), watch.state("n", 0.0)
    watch.event("half", q - 0.31, resets={n: n + 1} if counts else {})
    s.connect(m.coordinates["c"], s.add(watch).q)
    s.initial["c"] = 1.0
    call = written(s, tmp_path, 2.0, 0.004)
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=True)
    run = lw.simulate(s, 2.0, method="rk4", step=0.004)
    lines = (x.split() for x in (tmp_path / "final").read_text().splitlines())
    final = {x[0]: float(x[1]) for x in lines if len(x) > 1 and x[0] in run.x}
    assert final["c"] == pytest.approx(run.x["c"], rel=1e-12)
    told = re.findall(r"watch\.half at t = (\S+) s", done.stdout)
    assert [float(t) for t in told] == pytest.approx([e.time for e in run.events], rel=1e-9)
    assert len(told) == 3


def test_long_functions_of_c_write_every_output(tmp_path: Path) -> None:
    """Those that are inputs or numbers too, which no part of a function computes."""
    x = [symbol(f"x{i}", "coordinate") for i in range(3)]
    d = [symbol(f"d{i}", "discrete") for i in range(2)]
    e = x[0]
    for k in range(1500):
        e = sin(1.0001 * e + x[k % 2] + 0.001 * k)
    made = program("long", {"x": x, "d": d}, {"y": [e, x[0], x[2], d[1], 2.5], "d_new": d})
    text = compiled(made, backend="c").source
    name = re.search(r"^void (\w+)\(const double \*x", text, re.MULTILINE)
    assert name is not None
    (tmp_path / "long.c").write_text(text)
    library = tmp_path / "long.so"
    flags = ("-shared", "-fPIC", "-o", str(library))
    subprocess.run([*COMPILE, str(tmp_path / "long.c"), *flags, "-lm"], check=True)
    given = [np.array([0.1, 0.2, 0.3]), np.array([7.0, 8.0])]
    found = [np.full(5, np.nan), np.full(2, np.nan)]
    arrays = [a.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for a in (*given, *found)]
    getattr(ctypes.CDLL(str(library)), name[1])(*arrays)
    for got, wanted in zip(found, compiled(made, backend="python")(*given), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)
