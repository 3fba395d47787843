"""The commands about passes, and those that the page on mounts shows."""

from __future__ import annotations

import json
import math
import re
import shlex
from pathlib import Path

import pytest

from linkwright.cli import main

ROOT = Path(__file__).parents[2]
ORBITS = str(ROOT / "examples" / "mounts" / "stations.json")
SITE = str(ROOT / "examples" / "mounts" / "site.toml")


def run(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Run a command that must succeed in silence, and return what it printed."""
    assert main(list(words)) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Run a command that must fail with one line, and return that line."""
    assert main(list(words)) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n"), "Traceback" in err) == ("", 1, False)
    return err


def test_passes_are_listed_in_order_with_times_in_utc(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(
        capsys, "mount", "passes", ORBITS, "--site", SITE, "--days", "1", "--frequency", "437"
    )
    rows = out.splitlines()
    assert rows[0] == "14 passes over Christchurch"
    assert "rise (UTC)" in rows[1]
    times = [re.search(r"2026-11-0\d \d\d:\d\d:\d\d", row) for row in rows[2:16]]
    found = [time[0] for time in times if time]
    assert len(found) == 14
    assert found == sorted(found)
    assert rows[-1].startswith("RELAY 1 never sets below 10°")


def test_passes_as_json_are_those_of_python(capsys: pytest.CaptureFixture[str]) -> None:
    import linkwright as lw

    words = ("--satellite", "25544", "--days", "1", "--json", "--refraction")
    said = json.loads(run(capsys, "mount", "passes", ORBITS, "--site", SITE, *words))
    orbit = lw.mounts.read_orbits(ORBITS)[25544]
    want = lw.mounts.read_site(SITE).passes(orbit, days=1, refraction=True)
    assert [row["culmination_deg"] for row in said["passes"]] == [
        round(math.degrees(found.culmination), 4) for found in want
    ]
    assert said["passes"][0]["rise"] == want[0].rise.isoformat(timespec="milliseconds")


def test_mounts_are_compared_by_what_they_lose(capsys: pytest.CaptureFixture[str]) -> None:
    """Mount check 60: as a table, and as JSON for each pass."""
    words = ("--satellite", "ISS (ZARYA)", "--days", "2", "--mounts", "alt-az,3-axis,2-rotary")
    rows = run(capsys, "mount", "keyholes", ORBITS, "--site", SITE, *words).splitlines()
    assert rows[0].endswith("passes over Christchurch; axes of 5°/s, beamwidth 0.8°")
    assert [row.split()[0] for row in rows[2:5]] == ["alt-az", "3-axis", "2-rotary"]
    assert "at 89.6°" in rows[2]
    said = json.loads(run(capsys, "mount", "keyholes", ORBITS, "--site", SITE, *words, "--json"))
    assert said["mounts"]["alt-az"]["losing"] == 1
    assert said["mounts"]["2-rotary"]["losing"] == 0
    assert len(said["mounts"]["alt-az"]["each"]) == len(said["passes"])
    assert "no model 'alt-ax'" in refused(
        capsys, "mount", "keyholes", ORBITS, "--site", SITE, "--mounts", "alt-ax"
    )
    assert "no mounts" in refused(
        capsys, "mount", "keyholes", ORBITS, "--site", SITE, "--mounts", ","
    )


def test_wrong_files_and_names_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    bad = tmp_path / "bad.tle"
    bad.write_text(
        "X\n1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2926\n", "utf-8"
    )
    assert "bad.tle:2: the checksum" in refused(capsys, "mount", "passes", str(bad), "--site", SITE)
    said = refused(capsys, "mount", "passes", ORBITS, "--site", SITE, "--satellite", "ISS")
    assert "there is no satellite 'ISS'" in said
    assert "not a time" in refused(
        capsys, "mount", "passes", ORBITS, "--site", SITE, "--start", "noon"
    )
    assert "no such file" in refused(capsys, "mount", "passes", ORBITS, "--site", "nowhere.toml")
    assert "0 days" in refused(capsys, "mount", "passes", ORBITS, "--site", SITE, "--days", "0")


def test_the_commands_of_the_page_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "mounts.md").read_text(encoding="utf-8")
    form = r"^linkwright (mount (?:passes|keyholes|move) [^#\n]*)"
    commands = re.findall(form, page, re.MULTILINE)
    assert commands
    for words in commands:
        assert main(shlex.split(words)) == 0, words
        assert capsys.readouterr().out


def test_a_pass_is_written_as_a_table_that_a_task_follows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import linkwright as lw

    table = tmp_path / "pass.csv"
    asked = ("mount", "passes", ORBITS, "--site", SITE, "--satellite", "25544", "--days", "1")
    run(capsys, *asked, "-o", str(table))
    way = lw.load(table)
    passes = lw.mounts.read_site(SITE).passes(lw.mounts.read_orbits(ORBITS)[25544], days=1)
    best = max(passes, key=lambda p: p.culmination)
    for name, values in zip(("east", "north", "up"), best(way.times).T, strict=True):
        assert way[name] == pytest.approx(values, abs=1e-12)
    assert max(way["up"]) > 0.8
    said = refused(capsys, *asked[:-1], "0.001", "-o", str(tmp_path / "none.csv"))
    assert "no pass" in said
    assert not (tmp_path / "none.csv").exists()
