"""Forces in joints and energies as outputs: Python, text models, the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.cli import main
from linkwright.mechanism import Mechanism

FIRST = ("Fx", "Fy", "Fz", "Mx", "My", "Mz")
PENDULUM = """
format = 1
name = "hanging"
[[body]]
name = "rod"
rotate = "z"
mass = 2
com = [0, -0.5, 0]
inertia = [0, 0, 0.1]
[gravity]
along = "-y"
g = 10
[initial]
rod = 1.2
[[output]]
all = "reactions"
"""


def pendulum() -> Mechanism:
    m = lw.Mechanism("hanging")
    m.body("rod", rotate="z", mass=2, com=(0, -0.5, 0), inertia=(0, 0, 0.1))
    m.gravity(along="-y", g=10)
    m.set_initial(rod=1.2)
    return m


def by_hand(angle: np.ndarray, speed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the force that the pin puts on the rod, along the rod's axes x and y.

    A mass m at L below the pin: along the rod it swings, m (a - g) = F.
    """
    mass, length, g = 2, 0.5, 10
    turning = -mass * g * length * np.sin(angle) / (0.1 + mass * length**2)
    across = mass * length * turning + mass * g * np.sin(angle)
    along = mass * length * speed**2 + mass * g * np.cos(angle)
    return across, along


def test_the_force_in_the_pin_of_a_pendulum() -> None:
    m = pendulum()
    m.output_all("reactions")
    run = lw.simulate(m, 1.0)
    x, y = by_hand(run["rod"], run["rod_dot"])
    np.testing.assert_allclose(run["rod.Fx"], x, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(run["rod.Fy"], y, rtol=1e-9)
    np.testing.assert_allclose(run["rod.Mz"], 0, atol=1e-9)


def test_loads_that_come_later_count() -> None:
    """A force after the question, and an element of a System, are in the answer."""
    m = pendulum()
    m.output_all("reactions", "energies")
    rod = m.bodies["rod"]
    m.force("wind", 3.0, at=rod.origin, along=m.x)  # at the pin: it changes no motion
    run = lw.simulate(m, 0.5)
    x, y = by_hand(run["rod"], run["rod_dot"])
    np.testing.assert_allclose(run["rod.Fx"], x - 3 * np.cos(run["rod"]), rtol=1e-8)
    np.testing.assert_allclose(run["rod.Fy"], y + 3 * np.sin(run["rod"]), rtol=1e-8)
    # an element's push at the pin, in a System
    m = pendulum()
    m.output_all("reactions")
    push = lw.Element("gust", m)
    push.force("push", 3.0, at=m.bodies["rod"].origin, along=m.x)
    s = lw.System(m)
    s.add(push)
    loaded = lw.simulate(s, 0.5)
    x, y = by_hand(loaded["rod"], loaded["rod_dot"])
    np.testing.assert_allclose(loaded["rod.Fx"], x - 3 * np.cos(loaded["rod"]), rtol=1e-6)


def test_a_text_model_asks_for_them(tmp_path: Path) -> None:
    path = tmp_path / "hanging.toml"
    path.write_text(PENDULUM)
    m = lw.load(str(path))
    assert [o.name for o in m.outputs] == [f"rod.{c}" for c in FIRST]
    again = tmp_path / "again.toml"
    again.write_text(lw.write_model(m))
    assert 'all = "reactions"' in again.read_text()
    assert [o.name for o in lw.load(str(again)).outputs] == [o.name for o in m.outputs]


def test_the_command_line_records_and_replays_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["simulate", "slider-crank", "--until", "0.2", "--reactions", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "crank.Fx" in told["final"]
    assert main(["rerun", told["recording"]]) == 0
    assert "crank.Fx" not in capsys.readouterr().out  # nothing differs
    assert main(["simulate", "slider-crank", "--until", "0.2", "--json"]) == 0
    assert "crank.Fx" not in json.loads(capsys.readouterr().out)["final"]


def test_energies_are_those_of_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["simulate", "pendulum", "--until", "1", "--json"]) == 0
    final = json.loads(capsys.readouterr().out)["final"]
    m = lw.load("pendulum")
    m.output_all("energies")
    run = lw.simulate(m, 1.0)
    for name in ("energy.kinetic", "energy.potential", "energy.power"):
        assert run.final[name] == pytest.approx(final[name], rel=1e-6, abs=1e-9)
    np.testing.assert_allclose(run["energy.kinetic"], run.energies().kinetic, atol=1e-12)


def test_an_unknown_kind_names_all() -> None:
    with pytest.raises(lw.Error, match="reactions"):
        pendulum().output_all("reaction")
