"""Keys: each one in the help sheets of the studio and of the page does what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.pages.page import write_page
from linkwright.scene.motions import recorded_motion
from linkwright.studio.live import Live
from linkwright.studio.server import Studio, open_studio
from tests.studio.test_studio_browser import field, panels_of, tab
from tests.support.chromium import opened
from tests.support.waiting import soon


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two recordings of a pendulum, from different starts."""
    folder = tmp_path_factory.mktemp("runs")
    paths = []
    for k in range(2):
        paths.append(folder / f"run{k}.csv")
        start = {"phi1": 0.5 + k}
        lw.simulate(lw.load("double-pendulum"), 4.0, step=0.05, initial=start).save(paths[k])
    return paths


@pytest.fixture(scope="module")
def shown(runs: list[Path]) -> Iterator[tuple[Studio, Any, list[str]]]:
    """The studio of both, in a browser."""
    studio = open_studio([str(path) for path in runs])
    try:
        with opened(studio.address) as (page, wrong):
            page.get_by_role("tab", name="View").wait_for()
            soon(lambda: panels_of(studio).live)
            yield studio, page, wrong
    finally:
        studio.close()


def _camera(studio: Studio) -> Any:
    (client,) = studio.server.get_clients().values()
    return np.subtract(client.camera.position, client.camera.look_at)


def _fits(studio: Studio) -> bool:
    """Return whether the camera looks at the middle of what is drawn now, and from near by."""
    assert studio.stage is not None
    low, high = studio.stage.box()
    (client,) = studio.server.get_clients().values()
    off = np.abs(np.subtract(client.camera.look_at, (low + high) / 2)).max()
    return bool(off < 1e-3 and np.linalg.norm(_camera(studio)) < 6 * np.linalg.norm(high - low))


def _live(studio: Studio) -> Live:
    live = panels_of(studio).live
    assert live is not None
    return live


def _chosen(label: str) -> Callable[[Studio, Any], str]:
    return lambda _studio, page: str(field(page, label).input_value())


_NAMES = {"pageup": "PageUp", "pagedown": "PageDown"}
STUDIO: tuple[tuple[str, Callable[[Studio, Any], Any], Any], ...] = (
    ("space", lambda s, p: s.player.playing, True),
    ("space", lambda s, p: s.player.playing, False),
    ("P", lambda s, p: s.player.playing, True),
    ("P", lambda s, p: s.player.playing, False),
    ("end", lambda s, p: s.player.time, 4.0),
    ("B", lambda s, p: round(s.player.time, 6), 3.95),
    ("home", lambda s, p: s.player.time, 0.0),
    ("N", lambda s, p: round(s.player.time, 6), 0.05),
    ("R", lambda s, p: s.player.time, 0.0),
    ("pageup", lambda s, p: s.player.speed, 2.0),
    ("pagedown", lambda s, p: s.player.speed, 1.0),
    ("O", lambda s, p: s.stages[1].shift[1] > 0, True),
    ("O", lambda s, p: s.stages[1].top.visible, False),
    ("O", lambda s, p: s.stages[1].top.visible, True),
    ("X", lambda s, p: s.stages[0].handles[1].show_axes, True),
    ("C", lambda s, p: s.stages[0].center.visible, True),
    ("G", lambda s, p: s.grid.visible, False),
    ("K", lambda s, p: p.get_by_text("No forces act").is_visible(), True),
    ("U", lambda s, p: p.get_by_text("no environment").is_visible(), True),
    ("I", lambda s, p: len(s.dark), 1),
    ("T", _chosen("Trail"), "upper"),
    ("F", _chosen("Follow"), "whole model"),
    ("F", _chosen("Follow"), "upper"),
    ("F", _chosen("Follow"), "lower"),
    ("F", _chosen("Follow"), "off"),
    ("2", lambda s, p: abs(_camera(s)[0]) < 0.01 and _camera(s)[1] < -1, True),
    ("3", lambda s, p: abs(_camera(s)[1]) < 0.01 and _camera(s)[0] > 1, True),
    ("4", lambda s, p: _camera(s)[2] > 1 and abs(_camera(s)[0]) < 0.2, True),
    ("1", lambda s, p: (_camera(s) > 0).tolist(), [True, False, True]),
    ("Z", lambda s, p: _fits(s), True),
    ("V", lambda s, p: p.get_by_role("button", name="1", exact=True).is_visible(), True),
    ("H", lambda s, p: p.get_by_text("All commands").is_visible(), True),
    ("H", lambda s, p: p.get_by_text("All commands").count(), 0),
    ("L", lambda s, p: _live(s).latest.running, True),
    ("L", lambda s, p: _live(s).latest.running, False),
    ("R", lambda s, p: _live(s).latest.tick, 0),
    ("N", lambda s, p: _live(s).latest.tick > 0, True),
)
_NAMES = {
    "space": "Space",
    "pageup": "PageUp",
    "pagedown": "PageDown",
    "home": "Home",
    "end": "End",
}


