"""Definition of robots in ROBSIM's words: joints, turns, inertia about joints, inches, files."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import linkwright as lw
from linkwright.base.errors import InputError
from linkwright.formats.text.files import model_text, parse_model, read_model, write_model
from linkwright.robots import Robot
from linkwright.scene.scene import scene_of
from tests.seeds import cases

HEAD = 'format = 1\nname = "m"\n'
V1 = [
    [0.9254165784, -0.1631759112, 0.3420201433],
    [0.3187957776, 0.8231729446, -0.4698463104],
    [-0.2048741287, 0.5438381425, 0.8137976813],
]
V2 = [20.0, 40.0, 50.0, -30.0, 25.0, 15.0]


def robot(text: str) -> Robot:
    return Robot(read_model(HEAD + text))


def turns(axes: str, degrees: list[float]) -> str:
    pairs = (f'["{a}", "{d!r} deg"]' for a, d in zip(axes, degrees, strict=True))
    return f"[{', '.join(pairs)}]"


# -- V1, any sequence ------------------------------------------------------------------------------
@pytest.mark.parametrize("axes", ["xyz", "", "yxzyx"])
def test_v1_base_joint_and_frame_take_any_sequence_of_turns(axes: str) -> None:
    """Checks 8 and 9."""
    degrees = [30.0, 20.0, 10.0, -75.0, 140.0][: len(axes)]
    turn = turns(axes, degrees)
    arm = robot(f"""
