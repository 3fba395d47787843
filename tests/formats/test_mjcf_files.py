"""MJCF files against MuJoCo: masses, places, mass matrix, bias; the way back; what is refused."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from bench.mjcf_peer import (
    dynamics_errors,
    exchanged,
    mass_errors,
    matrix,
    mujoco_model,
    place_errors,
    random_configuration,
)
from linkwright.base.errors import Error, InputError
from linkwright.formats.mjcf import mjcf_text, parse_mjcf, read_mjcf
from linkwright.formats.robot.description import (
    Closure,
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
from linkwright.formats.robot.transforms import (
    quaternion_rotation,
    rotation_quaternion,
    tensor,
    turned,
)
from linkwright.robots import Robot
from tests.random.mjcf import random_mjcf
from tests.seeds import cases, examples
from tests.support.late import Late

if TYPE_CHECKING:
    import mujoco
else:
    mujoco = Late("mujoco")

FOLDER = Path(__file__).parents[1] / "robots" / "mjcf"
MODELS = [FOLDER / f"{name}.xml" for name in ("gantry", "hopper", "gripper")]


def _world(inner: str, before: str = "") -> str:
    return f"<mujoco>{before}<worldbody>{inner}</worldbody></mujoco>"


def _body(inner: str, before: str = "") -> str:
    return _world(f'<body name="b"><geom size=".1" mass="1"/>{inner}</body>', before)


# -- conformance -----------------------------------------------------------------------------------
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_places_of_bodies_and_sites_are_those_of_mujoco(path: Path) -> None:
    rng = np.random.default_rng(1)
    assert place_errors(mujoco_model(path), read_mjcf(path), rng) < 1e-13


@pytest.mark.parametrize("path", MODELS[:2], ids=lambda path: path.stem)
def test_masses_are_those_of_mujoco(path: Path) -> None:
    assert mass_errors(mujoco_model(path), read_mjcf(path)) < 1e-13


def test_masses_of_meshes_are_those_of_mujoco() -> None:
    """MuJoCo drops products of inertia of 1e-8 of a mesh; its principal moments are exact."""
    model, description = mujoco_model(MODELS[2]), read_mjcf(MODELS[2])
    assert mass_errors(model, description) < 1e-7
    for name in ("palm", "left_finger"):
        mass, body = description.link(name).mass, model.body(name)
        assert mass is not None
        moments = np.linalg.eigvalsh(np.array(tensor(mass.inertia)))
        np.testing.assert_allclose(moments, np.sort(body.inertia), rtol=1e-12)
        np.testing.assert_allclose(mass.center, body.ipos, atol=1e-14)


@pytest.mark.parametrize("seed", cases(range(12), daily=6))
def test_random_files_are_read_as_mujoco_reads_them(seed: int) -> None:
    text = random_mjcf(seed)
    model, description = mujoco.MjModel.from_xml_string(text), parse_mjcf(text)
    assert mass_errors(model, description) < 1e-10
    assert place_errors(model, description, np.random.default_rng(seed), 2) < 1e-10


@pytest.mark.parametrize("seed", cases(range(25, 33), daily=4))
def test_what_is_written_is_the_same_robot_to_mujoco(seed: int) -> None:
    description = parse_mjcf(random_mjcf(seed))
    text = mjcf_text(description).text
    model = mujoco.MjModel.from_xml_string(text)
    for found in (description, parse_mjcf(text)):
        assert mass_errors(model, found) < 1e-10
        assert place_errors(model, found, np.random.default_rng(seed), 2) < 1e-10


@pytest.mark.parametrize("path", sorted(FOLDER.parent.glob("*.urdf")), ids=lambda path: path.stem)
def test_a_urdf_file_written_as_mjcf_is_the_same_robot(path: Path) -> None:
    """A free joint's coordinates are in the world in MJCF, so its place is left out here."""
    description = read_description(path)
    bare = Description(
        description.name,
        tuple(Link(link.name, link.mass) for link in description.links),
        tuple(replace(j, place=Place()) if j.kind == "free" else j for j in description.joints),
    )
    model = mujoco.MjModel.from_xml_string(mjcf_text(bare).text)
    order = {model.joint(k).name: k for k in range(model.njnt)}
    joints = sorted(bare.joints, key=lambda joint: order.get(joint.name, -1))
    ordered = replace(bare, joints=tuple(joints))
    assert mass_errors(model, ordered) < 1e-10
    assert place_errors(model, ordered, np.random.default_rng(0)) < 1e-12


