"""What is told of commands is true: what was cut off is not done, whatever cut it off."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from linkwright.robots import Robot
from linkwright.server.cell import CAUSES
from linkwright.server.cell_file import read_cell
from linkwright.server.client import RemoteArm, TimedOutError
from linkwright.server.face import LIVES, Command
from linkwright.server.hand import ArmHand, StoppedError, _pose as numbers_of
from linkwright.server.messages import command_of, command_record, describe, described
from linkwright.server.virtual import VirtualCell
from linkwright.windows.records import Frame
from tests.seeds import cases, seeds
from tests.support.cells import puma_text

AXES = read_cell("axes2").text
FAR = (1.5, 1.0)


def _cell(**stops: object) -> VirtualCell:
    given = ", ".join(f"{k} = {v!r}".replace("'", '"') for k, v in stops.items())
    text = AXES.replace('model = "servo-arm"', f'model = "servo-arm"\nstop = {{{given}}}')
    cell = VirtualCell(read_cell(text))
    cell.advance(5)
    cell.beat("plane", 7, 60.0)
    cell.command("plane", Command("enable", 1))
    cell.advance(30)
    return cell


def _of(cell: VirtualCell, name: str, arm: str = "plane") -> int:
    return int(cell.latest().values[f"{arm}.{name}"])


def is_done(cell: VirtualCell, sequence: int, arm: str = "plane") -> bool:
    """Return whether a command was finished, by the state alone."""
    done, cut, after = (_of(cell, x, arm) for x in ("done", "cut", "cut_after"))
    return sequence <= done and not after < sequence <= cut


class NearCell:
    """A cell in virtual time as a client sees it, without a network: who waits lets time go on."""

    def __init__(self, running: VirtualCell, arm: str) -> None:
        self.running, self.arm, self.name = running, arm, "near"
        self.description = described(describe(running, (1,), ()))
        self.states = self
        self.client, self.age, self.closed = "test", 0.0, False
        face = self.description.arms[arm]
        self.hand = ArmHand(
            RemoteArm(cast("Any", self), face),
            silence=1.0, take=False, expiry=1e3, local=False, alive=None,
        )  # fmt: skip
        self.hand._key, self.hand.number = 1, 7
        self.hand._sequence = self.hand._last = _of(running, "taken", arm)

    @property
    def frame(self) -> Frame:
        return self.running.latest()

    def now(self) -> int:
        return self.running.now()

    def ask(self, what: str, data: bytes, *, again: bool = False) -> bytes:
        del what, again
        face = self.description.arms[self.arm]
        frame = command_record(face).unpack(data)
        self.running.command(self.arm, command_of(face, frame, frame.sequence)[1])
        return b""

    def wait(self, ready: Callable[[Frame], bool], seconds: float) -> bool:
        for _ in range(int(seconds * self.running.rate / 5) + 1):
            if ready(self.frame):
                return True
            self.running.advance(5)
        return ready(self.frame)


WAYS: dict[str, Callable[[VirtualCell], object]] = {
    "stop": lambda cell: cell.command("plane", Command("stop", 4)),
    "halt": lambda cell: cell.halt("a test"),
    "silence": lambda cell: cell.beat("plane", 7, 0.002),
    "button": lambda cell: cell.put({"plane_card.button": 1.0}),
    "limit": lambda cell: cell.put({"plane_plant.push[1]": 60.0}),
    "following": lambda cell: cell.put({"plane_plant.push[1]": 60.0}),
    "disable": lambda cell: cell.command("plane", Command("disable", 4)),
    "replaced": lambda cell: cell.command("plane", Command("track", 4, (0.1, 0.1))),
}


CUTS = list(itertools.product(WAYS, ["joints", "track"]))


@pytest.mark.parametrize(("way", "kind"), cases(CUTS, daily=[*CUTS[::4], *CUTS[3::4]]))
def test_a_motion_that_is_cut_off_is_not_done_and_says_why(way: str, kind: str) -> None:
    tell = {"following": "tell", "current": "tell", "stop": 0} if way == "limit" else {}
    cell = _cell(**tell)
    cell.command("plane", Command(kind, 2, FAR, speed=0.3))
    if kind == "joints" and way != "disable":
        cell.command("plane", Command("joints", 3, (0.0, 0.0)))
    cell.advance(100)
    done = _of(cell, "done")
    assert done == 1
    WAYS[way](cell)
    for _ in range(100):
        cell.advance(8)
        assert done <= _of(cell, "done") <= _of(cell, "taken")
        done = _of(cell, "done")
        assert not is_done(cell, 2)
    assert np.abs(cell.latest().values["plane.target"] - FAR).max() > 0.1
    assert _of(cell, "cut_after") == 1 < _of(cell, "cut") <= 3
    assert CAUSES[_of(cell, "cut_cause")] == way
    own = way in ("stop", "disable", "replaced")
    assert (done, is_done(cell, 4)) == ((4, True) if own else (1, False))
    assert not is_done(cell, 3) or kind == "track" or way == "disable"


REMEDIES = {
    **dict.fromkeys(("stop", "replaced"), "next command"),
    **dict.fromkeys(("halt", "button", "following"), "clear() and enable()"),
    "silence": "take it again",
    "limit": "enable() it",
    "disable": "enable() it",
}


@pytest.mark.parametrize("way", WAYS)
def test_who_waits_for_a_motion_that_is_cut_off_is_told_why_and_what_to_do(way: str) -> None:
    tell = {"following": "tell", "current": "tell", "stop": 0} if way == "limit" else {}
    cell = _cell(**tell)
    hand = NearCell(cell, "plane").hand
    first, second = hand.joints(FAR, speed=0.3), hand.set("kp.1", 400.0)
    cell.advance(100)
    assert (first.taken, first.done, second.taken) == (True, False, True)
    WAYS[way](cell)
    with pytest.raises(StoppedError) as cut:
        first.wait(10.0)
    assert (cut.value.cause, first.done) == (way, False)
    assert REMEDIES[way] in str(cut.value)
    assert _of(cell, "moving") == 0 or way in ("replaced", "limit", "silence")


def test_leaving_tells_what_was_cut_off_once_and_clearing_forgets_it() -> None:
    cell = _cell()
    hand = NearCell(cell, "plane").hand
    for clears in (False, True):
        hand.joints(FAR, speed=0.3)
        hand.set("kp.1", 400.0)
        cell.advance(100)
        cell.halt("a test")
        cell.advance(5)
        with pytest.raises(StoppedError, match=r"in fault: halt; see to the cause, clear\(\)"):
            hand.enable()
        assert LIVES[_of(cell, "life")] == "fault"
        if not clears:
            with pytest.raises(StoppedError, match="halt"):
                hand.wait()
        else:
            hand.clear()
        hand.wait()
        if not clears:
            hand.clear()
        hand.enable()
    hand.joints((0.2, 0.3)).wait(10.0)
    np.testing.assert_allclose(cell.latest().values["plane.target"], (0.2, 0.3), atol=1e-6)


def test_clear_says_soon_that_the_cause_lasts() -> None:
    cell = _cell()
    hand = NearCell(cell, "plane").hand
    cell.put({"plane_card.button": 1.0})
    cell.advance(10)
    began = cell.tick
    with pytest.raises(StoppedError, match=r"button; see to the cause, then clear\(\) again"):
        hand.clear()
    assert cell.tick - began < 0.5 * cell.rate
    cell.put({"plane_card.button": 0.0})
    hand.clear()
    hand.enable()


def test_a_motion_after_one_that_was_cut_off_is_done_alone() -> None:
    cell = _cell()
    cell.command("plane", Command("joints", 2, FAR, speed=0.3))
    cell.advance(100)
    cell.halt("a test")
    cell.advance(10)
    for sequence, kind in ((3, "clear"), (4, "enable")):
        cell.command("plane", Command(kind, sequence))
        cell.advance(40)
    cell.command("plane", Command("joints", 5, FAR))
    for _ in range(30):
        cell.advance(10)
        assert not is_done(cell, 2)
    cell.advance(2000)
    assert (is_done(cell, 2), is_done(cell, 5), _of(cell, "done")) == (False, True, 5)


def test_of_stops_at_one_tick_the_strictest_counts() -> None:
    cell = _cell(following="tell", current="tell", stop=0)
    cell.command("plane", Command("joints", 2, FAR, speed=0.3))
    cell.beat("plane", 7, 0.1)
    cell.advance(51)  # the tick after is the first of silence
    cell.command("plane", Command("stop", 3))
    cell.advance(1)
    assert _of(cell, "holder") == 0
    assert (LIVES[_of(cell, "life")], CAUSES[_of(cell, "cause")]) == ("fault", "stop")


@pytest.mark.parametrize("seed", seeds(3, daily=1))
def test_whatever_comes_done_rises_and_what_is_done_was_reached(seed: int) -> None:
    chance, cell = random.Random(seed), _cell()
    goals: dict[int, tuple[float, ...]] = {}
    sequence, done = 1, 1
    for _ in range(40):
        choice = chance.choice(["joints"] * 5 + ["track", "track", "jog", "stop", "set", "halt"])
        if LIVES[_of(cell, "life")] == "fault":
            for kind in ("clear", "enable"):
                sequence += 1
                cell.command("plane", Command(kind, sequence))
                cell.advance(30)
        if choice == "halt":
            cell.halt("a test")
        elif _of(cell, "taken") == sequence or choice == "stop":
            sequence += 1
            values: tuple[float, ...] = ()
            if choice in ("joints", "track"):
                values = (round(chance.uniform(-1, 1), 3), round(chance.uniform(0.1, 1), 3))
                goals[sequence] = values
            elif choice == "jog":
                values = (chance.uniform(-0.2, 0.2), 0.1)
            name = "kp.1" if choice == "set" else ""
            values = (400.0,) if choice == "set" else values
            cell.command("plane", Command(choice, sequence, values, name=name))
        for _ in range(chance.choice([1, 3, 20, 400])):
            cell.advance(1)
            before, done = done, _of(cell, "done")
            assert before <= done <= _of(cell, "taken")
            newly = [s for s in goals if before < s <= done and is_done(cell, s)]
            if newly:  # goals of one chain are finished one a tick
                target = cell.latest().values["plane.target"]
                np.testing.assert_allclose(target, goals[max(newly)], atol=2e-3)
                assert len(newly) == 1


@pytest.fixture(scope="module")
def puma() -> VirtualCell:
    cell = VirtualCell(read_cell(puma_text()), sensing=False)
    cell.advance(5)
    cell.beat("puma", 7, 600.0)
    cell.command("puma", Command("enable", 1))
    cell.command("puma", Command("joints", 2, (2.7, 0.8, -3.0, 0.1, 0.9, 0.1)))
    cell.advance(4000)
    assert cell.latest().values["puma.done"] == 2
    return cell


def _pose(cell: VirtualCell, angle: float) -> tuple[float, ...]:
    """Return where the tool is, turned further about the vertical axis of the base."""
    robot = Robot(read_cell("cell1").arms[0].mechanism)
    here = np.asarray(robot.pose(cell.latest().values["puma.q"], "tool")).reshape(4, 4)
    c, s = math.cos(angle), math.sin(angle)
    here = np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]) @ here
    return numbers_of(here)


@pytest.mark.parametrize("what", ["limits", "reach"])
def test_a_pose_that_cannot_be_reached_stops_the_arm_with_a_cause(
    puma: VirtualCell, what: str
) -> None:
    """In a frame that is sensed: where it will be nobody knows before the arm begins."""
    sequence = _of(puma, "taken", "puma") + 1
    goal = _pose(puma, 0.4) if what == "limits" else (5.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
    puma.command("puma", Command("pose", sequence, goal, frame="conveyor"))
    for _ in range(200):
        puma.place_frame("conveyor", (0.0,) * 3 + (1.0, 0.0, 0.0, 0.0), (0.0,) * 6, puma.now())
        puma.advance(20)
        if _of(puma, "cut", "puma") == sequence and not _of(puma, "moving", "puma"):
            break
    assert CAUSES[_of(puma, "cut_cause", "puma")] == "reach"
    assert CAUSES[_of(puma, "cause", "puma")] == "reach"
    assert not is_done(puma, sequence, "puma")
    assert LIVES[_of(puma, "life", "puma")] == "active"
    puma.advance(200)
    back = (2.6, 0.8, -3.0, 0.1, 0.9, 0.1)
    puma.command("puma", Command("joints", sequence + 1, back))
    puma.advance(6000)
    assert is_done(puma, sequence + 1, "puma")
    assert CAUSES[_of(puma, "cause", "puma")] == "none"
    np.testing.assert_allclose(puma.latest().values["puma.target"], back, atol=1e-6)


def test_who_waits_for_a_leg_in_a_frame_that_is_not_seen_waits_until_it_is(
    puma: VirtualCell,
) -> None:
    """The leg stands and goes on: nobody is told that it has stopped."""
    hand = NearCell(puma, "puma").hand
    asked = hand.pose(_pose(puma, -0.1), frame="conveyor")
    with pytest.raises(TimedOutError, match=r"has not finished pose \d+ in 1 s .*cause frame"):
        asked.wait(1.0)
    assert not asked.done
    for _ in range(300):
        puma.place_frame("conveyor", (0.0,) * 3 + (1.0, 0.0, 0.0, 0.0), (0.0,) * 6, puma.now())
        puma.advance(20)
        if asked.done:
            break
    assert asked.wait(0.0).done
