"""Motions that are made to be looked at: what a user may ask of them, and what is told of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from linkwright.base.errors import InputError
from linkwright.cli import main
from linkwright.models import load_model
from linkwright.scene.motions import model_motion, open_motion
from linkwright.scene.previews import PreviewOptions, simulated, simulated_story
from linkwright.scene.scene import scene_of
from linkwright.simulation import simulate
from tests.seeds import cases

ROBOT = """<robot name="r"><link name="a"/><link name="b"/>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


def test_what_is_asked_is_what_is_simulated_and_told() -> None:
    """Against a run with an adaptive method, which shares only the equations with it."""
    motion = open_motion("pendulum", asked=PreviewOptions(2.0, {"L": 2.0}, {"phi": 0.3}))
    other = simulate(load_model("pendulum"), 2.0, parameters={"L": 2.0}, initial={"phi": 0.3})
    assert motion.recording.times[-1] == 2.0
    assert np.isclose(motion.recording["phi"][-1], other["phi"][-1], atol=1e-7)
    assert motion.scene is not None
    assert motion.scene.poses.values == {"L": 2.0}
    assert motion.story.startswith("2 s from phi = 0.3 rad, with L = 2 m · dop853, adaptive steps")


def test_inputs_can_be_set_too() -> None:
    scene = scene_of(load_model("whipple"))
    assert "Tphi" in scene.robot.mechanism.inputs
    pushed = model_motion(scene, PreviewOptions(0.2, {"Tphi": 5.0}, {"phi": 0.0}))
    calm = model_motion(scene, PreviewOptions(0.2, {}, {"phi": 0.0}))
    assert np.ptp(calm.recording["phi"]) < 1e-9
    assert pushed.recording["phi"][-1] > 1e-4


def test_a_push_is_told() -> None:
    motion = open_motion("whipple", asked=PreviewOptions(0.1))
    assert "from the default initial state with a push (phi_dot = 0.6 rad/s)" in motion.story
    assert motion.recording["phi_dot"][0] == 0.6
    assert "push" not in open_motion("pendulum", asked=PreviewOptions(0.1)).story


def test_robot_files_swing_for_show_and_say_so(tmp_path: Path) -> None:
    path = tmp_path / "r.urdf"
    path.write_text(ROBOT)
    motion = open_motion(str(path), asked=PreviewOptions(0.5))
    assert motion.story == "Preview: each joint sweeps through its range; nothing is simulated."
    assert motion.recording.times[-1] == 0.5
    with pytest.raises(InputError, match="only previewed"):
        open_motion(str(path), asked=PreviewOptions(values={"m": 1.0}))


def test_the_page_tells_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "p.html"
    assert main(["page", "pendulum", "--until", "0.5", "--set", "L=2", "-o", str(out)]) == 0
    text = out.read_text()
    data = json.loads(
        text[text.index('{"title"') : text.index("</script>", text.index('{"title"'))]
    )
    assert data["story"].startswith("0.5 s from the default initial state, with L = 2 m")
    assert data["takes"][0]["end"] == 0.5
    capsys.readouterr()
    assert main(["page", "pendulum", "--set", "LL=2", "--force", "-o", str(out)]) == 2
    assert "did you mean 'L'?" in capsys.readouterr().err
    assert main(["page", "pendulum", "--until", "-1", "--force", "-o", str(out)]) == 2
    assert "not after the start" in capsys.readouterr().err


def test_a_recording_is_shown_as_it_is(tmp_path: Path) -> None:
    simulate(load_model("pendulum"), 0.1).save(tmp_path / "x.npz")
    with pytest.raises(InputError, match=r"x\.npz.*leave out --until"):
        open_motion(str(tmp_path / "x.npz"), asked=PreviewOptions(1.0))


@pytest.mark.parametrize("name", cases(["n-four-bar:n=2", "whipple"], daily=["whipple"]))
def test_nobody_waits_for_a_run_that_was_not_asked_for(name: str) -> None:
    """It is shown as far as it came, its samples those of the whole run, and that is told."""
    m = load_model(name)
    cut = simulated(m, patience=0.0)
    assert 2 <= len(cut) < 1000
    whole = simulated(m, PreviewOptions(float(cut.times[-1])))
    assert np.isclose(whole.times[-1], cut.times[-1])
    assert cut.channels == whole.channels
    assert np.allclose(cut.data[-1], whole.data[-1], rtol=1e-3, atol=1e-3)
    assert "stopped after 0 s of computing" in simulated_story(m, cut, PreviewOptions())
    assert "stopped" not in simulated_story(m, whole, PreviewOptions())