@pytest.mark.parametrize(
    "source", cases([*MODELS[:2], 0, 4], daily=2), ids=lambda x: getattr(x, "stem", str(x))
)
def test_mass_matrix_and_bias_are_those_of_mujoco(source: Path | int) -> None:
    text = random_mjcf(source) if isinstance(source, int) else source.read_text()
    model, description = mujoco.MjModel.from_xml_string(text), parse_mjcf(text)
    robot = Robot(description, friction=False)
    assert dynamics_errors(robot, model, description, np.random.default_rng(3)) < 1e-12


@pytest.mark.parametrize("path", MODELS[:2], ids=lambda path: path.stem)
def test_robots_fall_as_they_do_in_mujoco(path: Path) -> None:
    """Damping, springs and rotors count; limits, contact, servos and dry friction are off."""
    text = path.read_text().replace('frictionloss="0.4"', "")
    model, description = mujoco.MjModel.from_xml_string(text), parse_mjcf(text)
    off = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_ACTUATION
    model.opt.disableflags |= int(off)
    robot, data = Robot(description), mujoco.MjData(model)
    rng = np.random.default_rng(6)
    for _ in range(3):
        q, v = random_configuration(model, rng), rng.normal(size=model.nv)
        force = rng.normal(size=model.nv)
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, force
        mujoco.mj_forward(model, data)
        ours, speeds, rates = exchanged(robot, model, description, q, v)
        found = robot.forward_dynamics(ours, speeds @ v, np.linalg.solve(speeds.T, force))
        scale = np.abs(data.qacc).max()
        np.testing.assert_allclose(
            found, speeds @ data.qacc + rates @ v, atol=1e-10 * max(1.0, scale)
        )


# -- what files say --------------------------------------------------------------------------------
def test_limits_and_rotors_come_through_gears() -> None:
    joints = {joint.name: joint for joint in read_mjcf(MODELS[0]).joints}
    assert joints["x"].limits == JointLimits(-1.0, 1.0, None, 40.0)
    assert joints["x"].friction == 0.4
    assert joints["x"].damping == 3.0
    assert joints["roll"].limits.effort == 5.0  # of unequal ends the smaller
    assert joints["roll"].armature == pytest.approx(0.01 + 25 * 0.001, abs=1e-15)
    assert joints["pitch"].limits.effort == 3.0
    assert (joints["z"].stiffness, joints["z"].rest) == (20.0, 0.05)


def test_gravity_and_what_is_left_out_are_told() -> None:
    gantry = read_mjcf(MODELS[0])
    assert gantry.gravity == (0.0, 0.5, -9.7)
    lines = {entry.what: entry.line for entry in gantry.ignored}
    told = {"forcerange with unequal ends": 39, "<position kp=>": 40, "<position>": 40}
    assert lines == told
    still = parse_mjcf(_body("", '<option gravity="1 2 3"><flag gravity="disable"/></option>'))
    assert still.gravity == (0.0, 0.0, 0.0)


def test_loops_and_couplings() -> None:
    gripper = read_mjcf(MODELS[2])
    (loop,) = gripper.closures
    assert (loop.name, loop.kind) == ("loop", "ball")
    assert loop.second[0] == "rocker"
    np.testing.assert_allclose(loop.second[1].position, (0, 0, 0.2), atol=1e-15)
    right = next(joint for joint in gripper.joints if joint.name == "right")
    assert right.mimic is not None
    assert (right.mimic.joint, right.mimic.multiplier, right.mimic.offset) == ("left", -1.0, 0.01)


