"""What is seen first: where models start, what is plotted, where one looks from, and colors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.base.rotations import turned
from linkwright.cli import main
from linkwright.equations.closure import assemble
from linkwright.mechanism import mechanism_of
from linkwright.models.library import MODELS
from linkwright.models.starts import STARTS
from linkwright.pages.scope import first_layout
from linkwright.recording.colors import PAPER, TRACES
from linkwright.scene.forces import USUAL, force_track, recorded_forces, scale_of
from linkwright.scene.model_shapes import LOOKS, STORIES
from linkwright.scene.motions import model_motion, open_motion, recorded_motion
from linkwright.scene.previews import SHOWN_FOR, PreviewOptions
from linkwright.scene.scene import scene_of
from linkwright.scene.viewpoint import ANGLE, extent, pedestal, seen_of, upright
from tests.seeds import cases, seldom

ROBOTS = Path(__file__).parents[1] / "robots"
Array = NDArray[np.float64]


# -- motions ---------------------------------------------------------------------------------------
#: Machines whose actuators are shown: nothing else holds them.
DRIVEN = {name for name in MODELS if name.startswith("mount-")}
DRIVEN |= {"stewart", "delta", "tripod", "agile-eye", "five-bar", "planar-3-rpr"}
DRIVEN |= {name for name in MODELS if name.startswith("spherical-")} | {"unitru"}
DRIVEN_DAILY = ["five-bar", "mount-alt-az"]
SEEN = sorted(set(MODELS) - {"spacecraft-2", "andrews", "n-four-bar", "joint-drive", "puma-sees"})
SEEN_DAILY = ["cart", "mount-x-y", "pendulum", "stanford-arm-controlled"]


@pytest.mark.parametrize("name", cases(SEEN, daily=SEEN_DAILY))
def test_what_is_shown_of_a_model_stays_in_sight(name: str) -> None:
    """Slides go less than ten times the model's size, and cranks turn less than twice a second."""
    motion = open_motion(name)
    scene, r = motion.scene, motion.recording
    assert scene is not None
    size = seen_of(scene_of(mechanism_of(name))).view["radius"]
    mechanism = scene.robot.mechanism
    rolls = any(len(b.translations) > 1 for b in mechanism.bodies.values())  # a vehicle may go far
    for body in mechanism.bodies.values():
        for q, _ in body.translations if not rolls else ():
            assert np.abs(r[q.name]).max() < 10 * size, q
        for q in body.rotations if not rolls else ():
            assert np.ptp(r[q.name]) < 2 * 2 * np.pi * max(r.times[-1], 1.0), q


