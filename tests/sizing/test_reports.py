"""Reports of requirements: one file that opens offline, with the numbers of the tables."""

from __future__ import annotations

import html
import re
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.cli import main
from linkwright.motion import Dwell, Move
from linkwright.recording.document import (
    digits,
    document,
    facts,
    heading,
    paragraph,
    table,
    typeset,
    verdict,
)
from linkwright.sizing.choice import Sizing
from linkwright.sizing.requirements import Requirement
from tests.seeds import seldom
from tests.support.chromium import opened
from tests.support.shared import robot

TASK = """
format = 1
name = "reach"
[[part]]
kind = "move"
to = {q2 = "30 deg", q3 = "-20 deg"}
duration = 0.5
"""


@cache
def need(fast: bool = False) -> Requirement:
    """What a PUMA needs to reach out and come back."""
    arm = robot("puma560")
    out, back = (Move({"q1": a, "q2": a / 2}, 0.2 if fast else 0.8) for a in (0.8, 0.0))
    task = lw.Task([out, Dwell(0.2), back], name="reach & return")
    return lw.sizing.require(arm, task, payload=1.0, step=0.01, limits={"q1": {"speed": 2.5}})


@cache
def found() -> Sizing:
    """The drives for it."""
    return lw.sizing.size(need())


@cache
def report(fast: bool = False) -> str:
    """The report of it, without the player."""
    with tempfile.TemporaryDirectory() as folder:
        size = need(fast).report(f"{folder}/need.html", motion=False)
        page = Path(f"{folder}/need.html").read_text(encoding="utf-8")
    assert size == len(page.encode())
    return page


