"""Files of a laboratory with one value too many, one too few, or a word misspelled are refused."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import linkwright as lw
from linkwright.base.errors import InputError
from linkwright.cli import main
from linkwright.formats.sl.header import without_comments
from linkwright.lab.sources import lab_config, shipped_folder
from tests.seeds import cases, seldom
from tests.support.lab_robots import planar

FILES = ("Gains.cf", "SensorOffset.cf", "SensorFilter.cf", "LinkParametersSim.cf",
         "SensorCalibration.cf", "WhichDOFs.cf", "Objects.cf")  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return Path(shutil.copytree(shipped_folder("sl-arm"), tmp_path / "arm"))


@pytest.mark.parametrize("file", cases(FILES, daily=3))
def test_values_are_counted(file: str, home: Path) -> None:
    """SL check 61: one value too few or too many, or no number, has its file and line."""
    path = home / "config" / file
    plain = without_comments(path.read_text())
    if file == "Objects.cf":  # with a contact that all values count for
        plain = "floor 1 .4 .6 .9  0 0 -1.3  0 0 0  4 4 .1  1  1 2 3 4 5  6 7 8 9 1\n"
    names = re.findall(r"[A-Za-z]\w+", plain)
    numbers = list(re.finditer(r"(?<![\w.])[-+.\d][-+.\de]*(?![\w.])", plain))
    path.write_text(plain)
    lab_config(home)
    wrong = []
    for m in numbers[:: max(1, len(numbers) // 6)] + numbers[-1:]:
        for word in ("", f"{m.group()} 0.25", f"{m.group()}x"):
            wrong.append(plain[: m.start()] + word + plain[m.end() :])
    if file != "Objects.cf":
        wrong += [re.sub(rf"\b{n}\b", n + "x", plain) for n in names[1:3]]
    for text in wrong:
        path.write_text(text)
        with pytest.raises(InputError) as caught:
            lab_config(home)
        assert re.search(rf"{file}:\d+: ", str(caught.value)), text


@pytest.mark.parametrize("file", FILES[:5])
def test_lines_come_in_any_order_between_comments(file: str, home: Path) -> None:
    """SL check 61."""
    path = home / "config" / file
    before = lab_config(home)
    plain = without_comments(path.read_text()).strip()
    entries = re.split(r"\n\s*(?=[A-Za-z])", plain)
    assert len(entries) > 5
    path.write_text("/* backward */\n" + "  // and so on\n".join(reversed(entries)))
    assert lab_config(home) == before


def test_a_joint_that_is_missing_is_refused(home: Path) -> None:
    path = home / "config" / "SensorCalibration.cf"
    text = path.read_text()
    name = "R_EB"
    path.write_text(re.sub(rf"(?m)^\s*{name}\b.*$", "", text))
    with pytest.raises(InputError, match=f"there is no line for '{name}'"):
        lab_config(home)


@seldom(daily="tests/lab/test_lab_dynamics.py::test_a_robot_that_swings_freely_keeps_its_energy")
def test_twenty_steps_in_a_tick(home: Path) -> None:
    with lw.Lab(replace(lab_config(home), substeps=20)) as lab:
        lab.run(0.01)
        assert lab.time >= 0.01


def test_one_number_of_gravity_acts_downward(tmp_path: Path) -> None:
    with lw.Lab(planar(tmp_path)) as lab:
        for line, z in (("setG 3.7", -3.7), ("setG -1", 1.0), ("setG 0 0 -2", -2.0)):
            lab.do(line)
            assert lab.gravity.tolist() == [0.0, 0.0, z]


def test_a_key_that_is_misspelled_fails_the_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The reader says what may be meant, and the command leaves with 1."""
    key = (
        "{{{{jointID,{{ID=1}}}},{{jointAxis,{{0,0,1}}}},{{{},{{0,0,0.5}}}},{{mass,2}},"
        "{{inertia,{{{{1,0,0}},{{0,1,0}},{{0,0,1}}}}}}}}"
    )
    good, bad = tmp_path / "good.dyn", tmp_path / "bad.dyn"
    for path, word in ((good, "translation"), (bad, "translatoin")):
        path.write_text(key.format(word) + "\n")
    codes = [main(["model", "check", str(path)]) for path in (good, bad)]
    told = capsys.readouterr()
    assert codes == [0, 1], told.out + told.err
    assert "not a key of SL's manual; did you mean translation?" in told.out + told.err
