"""A laboratory of a text model runs the model itself: all that acts in it, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.formats.text.files import write_model
from linkwright.lab.config import LabConfig
from linkwright.lab.config_data import config_of, config_text
from linkwright.lab.files.lab_writer import write_lab
from linkwright.lab.plant import lab_mechanism
from linkwright.lab.ready import config_digest
from linkwright.lab.sources import lab_config
from linkwright.models.rerun import rerun

SWING = """
format = 1
name = "swing"
[parameters]
L = 1.0
d = 0.3
k = 5.0
[inputs.push]
value = 0.5
[gravity]
along = "-z"
[[body]]
name = "rod"
rotate = "y"
mass = 2
com = ["L/2", 0, 0]
inertia = [0, 0.2, 0.2]
[[body]]
name = "tip"
doc = "tip"
parent = "rod"
at = ["L", 0, 0]
rotate = "y"
mass = 1
com = [0.2, 0, 0]
inertia = [0, 0.01, 0.01]
[[limit]]
coordinate = "tip"
lower = -3
upper = 3
[[moment]]
name = "drag"
magnitude = "push - d*rod_dot*abs(rod_dot)"
on = "rod"
about = "y"
[[strut]]
name = "spring"
magnitude = "-k*(x - 1) - 0.1*lag"
at = "tip0"
to = "o"
[[state]]
name = "lag"
rate = "rod_dot - lag"
"""


@pytest.fixture(scope="module")
def swing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("swing") / "swing.toml"
    path.write_text(SWING)
    return path


def loose(path: Path) -> LabConfig:
    """Return its laboratory with motors that do nothing."""
    config = lab_config(path)
    joints = [replace(j, kp=0.0, kd=0.0, default=0.3, rest=0.3) for j in config.joints]
    return replace(config, joints=tuple(joints))


def test_what_a_text_model_says_of_itself_acts_in_a_laboratory(swing: Path) -> None:
    config = loose(swing)
    lab = lw.Lab(config)
    lab.run(1.0)
    step = 1 / config.rate
    start = {"rod": 0.3, "tip": 0.3}
    alone = lw.simulate(
        lw.load(swing), until=1.0, initial=start, method="verlet", step=step, every=960
    )
    moved = [alone[name][-1] for name in ("rod", "tip")]
    assert np.abs(np.subtract(moved, 0.3)).min() > 0.1
    assert lab.loop.latest().tick == 960
    np.testing.assert_allclose(lab.state.q, moved, atol=1e-4)  # sensors are a tick late
    assert config.notes == ()
    still = lw.Lab(replace(config, mechanism=lw.load(swing).with_parameters({"d": 0})))
    still.run(1.0)
    assert np.abs(still.state.q - lab.state.q).max() > 1e-3


def test_controllers_know_of_springs_and_loads_that_depend_on_joints(swing: Path) -> None:
    lab = lw.Lab(str(swing))
    lab.go_to([0.3, 0.2])
    lab.mode("invdyn")
    lab.run(1.0)
    robot = lab.robot
    assert robot.coordinates == ("rod", "tip")
    assert robot.limits[1].tolist() == [-3.0, 3.0]
    held = robot.inverse_dynamics([0.3, 0.2], [0, 0], [0, 0])
    np.testing.assert_allclose(lab.desired.uff, held, atol=1e-6)
    np.testing.assert_allclose(lab.state.q, [0.3, 0.2], atol=0.02)
    lab.set_end_effector("tip", mass=0.5)
    lab.run(2.0)
    np.testing.assert_allclose(lab.state.q, [0.3, 0.2], atol=0.02)


def test_controllers_may_believe_in_another_model(swing: Path) -> None:
    file = swing.parent / "believing.toml"
    file.write_text('format = 1\nname = "believing"\nrobot = "swing.toml"\nmodel = "stiff.toml"\n')
    (swing.parent / "stiff.toml").write_text(SWING.replace("k = 5.0", "k = 7.0"))
    config = lab_config(file)
    assert config.believed is not None
    assert config.believed.values["k"] == 7
    swapped = replace(config, mechanism=config.believed, believed=config.mechanism)
    assert len({config_digest(c) for c in (config, swapped)}) == 2
    known = lab_mechanism(config, believed=True)
    assert (known.mechanism.values["k"], lab_mechanism(config).mechanism.values["k"]) == (7, 5)
    lw.Lab(config).run(0.1)


def test_a_session_holds_the_mechanism_to_the_last_bit(swing: Path, tmp_path: Path) -> None:
    config = lab_config(swing)
    again = config_of(config_text(config))
    assert config.mechanism is not None
    assert again.mechanism is not None
    assert write_model(again.mechanism) == write_model(config.mechanism)
    other = replace(config, mechanism=config.mechanism.with_parameters({"L": 1.5}))
    assert config_digest(other) != config_digest(config)
    with lw.Lab(config, folder=tmp_path) as lab:
        lab.start("sine")
        lab.run(0.5)
        assert lab.session is not None
        path = lab.session.path
    assert rerun(path).difference is None


def test_a_written_laboratory_has_the_model_with_all_that_acts(swing: Path, tmp_path: Path) -> None:
    config = lab_config(swing)
    (target, *_), dropped = write_lab(config, tmp_path / "lab.toml")
    again = lab_config(tmp_path / "lab.toml")
    assert dropped == ()
    assert target.is_file()
    assert config.mechanism is not None
    assert again.mechanism is not None
    assert [t.name for t in again.mechanism.moments] == ["drag"]
    assert write_model(again.mechanism) == write_model(config.mechanism)


def test_a_model_with_joints_that_follow_others_is_run_as_a_robot_file_says() -> None:
    m = lw.Mechanism("pair")
    m.body("a", rotate="z", mass=1, inertia=1)
    m.body("b", parent="a", rotate="z", mass=1, inertia=1)
    m.constrain_position("b - 2*a", name="gear", eliminate="b")
    config = lab_config(lw.Robot(m))
    assert (config.mechanism, config.names) == (None, ("a",))


def test_a_name_that_a_laboratory_takes_is_refused() -> None:
    m = lw.Mechanism("odd")
    m.body("a", rotate="z", mass="gravity_x", inertia=1)
    m.set_parameters({"gravity_x": 1.0})
    with pytest.raises(lw.Error, match="something called 'gravity_x', as a laboratory has"):
        _ = lw.Lab(lab_config(lw.Robot(m))).mechanism


def test_no_writer_of_robot_files_is_loaded_for_a_text_model() -> None:
    code = (
        "import sys, linkwright as lw; lw.Lab('pendulum').run(0.1);"
        "print(*(m for m in sys.modules if m.startswith('linkwright.formats')))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {x for x in found.stdout.split() if x.endswith(("writer", "sl.reader"))} - {
        "linkwright.formats.text.writer"
    }
