"""One way from a model to its motion: whichever door is taken, the same channels and bits.

Four models go through every door: a regular one, one with an event that sets a state, one whose
loops pass singular configurations, and one with a sampled controller.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.cli import main
from linkwright.models import load_model
from linkwright.models.rerun import rerun
from linkwright.models.runner import Request, run_model
from linkwright.scene.previews import PreviewOptions, simulated
from linkwright.simulation.paced import Paced
from linkwright.simulation.runs import session_of
from linkwright.simulation.settings import DEFAULTS, RunSettings
from tests.seeds import cases, seldom

UNTIL = 0.9
SINGULAR = "n-four-bar:n=1"  # at t = 0.708 s
Moved = lw.Mechanism | lw.System


@cache
def named(name: str) -> lw.Mechanism:
    return load_model(name)


def bouncing() -> lw.System:
    """A ball that loses half of its speed where it meets the floor."""
    m = lw.Mechanism("ball")
    m.body("ball", translate="z", mass=1, inertia=0)
    m.gravity()
    m.set_initial(ball=1.0)
    floor = lw.Element("floor", m)
    speed = m.expr("ball_dot")
    floor.event("lands", m.expr("ball"), direction=-1, resets={speed: -0.5 * speed})
    s = lw.System(m)
    s.add(floor)
    return s


def servoed() -> lw.System:
    """A pendulum held by a sampled controller that measures with noise."""
    m = lw.Mechanism("arm")
    m.body("rod", rotate="z", mass=1, com=(1, 0, 0), inertia=0.1)
    m.gravity(along="-y")
    s = lw.System(m)
    servo = lw.Element("servo", m)
    law = 20 - 30 * m.expr("rod") - 5 * m.expr("rod_dot") + 0.1 * servo.noise()
    servo.effort("tau", "rod", law)
    s.add(servo, rate=200)
    return s


MODELS: dict[str, Callable[[], Moved]] = {
    "regular": lambda: named("double-pendulum"),
    "singular": lambda: named(SINGULAR),
    "event": bouncing,
    "sampled": servoed,
}


# -- doors -----------------------------------------------------------------------------------------
def by_python(moved: Moved, how: dict[str, Any]) -> lw.Recording:
    return lw.simulate(moved, UNTIL, **how).recording


def by_system(moved: Moved, how: dict[str, Any]) -> lw.Recording:
    system = moved if isinstance(moved, lw.System) else lw.System(moved)
    return lw.simulate(system, UNTIL, **how).recording


def by_command(moved: Moved, how: dict[str, Any]) -> lw.Recording:
    name = {"double-pendulum": "double-pendulum", "n-four-bar": SINGULAR}[moved.name]
    return run_model(Request(name, RunSettings(UNTIL, **how))).recording


def by_page(moved: Moved, how: dict[str, Any]) -> lw.Recording:
    assert not how
    assert isinstance(moved, lw.Mechanism)
    return simulated(moved, PreviewOptions(until=UNTIL))


def by_steps(moved: Moved, how: dict[str, Any]) -> lw.Recording:
    """A session in short pieces, saved and restored on the way."""
    system = moved if isinstance(moved, lw.System) else lw.System(moved)
    session, _ = session_of(system, RunSettings(UNTIL, **how))
    while not session.done:
        session.collect(61)
    samples = session.collected()
    channels = [lw.Channel(name) for name in samples.names]
    return lw.Recording(samples.times, channels, samples.values)


def by_pace(moved: Moved, how: dict[str, Any]) -> lw.Recording:
    """A paced run, as the studio's, with the settings of the others."""
    system = moved if isinstance(moved, lw.System) else lw.System(moved)
    session, _ = session_of(system, RunSettings(UNTIL, **how))
    run = Paced(session)
    run.advance(round(UNTIL / session.phases.tick_seconds))
    times, rows = run.samples()
    return lw.Recording(times, run.channels, rows)


DOORS = (by_system, by_command, by_page, by_steps, by_pace)
ONLY = {by_command: ("regular", "singular"), by_page: ("regular", "singular")}


@pytest.mark.parametrize("model", MODELS)
def test_defaults_give_the_same_bits_by_every_door(model: str) -> None:
    moved = MODELS[model]()
    wanted = by_python(moved, {})
    assert len(wanted) > 100
    doors = cases(DOORS[:3], daily=[by_command]) if model == "singular" else DOORS
    for door in doors:
        if model not in ONLY.get(door, MODELS):
            continue
        found = door(moved, {})
        assert found.names == wanted.names, door.__name__
        assert np.array_equal(found.times, wanted.times), door.__name__
        if door is by_pace and model != "sampled":  # its adaptive steps end at each of its ticks
            np.testing.assert_allclose(found.data, wanted.data, rtol=1e-7, atol=1e-7)
        else:
            assert np.array_equal(found.data, wanted.data), door.__name__


