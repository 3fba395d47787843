"""Curves are told apart by dashes too, and the borders of controls are seen in both themes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.pages.assets_text import asset
from linkwright.pages.charts import layout_picture
from linkwright.pages.page import write_page
from linkwright.pages.scope import Columns, Graph, ScopeLayout
from linkwright.recording.colors import ASIDE, DASHES, TRACES
from linkwright.studio.display import motion_of
from tests.support.chromium import opened

SHEETS = ("page.css", "plots.css", "touch.css", "inspect.css")
LEAST = 3.0  # WCAG 2, 1.4.11


# -- curves ----------------------------------------------------------------------------------------
def eight() -> lw.Recording:
    """Return a recording with as many channels of a kind as there are colors."""
    names = [f"x{k}" for k in range(8)]
    data = np.arange(3.0)[:, None] * np.arange(1.0, 9.0)
    channels = [lw.Channel(n, "m", generic="length") for n in names]
    return lw.Recording([0.0, 1.0, 2.0], channels, data)


def test_curves_beyond_the_fourth_have_dashes_of_their_own() -> None:
    assert len(DASHES) == len(TRACES["light"]) == len(TRACES["dark"])
    own = [*DASHES[4:], ASIDE]
    assert len({*own}) == len(own)
    assert all(len(d) % 2 == 0 and d for d in own)
    assert not any(DASHES[:4])


def test_plots_pictures_and_pages_dash_the_same_curves(tmp_path: Path) -> None:
    recording = eight()
    names = [c.name for c in recording.channels]
    (axes,) = recording.plot().axes
    styles = [vars(line)["_unscaled_dash_pattern"][1] for line in axes.lines]
    told = [tuple(round(1.6 * d, 9) for d in s) if s else () for s in styles]
    assert told == [tuple(map(float, d)) for d in DASHES]
    graph = Graph(tuple(names))
    picture = layout_picture([("run", Columns(recording))], ScopeLayout((graph,)), (0.0, 2.0))
    lines = re.findall(r"<polyline[^>]*>", picture)
    found = [re.search(r"dasharray='([^']*)'", line) for line in lines]
    drawn = [tuple(map(float, m[1].split())) if m else () for m in found]
    assert drawn == [tuple(map(float, d)) for d in DASHES]
    write_page(tmp_path / "page.html", [motion_of(recording)])
    with opened(tmp_path / "page.html", offline=True, width=700, height=450) as (page, wrong):
        page.wait_for_selector(".legend i")
        told_there = page.evaluate("[0,1,2,3,4,5,6,7].map((ink) => dashes({ ink }))")
        assert told_there == [list(d) for d in DASHES]
        assert page.evaluate("dashes({ ink: 5, dashed: true })") == list(ASIDE)
        marks = page.locator(".legend i")
        striped = [
            marks.nth(k).evaluate("e => getComputedStyle(e).backgroundImage") != "none"
            for k in range(marks.count())
        ]
        assert marks.count() > 4
        assert striped == [bool(d) for d in DASHES[: len(striped)]]
        assert wrong == []


# -- borders of controls ---------------------------------------------------------------------------
def rules() -> list[tuple[str, dict[str, str]]]:
    """Return the selectors of all style sheets of pages, with what they set."""
    text = "".join(map(asset, SHEETS))
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    found = []
    for selector, body in re.findall(r"([^{}]+)\{([^{}]*)\}", text):
        pairs = [part.partition(":") for part in body.split(";") if ":" in part]
        found.append((selector.strip(), {name.strip(): value.strip() for name, _, value in pairs}))
    return found


def themes() -> dict[str, dict[str, str]]:
    """Return the colors of each theme: light, dark, and both as they are in the studio's tabs."""
    made: dict[str, dict[str, str]] = {"light": {}}
    for selector, told in rules():
        colors = {n: v for n, v in told.items() if re.fullmatch(r"--\w+", n)}
        if selector == ":root":
            made["light"] |= colors
        elif selector == "[data-theme=dark]":
            made["dark"] = made["light"] | colors
        elif selector.endswith(".alone") and colors:
            theme = "dark" if "dark" in selector else "light"
            made[f"{theme} alone"] = made[theme] | colors
    return made


def brightness(color: str) -> float:
    digits = color.lstrip("#")
    digits = "".join(2 * d for d in digits) if len(digits) == 3 else digits
    c = np.array([int(digits[k : k + 2], 16) / 255 for k in (0, 2, 4)])
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    low, high = sorted((brightness(one), brightness(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_as_the_standard_computes_it() -> None:
    assert contrast("#000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#fff") == pytest.approx(4.54, abs=0.01)


def test_borders_of_controls_differ_from_what_is_behind_them() -> None:
    """A border is drawn with the color of the theme for edges, or there is none."""
    seen = themes()
    assert {"light", "dark", "dark alone"} <= set(seen)
    control = re.compile(r"(^|[\s,>])(button|select|input|summary)(\[[^\]]*\])*($|,)")
    used = set()
    for selector, told in rules():
        border = told.get("border", "")
        if control.search(selector) and border not in ("", "0", "none"):
            (name,) = re.findall(r"var\((--\w+)\)", border)
            used.add(name)
    assert used == {"--edge"}
    for theme, colors in seen.items():
        for behind in ("--card", "--paper"):
            found = contrast(colors["--edge"], colors[behind])
            assert found >= LEAST, f"{theme}: {found:.2f} over {behind}"
