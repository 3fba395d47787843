"""Every reader takes damaged files without falling over; `make fuzz` goes on for longer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from linkwright.recording.files import FORMATS
from scripts.fuzz import CASES
from scripts.fuzzed_readers import READERS
from tests.seeds import examples

ROOT = Path(__file__).parents[2]


def test_damaged_files_are_accepted_or_refused(tmp_path: Path) -> None:
    """The same few inputs for each reader every time, and all that were failures once."""
    inputs = str(examples(40, daily=10))
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "scripts.fuzz",
            "--seed",
            "0",
            "--inputs",
            inputs,
            "--seconds",
            "600",
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(" 0 failures") == len(READERS)


def test_every_format_of_recordings_has_its_fuzzer() -> None:
    endings = {Path(reader.name).suffix for reader in READERS.values()}
    assert set(FORMATS) <= endings


def test_every_case_belongs_to_a_reader() -> None:
    assert {case.name.partition("-")[0] for case in CASES.iterdir()} <= set(READERS)
