"""Mounts in closed form against the report's numbers, and against the shipped models' own loops."""

import math
from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from linkwright.algebra import Expr, evaluate_all
from linkwright.base.errors import InputError
from linkwright.equations.closure import assemble
from linkwright.equations.parallel_machine import ParallelMachine, parallel_machine
from linkwright.models import load_model
from linkwright.mounts import pointing
from linkwright.mounts.closed_forms import (
    Jacks,
    Legs,
    OutOfReachError,
    arm_angles,
    arm_rates,
    determinants,
    inverse_jacobian,
    jack_directions,
    jack_lengths,
    jack_singularity,
    jack_transmission,
    member_determinant,
    member_lengths,
    mirror_pose,
    platform_modes,
    reach,
    rotary_limit,
    strut_poses,
    transmission_ratio,
    truss_curve,
    truss_modes,
    worst,
)
from linkwright.mounts.closed_forms.rotary import elbows
from linkwright.parallel.resultants import closures, triangle_modes
from tests.seeds import cases

Array = NDArray[np.float64]
LEGS = Legs()
UNEQUAL = Legs(upper=(-0.141, 0, 0))  # the example of the report: l4 = 0.700
CASE = np.radians([60.0, 45.0, 30.0])
AZIMUTHS = np.arange(0.0, 360.0, 5)
HEMISPHERE = pointing.direction_at(AZIMUTHS[:, None], np.arange(0.0, 91.0, 5))
OUT = np.array([[1, 0, 0], [-0.5, math.sqrt(0.75), 0], [-0.5, -math.sqrt(0.75), 0]])
UP = np.array([0.0, 0, 1])


def at(azimuth: float, tilt: float) -> Array:
    """Return a direction in the angles of the report."""
    return pointing.direction_at(azimuth, tilt)


# -- all ways to assemble the mount with three motors ----------------------------------------------
def test_the_polynomial_of_the_report_comes_out_to_all_digits() -> None:
    """Mount checks 6 and 7: ball joints, their distances, and 17 palindromic coefficients."""
    b = elbows(CASE)
    wanted = [[1.008657, 0, 0.4205], [-0.437503, 0.757778, 0.594677]]
    np.testing.assert_allclose(b[:2], wanted, atol=1e-6)
    np.testing.assert_allclose(b[2], [-0.350415, -0.606937, 0.728327], atol=1e-6)
    sides = [np.linalg.norm(b[j] - b[i]) for i, j in ((0, 1), (1, 2), (2, 0))]
    np.testing.assert_allclose(sides, [1.641934, 1.374006, 1.519937], atol=1e-6)
    found = platform_modes(CASE, UNEQUAL).coefficients[0] / 1e5
    half = [0.05701474105699, -0.10071233933817, 1.12838873402140, -1.55913343050819]
    half += [-3.55391140088964, -0.93129250187841, 6.11465029625884, 0.47707321944806]
    np.testing.assert_allclose(found[::-1][:8], half, rtol=1e-9)
    assert found[8] == pytest.approx(-3.21330445223874, rel=1e-9)
    np.testing.assert_allclose(found, found[::-1], rtol=1e-10)


MODES = {  # upper arms, center, azimuth, tilt
    "a": ((73.7023, 46.6238, 28.2939), (0.2743, 0.1122, 1.0477), 25.5601, 32.6710),
    "b": ((106.2977, 133.3762, 151.7061), (0.1009, 0.0056, 0.0723), 191.5569, 9.5267),
    "c": ((149.7838, 92.0426, -21.4092), (0.2413, -0.1034, 0.8286), 40.9978, 84.5017),
    "d": ((30.2162, 87.9574, -158.5908), (0.1526, -0.1579, 0.3294), 222.2819, 61.2853),
}


