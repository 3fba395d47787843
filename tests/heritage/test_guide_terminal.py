"""The dialogue for real: in pseudo-terminals and pipes, and when it is broken off."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.cli import main
from linkwright.heritage.dialogue.session import hold
from linkwright.models.library import model_text
from linkwright.robots import Robot
from tests.seeds import cases, seldom
from tests.support.guide_answers import REF6, GivenLines, created
from tests.support.processes import Begin, begin
from tests.support.pseudo_terminal import terminal

__all__ = ["begin"]

V2 = [20.0, 40.0, 50.0, -30.0, 25.0, 15.0]
TOOL = [-23.2368409096, 52.5128722288, -51.4861643659]
SHORT = created(REF6[:1])


def tool_of(file: Path) -> list[float]:
    pose = Robot(lw.load(file)).pose(np.radians(V2), "tool")
    return [float(x) for x in pose[:3, 3] / 0.0254]


@seldom(daily="test_a_model_is_made_in_a_terminal_that_can_do_nothing")
def test_v2_ref6_through_a_pipe(tmp_path: Path, begin: Begin) -> None:
    file = tmp_path / "ref6.toml"
    process = begin("tools", "guide", str(file), stdin=-1)
    out, err = process.communicate("\n".join(created()) + "\n", timeout=120)
    assert (process.returncode, err) == (0, "")
    assert "1 define, 2 analyze, 3 postprocess, 4 quit: define\n" in out
    np.testing.assert_allclose(tool_of(file), TOOL, atol=1e-8)
    assert [p.name for p in tmp_path.iterdir()] == ["ref6.toml"]


def test_a_model_is_made_in_a_terminal_that_can_do_nothing(tmp_path: Path) -> None:
    words = ["tools", "guide", "arm.toml", "--transcript", "told.txt"]
    with terminal(words, tmp_path, "dumb") as screen:
        screen.wait_for("4 quit:")
        screen.type("nonsense")
        screen.wait_for("[R105]")
        screen.type(*SHORT)
        assert screen.ended() == 0
        assert "\x1b" not in screen.shown
    made = (tmp_path / "arm.toml").read_bytes()
    assert lw.load(tmp_path / "arm.toml").bodies.keys() == {"base", "waist"}
    again = tmp_path / "again.toml"
    assert main(["tools", "guide", str(again), "--replay", str(tmp_path / "told.txt")]) == 0
    assert again.read_bytes() == made


@seldom(daily="test_a_model_is_made_in_a_terminal_that_can_do_nothing")
def test_v2_from_its_file_in_a_terminal(tmp_path: Path) -> None:
    """80 by 24, with prompt_toolkit."""
    file = tmp_path / "ref6.toml"
    text = model_text("ref6", "ref6")
    file.write_text(text.replace('at = ["24 in", 0, 0]', 'at = ["20 in", 0, 0]  # too short'))
    change = ["define", "modify", "keep", "link", "pitch", "location", "24 in, 0, 0", "yes"]
    with terminal(["tools", "guide", "ref6.toml"], tmp_path) as screen:
        screen.type(*change, "done", "yes", "quit")
        assert screen.ended() == 0
        assert "\x1b[" in screen.shown
    np.testing.assert_allclose(tool_of(file), TOOL, atol=1e-8)
    assert file.read_text() == text.replace(
        'at = ["24 in", 0, 0]', 'at = ["24 in", 0, 0]  # too short'
    )


BREAKS = {
    "Ctrl-C": (3, "what it is", 130),
    "Ctrl-D": (3, "what it is", 2),
    "hang-up": (3, "what it is", 129),
    "kill -9": (12, "mass, kg", -signal.SIGKILL),
}
"""Answers that are given before, what is asked then, and the exit code."""


@pytest.mark.parametrize("how", cases(BREAKS, daily=["Ctrl-C", "kill -9"]))
def test_what_breaks_off_leaves_the_file_and_a_draft_to_resume(tmp_path: Path, how: str) -> None:
    file, draft = tmp_path / "arm.toml", tmp_path / "arm.draft.txt"
    file.write_text("format = 1\nname = 'before'\n")
    count, asked, code = BREAKS[how]
    with terminal(["tools", "guide", "arm.toml"], tmp_path) as screen:
        screen.type(*SHORT[:count])
        screen.wait_until(lambda: draft.is_file() and draft.read_text().count("\n") == count + 1)
        screen.wait_for(asked)
        if how == "Ctrl-C":
            screen.type("half an ans", end="\x03")
        elif how == "Ctrl-D":
            screen.type("", end="\x04")
        elif how == "hang-up":
            screen.hang_up()
        else:
            os.kill(screen.process.pid, signal.SIGKILL)
        found = screen.process.wait(30) if how == "hang-up" else screen.ended()
        assert found == code or (how == "hang-up" and found == 130)
        assert ("[R117]" in screen.plain) == (how == "Ctrl-D")
    assert file.read_text() == "format = 1\nname = 'before'\n"
    assert draft.read_text().splitlines()[1:] == SHORT[:count]
    lines = GivenLines(["yes", *SHORT[count:]])
    hold(file, lines=lines, say=lambda _: None, command=main)
    assert not lines.lines
    assert not draft.exists()
    assert lw.load(file).bodies.keys() == {"base", "waist"}
    assert file.with_name("arm.toml.bak").read_text() == "format = 1\nname = 'before'\n"
