"""The studio's page as a browser gets it: its name, the bar over the scene, phones, the dark."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from urllib.request import urlopen

import pytest

from linkwright.base.errors import Error
from linkwright.studio.client_page import page_of
from linkwright.studio.server import Studio, open_studio
from linkwright.studio.state import RUN, panels_of
from linkwright.studio.status import Status
from tests.seeds import seldom
from tests.support.chromium import opened
from tests.support.waiting import soon

SCHEME = "document.documentElement.dataset.mantineColorScheme"


@pytest.fixture
def studio() -> Iterator[Studio]:
    made = open_studio(["pendulum"])
    yield made
    made.close()


def test_a_client_of_another_kind_is_an_error() -> None:
    with pytest.raises(Error, match="another page"):
        page_of("<html></html>", "a")


def test_the_bar_tells_mode_time_and_pace_in_every_mode(studio: Studio) -> None:
    panels, player = panels_of(studio), studio.player
    panels.maker.make()
    panels.rounds._quit.set()
    player.close()  # the test moves it
    status = Status(panels)
    told = status.state({"motion": "still"})
    assert (told["mode"], told["time"], told["pace"]) == ("REPLAY", "t = 0.00 s", "paused")
    assert not player.playing
    player.go_to(2.5)
    player.playing = True
    told = status.state({"motion": "moving"})  # who came first has decided
    assert (told["mode"], told["time"], told["pace"]) == ("REPLAY", "t = 2.50 s", "1× real time")
    live = panels.live
    assert live is not None
    panels.take_over(RUN)
    live.advance(240)
    told = status.state({})
    assert (told["mode"], told["time"], told["pace"]) == ("LIVE", "t = 1.00 s", "paused")
    live._mark = (time.monotonic() + 1e6, 0)  # the test says what the pace is
    live._pace, live.running = 0.5, True
    assert status.state({})["pace"] == "0.5× real time — too slow for this machine"
    live._pace = 1.0
    assert status.state({})["pace"] == "1× real time"
    live.running = False
    panels.pose(panels.q)
    assert status.state({})["mode"] == "POSE"
    panels.maker.cannot, panels.maker.live = "Cannot run live: no mass", None
    assert status.state({})["note"] == "Cannot run live: no mass"
    live.close()


def test_it_plays_by_itself_for_the_first_who_may_see_it_move(studio: Studio) -> None:
    for motion, playing in (("moving", True), ("still", True)):
        with urlopen(f"{studio.address}state?motion={motion}", timeout=240) as answer:
            assert json.load(answer)["mode"] == "REPLAY"
        assert studio.player.playing == playing


@seldom(
    daily="tests/studio/test_studio_browser.py::test_a_model_is_played_scrubbed_posed_run_and_changed"
)
def test_the_page_has_our_name_moves_and_says_how_to_start_again() -> None:
    studio = open_studio(["pendulum"])
    studio.again = "linkwright studio pendulum"
    try:
        with opened(studio.address, moving=True, dark=True) as (page, _):
            page.wait_for_function("document.getElementById('lw-mode')?.textContent === 'REPLAY'")
            soon(lambda: studio.player.playing and studio.player.time > 0)
            assert page.title() == "pendulum · Linkwright"
            icon = page.locator("link[rel=icon]").get_attribute("href")
            assert "c8553d" in icon
            assert page.url == studio.address  # nothing of Viser's own is put into it
            page.wait_for_function(f"{SCHEME} === 'dark'")  # as the browser prefers
            frame = page.frame_locator("iframe.linkwright-scope")
            page.get_by_role("tab", name="Scope").click()
            frame.locator("html[data-theme=dark]").wait_for(state="attached")
            page.get_by_role("button", name="Help").click()
            page.get_by_text("All commands").wait_for()
            page.keyboard.press("Escape")
            with opened(studio.address) as (other, _):
                other.get_by_role("tab", name="Play").wait_for()
                assert other.evaluate(SCHEME) == "light"  # each browser has its own
            studio.close()
            page.locator("#lw-lost").get_by_text("linkwright studio pendulum").wait_for()
            assert "Connection lost" in page.locator("#lw-lost").inner_text()
    finally:
        studio.close()


def test_on_a_phone_the_model_is_seen_first(studio: Studio) -> None:
    with opened(studio.address, width=390, height=844, touch=True) as (
        page,
        wrong,
    ):
        sheet = page.locator(".mantine-Paper-root[style*='position: fixed']")
        sheet.wait_for()
        small = "document.querySelector(\".mantine-Paper-root[style*='position: fixed']\")"
        page.wait_for_function(f"{small}.getBoundingClientRect().height < 80")
        canvas = "document.querySelector(\"[style*='touch-action: none'] > div > canvas\")"
        page.wait_for_function(f"{canvas}.getBoundingClientRect().top === 0")  # all of it is seen
        assert page.evaluate(f"{canvas}.getBoundingClientRect().bottom") == 844
        sheet.locator("[style*='cursor: pointer']").first.click()
        page.get_by_role("tab", name="Live").wait_for()
        page.wait_for_function(f"{small}.getBoundingClientRect().height > 200")
        box = sheet.bounding_box()
        assert box["width"] == 390
        assert box["height"] < 0.5 * 844
        picture = page.locator("[style*='touch-action: none'] > div > canvas").bounding_box()
        middle = picture["y"] + picture["height"] / 2
        assert 100 < middle < box["y"] - 100  # the model is seen above the sheet
        page.get_by_role("tab", name="Parameters").click()
        field = page.locator(".mantine-NumberInput-input:visible").first
        field.wait_for()
        assert field.bounding_box()["height"] >= 28  # for fingers
        assert wrong == []
