"""A file format is one record: what reads, writes, names and runs its files follows from it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import linkwright as lw
from linkwright.base.files import read_text
from linkwright.cli import main
from linkwright.formats.robot.description import (
    Description,
    Link,
    LinkJoint,
    Mass,
    WrittenDescription,
)
from linkwright.formats.robot.files import FORMATS, RobotFormat, is_whole, robot_format
from linkwright.models import load_model
from linkwright.models.sources import source_of


def read_rod(path: os.PathLike[str], *, roots: tuple[Path, ...] = ()) -> Description:
    """Return a rod on a hinge whose mass and length stand in a file."""
    mass, length = map(float, read_text(path, 100).split())
    links = Link("base"), Link("rod", Mass(mass, (length / 2, 0.0, 0.0)))
    hinge = LinkJoint("hinge", "revolute", "base", "rod", axis=(0.0, 1.0, 0.0))
    return Description("rod", links, (hinge,), source=str(path))


def rod_text(robot: Description) -> WrittenDescription:
    """Return the text of a rod."""
    mass = robot.link("rod").mass
    assert mass is not None
    return WrittenDescription(f"{mass.mass} {2 * mass.center[0]}\n")


def test_a_format_added_in_one_line_is_known_to_every_door(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rod = RobotFormat("rod", (".rod",), read_rod, rod_text, refers=None)
    monkeypatch.setitem(FORMATS, "rod", rod)
    file = tmp_path / "a.rod"
    file.write_text("2 1\n")
    assert robot_format(file) == "rod"
    assert list(load_model(file).coordinates) == ["hinge"]
    assert load_model(file).provenance is not None
    assert lw.load(file).inverse_dynamics([0.0], [0.0], [0.0]) == pytest.approx([-9.81])
    before = source_of(str(file))
    assert before.known
    file.write_text("4 1\n")
    assert source_of(str(file)).digest != before.digest
    assert main(["model", "convert", str(file), str(tmp_path / "a.urdf")]) == 0
    assert main(["model", "convert", str(tmp_path / "a.urdf"), str(tmp_path / "b.rod")]) == 0
    assert (tmp_path / "b.rod").read_text().split() == ["4.0", "1.0"]
    runs = []
    for mass in (4, 8):
        file.write_text(f"{mass} 1\n")
        out = tmp_path / f"{mass}.csv"
        command = ["simulate", str(file), "--until", "0.1", "--out", str(out)]
        assert main(command) == 0
        runs.append(lw.load(out)["energy.potential"][-1])
    assert runs[1] == pytest.approx(2 * runs[0])
    capsys.readouterr()
    assert main(["plot", str(file), "hinge"]) == 2
    assert "is a model" in capsys.readouterr().err


def test_a_file_that_takes_in_others_does_not_stand_for_itself(tmp_path: Path) -> None:
    for name, text, whole in (
        ("a.urdf", "<robot name='a'/>", True),
        ("a.toml", "format = 1", True),
        ("a.xml", "<mujoco/>", True),
        ("a.xml", "<mujoco><include file='b.xml'/></mujoco>", False),
        ("a.xml", "<mujoco><asset><mesh file='b.stl'/></asset></mujoco>", False),
        ("a.xml", "<robot name='a'/>", True),
        ("a.xml", "<nothing/>", False),
        ("a.dyn", "", False),
        ("a.other", "", False),
    ):
        (tmp_path / name).write_text(text)
        assert is_whole(tmp_path / name, text.encode()) is whole, (name, text)
