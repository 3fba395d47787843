"""The studio of a laboratory: what the page is told, and what it does."""

from __future__ import annotations

import json
import socket
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.lab.console.consoles import Consoles
from linkwright.lab.lab import Lab
from linkwright.lab.tasks import Task, parameter
from linkwright.studio import lab_studio
from linkwright.studio.lab_link import LabLink
from linkwright.studio.lab_studio import open_lab_studio
from linkwright.studio.server import Studio
from linkwright.studio.side_pages import side_pages_of
from tests.seeds import seldom
from tests.support.chromium import opened
from tests.support.lab_robots import planar
from tests.support.waiting import PATIENCE, soon

LIMIT = 200.0  # s, far more than it takes on a busy machine


class Nod(Task):
    """Lets one joint go up and down, and draws."""

    frequency = parameter(1.0, unit="Hz", lower=0, upper=5, doc="of the elbow")

    def init(self, lab: Any) -> None:
        """Begin here."""
        self.middle = lab.desired.q.copy()

    def run(self, t: Any, state: Any, desired: Any) -> None:
        """Go on."""
        desired.q = self.middle + 0.1 * np.sin(6.28 * self.frequency * t)

    def draw(self, scene: Any, state: Any) -> None:
        """Draw a sphere, or make a mistake."""
        if self.frequency > 4:
            raise ValueError("too quick to be drawn")
        scene.sphere((0.4, -0.5, 0.1 * self.frequency))
        scene.text((0, 0, 1), "nods")


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("sl-arm") as made:
        made.add(Nod)
        yield made


@pytest.fixture
def studio(lab: Lab) -> Iterator[Studio]:
    lab.pace(None)
    lab.reset()
    with open_lab_studio(Consoles(lab)) as made:
        yield made


def ask(studio: Studio, place: str, body: dict[str, Any] | None = None) -> Any:
    """Ask as the page does."""
    address = f"{side_pages_of(studio).address}lab/{place}"
    sent = json.dumps(body or {}).encode()
    with urllib.request.urlopen(urllib.request.Request(address, sent), timeout=LIMIT) as answer:
        return json.load(answer)


def lines(studio: Studio, kind: str) -> list[str]:
    """Return what the console has of a kind."""
    return [text for _, k, text in ask(studio, "state")["lines"] if k == kind]


def test_the_page_gives_commands_and_changes_parameters(studio: Studio, lab: Lab) -> None:
    told = ask(studio, "state")
    assert told["name"] == "sl-arm"
    assert told["tasks"]["nod"] == [
        {"name": "frequency", "default": 1.0, "unit": "Hz", "low": 0, "high": 5}
        | {"doc": "of the elbow"}
    ]
    assert set(told["servos"]) == {"motor", "task", "invdyn", "invkin", "vision"}
    ask(studio, "give", {"line": "st nod frequency=2"})
    soon(lambda: "nod runs" in lines(studio, "answer"))
    ask(studio, "give", {"line": "ctp frequency=3"})
    soon(lambda: ask(studio, "state")["parameters"] == {"frequency": 3.0})
    ask(studio, "give", {"line": "st nodd"})
    assert "did you mean 'nod'" in soon(lambda: lines(studio, "error"))[0]
    assert ask(studio, "complete", {"line": "st no"})["words"] == [
        ["none", "task"],
        ["nod", "task"],
    ]
    assert "error" in ask(studio, "give", {"line": 3})
    assert "error" in ask(studio, "state", {"since": "x"})
    lab.command("greet", "greet")(lambda lab: lab.ask("who", "you"))
    ask(studio, "give", {"line": "greet"})
    soon(lambda: ask(studio, "state")["question"] == "who [you]: ")
    ask(studio, "reply", {"text": "me"})
    soon(lambda: "me" in lines(studio, "answer"))