def _cells(page: str) -> list[list[str]]:
    """Return the rows of all tables of a page, tags taken away."""
    rows = re.findall(r"<tr>(.*?)</tr>", page, re.S)
    return [[html.unescape(c) for c in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", r)] for r in rows]


def test_a_report_has_the_numbers_of_the_requirement() -> None:
    rows = _cells(report())
    for quantities in (("speed", "acceleration"), ("torque", "power"), ("force", "moment")):
        for joint in need().joints:
            wanted = [joint.name]
            for q in quantities:
                s = need().statistic(joint.name, q)
                wanted += [digits(s.peak), digits(s.time), digits(s.rms), typeset(s.unit)]
                if q == "speed":  # the one that is limited, of one joint
                    wanted.append(f"{abs(s.peak) / 2.5:.0%}" if joint.name == "q1" else "")
            assert wanted in rows
    power = need().values("q2", "power")
    net = np.trapezoid(power, need().times)
    (energy,) = [r for r in rows if len(r) == 4 and r[0] == "q2"]
    assert float(energy[3]) == pytest.approx(net, rel=1e-3)
    assert float(energy[1]) - float(energy[2]) == pytest.approx(net, abs=1e-3 * float(energy[1]))
    assert "<h1>reach &amp; return · puma560</h1>" in report()


def test_the_verdict_stands_first_and_says_what_is_exceeded() -> None:
    good, bad = report(), report(fast=True)
    assert re.search(r'</h1><p class="verdict good">All \d+ limits of the robot are kept', good)
    assert re.search(r'</h1><p class="verdict bad">Limits exceeded: 1 of 1\.', bad)
    assert need(fast=True).excesses  # both ways
    for e in need(fast=True).excesses:
        assert [e.joint, e.quantity, digits(e.value)] in [r[:3] for r in _cells(bad)]


def test_a_report_without_limits_does_not_say_that_they_are_kept(tmp_path: Path) -> None:
    arm = robot("puma560")
    free = lw.sizing.require(arm, lw.Task([Move({"q1": 0.1}, 1.0)]), step=0.1, dynamics=False)
    free.report(tmp_path / "free.html", motion=False)
    page = (tmp_path / "free.html").read_text(encoding="utf-8")
    assert "no limits that could be checked" in page
    assert "torque" not in page
    assert "verdict good" not in page


@seldom(daily="test_a_report_has_the_numbers_of_the_requirement")
def test_drives_their_verdicts_and_the_ranking_are_in_the_report(tmp_path: Path) -> None:
    worst = need().worst(payload=lw.Payload(up_to=1.0, box=(0.1, 0.1, 0.1)))
    budget = found().error_budget("tool")
    torque = 3.0 * np.sin(need().times)
    run = lw.Recording(
        need().times,
        [lw.Channel("q1", "rad"), lw.Channel("q1_drive.train.torque", "N*m")],
        np.array([need()["q1"] + 0.001, torque]).T,
    )
    page = tmp_path / "drives.html"
    need().report(page, found(), run, worst=worst, budget=budget, motion=False)
    rows = _cells(page.read_text(encoding="utf-8"))
    for joint, choice in found().chosen.items():
        assert [joint, choice.motor, choice.gear] in [r[:3] for r in rows]
        why = found().why(choice.motor, joint, choice.gear)
        for v in why.verdicts:
            assert [v.name, digits(v.value), digits(v.limit), typeset(v.unit)] in [
                r[:4] for r in rows
            ]
        for other in found().ranked(joint, 5)[1:]:
            assert [other.motor, other.gear] in [r[:2] for r in rows]
    assert ["q1", "0.001"] in [r[:2] for r in rows]
    asked, gear = need().statistic("q1", "torque"), found().catalog.gear[found().chosen["q1"].gear]
    (peak,) = [r for r in rows if len(r) == 8 and r[:2] == ["q1", digits(asked.peak)]]
    assert peak[2] == digits(torque.max())
    assert peak[4:6] == [digits(gear.repeated), digits(gear.momentary)]
    for c in worst.cases:
        assert [c.joint, c.quantity, digits(c.value), typeset(c.unit)] in [r[:4] for r in rows]
    for name, most, root in zip(budget.outputs, budget.worst, budget.root_of_squares, strict=True):
        assert [name, digits(most), digits(root)] in rows
    assert [digits(x) for x in (found().bus.energy, found().bus.regenerated)] in [
        r[:2] for r in rows
    ]


@pytest.mark.parametrize("made", [heading, paragraph, lambda t: verdict(True, t)])
def test_words_are_escaped(made: object) -> None:
    assert callable(made)
    bad = "<script>alert(1)</script>"
    everything = [made(bad), table([bad], [[bad]]), facts([(bad, bad)])]
    assert "<script" not in document(bad, everything)


def test_the_command_writes_a_report_and_refuses_another_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task, out = tmp_path / "reach.toml", tmp_path / "reach.html"
    task.write_text(TASK, encoding="utf-8")
    told = ["analyze", "require", "puma560", str(task), "--step", "0.1", "--no-dynamics"]
    assert main([*told, "-o", str(out)]) == 0
    assert "reach" in capsys.readouterr().out
    assert out.read_text(encoding="utf-8").endswith("</html>\n")
    assert main([*told, "-o", str(tmp_path / "reach.doc")]) == 2
    assert "[R807]" in capsys.readouterr().err
    assert not (tmp_path / "reach.doc").exists()


@seldom(daily="test_a_report_has_the_numbers_of_the_requirement")
def test_a_report_opens_offline_moves_and_prints(tmp_path: Path) -> None:
    file = tmp_path / "whole.html"
    run = lw.Recording(need().times, [lw.Channel("q1", "rad")], need()["q1"])
    worst = need().worst(payload=lw.Payload(up_to=1.0, box=(0.1, 0.1, 0.1)))
    budget = found().error_budget("tool")
    assert need().report(file, found(), run, worst=worst, budget=budget) < 1_900_000
    with opened(file, offline=True) as (page, wrong):
        assert page.locator("h1").text_content() == "reach & return · puma560"
        inner = page.frame_locator("iframe")
        inner.locator("canvas").first.wait_for()
        assert page.locator("figure svg").count() == 2
        size = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert size[0] <= size[1]
        printed = page.pdf(format="A4")
        assert printed.startswith(b"%PDF")
        assert len(re.findall(rb"/Type\s*/Page\b", printed)) >= 2
        assert wrong == []


def test_any_channel_is_drawn_over_any_other_from_both_kinds_of_analysis() -> None:
    """Check 46: of a requirement, and of a drive."""
    drive = lw.simulate("joint-drive", until=0.1)
    one, other = drive.recording.names[:2]
    for found, y, x in ((need(), "q2.torque", "q2"), (drive, one, other)):
        recording = found.recording
        (ax,) = found.plot(y, vs=x).axes
        (line,) = ax.lines
        assert np.array_equal(np.asarray(line.get_xdata()), recording[x])
        assert np.array_equal(np.asarray(line.get_ydata()), recording[y])


@seldom(daily="test_the_verdict_stands_first_and_says_what_is_exceeded")
def test_a_supply_that_is_too_weak_is_told_at_the_top(tmp_path: Path) -> None:
    """Every joint has a drive, and all together are more than the supply gives."""
    book = lw.sizing.read_catalog("generic")
    weak = {n: s.model_copy(update={"peak": 1.0}) for n, s in book.supply.items()}
    short = lw.sizing.size(need(), book.model_copy(update={"supply": weak}))
    assert short.bus.margin < 0
    need().report(tmp_path / "short.html", short, motion=False)
    top = (tmp_path / "short.html").read_text(encoding="utf-8").partition("<h2>")[0]
    assert "The supply does not carry all drives together: supply peak" in top
    assert 'class="verdict bad"' in top
