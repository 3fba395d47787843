"""What commands print: nothing that steers the terminal, and help pages as they were written."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path

import pytest

from linkwright.cli import main
from linkwright.cli.commands import COMMANDS, load
from linkwright.cli.terminal import harmless
from linkwright.recording import Channel, Recording
from linkwright.recording.journal import Journal

EVIL = "\\u001b]0;owned\\u0007\\u202egnp\\u009b2J"
RAW = tomllib.loads(f'x = "{EVIL}"')["x"]
MODEL = f"""format = 1
name = "m"
doc = "{EVIL}"

[parameters]
L = {{ value = 1, unit = "m", doc = "{EVIL}" }}

[[body]]
name = "b"
rotate = "z"
mass = 1
com = ["L", 0, 0]
inertia = 1
doc = "{EVIL}"

[[moment]]
name = "drive"
magnitude = "L - b_dot"
on = "b"
about = "z"
doc = "{EVIL}"

[[output]]
name = "speed {EVIL}"
value = "b_dot"
doc = "{EVIL}"
"""
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize(
    "words",
    [
        ["model", "describe", "m.toml", "--equations"],
        ["model", "check", "m.toml"],
        ["simulate", "m.toml", "--until", "0.01", "-o", "run.npz"],
        ["simulate", f"m{RAW}.toml"],
        ["simulate", "m.toml", "--set", f"{RAW}=1"],
        ["tools", "info", "evil.npz"],
        ["plot", "evil.npz", "--list"],
        ["plot", "evil.npz", "--terminal"],
        ["plot", "evil.npz", RAW],
        ["model", "convert", "m.toml", "m.urdf"],
        ["analyze", "linearize", "m.toml"],
        ["analyze", "ops", "m.toml"],
        ["tools", "recover", "evil.csv.journal"],
        ["rerun", "evil.npz"],
        ["codegen", "m.toml", "c", "--out", "there"],
        ["page", "m.toml", "--until", "0.01", "-o", "m.html"],
        ["sweep", "s.toml"],
    ],
    ids=lambda words: " ".join(words).replace(RAW, "EVIL"),
)
def test_text_of_files_does_not_steer_the_terminal(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.toml").write_text(MODEL)
    Path("s.toml").write_text(f'model = "m.toml"\nuntil = 1.0\n[parameters]\n"{EVIL}" = 1')
    channels = [Channel(f"x{RAW}", f"m{RAW}", f"long {RAW}", RAW, RAW)]
    Recording([0, 1], channels, [[1], [2]], {"model": RAW, "title": RAW}).save("evil.npz")
    with Journal("evil.csv.journal", channels, {"model": RAW}) as journal:
        journal.append([0], [[1]])
    main(words)
    said = capsys.readouterr()
    assert said.out + said.err
    assert not STEERING.findall(said.out + said.err)


def test_what_is_harmless_stays_as_it_is() -> None:
    text = "plain, \t tabs,\nlines, μ, 速度, ┤⠀⡠ and 1e-3"
    assert harmless(text) == text
    assert not STEERING.findall(harmless(RAW))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_pages_keep_their_brackets(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([*name.split(), "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    written = inspect.getdoc(load(name)) or ""
    for piece in re.findall(r"\[[a-z][a-z0-9_.]*\]", written):
        assert piece in shown
    assert "\\[" not in shown
