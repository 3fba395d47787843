"""The scope: derived channels against NumPy and SciPy, thinning, its server, and its page."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

import linkwright as lw
from linkwright.pages.charts import layout_picture, nice_ticks, phase_plot, stacked_plot
from linkwright.pages.page import _evened, write_page
from linkwright.pages.scope import (
    Columns,
    Curve,
    Derived,
    Graph,
    ScopeLayout,
    first_layout,
    kept,
    layout_from,
    value_at,
    within,
)
from linkwright.recording import Channel, Recording, read_recording
from linkwright.scene.motions import recorded_motion
from linkwright.studio.server import Studio
from tests.support.chromium import opened
from tests.support.late import Late
from tests.support.waiting import soon

if TYPE_CHECKING:
    from scipy import signal
else:
    signal = Late("scipy.signal")


def waves(samples: int = 2000) -> Recording:
    t = np.arange(samples) / 100
    data = np.stack([np.sin(t), np.cos(t), np.sin(60 * t)], axis=1)
    return Recording(t, [Channel("s", "m"), Channel("c", "m"), Channel("fast", "m/s")], data)


MADE = (
    Derived("d/dt s", "rate", "s"),
    Derived("slow", "filter", "fast", cutoff=2.0),
    Derived("rate of slow", "rate", "slow", cutoff=10.0),
    Derived("s + c", "add", "s", "c"),
    Derived("s - c", "sub", "s", "c"),
    Derived("d/dt (s - c)", "rate", "s - c"),
    Derived("mixed", "add", "s", "fast"),
)


# -- what is computed ------------------------------------------------------------------------------
def test_rates_sums_and_filters_are_those_of_numpy_and_scipy() -> None:
    r = waves()
    made = Columns(r, MADE)
    t, fast = r.times, np.sin(60 * r.times)
    b, a = signal.butter(2, 0.02)
    slow = signal.filtfilt(b, a, fast)
    close: Any = {"rtol": 0, "atol": 1e-12}
    np.testing.assert_allclose(made.values("s + c"), np.sin(t) + np.cos(t), **close)
    np.testing.assert_allclose(made.values("slow"), slow, **close)
    b, a = signal.butter(2, 0.1)
    wanted = np.gradient(signal.filtfilt(b, a, slow), t, edge_order=2)
    np.testing.assert_allclose(made.values("rate of slow"), wanted, rtol=0, atol=1e-10)
    assert np.allclose(made.values("d/dt s"), np.cos(t), atol=1e-3)
    assert np.allclose(made.values("d/dt (s - c)"), np.cos(t) + np.sin(t), atol=1e-3)
    units = [made.channel(n).unit for n in ("d/dt s", "slow", "s + c", "d/dt (s - c)", "mixed")]
    assert units == ["m/s", "m/s", "m", "m/s", "?"]


def test_saved_channels_hold_what_was_derived() -> None:
    saved = Columns(waves(), (*MADE, Derived("lost", "rate", "nothing"))).whole()
    assert saved.names == ("s", "c", "fast", *(d.name for d in MADE))
    np.testing.assert_allclose(saved["s - c"], saved["s"] - saved["c"])


def test_what_cannot_be_derived_says_why() -> None:
    t = np.arange(20) / 10
    hole = np.sin(t)
    hole[3] = np.nan
    r = Recording(t, [Channel("x"), Channel("y")], np.stack([hole, t], axis=1))
    made = Columns(
        r,
        (
            Derived("a", "filter", "x", cutoff=10),
            Derived("b", "rate", "later"),
            Derived("later", "rate", "y"),
            Derived("c", "add", "y", "z"),
        ),
    )
    for name, words in (
        ("a", "1 of its values"),
        ("b", "comes after it"),
        ("c", "no channel 'z'"),
        ("none", "no channel 'none'"),
    ):
        with pytest.raises(lw.Error, match=words):
            made.values(name)
    short = Columns(Recording([0], [Channel("x")], [[1]]), (Derived("v", "rate", "x"),))
    with pytest.raises(lw.Error, match="two samples"):
        short.values("v")


@given(
    st.lists(
        st.one_of(st.floats(-1e9, 1e9), st.just(float("nan")), st.just(float("inf"))),
        min_size=1,
        max_size=600,
    ),
    st.integers(20, 200),
)
def test_thinning_keeps_extremes_ends_and_gaps(values: list[float], most: int) -> None:
    v = np.array(values)
    which = kept(v, most)
    assert len(which) <= max(most, 1)
    assert (which[0], which[-1]) == (0, len(v) - 1)
    assert (np.diff(which) > 0).all()
    finite = v[np.isfinite(v)]
    shown = v[which][np.isfinite(v[which])]
    if len(finite):
        assert (shown.min(), shown.max()) == (finite.min(), finite.max())
    assert np.isfinite(v[which]).all() == np.isfinite(v).all()


def test_a_spike_in_a_million_samples_is_kept() -> None:
    v = np.zeros(1_000_000)
    v[543_210] = 9.0
    assert 543_210 in kept(v, 600)
    assert len(kept(v, 600)) <= 600


def test_values_at_a_time_lie_between_the_samples_and_nowhere_else() -> None:
    t, v = np.array([0.0, 1.0, 1.0, 2.0]), np.array([0.0, 4.0, 6.0, np.nan])
    assert value_at(t, v, 0.25) == 1.0
    assert value_at(t, v, 1.0) == 6.0  # after a jump
    assert np.isnan(value_at(t, v, 1.5))
    assert np.isnan(value_at(t, v, 2.5))
    assert np.isnan(value_at(t[:0], v[:0], 0.0))
    assert value_at(np.array([3.0]), np.array([7.0]), 3.0) == 7.0


def test_windows_hold_a_sample_beyond_each_end() -> None:
    t = np.arange(10.0)
    assert t[within(t, (2.5, 4.5))].tolist() == [2, 3, 4, 5]
    assert t[within(t, (-5, 100))].tolist() == t.tolist()


# -- layouts ---------------------------------------------------------------------------------------
def test_layouts_come_back_from_plain_data() -> None:
    layout = ScopeLayout((Graph(("s", "c")), Graph(("c",), "s")), MADE, (1.0, 2.0), 1.5, 7.0)
    assert layout_from(json.loads(json.dumps(layout.plain()))) == layout


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ([], "a table of names"),
        ({"graphs": {}}, "graphs is a list"),
        ({"graphs": [{"traces": [1]}]}, "a trace is a text"),
        ({"window": [1, 1]}, "the second after the first"),
        ({"window": [1, None]}, "finite number"),
        ({"derived": [{"name": "x", "kind": "eval"}]}, "kinds are"),
        ({"graphs": [{}] * 1000}, "more than 40 graphs"),
    ],
)
def test_what_is_no_layout_is_refused(told: object, words: str) -> None:
    with pytest.raises(lw.Error, match=words):
        layout_from(told)


def test_the_first_layout_shows_channels_that_move_by_their_units() -> None:
    t = np.arange(5.0)
    channels = [Channel("still", "m"), Channel("x", "m"), Channel("v", "m/s"), Channel("y", "m")]
    r = Recording(t, channels, np.stack([0 * t, t, t, t], axis=1))
    assert [g.traces for g in first_layout(r).graphs] == [("x", "y"), ("v",)]
    assert first_layout(Recording([0], [], np.zeros((1, 0)))).graphs == ()
    assert first_layout(Recording([0], channels, [[1, 2, 3, 4]])).graphs[0].traces[0] == "still"


# -- pictures --------------------------------------------------------------------------------------
def test_pictures_overlay_traces_escape_names_and_leave_gaps() -> None:
    r = waves()
    broken = np.where((r.times > 5) & (r.times < 6), np.nan, r["c"])
    text = stacked_plot(
        [[Curve("<b>", r.times, r["s"]), Curve("c", r.times, broken)]], title="a & b"
    ).text()
    assert "&lt;b&gt;" in text
    assert "a &amp; b" in text
    assert text.count("<polyline") == 3
    phase = phase_plot(Curve("x [m]", r.times, r["s"]), Curve("v", r.times, r["c"])).text()
    assert "x [m]" in phase
    assert phase.count("<circle") == 1
    assert nice_ticks(-0.31, 0.29, 4) == [-0.2, 0.0, 0.2]


def test_the_picture_of_a_layout_has_all_its_graphs() -> None:
    layout = ScopeLayout((Graph(("s", "s - c")), Graph(("c",), "s"), Graph(())), MADE)
    text = layout_picture(
        [("one", Columns(waves(), MADE)), ("two", Columns(waves(500), MADE))],
        layout,
        (0.0, 5.0),
        "waves",
    )
    assert text.count("<svg") == 4  # the stack, and a phase plot of each
    assert "s - c [m] · two" in text
    assert text.count("stroke-dasharray") == 2


def test_the_picture_of_one_sample_has_it_in_the_middle() -> None:
    one = Recording([0.5], [Channel("s", "m")], [[2.0]])
    shown = [("one", Columns(one, ()))]
    text = layout_picture(shown, ScopeLayout((Graph(("s",)),)), (0.5, 0.5), "one")
    assert ">0.5<" in text
    assert "nan" not in text


# -- the server ------------------------------------------------------------------------------------
@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    made = Studio([recorded_motion("waves", waves())])
    made.folder = tmp_path
    yield made
    made.close()


def ask(studio: Studio, path: str = "scope/ask", body: object = None) -> Any:
    content = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
    request = Request(studio.pages.address + path, data=content, method="POST")
    with urlopen(request, timeout=30) as answer:
        return json.load(answer)


def floats(text: str) -> NDArray[np.float32]:
    return np.frombuffer(base64.b64decode(text), "<f4")


def refused(studio: Studio, path: str, body: object = None) -> str:
    return str(ask(studio, path, body)["error"])


def test_the_server_tells_curves_values_and_what_is_derived(studio: Studio) -> None:
    layout = ScopeLayout(
        (Graph(("s", "d/dt s")), Graph(("c",), "s")), MADE, (2.0, 3.0), 2.5
    ).plain()
    told = ask(studio, body={"layout": layout, "time": 2.25, "points": 60, "lens": [2.2, 2.3]})
    assert studio.player.time == 2.25
    assert told["values"]["s"]["at"][0] == pytest.approx([np.sin(2.25), np.sin(2.5)], abs=1e-4)
    assert told["values"]["d/dt s"]["unit"] == "m/s"
    (_, _, (s,)), (_, _, (rate,)), (across, _, (phase,)) = told["data"]
    t = s["start"] + floats(s["t"])
    assert len(t) <= 60
    assert np.allclose(floats(s["v"]), np.sin(t), atol=1e-5)
    assert (s["low"], s["high"]) == pytest.approx((np.sin(3.01), np.sin(1.99)), abs=1e-9)
    t = rate["lens"]["start"] + floats(rate["lens"]["t"])
    assert np.allclose(floats(rate["lens"]["v"]), np.cos(t), atol=1e-3)
    assert 2.18 < t[0] < 2.3 < t[-1] < 2.32
    assert across == "s"
    assert np.allclose(floats(phase["x"]) ** 2 + floats(phase["y"]) ** 2, 1, atol=1e-5)
    again = ask(
        studio,
        body={
            "number": told["number"],
            "known": told["known"],
            "stamp": told["stamp"],
            "points": 60,
            "lens": [2.2, 2.3],
        },
    )
    assert not {"data", "layout", "channels"} & set(again)  # nothing has changed


def test_the_server_saves_opens_and_finds_the_last(studio: Studio, tmp_path: Path) -> None:
    ask(studio, body={"layout": ScopeLayout((Graph(("s",)),), MADE).plain()})
    address = studio.pages.address + "scope/"
    with urlopen(address + "save?as=.npz", timeout=30) as answer:
        (tmp_path / "back.npz").write_bytes(answer.read())
    back = read_recording(tmp_path / "back.npz")
    assert back.names == ("s", "c", "fast", *(d.name for d in MADE))
    with urlopen(address + "picture", timeout=30) as answer:
        assert b"<polyline" in answer.read()
    assert ask(studio, "scope/next")["name"] == str(tmp_path / "d00001")
    sl = read_recording(tmp_path / "d00001")
    assert sl.names[3] == "d/dt_s"
    np.testing.assert_allclose(sl["s_-_c"], back["s - c"], atol=1e-6)
    other = waves(300)
    other.save(tmp_path / "other.csv")
    content = (tmp_path / "other.csv").read_bytes()
    assert ask(studio, "scope/open?name=other.csv", content) == {"name": "other.csv"}
    told = ask(studio)
    assert told["takes"] == ["other.csv"]
    assert told["span"] == [0.0, 2.99]
    assert told["layout"]["graphs"] == [{"traces": ["s"], "across": ""}]  # as before
    assert studio.player.end == 2.99
    waves(100).save(tmp_path / "newest.csv")
    assert ask(studio, "scope/last") == {"name": "newest.csv"}
    assert ask(studio)["span"] == [0.0, 0.99]


def test_the_server_refuses_what_it_cannot_do(studio: Studio) -> None:
    served = studio.pages
    assert "unknown file type" in refused(studio, "scope/open?name=../../etc/passwd", b"x")
    with pytest.raises(HTTPError, match="404"):
        ask(studio, "elsewhere")
    assert "is not JSON" in refused(studio, "scope/ask", b"{")
    assert "finite number" in refused(studio, "scope/ask", {"time": "soon"})
    assert "a list" in refused(studio, "scope/ask", {"layout": {"graphs": 1}})
    with pytest.raises(HTTPError, match="403"):
        urlopen(f"http://{served.host}:{served.port}/x{served.token}/scope", timeout=30)


def test_a_table_that_fits_nothing_is_refused_by_its_own_name_and_leaves_the_scene(
    tmp_path: Path,
) -> None:
    from linkwright.studio.server import open_studio

    with open_studio(["pendulum"]) as studio:
        motion, end = studio.motions[0], studio.player.end
        t = np.linspace(0, 1, 5)
        Recording(t, [Channel("price", "?")], t[:, None]).save(tmp_path / "shares.csv")
        content = (tmp_path / "shares.csv").read_bytes()
        told = refused(studio, "scope/open?name=shares.csv", content)
        assert told.startswith("shares.csv does not fit what is shown: no channel is a coordinate")
        assert studio.motions[0] is motion
        assert studio.player.end == end
        told = refused(studio, "scope/open?name=broken.csv", b"a,b\n1")
        assert "broken.csv" in told
        assert "/" not in told  # nothing of where it was put for a moment


def test_a_live_run_rolls_through_the_scope_and_is_looked_back_at() -> None:
    from linkwright.studio.server import open_studio
    from linkwright.studio.state import RUN, PanelState

    studio = open_studio(["pendulum"])
    try:
        panels = studio.panels
        assert isinstance(panels, PanelState)
        panels.maker.make()
        live = panels.live
        assert live is not None
        panels.take_over(RUN)
        live.advance(240)
        panels.rounds.go_round(0.0)
        layout = ScopeLayout((Graph(("phi",)),), (Derived("v", "rate", "phi"),), last=0.5).plain()
        told = ask(studio, body={"layout": layout})
        assert told["live"]
        assert told["span"] == [0.0, 1.0]
        ask(studio, body={"time": 0.5})  # it stands: the scene shows what was then
        told = ask(studio)
        phi = live.recording()["phi"]
        assert told["time"] == 0.5
        assert told["values"]["phi"]["at"][0][0] == pytest.approx(float(phi[30]))
        live.advance(4)
        panels.rounds.go_round(0.1)
        assert ask(studio)["time"] == pytest.approx(live.latest.time)  # it has gone on
        live.advance(1)  # beyond the last sample there is nothing to be read; there, there is
        panels.show_live()
        last = ask(studio)
        assert last["time"] == pytest.approx(live.latest.time - live.phases.tick_seconds)
        assert last["values"]["phi"]["at"][0][0] == pytest.approx(live.recording()["phi"][-1])
        assert panels.troubles.words == []
    finally:
        studio.close()


def test_a_recording_that_is_opened_moves_the_scene(tmp_path: Path) -> None:
    from linkwright.studio.server import open_studio

    lw.simulate(lw.load("pendulum"), 3.0, step=0.01).save(tmp_path / "long.csv")
    studio = open_studio(["pendulum"])
    try:
        panels, stage = studio.panels, studio.stage
        assert stage is not None
        content = (tmp_path / "long.csv").read_bytes()
        ask(studio, "scope/open?name=long.csv", content)
        assert studio.player.end == pytest.approx(3.0)
        ask(studio, body={"time": 2.0})
        run = read_recording(tmp_path / "long.csv")
        phi = np.interp(2.0, run.times, run["phi"])
        assert panels.q[0] == pytest.approx(phi, abs=0.05)
        turn = stage.poses[1, 3:] if stage.poses is not None else np.zeros(4)
        rest = stage.scene.poses(np.array([[0.0], [phi]])).poses[:, 1, 3:]
        half = np.abs(turn @ _upright(stage.scene, rest[1]))
        assert half == pytest.approx(1.0, abs=1e-4)
        assert panels.troubles.words == []
    finally:
        studio.close()


def _upright(scene: Any, turn: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a turn in the picture's axes."""
    from linkwright.scene.viewpoint import upright

    pose = np.concatenate([np.zeros(3), turn])[None, None]
    return np.asarray(upright(scene, pose)[0, 0, 3:])


