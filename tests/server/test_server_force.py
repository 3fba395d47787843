"""Laws of force through a served cell: pressing, giving way, guards, and how contact ends."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from linkwright.base.errors import InputError
from linkwright.robots import Robot
from linkwright.server.cell import CAUSES
from linkwright.server.cell_file import read_cell
from linkwright.server.face import Command, RefusedError
from linkwright.server.hand import ArmHand
from linkwright.server.virtual import VirtualCell
from tests.seeds import seldom

WALL, STIFF, WRIST = 0.65, 2e4, 500.0
CONTROL = 'control = {kind = "axes", kp = [180, 42], kd = [18, 4.2], ahead = "dynamics"}'
HYBRID = """tool = "hand"
control = {kind = "hybrid", kp = 10000, kd = 200, gain = 0.2, wrist = "500 N/m", travel = 0.06}"""
TURN = math.sqrt(0.5)
SURFACE = f"""
[[surface]]
name = "wall"
pose = [{WALL}, 0, 0, {TURN}, 0, {-TURN}, 0]
stiffness = {STIFF}
"""


@cache
def text() -> str:
    """Return two axes with a hand on a springy wrist, before a wall whose normal is -x."""
    plain = read_cell("axes2").text
    head, _, rest = plain.partition("control =")
    _, _, rest = rest.partition("\n")
    return head + HYBRID + "\n" + rest + SURFACE


class Driver:
    """A cell in virtual time, and its one arm."""

    def __init__(self, source: str) -> None:
        self.cell = VirtualCell(read_cell(source))
        (self.arm,) = self.cell.arms
        self.sequence = 0
        self.advance(0.01)
        self.do("enable")
        self.advance(0.1)

    def do(self, kind: str, *values: float, name: str = "", speed: float = 0.3) -> int:
        self.sequence += 1
        self.cell.command(self.arm, Command(kind, self.sequence, values, name=name, speed=speed))
        return self.sequence

    def advance(self, seconds: float) -> None:
        for _ in range(max(1, round(seconds * 10))):
            self.cell.beat(self.arm, 7, 10.0)
            self.cell.advance(round(min(seconds, 0.1) * self.cell.rate))

    def go(self, x: float, y: float, speed: float = 0.2) -> int:
        """Move to joints with which the tool would be there."""
        robot = Robot(self.cell.cell.arms[0].mechanism)
        found = robot.inverse_kinematics([x, y, 0.0], "hand", self["q"].tolist())
        return self.do("joints", *found.q.tolist(), speed=speed)

    def __getitem__(self, name: str) -> np.ndarray:
        return np.array(self.cell.latest().values[f"{self.arm}.{name}"])

    @property
    def cause(self) -> str:
        return CAUSES[int(self["cause"])]


@pytest.fixture
def driver() -> Driver:
    return Driver(text())


def test_a_tool_goes_to_a_wall_and_presses_with_the_force_asked_for(driver: Driver) -> None:
    """The approach has its speed; the depth is that of wrist and wall in series."""
    start = driver["pose"]
    driver.do("press", 4.0, 0.0, 0.0)
    driver.advance(0.4)
    moved = driver["pose"][0] - start[0]
    assert moved == pytest.approx(0.4 * min(0.05, 0.2 * 4 / (WRIST * 0.028)), rel=0.25)
    assert driver["force"][0] == 0
    driver.advance(2.6)
    assert driver["force"] == pytest.approx([-4, 0, 0], abs=0.02)
    depth = 4.0 * (1 / WRIST + 1 / STIFF)
    assert driver["pose"][0] == pytest.approx(WALL + depth, abs=2e-4)
    assert driver["pose"][1] == pytest.approx(start[1], abs=5e-4)  # the other axis is held
    assert driver.cause == "none"
    # what the model makes of currents and motion is the same force, seen at the joints
    arm = driver.cell.cell.arms[0]
    robot = Robot(arm.mechanism.with_parameters(dict(arm.values)))
    jacobian = robot.jacobian(driver["q"], "hand")[:3]
    assert driver["external"] == pytest.approx(jacobian.T @ driver["force"], abs=0.05)


def test_a_force_settles_as_its_difference_equation_does(driver: Driver) -> None:
    """From contact on: one pole of the law beside that of its filter, in ticks of the cell."""
    driver.do("press", 4.0, 0.0, 0.0)
    driver.advance(3.0)
    driver.do("press", 2.0, 0.0, 0.0)
    seen = []
    for _ in range(60):
        driver.cell.advance(5)
        seen.append(-float(driver["force"][0]))
    h, a = 1 / 500, 0.8 ** (1 / 500 / 0.028)
    spring = 1 / (1 / WRIST + 1 / STIFF)
    felt = force = 4.0
    wanted = []
    for k in range(300):
        felt += (1 - a) * (force - felt)
        rate = 0.2 * (2.0 - felt) / (WRIST * 0.028)
        force += spring * h * max(-0.05, min(0.05, rate))
        if k % 5 == 4:
            wanted.append(force)
    assert np.abs(np.array(seen) - wanted).max() < 0.12  # the servo lags by 40 ms or so


def test_motions_go_on_beside_a_force_and_the_offset_is_taken_back(driver: Driver) -> None:
    begin = driver["target"]
    driver.do("press", 4.0, 0.0, 0.0)
    driver.advance(2.0)
    pressing = driver["q"]
    assert np.abs(pressing - begin).max() > 0.02
    assert driver["target"] == pytest.approx(begin, abs=1e-9)  # what was commanded
    goal = driver["pose"]
    last = driver.go(WALL - 0.03, goal[1] + 0.06)
    driver.advance(3.0)
    assert driver["done"] == last
    assert driver["force"][0] == pytest.approx(-4, abs=0.1)
    assert driver["pose"][1] == pytest.approx(goal[1] + 0.06, abs=2e-3)
    driver.do("press", 0.0, 0.0, 0.0)
    driver.advance(2.5)
    assert driver["force"][0] == 0
    assert driver["pose"][0] == pytest.approx(WALL - 0.03, abs=1e-3)
    assert driver["q"] == pytest.approx(driver["target"], abs=1e-3)


def test_an_axis_that_complies_yields_until_the_force_is_gone(driver: Driver) -> None:
    place = driver["pose"]
    driver.do("guard", 30.0)
    driver.go(WALL + 0.02, place[1])
    driver.advance(2.0)
    assert driver["force"][0] < -5
    driver.do("comply", 1.0, 0.0, 0.0)
    driver.advance(2.0)
    assert driver["force"][0] == pytest.approx(0.0, abs=0.05)
    assert driver["pose"][0] < WALL + 1e-3
    assert driver.cause == "none"


def test_a_guard_stops_where_the_tool_touches_and_lets_it_go_away(driver: Driver) -> None:
    place = driver["pose"]
    driver.do("guard", 3.0)
    driver.go(WALL + 0.03, place[1])
    driver.advance(2.5)
    assert driver.cause == "touch"
    assert driver["moving"] == 0
    assert driver["cut"] == driver.sequence
    assert CAUSES[int(driver["cut_cause"])] == "touch"
    assert 3.0 < -driver["force"][0] < 15.0
    driver.go(*place[:2])
    driver.advance(2.5)
    assert driver.cause == "none"
    assert driver["done"] == driver.sequence
    assert driver["force"][0] == 0


def test_pressing_into_the_air_ends_with_loss_and_so_does_contact_that_goes(
    driver: Driver,
) -> None:
    driver.do("press", 0.0, 4.0, 0.0)
    driver.advance(3.0)
    assert driver.cause == "loss"
    stood = driver["pose"]
    driver.advance(0.5)
    assert driver["pose"] == pytest.approx(stood, abs=1e-4)
    driver.do("press", 0.0, 0.0, 0.0)
    driver.advance(2.0)
    driver.do("press", 4.0, 0.0, 0.0)
    driver.advance(2.0)
    assert driver["force"][0] == pytest.approx(-4, abs=0.1)
    goal = driver["pose"]
    driver.go(WALL - 0.1, goal[1], speed=1.0)  # away from the wall, quickly
    driver.advance(0.3)
    assert driver.cause == "none"
    driver.advance(2.0)
    assert driver.cause == "loss"
    assert driver["force"][0] == 0


def test_a_client_sets_gains_within_what_is_stable(driver: Driver) -> None:
    driver.do("set", 0.6, name="gain.1")
    assert driver.cell.arms[driver.arm].parameters["gain.1"] == 0.6
    with pytest.raises(RefusedError, match=r"gain.1 of 'plane' is at least 0 and at most 1, not 2"):
        driver.do("set", 2.0, name="gain.1")
    driver.do("set", 0.0, name="gain.1")
    before = driver["pose"]
    driver.do("press", 4.0, 0.0, 0.0)
    driver.advance(0.5)
    assert driver["pose"][:3] == pytest.approx(before[:3], abs=1e-4)  # without a gain it stays


def test_forces_end_with_the_arm_and_are_refused_of_others(driver: Driver) -> None:
    driver.do("press", 4.0, 0.0, 0.0)
    driver.advance(2.0)
    driver.do("disable")
    driver.advance(0.5)
    with pytest.raises(RefusedError, match="enable it first"):
        driver.do("press", 4.0, 0.0, 0.0)
    driver.do("enable")
    driver.advance(1.0)
    stands = driver["pose"][0]
    driver.advance(0.5)
    assert driver["pose"][0] == pytest.approx(stands, abs=1e-3)  # it does not press on
    for values, words in (((1.0, 2.0), "takes 3 numbers"), ((1e9, 0.0, 0.0), "from -10000")):
        with pytest.raises(RefusedError, match=words):
            driver.do("press", *values)
    plain = VirtualCell(read_cell("axes2"))
    plain.advance(5)
    for kind, given in (("press", (1.0, 0.0, 0.0)), ("guard", (1.0,))):
        with pytest.raises(RefusedError, match="has no law of force"):
            plain.command("plane", Command(kind, 1, given))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('tool = "hand"\n', "", "'plane' has no tool, and nothing that forces act on"),
        ("gain = 0.2", "gain = 1.5", "1.5 cannot be a gain"),
        ("gain = 0.2", "gain = [0.1, 0.2]", "has 2 numbers for 3 axes"),
        ("gain = 0.2", "ki = 1", "'hybrid' has no ki; leave it away, or give kind = \"axes\""),
        ('wrist = "500 N/m"', 'wrist = "500 N"', "wrist"),
        ('kind = "hybrid"', 'kind = "pd"', "'pd' has no .*; .* kind = \"hybrid\""),
        (f"{TURN}, 0, {-TURN}, 0]", "2, 0, 0, 0]", "the quaternion has the length 2"),
        ("stiffness = 20000.0", "stiffness = -1", "stiffness"),
    ],
)
def test_files_that_cannot_be_meant_are_refused(old: str, new: str, words: str) -> None:
    assert old in text()
    with pytest.raises(InputError, match=words):
        read_cell(text().replace(old, new))


@seldom(daily="test_a_tool_goes_to_a_wall_and_presses_with_the_force_asked_for")
def test_the_cell_that_ships_presses_with_six_joints() -> None:
    """It keeps its orientation, and the place along x and y."""
    driver = Driver("press1")
    start = driver["pose"]
    driver.do("press", 0.0, 0.0, -5.0)
    driver.advance(3.0)
    assert driver["force"] == pytest.approx([0, 0, 5], abs=0.05)
    assert driver["pose"][2] == pytest.approx(0.6 - 5 * (1 / 500 + 1e-5), abs=1e-3)
    assert driver["pose"][:2] == pytest.approx(start[:2], abs=2e-3)
    assert abs(driver["pose"][3:] @ start[3:]) == pytest.approx(1.0, abs=1e-5)


def test_a_client_presses_over_the_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names and units of the verbs of `ArmHand`, as they go out."""
    asked: list[tuple[str, tuple[float, ...]]] = []
    hand = object.__new__(ArmHand)
    monkeypatch.setattr(
        type(hand), "ask", lambda self, kind, values=(), **more: asked.append((kind, values))
    )
    hand.press([0, 0, -5])
    hand.comply("xz")
    hand.guard("12 N")
    assert asked == [("press", (0, 0, -5)), ("comply", (1, 0, 1)), ("guard", (12,))]
    with pytest.raises(InputError, match="no axes 'w'"):
        hand.comply("w")
