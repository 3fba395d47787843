"""Wind: gusts after Davenport, and what they do to a dish."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

import linkwright as lw
from linkwright.mechanism import Mechanism
from linkwright.mounts.wind import AIR, Wind, WindLoad
from tests.support.late import Late

if TYPE_CHECKING:
    from scipy import signal
else:
    signal = Late("scipy.signal")


def test_gusts_have_the_spectrum_and_the_energy_that_davenport_gives() -> None:
    wind = Wind(15.0, roughness=0.005, seed=3)
    f = np.geomspace(1e-7, 1e3, 40_001)
    assert np.trapezoid(wind.density(f), f) == pytest.approx(6 * 0.005 * 15**2, rel=1e-3)
    t = np.arange(0, 7200, 0.2)
    gusts = wind.gusts(t)
    assert gusts.std() == pytest.approx(wind.deviation, rel=0.03)
    bands = [(0.01, 0.05), (0.05, 0.2), (0.2, 1.0)]
    at, found = signal.welch(gusts, 5.0, nperseg=4096)
    for low, high in bands:
        inside = (at >= low) & (at < high)
        expected = wind.density(at[inside]).sum()
        assert found[inside].sum() == pytest.approx(expected, rel=0.15)
    assert wind.trajectory(20.0)(7.3)[0] == pytest.approx(15 + wind.gusts(7.3), abs=1e-3)


def test_a_steady_wind_pushes_a_dish_by_its_coefficients() -> None:
    m = Mechanism("post")
    dish = m.body("dish", rotate="z", mass=10, inertia=1)
    m.set_platform(dish, axis="x")
    s = lw.System(m)
    s.add(
        WindLoad(m, Wind(20.0, 1.5 * math.pi, roughness=0.0), 1.0, diameter=2.0)
    )  # blows to the East
    run = lw.simulate(s, until=0.01, initial={"dish": math.radians(60)})
    pressure = AIR * 20**2 / 2 * math.pi
    assert run["wind.push_x"][0] == pytest.approx(pressure * (0.3 + 1.2 * 0.25))
    assert run["wind.push_y"][0] == pytest.approx(0.0, abs=1e-9)
    # back to facing it
    turn = -pressure * 2 * 0.1 * math.sin(math.radians(120))
    assert run["wind.turn_z"][0] == pytest.approx(turn)


@pytest.mark.parametrize(("still", "stable"), [(0, True), (90, False), (180, True)])
def test_a_dish_held_at_its_middle_is_stable_broadside(still: int, stable: bool) -> None:
    m = Mechanism("post")
    dish = m.body("dish", rotate="z", mass=10, inertia=100)
    m.set_platform(dish, axis="x")
    s = lw.System(m)
    s.add(
        WindLoad(m, Wind(20.0, 1.5 * math.pi, roughness=0.0), 4.0, face=0.0, edge=0.0, diameter=2.0)
    )
    run = lw.simulate(s, until=4.0, initial={"dish": math.radians(still + 10)})
    off = np.degrees(run["dish"]) - still
    assert (np.abs(off).max() < 10.01) == stable
    assert (off.min() < -9) == stable  # it swings to the other side


@pytest.mark.parametrize(("speed", "roughness"), [(-1.0, 0.005), (10.0, -0.1)])
def test_winds_that_make_no_sense_are_refused(speed: float, roughness: float) -> None:
    with pytest.raises(lw.InputError):
        Wind(speed, roughness=roughness)