[[body]]
name = "base"
joint = "weld"
turn = {turn}
[[body]]
name = "link"
parent = "base"
joint = "hinge"
turn = {turn}
mass = 1
inertia = 1
[[body]]
name = "slide"
parent = "link"
joint = "sliding"
turn = {turn}
mass = 1
[[point]]
name = "tool"
body = "slide"
turn = {turn}
""")
    wanted = np.eye(3)
    for axis, degree in zip(axes, degrees, strict=True):
        wanted = wanted @ Rotation.from_euler(axis, degree, degrees=True).as_matrix()
    found = arm.pose([0.0, 0.0], "base")[:3, :3]
    np.testing.assert_allclose(found, wanted, atol=1e-10)
    if axes == "xyz":
        np.testing.assert_allclose(found, V1, atol=1e-9)
    assert np.linalg.det(found) == pytest.approx(1, abs=1e-12)
    whole = np.eye(3)
    for name in ("base", "link", "slide", "tool"):
        whole = whole @ wanted
        np.testing.assert_allclose(arm.pose([0.0, 0.0], name)[:3, :3], whole, atol=1e-10)
    q = 0.7
    bent = wanted @ wanted @ Rotation.from_rotvec([0, q, 0]).as_matrix()
    np.testing.assert_allclose(arm.pose([q, 0.0], "link")[:3, :3], bent, atol=1e-10)
    moved = arm.pose([0.0, 0.3], "slide")[:3, 3]
    np.testing.assert_allclose(moved, 0.3 * (wanted @ wanted @ wanted)[:, 0], atol=1e-10)


@pytest.mark.parametrize(
    ("word", "moves"),
    [("hinge", "000010"), ("swivel", "000100"), ("sliding", "100000")],
)
def test_words_of_joints_name_an_axis_of_the_joint(word: str, moves: str) -> None:
    """Check 10."""
    arm = robot(f'[[body]]\nname = "b"\njoint = "{word}"\nmass = 1\ninertia = 1\n')
    column = arm.jacobian([0.4], "b", reference="local")[:, 0]
    np.testing.assert_allclose(column, [float(x) for x in moves], atol=1e-12)
    with pytest.raises(InputError, match=f"is not a key of a {word} joint"):
        robot(f'[[body]]\nname = "b"\njoint = "{word}"\naxis = "z"\n')


@pytest.mark.parametrize(
    "joint",
    cases(
        [
            'joint = "revolute"\naxis = "z"',
            'joint = "prismatic"\naxis = [1, 2, 2]',
            'joint = "cylindrical"\naxis = "x"',
            'joint = "screw"\naxis = "y"\npitch = 0.1',
            'joint = "planar"',
            'joint = "ball"\nsequence = "zyx"',
            'translate = "-z"\nrotate = "y"',
        ],
        daily=3,
    ),
)
def test_a_turned_joint_is_that_of_a_turned_body_before_it(joint: str) -> None:
    turn = 'turn = [["y", "40 deg"], ["x", "-25 deg"]]'
    rest = f'{joint}\nmass = 1\ninertia = [1, 2, 2.5]\n[[point]]\nname = "tip"\nbody = "b"\n'
    rest += "at = [0.3, 0.2, 0.1]\n"
    direct = robot(f'[[body]]\nname = "b"\nat = [1, 2, 3]\n{turn}\n{rest}')
    mount = f'[[body]]\nname = "mount"\njoint = "weld"\nat = [1, 2, 3]\n{turn}\n'
    welded = robot(f'{mount}[[body]]\nname = "b"\nparent = "mount"\n{rest}')
    q = np.array([0.3, -0.5, 0.7])[: len(direct.mechanism.coordinates)]
    np.testing.assert_allclose(direct.pose(q, "tip"), welded.pose(q, "tip"), atol=1e-12)


@pytest.mark.parametrize(
    "joint",
    [
        'joint = "ball"\nquaternion = true',
        'joint = "universal"\naxes = ["x", "y"]',
        'joint = "revolute"\naxis = "-z"',
        'rotate = "z"\nbody_axis = "x"',
        'translate = "[n1]"',
    ],
)
def test_what_cannot_be_turned_is_said(joint: str) -> None:
    with pytest.raises(InputError, match=r"line 3.*body\[0\].*cannot be turned.*\[R102\]"):
        robot(f'[[body]]\nname = "b"\n{joint}\nturn = [["x", 1]]\nmass = 1\n')


def test_a_frame_is_turned_in_one_way() -> None:
    matrix = "matrix = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]"
    with pytest.raises(InputError, match=r"not both.*\[R103\]"):
        robot(f'[[point]]\nname = "p"\n{matrix}\nturn = [["x", 1]]\n')
    with pytest.raises(InputError, match=r"coordinates_in.*\[R103\]"):
        robot('[[body]]\nname = "b"\nrotate = "z"\ncoordinates_in = "n"\nturn = [["x", 1]]\n')


# -- V2 --------------------------------------------------------------------------------------------
def test_v2_the_shipped_arm_puts_its_tool_where_robsim_does() -> None:
    """Checks 10 and 11."""
    arm = Robot(lw.load("ref6"))
    pose = arm.pose(np.radians(V2), "tool")
    inches = [-23.2368409096, 52.5128722288, -51.4861643659]
    np.testing.assert_allclose(pose[:3, 3] / 0.0254, inches, atol=1e-8)
    np.testing.assert_allclose(pose[:3, 0], [-0.6655779362, 0.4531538935, -0.5930072172], atol=1e-9)
    jacobian = arm.jacobian(np.radians(V2), "tool")
    jacobian[:3] /= 0.0254
    assert abs(np.linalg.det(jacobian)) == pytest.approx(24233.8726, abs=1e-4)
    zero = arm.pose(np.zeros(6), "tool")[:3, 3] / 0.0254
    np.testing.assert_allclose(zero, [0, 92, 0], atol=1e-12)


def test_frames_of_graphics_are_frames_of_analysis() -> None:
    """Check 11."""
    arm = Robot(lw.load("ref6"))
    scene = scene_of(arm)
    rng = np.random.default_rng(3)
    for q in (np.radians(V2), *rng.uniform(-3, 3, (5, 6))):
        poses = scene.poses(q).poses
        for node, seen in zip(scene.nodes, poses, strict=True):
            if node.name not in arm.mechanism.bodies:
                continue
            known = arm.pose(q, node.name)
            w, x, y, z = seen[3:7]
            turned = Rotation.from_quat([x, y, z, w]).as_matrix()
            np.testing.assert_allclose(seen[:3], known[:3, 3], atol=1e-12)
            np.testing.assert_allclose(turned, known[:3, :3], atol=1e-12)


# -- inertia, inches -------------------------------------------------------------------------------
def test_v3_inertia_about_the_joint_converts_by_parallel_axes() -> None:
    """Check 13."""
    rods = "".join(
        f"""
[[body]]
name = "l{k}"
parent = "{"n" if k == 1 else "l1"}"
at = [{k - 1}, 0, 0]
joint = "hinge"
mass = {m}
com = [{length / 2}, 0, 0]
inertia = [0, {m * length**2 / 3!r}, {m * length**2 / 3!r}]
inertia_about = "joint"
"""
        for k, m, length in ((1, 5, 1.0), (2, 3, 0.8))
    )
    arm = robot("[gravity]\n" + rods)
    torques = arm.inverse_dynamics(np.radians([30.0, 45.0]), [1.0, -0.5], [0.2, 0.8])
    np.testing.assert_allclose(torques, [-46.5452552588, -1.388584034], atol=1e-8)


def test_all_six_moments_about_the_joint_convert() -> None:
    """Check 13."""
    mass, c = 2.0, np.array([0.1, -0.2, 0.3])
    about_center = np.array([[0.5, 0.02, -0.03], [0.02, 0.6, 0.04], [-0.03, 0.04, 0.7]])
    about_joint = about_center + mass * (c @ c * np.eye(3) - np.outer(c, c))
    text = f'[[body]]\nname = "b"\njoint = "ball"\nmass = {mass}\ncom = {c.tolist()}\n'
    given = robot(f'{text}inertia = {about_joint.tolist()}\ninertia_about = "joint"\n')
    wanted = robot(f"{text}inertia = {about_center.tolist()}\n")
    q = [0.3, -0.4, 0.5]
    np.testing.assert_allclose(given.mass_matrix(q), wanted.mass_matrix(q), rtol=1e-13)


@pytest.mark.parametrize("units", ["mks", "in-lb"])
def test_numbers_with_units_are_taken_to_si(units: str) -> None:
    m = read_model(f"""{HEAD}units = "{units}"
