"""The load of a joint over a task, and what is refused as such."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from linkwright.base.errors import InputError
from linkwright.sizing.cycle import JointCycle


def test_power_goes_into_the_arm_and_nobody_writes_to_the_samples() -> None:
    cycle = JointCycle("j", "revolute", [1, 2], [0, 1], [1, -1], [0, 0], [3, 4])
    assert cycle.duration == 1.0
    assert list(cycle.power) == [3.0, -4.0]
    with pytest.raises(ValueError, match="read-only"):
        cycle.torque[0] = 9.0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"kind": "ball"}, "kind 'ball'"),
        ({"times": [0, 0]}, "do not rise"),
        (
            {"times": [0], "position": [0], "speed": [0], "acceleration": [0], "torque": [0]},
            "fewer",
        ),
        ({"torque": [1, 2, 3]}, "torque of joint 'j' has shape"),
        ({"torque": [1, np.nan]}, "not finite"),
        ({"force": [[1, 2, 3]]}, "force of joint 'j' has shape"),
    ],
)
def test_a_load_that_does_not_fit_together_is_refused(changes: dict[str, Any], said: str) -> None:
    good: dict[str, Any] = {
        "name": "j",
        "kind": "revolute",
        "times": [0, 1],
        "position": [0, 0],
        "speed": [0, 0],
        "acceleration": [0, 0],
        "torque": [0, 0],
    }
    with pytest.raises(InputError, match=rf"{said}.*\[R301\]"):
        JointCycle(**{**good, **changes})