def test_four_of_sixteen_ways_are_real_in_the_example() -> None:
    """Mount checks 8 and 9: the table, closures to 1e-9, and the mirror pairs a/b and c/d."""
    found = platform_modes(CASE, UNEQUAL)
    assert (found.degree, len(found.row)) == (16, 4)
    assert found.residual.max() < 1e-12
    which = {}
    for name, (upper, center, azimuth, tilt) in MODES.items():
        k = int(np.argmin(np.abs(np.degrees(found.upper) - upper).max(axis=1)))
        which[name] = k
        np.testing.assert_allclose(np.degrees(found.upper[k]), upper, atol=1e-4)
        np.testing.assert_allclose(found.position[k], center, atol=1e-4)
        a, t = pointing.angles_at(found.direction[k])
        np.testing.assert_allclose([a % 360, t], [azimuth, tilt], atol=1e-4)
    b = elbows(CASE, UNEQUAL)
    w = np.cross(b[1] - b[0], b[2] - b[0])
    w /= np.linalg.norm(w)
    for one, two in ("ab", "cd"):
        i, j = which[one], which[two]
        p = found.position[i]
        np.testing.assert_allclose(p - 2 * ((p - b[0]) @ w) * w, found.position[j], atol=1e-10)
    for k in range(4):  # the tips of the upper arms are the ball joints
        upper = found.upper[k][:, None]
        size = LEGS.l + np.array(UNEQUAL.upper)[:, None]
        tips = LEGS.r * OUT + size * (np.sin(upper) * OUT - np.cos(upper) * UP)
        placed = found.position[k] + tips @ found.rotation[k].T
        np.testing.assert_allclose(placed, b, atol=1e-9)


def test_a_platform_in_one_plane_leaves_out_four_terms_of_each_closure() -> None:
    """Mount check 11: d1, d2, d6, d7 vanish, and general axes are closed as well."""
    sides = [1.641934, 1.374006, 1.519937]
    d = closures(LEGS.r * OUT, OUT, -UP + 0 * OUT, [0.7, 0.841, 0.841], sides)
    assert np.abs(d[:, [0, 1, 5, 6]]).max() == 0
    flat = np.sort(triangle_modes(d).angles, axis=0)
    table = np.sort([upper for upper, *_ in MODES.values()], axis=0)
    np.testing.assert_allclose(np.sort(np.degrees(flat), axis=0), table, atol=1e-4)
    for tilt, close in ((0.0, 1e-9), (1e-6, 1e-4)):  # and by all terms: turned in space, or almost
        rng = np.random.default_rng(5)
        whole = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        leaning = tilt * np.cross(OUT, UP) - UP
        hinges, out, up = (v @ whole.T for v in (LEGS.r * OUT, OUT, leaning))
        general = closures(hinges, out, up, [0.7, 0.841, 0.841], sides)
        assert (np.abs(general[:, [0, 1, 5, 6]]).max() > 1e-9) == bool(tilt)
        angles = np.sort(triangle_modes(general).angles, axis=0)
        np.testing.assert_allclose(angles, flat, atol=close)
    turn = np.array(
        [[1, 0, 0], [0, math.cos(0.1), -math.sin(0.1)], [0, math.sin(0.1), math.cos(0.1)]]
    )
    outward, upright = OUT @ turn.T, (-UP + 0 * OUT) @ turn.T
    outward[0], upright[0] = OUT[0], -UP  # one hinge is not in the plane of the others
    found = triangle_modes(closures(LEGS.r * OUT, outward, upright, [0.7, 0.841, 0.841], sides))
    assert len(found.angles) % 2 == 0
    assert len(found.angles) > 0
    b = found.angles[..., None]
    size = np.array([0.7, 0.841, 0.841])[:, None]
    tips = LEGS.r * OUT + size * (np.sin(b) * outward + np.cos(b) * upright)
    for k, (i, j) in enumerate(((0, 1), (1, 2), (2, 0))):
        between = np.linalg.norm(tips[:, j] - tips[:, i], axis=-1)
        np.testing.assert_allclose(between, sides[k], atol=1e-9)
    small = found.coefficients[0] / np.abs(found.coefficients).max()
    assert np.abs(small - small[::-1]).max() > 1e-6  # no longer palindromic


