"""Runs that end between two ticks: the last gap is shorter, through every door."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.blocks import WhiteNoise
from linkwright.models.runner import Request, run_model
from linkwright.recording.files import read_recording
from linkwright.simulation.native.methods import METHODS
from linkwright.simulation.native.session import Session
from linkwright.simulation.settings import RunSettings
from linkwright.system.definitions import AlgebraicLoop
from tests.random.systems import HERTZ, Maker
from tests.seeds import cases, seeds

END = math.pi / 3


def swing() -> lw.Mechanism:
    """A pendulum."""
    m = lw.Mechanism("swing")
    m.body("rod", rotate="z", mass=1, com=(1, 0, 0), inertia=0)
    m.gravity(along="-y")
    return m


def sampled() -> lw.System:
    """The same with a servo, a counter, noise and a Python function at 20 Hz."""
    m = swing()
    s = lw.System(m)
    s.add(lw.control.PD(m, kp=4, kd=1), rate=20)
    b = lw.Block("count")
    b.output("y", b.discrete_state("n", "n + 1"))
    s.add(b, rate=20)
    s.add(WhiteNoise(0.1, rate=20), name="noise")
    s.add(lambda t, rod: t, rate=20, name="f", outputs="y")
    return s


def exact(system: lw.System | None = None) -> float:
    """Where the rod is at the end, by a run that has a whole number of ticks."""
    given = lw.System(swing(), base=3000 / math.pi) if system is None else system
    return float(lw.simulate(given, END, tolerance=1e-12).final["rod"])


@pytest.mark.parametrize("method", cases(METHODS, daily=["dop853", "verlet"]))
def test_a_system_ends_where_it_is_told_to(method: str) -> None:
    """As one that goes on, with the ticks before the end and none at it."""
    s = sampled()
    how: dict[str, Any] = {"method": method, "step": 0.001, "tolerance": 1e-9}
    run = lw.simulate(s, END, every=1, **how)
    longer = lw.simulate(s, 1.05, every=1, **how)
    ticks = math.floor(END * 20)
    assert run.times[-1] == END
    assert len(run.times) == ticks + 2
    np.testing.assert_array_equal(run.times[:-1], longer.times[: ticks + 1])
    for name in run.recording.names:
        np.testing.assert_allclose(run[name][:-1], longer[name][: ticks + 1], rtol=1e-9, atol=1e-12)
    for name in ("noise.y", "f.y", "count.y", "pd.tau_rod"):
        assert run[name][-1] == run[name][-2]  # held: nothing is due at the end
    assert run.final["count.n"] == ticks + 1
    assert longer["rod"][-2] != run["rod"][-1] != run["rod"][-2]


@pytest.mark.parametrize("every", [1, 7, 1000])
def test_the_last_sample_is_at_the_end(every: int) -> None:
    run = lw.simulate(sampled(), END, every=every, method="rk4", step=0.001)
    assert run.times[-1] == END
    assert (np.diff(run.times) > 0).all()
    assert run["rod"][-1] == run.final["rod"]


def doors() -> dict[str, Callable[[], float]]:
    """Ways to run the pendulum to an end that is not a whole number of steps."""
    m = swing()
    many = {"rod": [0.0, 0.1]}
    return {
        "mechanism": lambda: lw.simulate(m, END, step=0.01).final["rod"],
        "fixed": lambda: lw.simulate(m, END, step=0.01, method="rk4").final["rod"],
        "redundant": lambda: lw.simulate(m, END, step=0.01, form="redundant").final["rod"],
        "longer step": lambda: lw.simulate(m, END, step=2.0).final["rod"],
        "system": lambda: lw.simulate(lw.System(m, base=100), END).final["rod"],
        "batch": lambda: float(lw.simulate_batch(m, END, step=0.01, initial=many)["rod"][0]),
        "sampled batch": lambda: float(
            lw.simulate_batch(lw.System(m, base=100), END, initial=many, every=3)["rod"][0, -1]
        ),
        "sweep": lambda: float(
            lw.sweep(m, END, step=0.01, channels={"rod": ["final"]}, initial=many)["rod.final"][0]
        ),
    }


@pytest.mark.parametrize("name", doors())
def test_every_door_ends_where_it_is_told_to(name: str) -> None:
    assert doors()[name]() == pytest.approx(exact(), abs=1e-6)


@pytest.mark.parametrize("model", ["pendulum", "slider-crank"])
def test_the_command_line_ends_where_it_is_told_to(model: str) -> None:
    whole = run_model(Request(model, RunSettings(END, step=END / 100))).recording
    found = run_model(Request(model, RunSettings(END, step=0.01))).recording
    assert found.times[-1] == END
    for name in found.names:
        if "energy" not in name:
            assert found[name][-1] == pytest.approx(whole[name][-1], abs=1e-5)


def test_a_batch_counts_the_short_gap_among_its_samples() -> None:
    found = lw.simulate_batch(sampled(), END, runs=3, every=4, method="rk4", step=0.001)
    assert found.times[-1] == END
    assert found["rod"].shape == (3, len(found.times))
    alone = lw.simulate(sampled(), END, every=4, method="rk4", step=0.001)
    np.testing.assert_allclose(found["rod"][0], alone["rod"], rtol=1e-9)


def test_every_door_has_as_many_samples_by_default() -> None:
    m = swing()
    found = [
        len(lw.simulate(m, 2.0).times),
        len(lw.simulate(m, 2.0, method="rk4").times),
        len(lw.simulate(lw.System(m), 2.0).times),
        len(run_model(Request("pendulum", RunSettings(2.0))).recording.times),
    ]
    assert found == [1001] * 4


def ended(seed: int) -> lw.System:
    """A random System, with an event that ends the run of some seeds."""
    r = random.Random(seed)
    clock = lw.Block("clock")
    now = clock.state("now", 1.0)
    clock.output("twin", 2 * now)
    at = r.uniform(0.2, 0.6) if r.random() < 0.5 else 9.0
    clock.event("over", now - at, terminal=True, resets={now: now + 1.0} if seed % 3 else {})
    for k in range(100):
        made = Maker(1000 * seed + k).make().system
        made.add(clock)
        try:
            made.phases()
        except AlgebraicLoop:
            continue
        return made
    raise AssertionError


@pytest.mark.parametrize("seed", seeds(14, daily=2))
def test_the_end_is_one_state_of_all_channels(seed: int) -> None:
    """`final` with any `every` is the last row of the run that is recorded at every tick."""
    r = random.Random(seed)
    until, every = r.choice([19 / HERTZ, 13 / HERTZ, 0.7431]), r.choice([2, 3, 7, 1000])
    how: dict[str, Any] = {"method": r.choice(list(METHODS)), "step": 0.1 / HERTZ}
    whole, run = (lw.simulate(ended(seed), until, every=n, **how) for n in (1, every))
    assert run.times[-1] == run.time == pytest.approx(whole.time, rel=1e-12)
    assert run.final["clock.twin"] == 2 * run.final["clock.now"]
    assert run.final.keys() == whole.final.keys()
    for name, value in run.recording.final.items():
        assert run.final[name] == value
        assert value == pytest.approx(whole.recording.final[name], rel=1e-6, abs=1e-7), name
    many = lw.simulate_batch(ended(seed), until, runs=3, every=every, **how)
    np.testing.assert_array_equal(many["clock.twin"][:, -1], 2 * many["clock.now"][:, -1])
    for name in set(many.states) & set(many.channels):
        np.testing.assert_array_equal(many[name][:, -1], many.x[:, many.states.index(name)])
    recorded = many.recording(0)
    assert recorded.times[-1] == pytest.approx(min(many.stopped[0], until), rel=1e-12)
    assert recorded.final == {name: many[name][0, -1] for name in many.channels}


def dropped() -> lw.System:
    """A point that falls 20 m onto the end of the run, with its height held at 50 Hz."""
    m = lw.Mechanism("drop")
    m.body("p", translate="z", mass=1)
    m.gravity()
    s = lw.System(m)
    floor = lw.Element("floor", m)
    floor.output("height", "p + 20", unit="m")
    floor.event("hit", "p + 20", terminal=True)
    s.add(floor)
    held = lw.Block("held")
    held.output("y", held.input("z") * 1.0)
    s.connect("p", s.add(held, rate=50).z)
    return s


@pytest.mark.parametrize(
    "method", cases(["dop853", "dopri5", "rodas4", "rk4"], daily=["dop853", "rk4"])
)
def test_the_end_by_an_event_is_one_state(method: str, tmp_path: Path) -> None:
    """Energies, outputs and held outputs are those of the impact, by every door."""
    s, speed = dropped(), math.sqrt(2 * 9.81 * 20)
    k = math.floor(50 * speed / 9.81)  # the last tick before the impact
    expected = {
        "floor.height": 0.0,
        "energy.kinetic": speed**2 / 2,
        "held.y": -9.81 / 2 * (k / 50) ** 2,
    }
    how: dict[str, Any] = {"method": method, "step": 0.001}
    run = lw.simulate(s, 3.0, every=40, **how)
    batch = lw.simulate_batch(s, 3.0, runs=2, every=40, **how)
    kept = {name: ["final", "max"] for name in expected}
    found = lw.sweep(s, 3.0, every=40, channels=kept, **how)
    late = batch.stopped[0] - speed / 9.81  # a batch may end a step later
    for name, value in expected.items():
        assert run.final[name] == run[name][-1] == pytest.approx(value, abs=1e-6)
        assert run.recording.final[name] == run.final[name]
        assert batch[name][0, -1] == pytest.approx(value, abs=1e-6 + 500 * late)
        assert batch.recording(1).final[name] == batch[name][1, -1]
        assert found[f"{name}.final"][0] == batch[name][0, -1]
    assert found["energy.kinetic.max"][0] == batch["energy.kinetic"][0, -1]
    assert batch.recording(0).times[-1] == batch.stopped[0]
    session = Session(s.phases(), 3.0, every=40, **how)
    assert session.run().samples["floor.height"][-1] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("every", [3, 7, 1000])
def test_the_command_line_records_the_end(every: int, tmp_path: Path) -> None:
    """And so does what is found in the file."""
    request = Request("pendulum", RunSettings(0.61, 0.01, "rk4", every=every))
    run = run_model(request, tmp_path / "run.csv")
    saved = read_recording(tmp_path / "run.csv")
    whole = lw.simulate("pendulum", 0.61, method="rk4", step=0.01, every=1)
    assert run.final == whole.final
    assert saved.final == whole.recording.final
    assert saved.times[-1] == 0.61


def test_an_interrupted_run_stands_in_one_state() -> None:
    session = Session(dropped().phases(), 2.0, method="rk4", step=0.01, every=40)
    session.collect(30)
    assert not len(session.standing().times)  # `collect` has taken all samples away
    last = session.ending()
    assert last.times[-1] == session.time
    assert last["floor.height"][-1] == session.state()["p"] + 20
    assert (session.run().samples.times[:-1] == 0.8 * np.arange(3)).all()
