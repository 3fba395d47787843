"""Batches with a thread for each run: PTX that is assembled, and the same text on the processor.

The processor runs the text of a lane with the schedule of a card: waves, calls that stop in the
middle of runs, and what runs leave. `make test-gpu` compares whole runs on a card.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.backends.cuda import driver
from linkwright.base.errors import Error
from linkwright.models import MODELS
from linkwright.simulation.native import cards, lanes
from linkwright.simulation.native.batch import run_batch
from linkwright.simulation.native.methods import METHODS
from linkwright.simulation.settings import settings_of
from linkwright.system import system_of
from linkwright.system.phases import Phases
from tests.backends.test_cuda import assembled, ptxas
from tests.seeds import cases, seldom
from tests.simulation.test_executors import busy_system

KEPT = ("x", "d", "stopped", "times", "samples", "event_counts", "event_times")
KINDS = ["dopri5", "implicit-speeds", "rk4", "rodas4", "verlet"]  # a method of each kind
NO_FUNCTIONS = sorted(set(MODELS) - {"spacecraft-1", "spacecraft-1-small"})


def same(phases: Phases, method: str, until: float, room: int = 1 << 30, **given: Any) -> Any:
    """Compare a batch with the processor's own, bit by bit."""
    settings = settings_of(until, method=method, every=20, step=given.pop("step", None))
    settings = settings.timed(tick=phases.tick_seconds)
    wanted = run_batch(phases, settings, threads=1, **given)
    found = run_batch(phases, settings, device=cards.ProcessorTarget(room), **given)
    for name in KEPT:
        first, second = getattr(wanted, name), getattr(found, name)
        assert np.array_equal(first, second, equal_nan=True), name
    assert wanted.reasons == found.reasons
    return found


@pytest.mark.parametrize("method", cases(sorted(METHODS), daily=KINDS))
def test_lanes_have_the_bits_of_batches(method: str) -> None:
    phases = system_of(lw.load("double-pendulum")).phases(None)
    rng = np.random.default_rng(1)
    starts = {s.name: s.value + 0.1 * rng.normal(size=7) for s in phases.x}
    mass = {phases.p[0].name: phases.p[0].value * (1 + 0.1 * rng.random(7))}
    same(phases, method, 0.3, initial=starts, values=mass)  # other parameters in each lane
    same(phases, method, 0.3, initial=starts)  # the same in all


@pytest.mark.parametrize("name", cases(NO_FUNCTIONS, daily=["servo-arm", "five-bar"]))
def test_shipped_models_have_the_bits_of_batches(name: str) -> None:
    phases = system_of(lw.load(name)).phases(None)
    first = (phases.x or phases.d)[0]
    starts = {first.name: first.value + 1e-3 * np.arange(3.0)}
    same(phases, "semi-implicit", 0.05, initial=starts)


@pytest.mark.parametrize("method", ["rk4", "semi-implicit", "dopri5"])
def test_events_ticks_and_ends_are_those_of_batches(method: str) -> None:
    """Ticks at three rates, noise, delays, a bounce, and an end that differs from run to run."""
    phases = busy_system(python=False).phases()
    starts = {"ball.h": [0.2, 0.7, 9.0, 30.0, 0.05]}
    found = same(phases, method, 1.29, initial=starts, step=0.002, seed=[1, 2, 3, 4, 5])
    assert [words != "" for words in found.reasons] == [False, False, False, True, True]
    assert found.reasons[3] == "'ball.over' ended it"
    assert (found.event_counts[:, 0] > 0).sum() == 3


def test_waves_and_calls_that_stop_midway_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cards, "_FEW", 3)
    phases = busy_system(python=False).phases()
    rng = np.random.default_rng(4)
    settings = settings_of(0.5, method="rk4", every=20).timed(tick=phases.tick_seconds)
    native = settings.native(phases)
    batch = cards.CardBatch(phases, native, 11, cards.ProcessorTarget(), native.samples)
    batch.put("x", rng.random((11, len(phases.x))))
    starts = {"ball.h": 0.2 + rng.random(11)}
    asked: list[int] = []
    run = cards._ProcessorCode.run

    def counted(self: Any, count: int, passed: Sequence[int]) -> None:
        asked.append(count)
        run(self, count, passed)

    monkeypatch.setattr(cards._ProcessorCode, "run", counted)
    same(phases, "rk4", 0.5, room=6 * batch.lane_bytes(), initial=starts)
    assert set(asked) == {4, 3}  # 0.8 of it: waves of 4, 4 and 3 runs
    assert len(asked) > 10  # waves of several calls each


def test_lack_of_memory_says_how_much_a_run_takes() -> None:
    phases = system_of(lw.load("pendulum")).phases(None)
    with pytest.raises(Error, match=r"a run takes 0\.\d MiB, and 0\.0 MiB are free on the proc"):
        run_batch(phases, settings_of(10.0, every=1), device=cards.ProcessorTarget(room=64))


def test_functions_of_python_are_rejected() -> None:
    with pytest.raises(Error, match="'script' is a function in Python, which a card cannot call"):
        run_batch(busy_system().phases(), settings_of(0.1), device=cards.ProcessorTarget())


def test_without_a_driver_a_batch_says_so_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    driver.library.cache_clear()
    driver.card.cache_clear()
    monkeypatch.setattr(driver, "_LIBRARIES", ("libnothing-of-that-name.so",))
    for go in (
        lambda: lw.simulate_batch("pendulum", 0.1, runs=2, device="cuda"),
        lambda: lw.sweep("pendulum", 0.1, L=[1.0, 2.0], device="cuda"),
    ):
        with pytest.raises(Error, match="no NVIDIA driver on this machine; leave device out"):
            go()
    driver.library.cache_clear()
    driver.card.cache_clear()
    with pytest.raises(Error, match="there is no device 'tpu'"):
        lw.simulate_batch("pendulum", 0.1, runs=2, device="tpu")


def lanes_ptx(name: str, method: str, *, shared: bool = True) -> str:
    phases = system_of(lw.load(name)).phases(())
    return cards.lanes_ptx(lanes.lane_schedule(phases, METHODS[method]), shared=shared)


@pytest.mark.parametrize("name", cases(NO_FUNCTIONS, daily=["pendulum", "car"]))
def test_runs_of_every_shipped_model_are_assembled(name: str, tmp_path: Path) -> None:
    text = lanes_ptx(name, "rk4")
    assert ".extern" not in text
    assert assembled(text, tmp_path) > 1000


@pytest.mark.parametrize("method", cases(sorted(METHODS), daily=["semi-implicit"]))
def test_steps_of_an_arm_stay_in_registers(method: str, tmp_path: Path) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(lanes_ptx("pendulum", method, shared=False))
    said = subprocess.run(
        [ptxas(), "-arch=sm_90", "-v", str(path), "-o", str(tmp_path / "k.cubin")],
        check=True, capture_output=True, text=True,
    ).stderr  # fmt: skip
    if not METHODS[method].implicit:
        assert said.count("0 bytes stack frame") == said.count("bytes stack frame")
        assert said.count(" 0 bytes spill stores") == said.count("bytes spill stores")


@seldom(daily="test_runs_of_every_shipped_model_are_assembled")
def test_adaptive_runs_of_a_car_are_assembled(tmp_path: Path) -> None:
    assert assembled(lanes_ptx("car", "rodas4"), tmp_path) > 1000
