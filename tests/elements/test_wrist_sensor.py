"""The wrist's sensor: its linkage, potentiometers, reading, calibration; the tool's weight."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import linkwright as lw
from linkwright.algebra import evaluate, symbols
from linkwright.blocks.rotation_vectors import rotation_rows
from linkwright.elements import (
    CompliantWrist,
    Contact,
    ForceTorque,
    Plane,
    WeightCompensation,
    WristLinkage,
    WristPotentiometers,
    WristReading,
    identify_tool_weight,
)
from linkwright.elements.tool_weight import ToolWeight
from linkwright.mechanism import Mechanism
from linkwright.simulation.run import Run
from tests.seeds import seldom

Array = np.ndarray[Any, Any]
STIFFNESS = [500.0] * 3 + [8.0] * 3
OFFSETS = (0.1, 0.2, -0.1, 0.05, 0.0, 0.3)
SKEW = WristLinkage(
    0.04,
    axes=[(0.1, 0, 1), (0, 1, 0.1), (0, 1, -0.1), (1, 0.2, 0), (0, 1, 0), (0.1, 0.1, 1)],
    points=[(1, 0.1, -1.2), (1, 0, -1), (1, -0.1, 0), (0.3, 0, 0), (0, 0, 0.1), (0, 0.1, 0.2)],
    offsets=OFFSETS,
)


def deflections(count: int, seed: int = 0) -> Array:
    """Return deflections of up to 6 mm and 0.12 rad in each direction."""
    rng = np.random.default_rng(seed)
    return np.hstack([rng.uniform(-6e-3, 6e-3, (count, 3)), rng.uniform(-0.12, 0.12, (count, 3))])


def independent(linkage: WristLinkage, shown: Array) -> tuple[Array, Array]:
    """Return rotation and way of the tool from 4 x 4 matrices, hinge by hinge from the tool back.

    Each hinge turns everything beyond it about its line at rest, the last one first.
    """
    whole = np.eye(4)
    rows = zip(linkage.axes, linkage.points, shown, linkage.offsets, strict=True)
    for axis, point, value, zero in list(rows)[::-1]:
        w = np.array(axis) / np.linalg.norm(axis)
        p = linkage.size * np.array(point)
        turn = Rotation.from_rotvec((value - zero) * w).as_matrix()
        hinge = np.eye(4)
        hinge[:3, :3], hinge[:3, 3] = turn, p - turn @ p
        whole = hinge @ whole
    return whole[:3, :3], whole[:3, 3]


@pytest.mark.parametrize("linkage", [WristLinkage(0.05, offsets=OFFSETS), SKEW])
def test_direct_kinematics_is_that_of_hinges_one_by_one(linkage: WristLinkage) -> None:
    f = symbols("f1 f2 f3 f4 f5 f6")
    place = linkage.expressions(f, lambda x: x)
    rng = np.random.default_rng(4)
    for _ in range(5):
        shown = rng.uniform(-0.5, 0.5, 6)
        turn, way = independent(linkage, shown)
        found = linkage.placement(shown)
        np.testing.assert_allclose(found[0], turn, atol=1e-14)
        np.testing.assert_allclose(found[1], way, atol=1e-16)
        at = dict(zip(f, shown - np.array(linkage.offsets), strict=True))
        np.testing.assert_allclose([evaluate(x, at) for x in place.position], way, atol=1e-16)
        rows = [[evaluate(x, at) for x in row] for row in place.rotation]
        np.testing.assert_allclose(rows, turn, atol=1e-14)


def test_the_jacobian_of_the_linkage_is_its_derivative() -> None:
    f = symbols("f1 f2 f3 f4 f5 f6")
    table = SKEW.expressions(f, lambda x: x).jacobian()
    at = np.array([0.2, -0.1, 0.3, -0.2, 0.1, 0.4])
    known = dict(zip(f, at, strict=True))
    found = np.array([[evaluate(x, known) for x in row] for row in table])
    h, turn = 1e-6, SKEW.placement(at + OFFSETS)[0]
    for k in range(6):
        ahead, back = (SKEW.placement(at + OFFSETS + s * h * np.eye(6)[k]) for s in (1, -1))
        np.testing.assert_allclose(found[:3, k], (ahead[1] - back[1]) / (2 * h), atol=1e-9)
        spin = (ahead[0] - back[0]) / (2 * h) @ turn.T
        np.testing.assert_allclose(found[3:, k], [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-9)


@pytest.mark.parametrize("linkage", [WristLinkage(0.05, offsets=OFFSETS), SKEW])
def test_closing_the_loop_and_direct_kinematics_undo_each_other(linkage: WristLinkage) -> None:
    for d in deflections(10):
        np.testing.assert_allclose(linkage.deflection(linkage.angles(d)), d, atol=1e-14)


def test_rotation_rows_are_those_of_the_rotation_vector() -> None:
    r = symbols("x y z")
    rows = rotation_rows(r, lambda x: x)
    for size in (0.0, 1e-9, 0.1, 0.2236, 0.2237, 1.0, 3.0):
        v = size * np.array([0.6, -0.64, 0.48])
        at = dict(zip(r, v, strict=True))
        found = [[evaluate(x, at) for x in row] for row in rows]
        np.testing.assert_allclose(found, Rotation.from_rotvec(v).as_matrix(), atol=2e-15)


# -- in a System -----------------------------------------------------------------------------------
START = {"tool.x": 0.005, "tool.z": -0.006, "tool.rx": 0.12, "tool.ry": -0.1, "tool.rz": 0.08}


@cache
def sensed(read: bool = False) -> Run:
    """Return a run of a tool on a wrist with potentiometers of several kinds at 1 kHz.

    Args:
        read: whether deflections are read from the perfect ones.
    """
    m = Mechanism("m")
    flange = m.body("flange", translate="z", mass=5)
    m.body("tool", parent=flange, translate="xyz", rotate="xyz", mass=0.1, inertia=1e-4)
    s = lw.System(m, base=1000)
    wrist = CompliantWrist(m, flange, "tool", STIFFNESS, [3.0] * 3 + [0.05] * 3)
    s.add(wrist)
    kinds: dict[str, dict[str, Any]] = {
        "perfect": {}, "coarse": {"resolution": 1e-3}, "loose": {"backlash": 4e-3},
        "noisy": {"noise": 1e-3},
    }  # fmt: skip
    for name, more in kinds.items():
        pots = WristPotentiometers(wrist, SKEW, name=name, **more)
        s.add(pots, rate=1000)
        if read and name == "perfect":
            s.add(WristReading(STIFFNESS, SKEW, sensor=pots), rate=1000)
    return lw.simulate(s, 0.2, initial=START)


@seldom(daily="docs/force.md")
def test_a_reading_of_perfect_potentiometers_is_the_deflection_itself() -> None:
    run = sensed(read=True)
    assert run["perfect.gap"].max() < 1e-12
    for k in range(6):
        true = run[f"wrist.deflection[{k}]"]
        assert np.abs(run[f"reading.deflection[{k}]"] - true).max() < 1e-14
        assert np.abs(run[f"reading.wrench[{k}]"] - STIFFNESS[k] * true).max() < 1e-11


def test_steps_play_and_noise_are_what_they_are_said_to_be() -> None:
    run = sensed()
    spread = []
    for k in range(6):
        true, coarse, loose, noisy = (
            run[f"{name}.angles[{k}]"] for name in ("perfect", "coarse", "loose", "noisy")
        )
        np.testing.assert_allclose(coarse / 1e-3, np.round(coarse / 1e-3), atol=1e-9)
        assert np.abs(coarse - true).max() <= 0.5e-3 + 1e-12
        behind = loose - true
        assert np.abs(behind).max() <= 2e-3 + 1e-12
        assert behind.max() == pytest.approx(2e-3, abs=1e-5)  # it is taken along both ways
        assert behind.min() == pytest.approx(-2e-3, abs=1e-5)
        spread.append(noisy - true)
    assert np.std(spread) == pytest.approx(1e-3, rel=0.1)


# -- calibration -----------------------------------------------------------------------------------
def test_offsets_and_lengths_are_found_from_known_poses_with_their_confidence() -> None:
    drawn = WristLinkage(0.05)
    wrong = {"length2": 0.0104, "length3": 0.0507, "length4": 0.0353, "length7": 0.0102}
    wrong |= {f"offset{k}": v for k, v in enumerate(OFFSETS, 1)}
    true = drawn.calibrated(wrong)
    known = deflections(40)
    rng = np.random.default_rng(5)
    angles = np.array([true.angles(d) for d in known])
    rotations = Rotation.from_rotvec(known[:, 3:]).as_matrix()
    places = known[:, :3] + 2e-5 * rng.normal(size=(40, 3))
    machine = drawn.mechanism()
    found = lw.parallel.calibrate(
        machine, np.zeros(6), list(machine.values), angles, places=places, rotations=rotations
    )
    for k, zero in enumerate(OFFSETS, 1):
        deviation = found.deviations[f"offset{k}"]
        assert deviation < 1e-3
        assert abs(found.values[f"offset{k}"] - zero) < 4 * deviation + 1e-6
    better = drawn.calibrated(found.values)
    fresh = deflections(20, seed=9)
    shown = [true.angles(d) for d in fresh]
    before = max(np.abs(drawn.deflection(a) - d).max() for a, d in zip(shown, fresh, strict=True))
    after = max(np.abs(better.deflection(a) - d).max() for a, d in zip(shown, fresh, strict=True))
    assert before > 0.05
    assert after < 1e-4
    assert len(found.unseen) == 2  # hinges 4 and 6 slide along their own axes without a trace
    assert all(word.startswith("the measurements do not determine") for word in found.unseen)
    assert "length4" in " ".join(found.unseen)


def test_a_dimension_that_a_linkage_does_not_have_is_refused() -> None:
    with pytest.raises(lw.Error, match="has no 'length9'; did you mean 'length"):
        WristLinkage().calibrated({"length9": 1.0})


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "parallel axes": ({"axes": [(0, 0, 1)] * 6}, "singular at rest.*move an axis"),
    "no axis": ({"axes": [(0, 0, 0)] + [(0, 0, 1)] * 5}, "axis 1 of a linkage is zero"),
    "five points": ({"points": [(0, 0, 0)] * 5}, "points of a linkage have the shape"),
    "no number": ({"offsets": [float("nan")] * 6}, "offsets of a linkage hold numbers"),
    "no size": ({"size": 0.0}, "size of a linkage is 0"),
    "words": ({"axes": "much"}, "axes of a linkage are 'much'"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_a_linkage_is_refused(case: str) -> None:
    given, words = BAD[case]
    with pytest.raises(lw.Error, match=words):
        WristLinkage(**given)


@pytest.mark.parametrize("given", [[0.0] * 5, [float("nan")] * 6, ["much"] * 6])
def test_what_is_no_deflection_is_refused(given: Any) -> None:
    for call in (WristLinkage().angles, WristLinkage().deflection):
        with pytest.raises(lw.Error, match=r"six finite numbers|not an array"):
            call(given)


def test_a_deflection_out_of_reach_is_said_so() -> None:
    with pytest.raises(lw.Error, match="does not reach the deflection"):
        WristLinkage(0.05).angles([1.0, 0, 0, 0, 0, 0])


# -- the tool's weight -----------------------------------------------------------------------------
def attitudes(count: int, seed: int = 1) -> Array:
    """Return gravity along a flange's axes, in random attitudes."""
    rows = np.random.default_rng(seed).normal(size=(count, 3))
    return np.asarray(9.81 * rows / np.linalg.norm(rows, axis=1)[:, None])