# -- the page --------------------------------------------------------------------------------------
def test_the_page_derives_as_scipy_does_and_saves_tables(tmp_path: Path) -> None:
    r = waves()
    file = tmp_path / "page.html"
    write_page(file, [recorded_motion("waves", r)])
    with opened(file, offline=True) as (page, wrong):
        page.wait_for_selector("html[data-ready=yes]")
        page.evaluate(
            """() => { const p = studio.plots;
            p.clearAll(); p.addGraph(); p.toggle('s', true); p.toggle('c', true);
            p.derive({ kind: 'rate', a: 's' }); p.derive({ kind: 'sub', a: 's', b: 'c' });
            p.derive({ kind: 'filter', a: 'fast', cutoff: 2 });
            p.derive({ kind: 'rate', a: 's - c', cutoff: 10 });
            p.phase('s', 'c'); p.setMark(5); p.lensButton.click(); }"""
        )
        graphs = page.evaluate("studio.plots.layout.graphs.map((g) => [g.across, g.traces])")
        rate = "d/dt (s - c) (10 %)"
        assert graphs == [["", ["s", "c", "d/dt s", "s - c", "fast (2 %)", rate]], ["s", ["c"]]]

        def column(name: str) -> NDArray[np.float64]:
            script = "(n) => Array.from(studio.plots.source.column(0, n).v)"
            return np.array(page.evaluate(script, name))

        s, c, fast = column("s"), column("c"), column("fast")
        b, a = signal.butter(2, 0.02)
        np.testing.assert_allclose(column("fast (2 %)"), signal.filtfilt(b, a, fast), atol=1e-9)
        slope = np.gradient(s, r.times, edge_order=2)
        np.testing.assert_allclose(column("d/dt s"), slope, atol=1e-7)
        b, a = signal.butter(2, 0.1)
        slope = np.gradient(signal.filtfilt(b, a, s - c), r.times, edge_order=2)
        np.testing.assert_allclose(column(rate), slope, atol=1e-7)
        assert page.evaluate(f"studio.plots.source.unit('{rate}')") == "m/s"
        # both cursors, and their difference
        page.fill("#scrub", "0.5")
        row = page.locator('.plot >> nth=0 >> [data-channel="s"]')
        now, then = np.interp([9.995, 5.0], r.times, r["s"])
        assert float(row.locator("b").inner_text()) == pytest.approx(now, abs=1e-3)
        assert float(row.locator("u").inner_text()) == pytest.approx(then, abs=1e-3)
        difference = row.locator("s").inner_text().removeprefix("Δ ")
        assert float(difference) == pytest.approx(now - then, abs=1e-3)
        # a click moves the time; the table holds what was derived
        page.evaluate("studio.plots.lensButton.click()")
        canvas = page.locator(".plot canvas").first
        canvas.click(position={"x": 48 + 0.25 * (canvas.bounding_box()["width"] - 58), "y": 50})
        assert page.evaluate("studio.time") == pytest.approx(5.0, abs=0.1)
        with page.expect_download() as got:
            page.locator("summary", has_text="Save").click()
            page.get_by_text("Table, .csv").click()
        got.value.save_as(tmp_path / "scope.csv")
        table = read_recording(tmp_path / "scope.csv")
        assert table.names[-1] == rate
        np.testing.assert_allclose(table["s - c"], s - c, atol=1e-7)
        with page.expect_download() as got:
            page.locator("summary", has_text="Save").click()
            page.get_by_text("Picture, .png").click()
        got.value.save_as(tmp_path / "scope.png")
        assert (tmp_path / "scope.png").read_bytes().startswith(b"\x89PNG")
        assert wrong == []


