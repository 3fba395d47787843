"""Satellites in the sky: SGP4's own set, directions beside Skyfield, passes, and keyholes."""

from __future__ import annotations

import math
import time
import warnings
from importlib.resources import files

import numpy as np

from bench.measure import Row, interleaved
from linkwright.mounts import Orbit, Site, compare_mounts, keyhole_passage, mount_axes, serial_axes
from linkwright.mounts.closed_forms import arm_angles, jack_lengths, member_lengths
from linkwright.mounts.element_files import parse_orbits
from linkwright.mounts.orbits import propagated
from linkwright.mounts.passes import Pass

TITLE = "Satellites in the sky: orbits, directions, passes, keyholes"

LINES = (
    "1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927",
    "2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537",
)
SITE = Site(math.radians(-43.52), math.radians(172.58), 20.0)
SPEED, BEAM = math.radians(5.0), math.radians(0.8)


def run() -> list[Row]:
    """Measure, and hold against the bars."""
    return [*_verification(), *_skyfield(), *_passes(), *_keyholes()]


def _verification() -> list[Row]:
    home = files("sgp4")
    elements = [
        line[:69]
        for line in home.joinpath("SGP4-VER.TLE").read_text().splitlines()
        if line[:2] in ("1 ", "2 ")
    ]
    cases: list[list[list[float]]] = []
    for line in home.joinpath("tcppver.out").read_text().splitlines():
        if line.endswith("xx"):
            cases.append([])
        elif line.strip():
            cases[-1].append([float(word) for word in line.split()[:7]])
    worst, faults = 0.0, 0
    for k, case in enumerate(cases):
        pair = elements[2 * k : 2 * k + 2]
        summed = [
            x[:68] + str(sum(int(c) if c.isdigit() else c == "-" for c in x[:68]) % 10)
            for x in pair
        ]
        (orbit,) = parse_orbits("\n".join(summed))
        rows = np.array(case)
        codes, r, _ = propagated(orbit, rows[:, 0] * 60)
        good = codes == 0
        faults += int(np.count_nonzero(~good))
        if np.any(good):
            worst = max(worst, float(np.abs(r - rows[:, 1:4])[good].max()))
    count = sum(map(len, cases))
    return [Row(f"SGP4's set, {count} lines", worst, "km", 1e-6, note=f"{faults} is an error")]


def _skyfield() -> list[Row]:
    from skyfield.api import EarthSatellite, load, wgs84

    (orbit,) = parse_orbits("\n".join(LINES))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scale = load.timescale(builtin=True)
    satellite = EarthSatellite(*LINES, "ISS", scale)
    ground = wgs84.latlon(*np.degrees([SITE.latitude, SITE.longitude]), SITE.height)
    seconds = np.linspace(0.0, 3600.0, 20_000)
    first = (orbit.day - 54466) * 86400.0 + orbit.second

    def theirs() -> tuple[np.ndarray, np.ndarray, float]:
        times = scale.utc(2008, 1, 1, 0, 0, first + seconds)
        altitude, azimuth, _ = (satellite - ground).at(times).altaz()
        return altitude.radians, azimuth.radians, float(times.dut1.mean())

    up, east, ut1 = theirs()
    site = Site(SITE.latitude, SITE.longitude, SITE.height, ut1_utc=ut1)
    want = np.stack([np.cos(up) * np.sin(east), np.cos(up) * np.cos(east), np.sin(up)], axis=1)
    error = np.degrees(np.linalg.norm(site.look(orbit, seconds).direction - want, axis=1)).max()
    took = interleaved(
        {"skyfield": theirs, "ours": lambda: site.look(orbit, seconds)},
        rounds=5,
        clock=time.process_time,
    )
    each = f"{len(seconds)} directions of an hour"
    return [
        Row(f"{each}: from Skyfield's", float(error), "deg", 1e-6),
        Row(
            f"{each}: speed over Skyfield's",
            took["skyfield"] / took["ours"],
            "1",
            100.0,
            "higher",
            note=f"{took['ours'] / len(seconds) * 1e6:.2f} µs each, range and its rate included",
        ),
    ]


def _passes() -> list[Row]:
    (orbit,) = parse_orbits("\n".join(LINES))
    month = SITE.passes(orbit, days=14)
    worst = 0.0
    for found in month:
        t = np.linspace(0.0, found.duration, 2001)
        worst = max(worst, float(np.linalg.norm(found(t) - found.look(t).direction, axis=1).max()))
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a year is longer than elements hold
        year = SITE.passes(orbit, days=365)
    found_in = time.perf_counter() - start
    rows = 0
    for found in year:
        d = found(np.arange(0.0, found.duration, 0.1))
        rows += len(d)
        arm_angles(d)  # three motors, and two of them with a strut
        member_lengths(d)  # trusses with three and two driven members
        jack_lengths(d)
    whole = time.perf_counter() - start
    return [
        Row(f"{len(month)} passes as trajectories", math.degrees(worst), "deg", 1e-6),
        Row(
            f"a year over five mounts, {len(year)} passes at 10 Hz",
            whole,
            "s",
            60.0,
            note=f"{found_in:.1f} s to find them; {rows} directions",
        ),
    ]


def random_passes(count: int) -> list[Pass]:
    """Return passes of made-up low satellites over made-up sites."""
    rng = np.random.default_rng(17)
    found: list[Pass] = []
    while len(found) < count:
        axis = 6378.135 + rng.uniform(350.0, 1000.0)
        motion = 86400.0 / (2 * math.pi * math.sqrt(axis**3 / 398600.8))
        latitude = rng.uniform(-60.0, 60.0)
        inclination = rng.uniform(max(abs(latitude), 40.0), 100.0)
        node, perigee, anomaly = rng.uniform(0.0, math.tau, 3)
        inclination = math.radians(inclination)
        orbit = Orbit("R", 1, 60500, 0.0, inclination, node, 0.001, perigee, anomaly, motion, 1e-5)
        site = Site(math.radians(latitude), math.radians(rng.uniform(-180.0, 180.0)))
        found += site.passes(orbit, days=7, above=math.radians(0.5))
    return found[:count]


def _keyholes() -> list[Row]:
    passes = random_passes(500)
    mounts = {name: mount_axes(name) for name in ("alt-az", "x-y", "2-rotary", "prismatic")}
    start = time.perf_counter()
    found = compare_mounts(mounts, passes, speed=SPEED, beamwidth=BEAM)
    took = time.perf_counter() - start
    off, losing = 0.0, 0
    axes = serial_axes("alt-az")
    for path, one in zip(passes, found.followings["alt-az"], strict=True):
        wanted = keyhole_passage(axes, path, SPEED).lost(BEAM / 2)
        if max(wanted, one.lost) > 0:
            losing += 1
            off = max(off, abs(one.lost - wanted) / max(wanted, 1e-9))
    rows = {row.mount: row for row in found.rows()}
    each = "500 random passes, 5°/s, beam 0.8°"
    return [
        Row(
            f"{each}: alt-az's loss off its closed form",
            off,
            "1",
            0.05,
            note=f"lost in {losing}; x-y in {rows['x-y'].losing}; {took:.1f} s for four mounts",
        ),
        *(
            Row(
                f"{each}: {name}'s error over the beam",
                rows[name].error / BEAM,
                "1",
                0.1,
                note=f"needs {rows[name].need:.0%} of its speed",
            )
            for name in ("2-rotary", "prismatic")
        ),
    ]
