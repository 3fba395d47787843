"""``linkwright simulate`` and ``replay``: what they say, what they leave, and what survives."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import InputError
from linkwright.cli import main
from linkwright.equations.equations import Equations, derive
from linkwright.models import prepared, runner
from linkwright.models.runner import Request, run_model
from linkwright.models.sources import source_of
from linkwright.recording import Recording, read_recording, recovered
from linkwright.simulation.balance import balance, integral
from linkwright.simulation.native.stored import Forgotten, from_data, to_data
from linkwright.simulation.settings import RunSettings
from linkwright.system import dynamics, flatten
from tests.seeds import cases, seldom
from tests.support.processes import Begin, begin as begin

FALL = """format = 1
name = "fall"

[parameters]
push = { value = 0, unit = "N" }

[gravity]
along = "-z"

[[body]]
name = "ball"
joint = "prismatic"
axis = "z"
mass = 2
coordinates = ["z"]

[[force]]
name = "wind"
magnitude = "MAGNITUDE"
at = "ball0"
along = "[n3]"

[initial]
z_dot = 10
"""
LONG = ("pendulum", "--method", "rk4", "--step", "1e-6", "--every", "1000", "--until", "2000")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fall(folder: Path, magnitude: str = "push") -> str:
    """Write a model of a falling ball, and return its path."""
    path = folder / "fall.toml"
    path.write_text(FALL.replace("MAGNITUDE", magnitude), encoding="utf-8")
    return str(path)


def told(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """Run the command with --json, and return what it printed."""
    capsys.readouterr()
    assert main(["simulate", *words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def wait_for(path: Path, size: int) -> None:
    """Wait until a file has grown to a size."""
    for _ in range(1200):
        if path.exists() and path.stat().st_size > size:
            return
        time.sleep(0.05)
    raise AssertionError(f"{path.name} did not grow to {size} bytes")


# -- what a run is ---------------------------------------------------------------------------------
def test_a_thrown_ball_lands_where_the_formula_says(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = told(capsys, fall(here), "--until", "1.5", "--set", "push=4", "--initial", "z=1")
    a = 4 / 2 - 9.81
    assert found["final"]["z"] == pytest.approx(1 + 10 * 1.5 + a * 1.5**2 / 2, rel=1e-9)
    assert found["final"]["z_dot"] == pytest.approx(10 + a * 1.5, rel=1e-9)
    assert abs(found["energy"]["drift"]) < 1e-8 * found["energy"]["scale"]
    assert found["energy"]["work"] == pytest.approx(4 * (found["final"]["z"] - 1), rel=1e-9)
    assert found["recording"] == "fall.parquet"
    recording = read_recording("fall.parquet")
    assert recording.times[-1] == 1.5
    assert recording.channel("z").unit == "m"
    assert recording.channel("z").generic == "length"
    assert recording.channel("z_dot").body == "ball"
    assert recording.metadata["parameters"]["push"] == 4
    assert not Path("fall.parquet.journal").exists()


@seldom(daily="test_stored_models_run_as_derived_ones")
def test_the_arm_is_the_same_as_when_derived_and_stepped_in_python(here: Path) -> None:
    """The cached, smallest, native run against `derive` and SciPy's integrator."""
    from scipy.integrate import solve_ivp

    request = Request("stanford-arm-controlled", RunSettings(1.0, tolerance=1e-11))
    run_model(request)
    found = run_model(request)  # the second time from the cache
    arm = lw.load("stanford-arm-controlled")
    program = lw.derive(arm, "composite").program(outputs=False)
    kernel = lw.compile(program, backend="python")
    p = np.array([arm.values[x.name] for x in program.port("p").entries])
    names = [x.name for part in "qu" for x in program.port(part).entries]
    start = [float(arm.initial.get(n, 0.0)) for n in names]
    peer = solve_ivp(
        lambda t, x: np.concatenate(kernel(*(_parts(program, x, p)))), (0, 1), start,
        rtol=1e-9, atol=1e-11, method="DOP853",
    )  # fmt: skip
    for name, value in zip(names, peer.y[:, -1], strict=True):
        assert found.recording.final[name] == pytest.approx(value, abs=2e-8)