def test_couplings_are_about_references() -> None:
    """MuJoCo's polynomial is in what the joints have moved since the drawn configuration."""
    text = _world(
        '<body><joint name="a" ref="0.3"/><geom size=".1"/></body>'
        '<body><joint name="b" ref="0.2"/><geom size=".1"/></body>',
        '<compiler angle="radian"/>',
    ).replace(
        "</mujoco>",
        '<equality><joint joint1="a" joint2="b" polycoef="0.1 2 0 0 0"/></equality></mujoco>',
    )
    mimic = parse_mjcf(text).joints[0].mimic
    assert mimic is not None
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:] = mimic.multiplier * 0.7 + mimic.offset, 0.7
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.efc_pos[0], 0, atol=1e-15)


def test_welds_hold_bodies_as_drawn_or_as_told() -> None:
    bodies = (
        '<body name="a" pos="1 0 0" euler="0 0 90"><freejoint/><geom size=".1"/></body>'
        '<body name="b" pos="1 2 0"><freejoint/><geom size=".1"/></body>'
    )
    ends = (
        '<equality><weld body1="a" body2="b"/>'
        '<weld body1="a" body2="b" relpose="0 0 1 1 0 0 0" anchor="0 .5 0"/>'
        '<weld body1="a" torquescale="0"/></equality></mujoco>'
    )
    drawn, told, point = parse_mjcf(_world(bodies).replace("</mujoco>", ends)).closures
    np.testing.assert_allclose(drawn.first[1].position, (2, 0, 0), atol=1e-15)
    np.testing.assert_allclose(drawn.first[1].rotation, turned((0, 0, 1), -np.pi / 2), atol=1e-15)
    assert told.first[1].position == (0.0, 0.0, 1.0)
    assert told.second[1].position == (0.0, 0.5, 0.0)
    assert (point.kind, point.second[0]) == ("ball", "world")


@pytest.mark.parametrize(
    "ends",
    [
        '<weld body1="a" body2="b"/>',
        '<weld body1="a" body2="b" relpose=".1 .2 1 1 .2 .3 .4" anchor="0 .5 .1"/>',
        '<weld body1="a" body2="b" anchor="0 .5 .1"/>',
        '<weld site1="s" site2="t"/>',
        '<connect body1="a" body2="b" anchor=".3 .2 .1"/>',
        '<connect site1="s" site2="t"/>',
    ],
)
def test_closures_are_those_of_mujoco(ends: str) -> None:
    """Where our two frames coincide, MuJoCo's constraint is satisfied."""
    text = _world(
        '<body name="a" pos="1 0 0" euler="10 20 90"><freejoint/><geom size=".1"/>'
        '<site name="s" pos="0 .1 .2" euler="5 6 7"/></body>'
        '<body name="b" pos="1 2 0" euler="3 4 5"><freejoint/><geom size=".1"/>'
        '<site name="t" pos=".3 .1 .2" euler="50 6 7"/></body>'
    ).replace("</mujoco>", f"<equality>{ends}</equality></mujoco>")
    (closure,) = parse_mjcf(text).closures
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    q = random_configuration(model, np.random.default_rng(4))
    where = matrix(Place(_triple(q[:3]), quaternion_rotation([float(x) for x in q[3:7]])))
    there = where @ matrix(closure.first[1]) @ np.linalg.inv(matrix(closure.second[1]))
    (a, b, c), (d, e, f), (g, h, i) = there[:3, :3].tolist()
    data.qpos[:7] = q[:7]
    data.qpos[7:10] = there[:3, 3]
    data.qpos[10:14] = rotation_quaternion(((a, b, c), (d, e, f), (g, h, i)))
    mujoco.mj_forward(model, data)
    held = data.efc_pos[data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)]
    assert len(held) == (3 if closure.kind == "ball" else 6)
    np.testing.assert_allclose(held, 0, atol=1e-14)


def _triple(values: np.ndarray) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in values)
    return x, y, z


