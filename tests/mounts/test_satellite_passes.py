"""Passes of satellites: times and directions against Skyfield, and the pass as a trajectory."""

from __future__ import annotations

import math
import warnings
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.mounts import Orbit, Site
from linkwright.mounts.earth import refraction, sidereal_angle
from linkwright.mounts.element_files import parse_orbits
from linkwright.mounts.passes import Pass, Passes, find_passes
from tests.support.skies import orbit_of

LEO = orbit_of("LEO", 25544, 60500, 1234.5, 51.64, 120.0, 0.0007, 90.0, 270.0, 15.5, 2e-5)
SITE = Site(math.radians(-43.52), math.radians(172.58), 20.0)


@pytest.fixture(scope="module")
def passes() -> Passes:
    return SITE.passes(LEO, days=2)


def test_rise_and_set_are_where_the_elevation_is_the_threshold(passes: Passes) -> None:
    assert len(passes) > 5
    for found in passes:
        edges = found.look([0.0, found.duration])
        assert edges.elevation == pytest.approx(math.radians(10.0), abs=2e-8)
        slope = np.diff(found.look([0.0, 1e-3]).elevation)[0]
        assert slope > 0  # to the millisecond: one later, it is above by more than the error
        fine = found.look(found.culminates + np.linspace(-1.0, 1.0, 201)).elevation
        assert found.culmination == pytest.approx(fine.max(), abs=2e-9)
        assert abs(int(np.argmax(fine)) - 100) <= 1
        assert found.rise < found.top < found.set


def test_no_pass_is_missed_however_short(passes: Passes) -> None:
    """Every pass that a fine scan of the elevation sees is found, with its maximum."""
    t = np.arange(0.0, 2 * 86400.0, 5.0)
    up = SITE.look(LEO, t).elevation > math.radians(10.0)
    starts = t[1:][up[1:] & ~up[:-1]]
    assert len(starts) == len(passes)
    assert np.all(np.abs(starts - [p.begins for p in passes]) < 5.0)
    highest = max(p.culmination for p in passes)
    assert len(SITE.passes(LEO, days=2, above=highest - 2e-5)) == 1
    assert len(find_passes(SITE, LEO, 2, highest + 2e-5)) == 0


def test_a_pass_is_a_trajectory_of_the_direction(passes: Passes) -> None:
    """Within 1e-6 degrees of SGP4, with rates and accelerations that are its derivatives."""
    assert issubclass(Pass, lw.motion.Trajectory)
    for found in passes:
        t = np.linspace(0.0, found.duration, 333)
        said, want = found(t), found.look(t).direction
        assert np.degrees(np.linalg.norm(said - want, axis=1)).max() < 1e-6
        assert np.abs(np.linalg.norm(said, axis=1) - 1.0).max() < 1e-8
        h, inner = 0.05, t[3:-3]
        before, here, after = (found.look(inner + k * h).direction for k in (-1, 0, 1))
        assert np.abs((after - before) / (2 * h) - found.speed(inner)).max() < 1e-6
        assert np.abs((after - 2 * here + before) / h**2 - found.acceleration(inner)).max() < 1e-6
        knots = found.instants[1:-1]
        for order in (1, 2, 3, 4):  # continuous
            jump = found(knots - 1e-9, order) - found(knots, order)
            assert np.abs(jump).max() < 1e-7


HIGH = {
    "geostationary": orbit_of("GEO", 1, 60500, 0.0, 3.0, 0.0, 0.0004, 0.0, 0.0, 1.00273),
    "navigation": orbit_of("NAV", 2, 60500, 0.0, 55.0, 40.0, 0.005, 10.0, 200.0, 2.0056),
    "molniya": orbit_of("MOL", 3, 60500, 0.0, 63.4, 40.0, 0.72, 90.0, 10.0, 2.006, 1e-5),
}


@pytest.mark.parametrize("name", HIGH)
def test_passes_of_high_satellites_are_as_exact(name: str) -> None:
    """Slow targets have few knots, but never too few for the turn of satellite and Earth."""
    seen = 0
    for longitude in np.radians([0.0, 120.0, 240.0]):
        for found in Site(SITE.latitude, longitude).passes(HIGH[name], days=2, above=0.02):
            t = np.linspace(0.0, found.duration, 500)
            error = np.linalg.norm(found(t) - found.look(t).direction, axis=1)
            assert np.degrees(error).max() < 1e-6
            seen += 1
    assert seen


def test_a_pass_is_a_reference_in_a_system(passes: Passes) -> None:
    best = max(passes, key=lambda p: p.culmination)
    system = lw.System(name="sky")
    system.add(best.block("target", unit="1"))
    run = lw.simulate(system, 2.0, step=0.5)
    said = np.stack([run[f"target.q[{k}]"] for k in range(3)], axis=1)
    assert np.abs(said - best(run.times)).max() < 1e-12


