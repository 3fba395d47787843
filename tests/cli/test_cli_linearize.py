"""``linkwright analyze linearize``: what it prints, and what it says to bad input."""

from __future__ import annotations

import json

import pytest

from linkwright.cli import main


def test_bicycle_at_five_meters_a_second(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", "linearize", "whipple", "--set", "v=5", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    values = [complex(v["real"], v["imag"]) for v in told["eigenvalues"]]
    expected = [
        -14.0783896927982,
        -0.775341882195845 - 4.46486771378823j,
        -0.775341882195845 + 4.46486771378823j,
        -0.322866429004087,
    ]
    assert values == pytest.approx(expected, abs=1e-9)
    assert {"A", "B", "C", "D", "states"} <= told.keys()
    assert len(told["A"]) == len(told["states"])


def test_table_names_modes_neutral_and_computed_states(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", "linearize", "whipple", "--set", "v=5", "--matrices"]) == 0
    out = capsys.readouterr().out
    assert "-0.775342 ± 4.46487i" in out
    assert "neutral    x, y, psi, theta_R, theta_F, theta_R_dot" in out
    assert "computed   theta" in out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["whipple", "--set", "vv=5"], "did you mean 'v'?"),
        (["whipple", "--at", "phi"], "--at 'phi' is not NAME=VALUE"),
        (["whipple", "--at", "phii=0.1"], "did you mean 'phi'?"),
        (["wipple"], "did you mean 'whipple'?"),
    ],
)
def test_bad_input_is_answered_with_a_remedy(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["analyze", "linearize", *arguments]) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["whipple", "--set", "v=5"], False),  # it travels, upright
        (["pendulum"], True),  # held horizontal
        (["pendulum", "--at", "phi=0"], False),
        (["pendulum", "--at", "phi=0", "--at", "phi_dot=1"], True),
    ],
)
def test_a_point_that_is_no_equilibrium_is_told(
    arguments: list[str], told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["analyze", "linearize", *arguments]) == 0
    assert ("not an equilibrium" in capsys.readouterr().out) == told


def test_matrices_of_second_order_come_with_units(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", "linearize", "double-pendulum", "--second-order", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    names = {*told["coordinates"], *told["speeds"], *told["inputs"]}
    assert set(told["units"]) == names
    assert {told["units"][q] for q in told["coordinates"]} <= {"m", "rad"}
    for rate, q in zip(told["speeds"], told["coordinates"], strict=True):
        assert told["units"][rate] == f"{told['units'][q]}/s"
