"""Mounts that follow passes: parallel ones everywhere, serial ones but for their keyholes."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.mechanism import Mechanism
from linkwright.motion import Trajectory, hermite
from linkwright.mounts.pass_tracking import TrackingServo, track_pass

Array = NDArray[np.float64]
SPEED, HEIGHT = 7500.0, 400e3  # m/s and m, of a satellite that flies straight on


def flight(
    elevation: float, duration: float = 60.0, course: float = 0.0, height: float = HEIGHT
) -> Trajectory:
    """Return the directions of a satellite that culminates half way, on a mathematical course."""
    t = np.linspace(0.0, duration, 121)
    along = np.array([math.cos(course), math.sin(course), 0.0])
    across = np.array([-math.sin(course), math.cos(course), 0.0])
    beside = height / math.tan(math.radians(elevation))
    v = SPEED * along
    p = (t - duration / 2)[:, None] * v + beside * across + np.array([0, 0, height])
    r: Array = np.linalg.norm(p, axis=1, keepdims=True)
    d = p / r
    away = (d @ v)[:, None]
    rate = (v - d * away) / r
    bend = (-2 * away * rate - d * (v @ v - away**2) / r) / r
    return hermite(t, d, rate, bend)


def serial(first: str, second: str, looks: tuple[float, float, float]) -> Mechanism:
    """Return a mount of two axes."""
    m = Mechanism("serial")
    yoke = m.body("yoke", rotate=first, mass=20, inertia=2)
    dish = m.body("dish", parent=yoke, rotate=second, mass=50, com=(0, 0, 0), inertia=5)
    m.gravity()
    m.actuate("yoke", "dish")
    m.set_platform(dish, axis=looks)
    return m


def alt_az() -> Mechanism:
    """Return a mount whose first axis stands upright."""
    m = serial("z", "y", (1.0, 0.0, 0.0))
    m.set_initial({"dish": -0.5})
    return m


def x_y() -> Mechanism:
    """Return a mount whose first axis lies along East."""
    return serial("x", "y", (0.0, 0.0, 1.0))


@cache
def followed(kind: str, elevation: float, duration: float = 60.0) -> lw.Run:
    """Return the run of a mount that follows a satellite overhead."""
    made = {"alt-az": alt_az, "x-y": x_y}
    mount = made[kind]() if kind in made else lw.load(kind)
    s = track_pass(mount, flight(elevation, duration), beamwidth=math.radians(0.8))
    return lw.simulate(s, until=duration, method="rk4", form="independent")


def test_a_parallel_mount_follows_a_satellite_through_the_zenith() -> None:
    """Mount checks 23 and 60: the mount with two motors has no keyhole."""
    run = followed("mount-2-rotary", 90.0, 20.0)
    assert np.degrees(run["pointing error"]).max() < 1e-4
    assert run["inverse.short"].max() == 0.0
    rates = [np.abs(run[f"inverse.u[{k}]"]).max() for k in (0, 1)]
    assert max(rates) < math.radians(2.0)


def test_azimuth_over_elevation_loses_a_satellite_as_a_limited_azimuth_must() -> None:
    """Mount check 60: the closed form of an azimuth that turns by 5 deg/s at most."""
    run = followed("alt-az", 89.0, 90.0)
    t, top = run.times - 45.0, math.radians(5.0)
    beside = HEIGHT / math.tan(math.radians(89.0))
    begins = -math.sqrt(beside * SPEED / top - beside**2) / SPEED  # where azimuth turns as fast
    lag = np.arctan(SPEED * t / beside) - math.atan(SPEED * begins / beside) - top * (t - begins)
    lag = np.where((t > begins) & (np.cumsum((t > begins) & (lag <= 0)) == 0), lag, 0.0)
    level = np.hypot(beside, SPEED * t) / np.sqrt(beside**2 + (SPEED * t) ** 2 + HEIGHT**2)
    wanted = np.degrees(2 * np.arcsin(level * np.sin(lag / 2)))
    error = np.degrees(run["pointing error"])
    assert error.max() == pytest.approx(wanted.max(), rel=0.05)
    lost, expected = ((x > 0.4).sum() for x in (error, wanted))
    assert lost == pytest.approx(expected, rel=0.05)
    assert error[-1] < 1e-3
    assert np.degrees(followed("alt-az", 60.0)["pointing error"]).max() < 1e-3


def test_x_y_follows_overhead_and_fails_at_the_end_of_its_axis() -> None:
    """Mount check 60: a satellite that rises at the end of the axis is lost by its first angle."""
    assert np.degrees(followed("x-y", 90.0)["pointing error"]).max() < 1e-3
    low = flight(1.0, 20.0, -math.pi / 2, 20e3)  # crosses East near the horizon
    run = lw.simulate(track_pass(x_y(), low), until=20.0, method="rk4")
    assert np.degrees(run["pointing error"]).max() > 0.1


@pytest.mark.parametrize(
    ("change", "words"),
    [({"rate": 0.0}, "rate of a servo"), ({"angle_step": -1.0}, "angle_step")],
)
def test_servos_that_make_no_sense_are_refused(change: dict[str, float], words: str) -> None:
    with pytest.raises(lw.InputError, match=words):
        TrackingServo(**change)


def test_what_is_no_mount_is_refused_in_words() -> None:
    with pytest.raises(lw.InputError, match="names no actuators"):
        track_pass(lw.load("pendulum"), flight(60.0))
    with pytest.raises(lw.InputError, match="beamwidth"):
        track_pass(x_y(), flight(60.0), beamwidth=-1.0)


def test_an_equatorial_mount_is_tilted_by_the_latitude_of_the_site() -> None:
    """And sensors of a deck that does not move are refused, not left out."""
    stations = Path(__file__).parents[2] / "examples" / "mounts" / "stations.json"
    orbit = lw.mounts.read_orbits(stations)["ISS (ZARYA)"]
    seen = lw.mounts.Site(math.radians(40.0), 0.0).passes(orbit, days=1, above=math.radians(10))[0]
    s = track_pass("mount-equatorial", seen)
    assert s.mechanism.values["latitude"] == pytest.approx(math.radians(40.0))
    with pytest.raises(lw.InputError, match="a deck that moves"):
        track_pass(x_y(), flight(80.0), sensors=lw.mounts.AttitudeSensors())
