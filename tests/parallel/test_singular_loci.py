"""Curves of singular poses against closed forms that know nothing of the engine."""

from __future__ import annotations

from math import acos, cos, pi, sin

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar

import linkwright as lw
from linkwright import Mechanism
from linkwright.parallel import singular_loci, singularity
from linkwright.parallel.loci import Locus
from tests.support.closed_loop_machines import L, R, circle, truss_mount

Array = NDArray[np.float64]
Z = np.array([0.0, 0.0, 1.0])


def balls_of(azimuth: float, zenith: float, distance: float) -> tuple[Array, Array, Array]:
    """Return n, the points B and the arms' angles, of the scalar form of section 3.3."""
    n = np.array([sin(zenith / 2) * cos(azimuth), sin(zenith / 2) * sin(azimuth), cos(zenith / 2)])
    x = circle([0, 120, 240], 1.0)
    alpha, gamma, c = L * (x @ n), L * n[2], distance / 2 - R * (x @ n)
    beta = np.arctan2(alpha, gamma) + np.arccos(c / np.hypot(alpha, gamma))
    return n, R * x + L * (x * np.sin(beta)[:, None] + Z * np.cos(beta)[:, None]), beta


def rates_of_arms(azimuth: float, zenith: float, distance: float) -> Array:
    """Return the rates of the arms' angles by two tangents of n (section 3.6)."""
    n, balls, beta = balls_of(azimuth, zenith, distance)
    tangents = np.array([np.cross(n, [1.0, 0, 0]), np.cross(n, [0, 1.0, 0])])
    x = circle([0, 120, 240], 1.0)
    arms = x * np.cos(beta)[:, None] - Z * np.sin(beta)[:, None]
    return np.asarray(-(balls @ tangents.T) / (L * (arms @ n))[:, None])


def truss_determinant(azimuth: float, zenith: float, distance: float = 0.98) -> float:
    """Return the determinant of the rates of e and f by tangents of n."""
    _, balls, beta = balls_of(azimuth, zenith, distance)
    x = circle([0, 120, 240], 1.0)
    arms = L * (x * np.cos(beta)[:, None] - Z * np.sin(beta)[:, None])
    moved = rates_of_arms(azimuth, zenith, distance)[:, :, None] * arms[:, None, :]
    rows = [
        [(balls[a] - balls[b]) @ (moved[a, t] - moved[b, t]) for t in (0, 1)]
        for a, b in ((0, 1), (1, 2))
    ]
    return float(np.linalg.det(rows))


def azimuths(directions: Array) -> Array:
    return np.sort(np.degrees(np.arctan2(directions[:, 1], directions[:, 0])) % 360)


@pytest.fixture(scope="module")
def truss() -> Mechanism:
    return truss_mount(0.98)


@pytest.fixture(scope="module")
def truss_curve(truss: Mechanism) -> Locus:
    found = singular_loci(truss, "type 2", {"zenith": (0, pi / 2)}, grid=12)
    assert len(found) == 1
    return found[0]


def test_the_truss_mount_is_singular_at_two_directions_of_the_horizon(truss_curve: Locus) -> None:
    """Mount check 25."""
    found = azimuths(truss_curve.at_zenith(pi / 2))
    np.testing.assert_allclose(found, [76.978, 163.022], atol=1e-3)
    closed_form = [
        np.degrees(brentq(truss_determinant, *np.radians(r), args=(pi / 2,), xtol=1e-14))
        for r in ((70, 85), (155, 170))
    ]
    np.testing.assert_allclose(found, closed_form, rtol=0, atol=1e-9)


def test_the_truss_mounts_curve_is_symmetric_with_its_apex_at_120(truss_curve: Locus) -> None:
    """Mount check 26."""
    assert truss_curve.kind == "type 2"
    assert truss_curve.ends == ("the edge of the region", "the edge of the region")
    apex, angle = truss_curve.nearest()
    assert abs(azimuths(apex[None])[0] - 120) < 1e-6
    own = np.degrees(brentq(lambda t: truss_determinant(2 * pi / 3, t), 1.0, 1.1, xtol=1e-14))
    assert abs(np.degrees(angle) - own) < 1e-9
    assert 59.33 < np.degrees(angle) < 59.34
    for zenith in np.radians([65.0, 80.0]):
        left, right = azimuths(truss_curve.at_zenith(zenith))
        assert abs(left + right - 240) < 1e-9
    values = [
        truss_determinant(a, t)
        for a, t in zip(truss_curve.azimuth, truss_curve.zenith, strict=True)
    ]
    assert np.abs(values).max() < 1e-11


