"""From Python to the picture in one call: show and page, of everything that moves or has moved."""

from __future__ import annotations

import html
import inspect
import os
import re
import signal
import subprocess
import sys
import types
import urllib.request
import webbrowser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.pages.page import page_text
from linkwright.recording.recording import Recording
from linkwright.simulation.run import Run
from linkwright.studio.display import in_notebook, motion_of, open_browser
from linkwright.studio.server import Studio
from linkwright.studio.state import panels_of
from tests.seeds import seldom
from tests.support.chromium import opened
from tests.support.waiting import soon


def controlled() -> lw.System:
    """Return a pendulum with a controller and a Python function of its own."""
    m = lw.load("pendulum")
    system = lw.System(m, base=240)
    motor = lw.Element("motor", m)
    u = motor.input("u", unit="N*m")
    motor.effort("tau", "phi", u)
    member = system.add(motor)
    system.add(
        lambda phi, phi_dot: -30 * (phi - 0.5) - 6 * phi_dot, rate=120, name="law", outputs="y"
    )
    system.connect("law.y", member.u)
    return system


def studio_of(thing: Any, *others: Any) -> Studio:
    """Open the studio without browser, and see that its page is served."""
    made = thing.show(*others, block=False, browser=False)
    assert isinstance(made, Studio)
    with urllib.request.urlopen(made.address) as answer:
        assert b"<html" in answer.read(4000).lower()
    return made


@seldom(daily="test_what_cannot_be_shown_is_told")
def test_everything_can_be_shown_and_written(tmp_path: Path) -> None:
    m = lw.load("pendulum")
    run = lw.simulate(m, 0.2)
    robot = lw.Robot("puma560")
    ran = lw.simulate(controlled(), 0.25)
    for thing in (run, run.recording, m, robot, ran):
        studio = studio_of(thing)
        assert studio.motions[0].scene is not None
        assert studio.motions[0].q is not None
        studio.close()
    for k, seen in enumerate((run, ran.recording, m)):
        path = tmp_path / f"{k}.html"
        assert seen.page(path, title="Seen") == path.stat().st_size
        assert "<title>Seen · Linkwright</title>" in path.read_text()
    both = studio_of(run, ran)
    assert len(both.stages) == 2
    both.close()


def test_a_system_is_run_live_as_it_is() -> None:
    """The same numbers as a simulation gives, its own controller and function included."""
    system = controlled()
    studio = studio_of(system)
    try:
        panels = panels_of(studio)
        panels.maker.make()
        assert panels.maker.cannot == ""
        assert panels.live is not None
        assert set(system.members) <= set(panels.live.plant.system.members)
        panels.live.advance(120)
        expected = lw.simulate(system, 0.5)
        assert np.isclose(panels.live.recording()["phi"][-1], expected["phi"][-1], atol=1e-6)
        assert abs(expected["phi"][-1] - lw.simulate(system.mechanism, 0.5)["phi"][-1]) > 0.1
    finally:
        studio.close()


def test_what_cannot_be_shown_is_told(tmp_path: Path) -> None:
    with pytest.raises(lw.InputError, match="a dict cannot be shown"):
        motion_of({})
    with pytest.raises(lw.InputError, match="nothing to show"):
        lw.show()
    with pytest.raises(lw.InputError, match=r"simulate it first"):
        controlled().page(tmp_path / "x.html")
    with pytest.raises(lw.InputError, match="no body that could be drawn"):
        lw.System(name="blocks").show(block=False)


def test_without_viser_the_extra_and_the_page_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(lw.Error, match=r"linkwright\[studio\].*linkwright page"):
        lw.load("pendulum").show()