def test_directions_are_those_of_skyfield() -> None:
    """Within 1e-6 degrees at the same UT1, refraction left out."""
    from skyfield import api  # imported where it is used, as it takes long

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scale = api.load.timescale(builtin=True)
    line1 = "1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927"
    line2 = "2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537"
    (orbit,) = parse_orbits(f"{line1}\n{line2}")
    seconds = np.linspace(0.0, 3 * 86400.0, 100)
    times = scale.utc(2008, 1, 1, 0, 0, (orbit.day - 54466) * 86400.0 + orbit.second + seconds)
    satellite = api.EarthSatellite(line1, line2, "ISS", scale)
    ground = api.wgs84.latlon(-43.52, 172.58, SITE.height)
    altitude, azimuth, distance = (satellite - ground).at(times).altaz()
    looks = [
        Site(SITE.latitude, SITE.longitude, SITE.height, ut1_utc=float(ut1)).look(orbit, second)
        for ut1, second in zip(times.dut1, seconds, strict=True)
    ]
    directions = np.concatenate([look.direction for look in looks])
    ranges = np.concatenate([look.range for look in looks])
    up, east = altitude.radians, azimuth.radians
    want = np.stack([np.cos(up) * np.sin(east), np.cos(up) * np.cos(east), np.sin(up)], axis=1)
    assert np.degrees(np.linalg.norm(directions - want, axis=1)).max() < 1e-6
    assert np.abs(ranges - distance.m).max() < 0.01


def test_range_rate_is_the_rate_of_the_range_and_makes_the_doppler(passes: Passes) -> None:
    best = max(passes, key=lambda p: p.culmination)
    t = np.linspace(1.0, best.duration - 1.0, 50)
    numeric = (best.look(t + 0.05).range - best.look(t - 0.05).range) / 0.1
    look = best.look(t)
    assert np.abs(look.range_rate - numeric).max() < 0.05
    shift = look.doppler(437e6)
    assert shift[0] > 0 > shift[-1]  # it comes, then it goes
    assert shift[0] == pytest.approx(-437e6 * look.range_rate[0] / 299_792_458.0)


def test_the_air_lifts_a_pass_and_makes_it_longer() -> None:
    plain = SITE.passes(LEO, days=0.5, above=math.radians(1.0))
    lifted = SITE.passes(LEO, days=0.5, above=math.radians(1.0), refraction=True)
    for a, b in zip(plain, lifted, strict=True):
        assert b.begins < a.begins < a.begins + a.duration < b.begins + b.duration
        t = np.linspace(0.0, b.duration, 100)
        assert np.degrees(np.abs(b(t) - b.look(t).direction).max()) < 1e-6
    height = np.array([1.0, 10.0, 45.0])
    minutes = refraction(height) * 60
    # Bennett, from the apparent elevation: the two formulas invert each other to 0.1'
    apparent = height + minutes / 60
    bennett = 1 / np.tan(np.radians(apparent + 7.31 / (apparent + 4.4)))
    assert minutes == pytest.approx(bennett, abs=0.15)


def test_a_mask_cuts_passes_where_the_hill_is() -> None:
    hill = Site(
        math.radians(-43.52),
        math.radians(172.58),
        20.0,
        mask=tuple(
            (math.radians(x), math.radians(y))
            for x, y in ((0, 0), (100, 0), (110, 60), (170, 60), (180, 0))
        ),
    )
    low = math.radians(5)
    free, cut = SITE.passes(LEO, days=2, above=low), hill.passes(LEO, days=2, above=low)
    assert sum(p.duration for p in cut) < sum(p.duration for p in free)
    for found in cut:
        t = np.linspace(1e-3, found.duration - 1e-3, 400)
        look = found.look(t)
        assert np.all(look.elevation > np.maximum(hill.horizon(look.azimuth), low))
        edge = found.look([0.0, found.duration])
        limit = np.maximum(hill.horizon(edge.azimuth), low)
        assert edge.elevation == pytest.approx(limit, abs=2e-7)


def test_a_geostationary_satellite_never_sets_and_says_so() -> None:
    geo = orbit_of("GEO", 1, 60500, 0.0, 0.05, 0.0, 0.0002, 0.0, 0.0, 1.00273)
    far = Site(0.0, math.atan2(*_ground(geo)[::-1]), 0.0)
    found = far.passes(geo, days=1)
    assert len(found) == 1
    assert not found[0].rises
    assert not found[0].sets
    assert "never sets" in found.words[0]
    assert found[0].duration == pytest.approx(86400.0)


def _ground(orbit: Orbit) -> tuple[float, float]:
    """Return x and y under a satellite at its epoch, on the turning Earth."""
    r, _ = orbit.propagate([0.0])
    angle = float(sidereal_angle(orbit.day, orbit.second))
    x, y = r[0, 0], r[0, 1]
    return (
        x * math.cos(angle) + y * math.sin(angle),
        y * math.cos(angle) - x * math.sin(angle),
    )


