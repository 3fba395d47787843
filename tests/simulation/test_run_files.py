"""What a run leaves behind: one journal for one run, signals that end it, and nothing useless."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import Error, InputError
from linkwright.cli import main
from linkwright.cli.progress import run_bar
from linkwright.models.runner import Request, run_model
from linkwright.recording import Channel, Journal, read_recording, recovered
from linkwright.recording.recording import Recording
from linkwright.simulation.recorder import Recorder, Target
from linkwright.simulation.runs import RunInterrupted
from linkwright.simulation.settings import RunSettings
from tests.seeds import cases, seldom
from tests.simulation.test_simulate_command import LONG, here as here, wait_for
from tests.support.processes import Begin, begin as begin

X = [Channel("x", "m")]


# -- one journal, one run --------------------------------------------------------------------------
def test_a_journal_belongs_to_one_run(here: Path) -> None:
    path = here / "run.csv.journal"
    with Journal(path, X) as first:
        first.append([0], [[1]])
        for replace in (False, True):
            with pytest.raises(InputError, match="another run is being recorded"):
                Journal(path, X, replace=replace)
            with pytest.raises(InputError, match="another run is being recorded"):
                Target(here / "run.csv", replace_journal=replace).check()
        first.append([1], [[2]])
    assert recovered(path)["x"].tolist() == [1, 2]
    with pytest.raises(InputError, match="an earlier run has left"):
        Journal(path, X)
    with Journal(path, X, replace=True) as second:
        second.append([0], [[3]])
    assert recovered(path)["x"].tolist() == [3]


def test_a_second_run_to_one_name_is_refused_and_the_first_is_whole(
    here: Path, begin: Begin, capsys: pytest.CaptureFixture[str]
) -> None:
    child = begin("simulate", *LONG, "-o", "run.npz")
    wait_for(here / "run.npz.journal", 4000)
    for words in ([], ["--force"]):
        assert main(["simulate", "pendulum", "-q", "-o", "run.npz", *words]) == 2
        assert "another run is being recorded" in capsys.readouterr().err
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=240)
    left = read_recording("run.npz")
    times = left.times[:-1]  # and where it was interrupted
    assert np.array_equal(times, np.arange(len(left) - 1) * 1000 * np.float64(1e-6))


def test_a_file_that_appears_meanwhile_is_not_replaced(here: Path) -> None:
    made = Recorder(X, {}, Target(here / "run.csv"))
    made.put(np.zeros(1), np.zeros((1, 1)))
    Path("run.csv").write_text("mine")
    with pytest.raises(InputError, match=r"exists already.*are in .*run.csv.journal"):
        made.finish({})
    assert Path("run.csv").read_text() == "mine"
    assert len(recovered("run.csv.journal")) == 1


def test_a_journal_that_finds_no_room_at_all_is_not_left(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise InputError("the file cannot be written: No space left on device")

    monkeypatch.setattr(Journal, "_put", refuse)
    with pytest.raises(InputError, match="No space"):
        Journal(here / "run.journal", X)
    assert not list(here.iterdir())


def test_a_journal_is_flushed_to_the_disk_now_and_then(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    flushed: list[float] = []
    flush = Journal.flush

    def counted(self: Journal) -> None:
        flushed.append(now[0])
        flush(self)

    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(Journal, "flush", counted)
    with Journal(here / "run.journal", X) as journal:
        for k in range(41):
            now[0] = 0.1 * k
            journal.append([k], [[k]])
    assert len(flushed) == 4
    assert np.diff(flushed).max() < 1.2


# -- signals ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("number", cases([signal.SIGTERM, signal.SIGHUP], daily=[signal.SIGHUP]))
def test_signals_end_a_run_as_ctrl_c_does(here: Path, begin: Begin, number: int) -> None:
    child = begin("simulate", *LONG, "-o", "run.npz")
    wait_for(here / "run.npz.journal", 4000)
    child.send_signal(number)
    said, complaint = child.communicate(timeout=240)
    assert child.returncode == 128 + number, complaint
    assert "interrupted at t = " in said
    assert complaint == f"ended by {signal.Signals(number).name}\n"
    assert len(read_recording("run.npz")) > 10
    assert [p.name for p in here.iterdir()] == ["run.npz"]


def test_a_signal_that_is_ignored_stays_so(here: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "from linkwright.cli import signals\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "with signals.ending():\n"
        "    os.kill(os.getpid(), signal.SIGHUP)\n"
        "    print('here')\n"
        "assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "here\n"


@seldom(daily="test_signals_end_a_run_as_ctrl_c_does")
def test_an_interrupted_run_with_constraints_tells_its_steps(
    here: Path, begin: Begin, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("simulate", "slider-crank", "--until", "1e5", "--step", "0.001", "--every", "10")
    child = begin(*words, "-o", "run.npz", "--json")
    wait_for(here / "run.npz.journal", 4000)
    child.send_signal(signal.SIGINT)
    said, complaint = child.communicate(timeout=240)
    assert child.returncode == 130, complaint
    told = json.loads(said)
    assert told["samples"] > 1
    assert told["steps"] > 1


# -- recovered runs --------------------------------------------------------------------------------
def test_a_recovered_run_is_the_same_when_it_is_run_again(
    here: Path, begin: Begin, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("simulate", "pendulum", "--method", "rk4", "--step", "1e-6", "--every", "1000")
    child = begin(*words, "--until", "3", "-o", "run.npz")
    wait_for(here / "run.npz.journal", 4000)
    child.kill()
    child.communicate(timeout=240)
    (here / "bare.journal").write_bytes((here / "run.npz.journal").read_bytes())
    assert main(["tools", "recover", "bare.journal"]) == 2
    assert "give --out bare.parquet, say" in capsys.readouterr().err
    assert main(["tools", "recover", "run.npz.journal"]) == 0
    assert len(read_recording("run.npz")) < 3001
    capsys.readouterr()
    assert main(["rerun", "run.npz"]) == 0
    said = capsys.readouterr().out
    assert "the same bit for bit" in said
    assert "the run died; it was compared up to its last sample" in said
    left = read_recording("run.npz")
    left.data[5, 0] += 1e-12
    left.save("run.npz")
    assert main(["rerun", "run.npz"]) == 1


# -- the same from Python --------------------------------------------------------------------------
def test_a_run_of_python_goes_to_its_file_by_the_same_journal(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And tells what the command tells of it."""
    run = lw.simulate("double-pendulum", 0.5, out="a.npz", parameters={"g": 5.0})
    assert run.path == Path("a.npz")
    assert [p.name for p in here.iterdir()] == ["a.npz"]
    assert main(["rerun", "a.npz"]) == 0
    with pytest.raises(InputError, match="exists"):
        lw.simulate("double-pendulum", 0.5, out="a.npz")
    words = ("--until", "0.5", "--set", "g=5", "-q", "-o", "b.npz")
    assert main(["simulate", "double-pendulum", *words]) == 0
    python, command = (read_recording(name) for name in ("a.npz", "b.npz"))
    assert np.array_equal(python.data, command.data)
    shared = {**command.metadata, "model": python.metadata["model"]}
    shared |= {"origin": python.metadata["origin"]}
    del shared["model_hash"]
    assert python.metadata == shared


