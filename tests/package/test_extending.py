"""Each section of the page on extending adds its thing and finds it in use."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from linkwright.algebra import functions
from linkwright.backends import kernel
from linkwright.cli import commands
from linkwright.formats.robot import files as robot_files
from linkwright.lab.drivers import links
from linkwright.mechanism import joint_kinds
from linkwright.recording import files as recording_files
from linkwright.server import verbs
from linkwright.simulation.native import methods, schedule
from linkwright.studio import server

PAGE = Path(__file__).resolve().parents[2] / "docs" / "extending.md"
REGISTRIES: tuple[dict[str, Any], ...] = (
    functions.WRITTEN_FUNCTIONS,
    joint_kinds.JOINTS,
    kernel.BACKENDS,
    commands.COMMANDS,
    robot_files.FORMATS,
    recording_files.FORMATS,
    methods.METHODS,
    schedule.TABLEAUX,
    server.PANELS,
    verbs.VERBS,
    links.LINKS,
)
SECTIONS = {
    part.partition("\n")[0]: re.findall(r"```python\n(.*?)```", part, re.DOTALL)
    for part in PAGE.read_text().split("\n## ")[1:]
}
WITH_CODE = [title for title, blocks in SECTIONS.items() if blocks]


def test_the_page_has_a_section_with_code_for_each_kind_of_thing() -> None:
    wanted = "joint element tire controller motion integrator solver format recording backend panel"
    for word in (*wanted.split(), "command", "verb", "link", "function"):
        assert any(word in title for title in WITH_CODE), word


@pytest.mark.parametrize("title", WITH_CODE)
def test_the_code_of_a_section_does_what_it_says(
    title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    before = [dict(registry) for registry in REGISTRIES]
    try:
        for block in SECTIONS[title]:
            name = re.match(r"# (\w+\.py)\n", block)
            if name:
                (tmp_path / name[1]).write_text(block)
            else:
                (tmp_path / "section.py").write_text(block)
                runpy.run_path(str(tmp_path / "section.py"))
        if title == "A panel":
            check_panel()
    finally:
        for registry, held in zip(REGISTRIES, before, strict=True):
            registry.clear()
            registry.update(held)


def check_panel() -> None:
    """Call the panel as the studio does."""
    said: list[str] = []
    tabs: list[str] = []

    @contextmanager
    def add_tab(name: str) -> Iterator[None]:
        tabs.append(name)
        yield

    studio = SimpleNamespace(
        tracks=[None, None],
        server=SimpleNamespace(gui=SimpleNamespace(add_markdown=said.append)),
    )
    home = server.PANELS["Count"].partition(":")
    add = getattr(__import__(home[0]), home[2])
    add(studio, SimpleNamespace(add_tab=add_tab), "Count")
    assert (tabs, said) == (["Count"], ["2 open"])
