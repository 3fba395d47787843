"""The studio in a headless Chromium: each kind of input, used as a person would use it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.studio.live_system import target_of
from linkwright.studio.server import Studio, open_studio
from linkwright.studio.state import PanelState
from tests.seeds import seldom
from tests.support.chromium import opened
from tests.support.waiting import soon

ARM = "tests/robots/oblique_arm.urdf"
GRAPHS = """() => [...(window.scope?.source.data ?? [])].flatMap(([key, takes]) =>
takes.map((c) => ({
    label: JSON.parse(key)[1],
    x: Array.from(c.t ?? []),
    y: Array.from(c.v ?? []),
})))"""


@contextmanager
def studio_page(*names: str) -> Iterator[tuple[Studio, Any, list[str]]]:
    """Yield a studio, its page, and what went wrong on it."""
    studio = open_studio(names)
    try:
        with opened(studio.address, width=960, height=600) as (
            page,
            wrong,
        ):
            page.get_by_role("tab", name="Play").wait_for()
            yield studio, page, wrong
    finally:
        studio.close()


def graphs(page: Any) -> list[dict[str, Any]]:
    """Return the curves that the scope draws, in its frame within the page."""
    from playwright.sync_api import Error

    found: list[dict[str, Any]] = []
    for frame in page.frames:
        with suppress(Error):  # a frame that is just being filled
            found += frame.evaluate(GRAPHS)
    return found


def tab(page: Any, name: str) -> None:
    """Open a tab."""
    page.get_by_role("tab", name=name).click()


def field(page: Any, label: str) -> Any:
    """Return the number beside a slider."""
    row = page.locator(f"xpath=//label[contains(., '{label}')]/ancestor::*[.//input][1]")
    return row.locator("input:visible").last


def panels_of(studio: Studio) -> PanelState:
    found = studio.panels
    assert isinstance(found, PanelState)
    return found


COLORED = 0.12
"""How far the parts of a color are from each other; sky, floor and shadows are nearly gray."""


def is_drawn(page: Any, tmp_path: Path, name: str) -> bool:
    """Return whether a picture of the page shows bodies: much that is neither white nor gray."""
    from matplotlib.image import imread

    path = tmp_path / f"{name}.png"
    page.evaluate("window.spared = false")
    page.set_viewport_size({"width": 1921 - page.viewport_size["width"], "height": 600})
    page.wait_for_timeout(300)  # it is drawn again because its size has changed
    page.screenshot(path=str(path))
    page.evaluate("window.spared = true")
    pixels = np.asarray(imread(path))[160:, :500, :3]  # below notices, beside the panel
    return int(np.sum(np.ptp(pixels, axis=2) > COLORED)) > 300


def test_a_model_is_played_scrubbed_posed_run_and_changed(tmp_path: Path) -> None:
    with studio_page("double-pendulum") as (studio, page, wrong):
        panels = panels_of(studio)
        soon(lambda: is_drawn(page, tmp_path, "first"))
        # play, then scrub
        page.get_by_role("button", name="Play", exact=True).click()
        soon(lambda: studio.player.time > 0.2)
        page.get_by_role("button", name="Pause", exact=True).click()
        soon(lambda: not studio.player.playing)
        scrub = field(page, "Time")
        scrub.fill("4")
        scrub.press("Enter")
        soon(lambda: abs(studio.player.time - 4.0) < 0.02)
        # the scope shows the value that the recording has then
        tab(page, "Scope")
        first = soon(lambda: graphs(page))[0]
        recording = studio.motions[0].recording
        assert first["label"] == "phi1"
        k = int(np.abs(np.array(first["x"]) - 4.0).argmin())
        wanted = np.interp(first["x"][k], recording.times, recording["phi1"])
        assert first["y"][k] == pytest.approx(wanted, abs=1e-6)
        frame = page.frame_locator("iframe.linkwright-scope")
        shown = np.interp(studio.player.time, recording.times, recording["phi1"])
        soon(
            lambda: (
                abs(float(frame.locator('[data-channel="phi1"] b').first.inner_text()) - shown)
                < 1e-3
            )
        )
        # a click in a graph moves the scene
        canvas = frame.locator(".plot canvas").first
        box = canvas.bounding_box()
        canvas.click(position={"x": 48 + (box["width"] - 58) / 2, "y": 40})
        soon(lambda: abs(studio.player.time - 5.0) < 0.1)
        # a slider poses the model
        tab(page, "Pose")
        angle = field(page, "phi1")
        angle.fill("1.25")
        angle.press("Enter")
        soon(lambda: panels.mode == "posed" and abs(panels.q[0] - 1.25) < 0.02)
        # the live run, with a parameter changed while it runs
        tab(page, "Live")
        soon(lambda: panels.live is not None)
        page.get_by_role("button", name="Run", exact=True).click()
        live = panels.live
        assert live is not None
        soon(lambda: live.latest.time > 0.3)
        tab(page, "Parameters")
        gravity = field(page, "g [m/s²]")
        gravity.fill("3")
        gravity.press("Enter")
        soon(lambda: abs(live.values["g"] - 3.0) < 0.1)
        assert live.latest.running
        # its channels roll over the scope
        tab(page, "Scope")
        soon(lambda: any(g["x"] and g["x"][-1] > live.latest.time - 0.5 for g in graphs(page)))
        live.pause()
        # equations and code
        tab(page, "Inspect")
        frame = page.frame_locator("iframe.linkwright-inspect")
        frame.locator('#tree [data-body="lower"]').click()
        frame.get_by_role("tab", name="Equations").click()
        frame.locator("math >> visible=true").first.wait_for()
        frame.get_by_role("tab", name="Code").click()
        frame.locator("pre.linkwright-code").wait_for()
        soon(lambda: is_drawn(page, tmp_path, "last"))
        page.get_by_role("button", name="Help").click()
        page.get_by_text("Play, pause").wait_for()
        assert panels.troubles.words == []
        assert wrong == []


def test_a_recording_without_a_model_shows_its_channels(tmp_path: Path) -> None:
    t = np.linspace(0, 2, 101)
    path = tmp_path / "unknown.csv"
    lw.Recording(t, [lw.Channel("height", "m")], np.sin(t)[:, None]).save(path)
    with studio_page(str(path)) as (studio, page, wrong):
        page.get_by_text("only plots are shown").first.wait_for()
        assert page.get_by_role("tab", name="Live").count() == 0
        tab(page, "Scope")
        (height,) = soon(lambda: graphs(page))
        assert np.allclose(height["y"], np.sin(height["x"]), atol=1e-6)
        frame = page.frame_locator("iframe.linkwright-scope")
        frame.get_by_text("Channels").click()
        frame.get_by_role("button", name="Derivative").click()
        (rate,) = soon(lambda: [g for g in graphs(page) if g["label"] == "d/dt height"])
        assert np.allclose(rate["y"], np.cos(rate["x"]), atol=1e-3)
        assert panels_of(studio).troubles.words == []
        assert wrong == []


@seldom(daily="test_a_model_is_played_scrubbed_posed_run_and_changed")
def test_a_robot_file_is_moved_by_its_joints_and_held_by_its_servos(tmp_path: Path) -> None:
    with studio_page(ARM) as (studio, page, wrong):
        panels = panels_of(studio)
        soon(lambda: is_drawn(page, tmp_path, "arm"))
        tab(page, "Pose")
        waist = field(page, "waist")
        waist.fill("2.5")
        waist.press("Enter")
        page.get_by_text("at its limit: waist").wait_for()
        tab(page, "Live")
        soon(lambda: panels.live is not None)
        page.keyboard.press("l")
        live = panels.live
        assert live is not None
        soon(lambda: live.latest.running)
        tab(page, "Pose")

        def brought_there() -> bool:
            """Ask until it is heard: a slider that follows the run may take a number back."""
            if live.values[target_of("waist")] != 1.0:
                waist.fill("1")
                waist.press("Enter")
            return bool(abs(panels.q[0] - 1.0) < 0.1)

        soon(brought_there)
        assert panels.mode == "live"
        assert panels.troubles.words == []
        assert wrong == []
