"""Numbers of recordings in a folder: each is taken once, and only by a file that is whole."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from linkwright.base import files
from linkwright.base.errors import InputError
from linkwright.recording import Channel, Recording, read_recording
from linkwright.recording.numbering import last_number, save_next

_WRITER = """
import sys
from linkwright.recording import Channel, Recording
from linkwright.recording.numbering import save_next
sys.stdin.readline()
for k in range(12):
    ending = ("", ".csv", ".npz")[k % 3]
    made = Recording([0.0, 0.5], [Channel("who"), Channel("k")], [[float(sys.argv[2]), k]] * 2)
    print(save_next(sys.argv[1], made, ending).name)
"""


def a_recording() -> Recording:
    return Recording([0.0, 0.5], [Channel("a", "m")], np.ones((2, 1)))


def test_two_processes_in_one_folder_never_take_the_same_number(tmp_path: Path) -> None:
    """SL check 72, by two programs at once, in three formats."""
    command = [sys.executable, "-c", _WRITER, str(tmp_path)]
    started = [
        subprocess.Popen(
            [*command, str(who)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for who in (1, 2)
    ]
    try:
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        told = [process.communicate(timeout=60)[0].split() for process in started]
    finally:
        for process in started:
            process.kill()
    names = [name for each in told for name in each]
    assert sorted(int(name[1:6]) for name in names) == list(range(1, 25))
    assert last_number(tmp_path) == 24
    for who, each in enumerate(told, 1):
        for k, name in enumerate(each):
            assert read_recording(tmp_path / name).data[0].tolist() == [who, k]


def test_a_number_in_use_is_passed_over_whatever_its_format(tmp_path: Path) -> None:
    (tmp_path / "last_data").write_text("7\n")
    (tmp_path / "d00008.parquet").touch()
    assert save_next(tmp_path, a_recording()).name == "d00009"
    (tmp_path / "last_data").write_text("seven\n")
    with pytest.raises(InputError, match=r"last_data:1: it does not hold a number"):
        save_next(tmp_path, a_recording())


@pytest.mark.parametrize("full_at", [1, 2])
def test_a_full_disk_is_said_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full_at: int
) -> None:
    """The recording is written first, then the number: whichever fails, neither is there."""
    save_next(tmp_path, a_recording())
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    calls = 0

    def full(handle: int) -> None:
        nonlocal calls
        calls += 1
        if calls == full_at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("linkwright.base.files.os.fsync", full)
    monkeypatch.setattr(files, "flush_folder", lambda folder: None)
    with pytest.raises(InputError, match=r"No space left on device.*has room"):
        save_next(tmp_path, a_recording(), ".csv")
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_a_folder_that_another_keeps_is_said(tmp_path: Path) -> None:
    with files.locked_folder(tmp_path), pytest.raises(InputError, match=r"for 0\.01 s"):
        save_next(tmp_path, a_recording(), timeout=0.01)
