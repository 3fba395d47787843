"""Pages on a tablet: what fingers do, that buttons are large, and that nothing is cut off."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwright.pages.page import write_page
from linkwright.scene.motions import open_motion
from linkwright.studio.server import open_studio
from tests.support.chromium import opened
from tests.support.waiting import soon

ROBOTS = Path(__file__).parents[1] / "robots"
SIZES = ((1024, 768), (820, 1180))
LEAST = 40  # pixels

_SMALL = """(least) => [...document.querySelectorAll("button, select, summary, input")]
    .filter((b) => b.checkVisibility() && b.type !== "checkbox")
    .map((b) => [b.id || b.textContent, b.getBoundingClientRect()])
    .filter(([, r]) => r.height < least - 0.5 || r.width < least - 0.5)
    .map(([name, r]) => `${name}: ${r.width} x ${r.height}`)"""
_OUTSIDE = """() => [...document.querySelectorAll("header *, footer *, #views button, aside")]
    .filter((e) => e.checkVisibility())
    .filter((e) => { const r = e.getBoundingClientRect();
        return r.left < -0.5 || r.right > innerWidth + 0.5 || r.bottom > innerHeight + 0.5; })
    .map((e) => e.id || e.tagName)"""
_PLACE = """(name) => { const s = studio, k = s.nodes.findIndex((n) => n.name === name);
    const c = $("view"), m = camera(s).camera, [x, y, z] = poseOf(s, s.moving[0], k);
    const at = (r) => m[r] * x + m[4 + r] * y + m[8 + r] * z + m[12 + r];
    return [(1 + at(0) / at(3)) / 2 * c.clientWidth, (1 - at(1) / at(3)) / 2 * c.clientHeight]; }"""
"""Where the origin of a node is on the canvas, pixels."""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with a robot and a note."""
    path = tmp_path_factory.mktemp("touch") / "page.html"
    write_page(path, [open_motion(str(ROBOTS / "quadruped.urdf"))])
    return path


