"""What is drawn, set and run in the studio is one thing: shapes, sliders, servos, parameters."""

from __future__ import annotations

import math
import threading
from contextlib import nullcontext
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.models import load_model
from linkwright.robots import Robot
from linkwright.scene.motions import open_motion
from linkwright.scene.previews import resting
from linkwright.scene.scene import Scene, scene_of
from linkwright.scene.stance import footing_of, set_down
from linkwright.scene.viewpoint import ground_and_view
from linkwright.studio import rows
from linkwright.studio.joint_control import Poser, quaternion_of, yaw_pitch_roll
from linkwright.studio.live import Live
from linkwright.studio.live_system import Plant, plant_of, speed_of, target_of
from linkwright.studio.panel_pose import _Joints
from linkwright.studio.panel_values import ValuesPanel
from linkwright.studio.panel_view import angles_of
from linkwright.studio.playback import Player
from linkwright.studio.rounds import UNSEEN
from linkwright.studio.rows import Control
from linkwright.studio.server import Studio, open_studio
from linkwright.studio.state import PLAYED, POSED, RUN, PanelState, panels_of
from tests.seeds import cases

ARM, SCARA, QUADRUPED = (
    f"tests/robots/{n}" for n in ("oblique_arm.urdf", "scara.toml", "quadruped.urdf")
)
PARAMETRIC = {"pendulum": ("L", 2.0), "four-bar": ("L1", 0.6), "double-pendulum": ("L1", 1.7)}


@cache
def quadruped() -> Scene:
    """A robot on four legs, as it is drawn."""
    return scene_of(Robot(QUADRUPED))


def live_desk(studio: Studio) -> tuple[PanelState, Live]:
    """Return the panels of a studio with a run that was made, and does not go on by itself."""
    panels = panels_of(studio)
    panels.maker.make()
    assert panels.live is not None
    return panels, panels.live


def drawn(studio: Studio) -> dict[int, np.ndarray[Any, np.dtype[np.float32]]]:
    """Return the points of all meshes of each node, as the browser has them."""
    assert studio.stage is not None
    found: dict[int, list[Any]] = {}
    for k, mesh in studio.stage.meshes:
        found.setdefault(k, []).append(np.asarray(mesh.vertices))
    return {k: np.concatenate(parts) for k, parts in found.items()}


def alone(panels: PanelState) -> None:
    """End the panels' own rounds, also the one that is under way: the test goes round itself."""
    panels.rounds.close()


def settle(panels: PanelState) -> None:
    """Let the panels' rounds be over: shapes follow some times in a second."""
    for k in range(3):
        panels.rounds.go_round(1e6 + k)


@pytest.mark.parametrize("name", cases(PARAMETRIC, daily=["pendulum", "four-bar"]))
def test_shapes_follow_parameters_and_come_back(name: str) -> None:
    """What a live run draws is what the model would be drawn as from the beginning."""
    parameter, value = PARAMETRIC[name]
    fresh = scene_of(load_model(name), values={parameter: value})
    with open_studio([name]) as studio:
        before = drawn(studio)
        panels, live = live_desk(studio)
        assert panels.scene is not None
        alone(panels)
        panels.take_over(RUN)
        live.set_value(parameter, value)
        settle(panels)
        after = drawn(studio)
        assert before.keys() == after.keys()
        assert any(not np.array_equal(before[k], after[k]) for k in before)
        for k, points in after.items():
            wanted = np.concatenate([s.points for s in fresh.surfaces[k]])
            np.testing.assert_allclose(points, wanted, atol=1e-6)
        closed = Poser(panels.scene, live.parameters).closed(live.coordinates())
        assert closed is not None
        np.testing.assert_allclose(live.coordinates(), closed, atol=1e-8)  # no loop is torn
        live.reset()
        settle(panels)
        assert drawn(studio).keys() == after.keys()
        panels._played(0.0)  # a recording is drawn with its own values
        settle(panels)
        assert all(np.array_equal(before[k], p) for k, p in drawn(studio).items())
        panels.take_over(RUN)
        live.set_parameters({a.name: a.value for a in live.plant.adjustables})
        settle(panels)
        assert all(np.array_equal(before[k], p) for k, p in drawn(studio).items())
        assert panels.troubles.words == []