def test_the_robot_its_ghost_and_drawings_are_shown_beside_the_loop(
    studio: Studio, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SL check 79. What a task draws is asked for by the page, never by the loop."""
    drawn: list[str] = []
    threads: set[int] = set()
    draw = lab_studio._draw

    def kept(api: Any, name: str, thing: Any) -> Any:
        drawn.append(name)
        threads.add(threading.get_ident())
        return draw(api, name, thing)

    monkeypatch.setattr(lab_studio, "_draw", kept)
    robot, ghost = studio.stages
    assert ghost.ghost
    lab.do("st nod frequency=1")
    lab.do("run 0.3")
    soon(lambda: {"/task/0", "/task/1"} <= set(drawn))
    soon(lambda: not np.array_equal(np.asarray(robot.poses), np.asarray(ghost.poses)))
    lab.do("ctp frequency=5")
    lab.do("run 0.1")
    words = "draw of the task 'nod' failed: ValueError: too quick to be drawn"
    soon(lambda: words in ask(studio, "state")["mistake"])
    assert lab.task == "nod"
    assert threading.get_ident() not in threads  # where the loop ran


def test_freeze_and_stop_are_in_every_tab(studio: Studio, lab: Lab) -> None:
    lab.do("st nod")
    assert studio.state({})["stop"]
    assert studio.state({})["freeze"]
    urllib.request.urlopen(f"{studio.address}freeze", timeout=LIMIT).close()
    soon(lambda: lab.task is None)
    assert lab.stopped is None
    lab.do("redo")
    urllib.request.urlopen(f"{studio.address}halt", timeout=LIMIT).close()
    soon(lambda: lab.stopped == "the page")
    assert "Reset" in studio.state({})["note"]
    assert [key for key in ("escape", "space") if key in studio.keys] == ["escape", "space"]


def test_the_scope_has_what_was_kept(studio: Studio, lab: Lab) -> None:
    link = studio.link
    assert isinstance(link, LabLink)
    for _ in range(5):
        lab.do("run 0.05")
        soon(lambda: link.samples()[0][-1] >= lab.time)
    t, rows = link.samples()
    names = [channel.name for channel in link.channels]
    assert np.all(np.diff(t) > 0)
    assert rows[-1][names.index("R_EB_th")] == lab.state.q[lab.config.names.index("R_EB")]
    assert all(trace in names for graph in link.first_layout().graphs for trace in graph.traces)


TEXT = """
from linkwright.lab import Task, parameter, sin

class Bow(Task):
    speed = parameter(1.0, unit="rad/s", lower=0, upper=5)

    def init(self, lab):
        self.start = lab.desired.q.copy()

    def run(self, t, state, desired):
        desired.q = self.start + 0.05 * sin(self.speed * t)
"""


@seldom(daily="test_freeze_and_stop_are_in_every_tab")
def test_in_a_browser_edit_mistake_freeze_and_stop(
    studio: Studio, lab: Lab, tmp_path: Path
) -> None:
    file = tmp_path / "bow.py"
    file.write_text(TEXT)
    lab.add(file)
    lab.pace(1)
    try:
        with opened(studio.address) as (page, wrong):
            frame = page.frame_locator("iframe.linkwright-lab")
            entry = frame.get_by_label("Command")
            entry.fill("st bow")
            entry.press("Enter")
            frame.get_by_text("bow runs").wait_for(timeout=1e3 * PATIENCE)
            slider = frame.get_by_label("speed", exact=True)
            slider.wait_for(timeout=1e3 * PATIENCE)
            slider.fill("3")
            soon(lambda: lab.parameters["speed"] == 3.0)
            file.write_text(TEXT.replace("self.speed", "self.sped"))
            mistake = frame.locator(".mistake")
            mistake.wait_for(timeout=1e3 * PATIENCE)
            assert "bow.py:11" in mistake.inner_text()
            assert lab.task == "bow"
            file.write_text(TEXT.replace("0.05", "0.02"))
            mistake.wait_for(state="hidden", timeout=1e3 * PATIENCE)
            assert (lab.task, lab.parameters["speed"]) == ("bow", 3.0)
            page.keyboard.press("Escape")
            soon(lambda: lab.task is None)
            entry.fill("redo")
            entry.press("Enter")
            soon(lambda: lab.task == "bow")
            page.click("#lw-freeze")
            soon(lambda: lab.task is None)
            page.click("#lw-stop")
            soon(lambda: lab.stopped == "the page")
            assert wrong == []
    finally:
        lab.pace(None)


@seldom(daily="test_the_page_gives_commands_and_changes_parameters")
def test_a_laboratory_shows_its_page_without_a_display_and_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    with Lab(planar(tmp_path)) as lab:
        page = lab.show()
        assert page is not None
        assert page.address in capsys.readouterr().out
        assert lw.show(lab, block=False, browser=False) is not None
        lab.run(0.1)
    port = int(page.address.split(":")[2].split("/")[0].split("?")[0])
    with pytest.raises(OSError, match=r"."):
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
