"""Dimensions of machines by optimization."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from linkwright.base.errors import DomainError, InputError
from linkwright.cli import main
from linkwright.mechanism import Mechanism
from linkwright.parallel.design_files import read_design
from linkwright.parallel.machine_design import DesignLimit, _Problem, design
from tests.seeds import cases

EXAMPLE = Path(__file__).parents[2] / "examples" / "mounts" / "prismatic.toml"


def _five_bar() -> Mechanism:
    """Return two cranks and two rods in a vertical plane, with a weight in the tool."""
    m = Mechanism("five")
    left = m.body("left", rotate="z", mass=1, com=("a/2", 0, 0), inertia=(0, 0, 0.01))
    right = m.body("right", at=("d", 0, 0), rotate="z", mass=1, com=("a/2", 0, 0))
    rod = m.body("rod", parent=left, at=("a", 0, 0), rotate="z", mass=2, com=("b", 0, 0))
    tool = m.point("tool", rod, ("b", 0, 0))
    m.constrain_distance(tool, m.point("elbow", right, ("a", 0, 0)), "b")
    m.gravity(along="-y")
    m.actuate("left", "right")
    m.set_platform("tool")
    m.defaults(a=0.5, b=0.8, d=0.6)
    m.set_initial({"left": 2.0, "right": 1.0, "rod": -1.0})
    return m


PLACES = np.array([[x, y, 0.0] for x in (0.1, 0.3, 0.5) for y in (0.7, 0.8, 0.9)])
RANGES = {"a": (0.4, 0.6), "b": (0.7, 0.95), "d": (0.3, 0.8)}


def _problem(largest: bool, quantity: str) -> _Problem:
    limits = [DesignLimit("effort", most=30.0)]
    goal = DesignLimit(quantity)
    return _Problem(_five_bar(), RANGES, {"position": PLACES}, goal, largest, limits, None)


@pytest.mark.parametrize("quantity", ["effort", "condition"])
def test_slopes_of_smooth_worst_cases_are_exact(quantity: str) -> None:
    problem = _problem(False, quantity)
    x = problem.first + np.array([0.01, 0.02, -0.03])
    _, slopes = problem.objective(x)
    _, margins = problem.margin(0, x)
    for k in range(3):
        h = 1e-6 * np.eye(3)[k]
        up, down = problem.objective(x + h)[0], problem.objective(x - h)[0]
        assert slopes[k] == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-7)
        up, down = problem.margin(0, x + h)[0], problem.margin(0, x - h)[0]
        assert margins[k] == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-7)
    smooth = problem.objective(x)[0] * problem._scale[quantity]
    assert smooth >= problem.true_worst(x)[quantity]


@pytest.mark.parametrize(
    ("method", "above"),
    cases([("SLSQP", 0.02), ("trust-constr", 0.15), ("differential evolution", 0.002)], daily=2),
)
def test_a_design_is_no_worse_than_any_of_a_grid(method: str, above: float) -> None:
    """The greatest effort of what is found, against 5 x 5 x 5 designs tried one by one.

    Those that only go downhill may stop in a valley a little above the deepest one.
    """
    found = design(
        _five_bar(), RANGES, {"position": PLACES}, least="effort", method=method, turns=40
    )
    problem = _problem(False, "effort")
    tried = []
    for a in np.linspace(*RANGES["a"], 5):
        for b in np.linspace(*RANGES["b"], 5):
            for d in np.linspace(*RANGES["d"], 5):
                x = np.array([a, b, d])
                if problem._evaluated(x)[2].max() == 0.0:
                    tried.append(problem.true_worst(x)["effort"])
    assert found.met
    assert found.after < found.before
    assert found.after <= min(tried) * (1 + above)


def test_limits_are_kept_or_told() -> None:
    kept = design(
        _five_bar(),
        RANGES,
        {"position": PLACES},
        least="condition",
        limits=[DesignLimit("effort", most=12.0)],
    )
    assert kept.met
    assert kept.worst["effort"] <= 12.0 * (1 + 1e-6)
    missed = design(
        _five_bar(),
        {"d": (0.5, 0.6)},
        {"position": PLACES},
        least="condition",
        limits=[DesignLimit("effort", most=0.1)],
    )
    assert not missed.met
    assert "misses its limit" in missed.words


def test_what_cannot_be_designed_is_refused_in_words() -> None:
    m = _five_bar()
    with pytest.raises(InputError, match="one goal"):
        design(m, RANGES, {"position": PLACES})
    with pytest.raises(InputError, match="charts know no quantity 'efort'"):
        design(m, RANGES, {"position": PLACES}, least="efort")
    with pytest.raises(InputError, match="no parameter 'aa'"):
        design(m, {"aa": (0, 1)}, {"position": PLACES}, least="effort")
    with pytest.raises(DomainError, match="does not reach pose 1"):
        design(m, RANGES, {"position": [[3.0, 0, 0], [0.3, 0.8, 0]]}, least="effort")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[goal]\nleast = "effort"\nlargest = "x"\n[variables]\nh = [0, 1]', "one goal"),
        ('[goal]\nleast = "effort"\n[variables]\nhh = [0, 1]', "4:1"),
        ('[goal]\nleast = "effort"\n[variables]\nh = ["1 kg", 1]', "kg"),
        ('[goal]\nleast = "effort"\n[variables]\nh = [1, 0]', "not a range"),
        ('[gaol]\nleast = "effort"', "did you mean 'goal'"),
    ],
)
def test_mistakes_of_design_files_have_their_place(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "jacks.toml"
    lines = text.replace("[goal]", 'model = "mount-prismatic"\n[goal]', 1)
    file.write_text(f"format = 1\n{lines}\n", encoding="utf-8")
    assert main(["parallel", "design", str(file)]) == 2
    shown = capsys.readouterr().err
    assert "jacks.toml" in shown
    assert words.replace("4:1", "6:1") in shown.replace("5:1", "6:1")
    assert "Traceback" not in shown


def test_the_example_file_is_read() -> None:
    task = read_design(EXAMPLE)
    assert task.least == "effort"
    assert task.variables["h"] == (0.35, 0.6)
    assert task.directions.shape == (48, 3)
    np.testing.assert_allclose(np.linalg.norm(task.directions, axis=1), 1.0)