def test_two_hundred_channels_are_found_by_typing(tmp_path: Path) -> None:
    t = np.linspace(0, 1, 11)
    channels = [Channel(f"arm.{k}", "rad", f"joint {k}") for k in range(200)]
    file = tmp_path / "page.html"
    write_page(file, [recorded_motion("r", Recording(t, channels, np.outer(t, np.arange(200))))])
    with opened(file, offline=True) as (page, wrong):
        page.wait_for_selector("html[data-ready=yes]")
        assert page.locator("#channels label").count() == 200
        page.fill("#search", "JOINT 19")
        assert page.locator("#channels label").count() == 12  # 19, 119, and 190 to 199
        page.locator("#channels label", has_text="arm.193").locator("input").check()
        page.fill("#scrub", "0.5")
        assert page.inner_text('[data-channel="arm.193"] b') == "96.50"
        assert wrong == []


@pytest.mark.parametrize("case", ["one sample", "no channels", "no samples", "no numbers", "long"])
def test_odd_recordings_are_shown(case: str, tmp_path: Path) -> None:
    long = "name of a channel " * 20
    made = {
        "one sample": Recording([0.5], [Channel("x", "m"), Channel("y", "s")], [[1, 2]]),
        "no channels": Recording([0, 1], [], np.zeros((2, 0))),
        "no samples": Recording([], [Channel("x")], np.zeros((0, 1))),
        "no numbers": Recording([0, 1, 2], [Channel("x")], np.full((3, 1), np.nan)),
        "long": Recording([0, 1, 2], [Channel(long, "kg*m^2/s^3" * 9)], [[1], [2], [3]]),
    }[case]
    motion = recorded_motion(case, made)
    studio = Studio([motion])
    try:
        with opened(studio.pages.address + "scope", width=420) as (page, wrong):
            page.wait_for_selector("html[data-ready=yes]")
            if made.channels and len(made):
                page.evaluate("scope.derive({kind: 'rate', a: scope.source.channels[0][0]})")
                page.wait_for_function("scope.source.number > 1")
            assert page.evaluate("document.documentElement.scrollWidth") <= 420
            assert wrong == []
    finally:
        studio.close()
    file = tmp_path / "page.html"
    write_page(file, [motion])
    with opened(file, offline=True) as (page, wrong):
        page.wait_for_selector("html[data-ready=yes]")
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280
        assert wrong == []


