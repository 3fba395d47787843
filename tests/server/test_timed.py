"""Timed trajectories of cells: every set-point, what is refused, stops, replays."""

from __future__ import annotations

import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from linkwright.base.errors import InputError
from linkwright.models.rerun import rerun
from linkwright.motion import Trajectory
from linkwright.recording import read_recording
from linkwright.server.cell import CAUSES, CellArm
from linkwright.server.cell_file import read_cell
from linkwright.server.face import POINTS, Command, RefusedError
from linkwright.server.hand import StoppedError
from linkwright.server.messages import command_of, command_record, pack_command
from linkwright.server.timed import planned
from linkwright.server.virtual import VirtualCell
from tests.seeds import seeds, seldom
from tests.server.test_server_limits import Driver, shares
from tests.server.test_server_truth import NearCell, is_done

Array = NDArray[np.float64]
Knots = tuple[Array, Array, Array | None]


def interpolated(knots: Knots, at: Array) -> Array:
    """Return the set-points at times: of each piece the polynomial that its ends ask for."""
    times, q, given = knots
    n, h = len(times), np.diff(times)
    u = np.zeros_like(q) if given is None else given
    if given is None:  # the cubic spline at rest at both ends: accelerations do not jump
        rows, right = np.eye(n), np.zeros_like(q)
        for k in range(1, n - 1):
            rows[k, k - 1 : k + 2] = 1 / h[k - 1], 2 / h[k - 1] + 2 / h[k], 1 / h[k]
            right[k] = 3 * ((q[k] - q[k - 1]) / h[k - 1] ** 2 + (q[k + 1] - q[k]) / h[k] ** 2)
        u[:] = np.linalg.solve(rows, right)
    a = np.zeros_like(q)
    for k in range(1, n - 1):
        before = (2 * u[k - 1] + 4 * u[k]) / h[k - 1] - 6 * (q[k] - q[k - 1]) / h[k - 1] ** 2
        after = 6 * (q[k + 1] - q[k]) / h[k] ** 2 - (4 * u[k] + 2 * u[k + 1]) / h[k]
        a[k] = (before + after) / 2
    found, powers = np.repeat(q[-1:], len(at), axis=0), np.arange(6)
    for k in range(n - 1):
        ends = []
        for x in (0.0, h[k]):
            first = powers * x ** np.maximum(powers - 1, 0)
            second = powers * (powers - 1) * x ** np.maximum(powers - 2, 0)
            ends += [x**powers, first, second]
        asked = np.array([q[k], u[k], a[k], q[k + 1], u[k + 1], a[k + 1]])
        here = (at >= times[k]) & (at < times[k + 1])
        since = (at[here] - times[k])[:, None]
        found[here] = since**powers @ np.linalg.solve(np.array(ends), asked)
    return found


def drawn(arm: CellArm, here: Array, rng: np.random.Generator) -> Knots:
    """Draw points near an arm, with speeds or without, slow enough for its limits."""
    count = int(rng.integers(2, 9))
    low, high = (np.array([getattr(x, w) for x in arm.axes]) for w in ("low", "high"))
    q = np.clip(here + rng.uniform(-0.3, 0.3, (count, len(here))), low + 0.2, high - 0.2)
    q[0] = here
    times = np.concatenate([[0.0], np.cumsum(rng.uniform(0.4, 1.5, count - 1))])
    u = rng.uniform(-0.1, 0.1, q.shape) if rng.random() < 0.5 else None
    if u is not None:
        u[[0, -1]] = 0.0
    return times, q, u


def give(driver: Driver, arm: str, knots: Knots) -> None:
    """Give a trajectory, so much slower that it is taken: as the refusal says."""
    times, q, u = knots
    for k, t in enumerate(times):
        driver.ask(arm, "knot", [t, *q[k], *(() if u is None else u[k])])
    driver.ask(arm, "trajectory", [len(times)])


def begin(driver: Driver, arm: CellArm, rng: np.random.Generator) -> Knots:
    """Give a random trajectory, as fast as the arm's limits let it be."""
    times, q, u = drawn(arm, driver.target(arm.name), rng)
    times, u = times / 10, None if u is None else u * 10
    for _ in range(3):
        refused = None
        try:
            give(driver, arm.name, (times, q, u))
        except RefusedError as error:
            refused = error
        if refused is None:
            return times, q, u
        assert refused.name in ("speed", "acceleration", "jerk"), refused
        assert refused.remedy is not None
        slower = float(refused.remedy.split()[2])
        assert slower > 1
        times, u = times * slower, None if u is None else u / slower
    raise AssertionError("the remedy of a refusal does not help")


