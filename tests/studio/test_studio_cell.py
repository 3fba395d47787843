"""The studio of a cell: what it shows, what it does to arms, and that they move only while held."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import Error, InputError
from linkwright.cli import main
from linkwright.server.cell_file import read_cell
from linkwright.server.host import CellHost
from linkwright.server.registry import VARIABLE
from linkwright.server.virtual import VirtualCell
from linkwright.studio import jog as jogging
from linkwright.studio.cell_link import SILENCE, CellLink
from linkwright.studio.cell_studio import is_cell, open_cell_studio
from linkwright.studio.jog import PAGE_SILENCE, Jog
from linkwright.studio.server import Studio
from linkwright.studio.tuner import Tuner
from tests.support.waiting import soon

LIMIT = 60.0  # s, of every wait
AXIS = "plane.2"


class Paced:
    """A cell in virtual time that goes on by the clock on the wall, as well as it can."""

    def __init__(self) -> None:
        law = 'control = {kind = "computed-torque", kp = 400, kd = 40}'
        text = read_cell("axes2").text.splitlines()
        lines = [law if line.startswith("control") else line for line in text]
        self.cell = VirtualCell(read_cell("\n".join(lines)))
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._go, daemon=True)
        self._thread.start()

    def _go(self) -> None:
        while not self._ending.wait(0.012):
            self.cell.advance(4)

    def end(self) -> None:
        self._ending.set()
        self._thread.join(LIMIT)


@pytest.fixture
def paced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Paced]:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "run"))
    made = Paced()
    try:
        with CellHost(made.cell):
            yield made
    finally:
        made.end()


@pytest.fixture
def link(paced: Paced) -> Iterator[CellLink]:
    made = CellLink(lw.server.connect("axes2", client="studio"))
    try:
        yield made
    finally:
        made.close()


def where(link: CellLink) -> float:
    return float(link.coordinates("plane")[1])


def life(link: CellLink) -> str:
    return link.cell.arm("plane").state.life


def moving(link: CellLink) -> bool:
    return link.cell.arm("plane").state.moving


def hold(link: CellLink, number: int, way: float, side: int = 1) -> None:
    """Hold a button as a page does, until the axis has gone some way."""
    start = where(link)

    def held() -> bool:
        assert link.jog.hold("page", number, AXIS, side, 0.2)
        return (where(link) - start) * side >= way

    soon(held)


def test_an_axis_moves_only_while_it_is_held(
    link: CellLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check 22: jog. Released, it brakes and stays; what was held before moves nothing."""
    monkeypatch.setattr(jogging, "PAGE_SILENCE", LIMIT)  # a slow machine is no silent page
    with pytest.raises(Error, match="enable it first"):
        link.jog.hold("page", 1, AXIS, 1, 0.2)
    link.act("plane", "enable")
    assert life(link) == "active"
    before = where(link)
    hold(link, 2, 0.03)
    link.jog.release("page", 2)
    soon(lambda: not moving(link))
    assert where(link) > before + 0.02
    there = where(link)
    assert not link.jog.hold("page", 2, AXIS, 1, 0.2)  # a word of the page that came too late
    hold(link, 3, 0.03, -1)
    link.jog.release("page", 3)
    soon(lambda: not moving(link))
    assert where(link) < there - 0.01
    assert life(link) == "active"
    assert link.cell.arm("plane").state.cause == "stop"


def test_a_page_that_falls_silent_lets_go(link: CellLink) -> None:
    """Check 22: jog. The studio stops the arm; the same press does not move it again."""
    link.act("plane", "enable")
    before = where(link)
    assert link.jog.hold("page", 1, AXIS, 1, 0.2)

    def watched() -> bool:
        link.jog.watch()
        return link.jog.held is None

    soon(watched)
    assert "silent" in link.jog.why
    soon(lambda: not moving(link))
    assert where(link) > before
    assert not link.jog.hold("page", 1, AXIS, 1, 0.2)
    assert link.told()["arms"][0]["ours"]


def test_the_cell_itself_stops_what_a_hung_studio_holds(link: CellLink) -> None:
    """Check 22: jog. Nobody watches: signs of life stop with the page's, and the loop stops it."""
    link.act("plane", "enable")
    assert link.jog.hold("page", 1, AXIS, 1, 0.2)
    soon(lambda: link.cell.arm("plane").state.cause == "silence")
    soon(lambda: not moving(link))
    told = link.told()["arms"][0]
    assert (told["holder"], told["life"]) == ("free", "active")
    assert told["cause"] == "whoever commanded it fell silent"


def test_a_press_has_a_number_a_page_and_an_end() -> None:
    clock = [0.0]
    nobody: Any = None
    jog = Jog(nobody, lambda: clock[0])
    jog.release("page", 4)
    assert not jog.hold("page", 4, AXIS, 1, 0.1)
    assert not jog.hold("page", 3, AXIS, 1, 0.1)
    for side, speed in ((0, 0.1), (1, 0.0), (1, 1.5), (1, float("nan"))):
        with pytest.raises(InputError):
            jog.hold("page", 5, AXIS, side, speed)
    assert jog.alive("plane")
    assert PAGE_SILENCE < SILENCE


