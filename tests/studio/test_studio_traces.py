"""Traces of bodies, in recordings and in live runs; wishes that come before a live run is there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.models import load_model
from linkwright.recording import Channel, Recording
from linkwright.scene.forces import scale_of
from linkwright.scene.motions import SceneMotion
from linkwright.scene.scene import scene_of
from linkwright.scene.viewpoint import point_of, upright
from linkwright.studio import playback
from linkwright.studio.joint_control import pose_of
from linkwright.studio.panel_pose import _Joints, _Tool
from linkwright.studio.server import Studio, open_studio
from linkwright.studio.state import RUN, PanelState, panels_of
from linkwright.studio.traces import Trace, way
from tests.support.chromium import opened


@pytest.fixture(name="pendulum")
def _pendulum() -> Iterator[tuple[Studio, PanelState]]:
    studio = open_studio(["pendulum"])
    try:
        yield studio, panels_of(studio)
    finally:
        studio.close()


def _drawn(trace: Trace) -> Any:
    (handle,) = trace._drawn.values()
    return np.asarray(handle.points, float)


def test_the_bob_of_a_pendulum_draws_a_circle(pendulum: tuple[Studio, PanelState]) -> None:
    studio, _ = pendulum
    trace = Trace(studio)
    trace.show("rod")
    way = _drawn(trace)
    assert np.linalg.norm(way, axis=2) == pytest.approx(1.0, abs=1e-5)  # about the pivot
    assert np.ptp(way[:, 0, 0]) > 0.5
    trace.show("")
    assert not trace._drawn


def test_the_trace_of_a_live_run_is_what_it_has_done(pendulum: tuple[Studio, PanelState]) -> None:
    studio, panels = pendulum
    trace = Trace(studio)
    trace.show("rod")
    before = _drawn(trace)
    panels.maker.make()
    live = panels.live
    assert live is not None
    live.set_value("g", 1.62)  # not what was recorded
    panels.take_over(RUN)
    live.advance(240)
    trace.refresh()
    way = _drawn(trace)
    phi = live.recording()["phi"]
    ends = live.poses(np.array([phi[-1]])).poses[1]
    assert len(way) == len(phi) - 1
    assert np.linalg.norm(way[-1, 1] - way[-1, 0]) < 0.1
    assert way[-1, 1][2] == pytest.approx(-np.cos(phi[-1]), abs=1e-5)
    assert ends[:3] == pytest.approx([0, 0, 0])  # its origin goes nowhere
    studio.player.go_to(0.0)
    trace.refresh()
    assert _drawn(trace) == pytest.approx(before)


def test_a_long_recording_and_its_trace_end_where_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more samples than can be shown the last one is among those that are."""
    scene, times = scene_of(load_model("pendulum")), np.linspace(0.0, 1.0, 150)
    q = times[:, None] ** 2
    recording = Recording(times, [Channel("phi", "rad")], q)
    monkeypatch.setattr(playback, "MOST_FRAMES", 100)
    track = playback.Track(SceneMotion("long", recording, scene, q))
    assert len(track.times) == 100
    last = scene.poses(q[-1]).poses
    np.testing.assert_allclose(track.at(1.0)[0], upright(scene, last[None])[0], atol=1e-6)
    places = way(track.poses[:, 1], np.array([0.0, -1.0, 0.0]), 10)
    np.testing.assert_allclose(places[-1], [np.sin(1.0), 0.0, -np.cos(1.0)], atol=1e-6)


def test_bodies_without_mass_are_followed_at_the_middle_of_their_shape() -> None:
    scene = scene_of(load_model("four-bar"))  # bars of 0.5 m and 0.4 m have no mass
    assert point_of(scene, "a")[0] == pytest.approx(0.25, abs=0.01)


def test_what_is_asked_for_while_a_run_is_made_is_done_when_it_is_there(
    pendulum: tuple[Studio, PanelState], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, panels = pendulum
    go, done = threading.Event(), threading.Event()
    make = panels.maker.make

    def slow() -> None:
        go.wait(60)
        make()

    monkeypatch.setattr(panels.maker, "make", slow)
    panels.maker.prepare()  # as when a browser comes
    panels.maker.prepare(done.set)  # Run is pressed meanwhile
    assert not done.is_set()
    go.set()
    assert done.wait(60)
    assert panels.live is not None
    again = threading.Event()
    panels.maker.prepare(again.set)
    assert again.is_set()


def test_the_legend_tells_thousands_of_newtons_plainly() -> None:
    assert scale_of(1040.0, 1.0).legend(1.0) == "0.5 m = 1620 N"


def test_the_handle_of_a_tool_goes_with_a_tool_that_moves_otherwise() -> None:
    studio = open_studio(["tests/robots/oblique_arm.urdf"])
    try:
        panels = panels_of(studio)
        assert panels.scene is not None
        words = studio.server.gui.add_markdown("")
        tool = _Tool(panels, _Joints(panels, words))
        tool.add("tool", lambda: True)
        q = panels.q.copy()
        q[panels.scene.poses.coordinates.index("waist")] += 0.5
        panels.pose(q)
        tool.refresh()
        wanted = panels.scene.upright @ pose_of(panels.scene, q, "tool")[:3, 3]
        assert np.asarray(tool.control.position) == pytest.approx(wanted)
        tool.remove()
        tool.refresh()
    finally:
        studio.close()


def test_a_page_follows_mass_centers_too(tmp_path: Path) -> None:
    place = tmp_path / "a.html"
    lw.page(place, load_model("pendulum"))
    with opened(place, offline=True) as (page, wrong):
        page.wait_for_function("window.studio && studio.nodes")
        assert page.evaluate("studio.nodes.map((n) => n.point)")[1] == [0, -1, 0]
        assert wrong == []


@pytest.mark.parametrize("ends", [(-4.43, 4.43), (-1.2, 0.3), (0.0, 1.0), (995.0, 1004.0)])
def test_an_axis_has_two_ticks_at_least(ends: tuple[float, float], tmp_path: Path) -> None:
    place = tmp_path / "a.html"
    lw.page(place, load_model("pendulum"))
    with opened(place, offline=True) as (page, _):
        made = page.evaluate("([a, b]) => ticks(a, b, 3)", list(ends))
    assert len(made) >= 2
    assert all(ends[0] - 1e-9 <= t <= ends[1] + 1e-9 for t in made)
