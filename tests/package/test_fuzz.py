"""Every reader takes damaged files without falling over; `make fuzz` goes on for longer."""

from __future__ import annotations

import multiprocessing
import os
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from linkwright.recording.files import FORMATS
from scripts import fuzz
from scripts.fuzz import CASES
from scripts.fuzzed_readers import READERS
from tests.seeds import examples


def alone(folder: Path, words: list[str]) -> None:
    """Run the fuzzer in a child: its limits of memory and time are for the whole process."""
    os.chdir(folder)
    out, err = (folder / "out").open("w"), (folder / "err").open("w")
    with out, err, redirect_stdout(out), redirect_stderr(err):
        code = fuzz.main(words)
    sys.exit(code)


def test_damaged_files_are_accepted_or_refused(tmp_path: Path) -> None:
    """The same few inputs for each reader every time, and all that were failures once."""
    inputs = str(examples(40, daily=2))
    words = ["--seed", "0", "--inputs", inputs, "--seconds", "600"]
    child = multiprocessing.get_context("fork").Process(target=alone, args=(tmp_path, words))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        child.start()
    child.join()
    assert child.exitcode == 0, (tmp_path / "err").read_text()
    assert (tmp_path / "out").read_text().count(" 0 failures") == len(READERS)


def test_every_format_of_recordings_has_its_fuzzer() -> None:
    endings = {Path(reader.name).suffix for reader in READERS.values()}
    assert set(FORMATS) <= endings


def test_every_case_belongs_to_a_reader() -> None:
    assert {case.name.partition("-")[0] for case in CASES.iterdir()} <= set(READERS)
