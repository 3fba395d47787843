"""Figures and tables of the five documents: each entry runs, agrees with its numbers, is drawn."""

from __future__ import annotations

import csv
import io
import json
import math
from functools import cache
from pathlib import Path

import pytest

from linkwright.cli import main
from linkwright.reproduce.catalog import DOCUMENTS, figures
from linkwright.reproduce.drawing import figure
from linkwright.reproduce.page import page, summary, tally, write
from linkwright.reproduce.reproduction import Check, DataTable, Listing, Panel, Reproduction, checks
from tests.seeds import cases

MADE = [name for name, told in figures().items() if told.made_by]
DAILY = [name for name in MADE if not figures()[name].slow]


@cache
def made(name: str) -> Reproduction:
    """Make a figure once."""
    return figures()[name].reproduce()


@pytest.mark.parametrize("name", cases(MADE, daily=DAILY))
def test_a_figure_agrees_with_its_document(name: str) -> None:
    """Every number to a half of its last printed digit, or to what its entry says and why."""
    found = made(name)
    assert found.checks
    assert [check.shown() for check in found.checks if not check.holds] == []
    assert [c.what for c in found.checks if c.wide and not c.why] == []
    corrected = [c for c in found.checks if c.corrected]
    assert [c.what for c in corrected if c.corrected == c.printed] == []
    assert all(c.why for c in corrected) or any(c.why for c in corrected)


@pytest.mark.parametrize("name", cases(MADE, daily=DAILY[::5]))
def test_a_figure_is_drawn_with_its_data(name: str, tmp_path: Path) -> None:
    found = made(name)
    drawing = figure(found)
    assert len(drawing.axes) == len(found.parts)
    for axes, part in zip(drawing.axes, found.parts, strict=True):
        if isinstance(part, Panel):
            assert len(axes.get_lines()) == len(part.curves) > 0
            assert all(len(c.x) == len(c.y) > 0 for c in part.curves)
            assert any(math.isfinite(y) for c in part.curves for y in c.y)
            assert part.x_label or part.equal
        elif isinstance(part, DataTable):
            assert part.cells
            assert {len(row) for row in part.cells} == {len(part.columns)}
        else:
            assert part.text.strip()
    written = write(tmp_path, figures()[name], found)
    assert all(path.stat().st_size for path in written)
    told = json.loads((tmp_path / f"{name}.json").read_text())
    assert (told["name"], told["agrees"]) == (name, True)
    for ending, text in found.data_files().items():
        if ending.endswith(".csv"):
            rows = list(csv.reader(io.StringIO(text)))
            assert len(rows) > 1
            assert len({len(row) for row in rows}) == 1


def test_all_figures_of_the_documents_are_listed_made_or_with_a_reason() -> None:
    """105 of them: what is not made says why, and no entry is made by nothing."""
    listed = figures()
    assert len(listed) == 105
    assert {name.partition("-")[0] for name in listed} == set(DOCUMENTS)
    for told in listed.values():
        assert told.title[0].isupper()
        assert bool(told.made_by) != bool(told.not_yet), told.name
        assert not told.not_yet or told.not_yet.endswith(".")
    places = [told.made_by for told in listed.values() if told.made_by]
    assert len(set(places)) == len(places)


@pytest.mark.parametrize(
    ("check", "holds"),
    [
        (Check("x", "0.5635", 0.56347), True),
        (Check("x", "0.5635", 0.5636), False),
        (Check("x", "0.5635", 0.5636, corrected="0.5636"), True),
        (Check("x", "12", 12.6), False),
        (Check("x", "-3e-2", -0.026), True),
        (Check("x", "100", 60, at_most=True), True),
        (Check("x", "100", 101, at_most=True), False),
        (Check("x", "1.0", math.nan), False),
        (Check("x", "100", -math.inf, at_most=True), False),
        (Check("x", "1.00", 1.2, within=0.3), True),
    ],
)
def test_a_number_agrees_to_a_half_of_its_last_digit(check: Check, holds: bool) -> None:
    assert check.holds == holds
    assert check.shown()[5] == ("yes" if holds else "NO")


def test_a_row_of_numbers_has_as_many_as_are_printed() -> None:
    assert [c.what for c in checks("u", "1.0 2.0", [1, 2])] == ["u 1", "u 2"]
    with pytest.raises(ValueError, match="zip"):
        checks("u", "1.0 2.0", [1.0])


def test_a_page_shows_what_agrees_what_does_not_and_what_is_missing() -> None:
    told = [figures()[DAILY[0]], next(f for f in figures().values() if f.not_yet)]
    wrong = Reproduction([Listing("as printed", "a <title>")], [Check("x", "1.0", 2.0)])
    text = page({told[0].name: wrong}, told)
    assert "1 of 2 figures and tables made; 0 agree" in text
    assert "NO" in text
    assert told[1].not_yet in text
    assert "<svg" in text
    assert "a <title>" not in text
    numbers = [
        Check("a", "1.0", 1.0),
        Check("b", "1.0", 1.2, within=0.3, why="read off"),
        Check("c", "1.0", 1.0, recomputed=True),
        Check("d", "9", 3, at_most=True),
    ]
    words = tally(numbers)
    assert "2 of them are printed in the documents: 1 are compared to a half" in words
    assert "1 less closely" in words
    assert "1 are bounds" in words
    assert numbers[1].note == "read off; within 0.3"
    good = Reproduction([Listing("as printed")], [Check("x", "1.0", 1.0)])
    assert summary({told[0].name: good}, told).startswith("1 of 2 figures and tables made; 1 agree")


def test_the_command_lists_makes_and_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce"]) == 0
    listed = capsys.readouterr()
    assert listed.err == ""  # the short name is no old one
    assert all(name in listed.out for name in figures())
    assert f"{len(MADE)} of 105 can be made" in listed.out
    folder = tmp_path / "out"
    assert main(["tools", "reproduce", "server-a4-cost", "-o", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "0.555" in shown
    assert {p.suffix for p in folder.iterdir()} == {".svg", ".csv", ".json"}
    assert main(["reproduce", "server-a4-cost", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told["numbers"][0]["printed"] == "148"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["server-a4-cst"], "did you mean server-a4-cost"),
        (["nothing-alike-at-all-xyz"], "`linkwright tools reproduce` lists them"),
        (["--all", "server-a4-cost"], "leave the names out"),
        (["-o", "out"], "name a figure, or give --all"),
        (["server-a4-cost", "--force", "-o", __file__], "this is a file; name a folder"),
    ],
)
def test_what_cannot_be_made_is_told_in_one_line(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", *words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert told in said.err
    assert said.err.count("\n") == 1


def test_what_is_not_made_yet_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    later = next(f for f in figures().values() if f.not_yet)
    assert main(["reproduce", later.name]) == 2
    assert later.not_yet.rstrip(".") in capsys.readouterr().err


def test_long_text_of_a_table_stays_in_its_column() -> None:
    """With room to spare: a browser's own serif letters are a little wider."""
    rows = [("AUTOSIM, using full, nonlinear formulation", 628, 791), ("short", 442, 514)]
    head = ("Source", "adds and subtracts", "multiplies, divides, and function calls")
    drawing = figure(Reproduction([DataTable(head, rows)], [Check("x", "1", 1.0)]))
    drawing.canvas.draw()
    cells = drawing.axes[0].tables[0].get_celld()
    for (row, column), cell in cells.items():
        text = cell.get_text().get_window_extent()
        room = cell.get_window_extent()
        assert text.x1 <= room.x1 - 0.05 * room.width, (row, column)