def test_the_mirrored_way_is_one_of_all_ways_of_equal_legs() -> None:
    """Mount check 12; the report's symmetric example besides."""
    center, d = mirror_pose(CASE)
    np.testing.assert_allclose(center, [0.20426, 0.12560, 1.14945], atol=1e-5)
    azimuth, tilt = pointing.angles_at(d)
    assert azimuth == pytest.approx(31.5887, abs=1e-4)
    assert tilt == pytest.approx(23.5668, abs=1e-4)
    found = platform_modes(np.stack([CASE, CASE[::-1]]), LEGS)
    gaps = np.linalg.norm(found.position[found.row == 0] - center, axis=1)
    k = int(np.argmin(gaps))
    assert gaps[k] < 1e-12
    np.testing.assert_allclose(found.rotation[k], pointing.rotation(d), atol=1e-12)
    np.testing.assert_allclose(found.upper[k], CASE, atol=1e-12)


# -- arms for directions ---------------------------------------------------------------------------
TABLE = {  # distance: {(azimuth, tilt): arms}
    0.98: {
        (0, 0): (54.3636, 54.3636, 54.3636),
        (0, 45): (85.4299, 35.0525, 35.0525),
        (0, 90): (114.6997, 1.0531, 1.0531),
        (30, 60): (89.6494, 47.7184, 14.7737),
        (60, 90): (80.5556, 80.5556, -9.9189),
        (123, 77): (11.9259, 106.3990, 15.7107),
        (250, 33): (44.5598, 37.9743, 76.9219),
    },
    0.90: {
        (0, 0): (57.6508, 57.6508, 57.6508),
        (0, 90): (117.5798, 7.7557, 7.7557),
        (60, 90): (84.7111, 84.7111, -5.4237),
        (123, 77): (17.1235, 109.3123, 21.0069),
    },
    0.841: {(0, 0): (60, 60, 60), (30, 90): (112.454, 45.000, 0.279)},
}


@pytest.mark.parametrize("distance", TABLE)
def test_arms_are_those_of_the_table(distance: float) -> None:
    """Mount checks 15 and 16: the zenith is acos(D/2l), 60 deg for D = l; the table to 1e-3 deg."""
    for (azimuth, tilt), arms in TABLE[distance].items():
        found = np.degrees(arm_angles(at(azimuth, tilt), distance))
        np.testing.assert_allclose(found, arms, atol=1e-3)
    zenith = math.acos(distance / (2 * LEGS.l))
    np.testing.assert_allclose(arm_angles(UP, distance), zenith, atol=1e-15)
    if distance == LEGS.l:
        assert math.degrees(zenith) == pytest.approx(60, abs=1e-12)


@pytest.mark.parametrize("distance", [0.841, 0.90, 0.98])
def test_there_and_back_over_the_hemisphere(distance: float) -> None:
    """Mount checks 13, 18 and 20: arms and back below 1e-12 m; a turn by 120 deg permutes arms."""
    d = pointing.direction_at(np.arange(0, 360, 2.5)[:, None], np.arange(0.0, 91, 5))
    assert d[..., 0].size >= 2000
    arms = arm_angles(d, distance)
    center, back = mirror_pose(arms)
    truth = distance * pointing.normal(d)
    assert np.abs(center - truth).max() < 1e-12
    assert np.abs(back - d).max() < 1e-12
    both = strut_poses(arms[..., :2], distance)
    assert np.abs(both[..., 0, :] - truth).max() < 1e-11  # the higher of two is the truth
    np.testing.assert_allclose(np.roll(arms, 48, axis=0), arms[..., [1, 2, 0]], atol=1e-12)


