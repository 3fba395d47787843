"""Mounts beside each other: ranking, efforts around the horizon, and the page that shows them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from linkwright.base.errors import Error
from linkwright.cli import main
from linkwright.mounts import study_mounts
from linkwright.mounts.comparison_page import MOUNTS, MountComparison
from linkwright.mounts.ranking import _places, mount_study, rank_mounts
from linkwright.mounts.sweeps import sweep_report
from tests.seeds import seldom


@pytest.fixture(scope="module")
def five() -> MountComparison:
    """Return all five mounts, at six azimuths around the horizon."""
    studies = tuple(mount_study(n, grid=(13, 4), sweep=6) for n in MOUNTS)
    return MountComparison(studies, rank_mounts(studies))


def test_the_mount_with_jacks_is_first(five: MountComparison) -> None:
    """Mount check 61: two jacks, 45 deg of transmission, balanced, free of singularities.

    It stays so if each of the others were balanced as well as any.
    """
    first = five.ranks[0]
    assert (first.place, first.mount) == (1, "mount-prismatic")
    for rank in five.ranks[1:]:
        assert rank.total - rank.places["balance"] + 1 > first.total
    study = five.study("mount-prismatic")
    assert study.transmission == pytest.approx(45.0, abs=0.1)
    assert (study.actuators, study.linear, study.singular) == (2, True, False)
    assert study.left < 0.01
    assert five.study("mount-2-rotary").transmission == pytest.approx(40.6, abs=0.05)
    truss = five.study("mount-truss-2")
    assert truss.singular
    assert math.degrees(min(x.zenith.min() for x in truss.loci)) == pytest.approx(59.34, abs=0.2)


def test_places_are_shared_by_what_is_close_and_last_without_a_number() -> None:
    assert _places([2.0, 3.0, 2.005, 3.0]) == [1, 3, 1, 3]
    assert _places([-40.6, -45.0, -22.0, -40.6]) == [2, 1, 4, 2]
    assert _places([math.nan, 0.0, 0.5, math.nan]) == [3, 1, 2, 3]


def test_sweeps_are_reported_with_and_without_weights(five: MountComparison) -> None:
    """Mount check 51: greatest efforts of all five as the thesis has them, and lines of a report.

    Those of A, C, T2 and E are at 60 degrees and its like; B's is between the azimuths here.
    """
    assert [s.mount for s in five.studies] == list(MOUNTS)
    swept = {s.mount: s.sweep for s in five.studies if s.sweep is not None}
    assert list(swept) == list(MOUNTS)
    peaks = {"mount-3-rotary": 1129, "mount-truss-3": 6861, "mount-truss-2": 8162}
    for name, peak in peaks.items():
        assert swept[name].peak == pytest.approx(peak, abs=0.6), name
    assert swept["mount-prismatic"].peak == pytest.approx(4401, rel=0.01)
    lines = sweep_report(list(swept.values())).splitlines()
    for sweep, line in zip(swept.values(), lines[1:], strict=True):
        assert line.split()[:3] == [sweep.mount, sweep.unit, f"{sweep.peak:.1f}"]
        both = {"arms", "strut", "arms and strut"}
        assert set(sweep.balances) == ({"arms"} if len(sweep.efforts[0]) == 3 else both)
        assert all(b.peak < sweep.peak / 3 for b in sweep.balances.values())


def test_a_mount_that_was_not_swept_says_so() -> None:
    assert mount_study("mount-x-y", grid=(2, 2), sweep=0).unswept == "not asked for"


@seldom(daily="test_the_mount_with_jacks_is_first")
def test_the_page_needs_nothing_else_and_has_the_numbers(
    five: MountComparison, tmp_path: Path
) -> None:
    studies = tuple(five.study(n) for n in ("mount-truss-2", "mount-prismatic"))
    size = MountComparison(studies, rank_mounts(studies)).save(tmp_path / "compare.html")
    text = (tmp_path / "compare.html").read_text()
    assert size == len(text.encode())
    for bad in ("<script", "<link", "<img", "@import", 'src="http'):
        assert bad not in text
    for study in studies:
        assert study.mount in text
        assert f"{study.transmission:.1f}°" in text
        said = f"{study.sweep.peak:.1f}" if study.sweep else f"{study.mount} has no sweep"
        assert said in text
    assert "from 59.3° off the zenith on" in text
    assert text.count("<svg") == 5  # sweeps, each actuator, transmission, condition, effort


def test_what_cannot_be_compared_is_refused(five: MountComparison, tmp_path: Path) -> None:
    with pytest.raises(Error, match="singular at the zenith"):
        mount_study("mount-alt-az", grid=(5, 3), sweep=0)
    with pytest.raises(Error, match="no mount to compare"):
        study_mounts([])
    with pytest.raises(Error, match="a comparison is a page"):
        five.save(tmp_path / "compare.pdf")
    with pytest.raises(Error, match="is not compared"):
        five.study("stewart")
    with pytest.raises(Error, match="no mount of the comparison"):
        five.plot("beauty")


def test_the_command_sweeps_and_writes_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows of the table are what the actuators hold there, by gravity alone."""
    table = tmp_path / "efforts.csv"
    asked = ["mount", "compare", "mount-alt-az", "--elevation", "40", "--azimuths", "4"]
    assert main([*asked, "--antenna", "150", "--table", str(table), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    held = 150 * 9.81 * 0.25 * math.sin(math.radians(50))  # the antenna's center is 0.25 m up
    assert told["sweeps"][0]["peak"] == pytest.approx(held)
    rows = [line.split(",") for line in table.read_text().splitlines()]
    assert rows[0][:4] == ["mount", "weights", "azimuth deg", "actuator"]
    tilt = [float(r[4]) for r in rows if r[3] == "tilt"]
    assert tilt == pytest.approx([-held] * 4)
    for more, words in (
        (["--elevation", "95"], "goes around nothing"),
        (["--table", str(tmp_path / "x.txt")], "give a name in .csv"),
        (["--antenna", "-1"], "is not a mass"),
        (["--table", str(table)], "--force"),
    ):
        assert main([*asked, *more]) == 2, more
        assert words in capsys.readouterr().err
    assert main(["mount", "compare", "pendulum", "--antenna", "3"]) == 2
    assert "has no antenna_mass" in capsys.readouterr().err