def test_a_length_with_which_loops_cannot_close_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = load_model("four-bar")
    live = Live(plant_of(model), scene_of(model))
    before, values = live.coordinates().copy(), dict(live.values)
    monkeypatch.setattr(Poser, "closed", lambda *_: None)
    with pytest.raises(lw.Error, match="the loops do not close with L1 = 5"):
        live.set_value("L1", 5.0)
    assert live.values == values
    np.testing.assert_array_equal(live.coordinates(), before)


# -- poses and servos ------------------------------------------------------------------------------
STARTED = ["pendulum", "four-bar", ARM, SCARA]


@pytest.mark.parametrize("name", cases(STARTED, daily=["four-bar", SCARA]))
def test_a_run_starts_from_the_pose_that_is_set(name: str) -> None:
    with open_studio([name]) as studio:
        panels, live = live_desk(studio)
        alone(panels)
        start = live.coordinates().copy()
        assert panels.scene is not None
        joints = _Joints(panels, SimpleNamespace(content=""))
        joints.sliders = {s.name: s for s in joints._wanted()}
        first = panels.scene.poses.coordinates[1 if name in (ARM, SCARA) else 0]
        wanted = float(panels.q[panels.scene.poses.coordinates.index(first)]) + 0.2
        joints.slide(first, wanted)
        assert panels.mode == POSED
        posed = panels.q.copy()
        panels.run_from_here()
        assert panels.mode == RUN
        np.testing.assert_allclose(live.coordinates(), posed, atol=1e-7)
        if name in (ARM, SCARA):
            assert live.values[target_of(first)] == pytest.approx(wanted)
            live.advance(480)  # and it stays there
            np.testing.assert_allclose(live.coordinates(), posed, atol=1e-3)
        for each in joints.sliders.values():  # sliders and robot agree
            k = panels.scene.poses.coordinates.index(each.name)
            assert joints._value(each) == pytest.approx(posed[k], abs=1e-3)
        if name in (ARM, SCARA):
            joints.degrees = True  # what is told is what the slider shows
            joints.slide(first, 0.5)
            assert live.values[target_of(first)] == 0.5
            told = joints.words.content.partition(": ")[2]
            unit = panels.scene.robot.mechanism.units[first]
            assert told == ("28.65 °" if unit == "rad" else f"0.5 {unit}")
        live.reset()
        np.testing.assert_allclose(live.coordinates(), start, atol=1e-7)
        assert live.values == {a.name: a.value for a in live.plant.adjustables}
        assert panels.troubles.words == []


STANDS = [(name, share) for name in (ARM, SCARA) for share in (0.25, 0.7)]


@pytest.mark.parametrize(("name", "share"), cases(STANDS, daily=STANDS[2:]))
def test_joints_stand_where_they_are_told_to(name: str, share: float) -> None:
    """A servo that did not carry the weight would hang below its target."""
    robot = Robot(name)
    scene = scene_of(robot)
    limits = np.clip(robot.limits, -1.5, 1.5)
    told = dict(
        zip(robot.coordinates, (1 - share) * limits[:, 0] + share * limits[:, 1], strict=True)
    )
    start = dict(zip(scene.poses.coordinates, map(float, resting(scene)), strict=True))
    plant = plant_of(robot, start)
    assert set(plant.servos) == set(robot.coordinates)
    live = Live(plant, scene)
    live.set_parameters({target_of(n): float(v) for n, v in told.items()})
    live.advance(240 * 5)
    reached = dict(zip(scene.poses.coordinates, live.coordinates(), strict=True))
    for coordinate, value in told.items():
        assert reached[coordinate] == pytest.approx(value, abs=1e-3)


def test_a_robot_that_was_posed_is_set_down_on_the_ground() -> None:
    scene = quadruped()
    robot = scene.robot
    footing = footing_of(scene, 0.1)
    assert footing is not None
    q = footing.start.copy()
    names = list(scene.poses.coordinates)
    base = next(b for b in robot.mechanism.depth_first() if len(b.translations) == 3)
    for name, _ in base.translations:
        q[names.index(name.name)] += 0.3
    down = set_down(scene, footing, q)
    moved = scene.poses(down).poses[:, :3] - scene.poses(footing.start).poses[:, :3]
    assert np.abs(moved @ np.array(scene.up)).max() < 1e-3