def test_all_eight_signs_close_and_the_larger_angles_work() -> None:
    """Mount check 14."""
    d = at(40, 65)
    n = pointing.normal(d)
    works = arm_angles(d)
    for k in range(8):
        signs = [1 if k >> i & 1 else -1 for i in range(3)]
        arms = arm_angles(d, 0.98, signs=signs)
        np.testing.assert_allclose(elbows(arms) @ n, 0.49, atol=1e-14)
        assert (arms <= works + 1e-12).all()
        assert (np.abs(arms - works) < 1e-12).tolist() == [s == 1 for s in signs]


def test_out_of_reach_names_the_leg() -> None:
    """Mount check 17: typed, with leg and place; or NaN where that is asked for."""
    with pytest.raises(OutOfReachError, match="direction is out of reach: arm 2 does not come"):
        arm_angles(at(0, 120))
    low = np.stack([at(0, 10), at(120, 120)])
    with pytest.raises(OutOfReachError, match="direction of 1 is out of reach: arm 1"):
        arm_angles(low)
    found = arm_angles(low, missing="nan")
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1, 0])
    with pytest.raises(OutOfReachError, match="arms 1 and 2 comes too near the base center"):
        strut_poses(np.radians([20.0, 20.0]), 2.0)
    with pytest.raises(OutOfReachError, match="jacks 1 and 2"):
        jack_directions([0.01, 3.0])
    with pytest.raises(InputError, match="no mirror plane"):
        arm_angles(UP, 0.98, UNEQUAL)
    with pytest.raises(InputError, match="on one line"):
        jack_directions([1.0, 1.0], Jacks(azimuths=(0.3, 0.3)))
    with pytest.raises(InputError, match="three signs"):
        arm_angles(UP, signs=(1, 0, 1))


def test_a_hinge_in_the_mirror_plane_and_an_elbow_above_the_base_center_are_no_case() -> None:
    """The plane-circle code of the report divides by zero there, its scalar route at B1x = 0."""
    d = at(0, 90)
    distance = 2 * LEGS.r * pointing.normal(d)[0]  # n.P1 = D/2: the hinge of arm 1 is in the plane
    arms = arm_angles(d, distance)
    np.testing.assert_allclose(elbows(arms) @ pointing.normal(d), distance / 2, atol=1e-15)
    inward = -math.asin(LEGS.r / LEGS.l)
    both = strut_poses([inward, 0.9], 0.9)
    b = elbows([inward, 0.9, 0])
    assert abs(b[0, 0]) < 1e-15
    for center in both:
        assert np.linalg.norm(center) == pytest.approx(0.9)
        np.testing.assert_allclose(b[:2] @ center / 2, 0.9**2 / 4, atol=1e-12)


def scalar_route(b1: Array, b2: Array, distance: float) -> list[Array]:
    """Return both centers by the report's scalar formulas."""
    q = distance**2 / 4
    (x1, y1, z1), (x2, y2, z2) = b1, b2
    a, b, c = y2 - x2 * y1 / x1, z2 - x2 * z1 / x1, q * (x2 / x1 - 1)
    d, e = 1 + (y1 / x1) ** 2, 1 + (z1 / x1) ** 2
    f, g, h = -2 * q * y1 / x1**2, -2 * q * z1 / x1**2, 2 * y1 * z1 / x1**2
    i = q**2 / x1**2 - q
    j = d * b**2 / a**2 + e - h * b / a
    k = 2 * d * b * c / a**2 - f * b / a + g - h * c / a
    m = d * c**2 / a**2 - f * c / a + i
    found = []
    for sign in (1, -1):
        z = (-k + sign * math.sqrt(k**2 - 4 * j * m)) / (2 * j)
        y = -(b * z + c) / a
        found.append(2 * np.array([(q - y1 * y - z1 * z) / x1, y, z]))
    return sorted(found, key=lambda v: -v[2])