def test_the_total_mass_is_what_the_compiler_was_told() -> None:
    geoms = ('<geom size=".1" mass="1"/>', '<geom size=".2" mass="3"/>')
    inner = "".join(f"<body><joint/>{geom}</body>" for geom in geoms)
    found = parse_mjcf(_world(inner, '<compiler settotalmass="10"/>'))
    masses = [link.mass for link in found.links if link.mass is not None]
    assert [mass.mass for mass in masses] == [2.5, 7.5]
    assert masses[1].inertia[0] == pytest.approx(0.4 * 7.5 * 0.04, rel=1e-14)


def test_impossible_inertias_are_balanced_where_told() -> None:
    inertial = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 4"/>'
    text = _world(f"<body><joint/>{inertial}</body>", '<compiler balanceinertia="true"/>')
    model, description = mujoco.MjModel.from_xml_string(text), parse_mjcf(text)
    assert mass_errors(model, description) < 1e-14
    mass = description.links[1].mass
    assert mass is not None
    np.testing.assert_allclose(mass.inertia, (2, 2, 2, 0, 0, 0), atol=1e-15)


def test_masses_come_from_where_the_compiler_was_told() -> None:
    inertial = '<inertial pos="0 0 0" mass="5" diaginertia="1 1 1"/>'
    body = f'<body name="b"><joint/>{inertial}<geom size=".1" mass="1"/></body>'
    for said, expected in (("auto", 5.0), ("true", 1.0), ("false", 5.0)):
        found = parse_mjcf(_world(body, f'<compiler inertiafromgeom="{said}"/>'))
        mass = found.link("b").mass
        assert mass is not None
        assert mass.mass == expected


def test_ranges_without_autolimits_need_a_flag() -> None:
    joints = '<joint name="a" range="0 1"/><joint name="b" range="0 1" limited="true"/>'
    found = parse_mjcf(_body(joints, '<compiler autolimits="false" angle="radian"/>')).joints
    assert found[0].limits.lower is None
    assert found[1].limits.upper == 1.0


def test_visual_shapes_are_left_out_where_told() -> None:
    extra = '<geom size=".2" contype="0" conaffinity="0"/>'
    told = '<compiler discardvisual="true"/>'
    kept, dropped = parse_mjcf(_body(extra)), parse_mjcf(_body(extra, told))
    assert [len(found.link("b").shapes) for found in (kept, dropped)] == [2, 1]
    assert kept.link("b").mass == dropped.link("b").mass


def _l_shape() -> tuple[np.ndarray, np.ndarray]:
    """Return the points and triangles of a solid that is not convex: an L, pulled up."""
    outline = np.array([(0, 0), (3, 0), (3, 1), (1, 1), (1, 2), (0, 2)], dtype=float)
    points = np.vstack([np.c_[outline, np.zeros(6)], np.c_[outline, np.ones(6)]]) * 0.1
    flat = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    faces = [(c, b, a) for a, b, c in flat] + [(a + 6, b + 6, c + 6) for a, b, c in flat]
    for a in range(6):
        b = (a + 1) % 6
        faces += [(a, b, b + 6), (a, b + 6, a + 6)]
    return points.astype(np.float32).astype(float), np.array(faces)


