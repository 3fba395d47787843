"""Ways between poses: a five-bar linkage changes its working mode, and not its assembly."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.parallel import connect_poses, singularity
from linkwright.parallel.machine_rates import machine_rates
from tests.support.closed_loop_machines import five_bar

Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def machine() -> lw.Mechanism:
    return five_bar()


def flipped(machine: lw.Mechanism) -> tuple[Array, Array, Array]:
    """Return a pose, the same place with its left elbow on the other side, and the other assembly.

    By plane trigonometry: the elbow is mirrored in the line from shoulder to tip, and the tip in
    the line from elbow to elbow. Coordinates: left, left_rod, right, right_rod.
    """
    rates = machine_rates(machine)
    assert rates.names == ("left", "left_rod", "right", "right_rod")
    q = rates.coordinates(None)
    tip = rates.at(q).position[:2]
    aim = np.arctan2(tip[1], tip[0] + 0.2)
    left, rod = 2 * aim - q[0], 2 * aim - q[0] - q[1]
    working = np.array([left, rod - left, q[2], q[3]])
    elbows = [np.array([x, 0]) + 0.5 * np.array([np.cos(a), np.sin(a)]) for x, a in
              ((-0.2, q[0]), (0.2, q[2]))]  # fmt: skip
    line = np.arctan2(*(elbows[1] - elbows[0])[::-1])
    rods = [2 * line - q[0] - q[1], 2 * line - q[2] - q[3]]
    return q, working, np.array([q[0], rods[0] - q[0], q[2], rods[1] - q[2]])


def test_working_modes_are_joined_and_assemblies_are_not(machine: lw.Mechanism) -> None:
    """The two rods are in line at type 2, an arm and its rod at type 1 (of the place)."""
    q, working, other = flipped(machine)
    found = connect_poses(machine, q, working, output="position", step=0.4)
    assert found.joined
    assert "on this grid of 0.4 rad" in found.words
    angles = found.way[:, 0] + found.way[:, 1] - found.way[:, 2] - found.way[:, 3]
    assert len(set(np.sign(np.sin(angles)))) == 1  # the rods are never in line
    assert len(set(np.sign(np.sin(found.way[:, 1])))) == 2  # the left elbow changes its side
    apart = connect_poses(machine, q, other, output="position", step=0.4)
    assert apart.joined is False
    assert apart.words.startswith("not joined on this grid")
    assert "a grid is not a proof" in apart.words


def test_a_working_mode_is_left_only_through_type_1(machine: lw.Mechanism) -> None:
    q, working, _ = flipped(machine)
    assert connect_poses(machine, q, working, "type 1", output="position", step=0.4).joined is False
    given_up = connect_poses(machine, q, working, "type 1", output="position", max_nodes=20)
    assert given_up.joined is None
    assert given_up.words.startswith("open: given up after")


def test_what_is_no_question_is_refused(machine: lw.Mechanism) -> None:
    q, working, _ = flipped(machine)
    with pytest.raises(lw.Error, match="not 'type 4'"):
        connect_poses(machine, q, working, "type 4")
    with pytest.raises(lw.Error, match="the step is 0 rad"):
        connect_poses(machine, q, working, step=0)
    assert not singularity(machine, q, output="position").singular
