"""What public functions say to arguments of a wrong kind: an error of ours, never a raw one."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import linkwright as lw
from linkwright.cli import main
from linkwright.mechanism import Mechanism

JUNK: dict[str, Any] = {
    "None": None,
    "a text": "rubbish",
    "a number": -3.7,
    "a list": [0.3],
    "a mapping": {"nonsense": 1.0},
    "an object": object(),
    "a mapping of texts": {"rod": "much"},
}


def pendulum() -> Mechanism:
    m = lw.Mechanism("pendulum")
    m.body("rod", rotate="z", mass="m", com=("L", 0, 0), inertia=0.1)
    m.gravity(along="-y")
    m.defaults(m=1, L=1)
    return m


def loaded() -> lw.System:
    s = lw.System(pendulum())
    b = lw.Block("hold")
    b.output("y", b.memory("n", "n + 1"))
    s.add(b, rate=100)
    return s


# For each function, a call that is right; one argument after the other is then replaced by junk.
CALLS: dict[str, tuple[Callable[..., Any], Callable[[], dict[str, Any]]]] = {
    "simulate": (
        lambda **k: lw.simulate(**k),
        lambda: {"mechanism": pendulum(), "until": 0.1, "initial": {"rod": 0.1},
                 "values": {"m": 2}, "inputs": {}, "step": 0.05, "method": "dopri5"},
    ),
    "simulate a System": (
        lambda **k: lw.simulate(k.pop("mechanism"), **k),
        lambda: {"mechanism": loaded(), "until": 0.1, "initial": {"rod": 0.1},
                 "values": {"m": 2}, "inputs": {}, "method": "dopri5"},
    ),
    "simulate_batch": (
        lambda **k: lw.simulate_batch(**k),
        lambda: {"model": pendulum(), "until": 0.1, "initial": {"rod": [0.1, 0.2]},
                 "values": {"m": 2}, "step": 0.01, "method": "rk4"},
    ),
    "linearise": (
        lambda **k: lw.linearise(**k),
        lambda: {"mechanism": pendulum(), "at": {"rod": -1.5}, "values": {"m": 1}},
    ),
    "equilibrium": (
        lambda **k: lw.equilibrium(**k),
        lambda: {"mechanism": pendulum(), "initial": {"rod": -1.5}, "values": {"m": 1}},
    ),
    "assemble": (
        lambda **k: lw.assemble(**k),
        lambda: {"mechanism": pendulum(), "initial": {"rod": 0.1}, "values": {"m": 1}},
    ),
    "derive": (
        lambda **k: lw.derive(**k),
        lambda: {"mechanism": pendulum(), "formulation": "kane"},
    ),
    "Mechanism.body": (
        lambda **k: lw.Mechanism("m").body(**k),
        lambda: {"name": "rod", "parent": "n", "joint": lw.Revolute("z"), "at": (0, 0, 0),
                 "mass": 1, "com": (0, 0, 0), "inertia": 1, "coordinates_in": "n"},
    ),
    "Mechanism.point": (
        lambda **k: pendulum().point(**k),
        lambda: {"name": "tip", "body": "rod", "at": (1, 0, 0)},
    ),
    "Mechanism.force": (
        lambda **k: _force(**k),
        lambda: {"name": "push", "magnitude": 1.0, "at": "rod", "along": "x", "reaction": "n"},
    ),
    "Mechanism.moment": (
        lambda **k: pendulum().moment(**k),
        lambda: {"name": "motor", "magnitude": 1.0, "on": "rod", "about": "z", "reaction": "n"},
    ),
    "Mechanism.defaults": (
        lambda **k: pendulum().defaults(**k),
        lambda: {"values": {"m": 1}},
    ),
    "Mechanism.start": (
        lambda **k: pendulum().start(**k),
        lambda: {"values": {"rod": 1}},
    ),
    "Mechanism.gravity": (
        lambda **k: lw.Mechanism("m").gravity(**k),
        lambda: {"along": "-z", "g": 9.81},
    ),
    "load": (lambda **k: lw.load(**k), lambda: {"path": "puma560"}),
    "load_model": (lambda **k: lw.load_model(**k), lambda: {"name": "pendulum"}),
    "read_description": (lambda **k: lw.read_description(**k), lambda: {"path": "none.urdf"}),
    "read_recording": (lambda **k: lw.read_recording(**k), lambda: {"path": "none.npz"}),
    "System.add": (
        lambda **k: lw.System(pendulum()).add(**k),
        lambda: {"part": lw.Block("b"), "rate": 100},
    ),
}  # fmt: skip


def _force(**k: Any) -> Any:
    return pendulum().force(**k)


CASES = [
    (name, argument, kind)
    for name, (_, right) in CALLS.items()
    for argument in right()
    for kind in JUNK
]


@pytest.mark.parametrize(("name", "argument", "kind"), CASES)
def test_junk_is_taken_or_refused_in_our_words(name: str, argument: str, kind: str) -> None:
    call, right = CALLS[name]
    with suppress(lw.Error):
        call(**{**right(), argument: JUNK[kind]})


# -- units -----------------------------------------------------------------------------------------
def test_starts_and_values_may_have_units() -> None:
    m = lw.Mechanism("pendulum")
    m.parameter("L", unit="m")
    m.body("rod", rotate="z", mass=1, com=("L", 0, 0), inertia=0.1)
    m.gravity(along="-y")
    m.defaults(L="50 cm")
    assert m.values["L"] == 0.5
    run = lw.simulate(m, "200 ms", initial={"rod": "30 deg"}, values={"L": "250 mm"})
    assert run["rod"][0] == pytest.approx(math.pi / 6)
    assert run.times[-1] == 0.2
    assert run.values["L"] == 0.25
    with pytest.raises(lw.UnitError, match="does not fit"):
        lw.simulate(m, 1.0, initial={"rod": "3 kg"})
    batch = lw.simulate_batch(m, 0.1, values={"L": [1.0, 2.0]}, initial={"rod": "90 deg"})
    assert len(batch.x) == 2
    s = lw.System(m)
    s.start({"rod": "90 deg"})
    assert s.initial["rod"] == pytest.approx(math.pi / 2)


def test_units_are_those_of_the_model() -> None:
    m = lw.Mechanism("car", units="in-lb")
    m.parameter("L", unit="in")
    m.parameter("k")
    m.set_values({"L": "1 ft", "k": "2.54 cm"})
    assert m.values["L"] == pytest.approx(12)
    assert m.values["k"] == pytest.approx(1)  # no unit is known: that of the system


@pytest.mark.parametrize("wrong", ["much", "1,5", "3 furlongs", "nan", "1e999", ""])
def test_texts_that_are_no_numbers_are_refused(wrong: str) -> None:
    with pytest.raises(lw.Error):
        lw.simulate(pendulum(), 0.1, initial={"rod": wrong})


def test_bodies_go_by_their_names() -> None:
    m = lw.Mechanism("chain")
    m.body("a", parent="n", rotate="z", mass=1, inertia=1)
    b = m.body("b", parent="a", rotate="z", at=(1, 0, 0), mass=1, inertia=1)
    assert b.parent is m.bodies["a"]
    assert m.force("push", 1, at="b", along="x").point is b.origin
    with pytest.raises(lw.Error, match="did you mean 'a'"):
        m.point("tip", "aa")


def test_the_command_line_takes_units(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["simulate", "pendulum", "--until", "0.1", "--json"]
    assert main([*words, "--initial", "phi=30 deg", "--set", "g=1.62 m/s^2"]) == 0
    told = json.loads(capsys.readouterr().out)
    found = lw.read_recording(told["recording"])
    assert found["phi"][0] == pytest.approx(math.pi / 6)
    assert found.about["parameters"]["g"] == 1.62
    assert main([*words, "--set", "g=3 kg"]) == 2
    assert "--set g is in m/s^2, so '3 kg' does not fit" in capsys.readouterr().err
    assert main([*words, "--set", "g=much"]) == 2
    assert "--set g is 'much', which is not a number" in capsys.readouterr().err
