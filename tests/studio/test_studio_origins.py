"""A recording knows what it is of: it is drawn later, elsewhere, and without the program."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from linkwright.algebra import foreign
from linkwright.blocks import Element
from linkwright.mechanism import Mechanism, Revolute
from linkwright.models import load_model
from linkwright.models.rerun import rerun
from linkwright.models.runner import Request, run_model
from linkwright.recording import Channel, Recording, read_recording
from linkwright.recording.origins import to_be_sent
from linkwright.robots import Robot
from linkwright.scene.motions import SceneMotion, open_motion
from linkwright.scene.scene import scene_of
from linkwright.scene.sources import is_shipped, what_moved
from linkwright.simulation import simulate, simulate_batch
from linkwright.simulation.settings import RunSettings
from linkwright.studio.live import Live
from linkwright.studio.live_system import plant_of
from linkwright.system import System
from tests.seeds import examples

FORMATS = ("parquet", "csv", "npz", "mcap")

ARM = """<robot name="arm">
<link name="base"><visual><geometry><box size="0.3 0.3 0.1"/></geometry></visual></link>
<link name="upper"><inertial><origin xyz="0 0 0.5"/><mass value="2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry>SHAPE</geometry></visual></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="upper"/>
<axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="9" velocity="9"/></joint>
</robot>
"""
SPHERE = ARM.replace("SHAPE", '<sphere radius="0.25"/>')
MESH = ARM.replace("SHAPE", '<mesh filename="meshes/part.stl"/>')
STL = "solid s\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n"
STL += "endloop\nendfacet\nendsolid s\n"


def kinds(motion: SceneMotion) -> list[str]:
    """Return the kinds of solids that the last body of a take has."""
    assert motion.scene is not None
    return [solid.kind for solid in motion.scene.nodes[-1].solids]


def robot_file(folder: Path, text: str = SPHERE) -> Path:
    """Write a robot file, and the mesh that one of them names."""
    (folder / "meshes").mkdir(parents=True, exist_ok=True)
    (folder / "meshes" / "part.stl").write_text(STL)
    path = folder / "arm.urdf"
    path.write_text(text)
    return path


@pytest.mark.parametrize("ending", FORMATS)
def test_a_simulated_robot_file_is_drawn_wherever_it_is_moved(tmp_path: Path, ending: str) -> None:
    path = robot_file(tmp_path / "a", MESH)
    out = tmp_path / "a" / f"x.{ending}"
    run_model(Request(str(path), RunSettings(0.5), initial={"hinge": 1.0}), out)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    shutil.rmtree(tmp_path / "a")
    motion = open_motion(str(tmp_path / "b" / out.name))
    assert kinds(motion) == ["mesh"]
    assert motion.notes == ()
    assert motion.q is not None
    assert np.ptp(motion.q) > 0


@pytest.mark.parametrize("ending", FORMATS)
def test_a_system_with_a_robot_from_a_file_is_drawn_from_its_recording(
    tmp_path: Path, ending: str
) -> None:
    """Loads were added to the robot, which the file knows nothing of; it looks the same."""
    robot = Robot(robot_file(tmp_path))
    system = System(robot)
    motor = Element("motor", robot.mechanism)
    motor.effort("tau", "hinge", -20 * robot.mechanism.coordinates["hinge"])
    system.add(motor)
    run = simulate(system, 0.25, initial={"hinge": 1.0})
    run.save(tmp_path / f"run.{ending}")
    motion = open_motion(str(tmp_path / f"run.{ending}"))
    assert kinds(motion) == ["sphere"]
    assert motion.q is not None
    assert np.array_equal(motion.q[:, 0], run["hinge"])


@pytest.mark.parametrize("ending", FORMATS)
def test_options_of_shipped_models_are_kept(tmp_path: Path, ending: str) -> None:
    run = simulate(load_model("n-four-bar:n=2"), 0.1, step=0.01, method="rk4")
    run.save(tmp_path / f"run.{ending}")
    assert read_recording(tmp_path / f"run.{ending}").metadata["model"] == "n-four-bar:n=2"
    motion = open_motion(str(tmp_path / f"run.{ending}"))
    assert motion.scene is not None
    assert len(motion.scene.nodes) == 1 + 5


def built() -> Mechanism:
    """Return a mechanism that no file and no library knows."""
    m = Mechanism("crane")
    mast = m.body("mast", rotate="z", mass=5, inertia=(1, 1, 2))
    jib = m.body(
        "jib", parent=mast, joint=Revolute("y"), at=(0, 0, "H"), mass=1, com=("L", 0, 0), inertia=0
    )
    m.force("wind", "F", at=jib.com, along="y")
    m.gravity(along="-z")
    m.defaults(H=2.0, L=1.5, F=0.3)
    return m


@pytest.mark.parametrize("as_system", [False, True])
@pytest.mark.parametrize("ending", FORMATS)
def test_a_mechanism_of_python_is_drawn_from_its_text(
    tmp_path: Path, ending: str, as_system: bool
) -> None:
    """The poses are those of the mechanism itself, with the parameters of the run."""
    m = built()
    run = simulate(System(m) if as_system else m, 0.2, parameters={"H": 3.0}, initial={"jib": 0.3})
    run.save(tmp_path / f"run.{ending}")
    motion = open_motion(str(tmp_path / f"run.{ending}"))
    assert motion.scene is not None
    assert motion.notes == ()
    q = [0.4, -0.2]
    own = scene_of(m, values={"H": 3.0})
    assert [n.name for n in motion.scene.nodes] == [n.name for n in own.nodes]
    assert np.allclose(motion.scene.poses(q).poses, own.poses(q).poses, atol=1e-12)
    assert np.isclose(motion.scene.poses(q).poses[2, 2], 3.0)


def test_a_shipped_model_that_was_changed_is_no_longer_that(tmp_path: Path) -> None:
    m = load_model("pendulum")
    m.force("wind", 1, at=m.bodies["rod"].com, along="x")
    simulate(m, 0.1).save(tmp_path / "run.npz")
    motion = open_motion(str(tmp_path / "run.npz"))
    assert motion.scene is not None
    assert [f.name for f in motion.scene.robot.mechanism.forces] == ["wind"]


def test_a_robot_file_that_has_changed_is_told_and_drawn_as_it_was(tmp_path: Path) -> None:
    path = robot_file(tmp_path)
    run_model(Request(str(path), RunSettings(0.1)), tmp_path / "x.npz")
    path.write_text(ARM.replace("SHAPE", '<box size="1 1 1"/>'))
    motion = open_motion(str(tmp_path / "x.npz"))
    assert kinds(motion) == ["sphere"]
    assert motion.notes == ("arm.urdf has changed since this was recorded; it is drawn as it was",)


def test_files_outside_the_folder_of_a_recording_are_read_only_when_declared(
    tmp_path: Path,
) -> None:
    path = robot_file(tmp_path / "robots", MESH)
    (tmp_path / "runs").mkdir()
    out = tmp_path / "runs" / "x.npz"
    run_model(Request(str(path), RunSettings(0.1)), out)
    told = read_recording(out).metadata["origin"]
    with np.load(out) as archive:
        assert '"file": "../robots/arm.urdf"' in str(archive["metadata"])
    assert told["file"] == str(path)
    motion = open_motion(str(out))
    assert "mesh" not in kinds(motion)
    assert any("--mesh-dir" in note and "--model" in note for note in motion.notes)
    assert kinds(open_motion(str(out), roots=[tmp_path / "robots"])) == ["mesh"]
    assert kinds(open_motion(str(out), model=str(path))) == ["mesh"]


def test_no_path_in_a_recording_leads_outside(tmp_path: Path) -> None:
    """Neither by dots, nor whole, nor by a link, nor under the name of a model."""
    path = robot_file(tmp_path / "secret")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "link.urdf").symlink_to(path)
    for file in ("../secret/arm.urdf", str(path), "link.urdf", "../secret", "\0", ".."):
        for about in (
            {"origin": {"file": file}},
            {"file": file},
            {"origin": {"file": file, "folder": "/"}},
        ):
            made = Recording([0, 1], [Channel("hinge", "rad")], [[0], [1]], about)
            made.save(tmp_path / "runs" / "x.npz")
            motion = open_motion(str(tmp_path / "runs" / "x.npz"))
            assert motion.scene is None, (file, about)
            assert "--model" in motion.notes[0]
    for word in ("car:/../secret/arm.urdf", f"car:{path}", str(path)):
        assert not is_shipped(word)


def test_the_thing_at_hand_is_used_while_there_is_one() -> None:
    system = System(built())
    run = simulate(system, 0.1)
    found = what_moved(run.recording.select(["mast", "jib"]))
    assert found.thing is system.mechanism
    assert found.system is run.system


def test_a_run_of_a_batch_is_drawn(tmp_path: Path) -> None:
    found = simulate_batch(built(), 0.1, parameters={"H": [2.0, 3.0]}, every=10)
    found.recording(1).save(tmp_path / "x.npz")
    motion = open_motion(str(tmp_path / "x.npz"))
    assert motion.scene is not None
    assert np.isclose(motion.scene.poses([0.0, 0.0]).poses[2, 2], 3.0)


def test_recordings_can_still_be_run_again(tmp_path: Path) -> None:
    """What is told of the origin is not a part of what is compared, nor in its way."""
    path = robot_file(tmp_path)
    run_model(Request(str(path), RunSettings(0.2)), tmp_path / "x.npz")
    assert rerun(read_recording(tmp_path / "x.npz")).difference is None


def test_what_a_browser_saves_of_a_live_run_tells_no_path(tmp_path: Path) -> None:
    """A robot file is told by its name, and found beside the recording wherever that is put."""
    robot = Robot(robot_file(tmp_path / "a"))
    live = Live(plant_of(robot, {"hinge": 0.5}), scene_of(robot))
    live.advance(24)
    (tmp_path / "b").mkdir()
    to_be_sent(live.recording()).save(tmp_path / "b" / "x.npz")
    with np.load(tmp_path / "b" / "x.npz") as archive:
        assert str(tmp_path) not in str(archive["metadata"])
        assert '"file": "arm.urdf"' in str(archive["metadata"])
    motion = open_motion(str(tmp_path / "b" / "x.npz"))
    assert kinds(motion) == ["sphere"]


def test_other_formats_tell_what_they_have_room_for(tmp_path: Path) -> None:
    """An ERD file has a title, in which the model stands; SL's has none."""
    run = simulate(load_model("n-four-bar:n=2"), 0.1, step=0.01, method="rk4")
    run.save(tmp_path / "run.erd")
    motion = open_motion(str(tmp_path / "run.erd"))
    assert motion.scene is not None
    assert len(motion.scene.nodes) == 1 + 5
    run.save(tmp_path / "d00001")
    assert "--model" in open_motion(str(tmp_path / "d00001")).notes[0]