def test_two_arms_and_a_strut_leave_two_poses_by_both_routes() -> None:
    """Mount check 19, and the example of the report for D = 0.90."""
    both = strut_poses(np.radians([60, 45]), 0.9)
    np.testing.assert_allclose(both[0], [0.03140, -0.14415, 0.88783], atol=1e-5)
    np.testing.assert_allclose(both[1], [0.41452, 0.79825, -0.03118], atol=1e-5)
    azimuth, tilt = pointing.angles_at(pointing.mirrored(both[0] / 0.9))
    np.testing.assert_allclose([azimuth % 360, tilt], [282.2877, 18.8691], atol=1e-4)
    for arms in arm_angles(HEMISPHERE[3::7, 2::4].reshape(-1, 3), 0.9):
        b = elbows(arms)
        wanted = scalar_route(b[0], b[1], 0.9)
        np.testing.assert_allclose(strut_poses(arms[:2], 0.9), wanted, atol=1e-12)


# -- rates -----------------------------------------------------------------------------------------
def test_jacobians_are_differences_and_undo_each_other() -> None:
    """Mount check 22; and rates at the zenith, where angles have none."""
    for azimuth, tilt in ((40, 65), (200, 20), (310, 90)):
        J = inverse_jacobian(at(azimuth, tilt))
        step = 1e-5
        columns = [
            arm_angles(at(azimuth + math.degrees(step), tilt))
            - arm_angles(at(azimuth - math.degrees(step), tilt)),
            arm_angles(at(azimuth, tilt + math.degrees(step)))
            - arm_angles(at(azimuth, tilt - math.degrees(step))),
            arm_angles(at(azimuth, tilt), 0.98 + step) - arm_angles(at(azimuth, tilt), 0.98 - step),
        ]
        wanted = np.stack(columns, axis=-1) / (2 * step)
        np.testing.assert_allclose(J, wanted, atol=1e-8)
        arms = arm_angles(at(azimuth, tilt))
        forward = np.empty((3, 3))
        for k in range(3):
            shifted = [mirror_pose(arms + s * step * np.eye(3)[k]) for s in (1, -1)]
            angles = [np.radians(pointing.angles_at(d)) for _, d in shifted]
            away = [np.linalg.norm(p) for p, _ in shifted]
            forward[:2, k] = (angles[0] - angles[1]) / (2 * step)
            forward[2, k] = (away[0] - away[1]) / (2 * step)
        np.testing.assert_allclose(forward @ J, np.eye(3), atol=1e-8)
        rate = np.array([0.3, -0.2, 0.1])
        rate -= at(azimuth, tilt) * (rate @ at(azimuth, tilt))
        ends = [at(azimuth, tilt) + s * step * rate for s in (1, -1)]
        ends = [v / np.linalg.norm(v) for v in ends]
        wanted = (arm_angles(ends[0]) - arm_angles(ends[1])) / (2 * step)
        np.testing.assert_allclose(arm_rates(at(azimuth, tilt), rate), wanted, atol=1e-8)
    over = arm_rates(UP, pointing.direction_at(AZIMUTHS, 90))
    assert np.abs(over).max() < 0.75  # rad/s for 1 rad/s over the zenith, whatever the azimuth


def test_determinants_keep_their_sign_over_the_hemisphere() -> None:
    """Mount check 24, as recounted: A at least 1.8896 (zenith), B at least 0.5194 (azimuth 2)."""
    fine = pointing.direction_at(np.arange(0.0, 360)[:, None], np.arange(0.0, 91, 2))
    three, two = (np.abs(x) * np.sign(x / x[0, 0]) for x in determinants(fine))
    assert three.min() == pytest.approx(1.8896, abs=1e-4)
    assert three.min() == pytest.approx(three[0, 0])
    assert two.min() == pytest.approx(0.5194, abs=1e-4)
    assert int(two.argmin()) == 3 * two.shape[1] - 1  # azimuth 2, on the horizon
    d = at(40, 65)
    J = inverse_jacobian(d)
    half = math.sin(math.radians(65) / 2)
    assert determinants(d)[0] == pytest.approx(np.linalg.det(J) / half)
    assert determinants(d)[1] == pytest.approx(np.linalg.det(J[:2, :2]) / half)