@pytest.mark.parametrize("name", cases(sorted(DRIVEN), daily=DRIVEN_DAILY))
def test_actuators_are_shown_with_their_loops_closed(name: str) -> None:
    """Every actuator moves; assembling what is shown at a time moves nothing."""
    motion, m = open_motion(name), mechanism_of(name)
    assert "each actuator moves in turn" in motion.story
    r = motion.recording
    for actuator in m.actuators:
        assert np.ptp(r[actuator.name]) > 0.02, actuator
    for k in (0, len(r.times) // 3, len(r.times) // 2):
        shown = {n: float(r[n][k]) for n in r.names}
        closed = assemble(m, shown).coordinates
        assert closed == pytest.approx(shown, abs=1e-8)
    asked = open_motion(name, asked=PreviewOptions(0.01))
    assert "0.01 s from the default initial state" in asked.story


def test_the_command_and_the_page_start_the_bicycle_with_the_same_push(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run.npz"
    assert main(["simulate", "whipple", "--until", "0.1", "--out", str(out)]) == 0
    assert "whipple starts with phi_dot = 0.6" in capsys.readouterr().out
    run, page = lw.load(out), open_motion("whipple", asked=PreviewOptions(0.1)).recording
    assert run["phi_dot"][0] == page["phi_dot"][0] == STARTS["whipple"]["phi_dot"]
    assert run["phi"][-1] == pytest.approx(page["phi"][-1], rel=1e-6)
    told = ["simulate", "whipple", "--until", "0.1", "--initial", "phi_dot=0", "--out", str(out)]
    assert main([*told, "--force"]) == 0
    assert "starts with" not in capsys.readouterr().out
    assert np.abs(lw.load(out)["phi"]).max() < 1e-9
    assert "phi_dot" not in lw.load("whipple").initial  # it is linearized about riding straight


@seldom(daily="test_what_is_shown_of_a_model_stays_in_sight")
def test_names_of_stories_starts_and_looks_are_those_of_models() -> None:
    for name, graphs in STORIES.items():
        model = lw.load(name)
        step = 1e-4 if model.timing is None else model.timing.step
        names = lw.simulate(model, step, step=step, method="rk4").recording.names
        assert {n for graph in graphs for n in graph} <= set(names), name
    assert set(STARTS) | set(SHOWN_FOR) | set(LOOKS) <= set(MODELS)


# -- graphs ----------------------------------------------------------------------------------------
def test_graphs_tell_the_story_and_leave_out_what_stands_still() -> None:
    bicycle = open_motion("whipple", asked=PreviewOptions(0.5)).recording
    assert first_layout(bicycle).graphs[0].traces == ("phi", "delta")
    straight = open_motion("whipple", asked=PreviewOptions(0.5, {}, {"phi_dot": 0.0})).recording
    shown = {n for g in first_layout(straight).graphs for n in g.traces}
    assert all(np.ptp(straight[n]) > 0 for n in shown)


def test_forces_of_feet_come_first() -> None:
    channels = [lw.Channel(n, u) for n, u in (("q", "rad"), ("f.x", "N"), ("f.z", "N"), ("d", "m"))]
    told = {"name": "f", "body": "b", "force": ["f.x", "f.x", "f.z"], "touch": "d", "at": [0, 0, 0]}
    data = np.arange(8.0).reshape(2, 4)
    r = lw.Recording([0, 1], channels, data, {"forces": [told]})
    assert first_layout(r).graphs[0].traces == ("f.z",)


# -- what is drawn ---------------------------------------------------------------------------------
def _driven_cart() -> lw.Recording:
    m = lw.Mechanism("cart")
    cart = m.body("cart", translate="x", mass=2)
    m.force("push", m.input("F", unit="N"), at=cart, along="x")
    system = lw.System(m)
    servo = lw.Element("servo", m)
    servo.drive("F", 3)
    system.add(servo)
    return lw.simulate(system, 2.0, step=0.1).recording


def test_a_force_that_a_controller_drives_has_an_arrow() -> None:
    motion = recorded_motion("run", _driven_cart())
    assert motion.scene is not None
    arrows, column = recorded_forces(motion.scene, motion.recording)
    assert arrows.names == ("push",)
    np.testing.assert_allclose(column("own.push.0"), 3.0)


def test_a_rail_is_as_long_as_what_slides_on_it_goes() -> None:
    recording = _driven_cart()
    motion = recorded_motion("run", recording)
    assert motion.scene is not None
    far = float(recording["cart"].max())
    assert far == pytest.approx(3.0)  # half of 1.5 m/s^2 times 2 s squared
    (rail,) = motion.scene.surfaces[0]
    assert rail.points[:, 0].max() > far
    longer = motion.scene.with_parameters({})  # and stays so
    assert longer.surfaces[0][0].points[:, 0].max() > far


def test_the_front_of_what_faces_along_x_is_seen_from_there() -> None:
    for name in ("car", "cart", "whipple"):
        view = seen_of(scene_of(lw.load(name))).view
        assert (view["front"], view["side"]) == (0.0, -90.0), name
    robot = seen_of(scene_of(lw.load(ROBOTS / "quadruped.urdf"))).view
    assert (robot["front"], robot["side"]) == (0.0, -90.0)
    for name in ("four-bar", "pendulum", "slider-crank"):  # the front shows their plane
        assert seen_of(scene_of(lw.load(name))).view["front"] == -90.0, name


FRAMED = ["four-bar", "car", "whipple", "double-pendulum"]


@pytest.mark.parametrize("name", cases(FRAMED, daily=2))
def test_all_of_a_motion_is_in_the_first_view_and_so_are_arrows(name: str) -> None:
    motion = model_motion(scene_of(lw.load(name)))
    assert motion.scene is not None
    assert motion.q is not None
    seen = seen_of(motion.scene, motion)
    rows = np.linspace(0, len(motion.q) - 1, 25).astype(int)
    where = motion.scene.poses(motion.q[rows])
    poses = upright(motion.scene, where.poses)
    points = [
        pose[:3] + turned(np.broadcast_to(pose[3:], (len(s.points), 4)), s.points)
        for frame in poses
        for pose, parts in zip(frame, motion.scene.surfaces, strict=True)
        for s in parts
    ]
    times = [k for k, frame in enumerate(poses) for s in motion.scene.surfaces for _ in s]
    track = force_track(motion.scene, motion.recording, rows, poses)
    if track is not None:
        scale = scale_of(track.reference, extent(motion.scene))
        usual = USUAL * extent(motion.scene)
        long = scale.lengths(track.forces.astype(float))
        short = np.linalg.norm(long, axis=-1) <= usual
        points += [(track.arrows.points(poses)[k] + long[k])[short[k]] for k in range(len(rows))]
        times += list(range(len(rows)))
    center = where.center @ motion.scene.upright.T
    a, h = np.radians([seen.view["azimuth"], seen.view["height"]])
    away = np.array([np.cos(a) * np.cos(h), np.sin(a) * np.cos(h), np.sin(h)])
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    for k, some in zip(times, points, strict=True):
        moved = some - (center[k] - center[0] if seen.travels else 0.0) - seen.view["center"]
        deep = seen.view["distance"] - moved @ away
        across = np.abs(moved @ right) / deep / np.tan(ANGLE / 2) / 1.2
        along = np.abs(moved @ np.cross(away, right)) / deep / np.tan(ANGLE / 2)
        assert max(across.max(initial=0), along.max(initial=0)) < 0.97


# -- colors ----------------------------------------------------------------------------------------
_EYES = {  # Machado, Oliveira and Fernandes 2009: no red cones, no green cones
    "normal": (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0),
    "no red": (
        *(0.152286, 1.052583, -0.204868),
        *(0.114503, 0.786281, 0.099216),
        *(-0.003882, -0.048116, 1.051998),
    ),
    "no green": (
        *(0.367322, 0.860646, -0.227968),
        *(0.280085, 0.672501, 0.047413),
        *(-0.011820, 0.042940, 0.968881),
    ),
}
_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def _linear(colors: tuple[str, ...]) -> Array:
    c = np.array([[int(h[k : k + 2], 16) / 255 for k in (1, 3, 5)] for h in colors])
    return np.asarray(np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4))


def _lab(linear: Array) -> Array:
    x = np.clip(linear, 0, 1) @ _XYZ.T / [0.9505, 1.0, 1.089]
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    parts = 116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])
    return np.stack(parts, axis=1)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_curves_are_told_apart_by_color_blind_people_too(theme: str) -> None:
    linear = _linear(TRACES[theme])
    for eyes, seen in _EYES.items():
        lab = _lab(linear @ np.reshape(seen, (3, 3)).T)
        apart = np.linalg.norm(lab[:, None] - lab[None], axis=-1) + 1e9 * np.eye(len(lab))
        assert apart.min() > 17, eyes  # Okabe and Ito's worst pair
    bright, paper = linear @ _XYZ[1], float((_linear((PAPER[theme],)) @ _XYZ[1])[0])
    contrast = (np.maximum(bright, paper) + 0.05) / (np.minimum(bright, paper) + 0.05)
    assert contrast.min() >= 3


