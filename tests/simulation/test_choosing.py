"""The method that is chosen for a run: what it is, that it is right, and that it is said."""

from __future__ import annotations

import json

import numpy as np
import pytest

import linkwright as lw
from linkwright.cli import main
from linkwright.mechanism import Mechanism
from linkwright.simulation.choosing import chosen_method


def sprung(stiffness: float, damping: float) -> Mechanism:
    """Return a mass that swings slowly, and carries one on a spring and damper."""
    m = Mechanism("sprung")
    a = m.body("a", translate="x", mass=1)
    b = m.body("b", parent=a, translate="x", mass=0.1)
    m.force("slow", "-x", at=a.origin, along="x")
    m.force("link", f"-{stiffness}*b - {damping}*b_dot", at=b.origin, along="x", reaction=a)
    m.set_initial(a=1.0)
    return m


@pytest.mark.parametrize(
    ("model", "method", "word"),
    [
        (sprung(4.0, 0.1), "dop853", "not stiff"),
        (sprung(1e7, 1e4), "rodas4", "stiff: at the start something decays in"),
        (sprung(1e7, 0.0), "dop853", "not stiff"),
        ("pendulum", "dop853", "nothing pulls back"),
    ],
)
def test_a_method_is_chosen_by_the_eigenvalues_at_the_start(
    model: object, method: str, word: str
) -> None:
    run = lw.simulate(model, 2.0, method="auto")  # type: ignore[arg-type]
    assert run.settings.method == run.recording.metadata["method"] == method
    (note,) = [n for n in run.recording.metadata["notes"] if "was chosen" in n]
    assert word in note
    assert any("was chosen" in line for line in run.report)


def test_a_stiff_run_takes_far_fewer_steps_and_comes_to_the_same() -> None:
    m = sprung(1e7, 1e4)
    run = lw.simulate(m, 2.0, method="auto", tolerance=1e-8)
    other = lw.simulate(m, 2.0, method="dopri5", tolerance=1e-8)
    assert run.steps < 0.05 * other.steps
    assert run.final["a"] == pytest.approx(other.final["a"], abs=1e-6)
    assert run.final["a"] == pytest.approx(np.cos(2 / np.sqrt(1.1)), abs=1e-4)


def test_sampled_control_that_is_fast_takes_fixed_steps() -> None:
    m = lw.load("pendulum")
    s = lw.System(m)
    s.add(lw.control.PD(m, kp=4, kd=1), rate=1000)
    run = lw.simulate(s, 1.0, method="auto")
    assert run.settings.method == "rk4"
    assert "sampled every 0.001 s" in run.settings.why
    exact = lw.simulate(s, 1.0, tolerance=1e-12)
    name = next(iter(m.coordinates))
    assert run.final[name] == pytest.approx(exact.final[name], abs=1e-9)


def test_nothing_that_moves_and_slopes_that_are_none() -> None:
    m = Mechanism("root")
    m.body("b", translate="x", mass=1)
    m.force("f", "sqrt(b - 1)", at="b0", along="x")
    assert chosen_method(lw.System(m).phases(), 1.0)[0] == "dopri5"


def test_the_command_says_what_it_chose(
    capsys: pytest.CaptureFixture[str], tmp_path: object
) -> None:
    main(
        [
            "simulate",
            "double-pendulum",
            "--until",
            "0.5",
            "--method",
            "auto",
            "-o",
            f"{tmp_path}/a.csv",
            "--json",
        ]
    )
    told = json.loads(capsys.readouterr().out)
    assert told["method"] == "dop853"
    main(
        [
            "simulate",
            "double-pendulum",
            "--until",
            "0.5",
            "--method",
            "auto",
            "-o",
            f"{tmp_path}/b.csv",
        ]
    )
    assert "the method was chosen: dop853" in "".join(capsys.readouterr())
    assert main(["simulate", "pendulum", "--method", "automatic"]) == 2