def test_passive_arm_turns_faster_than_its_drive_in_the_worst_pose() -> None:
    """Mount checks 28 and 29, as recounted: 3.3976 at D = 0.95 to 3.8173 at 1.0; arms at 9.444."""
    wanted = {0.90: 3.12, 0.95: 3.3976, 0.98: 3.6256, 1.0: 3.8173}
    for distance, ratio in wanted.items():
        digits = 5e-3 if distance == 0.90 else 5e-5
        assert abs(transmission_ratio(at(0, 90), distance)) == pytest.approx(ratio, abs=digits)
    for distance, angle in ((0.98, 9.444), (0.953, 8.019)):
        arms = 90 - np.degrees(arm_angles(at(60, 90), distance))
        np.testing.assert_allclose(arms[:2], angle, atol=5e-4)


# -- limits ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("distance", "far", "azimuth", "singular", "there"),
    cases(
        [
            (0.841, 115.9446, 17.2, 112.985, 12.3),
            (0.90, 110.8431, 16.0, 108.105, 12.05),
            (0.98, 103.6622, 13.8, 101.331, 11.55),
        ],
        daily=1,
    ),
)
def test_reach_and_first_singularity_at_the_worst_azimuth(
    distance: float, far: float, azimuth: float, singular: float, there: float
) -> None:
    """Mount check 62, and the first singularity of B in table 3.7, both as recounted."""
    turn, tilt = worst(lambda a: reach(a, distance))
    assert turn == pytest.approx(azimuth, abs=0.2)
    assert tilt == pytest.approx(far, abs=1e-4)
    turn, tilt = worst(lambda a: rotary_limit(a, distance))
    assert turn == pytest.approx(there, abs=0.1)
    assert tilt == pytest.approx(singular, abs=1e-3)
    assert float(reach(240 + azimuth, distance)) == pytest.approx(far, abs=1e-3)


def test_the_truss_of_two_members_is_singular_within_the_hemisphere() -> None:
    """Mount checks 25 and 26: at 76.978 and 163.022 deg on the horizon, symmetric about 120."""
    horizon = np.linspace(60, 180, 4801)
    values = member_determinant(pointing.direction_at(horizon, 90))
    k = np.flatnonzero(np.diff(np.sign(values)))
    crossing = horizon[k] - values[k] * 0.025 / (values[k + 1] - values[k])
    np.testing.assert_allclose(crossing, [76.978, 163.022], atol=1e-3)
    assert float(truss_curve(120.0)) == pytest.approx(59.33, abs=5e-3)
    left, right = truss_curve([80.0, 95, 110]), truss_curve([160.0, 145, 130])
    np.testing.assert_allclose(left, right, atol=1e-9)
    assert (np.diff(left) < 0).all()
    assert np.isnan(truss_curve([70.0, 0.0])).all()
    np.testing.assert_allclose(truss_curve(crossing + np.array([0.001, -0.001])), 90, atol=0.01)


def test_members_of_the_truss_go_there_and_back() -> None:
    """C at D = 0.98: 1.669 m at the zenith, 0.512 to 1.923 m on the horizon."""
    horizon = member_lengths(pointing.direction_at(AZIMUTHS, 90))
    assert (horizon.min(), horizon.max()) == (
        pytest.approx(0.512, abs=1e-3),
        pytest.approx(1.923, abs=1e-3),
    )
    d = HEMISPHERE[5::11, 3::5].reshape(-1, 3)
    found = truss_modes(member_lengths(d))
    arms = arm_angles(d)
    for k in range(len(d)):
        assert np.abs(found.of(k) - arms[k]).max(axis=1).min() < 1e-8