def test_parameters_change_live_and_steps_lie_over_each_other(link: CellLink) -> None:
    """Check 22: edit a parameter live; the step response appears, before and after."""
    tuner = Tuner(link)
    link.act("plane", "enable")
    soon(lambda: abs(link.told()["arms"][0]["axes"][1]["error"]) < 5e-5)  # its brakes are open
    assert tuner.parameters(AXIS) == {"kp": 400.0, "kd": 40.0}
    tuner.start(AXIS, "step", {"amplitude": 0.01, "seconds": 0.5})
    with pytest.raises(InputError, match=r"wait: step of plane.2"):
        tuner.start(AXIS, "step", {})
    with pytest.raises(InputError, match="wait"):
        link.jog.hold("page", 1, AXIS, 1, 0.1)
    assert tuner.wait(LIMIT)
    tuner.set_parameters(AXIS, {"kp": 1600.0, "kd": 80.0})
    tuner.start(AXIS, "step", {"amplitude": 0.01, "seconds": 0.5})
    assert tuner.wait(LIMIT)
    told = tuner.told(AXIS)
    assert (told["error"], told["busy"], len(told["steps"])) == ("", "", 2)
    before, after = told["steps"]
    assert (before["kp"], after["kp"], after["kd"]) == (400.0, 1600.0, 80.0)
    early = [np.interp(0.1, step["t"], step["q"]) / 0.01 for step in (before, after)]
    assert early == pytest.approx([0.594, 0.908], abs=0.15)  # 1 - (1 + wt) exp(-wt); w: 20, 40
    assert [step["q"][-1] for step in (before, after)] == pytest.approx([0.01] * 2, rel=0.05)
    json.dumps(told, allow_nan=False)
    for values in ({"kp": -1.0}, {"kp": float("inf")}, {"ki": 1.0}):
        with pytest.raises(InputError):
            tuner.set_parameters(AXIS, values)


def test_a_relay_proposes_gains_and_a_sweep_shows_margins(link: CellLink) -> None:
    """Check 22: sweep and relay of the experiments, over the network, in the background."""
    tuner = Tuner(link)
    link.act("plane", "enable")
    tuner.start(AXIS, "relay", {"amplitude": 0.01})
    assert tuner.wait(LIMIT)
    tuner.start(AXIS, "sweep", {"amplitude": 0.01, "low": 30.0, "high": 90.0, "points": 3})
    assert tuner.wait(LIMIT)
    told = tuner.told(AXIS)
    assert told["error"] == ""
    assert told["relay"]["gains"]["kp"] > 0
    assert len(told["sweep"]["gain"]) == 3
    assert 40 < told["sweep"]["degrees"] < 90
    json.dumps(told, allow_nan=False)


@pytest.fixture
def studio(paced: Paced) -> Iterator[Studio]:
    with open_cell_studio(lw.server.connect("axes2", client="studio")) as made:
        yield made


def ask(studio: Studio, place: str, table: dict[str, Any] | None = None) -> Any:
    """Ask a page beside the studio's."""
    data = json.dumps(table or {}).encode()
    with urllib.request.urlopen(studio.pages.address + place, data, timeout=LIMIT) as answer:
        return json.load(answer)


def test_the_studio_of_a_cell_shows_states_and_stops_it(studio: Studio, paced: Paced) -> None:
    """Check 22. Scene and scope of the remote cell, lamps, and a stop outside of the tabs."""
    assert is_cell("axes2")
    assert not is_cell("pendulum")
    assert studio.title == "axes2"
    assert [m.name for m in studio.motions] == ["plane"]
    link = studio.link
    assert isinstance(link, CellLink)
    assert (
        ask(studio, "cell/act", {"arm": "plane", "what": "enable"})["arms"][0]["life"] == "active"
    )
    press = {"page": "p", "number": 1, "axis": AXIS, "side": 1, "speed": 0.3}
    seen = studio.stages[0].poses
    assert seen is not None

    def drawn() -> bool:
        assert ask(studio, "cell/hold", press)["moves"]
        now = studio.stages[0].poses
        return now is not None and float(np.abs(now - seen).max()) > 0.01

    soon(drawn)
    ask(studio, "cell/release", {"page": "p", "number": 1})
    wanted = {"layout": None, "number": 0, "known": "", "stamp": "", "points": 200}
    scope = ask(studio, "scope/ask", wanted)
    assert scope["live"]
    assert scope["running"]
    names = [c[0] for c in scope["channels"]]
    assert {f"{AXIS}.{part}" for part in ("q", "target", "error", "current")} < set(names)
    assert {"cell.lateness", "state.age"} < set(names)
    state = studio.state({})
    assert (state["stop"], state["mode"], state["note"]) == (True, "CELL", "")
    with urllib.request.urlopen(studio.address + "halt", timeout=LIMIT) as answer:
        assert answer.status == 200
    soon(lambda: life(link) == "fault")
    told = ask(studio, "cell/state")["arms"][0]
    assert (told["life"], told["cause"]) == ("fault", "halted")
    assert "is fault" in ask(studio, "cell/hold", press | {"number": 2})["error"]
    assert ask(studio, "cell/act", {"arm": "plane", "what": "dance"})["error"]
    assert studio.panels.troubles.words == []


def test_a_cell_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["studio", "tcp/127.0.0.1:1", "--until", "3", "--no-browser"]) == 2
    assert "leave out --model" in capsys.readouterr().err
