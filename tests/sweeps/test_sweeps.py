"""Sweeps: what is run, what is kept, and what survives a kill."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.blocks import Element, WhiteNoise
from linkwright.cli import main
from linkwright.models.runner import Request, run_model
from linkwright.simulation.settings import RunSettings
from linkwright.sweeps.parts import reduced
from linkwright.sweeps.plans import Plan, checked, read_plan
from linkwright.sweeps.sweep import run_sweep
from tests.seeds import seldom
from tests.support.late import Late
from tests.support.processes import Begin, begin as begin

if TYPE_CHECKING:
    import pyarrow.parquet as parquet
else:
    parquet = Late("pyarrow.parquet")

STUDY = """format = 1
model = "pendulum"
until = 1.0
step = 0.01
method = "rk4"
runs = 5
seed = 7

[parameters]
L = [0.5, 1.0, 2.0]
g = { normal = [9.81, 0.1] }
m = 2

[initial]
phi_dot = { from = -1.0, to = 1.0, count = 2 }

[channels]
phi = ["final", "max", "at 0.5"]
y = "mean"
"""
SLOW = """model = "pendulum"
until = 10.0
step = 0.0001
method = "rk4"
runs = 240
part = 8
[parameters]
L = { uniform = [0.5, 2.0] }
[channels]
phi = "final"
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, text: str) -> Path:
    """Write a study."""
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path


def rows_of(folder: Path) -> dict[str, np.ndarray]:
    """Return the columns of a folder as PyArrow reads it."""
    table = parquet.read_table(folder)
    return {name: table.column(name).to_numpy() for name in table.column_names}


def same(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> None:
    """Hold that two tables have the same bits."""
    assert list(a) == list(b)
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], strict=True)


# -- plans -----------------------------------------------------------------------------------------
def test_lists_span_a_grid_and_distributions_are_drawn_at_each_point(here: Path) -> None:
    plan = read_plan(write(here, STUDY))
    assert plan.grid == (3, 2)
    assert plan.count == 30
    values, initial = plan.numbers(0, 30)
    np.testing.assert_array_equal(values["L"], np.repeat([0.5, 1.0, 2.0], 10))
    np.testing.assert_array_equal(initial["phi_dot"], np.tile(np.repeat([-1.0, 1.0], 5), 3))
    np.testing.assert_array_equal(values["g"], np.tile(values["g"][:5], 6))
    assert len(np.unique(values["g"])) == 5
    assert (values["m"] == 2).all()
    some, _ = plan.numbers(7, 19)
    np.testing.assert_array_equal(some["g"], values["g"][7:19])


def test_draws_follow_their_distributions() -> None:
    table = {
        "a": {"normal": [3, 2]},
        "b": {"uniform": [-1, 5]},
        "c": {"lognormal": [0, 0.5]},
        "d": {"triangular": [0, 1, 5]},
    }
    drawn, _ = checked(Plan("x", 1.0, parameters=table, runs=40_000)).numbers(0, 40_000)
    expected = {
        "a": (3, 2),
        "b": (2, 6 / 12**0.5),
        "c": (np.exp(0.125), np.sqrt((np.exp(0.25) - 1) * np.exp(0.25))),
        "d": (2, np.sqrt((0 + 1 + 25 - 0 - 0 - 5) / 18)),
    }
    for name, (mean, deviation) in expected.items():
        assert drawn[name].mean() == pytest.approx(mean, abs=0.03)
        assert drawn[name].std() == pytest.approx(deviation, rel=0.02)
    other, _ = Plan("x", 1.0, parameters=table, runs=40_000, seed=1).numbers(0, 40_000)
    assert abs(np.corrcoef(drawn["a"], other["a"])[0, 1]) < 0.02
    assert abs(np.corrcoef(drawn["a"], drawn["b"])[0, 1]) < 0.02


