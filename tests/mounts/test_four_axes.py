"""Mounts on a gimbal: held level by servos, by a pendulum, by flywheels."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwright as lw
from linkwright.elements.springs import JointSpring
from linkwright.mechanism import mechanism_of
from linkwright.motion import Sines
from linkwright.motion.trajectory import Trajectory, through
from linkwright.mounts import TrackingServo, mount_axes, track_pass
from linkwright.mounts.ships import Ship, report_ship
from tests.seeds import seldom

LEVEL = 76.0  # m above the center of rotation
ROLL, OMEGA = math.radians(2.0), math.tau / 10.0


def passing() -> Trajectory:
    """Return a pass that rises to 60 degrees."""
    a = np.linspace(-0.2, 0.2, 21)
    d = np.stack([np.sin(a), 0.5 * np.cos(a), math.sqrt(0.75) * np.cos(a)], axis=1)
    return through(np.linspace(0, 8, 21), d / np.linalg.norm(d, axis=1)[:, None])


def test_a_gimbal_decouples_stabilization_and_pointing() -> None:
    """On the ship of the report the beam stays on the satellite, and the gimbal upright."""
    ship = report_ship(stabilized=False, offset=(0, 0, 10))
    system = track_pass("mount-4-axis", passing(), ship=ship, servo=TrackingServo(turning=1.0))
    run = lw.simulate(system, 8.0, every=50)
    assert np.degrees(run["pointing error"]).max() < 1e-4
    a, b = run["roll"], run["pitch"]
    axis = np.stack([np.sin(b), -np.sin(a) * np.cos(b), np.cos(a) * np.cos(b)], axis=1)
    upright = np.einsum("nij,nj->ni", ship.attitude(run.times), axis)
    assert np.degrees(np.arccos(np.clip(upright[:, 2], -1, 1))).max() < 1e-4
    level = passing().expressions
    d = np.array([[float(x) for x in level(t)] for t in run.times[::8]])
    np.testing.assert_allclose(
        run["tilt"][::8], np.arctan2(np.hypot(d[:, 0], d[:, 1]), d[:, 2]), atol=1e-5
    )


def test_ashore_it_has_the_keyhole_of_its_two_upper_axes() -> None:
    assert mount_axes("4-axis").names == ("azimuth", "elevation")


def swing(stabilizer: str) -> tuple[float, float]:
    """Return how far a passive gimbal swings on a ship that rolls, rad, and by its closed form.

    A pivot with the acceleration a swings a pendulum with the moment S = m c and the inertia I by
    S a/(I w^2 - S g), where the swing is forced alone; a flywheel adds H^2/(k - J w^2) to I.
    """
    m = mechanism_of(f"mount-4-axis:stabilizer={stabilizer}").with_parameters(
        {"gimbal_damping": 0.0, **({"wheel_damping": 0.0} if stabilizer == "flywheels" else {})}
    )
    v = m.values
    moment = v["ballast_mass"] * v["ballast_depth"] - v["turret_mass"] * v["height"] / 2
    moment -= v["antenna_mass"] * v["height"]
    inertia = v["ring_inertia"] + v["ballast_inertia"]
    inertia += v["ballast_mass"] * v["ballast_depth"] ** 2 + v["turret_across"]
    inertia += v["turret_mass"] * v["height"] ** 2 / 4
    inertia += v["antenna_across"] + v["antenna_mass"] * v["height"] ** 2
    wheel = spin = 0.0
    if stabilizer == "flywheels":
        wheel = v["frame_inertia"] + v["wheel_across"]
        spin = v["wheel_along"] * v["wheel_speed"]
        inertia += 2 * wheel + spin**2 / (v["wheel_spring"] - wheel * OMEGA**2)
    expected = moment * LEVEL * OMEGA**2 * ROLL / (inertia * OMEGA**2 - moment * 9.81)
    rows = [[(ROLL, 0.0, 1 / 10.0)] if k == 3 else [] for k in range(6)]
    carried = Ship(Sines([0.0] * 6, rows), (0.0, 0.0, LEVEL)).carry(m)
    s = lw.System(carried)
    for name in ("azimuth", "tilt"):
        s.add(JointSpring(carried, name, 1e5, damping=1e3, name=f"hold_{name}"))
    start = {"roll_dot": (expected - ROLL) * OMEGA}
    if stabilizer == "flywheels":  # which precess with the forced swing
        lean = spin * expected * OMEGA / (v["wheel_spring"] - wheel * OMEGA**2)
        start["frame1"] = lean
    run = lw.simulate(s, 10.0, step=0.05, initial=start)
    swung = run["roll"] + ROLL * np.sin(OMEGA * run.times)
    return float(np.abs(swung).max()), abs(expected)


@pytest.mark.parametrize("stabilizer", ["pendulum", "flywheels"])
def test_a_passive_gimbal_swings_as_its_inertia_lets_it(stabilizer: str) -> None:
    found, expected = swing(stabilizer)
    assert found == pytest.approx(expected, rel=0.05)


@seldom(daily="test_a_passive_gimbal_swings_as_its_inertia_lets_it")
def test_flywheels_hold_a_gimbal_better_than_a_pendulum() -> None:
    """In heavy weather: some degrees with a pendulum (to 6, says the thesis), half a degree with
    flywheels."""
    ship = report_ship(stabilized=False, offset=(0, 0, 10))
    worst = {}
    for stabilizer in ("pendulum", "flywheels"):
        model = f"mount-4-axis:stabilizer={stabilizer}"
        system = track_pass(model, passing(), ship=ship, servo=TrackingServo(turning=1.0))
        worst[stabilizer] = float(
            np.degrees(lw.simulate(system, 8.0, every=50)["pointing error"].max())
        )
    assert 0.5 < worst["pendulum"] < 6.0
    assert worst["flywheels"] < 0.5
