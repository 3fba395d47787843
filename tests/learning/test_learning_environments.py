"""Environments: MuJoCo's states, Gymnasium's checks and vector environment, runs of `simulate`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import Error
from linkwright.blocks import Block
from linkwright.elements import Contact, Plane
from linkwright.learning import Environment, VectorEnvironment
from tests.seeds import cases
from tests.support.late import Late

gymnasium = Late("gymnasium")
env_checker = Late("gymnasium.utils.env_checker")
mujoco = Late("mujoco")


def asset(name: str) -> Path:
    """A model that comes with Gymnasium."""
    found = find_spec("gymnasium")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "envs" / "mujoco" / "assets" / name


@pytest.mark.parametrize(
    ("file", "act", "skip", "gear"),
    [
        ("inverted_double_pendulum.xml", ["slider"], 5, 500.0),
        ("reacher.xml", ["joint0", "joint1"], 2, 200.0),
    ],
)
def test_states_are_those_of_mujoco(file: str, act: list[str], skip: int, gear: float) -> None:
    """Twenty steps with random actions by the method that both files ask for, RK4."""
    model = mujoco.MjModel.from_xml_path(str(asset(file)))
    data = mujoco.MjData(model)
    robot = lw.load(asset(file), limits=False)  # end stops are stiff: steps would go in parts
    env = Environment(robot, act=act, reward="0", every=skip, step=model.opt.timestep, method="rk4")
    rng = np.random.default_rng(3)
    start = rng.uniform(-0.02, 0.02, model.nq)
    data.qpos[:] += start
    names = dict(zip(robot.coordinates, map(float, data.qpos), strict=True))
    env.reset(options={"start": names})
    for _ in range(20):
        action = rng.uniform(-0.02, 0.02, len(act))
        data.ctrl[:] = action
        mujoco.mj_step(model, data, skip)
        seen = env.step(gear * action)[0]
        assert seen == pytest.approx(np.concatenate([data.qpos, data.qvel]), abs=1e-9)


@cache
def hopper() -> lw.System:
    """A ball on a rod that bounces: a servo at a rate, contacts, memory."""
    m = lw.Mechanism("hopper")
    cart = m.body("cart", translate="xz", mass=2, inertia=0)
    m.body("rod", parent=cart, rotate="y", mass=0.5, com=(0, 0, 0.3), inertia=0.01)
    m.gravity()
    system = lw.System(m, base=1000)
    system.add(Contact(m, [cart], Plane(), stiffness=2e4, damping=20, static=0.6, dynamic=0.5))
    system.add(lw.control.PD(m, kp=8.0, kd=0.4, joints=["rod"], target={"rod": 0.2}), rate=200)
    return system


def bouncing(kind: Callable[..., Any], **more: Any) -> Any:
    """An environment of it, or many."""
    return kind(
        hopper(), observe=["q", "u", "contact.normal1"], act={"rod": 3.0, "cart.x": 20.0},
        reward="-rod**2 + 0.1*cart.z", done="cart.z < 0.0005", every=20,
        initial={"cart.z": 0.05, "cart.x_dot": 0.4, "rod": 0.1}, max_steps=9, **more,
    )  # fmt: skip


def test_a_step_has_the_bits_of_a_run() -> None:
    env = bouncing(Environment)
    first, _ = env.reset(seed=1)
    start = {"cart.z": 0.05, "cart.x_dot": 0.4, "rod": 0.1}
    channels = [*env.observed]
    run = lw.simulate(hopper(), 0.1, method="semi-implicit", initial=start, every=20)
    rows = np.array([run[name] for name in channels]).T
    assert np.array_equal(first, rows[0])
    for k in range(1, 6):
        seen, reward, *_ = env.step([0.0, 0.0])
        assert np.array_equal(seen, rows[k])
        q = dict(zip(channels, seen, strict=True))
        assert reward == pytest.approx(-(q["rod"] ** 2) + 0.1 * q["cart.z"], abs=1e-15)
    assert env.dt == pytest.approx(0.02)


@pytest.mark.parametrize("mode", ["next step", "same step", "disabled"])
@pytest.mark.parametrize("lanes", cases([1, 5, 9], daily=[5]))
def test_lanes_do_what_gymnasiums_own_vector_environment_does(mode: str, lanes: int) -> None:
    """Bit by bit in the first episode, then but for the rounding of times that are shared."""
    names = {"next step": "NEXT_STEP", "same step": "SAME_STEP", "disabled": "DISABLED"}
    chosen = getattr(gymnasium.vector.AutoresetMode, names[mode])
    theirs = gymnasium.vector.SyncVectorEnv(
        [partial(bouncing, Environment)] * lanes, autoreset_mode=chosen
    )
    ours = bouncing(VectorEnvironment, lanes=lanes, autoreset=mode)
    assert ours.metadata["autoreset_mode"] == chosen
    assert np.array_equal(ours.reset(seed=0)[0], theirs.reset(seed=0)[0])
    rng, ends = np.random.default_rng(2), 0
    first = np.ones(lanes, bool)
    for _ in range(24):
        actions = rng.uniform(-1, 1, (lanes, 2)) * [3.0, 20.0]
        a, b = ours.step(actions), theirs.step(actions)
        over = a[2] | a[3]
        for x, y in zip(a[:4], b[:4], strict=True):
            same = first & ~over if mode == "same step" else first
            assert np.array_equal(x[same], y[same])
            assert x == pytest.approx(y, abs=1e-6)
        first &= ~over
        ends += int(over.sum())
        if mode == "same step":
            assert ("final_obs" in a[4]) == over.any() == ("final_obs" in b[4])
            for lane in np.flatnonzero(over):
                assert a[4]["final_obs"][lane] == pytest.approx(b[4]["final_obs"][lane], abs=1e-6)
        if mode == "disabled" and over.any():
            mask = {"reset_mask": over}
            x, y = ours.reset(options=mask)[0], theirs.reset(options=mask)[0]
            assert np.array_equal(x[over], y[over])
    assert ends > lanes, "episodes should end, or the test says little"


def test_gymnasium_finds_nothing_to_say() -> None:
    env = Environment(
        "pendulum", observe=["sin(phi)", "cos(phi)", "phi_dot"], act={"phi": 1.0},
        reward="-phi**2", step=0.01, initial={"phi": (-0.5, 0.5)}, max_steps=50,
    )  # fmt: skip
    with pytest.warns(UserWarning, match="Box observation space"):  # has no bounds, and says so
        env_checker.check_env(env, skip_render_check=True)
    first = env.reset(seed=4)[0]
    assert np.array_equal(first, env.reset(seed=4)[0])
    assert not np.array_equal(first, env.reset(seed=5)[0])


def test_parameters_are_drawn_for_each_lane_and_count_as_if_they_were_set() -> None:
    m = lw.Mechanism("cart")
    cart = m.body("cart", translate="x", mass="m")
    m.force("spring", "-k*cart", at=cart.origin, along="x")
    m.defaults(m=1.0, k=4.0)
    envs = VectorEnvironment(
        m, lanes=7, act=["cart"], reward="0", step=0.01, every=10, observe=["cart", "cart_dot"],
        initial={"cart": 1.0}, parameters={"m": (0.5, 2.0), "k": (1.0, 9.0)}, method="rk4",
    )  # fmt: skip
    envs.reset(seed=3)
    for _ in range(4):
        envs.step(np.zeros((7, 1)))
    seen, *_ = envs.step(np.zeros((7, 1)))
    names = [s.name for s in envs._setting.phases.p]
    p = envs._lanes.machine.rows_of("p")
    mass, stiffness = (p[:, names.index(name)] for name in ("m", "k"))
    assert len(set(mass)) == len(set(stiffness)) == 7
    assert seen[:, 0] == pytest.approx(np.cos(np.sqrt(stiffness / mass) * 0.5), abs=1e-7)


class Keeper(Block):
    """Memory that starts where a parameter puts it, a parameter that follows it, and noise."""

    def __init__(self) -> None:
        super().__init__("keeper", rate=100)
        a = self.parameter("a", 1.0)
        b = self.parameter("b", 2 * a)
        kept = self.discrete_state("kept", "1.5*kept", a)
        self.output("y", kept + 10 * b + self.input("u"))
        self.output("said", self.noise())


def keeping() -> lw.System:
    """A pendulum that noise drives, and memory that samples its angle."""
    m = lw.load("pendulum")
    system = lw.System(m, base=1000)
    keeper = system.add(Keeper())
    motor = lw.Element("motor", m)
    motor.effort("torque", "phi", motor.input("tau"))
    system.connect("0.2*keeper.said", system.add(motor).tau)
    system.connect("phi", keeper.u)
    return system


KEPT = ["phi", "phi_dot", "keeper.y", "keeper.said"]


def kept_by(seed: int, end: float, values: dict[str, float], start: dict[str, float]) -> Any:
    run = lw.simulate(
        keeping(),
        end,
        method="semi-implicit",
        every=20,
        seed=seed,
        parameters=values,
        initial=start,
    )
    return np.array([run[name] for name in KEPT]).T


def test_episodes_with_noise_and_memory_are_runs_with_their_seed() -> None:
    """The first observation has sampled too; noise is new in each episode, by the seed of reset."""
    start = {"phi": 0.3, "keeper.kept": 7.0}
    env = Environment(
        keeping(), observe=KEPT, act={"phi": 2.0}, reward="0", every=20,
        initial=start, parameters={"keeper.a": (2.0, 3.0)},
    )  # fmt: skip
    places = [s.name for s in env._setting.phases.p]
    seeds, rows = [], []
    first, a = np.zeros(0), 0.0
    for given in (5, None, 5):
        first, info = env.reset(seed=given)
        seen = [first, *(env.step([0.0])[0] for _ in range(4))]
        a = float(env._lanes.machine.rows_of("p")[0, places.index("keeper.a")])
        run = kept_by(info["noise_seed"], 0.08, {"keeper.a": a}, start)
        assert np.array_equal(seen, run)
        seeds.append(info["noise_seed"])
        rows.append(seen)
    assert seeds[0] == seeds[2] != seeds[1]
    assert np.array_equal(rows[0], rows[2])
    assert first[2] == pytest.approx(7.0 + 20 * a + 0.3)


@pytest.mark.parametrize("mode", ["next step", "same step"])
def test_lanes_that_begin_anew_sample_at_once_and_hear_new_noise(mode: str) -> None:
    envs = VectorEnvironment(
        keeping(), lanes=5, observe=KEPT, act={"phi": 2.0}, reward="0", every=20, max_steps=2,
        initial={"phi": (0.1, 0.5)}, parameters={"keeper.a": (2.0, 3.0)}, autoreset=mode,
    )  # fmt: skip
    place = [s.name for s in envs._setting.phases.p].index("keeper.a")
    first, infos = envs.reset(seed=1)
    assert len(set(infos["noise_seed"])) == len(set(first[:, 3])) == 5
    heard = [first[:, 3]]
    for _ in range(4 if mode == "same step" else 6):
        seen, *_ = envs.step(np.zeros((5, 1)))
        if envs._counts.max() == 0:  # they have begun anew
            a = envs._lanes.machine.rows_of("p")[:, place]
            assert seen[:, 2] == pytest.approx(a + 20 * a + seen[:, 0], rel=1e-14)
            heard.append(seen[:, 3])
    assert len(np.unique(heard)) == 5 * 3


def test_actions_beyond_their_limits_count_as_the_limits() -> None:
    ends = []
    for action in (1.0, 40.0):
        env = pendulum()
        env.reset(options={"start": {"phi": 0.2}})
        ends.append(env.step([action])[0])
        envs = pendulum(VectorEnvironment, lanes=2)
        envs.reset(options={"start": {"phi": 0.2}})
        ends.append(envs.step([[action], [-action]])[0][0])
    assert all(np.array_equal(end, ends[0]) for end in ends)


def test_lanes_of_a_mask_start_where_options_say() -> None:
    envs = pendulum(VectorEnvironment, lanes=3, autoreset="disabled", initial={"phi": 0.1})
    envs.reset(seed=1)
    mask = np.array([False, True, False])
    seen, _ = envs.reset(options={"reset_mask": mask, "start": {"phi": (0.7, 0.7)}})
    assert seen[:, 0] == pytest.approx([0.1, 0.7, 0.1])


def test_closed_loops_begin_closed() -> None:
    env = Environment(
        "four-bar", observe=["q"], act=["a"], reward="0", step=0.001, every=5,
        initial={"a": (0.2, 0.6)},
    )  # fmt: skip
    seen, _ = env.reset(seed=1)
    q = dict(zip(env.observed, seen, strict=True))
    closed = lw.assemble(lw.load("four-bar"), {"a": q["a"]}).coordinates
    assert 0.2 <= q["a"] <= 0.6
    for name, value in closed.items():
        assert q[name] == pytest.approx(value, abs=1e-9)


def test_a_lane_that_cannot_go_on_ends_alone() -> None:
    m = lw.Mechanism("runaway")
    m.body("b", translate="x", mass=1)
    m.force("away", "b**9", at=m.bodies["b"].origin, along="x")
    kind = partial(
        VectorEnvironment, m, lanes=4, act=["b"], reward="0", observe=["b"], step=0.1, every=5,
        initial={"b": (0.0, 4.0)}, autoreset="disabled",
    )  # fmt: skip
    envs = kind()
    envs.reset(seed=1)
    for _ in range(5):
        envs.step(np.zeros((4, 1)))
    seen, _, ended, _, infos = envs.step(np.zeros((4, 1)))
    assert 0 < ended.sum() < 4
    assert np.isfinite(seen).all()
    assert [bool(why) for why in infos["stopped"]] == ended.tolist()
    alone = Environment(m, act=["b"], reward="0", observe=["b"], step=0.1, every=50)
    alone.reset(options={"start": {"b": 4.0}})
    with pytest.raises(Error, match="no longer finite"):
        alone.step([0.0])


def pendulum(kind: Callable[..., Any] = Environment, **given: Any) -> Any:
    """The usual words, but for those that are given."""
    usual = {"act": {"phi": 1.0}, "reward": "0", "step": 0.01}
    return kind("pendulum", **{**usual, **given})


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: pendulum(act=["fi"]), "phi"),
    (lambda: pendulum(act=[]), "no actions"),
    (lambda: pendulum(act={"phi": -1.0}), "limit of action 'phi'"),
    (lambda: pendulum(act={"phi": (2.0, 1.0)}), "limits of action 'phi'"),
    (lambda: pendulum(observe=[]), "observes nothing"),
    (lambda: pendulum(observe=["phi", "phi"]), "twice"),
    (lambda: pendulum(observe=["sin(fi)"]), "fi"),
    (lambda: pendulum(reward="-psi**2"), "psi"),
    (lambda: pendulum(done="phi >"), "phi >"),
    (lambda: pendulum(every=0), "every"),
    (lambda: pendulum(max_steps=0), "max_steps"),
    (lambda: pendulum(initial={"fi": 1.0}), "'fi'"),
    (lambda: pendulum(initial={"phi": (1.0, -1.0)}), "down to"),
    (lambda: pendulum(parameters={"mass": 1.0}), "'mass'"),
    (lambda: pendulum(VectorEnvironment, lanes=0), "lanes"),
    (lambda: pendulum(VectorEnvironment, lanes=2, autoreset="never"), "autoreset"),
    (lambda: pendulum(VectorEnvironment, lanes=2, reward=lambda o, a: 0.0), "an expression"),
    (lambda: pendulum(act={"phi": (1.0, 2.0, 3.0)}), "a lower and an upper one"),
    (lambda: pendulum(act=["phi", "phi"]), "act names something twice"),
    (lambda: pendulum(every=2.5), "every is 2.5; give a whole number"),
    (lambda: pendulum(VectorEnvironment, lanes=2.7), "lanes is 2.7"),
    (lambda: pendulum(reward=3), "reward is 3"),
    (lambda: pendulum(parameters={"m": (-1.0, 1.0)}), "its mass, -1 kg, is negative"),
    (lambda: pendulum().reset(options={"start": {"fi": 1.0}}), "'fi'"),
    (lambda: pendulum().reset(options={"start": {"phi": float("nan")}}), "phi"),
    (lambda: pendulum().reset(options={"strat": {"phi": 1.0}}), "did you mean 'start'"),
    (lambda: stepped(pendulum(), [1.0, 2.0]), "an action has 2 numbers; give 1"),
    (lambda: stepped(pendulum(), [float("nan")]), "an action is nan"),
    (lambda: stepped(pendulum(VectorEnvironment, lanes=2), [1.0]), "actions have 1 numbers"),
    (lambda: masked([0, 2]), "give 3 times True or False"),
    (lambda: stepped(pendulum(reward="log(-1 - phi**2)")), "reward is"),
    (lambda: stepped(pendulum(reward=lambda o, a: float("nan"))), "reward is nan"),
    (lambda: clocked(), "depends on the time"),
    (lambda: rated(), "whole number"),
]


def stepped(env: Any, action: Any = (0.0,)) -> None:
    """Rest where the reward has no value, or an action makes no sense."""
    env.reset()
    env.step(action)


def masked(mask: Any) -> None:
    """Begin anew in lanes that no mask names."""
    envs = pendulum(VectorEnvironment, lanes=3)
    envs.reset()
    envs.reset(options={"reset_mask": mask})


def clocked() -> None:
    """A motion over time, which lanes that begin anew would not have from its beginning."""
    m = lw.load("pendulum")
    system = lw.System(m)
    system.add(lw.control.PD(m, kp=1.0, kd=0.1, joints=["phi"]), name="pd")
    system.connect("0.3*sin(t)", system.members["pd"].target)
    VectorEnvironment(system, lanes=2, act=["phi"], reward="0")


def rated() -> None:
    """A servo every 5 ticks, and steps of 3."""
    VectorEnvironment(hopper(), lanes=2, act=["rod"], reward="0", every=3)


@pytest.mark.parametrize("case", range(len(BAD)))
def test_what_cannot_be_is_rejected_in_words(case: int) -> None:
    make, words = BAD[case]
    with pytest.raises(Error, match=words):
        make()