# -- jacks -----------------------------------------------------------------------------------------
def test_jacks_go_there_and_back_and_keep_their_angle_to_the_strut() -> None:
    """Mount check 30: at least 45.000 deg, at azimuth 0 on the horizon; 28.2 with low anchors."""
    lengths = jack_lengths(HEMISPHERE)
    assert np.abs(jack_directions(lengths)[..., 0, :] - HEMISPHERE).max() < 1e-13
    fine = pointing.direction_at(np.arange(0.0, 360)[:, None], np.arange(0.0, 91))
    angles = np.degrees(jack_transmission(fine))
    assert angles.min() == pytest.approx(45, abs=5e-3)
    assert np.degrees(jack_transmission(at(0, 90))).min() == pytest.approx(45, abs=5e-3)
    low = np.degrees(jack_transmission(fine, Jacks(height=0.0)))
    assert low.min() == pytest.approx(28.2, abs=0.05)


def test_jacks_are_singular_just_where_the_strut_lies_in_the_plane_of_their_anchors() -> None:
    """Mount check 31: the rates of the lengths lose their rank there, and nowhere else."""
    places = (Jacks(), Jacks(radius=0.6, azimuths=(0.0, 2 * math.pi / 3)), Jacks(height=-0.2))
    for jacks in places:
        flags = jack_singularity(HEMISPHERE, jacks)
        n = pointing.normal(HEMISPHERE)
        a1, a2 = jacks.anchors
        one, two = (np.cross(n, a) for a in (a1, a2))  # d(q^2)/dn = -2 h A, along the sphere
        rank = (np.cross(one, two) * n).sum(-1)
        across = np.linalg.norm(np.cross(a1, a2))
        np.testing.assert_allclose(rank / across, flags, atol=1e-12)
    assert np.abs(jack_singularity(HEMISPHERE)).min() > 0.1
    raised = jack_singularity(pointing.direction_at(AZIMUTHS, 90), places[1])
    assert raised.min() < 0 < raised.max()  # singular on the horizon


# -- the closed forms close the loops of the models ------------------------------------------------
def placed(machine: ParallelMachine, d: Array) -> Mapping[Expr, float]:
    """Return all coordinates of a shipped mount that points somewhere, by closed forms."""
    m = machine.mechanism
    D, legs = m.values["D"], Legs.of(m)
    arms = arm_angles(d, D, legs)
    n, R = pointing.normal(d), pointing.rotation(d)
    known = {f"arm{k}": float(arms[k - 1]) for k in (1, 2, 3)}
    known |= {"upper2": float(arms[1]), "upper3": float(arms[2]), "platform": float(arms[0])}
    c, s = math.cos(arms[0]), math.sin(arms[0])
    seen = np.array([c * n[0] - s * n[2], n[1], s * n[0] + c * n[2]])  # n in the axes of arm 1
    known |= {"upper1.e0": seen[2], "upper1.e1": -seen[1], "upper1.e2": seen[0], "upper1.e3": 0.0}
    members = member_lengths(d, D, legs)
    known |= dict(zip(("member12", "member23", "member31"), map(float, members), strict=True))
    first, second = math.atan2(n[1], n[2]), math.asin(-n[0])
    known |= {"strut_cross": first, "strut": second}
    if "leg1" in m.coordinates:
        jacks = Jacks.of(m)
        known |= {f"leg{k}": float(q) for k, q in zip((1, 2), jack_lengths(d, jacks), strict=True)}
        ca, sa, cb, sb = math.cos(first), math.sin(first), math.cos(second), math.sin(second)
        strut = R @ np.array([[1, 0, 0], [0, ca, -sa], [0, sa, ca]])
        strut = strut @ np.array([[cb, 0, sb], [0, 1, 0], [-sb, 0, cb]])
        for k, (anchor, a) in enumerate(zip(jacks.anchors, jacks.azimuths, strict=True), start=1):
            v = strut.T @ (anchor - jacks.h * n)
            out, side = (
                math.cos(a) * v[0] + math.sin(a) * v[1],
                math.sin(a) * v[0] - math.cos(a) * v[1],
            )
            known[f"jack{k}_cross"] = math.atan2(out, -v[2])
            known[f"jack{k}"] = math.asin(side / known[f"leg{k}"])
    numbers: dict[Expr, float] = {q: float(known[q.name]) for q in machine.coordinates}
    return numbers | {p: m.values[p.name] for p in machine.parameters}


