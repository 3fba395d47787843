"""The life of a laboratory in lockstep."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.lab.contacts import contacts
from linkwright.lab.lab import Lab
from linkwright.lab.plant import lab_mechanism
from linkwright.lab.sources import lab_config
from linkwright.lab.system import servo_rates


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
    return Lab("sl-arm")


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


def test_ratios_of_servos_are_whole_numbers(lab: Lab) -> None:
    """SL check 2."""
    for ratio in (0, -1, 2.5):
        ratios: dict[str, Any] = {"task": ratio}
        config = replace(lab.config, ratios=ratios)
        with pytest.raises(lw.InputError, match=f"task servo has a ratio of {ratio}.*whole number"):
            servo_rates(config)


def test_own_servos_run_at_their_ratio_and_vision_makes_only_the_ticks_finer() -> None:
    """SL checks 1 and 2."""
    config = replace(lab_config("sl-arm"), rate=1000.0, ratios={"task": 2, "eye": 5})
    rates = servo_rates(config)
    assert {name: int(rate) for name, rate in rates.items()} == {
        "motor": 1000,
        "task": 500,
        "eye": 200,
        "vision": 60,
    }


def test_objects_of_both_contact_models_are_touched() -> None:
    """SL check 64; unequal scales make a sphere an ellipsoid."""
    config = lab_config("sl-arm")
    robot = lab_mechanism(config)
    floor = config.objects[0]
    ball = replace(
        floor,
        name="ball",
        kind="sphere",
        scale=(0.2, 0.2, 0.4),
        contact_model=2,
        contact_parameters=(1e4, 50.0, 1e4, 0.8, 0.6),
    )
    made = list(contacts(replace(config, objects=(floor, ball)), robot))
    assert [type(contact.surface).__name__ for contact in made] == [
        "BoxSurface",
        "EllipsoidSurface",
    ]
    assert "viscous" in made[0].parameters
    assert "static" in made[1].parameters
    with pytest.raises(lw.InputError, match="contact model 3"):
        list(contacts(replace(config, objects=(replace(floor, contact_model=3),)), robot))
