"""Files that are written: whole or not at all, where the name leads, with the right mode."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest

from linkwright.base.errors import Error, InputError
from linkwright.base.files import write_bytes, write_text, write_with
from linkwright.cli import main
from linkwright.codegen.c import c_program
from linkwright.codegen.content import make_content
from linkwright.codegen.python import python_program
from linkwright.models import load_model
from linkwright.recording import Channel, Recording
from linkwright.recording.erd import ErdChannel, ErdFile, write_erd
from linkwright.recording.files import FORMATS
from linkwright.recording.plots import figure, save_figure

MADE = Recording([0, 0.5, 1.0], [Channel("x", "m")], [[0], [1], [4]])
_PAGE = ["page", "pendulum", "--until", "0.1"]
WRITERS: dict[str, Callable[[Path], object]] = {
    "a.toml": lambda path: write_text(path, "format = 1", replace=True),
    "a.bin": lambda path: write_bytes(path, b"123", replace=True),
    "a.png": lambda path: save_figure(path, figure([MADE]), replace=True),
    "d00001": lambda path: MADE.save(path),
    **{
        f"a{ending}": lambda path: MADE.save(path)
        for ending, chosen in FORMATS.items()
        if chosen.write is not None
    },
    "header.erd": lambda path: write_erd(
        path, ErdFile((ErdChannel("x"),), np.zeros((2, 1), np.float32), 0.5)
    ),
    "show.tex": lambda path: main(["model", "describe", "pendulum", "--latex", str(path)]),
    "page.html": lambda path: main([*_PAGE, "-o", str(path), "--force"]),
    "robot.urdf": lambda path: main(["model", "convert", "puma560", str(path), "--force"]),
    "new.toml": lambda path: main(["model", "new", "arm", "--out", str(path), "--force"]),
}


def mode(path: Path) -> int:
    """Return the bits of a file's mode."""
    return stat.S_IMODE(path.stat().st_mode)


# -- every writer ----------------------------------------------------------------------------------
@pytest.mark.parametrize("name", WRITERS)
def test_a_writer_follows_links_and_keeps_modes(tmp_path: Path, name: str) -> None:
    real, link = tmp_path / "there" / name, tmp_path / name
    real.parent.mkdir()
    real.write_bytes(b"old")
    real.chmod(0o600)
    link.symlink_to(real)
    WRITERS[name](link)
    assert link.is_symlink()
    assert real.read_bytes() != b"old"
    assert mode(real) == 0o600
    assert not [p for p in tmp_path.rglob("*") if p.name.endswith((".new", ".tmp"))]


@pytest.mark.parametrize("name", WRITERS)
def test_a_writer_fills_a_pipe_and_leaves_it_one(tmp_path: Path, name: str) -> None:
    pipe = tmp_path / name
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    WRITERS[name](pipe)
    reader.join(timeout=240)
    assert len(got[0]) > 2
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("name", WRITERS)
def test_a_new_file_has_the_mode_of_the_umask(tmp_path: Path, name: str) -> None:
    before = os.umask(0o077)
    try:
        WRITERS[name](tmp_path / name)
    finally:
        os.umask(before)
    assert mode(tmp_path / name) == 0o600


# -- written programs ------------------------------------------------------------------------------
@pytest.mark.parametrize("language", ["c", "python"])
def test_a_written_program_follows_links_and_keeps_modes(tmp_path: Path, language: str) -> None:
    content = make_content(load_model("pendulum"))
    if language == "c":
        (tmp_path / "p.c").write_text(c_program(content, "p"))
        flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
        subprocess.run(["cc", *flags, "p.c", "-o", "p", "-lm"], cwd=tmp_path, check=True)
        command = ["./p"]
    else:
        (tmp_path / "p.py").write_text(python_program(content, "p"))
        command = [sys.executable, "p.py"]
    (tmp_path / "short.par").write_text("PARSFILE\nSTOPT 0.01\nEND\n")
    real, link = tmp_path / "real.erd", tmp_path / "run.erd"
    link.symlink_to("real.erd")
    private = tmp_path / "run.erd.bin"
    private.write_bytes(b"old")
    private.chmod(0o600)
    pipe = tmp_path / "echo"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    words = ["short.par", "-e", "echo", "-o", "run.erd"]
    subprocess.run([*command, *words], cwd=tmp_path, check=True, capture_output=True, timeout=240)
    reader.join(timeout=240)
    assert got[0].startswith(b"PARSFILE")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert link.is_symlink()
    assert real.read_bytes().startswith(b"ERDFILE")
    assert mode(private) == 0o600
    assert private.read_bytes() != b"old"


# -- one writer, closely ---------------------------------------------------------------------------
def test_folders_sockets_and_circles_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "circle").symlink_to("circle")
    for name in ("folder", "circle"):
        with pytest.raises(InputError, match="written"):
            write_text(tmp_path / name, "x", replace=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["circle", "folder"]


def test_a_link_that_leads_nowhere_makes_its_target(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    write_text(tmp_path / "link", "one")
    assert (tmp_path / "target").read_text() == "one"
    with pytest.raises(InputError, match="exists already"):
        write_text(tmp_path / "link", "two")
    assert (tmp_path / "target").read_text() == "one"


def test_contents_reach_the_disk_before_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    sync, rename = os.fsync, Path.replace

    def synced(handle: int) -> None:
        seen.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        sync(handle)

    def renamed(path: Path, target: Path) -> Path:
        seen.append("name")
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    write_text(tmp_path / "a", "one", replace=True)
    assert seen == ["file", "name", "folder"]


def test_what_a_killed_writer_left_goes_with_the_next(tmp_path: Path) -> None:
    left = tmp_path / ".a.csv.0123abcd.new"
    left.write_bytes(b"half")
    mine = [tmp_path / ".a.csv.mine.new", tmp_path / ".b.csv.0123abcd.new"]
    for path in mine:
        path.write_bytes(b"mine")

    def fill(file: BinaryIO) -> None:
        write_text(tmp_path / "a.csv", "inner", replace=True)  # does not take the outer one away
        file.write(b"outer")

    write_with(tmp_path / "a.csv", fill, replace=True)
    assert (tmp_path / "a.csv").read_bytes() == b"outer"
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        ".a.csv.mine.new",
        ".b.csv.0123abcd.new",
        "a.csv",
    ]


def test_a_writer_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "a"
    target.write_text("old")

    def fill(_: object) -> None:
        raise Error("no")

    with pytest.raises(Error, match="no"):
        write_with(target, fill, replace=True)
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]


def test_without_hard_links_a_name_is_still_taken_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    write_text(tmp_path / "a", "one")
    with pytest.raises(InputError, match="exists already"):
        write_text(tmp_path / "a", "two")
    assert (tmp_path / "a").read_text() == "one"
