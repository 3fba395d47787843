"""What the studio is given: each kind of file moves, and what is broken says what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.cli import main
from linkwright.studio.server import Studio, open_studio
from tests.seeds import cases
from tests.studio.test_studio_browser import field, panels_of, tab
from tests.support.chromium import opened
from tests.support.waiting import soon

ROBOTS = Path(__file__).parents[1] / "robots"
NO_MESH = """<robot name="bare"><link name="base"/><link name="arm">
<visual><geometry><mesh filename="nowhere/arm.stl"/></geometry></visual>
<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
</link><joint name="turn" type="continuous"><parent link="base"/><child link="arm"/></joint></robot>
"""


def _seen(studio: Studio, check: Callable[[Any], None]) -> None:
    """Let a check look at the studio in a browser; nothing may go wrong there."""
    try:
        with opened(studio.address) as (page, wrong):
            page.get_by_role("tab", name="Play").wait_for()
            check(page)
            assert wrong == []
        assert panels_of(studio).troubles.words == []
    finally:
        studio.close()


FILES = {"mjcf": ("mjcf/gantry.xml", ""), "text": ("scara.toml", "shoulder")}


@pytest.mark.parametrize("kind", cases(FILES, daily=["mjcf"]))
def test_robot_files_of_every_kind_open_and_move(kind: str) -> None:
    file, joint = FILES[kind]
    studio = open_studio([str(ROBOTS / file)])
    stage = studio.stage
    assert stage is not None
    moving = [k for k, node in enumerate(stage.scene.nodes) if node.moves]

    def check(page: Any) -> None:
        before = np.array([stage.position(k) for k in moving])
        page.keyboard.press("p")
        soon(lambda: studio.player.time > 0.3)
        page.keyboard.press("p")
        soon(lambda: not studio.player.playing)
        after = np.array([stage.position(k) for k in moving])
        assert np.abs(after - before).max() > 1e-3
        tab(page, "Pose")
        first = joint or stage.scene.poses.coordinates[0]
        page.get_by_text(first).first.wait_for()

    _seen(studio, check)


def test_a_mesh_that_is_missing_is_told_and_a_shape_stands_in(tmp_path: Path) -> None:
    path = tmp_path / "bare.urdf"
    path.write_text(NO_MESH)
    studio = open_studio([str(path)])
    stage = studio.stage
    assert stage is not None
    assert any(stage.scene.nodes[k].name == "arm" for k, _ in stage.meshes)
    _seen(studio, lambda page: page.get_by_text("arm.stl").first.wait_for())


def test_what_cannot_run_live_says_why_and_can_still_be_posed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(*_: Any) -> None:
        raise lw.Error("the loops cannot be closed", remedy="other lengths")

    monkeypatch.setattr("linkwright.studio.state.plant_of", refused)
    studio = open_studio(["pendulum"])

    def check(page: Any) -> None:
        tab(page, "Live")
        page.get_by_text("Cannot run live: the loops cannot be closed").first.wait_for()
        tab(page, "Parameters")
        page.get_by_text("Cannot run live").last.wait_for()
        tab(page, "Pose")
        angle = field(page, "phi")

        def posed() -> bool:  # the page may take up the value of the server while one types
            angle.fill("1")
            angle.press("Enter")
            page.wait_for_timeout(500)
            return bool(abs(panels_of(studio).q[0] - 1.0) < 0.02)

        soon(posed)

    _seen(studio, check)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("broken.urdf", "<robot name='x'><link name='a'></robot>", "not well-formed XML"),
        ("broken.csv", "t,x\n0,1\nzzz", "the line has 1 numbers"),
        ("broken.xml", "<mujoco><worldbody></mujoco>", "not well-formed XML"),
        ("broken.toml", "format = 1\njoint = [", "broken.toml"),
        ("broken.parquet", "PAR1xxxx", "not a Parquet file"),
        ("empty.csv", "", "empty.csv"),
        ("photo.jpg", "xxxx", "photo.jpg"),
    ],
)
@pytest.mark.parametrize("command", ["studio", "page"])
def test_broken_files_are_errors_of_one_line_with_their_name(
    command: str,
    name: str,
    text: str,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / name
    path.write_text(text)
    extra = ["--no-browser"] if command == "studio" else ["-o", str(tmp_path / "made.html")]
    assert main([command, str(path), *extra]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert told.count("\n") == 1
    assert str(path) in told
    assert words in told
    assert not (tmp_path / "made.html").exists()