def test_a_robot_that_reaches_below_its_base_stands_on_a_pedestal(tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text(
        """<robot name="arm"><link name="base"><visual><origin xyz="0 0 0.1"/>
        <geometry><box size="0.2 0.2 0.2"/></geometry></visual></link>
        <link name="tip"><visual><origin xyz="0 0 -0.5"/><geometry>
        <box size="0.1 0.1 1"/></geometry></visual></link>
        <joint name="j" type="revolute"><origin xyz="0.4 0 0.2"/><axis xyz="0 1 0"/>
        <parent link="base"/><child link="tip"/>
        <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
    )
    motion = open_motion(str(tmp_path / "arm.urdf"), asked=PreviewOptions(1.0))
    assert motion.scene is not None
    floor = seen_of(motion.scene, motion).floor
    assert floor is not None
    assert floor < -0.7
    column = pedestal(motion.scene, floor)
    assert column is not None
    assert column.points[:, 2].min() == pytest.approx(floor)
    assert column.points[:, 2].max() == pytest.approx(0.0, abs=1e-9)
    assert pedestal(motion.scene, 0.0) is None
    assert pedestal(scene_of(lw.load("pendulum")), -5.0) is None


def test_a_mechanism_on_a_pedestal_stands_on_the_ground_however_low_it_reaches() -> None:
    scene = scene_of(lw.load("stanford-arm"))
    column = pedestal(scene, -2.0)
    assert column is not None
    base, heights = (
        np.concatenate([s.points for s in parts]) @ scene.upright[2]
        for parts in (scene.surfaces[0], [column])
    )
    assert heights.min() == pytest.approx(-2.0)
    assert heights.max() == pytest.approx(base.min())
