"""Detailed shapes by answers: each of ROBSIM's, turned and moved, drawn as the formulas say."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from linkwright.cli.window import Window
from linkwright.heritage.dialogue.detail import DIMENSIONS
from linkwright.heritage.dialogue.menus import Guide
from linkwright.heritage.dialogue.talk import Talk
from linkwright.models import load_model
from linkwright.scene.scene import scene_of
from linkwright.scene.scene_file import parse_scene_file
from linkwright.scene.scene_tables import SHAPES
from linkwright.scene.wireframes import OUTLINES
from tests.heritage.test_guide import hold
from tests.support.guide_answers import GivenLines

MODEL = """format = 1
name = "arm"
[[body]]
name = "base"
joint = "weld"
[[body]]
name = "arm"
parent = "base"
joint = "hinge"
mass = 1
com = [0.2, 0, 0]
inertia = [0, 0.05, 0.05]
"""
CONE = ["detail", "arm", "cone", "4 in", "0", "0.5", "x 90 deg, z 30 deg", "0.1, 0, 2 in", "no"]
TRUSS = ["detail", "environment", "gantry", "truss", "0.4", "0.5", "3", "none", "0, 1, 0", "yes"]


def test_components_go_to_a_scene_file_beside_the_model(tmp_path: Path) -> None:
    file = tmp_path / "arm.toml"
    file.write_text(MODEL)
    box = ["detail", "arm", "box", "0.3", "0.1", "0.05", "", "", ""]
    answers = ["define", "modify", "keep", *CONE, "yes", *TRUSS, "yes", *box, "no", *box, "yes"]
    said, lines = hold(file, [*answers, "done", "yes", "quit"])
    assert not lines.lines, said
    assert tomllib.loads(file.read_text())["scene"] == "arm-scene.toml"
    text = (tmp_path / "arm-scene.toml").read_text()
    found = tomllib.loads(text)
    (section,), (gantry,) = found["section"], found["environment"]
    cone, kept = section["shape"]
    assert (section["body"], cone["kind"], kept["kind"]) == ("arm", "x-cone", "x-box")
    assert (cone["diameter"], cone["end_diameter"]) == (4 * 0.0254, 0)
    assert (gantry["within"], gantry["shape"][0]["bays"]) == ("base", 3)
    assert gantry["shape"][0]["wire"] is True
    scene = scene_of(load_model(str(file)), scene_file=parse_scene_file(text, file=str(file)))
    node = next(n for n in scene.nodes if n.name == "arm")
    drawn = node.solids[0]
    assert (drawn.kind, drawn.size[:3]) == ("x-cone", (4 * 0.0254, 0.0, 0.5))
    turn = Rotation.from_euler("XZ", [90, 30], degrees=True).as_matrix()
    np.testing.assert_allclose(drawn.place.rotation, turn, atol=1e-12)
    np.testing.assert_allclose(drawn.place.position, [0.1, 0, 2 * 0.0254], atol=1e-12)
    assert not list(tmp_path.glob("*.draft*"))


def test_dimensions_that_are_asked_are_those_of_scene_files() -> None:
    """Every shape of ROBSIM, with all that it needs and nothing else."""
    assert set(DIMENSIONS) == set(OUTLINES)
    for kind, numbers in DIMENSIONS.items():
        assert tuple(numbers) == SHAPES[kind].needs


def test_a_wrong_dimension_is_asked_again_and_what_is_not_saved_leaves_nothing(
    tmp_path: Path,
) -> None:
    file = tmp_path / "arm.toml"
    file.write_text(MODEL)
    cone = ["detail", "arm", "cone", "-1", "4 kg", "1", "-1", "0", "0", "1", "q 3", "none", "", ""]
    said, lines = hold(file, ["define", "modify", "keep", *cone, "yes", "done", "no", "quit"])
    assert not lines.lines, said
    assert sum(line.startswith("error: ") for line in said) == 5
    assert file.read_text() == MODEL
    assert [p.name for p in tmp_path.iterdir()] == ["arm.toml"]


def test_a_component_is_in_the_studio_before_it_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "arm.toml"
    file.write_text(MODEL)
    drawn: list[int] = []
    window = Window(lambda line: None, browser=False)

    def show(path: Path) -> None:
        named = tomllib.loads(path.read_text()).get("scene")
        text = (tmp_path / named).read_text() if named else "format = 1"
        scene = scene_of(load_model(str(path)), scene_file=parse_scene_file(text))
        drawn.append(sum(len(n.solids) for n in scene.nodes if n.name == "arm"))

    answers = ["define", "modify", "keep", *CONE, "yes", *CONE, "no", *CONE, "yes", "done", "no"]
    talk = Talk(GivenLines([*answers, "quit"]), say=lambda line: None)
    talk.run(Guide(file, talk, show).play)
    window.close()
    shapes = drawn[0]
    assert drawn == [shapes + k for k in (0, 1, 0, 1)]