def test_lists_can_go_together() -> None:
    plan = checked(Plan("x", 1.0, parameters={"a": [1, 2, 3], "b": [4, 5, 6]}, together=True))
    values, _ = plan.numbers(0, plan.count)
    assert values["a"].tolist() == [1, 2, 3]
    assert values["b"].tolist() == [4, 5, 6]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("model = 'pendulum'", "no until"),
        ("until = 1", "no model"),
        ("model = 'pendulum'\nuntil = 1\nparametres = 3", "did you mean 'parameters'?"),
        ("model = 'pendulum'\nuntil = -1", "not after the start"),
        ("model = 'pendulum'\nuntil = 1\nruns = 0", "1 or more"),
        ("model = 'pendulum'\nuntil = 1\nmethod = 'euler'", "no method 'euler'"),
        ("model = 'pendulum'\nuntil = 1\n[parameters]\nL = 'long'", "L is neither"),
        ("model = 'pendulum'\nuntil = 1\n[parameters]\nL = []", "is empty"),
        ("model = 'pendulum'\nuntil = 1\n[parameters]\nL = { normal = [1] }", "takes 2 numbers"),
        ("model = 'pendulum'\nuntil = 1\n[parameters]\nL = { normal = [1, -1] }", "cannot have"),
        ("model = 'pendulum'\nuntil = 1\n[parameters]\nL = { from = 1, to = 2 }", "count"),
        ("model = 'pendulum'\nuntil = 1\n[parameters]\nLL = [1]", "LL"),
        ("model = 'pendulum'\nuntil = 1\n[channels]\nphi = 'median'", "'median'"),
        ("model = 'pendulum'\nuntil = 1\n[channels]\nphi = 'at 2'", "'at 2'"),
        ("model = 'pendulum'\nuntil = 1\n[channels]\nfi = 'final'", "fi"),
        ("model = 'pendulun'\nuntil = 1", "did you mean 'pendulum'?"),
        ("model = ", "not TOML"),
    ],
)
def test_bad_studies_are_refused_in_one_line(
    here: Path, capsys: pytest.CaptureFixture[str], text: str, part: str
) -> None:
    write(here, text)
    assert main(["sweep", "study.toml"]) == 2
    said = capsys.readouterr().err
    assert part in said
    assert said.count("\n") == 1