@pytest.mark.parametrize("seed", seeds(6, daily=3))
def test_set_points_are_those_of_the_polynomials_at_every_tick(seed: int) -> None:
    driver, rng = Driver("axes2"), np.random.default_rng(seed)
    (arm,) = driver.cell.cell.arms
    before = driver.state("plane", "done")
    knots = begin(driver, arm, rng)
    ticks = np.arange(int(np.ceil(knots[0][-1] * driver.cell.rate)) + 5)
    seen = []
    for _ in ticks:
        driver.cell.advance(1)
        state = driver.cell.latest().values
        seen.append([*state["plane.target"], state["plane.moving"], state["plane.done"]])
    assert driver.state("plane", "cut") == 0
    rows = np.array(seen)
    expected = interpolated(knots, ticks / driver.cell.rate)
    np.testing.assert_allclose(rows[:, :-2], expected, atol=1e-9)
    assert rows[1:-4, -2].all()  # it moves until it is there, and is done then
    assert set(rows[:-4, -1]) == {before}
    assert (rows[-1, -2], rows[-1, -1]) == (0, driver.sent)


ENDS = ("stop", "track", "jog", "joints", "disable", "none")


@pytest.mark.parametrize("seed", seeds(6, daily=1))
def test_limits_are_kept_whatever_ends_a_trajectory_and_replays_have_the_same_bits(
    seed: int, tmp_path: Path
) -> None:
    driver, rng = Driver("axes2", tmp_path / "cell.parquet"), np.random.default_rng(seed)
    (arm,) = driver.cell.cell.arms
    for end in rng.permutation(ENDS):
        knots = begin(driver, arm, rng)
        given = driver.sent
        driver.advance(1 + int(rng.uniform(0.05, 0.9) * knots[0][-1] * driver.cell.rate))
        assert driver.state("plane", "moving") == 1
        values = {"track": knots[1][0], "joints": knots[1][0], "jog": [0.2, -0.1]}
        if end != "none":
            driver.ask("plane", str(end), values.get(str(end), ()))
        driver.advance(100)
        if end == "jog":
            driver.ask("plane", "jog", [0.0, 0.0])
        driver.advance(3000)
        assert is_done(driver.cell, given) == (end in ("joints", "none"))
        assert is_done(driver.cell, driver.sent)
        assert driver.state("plane", "moving") == 0
        if end == "disable":
            driver.ask("plane", "enable")
            driver.advance(100)
    driver.cell.finish()
    found = read_recording(tmp_path / "cell.parquet")
    largest = shares(found, driver.cell, arm)
    assert max(largest.values()) < 1.001, largest
    assert min(largest["acceleration"], largest["jerk"]) > 0.5  # as fast as it may be
    assert rerun(tmp_path / "cell.parquet").difference is None


def peaks(motion: Trajectory, order: int, joint: int) -> tuple[float, float]:
    """Return least and largest value, by samples that close in on each of them."""
    found = []
    for sign in (-1, 1):
        low, high, best = 0.0, motion.duration, 0.0
        for count in (20_001, 401, 401):
            before = np.nextafter(motion.instants, 0.0)  # jerks jump from piece to piece
            ends = np.clip([*before, *motion.instants], low, high)
            t = np.sort([*np.linspace(low, high, count), *ends])
            k = int(np.argmax(sign * motion(t, order)[:, joint]))
            low, best, high = t[max(k - 2, 0)], t[k], t[min(k + 2, len(t) - 1)]
        found.append(float(motion(best, order)[joint]))
    return found[0], found[1]


@pytest.mark.parametrize("seed", seeds(12, daily=2))
def test_no_peak_is_between_the_instants_that_are_looked_at(seed: int) -> None:
    """Limits a ten-millionth below a peak refuse the motion, and as much above it let it pass."""
    (arm,) = read_cell("axes2").arms
    rng = np.random.default_rng(seed)
    wide: dict[str, Any] = {"low": -1e6, "high": 1e6, "speed": 1e6}
    wide |= {"acceleration": 1e9, "jerk": 1e12}
    free = replace(arm, axes=tuple(replace(x, **wide) for x in arm.axes))
    times, q, u = drawn(arm, np.zeros(2), rng)
    knots = [(t, *q[k], *(() if u is None else u[k])) for k, t in enumerate(times)]
    motion = planned(free, knots, q[0])
    for order, name in enumerate(("high", "speed", "acceleration", "jerk")):
        for joint in (0, 1):
            ends = peaks(motion, order, joint)
            sides = {"low": ends[0], "high": ends[1]} if not order else {name: max(map(abs, ends))}
            for side, peak in sides.items():
                narrow, out = 1e-7 * max(abs(peak), 0.01), -1 if side == "low" else 1
                for limit, refused in ((peak - out * narrow, True), (peak + out * narrow, False)):
                    axes = list(free.axes)
                    moved: dict[str, Any] = {side: limit}
                    axes[joint] = replace(axes[joint], **moved)
                    told = pytest.raises(RefusedError) if refused else nullcontext()
                    with told:
                        planned(replace(free, axes=tuple(axes)), knots, q[0])


