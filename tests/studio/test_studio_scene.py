"""Scenes and poses: against the poses of robots, closed forms, and what the models are."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import linkwright as lw
from linkwright.formats.meshes.collada import read_collada
from linkwright.formats.robot.description import Description
from linkwright.formats.robot.transforms import quaternion_rotation
from linkwright.formats.urdf.writer import urdf_text
from linkwright.mechanism import mechanism_of
from linkwright.scene.body_geometry import Geometry
from linkwright.scene.motions import open_motion, recorded_motion
from linkwright.scene.previews import limits_of, swing
from linkwright.scene.scene import Scene, scene_of
from linkwright.scene.solids import KINDS, Solid, surfaces_of, within_budget
from linkwright.scene.triangles import creased, sphere, thinned, volume
from linkwright.scene.viewpoint import upright
from linkwright.studio.playback import Player, Track
from tests.seeds import cases
from tests.support.shipped_models import DIFFERENT

ROBOTS = Path(__file__).parents[1] / "robots"


@pytest.mark.parametrize("file", ["quadruped.urdf", "gripper.urdf", "oblique_arm.urdf"])
def test_poses_of_links_are_those_of_the_robot(file: str) -> None:
    robot = lw.load(ROBOTS / file)
    scene = scene_of(robot)
    q = robot.random(5, seed=3)
    assert scene.poses.coordinates == robot.coordinates
    where = scene.poses(q)
    for marked in cases(scene.frames, daily=5):
        for k in range(len(q)):
            row = where.poses[k, marked.node]
            turn = np.array(quaternion_rotation([float(x) for x in row[3:]]))
            place = row[:3] + turn @ np.array(marked.place.position)
            expected = robot.pose(q[k], marked.name)
            np.testing.assert_allclose(place, expected[:3, 3], atol=1e-9)
            full = turn @ np.array(marked.place.rotation)
            np.testing.assert_allclose(full, expected[:3, :3], atol=1e-9)


def test_mass_center_of_a_robot() -> None:
    robot = lw.load(ROBOTS / "quadruped.urdf")
    q = robot.random(4, seed=5)
    center = np.array([robot.center_of_mass(x) for x in q])
    np.testing.assert_allclose(scene_of(robot).poses(q).center, center, atol=1e-9)


@pytest.mark.parametrize(
    "name",
    cases(sorted(set(DIFFERENT) - {"joint-drive"}), daily=5),  # which has no bodies
)
def test_every_shipped_model_has_a_scene_with_solids_that_move(name: str) -> None:
    scene = scene_of(mechanism_of(name))
    assert any(node.moves and node.solids for node in scene.nodes)
    sizes = [len(s.faces) for parts in scene.surfaces for s in parts]
    assert sum(sizes) < 60_000
    for parts in scene.surfaces:
        for s in parts:
            assert np.isfinite(s.points).all()


def test_ends_of_a_strut_point_at_each_other() -> None:
    m = lw.load("four-bar")
    scene = scene_of(m)
    first, second = scene.index("strut"), scene.index("strut end")
    q = np.random.default_rng(1).normal(size=(20, 3))
    poses = scene.poses(q).poses
    for row in poses:
        for a, b in ((first, second), (second, first)):
            z = np.array(quaternion_rotation([float(x) for x in row[a, 3:]]))[:, 2]
            span = row[b, :3] - row[a, :3]
            np.testing.assert_allclose(z, span / np.linalg.norm(span), atol=1e-9)


def test_a_driven_strut_is_drawn_between_its_ends_and_its_length_is_no_body() -> None:
    """A jack without a spring, whose halves meet; the coordinate itself has no solid."""
    scene = scene_of(mechanism_of("mount-truss-2"))
    names = [node.name for node in scene.nodes]
    assert {"member12 strut", "member12 strut end", "member23 strut"} <= set(names)
    length = scene.nodes[names.index("member12")]
    assert not length.solids
    barrel = scene.nodes[names.index("member12 strut")]
    assert {s.kind for s in barrel.solids} == {"cylinder", "sphere"}
    assert any(s.kind == "dish" for s in scene.nodes[names.index("platform")].solids)
    assert scene.nodes[0].solids  # the pedestal


def test_wheels_have_the_radius_that_they_roll_with() -> None:
    cart = Geometry(lw.load("cart"))
    assert {b.name: round(r, 9) for b, r in cart.wheels.items()} == dict.fromkeys(
        ("lrw", "rrw", "lfw", "rfw"), 0.2
    )
    bicycle = Geometry(lw.load("whipple"))
    assert {b.name: round(r, 9) for b, r in bicycle.wheels.items()} == {"rear": 0.3, "front": 0.35}


def test_values_of_parameters_move_what_hangs_on_them() -> None:
    scene = scene_of(lw.load("double-pendulum"))
    lower = scene.index("lower")
    longer = scene.poses.with_parameters({"L1": 2.0})
    np.testing.assert_allclose(scene.poses([0.0, 0.0]).poses[lower, :3], [0, -1, 0], atol=1e-12)
    np.testing.assert_allclose(longer([0.0, 0.0]).poses[lower, :3], [0, -2, 0], atol=1e-12)


@pytest.mark.parametrize("name", ["pendulum", "whipple", "spacecraft-2"])
def test_upright_poses_turn_gravity_down_and_keep_their_sign(name: str) -> None:
    scene = scene_of(lw.load(name))
    np.testing.assert_allclose(scene.upright @ np.array(scene.up), [0, 0, 1], atol=1e-12)
    q = np.cumsum(np.random.default_rng(2).normal(size=(50, len(scene.poses.start))), axis=0) * 0.2
    plain = scene.poses(q).poses
    turned = upright(scene, plain)
    for k in (0, 7, 49):
        for a, b in zip(plain[k], turned[k], strict=True):
            expected = scene.upright @ np.array(quaternion_rotation([float(x) for x in a[3:]]))
            found = np.array(quaternion_rotation([float(x) for x in b[3:]]))
            np.testing.assert_allclose(found, expected, atol=1e-9)
    steps = np.einsum("tnk,tnk->tn", turned[1:, :, 3:], turned[:-1, :, 3:])
    assert (steps >= 0).all()


# -- solids ----------------------------------------------------------------------------------------
SIZES: dict[str, tuple[tuple[float, ...], float | None]] = {
    "box": ((1.0, 2.0, 3.0), 6.0),
    "sphere": ((0.5,), 4 / 3 * np.pi * 0.125),
    "cylinder": ((0.5, 2.0), 0.5 * np.pi),
    "capsule": ((0.5, 2.0), 0.5 * np.pi + 4 / 3 * np.pi * 0.125),
    "ellipsoid": ((1.0, 0.5, 0.25), 4 / 3 * np.pi * 0.125),
    "cone": ((1.0, 0.5, 3.0), np.pi * (1 + 0.5 + 0.25)),
    "plane": ((1.0, 1.0), None),
    "dish": ((1.0, 0.3, 0.02), None),
    "tire": ((0.3, 0.1), None),
    "rim": ((0.3, 0.1), None),
    "spokes": ((0.3, 12.0, 0.005), None),
    "bars": ((0.1, 0.05, 0.0, 0.0, 1.0, 0.0), 0.05 * (0.2 + np.pi * 0.01)),
    "x-cylinder": ((1.0, 2.0, 64), 0.5 * np.pi),
    "x-cone": ((2.0, 1.0, 3.0, 64), np.pi * (1 + 0.5 + 0.25)),
    "x-box": ((2.0, 0.5, 0.25), 1.0),
    "trapezoid": ((2.0, 0.5, 0.5, 0.25), 1.5),
    "half-trapezoid": ((2.0, 0.5, 0.5, 0.25), 0.75),
    "truss": ((0.2, 0.3, 4.0), None),
    "hull": ((0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1), 1 / 6),
}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_solids_are_closed_and_as_large_as_they_say(kind: str) -> None:
    size, expected = SIZES[kind] if kind in SIZES else (SIZES[kind.removesuffix(" wire")][0], None)
    surface = surfaces_of([Solid(kind, size)])[0]
    assert volume(surface) > 0
    if expected is not None:
        assert volume(surface) == pytest.approx(expected, rel=0.05)
    a, b, c = (surface.points[surface.faces[:, k]] for k in range(3))
    leak = np.cross(b - a, c - a).sum(axis=0)  # vanishes for a closed surface
    assert np.abs(leak).max() < 1e-9


def test_creases_split_vertices_and_smooth_edges_share_them() -> None:
    cube = surfaces_of([Solid("hull", tuple(float(x) for p in np.ndindex(2, 2, 2) for x in p))])[0]
    assert len(cube.points) == 24
    ball = sphere(1.0, 24)
    fine = creased(ball.points, ball.faces)
    assert len(fine.points) == 24 * 11 + 2


@settings(max_examples=6, deadline=None)
@given(st.integers(200, 4000))
def test_thinned_surfaces_keep_to_their_budget_and_outline(most: int) -> None:
    whole = sphere(1.0, 64)
    thin = thinned(whole, most)
    assert len(thin.faces) <= most
    assert np.abs(thin.points).max() > 0.8
    shared = within_budget([[whole], [sphere(0.1, 8)]], most + 200)
    assert sum(len(s.faces) for parts in shared for s in parts) <= most + 200


def test_collada_places_scales_and_colors(tmp_path: Path) -> None:
    file = tmp_path / "part.dae"
    file.write_text(
        """<COLLADA><asset><unit meter="0.01"/><up_axis>Y_UP</up_axis></asset>
        <library_effects><effect id="e"><profile_COMMON><technique><lambert><diffuse>
        <color>1 0.5 0 1</color></diffuse></lambert></technique></profile_COMMON></effect>
        </library_effects><library_materials><material id="m"><instance_effect url="#e"/>
        </material></library_materials><library_geometries><geometry id="g"><mesh>
        <source id="p"><float_array>0 0 0 1 0 0 0 1 0 0 0 1</float_array>
        </source><vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
        <polylist material="s" count="1"><input semantic="VERTEX" source="#v" offset="0"/>
        <vcount>4</vcount><p>0 1 2 3</p></polylist></mesh></geometry></library_geometries>
        <library_visual_scenes><visual_scene><node><translate>10 0 0</translate>
        <instance_geometry url="#g"><bind_material><technique_common><instance_material symbol="s"
        target="#m"/></technique_common></bind_material></instance_geometry></node></visual_scene>
        </library_visual_scenes></COLLADA>"""
    )
    (surface,) = read_collada(file)
    assert surface.color == (1.0, 0.5, 0.0, 1.0)
    assert len(surface.faces) == 2
    np.testing.assert_allclose(surface.points[0], [0.1, 0, 0])
    np.testing.assert_allclose(surface.points[2], [0.1, 0.01, 0], atol=1e-12)


@pytest.mark.parametrize("up", ["X_UP", "Y_UP", "Z_UP"])
def test_collada_lies_as_for_pinocchio_whatever_axis_it_names(tmp_path: Path, up: str) -> None:
    file = tmp_path / "part.dae"
    file.write_text(
        f"""<?xml version="1.0"?>
        <COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
        <asset><unit name="meter" meter="1"/><up_axis>{up}</up_axis></asset>
        <library_geometries><geometry id="g"><mesh><source id="p">
        <float_array id="f" count="12">0 0 0 1 0 0 0 2 0 0 0 3</float_array>
        <technique_common><accessor source="#f" count="4" stride="3"><param name="X" type="float"/>
        <param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common>
        </source><vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
        <triangles count="2"><input semantic="VERTEX" source="#v" offset="0"/>
        <p>0 1 2 0 2 3</p></triangles></mesh></geometry></library_geometries>
        <library_visual_scenes><visual_scene id="s"><node><translate>10 20 30</translate>
        <rotate>1 0 0 30</rotate><instance_geometry url="#g"/></node></visual_scene>
        </library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>"""
    )
    coal = import_module("coal")  # reads the meshes of Pinocchio's robots
    expected = np.array(coal.MeshLoader().load(str(file), np.ones(3)).vertices())
    points = np.concatenate([s.points for s in read_collada(file)])
    np.testing.assert_allclose(points.min(axis=0), expected.min(axis=0), atol=1e-7)
    np.testing.assert_allclose(points.max(axis=0), expected.max(axis=0), atol=1e-7)


# -- takes and playback ----------------------------------------------------------------------------
def test_a_recording_of_a_known_model_moves_it_as_it_was_recorded() -> None:
    run = lw.simulate(lw.load("pendulum"), 1.0, step=0.05)
    motion = recorded_motion("run", run.recording)
    assert motion.scene is not None
    assert motion.q is not None
    track = Track(motion)
    poses, center, _ = track.at(0.5)
    phi = float(run["phi"][10])
    expected = [np.sin(phi), 0.0, -np.cos(phi)]  # display axes: y is up in the model, z here
    np.testing.assert_allclose(center, expected, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(poses[:, 3:], axis=1), 1, atol=1e-12)


def test_a_recording_of_an_unknown_model_says_so_and_keeps_its_plots() -> None:
    recording = lw.Recording([0, 1], [lw.Channel("x", "m")], [[0], [1]], {"model": "thing"})
    motion = recorded_motion("run", recording)
    assert motion.scene is None
    assert "'thing' is not a shipped model" in motion.notes[0]


def test_missing_coordinates_are_told() -> None:
    recording = lw.Recording([0, 1], [lw.Channel("phi1", "rad")], [[0], [1]])
    motion = recorded_motion("run", recording, "double-pendulum")
    assert motion.q is not None
    assert "phi2" in motion.notes[0]


def test_a_swing_keeps_within_the_limits() -> None:
    scene: Scene = scene_of(lw.load(ROBOTS / "oblique_arm.urdf"))
    made = swing(scene)
    low, high = limits_of(scene).T
    assert (made.data >= low - 1e-9).all()
    assert (made.data <= high + 1e-9).all()
    assert np.ptp(made.data, axis=0).max() > 0.1


def test_player_loops_or_stops_at_the_end() -> None:
    seen: list[float] = []
    player = Player(1.0, 3.0, rate=10)
    player.listeners.append(seen.append)
    player.playing = True
    player.advance(2.5)
    assert seen[-1] == pytest.approx(1.5)
    player.loop = False
    player.advance(9.0)
    assert (player.time, player.playing) == (3.0, False)
    player.step(-2)
    assert player.time == pytest.approx(2.8)


def test_a_robot_file_opens_as_a_swinging_robot() -> None:
    motion = open_motion(str(ROBOTS / "quadruped.urdf"))
    assert motion.q is not None
    assert len(motion.recording) > 100


def test_links_with_inertias_that_cannot_be_are_drawn() -> None:
    m = lw.Mechanism("odd")
    arm = m.body("arm", rotate="z", mass=1, com=(0.5, 0, 0), inertia=0.1)
    m.body("last", parent=arm, at=(1, 0, 0), rotate="z", mass=1, com=(0.2, 0, 0), inertia=-0.1)
    node = scene_of(m).nodes[-1]
    assert node.name == "last"
    assert node.solids


def _same_shapes(one: Scene, other: Scene) -> None:
    assert [n.name for n in one.nodes] == [n.name for n in other.nodes]
    for mine, theirs in zip(one.surfaces, other.surfaces, strict=True):
        assert len(mine) == len(theirs)
        for a, b in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(a.points, b.points, atol=1e-12)
    q = one.poses.start
    np.testing.assert_allclose(one.poses(q).poses, other.poses(q).poses, atol=1e-12)


@pytest.mark.parametrize("name", ["pendulum", "four-bar", "slider-crank", "stanford-arm", "cart"])
def test_a_scene_at_other_values_is_the_scene_of_a_model_with_these_values(name: str) -> None:
    model = lw.load(name)
    first = scene_of(model)
    changed = {n: 1.2 * v for n, v in model.values.items() if n in model.parameters}
    other = first.with_parameters(changed)
    _same_shapes(other, scene_of(lw.load(name), values=changed))
    _same_shapes(first, scene_of(lw.load(name)))  # the old one keeps its shapes
    with pytest.raises(AssertionError):
        _same_shapes(first, other)


def test_a_dressed_scene_at_other_values_keeps_its_dress() -> None:
    scene = scene_of(lw.load("stanford-arm")).decorated("work-cell")
    longer = scene.with_parameters({"L2": 0.5})
    assert [n.name for n in longer.nodes] == [n.name for n in scene.nodes]
    assert longer.poses.values["L2"] == 0.5
    assert longer.looked_from == scene.looked_from


_DAE = """<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><up_axis>Z_UP</up_axis></asset>
<library_effects><effect id="e"><profile_COMMON><technique sid="t"><lambert>
<diffuse><color>0.1 0.2 0.3 1</color></diffuse></lambert></technique></profile_COMMON></effect>
</library_effects>
<library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="pa" count="9">0 0 0 1 0 0 0 1 0</float_array>
<technique_common><accessor source="#pa" count="3" stride="3"/></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="1" material="a"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p>
</triangles></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node><instance_geometry url="#g"><bind_material>
<technique_common><instance_material symbol="a" target="#m"/></technique_common></bind_material>
</instance_geometry></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""
_OWN, _RED = (0.1, 0.2, 0.3, 1.0), (1.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("material", "wanted"),
    [
        ("", _OWN),
        ('<material name=""><color rgba="1 0 0 1"/></material>', _OWN),
        ('<material name="white"><color rgba="1 1 1 1"/></material>', _OWN),
        ('<material name="signal"><color rgba="1 0 0 1"/></material>', _RED),
    ],
    ids=["none", "nameless", "white", "named"],
)
def test_colors_of_a_mesh_count_before_materials_that_say_nothing(
    tmp_path: Path, material: str, wanted: tuple[float, ...]
) -> None:
    (tmp_path / "part.dae").write_text(_DAE)
    (tmp_path / "robot.urdf").write_text(
        f"""<robot name="r"><link name="a"><visual><geometry><mesh filename="part.dae"/>
        </geometry>{material}</visual></link></robot>"""
    )
    robot = lw.load(tmp_path / "robot.urdf")
    (surface,) = scene_of(robot).surfaces[0]
    assert surface.color == wanted
    assert isinstance(robot.source, Description)
    (tmp_path / "again.urdf").write_text(urdf_text(robot.source).text)
    (again,) = scene_of(lw.load(tmp_path / "again.urdf")).surfaces[0]
    assert again.color == wanted


def test_a_link_that_is_only_touched_is_drawn_by_what_touches(tmp_path: Path) -> None:
    (tmp_path / "robot.urdf").write_text(
        """<robot name="r"><link name="a"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
        <collision><origin xyz="0 0 0.5"/><geometry><box size="0.2 0.4 0.6"/></geometry>
        </collision></link><link name="b"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
        <visual><geometry><sphere radius="0.1"/></geometry></visual>
        <collision><geometry><sphere radius="0.3"/></geometry></collision></link>
        <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>"""
    )
    scene = scene_of(lw.load(tmp_path / "robot.urdf"))
    box, ball = (np.concatenate([s.points for s in parts]) for parts in scene.surfaces)
    np.testing.assert_allclose(np.ptp(box, axis=0), [0.2, 0.4, 0.6])
    assert np.abs(ball).max() == pytest.approx(0.1)