def _parts(program: Any, x: np.ndarray, p: np.ndarray) -> list[np.ndarray]:
    n = program.port("q").size
    tables = {"q": x[:n], "u": x[n:], "p": p, "t": np.zeros(1)}
    return [tables[port.name] for port in program.inputs]


def test_loops_run_with_their_energy_kept(here: Path) -> None:
    found = run_model(Request("four-bar", RunSettings(0.5)))
    energies = balance(found.recording)
    assert energies is not None
    assert energies.drift is not None
    assert abs(energies.drift) < 1e-5 * energies.scale
    assert found.steps > 10


@seldom(
    daily="tests/simulation/test_slots.py::test_results_stay_on_the_tape_where_the_form_of_equations_changes"
)
def test_samples_come_once_where_the_form_of_equations_changes(here: Path) -> None:
    found = run_model(Request("n-four-bar:n=2", RunSettings(3.0))).recording
    np.testing.assert_allclose(np.diff(found.times), 0.003, rtol=1e-9)
    energies = balance(found)
    assert energies is not None
    assert energies.drift is not None
    assert abs(energies.drift) < 1e-6 * energies.scale


def test_a_constraint_that_drives_leaves_energy_open(here: Path) -> None:
    energies = balance(run_model(Request("car", RunSettings(1.0))).recording)
    assert energies is not None
    assert energies.drift is None


def test_fixed_steps_converge_to_the_adaptive_run(here: Path) -> None:
    exact = run_model(Request("pendulum", RunSettings(1.0, tolerance=1e-12))).recording.final["phi"]
    errors = [
        abs(
            run_model(Request("pendulum", RunSettings(1.0, h, "midpoint"))).recording.final["phi"]
            - exact
        )
        for h in (0.02, 0.01)
    ]
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)


