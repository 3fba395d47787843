"""Directions of dishes: unit vectors, mirror planes, platforms without torsion, beams."""

import math

import numpy as np
import pytest

from linkwright.base.errors import InputError
from linkwright.mounts import pointing

TURNS = np.linspace(0, 360, 13)[:, None]
TILTS = np.array([0.0, 1e-7, 20, 45, 90, 115, 170])
D = pointing.direction_at(TURNS, TILTS)


def turn(axis: int, angle: float) -> np.ndarray:
    """Return the matrix of a turn about one axis."""
    c, s = math.cos(angle), math.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    made = np.eye(3)
    made[i, i] = made[j, j] = c
    made[i, j], made[j, i] = -s, s
    return made


def test_normals_and_directions_are_each_others_inverse_at_the_zenith_too() -> None:
    n = pointing.normal(D)
    np.testing.assert_allclose(np.linalg.norm(n, axis=-1), 1, atol=1e-15)
    np.testing.assert_allclose(pointing.mirrored(n), D, atol=1e-14)
    halves = np.radians(np.broadcast_to(TILTS, n.shape[:-1])) / 2
    np.testing.assert_allclose(n[..., 2], np.cos(halves), atol=1e-15)


def test_a_platform_without_torsion_is_turned_back_by_its_own_azimuth() -> None:
    """Mount check 21: R = Rz Ry Rz^-1, so the last angle is minus the first."""
    for a in (0.0, 0.7, 2.5, -1.2):
        for t in (0.0, 1e-9, 0.4, 1.5707963267948966, 2.0):
            R = pointing.rotation(pointing.direction_at(math.degrees(a), math.degrees(t)))
            np.testing.assert_allclose(R, turn(2, a) @ turn(1, t) @ turn(2, -a), atol=2e-16 * 8)
            assert abs(pointing.torsion(R)) < 1e-15
            if t > 0.1:
                first, last = math.atan2(R[1, 2], R[0, 2]), math.atan2(R[2, 1], -R[2, 0])
                assert first == pytest.approx(-last, abs=1e-14)
            twisted = R @ turn(2, 0.3)
            assert pointing.torsion(twisted) == pytest.approx(0.3, abs=1e-14)


def test_angles_for_display_are_those_of_the_compass() -> None:
    """Azimuth outside is 90 degrees less the mathematical one, and both find their direction."""
    azimuth, elevation = pointing.angles(D[:, 2:])
    np.testing.assert_allclose(pointing.direction(azimuth, elevation), D[:, 2:], atol=1e-15)
    inside, zenith = pointing.angles_at(D[:, 2:])
    np.testing.assert_allclose((azimuth + inside) % 360, 90, atol=1e-10)
    np.testing.assert_allclose(elevation + zenith, 90, atol=1e-12)
    assert [*map(float, pointing.angles((0, -2.0, 0)))] == [180.0, 0.0]


def test_gain_and_beamwidth_are_bound_to_each_other() -> None:
    """Mount check 3: G width^2 = 4 pi, and half the width gives 6 dB more."""
    for area, wavelength in ((1.0, 0.1), (7.3, 0.021)):
        wide = pointing.beamwidth(area, wavelength)
        assert pointing.gain(area, wavelength) * wide**2 == pytest.approx(4 * math.pi)
        more = pointing.gain(4 * area, wavelength) / pointing.gain(area, wavelength)
        assert pointing.beamwidth(4 * area, wavelength) == pytest.approx(wide / 2)
        assert pointing.decibels(more) == pytest.approx(6.0206, abs=1e-4)


def test_what_is_no_direction_or_no_size_is_told() -> None:
    with pytest.raises(InputError, match="straight down"):
        pointing.normal((0, 0, -1.0))
    with pytest.raises(InputError, match="straight down, or none"):
        pointing.rotation((math.nan, 0, 1.0))
    with pytest.raises(InputError, match="three components, not the shape"):
        pointing.angles([1.0, 0.0])
    with pytest.raises(InputError, match="area is 0"):
        pointing.gain(0.0, 0.1)
    with pytest.raises(InputError, match="wavelength is nan"):
        pointing.beamwidth(1.0, math.nan)
