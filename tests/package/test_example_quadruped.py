"""The example of the quadruped: it runs, and what it prints is what nature does."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import linkwright as lw
from tests.seeds import seldom

FILE = Path(__file__).parents[2] / "examples" / "quadruped.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("example_quadruped", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@seldom(daily="test_it_slides_as_far_as_coulomb_friction_lets_it")
def test_it_runs_and_lands_when_a_falling_body_does(
    example: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fall of 0.1 m takes sqrt(2 h / g); in the end the feet carry 12.4 kg."""
    monkeypatch.setattr(example, "RUNS", 40)
    example.main()
    told = capsys.readouterr().out
    touch = float(told.split("first foot touches at ")[1].split()[0])
    assert touch == pytest.approx((2 * 0.1 / 9.81) ** 0.5, abs=5e-4)
    last = next(line for line in told.splitlines() if line.strip().startswith("1.00"))
    assert float(last.split()[3]) == pytest.approx(12.4 * 9.81, abs=1)
    assert "40 landings" in told


def test_it_slides_as_far_as_coulomb_friction_lets_it(example: ModuleType) -> None:
    """On its feet, from v to rest, within a tenth of v^2 / (2 c g) and what the legs give way."""
    robot = lw.load(example.FILE, friction=False)
    system = example.standing(robot)
    height = example.lifted(robot, 0.0)
    speed, friction = np.array([0.8, 1.2, 1.6]), 0.15
    found = lw.simulate_batch(
        system,
        2.0,
        method="semi-implicit",
        initial={**example.STANCE, example.HEIGHT: height, robot.speeds[1]: speed},
        parameters={"contact.static": friction, "contact.dynamic": friction},
    )
    assert np.allclose(found["floating_base.y"], speed**2 / (2 * friction * 9.81), rtol=0.1)
