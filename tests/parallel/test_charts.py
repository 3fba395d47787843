"""Charts of machines: reach with its cause, exact ends, quantities, files, kills."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import ArrayLike
from pyarrow import parquet

import linkwright as lw
from linkwright.base.errors import Error
from linkwright.equations.parallel_machine import parallel_machine
from linkwright.mechanism import Mechanism, Universal
from linkwright.parallel import chart
from linkwright.parallel.chart_engine import CAUSES, NO_SOLUTION, ChartEngine
from linkwright.parallel.chart_parts import _KeptPart, computed_parts
from linkwright.parallel.chart_space import chart_space
from linkwright.parallel.charts import Chart
from linkwright.parallel.machine_rates import machine_rates
from tests.seeds import seldom
from tests.support.closed_loop_machines import arm_angles, directions, five_bar, rotary_mount
from tests.support.skies import orbit_of, sky

ALL = ["reach", "condition", "manipulability", "transmission", "pressure", "effort", "coordinates"]
AXES: dict[str, ArrayLike] = {"x": (-0.2, 0.2, 5), "y": (0.3, 1.1, 20)}


@pytest.fixture(scope="module")
def mount() -> Chart:
    of = ["reach", "transmission", "coordinates"]
    return chart(rotary_mount(), sky(azimuth=(0, 330, 12), zenith=(0, 120, 25)), of=of)


@pytest.fixture(scope="module")
def whole() -> Chart:
    return chart(five_bar(), AXES, of=ALL)


def test_reach_is_where_the_closed_form_has_a_solution(mount: Chart) -> None:
    azimuth, zenith = (a.values for a in mount.axes)
    d = np.swapaxes(directions(np.pi / 2 - azimuth, zenith), 0, 1)
    with np.errstate(invalid="ignore"):
        arms = arm_angles(d, 0.98)
    np.testing.assert_array_equal(mount["reach"] == 0, np.isfinite(arms).all(axis=-1))
    assert set(np.unique(mount["reach"])) == {0, CAUSES.index("no solution")}
    assert np.isnan(mount["transmission"][mount["reach"] != 0]).all()
    found = np.stack([mount[f"lower{k}"] for k in (1, 2, 3)], axis=-1)
    reached = mount["reach"] == 0
    np.testing.assert_allclose(found[reached], arms[reached], atol=1e-9)


def test_quantities_are_those_of_other_routes(whole: Chart) -> None:
    """Efforts by inverse dynamics, singular values by NumPy."""
    i, k = 1, 7
    assert whole["reach"][i, k] == 0
    m = five_bar()
    rates = machine_rates(m)
    q = np.array([whole[n][i, k] for n in rates.names])
    order = dict(zip(rates.names, q, strict=True))
    robot = lw.Robot(m)
    held = robot.inverse_dynamics([order[n] for n in robot.coordinates], [0, 0], [0, 0])
    efforts = [whole[f"effort {side}"][i, k] for side in ("left", "right")]
    np.testing.assert_allclose(efforts, held, rtol=1e-9)
    at = rates.at(q)
    np.testing.assert_allclose(at.position[:2], [whole.axes[0].values[i], whole.axes[1].values[k]])
    passive = [j for j in range(len(q)) if j not in rates.driven]
    slope = np.zeros((len(q), 2))
    slope[rates.driven] = np.eye(2)
    jacobian = at.jacobian
    slope[passive] = np.linalg.lstsq(jacobian[:, passive], -jacobian[:, rates.driven])[0]
    values = np.linalg.svd(at.twist[3:] @ slope / rates.length, compute_uv=False)
    assert whole.length == rates.length
    assert whole["condition"][i, k] == pytest.approx(values[0] / values[1], rel=1e-9)
    assert whole["manipulability"][i, k] == pytest.approx(values[0] * values[1], rel=1e-9)
    np.testing.assert_allclose(whole["pressure"], 90 - whole["transmission"], equal_nan=True)


def test_angles_between_arms_are_those_of_the_digest(mount: Chart) -> None:
    """Table of section 3.7: the least over the hemisphere at D = 0.98 is 40.6 degrees."""
    hemisphere = mount["transmission"][:, mount.axes[1].values <= np.pi / 2 + 1e-9]
    assert hemisphere.min() == pytest.approx(40.6, abs=0.15)


def test_the_reach_of_the_mount_with_three_arms() -> None:
    """Mount check 62: the least reach over all azimuths, by the general engine."""
    turns = np.linspace(12.5, 18.5, 61)
    axes: dict[str, ArrayLike] = {
        "distance": [0.841, 0.90, 0.98], **sky(azimuth=90 - turns, zenith=(0, 130, 14))
    }  # fmt: skip
    found = chart(rotary_mount(strut=False), axes)
    reach = np.degrees(found.ends[..., 1])
    np.testing.assert_allclose(reach.min(axis=1), [115.9446, 110.8431, 103.6622], atol=1e-4)
    np.testing.assert_allclose(turns[reach.argmin(axis=1)], [17.2, 16.0, 13.8], atol=0.11)
    assert (found.end_causes[..., 1] == CAUSES.index("no solution")).all()


def limited(**more: float) -> Mechanism:
    """Return two arms in a plane with a limit, a capsule beside them and a weak motor."""
    m = Mechanism("limited")
    m.gravity((0, -1, 0))
    upper = m.body("upper", rotate="z", mass=1, com=(0.5, 0, 0), inertia=0)
    lower = m.body(
        "lower", parent=upper, at=(1, 0, 0), rotate="z", mass=1, com=(0.5, 0, 0), inertia=0
    )
    tip = m.point("tip", lower, (1, 0, 0))
    m.set_initial({"upper": -1.0, "lower": 1.8})
    if "limit" in more:
        m.limit("lower", 0.2, more["limit"])
    if "effort" in more:
        m.limit("upper", effort=more["effort"])
    if "wall" in more:
        m.collision_capsule("link", lower, tip, 0.1)
        low, high = (m.point(f"w{y:g}", at=(more["wall"], y - 4, 0)) for y in (1.0, 7.0))
        m.collision_capsule("wall", low, high, 0.2)
    m.actuate("upper", "lower")
    m.set_platform(tip)
    return m


def test_each_end_has_its_cause_and_its_exact_place() -> None:
    axes: dict[str, ArrayLike] = {"upper": (-1.0, -1.0, 1), "lower": (0.3, 2.9, 27)}
    found = chart(limited(limit=2.0), axes)
    assert found.words(0, 26) == "joint limit: lower at its upper limit"
    assert found.ends[0, 1] == pytest.approx(2.0, abs=1e-12)
    assert np.isnan(found.ends[0, 0])
    found = chart(limited(wall=1.6), axes)
    assert found.words(0, 0) == "collision: link meets wall"
    reach = np.cos(1.0) + np.cos(found.ends[0, 0] - 1.0)  # the tip touches, its ball and the wall
    assert reach == pytest.approx(1.6 - 0.3, abs=1e-9)
    # weight: 9.81 (0.5 c + c + 0.5 cos(lower - 1)) about the shoulder, c = cos 1
    found = chart(limited(effort=12.0), axes)
    least = np.arccos((12.0 / 9.81 - 1.5 * np.cos(1.0)) / 0.5)
    assert found.words(0, 7) == "effort: upper at its greatest effort"
    np.testing.assert_allclose(found.ends[0, 0], least + 1.0, atol=1e-9)


def test_a_universal_joint_is_reached_up_to_its_cone() -> None:
    m = Mechanism("gimbal")
    dish = m.body("dish", joint=Universal("x", "y"), mass=1, inertia=0.1)
    m.limit_cone("dish", "60 deg")
    m.actuate(*(q.name for b in m.bodies.values() for q in b.coordinates))
    m.set_platform(dish)
    found = chart(m, sky(azimuth=(0, 315, 8), zenith=(2.5, 82.5, 9)))
    np.testing.assert_allclose(found.ends[:, 1], np.radians(60.0), atol=2e-9)
    assert found.words(3, 7) == "cone: the cone of dish"
    assert found.counts["cone"] == 24


def test_bits_are_the_same_for_any_number_of_threads_and_parts(
    whole: Chart, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linkwright.parallel.chart_parts.PART", 40)
    parts = chart(five_bar(), AXES, of=ALL, threads=3)
    for name in whole.columns:
        np.testing.assert_array_equal(parts[name], whole[name])
    np.testing.assert_array_equal(parts.ends, whole.ends)


def test_what_is_filled_has_the_same_bits_in_parts_and_in_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    axes = {"y": (-2.5, 2.5, 11), "x": (-1.5, 2.5, 21)}
    every = chart(five_bar(), axes, of=ALL)
    monkeypatch.setattr("linkwright.parallel.chart_parts.PART", 60)
    for found in (
        chart(five_bar(), axes, of=ALL),
        chart(five_bar(), axes, of=ALL, folder=tmp_path / "chart"),
        chart(five_bar(), axes, of=ALL, folder=tmp_path / "chart", resume=True),
    ):
        for name in every.columns:
            np.testing.assert_array_equal(found[name], every[name])
        np.testing.assert_array_equal(found.ends, every.ends)
        np.testing.assert_array_equal(found.end_causes, every.end_causes)
    counts = [
        parquet.read_table(file).column("filled").to_numpy().sum()
        for file in (tmp_path / "chart").glob("ends-*.parquet")
    ]
    assert sum(counts) > 0


@seldom(daily="test_what_is_filled_has_the_same_bits_in_parts_and_in_a_folder")
def test_few_poses_of_a_chart_are_kept_until_it_is_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkwright.parallel.chart_parts.PART", 600)
    machine = parallel_machine(rotary_mount())
    space = chart_space(machine, sky(azimuth=(0, 360, 61), zenith=(0, 120, 120)), None)
    engine = ChartEngine(machine, space, ("reach", "condition"))
    engine.part(0, 5, 1)
    whole, closed = 61 * 120 * engine.start.nbytes, []
    tracemalloc.start()
    try:
        for made in computed_parts(engine, 1):
            closed.append((made.columns["reach"] != NO_SOLUTION).mean())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0.5 < min(closed) < 1  # of each part something may be filled
    assert peak < 0.7 * whole


KILLED = """
import sys
import linkwright.parallel.chart_parts as parts
import linkwright.parallel.charts as charts
from tests.support.closed_loop_machines import five_bar
from tests.support.skies import orbit_of
parts.PART = 40
axes = {"x": (-0.2, 0.2, 5), "y": (0.3, 1.1, 20)}
charts.chart(five_bar(), axes, of=sys.argv[2:], folder=sys.argv[1])
"""


def test_a_chart_that_was_killed_goes_on(
    whole: Chart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "chart"
    root = Path(__file__).parents[2]
    paths = os.pathsep.join([str(root), str(root / "src"), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(folder), *ALL], env={**os.environ, "PYTHONPATH": paths}
    )
    try:
        limit = time.monotonic() + 120
        while not (folder / "part-00000.parquet").exists() and process.poll() is None:
            assert time.monotonic() < limit
            time.sleep(0.002)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(30)
    before = (folder / "part-00000.parquet").stat().st_mtime_ns
    monkeypatch.setattr("linkwright.parallel.chart_parts.PART", 40)
    found = chart(five_bar(), AXES, of=ALL, folder=folder, resume=True, threads=2)
    assert (folder / "part-00000.parquet").stat().st_mtime_ns == before
    assert len(list(folder.glob("part-*.parquet"))) == 3
    for name in whole.columns:
        np.testing.assert_array_equal(found[name], whole[name])
    np.testing.assert_array_equal(found.ends, whole.ends)
    with pytest.raises(Error, match="begun already"):
        chart(five_bar(), AXES, of=ALL, folder=folder)
    with pytest.raises(Error, match="another machine"):
        chart(five_bar(), AXES, of=["reach"], folder=folder, resume=True)


def test_a_chart_is_written_as_table_and_as_picture(
    whole: Chart, mount: Chart, tmp_path: Path
) -> None:
    lines = whole.save(tmp_path / "b.csv").read_text().splitlines()
    assert lines[0].startswith("x (m),y (m),reach,bound,condition")
    assert len(lines) == 1 + 5 * 20
    assert lines[8].split(",")[2] == "reached"
    table = parquet.read_table(whole.save(tmp_path / "b.parquet"))
    np.testing.assert_array_equal(table["condition"], whole["condition"].reshape(-1))
    text = mount.save(tmp_path / "b.svg", of="reach").read_text()
    assert "no solution" in text
    drawing = mount.plot("transmission")
    drawing.draw_without_rendering()
    boxes = [box for ax in drawing.axes if (box := ax.get_tightbbox()) is not None]
    assert boxes
    assert all(box.y1 <= drawing.bbox.y1 for box in boxes)
    from linkwright.mounts import Site

    orbit = orbit_of("A", 1, 61000, 0.0, 51.6, 0.0, 0.001, 0.0, 0.0, 15.5)
    over = list(Site(math.radians(-43.52), math.radians(172.58), 20).passes(orbit, days=0.2))
    words = [t.get_text() for t in mount.plot("reach", passes=over).axes[0].texts]
    assert sum(w.startswith("rise\n") for w in words) == len(over) > 0
    with pytest.raises(Error, match="map of the sky, and the chart is over x and y"):
        whole.plot(passes=over)
    titles = [ax.get_title(loc="left") for ax in whole.plot("condition,reach").axes]
    assert sum("condition" in t for t in titles) == sum("reach" in t for t in titles) == 1
    assert len(json.dumps(whole.as_dict())) > 100
    with pytest.raises(Error, match="not written as"):
        whole.save(tmp_path / "b.xyz")


@pytest.mark.parametrize(
    ("axes", "of", "words"),
    [
        ({}, "reach", "needs an axis"),
        ({"zenith": (0, 1.5, 3)}, "reach", "azimuth"),
        ({"azimuth": (0, 1, 3), "zenith": (0, 90, 3)}, "reach", "90 deg are 1.5708 rad"),
        ({"azimut": (0, 90, 3)}, "reach", "did you mean 'azimuth'"),
        (sky(azimuth=(0, 90, 3), zenith=(0, 90, 0)), "reach", "count of at least 1"),
        ({"x": (0, 1, 3), "y": (0, 1, 3)}, "reech", "did you mean 'reach'"),
        (sky(azimuth=(0, 90, 3), zenith=[np.nan]), "reach", "no values"),
    ],
)
def test_bad_input_is_refused_in_words(axes: dict[str, ArrayLike], of: str, words: str) -> None:
    with pytest.raises(Error, match=words):
        chart(five_bar(), axes, of=[of])


def test_reach_is_the_same_for_any_order_of_axes_and_by_hand() -> None:
    """Lines that begin out of reach are entered from beside them."""
    axes = {"x": (-0.45, 0.45, 19), "y": (0.053, 0.6, 28)}
    one = chart(lw.load("five-bar"), axes)
    two = chart(lw.load("five-bar"), dict(reversed(axes.items())))
    np.testing.assert_array_equal(one["reach"], two["reach"].T)
    x, y = one.axes[0].values[:, None], one.axes[1].values
    ways = [np.hypot(x - motor, y) for motor in (-0.1, 0.1)]
    by_hand = np.all([(w > 0.1) & (w < 0.6) for w in ways], axis=0)
    np.testing.assert_array_equal(one["reach"] != 1, by_hand)


def test_a_coarse_axis_hides_nothing() -> None:
    found = chart(lw.load("five-bar"), {"x": (-0.3, 0.3, 7), "y": (0.05, 0.6, 12)})
    assert found["reach"][[0, -1], 7].tolist() == [0, 0]
    np.testing.assert_allclose(found.ends[[0, -1], 1], np.sqrt(0.2), rtol=1e-7)


def test_a_pose_that_was_filled_takes_the_place_of_one_that_was_kept() -> None:
    """At the end of a line that reached nothing a pose of a closing that failed may lie."""
    part = _KeptPart(0, np.ones((4, 1), dtype=np.int8), np.array([0, 3]), np.array([[1.0], [2.0]]))
    part.fill(np.array([0]), np.array([[7.0]]), np.array([0], dtype=np.int8))
    np.testing.assert_array_equal(part.poses(np.array([0, 1, 3])), [[7.0], [np.nan], [2.0]])
    nothing = _KeptPart(0, np.ones((4, 1), dtype=np.int8), np.empty(0, dtype=int), np.empty((0, 1)))
    assert np.isnan(nothing.poses(np.array([2]))).all()
