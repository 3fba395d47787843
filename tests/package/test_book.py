"""Tutorials and how-tos: each page runs as its reader would run it, and is easy to read.

A page is one test: all of its files, programs and commands, in order, in an empty folder
(`scripts.page_reader`). Most of them run in `make test-rest`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.page_reader import DOCS, PageError, Reader, Step, read_along, steps
from scripts.reading_grade import pages, reading_grade
from tests.seeds import cases

TUTORIALS = sorted(p for p in (DOCS / "tutorials").glob("*.md") if p.stem != "index")
HOW_TO = sorted(p for p in (DOCS / "how-to").glob("*.md") if p.stem != "index")
CHEAP = {"close-a-loop", "stop-a-run-at-an-event", "add-a-tire"}
PAGES = cases(
    [*TUTORIALS, *HOW_TO, DOCS / "coming-from.md"], daily=[p for p in HOW_TO if p.stem in CHEAP]
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_every_step_of_the_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINKWRIGHT_RUNTIME_DIR", str(tmp_path / "runtime"))
    (tmp_path / "page").mkdir()
    read_along(page, tmp_path / "page")


def test_there_is_a_tutorial_for_each_reader_and_a_page_for_many_tasks() -> None:
    assert len(TUTORIALS) == 9
    assert len(HOW_TO) >= 40
    for page in TUTORIALS:
        text = page.read_text("utf-8")
        assert "pip install" in text, page
        assert re.search(r"!\[[^\]]+\]\(\.\./pictures/", text), page
        assert "\n## Where to go next\n" in text, page


def test_coming_from_has_a_section_for_each_tool_with_both_codes() -> None:
    page = (DOCS / "coming-from.md").read_text("utf-8")
    sections = {part.partition("\n")[0]: part for part in page.split("\n## ")[1:]}
    for tool in (
        "SymPy",
        "Pinocchio",
        "MuJoCo",
        "Drake",
        "Robotics",
        "Exudyn",
        "SL",
        "ROS",
        "CarSim",
    ):
        (text,) = (text for title, text in sections.items() if title.startswith(tool))
        assert "\n| " in text, tool
        assert "\nThere" in text or "there:\n" in text, tool
        assert "\n>>> " in text, tool
        assert "\nNot here: " in text, tool
    assert "\n>>> " in sections["Simscape Multibody"]


def test_lists_of_tutorials_and_how_tos_name_every_page() -> None:
    for folder in (TUTORIALS, HOW_TO):
        text = (folder[0].parent / "index.md").read_text("utf-8")
        assert [p.name for p in folder if f"]({p.name})" not in text] == []
        assert [p.stem for p in folder if f"\n{p.stem}\n" not in text] == []


def test_how_tos_are_short_and_have_code() -> None:
    for page in HOW_TO:
        text = page.read_text("utf-8")
        prose = re.sub(r"(?ms)^```.*?^```$", "", text)
        assert 8 <= len(prose.splitlines()) <= 70, page
        assert any(
            step.language in ("python", "sh") and step.more != "skip" for step in steps(page)
        )


def test_tutorials_and_how_tos_are_easy_to_read() -> None:
    hard = {p.stem: round(reading_grade(p.read_text("utf-8")), 1) for p in pages()}
    assert {name: grade for name, grade in hard.items() if grade > 9.0} == {}


def test_the_grade_rises_with_words_and_sentences() -> None:
    easy = "The arm goes up. It stops at the top."
    hard = (
        "The configuration of the manipulator, considering its redundant architecture, is "
        "continuously determined by minimization of an appropriately regularized criterion."
    )
    assert reading_grade(easy) < 1 < 15 < reading_grade(hard)


def test_a_step_that_does_not_do_what_the_page_says_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n```sh\nlinkwright model check no.toml\n```\n")
    with pytest.raises(PageError, match=r"page\.md:4: .*ends with 2"):
        read_along(page, tmp_path)
    page.write_text("# Page\n\n```python\n>>> 1 + 1\n3\n```\n")
    with pytest.raises(PageError, match=r"page\.md:4"):
        read_along(page, tmp_path)
    reader = Reader(page, printed="one\ntwo  words\nthree\n")
    reader.do(Step("text", "", "one\n...\nthree\n", 1))
    with pytest.raises(PageError, match="wanted"):
        reader.do(Step("text", "", "three\none\n", 1))
