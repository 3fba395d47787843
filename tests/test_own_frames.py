"""Every frame by every door: a link of a machine of one's own is where Pinocchio has it.

The machines are random arms with turned joint frames, skew axes, slides, a flange and a massless
tool on fixed joints, and names that differ only in `-` and `_` (`tests.own_machines`).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from tests.own_machines import Oracle, random_arm, save
from tests.seeds import seeds


@pytest.mark.parametrize("seed", seeds(3))
def test_robot(seed: int, tmp_path: Path) -> None:
    text = random_arm(seed)
    robot, oracle = lw.Robot(save(tmp_path, text)), Oracle(text)
    q, u, a = np.random.default_rng(seed).normal(size=(3, 4))
    for frame in robot.frames:
        assert robot.pose(q, frame) == pytest.approx(oracle.pose(q, frame), abs=1e-13)
    assert robot.inverse_dynamics(q, u, a) == pytest.approx(oracle.torques(q, u, a), abs=1e-12)
