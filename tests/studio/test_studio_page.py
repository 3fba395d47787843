"""Pages: how large they are, what they hold, and that they play in a browser without network."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.cli import main
from linkwright.mechanism import Mechanism
from linkwright.pages.page import page_text, write_page
from linkwright.scene.motions import open_motion, recorded_motion, scene_motion
from linkwright.scene.scene import scene_of
from tests.support.chromium import opened

ROBOTS = Path(__file__).parents[1] / "robots"


def _parts(text: str) -> tuple[dict[str, Any], bytes]:
    data = re.search(r'id="data">(.*?)</script>', text, re.S)
    block = re.search(r'id="block">(.*?)</script>', text, re.S)
    assert data is not None
    assert block is not None
    return json.loads(data[1]), zlib.decompress(base64.b64decode(block[1]))


def _column(block: bytes, told: dict[str, Any], which: int) -> np.ndarray[Any, Any]:
    """Read a column back, written apart from the page's own way."""
    start, rows, count = told["at"]
    size = rows * count
    low = np.frombuffer(block, np.uint8, size, start).astype(int)
    high = np.frombuffer(block, np.uint8, size, start + size).astype(int)
    steps = (low + 256 * high).reshape(count, rows)[which]
    levels = np.cumsum(steps) % 65536
    return np.asarray(told["low"][which] + told["step"][which] * levels)


def _numbers(block: bytes, told: dict[str, Any], which: int) -> np.ndarray[Any, Any]:
    """Read a column of floating-point numbers back, written apart from the page's own way."""
    start, rows, count = told["at"]
    wide = told["bits"] // 8
    planes = np.frombuffer(block, np.uint8, rows * count * wide, start).reshape(wide, count, rows)
    return np.array([planes[:, which, r].tobytes() for r in range(rows)]).view(f"<f{wide}")


def test_channels_and_poses_come_back_from_the_page() -> None:
    run = lw.simulate(lw.load("pendulum"), 2.0, step=0.01)
    motion = recorded_motion("run", run.recording)
    data, block = _parts(page_text([motion]))
    told = data["takes"][0]
    labels = [label[0] for label in told["channels"]["labels"]]
    phi = _numbers(block, told["channels"]["values"], labels.index("phi"))
    np.testing.assert_array_equal(phi, run["phi"])
    center = _column(block, told["center"], 2)  # y of the model is up
    np.testing.assert_allclose(center, -np.cos(run["phi"]), atol=1e-4)
    rod = [n["name"] for n in data["scene"]["nodes"]].index("rod")
    w = _column(block, told["poses"], 7 * rod + 3)
    assert np.abs(w).max() <= 1.0001


def _humanoid() -> Mechanism:
    """A tree of thirty bodies with a free base."""
    m = Mechanism("walker")
    root = m.body("pelvis", joint=lw.Free(quaternion=True), mass=10, inertia=(0.2, 0.2, 0.2))
    for limb in range(4):
        above = root
        for k in range(7):
            above = m.body(
                f"l{limb}{k}",
                parent=above,
                at=(0.05 * (limb - 1.5), 0, -0.15),
                rotate="xyzxyzx"[k],
                mass=1,
                com=(0, 0, -0.07),
                inertia=(0.01, 0.01, 0.001),
            )
    m.gravity(along="-z")
    return m


def test_a_minute_of_a_humanoid_takes_less_than_3_mb() -> None:
    scene = scene_of(_humanoid())
    names = scene.poses.coordinates
    times = np.linspace(0, 60, 3601)
    rng = np.random.default_rng(4)
    rates = rng.uniform(0.3, 3, (3, len(names)))
    q = sum(np.sin(2 * np.pi * times[:, None] * r + rng.normal(size=len(names))) for r in rates) / 2
    q[:, names.index("pelvis.x")] += times
    recording = lw.Recording(times, [lw.Channel(n, "rad") for n in names], q)
    text = page_text([scene_motion("walk", recording, scene)])
    assert len(text) < 3_000_000
    data, _ = _parts(text)
    assert data["takes"][0]["poses"]["at"][1] >= 0.49 * 3601  # at least 29 frames a second are left


