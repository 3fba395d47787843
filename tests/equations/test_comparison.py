"""Every formulation is counted after every pass, for trees, loops, rolling wheels and robot files.

Oracle of the counts: the formulation pinned and its Program put through the same passes, one call
after the other, outside of the command.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from linkwright.cli import main
from linkwright.equations import FORMULATIONS, derive
from linkwright.equations.kernels import inverse_dynamics_program
from linkwright.models import load_model
from linkwright.program import count_operations
from linkwright.program.passes import PASSES, optimize
from tests.seeds import cases, seldom

STEPS = ["written", *PASSES, "all, fast"]
ARTICULATED = {"articulated", "articulated-looped"}


def compared(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, object]]:
    assert main(["analyze", "ops", *words, "--compare", "--json"]) == 0
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize(
    "model", cases(["cart", "four-bar", "slider-crank"], daily=["slider-crank"])
)
def test_constrained_models_show_what_takes_them_and_say_what_does_not(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = compared(capsys, model)
    refused = {row["formulation"]: row["rejected"] for row in rows if "rejected" in row}
    assert set(refused) == ARTICULATED
    assert all("constraints" in str(reason) for reason in refused.values())
    for name in set(FORMULATIONS) - ARTICULATED:
        assert [row["after"] for row in rows if row["formulation"] == name] == STEPS
    (fast,) = (r for r in rows if r["formulation"] == "kane" and r["after"] == "all, fast")
    expected = count_operations(optimize(derive(load_model(model), "kane").program(outputs=False)))
    assert (fast["add"], fast["mul"], fast["call"]) == (expected.add, expected.mul, expected.call)


def test_the_table_of_a_constrained_model_ends_with_what_was_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["analyze", "ops", "slider-crank", "--compare"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split(":")[0] for line in lines[-2:]} == ARTICULATED
    assert sum(line.startswith("composite ") for line in lines) == len(STEPS)


@pytest.mark.parametrize("kernel", ["inverse", "mass"])
def test_forces_and_mass_matrix_are_compared_by_what_is_chosen_for_the_bodies(
    kernel: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = compared(capsys, "double-pendulum", "--kernel", kernel)
    method = "recursive" if kernel == "inverse" else "composite"
    names = [method, f"{method}-usual", f"{method}-plain"]
    assert [(r["formulation"], r["after"]) for r in rows] == [(n, s) for n in names for s in STEPS]


URDF = """<robot name="pair">
  <link name="base"/>
  <link name="upper">
    <inertial><origin xyz="0.1 0.02 -0.3"/><mass value="2"/>
      <inertia ixx="0.2" iyy="0.3" izz="0.25" ixy="0.01" ixz="0.02" iyz="0.03"/></inertial>
  </link>
  <link name="lower">
    <inertial><origin xyz="0 0.01 -0.2"/><mass value="1"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.05" ixy="0" ixz="0" iyz="0.01"/></inertial>
  </link>
  <joint name="shoulder" type="continuous">
    <parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
  </joint>
  <joint name="elbow" type="continuous">
    <parent link="upper"/><child link="lower"/><origin xyz="0 0 -0.6"/><axis xyz="1 0 0"/>
  </joint>
</robot>
"""


@seldom(daily="test_constrained_models_show_what_takes_them_and_say_what_does_not")
def test_robot_files_are_compared_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pair.urdf"
    path.write_text(URDF)
    rows = compared(capsys, str(path), "--kernel", "forward")
    assert {row["formulation"] for row in rows} == set(FORMULATIONS)
    assert not any("refused" in row for row in rows)
    rows = compared(capsys, str(path), "--kernel", "inverse")
    (fast,) = (r for r in rows if r["formulation"] == "recursive" and r["after"] == "all, fast")
    expected = count_operations(optimize(inverse_dynamics_program(derive(load_model(path)))))
    assert (fast["add"], fast["mul"]) == (expected.add, expected.mul)


def test_a_search_is_one_more_step_and_ends_no_higher(capsys: pytest.CaptureFixture[str]) -> None:
    rows = compared(capsys, "pendulum", "--moves", "50")
    last = {r["formulation"]: r for r in rows if r["after"] == "thorough"}
    assert set(last) == set(FORMULATIONS)
    for row in rows:
        if row["after"] == "all, fast":
            assert int(str(last[row["formulation"]]["total"])) <= int(str(row["total"]))


def test_an_unknown_kernel_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", "ops", "pendulum", "--compare", "--kernel", "sideways"]) == 2
    assert "there is no kernel 'sideways'" in capsys.readouterr().err
