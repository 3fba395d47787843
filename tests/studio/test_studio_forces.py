"""Forces and contact points in pictures: recorded, live and on pages; robots on the ground."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.elements import Contact, LinearTire, Plane, Tire
from linkwright.formats.robot.description import Description, Link, LinkJoint
from linkwright.pages.page import page_text, write_page
from linkwright.robots import Robot
from linkwright.scene.arrow_shapes import faces_of, points_of, sizes, starts_of
from linkwright.scene.forces import ForceFrames, ForceTrack, force_track, reference_of, scale_of
from linkwright.scene.motions import SceneMotion, open_motion, scene_motion
from linkwright.scene.scene import Scene, scene_of
from linkwright.scene.stance import _limbs, footing_of, walks
from linkwright.scene.viewpoint import upright
from linkwright.studio.arrows import Marks
from linkwright.studio.display import motion_of
from linkwright.studio.live import Live
from linkwright.studio.live_system import plant_of
from linkwright.studio.server import Studio
from tests.seeds import seldom
from tests.studio.test_studio_following import check_sliders
from tests.support.chromium import opened
from tests.support.waiting import soon

QUADRUPED = Path("tests/robots/quadruped.urdf")
ARM = Path("tests/robots/oblique_arm.urdf")
RED = """() => {
    const canvas = $("view"), gl = canvas.getContext("webgl2"), w = canvas.width, h = canvas.height;
    const pixels = new Uint8Array(4 * w * h);
    gl.readPixels(0, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
    return pixels.filter((v, i) => i % 4 === 0 && v > pixels[i + 1] + 90).length;
}"""
"""How many pixels of a page's scene are red."""

COUNTED = """window.drawn = { all: 0, sizes: {} };
const drawing = WebGL2RenderingContext.prototype;
drawing.drawArrays = drawing.drawElementsInstanced = drawing.drawArraysInstanced = () => {};
drawing.drawElements = (_, size) => { drawn.all += 1; drawn.sizes[size] = true; };"""
"""Counts what the studio would draw, and with how many corners of triangles."""

MASS, HALF = 2.0, (0.2, 0.1, 0.05)
CORNERS = [(x, y, -HALF[2]) for x in (HALF[0], -HALF[0]) for y in (HALF[1], -HALF[1])]


def box_on_the_floor() -> lw.System:
    """A box of 2 kg whose four lower corners can touch the floor."""
    m = lw.Mechanism("box")
    edges = np.array(HALF) * 2
    inertia = tuple(MASS / 12 * (edges @ edges - e**2) for e in edges)
    box = m.body("box", translate="xyz", rotate="xyz", mass=MASS, inertia=inertia)
    m.gravity()
    system = lw.System(m, base=2000)
    points = [m.point(f"p{k}", box, corner) for k, corner in enumerate(CORNERS)]
    floor = Contact(m, points, Plane(), stiffness=2e4, damping=150, static=0.5, dynamic=0.4)
    system.add(floor, name="floor")
    return system


def box_run(speed: float, until: float) -> tuple[Scene, lw.Recording]:
    system = box_on_the_floor()
    start = {"box.z": HALF[2] - MASS * 9.81 / (4 * 2e4), "box.u": speed}
    run = lw.simulate(system, until, method="semi-implicit", initial=start)
    return scene_of(system.mechanism), run.recording


def tracked(scene: Scene, recording: lw.Recording) -> tuple[ForceTrack, np.ndarray[Any, Any]]:
    q = np.column_stack([recording[n] for n in scene.poses.coordinates])
    poses = upright(scene, scene.poses(q).poses)
    found = force_track(scene, recording, slice(None), poses)
    assert found is not None
    return found, poses


@pytest.fixture(scope="module")
def resting_box() -> tuple[Scene, lw.Recording]:
    return box_run(0.0, 1.0)


# -- recordings ------------------------------------------------------------------------------------
def test_the_arrows_of_a_box_at_rest_are_its_weight_and_stand_at_its_corners(
    resting_box: tuple[Scene, lw.Recording],
) -> None:
    track, poses = tracked(*resting_box)
    last = track.between(len(track.forces) - 1, len(track.forces) - 1, 0.0, poses[-1])
    assert last.forces.sum(axis=0) == pytest.approx([0, 0, MASS * 9.81], abs=1e-3)
    assert last.forces[:, 2] == pytest.approx(MASS * 9.81 / 4, rel=1e-4)
    on_floor = np.array([(x, y, 0.0) for x, y, _ in CORNERS])
    assert last.points == pytest.approx(on_floor, abs=5e-4)
    assert last.touching.all()


def test_a_box_that_slides_shows_friction_against_its_motion() -> None:
    scene, recording = box_run(2.0, 0.2)
    track, _ = tracked(scene, recording)
    total = track.forces[-1].sum(axis=0)
    assert recording["box.u"][-1] > 0.5
    assert total[0] == pytest.approx(-0.4 * MASS * 9.81, rel=0.02)


def test_a_force_by_magnitude_turns_with_its_body_and_one_along_the_world_does_not() -> None:
    m = lw.Mechanism("spinner")
    rod = m.body("rod", rotate="z", mass=1, inertia=1)
    tip = m.point("tip", rod, (1, 0, 0))
    jet = lw.Element("jet", m)
    jet.force("thrust", 3.0, at=tip, along=rod.frame.y)
    jet.force("wind", 2.0, at=tip, along="x")
    system = lw.System(m)
    system.add(jet)
    run = lw.simulate(system, 1.0)
    track, poses = tracked(scene_of(m), run.recording)
    angle = run["rod"]
    k = len(angle) // 2
    wanted = 3 * np.array([-np.sin(angle[k]), np.cos(angle[k]), 0])
    scene = track.arrows.scene
    assert track.forces[k, 0] == pytest.approx(scene.upright @ wanted, abs=1e-5)
    assert track.forces[k, 1] == pytest.approx(scene.upright @ [2, 0, 0], abs=1e-5)
    at = track.arrows.points(poses)[k, 0]
    assert at == pytest.approx(scene.upright @ [np.cos(angle[k]), np.sin(angle[k]), 0], abs=1e-6)


def test_a_tire_that_slips_to_the_left_is_pushed_to_the_right_wherever_the_car_heads() -> None:
    m = lw.Mechanism("car")
    car = m.body("car", translate="xy", rotate="z", mass=1000, inertia=(0, 0, 1500))
    system = lw.System(m)
    law = LinearTire(cornering=8e4)
    frame = car.frame
    tire = Tire(m, car, law, forward=frame.x, left=frame.y, load=9810.0)
    system.add(tire)
    heading = 0.7
    run = lw.simulate(system, 0.001, initial={"car.rz": heading, "car.u": 10.0, "car.v": 2.0})
    track, _ = tracked(scene_of(m), run.recording)
    force = np.array([run[f"tire.force_{c}"][-1] for c in "xyz"])
    assert track.forces[-1, 0] == pytest.approx(track.arrows.scene.upright @ force, abs=1e-3)
    side = run["tire.lateral"][-1]
    left = np.array([-np.sin(heading), np.cos(heading), 0])
    assert force @ left == pytest.approx(side, rel=1e-3)
    assert abs(side) > 100


def test_channels_that_were_not_recorded_leave_their_arrows_out() -> None:
    system = box_on_the_floor()
    names = [*(f"box.{c}" for c in "xyz"), *(f"floor.force1_{c}" for c in "xyz")]
    run = lw.simulate(system, 0.01, method="semi-implicit", record=names)
    assert [told["name"] for told in run.recording.metadata["forces"]] == ["floor.force1"]
    assert "touch" not in run.recording.metadata["forces"][0]


def test_arrows_that_are_told_wrongly_are_left_out(resting_box: tuple[Scene, lw.Recording]) -> None:
    scene, recording = resting_box
    good = recording.metadata["forces"][0]
    for wrong in ({**good, "body": "nobody"}, {**good, "at": [1, 2]}, {"name": "x"}, "force", 7):
        about = {**recording.metadata, "forces": [wrong, good]}
        other = lw.Recording(recording.times, recording.channels, recording.data, about)
        track, _ = tracked(scene, other)
        assert track.arrows.names == ("floor.force1",)


def test_the_usual_arrow_has_the_usual_length_and_small_forces_none() -> None:
    scale = scale_of(100.0, 2.0)
    lengths = scale.lengths(np.array([[0, 0, 100.0], [0, 0.5, 0], [1e6, 0, 0]]))
    assert lengths[0] == pytest.approx([0, 0, 0.64])
    assert not lengths[1].any()
    assert lengths[2] == pytest.approx([2.0, 0, 0])  # cut


def test_forces_of_a_mechanism_are_computed_again_from_its_states() -> None:
    model = lw.load("car")  # whose tire forces are outputs, too
    run = lw.simulate(model, 1.0)
    track, poses = tracked(scene_of(model), run.recording)
    assert track.arrows.names == ("FY1", "FY2")
    sizes = np.linalg.norm(track.forces, axis=2)
    assert sizes == pytest.approx(np.abs(np.stack([run["FY1"], run["FY2"]], axis=1)), abs=1e-3)
    front, rear = np.moveaxis(track.arrows.points(poses), 1, 0)
    assert np.linalg.norm(front - rear, axis=1) == pytest.approx(model.values["L"])
    assert track.reference == pytest.approx(np.quantile(sizes.max(axis=1), 0.9))


def test_a_strut_pushes_both_of_its_ends_and_what_is_not_known_is_left_out() -> None:
    m = lw.Mechanism("pair")
    a, b = (m.body(name, translate="x", mass=1) for name in "ab")
    m.strut("spring", "-10*(x - 1)", at=a, to=b)
    m.force("push", m.input("F", unit="N"), at=a, along="x")
    system = lw.System(m)
    gain = lw.Block("gain")
    gain.output("y", gain.input("u", 0.0))
    system.add(gain)
    system.connect("3*sin(t)", "gain.u")
    system.connect("gain.y", "F")
    run = lw.simulate(system, 0.1, initial={"b": 3.0}, record=["a", "b"])  # not what drives it
    assert motion_of(run).notes == (
        "push: no arrow is shown, since gain.y is not in the recording",
    )
    track, poses = tracked(scene_of(m), run.recording)
    assert track.arrows.names == ("spring", "spring back")
    along = track.arrows.scene.upright @ [1.0, 0, 0]
    stretch = run["b"] - run["a"] - 1
    assert track.forces[:, 0] @ along == pytest.approx(10 * stretch, rel=1e-5)
    assert track.forces[:, 1] == pytest.approx(-track.forces[:, 0], rel=1e-5)
    pulled = track.between(0, 0, 0.0, poses[0])  # each arrow ends at its end of the strut
    ways = scale_of(track.reference, 1.0).lengths(pulled.forces)
    starts, cut = starts_of(pulled.points, ways, pulled.ending, 1.0, None)
    assert starts + ways == pytest.approx(pulled.points)
    assert not cut.any()
    pushed = track.arrows.ending(poses[0], -pulled.forces)
    assert not pushed.any()  # and starts there where the strut pushes: it is outside of it


def test_arrows_touch_their_points_and_stay_above_the_ground() -> None:
    points = np.array([[0.0, 0, 1], [0, 0, 1], [0, 0, 0]])
    ways = np.array([[0.0, 0, -1.5], [0, 0, 1.5], [0, 0, 0.5]])
    starts, cut = starts_of(points, ways, np.array([False, True, False]), 1.0, 0.0)
    assert starts == pytest.approx(np.array([[0, 0, 2.5], [0, 0, -0.5], [0, 0, 0]]))
    assert cut == pytest.approx([0, 0.5, 0])
    assert points_of(starts, ways, 1.0, cut)[:, 2].min() == pytest.approx(0.0)


def test_an_arrow_of_any_length_has_a_shaft_and_a_tip() -> None:
    long = np.array([0.02, 0.05, 0.14, 0.15, 0.3, 1.0])
    head, wide, thin = sizes(2 * long, 2.0).T
    assert (head < 0.5 * 2 * long).all()
    assert (thin < 0.5 * wide).all()
    assert np.ptp((head / (2 * long))[:4]) == pytest.approx(0.0)  # the same arrow, smaller
    starts = np.arange(18.0).reshape(6, 3)
    ways = 2 * long[:, None] * np.array([0.6, 0.0, -0.8])
    corners = points_of(starts, ways, 2.0).reshape(6, -1, 3) - starts[:, None]
    along = corners @ [0.6, 0.0, -0.8]
    assert along.min(axis=1) == pytest.approx(0.0, abs=1e-9)
    assert along.max(axis=1) == pytest.approx(2 * long)
    off = np.linalg.norm(corners - along[..., None] * [0.6, 0.0, -0.8], axis=2)
    assert off.max(axis=1) == pytest.approx(wide)
    assert [off[k][along[k] > 1.99 * long[k]].max() for k in range(6)] == pytest.approx(
        [0.0] * 6, abs=1e-9
    )
    faces = faces_of(6)
    each = corners.shape[1]
    assert faces.max() == 6 * each - 1
    assert (faces // each == faces[:, :1] // each).all()  # none from one arrow to another


@pytest.mark.parametrize("ending", ["npz", "csv"])
def test_forces_and_the_ground_come_back_from_files(tmp_path: Path, ending: str) -> None:
    system = box_on_the_floor()
    run = lw.simulate(system, 0.05, method="semi-implicit", initial={"box.z": 0.0499})
    run.save(tmp_path / f"box.{ending}")
    motion = open_motion(str(tmp_path / f"box.{ending}"))
    assert motion.scene is not None
    assert motion.scene.floor == 0.0
    track, _ = tracked(motion.scene, motion.recording)
    up = sum(run[f"floor.force{k}_z"][-1] for k in (1, 2, 3, 4))
    assert track.forces[-1].sum(axis=0)[2] == pytest.approx(up, rel=1e-6)


# -- live ------------------------------------------------------------------------------------------
def test_live_and_recorded_forces_agree() -> None:
    system = box_on_the_floor()
    system.set_initial({"box.z": 0.06, "box.u": 0.3})
    scene = scene_of(system.mechanism)
    live = Live(plant_of(system), scene)
    live.advance(480)
    recording = live.recording()
    track, poses = tracked(scene, recording)
    arrows, shown = live.forces(live.latest, poses[-1]) or pytest.fail("it has forces")
    assert recording.times[-1] == live.latest.time
    assert arrows.names[:4] == track.arrows.names
    assert shown.forces[:4] == pytest.approx(track.forces[-1], abs=1e-4)
    assert (shown.touching[:4] == track.touching[-1]).all()
    assert shown.forces[:4].sum(axis=0)[2] == pytest.approx(MASS * 9.81, rel=1e-2)


def test_a_push_is_an_arrow_at_the_mass_center_while_it_acts() -> None:
    system = box_on_the_floor()
    system.set_initial({"box.z": 1.0})
    scene = scene_of(system.mechanism)
    live = Live(plant_of(system), scene)
    live.push("box", np.array([0.0, 5.0, 0.0]))
    live.advance(1)

    def pulled() -> np.ndarray[Any, Any]:
        poses = upright(scene, live.poses(live.coordinates()).poses[None])[0]
        found = live.forces(live.latest, poses)
        assert found is not None
        arrows, shown = found
        return np.asarray(shown.forces[arrows.names.index("pull at box")])

    assert pulled() == pytest.approx([0, 5.0 / 0.05, 0])
    live.advance(60)
    assert not pulled().any()


# -- robots on the ground --------------------------------------------------------------------------
@pytest.fixture(scope="module")
def standing() -> Live:
    robot = Robot(QUADRUPED)
    scene = scene_of(robot)
    footing = footing_of(scene, -0.1)
    assert footing is not None
    feet = tuple(t for t in footing.touches if t.foot)
    assert 4 == len(feet) < len(footing.touches)
    footing = replace(footing, touches=feet)
    start = dict(zip(scene.poses.coordinates, map(float, footing.start), strict=True))
    return Live(plant_of(robot, start, footing=footing), scene)


def _shown(live: Live) -> ForceFrames:
    poses = upright(live.scene, live.poses(live.coordinates()).poses[None])[0]
    found = live.forces(live.latest, poses)
    assert found is not None
    return found[1]


def test_a_quadruped_stands_on_its_feet_and_the_ground_carries_its_weight(standing: Live) -> None:
    standing.reset()
    standing.advance(480)
    shown = _shown(standing)
    mass = sum(node.mass for node in standing.scene.nodes)
    assert shown.forces.sum(axis=0) == pytest.approx([0, 0, 9.81 * mass], rel=0.01, abs=0.5)
    feet = shown.touching
    assert feet.sum() == 4
    assert shown.points[feet][:, 2] == pytest.approx(-0.1, abs=0.005)
    assert np.ptp(shown.points[feet][:, :2], axis=0).min() > 0.1  # one under each corner


def test_sliders_of_a_robot_on_its_feet_offer_what_makes_sense(standing: Live) -> None:
    check_sliders(standing.plant)


@seldom(daily="test_a_quadruped_stands_on_its_feet_and_the_ground_carries_its_weight")
def test_without_the_ground_it_falls_as_everything_does(standing: Live) -> None:
    standing.reset()
    standing.set_ground(False)
    before = standing.poses(standing.coordinates()).center[2]
    standing.advance(120)
    fallen = before - standing.poses(standing.coordinates()).center[2]
    assert fallen == pytest.approx(9.81 / 2 * 0.25, rel=1e-2)
    assert not _shown(standing).forces.any()
    standing.set_ground(True)


@pytest.mark.parametrize(
    ("shape", "count", "height"),
    [('<box size="0.4 0.3 0.2"/>', 8, 0.1), ('<sphere radius="0.15"/>', 1, 0.15)],
)
def test_a_free_box_lies_on_its_corners_and_a_ball_on_one_point(
    tmp_path: Path, shape: str, count: int, height: float
) -> None:
    given = f"<geometry>{shape}</geometry>"
    inertia = '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" iyz="0" ixz="0"/>'
    file = tmp_path / "thing.urdf"
    file.write_text(
        f"""<robot name="thing"><link name="thing"><inertial><mass value="5"/>{inertia}</inertial>
        <visual>{given}</visual><collision>{given}</collision></link></robot>"""
    )
    scene = scene_of(Robot(file, base="free"))
    footing = footing_of(scene, 0.5)
    assert footing is not None
    assert len(footing.touches) == count
    assert scene.poses(footing.start).center == pytest.approx([0, 0, 0.5 + height])


def test_robots_that_walk_are_told_from_arms() -> None:
    assert not walks(Robot(ARM))
    described = Robot(QUADRUPED).source
    assert isinstance(described, Description)
    links = [link for link in described.links if link.name != "ground"]
    joints = [joint for joint in described.joints if joint.name != "floating_base"]
    assert walks(Robot(replace(described, links=tuple(links), joints=tuple(joints))))


def test_an_arm_with_two_frames_at_its_end_and_one_at_its_base_does_not_walk() -> None:
    """UR5 lies on the ground with all joints at zero, and has such frames."""
    described = Robot(ARM).source
    assert isinstance(described, Description)
    last, first = described.links[-1].name, described.links[0].name
    ends = [Link(name) for name in ("tool0", "ee", "mount")]
    fixed = [
        LinkJoint(f"to {e.name}", "weld", parent, e.name)
        for e, parent in zip(ends, (last, last, first), strict=True)
    ]
    more = replace(described, links=(*described.links, *ends), joints=(*described.joints, *fixed))
    assert len(_limbs(more)) < 2


def test_the_base_of_a_robot_file_is_as_the_user_says() -> None:
    counts = {}
    for base in ("fixed", "file", "auto"):
        scene = open_motion(str(QUADRUPED), base=base).scene
        assert scene is not None
        counts[base] = len(scene.poses.coordinates)
    assert counts == {"fixed": 12, "file": 19, "auto": 19}


# -- pages and the studio --------------------------------------------------------------------------
def _column(block: bytes, told: dict[str, Any], which: int) -> np.ndarray[Any, Any]:
    start, rows, count = told["at"]
    size = rows * count
    low = np.frombuffer(block, np.uint8, size, start).astype(int)
    high = np.frombuffer(block, np.uint8, size, start + size).astype(int)
    levels = np.cumsum((low + 256 * high).reshape(count, rows)[which]) % 65536
    return np.asarray(told["low"][which] + told["step"][which] * levels)


@seldom(daily="test_forces_and_the_ground_come_back_from_files")
def test_forces_come_back_from_a_page(resting_box: tuple[Scene, lw.Recording]) -> None:
    scene, recording = resting_box
    text = page_text([scene_motion("box", recording, scene)])
    data = json.loads(re.findall(r'id="data">(.*?)</script>', text, re.S)[0])
    block = zlib.decompress(
        base64.b64decode(re.findall(r'id="block">(.*?)</script>', text, re.S)[0])
    )
    arrows = data["takes"][0]["arrows"]
    assert [a["name"] for a in arrows["each"]] == [f"floor.force{k}" for k in (1, 2, 3, 4)]
    up = np.sum([_column(block, arrows["forces"], 3 * k + 2) for k in range(4)], axis=0)
    assert up[-1] == pytest.approx(MASS * 9.81, rel=1e-3)
    assert arrows["reference"] == pytest.approx(MASS * 9.81 / 4)


def test_k_hides_the_arrows_of_a_page(
    resting_box: tuple[Scene, lw.Recording], tmp_path: Path
) -> None:
    scene, recording = resting_box
    write_page(tmp_path / "box.html", [scene_motion("box", recording, scene)])
    with opened(tmp_path / "box.html", drawn=True, offline=True, width=800, height=500) as (
        page,
        wrong,
    ):
        page.wait_for_selector("html[data-ready=yes]")
        page.keyboard.press("End")
        soon(lambda: page.evaluate("studio.arrows") == 4)
        radius = page.evaluate("studio.moving[0].arrows.radius")
        long = [share * radius for share in (0.02, 0.1, 0.15, 0.7)]
        drawn = page.evaluate(
            "(long) => long.map((l) => sizesOf(studio.moving[0].arrows, l))", long
        )
        np.testing.assert_allclose(drawn, sizes(long, radius))  # as in the live studio
        told = page.evaluate("scaleOf(studio, studio.moving[0].arrows)")
        scale = scale_of(MASS * 9.81 / 4, radius)
        assert told == pytest.approx(
            {"meters": scale.meters, "longest": scale.longest, "least": scale.least}, rel=1e-5
        )
        assert " m = " in page.locator("#legend").inner_text()
        assert soon(lambda: page.evaluate(RED) > 50)
        page.keyboard.press("k")
        soon(lambda: page.evaluate("studio.arrows") == 0)
        assert soon(lambda: page.evaluate(RED) == 0)
        assert not page.locator("#legend").is_visible()
        assert wrong == []


class _Handle:
    """Something on a server that counts what it is told."""

    told: list[str]
    visible: bool

    def __init__(self, told: list[str]) -> None:
        self.__dict__.update(told=told, visible=True)

    def __setattr__(self, name: str, value: Any) -> None:
        self.told.append(name)
        self.__dict__[name] = value


class _Server:
    """A server that counts messages."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.scene = self

    def atomic(self) -> Any:
        return nullcontext()

    def add_mesh_simple(self, *_: Any, **__: Any) -> _Handle:
        return _Handle(self.told)

    add_point_cloud = add_mesh_simple


def test_a_frame_of_any_number_of_arrows_is_three_messages_at_most(
    resting_box: tuple[Scene, lw.Recording],
) -> None:
    track, poses = tracked(*resting_box)
    server = _Server()
    marks = Marks(server, "/take", 1.0)
    shown = track.between(0, 1, 0.5, poses[0])
    marks.show((track.arrows, shown), reference_of(track.arrows))
    assert server.told == []
    marks.show((track.arrows, shown))  # nothing has changed
    assert server.told == []
    moved = ForceFrames(shown.points + 0.1, 1.1 * shown.forces, shown.touching, shown.ending)
    marks.show((track.arrows, moved))
    assert sorted(server.told) == ["points", "vertices"]
    server.told.clear()
    lifted = ForceFrames(moved.points, moved.forces, np.zeros_like(moved.touching), shown.ending)
    marks.show((track.arrows, lifted))  # a point that touches nothing is not shown
    assert server.told == ["visible"]


@pytest.fixture
def studio(resting_box: tuple[Scene, lw.Recording]) -> Iterator[Studio]:
    scene, recording = resting_box
    made = Studio([_motion(scene, recording)])
    yield made
    made.close()


def _motion(scene: Scene, recording: lw.Recording) -> SceneMotion:
    return scene_motion("box", recording, scene)


def test_bodies_can_be_seen_through_and_are_as_before_then(studio: Studio) -> None:
    stage = studio.stage
    assert stage is not None
    before = [mesh.opacity for _, mesh in stage.meshes]
    stage.set_clear(True)
    assert all(mesh.opacity == 0.4 for k, mesh in stage.meshes if stage.scene.nodes[k].moves)
    stage.set_clear(False)
    assert [mesh.opacity for _, mesh in stage.meshes] == before


def test_k_hides_the_arrows_of_the_studio(studio: Studio) -> None:
    marks = studio.marks
    assert marks is not None
    with opened(studio.address, drawn=True, width=700, height=420, script=COUNTED) as (page, wrong):
        page.get_by_role("tab", name="Play").wait_for()
        studio.player.go_to(studio.player.end)
        assert marks.count == 4
        soon(lambda: page.evaluate(f"drawn.sizes[{faces_of(4).size}]"))
        page.get_by_role("tab", name="View").click()
        soon(lambda: page.get_by_text(" m = ").is_visible())
        page.keyboard.press("k")
        soon(lambda: not marks.forces and not marks.contacts)

        def without_arrows() -> bool:
            page.evaluate("drawn = { all: 0, sizes: {} }")
            soon(lambda: page.evaluate("drawn.all"))
            return not page.evaluate(f"drawn.sizes[{faces_of(4).size}]")

        soon(without_arrows)
        page.keyboard.press("k")
        soon(lambda: page.evaluate(f"drawn.sizes[{faces_of(4).size}]"))
        assert wrong == []


def test_a_tool_of_a_robot_with_a_free_base_is_dragged_while_the_base_stays() -> None:
    from linkwright.studio.joint_control import dragged, pose_of, tools

    described = Robot(ARM).source
    assert isinstance(described, Description)
    scene = scene_of(Robot(described, base="free"))
    frame = tools(scene)[0]
    q = scene.poses.start.copy()
    q[:7] = 0.3, -0.2, 1.0, 0.5, 0.5, 0.5, 0.5
    q[7:] = 0.3
    goal = pose_of(scene, q, frame)
    start = q.copy()
    start[7:] += 0.05
    found = dragged(scene, start, frame, goal)
    assert found.fine
    assert found.q[:7] == pytest.approx(start[:7])
    assert pose_of(scene, found.q, frame) == pytest.approx(goal, abs=1e-4)