def test_a_satellite_that_never_rises_says_why() -> None:
    flat = orbit_of("FLAT", 2, 60500, 0.0, 5.0, 0.0, 0.0, 0.0, 0.0, 15.5)
    found = SITE.passes(flat, days=1)
    assert len(found) == 0
    assert "never will at latitude -43.52" in found.words[0]
    assert "lower `above`" in find_passes(SITE, LEO, 0.01).words[0]


def test_old_elements_warn() -> None:
    with pytest.warns(UserWarning, match=r"elements of LEO are of 2024-07-09, up to 31 days"):
        SITE.passes(LEO, days=1, start=LEO.time(30 * 86400.0))


def test_a_search_ends_where_the_orbit_decays() -> None:
    doomed = orbit_of("DOOMED", 3, 60500, 0.0, 51.6, 0.0, 0.0007, 0.0, 0.0, 16.4, 0.01)
    with pytest.warns(UserWarning, match=r"DOOMED .* decays; passes are looked for until then"):
        found = SITE.passes(doomed, days=14)
    assert found.members == () or found[-1].set < doomed.time(14 * 86400.0)
    with pytest.raises(lw.Error, match="decay"):
        SITE.passes(doomed, days=1, start=doomed.time(40 * 86400.0))


def test_times_are_utc_and_start_at_the_elements_epoch(passes: Passes) -> None:
    assert LEO.epoch == datetime(2024, 7, 9, 0, 20, 34, 500000, tzinfo=UTC)
    later = SITE.passes(LEO, days=1, start="2024-07-09T12:00:00")
    begin = LEO.since_epoch("2024-07-09T12:00:00")
    wanted = [p.begins for p in passes if begin < p.begins < begin + 86400.0]
    assert [p.begins for p in later] == pytest.approx(wanted, abs=1e-4)


def test_a_site_comes_from_a_file_with_its_mask(tmp_path: Path) -> None:
    (tmp_path / "horizon.csv").write_text("azimuth, elevation\n0, 5\n90, 12.5\n180, 3\n")
    path = tmp_path / "site.toml"
    path.write_text(
        'format = 1\nlatitude = -43.52\nlongitude = 172.58\nheight = 20\nmask = "horizon.csv"\n'
    )
    site = lw.mounts.read_site(path)
    assert site.name == "site"
    assert np.degrees(site.mask) == pytest.approx(np.array([(0, 5), (90, 12.5), (180, 3)]))
    path.write_text("format = 1\nlatitude = -93.52\nlongitude = 172.58\n")
    with pytest.raises(lw.Error, match=r"site\.toml:2.*latitude"):
        lw.mounts.read_site(path)
    path.write_text('format = 1\nlatitude = 1\nlongitude = 1\nmask = "horizon.csv"\n')
    (tmp_path / "horizon.csv").write_text("0, 5\n90\n")
    with pytest.raises(lw.InputError, match=r"horizon\.csv:2: '90' is not a pair"):
        lw.mounts.read_site(path)


def test_a_pass_is_drawn_on_a_map_of_the_sky_with_its_times(passes: Passes, tmp_path: Path) -> None:
    import matplotlib as mpl

    best = max(passes, key=lambda p: p.culmination)
    figure = best.plot()
    with mpl.rc_context({"svg.fonttype": "none"}):
        figure.savefig(tmp_path / "pass.svg")
    svg = (tmp_path / "pass.svg").read_text()
    times = [f"{t:%H:%M:%S} UTC" for t in (best.rise, best.top, best.set)]
    for label in ("N", "E", "S", "W", "30°", "60°", "90°", "rise", "set", *times):
        assert f">{label}</" in svg, label
    (line,) = (x for x in figure.axes[0].lines if np.size(x.get_xdata()) > 1)
    azimuth, zenith = (np.asarray(x, dtype=float) for x in line.get_data())
    look = best.look(np.linspace(0.0, best.duration, len(azimuth)))
    assert 90 - zenith == pytest.approx(np.degrees(look.elevation), abs=1e-5)
    assert np.cos(azimuth - look.azimuth) == pytest.approx(1.0, abs=1e-6)
    still = find_passes(SITE, LEO, best.duration / 2 / 86400, start=best.top.isoformat())[0]
    assert [t.get_text().split("\n")[0] for t in still.plot().axes[0].texts] == ["start", "set"]


def test_short_dips_of_a_high_satellite_end_its_passes() -> None:
    orbit = orbit_of("G", 1, 61000, 0.0, 8.0, 100.0, 0.0005, 0.0, 0.0, 1.0027)
    found = Site(math.radians(20), 0.0).passes(orbit, days=2, above=math.radians(34.834))
    assert len(found) == 3
