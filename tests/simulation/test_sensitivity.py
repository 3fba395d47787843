"""Derivatives of runs: closed forms, high precision, and differences of several sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mpmath
import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import Error
from linkwright.simulation.native.cards import ProcessorTarget
from linkwright.simulation.sensitivity import SensitiveRun
from linkwright.simulation.settings import settings_of
from linkwright.system import system_of
from tests.seeds import cases


def differences(
    model: Any, until: float, of: str, to: Sequence[str], size: float, **given: Any
) -> list[float]:
    """Central differences of fourth order of whole runs."""
    settings = settings_of(until, step=given.pop("step", None), method=given.pop("method", "rk4"))
    run = SensitiveRun(model, settings, [of], to, **given)
    found = []
    for name in to:
        h = size * max(1.0, abs(run.at[name]))
        a, b, c, d = (run.run({name: run.at[name] + k * h})[1][-1, 0] for k in (-2, -1, 1, 2))
        found.append((a - 8 * b + 8 * c - d) / (12 * h))
    return found


def agree(model: Any, until: float, of: str, to: Sequence[str], **given: Any) -> Any:
    """Compare with differences of three sizes, of which the best is as good as they can be."""
    found = lw.sensitivity(model, until, of=of, to=to, **given)
    errors = [
        np.abs(np.array(differences(model, until, of, to, size, **given)) - found.jacobian[0])
        for size in (1e-3, 1e-4, 1e-5)
    ]
    scale = np.maximum(1.0, np.abs(found.jacobian[0]))
    assert (np.min(errors, axis=0) <= 1e-9 * scale).all(), errors
    assert (np.abs(found.jacobian) > 1e-4).any()
    return found


def test_a_steady_oscillation_has_the_derivatives_of_its_closed_form() -> None:
    """x = x0 cos(w t) + v0/w sin(w t), w = sqrt(k/m), with derivatives in 50 digits."""
    b = lw.Block("mass")
    for name, value in {"k": 30.0, "m": 2.0}.items():
        b.parameter(name, value)
    x, v = b.state("x", initial=0.5), b.state("v", initial=-1.0)
    b.derivative(x, v)
    b.derivative(v, "-k/m*x")
    s = lw.System(name="s")
    s.add(b)
    to = ["mass.k", "mass.m", "mass.x", "mass.v"]
    found = lw.sensitivity(s, 3.0, of=["mass.x", "final.mass.v"], to=to, step=1e-3)
    with mpmath.workdps(50):

        def closed(k: Any, m: Any, x0: Any, v0: Any) -> Any:
            w = mpmath.sqrt(k / m)
            return x0 * mpmath.cos(3 * w) + v0 / w * mpmath.sin(3 * w)

        at = [mpmath.mpf(n) for n in ("30", "2", "0.5", "-1")]
        for j, name in enumerate(to):
            order = tuple(int(i == j) for i in range(4))
            exact = float(mpmath.diff(closed, tuple(at), order))
            assert found[name][0] == pytest.approx(exact, rel=2e-10)
    assert found.rates.shape == (len(found.times), 2, 4)
    assert found.rates[0, 0].tolist() == [0.0, 0.0, 1.0, 0.0]


def test_fixed_steps_have_the_derivatives_of_their_own_steps() -> None:
    """Rough ones, by a complex step through the same method written out."""
    b = lw.Block("rough")
    b.parameter("a", 1.3)
    x = b.state("x", initial=0.7)
    b.derivative(x, "-a*x**3 + sin(a)")
    s = lw.System(name="s")
    s.add(b)
    found = lw.sensitivity(s, 2.0, of="rough.x", to=["rough.a"], step=0.25)

    def stepped(a: complex) -> complex:
        y, h = 0.7 + 0j, 0.25
        for _ in range(8):
            k1 = -a * y**3 + np.sin(a)
            k2 = -a * (y + h / 2 * k1) ** 3 + np.sin(a)
            k3 = -a * (y + h / 2 * k2) ** 3 + np.sin(a)
            k4 = -a * (y + h * k3) ** 3 + np.sin(a)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return y

    exact = stepped(1.3 + 1e-30j).imag / 1e-30
    assert found["rough.a"] == pytest.approx(exact, rel=1e-14)


def ball() -> lw.System:
    """A ball that bounces and loses a part of its speed, with gravity that grows with height."""
    b = lw.Block("ball")
    for name, value in {"g": 9.81, "e": 0.8}.items():
        b.parameter(name, value)
    h, v = b.state("h", initial=1.0), b.state("v")
    b.derivative(h, v)
    b.derivative(v, "-g*(1 + 0.1*h)")
    b.event("floor", h, direction=-1, resets={v: "-e*v"})
    s = lw.System(name="bouncing")
    s.add(b)
    return s


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_events_move_with_what_they_depend_on(method: str) -> None:
    to = ["ball.g", "ball.e", "ball.h"]
    agree(ball(), 1.9, "ball.h", to, method=method, step=1e-3 if method == "rk4" else None)


def test_a_fall_that_ends_at_the_floor_ends_later_from_higher_up() -> None:
    """Its speed there is sqrt(2 g h), whatever time that takes."""
    b = lw.Block("ball")
    b.parameter("g", 9.81)
    h, v = b.state("h", initial=1.3), b.state("v")
    b.derivative(h, v)
    b.derivative(v, "-g")
    b.event("floor", h, direction=-1, terminal=True)
    s = lw.System(name="falling")
    s.add(b)
    found = lw.sensitivity(s, 5.0, of=["ball.v", "ball.h"], to=["ball.h", "ball.g"], step=1e-2)
    assert found.reason == "'ball.floor' ended it"
    speed = np.sqrt(2 * 9.81 * 1.3)
    expected = [[-9.81 / speed, -1.3 / speed], [0.0, 0.0]]
    np.testing.assert_allclose(found.jacobian, expected, rtol=1e-9, atol=1e-10)


def test_sampled_controllers_with_memory_are_gone_through() -> None:
    plant = lw.Block("plant")
    plant.parameter("m", 1.5)
    x, v = plant.state("x", initial=0.3), plant.state("v")
    plant.derivative(x, v)
    plant.input("F")
    plant.derivative(v, "(F - 2*sin(x))/m")
    plant.output("y", x)
    hand = lw.Block("hand")
    for name, value in {"kp": 9.0, "ki": 4.0, "kd": 1.1}.items():
        hand.parameter(name, value)
    hand.input("u")
    hand.discrete_state("total", "total + 0.01*u")
    hand.discrete_state("last", "u")
    hand.output("F", "-kp*u - ki*total - kd*(u - last)/0.01")
    s = lw.System(name="controlled")
    p, c = s.add(plant), s.add(hand, rate=100)
    s.connect(p.y, c.u)
    s.connect(c.F, p.F)
    agree(s, 1.0, "plant.x", ["hand.kp", "hand.ki", "hand.kd", "plant.m"], step=2e-3)


@pytest.mark.parametrize(
    ("name", "of", "to"),
    cases(
        [
            ("four-bar", "a", ("L2", "L4")),
            ("slider-crank", "", ()),
            ("double-pendulum", "", ()),
            ("whipple", "delta", ("phi_dot", "IFxx")),
            ("stanford-arm-controlled", "a", ("A2",)),
        ],
        daily=[("slider-crank", "", ())],
    ),
)
def test_shipped_models_closed_loops_among_them(name: str, of: str, to: tuple[str, ...]) -> None:
    phases = system_of(lw.load(name)).phases(())
    numbers = to or tuple(s.name for s in phases.p if s.value)[:1]
    leaning = {"initial": {"phi_dot": 0.5}} if name == "whipple" else {}  # upright it rides on
    agree(name, 0.1, of or phases.x[0].name, numbers, step=1e-3, **leaning)


def test_lanes_of_cards_carry_derivatives_with_the_same_bits() -> None:
    settings = settings_of(1.9, step=1e-2, method="rk4")
    run = SensitiveRun(ball(), settings, ["ball.h"], ["ball.e", "ball.h"])
    wanted, found = run.run({}), run.run({}, device=ProcessorTarget())
    for k in range(3):
        assert np.array_equal(np.asarray(wanted[k]), np.asarray(found[k]))


def test_semi_implicit_steps_without_events() -> None:
    agree("pendulum", 1.0, "phi", ["L", "phi"], method="semi-implicit", initial={"phi": 0.4})
    with pytest.raises(Error, match=r"no exact derivatives at events.*take rk4"):
        lw.sensitivity(ball(), 1.0, of="ball.h", to=["ball.g"], method="semi-implicit")


def test_what_has_no_derivative_is_named() -> None:
    with pytest.raises(Error, match="dry friction, which sticks"):
        lw.sensitivity("servo-arm", 0.1, of="elbow", to=["load"])
    with pytest.raises(Error, match="no parameter, input or state 'l'; there are L, g, m"):
        lw.sensitivity("pendulum", 0.1, of="phi", to=["l"])
    with pytest.raises(Error, match="rodas4 has no derivatives of runs"):
        lw.sensitivity("pendulum", 0.1, of="phi", to=["L"], method="rodas4")
    s = lw.System(name="s")
    s.add(lambda t, y: 2 * y, rate=40, name="script", outputs="z", inputs={"y": None})
    with pytest.raises(Error, match="'script' is a function in Python"):
        lw.sensitivity(s, 0.1, of="script.z", to=["script.y"])


def test_a_fit_finds_what_a_noisy_recording_was_made_with() -> None:
    """Values inside of their intervals, whose width is that of the scatter of many fits."""
    start = {"phi": 0.4}
    run = lw.simulate("pendulum", 2.0, initial=start, parameters={"L": 0.8}, every=10)
    clean = lw.fit("pendulum", run, ["L", "phi"], initial={"phi": 0.3})
    assert clean.values == pytest.approx({"L": 0.8, "phi": 0.4}, rel=1e-7)
    np.testing.assert_allclose(clean.recorded["phi"], run["phi"])
    np.testing.assert_allclose(clean.fitted["phi"], run["phi"], atol=1e-6)
    above, below = (panel.lines for panel in clean.plot().axes[:: len(clean.recorded)])
    drawn: Any = above[0].get_xdata()
    np.testing.assert_allclose(drawn, run.times, atol=1e-12)
    left = clean.recorded["phi"] - clean.fitted["phi"]
    assert any(np.array_equal(np.asarray(line.get_ydata()), left) for line in below)
    seen = run.recording
    rng = np.random.default_rng(3)
    noise, found = 0.01, []
    for _ in range(4):
        y = seen["phi"] + noise * rng.normal(size=len(seen.times))
        told = lw.Recording(seen.times, [c for c in seen.channels if c.name == "phi"], y[:, None])
        found.append(lw.fit("pendulum", told, ["L"], initial=start))
    scatter = np.std([f.values["L"] - 0.8 for f in found])
    deviation = np.mean([f.deviations["L"] for f in found])
    assert 0.3 < scatter / deviation < 2.5
    assert all(abs(f.values["L"] - 0.8) < 4 * f.deviations["L"] for f in found)
    assert found[0].residual["phi"] == pytest.approx(noise, rel=0.2)
    low, high = found[0].intervals["L"]
    assert (high - low) / 2 == pytest.approx(1.96 * found[0].deviations["L"], rel=0.02)


def recorded(times: Any, columns: dict[str, Any]) -> lw.Recording:
    """A recording of numbers by name."""
    from linkwright.recording.recording import Channel

    return lw.Recording(times, [Channel(n) for n in columns], np.stack([*columns.values()], axis=1))


def bounced(times: Any, g: float, e: float) -> np.ndarray:
    """Height and speed of a ball that falls from 1 m, by the closed form of each flight."""
    rows = []
    for t in times:
        s, v = t + np.sqrt(2 / g), np.sqrt(2 * g)
        while s > 2 * v / g:
            s, v = s - 2 * v / g, v * e
        rows.append((v * s - g * s * s / 2, v - g * s))
    return np.array(rows)


@pytest.mark.parametrize("count", cases([38, 113, 64], daily=[113]))
def test_a_fit_meets_samples_beside_jumps_where_they_are(count: int) -> None:
    """Of recordings whose samples are not those of the run by itself."""
    b = lw.Block("ball")
    for name, value in {"g": 9.81, "e": 0.8}.items():
        b.parameter(name, value)
    h, v = b.state("h", initial=1.0), b.state("v")
    b.derivative(h, v)
    b.derivative(v, "-g")
    b.event("floor", h, direction=-1, resets={v: "-e*v"})
    s = lw.System(name="bouncing")
    s.add(b)
    times = np.linspace(0, 1.6, count)
    y = bounced(times, 9.5, 0.75)
    seen = recorded(times, {"ball.h": y[:, 0], "ball.v": y[:, 1]})
    truth = {"ball.g": 9.5, "ball.e": 0.75}
    for method in ("rk4", "dop853"):
        found = lw.fit(s, seen, ["ball.g", "ball.e"], method=method).values
        assert found == pytest.approx(truth, rel=1e-9)
    lost = np.delete(np.arange(count), [5, 6, 20])
    short = recorded(times[lost], {"ball.h": y[lost, 0]})
    assert lw.fit(s, short, ["ball.g", "ball.e"]).values == pytest.approx(truth, rel=1e-9)
    times = times + 0.3 * times[1] * np.sin(np.arange(count))
    uneven = recorded(times, {"ball.v": bounced(times - times[0], 9.5, 0.75)[:, 1]})
    with pytest.raises(Error, match="'bouncing' jumps, and samples of the recording are not even"):
        lw.fit(s, uneven, ["ball.g"])


def test_each_channel_has_noise_of_its_own_size() -> None:
    """Two models in one are fitted as each alone, with the deviations of each alone."""
    rng = np.random.default_rng(4)
    times = np.cumsum(rng.uniform(0.01, 0.03, 80))  # not evenly apart
    times -= times[0]
    both, alone = lw.System(name="both"), {}
    columns = {}
    for name, rate, noise in (("fast", 3.0, 0.001), ("slow", 0.7, 0.3)):
        for s in (both, lw.System(name=name)):
            b = lw.Block(name)
            b.parameter("a", 1.1 * rate)
            b.state("x", "-a*x", initial=1.0)
            s.add(b)
        columns[f"{name}.x"] = np.exp(-rate * times) + noise * rng.normal(size=len(times))
        seen = recorded(times, {f"{name}.x": columns[f"{name}.x"]})
        alone[f"{name}.a"] = lw.fit(s, seen, [f"{name}.a"])
    found = lw.fit(both, recorded(times, columns), [*alone])
    for name, one in alone.items():
        assert found.values[name] == pytest.approx(one.values[name], rel=1e-7)
        assert found.deviations[name] == pytest.approx(one.deviations[name], rel=1e-6)


def test_a_fit_of_a_sampled_loop_meets_held_channels_at_its_ticks() -> None:
    b, c = lw.Block("plant"), lw.Block("gain")
    b.parameter("a", 2.0)
    u = b.input("u")
    x = b.state("x", initial=1.0)
    b.derivative(x, u - b.expr("a*x"))
    c.output("y", -3 * c.input("x"))
    s = lw.System(name="loop")
    plant, gain = s.add(b), s.add(c, rate=10)
    s.connect(plant.x, gain.x)
    s.connect(gain.y, plant.u)
    run = lw.simulate(s, 1.2, parameters={"plant.a": 1.4}, every=2)
    found = lw.fit(s, run, ["plant.a"], method="dop853")
    assert found.values["plant.a"] == pytest.approx(1.4, rel=1e-8)
    off = recorded(run.times * 0.83, {"gain.y": run["gain.y"]})
    with pytest.raises(Error, match="is held from tick to tick"):
        lw.fit(s, off, ["plant.a"])


def test_a_fit_meets_a_recording_in_other_units() -> None:
    from linkwright.recording.recording import Channel

    run = lw.simulate("pendulum", 1.0, initial={"phi": 0.4}, parameters={"L": 0.8})
    for unit, size in (("deg", np.degrees(1.0)), ("rev", 0.5 / np.pi), ("?", 1.0)):
        seen = lw.Recording(run.times, [Channel("phi", unit)], size * run["phi"][:, None])
        found = lw.fit("pendulum", seen, ["L"], initial={"phi": 0.4})
        assert found.values["L"] == pytest.approx(0.8, rel=1e-7)
    seen = lw.Recording(run.times, [Channel("phi", "V")], run["phi"][:, None])
    with pytest.raises(Error, match="channel 'phi' is in 'V', which is not a unit for rad"):
        lw.fit("pendulum", seen, ["L"], initial={"phi": 0.4})


def test_derivatives_of_a_run_that_fails_are_not_given() -> None:
    """Values and derivatives of where it had stopped were given, with the reason beside them."""
    with pytest.raises(Error, match="ended too early: the constraints become singular"):
        lw.sensitivity("cart", 0.01, of="X", to=["X"], step=0.001)
