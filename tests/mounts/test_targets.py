"""Other targets than satellites: the Sun, and the report's circle in the sky."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwright as lw
from linkwright.mounts import ReportOrbit, Site, sun_path
from linkwright.mounts.sun import sun_direction

SITE = Site(math.radians(-43.52), math.radians(172.58), 20.0)


def test_the_sun_by_formula_is_near_the_ephemeris() -> None:
    """0.014 degrees from DE421, over a quarter of a century."""
    seconds = np.linspace(0.0, 26 * 365.25 * 86400.0, 200)
    formula = sun_direction(SITE, "2000-06-01", seconds)
    table = sun_direction(SITE, "2000-06-01", seconds, ephemeris=True)
    assert np.degrees(np.linalg.norm(formula - table, axis=1)).max() < 0.014
    assert np.linalg.norm(formula, axis=1) == pytest.approx(1.0)


def test_the_suns_path_is_a_trajectory() -> None:
    path = sun_path(SITE, "2026-11-16T00:00", 7200.0)
    t = np.linspace(0.0, 7200.0, 50)
    error = path(t) - sun_direction(SITE, "2026-11-16T00:00", t)
    assert np.degrees(np.abs(error)).max() < 1e-9


@pytest.mark.parametrize(("height", "elevation"), [(1.0, 45.0), (0.577, 30.0), (0.1763, 10.0)])
def test_the_reports_orbits_stand_at_their_elevations(height: float, elevation: float) -> None:
    """Mount check 39."""
    orbit = ReportOrbit(1000.0, 1000.0 * height, math.radians(10.0))
    t = np.linspace(0.0, 36.0, 37)
    assert np.degrees(np.arcsin(orbit.direction(t)[:, 2])) == pytest.approx(elevation, abs=0.02)
    assert 90.0 - np.degrees(orbit.angles(t)[0][:, 1]) == pytest.approx(elevation, abs=0.02)


def test_the_reports_rates_and_accelerations_are_derivatives() -> None:
    """Mount check 40: against finite differences to 1e-8 and 1e-5."""
    orbit = ReportOrbit(1000.0, 400.0, math.radians(15.0), start=0.3, tilt=0.4, turn=0.9)
    t, h = np.linspace(0.0, 24.0, 200), 1e-4
    _, rates, accelerations = orbit.angles(t)
    before, after = orbit.angles(t - h), orbit.angles(t + h)
    step = (after[0] - before[0] + math.pi) % (2 * math.pi) - math.pi
    assert step / (2 * h) == pytest.approx(rates, abs=1e-8)
    assert (after[1] - before[1]) / (2 * h) == pytest.approx(accelerations, abs=1e-5)
    d = orbit.direction
    assert (d(t + h) - d(t - h)) / (2 * h) == pytest.approx(d(t, 1), abs=1e-8)
    assert (d(t + h, 1) - d(t - h, 1)) / (2 * h) == pytest.approx(d(t, 2), abs=1e-8)


def test_the_reports_angles_and_direction_are_one_motion() -> None:
    """P = Rz(turn) Ry(tilt) Rz(angle) (radius, 0, height), and the roll is that of its frame."""
    orbit = ReportOrbit(2.0, 1.5, 0.3, start=0.2, tilt=0.5, turn=-0.7)

    def about(axis: int, angle: float) -> np.ndarray:
        c, s = math.cos(angle), math.sin(angle)
        i, j = [(1, 2), (2, 0), (0, 1)][axis]
        found = np.eye(3)
        found[i, i] = found[j, j] = c
        found[i, j], found[j, i] = -s, s
        return found

    for t in (0.0, 1.0, 7.5):
        frame = about(2, -0.7) @ about(1, 0.5) @ about(2, 0.2 + 0.3 * t)
        place = frame @ [2.0, 0.0, 1.5]
        assert orbit.direction(t) == pytest.approx(place / 2.5)
        roll, zenith, azimuth = orbit.angles(t)[0]
        along = frame @ about(1, math.atan2(2.0, 1.5))
        assert about(2, azimuth) @ about(1, zenith) @ about(2, roll) == pytest.approx(along)
    with pytest.raises(lw.InputError, match="not both 0"):
        ReportOrbit(0.0, 0.0, 1.0)
