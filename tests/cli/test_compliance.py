"""`linkwright parallel compliance`: diagonals, curves, distances and synthesis from the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from linkwright.cli import main
from linkwright.parallel.decoupled_compliance import link_distances, mechanism_2

FILE = """format = 1
stiffness = "700 N/m"
bases = {}
tips = {}
"""


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = main(["parallel", "compliance", *map(str, words)])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_a_file_is_the_mechanism_that_it_was_written_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Diagonal by the printed formula, frequencies by sqrt(k A/M), distances by Python."""
    a, h, k = 0.3, 0.2, 700.0
    platform = mechanism_2(a=a, h=h, stiffness=k)
    bases, tips = (p.tolist() for p in platform.points)
    file = tmp_path / "legs.toml"
    file.write_text(FILE.format(bases, tips))
    code, out, _ = run(capsys, file, "--shift", "0.05,0.02,0", "--mass", "2 kg", "--json")
    told = json.loads(out)
    rho = a * a + 4 * h * h
    diagonal = np.array([3 * a**2, 3 * a**2, 24 * h**2, a**2 * h**2, a**2 * h**2, a**4 / 2]) / rho
    assert code == 0
    assert told["diagonal"] == pytest.approx(diagonal)
    assert (told["bases_m"], told["tips_m"]) == (bases, tips)
    assert told["decoupled"] is True
    masses = [2.0] * 3 + [0.02] * 3
    assert told["frequencies_hz"] == pytest.approx(
        sorted(np.sqrt(k * diagonal / masses) / 2 / np.pi)
    )
    poses = np.tile(np.eye(4), (51, 1, 1))
    poses[:, :3, 3] = np.linspace(0, 1, 51)[:, None] * [0.05, 0.02, 0]
    assert told["nearest_m"] == pytest.approx(link_distances(platform, poses).nearest[2])
    file.write_text(file.read_text() + "center = [0, 0, 0.1]\n")
    assert json.loads(run(capsys, file, "--json")[1])["decoupled"] is False


def test_curves_are_drawn_and_legs_are_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "curves.svg"
    words = ["mechanism-2:a=1,h=1", "--over", "a=1:2", "--over", "h=1:2", "-o", picture]
    code, out, _ = run(capsys, *words, "--json")
    told = json.loads(out)
    assert code == 0
    assert told["over"]["a"]["diagonal"][-1][:3] == pytest.approx([1.5, 1.5, 3.0])
    assert told["over"]["h"]["diagonal"][-1][3] == pytest.approx(4 / 17)
    assert picture.read_text().count("<path") > 12
    code, out, _ = run(capsys, "mechanism-1:a=0.4,h=0.3", "--synthesize", "x=1.8", "--seed", 1)
    assert code == 0
    assert "all " in out
    code, out, _ = run(capsys, "mechanism-1:a=0.4,h=0.3")
    assert "dA/da" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["mechanism-4"], "there is no platform 'mechanism-4'"),
        (["mechanism-1:b=3"], "is not a size of 'mechanism-1'"),
        (["mechanism-1:a=3kg"], "a"),
        (["mechanism-1:a=-1"], "a is -1"),
        (["nothing.toml"], "there is no such file"),
        (["mechanism-1", "--shift", "1,2"], "is not three numbers"),
        (["mechanism-1", "--shift", "1,2,nan"], "is not three numbers"),
        (["mechanism-1", "--mass", "-2"], "--mass -2 kg is not above 0"),
        (["mechanism-1", "--over", "b=1:2"], "is not a range of a size"),
        (["mechanism-1", "-o", "x.png"], "a picture is that of --over"),
        (["mechanism-1", "--synthesize", "x"], "is not an element of A"),
        (["mechanism-1", "--mass", "2 m"], "the mass"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, error = run(capsys, *words)
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert said in error


def test_a_file_without_six_legs_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "legs.toml"
    file.write_text(FILE.format("[[0, 0, 0]]", "[[0, 0, 1]]"))
    code, _, error = run(capsys, file)
    assert code == 2
    assert "legs.toml" in error
    file.write_text(FILE.format([[0, 0, 0]] * 6, [[0, 0, 0]] * 6))
    code, _, error = run(capsys, file)
    assert code == 2
    assert "leg 1 has no length" in error
