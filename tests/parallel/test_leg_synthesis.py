"""Machines found by their legs."""

from __future__ import annotations

import json

import numpy as np
import pytest

from linkwright.base.errors import InputError
from linkwright.cli import main
from linkwright.mechanism import Mechanism, Prismatic, Revolute
from linkwright.parallel import mobility
from linkwright.parallel.leg_synthesis import JOINTS, _candidate, _Legs, find_candidates
from tests.seeds import cases, seldom

PLACES = np.array([[0.28, 0, 0], [0.96, 0, 0.49], [0.28, 0, 0.98]])


def built(names: tuple[str, ...]) -> Mechanism:
    """Return a machine as a mechanism, joint by joint; the last joint of two legs closes a loop."""
    legs = _Legs(names, PLACES)
    m = Mechanism("candidate")
    m.gravity()
    platform, closing = None, []
    for k in range(3):
        parent, at = m.ground, np.zeros(3)
        for i, screw in enumerate(legs.screws[k]):
            turns = bool(screw[:3].any())
            axis = screw[:3] if turns else screw[3:]
            place = np.cross(screw[:3], screw[3:]) if turns else at
            joint = (Revolute if turns else Prismatic)(tuple(axis.tolist()))
            last = i + 1 == legs.count
            if last and platform is not None:
                closing.append((k, parent, place - at, place - platform[1], joint))
                continue
            name = f"b{k}{i}"
            parent = m.body(
                name, parent=parent, joint=joint, at=(place - at).tolist(), mass=1, inertia=1
            )
            at = place
        platform = platform or (parent, at)
    assert platform is not None
    for k, body, near, far, joint in closing:
        pin = m.point(f"pin{k}", body, near.tolist())
        m.close_loop(f"loop{k}", pin, m.point(f"hole{k}", platform[0], far.tolist()), joint)
    return m


@pytest.mark.parametrize(
    "names",
    cases(
        [("Rt", "S", "Rt"), ("Rt", "P", "S"), ("Rt", "Utr", "Utv"), ("P", "S", "P"),
         ("Rr", "S", "Rt"), ("Rv", "Rv", "S"), ("Utr", "Rt", "Utr")],
        daily=2,
    ),
)  # fmt: skip
def test_freedoms_are_those_of_the_mechanism(names: tuple[str, ...]) -> None:
    """Products of exponentials in numbers, against loops of a mechanism in symbols."""
    legs = _Legs(names, PLACES)
    q = legs.generic()
    assert q is not None
    assert legs.motions(q).shape[1] == mobility(built(names)).true


def test_the_mount_of_the_thesis_is_the_best_of_its_joints() -> None:
    """Hinges and balls: the mount with three motors tilts beyond the horizon. The tripod (3-RPS)
    does not, as section 2.5 says: it is singular within the hemisphere."""
    best = find_candidates(["Rt", "S"])[0]
    tripod = _candidate(("Rt", "P", "S"), PLACES)
    assert (best.legs, best.true, best.kutzbach, best.third) == ("Rt-S-Rt", 3, 3, "plunge")
    assert best.tilt > 90
    assert tripod is not None
    assert tripod.tilt < 60
    assert mobility("mount-3-rotary").true == mobility("tripod").true == 3


def test_slopes_of_the_relations_are_those_of_differences() -> None:
    legs = _Legs(("Rr", "Utv", "P", "Rt"), PLACES[[0, 1, 2, 2]])
    q = 0.2 * np.random.default_rng(2).normal(size=3 * legs.count)
    ends, columns = legs.poses(q)
    h = 1e-6
    for i in range(legs.count):
        moved = q.copy()
        moved[i] += h
        change = (legs.poses(moved)[0][0] - ends[0]) / h @ np.linalg.inv(ends[0])
        spin = [change[2, 1], change[0, 2], change[1, 0]]
        np.testing.assert_allclose([*spin, *change[:3, 3]], columns[0][:, i], atol=1e-5)


@seldom(daily="test_the_mount_of_the_thesis_is_the_best_of_its_joints")
def test_of_all_legs_few_reach_the_horizon() -> None:
    found = find_candidates()
    assert [c.legs for c in found if c.tilt > 90] == ["Rt-S-Rt", "Rt-S-P"]
    assert len(found) > 40
    assert len(JOINTS) == 8


def test_the_command_lists_candidates(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parallel", "candidates", "--joints", "Rt,S", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["candidates"]
    assert (rows[0]["legs"], round(rows[0]["tilt_deg"])) == ("Rt-S-Rt", 95)
    for more, said in (
        (["--joints", "Rq"], "Rq"),
        (["--size", "1,2"], "is not R,E,H"),
        (["--freedoms", "9"], "legs of 9 freedoms"),
    ):
        assert main(["parallel", "candidates", *more]) == 2
        err = capsys.readouterr().err
        assert said in err
        assert err.count("\n") == 1
    with pytest.raises(InputError, match="above 0"):
        find_candidates(["Rt", "S"], radius=-1.0)
