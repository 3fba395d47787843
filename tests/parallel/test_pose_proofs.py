"""Assemblies proven to exist and to be alone, against what is known of them."""

from __future__ import annotations

from math import pi

import pytest

import linkwright as lw
from linkwright.parallel import prove_pose
from tests.support.closed_loop_machines import hexapod, rotary_mount


def test_both_ways_of_a_four_bar_are_proven_apart() -> None:
    m = lw.Mechanism("four_bar")
    a = m.body("crank", rotate="z")
    b = m.body("rod", parent=a, at=(1, 0, 0), rotate="z")
    c = m.body("rocker", at=(2, 0, 0), rotate="z")
    tip, end = m.point("tip", b, (2, 0, 0)), m.point("end", c, (1.5, 0, 0))
    for axis in "xy":
        m.constrain_points(tip, end, axis)
    m.actuate("crank")
    m.set_platform(c)
    starts = ({"crank": 1.0, "rod": r, "rocker": s} for r, s in ((-0.3, 1.4), (-2.2, -2.2)))
    closed = [lw.assemble(m, start).coordinates for start in starts]
    assert abs(closed[0]["rocker"] - closed[1]["rocker"]) > 1.0
    up, down = (prove_pose(m, q) for q in closed)
    for found in (up, down):
        assert found.proven
        assert found.within < 1e-12 < found.alone
        assert found.words.startswith("proven: 'four_bar' has exactly one assembly within ")


def test_a_hexapod_and_a_mount_are_proven_with_quaternions_and_parameters() -> None:
    for machine in (hexapod(), rotary_mount()):
        found = prove_pose(machine)
        assert found.proven
        assert found.within < 1e-12


def test_a_singular_pose_stays_open() -> None:
    m = lw.Mechanism("in_line")
    a = m.body("crank", rotate="z")
    b = m.body("rod", parent=a, at=(1, 0, 0), rotate="z")
    m.constrain_points(m.point("tip", b, (0.5, 0, 0)), m.origin, "y")
    m.actuate("crank")
    m.set_platform("tip")
    found = prove_pose(m, {"crank": pi / 6, "rod": -2 * pi / 3})
    assert not found.proven
    assert found.words.startswith("open: ")
    assert found.as_dict()["within"] is None


def test_redundant_relations_are_refused() -> None:
    m = hexapod().with_drives([f"leg{k}" for k in range(1, 6)])
    with pytest.raises(lw.Error, match="as many coordinates as relations and actuators together"):
        prove_pose(m)
