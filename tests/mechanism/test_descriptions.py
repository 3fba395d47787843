"""Descriptions that cannot be meant are refused where they are written, with what to do instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.mechanism import Body

TEXT: Any = "b1"
Refused = Callable[[lw.Mechanism, Body], object]


def _load(m: lw.Mechanism, b: Body) -> object:
    return m.force("push", 1, at=b.origin, along="x")


REFUSED: dict[str, tuple[Refused, str]] = {
    "a joint and its block": (
        lambda m, b: m.body("c", joint=lw.Revolute("z"), translate="x"),
        "has a joint, and translate besides",
    ),
    "a body of another mechanism": (
        lambda m, b: lw.Mechanism("other").body("c", parent=b, rotate="z"),
        "a body of another mechanism",
    ),
    "the name of time": (lambda m, b: m.body("t", rotate="z"), "'t' of a coordinate is taken"),
    "an asymmetric inertia": (
        lambda m, b: m.body("c", rotate="z", inertia=[[1, 2, 0], [0, 1, 0], [0, 0, 1]]),
        "not symmetric",
    ),
    "one name for two axes": (
        lambda m, b: m.body("c", joint=lw.Universal("x", "y"), coordinates=("p",)),
        "has 2 coordinates, not 1",
    ),
    "a load twice": (
        lambda m, b: [_load(m, b), m.moment("push", 1, on=b, about="z")],
        "has a force or moment 'push' already",
    ),
    "an output twice": (
        lambda m, b: [m.output("y", "b"), m.output("y", "2*b")],
        "has an output 'y' already",
    ),
    "a force at a text": (
        lambda m, b: m.force("push", 1, at=TEXT, along="x"),
        "'m' has no point, body or frame 'b1'; did you mean 'b'",
    ),
    "a point of another mechanism": (
        lambda m, b: m.strut("s", 1, at=b.origin, to=lw.Mechanism("k").origin),
        "needs a point of 'm'",
    ),
    "a moment on a point": (
        lambda m, b: m.moment("turn", 1, on=TEXT, about="z"),
        "'m' has no body 'b1'; did you mean 'b'",
    ),
    "a strut without length": (lambda m, b: m.strut("s", "-k*x", at=b.origin), "no direction"),
    "an upright axle": (lambda m, b: m.rolling_contact(b, "R"), "axle of 'b' is upright"),
    "a fourth axis": (lambda m, b: m.vector(4), "there is no axis 4"),
    "no axis": (lambda m, b: m.vector(0), "there is no axis 0"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_meant_is_refused(case: str) -> None:
    describe, words = REFUSED[case]
    m = lw.Mechanism("m")
    b = m.body("b", rotate="z", mass=1, inertia=1)
    with pytest.raises(lw.Error, match=words):
        describe(m, b)


def test_a_universal_joint_takes_names_and_sizes_of_both_angles() -> None:
    m = lw.Mechanism("m")
    m.body("u", joint=lw.Universal("x", "y"), coordinates=("al", "be"), small=(False, True))
    assert list(m.coordinates) == ["al", "be"]
    assert [q.data.small for q in m.coordinates.values()] == [0, 1]


def test_an_inertia_may_be_an_array_that_is_symmetric_but_for_rounding() -> None:
    m = lw.Mechanism("m")
    turn, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))
    tensor = turn @ np.diag([1.0, 2.0, 3.0]) @ turn.T
    b = m.body("b", rotate="z", mass=1, inertia=tensor)
    xx, yy, zz, xy, yz, zx = (float(x.data) for x in b.inertia.tensor)
    assert np.allclose([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]], tensor, rtol=1e-12, atol=0)


def test_a_force_on_a_body_acts_at_its_origin() -> None:
    m = lw.Mechanism("m")
    b = m.body("b", translate="x", mass=1)
    assert m.force("push", 1, at=b, along="x").point is b.origin


def test_one_of_a_thing_is_said_in_the_singular() -> None:
    m = lw.Mechanism("m")
    m.body("b", rotate="z", mass=1, inertia=1)
    assert lw.assemble(m).report == ("1 speed without constraints: 1 degree of freedom",)


@pytest.mark.parametrize("formulation", ["auto", "kane", "composite"])
def test_a_joint_that_moves_no_mass_is_named(formulation: str) -> None:
    m = lw.Mechanism("m")
    b = m.body("b", rotate="z", mass=1, inertia=1)
    m.body("c", parent=b, rotate="z", at=(1, 0, 0), mass=1, inertia=0)
    with pytest.raises(lw.Error, match="nothing that has mass moves with c_dot"):
        lw.derive(m, formulation)


@pytest.mark.parametrize(
    ("until", "wanted", "words"),
    [
        (1.0, {"step": 0.0}, "step 0.0 is not above zero"),
        (1.0, {"step": float("nan")}, "step must be a finite number, not nan"),
        (float("inf"), {}, "finite number, not inf"),
        (1.0, {"every": 0}, "every 0 steps"),
        (1.0, {"initial": {"b": float("nan")}}, "'b' cannot start at nan"),
    ],
)
def test_a_run_that_cannot_go_is_refused(until: float, wanted: dict[str, Any], words: str) -> None:
    m = lw.Mechanism("m")
    m.body("b", rotate="z", mass=1, inertia=1)
    with pytest.raises(lw.Error, match=words):
        lw.simulate(m, until, **wanted)


def test_points_that_every_body_has_go_by_their_names() -> None:
    m = lw.Mechanism("m")
    b = m.body("b", rotate="z", mass=1, com=(1, 0, 0), inertia=1)
    m.force("one", 1, at="b0", along="x")
    m.force("two", 1, at="bcm", along="x")
    m.force("three", 1, at="o", along="x")
    assert [f.point for f in m.forces] == [b.origin, b.com, m.origin]


def test_a_view_has_no_lists_that_a_mechanism_has_not() -> None:
    with pytest.raises(lw.Error, match=r"no list 'output'.*outputs"):
        lw.Mechanism("m").with_parts(output=[])
