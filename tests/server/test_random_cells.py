"""Cells of random arms with something wrong: `check` refuses what `serve` refuses, in its words."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.cli import main
from linkwright.server import virtual
from linkwright.server.cell import Cell
from linkwright.server.cell_system import whole_system
from linkwright.simulation.native.session import Session
from linkwright.simulation.native.stored import Tell
from tests.random.own_machines import cell_text, random_arm, save
from tests.seeds import cases, everything, seeds

KINDS = ("revolute", "prismatic")
SEEDS = 8
Change = Callable[[str, np.random.Generator], str]


def without(key: str) -> Change:
    """Leave a key out of one axis."""

    def change(text: str, rng: np.random.Generator) -> str:
        head, *axes = text.split("[[arm.axis]]")
        k = int(rng.integers(len(axes)))
        axes[k] = re.sub(rf"^{key} = .*\n", "", axes[k], flags=re.M)
        return "[[arm.axis]]".join([head, *axes])

    return change


def put(key: str, *values: str) -> Change:
    """Give a key of one place another value."""

    def change(text: str, rng: np.random.Generator) -> str:
        places = [m.span() for m in re.finditer(rf"^{key} = .*$", text, flags=re.M)]
        first, last = places[int(rng.integers(len(places)))]
        return text[:first] + f"{key} = {rng.choice(values)}" + text[last:]

    return change


def added(*lines: str) -> Change:
    """Write another line into the table of the arm."""

    def change(text: str, rng: np.random.Generator) -> str:
        return text.replace("[[arm.axis]]", f"{rng.choice(lines)}\n[[arm.axis]]", 1)

    return change


def an_axis_less(text: str, rng: np.random.Generator) -> str:
    head, *axes = text.split("[[arm.axis]]")
    del axes[int(rng.integers(len(axes)))]
    return "[[arm.axis]]".join([head, *axes])


def an_axis_twice(text: str, rng: np.random.Generator) -> str:
    head, *axes = text.split("[[arm.axis]]")
    return "[[arm.axis]]".join([head, *axes, axes[int(rng.integers(len(axes)))]])


def limits_reversed(text: str, rng: np.random.Generator) -> str:
    return text.replace("low = ", "\0").replace("high = ", "low = ").replace("\0", "high = ")


CHANGES: dict[str, Change] = {
    "none": lambda text, rng: text,
    **{f"no {k}": without(k) for k in ("low", "high", "speed", "acceleration", "constant")},
    "no current": without("current"),
    "no joint": without("joint"),
    "joint": put("joint", '"nothing"', '"turn-9"', "3", '""'),
    "low": put("low", '"2 m"', '"20 deg"', "nan", "9", '"-1"', "true", "-1e9"),
    "speed": put("speed", '"2 kg"', '"2 rad"', "0", "-1", "inf", '"fast"', '"100 mm/s"'),
    "acceleration": put("acceleration", "0", '"6 m/s"', "1e12", "[1]"),
    "constant": put("constant", "0", "-40", '"1 A"', "1e-9"),
    "current": put("current", "0", "-1", '"20 V"'),
    "weak": lambda text, rng: text.replace("current = 20", "current = 1e-6"),
    "hidden": put("tool", '"arm_1_2"'),
    "tool": put("tool", '"tpc"', '"world"', '"base"', "1", '"flange-plate"'),
    "model": put("model", '"other.urdf"', '"nothing"', '"pendulum"', '"five-bar"', '"."'),
    "control": put(
        "control",
        '{kind = "pid", kp = 1, kd = 1}',
        '{kind = "computed-torque", kp = [400, 400, 400], kd = 40}',
        '{kind = "computed-torque", kp = 400}',
        '{kind = "computed-torque", kp = -400, kd = 40}',
        '{kind = "pd", kp = 300, kd = 30, ki = 1}',
        '"computed-torque"',
    ),
    "rate": put("rate", "0", "-500", '"2 kg"', "1e9", '"500 Hz"', "333.3"),
    "name": put("name", '""', '"a b"', "1", '"x/y"'),
    "start": added(
        'start = {"turn_1" = 0.1}',
        "start = {nothing = 0.1}",
        'start = {"turn_1" = 9}',
        'start = {"turn_1" = "1 kg"}',
        "start = 3",
    ),
    "mount": added(
        "mount = [0, 0, 1]",
        "mount = [0, 0, 1, 1, 0, 0, 0]",
        'mount = "here"',
        "mount = [0, 0, 1, 0, 0, 0, 0]",
    ),
    "stray key": added("colour = 3", "limits = {}", "payload = 3"),
    "values": added("values = {m = 3}", "values = {g = -1}"),
    "less": an_axis_less,
    "twice": an_axis_twice,
    "reversed": limits_reversed,
}


class GoesOn(Exception):
    """A cell that `serve` does not refuse begins to run."""


def begins(cell: Cell, every: int, tell: Tell | None = None) -> Session:
    """What stands in for a session of cells that are not compiled with this seed."""
    whole_system(cell)
    raise GoesOn


def served(file: Path) -> int:
    try:
        return main(["cell", "serve", str(file), "--virtual", "--until", "0.01"])
    except GoesOn:
        return 0


@pytest.mark.parametrize("seed", seeds(SEEDS, daily=1))
def test_check_refuses_what_serve_refuses(
    seed: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each kind of change; a cell that nobody refuses is built, and the sound one runs.

    Of the others that are accepted each runs in the rest of the tests with one of the seeds.
    """
    rng = np.random.default_rng(seed)
    run = {"none", *(list(CHANGES)[seed % SEEDS :: SEEDS] if everything() else ())}
    joints = lw.Robot(save(tmp_path, random_arm(seed, kinds=KINDS))).coordinates
    whole = cell_text(joints, joints[1:2])
    verdicts: dict[str, int] = {}
    for name in cases(CHANGES, daily=12):
        text = CHANGES[name](whole, rng)
        file = save(tmp_path, text, "cell.toml")
        capsys.readouterr()
        verdicts[name] = main(["model", "check", str(file)])
        refused = capsys.readouterr().err
        with monkeypatch.context() as patch:
            if name not in run:
                patch.setattr(virtual, "whole_session", begins)
            assert served(file) == verdicts[name], (name, text, refused)
        said = capsys.readouterr().err
        if verdicts[name]:
            assert said == refused, name
            assert str(file.parent) in said, (name, said)
            assert "Traceback" not in said
    assert verdicts["none"] == 0
    assert sum(x == 2 for x in verdicts.values()) > len(verdicts) / 3