class Shell:
    """What IPython gives in a notebook."""

    kernel = object()


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what a notebook is made to show, in a place that looks like one."""
    found: list[str] = []
    display = types.ModuleType("IPython.display")
    display.__dict__.update(HTML=str, display=found.append)
    ipython = types.ModuleType("IPython")
    ipython.__dict__.update(get_ipython=Shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return found


def test_a_notebook_shows_the_page_below_the_cell(
    monkeypatch: pytest.MonkeyPatch, shown: list[str]
) -> None:
    """No server, no Viser: the frame holds the page that would be written."""
    assert in_notebook()
    run = lw.simulate(lw.load("pendulum"), 0.2)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "viser", None)
        assert run.show() is None
    found = re.search(r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts"', shown[0])
    assert found is not None
    assert html.unescape(found[1]) == page_text([motion_of(run)])


def test_a_model_runs_below_the_cell(shown: list[str], tmp_path: Path) -> None:
    """The page inside a frame without an origin: it is computed there."""
    assert lw.show(lw.load("pendulum")) is None
    (tmp_path / "cell.html").write_text(f"<!doctype html>{shown[0]}", encoding="utf-8")
    with opened(tmp_path / "cell.html", offline=True) as (page, wrong):
        soon(lambda: len(page.frames) == 2)
        frame = page.frames[1]
        soon(lambda: frame.evaluate("document.documentElement.dataset.ready") == "yes")
        found = frame.evaluate("""() => { const l = studio.live, x = l.at("x"); l.reset();
            const was = l.f[x];
            while (l.sample < 60) l.advance();
            return [was, l.f[x]]; }""")
    assert found[0] != found[1]
    assert not wrong


def test_what_cannot_run_in_a_page_is_served_to_a_notebook(
    shown: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    m = lw.Mechanism("rod")
    m.body("rod", rotate="z", mass=1, com=(1, 0, 0), inertia=0)
    torque = lw.foreign("torque", python=lambda q: -q)
    m.moment("push", torque(m.coordinates["rod"]), on=m.bodies["rod"], about=m.z)
    studio = lw.System(m, name="rod").show()
    assert studio is not None
    assert studio.address in shown[0]
    studio.close()
    assert "'torque' is a function outside of it" in capsys.readouterr().err


def test_marimo_shows_the_page_too(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[str] = []
    marimo = types.ModuleType("marimo")
    output = types.SimpleNamespace(append=found.append)
    marimo.__dict__.update(running_in_notebook=lambda: True, Html=str, output=output)
    monkeypatch.setitem(sys.modules, "marimo", marimo)
    assert lw.show(lw.load("pendulum")) is None
    assert found[0].startswith("<div><iframe srcdoc=")


def test_no_browser_is_opened_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a screen a browser in the terminal would take it over."""
    opened: list[str] = []

    def note(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", note)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert not open_browser("http://127.0.0.1:1")
    assert opened == []
    monkeypatch.setenv("DISPLAY", ":0")
    assert open_browser("http://127.0.0.1:1")
    assert opened == ["http://127.0.0.1:1"]


def test_a_script_waits_until_it_is_interrupted() -> None:
    program = "import linkwright as lw\nlw.load('pendulum').show(browser=False)\nprint('over')"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env={**os.environ}
    ) as script:
        assert script.stdout is not None
        first = script.stdout.readline()
        assert re.fullmatch(r"studio: http://127\.0\.0\.1:\d+/[\w-]+/ \(Ctrl\+C to stop\)\n", first)
        script.send_signal(signal.SIGINT)
        assert script.stdout.read() == "over\n"
    assert script.returncode == 0


def test_runs_and_recordings_are_drawn_in_one_way() -> None:
    """One signature; what it draws is the same whoever is asked."""
    signatures = {str(inspect.signature(kind.plot)) for kind in (Run, Run, Recording)}
    assert len(signatures) == 1
    m = lw.load("pendulum")
    for run in (lw.simulate(m, 0.2), lw.simulate(lw.System(m), 0.2)):
        drawn = [
            np.asarray(thing.plot("phi", vs="phi_dot", title="a").axes[0].lines[0].get_xydata())
            for thing in (run, run.recording)
        ]
        assert np.array_equal(drawn[0], drawn[1])
        assert np.array_equal(drawn[0][:, 1], run["phi"])


def test_the_frame_of_a_notebook_plays_and_says_where_the_motion_comes_from(
    tmp_path: Path, shown: list[str]
) -> None:
    """The page in a frame without rights of its own, as a cell holds it, with the network cut."""
    lw.simulate(lw.load("pendulum"), 1.0, step=0.01, method="rk4").show()
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!doctype html><meta charset=utf-8><link rel=icon href=data:,>{shown[0]}")
    with opened(notebook, offline=True) as (page, errors):
        frame = page.frame_locator("iframe")
        frame.locator("html[data-ready=yes]").wait_for()
        told = frame.locator("#story").text_content()
        assert told == "Recorded: 101 samples over 1 s, simulated with rk4."
        frame.locator("#play").click()
        frame.locator("#time").filter(has_not_text="0.000 s").wait_for()
        assert errors == []