# -- results ---------------------------------------------------------------------------------------
def test_rows_are_what_single_runs_give(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here, STUDY)
    assert main(["sweep", "study.toml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == 30
    found = rows_of(here / "study.sweep")
    assert found["run"].tolist() == list(range(30))
    assert np.isnan(found["stopped"]).all()
    for k in (0, 13, 29):
        values = {n: float(found[n][k]) for n in ("L", "g", "m")}
        request = Request(
            "pendulum",
            RunSettings(1.0, 0.01, "rk4", every=1),
            values,
            {"phi_dot": float(found["phi_dot"][k])},
        )
        one = run_model(request).recording
        assert found["phi.final"][k] == pytest.approx(one["phi"][-1], abs=1e-12)
        assert found["phi.max"][k] == pytest.approx(one["phi"].max(), abs=1e-12)
        assert found["phi.at 0.5"][k] == pytest.approx(one["phi"][50], abs=1e-12)
        mean = np.trapezoid(one["y"], one.times)
        assert found["y.mean"][k] == pytest.approx(mean, abs=1e-12)


def test_runs_that_ended_early_are_reduced_up_to_there() -> None:
    """A batch holds what was at the end of a run from there on."""
    t = np.arange(5.0)
    y = np.array([[1.0, 2, 3, 4, 4], [5, 4, 3, 2, 1]])
    stopped = np.array([2.5, np.inf])
    kept = ["final", "min", "max", "mean", "rms", "at 3"]
    found = reduced("y", t, y, stopped, kept)
    assert found["y.final"].tolist() == [4, 1]
    assert found["y.min"].tolist() == [1, 1]
    assert found["y.max"].tolist() == [4, 5]
    np.testing.assert_allclose(found["y.mean"], [5.75 / 2.5, 3])
    way = np.trapezoid(y[0, :4] ** 2, [0, 1, 2, 2.5]) / 2.5
    np.testing.assert_allclose(found["y.rms"], np.sqrt([way, np.trapezoid(y[1] ** 2, t) / 4]))
    assert np.isnan(found["y.at 3"][0])
    assert found["y.at 3"][1] == 2


def test_the_size_of_parts_and_threads_change_nothing(here: Path) -> None:
    plan = read_plan(write(here, STUDY))
    whole = run_sweep(plan).columns
    for size, threads in ((7, 1), (8, 2)):
        table = {**plan.as_data(), "part": size}
        table["channels"] = {n: tuple(k) for n, k in table["channels"].items()}
        same(run_sweep(Plan(**table), threads=threads).columns, whole)


def test_a_system_is_swept_over_gains_and_noise() -> None:
    m = lw.Mechanism("slide")
    m.body("b", translate="x", mass=1)
    s = lw.System(m)
    noise = s.add(WhiteNoise(deviation=1.0), rate=100)
    motor = Element("motor", m)
    u, k = motor.input("u"), motor.parameter("k", 1.0)
    motor.effort("f", "b", k * u)
    added = s.add(motor)
    s.connect(noise.y, added.u)
    found = lw.sweep(
        s, 1.0, parameters={"motor.k": [1.0, 2.0]}, seeds=range(40), channels={"b": "final"}
    )
    assert len(found) == 80
    first, second = found["b.final"][:40], found["b.final"][40:]
    assert len(np.unique(first)) == 40
    assert second.std() / first.std() == pytest.approx(2, rel=0.5)
    again = lw.sweep(
        s, 1.0, parameters={"motor.k": [1.0, 2.0]}, seeds=range(40), channels={"b": "final"}
    )
    np.testing.assert_array_equal(again["b.final"], found["b.final"])


def test_a_run_of_a_sweep_is_that_of_its_seed_whatever_the_others() -> None:
    """In any range of seeds, at any point of the grid, in parts of any size, in any order."""
    s = lw.System(name="n", base=100)
    b = lw.Block("b")
    k, p = b.parameter("k", 1.0), b.discrete_state("p")
    b.update(p, 0.9 * p + k * b.noise("w"))
    b.output("y", p)
    s.add(b, rate=100)
    wanted = {
        (seed, k): lw.simulate(s, 0.2, seed=seed, every=1, parameters={"b.k": k}).final["b.y"]
        for seed in range(8)
        for k in (1.0, 3.0)
    }
    gains = [1.0, 3.0]
    drawn: dict[int, tuple[float, float]] = {}
    random = np.random.default_rng(1)
    for first in range(5):
        chosen = range(first, first + 3)
        rows = [(seed, k) for k in gains for seed in chosen]
        for part in (None, 1, 4):
            given = {"b.k": gains}
            plan = Plan("n", 0.2, parameters=given, channels={"b.y": ("final",)}, runs=3,
                        seed=first, part=part)  # fmt: skip
            found = run_sweep(checked(plan), model=s)
            assert found["b.y.final"].tolist() == [wanted[row] for row in rows]
        by_range = lw.sweep(
            s, 0.2, parameters={"b.k": gains}, seeds=chosen, channels={"b.y": "final"}
        )
        assert by_range["b.y.final"].tolist() == [wanted[row] for row in rows]
        order = random.permutation(8)
        batch = lw.simulate_batch(s, 0.2, seed=order, every=0)
        assert batch["b.y"].tolist() == [wanted[seed, 1.0] for seed in order.tolist()]
        loose = lw.sweep(s, 0.2, parameters={"b.k": {"normal": [1.0, 0.1]}}, seeds=chosen)
        for seed, k, y in zip(chosen, loose["b.k"], loose["b.y.final"], strict=True):
            assert drawn.setdefault(seed, (k, y)) == (k, y)
    assert len(set(drawn.values())) == len(drawn) == 7


def test_a_model_beside_the_study_is_found(here: Path, begin: Begin) -> None:
    folder = here / "inner"
    folder.mkdir()
    text = Path(lw.__file__).parent / "models" / "text" / "pendulum.toml"
    (folder / "swing.toml").write_text(text.read_text(encoding="utf-8"), encoding="utf-8")
    study = folder / "study.toml"
    study.write_text('model = "swing.toml"\nuntil = 0.1\n[parameters]\nL = [1, 2]\n', "utf-8")
    assert main(["sweep", str(study), "-q"]) == 0
    assert len(rows_of(folder / "study.sweep")["run"]) == 2


# -- faults ----------------------------------------------------------------------------------------
def wait_for_parts(folder: Path, count: int, child: subprocess.Popen[str]) -> None:
    """Wait until some parts are there."""
    for _ in range(2400):
        if len(list(folder.glob("part-*.parquet"))) >= count:
            return
        assert child.poll() is None, child.communicate()
        time.sleep(0.02)
    raise AssertionError("no parts came")


def test_a_killed_sweep_goes_on_where_it_was(
    here: Path, begin: Begin, capsys: pytest.CaptureFixture[str]
) -> None:
    study = write(here, SLOW)
    folder = here / "study.sweep"
    child = begin("sweep", "study.toml", "--threads", "1")
    wait_for_parts(folder, 3, child)
    child.kill()
    child.communicate()
    old = {p.name: p.stat().st_mtime_ns for p in folder.glob("part-*.parquet")}
    assert 3 <= len(old) < 30
    (folder / "part-00001.parquet").write_bytes(b"PAR1 cut off")
    assert main(["sweep", "study.toml"]) == 2
    assert "--resume" in capsys.readouterr().err
    assert main(["sweep", "study.toml", "--resume", "-q"]) == 0
    kept = {p.name: p.stat().st_mtime_ns for p in folder.glob("part-*.parquet")}
    assert [n for n, t in old.items() if kept[n] != t] == ["part-00001.parquet"]
    same(rows_of(folder), run_sweep(read_plan(study)).columns)
    study.write_text(SLOW.replace("2.0]", "2.5]"), encoding="utf-8")
    assert main(["sweep", "study.toml", "--resume"]) == 2
    assert "another plan" in capsys.readouterr().err


def test_a_full_disk_leaves_whole_parts_alone(here: Path, begin: Begin) -> None:
    write(here, SLOW)
    run_sweep(read_plan(write(here, SLOW.replace("10.0", "0.1"))))  # the cache needs no room then
    write(here, SLOW.replace("[channels]", "[channels]\ny = ['max', 'min', 'mean', 'rms']"))

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))

    child = begin("sweep", "study.toml", preexec_fn=limited)
    _, complaint = child.communicate()
    assert child.returncode == 2
    assert "cannot be written" in complaint.splitlines()[-1]
    assert [p.name for p in (here / "study.sweep").iterdir()] == ["_plan.json"]