@pytest.mark.parametrize("way", ["legacy", "exact", "convex", "shell"])
@pytest.mark.parametrize("ending", ["stl", "obj", "msh"])
def test_meshes_weigh_what_they_weigh_in_mujoco(way: str, ending: str, tmp_path: Path) -> None:
    points, faces = _l_shape()
    if ending == "obj":
        rows = [f"v {x!r} {y!r} {z!r}" for x, y, z in points.tolist()]
        rows += [f"f {a + 1}//1 {b + 1} {c + 1}" for a, b, c in faces.tolist()]
        (tmp_path / "l.obj").write_text("\n".join(rows))
    elif ending == "msh":
        head = struct.pack("<4i", len(points), 0, 0, len(faces))
        data = head + points.astype("<f4").tobytes() + faces.astype("<i4").tobytes()
        (tmp_path / "l.msh").write_bytes(data)
    else:
        corners = points[faces].astype("<f4")
        triangles = b"".join(struct.pack("<3f", 0, 0, 0) + t.tobytes() + b"\0\0" for t in corners)
        data = b"\0" * 80 + struct.pack("<I", len(faces)) + triangles
        (tmp_path / "l.stl").write_bytes(data)
    asset = (
        f'<asset><mesh name="m" file="l.{ending}" inertia="{way}" scale="1 -2 1.5" '
        'refpos=".1 .2 .3" refquat="1 .2 .3 .4"/></asset>'
    )
    geom = '<geom type="mesh" mesh="m" pos=".1 .2 .3" euler="10 20 30" density="300"/>'
    path = tmp_path / "model.xml"
    path.write_text(_world(f'<body name="b"><freejoint/>{geom}</body>', asset))
    model, description = mujoco_model(path), read_mjcf(path)
    mass = description.link("b").mass
    assert mass is not None
    assert mass.mass == pytest.approx(float(model.body("b").mass[0]), rel=1e-12)
    np.testing.assert_allclose(mass.center, model.body("b").ipos, atol=1e-13)
    moments = np.linalg.eigvalsh(np.array(tensor(mass.inertia)))
    np.testing.assert_allclose(moments, np.sort(model.body("b").inertia), rtol=1e-11)
    (shape,) = description.link("b").shapes
    assert shape.mesh == f"l.{ending}"


# -- writing ---------------------------------------------------------------------------------------
def test_joints_of_several_coordinates_become_slides_and_hinges() -> None:
    heavy = Mass(1.0, (0.1, 0.0, 0.0), (0.1, 0.1, 0.1, 0.0, 0.0, 0.0))
    kinds = ("universal", "cylindrical", "planar", "screw")
    links = (Link("world"), *(Link(kind, heavy) for kind in kinds))
    joints = tuple(LinkJoint(f"j_{kind}", kind, "world", kind, pitch=0.1) for kind in kinds)
    model = mujoco.MjModel.from_xml_string(mjcf_text(Description("r", links, joints)).text)
    types = [
        [int(model.jnt_type[k]) for k in np.flatnonzero(model.jnt_bodyid == b)] for b in range(1, 5)
    ]
    slide, hinge = 2, 3
    assert types == [[hinge, hinge], [slide, hinge], [slide, slide, hinge], [hinge, slide]]
    assert model.neq == 1


def test_what_mjcf_holds_survives_it() -> None:
    heavy = Mass(1.0, (0.1, 0.0, 0.0), (0.1, 0.2, 0.25, 0.01, -0.02, 0.03))
    place = Place((0.1, 0.2, 0.3), turned((1, 2, 3), 0.4))
    shapes = tuple(
        LinkShape(kind, size, place, color=(0.1, 0.2, 0.3, 1.0), touched=True, name=kind)
        for kind, size in (
            ("box", (0.1, 0.2, 0.3)),
            ("sphere", (0.1,)),
            ("cylinder", (0.1, 0.4)),
            ("capsule", (0.1, 0.4)),
            ("ellipsoid", (0.1, 0.2, 0.3)),
        )
    )
    links = (Link("world"), Link("a", heavy, shapes), Link("b", heavy), Link("c", heavy))
    joints = (
        LinkJoint("base", "free", "world", "a"),
        LinkJoint(
            "hinge", "revolute", "a", "b", place, (0.6, 0.0, 0.8),
            limits=JointLimits(-1.0, 2.0, None, 5.0), damping=0.1, friction=0.2, stiffness=0.3,
            rest=0.4, armature=0.5,
        ),
        LinkJoint("slide", "prismatic", "a", "c", place),
    )  # fmt: skip
    frames = (NamedFrame("tool", "c", place),)
    closures = (Closure("loop", ("b", place), ("c", Place()), "weld"),)
    before = Description("r", links, joints, frames, closures, (0.0, 1.0, -9.0))
    after = parse_mjcf(mjcf_text(before).text)
    assert after.gravity == before.gravity
    hinge, other = before.joints[1], after.joints[1]
    for name in ("limits", "damping", "friction", "stiffness", "rest", "armature"):
        assert getattr(hinge, name) == getattr(other, name)
    np.testing.assert_allclose(other.place.rotation, hinge.place.rotation, atol=1e-15)
    assert [s.kind for s in after.link("a").shapes] == [s.kind for s in shapes]
    for old, new in zip(shapes, after.link("a").shapes, strict=True):
        np.testing.assert_allclose(new.size, old.size, atol=1e-15)
        assert (new.color, new.touched, new.name) == (old.color, old.touched, old.name)
    assert after.link("a").mass == heavy
    assert after.closures[0].kind == "weld"
    assert {frame.name for frame in after.frames} == {"tool", "loop_a", "loop_b"}