def test_a_page_needs_nothing_from_elsewhere() -> None:
    text = page_text([open_motion("pendulum")])
    code = re.sub(r'id="block">.*?</script>', "", text, flags=re.S)
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", code)
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|importScripts)\s*\(", code)


def test_names_in_a_page_cannot_become_markup() -> None:
    bad = "</script><img src=x onerror=alert(1)>"
    recording = lw.Recording([0, 1], [lw.Channel(bad, "m", bad)], [[0], [1]], {"model": bad})
    text = page_text([recorded_motion(bad, recording)], title=bad)
    assert bad not in text
    assert json.loads(_parts_text(text))["title"] == bad


def _parts_text(text: str) -> str:
    found = re.search(r'id="data">(.*?)</script>', text, re.S)
    assert found is not None
    return found[1]


def test_the_command_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = lw.simulate(lw.load("four-bar"), 0.5, step=0.01)
    run.save(tmp_path / "run.npz")
    out = tmp_path / "page.html"
    assert main(["page", str(tmp_path / "run.npz"), "-o", str(out)]) == 0
    assert "open it in a browser" in capsys.readouterr().out
    data, _ = _parts(out.read_text())
    assert data["title"] == "four-bar"
    assert main(["page", str(tmp_path / "none.npz")]) == 2


# -- in a browser ----------------------------------------------------------------------------------
def test_a_page_plays_offline(tmp_path: Path) -> None:
    run = lw.simulate(lw.load("double-pendulum"), 10.0, step=0.02)
    file = tmp_path / "page.html"
    write_page(file, [recorded_motion("run", run.recording)])
    with opened(file, drawn=True, offline=True) as (page, wrong):
        page.wait_for_selector("html[data-ready=yes]")
        assert page.inner_text("#time") == "0.000 s"
        page.click("#play")
        page.wait_for_function("studio.time > 0.2 && studio.frames > 3")
        page.keyboard.press("Space")
        assert not page.evaluate("studio.playing")
        page.fill("#scrub", "0.25")
        assert page.inner_text("#time") == "2.500 s"
        shown = float(page.inner_text('[data-channel="phi1"] b'))
        assert shown == pytest.approx(float(run["phi1"][125]), abs=2e-3)
        page.keyboard.press("ArrowRight")
        assert page.inner_text("#time") == "2.520 s"
        _the_scene_is_drawn(page)
        for key in "atcdgl1234r?":
            page.keyboard.press(key)
        assert page.evaluate("document.getElementById('keys').open")
        page.wait_for_timeout(100)
        assert wrong == []


def _the_scene_is_drawn(page: Any) -> None:
    """Hold the picture of the scene against an empty one: some pixels are the mass's color."""
    red = page.evaluate(
        """() => {
        const c = document.getElementById('view'), g = c.getContext('webgl2');
        const p = new Uint8Array(4 * c.width * c.height);
        g.readPixels(0, 0, c.width, c.height, g.RGBA, g.UNSIGNED_BYTE, p);
        let n = 0;
        for (let k = 0; k < p.length; k += 4)
          if (p[k] > 120 && p[k] > 1.5 * p[k + 1] && p[k] > 1.5 * p[k + 2]) n++;
        return n; }"""
    )
    assert red > 50


def test_a_page_of_an_unknown_model_shows_plots_and_says_so(tmp_path: Path) -> None:
    times = np.linspace(0, 1, 101)
    recording = lw.Recording(times, [lw.Channel("x", "m")], times[:, None] ** 2, {"model": "thing"})
    file = tmp_path / "page.html"
    write_page(file, [recorded_motion("run", recording)])
    with opened(file, offline=True) as (page, wrong):
        page.wait_for_selector("html[data-ready=yes]")
        page.fill("#scrub", "0.5")
        assert page.inner_text('[data-channel="x"] b') == "0.2500"
        assert "not a shipped model" in page.inner_text("#notes")  # in sight
        page.keyboard.press("p")
        assert page.locator("#notes").is_visible()  # the plots are all there is
        assert page.locator("#axes").is_hidden()
        assert wrong == []


def _table(text: str) -> tuple[list[str], np.ndarray[Any, Any]]:
    head, *rows = text.splitlines()
    return head.split(","), np.array([[float(x) for x in row.split(",")] for row in rows])


@pytest.mark.parametrize("spacing", ["even", "uneven"])
def test_the_table_of_a_page_is_the_recording_to_the_last_bit(tmp_path: Path, spacing: str) -> None:
    rng = np.random.default_rng(7)
    times = (
        np.linspace(0, 1, 201) if spacing == "even" else np.cumsum(rng.uniform(0.001, 0.01, 201))
    )
    data = rng.normal(size=(201, 3)) * [1e-9, 1.0, 1e12]
    data[:, 1] = np.where(np.arange(201) % 2, 0.1, 0.2)
    data[5, 0], data[6, 0], data[7, 0] = np.nan, np.inf, -np.inf
    recording = lw.Recording(times, [lw.Channel(n, "m") for n in "abc"], data)
    file = tmp_path / "page.html"
    write_page(file, [recorded_motion("run", recording)])
    with opened(file, offline=True) as (page, wrong):
        page.wait_for_selector("html[data-ready=yes]")
        names, table = _table(page.evaluate("csvText(studio.plots.source)"))
        assert names == ["t [s]", "a [m]", "b [m]", "c [m]"]
        np.testing.assert_array_equal(table[:, 1:], data)
        np.testing.assert_allclose(table[:, 0], times, rtol=1e-14, atol=1e-15)
        rate = page.evaluate("[...rateOf(studio.takes[0].values[2], studio.plots.source.times(0))]")
        np.testing.assert_allclose(rate, np.gradient(data[:, 2], times, edge_order=2), rtol=1e-9)
        assert wrong == []


def test_a_long_recording_has_the_digits_of_single_precision_and_says_what_was_left_out(
    tmp_path: Path,
) -> None:
    times = np.linspace(0, 100, 100_001)
    data = 1e3 * np.sin(times[:, None] + np.arange(5))
    recording = lw.Recording(times, [lw.Channel(f"c{k}", "m") for k in range(5)], data)
    file = tmp_path / "page.html"
    write_page(file, [recorded_motion("run", recording)], most=10_000_000)
    with opened(file, offline=True) as (page, wrong):
        page.wait_for_selector("html[data-ready=yes]")
        text = page.evaluate("csvText(studio.plots.source)")
        shown = [x for row in text.splitlines()[1::97] for x in row.split(",")[1:]]
        fewest = [np.format_float_positional(np.float32(x), unique=True) for x in shown]
        assert list(map(float, fewest)) == list(map(float, shown))  # no false digits
        _, table = _table(text)
        np.testing.assert_allclose(table[:, 3], 1e3 * np.sin(table[:, 0] + 2), atol=1e-3)
        saved = page.locator(".menu button", has_text="Table").text_content()
        assert saved == "Table, .csv (resampled: 80,000 of 100,001 samples)"
        assert wrong == []


def test_each_take_of_a_page_is_drawn_with_its_own_shapes(tmp_path: Path) -> None:
    model = lw.load("pendulum")
    motions = [
        recorded_motion(
            f"L{long}", lw.simulate(model, 1.0, step=0.05, parameters={"L": long}).recording
        )
        for long in (1.0, 1.0, 1.3)
    ]
    data, _ = _parts(page_text(motions))
    assert data["takes"][1]["shapes"] == [None, None]  # the first one's, not stored again
    shapes = data["takes"][2]["shapes"]
    assert [p is None for p in shapes] == [True, False] or all(shapes)
    first = next(n for n in data["scene"]["nodes"] if n["name"] == "rod")

    def lowest(parts: list[dict[str, Any]]) -> float:
        return float(min(p["low"][1] for p in parts))

    ball = lowest(first["parts"]) + 1.0
    assert lowest(shapes[1]["parts"]) == pytest.approx(-1.3 + ball, abs=0.05)
    assert shapes[1]["point"] == [0.0, -1.3, 0.0]
    radius = [
        _parts(page_text([t]))[0]["scene"]["view"]["distance"] for t in (motions[0], motions[2])
    ]
    both = data["scene"]["view"]["distance"]
    assert both >= radius[1] > radius[0]  # the longer one is in the picture too
    file = tmp_path / "page.html"
    write_page(file, motions)
    with opened(file, offline=True) as (page, wrong):
        page.wait_for_selector("html[data-ready=yes]")
        meshes = page.evaluate("studio.moving.map((t) => t.own[1].parts === studio.nodes[1].parts)")
        assert meshes == [True, True, False]
        drawn = page.evaluate(
            """() => { const own = studio.moving[2].own[1].parts.map((p) => p.mesh);
                return draws(studio).filter((d) => own.includes(d.mesh)).length; }"""
        )
        assert drawn == len(shapes[1]["parts"])
        assert wrong == []


# -- the first seconds, and people with other needs ------------------------------------------------
_BY_HAND = """window.frames_ = []; window.requestAnimationFrame = (f) => frames_.push(f);
window.frame = (now) => { const all = frames_; frames_ = []; all.forEach((f) => f(now)); };"""


@pytest.fixture(scope="module")
def swinging(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of a pendulum over ten seconds."""
    path = tmp_path_factory.mktemp("swinging") / "page.html"
    run = lw.simulate(lw.load("pendulum"), 10.0, step=0.02, initial={"phi": 1.0})
    write_page(path, [recorded_motion("run", run.recording)])
    return path


def test_a_page_moves_when_it_opens_unless_motion_is_unwelcome(swinging: Path) -> None:
    with opened(swinging, offline=True, moving=True) as (page, wrong):
        page.wait_for_function("studio.playing && studio.time > 0.1")
        page.fill("#scrub", "0.5")  # who chooses a time keeps it
        assert not page.evaluate("studio.playing")
        assert page.inner_text("#time") == "5.000 s"
        assert wrong == []
    with opened(swinging, offline=True) as (page, wrong):
        page.wait_for_selector("html[data-ready=yes]")
        page.wait_for_function("studio.frames > 0")
        assert page.evaluate("[studio.playing, studio.time]") == [False, 0]
        assert wrong == []


def test_the_clock_is_right_at_any_frame_rate_and_slow_frames_get_coarser(swinging: Path) -> None:
    with opened(swinging, offline=True, moving=True, script=_BY_HAND) as (page, wrong):
        page.wait_for_selector("html[data-ready=yes]")
        wide, level = page.evaluate("frame(0), [$('view').width, studio.level]")
        assert level == 0
        for now in range(500, 5001, 500):  # two frames a second
            page.evaluate(f"frame({now})")
        assert page.evaluate("studio.time") == pytest.approx(5.0, abs=1e-9)
        page.evaluate("frame(5016)")
        level, narrower = page.evaluate("[studio.level, $('view').width]")
        assert level >= 1
        assert narrower < wide
        page.evaluate("frame(500000)")  # the page was hidden meanwhile
        assert page.evaluate("studio.time") == pytest.approx(5.016, abs=1e-9)
        assert wrong == []


def test_cameras_glide_to_a_view_and_fit_shows_all(swinging: Path) -> None:
    with opened(swinging, offline=True, moving=True, script=_BY_HAND) as (page, wrong):
        page.wait_for_selector("html[data-ready=yes]")
        page.evaluate("play(studio, false), frame(0)")
        first = page.evaluate("studio.view.azimuth")
        page.keyboard.press("3")
        page.evaluate("frame(100), frame(200)")
        between = page.evaluate("studio.view.azimuth")
        page.evaluate("frame(1000)")
        assert first < between < page.evaluate("studio.view.azimuth") == 0
        page.evaluate("nearer(studio, 0.1), $('fit').click(), frame(2000), frame(3000)")
        inside = page.evaluate(
            """() => { const s = studio, m = camera(s).camera; let most = 0;
            for (const d of draws(s)) for (let k = 0; k < 8; k++) {
              const p = d.box.map((e, i) => e[(k >> i) & 1]), w = times(m, d.model);
              const at = [0, 1, 3].map((r) => w[r]*p[0] + w[4+r]*p[1] + w[8+r]*p[2] + w[12+r]);
              most = Math.max(most, Math.abs(at[0] / at[2]), Math.abs(at[1] / at[2])); }
            return most; }"""
        )
        assert 0.5 < inside < 1
        assert wrong == []


def test_keys_press_what_has_the_focus_and_a_mouse_gives_it_back(swinging: Path) -> None:
    with opened(swinging, offline=True) as (page, wrong):
        page.wait_for_selector("html[data-ready=yes]")
        page.focus("#axes")
        page.keyboard.press("Space")
        assert page.evaluate("[studio.axes, studio.playing]") == [True, False]
        page.click("#axes")
        page.keyboard.press("Space")  # no longer the button's
        assert page.evaluate("[studio.axes, studio.playing]") == [False, True]
        page.keyboard.press("Space")
        page.focus(".plot canvas >> nth=1")
        assert page.evaluate("studio.plots.active") == 1
        view = page.locator("#view")
        assert view.get_attribute("role") == "img"
        assert "rod" in str(view.get_attribute("aria-label"))
        assert page.title() == "pendulum · Linkwright"
        assert wrong == []


@pytest.mark.parametrize("size", [(390, 844), (844, 390)], ids=["portrait", "landscape"])
def test_all_of_a_page_can_be_reached_on_a_phone(tmp_path: Path, size: tuple[int, int]) -> None:
    file = tmp_path / "page.html"
    write_page(file, [open_motion("four-bar")])
    width, height = size
    with opened(file, offline=True, width=width, height=height, touch=True) as (page, wrong):
        page.wait_for_selector("html[data-ready=yes]")
        page.wait_for_function("!$('legend').hidden")
        boxes = {n: page.locator(n).bounding_box() for n in ("header", "#view", "#legend", "aside")}
        assert boxes["header"]["height"] <= 56
        assert boxes["#view"]["height"] >= 0.3 * height
        assert boxes["aside"]["height"] >= 0.3 * height
        assert page.evaluate("document.documentElement.scrollWidth") == width
        page.locator("#menu").tap()
        page.locator("#center").tap()
        assert page.evaluate("studio.center")
        page.locator("#help").tap()
        dialog = page.locator("#keys").bounding_box()
        assert dialog["x"] >= 0
        assert dialog["x"] + dialog["width"] <= width
        page.locator("#keys dd").last.scroll_into_view_if_needed()
        page.locator("#keys button").tap()
        page.locator("[data-view=top]").tap()  # also closes the menu; nothing lies over it
        assert page.evaluate("studio.view.height") == 89
        for name in ("#fit", "#save", "#play", "#loop", "summary:has-text('Channels')"):
            page.locator(name).tap()
        assert page.locator("#search").is_visible()
        assert wrong == []


def test_the_legend_of_forces_is_a_scale_bar(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    write_page(file, [open_motion("four-bar")])
    with opened(file, offline=True) as (page, wrong):
        page.wait_for_selector("html[data-ready=yes]")
        for _ in range(3):
            page.evaluate("nearer(studio, 0.6), render(studio)")
            meters, newtons = page.inner_text("#legend").removesuffix(" N").split(" m = ")
            long = page.evaluate("$('legend').querySelector('svg').getBoundingClientRect().width")
            pixels = page.evaluate(
                """(d) => { const c = camera(studio), right = unit(cross(c.up, c.away));
                const x = (p) => { const m = c.camera, w = (r) =>
                  m[r]*p[0] + m[4+r]*p[1] + m[8+r]*p[2] + m[12+r];
                  return w(0) / w(3) / 2 * $('view').clientWidth; };
                return x(plus(c.focus, right, d)) - x(c.focus); }""",
                float(meters),
            )
            assert long == pytest.approx(pixels, abs=1)
            scale = page.evaluate("scaleOf(studio, studio.moving[0].arrows).meters")
            assert float(newtons) * scale == pytest.approx(float(meters), rel=0.01)
        assert wrong == []