def test_a_run_of_python_that_is_interrupted_keeps_its_file_and_goes_on(here: Path) -> None:
    visits: list[int] = []

    def show(now: float) -> None:
        visits.append(len(Path("a.npz.journal").read_bytes()))
        if len(visits) == 1 and now < 5.0:
            raise KeyboardInterrupt

    with pytest.raises(RunInterrupted) as caught:
        lw.simulate("pendulum", 5.0, method="rk4", step=1e-4, progress=show, out="a.npz")
    left = read_recording("a.npz")
    assert left.metadata["interrupted"] == left.times[-1] < 5.0
    whole = caught.value.resume()
    again = lw.simulate("pendulum", 5.0, method="rk4", step=1e-4)
    assert [p.name for p in here.iterdir()] == ["a.npz"]
    assert np.array_equal(read_recording("a.npz").data, again.recording.data)
    assert np.array_equal(whole.times, again.times)


# -- nothing useless -------------------------------------------------------------------------------
def test_a_package_that_is_missing_is_told_before_the_run(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr("linkwright.models.runner.remembered", lambda _: 1 / 0)
    assert main(["simulate", "pendulum", "-o", "a.parquet"]) == 2
    assert "pyarrow" in capsys.readouterr().err
    assert not list(here.iterdir())


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--until", "1e300"], "1e+300 s is later than 1e+12 s"),
        (["--until", "inf"], "must be a finite number"),
        (["--until", "nan"], "must be a finite number"),
        (["--until", "1", "--step", "1e-12"], "1e+12 steps"),
        (["--until", "1", "--step", "inf"], "must be a finite number"),
        (["--until", "1", "--set", "m=0"], "has mass"),
    ],
)
def test_absurd_runs_are_refused_and_leave_nothing(
    here: Path, capsys: pytest.CaptureFixture[str], words: list[str], part: str
) -> None:
    assert main(["simulate", "pendulum", "-q", *words]) == 2
    assert part in capsys.readouterr().err
    assert not list(here.iterdir())


def test_an_interrupt_before_the_first_sample_leaves_nothing(here: Path) -> None:
    made = Recorder(X, {}, Target(here / "run.csv"))
    recording, path = made.finish({"interrupted": 0.0})
    assert isinstance(recording, Recording)
    assert path is None
    assert not list(here.iterdir())


# -- nonsense --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "options",
    [
        {"tolerance": -1.0},
        {"tolerance": 0.0},
        {"tolerance": float("nan")},
        {"tolerance": "small"},
        {"every": 0},
        {"every": 1.5},
        {"until": float("nan")},
        {"until": float("inf")},
        {"until": 1e300},
        {"until": True},
        {"step": 1e-13},
        {"step": float("nan")},
        {"step": "small"},
    ],
)
@pytest.mark.parametrize("door", ["mechanism", "system"])
def test_nonsense_for_numbers_is_refused(door: str, options: dict[str, object]) -> None:
    m = lw.Mechanism("cart")
    m.body("b", translate="x", mass=2)
    given: dict[str, Any] = {"until": 1.0, **options}
    moved = m if door == "mechanism" else lw.System(m)
    with pytest.raises(Error):
        lw.simulate(moved, **given)


def test_a_run_that_would_never_end_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkwright.simulation.native.pace.OFTEN", 2000)
    monkeypatch.setattr("linkwright.simulation.native.pace.CRAWL", 1e5)
    found = run_model(Request("slider-crank", RunSettings(0.02), values={"T": 4.3e9}))
    assert found.failed
    assert found.stop is not None
    assert "would never come to an end" in found.stop.reason


def test_a_long_run_without_a_terminal_says_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    with run_bar("simulating x") as show:
        assert show is not None
        for k in range(8):
            now[0] = 16.0 * k
            show(0.125 * k, 10.0)
    assert (
        capsys.readouterr().err == "simulating x: t = 0.5 of 10 s; 20 min 16 s to go at this pace\n"
    )