@pytest.mark.parametrize(
    "name",
    ["mount-3-rotary", "mount-2-rotary", "mount-truss-3", "mount-truss-2", "mount-prismatic"],
)
def test_closed_forms_close_the_loops_of_the_shipped_model(name: str) -> None:
    """The general engine's relations vanish, and its platform points there without torsion."""
    m = load_model(name)
    for distance in (0.98, 0.9):
        m.set_parameters(D=distance)
        machine = parallel_machine(m)
        for azimuth, tilt in ((0, 0), (40, 65), (155, 90), (290, 33)):
            d = at(azimuth, tilt)
            numbers = placed(machine, d)
            assert max(map(abs, evaluate_all(machine.relations, numbers))) < 1e-13
            np.testing.assert_allclose(evaluate_all(machine.direction, numbers), d, atol=1e-13)
            center = evaluate_all(machine.position, numbers)
            np.testing.assert_allclose(center, distance * pointing.normal(d), atol=1e-13)
            rows = [evaluate_all(row, numbers) for row in machine.rotation]
            assert abs(pointing.torsion(rows)) < 1e-13


def test_newton_from_the_zenith_finds_the_nearest_way() -> None:
    """Mount check 10: the example's arms lead the shipped model to mode a."""
    m = load_model("mount-3-rotary")
    m.set_parameters(l_upper1=-0.141)
    found = assemble(m, {f"arm{k + 1}": float(b) for k, b in enumerate(CASE)}).coordinates
    upper = [found[name] for name in ("platform", "upper2", "upper3")]
    np.testing.assert_allclose(np.degrees(upper), MODES["a"][0], atol=1e-4)


def test_efforts_of_the_truss_peak_where_two_arms_lie_in_the_plane_of_the_platform() -> None:
    """Mount check 27: within 2 deg of azimuths 60, 180 and 300 on the horizon; 6860 N."""
    azimuths = np.arange(0.0, 360, 0.5)
    g, kappa, lower, upper, joint, platform = 9.81, 0.5, 8.81, 8.15, 6.47, 119.57

    def potential(d: Array, distance: float) -> Array:
        arms = np.cos(arm_angles(d, distance)).sum(-1)
        lifted = distance * pointing.normal(d)[..., 2] * (platform + 3 * upper * (1 - kappa))
        found: Array = g * ((kappa * lower + joint + kappa * upper) * LEGS.l * arms + lifted)
        return found

    h = 1e-5
    turn = np.degrees(h)
    ends = [
        [(pointing.direction_at(azimuths + s * turn, 90), 0.98) for s in (1, -1)],
        [(pointing.direction_at(azimuths, 90 + s * turn), 0.98) for s in (1, -1)],
        [(pointing.direction_at(azimuths, 90), 0.98 + s * h) for s in (1, -1)],
    ]
    lengths = np.stack([member_lengths(*a) - member_lengths(*b) for a, b in ends], axis=-2)
    work = np.stack([potential(*a) - potential(*b) for a, b in ends], axis=-1)
    forces = np.abs(np.linalg.solve(lengths, work[..., None])[..., 0])
    peak = forces.max(axis=1)
    assert peak.max() == pytest.approx(6860, abs=2)
    for wanted in (60, 180, 300):
        near = np.abs(azimuths - wanted) <= 30
        assert abs(azimuths[near][int(peak[near].argmax())] - wanted) <= 2
