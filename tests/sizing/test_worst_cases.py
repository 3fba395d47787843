"""Worst cases of tasks: payloads in a box, proven and found."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.cli import main
from linkwright.motion import Dwell, Move, TaskSegment, ToolLine
from linkwright.motion.task_parts import Part
from linkwright.motion.trajectory import MotionError
from linkwright.sizing.requirements import Requirement
from linkwright.sizing.requirements.worst import _affine, largest_quadratic
from tests.support.shared import robot

Array = NDArray[np.float64]
RANGE = lw.Payload(up_to=3.0, box=(0.2, 0.3, 0.4), center=(0.0, 0.05, 0.1))


@cache
def requirement() -> Requirement:
    arm = robot("puma560")
    start = dict(zip(arm.coordinates, (0.3, 0.8, 2.9, 0.4, 0.7, -0.2), strict=True))
    parts: list[Part] = [Move({"q1": 1.5, "q2": 0.2, "q4": 2.0, "q5": -0.6}, 0.5), Dwell(0.1)]
    return lw.sizing.require(arm, lw.Task(parts, start), step=0.04)


def bodies(count: int, seed: int) -> Array:
    """Return moments of random bodies in the box: one to four point masses each."""
    rng = np.random.default_rng(seed)
    middle, half = np.array(RANGE.center), np.array(RANGE.box or ()) / 2
    found = np.zeros((count, 10))
    share = rng.dirichlet(np.full(4, 0.3), size=count) * rng.uniform(0, 3.0, (count, 1))
    for k in range(4):
        # most of them on faces, edges and in corners, where the worst are
        r = middle + half * np.clip(rng.uniform(-2, 2, (count, 3)), -1, 1)
        found += share[:, k : k + 1] * _moments(r)
    return found


def _moments(r: Array) -> Array:
    x, y, z = r.T
    one = np.ones(len(r))
    rows = [one, x, y, z, y**2 + z**2, -x * y, x**2 + z**2, -x * z, -y * z, x**2 + y**2]
    return np.array(rows).T


def test_no_payload_in_the_box_exceeds_the_proven_worst() -> None:
    """100,000 random bodies: torque, power and each component of force in each joint."""
    need = requirement()
    worst = need.worst(payload=RANGE)
    torque, wrench, speeds, _ = _affine(need)
    loads = bodies(100_000, 1)
    for k, joint in list(enumerate(need.joints))[1::3]:
        rows = [("torque", torque.fixed[:, k], torque.slopes[:, k])]
        rows.append(
            ("power", torque.fixed[:, k] * speeds[:, k], torque.slopes[:, k] * speeds[:, k, None])
        )
        rows += [
            (c, wrench.fixed[:, k, i], wrench.slopes[:, k, i])
            for i, c in enumerate(("fx", "fy", "fz", "mx", "my", "mz"))
        ]
        for quantity, fixed, slopes in rows:
            case = worst.case(joint.name, quantity)
            assert case.proof == "proven"
            most = float(np.abs(fixed + loads @ slopes.T).max())
            assert most <= abs(case.value) * (1 + 1e-12) + 1e-9
            assert most >= 0.8 * abs(case.value) - 1e-9  # and it is no empty bound


def test_the_worst_case_is_reached_by_its_own_payload() -> None:
    """Independent of how it was found: the requirement is computed again with that payload."""
    need = requirement()
    worst = need.worst(payload=RANGE)
    for joint in ("q2", "q5"):
        for quantity in ("torque", "power", "force", "rms torque"):
            case = worst.case(joint, quantity)
            again = lw.sizing.require(
                need.robot, need.task, payload=lw.Payload(case.mass, case.position), step=0.04
            )
            if quantity == "rms torque":
                assert again.statistic(joint, "torque").rms == pytest.approx(case.value, rel=1e-9)
                continue
            found = again.statistic(joint, quantity)
            assert abs(found.peak) == pytest.approx(abs(case.value), rel=1e-9)
            assert found.time == pytest.approx(case.time)
    text = str(worst.case("q2"))
    assert "proven: a point mass of 3 kg at (" in text


def test_searched_cases_are_as_bad_as_a_fine_grid() -> None:
    need = requirement()
    worst = need.worst(payload=RANGE)
    torque, wrench, _, times = _affine(need)
    middle, half = np.array(RANGE.center), np.array(RANGE.box or ()) / 2
    grid = np.array(np.meshgrid(*[np.linspace(-1, 1, 9)] * 3)).reshape(3, -1).T
    loads = 3.0 * _moments(middle + half * grid)
    h = np.diff(times)
    for k, joint in enumerate(need.joints):
        x = torque.fixed[:, k, None] + torque.slopes[:, k] @ loads.T
        a, b = x[:-1], x[1:]
        rms = np.sqrt((h @ (a * a + a * b + b * b)) / (3 * (times[-1] - times[0])))
        case = worst.case(joint.name, "rms torque")
        assert case.proof == "found"
        assert rms.max() <= case.value * (1 + 1e-9)
        forces = wrench.fixed[:, k, :3, None] + wrench.slopes[:, k, :3] @ loads.T
        most = np.linalg.norm(forces, axis=1).max()
        assert most <= worst.case(joint.name, "force").value * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_a_quadratic_over_a_box_is_largest_at_one_of_27_places(seed: int) -> None:
    rng = np.random.default_rng(seed)
    c, g, m = rng.normal(size=20), rng.normal(size=(20, 3)), rng.normal(size=(20, 3, 3)) * 3
    square = (m + m.transpose(0, 2, 1)) / 2
    lower, upper = np.array([-1.0, -0.5, 0.2]), np.array([0.5, 0.5, 1.0])
    top, at = largest_quadratic(c, g, square, lower, upper)
    grid = np.array(
        np.meshgrid(*[np.linspace(a, b, 41) for a, b in zip(lower, upper, strict=True)])
    )
    points = grid.reshape(3, -1).T
    for k in range(20):
        values = c[k] + points @ g[k] + np.einsum("pi,ij,pj->p", points, square[k], points)
        assert values.max() <= top[k] + 1e-12
        assert values.max() >= top[k] - 0.02 * (1 + abs(top[k]))
        r = at[k]
        assert c[k] + g[k] @ r + r @ square[k] @ r == pytest.approx(top[k])
        assert np.all((r >= lower) & (r <= upper))


def test_payloads_that_are_no_range_are_refused() -> None:
    need = requirement()
    with pytest.raises(MotionError, match="R702"):
        need.worst(payload=lw.Payload(3.0))
    with pytest.raises(MotionError, match="R701"):
        need.worst(payload=RANGE).case("q1", "temperature")
    for wrong in ({"up_to": -1.0, "box": (1, 1, 1)}, {"up_to": 1.0}, {"mass": -2.0}):
        with pytest.raises(MotionError, match="R209"):
            lw.Payload(**wrong)


def test_the_command_tells_worst_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "reach.toml"
    file.write_text('format = 1\n[[part]]\nkind = "move"\nto = {q2 = 0.5}\nduration = 0.5\n')
    command = ["analyze", "require", "puma560", str(file), "--step", "0.05", "--worst"]
    assert main([*command, "--payload", "0..3", "--box", "0.1,0.1,0.15", "--json"]) == 0
    cases = json.loads(capsys.readouterr().out)["worst"]
    torque = next(c for c in cases if (c["joint"], c["quantity"]) == ("q2", "torque"))
    assert torque["mass"] == 3.0
    assert torque["proof"] == "proven"
    assert main([*command, "--payload", "3"]) == 2
    assert "[R702]" in capsys.readouterr().err


# -- sensitivities ---------------------------------------------------------------------------------
def pendulums(values: dict[str, float]) -> lw.Robot:
    """Return two links whose masses, mass center, inertia and length are parameters."""
    m = lw.Mechanism("pendulums")
    upper = m.body("a", joint=lw.Revolute("y"), mass="m1", com=("c1", 0, 0.02), inertia="J1")
    m.body(
        "b",
        parent=upper,
        joint=lw.Revolute("z"),
        at=("L", 0, 0),
        mass="m2",
        com=(0.2, 0, 0),
        inertia=0.02,
    )
    m.gravity("-z")
    m.defaults(values)
    return lw.Robot(m, symbolic=True)


def test_sensitivities_equal_differences() -> None:
    """Every statistic by every parameter, to 1e-6."""
    values = {"m1": 3.0, "c1": 0.2, "J1": 0.05, "L": 0.5, "m2": 1.5}
    path = lw.motion.point_to_point([0.1, 0.3], [0.9, -0.6], 0.5)

    def required(changed: dict[str, float]) -> Requirement:
        return lw.sizing.require(pendulums(changed), path, step=0.01)

    need = required(values)
    found = need.sensitivity()
    assert set(found.parameters) == set(values)
    step = 1e-5
    for name, value in values.items():
        up, down = (required({**values, name: value + s * step}) for s in (1, -1))
        for joint in ("a", "b"):
            for quantity in ("torque", "power", "force", "moment"):
                one, two = (r.statistic(joint, quantity) for r in (up, down))
                pairs = {"peak": (one.peak, two.peak), "rms": (one.rms, two.rms)}
                pairs |= {"mean": (one.mean, two.mean)}
                pairs["p95"] = one.percentiles[95.0], two.percentiles[95.0]
                for statistic, (above, below) in pairs.items():
                    slope = found.of(joint, quantity, statistic)[name]
                    assert slope == pytest.approx((above - below) / (2 * step), rel=1e-6, abs=1e-6)
    with pytest.raises(lw.Error, match="R215"):
        found.of("a", "torque", "median")


def test_numbers_have_no_sensitivities() -> None:
    with pytest.raises(lw.Error, match="R218"):
        requirement().sensitivity()


# -- poses -----------------------------------------------------------------------------------------
def test_the_search_reaches_the_best_of_many_random_poses() -> None:
    """Two links, best of 20,000 with 1,000 evaluations; the bench has a PUMA and a million."""
    arm = pendulums({"m1": 3.0, "c1": 0.2, "J1": 0.05, "L": 0.5, "m2": 1.5})
    turn = TaskSegment({"a": [0.0, 4.0], "b": [0.0, -6.0]}, duration=0.2)
    q, u, a = (
        np.outer(row, [4.0, -6.0]) for row in ([0.0, 0.005, 0.02], [0.0, 0.1, 0.2], [1.0, 1.0, 1.0])
    )
    starts = np.random.default_rng(99).uniform(-np.pi, np.pi, (20_000, 1, 2))
    best = float(np.abs(arm.inverse_dynamics(starts + q, u, a)[..., 0]).max())
    searches = [
        lw.sizing.worst_pose(arm, lw.Task([turn]), "a", seed=k, step=0.1, evaluations=1_000)
        for k in range(3)
    ]
    assert max(x.evaluations for x in searches) <= 1_000
    assert min(abs(x.value) for x in searches) >= best * (1 - 1e-9)
    found = searches[0]
    again = lw.sizing.require(arm, lw.Task([turn], found.start), step=0.1)
    assert again.statistic("a", "torque").peak == pytest.approx(found.value)


def test_tasks_that_cannot_begin_anywhere_are_refused() -> None:
    for part in (Move({"q1": 1.0}, 1.0), ToolLine({"x": 0.1}, 1.0)):
        with pytest.raises(lw.Error, match="R703"):
            lw.sizing.worst_pose("puma560", lw.Task([part]), "q2")