def wrenches(gravity: Array, mass: float, center: Array, bias: Array) -> Array:
    """Return what a sensor shows of a tool at rest."""
    pull = mass * gravity
    return np.asarray(np.hstack([pull, np.cross(center, pull)]) + bias)


def test_weight_center_and_bias_are_found_within_their_confidence() -> None:
    rng = np.random.default_rng(6)
    center, bias = np.array([0.01, -0.02, 0.08]), np.array([1.0, -2, 0.5, 0.1, 0.05, -0.2])
    g = attitudes(24)
    shown = wrenches(g, 0.7, center, bias) + rng.normal(size=(24, 6)) * ([0.05] * 3 + [0.005] * 3)
    found = identify_tool_weight(g, shown)
    assert found.unseen == ()
    assert abs(found.mass - 0.7) < 4 * found.deviations["mass"] < 0.02
    np.testing.assert_allclose(found.center, center, atol=4e-3)
    for name, value, true in zip(("x", "y", "z", "rx", "ry", "rz"), found.bias, bias, strict=True):
        assert abs(value - true) < 4 * found.deviations[f"bias_{name}"]
    exact = identify_tool_weight(g, wrenches(g, 0.7, center, bias))
    assert exact.residual < 1e-14
    assert exact.mass == pytest.approx(0.7, abs=1e-13)


