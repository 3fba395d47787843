"""URDF against Pinocchio's reading of the same files, written and read again, and its faults."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from linkwright.base.errors import InputError
from linkwright.formats.robot.description import (
    Description,
    JointLimits,
    Link,
    LinkJoint,
    LinkShape,
    Mass,
    NamedFrame,
    Place,
)
from linkwright.formats.robot.files import read_description
from linkwright.formats.robot.names import code_names
from linkwright.formats.urdf import parse_urdf, read_urdf, urdf_text
from linkwright.formats.urdf.origins import rotation_rpy, rpy_rotation
from tests.oracles.robot_walks import link_places
from tests.seeds import examples
from tests.support.late import Late

if TYPE_CHECKING:
    import pinocchio as pin
else:
    pin = Late("pinocchio")

ROBOTS = Path(__file__).resolve().parents[1] / "robots"
FILES = sorted(ROBOTS.glob("*.urdf"))


def _configuration(model: pin.Model, seed: int) -> tuple[np.ndarray, dict[str, list[float]]]:
    """Return a random posture as Pinocchio has it, and by joint with quaternions w first."""
    rng = np.random.default_rng(seed)
    q = pin.neutral(model)
    named: dict[str, list[float]] = {}
    for k in range(1, model.njoints):
        joint = model.joints[k]
        at = slice(joint.idx_q, joint.idx_q + joint.nq)
        if joint.nq == 7:
            turn = rng.normal(size=4)
            turn /= np.linalg.norm(turn)
            x = rng.normal(size=3)
            q[at] = [*x, *turn]
            named[model.names[k]] = [*x, turn[3], *turn[:3]]
            continue
        angle = rng.uniform(-2, 2)
        q[at] = [np.cos(angle), np.sin(angle)] if joint.nq == 2 else [angle]
        named[model.names[k]] = [angle]
    return q, named


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_links_stand_where_pinocchio_has_them(file: Path) -> None:
    """Places of all links in random postures, and their masses, centers and inertias."""
    model = pin.buildModelFromUrdf(str(file))
    data = model.createData()
    robot = read_urdf(file)
    for seed in range(3):
        q, named = _configuration(model, seed)
        pin.framesForwardKinematics(model, data, q)
        places = link_places(robot, named)
        for link in robot.links:
            pose = data.oMf[model.getFrameId(link.name, pin.FrameType.BODY)]
            np.testing.assert_allclose(places[link.name].position, pose.translation, atol=1e-13)
            np.testing.assert_allclose(places[link.name].rotation, pose.rotation, atol=1e-13)
    together = [pin.Inertia.Zero() for _ in range(model.njoints)]
    for link in robot.links:
        if link.mass is not None:
            frame = model.frames[model.getFrameId(link.name, pin.FrameType.BODY)]
            xx, yy, zz, xy, yz, zx = link.mass.inertia
            about = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
            own = pin.Inertia(link.mass.mass, np.array(link.mass.center), about)
            together[frame.parentJoint] += frame.placement.act(own)
    for ours, theirs in zip(together[1:], list(model.inertias)[1:], strict=True):
        assert theirs.mass > 0
        np.testing.assert_allclose(ours.mass, theirs.mass, rtol=1e-14)
        np.testing.assert_allclose(ours.lever, theirs.lever, atol=1e-15)
        np.testing.assert_allclose(ours.inertia, theirs.inertia, atol=1e-16, rtol=1e-12)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_limits_are_those_of_pinocchio(file: Path) -> None:
    model = pin.buildModelFromUrdf(str(file))
    robot = {joint.name: joint for joint in read_urdf(file).joints}
    for k in range(1, model.njoints):
        joint, ours = model.joints[k], robot[model.names[k]]
        if joint.nq != 1:
            assert ours.limits.lower is None
            continue
        assert ours.limits.lower == model.lowerPositionLimit[joint.idx_q]
        assert ours.limits.upper == model.upperPositionLimit[joint.idx_q]
        assert ours.limits.effort == model.upperEffortLimit[joint.idx_v]
        assert ours.limits.speed == model.upperVelocityLimit[joint.idx_v]
        assert ours.damping == model.damping[joint.idx_v]


def _same(a: Description, b: Description) -> None:
    """Compare two descriptions but for lines and the last digits of turned numbers."""
    assert [x.name for x in a.links] == [x.name for x in b.links]
    assert [(j.name, j.kind, j.parent, j.child, j.limits, j.mimic) for j in a.joints] == [
        (j.name, j.kind, j.parent, j.child, j.limits, j.mimic) for j in b.joints
    ]
    for one, other in zip(a.joints, b.joints, strict=True):
        np.testing.assert_allclose(one.place.position, other.place.position, atol=1e-15)
        np.testing.assert_allclose(one.place.rotation, other.place.rotation, atol=1e-15)
        np.testing.assert_allclose(one.axis, other.axis, atol=1e-15)
        assert (one.damping, one.friction) == (other.damping, other.friction)
        np.testing.assert_allclose(one.armature, other.armature, rtol=1e-15)
    for first, second in zip(a.links, b.links, strict=True):
        assert first.mass == second.mass
        assert [replace(s, place=Place()) for s in first.shapes] == [
            replace(s, place=Place()) for s in second.shapes
        ]
        for s, t in zip(first.shapes, second.shapes, strict=True):
            np.testing.assert_allclose(s.place.rotation, t.place.rotation, atol=1e-15)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_is_written_reads_the_same(file: Path) -> None:
    robot = read_urdf(file)
    written = urdf_text(robot)
    assert not written.dropped
    _same(robot, parse_urdf(written.text))


def test_pinocchio_reads_what_is_written(tmp_path: Path) -> None:
    """The mass matrix of a written file is that of the file it was read from."""
    for file in FILES:
        copy = tmp_path / file.name
        copy.write_text(urdf_text(read_urdf(file)).text)
        one, two = (pin.buildModelFromUrdf(str(f)) for f in (file, copy))
        q = _configuration(one, 7)[0]
        matrices = [np.triu(pin.crba(m, m.createData(), q)) for m in (one, two)]
        np.testing.assert_allclose(matrices[0], matrices[1], atol=1e-14, rtol=1e-12)


NEAR_UPRIGHT = st.floats(-16, -1).map(lambda power: math.pi / 2 - 10**power)


@settings(max_examples=examples(100, daily=40), deadline=None)
@given(st.tuples(st.floats(-4, 4), st.one_of(st.floats(-4, 4), NEAR_UPRIGHT), st.floats(-4, 4)))
def test_angles_of_a_rotation_give_it_again(angles: tuple[float, float, float]) -> None:
    rotation = rpy_rotation(*angles)
    np.testing.assert_allclose(rpy_rotation(*rotation_rpy(rotation)), rotation, atol=5e-15)
    np.testing.assert_allclose(rotation, pin.rpy.rpyToMatrix(*angles), atol=5e-15)


def test_rotor_inertia_comes_through_the_gear_squared() -> None:
    robot = read_urdf(ROBOTS / "gripper.urdf")
    armatures = {joint.name: joint.armature for joint in robot.joints if joint.armature}
    assert armatures == {"left": pytest.approx(2e-7 * 30**2)}


def test_each_ignored_thing_is_told_once_with_its_line() -> None:
    robot = read_urdf(ROBOTS / "oblique_arm.urdf")
    text = (ROBOTS / "oblique_arm.urdf").read_text().splitlines()
    (entry,) = [x for x in robot.ignored if "safety" in x.what]
    assert "safety_controller" in text[entry.line - 1]
    assert entry.count == 2
    whats = {x.what: x for x in read_urdf(ROBOTS / "gripper.urdf").ignored}
    assert set(whats) == {"<gazebo>", "<link><contact>", "<transmission>"}
    assert whats["<transmission>"].why == "it gives no rotor inertia"


def test_a_missing_mesh_is_a_note() -> None:
    (note,) = read_urdf(ROBOTS / "oblique_arm.urdf").notes[-1:]
    assert note == "the mesh 'meshes/shoulder.stl' is missing"


def test_an_axis_is_made_unit_and_that_is_said() -> None:
    robot = read_urdf(ROBOTS / "oblique_arm.urdf")
    assert np.linalg.norm(robot.joints[0].axis) == pytest.approx(1, abs=1e-15)
    assert "line 65" in robot.notes[0]
    assert "'waist'" in robot.notes[0]


A_LINK = '<link name="a"/>'
TWO = '<link name="a"/><link name="b"/>'
JOIN = '<parent link="a"/><child link="b"/>'
FAULTS = {
    "a root that is not a robot": ("<sdf/>", "the root element is <sdf>"),
    "no link": ("<robot/>", "the robot has no link"),
    "xacro tags": (
        '<robot><xacro:property name="l" value="1"/></robot>',
        "<xacro:property> is xacro, a macro language that is not read here; expand the file first",
    ),
    "xacro values": ('<robot><link name="${prefix}a"/></robot>', "is xacro"),
    "a link without name": ("<robot><link/></robot>", "<link> has no attribute 'name'"),
    "links of one name": (f"<robot>{A_LINK}{A_LINK}</robot>", "a second link is called 'a'"),
    "two roots": (f"<robot>{TWO}</robot>", "two links are no joint's child: 'a' and 'b'"),
    "an unknown type": (
        f'<robot>{TWO}<joint name="j" type="hinge">{JOIN}</joint></robot>',
        "type of <joint name='j'> is 'hinge'; use one of fixed, revolute",
    ),
    "an unknown link": (
        f'<robot>{TWO}<joint name="j" type="fixed"><parent link="a"/><child link="c"/></joint>'
        "</robot>",
        "the child of joint 'j', 'c', is not a link",
    ),
    "joints of one name": (
        f'<robot>{TWO}<link name="c"/><joint name="j" type="fixed">{JOIN}</joint>'
        '<joint name="j" type="fixed"><parent link="a"/><child link="c"/></joint></robot>',
        "a second joint is called 'j'",
    ),
    "two parents": (
        f'<robot>{TWO}<joint name="j" type="fixed">{JOIN}</joint>'
        f'<joint name="k" type="fixed">{JOIN}</joint></robot>',
        "link 'b' is the child of two joints, 'j' and 'k'",
    ),
    "a ring": (
        f'<robot>{TWO}<link name="r"/><joint name="j" type="fixed">{JOIN}</joint>'
        '<joint name="k" type="fixed"><parent link="b"/><child link="a"/></joint></robot>',
        "the joints make a ring: b -> a -> b",
    ),
    "a link on itself": (
        f'<robot>{A_LINK}<joint name="j" type="fixed"><parent link="a"/><child link="a"/></joint>'
        "</robot>",
        "joins a link to itself",
    ),
    "an axis of no length": (
        f'<robot>{TWO}<joint name="j" type="continuous">{JOIN}<axis xyz="0 0 0"/></joint></robot>',
        "the axis of <joint name='j'> is zero",
    ),
    "too few numbers": (
        f'<robot>{TWO}<joint name="j" type="continuous">{JOIN}<axis xyz="0 1"/></joint></robot>',
        "xyz of <axis> has 2 numbers where 3 are needed",
    ),
    **{
        f"the number {text}": (
            f'<robot><link name="a"><inertial><mass value="{text}"/></inertial></link></robot>',
            "not a finite decimal number",
        )
        for text in ("nan", "inf", "-Infinity", "0x10", "1_0", "1e999", "1,5", "２")
    },
    "no mass in an inertial": (
        '<robot><link name="a"><inertial/></link></robot>',
        "<inertial> has no <mass>",
    ),
    "no moment of inertia": (
        '<robot><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1"/></inertial>'
        "</link></robot>",
        "<inertia> has no attribute 'izz'",
    ),
    "no parent": (
        f'<robot>{TWO}<joint name="j" type="fixed"><child link="b"/></joint></robot>',
        "<joint name='j'> has no <parent>",
    ),
    "two origins": (
        f'<robot>{TWO}<joint name="j" type="fixed">{JOIN}<origin/><origin/></joint></robot>',
        "a second <origin> in the same <joint>",
    ),
    "a mimicked stranger": (
        f'<robot>{TWO}<joint name="j" type="continuous">{JOIN}<mimic joint="k"/></joint></robot>',
        "joint 'j' mimics 'k', which is not a joint",
    ),
    "a joint that mimics itself": (
        f'<robot>{TWO}<joint name="j" type="continuous">{JOIN}<mimic joint="j"/></joint></robot>',
        "joint 'j' mimics itself in the end",
    ),
    "a name that cannot be printed": (
        '<robot><link name="a&#x202e;b"/></robot>',
        "is not a name for a link",
    ),
    "a box of negative size": (
        '<robot><link name="a"><visual><geometry><box size="1 -1 1"/></geometry></visual></link>'
        "</robot>",
        "a measure of <box> is negative",
    ),
    "a quaternion of no length": (
        f'<robot>{TWO}<joint name="j" type="fixed">{JOIN}<origin quat_xyzw="0 0 0 0"/></joint>'
        "</robot>",
        "quat_xyzw is zero",
    ),
    "a later version": ('<robot version="2.0"/>', "URDF of version '2.0' is not read"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_with_its_place(name: str) -> None:
    text, message = FAULTS[name]
    with pytest.raises(InputError) as caught:
        parse_urdf(text.replace("><", ">\n<"), file="r.urdf")
    shown = str(caught.value)
    assert any(part in shown for part in message.split("|")), shown
    if "no link" not in name:
        assert caught.value.line is not None
    assert shown.startswith("r.urdf")


def test_quaternions_of_later_urdf_are_the_same_turns() -> None:
    angles = (0.3, -0.8, 1.9)
    x, y, z, w = pin.Quaternion(pin.rpy.rpyToMatrix(*angles)).coeffs()
    joint = f'<robot>{TWO}<joint name="j" type="fixed">{JOIN}<origin quat_xyzw="{x} {y} {z} {w}"/>'
    place = parse_urdf(joint + "</joint></robot>").joints[0].place
    np.testing.assert_allclose(place.rotation, rpy_rotation(*angles), atol=1e-15)


def test_joints_that_urdf_lacks_are_written_as_several(tmp_path: Path) -> None:
    """A screw, a universal and a cylindrical joint move the tool as they should."""
    mass = Mass(1.0, (0.0, 0.0, 0.1), (0.1, 0.1, 0.1, 0.0, 0.0, 0.0))
    links = tuple(Link(name, mass) for name in "abcd")
    joints = (
        LinkJoint("s", "screw", "a", "b", Place((0.0, 0.0, 1.0)), pitch=0.01),
        LinkJoint("u", "universal", "b", "c", axis=(1.0, 0.0, 0.0), second_axis=(0.0, 1.0, 0.0)),
        LinkJoint("c", "cylindrical", "c", "d", axis=(0.0, 0.0, 1.0)),
    )
    robot = Description(
        "r", links, joints, frames=(NamedFrame("tip", "d", Place((0.1, 0.0, 0.0))),)
    )
    file = tmp_path / "r.urdf"
    file.write_text(urdf_text(robot).text)
    model = pin.buildModelFromUrdf(str(file))
    data = model.createData()
    follows = {j.name: j.mimic for j in read_urdf(file).joints}["s_slide"]
    assert follows is not None
    turns = {"s": 0.7, "u": 0.2, "u_second": -0.4, "c": 1.1, "c_slide": 0.05}
    turns["s_slide"] = follows.multiplier * turns[follows.joint]
    q = pin.neutral(model)
    for name, value in turns.items():
        joint = model.joints[model.getJointId(name)]
        at = slice(joint.idx_q, joint.idx_q + joint.nq)
        q[at] = [np.cos(value), np.sin(value)] if joint.nq == 2 else [value]
    pin.framesForwardKinematics(model, data, q)
    named = {"s": [0.7], "u": [0.2, -0.4], "c": [1.1, 0.05]}
    place = link_places(robot, named)["d"]
    pose = data.oMf[model.getFrameId("d", pin.FrameType.BODY)]
    np.testing.assert_allclose(place.position, pose.translation, atol=1e-15)
    np.testing.assert_allclose(place.rotation, pose.rotation, atol=1e-15)
    assert model.existFrame("tip")


def test_what_urdf_cannot_hold_is_told() -> None:
    links = (Link("a", None, (LinkShape("ellipsoid", (1.0, 1.0, 2.0)),)), Link("b"))
    spring = LinkJoint("j", "prismatic", "a", "b", stiffness=3.0, limits=JointLimits(lower=0.0))
    robot = Description("r", links, (spring,), gravity=(0.0, 0.0, -1.6))
    written = urdf_text(robot)
    whats = {entry.what for entry in written.dropped}
    assert whats == {"shapes of kind ellipsoid", "springs in joints", "gravity"}
    assert parse_urdf(written.text).joints[0].limits == spring.limits
    ball = replace(robot, joints=(LinkJoint("j", "ball", "a", "b"),))
    with pytest.raises(InputError, match="a ball joint, which URDF cannot say"):
        urdf_text(ball)


def test_a_file_is_known_by_its_root_element(tmp_path: Path) -> None:
    file = tmp_path / "r.xml"
    file.write_text("<!-- r --><robot name='r'><link name='a'/></robot>")
    assert read_description(file).name == "r"
    file.write_text("<html/>")
    with pytest.raises(InputError, match="not a robot file of a known format"):
        read_description(file)


NAMES = st.text(st.sampled_from("aA1_- é/t"), max_size=6)


@given(st.lists(NAMES, unique=True), st.sets(NAMES))
def test_names_for_code_are_words_and_differ(names: list[str], taken: set[str]) -> None:
    found = code_names(names, taken)
    assert list(found) == names
    assert len(set(found.values())) == len(names)
    assert not set(found.values()) & taken
    assert all(name.isidentifier() and name.isascii() for name in found.values())
    assert all(name.isascii() and not name.startswith("_") for name in found.values())
