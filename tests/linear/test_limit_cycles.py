"""Describing functions against quadrature; limit cycles against those of V10 with a gap."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import Error
from linkwright.blocks import Block
from linkwright.linear import limit_cycle_map, limit_cycles
from linkwright.linear.describing_functions import DESCRIBING_FUNCTIONS, dead_zone_gain
from linkwright.linear.limit_cycles import harmonic_balance
from tests.support.joint_drive import joint_drive
from tests.support.late import Late

if TYPE_CHECKING:
    import control
else:
    control = Late("control")


def _backlash(x: np.ndarray) -> np.ndarray:
    """What friction holds, over two periods of a sine, of which the second counts."""
    y, found = 0.0, []
    for value in x:
        y = min(max(y, value - 0.3), value + 0.3)
        found.append(y)
    return np.array(found)


LAWS: dict[str, tuple[dict[str, float], Callable[[np.ndarray], np.ndarray]]] = {
    "dead zone": ({"gap": 0.3, "slope": 5}, lambda x: 5 * (x - np.clip(x, -0.3, 0.3))),
    "saturation": ({"limit": 0.3, "slope": 5}, lambda x: np.clip(5 * x, -0.3, 0.3)),
    "dry friction": ({"level": 0.3}, lambda x: 0.3 * np.sign(x)),
    "backlash": ({"gap": 0.3, "slope": 1}, _backlash),
    "quantizer": ({"step": 0.3}, lambda x: 0.3 * np.round(x / 0.3)),
}


def test_every_describing_function_has_a_law() -> None:
    assert set(LAWS) == set(DESCRIBING_FUNCTIONS)


@pytest.mark.parametrize("name", DESCRIBING_FUNCTIONS)
@pytest.mark.parametrize("amplitude", [0.02, 0.31, 1.7])
def test_a_describing_function_is_the_first_harmonic(name: str, amplitude: float) -> None:
    arguments, law = LAWS[name]
    turn = (np.arange(40_000) + 0.5) * (4 * np.pi / 40_000)
    y = law(amplitude * np.sin(turn))[20_000:]
    wanted = 2j * np.mean(y * np.exp(-1j * turn[20_000:])) / amplitude
    found = DESCRIBING_FUNCTIONS[name](np.array([amplitude]), **arguments)[0]
    assert found == pytest.approx(wanted, abs=3e-4 * max(1, abs(wanted)))


def test_describing_functions_are_those_of_python_control() -> None:
    a = np.array([0.5, 1.5, 4.0])
    peers = {
        "saturation": control.saturation_nonlinearity(1.0),
        "backlash": control.friction_backlash_nonlinearity(2.0),
        "dry friction": control.relay_hysteresis_nonlinearity(1.0, 0.0),
    }
    given = {"saturation": {"limit": 1.0}, "backlash": {"gap": 1.0}, "dry friction": {"level": 1.0}}
    for name, peer in peers.items():
        found = DESCRIBING_FUNCTIONS[name](a, **given[name])
        np.testing.assert_allclose(found, [peer.describing_function(x) for x in a], atol=1e-9)


def _gapped() -> lw.System:
    system = joint_drive(damping=0.0)
    system.set_parameters({"gear.gap": 5e-3})
    return system


@pytest.mark.parametrize(
    ("kp", "frequency", "amplitude", "balance"),
    [(8.0, 17.650, 9.174e-3, (19.609, 10.003e-3)), (16.0, 27.690, 31.425e-3, (27.83, 32.29e-3))],
)
def test_v10_with_a_gap_has_its_limit_cycle(
    kp: float, frequency: float, amplitude: float, balance: tuple[float, float]
) -> None:
    """Orbits found piecewise exactly by hand; the describing function is off by up to 11 %."""
    (found,) = limit_cycles(_gapped(), "gear.torque", "gear.wind", parameters={"pd.kp": kp})
    assert found.frequency == pytest.approx(frequency, rel=1e-4)
    assert found.amplitude == pytest.approx(amplitude, rel=1e-4)
    assert found.stable
    assert (found.balance.frequency, found.balance.amplitude) == pytest.approx(balance, rel=3e-4)
    given = harmonic_balance(
        _gapped(),
        "gear.torque",
        "gear.wind",
        lambda a: dead_zone_gain(a, 5e-3, 500),
        parameters={"pd.kp": kp},
    )
    assert given[0].amplitude == pytest.approx(found.balance.amplitude, rel=1e-5)


def test_v10_limit_cycle_scales_with_the_gap_and_runs_go_to_it() -> None:
    """A gap is the only length there, so the amplitude is in proportion to it."""
    system = _gapped()
    found = limit_cycle_map(system, "gear.torque", "gear.wind", {"gear.gap": [5e-3, 1e-2]})
    assert found.frequency[1] == pytest.approx(found.frequency[0], rel=1e-7)
    assert found.amplitude[1] == pytest.approx(2 * found.amplitude[0], rel=1e-6)
    system.set_initial({"load.a": 0.05})
    run = lw.simulate(system, 12.0, record=["gear.wind"])
    late = run["gear.wind"][run.times > 11.0]
    assert np.abs(late).max() == pytest.approx(found.amplitude[0], rel=1e-3)
    assert len(found.plot().axes) == 2


def test_swept_sines_measure_a_describing_function() -> None:
    """A limited gain without memory: what sines measure is its gain for their amplitude."""
    b = Block("limiter")
    b.input("u")
    b.output("y", "max(min(2*u, 0.5), -0.5)")
    s = lw.System(name="limited")
    s.add(b)
    for amplitude in (0.2, 1.0):
        found = lw.linear.swept_sine(s, "limiter.u", "limiter.y", [3.0], amplitude=amplitude)
        wanted = DESCRIBING_FUNCTIONS["saturation"](np.array([amplitude]), limit=0.5, slope=2.0)
        np.testing.assert_allclose(found.values, wanted, atol=1e-4)


def test_an_unstable_limit_cycle_bounds_what_a_limited_controller_can_hold() -> None:
    """An unstable oscillator, damped by a limited force: too large a motion gets away."""
    b = Block("plant")
    force, v, x = b.input("force"), b.state("v"), b.state("x")
    b.derivative(x, v)
    b.derivative(v, force + 0.2 * v - x)
    brake = Block("brake")
    brake.input("speed")
    brake.output("force", "max(min(-speed, 1), -1)")
    s = lw.System(name="held")
    plant, member = s.add(b), s.add(brake)
    s.connect(plant.v, member.speed)
    s.connect(member.force, plant.force)
    (found,) = limit_cycles(s, "brake.force", "brake.speed")
    assert not found.stable
    for factor, ends_small in ((0.97, True), (1.03, False)):
        start = {n: factor * value for n, value in found.start.items()}
        end = lw.simulate(s, 60.0, initial=start).final
        assert (abs(end["plant.x"]) + abs(end["plant.v"]) < 0.1) == ends_small


def test_what_has_no_limit_cycle_is_refused_with_a_number() -> None:
    system, stable = _gapped(), joint_drive(damping=2.0)
    sampled, driven = joint_drive(rate=1000.0), _gapped()
    driven.connect("sin(t)", "pd.target")
    cases: dict[str, list[Callable[[], object]]] = {
        "R601": [lambda: limit_cycles(system, "gear.tork", "gear.wind")],
        "R609": [lambda: dead_zone_gain([0.0], 1.0)],
        "R610": [lambda: limit_cycles(stable, "gear.torque", "gear.wind")],
        "R611": [lambda: limit_cycles(joint_drive(damping=0.0), "gear.torque", "gear.wind")],
        "R613": [
            lambda: limit_cycles(sampled, "gear.torque", "gear.wind"),
            lambda: limit_cycles(driven, "gear.torque", "gear.wind"),
        ],
        "R614": [lambda: limit_cycle_map(system, "gear.torque", "gear.wind", {})],
    }
    for code, calls in cases.items():
        for call in calls:
            with pytest.raises(Error, match=rf"\[{code}\]$"):
                call()
