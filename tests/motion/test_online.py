"""Jerk-limited motion to targets that change: `online`, with Ruckig beside it as an oracle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ruckig
from numpy.typing import NDArray

import linkwright as lw
from linkwright.motion import Limits, online
from linkwright.motion.plans import PLAN, evaluation, planning
from linkwright.motion.trajectory import MotionError
from linkwright.system.controllers import controller_phases
from tests.backends.test_firmware import Firmware
from tests.seeds import cases, seldom

Array = NDArray[np.float64]
PERIOD = 0.001


def random_states(seed: int, count: int, axes: int, beyond: float = 1.0) -> dict[str, Array]:
    """Return random states, limits and targets; within limits that can be kept for beyond = 1."""
    rng = np.random.default_rng(seed)
    shape = (count, axes)
    V, A, J = (10 ** rng.uniform(low, low + 1.5, shape) for low in (-0.5, 0.0, 0.5))
    a = beyond * A * rng.uniform(-1, 1, shape)
    v = beyond * V * rng.uniform(-1, 1, shape)
    if beyond <= 1:  # the speed at which the acceleration can be 0 again is within the limit too
        ahead = a * np.abs(a) / (2 * J)
        a = np.where(np.abs(v + ahead) < V, a, 0.0)
    d = rng.normal(size=shape) * 10 ** rng.uniform(-3, 1, shape)
    x = rng.normal(size=shape)
    none = np.zeros(shape)
    return {"x": x, "v": v, "a": a, "V": V, "A": A, "J": J, "target": x + d, "speed": none}


def planned(states: dict[str, Array], mode: float = 0.0) -> dict[str, Array]:
    """Return plans by the native Program, a row each."""
    count, axes = states["x"].shape
    p = planning(axes)
    given = {**states, "mode": np.full(count, mode), "on": np.ones(count)}
    found = lw.compile(p)(*(given[port.name] for port in p.inputs))
    return dict(zip((port.name for port in p.outputs), found, strict=True))


def evaluated(plan: dict[str, Array], t: Array) -> tuple[Array, ...]:
    """Return q, speed, acceleration and jerk of plans at a time for each."""
    p = evaluation(plan["x_plan"].shape[1])
    given = {"t": t, **{name: plan[f"{name}_plan"] for name in PLAN}}
    return tuple(lw.compile(p)(*(given[port.name] for port in p.inputs)))


def oracle(states: dict[str, Array], speeds: bool = False) -> Array:
    """Return the durations that Ruckig finds; NaN where it finds none."""
    count, axes = states["x"].shape
    found = np.full(count, np.nan)
    maker = ruckig.Ruckig(axes, PERIOD)
    given, made = ruckig.InputParameter(axes), ruckig.Trajectory(axes)
    if speeds:
        given.control_interface = ruckig.ControlInterface.Velocity
        given.synchronization = ruckig.Synchronization.No
    for k in range(count):
        row = {name: values[k].tolist() for name, values in states.items()}
        given.current_position, given.current_velocity = row["x"], row["v"]
        given.current_acceleration, given.target_position = row["a"], row["target"]
        given.target_velocity = row["speed"]
        given.max_velocity, given.max_acceleration = row["V"], row["A"]
        given.max_jerk = row["J"]
        try:
            maker.calculate(given, made)
        except ruckig.RuckigError:
            continue
        found[k] = made.duration
    return found


@seldom(daily="test_states_beyond_limits_come_back_as_the_oracle_does")
def test_ten_thousand_states_come_to_rest_as_soon_as_the_oracle_within_limits() -> None:
    states = random_states(1, 10_000, 1)
    plan = planned(states)
    there = oracle(states)
    known = np.isfinite(there)
    assert known.sum() > 9_950
    assert np.abs(plan["duration"] - there)[known].max() < 1e-6 * PERIOD
    worst = np.zeros(3)
    for part in np.linspace(0.0, 1.0, 60):
        _, *rates = evaluated(plan, part * plan["duration"])
        over = [(np.abs(r) - states[w]).max() for r, w in zip(rates, "VAJ", strict=True)]
        worst = np.maximum(worst, over)
    assert worst.max() < 1e-9
    before, *rest = evaluated(plan, plan["duration"] * (1 - 1e-9))
    assert np.abs(before - states["target"]).max() < 1e-6
    final, *rest = evaluated(plan, plan["duration"])
    np.testing.assert_array_equal(final, states["target"])
    assert not np.any(rest)


def test_states_beyond_limits_come_back_as_the_oracle_does() -> None:
    states = random_states(2, 2_000, 1, beyond=2.0)
    plan, there = planned(states), oracle(states)
    known = np.isfinite(there)
    assert known.sum() > 1_900
    assert np.abs(plan["duration"] - there)[known].max() < 1e-6 * PERIOD
    # once back, they stay within; who would pass the opposite limit else is still on the way back
    back = np.sum([plan[f"r{k}_plan"][:, 0] for k in (1, 2, 3)], axis=0)
    fast = np.abs(evaluated(plan, back)[1]) - states["V"] > 1e-9
    assert fast.mean() < 0.25
    for part in np.linspace(0.0, 1.0, 30):
        _, *rates = evaluated(plan, back + part * (plan["duration"] - back))
        rates[0] = np.where(fast, 0.0, rates[0])
        for r, w in zip(rates, "VAJ", strict=True):
            assert (np.abs(r) - states[w]).max() < 1e-9


def test_a_plan_from_the_way_is_the_rest_of_the_way() -> None:
    """Also where braking has begun, and rounding may put the target behind the end of it."""
    states = random_states(7, 5_000, 2)
    plan = planned(states)
    rng = np.random.default_rng(8)
    for _ in range(4):
        passed = rng.uniform(0, 1, 5_000)
        x, v, a, _ = evaluated(plan, passed * plan["duration"])
        again = planned({**states, "x": x, "v": v, "a": a})
        late = again["duration"] - (1 - passed) * plan["duration"]
        assert late.max() < 0.1 * PERIOD
        alone = planned({n: y[:, :1] for n, y in (states | {"x": x, "v": v, "a": a}).items()})
        assert (alone["duration"] - again["duration"]).max() < 1e-9


@pytest.mark.parametrize("axes", cases([2, 4], daily=[2]))
def test_axes_arrive_together_when_the_oracle_says(axes: int) -> None:
    states = random_states(3, 500, axes)
    plan, there = planned(states), oracle(states)
    known = np.isfinite(there)
    assert known.sum() > 480
    assert np.abs(plan["duration"] - there)[known].max() < 1e-6 * PERIOD
    np.testing.assert_array_equal(plan["T_plan"], np.repeat(plan["duration"][:, None], axes, 1))
    for part in np.linspace(0.0, 1.0, 40):
        _, *rates = evaluated(plan, part * plan["duration"] * (1 - 1e-12))
        for r, w in zip(rates, "VAJ", strict=True):
            assert (np.abs(r) - states[w]).max() < 1e-9
    q = evaluated(plan, plan["duration"] * (1 - 1e-12))[0]
    assert np.abs(q - states["target"]).max() < 1e-8


def test_speeds_are_reached_as_soon_as_the_oracle_reaches_them() -> None:
    states = random_states(4, 1_000, 2)
    states["speed"] = states["V"] * np.random.default_rng(5).uniform(-1, 1, (1_000, 2))
    plan, there = planned(states, 1.0), oracle(states, speeds=True)
    assert np.abs(plan["duration"] - there).max() < 1e-6 * PERIOD
    one, speed, *rest = evaluated(plan, plan["duration"] + 0.5)
    two, *_ = evaluated(plan, plan["duration"] + 1.5)
    np.testing.assert_array_equal(speed, states["speed"])
    assert np.abs(two - one - speed).max() < 1e-9
    assert not np.any(rest)


def followed(ticks: int, changes: dict[int, dict[str, Any]], limits: Limits, n: int) -> Any:
    """Return the run of a block whose inputs change at instants."""
    s = lw.System(name="s")
    member = s.add(online(np.zeros(n), limits, rate=1 / PERIOD))
    held: dict[str, Any] = {}

    def inputs(t: float) -> Any:
        held.update(changes.get(round(t / PERIOD), {}))
        rest = [held.get(w, 0.0) for w in ("mode", "stop", "reset")]
        return held.get("target", np.zeros(n)), held.get("speed", np.zeros(n)), *rest

    ports = {"target": n, "speed": n, "mode": None, "stop": None, "reset": None}
    hand = s.add(inputs, rate=1 / PERIOD, outputs=ports, name="hand")
    s.connect(hand.target, member.target)
    s.connect(hand.speed, member.target_rate)
    for word in ("mode", "stop", "reset"):
        s.connect(getattr(hand, word), getattr(member, word))
    return lw.simulate(s, until=ticks * PERIOD, every=1)


def test_targets_change_at_any_instant_without_a_jump() -> None:
    rng = np.random.default_rng(6)
    n, ticks = 3, 7000
    limits = Limits(speed=[1.0, 2.0, 0.5], acceleration=[3.0, 5.0, 4.0], jerk=[40.0, 20.0, 80.0])
    changes: dict[int, dict[str, Any]] = {
        int(k): {"target": rng.normal(size=n)} for k in np.cumsum(rng.integers(1, 200, 25))
    }
    last = max(changes)
    assert last < ticks - 4000
    for k in rng.integers(0, last, 12):
        changes.setdefault(int(k), {}).update(mode=float(rng.integers(2)), speed=rng.normal(size=n))
    changes[last + 1] = {"mode": 0.0, "stop": 0.0}
    run = followed(ticks, changes, limits, n)
    names = ("q", "q_dot", "q_ddot", "q_dddot")
    q, u, a, j = (np.stack([run[f"online.{w}[{k}]"] for k in range(n)], axis=1) for w in names)
    V, A, J = (np.asarray(x) for x in (limits.speed, limits.acceleration, limits.jerk))
    for values, bound in ((u, V), (a, A), (j, J)):
        assert (np.abs(values) - bound).max() < 1e-9
    assert (np.abs(np.diff(a, axis=0)) / PERIOD - J).max() < 1e-9 * float(J.max()) / PERIOD
    # speeds and places are integrals of what is above them
    assert np.abs(np.diff(u, axis=0) - PERIOD * (a[1:] + a[:-1]) / 2).max() < J.max() * PERIOD**2
    assert np.abs(np.diff(q, axis=0) - PERIOD * (u[1:] + u[:-1]) / 2).max() < J.max() * PERIOD**3
    final = next(c["target"] for k, c in sorted(changes.items(), reverse=True) if "target" in c)
    np.testing.assert_array_equal(q[-1], final)
    assert run["online.arrived"][-1] == 1
    assert not run["online.arrived"][last + 2]


def test_a_target_that_moves_at_every_instant_is_followed_within_limits() -> None:
    s = lw.System(name="s")
    block = online([0.0, 0.0], Limits(speed=0.6, acceleration=4.0, jerk=60.0), rate=1 / PERIOD)
    member = s.add(block)
    s.connect("0.5*sin(2*t) if t < 3 else 0.25", member.target[0])
    s.connect("0.2*sin(5*t) + 1e-9*sin(1e6*t) if t < 3 else 0.25", member.target[1])
    run = lw.simulate(s, until=5.0, every=1)
    for k in range(2):
        u, a = run[f"online.q_dot[{k}]"], run[f"online.q_ddot[{k}]"]
        assert np.abs(u).max() < 0.6 + 1e-9
        assert np.abs(a).max() < 4.0 + 1e-9
        assert np.abs(np.diff(a)).max() < 60.0 * PERIOD + 1e-9
        assert run.final[f"online.q[{k}]"] == 0.25


def test_stop_comes_to_rest_and_reset_takes_another_place() -> None:
    limits = Limits(speed=1.0, acceleration=4.0, jerk=50.0)
    changes: dict[int, dict[str, Any]] = {
        0: {"target": np.array([2.0])},
        500: {"stop": 1.0},
        1500: {"reset": 1.0, "stop": 0.0},
        1501: {"reset": 0.0},
    }
    run = followed(2000, changes, limits, 1)
    q, u = run["online.q[0]"], run["online.q_dot[0]"]
    assert (u[1400], run["online.arrived"][1400]) == (0, 1)
    assert 0.4 < q[1400] < 1.0
    assert q[1500] == 0
    assert 0 < q[1501] < 1e-8
    assert q[1700] > 0.01


@seldom(
    daily="tests/backends/test_firmware.py::test_firmware_of_random_systems_gives_the_bits_of_native_ticks"
)
def test_firmware_gives_the_bits_of_the_native_run(tmp_path: Path) -> None:
    """A tick in C99, which plans where targets change and leaves the planning out elsewhere."""
    limits = Limits(speed=1.0, acceleration=3.0, jerk=[20.0, 40.0])
    s = lw.System(name="board")
    s.add(online([0.0, 0.0], limits, rate=1 / PERIOD))
    lw.codegen(s, tmp_path, target="firmware")
    phases = controller_phases(s)
    firmware = Firmware(tmp_path, "board", phases)
    targets = np.repeat(np.random.default_rng(9).normal(size=(6, 2)), 100, axis=0)
    inputs = {signal.name: signal.value for signal in phases.w}
    made = []
    for row in targets:
        inputs |= {f"online.target[{k}]": x for k, x in enumerate(row)}
        made.append(firmware.tick(list(inputs.values())))
    run = followed(600, {k: {"target": row} for k, row in enumerate(targets)}, limits, 2)
    held = [x.name for x in phases.d if x.kind == "held"]
    for name, column in zip(held, np.transpose(made), strict=True):
        np.testing.assert_array_equal(column, run[name][:600])


def test_runs_of_a_batch_are_runs_alone() -> None:
    limits = Limits(speed=1.0, acceleration=3.0, jerk=20.0)
    s = lw.System(name="s")
    member = s.add(online([0.0], limits, rate=1 / PERIOD))
    s.connect("0.3 if t < 0.2 else -0.4", member.target[0])
    speeds = np.array([0.2, 0.5, 1.0, 2.0, 3.0])
    ports = {"online.max_speed[0]": speeds}
    many = lw.simulate_batch(s, until=0.5, inputs=ports, record=["online.q[0]"])
    for k, speed in enumerate(speeds):
        alone = lw.simulate(s, until=0.5, inputs={"online.max_speed[0]": speed})
        assert float(np.ravel(many["online.q[0]"][k])[-1]) == alone.final["online.q[0]"]


def test_junk_is_refused_and_the_motion_goes_on() -> None:
    limits = Limits(speed=1.0, acceleration=4.0, jerk=50.0)
    good = {0: {"target": np.array([0.3])}}
    bad = {**good, 100: {"target": np.array([np.nan])}, 300: {"target": np.array([0.3])}}
    one, two = followed(1000, good, limits, 1), followed(1000, bad, limits, 1)
    np.testing.assert_array_equal(one["online.q[0]"], two["online.q[0]"])
    assert two["online.refused"].sum() == 200
    with pytest.raises(MotionError, match="needs a limit of jerk"):
        online([0.0], Limits(speed=1, acceleration=1))
