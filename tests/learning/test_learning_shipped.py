"""Environments that ship: Gymnasium's checks, their physics in NumPy, a policy that improves."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import linkwright as lw
from linkwright.base.errors import InputError
from linkwright.learning import Environment, Network, VectorEnvironment
from linkwright.learning.shipped import asked, shipped
from tests.seeds import cases, seldom
from tests.support.late import Late

Array = NDArray[np.float64]
gymnasium = Late("gymnasium")
env_checker = Late("gymnasium.utils.env_checker")
FILE = Path(__file__).parents[2] / "examples" / "train.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("example_train", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclasses look for their names
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", cases(sorted(shipped()), daily=["cart-pole-swing-up", "reacher"]))
def test_gymnasium_finds_nothing_to_say(name: str) -> None:
    env = gymnasium.make(f"linkwright.learning.environments:linkwright/{name}-v0").unwrapped
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        env_checker.check_env(env, skip_render_check=True)
    advice = ("Box observation space", "symmetric and normalized space")
    assert [str(w.message) for w in said if not any(a in str(w.message) for a in advice)] == []


def test_many_are_made_by_gymnasium_too() -> None:
    envs: Any = gymnasium.make_vec(
        "linkwright.learning.environments:linkwright/reacher-v0",
        num_envs=3,
        vectorization_mode="vector_entry_point",
    )
    seen, _ = envs.reset(seed=0)
    assert seen.shape == (3, 10)
    assert len(set(seen[:, 6])) == 3  # each lane has a target of its own


def test_the_cart_pole_is_that_of_barto_sutton_and_anderson() -> None:
    """Their equations of motion (1983), integrated by SciPy, with theta from upright."""
    env = Environment("cart-pole-swing-up")
    env.reset(options={"start": {"x": 0.1, "theta": 2.5}})
    force, M, m, half, g = 4.0, 1.0, 0.1, 0.5, 9.81
    seen = [env.step([force])[0] for _ in range(12)][-1]

    def rates(t: float, s: Array) -> list[float]:
        _, theta, v, w = s  # their angle grows to the right, that of the model to the left
        a = -theta
        aw = (
            g * np.sin(a)
            + np.cos(a) * (-force - m * half * w**2 * np.sin(a)) / (M + m)
        ) / (half * (4 / 3 - m * np.cos(a) ** 2 / (M + m)))  # fmt: skip
        av = (force + m * half * (w**2 * np.sin(a) - aw * np.cos(a))) / (M + m)
        return [v, w, av, -aw]

    end = solve_ivp(rates, (0, 12 * env.dt), [0.1, 2.5, 0, 0], rtol=1e-9, atol=1e-11).y[:, -1]
    wanted = [end[0], np.cos(end[1]), np.sin(end[1]), end[2], end[3]]
    assert seen == pytest.approx(wanted, abs=1e-5)


def test_the_reacher_knows_where_its_hand_is() -> None:
    env = Environment("reacher", parameters={"tx": 0.05, "ty": -0.02})
    seen, _ = env.reset(seed=3)
    q1, q2 = np.arctan2(seen[1], seen[0]), np.arctan2(seen[3], seen[2])
    hand = 0.1 * np.array([np.cos(q1) + np.cos(q1 + q2), np.sin(q1) + np.sin(q1 + q2)])
    assert seen[8:] == pytest.approx(hand - [0.05, -0.02], abs=1e-12)
    seen, reward, *_ = env.step([0.0, 0.0])
    assert reward == pytest.approx(-np.hypot(*seen[8:]), abs=1e-3)


def test_the_quadruped_stays_on_its_feet_while_it_steps_on_the_spot() -> None:
    """Without actions: two seconds, its weight on the ground in the mean, and nowhere to go."""
    env = Environment("quadruped-walk", observe=["q", "contact.normal1", "contact.normal2",
                                                 "contact.normal3", "contact.normal4"])  # fmt: skip
    env.reset(seed=0)
    rows = []
    for _ in range(100):
        seen, _, ended, *_ = env.step(np.zeros(12))
        assert not ended
        rows.append(seen)
    normal = np.array(rows)[:, -4:]
    assert normal[25:].sum(axis=1).mean() == pytest.approx(12.4 * 9.81, rel=0.06)
    assert (normal[25:].min(axis=0) == 0).all()  # each foot leaves the ground
    assert abs(rows[-1][0]) < 0.3


def test_what_is_given_replaces_what_ships() -> None:
    env = Environment("cart-pole-swing-up", act={"x": 3.0}, max_steps=2, reward="1")
    env.reset(seed=0)
    assert env.action_space.high == pytest.approx(3.0)
    assert env.step([0.0])[1:4] == (1.0, False, False)
    assert env.step([0.0])[3]
    with pytest.raises(InputError, match="needs act"):
        Environment("pendulum", reward="1")
    with pytest.raises(InputError, match="quadruped-walk"):
        Environment("pendulum", act=["phi"])


def test_the_trained_policy_walks_in_the_native_loop() -> None:
    """The file beside the example, as a block at 50 Hz: half a meter a second, upright."""
    system, table = asked("quadruped-walk", {})
    most = np.array(list(table["act"].values()))
    weights = FILE.with_name("quadruped-walk.npz")
    net = system.add(Network(weights, lower=-most, upper=most, rate=50))
    for k, text in enumerate(table["observe"]):
        system.connect(text, net.x[k])
    for k, name in enumerate(table["act"]):
        system.connect(net.y[k], name)
    start = {name: float(np.mean(value)) for name, value in table["start"].items()}
    run = lw.simulate(system, 4.0, method="semi-implicit", initial=start, every=20)
    late = run.times >= 1.0
    x, y, z = (run[f"floating_base.{axis}"][late] for axis in "xyz")
    assert (x[-1] - x[0]) / 3 == pytest.approx(0.5, abs=0.05)
    assert np.abs(y - y[0]).max() < 0.3
    assert z.min() > -0.16  # of a trunk that stands at -0.094
    tilt = run["floating_base.e1"] ** 2 + run["floating_base.e2"] ** 2
    assert 2 * np.arcsin(np.sqrt(tilt.max())) < np.radians(30)


def test_slopes_of_the_example_are_differences(example: ModuleType) -> None:
    rng = np.random.default_rng(0)
    layers = example.orthogonal(rng, [3, 5, 4, 2], 1.0)
    x, slope = rng.normal(size=(6, 3)), rng.normal(size=(6, 2))
    found = example.backward(layers, example.forward(layers, x)[1], slope)
    weights = [w for pair in layers for w in pair]
    for w, g in zip(weights, found, strict=True):
        at = (0,) * w.ndim
        sides = []
        for step in (1e-6, -1e-6):
            w[at] += step
            sides.append(np.sum(slope * example.forward(layers, x)[0]))
            w[at] -= step
        assert g[at] == pytest.approx((sides[0] - sides[1]) / 2e-6, rel=1e-6, abs=1e-8)


@seldom(daily="test_the_trained_policy_walks_in_the_native_loop")
def test_a_policy_improves_and_runs_as_a_block(example: ModuleType, tmp_path: Path) -> None:
    """PPO holds a pendulum up after 12,000 steps; its weights in a file are a `Network`."""
    envs = VectorEnvironment(
        "pendulum", lanes=32, observe=["sin(phi)", "cos(phi) + 1", "phi_dot"], act={"phi": 20.0},
        reward="1 - cos(phi) - 0.01*phi_dot**2", initial={"phi": (2.6, 3.6)}, step=0.01, every=5,
        done="cos(phi) > -0.5", max_steps=60, autoreset="same step",
    )  # fmt: skip
    found = example.train(envs, seconds=280, steps=12_000, roll=16, say=False)
    assert found.curve[-1][2] > 100  # of 120; it begins with less than 40
    assert found.curve[0][2] < 60
    path = tmp_path / "policy.npz"
    example.write(found, path)
    net = Network(path, lower=found.lower, upper=found.upper)
    s = lw.System(name="s")
    member = s.add(net)
    for k, value in enumerate((0.1, 0.02, -0.3)):
        s.connect(repr(value), member.x[k])
    final = lw.simulate(s, 0.1).final["network.y[0]"]
    assert final == pytest.approx(found(np.array([[0.1, 0.02, -0.3]]))[0, 0], abs=1e-9)