def test_runs_that_fail_say_when(here: Path) -> None:
    text = Path(lw.__file__).parent / "models" / "text" / "pendulum.toml"
    moment = 'name = "fading"\nmagnitude = "sqrt(T - t)"\non = "rod"\nabout = "[n3]"'
    model = text.read_text(encoding="utf-8")
    model = model.replace("[[output]]", f"[[moment]]\n{moment}\n\n[[output]]", 1)
    model = model.replace("[gravity]", 'T = { value = 1, unit = "s" }\n\n[gravity]', 1)
    (here / "fading.toml").write_text(model, encoding="utf-8")
    found = lw.sweep(
        "fading.toml", 2.0, step=0.01, method="rk4", T=[0.5, 3.0, 1.2], channels={"phi": "final"}
    )
    np.testing.assert_allclose(found["stopped"], [0.5, np.nan, 1.2], atol=0.011)
    assert np.isfinite(found["phi.final"]).all()


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Run a Dask scheduler with workers on this machine, each a process of its own."""
    told = folder / "scheduler.json"
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dask = [sys.executable, "-m", "dask"]
    common = ["--scheduler-file", str(told), "--no-dashboard"]
    scheduler = ["scheduler", "--host", "127.0.0.1", "--port", "0"]
    worker = ["worker", "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny"]
    started = [subprocess.Popen([*dask, *scheduler, *common], cwd=folder, **quiet)]
    try:
        started += [
            subprocess.Popen(
                [*dask, *worker, *common, "--local-directory", str(folder)], cwd=folder, **quiet
            )
            for _ in range(workers)
        ]
        for _ in range(600):
            if told.exists() and told.stat().st_size:
                break
            time.sleep(0.05)
        yield str(json.loads(told.read_text(encoding="utf-8"))["address"]), started[1:]
    finally:
        for process in started:
            process.kill()
            process.wait()


@seldom(daily="test_a_killed_sweep_goes_on_where_it_was")
def test_a_worker_that_dies_loses_nothing(here: Path, begin: Begin) -> None:
    text = Path(lw.__file__).parent / "models" / "text" / "pendulum.toml"
    (here / "swing.toml").write_text(text.read_text(encoding="utf-8"), encoding="utf-8")
    study = write(here, SLOW.replace('"pendulum"', '"swing.toml"'))
    folder = here / "study.sweep"
    elsewhere = here / "elsewhere"
    elsewhere.mkdir()
    with cluster(elsewhere, 2) as (address, workers):
        child = begin("sweep", "study.toml", "--cluster", address)
        wait_for_parts(folder, 4, child)
        workers[0].kill()
        said, complaint = child.communicate(timeout=120)
        assert child.returncode == 0, complaint
        assert "240 runs" in said
    same(rows_of(folder), run_sweep(read_plan(study)).columns)


def test_a_cluster_that_is_not_there_is_said(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import distributed

    write(here, STUDY)
    for error in (TimeoutError("nobody there"), MemoryError("bytes of a web server")):

        def refuse(*_: object, error: Exception = error, **__: object) -> None:
            raise error

        monkeypatch.setattr(distributed, "Client", refuse)
        assert main(["sweep", "study.toml", "--cluster", "tcp://127.0.0.1:1"]) == 2
        said = capsys.readouterr().err
        assert f"no Dask scheduler answers at 'tcp://127.0.0.1:1': {error}" in said