def test_models_with_functions_of_python_are_drawn(tmp_path: Path) -> None:
    """The function is not in the recording, and nothing that is drawn depends on it."""
    m = Mechanism("driven")
    rod = m.body("rod", rotate="z", mass=1, com=("L", 0, 0), inertia=0)
    drive = foreign("drive", python=lambda x: 2.0 * x)
    m.moment("motor", drive(m.coordinates["rod"]), on=rod, about="z")
    m.defaults(L=1.5)
    simulate(m, 0.1, initial={"rod": 0.1}).save(tmp_path / "x.npz")
    motion = open_motion(str(tmp_path / "x.npz"))
    assert motion.scene is not None
    assert [n.name for n in motion.scene.nodes] == ["ground", "rod"]


def test_legs_without_shapes_reach_their_feet_and_no_further() -> None:
    """Feet are links that are fixed to the shanks; the rods that stand in for these end there."""
    robot = Robot(Path(__file__).parents[1] / "robots" / "quadruped.urdf")
    scene = scene_of(robot)
    body, foot = robot.assembled.places["front_left_foot"]
    node = 1 + robot.mechanism.depth_first().index(body)
    points = np.concatenate([s.points for s in scene.surfaces[node]])
    far = np.linalg.norm(points, axis=1).max()
    assert 0.98 < far / np.linalg.norm(foot.position) < 1.2


