"""Three angles have a pole: what happens near it is said, with the joint's name and the remedy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.cli import main
from linkwright.equations.poles import poles


def top(sequence: str = "xyz", *, quaternion: bool = False) -> lw.Mechanism:
    """Return a body on a ball joint without loads."""
    m = lw.Mechanism("top")
    joint = lw.Ball(sequence, quaternion=quaternion)
    m.body("b", joint=joint, mass=1, inertia=(1, 2, 2.5))
    return m


@pytest.mark.parametrize("sequence", ["xyz", "zyx", "zxz", "yxy"])
def test_the_pole_is_where_the_first_and_third_axis_are_one_line(sequence: str) -> None:
    """The distance is the volume that the three axes of rotation span."""
    m = top(sequence)
    (pole,) = poles(m)
    first, second, third = (axis for _, axis in m.bodies["b"].frame.spins)
    angles = {x: 0.3 + k for k, x in enumerate(m.coordinates.values())}
    volume = lw.substitute(first @ (second ^ third), angles)
    assert abs(float(volume.data)) == pytest.approx(float(pole.distance(1.3)))


@pytest.mark.parametrize(("sequence", "angle"), [("xyz", np.pi / 2), ("zxz", 0.0)])
def test_there_is_no_linear_model_at_the_pole(sequence: str, angle: float) -> None:
    """It is refused by name; the quaternion has one."""
    m = top(sequence)
    second = list(m.coordinates)[1]
    with pytest.raises(lw.Error, match=r"angles of 'b' are at their pole .*quaternion"):
        lw.linearize(m, {second: angle})
    assert np.isfinite(lw.linearize(m, {second: angle + 0.5}).a).all()
    assert np.abs(lw.linearize(top(quaternion=True)).a).max() < 10


def test_a_run_with_fixed_steps_says_that_it_came_near_the_pole(tmp_path: Path) -> None:
    """In the report of a mechanism's run, the notes of a System's and the words of the command."""
    start = {"b.ry": 1.3, "b.q": 1.0, "b.p": 0.1}
    words = "the angles of 'b' came within"
    near = lw.simulate(top(), 0.5, step=1e-3, method="rk4", initial=start)
    assert any(words in line for line in near.report)
    run = lw.simulate(lw.System(top()), 0.5, step=1e-3, method="rk4", initial=start)
    assert words in run.recording.metadata["notes"][0]
    adaptive = lw.simulate(top(), 0.5, initial=start)
    far = lw.simulate(top(), 0.1, step=1e-3, method="rk4", initial={"b.q": 1.0})
    for quiet in (adaptive, far):
        assert not any(words in line for line in quiet.report)


def test_the_command_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a fixed step, from a text model."""
    path = tmp_path / "top.toml"
    path.write_text(lw.write_model(top()))
    words = ["simulate", str(path), "--until", "0.5", "--step", "0.001", "--method", "rk4"]
    start = ["--initial", "b.ry=1.3", "--initial", "b.q=1", "--initial", "b.p=0.1"]
    assert main([*words, *start, "-o", str(tmp_path / "run.csv")]) == 0
    said = capsys.readouterr().out
    assert "the angles of 'b' came within" in said
    assert "quaternion = true" in said