def test_a_pose_on_the_truss_mounts_curve_is_said_to_be_type_2(
    truss: Mechanism, truss_curve: Locus
) -> None:
    found = singularity(truss, truss_curve.q[5])
    assert found.kind == "type 2"
    assert found.words.startswith("type 2: with its actuators locked the dish still turns about (")
    assert found.distance < 1e-10
    assert found.distances["constraint"] > 1e-3
    assert truss_curve.away(found.coordinates) < 2e-7
    upright = singularity(truss)
    assert abs(truss_curve.away(upright.coordinates) - truss_curve.nearest()[1]) < 1e-9


def test_the_first_singularity_of_the_rotary_mount() -> None:
    """The corrected table 3.7: where the rates of arms 1 and 2 by n become dependent."""
    distance, first = 0.98, 101.331
    region = {"zenith": tuple(np.radians([first - 2, first + 0.5]))}
    found = singular_loci(truss_mount(distance, "rotary"), "type 2", region, grid=8)
    own = [x.nearest() for x in found if x.kind == "type 2"]
    direction, angle = min(own, key=lambda pair: pair[1])
    angle = np.degrees(angle)
    assert abs(angle - first) < 1e-3

    def vanishing(azimuth: float) -> float:
        def determinant(t: float) -> float:
            return float(np.linalg.det(rates_of_arms(azimuth, t, distance)[:2]))

        low, high = np.radians([first - 5, first + 0.4])
        return float(brentq(determinant, low, high, xtol=1e-14))

    near = np.radians(azimuths(direction[None])[0])
    solved = minimize_scalar(vanishing, bounds=(near - 0.02, near + 0.02), method="bounded")
    assert abs(np.degrees(solved.fun) - angle) < 1e-6


def test_the_prismatic_mount_is_singular_where_n_lies_between_its_anchors() -> None:
    """Mount check 31: iff n lies in span(A1, A2); the good anchors are not, in the hemisphere."""
    height = 0.49 * cos(pi / 4)
    anchors = circle([0, 120], 0.6) + height * Z
    found = singular_loci(truss_mount(0.98, "prismatic", anchors), "type 2", grid=8)
    own = [x for x in found if x.kind == "type 2"]
    assert own
    normal = np.cross(*anchors)
    for locus in own:
        n = locus.directions + Z
        assert np.abs((n / np.linalg.norm(n, axis=1, keepdims=True)) @ normal).max() < 1e-11
    # the span meets the horizon where n = (cos a, sin a, 1) / sqrt(2) is normal to `normal`
    size, turned = np.hypot(normal[0], normal[1]), np.arctan2(normal[1], normal[0])
    both = np.degrees(turned + np.array([-1, 1]) * acos(-normal[2] / size)) % 360
    ends = np.concatenate([x.at_zenith(pi / 2) for x in own])
    np.testing.assert_allclose(azimuths(ends), np.sort(both), atol=1e-8)
    good = circle([0, 90], 0.8) + 0.3465 * Z
    assert singular_loci(truss_mount(0.98, "prismatic", good), "type 2", grid=6) == ()


def test_a_locus_of_type_1_over_places_is_the_edge_of_reach() -> None:
    m = lw.Mechanism("arm")
    upper = m.body("upper", rotate="z")
    lower = m.body("lower", parent=upper, at=(1, 0, 0), rotate="z")
    m.set_initial({"upper": -0.5, "lower": 2.0})
    m.actuate("upper", "lower")
    m.set_platform(m.point("tip", lower, (0.7, 0, 0)))
    over = {"x": (-2.0, 2.0), "y": (-2.0, 2.0)}
    outer, inner = sorted(
        singular_loci(m, "type 1", over, output="position", grid=9),
        key=lambda x: -np.linalg.norm(x.positions[0]),
    )
    for locus, radius in ((outer, 1.7), (inner, 0.3)):
        assert locus.closed
        assert locus.ends == ("closed", "closed")
        np.testing.assert_allclose(np.linalg.norm(locus.positions, axis=1), radius, atol=1e-12)


def test_loci_refuse_what_is_no_curve(truss: Mechanism) -> None:
    m = truss
    with pytest.raises(lw.Error, match="type 1 or type 2, not 'type 4'"):
        singular_loci(m, "type 4")
    with pytest.raises(lw.Error, match=r"goes from 1\.5 to 0, which is not a range"):
        singular_loci(m, over={"zenith": (1.5, 0)})
    with pytest.raises(lw.Error, match="moves in 1 ways, and singular poses are a curve"):
        singular_loci(m, hold={"e": 1.6})
    with pytest.raises(lw.Error, match="did you mean 'lower"):
        singular_loci(m, over={"lower": (0, 1), "e": (1, 2)})
    with pytest.raises(lw.Error, match="is not a plane"):
        singular_loci(m, over={"e": (1, 2)})