MJCF = """<mujoco model="arm"><worldbody><body name="upper"><joint name="hinge" axis="0 1 0"/>
<geom type="capsule" size="0.1" fromto="0 0 0 0 0 1" mass="2"/></body></worldbody></mujoco>"""


def test_a_robot_file_that_takes_in_others_is_drawn_by_rods_where_it_is_missing(
    tmp_path: Path,
) -> None:
    """Its text alone would not do, so the recording holds the mechanism; poses are the same."""
    (tmp_path / "part.xml").write_text(MJCF.replace(' model="arm"', ""))
    path = tmp_path / "arm.xml"
    path.write_text('<mujoco model="arm"><include file="part.xml"/></mujoco>')
    robot = Robot(path)
    run = simulate(System(robot), 0.2, initial={"hinge": 0.5})
    run.save(tmp_path / "x.npz")
    run_model(Request(str(path), RunSettings(0.2)), tmp_path / "y.npz")
    q = [0.7]
    own = scene_of(robot).poses(q).poses
    for name in ("x.npz", "y.npz"):
        motion = open_motion(str(tmp_path / name))
        assert kinds(motion) == ["capsule"]
        assert motion.notes == ()
    path.unlink()
    for name in ("x.npz", "y.npz"):
        motion = open_motion(str(tmp_path / name))
        assert motion.scene is not None
        assert np.allclose(motion.scene.poses(q).poses[1], own[1], atol=1e-12)
        assert "arm.xml is not in the folder of the recording" in motion.notes[0]