def test_what_mjcf_cannot_hold_is_listed() -> None:
    mesh = LinkShape("mesh", mesh="package://robot/arm.dae")
    joint = LinkJoint("j", "revolute", "a", "b", limits=JointLimits(0.0, None, 2.0, None))
    two = Link("a"), Link("b", Mass(1.0), (mesh,))
    dropped = {entry.what for entry in mjcf_text(Description("r", two, (joint,))).dropped}
    assert dropped == {
        "meshes such as 'package://robot/arm.dae'",
        "masses or inertias of zero",
        "a limit on one side",
        "greatest speeds",
    }


# -- what is refused -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<robot/>", "starts with <mujoco>"),
        ('<!DOCTYPE mujoco [<!ENTITY a "b">]><mujoco/>', "DOCTYPE"),
        (_world('<replicate count="3"><body/></replicate>'), "<replicate> is not read"),
        (_world("<joint/>"), "<joint> stands right in the world"),
        (_body("", '<compiler coordinate="global"/>'), "global coordinates"),
        (_body("", '<compiler eulerseq="abc"/>'), "eulerseq"),
        (_body('<joint class="no"/>'), "class 'no', which is not there"),
        (_body('<joint axis="0 0 0"/>'), "axis of joint 'b_joint' is zero"),
        (_body('<joint type="screw"/>'), "use one of hinge, slide, ball, free"),
        (_body('<geom type="box" size="1 1"/>'), "2 numbers where 3"),
        (_body('<geom type="box" size="1 1 0"/>'), "not positive"),
        (_body('<geom size=".1" quat="1 0 0 0" euler="0 0 0"/>'), "turned by quat and by euler"),
        (_body('<geom size=".1" quat="0 0 0 0"/>'), "quat of <geom> is zero"),
        (_body('<geom type="mesh" mesh="m"/>'), "not among the assets"),
        (_body('<body name="b"/>'), "a second body is called 'b'"),
        (_body('<freejoint/><joint/>'), "a free joint stands alone"),
        (_body('<joint name="a"/><joint name="a"/>'), "joint is called 'a'"),
        (_body('<frame scale="2"><geom size=".1"/></frame>'), "scale, which is not read"),
        ('<mujoco><include file="x.xml"/></mujoco>', "text without a file"),
    ],
)  # fmt: skip
def test_faults_are_named(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_mjcf(text)


@pytest.mark.parametrize("name", ["../secret.xml", "/etc/hostname", "file:///etc/hostname"])
def test_files_outside_the_roots_are_not_included(name: str, tmp_path: Path) -> None:
    (tmp_path / "secret.xml").write_text("<mujoco/>")
    folder = tmp_path / "model"
    folder.mkdir()
    path = folder / "main.xml"
    path.write_text(f'<mujoco><include file="{name}"/></mujoco>')
    with pytest.raises(InputError, match="outside the folders"):
        read_mjcf(path)


def test_files_are_included_once(tmp_path: Path) -> None:
    path = tmp_path / "main.xml"
    path.write_text('<mujoco><include file="main.xml"/></mujoco>')
    with pytest.raises(InputError, match="included twice"):
        read_mjcf(path)


def test_a_root_that_is_declared_may_hold_includes(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "part.xml").write_text(_body("<joint/>"))
    (tmp_path / "model").mkdir()
    path = tmp_path / "model" / "main.xml"
    path.write_text('<mujoco><include file="../shared/part.xml"/></mujoco>')
    assert read_mjcf(path, roots=[tmp_path]).joints[0].kind == "revolute"


@pytest.mark.parametrize(
    "data",
    [b"", b"solid", b"\0" * 84, b"\0" * 80 + b"\xff" * 4, b"\xff" * 200, b"solid\nvertex 1 2"],
)
@pytest.mark.parametrize("ending", ["stl", "obj", "msh", "dae"])
def test_damaged_meshes_are_refused(data: bytes, ending: str, tmp_path: Path) -> None:
    (tmp_path / f"m.{ending}").write_bytes(data)
    path = tmp_path / "model.xml"
    asset = f'<asset><mesh name="m" file="m.{ending}"/></asset>'
    path.write_text(_body('<geom type="mesh" mesh="m"/>', asset))
    with pytest.raises(InputError):
        read_mjcf(path)


_WORDS = st.sampled_from(
    [
        "0", "1", "-1", "nan", "1e999", "1e308", "0 0 0", "1 2 3", "1 0 0 0", "b", "", "free",
        "ball", "mesh", "plane", "true", "auto", "é", "0 0 0 0 0 1", "-1 1", "capsule", "1e-320",
    ]
)  # fmt: skip
_NAMES = st.sampled_from(
    [
        "name", "class", "type", "pos", "quat", "euler", "axis", "range", "limited", "ref", "size",
        "fromto", "mass", "density", "mesh", "zaxis", "gear", "joint1", "polycoef", "body1", "file",
        "fullinertia", "diaginertia", "anchor", "childclass", "group", "boundmass", "angle",
    ]
)  # fmt: skip
_TAGS = st.sampled_from(
    [
        "body", "joint", "freejoint", "geom", "site", "inertial", "frame", "default", "compiler",
        "worldbody", "equality", "connect", "weld", "actuator", "motor", "asset", "mesh", "include",
        "option", "flag", "position",
    ]
)  # fmt: skip
_ATTRIBUTES = st.dictionaries(_NAMES, _WORDS, max_size=4).map(
    lambda given: "".join(f' {name}="{value}"' for name, value in given.items())
)
_ELEMENTS = st.recursive(
    st.builds("<{}{}/>".format, _TAGS, _ATTRIBUTES),
    lambda inner: st.builds(
        lambda tag, attributes, children: f"<{tag}{attributes}>{''.join(children)}</{tag}>",
        _TAGS,
        _ATTRIBUTES,
        st.lists(inner, max_size=4),
    ),
    max_leaves=12,
)


@settings(max_examples=examples(60, daily=25), deadline=None)
@given(st.lists(_ELEMENTS, max_size=5).map("".join))
def test_any_elements_are_read_or_refused(elements: str) -> None:
    """Whatever is not a robot is an error of ours, never another exception."""
    try:
        mjcf_text(parse_mjcf(f"<mujoco>{elements}</mujoco>"))
    except Error:
        return


@settings(max_examples=examples(75, daily=30), deadline=None)
@given(st.sampled_from(MODELS), st.integers(0, 10**6), st.binary(max_size=4), st.integers(0, 6))
def test_a_damaged_file_is_read_or_refused(path: Path, at: int, junk: bytes, cut: int) -> None:
    data = path.read_bytes()
    at %= len(data)
    try:
        parse_mjcf(data[:at] + junk + data[at + cut :], file=str(path))
    except Error:
        return


def test_a_long_chain_is_read_and_written() -> None:
    """No walk over bodies is recursive."""
    count = 1500
    heavy = Mass(1.0, inertia=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    links = (Link("world"), *(Link(f"l{k}", heavy) for k in range(count)))
    names = ["world", *(f"l{k}" for k in range(count))]
    joints = tuple(
        LinkJoint(f"j{k}", "revolute", names[k], names[k + 1], Place((0.0, 0.0, 1.0)))
        for k in range(count)
    )
    after = parse_mjcf(mjcf_text(Description("chain", links, joints)).text)
    assert [joint.name for joint in after.joints] == [joint.name for joint in joints]
    deep = "<body>" * 300 + '<include file="x.xml"/>' + "</body>" * 300
    with pytest.raises(InputError, match="included deeper"):
        parse_mjcf(_world(deep), file="model.xml")
