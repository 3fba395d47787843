"""Mobility: Kutzbach's count beside the true one, overconstraint, idle motions in words."""

from __future__ import annotations

import json

import pytest

import linkwright as lw
from linkwright.cli import main
from linkwright.equations import derive
from linkwright.equations.description import describe
from linkwright.models import mounts
from linkwright.parallel import mobility


@pytest.mark.parametrize(
    ("name", "counts", "kutzbach", "true"),
    [
        ("agile-eye", (8, 9, 9), -3, 3),
        ("mount-3-rotary", (8, 9, 15), 3, 3),
        ("mount-2-rotary", (9, 11, 20), 2, 2),
        ("mount-prismatic", (13, 17, 32), 2, 2),
        ("mount-truss-3", (14, 18, 33), 3, 3),
        ("mount-truss-2", (13, 17, 32), 2, 2),
        ("spherical-collinear", (8, 9, 9), -3, 3),
        ("spherical-coplanar", (8, 9, 9), -3, 3),
        ("spherical-shoulder", (8, 9, 9), -3, 3),
        ("unitru", (11, 12, 12), 0, 2),
        ("stewart", (14, 18, 36), 6, 6),
        ("delta", None, 3, 3),
        ("tripod", (8, 9, 15), 3, 3),
        ("planar-3-rpr", (8, 9, 9), -3, 3),
        ("five-bar", (5, 5, 5), -1, 2),
        ("mount-alt-az", (3, 2, 2), 2, 2),
    ],
)
def test_kutzbach_stands_beside_the_truth(
    name: str, counts: tuple[int, int, int] | None, kutzbach: int, true: int
) -> None:
    """Mount check 1."""
    found = mobility(name)
    assert (found.kutzbach, found.true) == (kutzbach, true)
    if counts is not None:
        assert (found.links, found.joints, found.freedoms) == counts
    assert found.overconstraint == true - kutzbach
    assert not found.idle


def test_a_strut_between_two_balls_twists_freely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mount check 2."""
    monkeypatch.setattr(mounts, "Universal", lambda *_: lw.Ball())
    found = mobility(mounts.two_rotary())
    assert (found.kutzbach, found.true) == (3, 3)
    assert found.idle == ("the strut twists freely",)
    assert "idle: the strut twists freely" in found.words


def test_a_robot_whose_platform_moves_undriven_is_refused_and_an_idle_strut_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = "1 too few: with it locked the left_rod still moves; name 1 more of left_rod, right, "
    with pytest.raises(lw.Error, match=words):
        assert lw.Robot(lw.load("five-bar").mechanism, actuators=["left"]).speeds
    monkeypatch.setattr(mounts, "Universal", lambda *_: lw.Ball())
    assert {"arm1_dot", "arm2_dot"} < {*lw.Robot(mounts.two_rotary()).speeds}


def test_legs_that_twist_are_told_one_by_one() -> None:
    """Two rods between balls: each twists, and cylinder and rod of a jack twist together."""
    m = lw.Mechanism("m")
    plate = m.body("plate", translate="z", mass=1, inertia=1)
    for k, x in enumerate((-1.0, 1.0)):
        rod = m.body(f"rod{k}", parent=plate, at=(x, 0, 0), joint=lw.Ball(), mass=1, inertia=1)
        m.body(f"slide{k}", parent=rod, translate="z", mass=1, inertia=1)
        m.set_initial({f"slide{k}": -1.1, f"rod{k}.ry": 0.4 * x})
    for k, x in enumerate((-1.0, 1.0)):
        m.close_loop(f"foot{k}", m.point(f"o{k}", at=(1.5 * x, 0, -1)), f"slide{k}", lw.Ball())
    m.actuate("slide0")
    m.set_platform(plate)
    found = mobility(m)
    assert found.true == 3
    assert found.idle == (
        "the rod0 and slide0 twist freely together",
        "the rod1 and slide1 twist freely together",
    )


def test_what_is_no_joint_takes_one_freedom_each() -> None:
    found = mobility("four-bar")
    assert (found.relations, found.kutzbach, found.true) == (2, 1, 1)


def test_written_models_count_as_they_did(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A model that is written and read again keeps the joints that close its loops."""
    folder = tmp_path_factory.mktemp("written")
    for name in ("planar-3-rpr", "stewart"):
        path = folder / f"{name}.toml"
        path.write_text(lw.write_model(lw.load(name)))
        assert mobility(path) == mobility(name)


def test_check_and_describe_tell_the_mobility(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["model", "check", "five-bar"], ["model", "describe", "five-bar"]):
        assert main(command) == 0
        assert "overconstrained by 3" in capsys.readouterr().out
    assert main(["model", "check", "five-bar", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["mobility"]
    assert (told["kutzbach"], told["true"], told["overconstraint"], told["idle"]) == (-1, 2, 3, [])


def test_a_quaternion_is_described_at_rest_with_unit_length() -> None:
    m = lw.Mechanism("m")
    m.body("top", joint=lw.Free(quaternion=True), mass=1, inertia=1)
    rows = {r[0]: r[2] for s in describe(derive(m)) if s.title == "coordinates" for r in s.rows}
    assert sorted(rows.values()) == ["0"] * 6 + ["1"]
