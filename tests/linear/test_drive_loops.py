"""Loops and limit cycles of drives, by `lw.drives` and by the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import linkwright as lw
from linkwright.cli import main
from linkwright.linear import cut_loop, limit_cycles
from linkwright.linear.cuts import drive_port
from tests.seeds import seldom
from tests.support.joint_drive import joint_drive

d = lw.drives


def _chain(
    kp: float = 8.0, gap: float | None = 5e-3, damping: float = 0.0, reference: float = 0.0
) -> lw.System:
    s = lw.System(name="shoulder")
    s.add(
        d.Chain(
            d.PD(kp, 0.02),
            d.Lag(10, 1e-3),
            d.DC(R=1, L=2e-3, kt=0.05, J=1e-4, b=1e-5),
            d.Elastic(50, stiffness=500, damping=damping, gap=gap),
            d.Inertia(0.5, 0.1),
            reference=reference,
        )
    )
    return s


def test_v10_as_a_drive_has_its_limit_cycle() -> None:
    (found,) = limit_cycles(_chain(16.0), "joint.train.torque", "joint.train.twist")
    assert found.frequency == pytest.approx(27.690, rel=1e-4)
    assert found.amplitude == pytest.approx(31.425e-3, rel=1e-4)


@seldom(daily="test_v10_as_a_drive_has_its_limit_cycle")
def test_the_command_cuts_the_loop_of_a_drive_and_finds_its_limit_cycle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, system in (("gap", _chain()), ("plain", _chain(gap=None, damping=2.0))):
        (tmp_path / f"{name}.toml").write_text(lw.write_model(system))
    assert (
        main(
            ["analyze", "drives", "plain.toml", "--joint", "joint", "--bode", "position", "--json"]
        )
        == 0
    )
    (told,) = json.loads(capsys.readouterr().out)
    wanted = cut_loop(joint_drive(), "pd.u").margins()
    assert told["phase_deg"] == pytest.approx(wanted.degrees, rel=1e-6)
    assert told["cut"] == "joint.controller.u"
    picture = tmp_path / told["plot"]
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert (
        main(["analyze", "drives", "plain.toml", "--bode", "controller.u"]) == 2
    )  # the picture is there
    capsys.readouterr()
    assert main(["analyze", "drives", "plain.toml", "--bode", "controller.u", "--force"]) == 0
    assert "loop cut at joint.controller.u" in capsys.readouterr().out
    assert main(["analyze", "drives", "gap.toml", "--limit-cycle", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told["limit_cycles"][0]["frequency_rad_s"] == pytest.approx(17.650, rel=1e-4)
    picture.unlink()
    assert main(["analyze", "drives", "plain.toml", "--bode", "position", "--limit-cycle"]) == 2
    assert "[R6" in capsys.readouterr().err
    assert not picture.exists()
    assert main(["analyze", "drives", "plain.toml", "--bode", "current"]) == 2
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
    assert drive_port(s, "joint", "position") == "servo.load.angle"
    assert drive_port(s, "joint", "speed") == "servo.motor.speed"
    assert cut_loop(s, "servo.load.angle").stable


def test_a_limit_cycle_is_the_same_about_another_reference() -> None:
    about = [
        limit_cycles(_chain(reference=r), "joint.train.torque", "joint.train.twist")[0]
        for r in (0.0, 0.5)
    ]
    assert about[1].frequency == pytest.approx(about[0].frequency, rel=1e-6)
    assert about[1].amplitude == pytest.approx(about[0].amplitude, rel=1e-5)
    assert about[1].recording["joint.load.angle"].mean() == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["joint-drive", "--limit-cycle"], "R611", "has no gap"),
        (["gap.toml", "--set", "motor.R=5 V"], "R401", "motor.R"),
        (["gap.toml", "--set", "motor.R=0"], "R401", "R of DC is 0"),
        (["drives.toml", "--joint", "j2", "--bode", "position"], "R423", "is a catalog"),
    ],
)
def test_what_the_command_cannot_do_has_a_number(
    words: list[str],
    code: str,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gap.toml").write_text(lw.write_model(_chain()))
    drive = '[drive.j2]\nmotor = "servo-200w"\ngear = "strain-wave-17-100"\n'
    (tmp_path / "drives.toml").write_text(f'format = 1\nname = "drives"\n\n{drive}')
    assert main(["analyze", "drives", *words]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert f"[{code}]" in told
    assert said in told


def test_the_command_takes_numbers_of_parts_in_their_units(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "gap.toml"
    file.write_text(lw.write_model(_chain()))
    finals = []
    for value in ("0.5", "500 mohm"):
        words = [
            "analyze",
            "drives",
            str(file),
            "--until",
            "0.1",
            "--set",
            f"motor.R={value}",
            "--json",
        ]
        assert main([*words, "--set", "reference=0.5"]) == 0
        finals.append(json.loads(capsys.readouterr().out)["signals"])
    assert finals[0] == finals[1]