def test_a_body_that_turns_freely_has_angles_in_place_of_a_quaternion() -> None:
    scene = quadruped()
    poser = Poser(scene)
    (places,) = poser.quaternions
    q = np.array(scene.poses.start)
    posed = poser.turned(q, places, quaternion_of(0.4, -0.3, 0.2))
    assert np.linalg.norm(posed.q[places]) == pytest.approx(1.0)
    np.testing.assert_allclose(yaw_pitch_roll(posed.q[places]), [0.4, -0.3, 0.2], atol=1e-12)
    with open_studio([QUADRUPED]) as studio:
        joints = _Joints(panels_of(studio), SimpleNamespace(content=""))
        labels = [s.label for s in joints._wanted()]
        assert not set(labels) & {scene.poses.coordinates[k] for k in places}
        assert sum(label.endswith((" yaw", " pitch", " roll")) for label in labels) == 3


@pytest.mark.parametrize(
    "angles", [(0.3, math.pi / 2, 0.0), (-2.0, -math.pi / 2, 0.0), (3.1, 1.5, -3.1)]
)
def test_angles_near_the_pole_give_the_same_turn(angles: tuple[float, float, float]) -> None:
    first = quaternion_of(*angles)
    again = quaternion_of(*yaw_pitch_roll(first))
    assert abs(float(first @ again)) == pytest.approx(1.0, abs=1e-9)


# -- speeds and values -----------------------------------------------------------------------------
def test_a_value_that_is_typed_is_taken_though_ours_comes_between() -> None:
    """The page's change is told late, and until then the tab goes on to show where joints stand."""
    handle: Any = SimpleNamespace(value=0.25)
    control = Control(handle)
    control.show(0.5)
    assert handle.value == 0.5
    handle.value = 1.25  # what viser does when the page's message comes
    control.show(0.75)  # before it calls back
    assert (handle.value, control.take()) == (1.25, 1.25)
    control.show(1.0)  # where the joint came to
    assert handle.value == 1.0


def test_ours_is_shown_where_the_page_speaks_so_that_none_comes_between() -> None:
    told: list[Any] = []
    loop: Any = SimpleNamespace(call_soon_threadsafe=lambda f, *given: told.append((f, given)))
    handle: Any = SimpleNamespace(value=0.25)
    control = Control(handle, loop)
    control.show(0.5)
    handle.value = 1.25  # the page's message was there first
    for show, given in told:
        show(*given)
    assert (handle.value, control.take()) == (1.25, 1.25)


class _Turn:
    """A lock that tells when someone asks for it."""

    def __init__(self) -> None:
        self._lock, self.asked = threading.RLock(), threading.Event()

    def __enter__(self) -> None:
        self.asked.set()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def test_a_frame_that_was_under_way_does_not_call_back_a_user_who_paused() -> None:
    turn: Any = _Turn()
    player = Player(0.0, 10.0, frames=1000.0, _turn=turn)
    player.playing = True
    player.run()
    try:
        with turn:
            turn.asked.clear()
            assert turn.asked.wait(60.0)  # the thread is about to show its next frame
            player.playing = False
            player.go_to(4.0)
    finally:
        player.close()
    assert player.time == 4.0


def test_a_user_who_left_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [10.0]
    monkeypatch.setattr(rows, "time", SimpleNamespace(monotonic=lambda: now[0]))
    handle: Any = SimpleNamespace(value=0.0)
    control = Control(handle)
    handle.value = 1.25  # and nobody calls back
    for seconds in (0.0, 4.0, 2.0):
        now[0] += seconds
        control.show(0.5)
        assert handle.value == 1.25
    control.show(0.5)
    assert handle.value == 0.5


def test_the_speed_that_is_shown_is_the_real_factor() -> None:
    with open_studio(["four-bar"]) as studio:
        panels, live = live_desk(studio)
        usual = speed_of(load_model("four-bar"))
        assert live.speed == usual == 0.2
        panels.set_speed(0.5)
        assert live.speed == 0.5
        assert live._loop.period == Fraction(1, 600)  # 1,200 ticks in a second of the run


