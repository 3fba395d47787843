"""Drives from recordings: true parameters are found again, within intervals that hold them."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.blocks import Block
from linkwright.cli import main
from linkwright.formats.catalog.reader import parse_catalog, read_catalog
from linkwright.recording import Channel, Recording
from linkwright.robots.identification import fit_drive
from linkwright.robots.identification.balances import CHANNELS, first_values
from linkwright.robots.identification.drives import DriveFit
from linkwright.robots.identification.likelihood import IdentificationError
from tests.seeds import seldom

d = lw.drives
MOTOR = {"R": 1.0, "L": 2e-3, "kt": 0.05, "J": 1e-4, "b": 2e-5, "coulomb": 0.01}
UNITS = {"amplifier.v": "V", "motor.i": "A", "motor.angle": "rad", "load.angle": "rad"}


def drive(factor: float = 1.0, **train: float) -> d.Chain:
    """Return a drive whose parameters are known up to a factor, driven by a voltage."""
    gear = d.Elastic(50, **{n: factor * v for n, v in train.items()}) if train else d.Rigid(50)
    numbers: dict[str, Any] = {n: factor * v for n, v in MOTOR.items()}
    motor = d.DC(**numbers)
    other = factor if train else 1.0  # behind a rigid gear the load has to be known
    load = d.Inertia(other * 0.5, other * 0.1)
    return d.Chain(d.PD(1.0, 0.0), d.Ideal(1.0), motor, gear, load, closed=False)


@cache
def recorded(seed: int, until: float = 6.0, **train: float) -> Recording:
    """Return a run at 1 kHz with 12 bits of current and 4096 lines, four counts each."""
    generator = np.random.default_rng(seed)
    source = Block("source", rate=1000)
    lines = zip((4, 4, 4, 3, 3, 3), (0.3, 0.9, 2.3, 5.1, 9.7, 21.0), range(6), strict=True)
    for k, phase in enumerate(generator.uniform(0, 2 * np.pi, 6)):
        source.parameter(f"phase{k}", float(phase))
    source.output("v", "+".join(f"{a}*sin({2 * np.pi * f}*t + phase{k})" for a, f, k in lines))
    s = lw.System(name="bench", base=1000)
    joint = s.add(drive(**train))
    s.connect(s.add(source).v, joint.reference)
    names = ["source.v", "joint.motor.i", "joint.motor.angle"]
    names += ["joint.load.angle"] if train else []
    run = lw.simulate(s, until, record=names, every=1, method="rk4", step=1 / 8000)
    noisy = run["joint.motor.i"] + 0.01 * generator.normal(size=len(run.times))
    columns = [run["source.v"], _stepped(noisy, 40 / 4096)]
    columns += [_stepped(run[name], 2 * np.pi / 16384) for name in names[2:]]
    channels = [Channel(n, u) for n, u in UNITS.items()][: len(columns)]
    return Recording(run.times, channels, np.column_stack(columns))


def _stepped(values: Any, quantum: float) -> Any:
    return np.round(values / quantum) * quantum


@cache
def fitted() -> DriveFit:
    """Return the fit of a motor with a rigid gear, from parameters that are 40 % off."""
    return fit_drive(recorded(1), drive(1.4))


@seldom(daily="test_the_command_fits_a_drive")
def test_a_drive_is_found_again_from_its_recording() -> None:
    """Parameters within 3 %, friction within 6 %, and the truth in the interval."""
    found = fitted()
    assert set(found.values) == {f"motor.{n}" for n in MOTOR}
    assert found.nis == pytest.approx(1.0, abs=0.2)
    for name, truth in MOTOR.items():
        p = found[f"motor.{name}"]
        assert p.value == pytest.approx(truth, rel=0.06 if name in ("b", "coulomb") else 0.03)
        assert p.confidence[0] <= truth <= p.confidence[1], name
    motor = found.chain.parts.motor
    assert isinstance(motor, d.DC)
    assert found["motor.R"].value == motor.R


def test_a_validation_run_tells_a_fit_from_a_guess() -> None:
    found, other = fitted(), recorded(2)
    good = found.validated(other)
    assert good.nis == pytest.approx(1.0, abs=0.2)
    assert good.shares["motor.i"] < 0.02
    guess = tuple(replace(p, value=1.1 * p.value) for p in found.parameters)
    assert replace(found, parameters=guess).validated(other).nis > 10 * good.nis


def test_the_friction_curve_is_that_of_the_motor() -> None:
    """Dry friction and a slope over the speed, with inertia and load taken off."""
    curve = fitted().friction_curve(recorded(1), bins=12)
    fast = np.abs(curve.speed) > 10
    want = 0.01 * np.sign(curve.speed) + 2e-5 * curve.speed
    assert fast.sum() > 6
    np.testing.assert_allclose(curve.torque[fast], want[fast], atol=1.5e-3)
    assert (curve.deviation < 1e-3).all()


def test_a_recording_may_be_in_other_units() -> None:
    """In mA, mV and degrees: the same prediction and the same friction."""
    found, seen = fitted(), recorded(2)
    others = {"V": ("mV", 1e3), "A": ("mA", 1e3), "rad": ("deg", np.degrees(1.0))}
    channels = [replace(c, unit=others[c.unit][0]) for c in seen.channels]
    sizes = [others[c.unit][1] for c in seen.channels]
    other = Recording(seen.times, channels, seen.data * sizes)
    assert found.validated(other).nis == pytest.approx(found.validated(seen).nis, rel=1e-9)
    curves = [found.friction_curve(x, bins=6).torque for x in (seen, other)]
    np.testing.assert_allclose(curves[0], curves[1], rtol=1e-9)
    wrong = Recording(seen.times, [replace(c, unit="m") for c in seen.channels], seen.data)
    with pytest.raises(lw.Error, match="which is not a unit for V"):
        found.validated(wrong)


def test_a_fit_becomes_an_entry_of_a_catalog() -> None:
    found = fitted()
    like = read_catalog("generic").motor["servo-200w"]
    text = found.catalog_entry("shoulder", like, {"continuous": 0.05, "peak": 0.2})
    entry = parse_catalog(f'format = 1\nname = "mine"\n{text}').motor["shoulder"]
    assert pytest.approx(found["motor.R"].value) == entry.R
    assert entry.friction == pytest.approx(found["motor.coulomb"].value)
    assert "6001 samples at 1000 Hz" in entry.source
    with pytest.raises(IdentificationError, match=r"does not determine continuous, peak.*\[R654\]"):
        found.catalog_entry("shoulder")


def test_least_squares_tell_winding_inertias_friction_and_gear_from_two_encoders() -> None:
    """The start of the search, from a drive of which only the ratio is known."""
    train = {"stiffness": 500.0, "damping": 2.0, "gap": 5e-3}
    run = recorded(0, 6.0, **train)
    found = first_values(run, CHANNELS, drive(3.0, **train))
    truth = {f"motor.{n}": v for n, v in MOTOR.items()} | {"load.J": 0.5, "load.b": 0.1}
    truth |= {f"train.{n}": v for n, v in train.items()}
    rough = {
        "motor.b": 0.5,
        "motor.coulomb": 0.1,
        "train.damping": 0.5,
        "load.b": 0.3,
        "train.gap": 0.2,
    }
    for name, value in truth.items():
        assert found[name] == pytest.approx(value, rel=rough.get(name, 0.06)), name


def test_the_command_fits_a_drive(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    s = lw.System(name="shoulder")
    s.add(drive(1.4))
    file = tmp_path / "shoulder.toml"
    file.write_text(lw.write_model(s))
    for seed in (1, 2):
        recorded(seed).save(tmp_path / f"run{seed}.parquet")
    run, other = (str(tmp_path / f"run{seed}.parquet") for seed in (1, 2))
    assert main(["analyze", "drives", str(file), "--fit", run, "--validate", other, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    rows = {row["parameter"]: row for row in told["parameters"]}
    assert rows["motor.R"]["value"] == pytest.approx(fitted()["motor.R"].value, rel=1e-6)
    assert rows["motor.R"]["unit"] == "ohm"
    assert told["validation"]["nis"] == pytest.approx(1.0, abs=0.2)
    recorded(1).select(["motor.i", "motor.angle"]).save(tmp_path / "poor.parquet")
    assert main(["analyze", "drives", str(file), "--fit", str(tmp_path / "poor.parquet")]) == 2
    assert "[R650]" in capsys.readouterr().err
    found = fitted()
    monkeypatch.setattr(
        "linkwright.robots.identification.fit_drive", lambda *_: replace(found, nis=1.3e5)
    )
    assert main(["analyze", "drives", str(file), "--fit", run]) == 2
    said = capsys.readouterr()
    assert "[R655]" in said.err
    assert not said.out


# -- what is refused -------------------------------------------------------------------------------
def test_what_a_recording_does_not_tell_is_refused_by_number() -> None:
    run = recorded(1)
    with pytest.raises(IdentificationError, match=r"no one channel 'motor.i'.*\[R650\]"):
        fit_drive(run.select(["amplifier.v", "motor.angle"]), drive())
    with pytest.raises(IdentificationError, match=r"no channel 'amps'.*\[R650\]"):
        fit_drive(run, drive(), current="amps")
    with pytest.raises(IdentificationError, match=r"no 'motor.inertia'.*\[R652\]"):
        fit_drive(run, drive(), free=["motor.inertia"])
    short = Recording(run.times[:50], run.channels, run.data[:50])
    with pytest.raises(IdentificationError, match=r"too few.*\[R651\]"):
        fit_drive(short, drive())
    broken = Recording(
        run.times, run.channels, np.where(np.arange(len(run))[:, None] == 7, np.nan, run.data)
    )
    with pytest.raises(IdentificationError, match=r"not numbers.*\[R651\]"):
        fit_drive(broken, drive())
    with pytest.raises(IdentificationError, match=r"motor.J, joint.load.J;.*\[R653\]"):
        fit_drive(run, drive(), free=["motor.J", "load.J"])
