"""Every reader with hostile files: it accepts them or refuses them in our words, at once."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from linkwright.base.errors import Error, InputError
from linkwright.base.files import csv_rows, parse_json
from linkwright.base.reprs import brief
from linkwright.cli import main
from linkwright.cli.commands import COMMANDS
from linkwright.heritage.dialogue.answers import choice
from linkwright.lab.task_files import load_tasks
from linkwright.recording import read_recording
from scripts.fuzz import NUMBER, QUOTED, WAITING, _over, failure
from scripts.fuzzed_readers import READERS, Decoder, Reader
from tests.seeds import cases, examples, seeds

STRANGE = (b"9" * 400, b"-" + b"9" * 400, b"11e-320", b"1e308", b"nan", b"-1", b"9" * 19)
TOO_LONG = ("A" * 300, "A" * 300 + ".toml", "x/" * 200 + "A" * 300)
PLACES = 3
"""Numbers and texts of a file that are changed."""
SLOW = {"cell", "design", "lab", "session", "sea", "catalog", "joint_drive"}
"""Readers that build what they read, and have fewer."""


@pytest.fixture(autouse=True)
def limit() -> Iterator[None]:
    """Let a reader that waits for ever be a failure."""
    before = {n: signal.signal(n, _over) for n in (signal.SIGALRM, signal.SIGPROF)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def hostile(whole: bytes, random_: random.Random, places: int) -> Iterator[tuple[str, bytes]]:
    """Yield hostile files from a sound one, each with what is wrong with it."""
    numbers, texts = list(NUMBER.finditer(whole)), list(QUOTED.finditer(whole))
    for found in random_.sample(numbers, min(places, len(numbers))):
        for strange in random_.sample(STRANGE, 3 if examples(2, daily=1) == 1 else len(STRANGE)):
            yield "a strange number", whole[: found.start()] + strange + whole[found.end() :]
        for deep in (b"[" * 30_000, b'{"a":' * 30_000, b"[" * 90 + b"]" * 90):
            yield "deep nesting", whole[: found.start()] + deep + whole[found.end() :]
    for found in random_.sample(texts, min(places, len(texts))):
        for name in (b"A" * 300, b"../" * 2000 + b"x.toml", b"\xf3\xa0\x80\x81" * 100, b"x\\u0000"):
            made = b'"' + name + b'"'
            yield "a strange name", whole[: found.start()] + made + whole[found.end() :]
    at = random_.randrange(len(whole) + 1)
    yield "a huge cell", whole[:at] + b"1" * 200_000 + whole[at:]
    yield "a huge word", whole[:at] + b"A" * 200_000 + whole[at:]
    yield "nothing", b""
    yield "zeros", bytes(100_000)


@pytest.mark.parametrize("seed", seeds(1))
@pytest.mark.parametrize("name", READERS)
def test_a_reader_takes_a_hostile_file_or_refuses_it(name: str, seed: int, tmp_path: Path) -> None:
    reader = READERS[name]
    path = tmp_path / reader.name
    whole = reader.whole(path)
    assert failure(reader, path, whole) == "", "the sound file is refused"
    random_ = random.Random(f"{name} {seed}")
    for what, content in hostile(whole, random_, examples(1 if name in SLOW else PLACES, daily=1)):
        why = failure(reader, path, content)
        assert not why, f"{what}: {brief(content)}\n{why}"


@pytest.mark.parametrize(
    "name", [name for name, one in READERS.items() if isinstance(one, Reader) and one.opens]
)
def test_a_reader_refuses_what_is_no_file(name: str, tmp_path: Path) -> None:
    """A pipe, an endless device, a folder, and a name that is too long."""
    reader = READERS[name]
    assert isinstance(reader, Reader)
    path = tmp_path / reader.name
    reader.make(path)
    path.unlink()
    os.mkfifo(path)
    refused(reader, path)
    path.unlink()
    path.symlink_to("/dev/zero")
    refused(reader, path)
    path.unlink()
    if name != "mask":
        refused(reader, tmp_path / ("A" * 300 + path.suffix))
    path.mkdir()
    refused(reader, path)


def refused(reader: Reader, path: Path) -> None:
    """See a reader refuse something, soon."""
    signal.setitimer(signal.ITIMER_REAL, WAITING)
    try:
        with pytest.raises(Error):
            reader.read(path)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_a_command_refuses_a_name_that_is_too_long(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in cases(TOO_LONG, daily=TOO_LONG[1:2]):
        assert main([*command.split(), name]) == 2, command
        told = capsys.readouterr()
        assert "Traceback" not in told.err + told.out
    assert list(tmp_path.iterdir()) == []


def test_words_of_a_command_that_are_no_whole_number_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More digits than Python takes, two signs, and digits that int() does not know."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.asm").write_text("set n = 2\n")
    (tmp_path / "m.toml").write_bytes(READERS["loop"].whole(tmp_path / "l.toml"))
    for number in ("9" * 5000, "--5", "\u00b2", "1_0", ""):
        for words in (
            ["model", "check", "m.toml", "--option", f"n={number}"],
            ["tools", "systolic", "assemble", "a.asm", "--set", f"n={number}"],
            ["tools", "info", f"n-four-bar:n={number}"],
        ):
            assert main(words) == 2, words
            told = capsys.readouterr()
            assert "Traceback" not in told.err + told.out
            assert 0 < len(told.err) < 400
    for said in ("9" * 5000, "\u00b2"):
        with pytest.raises(InputError):
            choice(("define", "quit"))(said)


def test_a_pipe_is_no_file_of_tasks_and_no_recording(tmp_path: Path) -> None:
    for name, read in (("f.py", load_tasks), ("f.csv", read_recording)):
        os.mkfifo(tmp_path / name)
        with pytest.raises(InputError, match="no such file"):
            read(tmp_path / name)


def test_values_that_are_nested_deeply_are_told_in_a_few_words() -> None:
    deep: object = 1
    for _ in range(5000):
        deep = [deep, {"a": (deep,)}] if _ % 100 == 0 else [deep]
    assert len(brief(deep)) < 2000
    with pytest.raises(ValueError, match="too deeply"):
        parse_json("[" * 100_000)
    with pytest.raises(InputError, match="CSV"):
        csv_rows("a," + "1" * 140_000, "t.csv")


def test_every_decoder_is_in_the_battery() -> None:
    assert {n for n, one in READERS.items() if isinstance(one, Decoder)} >= {"greeting", "rotctl"}