@pytest.fixture(scope="module")
def standing() -> Driver:
    return Driver("axes2")


REFUSED: dict[str, tuple[list[float], list[list[float]], list[list[float]] | None, str]] = {
    "range": ([0, 9, 18], [[0, 0], [2.2, 0], [2.9, 0]], [[0, 0], [1.5, 0], [0, 0]],
              r"shoulder of 'plane' would be at [34]\.\d+ rad at 1\d\.\d+ s, and goes from -2.96"),
    "speed": ([0, 2], [[0, 0], [0, -3.5]], None,
              "elbow of 'plane' would have 3.28125 rad/s at 1 s, and its largest speed is 3 rad/s; "
              "give it 1.094 times the time"),
    "acceleration": ([0, 0.5], [[0, 0], [0, 1.0]], None,
                     r"elbow of 'plane' would have 23\.\d+ rad/s\^2 at 0\.\d+ s, and its largest"),
    "point": ([0, 4], [[0, 0], [5.0, 0]], None, "to 2.96706 rad, not to 3.95.* at 4 s"),
    "rate": ([0, 1, 2], [[0, 0], [0, 0], [0, 0]], [[0, 0], [0, 3.5], [0, 0]],
             "elbow of 'plane' goes with 3 rad/s at most, not 3.5 at 1 s"),
    "jerk": ([5, 5.1], [[0, 0], [0.2, 0]], None,
             r"shoulder of 'plane' would have [\d.]+ rad/s\^3 at 5(\.1)? s, and its largest jerk"),
    "start": ([0, 1], [[1e-5, 0], [0, 0]], None, "shoulder of 'plane' stands at"),
    "times": ([0, 1, 1], [[0, 0]] * 3, None, "0 s, 1 s|1 s, 1 s"),
    "rest": ([0, 2], [[0, 0], [0.1, 0]], [[0, 0], [0.1, 0]], "0.1 rad/s at 2 s: .* ends at rest"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_an_arm_cannot_do_is_refused_in_words_and_nothing_moves(
    standing: Driver, case: str
) -> None:
    times, points, speeds, says = REFUSED[case]
    here = standing.target("plane")
    q = np.array(points) + (here if case != "range" else [0, here[1]])
    if case == "range":
        q[0] = here
    u = None if speeds is None else np.array(speeds)
    with pytest.raises(RefusedError, match=says) as refused:
        give(standing, "plane", (np.array(times), q, u))
    names = {"point": "range", "rate": "speed", "rest": "speed"}
    assert refused.value.name == names.get(case, case)
    standing.advance(20)
    np.testing.assert_array_equal(standing.target("plane"), here)
    assert (standing.state("plane", "moving"), standing.state("plane", "cut")) == (0, 0)


def test_points_are_counted_and_forgotten_with_the_next_command(standing: Driver) -> None:
    here = standing.target("plane")
    for t in (7.0, 8.0):  # of somebody who went away
        standing.ask("plane", "knot", [t, *here])
    with pytest.raises(RefusedError, match=f"2 to {POINTS} points, not 3 of 2"):
        standing.ask("plane", "trajectory", [3])
    with pytest.raises(RefusedError, match="points, not 2 of 0"):
        standing.ask("plane", "trajectory", [2])
    with pytest.raises(RefusedError, match="takes 3 numbers"):
        standing.ask("plane", "knot", [0.0, 1.0])
    standing.ask("plane", "knot", [0.0, *here])
    standing.ask("plane", "knot", [0.5, *here, 0.0, 0.0])
    with pytest.raises(RefusedError, match="at all points of a trajectory, or at none"):
        standing.ask("plane", "trajectory", [2])


def test_a_trajectory_is_taken_only_where_the_arm_stands(standing: Driver) -> None:
    here = standing.target("plane")
    away = (np.array([0.0, 1.0]), np.array([here, here + 0.1]), None)
    give(standing, "plane", away)
    for ticks in (0, 1, 1, 200):  # before it is taken, at that tick, and while it moves
        standing.cell.advance(ticks)
        with pytest.raises(RefusedError) as refused:
            give(standing, "plane", away)
        assert refused.value.name == "moving"
    standing.advance(600)
    np.testing.assert_allclose(standing.target("plane"), here + 0.1, atol=1e-12)
    standing.ask("plane", "joints", here)
    standing.advance(2000)


def test_a_hand_gives_trajectories_by_rows_and_by_joints() -> None:
    cell = Driver("axes2").cell
    cell.beat("plane", 7, 60.0)
    cell.advance(2)
    hand = NearCell(cell, "plane").hand
    here = np.array(cell.latest().values["plane.target"])
    first = hand.trajectory([0, 0.5, 1.2], [here, np.add(here, [0.05, -0.02]), here + 0.1])
    assert not first.done
    assert first.wait(10.0).done
    there = here + 0.1
    np.testing.assert_allclose(cell.latest().values["plane.target"], there, atol=1e-12)
    elbow = [there[1], there[1] - 0.05, there[1] - 0.1]
    hand.trajectory([3, 4, 5], {"elbow": elbow}, velocities={"elbow": [0, -0.07, 0]}).wait(10.0)
    end = cell.latest().values["plane.target"]
    np.testing.assert_allclose(end, [there[0], elbow[-1]], atol=1e-12)
    rows = [{"shoulder": there[0]}, {"shoulder": there[0] + 0.2}]
    moving = hand.trajectory([0, 2], rows)
    cell.advance(100)
    hand.stop().wait(10.0)
    assert (moving.taken, moving.done) == (True, False)
    with pytest.raises(StoppedError, match="stop"):
        moving.wait(10.0)
    for times, points, says in (
        ([0], [here], "2 to 33 times"),
        ([0, 1], [here], "one for each time"),
        ([0, 1], {"elbow": 1.0}, "one for each time"),
        ([0, 1], {"wrist": [0, 1]}, "no joint 'wrist'"),
        ([0, 1], {"elbow": [0, "far"]}, "not the numbers of elbow"),
        ([0, 1], 3.0, "as many numbers of the points"),
    ):
        with pytest.raises(InputError, match=says):
            hand.trajectory(times, points)  # type: ignore[arg-type]
    with pytest.raises(RefusedError, match="stands at"):
        hand.trajectory([0, 1], [there + 1.0, there])
    hand.wait(seconds=1.0)  # what was refused is not waited for


def test_an_arm_with_a_tool_follows_and_goes_on_from_there() -> None:
    driver = Driver("puma")
    arm = driver.cell.cell.arms[0]
    knots = begin(driver, arm, np.random.default_rng(4))
    driver.cell.advance(1)
    at = np.arange(0, knots[0][-1] * driver.cell.rate, 16)
    for expected in interpolated(knots, at / driver.cell.rate):
        np.testing.assert_allclose(driver.target("puma"), expected, atol=1e-9)
        driver.advance(16)
    driver.advance(20)
    assert driver.state("puma", "done") == driver.sent
    driver.ask("puma", "joints", knots[1][0])
    driver.advance(6000)
    assert CAUSES[int(driver.state("puma", "cause"))] == "none"
    np.testing.assert_allclose(driver.target("puma"), knots[1][0], atol=1e-12)


def test_a_point_with_speeds_comes_back_from_the_wire_as_it_was_sent() -> None:
    (face,) = VirtualCell(read_cell("axes2")).arms.values()
    record, values = command_record(face), (0.25, 1.0, 2.0, 3.0, 4.0)
    data = pack_command(face, record, Command("knot", 9, values), 5, 0)
    key, command = command_of(face, record.unpack(data), 9)
    assert (key, command.kind, command.values) == (5, "knot", values)


PREPARED = """
import sys
from linkwright.server.cell_file import read_cell
from linkwright.server.desk import Desk
from linkwright.server.timed import planned
desk = Desk(read_cell("axes2"))
for name in [n for n in sys.modules if n.split(".")[0] == "scipy"]:
    del sys.modules[name]  # other cells need it for their models: this one for trajectories alone
desk.prepare()
before = set(sys.modules)
arm = desk.arm("plane")
planned(arm, [(0.0, 0.0, 0.0), (1.0, 0.1, 0.1), (2.0, 0.0, 0.0)], (0.0, 0.0))
print(sorted(set(sys.modules) - before))
"""


@seldom(daily="test_a_trajectory_is_taken_only_where_the_arm_stands")
def test_no_client_waits_for_a_library_that_its_first_trajectory_needs() -> None:
    """A cell that is prepared loads nothing when a command comes: its answer would be late."""
    told = subprocess.run([sys.executable, "-c", PREPARED], capture_output=True, text=True)
    assert told.stdout == "[]\n", told.stdout + told.stderr