@seldom(daily="tests/package/test_own_machines.py::test_a_free_motion_is_the_same_by_every_door")
def test_robot_files_are_simulated(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    robot = Path(__file__).parents[1] / "robots" / "oblique_arm.urdf"
    found = told(capsys, str(robot), "--until", "0.5")
    energies = found["energy"]
    assert energies["drift"] is None  # the joint `reach` leans on its limit, which takes energy
    assert energies["gain"] < 0
    assert abs(energies["gain"] - energies["work"]) < 0.1 * energies["scale"]
    assert main(["rerun", "oblique_arm.parquet"]) == 0


def test_simpsons_rule_is_exact_for_parabolas() -> None:
    random = np.random.default_rng(3)
    for count in (3, 4, 5, 8):
        t = np.sort(random.uniform(0, 3, count))
        found = integral(t, 1 + 2 * t - 3 * t**2)
        assert found == pytest.approx(np.diff(t + t**2 - t**3)[0:].sum(), rel=1e-12)


def test_words_tell_what_happened(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "pendulum", "--until", "2", "--out", "swing.csv", "--plot"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("pendulum: 2 s simulated in ")
    assert "x real time)" in said
    assert "J unaccounted for" in said
    assert "recording: swing.csv (1001 samples" in said
    assert Path("swing.png").read_bytes().startswith(b"\x89PNG")
    assert main(["simulate", "pendulum", "--until", "2", "--quiet"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("model", "changes"),
    cases([("four-bar", 0), ("n-four-bar:n=2", 1)], daily=[("n-four-bar:n=2", 1)]),
)
def test_deriving_does_not_count_as_simulating(
    here: Path, monkeypatch: pytest.MonkeyPatch, model: str, changes: int
) -> None:
    """By a clock that moves only while equations are derived, at first and where they change."""
    clock, derived = [0.0], []
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])

    def slowly(*arguments: Any, **options: Any) -> Equations:
        clock[0] += 100.0
        derived.append(clock[0])
        return derive(*arguments, **options)

    monkeypatch.setattr(dynamics, "derive", slowly)
    monkeypatch.setattr(flatten, "derive", slowly)
    found = run_model(Request(model, RunSettings(3.0)))
    assert len(derived) > changes
    assert found.seconds == 0
    assert found.preparing == 100.0 * len(derived)


@pytest.mark.parametrize(
    ("method", "fit", "unfit"),
    [
        ("rk4", "take smaller steps", "tolerance"),
        ("dopri5", "tolerance or method", "smaller steps"),
    ],
)
def test_the_remedy_fits_the_method(
    here: Path, capsys: pytest.CaptureFixture[str], method: str, fit: str, unfit: str
) -> None:
    words = ["simulate", fall(here, "sqrt(1 - t)"), "--until", "2", "--method", method]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert fit in said
    assert unfit not in said.replace("below the tolerance", "")


# -- the same again --------------------------------------------------------------------------------
@pytest.mark.parametrize("ending", ["parquet", "csv", "npz"])
def test_two_runs_leave_the_same_bytes(here: Path, ending: str) -> None:
    for name in ("a", "b"):
        assert main(["simulate", "pendulum", "--until", "1", "-q", "-o", f"{name}.{ending}"]) == 0
    if ending == "npz":  # archives carry the time of day
        a, b = read_recording("a.npz"), read_recording("b.npz")
        np.testing.assert_array_equal(a.data, b.data)
        assert a.metadata == b.metadata
    else:
        assert Path(f"a.{ending}").read_bytes() == Path(f"b.{ending}").read_bytes()
    assert main(["rerun", f"a.{ending}"]) == 0


def test_stored_models_run_as_derived_ones(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = Request("double-pendulum", RunSettings(1.0), values={"g": 5.0}, initial={})
    run_model(request)
    stored = run_model(request).recording
    assert prepared.remembered(source_of("double-pendulum")) is not None
    monkeypatch.setattr(runner, "remembered", lambda source: None)
    derived = run_model(request).recording
    np.testing.assert_array_equal(stored.data, derived.data)
    assert stored.metadata == derived.metadata


def test_a_stored_program_without_its_code_is_told_apart() -> None:
    phases = lw.System(lw.load("pendulum")).phases()
    again = from_data(json.loads(json.dumps(to_data(phases))))
    assert again.derivative.fingerprint() == phases.derivative.fingerprint()
    assert [s.name for s in again.x] == [s.name for s in phases.x]
    with pytest.raises(Forgotten):
        again.derivative.port("x")


def test_replay_finds_the_first_value_that_differs(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["simulate", fall(here), "--until", "1", "-q", "-o", "a.npz"])
    Path("fall.toml").unlink()  # the recording holds the text
    recording = read_recording("a.npz")
    data = recording.data.copy()
    k, column = 400, recording.index("z_dot")
    data[k, column] = np.nextafter(data[k, column], 100)
    data[700, 0] += 1e-3
    Recording(recording.times, recording.channels, data, recording.metadata).save("b.npz")
    capsys.readouterr()
    assert main(["rerun", "a.npz"]) == 0
    assert "the same bit for bit" in capsys.readouterr().out
    assert main(["rerun", "b.npz"]) == 1
    said = capsys.readouterr().out
    assert f"t = {recording.times[k]:.9g} s in z_dot" in said
    assert repr(float(data[k, column])) in said
    assert repr(float(recording.data[k, column])) in said
    assert main(["rerun", "b.npz", "--json"]) == 1
    assert set(json.loads(capsys.readouterr().out)["largest"]) == {"z", "z_dot"}


def test_a_recording_of_something_else_is_not_replayed(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Recording([0.0, 1.0], (), np.empty((2, 0)), {}).save("x.npz")
    assert main(["rerun", "x.npz"]) == 2
    assert "does not say its model" in capsys.readouterr().err


def test_runs_of_python_make_recordings_too(here: Path) -> None:
    m = lw.load("car")
    run = lw.simulate(m, 1.0, step=0.01)
    run.save("car.csv")
    again = lw.load("car.csv")
    np.testing.assert_array_equal(again["r"], run["r"])
    assert again.channel("r").unit == "rad/s"
    assert again.channel("r").long == "yaw rate"
    assert again.metadata["method"] == "dop853"
    assert again.metadata["parameters"]["SPEED"] == 968 * 0.0254
    assert len(again.metadata["hash"]) == 32
    assert run.plot("r").axes[0].get_ylabel()
    batch = lw.simulate_batch(m, 1.0, parameters={"SPEED": [20.0, 24.5872]}, every=1)
    one = batch.recording(1)
    np.testing.assert_allclose(one["r"][::10], run["r"], atol=1e-6)
    assert one.channel("r") == run.recording.channel("r")


# -- faults ----------------------------------------------------------------------------------------
@seldom(daily="test_run_files.py::test_a_recovered_run_is_the_same_when_it_is_run_again")
def test_a_killed_run_leaves_what_it_had(here: Path, begin: Begin) -> None:
    journal = here / "run.csv.journal"
    child = begin("simulate", *LONG, "-o", "run.csv")
    wait_for(journal, 40_000)
    child.kill()
    child.communicate()
    assert not (here / "run.csv").exists()
    assert main(["simulate", *LONG, "-o", "run.csv"]) == 2  # it does not write over the journal
    Path("pendulum.parquet.journal").write_bytes(journal.read_bytes())
    assert main(["simulate", "pendulum", "-q"]) == 2
    assert main(["simulate", "pendulum", "-q", "--force"]) == 0
    assert main(["tools", "recover", str(journal)]) == 0
    left = read_recording("run.csv")
    assert len(left) > 100
    short = run_model(Request("pendulum", RunSettings(0.1, 1e-6, "rk4", every=1000))).recording
    np.testing.assert_array_equal(left.data[:101], short.data)
    total = left["energy.kinetic"] + left["energy.potential"]
    assert np.abs(total - total[0]).max() < 1e-9


@seldom(daily="tests/simulation/test_run_files.py::test_signals_end_a_run_as_ctrl_c_does")
def test_an_interrupted_run_keeps_what_it_had_and_says_so(here: Path, begin: Begin) -> None:
    child = begin("simulate", *LONG, "-o", "run.npz")
    wait_for(here / "run.npz.journal", 40_000)
    child.send_signal(signal.SIGINT)
    said, complaint = child.communicate()
    assert child.returncode == 130, complaint
    assert "interrupted at t = " in said
    left = read_recording("run.npz")
    assert len(left) > 100
    assert left.metadata["interrupted"] >= left.times[-1]
    times = left.times[:-1]  # and where it was interrupted
    assert np.array_equal(times, np.arange(len(left) - 1) * 1000 * np.float64(1e-6))
    assert not (here / "run.npz.journal").exists()


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_a_value_that_is_not_finite_stops_with_its_name(
    here: Path, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    model = fall(here, "sqrt(1 - t)")
    words = ["simulate", model, "--until", "2", "--step", "0.01", "--method", method, "-q"]
    assert main([*words, "-o", "run.csv"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "z_dot" in said
    left = read_recording("run.csv")
    assert left.times[-1] == pytest.approx(1.0, abs=0.011)
    assert np.isfinite(left.data).all()
    assert left.metadata["stopped"]["names"][-1] == "z_dot"


def test_a_full_disk_leaves_the_samples_before_it(here: Path, begin: Begin) -> None:
    run_model(
        Request("pendulum", RunSettings(0.1, 1e-6, "rk4", every=1000))
    )  # so that the cache needs no room

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    child = begin("simulate", *LONG, "-o", "run.csv", preexec_fn=limited)
    _, complaint = child.communicate()
    assert child.returncode == 2
    assert "cannot be written" in complaint
    assert complaint.count("\n") == 1
    left = recovered("run.csv.journal")
    assert len(left) > 1  # how many depends on what was flushed at once
    assert left.times[0] == 0
    assert not (here / "run.csv").exists()


def test_a_recording_that_finds_no_room_stays_a_journal(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise InputError("the file cannot be written: No space left on device")

    monkeypatch.setattr("linkwright.recording.files.write_recording", refuse)
    assert main(["simulate", "pendulum", "-q", "-o", "run.csv"]) == 2
    assert "linkwright tools recover run.csv.journal" in capsys.readouterr().err
    assert len(recovered("run.csv.journal")) == 1001


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["pendulun"], "did you mean 'pendulum'?"),
        (["pendulum", "--set", "LL=1"], "LL"),
        (["pendulum", "--set", "L"], "not NAME=VALUE"),
        (["pendulum", "--set", "L=one"], "not a number"),
        (["pendulum", "--set", "L=nan"], "not finite"),
        (["pendulum", "--initial", "phi=inf"], "not finite"),
        (["pendulum", "--initial", "fi=1"], "fi"),
        (["pendulum", "--method", "euler"], "no method 'euler'"),
        (["pendulum", "--until", "0"], "not after the start"),
        (["pendulum", "--until", "nan"], "must be a finite number"),
        (["pendulum", "--step", "-1"], "not above zero"),
        (["pendulum", "--every", "0"], "1 or more"),
        (["pendulum", "--tolerance", "2"], "between 0 and 1"),
        (["pendulum", "--out", "run.docx"], "names no format"),
        (["pendulum", "--out", "there.csv"], "exists already"),
        (["pendulum", "--out", "nowhere/run.csv"], "nowhere: there is no such folder"),
        (["missing.toml"], "missing.toml: cannot read: there is no such file"),
    ],
)
def test_bad_options_are_refused_in_one_line(
    here: Path, capsys: pytest.CaptureFixture[str], words: list[str], part: str
) -> None:
    Path("there.csv").write_text("mine", encoding="utf-8")
    assert main(["simulate", *words]) == 2
    said = capsys.readouterr().err
    assert part in said
    assert said.count("\n") == 1
    assert [p.name for p in here.iterdir()] == ["there.csv"]
    assert Path("there.csv").read_text(encoding="utf-8") == "mine"


def test_a_model_from_the_cache_is_run_without_deriving_it(here: Path) -> None:
    run_model(Request("pendulum", RunSettings(0.1)))
    code = (
        "import sys\n"
        "from linkwright.simulation.settings import RunSettings\n"
        "from linkwright.models.runner import Request, run_model\n"
        "run_model(Request('pendulum', RunSettings(0.1)))\n"
        "heavy = ('mechanism', 'equations', 'formats', 'models.library')\n"
        "assert not [m for m in heavy if f'linkwright.{m}' in sys.modules]\n"
        "assert not {'scipy', 'pydantic', 'matplotlib'} & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_loads_that_jump_between_samples_leave_the_balance_open() -> None:
    """A sampled servo's work is not what Simpson's rule makes of samples at other instants."""
    m = lw.Mechanism("m")
    m.body("b", rotate="z", mass=1, com=(1, 0, 0), inertia=0)
    held, smooth = (lw.System(m, name=name) for name in ("held", "smooth"))
    held.add(lw.control.PD(m, kp=20, kd=2, target=0.5), rate=30)
    smooth.add(lw.control.PD(m, kp=20, kd=2, target=0.5))
    left, known = (balance(lw.simulate(s, 1.0).recording) for s in (held, smooth))
    assert left is not None
    assert left.work != 0
    assert left.drift is None
    assert known is not None
    assert known.drift is not None
    assert abs(known.drift) < 1e-6 * known.scale
