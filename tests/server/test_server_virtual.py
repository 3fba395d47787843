"""A cell in virtual time: its life, its commands, and everything that stops it, by ticks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from linkwright.server.cell import CAUSES
from linkwright.server.cell_file import read_cell
from linkwright.server.face import LIVES, Command, RefusedError
from linkwright.server.virtual import VirtualCell

ARM = """[[arm]]
name = "{}"
model = "pendulum"
control = {{kind = "computed-torque", kp = 400, kd = 40}}
[[arm.axis]]
joint = "phi"
low = -2
high = 2
speed = 3
acceleration = 10
constant = 4
current = 20
"""
TWO = 'format = 1\nname = "two"\nrate = 500\n' + ARM.format("plane") + ARM.format("other")
"""A cell of two linked arms, of one joint each."""


def _cell(name: str = "axes2") -> VirtualCell:
    cell = VirtualCell(read_cell(name))
    cell.advance(5)
    return cell


def _enabled(name: str = "axes2") -> VirtualCell:
    cell = _cell(name)
    for i, arm in enumerate(cell.arms):
        cell.beat(arm, 7 + i, 10.0)
        cell.command(arm, Command("enable", 1))
    cell.advance(30)
    return cell


def _of(cell: VirtualCell, arm: str, name: str) -> float:
    return float(cell.latest().values[f"{arm}.{name}"])


def _life(cell: VirtualCell, arm: str = "plane") -> str:
    return LIVES[int(_of(cell, arm, "life"))]


def _cause(cell: VirtualCell, arm: str = "plane") -> str:
    return CAUSES[int(_of(cell, arm, "cause"))]


def _live(cell: VirtualCell, ticks: int, arm: str = "plane", holder: int = 7) -> None:
    """Go on while the holder of the lease gives signs of life."""
    for _ in range(ticks // 10):
        cell.beat(arm, holder, 0.1)
        cell.advance(10)


def test_an_arm_goes_where_it_is_told_and_says_when_it_is_there() -> None:
    cell = _enabled()
    assert _life(cell) == "active"
    cell.command("plane", Command("joints", 2, (0.2, 0.5), speed=0.5))
    cell.advance(2)
    assert (_of(cell, "plane", "taken"), _of(cell, "plane", "done")) == (2, 1)
    _live(cell, 2000)
    assert (_of(cell, "plane", "done"), _of(cell, "plane", "moving")) == (2, 0)
    np.testing.assert_allclose(cell.latest().values["plane.q"], (0.2, 0.5), atol=1e-3)


def test_commands_of_one_tick_are_taken_in_order_and_none_is_lost() -> None:
    cell = _cell()
    cell.command("plane", Command("enable", 1))
    for k in range(2, 6):
        cell.command("plane", Command("joints", k, (0.1 * k, 0.2)))
    cell.advance(4000)
    assert _of(cell, "plane", "done") == 5
    np.testing.assert_allclose(cell.latest().values["plane.q"], (0.5, 0.2), atol=1e-3)


def test_a_holder_that_falls_silent_loses_the_lease_and_the_arm_brakes() -> None:
    cell = _enabled()
    cell.command("plane", Command("joints", 2, (1.5, 1.0), speed=0.5))
    cell.beat("plane", 7, 0.1)
    began = cell.tick
    while _cause(cell) == "none":
        cell.advance(1)
        assert cell.tick < began + 100
    assert cell.tick - began == 52  # 0.1 s of 500 Hz, and one beyond, after the tick of the beat
    assert _of(cell, "plane", "holder") == 0
    cell.advance(500)
    assert (_life(cell), _cause(cell), _of(cell, "plane", "moving")) == ("active", "silence", 0)
    stood = cell.latest().values["plane.q"]
    assert stood[0] < 1.0
    cell.advance(500)
    np.testing.assert_allclose(cell.latest().values["plane.q"], stood, atol=1e-4)


def test_halt_is_panic_of_all_arms_until_clear_and_enable() -> None:
    cell = _enabled(TWO)
    cell.halt("a test")
    cell.advance(3)
    for arm in ("plane", "other"):
        assert (_life(cell, arm), _cause(cell, arm)) == ("fault", "halt")
        assert not cell.latest().values[f"{arm}.current"].any()
    with pytest.raises(RefusedError, match="clear and enable") as refused:
        cell.command("plane", Command("joints", 2, (0.0,)))
    assert refused.value.name == "life"
    cell.command("plane", Command("enable", 2))
    cell.advance(10)
    assert _life(cell) == "fault"
    cell.put({"other_card.button": 1.0})  # cleared together, or not at all
    cell.command("plane", Command("clear", 3))
    cell.command("plane", Command("enable", 4))
    cell.advance(100)
    assert (_life(cell), _life(cell, "other")) == ("fault", "fault")
    cell.put({"other_card.button": 0.0})
    cell.advance(20)
    cell.command("plane", Command("clear", 5))
    cell.advance(30)
    assert (_life(cell), _life(cell, "other")) == ("inactive", "inactive")
    cell.command("plane", Command("enable", 6))
    cell.advance(30)
    assert (_life(cell), _cause(cell)) == ("active", "none")


def test_a_halt_just_after_clear_counts() -> None:
    cell = _enabled()
    cell.halt("a test")
    cell.advance(3)
    cell.command("plane", Command("clear", 2))
    cell.command("plane", Command("enable", 3))
    cell.advance(5)
    assert _life(cell) == "active"
    cell.halt("another")
    cell.advance(100)
    assert (_life(cell), _cause(cell)) == ("fault", "halt")


def test_the_same_commands_at_the_same_ticks_give_the_same_bits() -> None:
    def run() -> bytes:
        cell = _enabled(TWO)
        cell.command("plane", Command("joints", 2, (0.3,)))
        cell.command("other", Command("joints", 2, (-0.3,)))
        cell.advance(777)
        return cell.latest().data

    assert run() == run()


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (Command("jump", 2), "kind"),
        (Command("joints", 2, (0.0,)), "values"),
        (Command("joints", 2, (0.0, math.nan)), "non-finite"),
        (Command("joints", 2, (0.0, 9.0)), "range"),
        (Command("joints", 2, (0.0, 0.0), speed=2.0), "speed"),
        (Command("joints", 2, (0.0, 0.0), blend=-1.0), "blend"),
        (Command("joints", 2, (0.0, 0.0), frame="moon"), "frame"),
        (Command("joints", 2, (0.0, 0.0), expires=1), "expired"),
        (Command("set", 2, (1.0,), name="kq.1"), "name"),
    ],
)
def test_what_cannot_be_taken_is_refused_by_name_and_changes_nothing(
    command: Command, name: str, active_cell: VirtualCell
) -> None:
    before = len(active_cell.loop.tape())
    with pytest.raises(RefusedError) as refused:
        active_cell.command("plane", command)
    assert refused.value.name == name
    active_cell.advance(1)
    assert len(active_cell.loop.tape()) == before


@pytest.fixture(scope="module")
def active_cell() -> VirtualCell:
    return _enabled()
