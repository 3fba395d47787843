"""The page on the house draws the imports as they are, and its walks go where it says."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import grimp
import numpy as np
import pytest

import linkwright as lw
from linkwright.cli import main
from linkwright.server.cell_file import read_cell
from linkwright.server.face import Command
from linkwright.server.virtual import VirtualCell
from scripts.architecture import PAGE, imports, parts, picture, rooms
from tests.seeds import cases


def simulate_a_text_model(folder: Path) -> None:
    main(["simulate", "pendulum", "--until", "0.1", "-o", str(folder / "run.parquet"), "--quiet"])


def ask_for_inverse_dynamics(folder: Path) -> None:
    robot = lw.load("tests/robots/gripper.urdf")
    robot.inverse_dynamics(*np.zeros((3, len(robot.speeds))))


def command_an_arm(folder: Path) -> None:
    cell = VirtualCell(read_cell("axes2"))
    cell.advance(10)
    cell.command("plane", Command("enable", 1, ()))
    cell.advance(120)
    cell.command("plane", Command("joints", 2, (0.1, 0.1)))
    cell.advance(10)
    assert cell.latest().values["plane.taken"] == 2


_WAVE = """
from linkwright.lab import Task, sin

class Wave(Task):
    def run(self, t, state, desired):
        desired.q = 0.01 * sin(t)
"""


def run_a_task(folder: Path) -> None:
    (folder / "wave.py").write_text(_WAVE, encoding="utf-8")
    with lw.Lab("double-pendulum") as lab:
        lab.add(folder / "wave.py")
        lab.do("st wave")
        lab.do("run 0.1")


def chart_a_mount(folder: Path) -> None:
    axes = {"azimuth": (-1.5, 1.5, 5), "zenith": (0.2, 1.0, 5)}
    lw.parallel.chart("agile-eye", axes, of=["reach"])


WALKS: dict[str, Callable[[Path], None]] = {
    "A text model becomes a recording": simulate_a_text_model,
    "A robot file becomes inverse dynamics": ask_for_inverse_dynamics,
    "A command moves an arm of a cell": command_an_arm,
    "A task drives a laboratory": run_a_task,
    "A mount becomes a chart": chart_a_mount,
}
"""The headings of the page's walks, and what takes each."""


def hops(heading: str) -> list[str]:
    """Return the functions of a walk, in the order of the page."""
    part = PAGE.read_text(encoding="utf-8").split(f"### {heading}\n", 1)[1].split("\n### ", 1)[0]
    return re.findall(r"^\d+\. `([\w.]+:[\w.]+)`", part, re.MULTILINE)


def called(run: Callable[[Path], None], folder: Path) -> list[str]:
    """Return our functions in the order of their first calls."""
    seen: dict[str, None] = {}

    def look(frame: FrameType, event: str, argument: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("linkwright."):
            seen.setdefault(f"{module.removeprefix('linkwright.')}:{frame.f_code.co_qualname}")

    sys.setprofile(look)
    try:
        run(folder)
    finally:
        sys.setprofile(None)
    return list(seen)


def test_the_picture_is_the_graph_of_imports() -> None:
    """`python -m scripts.architecture` draws it anew."""
    pairs = imports(grimp.build_graph("linkwright", cache_dir=None))
    assert parts()[1] == picture(pairs)
    order = rooms()
    assert all(order.index(a) < order.index(b) for a, b in pairs)


@pytest.mark.parametrize("heading", cases(WALKS, daily=list(WALKS)[:2]))
def test_a_walk_goes_where_the_page_says(
    heading: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From an empty cache, each function of the page is first called after the one before it."""
    tmp_path.chmod(0o700)
    monkeypatch.setenv("LINKWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    taken, wanted = called(WALKS[heading], tmp_path), hops(heading)
    assert len(wanted) >= 5
    assert [name for name in wanted if name not in taken] == []
    assert sorted(wanted, key=taken.index) == wanted
