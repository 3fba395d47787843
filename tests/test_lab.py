"""The life of a laboratory in lockstep."""

from __future__ import annotations

import numpy as np
import pytest

import linkwright as lw
from linkwright.lab.lab import Lab


class Hold:
    """A task that stays where the robot stands."""

    def __init__(self) -> None:
        self.runs = 0

    def run(self, t: float, state: object, desired: object) -> None:
        """Count."""
        self.runs += 1


@pytest.fixture
def lab() -> Lab:
    """A laboratory of a shipped robot."""
    return Lab("puma560")


def test_a_task_runs_once_in_each_of_its_ticks_until_it_is_frozen(lab: Lab) -> None:
    """SL check 13."""
    task = Hold()
    lab.add(task, "hold")
    assert lab.start("hold")
    lab.run(1.0)
    assert task.runs == 480
    lab.freeze()
    lab.run(0.5)
    assert (task.runs, lab.task, lab.tick) == (480, None, 1440)


def test_a_task_is_refused_while_another_runs(lab: Lab) -> None:
    """SL check 11."""
    lab.add(Hold(), "hold")
    lab.start("hold")
    with pytest.raises(lw.Error, match="'hold' runs"):
        lab.start("hold")


def test_stop_disables_all_output(lab: Lab) -> None:
    """SL check 17."""
    lab.run(0.1)
    assert np.any(lab.state.tau != 0)
    lab.stop("a test")
    lab.run(0.1)
    assert not np.any(lab.state.tau)