def test_a_robot_file_of_another_kind_is_drawn_from_its_text(tmp_path: Path) -> None:
    path = tmp_path / "arm.xml"
    path.write_text(MJCF)
    simulate(System(Robot(path)), 0.1, initial={"hinge": 0.5}).save(tmp_path / "x.npz")
    path.unlink()
    assert kinds(open_motion(str(tmp_path / "x.npz"))) == ["capsule"]


def test_options_of_text_models_are_kept(tmp_path: Path) -> None:
    text = """format = 1
name = "row"
[options]
n = 2
[parameters]
L = 1.0
[[body]]
name = "first"
rotate = "z"
mass = "${n}*L"
com = ["${n}*L", 0, 0]
inertia = 0.1
"""
    path = tmp_path / "row.toml"
    path.write_text(text)
    run_model(Request(f"{path}:n=5", RunSettings(0.1), values={"L": 2.0}), tmp_path / "x.npz")
    for _ in range(2):
        motion = open_motion(str(tmp_path / "x.npz"))
        assert motion.scene is not None
        assert np.isclose(motion.scene.nodes[1].mass, 10.0)
        path.unlink(missing_ok=True)  # then from its text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=6,
)
WORDS = st.sampled_from(
    ["..", "arm.urdf", "../arm.urdf", "x.toml", "car", "car:n=1", "x\0", SPHERE]
)


@given(
    st.dictionaries(
        st.sampled_from(
            ["model", "file", "digest", "options", "text", "skeleton", "folder", "why"]
        ),
        JSON | WORDS,
    ),
    st.dictionaries(
        st.sampled_from(
            ["model", "system", "file", "model_text", "model_file", "parameters", "set"]
        ),
        JSON | WORDS,
    ),
)
@settings(
    max_examples=examples(60, daily=15), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
def test_whatever_a_recording_says_there_is_something_to_see(
    origin: dict[str, object], about: dict[str, object]
) -> None:
    """A recording may come from anywhere; at the least its plots are shown, with a note."""
    with tempfile.TemporaryDirectory() as folder:
        made = Recording([0, 1], [Channel("hinge", "rad")], [[0], [1]], {**about, "origin": origin})
        made.save(Path(folder) / "x.npz")
        motion = open_motion(str(Path(folder) / "x.npz"))
    assert motion.q is not None or motion.notes
