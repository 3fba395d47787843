"""Parameters of a laboratory's robot: excited, recorded, estimated, written, and believed."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from linkwright.base.errors import Error, InputError
from linkwright.formats.robot.description import Description, Link, LinkJoint, Mass, Place
from linkwright.lab import Task, parameter, pi, sin
from linkwright.lab.config import JointConfig, LabConfig
from linkwright.lab.estimation import _filtered, counted_joints
from linkwright.lab.lab import Lab
from linkwright.lab.sources import lab_config
from linkwright.models.rerun import rerun
from linkwright.recording import Recording, read_recording
from linkwright.robots import Robot

Array = NDArray[np.float64]
JOINTS = ("SFE", "SAA", "EB")


def described(heavier: float = 1.0, rougher: float = 1.0) -> Description:
    """A spatial arm with friction, or what somebody takes it for."""
    links = tuple(
        Link(name, Mass(heavier * m, (x, y, heavier * z), (0.02, 0.03, 0.015, 0.0, 0.001, 0.0)))
        for name, m, (x, y, z) in (
            ("l0", 2.0, (0.1, 0.02, -0.1)),
            ("l1", 1.5, (0.0, 0.03, -0.15)),
            ("l2", 0.7, (0.05, 0.0, -0.05)),
        )
    )
    ways = (
        ("base", (0, 0.1, 0.3), (0, 1, 0), 0.4),
        ("l0", (0.1, 0, -0.3), (1, 0, 0), 0.3),
        ("l1", (0, 0.05, -0.3), (0, 1, 0), 0.1),
    )
    joints = tuple(
        LinkJoint(name, "revolute", parent, link.name, Place(at), axis, damping=rougher * d)
        for name, link, (parent, at, axis, d) in zip(JOINTS, links, ways, strict=True)
    )
    return Description("arm", (Link("base"), *links), joints)


def config(**changed: Any) -> LabConfig:
    """A laboratory whose controllers take its links for heavier than they are."""
    joints = tuple(
        JointConfig(name, -1.5, 1.5, kp=25.0, kd=2.0, max_effort=80.0, max_speed=8.0)
        for name in JOINTS
    )
    given = {"model": described(1.3, 2.0), "rate": 500.0, "controller": "pdff"}
    return LabConfig("arm", described(), joints, **{**given, **changed})


class Swing(Task):
    """A motion that no recording has seen."""

    native = True

    def run(self, t: Any, state: Any, desired: Any) -> None:
        for i, f in enumerate((0.9, 0.7, 1.3)):
            w = 2 * pi * f
            desired.q[i] = 0.6 * sin(w * t)
            desired.u[i] = 0.6 * w * sin(w * t + pi / 2)
            desired.a[i] = -0.6 * w * w * sin(w * t)


def tracking(lab: Lab) -> float:
    """Root mean square of the error of tracking, rad."""
    if lab.servo_mode != "invdyn":
        lab.mode("invdyn")
    lab.recorder.configure(
        duration=4.0, names=[f"{j}_{e}" for j in JOINTS for e in ("th", "des_th")]
    )
    lab.start("swing")
    lab.run(1.0)
    lab.recorder.start()
    lab.run(4.5)
    lab.freeze()
    run = lab.recorder.last
    assert run is not None
    return float(np.sqrt(np.mean([np.square(run[f"{j}_des_th"] - run[f"{j}_th"]) for j in JOINTS])))


@cache
def excited() -> Recording:
    """60 s of the robot in the motion that excites it, as it is."""
    with Lab(config()) as lab:
        names = [f"{j}_{e}" for j in JOINTS for e in ("th", "load")]
        lab.recorder.configure(rate=500.0, duration=60.0, names=names)
        lab.start("excite", repeats=6.0)
        lab.recorder.start()
        lab.run(60.5)
        found = lab.recorder.last
        assert found is not None
        return found


def instrument(recording: Recording, **wrong: Array) -> Recording:
    """The recording of an encoder with 8192 steps, and of a torque in steps of 0.05 N*m."""
    rows = []
    for name in recording.names:
        step = 2 * np.pi / 8192 if name.endswith("_th") else 0.05
        rows.append(wrong.get(name, step * np.round(recording[name] / step)))
    channels = [recording.channel(name) for name in recording.names]
    return Recording(recording.times, channels, np.column_stack(rows))


def test_a_third_of_the_error_is_left_with_parameters_of_a_minute(tmp_path: Path) -> None:
    """From quantized and filtered data in a dNNNNN file; torques of a motion that was not seen are
    those of the true links within two percent."""
    coarse = instrument(excited())
    file = tmp_path / "d00001"
    coarse.save(file)
    with Lab(config(), folder=tmp_path) as lab:
        lab.add(Swing)
        before = tracking(lab)
        lab.estimate(["d00001"], to="LinkParameters.cf")
        after = tracking(lab)
        believed, session = lab.model, lab.session
    assert before > 0.02
    assert after < before / 3
    random = np.random.default_rng(3)
    true, found = (Robot(d, friction=True) for d in (described(), believed))
    states = random.uniform(-1, 1, (3, 40, 3)) * [[[1.0]], [[3.0]], [[8.0]]]
    wanted, given = (r.inverse_dynamics(*states) for r in (true, found))
    assert np.sqrt(np.mean((given - wanted) ** 2)) < 0.02 * np.sqrt(np.mean(wanted**2))
    text = (tmp_path / "LinkParameters.cf").read_text()
    rows = {row.split()[0]: [float(x) for x in row.split()[1:]] for row in text.splitlines()[1:]}
    for joint, link in zip(believed.joints, believed.links[1:], strict=True):
        assert link.mass is not None
        assert rows[joint.name][0] == pytest.approx(link.mass.mass, rel=1e-6)
        moments = np.array(link.mass.center) * link.mass.mass
        assert rows[joint.name][1:4] == pytest.approx(moments, rel=1e-6, abs=1e-9)
        assert rows[joint.name][10] == pytest.approx(joint.damping, rel=1e-6)
    assert session is not None
    assert rerun(read_recording(session.path)).difference is None


def test_one_command_excites_records_estimates_writes_and_swaps(tmp_path: Path) -> None:
    """`estimate seconds=10` at the console; the next tick computes with what was found."""
    with Lab(config(), folder=tmp_path) as lab:
        answer = lab.do("estimate seconds=10")
        assert (tmp_path / "LinkParameters.cf").is_file()
        assert answer.data["samples"] > 300
        first, second = answer.text.splitlines()[:2]
        assert first.split() == ["parameter", "value", "deviation", "share"]
        assert second.split()[0] in answer.data["parameters"]
        assert lab.model.links[3].mass is not None
        assert lab.model.links[3].mass.mass == pytest.approx(0.7, rel=0.2)
        with pytest.raises(InputError, match="the file exists already"):
            lab.do("estimate seconds=10")


def test_a_model_is_exchanged_between_two_ticks() -> None:
    """Torques of the wanted motion are those of the one model, then of the other."""
    with Lab(config(rate=100.0, ratios={"task": 1, "invdyn": 1, "invkin": 1})) as lab:
        lab.add(Swing)
        lab.mode("invdyn")
        lab.start("swing")
        for model in (described(1.3, 2.0), described(0.8, 3.0)):
            lab.set_model(model)
            lab.run(0.2)
            wanted = lab.desired
            torques = Robot(model, friction=True).inverse_dynamics(wanted.q, wanted.u, wanted.a)
            assert lab.values("invdyn.tau")[0] == pytest.approx(torques, abs=1e-9)


def test_only_joints_that_are_counted_count() -> None:
    """N_DOFS_EST and its SKIP: a broken torque sensor of the last joint changes nothing, and its
    friction stays what it was believed to be."""
    clean = instrument(excited())
    broken = instrument(excited(), EB_load=np.full(len(excited().times), 9.0))
    found = []
    for recording in (clean, broken):
        with Lab(config(estimated=(3, 1))) as lab:
            lab.estimate([recording])
            found.append(lab.model)
    assert found[0] == found[1]
    assert [j.damping for j in found[0].joints][2] == 0.2
    assert [j.damping for j in found[0].joints][:2] == pytest.approx([0.4, 0.3], rel=0.01)
    assert counted_joints(config()) == JOINTS
    assert counted_joints(config(estimated=(4, 1))) == JOINTS
    assert counted_joints(lab_config("sl-arm")) == lab_config("sl-arm").names


def test_recordings_in_other_units_are_those_in_si() -> None:
    full = instrument(excited())
    others = {"rad": ("deg", np.degrees(1.0)), "N*m": ("mN*m", 1e3)}
    channels, data = list(full.channels), full.data.copy()
    for k, channel in enumerate(channels):
        if channel.name.endswith(("_th", "_load")):
            unit, size = others[channel.unit]
            channels[k], data[:, k] = replace(channel, unit=unit), size * data[:, k]
    assert not np.allclose(data, full.data)
    other = Recording(full.times, channels, data)
    kept, found = (_filtered(config(), x, 10.0) for x in (full, other))
    for a, b in zip(found.motion, kept.motion, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.tau(found.times), kept.tau(kept.times), rtol=1e-9, atol=1e-9)


class Endless(Task):
    """In the place of the motion that excites, one that does not end."""

    name = "excite"
    native = True
    repeats = parameter(1.0)

    def run(self, t: Any, state: Any, desired: Any) -> None:
        """Want nothing else."""


def test_what_cannot_be_estimated_is_named(tmp_path: Path) -> None:
    """A recording without torques, one that is too short, counts that leave nothing."""
    full = excited()
    with Lab(config()) as lab:
        names = [name for name in full.names if name != "SAA_load"]
        rows = np.column_stack([full[name] for name in names])
        less = Recording(full.times, [full.channel(name) for name in names], rows)
        with pytest.raises(InputError, match="the recording has no SAA_load"):
            lab.estimate([less])
        every = [full.channel(name) for name in full.names]
        short = np.column_stack([full[name][:50] for name in full.names])
        few = Recording(full.times[:50], every, short)
        with pytest.raises(InputError, match="is too short or too coarse"):
            lab.estimate([few])
        other = replace(described(), links=(Link("base"), Link("l0"), *described().links[2:]))
        with pytest.raises(InputError, match="differ from those of 'arm'"):
            lab.set_model(other)
        with pytest.raises(InputError, match="the motion in s is -3; give a number above 0"):
            lab.estimate(seconds=-3.0)
    with Lab(config()) as lab:
        lab.add(Endless)
        with pytest.raises(Error, match="did not end by itself"):
            lab.estimate(seconds=10.0)
    with pytest.raises(InputError, match="N_DOFS_EST of 'arm' is 2, and 2 of these are skipped"):
        counted_joints(config(estimated=(2, 2)))
    with Lab("pendulum") as lab, pytest.raises(Error, match="a mechanism of its own"):
        lab.set_model(described())
