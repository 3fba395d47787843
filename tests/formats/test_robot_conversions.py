"""Robots through other formats and back: the same mass matrix; and the command that converts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import linkwright as lw
from linkwright.algebra import evaluate_all
from linkwright.base.errors import InputError
from linkwright.cli import main
from linkwright.formats.meshes.lookup import find_mesh
from linkwright.formats.robot.conversion import convert
from linkwright.formats.robot.description import Description
from linkwright.formats.robot.files import read_description, read_mechanism
from linkwright.formats.robot.from_mechanism import description_of
from linkwright.formats.text.files import read_model, write_model
from linkwright.mechanism import Free, Mechanism, Revolute, Screw, Weld
from linkwright.models import load_model
from tests.oracles.robot_walks import link_places
from tests.support.late import Late

if TYPE_CHECKING:
    import pinocchio as pin
else:
    pin = Late("pinocchio")

ROBOTS = Path(__file__).resolve().parents[1] / "robots"


def _mass_matrix(file: Path, names: list[str], seed: int) -> np.ndarray:
    """Return Pinocchio's mass matrix in a random posture, its rows in the order of joint names."""
    model = pin.buildModelFromUrdf(str(file))
    q = pin.neutral(model)
    rows: list[int] = []
    rng = np.random.default_rng(seed)
    for name in names:
        joint = model.joints[model.getJointId(name)]
        angle, turn = rng.uniform(-2, 2), rng.normal(size=4)
        at = slice(joint.idx_q, joint.idx_q + joint.nq)
        if joint.nq == 7:
            q[at] = [0.1, 0.2, 0.3, *(turn / np.linalg.norm(turn))]
        else:
            q[at] = [np.cos(angle), np.sin(angle)] if joint.nq == 2 else [angle]
        rows += range(joint.idx_v, joint.idx_v + joint.nv)
    upper = np.triu(pin.crba(model, model.createData(), q))
    full = upper + np.triu(upper, 1).T
    return np.asarray(full[np.ix_(rows, rows)])


def _moving(robot: Description) -> list[str]:
    return [joint.name for joint in robot.joints if joint.kind != "weld"]


@pytest.mark.parametrize(
    ("name", "between"),
    [
        ("oblique_arm", "arm.toml"),
        ("oblique_arm", "arm.dh.toml"),
        ("gripper", "gripper.toml"),
        ("quadruped", "quadruped.toml"),
        ("oblique_arm", "arm.xml"),
        ("gripper", "gripper.xml"),
        ("quadruped", "quadruped.xml"),
        ("gripper", "gripper.dyn"),
    ],
)
def test_the_mass_matrix_survives_another_format(tmp_path: Path, name: str, between: str) -> None:
    """URDF to a text model or table and back; coordinates keep their names and zeros."""
    source = ROBOTS / f"{name}.urdf"
    convert(source, tmp_path / between)
    convert(tmp_path / between, tmp_path / "back.urdf")
    names = _moving(read_description(source))
    before = _mass_matrix(source, names, 3)
    after = _mass_matrix(tmp_path / "back.urdf", names, 3)
    if name == "quadruped":  # the trunk's frame stays, so its speeds do too
        assert before.shape == (18, 18)
    np.testing.assert_allclose(after, before, atol=1e-12, rtol=1e-10)


def test_a_written_text_model_is_the_same_mechanism(tmp_path: Path) -> None:
    """A model from a robot file reads back with offsets, welds and origins as they were."""
    m = Mechanism("m")
    a = m.body("a", joint=Free(quaternion=True, at_origin=True), mass=1, inertia=1)
    turned = ((0, -1, 0), (1, 0, 0), (0, 0, 1))
    b = m.body("b", parent=a, joint=Weld(turned), mass=1, inertia=1, at=(1, 0, 0))
    m.body("c", parent=b, joint=Revolute("z", offset=0.5), mass=1, inertia=1)
    text = write_model(m)
    again = read_model(text)
    assert write_model(again) == text
    joint = again.bodies["c"].joint
    assert (joint.offset, again.bodies["a"].joint.at_origin) == (0.5, True)
    np.testing.assert_array_equal(np.array(again.bodies["b"].joint.matrix, float), turned)


