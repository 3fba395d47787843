"""Compliance and slack in charts, designs and budgets."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import DomainError, InputError
from linkwright.cli import main
from linkwright.equations.parallel_machine import parallel_machine
from linkwright.mechanism import Mechanism
from linkwright.mounts.budget import PointingLimits, pointing_budget
from linkwright.mounts.inverse_pointing import start_at
from linkwright.parallel import BeamSection, chart, stiffness
from linkwright.parallel.design_files import read_design
from linkwright.parallel.machine_design import DesignLimit, _Problem, design
from linkwright.robots import closed
from tests.parallel.test_machine_design import PLACES, RANGES, _five_bar
from tests.parallel.test_platform_strength import _four_bar_pose, _spatial_four_bar
from tests.seeds import seldom
from tests.support.skies import sky

EXAMPLE = Path(__file__).parents[2] / "examples" / "mounts" / "stiff.toml"
TUBE = BeamSection.tube(0.1, 0.005)
SOFT: dict[str, Any] = {
    "links": {"arm1": TUBE, "upper2": TUBE},
    "drives": {"leg1": 1e7, "leg2": 1e7},
    "joints": {"ball2": 1e8},
    "clearances": {"ball2": 1e-4, "foot": 5e-5},
}


def test_a_chart_has_the_compliance_of_each_pose() -> None:
    """Forces for unit loads on the platform, against what follows each displacement."""
    m = _spatial_four_bar()
    soft: dict[str, Any] = {
        "links": {"crank": TUBE, "rod": TUBE},
        "drives": {"crank": 1e5},
        "joints": {"ball": 1e7},
    }
    of = ["rotary-compliance", "linear-compliance", "coordinates"]
    start = {
        k: v for k, v in _four_bar_pose(_spatial_four_bar("rod")).items() if k in m.coordinates
    }
    found = chart(m, {"crank": (0.7, 0.9, 3)}, of, initial=start, soft=soft)
    for i in range(3):
        q = {n: float(found[n][i]) for n in m.coordinates}
        one = stiffness(m, q, **soft).compliance
        d = np.asarray(lw.Robot(m).pose.of("rocker")(list(q.values())))[:3, 2]
        across = np.eye(3) - np.outer(d, d)
        rotary = np.linalg.eigvalsh(across @ one[3:, 3:] @ across)[-1]
        assert found["rotary-compliance"][i] == pytest.approx(rotary, rel=1e-6)
        linear = np.linalg.eigvalsh(one[:3, :3])[-1]
        assert found["linear-compliance"][i] == pytest.approx(linear, rel=1e-6)
    loose = {"clearances": {"leg1": 1e-4}}
    with pytest.raises(DomainError, match="overconstrained"):
        chart("unitru", {"zenith": (0.2, 0.4, 2)}, ["slack"], at={"azimuth": 0}, soft=loose)


@seldom(daily="test_a_chart_has_the_compliance_of_each_pose")
def test_a_chart_of_a_mount_has_the_compliance_of_each_pose() -> None:
    """Forces for unit loads on the platform, against what follows each displacement."""
    m = lw.load("mount-prismatic")
    of = ["rotary-compliance", "linear-compliance", "slack", "coordinates"]
    grid = sky(azimuth=(0, 240, 3), zenith=(5, 85, 3))
    found = chart(m, grid, of, soft=SOFT)
    names = [q.name for q in parallel_machine(m).coordinates]
    for i, j in ((0, 0), (1, 2), (2, 1)):
        q = {n: float(found[n][i, j]) for n in names}
        one = stiffness(m, q, **SOFT).compliance
        turn, rise = (a.values[k] for a, k in zip(found.axes, (i, j), strict=True))
        level = math.sin(rise)
        d = np.array([level * math.sin(turn), level * math.cos(turn), math.cos(rise)])
        across = np.eye(3) - np.outer(d, d)
        rotary = np.linalg.eigvalsh(across @ one[3:, 3:] @ across)[-1]
        assert found["rotary-compliance"][i, j] == pytest.approx(rotary, rel=1e-6)
        linear = np.linalg.eigvalsh(one[:3, :3])[-1]
        assert found["linear-compliance"][i, j] == pytest.approx(linear, rel=1e-6)
    with pytest.raises(InputError, match="meets others at 2 places"):
        chart(m, grid, of, soft={"links": {"strut": TUBE}})


def test_slack_is_the_greatest_turn_that_a_gap_allows() -> None:
    """The ball is put anywhere on its gap, and the loop closed anew."""
    plain, soft = _spatial_four_bar(), _spatial_four_bar("rod")
    q = _four_bar_pose(soft)
    gap = 1e-4
    start = {k: v for k, v in q.items() if k in plain.coordinates}
    found = chart(
        plain, {"crank": (0.6, 0.6, 1)}, ["slack"], initial=start,
        soft={"clearances": {"ball": gap}},
    )  # fmt: skip
    way = np.random.default_rng(3).normal(size=(300, 3))
    way *= gap / np.linalg.norm(way, axis=1)[:, None]
    rows = np.zeros((301, 7))
    rows[:, 0] = 0.6
    rows[1:, 1:4] = way
    poses = closed(soft, {"actuators": rows}, start=q)
    assert poses.closed.all()
    beams = np.asarray(lw.Robot(soft).pose.of("rocker")(poses.q))[:, :3, 2]
    turned = np.degrees(np.linalg.norm(beams[1:] - beams[0], axis=1)).max()
    assert found["slack"][0] == pytest.approx(turned, rel=0.02)
    assert found["slack"][0] >= 0.98 * turned


def test_a_budget_counts_clearance_as_the_chart_does() -> None:
    m, d = lw.load("mount-prismatic"), np.array([0.5, 0.3, 0.81])
    limits = PointingLimits(clearances={"ball2": 1e-4, "foot": 5e-5})
    budget = pointing_budget(m, d, (0.0, 0.01, 0.0), limits)
    assert [s.name for s in budget.sources] == ["clearance of ball2", "clearance of foot"]
    q = start_at(m, d / np.linalg.norm(d))
    u = d / np.linalg.norm(d)
    only = stiffness(m, q, joints={"ball2": 1.0}).compliance[3:, 3:]  # S S^T of one ball
    along = np.array([0, 1, 0]) - u * u[1]
    along /= np.linalg.norm(along)
    for k, axis in enumerate((along, np.cross(u, along))):
        about = np.cross(u, axis)  # a turn about it moves the beam along the axis
        size = 1e-4 * math.sqrt(about @ only @ about)
        assert budget.sources[0].effect[k] == pytest.approx(size, rel=1e-6)
    with pytest.raises(InputError, match="did you mean 'ball3'"):
        pointing_budget(m, d, (0, 0, 0), PointingLimits(clearances={"bal3": 1e-4}))


def _truss() -> Mechanism:
    """Return a point that two jacks hold, in a plane."""
    m = Mechanism("truss")
    tip = m.body("tip", translate="xz", mass=1)
    for side in (-1, 1):
        m.drive_strut(f"leg{side + 2}", m.point(f"foot{side + 2}", at=(f"{side}*b", 0, 0)), "tip")
    m.actuate("leg1", "leg3")
    m.set_platform(tip)
    m.defaults(b=0.4)
    m.set_initial({"tip.z": 1.0, "leg1": "sqrt(1 + b**2)", "leg3": "sqrt(1 + b**2)"})
    return m


def test_the_stiffest_truss_stands_at_right_angles() -> None:
    """Jacks at an angle a from the vertical give way by 1/(2 k sin^2 a) and 1/(2 k cos^2 a)."""
    soft = {"drives": {"leg1": 1e6, "leg3": 1e6}}
    found = design(
        _truss(), {"b": (0.2, 2.0)}, {"position.x": [[0.0]], "position.z": [[1.0]]},
        least="linear-compliance", soft=soft,
    )  # fmt: skip
    assert found.before == pytest.approx((1 + 0.4**2) / (2e6 * 0.4**2))
    assert found.values["b"] == pytest.approx(1.0, abs=2e-3)
    assert found.after == pytest.approx(1e-6, rel=4e-3)


@pytest.mark.parametrize("quantity", ["rotary-compliance", "slack"])
def test_slopes_of_compliance_and_slack_are_exact(quantity: str) -> None:
    from linkwright.parallel.flexing import SoftParts

    m = _five_bar()
    m.set_platform("tool", axis="x")
    soft = SoftParts.of(
        {"links": {"left": TUBE, "right": TUBE}, "clearances": {"rod": 1e-4, "right": 2e-4}}
    )
    limits = [DesignLimit("effort", most=30.0)]
    problem = _Problem(
        m, RANGES, {"position": PLACES}, DesignLimit(quantity), False, limits, None, soft
    )
    x = problem.first + np.array([0.01, 0.02, -0.03])
    _, slopes = problem.objective(x)
    for k in range(3):
        h = 1e-6 * np.eye(3)[k]
        up, down = problem.objective(x + h)[0], problem.objective(x - h)[0]
        assert slopes[k] == pytest.approx((up - down) / 2e-6, rel=1e-4, abs=1e-6)


def test_a_design_file_names_what_gives_way(tmp_path: Path) -> None:
    task = read_design(EXAMPLE)
    assert sorted(task.soft["links"]) == [
        "arm1",
        "arm2",
        "arm3",
        "strut",
        "upper1",
        "upper2",
        "upper3",
    ]
    assert task.soft["drives"]["arm1"] == 150e3
    assert task.soft["clearances"]["foot"] == pytest.approx(5e-5)
    bad = tmp_path / "bad.toml"
    bad.write_text(EXAMPLE.read_text().replace('"0.05 mm"', '"0.05 kg"'))
    assert main(["parallel", "design", str(bad)]) == 2


def test_the_command_charts_slack(capsys: pytest.CaptureFixture[str]) -> None:
    grid = "--over azimuth=0:240:3 --over zenith=0:80:3 --of slack --json"
    words = f"parallel chart mount-prismatic {grid} --clearance ball2=0.05mm".split()
    assert main(words) == 0
    shown = json.loads(capsys.readouterr().out)
    assert 1e-3 < shown["quantities"]["slack"]["greatest"] < 0.02
    for more, said in (
        ([], "no joint has clearance"),
        (["--clearance", "ball2"], "is not NAME=VALUE"),
        (["--clearance", "ball7=1 mm"], "no body 'ball7'"),
        (["--clearance", "ball2=1 kg"], "kg"),
        (["--clearance", "ball2=-1 mm"], "the clearance of 'ball2' is -0.001"),
    ):
        assert main([*words[:-2], *more]) == 2
        shown_error = capsys.readouterr().err
        assert said in shown_error
        assert shown_error.count("\n") <= 2
