"""Loops and limit cycles of drives, by `lw.drives` and by the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import linkwright as lw
from linkwright.analysis import cut_loop, limit_cycles
from linkwright.cli import main
from linkwright.cli.drive_loops import port_of
from tests.joint_drive import joint_drive

d = lw.drives


def _chain(kp: float = 8.0, gap: float | None = 5e-3, damping: float = 0.0) -> lw.System:
    s = lw.System(name="shoulder")
    s.add(
        d.Chain(
            d.PD(kp, 0.02),
            d.Lag(10, 1e-3),
            d.DC(R=1, L=2e-3, kt=0.05, J=1e-4, b=1e-5),
            d.Elastic(50, stiffness=500, damping=damping, gap=gap),
            d.Inertia(0.5, 0.1),
        )
    )
    return s


def test_v10_as_a_drive_has_its_limit_cycle() -> None:
    (found,) = limit_cycles(_chain(16.0), "joint.train.torque", "joint.train.twist")
    assert found.frequency == pytest.approx(27.690, rel=1e-4)
    assert found.amplitude == pytest.approx(31.425e-3, rel=1e-4)


def test_the_command_cuts_the_loop_of_a_drive_and_finds_its_limit_cycle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, system in (("gap", _chain()), ("plain", _chain(gap=None, damping=2.0))):
        (tmp_path / f"{name}.toml").write_text(lw.write_model(system))
    assert main(["drive", "plain.toml", "--joint", "joint", "--bode", "position", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    wanted = cut_loop(joint_drive(), "pd.u").margins()
    assert told["phase_degrees"] == pytest.approx(wanted.degrees, rel=1e-6)
    assert told["cut"] == "joint.controller.u"
    picture = tmp_path / told["plot"]
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert main(["drive", "plain.toml", "--bode", "controller.u"]) == 2  # the picture is there
    capsys.readouterr()
    assert main(["drive", "plain.toml", "--bode", "controller.u", "--force"]) == 0
    assert "loop cut at joint.controller.u" in capsys.readouterr().out
    assert main(["drive", "gap.toml", "--limit-cycle", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told["limit_cycles"][0]["frequency"] == pytest.approx(17.650, rel=1e-4)
    picture.unlink()
    assert main(["drive", "plain.toml", "--bode", "position", "--limit-cycle"]) == 2
    assert "[R6" in capsys.readouterr().err
    assert not picture.exists()
    assert main(["drive", "plain.toml", "--bode", "current"]) == 2
    assert "[R601]" in capsys.readouterr().err


def test_a_loop_word_finds_what_a_controller_at_instants_reads() -> None:
    s = lw.System(name="joint")
    chain = d.Chain(
        None,
        d.Lag(10, 1e-3),
        d.DC(R=1, L=2e-3, kt=0.05, J=1e-4, b=1e-5),
        d.Elastic(50, stiffness=500, damping=2),
        d.Inertia(0.5, 0.1),
    )
    plant, servo = s.add(chain), s.add(d.Servo(d.PD(8, 0.02), rate=2000))
    s.connect(servo.u, plant[next(iter(n for n in chain.inputs if n != "reference"))])
    s.connect(plant["load.angle"], servo["load.angle"])
    s.connect(plant["motor.speed"], servo["motor.speed"])
    assert port_of(s, "joint", "position") == "servo.load.angle"
    assert port_of(s, "joint", "speed") == "servo.motor.speed"
    assert cut_loop(s, "servo.load.angle").stable