def test_keys_in_the_scope_act_on_it_and_on_the_studio() -> None:
    studio = Studio([recorded_motion("waves", waves()), recorded_motion("others", waves(900))])
    try:
        scope = studio.scope
        with opened(studio.pages.address + "scope") as (page, wrong):
            page.wait_for_selector("html[data-ready=yes]")
            assert page.locator('[data-channel="s"]').count() == 2  # one for each recording
            page.keyboard.press("End")
            page.wait_for_function("scope.source.time > 19.9")
            assert studio.player.time == studio.player.end
            page.keyboard.press("m")
            page.keyboard.press("+")
            page.wait_for_function("scope.source.window[0] > 9")
            soon(lambda: scope.layout is not None and scope.layout.window is not None)
            assert scope.layout is not None
            assert scope.layout.mark == pytest.approx(19.99)
            assert scope.layout.window == pytest.approx((9.995, 19.99))
            page.keyboard.press("0")
            page.keyboard.press("Home")
            page.wait_for_function("scope.source.time === 0")
            page.wait_for_function("scope.layout.window === null")
            soon(lambda: scope.layout is not None and scope.layout.window is None)
            # the bar of time: a stretch is chosen by dragging
            bar = page.locator("canvas.overview")
            box = bar.bounding_box()
            inner = box["width"] - 58
            page.mouse.move(box["x"] + 48 + 0.25 * inner, box["y"] + 10)
            page.mouse.down()
            page.mouse.move(box["x"] + 48 + 0.5 * inner, box["y"] + 10, steps=4)
            page.mouse.up()
            page.wait_for_function("scope.source.window[0] > 4.9 && scope.source.window[1] < 10.1")
            # traces and graphs go one after another, as they came
            page.get_by_text("Graphs", exact=True).click()
            page.get_by_text("Remove last trace").click()
            page.wait_for_function("scope.layout.graphs[0].traces.length === 1")
            page.get_by_text("Graphs", exact=True).click()
            page.get_by_text("Delete graph").click()
            page.get_by_text("Graphs", exact=True).click()
            page.get_by_text("Remove all graphs").click()
            page.get_by_text("No graphs. Add channels below.").wait_for()
            assert wrong == []
    finally:
        studio.close()


def test_a_page_of_many_samples_keeps_peaks_and_slopes() -> None:
    t = np.arange(300_000) / 1000
    peaks = np.sin(t)
    peaks[[77_777, 200_001]] = 9.0, -9.0
    r = Recording(t, [Channel("x", "m"), Channel("s", "m")], np.stack([peaks, np.sin(t)], axis=1))
    even = np.linspace(t[0], t[-1], 1000)
    x, s = (_evened(even, t, column) for column in r.data.T)
    assert (x.max(), x.min()) == (9.0, -9.0)
    assert (np.abs(x - np.sin(even)) > 0.1).sum() == 2
    np.testing.assert_array_equal(s, np.interp(even, t, np.sin(t)))  # nothing is lost in a wave
    assert np.isnan(_evened(even, t, np.full(len(t), np.nan))).all()
