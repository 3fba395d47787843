"""The studio by hand: the tool is led, a body is pulled, values change while it runs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist
from scipy.spatial.transform import Rotation

import linkwright as lw
from linkwright.scene.motions import SceneMotion, recorded_motion
from linkwright.scene.scene import Scene, scene_of
from linkwright.scene.viewpoint import ANGLE, ground_and_view
from linkwright.studio.joint_control import Poser, pose_of
from linkwright.studio.server import Studio, open_studio
from linkwright.studio.state import PanelState
from tests.seeds import examples, seldom
from tests.studio.test_studio_browser import ARM, field, graphs, panels_of, tab
from tests.support.chromium import opened
from tests.support.waiting import soon

Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def arm() -> Iterator[tuple[Studio, Any, list[str]]]:
    """The studio of an arm in a browser."""
    studio = open_studio([ARM])
    try:
        with opened(studio.address) as (page, wrong):
            page.get_by_role("tab", name="Pose").wait_for()
            clients = studio.server.get_clients
            soon(lambda: any(x.camera.update_timestamp > 0 for x in clients().values()))
            yield studio, page, wrong
    finally:
        studio.close()


def _client(studio: Studio) -> Any:
    (client,) = studio.server.get_clients().values()
    return client


def on_screen(studio: Studio, page: Any, point: ArrayLike) -> Array:
    """Return where a point of the scene is in the window, pixels."""
    camera, box = _client(studio).camera, page.locator("canvas").first.bounding_box()
    turn = Rotation.from_quat(np.roll(camera.wxyz, -1)).inv()
    x, y, z = turn.apply(np.subtract(point, camera.position))  # right, down, ahead
    k = box["height"] / 2 / np.tan(camera.fov / 2)
    return np.array(
        [box["x"] + box["width"] / 2 + k * x / z, box["y"] + box["height"] / 2 + k * y / z]
    )


def drag(studio: Studio, page: Any, start: ArrayLike, by: ArrayLike) -> None:
    """Drag with the mouse from a point of the scene along a vector."""
    first = on_screen(studio, page, start)
    last = on_screen(studio, page, np.add(start, by))
    page.mouse.move(*first)
    page.wait_for_timeout(100)
    page.mouse.down()
    for share in np.linspace(0, 1, 9)[1:]:
        page.mouse.move(*(first + share * (last - first)))
        page.wait_for_timeout(20)
    page.mouse.up()


def test_the_tool_is_led_by_its_handle(arm: tuple[Studio, Any, list[str]]) -> None:
    studio, page, wrong = arm
    panels = panels_of(studio)
    scene = panels.scene
    assert scene is not None
    tab(page, "Pose")
    page.get_by_label("Show tool handle").click()
    frame = field(page, "Tool frame").input_value()
    before, q = pose_of(scene, panels.q, frame), panels.q.copy()
    axis, reach = before[:3, 1], 0.06
    page.wait_for_timeout(500)
    grip = before[:3, 3] + 0.16 * panels.size * axis  # on the green arrow
    drag(studio, page, scene.upright @ grip, scene.upright @ (reach * axis))
    soon(lambda: np.abs(panels.q - q).max() > 0.01)
    page.get_by_text("reached").first.wait_for()
    soon(lambda: np.linalg.norm(_moved(panels, frame, before) - reach * axis) < 0.2 * reach)
    soon(lambda: abs(float(field(page, "lift").input_value()) - panels.q[1]) < 0.02)
    page.get_by_label("Show tool handle").click()
    assert panels.troubles.words == []
    assert wrong == []


def _moved(panels: PanelState, frame: str, before: Array) -> Array:
    assert panels.scene is not None
    return pose_of(panels.scene, panels.q, frame)[:3, 3] - before[:3, 3]


@seldom(daily="test_the_tool_is_led_by_its_handle")
def test_a_body_is_pulled_by_its_handle(arm: tuple[Studio, Any, list[str]]) -> None:
    studio, page, wrong = arm
    panels = panels_of(studio)
    tab(page, "Live")
    soon(lambda: panels.live is not None)
    live = panels.live
    assert live is not None
    page.keyboard.press("l")
    soon(lambda: live.latest.running)
    page.get_by_label("Show drag handle").click()
    body = field(page, "Body").input_value()

    def stands() -> bool:
        there, at = live.center(body), live.latest.time
        soon(lambda: live.latest.time > at + 0.5)  # by the run's own time, however slow it is
        return float(np.abs(live.center(body) - there).max()) < 1e-4

    soon(stands)
    before, q = live.center(body), panels.q.copy()

    def pulled() -> bool:
        """Drag by the red arrow, again where the page did not show it yet and its camera turned."""
        grip = before + 0.14 * panels.size * np.array([1.0, 0.0, 0.0])
        drag(studio, page, grip, [0.25, 0.0, 0.0])
        page.wait_for_timeout(300)  # what was dragged is told, or the camera
        return live.pulling

    soon(pulled)
    soon(lambda: live.center(body)[0] - before[0] > 0.02)  # it follows, against its servos
    soon(lambda: np.abs(panels.q - q).max() > 0.01)
    page.get_by_label("Show drag handle").click()
    soon(lambda: not live.pulling)
    soon(lambda: live.stopped or abs(live.center(body)[0] - before[0]) < 0.02)
    assert live.stopped == ""  # they bring it back, and the run goes on
    page.get_by_role("button", name="Pause", exact=True).click()
    soon(lambda: not live.latest.running)
    assert panels.troubles.words == []
    assert wrong == []


@seldom(daily="test_the_tool_is_led_by_its_handle")
def test_gravity_changed_while_it_runs_shows_in_the_plots() -> None:
    """The plotted angle of a pendulum obeys phi'' = -g/L sin(phi), before and after."""
    studio = open_studio(["pendulum"])
    try:
        panels = panels_of(studio)
        with opened(studio.address) as (page, wrong):
            page.get_by_role("tab", name="Live").wait_for()
            live = soon(lambda: panels.live)
            page.keyboard.press("l")
            soon(lambda: live.latest.time > 1.2)
            tab(page, "Parameters")
            at = live.latest.time
            gravity = field(page, "g [m/s²]")
            gravity.fill("3")
            gravity.press("Enter")
            soon(lambda: live.values["g"] < 4)
            changed = live.latest.time
            soon(lambda: live.latest.time > changed + 1.2)
            tab(page, "Scope")
            soon(lambda: graphs(page) and graphs(page)[0]["x"][-1] > changed + 1.1)
            live.pause()
            (angle,) = [g for g in graphs(page) if g["label"] == "phi"]
            t, phi = np.array(angle["x"]), np.array(angle["y"])
            stiff = [_slope(t[part], phi[part]) for part in (t < at, t > changed + 0.1)]
            assert stiff[0] / stiff[1] == pytest.approx(9.81 / live.values["g"], rel=0.05)
            assert panels.troubles.words == []
            assert wrong == []
    finally:
        studio.close()


def _slope(t: Array, phi: Array) -> float:
    """Return the share of -sin(phi) in the second rate of phi."""
    step = (t[-1] - t[0]) / (len(t) - 1)
    assert np.ptp(np.diff(t)) < 0.01 * step
    rate = np.diff(phi, 2) / step**2
    base = -np.sin(phi[1:-1])
    return float(rate @ base / (base @ base))


@given(
    st.lists(st.floats(-1, 1), min_size=4, max_size=4).filter(lambda e: np.linalg.norm(e) > 0.1),
    st.integers(0, 3),
    st.floats(-1.5, 1.5),
)
@settings(max_examples=examples(40, daily=15), deadline=None)
def test_a_slider_of_a_quaternion_keeps_the_robot_rigid(
    start: list[float], which: int, value: float
) -> None:
    scene = _quadruped()
    poser = Poser(scene)
    (places,) = poser.quaternions
    q = scene.poses.start.copy()
    q[places] = np.array(start) / np.linalg.norm(start)
    moved = poser.slid(q, scene.poses.coordinates[places[which]], value).q
    assert np.linalg.norm(moved[places]) == pytest.approx(1)
    assert moved[places[which]] == pytest.approx(np.clip(value, -1, 1))
    before, after = (pdist(scene.poses(each).poses[1:, :3]) for each in (q, moved))
    np.testing.assert_allclose(after, before, atol=1e-9)


@cache
def _quadruped() -> Scene:
    return scene_of(lw.load(ARM.replace("oblique_arm", "quadruped")))


def test_ghosts_are_in_the_picture_too() -> None:
    model = lw.load("double-pendulum")
    scene = scene_of(model)
    motions = [
        recorded_motion(str(start), lw.simulate(model, 3.0, initial={"phi1": start}).recording)
        for start in (0.2, 2.8)
    ]
    _, alone = ground_and_view(motions[0], scene)
    _, view = ground_and_view(motions[0], scene, motions[1])
    for motion, seen in ((motions[0], alone), (motions[0], view), (motions[1], view)):
        assert np.abs(_seen(motion, scene, seen)).max() < 1
    assert np.abs(_seen(motions[1], scene, alone)).max() > 1


def _seen(motion: SceneMotion, scene: Scene, view: dict[str, Any]) -> Array:
    """Return where the bodies are in a picture that is somewhat wider than high, -1 to 1."""
    assert motion.q is not None
    turn = np.radians([view["azimuth"], view["height"]])
    away = np.array([np.cos(turn[0]) * np.cos(turn[1]), np.sin(turn[0]) * np.cos(turn[1]), 0])
    away[2] = np.sin(turn[1])
    right = np.cross([0, 0, 1], away) / np.cos(turn[1])
    points = scene.poses(motion.q).poses[..., :3] @ scene.upright.T - view["center"]
    depth = (view["distance"] - points @ away) * np.tan(ANGLE / 2)
    return np.stack([points @ right / depth / 1.2, points @ np.cross(away, right) / depth])