PLANTS = ["pendulum", "four-bar", "whipple", "car", ARM, QUADRUPED]


def plant(name: str) -> Plant:
    """Return what the studio runs of a model."""
    if name == QUADRUPED:
        return plant_of(quadruped().robot, footing=footing_of(quadruped()))
    return plant_of(Robot(ARM) if name == ARM else load_model(name))


@pytest.mark.parametrize("name", cases(PLANTS, daily=["pendulum", ARM]))
def test_sliders_offer_what_makes_sense(name: str) -> None:
    check_sliders(plant(name))


def check_sliders(plant: Plant) -> None:
    """Check what can be set, and how far; also of a robot on feet, in `test_studio_forces.py`."""
    found = plant.adjustables
    assert found
    for each in found:
        assert each.low <= each.value <= each.high
        assert each.low < each.high
        words = each.name.lower()
        if each.unit in ("kg", "kg*m^2") and each.value > 0:
            assert each.low > 0
            assert each.refusal(0.0)
            assert each.refusal(-1.0)
        if any(w in words for w in ("damping", "stiffness", "friction")) and each.value >= 0:
            assert each.low >= 0
            assert each.refusal(-1.0)
            assert not each.refusal(each.high)
        assert not each.refusal(each.value)
        assert each.refusal(math.nan)
        assert each.refusal(math.inf)


def test_a_value_that_cannot_be_is_refused_where_it_is_typed() -> None:
    with open_studio(["pendulum"]) as studio:
        panels, live = live_desk(studio)
        alone(panels)
        tab = ValuesPanel(panels)
        tab.refresh()
        mass = next(a for a in live.plant.adjustables if a.unit == "kg")
        tab.change(mass.name, 0.0)
        assert tab.refused.visible
        assert f"{mass.name} must be above zero" in tab.refused.content.replace("\\", "")
        assert live.values[mass.name] == mass.value
        assert tab.sliders[mass.name][1].value == mass.value
        tab.change(mass.name, 2 * mass.value)
        assert not tab.refused.visible
        tab.refresh()
        assert tab.back.visible
        assert tab.sliders[mass.name][1].label.endswith("•")
        assert tab.command.content == f"`--set {mass.name}={2 * mass.value:g}`"  # as a command
        tab.restore()
        tab.refresh()
        assert live.values[mass.name] == mass.value
        assert not tab.back.visible


# -- who looks -------------------------------------------------------------------------------------
def test_a_run_that_nobody_looks_at_is_paused() -> None:
    with open_studio(["pendulum"]) as studio:
        panels, live = live_desk(studio)
        alone(panels)
        panels.take_over(RUN)
        live.play()
        rest = panels.audience.rest
        rest(live, False, 0.0)
        rest(live, False, 10 * UNSEEN)
        assert live.latest.running  # nobody has come yet: a program runs it
        rest(live, True, 11 * UNSEEN)
        rest(live, False, 11.5 * UNSEEN)
        assert live.latest.running
        rest(live, False, 12.1 * UNSEEN)
        assert not live.latest.running
        assert panels.audience.unseen
        rest(live, True, 13 * UNSEEN)
        assert panels.audience.unseen  # and it is told
        live.play()
        rest(live, True, 13.1 * UNSEEN)
        assert not panels.audience.unseen
        live.pause()


def test_a_stop_is_told_whatever_tab_is_open() -> None:
    with open_studio(["pendulum"]) as studio:
        panels, live = live_desk(studio)
        alone(panels)
        assert panels.mode == PLAYED
        panels.take_over(RUN)
        live._failed = "no finite value of phi, phi_dot after t = 9.58 s"
        told = studio.state({})
        assert told["kind"] == "live"
        assert told["pace"] == "stopped"
        note = "Simulation diverged at t = 9.58 s (phi, phi_dot not finite). Press Reset."
        assert told["note"] == note


