"""What tests cost is added up per file and compared with what was kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts import test_times
from tests.support.times import by_file


def test_items_are_added_up_to_files_and_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that grew by more than a fifth and two seconds is named, and no other."""
    before = by_file({"a.py::x": (4.0, 9.0), "a.py::y[1]": (6.0, 6.0), "b.py::z": (0.5, 0.5)})
    after = {"a.py": 12.5, "b.py": 2.4, "new.py": 2.1}
    (tmp_path / "before.json").write_text(json.dumps({"files": before}))
    (tmp_path / "after.json").write_text(json.dumps({"files": after}))
    kept = tmp_path / "kept.json"
    arguments = [str(tmp_path / "before.json"), str(tmp_path / "after.json"), "--keep", str(kept)]
    assert test_times.main(arguments) == 0
    told = capsys.readouterr().out
    assert "10.5 s before, 17.0 s after" in told
    assert [line.split()[-1] for line in told.splitlines() if "grown" in line] == ["a.py", "new.py"]
    assert test_times.seconds(kept) == after


def test_what_raised_the_memory_of_a_lane_is_kept_by_file(tmp_path: Path) -> None:
    run, kept = tmp_path / "run.json", tmp_path / "kept.json"
    grew = {"a.py::x": 50.0, "a.py::y[1]": 30.0, "b.py::z": 30.0}
    run.write_text(json.dumps({"files": {"a.py": 3.0}, "raised_mb": grew}))
    assert test_times.main([str(run), "--keep", str(kept)]) == 0
    assert json.loads(kept.read_text()) == {"files": {"a.py": 3.0}, "raised_mb": {"a.py": 80}}
    assert test_times.raised(kept) == {"a.py": 80.0}


def test_a_first_run_has_nothing_to_be_compared_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "tests.json"
    run.write_text(json.dumps({"files": {"a.py": 3.0}}))
    assert test_times.main([str(tmp_path / "times.json"), str(run)]) == 0
    assert "make times keeps what a run took" in capsys.readouterr().out
    assert test_times.main([str(tmp_path / "times.json")]) == 2
