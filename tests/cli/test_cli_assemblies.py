"""``linkwright parallel assemblies``: what it prints, and what it says to bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from linkwright.cli import main
from linkwright.mechanism import mechanism_of
from linkwright.parallel.locked_files import read_locked

GOOD = 'format = 1\n\n[actuators]\nleft = "126 deg"\nright = 0.9\n'


def test_without_values_the_actuators_are_locked_where_the_machine_starts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["parallel", "assemblies", "five-bar"]) == 0
    first, told, *_ = capsys.readouterr().out.splitlines()
    assert first == (
        "actuators locked where the machine starts (rad and m): left = 2.24159, right = 0.9"
    )
    assert told.startswith("2 assemblies, 2 of them real")
    assert main(["parallel", "assemblies", "five-bar", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["at"], found["actuators"]["right"]) == ("start", 0.9)


def test_assemblies_are_printed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    place = tmp_path / "angles.toml"
    place.write_text(GOOD)
    assert main(["parallel", "assemblies", "five-bar", "--actuators", str(place)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "2 assemblies, 2 of them real; none is missing (trace test)" in out
    assert main(["parallel", "assemblies", "five-bar", "--actuators", str(place), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["count"], told["complete"], len(told["real"])) == (2, True, 2)
    assert all(mode["residual"] < 1e-10 for mode in told["real"])
    assert told["real"][0]["coordinates"]["right"] == 0.9


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (GOOD.replace("right", "rihgt"), ":5:"),
        (GOOD.replace("right", "rihgt"), "did you mean 'right'?"),
        (GOOD.replace("right = 0.9", ""), "no value is given for right"),
        (GOOD.replace("126 deg", "126 kg"), ":4:"),
        (GOOD.replace("0.9", "nan"), "finite"),
        (GOOD + "[", ":6:"),
        ("format = 1\n", "actuators"),
        (GOOD.replace("format = 1", "format = 9"), "format"),
    ],
)
def test_bad_files_are_answered_with_their_line(
    text: str, complaint: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    place = tmp_path / "angles.toml"
    place.write_text(text)
    assert main(["parallel", "assemblies", "five-bar", "--actuators", str(place)]) == 2
    out, err = capsys.readouterr()
    assert complaint in err
    assert (out, "Traceback" in err) == ("", False)


def test_the_shipped_lengths_are_those_of_the_manual_and_fit_the_hexapod() -> None:
    root = Path(__file__).parents[2]
    place = root / "examples/mounts/lengths.toml"
    locked = read_locked(place, mechanism_of("stewart"))
    assert list(locked.values()) == [0.6, 0.64, 0.7, 0.55, 0.66, 0.73]
    shown = place.read_text().partition("[actuators]")[2]
    assert (
        f"format = 1\n\n[actuators]{shown}```" in (root / "docs/parallel-machines.md").read_text()
    )


def test_a_model_without_actuators_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert (
        main(["parallel", "assemblies", "pendulum", "--actuators", str(tmp_path / "none.toml")])
        == 2
    )
    assert "names no actuators" in capsys.readouterr().err
    assert (
        main(["parallel", "assemblies", "five-bar", "--actuators", str(tmp_path / "none.toml")])
        == 2
    )
    assert "none.toml" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["alt-az", "x-y", "equatorial", "3-axis"])
def test_a_machine_without_loops_has_one_assembly(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["parallel", "assemblies", f"mount-{name}"]) == 2
    assert f"'mount-{name}' has no closed loop" in capsys.readouterr().err
