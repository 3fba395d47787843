"""What stops an arm, in virtual time: causes, categories and the report's codes, by ticks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from linkwright.control.axis import AxisError
from linkwright.formats.robot.transforms import rotation_quaternion
from linkwright.robots import Robot
from linkwright.server.cell import CAUSES
from linkwright.server.cell_file import read_cell
from linkwright.server.face import LIVES, Command, RefusedError
from linkwright.server.recorded import control_session
from linkwright.server.verbs import number_of
from linkwright.server.virtual import VirtualCell
from tests.seeds import seldom
from tests.support.cells import puma_text

AXES = read_cell("axes2").text


def _cell(**stops: object) -> VirtualCell:
    """Return an arm that is enabled, with some categories of stops."""
    given = ", ".join(f"{k} = {v!r}".replace("'", '"') for k, v in stops.items())
    text = AXES.replace('model = "servo-arm"', f'model = "servo-arm"\nstop = {{{given}}}')
    cell = VirtualCell(read_cell(text))
    cell.advance(5)
    cell.beat("plane", 7, 60.0)
    cell.command("plane", Command("enable", 1))
    cell.advance(30)
    assert _life(cell) == "active"
    return cell


def _of(cell: VirtualCell, name: str) -> float:
    return float(cell.latest().values[f"plane.{name}"])


def _life(cell: VirtualCell) -> str:
    return LIVES[int(_of(cell, "life"))]


def _cause(cell: VirtualCell) -> str:
    return CAUSES[int(_of(cell, "cause"))]


def _push(cell: VirtualCell, torque: float) -> None:
    """Push at the forearm."""
    cell.put({"plane_plant.push[1]": torque})


def test_a_following_error_is_panic_with_its_code() -> None:
    """Check 16."""
    cell = _cell()
    _push(cell, 60.0)
    cell.advance(200)
    assert (_life(cell), _cause(cell)) == ("fault", "following")
    assert int(_of(cell, "error")) == AxisError.FOLLOW + 1
    assert not cell.latest().values["plane.current"].any()


def test_with_tell_an_error_is_only_told() -> None:
    """Check 15: SOFTERR suppresses the stop."""
    cell = _cell(following="tell", current="tell", stop=0)
    _push(cell, 60.0)
    while _cause(cell) == "none":
        cell.advance(1)
        assert cell.tick < 500
    assert (_life(cell), _cause(cell)) == ("active", "following")
    assert int(_of(cell, "error")) == AxisError.FOLLOW + 1


def test_sustained_overcurrent_trips_after_its_samples_and_one() -> None:
    """Check 13: the count is that of the axis, in ticks."""
    cell = _cell(following="tell", limit="tell")
    _push(cell, 45.0)  # more than 20 A can hold
    while abs(cell.latest().values["plane.current"][1]) < 20.0:
        cell.advance(1)
    began = cell.tick
    while _cause(cell) != "current":
        cell.advance(1)
        assert cell.tick < began + 1000
    assert cell.tick - began == round(0.2 * cell.rate)
    assert (_life(cell), int(_of(cell, "error"))) == ("fault", AxisError.ILIM + 1)


def test_a_limit_brakes_and_then_removes_power() -> None:
    """Check 14: once a crossing, with the code of its side; category 1 of IEC 60204-1."""
    cell = _cell(following="tell", current="tell", stop=0)
    _push(cell, 45.0)
    while _cause(cell) in ("none", "following", "current"):
        cell.advance(1)
        assert cell.tick < 5000
    assert (_cause(cell), int(_of(cell, "error"))) == ("limit", AxisError.PHI + 1)
    assert AxisError.PHI & AxisError.POSERR
    cell.advance(50)
    assert _life(cell) == "inactive"


def test_a_value_that_is_not_finite_is_panic() -> None:
    cell = read_cell("axes2")
    session = control_session(cell, 0)
    own = "plane_supervisor"

    def go(ticks: int, **inputs: float) -> dict[str, float]:
        for k in range(ticks):
            values = {f"{own}.device": float(session.tick + k + 2)}
            session.set({**values, **{f"{own}.{n}": x for n, x in inputs.items()}})
            session.extend(session.tick + 1)
            session.advance()
        return dict(session.place().d)

    go(3)
    enable = {"slot_kind[0]": float(number_of("enable")), "head": 1.0}
    assert go(2, **enable)[f"{own}.life"] == LIVES.index("active")
    found = go(2, **{"q[1]": math.nan})
    assert found[f"{own}.life"] == LIVES.index("fault")
    assert found[f"{own}.cause"] == CAUSES.index("value")
    assert not any(found[f"plane_drives.current[{i}]"] for i in range(2))


def test_a_client_may_stop_its_arm_along_its_path() -> None:
    """Category 2: it brakes, holds, and takes the next motion; what waited is thrown away."""
    cell = _cell()
    cell.command("plane", Command("joints", 2, (1.5, 1.0), speed=0.5))
    cell.command("plane", Command("joints", 3, (0.0, 0.0)))
    cell.advance(150)
    cell.command("plane", Command("stop", 4))
    cell.advance(400)
    assert (_life(cell), _cause(cell), _of(cell, "moving")) == ("active", "stop", 0)
    assert (_of(cell, "taken"), _of(cell, "done")) == (4, 4)
    start = np.array(read_cell("axes2").arms[0].start)
    way = np.array((1.5, 1.0)) - start
    share = (cell.latest().values["plane.q"] - start) / way
    assert 0.05 < share[0] < 0.95
    assert abs(share[0] - share[1]) < 2e-3  # on the path
    cell.command("plane", Command("joints", 5, (0.0, 0.0)))
    cell.advance(2000)
    assert (_of(cell, "done"), _cause(cell)) == (5, "none")


@pytest.mark.parametrize("commands", [("joints",), ("enable", "joints"), ("track",), ("home",)])
def test_a_motion_that_comes_while_the_arm_brakes_follows_the_stop(
    commands: tuple[str, ...],
) -> None:
    cell = _cell()
    cell.command("plane", Command("joints", 2, (1.5, 1.0), speed=0.5))
    cell.advance(150)
    cell.command("plane", Command("stop", 3))
    cell.advance(3)
    assert _of(cell, "moving") == 1
    for k, kind in enumerate(commands):
        values = (0.2, 0.1) if kind in ("joints", "track") else ()
        cell.command("plane", Command(kind, 4 + k, values))
    cell.advance(2500)
    last = 3 + len(commands)
    assert (_of(cell, "taken"), _of(cell, "done"), _cause(cell)) == (last, last, "none")
    assert (_of(cell, "cut"), CAUSES[int(_of(cell, "cut_cause"))]) == (2, "stop")
    goal = read_cell("axes2").arms[0].start if commands == ("home",) else (0.2, 0.1)
    assert np.allclose(cell.latest().values["plane.q"], goal, atol=1e-3)


def test_a_motion_is_refused_at_once_while_the_arm_brakes_to_be_switched_off() -> None:
    cell = _cell()
    cell.command("plane", Command("joints", 2, (1.5, 1.0), speed=0.5))
    cell.advance(150)
    cell.command("plane", Command("disable", 3))
    cell.advance(3)
    with pytest.raises(RefusedError, match="brakes, and is switched off then"):
        cell.command("plane", Command("joints", 4, (0.0, 0.0)))
    cell.advance(1000)
    assert (_life(cell), _of(cell, "taken")) == ("inactive", 3)


def test_no_motion_is_cut_off_without_a_cause() -> None:
    """Motions that are in the ring already when the arm is switched off."""
    cell = _cell()
    cell.command("plane", Command("disable", 2))
    cell.command("plane", Command("joints", 3, (0.0, 0.0)))
    cell.advance(20)
    assert (_of(cell, "cut"), CAUSES[int(_of(cell, "cut_cause"))]) == (3, "disable")


@seldom(daily="test_a_limit_brakes_and_then_removes_power")
def test_a_stop_of_category_1_removes_power_when_the_arm_stands() -> None:
    cell = _cell(stop=1)
    cell.command("plane", Command("joints", 2, (1.5, 1.0), speed=0.5))
    cell.advance(150)
    cell.command("plane", Command("stop", 3))
    cell.advance(2)
    assert _life(cell) == "active"
    cell.advance(400)
    assert (_life(cell), _cause(cell)) == ("inactive", "stop")
    assert not cell.latest().values["plane.current"].any()


@pytest.fixture(scope="module")
def puma() -> VirtualCell:
    cell = VirtualCell(read_cell(puma_text()), sensing=False)
    cell.advance(5)
    cell.beat("puma", 7, 600.0)
    cell.command("puma", Command("enable", 1))
    cell.command("puma", Command("joints", 2, (0.1, 0.8, -3.0, 0.1, 0.9, 0.1)))
    cell.advance(3000)
    assert cell.latest().values["puma.done"] == 2
    return cell


def test_legs_in_a_frame_that_is_not_seen_stand_until_it_is_seen_again(puma: VirtualCell) -> None:
    """A sensor that falls silent: by the frame's age, in ticks; a restarted one is taken up."""
    robot = Robot(read_cell("cell1").arms[0].mechanism)
    here = np.asarray(robot.pose(puma.latest().values["puma.q"], "tool")).reshape(4, 4)
    turn = here[:3, :3]
    w = math.sqrt(1 + np.trace(turn)) / 2
    axis = [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]
    place = tuple(float(x) for x in here[:3, 3])
    goal = (0.0, 0.1, 0.05, w, *(float(x) / (4 * w) for x in axis))

    def look(ticks: int) -> None:
        for _ in range(ticks // 20):
            puma.place_frame("conveyor", (*place, 1.0, 0.0, 0.0, 0.0), (0.0,) * 6, puma.now())
            puma.advance(20)

    look(20)
    puma.command("puma", Command("pose", 3, goal, frame="conveyor", speed=0.2))
    look(200)
    assert puma.latest().values["puma.moving"] == 1
    while puma.latest().values["puma.cause"] == 0:
        puma.advance(1)
    assert puma.latest().values["frame.conveyor.age"] == pytest.approx(0.202, abs=1.5e-3)
    assert CAUSES[int(puma.latest().values["puma.cause"])] == "frame"
    puma.advance(1000)
    values = puma.latest().values
    assert (values["puma.moving"], values["puma.done"]) == (0, 2)
    assert np.abs(values["puma.u"]).max() < 1e-4
    look(4000)
    values = puma.latest().values
    assert (values["puma.done"], values["puma.cause"]) == (3, 0)
    reached = np.asarray(robot.pose(values["puma.q"], "tool")).reshape(4, 4)[:3, 3]
    np.testing.assert_allclose(reached - place, goal[:3], atol=1e-5)


def test_a_cartesian_set_point_reaches_the_current_in_four_ticks(puma: VirtualCell) -> None:
    """Check 56: 4 of the 5 ms, whatever the arm did before; the network may take the rest.

    `bench server` has the time from a client to the currents of a live device, with its jitter.
    """
    robot = Robot(read_cell("cell1").arms[0].mechanism)
    here = np.asarray(robot.pose(puma.latest().values["puma.q"], "tool")).reshape(4, 4)
    turn = here[:3, :3]
    quaternion = rotation_quaternion(
        (_row(turn[0]), _row(turn[1]), _row(turn[2])),
    )
    sequence = int(puma.latest().values["puma.taken"])
    took = []
    for up in (0.05, -0.05, 0.03, -0.03):
        place = (float(here[0, 3]), float(here[1, 3]), float(here[2, 3]) + up)
        before = puma.latest().values["puma.current"]
        puma.command("puma", Command("pose", sequence + 1, (*place, *quaternion)))
        ticks = 0
        while np.abs(puma.latest().values["puma.current"] - before).max() < 1e-3:
            puma.advance(1)
            ticks += 1
            assert ticks <= 5
        took.append(ticks)
        puma.command("puma", Command("stop", sequence + 2))
        puma.advance(1000)
        sequence += 2
    assert took == [4, 4, 4, 4]


def _row(values: np.ndarray) -> tuple[float, float, float]:
    return float(values[0]), float(values[1]), float(values[2])


def test_an_arm_that_stands_after_a_stop_takes_the_next_motion() -> None:
    """It is told to move as long as it brakes, so that whoever waits for that is not refused."""
    cell = _cell()
    sequence = 1
    for ticks in (40, 41, 90, 200):
        sequence += 3
        goal = (0.6, -0.5) if ticks % 2 else (-0.6, 0.5)
        cell.command("plane", Command("joints", sequence, goal))
        cell.advance(ticks)
        cell.command("plane", Command("stop", sequence + 1))
        cell.advance(1)
        while _of(cell, "moving"):
            cell.advance(1)
            assert cell.tick < 5000
        cell.command("plane", Command("joints", sequence + 2, (0.0, 0.0)))
        cell.advance(2)
        assert (_of(cell, "dropped"), _of(cell, "taken")) == (0, sequence + 2)