[parameters]
L = "20 in"
[[body]]
name = "b"
translate = "x"
mass = "1 lbm"
at = ["10 in", "L", 0]
[[limit]]
coordinate = "b"
upper = "3 in"
[initial]
b = "2 in"
""")
    arm = Robot(m)
    np.testing.assert_allclose(arm.pose([0.0], "b")[:2, 3], [0.254, 0.508])
    assert m.ranges[0].upper == pytest.approx(0.0762)
    assert m.initial["b"] == pytest.approx(0.0508)
    assert arm.mass_matrix([0.0])[0, 0] == pytest.approx(0.45359237, rel=1e-14)


# -- the seven groups ------------------------------------------------------------------------------
SEVEN = """format = 1
name = "arm"
doc = "all seven groups of data"
scene = "bay.toml"
task = "reach.toml"

[gravity]
along = "-y"

[run]
until = 8
step = 0.002
every = 5

[[body]]
name = "base"
joint = "weld"
turn = [["z", "90 deg"]]

[[body]]
name = "waist"
joint = "swivel"
parent = "base"
at = ["10 in", 0, 0]
mass = 14
com = ["6 in", 0, 0]
inertia = [0.05, 0.64, 0.64]
inertia_about = "joint"

[[point]]
name = "tool"
body = "waist"
at = ["12 in", 0, 0]
turn = [["x", "-90 deg"], ["y", "15 deg"]]

[[shape]]
body = "waist"
kind = "cylinder"
radius = "2 in"
length = "12 in"
turn = [["y", "90 deg"]]

[[shape]]
name = "table"
body = "base"
kind = "box"
edges = [1, 1, 0.5]

[[limit]]
coordinate = "waist"
lower = "-170 deg"
upper = "170 deg"
speed = 2.5
effort = 40

[initial]
waist = "20 deg"
"""


def test_seven_groups_of_data_survive_saving_and_loading() -> None:
    """Check 6: mass, limits, motion, environment, geometry, shapes and options."""
    document = parse_model(SEVEN)
    once = model_text(document.model)
    assert once == SEVEN
    m = read_model(SEVEN)
    assert m.files == {"scene": "bay.toml", "task": "reach.toml"}
    saved = write_model(m)
    again = read_model(saved)
    assert write_model(again) == saved
    assert again.files == m.files
    assert again.timing == m.timing
    assert [(r.lower, r.upper, r.speed, r.effort) for r in again.ranges] == [
        (r.lower, r.upper, r.speed, r.effort) for r in m.ranges
    ]
    assert again.shapes == m.shapes
    assert again.initial == {"waist": pytest.approx(math.radians(20))}
    first, second = Robot(m), Robot(again)
    np.testing.assert_allclose(first.pose([0.3], "tool"), second.pose([0.3], "tool"), atol=1e-15)
    np.testing.assert_allclose(first.mass_matrix([0.3]), second.mass_matrix([0.3]), rtol=1e-15)


@pytest.mark.parametrize("name", ["/etc/hosts", "../other.toml", "a/../../b.toml"])
def test_a_model_names_no_files_of_others(name: str) -> None:
    with pytest.raises(InputError, match=r"not in the folder of the model.*\[R118\]"):
        read_model(f'{HEAD}task = "{name}"\n')


def test_a_model_is_drawn_with_the_scene_file_that_it_names(tmp_path: Path) -> None:
    """Check 18, through a model's own file."""
    bay = 'format = 1\n[[environment]]\nname = "table"\nwithin = "base"\nat = [0, 2, 0]\n'
    bay += 'shape = [{ kind = "box", size = [1, 1, 1] }]\n'
    (tmp_path / "bay.toml").write_text(bay)
    (tmp_path / "arm.toml").write_text(SEVEN)
    scene = scene_of(lw.Robot(lw.load(tmp_path / "arm.toml")))
    assert [n.name for n in scene.nodes if n.environment] == ["table"]
    (tmp_path / "bay.toml").unlink()
    with pytest.raises(InputError, match="bay"):
        scene_of(lw.Robot(lw.load(tmp_path / "arm.toml")))
