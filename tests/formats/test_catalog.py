"""Catalogs: what is read, in which units, and what physics forbids."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkwright.cli import main
from linkwright.formats.catalog.reader import copper_loss, parse_catalog, read_catalog
from linkwright.formats.catalog.schema import KINDS, entries
from linkwright.formats.text.document import ModelError

MOTOR = """format = 1
name = "mine"
[motor.servo-200w]
R = "5.0 ohm"
kt = "0.36 N*m/A"
ke = "0.36 V*s/rad"
J = "0.28 kg*cm^2"
continuous = "0.64 N*m"
peak = "1.9 N*m"
speed = "3000 rpm"
voltage = "200 V"
winding = ["1.2 K/W", "25 s"]
source = "a sheet"
"""

GEAR = """[gear.screw]
kind = "screw"
lead = "10 mm"
efficiency = "90 %"
rated = "3 kN"
rated_speed = "1500 rpm"
rated_life = "12000 h"
average = "4 kN"
repeated = "8 kN"
momentary = "12 kN"
average_speed = "2000 rpm"
speed = "3000 rpm"
source = "a sheet"
"""


def test_the_generic_catalog_has_every_kind_with_a_source_and_no_maker() -> None:
    catalog = read_catalog("generic")
    assert all(getattr(catalog, kind) for kind in KINDS)
    assert {g.kind for g in catalog.gear.values()} == {
        *("planetary", "strain-wave", "cycloidal", "belt", "cable", "screw"),
    }
    found = list(entries(catalog))
    assert 30 <= len(found) <= 40
    assert {entry.source for _, _, entry in found} == {"generic"}


def test_quantities_are_held_in_si() -> None:
    catalog = parse_catalog(MOTOR + GEAR)
    motor, gear = catalog.motor["servo-200w"], catalog.gear["screw"]
    assert pytest.approx(0.28e-4) == motor.J
    assert motor.speed == pytest.approx(314.159265)
    assert motor.winding == (1.2, 25.0)
    assert gear.efficiency == pytest.approx(0.9)
    assert gear.rated == 3000.0
    assert gear.reduction == pytest.approx(628.318530)
    assert gear.rated_life == 12000 * 3600


def test_continuous_torques_of_the_generic_motors_keep_them_below_their_limit() -> None:
    for motor in read_catalog("generic").motor.values():
        loss = copper_loss(motor, motor.continuous, motor.hottest)
        rise = loss * (motor.winding[0] + (motor.housing[0] if motor.housing else 0))
        assert 0.3 < rise / (motor.hottest - motor.ambient) < 1.0


IMPOSSIBLE = {
    "kt and ke": ('"0.36 V*s/rad"', '"37.7 V*s/rad"', 6, "in SI they are one number"),
    "too hot": ('"1.2 K/W"', '"12 K/W"', 8, r"its thermal resistance allows 0\.398"),
    "peak": ('"1.9 N*m"', '"0.5 N*m"', 9, "below continuous"),
    "too fast": ('"3000 rpm"', '"9000 rpm"', 10, "faster than the motor turns without load"),
}


@pytest.mark.parametrize(("old", "new", "line", "said"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_what_physics_forbids_is_refused_at_its_place(
    old: str, new: str, line: int, said: str
) -> None:
    parse_catalog(MOTOR)
    with pytest.raises(ModelError, match=said) as caught:
        parse_catalog(MOTOR.replace(old, new, 1), file="mine.toml")
    assert (caught.value.line, caught.value.code) == (line, "R303")


def test_an_efficiency_above_one_is_refused() -> None:
    with pytest.raises(ModelError, match="would make energy"):
        parse_catalog(MOTOR + GEAR.replace("90 %", "101 %"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("5.0 ohm", "5.0 m", "does not fit"),
        ("5.0 ohm", "-5.0 ohm", "has to be above 0"),
        ("0.28 kg*cm^2", "much", "not a number"),
        ('"0.28 kg*cm^2"', "0.28", r'0\.28 without a unit.*"0\.28 kg\*m\^2"'),
        ("0.28 kg*cm^2", "0.28", "without a unit"),
        ('"25 s"', "25", "without a unit"),
        ("source", "sauce", "did you mean 'source'"),
        ('winding = ["1.2 K/W", "25 s"]', "winding = 3", "a resistance and a time constant"),
    ],
)
def test_bad_values_are_refused_with_their_place(old: str, new: str, said: str) -> None:
    with pytest.raises(ModelError, match=said) as caught:
        parse_catalog(MOTOR.replace(old, new, 1))
    assert caught.value.code == "R302"
    assert caught.value.line


def test_the_torque_of_a_gear_that_slides_is_a_force() -> None:
    with pytest.raises(ModelError, match=r"in N, so .* does not fit"):
        parse_catalog(MOTOR + GEAR.replace("3 kN", "3 N*m"))


def test_check_says_all_that_is_wrong_with_a_catalog(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text(MOTOR + GEAR)
    bad.write_text(MOTOR.replace('"1.2 K/W"', '"12 K/W"') + GEAR.replace("90 %", "190 %"))
    assert main(["model", "check", str(good)]) == 0
    assert "sound" in capfd.readouterr().out
    assert main(["model", "check", str(bad)]) == 2
    said = capfd.readouterr().err
    assert "bad.toml:8:" in said
    assert "bad.toml:17:" in said
    assert said.count("[R303]") == 2