def test_poses_of_one_attitude_leave_the_weight_untold_and_say_so() -> None:
    g = np.array([[0, 0, -9.81]] * 5)
    found = identify_tool_weight(g, wrenches(g, 0.7, np.zeros(3), np.zeros(6)))
    assert len(found.unseen) == 4
    assert any("mass" in words and "bias_z" in words for words in found.unseen)
    two = np.array([[0, 0, -9.81], [0, 0, 9.81]])
    told = identify_tool_weight(two, wrenches(two, 0.7, np.zeros(3), np.zeros(6)))
    assert told.mass == pytest.approx(0.7)
    assert all("mass" not in words.split() for words in told.unseen)
    assert any("moment_z" in words for words in told.unseen)


@pytest.mark.parametrize("shape", [(4, 2), (3, 6)])
def test_wrenches_of_another_shape_are_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(lw.Error, match="wrenches have the shape"):
        identify_tool_weight(attitudes(4), np.zeros(shape))


def test_gravity_that_points_the_other_way_and_no_poses_at_all_are_refused() -> None:
    g = attitudes(6)
    with pytest.raises(lw.Error, match=r"a mass of -0.7 kg: gravity and wrenches point in opp"):
        identify_tool_weight(-g, wrenches(g, 0.7, np.zeros(3), np.zeros(6)))
    with pytest.raises(lw.Error, match="there are no poses"):
        identify_tool_weight(np.zeros((0, 3)), np.zeros((0, 6)))
    assert abs(identify_tool_weight(g, wrenches(g, 0.0, np.zeros(3), np.zeros(6))).mass) < 1e-12