# -- where one looks from --------------------------------------------------------------------------
FRONTS = [(QUADRUPED, (1, 0), (0, -1)), ("car", (1, 0), (0, -1)), ("pendulum", (0, -1), (1, 0))]


@pytest.mark.parametrize(
    ("name", "front", "side"),
    cases(FRONTS, daily=FRONTS[1:]),
)
def test_the_front_is_where_robots_and_vehicles_face(
    name: str, front: tuple[int, int], side: tuple[int, int]
) -> None:
    """Robots and vehicles face along x; a flat mechanism shows its plane."""
    motion = open_motion(name)
    assert motion.scene is not None
    _, view = ground_and_view(motion, motion.scene)
    studio: Any = SimpleNamespace(view=view)
    for words, wanted in (("Front", front), ("Side", side)):
        azimuth, height = angles_of(studio, words)
        where = np.cos(np.radians(azimuth)), np.sin(np.radians(azimuth))
        np.testing.assert_allclose(where, wanted, atol=1e-6)
        assert height < 10
    assert angles_of(studio, "Top")[1] > 80


def test_a_handle_is_as_large_as_what_is_drawn() -> None:
    """All frames of a pendulum are at one place, which says nothing of its size."""
    with open_studio(["pendulum"]) as studio:
        panels = panels_of(studio)
        assert studio.stage is not None
        low, high = studio.stage.box()
        assert panels.size > 0.3 * float(np.linalg.norm(high - low))


def test_the_framing_stays_when_a_run_starts() -> None:
    """A camera follows from where it is; only one that looks elsewhere is brought to the model."""

    class Camera:
        update_timestamp = 1.0

        def __init__(self, at: tuple[float, float, float]) -> None:
            self.look_at = np.array(at)
            self.position = np.add(self.look_at, [0.0, -7.0, 1.0])

    def client(camera: Camera) -> Any:
        return SimpleNamespace(camera=camera, atomic=nullcontext)

    with open_studio([QUADRUPED]) as studio:
        panels = panels_of(studio)
        alone(panels)
        assert panels.scene is not None
        near, far = Camera((0.1, 0.0, 0.2)), Camera((500.0, 0.0, 0.0))
        before = near.position.copy()
        panels.server = SimpleNamespace(get_clients=lambda: {0: client(near), 1: client(far)})
        panels.move_cameras()
        np.testing.assert_array_equal(near.position, before)
        np.testing.assert_allclose(far.look_at, panels.center(panels.q), atol=1e-9)
        np.testing.assert_allclose(far.position - far.look_at, [0.0, -7.0, 1.0], atol=1e-9)
        moved = panels.q.copy()
        moved[panels.scene.poses.coordinates.index("floating_base.x")] += 2.0
        gone = panels.center(moved) - panels.center(panels.q)
        panels.show(moved)
        panels.move_cameras()
        np.testing.assert_allclose(near.position - before, gone, atol=1e-9)
        panels.server = studio.server


REPLAYS = [("whipple", True), ("car", True), ("four-bar", False)]


@pytest.mark.parametrize(("model", "travels"), cases(REPLAYS, daily=REPLAYS[1:]))
def test_a_replay_keeps_what_travels_in_the_picture(model: str, travels: bool) -> None:
    """The camera of a replay goes along with a vehicle, and stays where nothing travels."""
    with open_studio([model]) as studio:
        panels, player, stage = panels_of(studio), studio.player, studio.stage
        alone(panels)
        assert stage is not None
        camera = SimpleNamespace(update_timestamp=1.0, look_at=stage.mass_center.copy())
        camera.position = before = np.add(camera.look_at, [0.0, -7.0, 1.0])
        watcher = SimpleNamespace(camera=camera, atomic=nullcontext)
        panels.server = SimpleNamespace(get_clients=lambda: {0: watcher})
        player.go_to(player.start)
        player.go_to(player.end)
        gone = camera.position - before
        if travels:
            np.testing.assert_allclose(camera.look_at, stage.mass_center, atol=1e-9)
            assert np.linalg.norm(gone) > panels.size
        else:
            assert not gone.any()
        panels.cameras.follow("")
        player.go_to(player.start)
        np.testing.assert_array_equal(camera.position - before, gone)
        panels.server = studio.server
