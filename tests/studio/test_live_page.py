"""Live pages: the model runs in the page, with the bits of the native run, and is changed there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import Error, InputError
from linkwright.blocks import Block
from linkwright.cli import main
from linkwright.equations.closure import assemble
from linkwright.mechanism import Mechanism
from linkwright.models import MODELS
from linkwright.pages.live import LiveModel, live_page_text
from linkwright.simulation.native.session import Session
from linkwright.simulation.native.tables import DONE, LOGGED, MORE, ROWS
from linkwright.studio.live_page import live_model
from tests.seeds import cases
from tests.support.chromium import opened
from tests.support.waiting import soon

ROBOTS = Path(__file__).parents[1] / "robots"
STATE = """(n) => { const s = window.studio, l = s.live; s.playing = false; l.reset();
    while (l.sample < n && l.advance());
    const part = (a) => Array.from(l.i.slice(l.at(a), l.at(a) + l.told.counts[a]), String);
    return { x: part("x"), d: part("d"), sample: l.sample, stopped: l.stopped,
        row: l.channels.map((c) => c[l.rows - 1]), pose: l.poses.map((c) => c[l.rows - 1]) }; }"""


@contextmanager
def shown(model: LiveModel, path: Path, **options: Any) -> Iterator[tuple[Any, list[str]]]:
    """Yield the page of a model, opened from its file with the network cut."""
    (path / "live.html").write_text(live_page_text(model, **options), encoding="utf-8")
    with opened(path / "live.html", offline=True) as (page, wrong):
        soon(lambda: page.evaluate("document.documentElement.dataset.ready"))
        assert page.evaluate("document.documentElement.dataset.ready") == "yes", wrong
        yield page, wrong


def gone_on(session: Session, samples: range) -> int:
    """Let the native machine go on by samples as the page does; return the last one it reached."""
    machine: Any = session.machine
    for k in samples:
        machine.extend(k * machine.settings.every)
        status = MORE
        while status in (MORE, LOGGED, ROWS):
            machine.field("row")[:] = machine.field("logged")[:] = 0
            machine.budget(4000)
            machine.run(0, 1)
            status = int(machine.field("status")[0])
        if status != DONE:
            return k - 1
    return samples[-1]


def bits(session: Session, array: str) -> list[str]:
    return [str(v) for v in session.machine.rows_of(array)[0].view(np.int64)]


SOFT = """async () => { const s = window.studio, l = s.live;
    const bytes = await inflate(document.getElementById("module").textContent.trim());
    const { instance } = await WebAssembly.instantiate(bytes, {});
    s.live = new LiveRun(l.told, instance.exports, l.nodes); }"""
"""Without the instruction that a browser may have for a fused multiply-add."""


# spacecraft-1 calls a function of C without `external=off`; jacks take half a minute to compile
LIVE = [
    "spacecraft-1:external=off",
    "quadruped.urdf",  # on its feet
    "joint-drive:noise=1",
    *(n for n in MODELS if not n.startswith("spacecraft-1") and n != "mount-prismatic"),
]


@pytest.mark.parametrize("name", cases(LIVE, daily=["servo-arm"]))
def test_the_page_has_the_bits_of_the_native_run(name: str, tmp_path: Path) -> None:
    model = live_model(ROBOTS / name if name.endswith(".urdf") else name)
    with shown(model, tmp_path, exact=True) as (page, wrong):
        found = page.evaluate(STATE, 200)
        page.evaluate(SOFT)
        assert page.evaluate(STATE, 200) == found
    assert found["sample"] == gone_on(model.session, range(201))  # both may have to stop before
    assert (found["x"], found["d"]) == (bits(model.session, "x"), bits(model.session, "d"))
    if found["stopped"] is None:
        now: Any = model.session.machine.rows_of("t")
        np.testing.assert_array_equal(found["row"], model.session.machine.outputs(now)[0])
    assert not wrong


@pytest.mark.parametrize("name", cases(LIVE, daily=["servo-arm"]))
def test_the_page_rejects_the_values_that_a_run_rejects(name: str, tmp_path: Path) -> None:
    model = live_model(ROBOTS / name if name.endswith(".urdf") else name)
    tried = [
        (c.name, v)
        for c in model.adjustable
        if c.kind in ("parameter", "gain")
        for v in (-c.value or -1.0, 0.0, -1e-3 * abs(c.value), 1e100, 2 * c.value or 1.0)
    ]
    with shown(model, tmp_path) as (page, wrong):
        found = page.evaluate(
            """(tried) => { const l = studio.live; return tried.map(([name, value]) => {
                const k = l.told.controls.findIndex((c) => c.name === name), was = l.values[k];
                l.values[k] = value; l.put(); const why = l.broken();
                l.values[k] = was; l.put(); return why !== ""; }); }""",
            tried,
        )
    for (parameter, value), rejected in zip(tried, found, strict=True):
        try:
            model.session.refuse({parameter: value})
        except Error:
            assert rejected, (parameter, value)
        else:
            assert not rejected, (parameter, value)
    assert not wrong


def test_a_value_that_a_run_rejects_leaves_the_last_good_one(tmp_path: Path) -> None:
    m = Mechanism("rod")
    m.body("rod", rotate="z", mass="m", com=(1, 0, 0), inertia="I")
    m.gravity(along="-y")
    m.defaults(m=1.0, I=0.1)
    with shown(live_model(m), tmp_path) as (page, wrong):
        found = page.evaluate("""() => { const c = studio.controls, at = (n) =>
            studio.live.told.controls.findIndex((x) => x.name === n);
            const said = () => document.getElementById("refused").textContent;
            c.set(at("m"), 2); c.set(at("m"), -1); const mass = [said(), location.hash];
            c.set(at("I"), -1);
            return [...mass, said(), studio.live.values[at("m")]]; }""")
    assert found[0] == "m: rod: its mass must not be negative: it stays as it was"
    assert found[1] == "#m=2"
    assert found[2] == "I: rod: its inertia must have no negative moment: it stays as it was"
    assert found[3] == 2
    assert not wrong


def test_poses_are_those_of_the_scene_and_follow_lengths(tmp_path: Path) -> None:
    """The tip of a pendulum of another length, by the closed form of its pose."""
    model = live_model("pendulum")
    with shown(model, tmp_path) as (page, wrong):
        state = page.evaluate(STATE, 30)
        names = page.evaluate("studio.data.scene.nodes.map((n) => n.name)")
        longer = page.evaluate("""() => { studio.controls.set(0, 1.5); const n = studio.nodes[1];
            const far = Math.max(...n.parts.flatMap((p) => p.box[1].map(Math.abs)));
            return [studio.live.values[0], far]; }""")
    gone_on(model.session, range(31))
    assert model.scene is not None
    q = [model.session.state()[n] for n in model.scene.poses.coordinates]
    where = model.scene.poses([q]).poses[0] @ np.eye(7)
    turned = np.asarray(where)[:, :3] @ model.scene.upright.T
    found = np.array(state["pose"]).reshape(len(names), 7)[:, :3]
    np.testing.assert_allclose(found, turned, atol=1e-6)
    assert longer[0] == 1.5
    assert longer[1] > 1.5  # the rod is as long as its parameter says
    assert not wrong


def test_values_change_from_where_a_reader_looks(tmp_path: Path) -> None:
    """Back in time, then another gravity: the same as a native run that was changed there."""
    model = live_model("pendulum")
    with shown(model, tmp_path, exact=True) as (page, wrong):
        found = page.evaluate("""() => { const s = studio, l = s.live; play(s, false); l.reset();
            while (l.sample < 90) l.advance();
            refreshLive(s); goTo(s, l.head); goTo(s, 40 * l.dt);
            s.controls.set(l.told.controls.findIndex((c) => c.name === "g"), 3.5);
            const back = l.sample;
            while (l.sample < 80) l.advance();
            const x = Array.from(l.i.slice(l.at("x"), l.at("x") + 2), String);
            const hash = location.hash; s.controls.defaults();
            return [back, x, hash, l.told.controls.every((c, k) => c.value === l.values[k])]; }""")
    gone_on(model.session, range(41))
    model.session.set({"g": 3.5})
    gone_on(model.session, range(41, 81))
    assert found == [40, bits(model.session, "x"), "#g=3.5", True]
    assert not wrong


def test_a_body_is_pulled_to_the_pointer_and_let_go(tmp_path: Path) -> None:
    model = live_model("pendulum")
    with shown(model, tmp_path) as (page, wrong):
        pulled = page.evaluate("""() => { const s = studio, l = s.live; l.reset();
            const node = +Object.keys(l.told.hands)[0], r = s.renderer.pick;
            s.renderer.pick = () => node;
            const size = () => Math.hypot(...l.told.hands[node].map((k) => l.f[l.at("w") + k]));
            grab(s, { button: 0, clientX: 300, clientY: 300 });
            drag(s, { clientX: 300, clientY: 180 });
            for (let k = 0; k < 20; k++) l.advance();
            refreshLive(s);
            const force = size(), kept = Math.hypot(...s.hold.force);
            const said = document.getElementById("chip").textContent, line = overlays(s, []).length;
            release(s); s.renderer.pick = r;
            return [force, kept, size(), said, line]; }""")
    assert pulled[0] > 1.0  # N
    assert pulled[0] == pytest.approx(pulled[1])
    assert pulled[2] == 0
    assert pulled[3].startswith("rod pulled with") or pulled[3].startswith("bob pulled with")
    assert pulled[4] == 10  # one line, from the body to the pointer
    assert not wrong


def test_a_click_pushes_a_body_and_leaves_no_force(tmp_path: Path) -> None:
    """Its momentum is what the force gave it, on a slider without gravity."""
    m = Mechanism("puck")
    puck = m.body("puck", translate="xyz", mass=2.0)
    assert puck.name == "puck"
    with shown(live_model(m), tmp_path) as (page, wrong):
        found = page.evaluate("""() => { const s = studio, l = s.live; play(s, false); l.reset();
            const node = +Object.keys(l.told.hands)[0], r = s.renderer.pick;
            s.renderer.pick = () => node;
            const view = document.getElementById("view"), told = { button: 0, pointerId: 1,
                pointerType: "mouse", clientX: 300, clientY: 300, bubbles: true };
            view.setPointerCapture = () => {};
            for (const kind of ["pointerdown", "pointerup"])
                view.dispatchEvent(new PointerEvent(kind, told));
            play(s, false);
            s.renderer.pick = r;
            const said = parseFloat(document.getElementById("chip").textContent.split("with ")[1]);
            for (let k = 0; k < 20; k++) l.advance();
            const u = ["puck.u", "puck.v", "puck.w"].map((n) =>
                l.f[l.at("x") + l.told.states.indexOf(n)]);
            const left = l.told.hands[node].map((k) => l.f[l.at("w") + k]);
            return [said, Math.hypot(...u), left, u, camera(s).away, l.told.rows]; }""")
    force, speed, left, u, away, rows = found
    assert left == [0, 0, 0]
    assert speed == pytest.approx(force * 0.1 / 2.0, rel=0.01)
    np.testing.assert_allclose(np.array(rows) @ u / speed, -np.array(away), atol=1e-9)
    assert not wrong


def test_events_are_marked_in_the_graphs(tmp_path: Path) -> None:
    m = Mechanism("faller")
    m.body("ball", translate="z", mass=1.0)
    m.gravity()
    s, watch = lw.System(m, name="faller"), Block("watch")
    watch.event("passed", m.coordinates["ball"] + 1, direction=-1)
    s.add(watch)
    with shown(live_model(s), tmp_path, graphs=["ball"]) as (page, wrong):
        found = page.evaluate("""() => { const s = studio, l = s.live; play(s, false); l.reset();
            const words = [], draw = CanvasRenderingContext2D.prototype.fillText;
            while (l.sample < 60) l.advance();
            refreshLive(s);
            CanvasRenderingContext2D.prototype.fillText = function (t, x) { words.push([t, x]); };
            s.plots.draw(); CanvasRenderingContext2D.prototype.fillText = draw;
            return [words.filter(([t]) => t === "passed"), l.happened]; }""")
    assert len(found[0]) == 1
    assert found[1][0]["time"] == pytest.approx((2 / 9.81) ** 0.5, abs=1e-6)
    assert not wrong


def test_the_page_films_itself(tmp_path: Path) -> None:
    with shown(live_model("pendulum"), tmp_path, graphs=["phi"]) as (page, wrong):
        button = page.get_by_role("button", name="record a video")
        button.click()
        assert button.get_attribute("aria-pressed") == "true"
        with page.expect_download() as begun:
            page.evaluate("""async () => { window.spared = false;
                for (let k = 0; k < 8; k++) { stepLive(studio, 2); render(studio);
                    await new Promise((done) => requestAnimationFrame(done)); } }""")
            button.click()
        file = begun.value
        assert file.path().stat().st_size > 500
    assert file.suggested_filename in ("run.mp4", "run.webm")
    assert not wrong


def test_a_joint_is_set_while_paused_and_loops_close_again(tmp_path: Path) -> None:
    """Where the others come to is what the mechanism is assembled to from there."""
    model = live_model("slider-crank")
    m = lw.load("slider-crank")
    with shown(model, tmp_path, graphs=["crank"]) as (page, wrong):
        page.evaluate("() => { play(studio, false); studio.live.reset(); }")
        page.get_by_text("Pose", exact=True).click()
        box = page.get_by_label("pose of crank")
        was = page.evaluate("""() => { const l = studio.live;
            return l.told.joints.map(([n, , k]) => [n, l.f[l.at("x") + k]]); }""")
        wanted = dict(was)["crank"] + 0.2
        box.fill(str(wanted))
        box.press("Enter")
        found = page.evaluate("""() => { const l = studio.live, k = l.rows - 1;
            return [l.told.joints.map(([n, , k]) => [n, l.f[l.at("x") + k]]),
                l.channels.map((c) => c[k]), document.getElementById("refused").hidden]; }""")
    now = dict(found[0])
    closed = assemble(m, {**dict(was), "crank": wanted}).coordinates
    assert now == pytest.approx({n: closed[n] for n in now}, abs=1e-7)
    names = [s.name for s in model.session.phases.outputs]
    assert found[1][names.index("crank")] == pytest.approx(wanted)
    assert found[2]
    assert not wrong


def test_a_run_begins_again_from_its_start(tmp_path: Path) -> None:
    run = lw.simulate("pendulum", 0.5, parameters={"L": 1.4}, initial={"phi": 0.3})
    target = tmp_path / "again.html"
    assert run.page(target, live=True, controls=["L"]) < 400_000
    with opened(target, offline=True) as (page, wrong):
        soon(lambda: page.evaluate("document.documentElement.dataset.ready"))
        found = page.evaluate("[studio.live.values, studio.live.f[studio.live.at('x')]]")
    assert (found, wrong) == ([[1.4], 0.3], [])


def test_a_run_that_cannot_go_on_says_why_and_is_reset(tmp_path: Path) -> None:
    m = Mechanism("faller")
    m.body("ball", translate="z", mass=1.0)
    m.gravity()
    s, watch = lw.System(m, name="faller"), Block("watch")
    watch.event("landed", m.coordinates["ball"] + 1, direction=-1, terminal=True)
    s.add(watch)
    with shown(live_model(s), tmp_path) as (page, wrong):
        found = page.evaluate(STATE, 500)
        said = page.evaluate("""() => { refreshLive(studio);
            const note = document.getElementById("stopped"), words = note.textContent;
            document.getElementById("reset").click();
            return [words, studio.live.stopped, note.hidden]; }""")
    assert found["stopped"]["time"] == pytest.approx((2 / 9.81) ** 0.5, abs=1e-5)
    assert "ended by watch.landed" in said[0]
    assert said[1:] == [None, True]
    assert not wrong


def test_names_cannot_break_out_and_the_page_says_what_it_may_do(tmp_path: Path) -> None:
    bad = "</script><img src=x onerror=alert(1)>"
    m = Mechanism(bad)
    rod = m.body("rod", rotate="z", mass=1, com=(1, 0, 0), inertia=0, doc=f"{bad}%%DATA%%")
    m.gravity(along="-y")
    m.output(f"height {bad}", "sin(rod)", unit="m")
    assert rod.name == "rod"
    with shown(live_model(m), tmp_path) as (page, wrong):
        text = (tmp_path / "live.html").read_text(encoding="utf-8")
        page.evaluate("() => { studio.plots.draw(); }")
        images = page.evaluate("document.querySelectorAll('img, main script').length")
    assert (images, wrong) == (0, [])
    assert "unsafe-inline" not in text
    assert "'unsafe-eval'" not in text
    assert "default-src 'none'" in text


def test_what_cannot_run_in_a_page_is_named_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "p.html"
    wrong: dict[tuple[str, ...], str] = {
        ("pendulum", "--controls", "Lx"): "no parameter or input 'Lx'; did you mean 'L'?",
        ("pendulum", "--controls", "L,L"): "'L' is given twice",
        ("pendulum", "--graphs", "phi+psi"): "no channel 'psi'; did you mean 'phi'?",
        ("spacecraft-1",): "'thrust' is a function outside of it",
        ("pendulum", "--max-size", "0.01"): "and 10 are allowed",
        ("pendulum", "--until", "3"): "a live page runs on and on",
    }
    for words, why in wrong.items():
        assert main(["page", "--live", *words, "-o", str(target)]) == 2
        assert why in capsys.readouterr().err
        assert not target.exists()
    assert main(["page", "pendulum", "--live", "-o", str(tmp_path / "no" / "p.html")]) == 2
    assert "no such folder" in capsys.readouterr().err
    assert main(["page", "pendulum", "--exact", "-o", str(target)]) == 2
    with pytest.raises(InputError, match="runs one model, not 2"):
        lw.page(target, "pendulum", "whipple", live=True)
    assert not list(tmp_path.iterdir())


def test_a_python_function_is_named(tmp_path: Path) -> None:
    m = Mechanism("rod")
    m.body("rod", rotate="z", mass=1, com=(1, 0, 0), inertia=0)
    torque = lw.foreign("felt", python=lambda q: -q)
    m.moment("push", torque(m.coordinates["rod"]), on=m.bodies["rod"], about=m.z)
    with pytest.raises(InputError, match="'felt' is a function outside"):
        lw.page(tmp_path / "p.html", m, live=True)
    assert not list(tmp_path.iterdir())


def test_the_command_writes_a_page_that_plays_by_itself(tmp_path: Path) -> None:
    target = tmp_path / "p.html"
    args = ["page", "pendulum", "--live", "--controls", "L", "--graphs", "phi", "-o", str(target)]
    assert main([*args, "--quiet"]) == 0
    assert target.stat().st_size < 400_000
    with opened(target, offline=True, moving=True) as (page, wrong):
        soon(lambda: page.evaluate("window.studio?.live?.head > 0.2"))
        data = json.loads(page.evaluate("document.getElementById('data').textContent"))
        rows = page.evaluate(
            "[...document.querySelectorAll('.control .name b')].map((e) => e.textContent)"
        )
    assert rows == ["L"]
    assert data["layout"]["graphs"][0]["traces"] == ["phi"]
    assert not wrong


def test_a_gallery_lists_the_pages_of_models_and_says_which_have_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "live"
    assert main(["page", "pendulum", "spacecraft-1", "--gallery", str(home)]) == 0
    printed = capsys.readouterr()
    assert "1 live page\n" in printed.out
    assert "note: spacecraft-1: 'spacecraft-1' cannot run in a page" in printed.err + printed.out
    with opened(home / "index.html", offline=True) as (page, wrong):
        page.click("a")
        soon(lambda: page.evaluate("document.documentElement.dataset.ready") == "yes")
        assert page.title() == "pendulum · Linkwright"
    assert not wrong
    (tmp_path / "file").write_text("")
    assert main(["page", "pendulum", "--gallery", str(tmp_path / "file")]) == 2
    assert "this is a file" in capsys.readouterr().err
    assert main(["page"]) == 2
