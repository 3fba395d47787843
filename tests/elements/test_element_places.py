"""Places of elements by name: points, bodies, and the frames of robots."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.algebra import evaluate_all
from linkwright.elements import (
    Contact,
    Drag,
    ForceTorque,
    Imu,
    LinearTire,
    Muscle,
    Plane,
    Spring,
    Tire,
)
from linkwright.robots import Robot

QUADRUPED = Path(__file__).parents[1] / "robots" / "quadruped.urdf"
FEET = [f"{a}_{b}_foot" for a in ("front", "hind") for b in ("left", "right")]


@pytest.fixture(scope="module")
def quadruped() -> Robot:
    return lw.Robot(QUADRUPED)


def test_a_contact_by_frame_is_where_the_robot_says_the_frame_is(quadruped: Robot) -> None:
    ground = Contact(quadruped, FEET, Plane(), stiffness=5e4)
    q = quadruped.random(seed=3)
    own = quadruped.mechanism.coordinates
    at = {own[name]: x for name, x in zip(quadruped.coordinates, q, strict=True)}
    for name, point in zip(FEET, ground.points, strict=True):
        found = evaluate_all(point.position.components(quadruped.mechanism.ground.frame), at)
        np.testing.assert_allclose(found, quadruped.position(q, name), atol=1e-12)


def swing() -> lw.Mechanism:
    m = lw.Mechanism("swing")
    rod = m.body("rod", rotate="y", mass=1, com=(0, 0, -0.5), inertia=0.1)
    m.point("tip", rod, (0, 0, -1))
    return m


PLACED: dict[str, Callable[[Any, Any], lw.Element]] = {
    "contact": lambda m, at: Contact(m, [at], Plane(), stiffness=1e4),
    "contact alone": lambda m, at: Contact(m, at, Plane(), stiffness=1e4),
    "drag": lambda m, at: Drag(m, at, coefficient=1, area=1),
    "imu": lambda m, at: Imu(m, at),
    "muscle": lambda m, at: Muscle(m, ["n", at], 10.0),
    "spring": lambda m, at: Spring(m, "n", at, 10.0),
    "tire": lambda m, at: Tire(m, at, LinearTire(1.0), forward=m.x, left=m.y, load=1),
}


@pytest.mark.parametrize("kind", PLACED)
def test_a_name_means_the_same_as_the_point(kind: str) -> None:
    m = swing()
    by_name, by_point = PLACED[kind](m, "tip"), PLACED[kind](m, m.points["tip"])
    assert [f.point for f in by_name.forces] == [f.point for f in by_point.forces]
    assert list(by_name.expressions()) == list(by_point.expressions())
    by_body = PLACED[kind](m, "rod")
    assert list(by_body.expressions()) == list(PLACED[kind](m, m.bodies["rod"]).expressions())


@pytest.mark.parametrize("kind", PLACED)
@pytest.mark.parametrize("wrong", ["tipp", 3.0, None])
def test_what_is_no_place_is_refused_by_name(kind: str, wrong: Any) -> None:
    with pytest.raises(lw.Error, match=r"tip|place") as told:
        PLACED[kind](swing(), wrong)
    if wrong == "tipp":
        assert "did you mean 'tip'" in str(told.value)


def test_a_place_on_another_mechanism_is_refused() -> None:
    with pytest.raises(lw.Error, match="'spring' acts on 'rod'"):
        Spring(swing(), "n", swing().points["tip"], 10.0)
    with pytest.raises(lw.Error, match="'force_torque' acts on 'rod'"):
        ForceTorque(swing(), swing().bodies["rod"])


def test_a_surface_on_a_body_by_name() -> None:
    m = lw.Mechanism("two")
    m.body("table", translate="z", mass=3.0)
    m.body("ball", translate="z", mass=1.0)
    touch = Contact(m, "ball", Plane(body="table"), stiffness=1e4)
    assert {f.point.body.name for f in touch.forces} == {"table", "ball"}
    with pytest.raises(lw.Error, match="did you mean 'table'"):
        Contact(m, "ball", Plane(body="tabel"), stiffness=1e4)