@pytest.mark.parametrize("model", ["regular", "event", "sampled"])
def test_fixed_steps_give_the_same_bits_by_every_door(model: str) -> None:
    moved, how = MODELS[model](), {"method": "rk4", "step": 0.005, "every": 6, "seed": 3}
    wanted = by_python(moved, how)
    for door in (by_system, by_command, by_steps):
        if model in ONLY.get(door, MODELS):
            found = door(moved, how)
            assert found.names == wanted.names, door.__name__
            assert np.array_equal(found.data, wanted.data), door.__name__


@pytest.mark.parametrize("model", ["regular", "singular", "sampled"])
def test_batches_and_sweeps_come_to_where_single_runs_do(model: str) -> None:
    moved, how = MODELS[model](), {"method": "rk4", "step": 0.005}
    wanted = lw.simulate(moved, UNTIL, **how)  # type: ignore[arg-type]
    batch = lw.simulate_batch(moved, UNTIL, runs=2, every=None, **how)  # type: ignore[arg-type]
    assert batch.channels == wanted.recording.names
    assert batch.reasons == ("", "")
    swept = lw.sweep(moved, UNTIL, seeds=2, **how)  # type: ignore[arg-type]
    for name in (n for n in batch.channels if not n.startswith("energy.")):
        end = wanted.recording[name][-1]
        assert batch[name][0, -1] == pytest.approx(end, rel=1e-9, abs=1e-9)
        assert swept[f"{name}.final"][0] == batch[name][0, -1]


# -- running again ---------------------------------------------------------------------------------
@pytest.mark.parametrize("model", MODELS)
def test_every_run_can_be_run_again(model: str, tmp_path: Path) -> None:
    moved = MODELS[model]()
    run = lw.simulate(moved, 0.2)
    assert rerun(run.recording).difference is None
    batch = lw.simulate_batch(moved, 0.2, runs=3, every=None)
    assert rerun(batch.recording(2)).difference is None
    run.save(tmp_path / "run.npz")
    if isinstance(moved, lw.Mechanism):
        assert main(["rerun", str(tmp_path / "run.npz")]) == 0
        simulated(moved, PreviewOptions(until=0.2)).save(tmp_path / "page.npz")
        assert main(["rerun", str(tmp_path / "page.npz")]) == 0


def test_what_a_file_does_not_hold_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lw.simulate(servoed(), 0.1).save(tmp_path / "run.npz")
    assert main(["rerun", str(tmp_path / "run.npz")]) == 2
    assert "servo" in capsys.readouterr().err


# -- one table -------------------------------------------------------------------------------------
def test_there_is_one_table_of_defaults() -> None:
    """Every door takes its defaults from `RunSettings`."""
    import inspect

    from linkwright.cli.commands.simulate import command

    for door in (lw.simulate, lw.simulate_batch, lw.sweep, command):
        for name, given in inspect.signature(door).parameters.items():
            default = getattr(given.default, "default", given.default)
            if name in ("method", "tolerance", "seed"):
                assert default == getattr(DEFAULTS, name), (door, name)
            if name in ("until", "step"):
                assert default is None, (door, name)


def test_a_controlled_linkage_passes_a_singular_configuration() -> None:
    """With a sampled controller on it, which the redundant form has to serve too."""
    m = named(SINGULAR)
    s = lw.System(m)
    brake = lw.Element("brake", m)
    brake.effort("tau", "a0", -0.01 * m.expr("a0_dot"))
    s.add(brake, rate=100)
    run = lw.simulate(s, UNTIL)
    assert run.time == UNTIL
    assert any("went through a singular configuration" in line for line in run.report)
    assert run.residual < 1e-10
    assert np.abs(run.energies().imbalance).max() < 0.02 * np.ptp(run.energies().kinetic)


@seldom(daily="test_a_controlled_linkage_passes_a_singular_configuration")
def test_a_session_is_saved_and_restored_near_a_singular_configuration() -> None:
    system, settings = lw.System(named(SINGULAR)), RunSettings(UNTIL)
    whole = session_of(system, settings)[0].run()
    first = session_of(system, settings)[0]
    assert first.fallback is not None
    while not first.fallback.stepwise and first.time < UNTIL:
        first.collect(1)
    assert first.fallback.stepwise
    saved = first.snapshot()
    again = session_of(system, settings)[0]
    again.restore(saved)
    rest = again.run()
    count = len(rest.samples.times)
    assert 10 < count < len(whole.samples.times)
    assert rest.samples.values == pytest.approx(whole.samples.values[-count:], rel=1e-7, abs=1e-7)
