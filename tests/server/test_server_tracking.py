"""Targets that change at any tick, and joint speeds: within limits, and back to legs of a chain."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from linkwright.server.cell_file import read_cell
from linkwright.server.face import Command
from linkwright.server.virtual import VirtualCell


@pytest.fixture
def cell() -> VirtualCell:
    found = VirtualCell(read_cell("axes2"))
    found.advance(5)
    found.beat("plane", 7, 600.0)
    found.command("plane", Command("enable", 1))
    found.advance(30)
    return found


def wanted(cell: VirtualCell, ticks: int) -> NDArray[np.float64]:
    """Go on, and return where the arm should have been at each tick."""
    rows = []
    for _ in range(ticks):
        cell.advance(1)
        rows.append(cell.latest().values["plane.target"].copy())
    return np.array(rows)


def test_a_target_takes_over_while_a_leg_moves_without_a_jump(cell: VirtualCell) -> None:
    arm = cell.cell.arms[0]
    cell.command("plane", Command("joints", 2, (0.5, 0.5)))
    way = [wanted(cell, 180)]
    cell.command("plane", Command("track", 3, (0.0, 0.2)))
    way.append(wanted(cell, 80))
    cell.command("plane", Command("track", 4, (0.2, 0.0)))
    way.append(wanted(cell, 900))
    values = cell.latest().values
    assert (values["plane.done"], values["plane.moving"], values["plane.dropped"]) == (4, 0, 0)
    np.testing.assert_allclose(values["plane.q"], (0.2, 0.0), atol=1e-4)
    speed = np.diff(np.concatenate(way), axis=0) * cell.rate
    bend = np.diff(speed, axis=0) * cell.rate
    for i, axis in enumerate(arm.axes):
        assert np.abs(speed[:, i]).max() <= axis.speed * (1 + 1e-6)
        assert np.abs(bend[:, i]).max() <= axis.acceleration * 1.05


def test_a_jog_stops_before_a_limit_and_a_leg_follows(cell: VirtualCell) -> None:
    high = cell.cell.arms[0].axes[0].high
    cell.command("plane", Command("jog", 2, (2.0, 0.0)))
    cell.advance(300)
    assert cell.latest().values["plane.u"][0] == pytest.approx(2.0, abs=1e-2)
    cell.advance(1500)
    values = cell.latest().values
    assert (values["plane.cause"], values["plane.moving"]) == (0, 0)
    assert high - 0.3 < values["plane.q"][0] < high
    cell.command("plane", Command("jog", 3, (-1.0, 0.0)))
    cell.advance(100)
    cell.command("plane", Command("home", 4))  # ends the jog, then goes
    cell.advance(3000)
    values = cell.latest().values
    assert values["plane.done"] == 4
    np.testing.assert_allclose(values["plane.q"], cell.cell.arms[0].start, atol=1e-4)


def test_a_stop_ends_tracking_and_forgets_the_target(cell: VirtualCell) -> None:
    cell.command("plane", Command("track", 2, (1.5, 1.0), speed=0.3))
    cell.advance(200)
    cell.command("plane", Command("stop", 3))
    cell.advance(300)
    stood = cell.latest().values
    assert (stood["plane.moving"], stood["plane.done"]) == (0, 3)
    assert stood["plane.q"][0] < 1.0
    cell.advance(500)
    np.testing.assert_allclose(cell.latest().values["plane.q"], stood["plane.q"], atol=1e-4)
