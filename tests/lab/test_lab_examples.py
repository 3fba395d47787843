"""The examples of the laboratory do what they say; what tasks draw costs the loop nothing."""

from __future__ import annotations

import math
import runpy
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import Error
from linkwright.lab.drawing import DrawnSphere, picture
from linkwright.lab.lab import Lab
from linkwright.lab.tasks import Task, state
from tests.seeds import seldom

EXAMPLES = Path(__file__).parents[2] / "examples" / "lab"


@pytest.fixture(scope="module")
def built() -> Iterator[Lab]:
    """The shipped laboratory, built once."""
    with Lab("sl-arm") as made:
        yield made


@pytest.fixture
def lab(built: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Lab:
    """It, at its beginning; examples that ask for one get it."""
    built.freeze()
    built.mode("motor")
    built.controller("pidff")
    built.reset()
    built.run(0.01)
    monkeypatch.setattr(lw, "Lab", lambda _: nullcontext(built))
    monkeypatch.chdir(tmp_path)
    return built


def example(name: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


def test_a_task_is_one_file_and_one_line(lab: Lab) -> None:
    """SL check 78: the example task of SL's manual, with its errata mended."""
    assert lab.add(EXAMPLES / "wave.py") == ("wave",)
    assert lab.start("wave", frequency=2.0)
    middle = np.array([(j.lower + j.upper) / 2 for j in lab.config.joints])
    assert lab.recorder.active
    peaks = np.zeros((3, 10))
    for _ in range(240):
        lab.run(1 / 480)
        parts = (lab.desired.q - middle, lab.desired.u, lab.desired.a)
        peaks = np.maximum(peaks, np.abs(parts))
    w = 4 * math.pi
    assert peaks == pytest.approx(
        np.array([[0.1], [0.1 * w], [0.1 * w * w]]) * np.ones(10), rel=1e-3
    )
    lab.recorder.stop()


def test_the_example_task_refuses_what_sl_refuses(lab: Lab) -> None:
    """0 <= frequency < 5 and 0 <= amplitude < 0.4; both are refused together, or both taken."""
    lab.add(EXAMPLES / "wave.py")
    wrong: list[dict[str, Any]] = [{"frequency": 5.0}, {"amplitude": 0.4}, {"frequency": -0.1}]
    for values in wrong:
        with pytest.raises(Error, match="of 'wave' is"):
            lab.start("wave", **values)
    with pytest.raises(Error, match="frequency of 'wave' is 7"):
        lab.start("wave", amplitude=0.2, frequency=7.0)
    assert lab.tasks["wave"].values == {"frequency": 1.0, "amplitude": 0.1}


def test_a_yellow_sphere_goes_with_the_hand(lab: Lab) -> None:
    """SL check 79: it is drawn beside the loop, in a simulation alone."""
    assert picture(lab).things == ()
    lab.add(EXAMPLES / "wave.py")
    lab.start("wave")
    lab.run(0.3)
    (sphere,) = picture(lab).things
    assert isinstance(sphere, DrawnSphere)
    assert (sphere.radius, sphere.color) == (0.03, (1.0, 1.0, 0.0))
    assert sphere.center == pytest.approx(lab.cart["R_HAND"].x)
    lab.recorder.stop()


class Painter(Task):
    """A task that draws, slowly and wrongly at times."""

    native = True
    ticks = state(0)
    drawn_in: list[int]

    def init(self, lab: Any) -> None:
        """Begin."""
        self.drawn_in, self.fails = [], False

    def run(self, t: Any, state: Any, desired: Any) -> None:
        """Count."""
        self.ticks = self.ticks + 1

    def draw(self, scene: Any, state: Any) -> None:
        """Draw as many spheres as there were ticks, of three at most."""
        self.drawn_in.append(threading.get_ident())
        for k in range(min(int(self.ticks), 3)):
            scene.sphere((0, 0, k))
        if self.fails:
            scene.sphere((0, 0, math.nan))


def test_drawing_is_never_in_the_control_path(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """SL check 79: nothing is drawn unless somebody looks; mistakes are told with their line."""
    task = Painter()
    lab.add(task)
    lab.start("painter")
    lab.run(0.5)
    assert task.drawn_in == []
    assert len(picture(lab).things) == 3  # it sees the states of the run
    assert task.drawn_in == [threading.get_ident()]
    task.fails = True
    found = picture(lab)
    assert "test_lab_examples.py" in found.mistake
    assert "draw of the task 'painter' failed" in found.mistake
    assert "not a point in space" in found.mistake
    lab.run(0.5)
    assert lab.task == "painter"
    assert lab.values("task.ticks")[0][0] == 479
    monkeypatch.setattr(type(lab), "simulated", property(lambda _: False))
    assert picture(lab).things == ()
    assert len(task.drawn_in) == 2


def test_the_examples_say_how_well_it_went(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    example("wave")["main"]()
    lab.freeze()
    lab.recorder.stop()
    lab.reset()
    lab.mode("motor")
    example("reach")["main"]()
    said = capsys.readouterr().out.splitlines()
    assert float(said[0].split()[2]) < 0.03  # rad
    assert float(said[1].split()[2]) < 5.0  # mm


@seldom(daily="test_the_examples_say_how_well_it_went")
def test_a_humanoid_squats_and_walks_and_a_pendulum_learns_its_load(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("squat", "walk", "learn"):
        example(name)["main"]()
    squat, walk, learn = capsys.readouterr().out.splitlines()
    down, back = (float(word) for word in squat.split() if word[0].isdigit())
    assert 95 < down < 125  # mm, of the base where the mass center goes down by 100
    assert back < 2
    ahead, aside, tilt = (float(word) for word in walk.split() if word[0].isdigit())
    assert abs(ahead - 0.4) < 0.02
    assert aside < 0.02
    assert tilt < 0.01
    before, after = (float(word) for word in learn.split() if word[0].isdigit())
    assert after < 0.5 * before


def test_sines_are_tracked_more_tightly_with_a_model(lab: Lab) -> None:
    error = example("sine")["error"]
    with_model = error(True)
    lab.freeze()
    without = error(False)
    assert with_model < 0.005
    assert without > 5 * with_model


@pytest.mark.parametrize(("name", "most"), [("follow", 0.02), ("track", 0.01)])
def test_a_blob_is_followed_through_cameras(lab: Lab, name: str, most: float) -> None:
    assert example("track")["main"](name) < most