def press(stiff: bool) -> tuple[lw.System, ToolWeight]:
    """Return a tool of 0.5 kg on a slanted hand that rests on a plane, its weight taken off."""
    m = Mechanism("press")
    post = m.body("post", rotate="y", mass=1, inertia=1)
    coordinates: dict[str, Any] = {} if stiff else {"translate": "xyz", "rotate": "xyz"}
    tool = m.body(
        "tool", parent=post, at=(0.3, 0, 0), mass=0.5, com=(0, 0, -0.02), inertia=1e-3,
        **coordinates,
    )  # fmt: skip
    m.gravity()
    s = lw.System(m)
    s.add(lw.elements.JointSpring(m, "post", 400.0, rest=0.5, damping=20.0))
    sensor: Any = ForceTorque(m, tool, force_bias=1.0, moment_bias=0.1)
    if not stiff:
        sensor = CompliantWrist(m, post, tool, [3e3] * 3 + [40.0] * 3, [30.0] * 3 + [0.4] * 3)
    s.add(sensor)
    g = attitudes(6)
    bias = np.array([-1.0] * 3 + [-0.1] * 3) if stiff else np.zeros(6)
    weight = identify_tool_weight(g, wrenches(g, 0.5, np.array([0, 0, -0.02]), bias))
    s.add(WeightCompensation(m, post, weight.mass, weight.center, weight.bias, sensor=sensor))
    floor = Plane(center=(0, 0, -0.1))
    s.add(Contact(m, [tool], floor, stiffness=1e4, damping=300, viscous=100))
    return s, weight


@pytest.mark.parametrize("stiff", [True, False])
def test_a_stiff_sensor_and_a_wrist_give_the_contact_alone_in_the_same_port(stiff: bool) -> None:
    s, _ = press(stiff)
    final = lw.simulate(s, 6.0, tolerance=1e-8).final
    felt = np.array([final[f"weight.wrench[{k}]"] for k in range(6)])
    turn = final["post"]
    world = np.array([final[f"contact.force1_{c}"] for c in "xyz"])
    rows = np.array([[np.cos(turn), 0, -np.sin(turn)], [0, 1, 0], [np.sin(turn), 0, np.cos(turn)]])
    assert world[2] > 5
    np.testing.assert_allclose(felt[:3], rows @ world, atol=2e-3)
    np.testing.assert_allclose(felt[3:], 0, atol=5e-4 if stiff else 3e-3)
