"""Tests in forked lanes: each runs once, what fails or dies is told, and the clock is alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

_FILES = {
    "test_passing.py": """
import os, pytest
from pathlib import Path

@pytest.mark.parametrize("k", range(20))
def test_runs_once(k, tmp_path):
    with open(os.environ["SEEN"], "a") as file:
        print("passing", k, os.getpid(), file=file)
    (tmp_path / "own").mkdir()
""",
    "test_failing.py": """
def test_fails():
    print("said before it failed")
    assert [1, 2] == [1, 3]
""",
    "test_dying.py": """
import os, pytest

def test_before():
    pass

def test_dies():
    os._exit(7)

def test_after():
    with open(os.environ["SEEN"], "a") as file:
        print("after", 0, os.getpid(), file=file)
""",
    "test_clock.py": """
import os, pytest, time

@pytest.mark.realtime
@pytest.mark.parametrize("k", range(2))
def test_alone(k):
    with open(os.environ["SEEN"], "a") as file:
        print("alone", k, os.getpid(), file=file)
""",
}


def lanes(folder: Path, *options: str) -> tuple[subprocess.CompletedProcess[str], list[list[str]]]:
    """Run the files above; return what was printed, and what the tests wrote down."""
    for name, text in _FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = realtime\n", encoding="utf-8")
    seen = folder / "seen.txt"
    seen.touch()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:xdist", "-p", "tests.support.lanes", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SEEN": str(seen), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done, [line.split() for line in seen.read_text(encoding="utf-8").splitlines()]


def test_every_test_runs_once_and_what_fails_or_dies_is_told(tmp_path: Path) -> None:
    done, seen = lanes(tmp_path, "-n2")
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"2 failed, 24 passed", done.stdout), done.stdout
    assert "assert [1, 2] == [1, 3]" in done.stdout
    assert "said before it failed" in done.stdout
    assert "the process died with 7 at test_dying.py::test_dies" in done.stdout
    assert sorted((kind, int(k)) for kind, k, _ in seen) == sorted(
        [*(("passing", k) for k in range(20)), ("after", 0), ("alone", 0), ("alone", 1)]
    )
    assert [kind for kind, *_ in seen[-2:]] == ["alone", "alone"]
    assert len({process for *_, process in seen}) >= 3


def test_the_first_failure_may_end_the_run(tmp_path: Path) -> None:
    done, _ = lanes(tmp_path, "-n1", "-x", "test_failing.py", "test_passing.py")
    assert done.returncode == 1
    assert "stopping after 1 failures" in done.stdout, done.stdout


def test_a_lane_that_is_full_makes_room_for_another(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "import tests.support.lanes as lanes\nlanes.FULL = 1.0\n", encoding="utf-8"
    )
    for k in range(3):
        text = _FILES["test_passing.py"].replace(
            "range(20)", f"range({20 * k + 20}, {20 * k + 25})"
        )
        (tmp_path / f"test_more_{k}.py").write_text(text, encoding="utf-8")
    done, seen = lanes(tmp_path, "-n1", *(f"test_more_{k}.py" for k in range(3)))
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(seen) == 15
    assert len({process for *_, process in seen}) == 3


_FAULTS = """
import atexit, os, pytest, time, warnings

@pytest.fixture
def broken():
    raise ValueError("no ground")

@pytest.fixture
def leaky():
    yield
    raise ValueError("left open")

def test_setup(broken):
    pass

def test_teardown(leaky):
    pass

@pytest.mark.timeout(1)
def test_hangs():
    try:
        time.sleep(60)
    except Exception:
        pass

def test_warns():
    warnings.warn("mind the gap")

def test_forks():
    if os.fork() == 0:
        return  # into pytest, which has to run once

def test_breaks_the_end():
    atexit.register(os.kill, os.getpid(), 11)
"""


def test_no_fault_of_a_lane_is_lost_or_told_twice(tmp_path: Path) -> None:
    (tmp_path / "test_faults.py").write_text(_FAULTS, encoding="utf-8")
    done, _ = lanes(tmp_path, "-n2", "test_faults.py", "test_passing.py")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "no ground" in done.stdout
    assert "left open" in done.stdout
    assert "Timeout" in done.stdout
    assert "SIGSEGV" in done.stdout
    assert re.search(r"1 failed, 24 passed, 1 warning, 3 errors", done.stdout), done.stdout


def test_a_number_of_lanes_below_zero_is_refused(tmp_path: Path) -> None:
    done, _ = lanes(tmp_path, "-n-1")
    assert done.returncode == 4
    assert "-n takes a number of processes" in done.stderr
