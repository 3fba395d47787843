"""Stiffness, pose errors and counterweights of machines with closed loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import DomainError, InputError
from linkwright.equations.closure import assemble
from linkwright.mechanism import (
    Ball,
    Body,
    Free,
    Mechanism,
    Prismatic,
    Revolute,
    Universal,
)
from linkwright.parallel.beams import BeamSection, root_stress, tip_deflection
from linkwright.parallel.calibration import calibrate
from linkwright.parallel.counterweights import Counterweight, counterbalance
from linkwright.parallel.platform_stiffness import beam_compliance, stiffness
from linkwright.parallel.pose_errors import pose_budget, pose_sensitivity, sample_poses
from linkwright.robots import closed

TUBE = BeamSection.tube(0.06, 0.003)


def _soft_tip(m: Mechanism, name: str, body: Body, at: float) -> Body:
    """Return a body that hangs on the far end of another by six joints of its own."""
    parent, place = body, (at, 0, 0)
    for kind in (Prismatic, Revolute):
        for axis in "xyz":
            joint = f"{name}_{'t' if kind is Prismatic else 'r'}{axis}"
            parent = m.body(joint, parent=parent, at=place, joint=kind(axis))
            place = (0, 0, 0)
    return parent


def _spatial_four_bar(soft: str = "") -> Mechanism:
    """Return a crank, a rod and a rocker in space; the far end of one may have joints."""
    m = Mechanism("four")
    crank = m.body("crank", joint=Revolute("z"))
    hub = _soft_tip(m, "crank", crank, 1.0) if soft == "crank" else crank
    place = (0, 0, 0) if soft == "crank" else (1, 0, 0)
    rod = m.body("rod", parent=hub, at=place, joint=Universal("y", "z"))
    far = _soft_tip(m, "rod", rod, 2.0) if soft == "rod" else rod
    rocker = m.body("rocker", at=(2.2, 0.4, -0.3), joint=Revolute("x"))
    end = _soft_tip(m, "rocker", rocker, 0.0) if soft == "rocker" else rocker
    tip = m.point("tip", far, (0 if soft == "rod" else 2, 0, 0))
    pin = m.point("pin", end, (0, 1.1, 0.2))
    m.close_loop("ball", pin, tip, Ball())
    more = [f"{soft}_{k}{x}" for k in "tr" for x in "xyz"] if soft else []
    m.actuate("crank", *more)
    m.set_platform(m.point("mark", rocker, (0.7, 0.1, 0.2)))
    return m


def _four_bar_pose(m: Mechanism) -> dict[str, float]:
    return assemble(m, {"crank": 0.6, **{z.name: 0.0 for z in m.actuators[1:]}}).coordinates


@pytest.mark.parametrize("link", ["crank", "rod"])
def test_a_bent_link_moves_the_platform_as_joints_at_its_far_end_would(link: str) -> None:
    """The six movements of a far end are those of six joints that are put there."""
    plain, soft = _spatial_four_bar(), _spatial_four_bar(link)
    q = _four_bar_pose(soft)
    own = {name: value for name, value in q.items() if name in plain.coordinates}
    columns = pose_sensitivity(soft, q).of_actuators[:, 1:]
    length = {"crank": 1.0, "rod": 2.0}[link]
    expected = columns @ beam_compliance(TUBE, length) @ columns.T
    found = stiffness(plain, own, links={link: TUBE}).compliance
    assert np.abs(expected).max() > 0.0
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


def _stewart() -> Mechanism:
    m = Mechanism("hexapod")
    plate = m.body("plate", joint=Free(), mass=20, inertia=(1, 1, 2))
    for i in range(6):
        third = 2.0 * math.pi / 3.0 * (i // 2)
        low, high = (third + s * (1 if i % 2 else -1) for s in (0.2, 0.8))
        foot = m.point(f"foot{i}", at=(math.cos(low), math.sin(low), 0))
        head = m.point(f"head{i}", plate, (0.6 * math.cos(high), 0.6 * math.sin(high), 0))
        m.drive_strut(f"leg{i}", foot, head)
    m.gravity()
    m.actuate(*(f"leg{i}" for i in range(6)))
    m.set_platform(plate)
    m.set_initial({"plate.z": 1.0, "plate.x": 0.05, "plate.rx": 0.1})
    return m


def test_the_stiffness_of_elastic_legs_is_that_of_their_jacobian() -> None:
    """K = Jᵀ k J, with J the rates of the legs for those of the platform."""
    m = _stewart()
    found = stiffness(m, assemble(m).coordinates, drives={f"leg{i}": 2e6 + i for i in range(6)})
    poses = lw.Robot(m)
    q = [assemble(m).coordinates[name] for name in poses.coordinates]
    # local world-aligned rates of the platform for rates of the legs
    rates = np.linalg.inv(np.asarray(poses.jacobian.of("plate")(q)))
    expected = rates.T @ np.diag([2e6 + i for i in range(6)]) @ rates
    np.testing.assert_allclose(found.matrix, expected, rtol=1e-7, atol=1e-3)
    assert found.slack.max() == 0.0


def test_an_elastic_joint_and_its_clearance_move_the_platform() -> None:
    """A ball that gives way radially is a displacement of the relations that it closes."""
    m, soft = _spatial_four_bar(), _spatial_four_bar("rod")
    bent = _four_bar_pose(soft)
    three = pose_sensitivity(soft, bent).of_actuators[:, 1:4]
    q = {name: bent[name] for name in m.coordinates}
    found = stiffness(m, q, joints={"ball": 1e6, "rod": 1e6}, clearances={"ball": 1e-4})
    np.testing.assert_allclose(found.shares["joint of ball"], three @ three.T / 1e6, atol=1e-15)
    size = 1e-4 * np.linalg.norm(three, axis=1)
    np.testing.assert_allclose(found.slack, size, rtol=1e-6, atol=1e-12)
    assert np.abs(found.shares["joint of rod"]).max() > 0.0


def test_what_cannot_be_stiff_is_refused_in_words() -> None:
    m = _spatial_four_bar()
    q = _four_bar_pose(m)
    with pytest.raises(InputError, match="did you mean 'crank'"):
        stiffness(m, q, links={"crak": TUBE})
    with pytest.raises(InputError, match="positive"):
        stiffness(m, q, drives={"crank": 0.0})
    with pytest.raises(InputError, match="nothing gives way"):
        stiffness(m, q)
    with pytest.raises(DomainError, match="rigid in some direction"):
        _ = stiffness(m, q, drives={"crank": 1e5}).matrix


def test_sensitivities_of_dimensions_are_those_of_closing_anew() -> None:
    """Each column is the change of the pose when a dimension changes and loops close again."""
    m = Mechanism("slider")
    crank = m.body("crank", rotate="z")
    rod = m.body("rod", parent=crank, at=("r", 0, 0), rotate="z")
    m.constrain_points(m.point("tip", rod, ("l", 0, 0)), m.point("rail", at=(0, "e", 0)), "y")
    m.actuate("crank")
    m.set_platform(m.point("mark", rod, ("l/2", 0, 0)))
    m.defaults(r=0.3, l=1.0, e=0.1)

    def pose(**values: float) -> np.ndarray:
        q = assemble(m, {"crank": 0.7}, values).coordinates
        turn = q["crank"] + q["rod"]
        r, l = values.get("r", 0.3), values.get("l", 1.0)
        at = r * np.exp(1j * q["crank"]) + l / 2 * np.exp(1j * turn)
        return np.array([at.real, at.imag, 0, 0, 0, turn])

    found = pose_sensitivity(m, assemble(m, {"crank": 0.7}).coordinates)
    assert found.dimensions == ("e", "l", "r")
    for k, name in enumerate(found.dimensions):
        h, base = 1e-5, m.values[name]
        slope = (pose(**{name: base + h}) - pose(**{name: base - h})) / (2 * h)
        np.testing.assert_allclose(found.of_dimensions[:, k], slope, atol=1e-8)
    budget = pose_budget(m, assemble(m, {"crank": 0.7}).coordinates, {"r": 1e-3, "crank": 1e-3})
    assert (budget.worst >= budget.root_of_squares).all()
    with pytest.raises(InputError, match="no parameter or actuator 'rr'"):
        pose_budget(m, assemble(m, {"crank": 0.7}).coordinates, {"rr": 1e-3})


def test_beams_of_the_report_bend_and_bear_as_it_says() -> None:
    """Mount check 55."""
    arms = 1425.0, 0.8416
    seen = [
        tip_deflection(1715, 0.85, 7.35e-5, 70e9),
        tip_deflection(*arms, 1.02e-5, 70e9),
        tip_deflection(*arms, 3.34e-6, 70e9),
        tip_deflection(1425, 0.12, 3.07e-7, 200e9),
    ]
    np.testing.assert_allclose(np.array(seen) * 1e3, [0.07, 0.4, 1.2, 0.013], rtol=0.05)
    stresses = root_stress(1715, 0.85, 7.35e-5, 0.075), root_stress(1425, 0.12, 3.07e-7, 0.0125)
    np.testing.assert_allclose(np.array(stresses) / 1e6, [1.5, 7.0], rtol=0.02)


def test_a_weight_whose_angle_is_free_finds_it() -> None:
    m = Mechanism("lever")
    m.body("arm", rotate="y", mass=2, com=(0.4, 0, 0.3), inertia=0)
    m.gravity()
    poses = np.linspace(0, 2, 7)[:, None]
    found = counterbalance(
        lw.Robot(m), poses, {"w": Counterweight(("arm",), (1, 0, 0), across=(0, 0, 1))}
    )
    assert found.exact
    assert found.moments["w"] == pytest.approx(1.0)
    assert found.angles["w"] == pytest.approx(math.atan2(-0.6, -0.8))
    one = counterbalance(lw.Robot(m), poses, {"w": Counterweight(("arm",), (-1, 0, 0))})
    assert not one.exact
    assert found.peak < one.peak < one.before


def _five_bar() -> tuple[Mechanism, dict[str, float]]:
    m = Mechanism("five")
    left = m.body("left", rotate="z")
    right = m.body("right", at=("d", 0, 0), rotate="z")
    rod = m.body("rod", parent=left, at=("a", 0, 0), rotate="z")
    m.constrain_distance(
        m.point("tool", rod, ("b", 0, 0)), m.point("elbow", right, ("c", 0, 0)), "e"
    )
    m.actuate("left", "right")
    m.set_platform("tool")
    m.defaults(a=0.5, b=0.8, c=0.5, d=0.6, e=0.8)
    m.set_initial({"left": 2.0, "right": 1.0, "rod": -1.0})
    return m, assemble(m).coordinates


def test_the_linear_budget_is_that_of_samples_closed_anew() -> None:
    """The deviation of the linear budget is within 5 % of Monte Carlo."""
    m, q = _five_bar()
    tolerances = {"a": 1e-3, "b": 1e-3, "e": 1e-3, "left": 1e-3}
    linear = pose_budget(m, q, tolerances).deviation
    sampled = sample_poses(m, q, tolerances, 4000, seed=3).std(axis=0)
    counted = linear > 0
    assert counted.sum() == 3
    np.testing.assert_allclose(sampled[counted], linear[counted], rtol=0.05)


def test_dimensions_are_found_from_measured_poses_with_their_confidence() -> None:
    """Noise of 0.01 mm; what is found is right within three deviations, and these are honest."""
    m, q = _five_bar()
    true = {"a": 0.502, "b": 0.799, "c": 0.4985, "d": 0.603, "e": 0.8012}
    rng = np.random.default_rng(5)
    drives = np.array([q["left"], q["right"]]) + rng.uniform(-0.4, 0.4, (40, 2))
    built = m.with_parameters(true)
    poses = closed(built, {"actuators": drives}, start=q)
    assert poses.closed.all()
    robot = lw.Robot(built)
    places = np.asarray(robot.pose.of("tool")(poses.q))[:, :3, 3]
    noisy = places + np.array([1e-5, 1e-5, 0]) * rng.normal(size=places.shape)
    found = calibrate(m, q, list(true), drives, places=noisy)
    assert not found.unseen
    for name, value in true.items():
        assert abs(found.values[name] - value) < 3.5 * found.deviations[name]
        assert 1e-7 < found.deviations[name] < 1e-4
    assert found.residual == pytest.approx(1e-5, rel=0.2)  # z, which nothing moves, left out
    clean = calibrate(m, q, list(true), drives, places=places)
    assert clean.values == pytest.approx(true, abs=1e-9)


def test_dimensions_that_measurements_do_not_tell_are_named() -> None:
    m = Mechanism("lever")
    arm = m.body("arm", rotate="z")
    m.set_platform(m.point("tip", arm, ("a + b", 0, 0)))
    m.actuate("arm")
    m.defaults(a=1.0, b=1.0)
    found = calibrate(m, {"arm": 0.0}, ["a", "b"], [[0.0], [1.0]], places=[[2.2, 0, 0]] * 2)
    assert found.unseen == ("the measurements do not determine +1 a -1 b",)
    with pytest.raises(InputError, match="nothing was measured"):
        calibrate(m, {"arm": 0.0}, ["a"], [[0.0]])