def test_links_of_a_mechanism_stand_where_its_points_are() -> None:
    """Joints of the mechanism layer, measured and walked, against its own symbolic positions."""
    m = Mechanism("m")
    a = m.body("a", rotate="y", mass="m1", com=("L", 0, 0), inertia=0, at=(0, "L", 0))
    b = m.body("b", parent=a, joint=Screw((0, 0.6, 0.8), 0.3), mass=1, inertia=1, at=("L/2", 0, 0))
    c = m.body("c", parent=b, translate=["x", (0, 1, 0)], rotate="x", mass=1, inertia=1)
    tip = m.point("tip", c, (0.1, 0.2, 0.3))
    m.set_parameters({"L": 0.7, "m1": 2.0})
    robot = description_of(m)
    names = list(m.coordinates)
    values = dict(zip(names, (0.3, -0.8, 0.2, -0.1, 1.2), strict=True))
    place = link_places(robot, {name: [value] for name, value in values.items()})["c"]
    frame = next(f for f in robot.frames if f.name == "tip")
    found = np.array(place.position) + np.array(place.rotation) @ np.array(frame.place.position)
    at = {m.coordinates[name]: value for name, value in values.items()}
    at |= {m.parameters["L"]: 0.7, m.parameters["m1"]: 2.0}
    expected = evaluate_all(list(tip.position.components(m.ground.frame)), at)
    np.testing.assert_allclose(found, np.array(expected, float), atol=1e-14)


def test_what_a_robot_file_cannot_say_of_a_model_is_listed() -> None:
    robot = description_of(load_model("pendulum"))
    assert any(entry.what.startswith("the names of parameters") for entry in robot.ignored)
    m = Mechanism("m")
    m.body("b", rotate="z", mass="m_b", inertia=1)
    with pytest.raises(InputError, match="m_b have no value"):
        description_of(m)


def test_the_commands_take_robot_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(ROBOTS / "gripper.urdf")
    target = str(tmp_path / "gripper.toml")
    assert main(["model", "convert", source, target, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["files"] == [target]
    assert {entry["what"] for entry in report["not_read"]} >= {"<gazebo>", "<transmission>"}
    assert report["dropped"] == []
    assert main(["model", "convert", source, target]) == 2
    assert "exists already" in capsys.readouterr().err
    assert main(["model", "check", source]) == 0
    shown = capsys.readouterr()
    assert "8: 2 weld, 6 revolute" in shown.out
    assert "not read: <gazebo> (line 4)" in shown.err
    assert main(["tools", "info", source, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["joints"][0]["name"] == "roll"
    assert main(["model", "describe", str(ROBOTS / "scara.toml")]) == 0
    assert "quill" in capsys.readouterr().out


def test_meshes_are_named_from_where_the_new_file_is(tmp_path: Path) -> None:
    """A relative name still leads to the same file; others stay as they are."""
    (tmp_path / "a" / "meshes").mkdir(parents=True)
    (tmp_path / "b").mkdir()
    mesh = tmp_path / "a" / "meshes" / "arm.stl"
    mesh.write_text("solid")
    text = '<robot><link name="l">' + "".join(
        f'<visual><geometry><mesh filename="{name}"/></geometry></visual>'
        for name in ("meshes/arm.stl", "package://p/arm.stl")
    )
    (tmp_path / "a" / "r.urdf").write_text(text + "</link></robot>")
    convert(tmp_path / "a" / "r.urdf", tmp_path / "b" / "r.urdf")
    first, second = read_description(tmp_path / "b" / "r.urdf").links[0].shapes
    assert find_mesh(first.mesh, tmp_path / "b" / "r.urdf", [tmp_path]) == mesh.resolve()
    assert second.mesh == "package://p/arm.stl"


def test_nothing_is_written_where_the_target_cannot_hold_it(tmp_path: Path) -> None:
    for name in ("tree.dh.toml", "tree.docx"):
        with pytest.raises(InputError):
            convert(ROBOTS / "quadruped.urdf", tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_robot_file_is_a_model_by_its_name() -> None:
    m = load_model(str(ROBOTS / "oblique_arm.urdf"))
    assert set(m.coordinates) == {"waist", "lift", "elbow", "reach", "wrist"}
    with pytest.raises(InputError, match="no options"):
        read_mechanism(ROBOTS / "oblique_arm.urdf", options={"n": 3})


def test_operations_are_those_of_the_robots_quantities(capsys: pytest.CaptureFixture[str]) -> None:
    """What the command counts is what a call computes; other words are refused."""
    file = str(ROBOTS / "gripper.urdf")
    robot = lw.load(file)
    for kernel, quantity in (
        ("inverse", robot.inverse_dynamics),
        ("gravity", robot.gravity),
        ("pose:left_tip", robot.pose["left_tip"]),
    ):
        assert main(["analyze", "ops", file, "--kernel", kernel, "--json"]) == 0
        told = json.loads(capsys.readouterr().out)["derivative"]
        assert (told["add"], told["mul"]) == (quantity.counts.add, quantity.counts.mul)
    for kernel, words in (("pose", "ask for pose:FRAME"), ("limits", "not a quantity of a robot")):
        assert main(["analyze", "ops", file, "--kernel", kernel]) == 2
        assert words in capsys.readouterr().err