def _holds(found: Callable[[Studio, Any], Any], wanted: Any, studio: Studio, page: Any) -> bool:
    return bool(found(studio, page) == wanted)


def test_each_key_of_the_studio_does_what_its_sheet_says(
    shown: tuple[Studio, Any, list[str]],
) -> None:
    studio, page, wrong = shown
    assert {key for key, _, _ in STUDIO} == set(studio.keys)
    tab(page, "View")
    page.mouse.click(300, 560)  # a tab that has the focus takes the space bar for itself
    for key, found, wanted in STUDIO:
        page.keyboard.press(key.lower() if len(key) == 1 else _NAMES.get(key, key.capitalize()))
        try:
            soon(partial(_holds, found, wanted, studio, page))
        except AssertionError:
            pytest.fail(f"{key}: {found(studio, page)!r} is not {wanted!r}")
    assert panels_of(studio).troubles.words == []
    assert wrong == []


def test_space_counts_once_where_the_button_was_clicked_before(
    shown: tuple[Studio, Any, list[str]],
) -> None:
    studio, page, wrong = shown
    tab(page, "Play")
    page.get_by_role("button", name="Play", exact=True).click()
    soon(lambda: studio.player.playing)
    page.keyboard.press("Space")
    soon(lambda: not studio.player.playing)
    page.wait_for_timeout(300)
    assert not studio.player.playing
    assert wrong == []


_WRITTEN = str.maketrans(
    {"−": "-", "←": "arrowleft", "→": "arrowright", "↑": "arrowup", "↓": "arrowdown"}
)
PAGE: tuple[tuple[str, str, Any], ...] = (
    ("Space", "studio.playing", True),
    ("Space", "studio.playing", False),
    ("End", "studio.time", 4.0),
    ("ArrowLeft", "+studio.time.toFixed(6)", 3.95),
    ("Shift+ArrowLeft", "+studio.time.toFixed(6)", 3.45),
    ("Shift+ArrowRight", "+studio.time.toFixed(6)", 3.95),
    ("ArrowRight", "+studio.time.toFixed(6)", 4.0),
    ("Home", "studio.time", 0.0),
    ("]", "studio.speed", 2),
    ("[", "studio.speed", 1),
    ("l", "studio.loop", False),
    ("f", "studio.follow", -2),
    ("f", "studio.follow", 1),
    ("t", "studio.trace", True),
    ("a", "studio.axes", True),
    ("c", "studio.center", True),
    ("o", "studio.ghosts", "beside"),
    ("g", "studio.ground", False),
    ("u", "Boolean(studio.bare)", True),
    ("n", "Boolean(studio.named)", True),
    ("k", "studio.forces", False),
    (".", "studio.longer", 1.25),
    (",", "studio.longer", 1.0),
    ("+", "studio.plots.layout.window !== null", True),
    ("0", "studio.plots.layout.window", None),
    ("m", "studio.plots.layout.mark", 0.0),
    ("p", "document.body.classList.contains('nopanel')", True),
    ("p", "document.body.classList.contains('nopanel')", False),
    ("d", "document.documentElement.dataset.theme", "dark"),
    ("2", "[studio.view.azimuth, studio.view.height]", [-90, 4]),
    ("3", "[studio.view.azimuth, studio.view.height]", [0, 4]),
    ("4", "[studio.view.azimuth, studio.view.height]", [-90, 89]),
    ("ArrowDown", "studio.view.height", 74),
    ("ArrowUp", "studio.view.height", 89),
    ("Control+ArrowRight", "studio.view.azimuth", -70),
    ("Control+ArrowLeft", "studio.view.azimuth", -90),
    ("PageDown", "studio.view.distance > studio.first.distance", True),
    ("PageUp", "+(studio.view.distance / studio.first.distance).toFixed(6)", 1),
    ("z", "studio.view.distance === studio.first.distance", False),
    ("s", "document.querySelectorAll('#saved button').length", 1),
    ("1", "studio.view.height", 20),
    ("r", "studio.view.azimuth === studio.first.azimuth", True),
    ("?", "document.getElementById('keys').open", True),
    ("Escape", "document.getElementById('keys').open", False),
)


def test_each_key_of_the_page_does_what_its_sheet_says(runs: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_page(path, [recorded_motion(p.stem, lw.load(p)) for p in runs])
    with opened(path, offline=True) as (page, wrong):
        page.wait_for_function("document.documentElement.dataset.ready === 'yes'")
        told = " ".join(page.evaluate("KEYS.map((k) => k[0])")).translate(_WRITTEN).split()
        pressed = {key.split("+")[-1].lower() if len(key) > 1 else key for key, _, _ in PAGE}
        assert {key.lower() for key in told} - {"shift", "ctrl", "–"} <= pressed | {"-", "+"}
        for key, found, wanted in PAGE:
            page.keyboard.press(key)
            assert page.evaluate(found) == wanted, key
        assert wrong == []