@pytest.fixture(scope="module", params=SIZES, ids=["wide", "high"])
def page(file: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The page on a tablet."""
    width, height = request.param
    with opened(file, offline=True, width=width, height=height, touch=True) as (made, wrong):
        made.wait_for_function("document.documentElement.dataset.ready === 'yes'")
        yield made
        assert wrong == []


def _fingers(page: Any, *paths: list[tuple[float, float]]) -> None:
    """Move fingers along paths over the scene, in pixels from its middle."""
    box = page.locator("#view").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    told = page.context.new_cdp_session(page)

    def put(kind: str, points: list[tuple[float, float]]) -> None:
        spots = [{"x": x + p, "y": y + q, "id": k} for k, (p, q) in enumerate(points)]
        told.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": spots})

    put("touchStart", [path[0] for path in paths])
    for share in np.linspace(0, 1, 6)[1:]:
        put("touchMove", [tuple(np.array(p[0]) + share * np.subtract(p[1], p[0])) for p in paths])
    put("touchEnd", [])


def _view(page: Any) -> dict[str, Any]:
    view: dict[str, Any] = page.evaluate("({...studio.view})")
    return view


def test_one_finger_turns_two_move_and_bring_nearer(page: Any) -> None:
    page.evaluate("studio.view = {...studio.first}")
    first = _view(page)
    _fingers(page, [(0, 0), (100, 40)])
    turned = _view(page)
    assert turned["azimuth"] - first["azimuth"] == pytest.approx(-35, abs=1)
    assert turned["height"] - first["height"] == pytest.approx(14, abs=1)
    assert turned["distance"] == first["distance"]
    assert turned["center"] == first["center"]
    _fingers(page, [(-40, 0), (-80, 0)], [(40, 0), (80, 0)])
    nearer = _view(page)
    assert nearer["distance"] / turned["distance"] == pytest.approx(0.5, abs=0.03)
    assert nearer["azimuth"] == turned["azimuth"]
    np.testing.assert_allclose(nearer["center"], turned["center"], atol=0.02)
    _fingers(page, [(-40, 0), (-40, 60)], [(40, 0), (40, 60)])
    moved = _view(page)
    assert moved["distance"] == pytest.approx(nearer["distance"], rel=0.05)
    high = page.locator("#view").bounding_box()["height"]  # pixels
    angle = page.evaluate("camera(studio).angle")  # of view, along the height
    wanted = 60 / high * 2 * moved["distance"] * np.tan(angle / 2)
    shift = np.linalg.norm(np.subtract(moved["center"], nearer["center"]))
    assert shift == pytest.approx(wanted, rel=0.05)


def test_a_tap_chooses_a_body_and_buttons_answer(page: Any) -> None:
    page.evaluate("studio.view = {...studio.first}")
    box = page.locator("#view").bounding_box()
    page.touchscreen.tap(box["x"] + 20, box["y"] + 20)  # the sky
    assert page.locator("#chip").is_hidden()
    page.locator("#play").tap()
    page.wait_for_function("studio.time > 0")
    page.locator("#play").tap()
    page.locator("#save").tap()
    assert page.locator("#saved button").count() == 1
    page.locator("#forget").tap()
    assert page.locator("#saved button").count() == 0
    graph = page.locator(".plot canvas").first
    wide = graph.bounding_box()["width"]
    graph.tap(position={"x": 48 + (wide - 58) / 2, "y": 40})
    assert page.evaluate("studio.time") == pytest.approx(10, abs=0.3)


def test_all_that_can_be_pressed_is_large_and_nothing_is_cut_off(page: Any) -> None:
    for summary in page.locator("aside details > summary").all():
        summary.tap()
        assert page.evaluate(_SMALL, LEAST) == []
        summary.tap()
    assert page.evaluate(_OUTSIDE) == []
    page.locator("#help").tap()
    box = page.locator("#keys").bounding_box()
    size = page.viewport_size
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= size["height"]
    page.locator("#keys button").tap()


def test_a_mouse_turns_moves_brings_nearer_and_chooses(file: Path) -> None:
    with opened(file, drawn=True, offline=True, width=900, height=600) as (page, wrong):
        page.wait_for_function("document.documentElement.dataset.ready === 'yes'")
        box = page.locator("#view").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        first = _view(page)
        trunk = page.evaluate(_PLACE, "trunk")
        page.mouse.click(box["x"] + trunk[0], box["y"] + trunk[1])
        assert page.locator("#chip").inner_text().startswith("trunk")
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 100, y + 40, steps=4)
        page.mouse.up()
        turned = _view(page)
        assert turned["azimuth"] - first["azimuth"] == pytest.approx(-35, abs=1)
        assert turned["height"] - first["height"] == pytest.approx(14, abs=1)
        page.mouse.wheel(0, -200)
        page.wait_for_function("studio.view.distance < 0.9 * studio.first.distance")
        page.mouse.move(x, y)
        page.mouse.down(button="right")
        page.mouse.move(x + 50, y, steps=4)
        page.mouse.up(button="right")
        moved = _view(page)
        assert moved["azimuth"] == turned["azimuth"]
        assert np.linalg.norm(np.subtract(moved["center"], turned["center"])) > 0.02
        assert wrong == []


def test_the_studio_on_a_tablet_shows_all_of_the_scene_and_large_buttons() -> None:
    studio = open_studio(["double-pendulum"])
    try:
        with opened(studio.address, width=820, height=1180, touch=True) as (page, wrong):
            page.get_by_role("tab", name="View").wait_for()
            for name in ("Scope", "Inspect"):
                page.get_by_role("tab", name=name).tap()
                frame = soon(partial(_shown, page, name))
                frame.wait_for_selector("button:visible")
                assert frame.evaluate(_SMALL, LEAST) == []
                assert frame.evaluate("document.documentElement.scrollWidth <= innerWidth")
            (client,) = studio.server.get_clients().values()
            soon(lambda: client.camera.aspect < 0.6)  # the panel stands beside the scene
            soon(lambda: _reach(client.camera) > 0.9 * studio.size)
            assert wrong == []
    finally:
        studio.close()


def _shown(page: Any, title: str) -> Any:
    """Return the page of our own that a tab of the studio shows, or None until it does."""
    page.wait_for_timeout(50)  # only here is it noticed that frames have come
    return next((f for f in page.frames if f.url.endswith(f"/{title.lower()}")), None)


def _reach(camera: Any) -> float:
    """Return how far from the middle a camera sees sideways, m."""
    far = np.linalg.norm(np.subtract(camera.position, camera.look_at))
    return float(far * np.tan(camera.fov / 2) * camera.aspect)
