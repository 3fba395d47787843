"""Chains of legs as blocks: turns, late goals, stops along the path, and limits that hold."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.algebra import Expr, sqrt, where
from linkwright.motion.chains import REASONS, ChainMotion

Array = NDArray[np.float64]
SPEED, ACCELERATION = [2.0, 1.5, 3.0], [8.0, 10.0, 6.0]
RATE = 1000


def recorded(system: lw.System, until: float, names: list[str], seed: int = 0) -> Any:
    """Return channels of a run at every tick, by name; vectors as columns."""
    recording = lw.simulate(system, until=until, every=1, seed=seed).recording
    found = {}
    for name in names:
        entries = [n for n in recording.names if n == name or n.startswith(f"{name}[")]
        columns = [np.asarray(recording[n]) for n in entries]
        found[name.split(".")[-1]] = columns[0] if entries == [name] else np.stack(columns, axis=1)
    return found


SHOWN = [f"chain.{n}" for n in ("q", "u", "a", "moving", "taken", "done", "refused", "reason",
                                "pending", "progress", "pace")]  # fmt: skip


def client(joints: int, chance: float = 0.003) -> lw.Block:
    """Return a block that gives random goals at random ticks, and stops and holds at random."""
    b = lw.Block("client", rate=RATE)
    number = b.discrete_state("number")
    sent = b.discrete_state("sent")
    b.update(sent, where(b.uniform("when") < chance, sent + 1, sent))
    b.update(number, sent)
    fresh = sent > number

    def held(name: str, value: Expr) -> Expr:
        state = b.discrete_state(name)
        b.update(state, where(fresh, value, state))
        return state

    size = where(b.uniform("size") < 0.2, 0.05, 1.5)  # some legs are short
    values = [held(f"v{k}", size * (2 * b.uniform(f"u{k}") - 1)) for k in range(joints)]
    speed = held("speed", 0.2 + 0.8 * b.uniform("us"))
    chosen = b.uniform("ub")
    blend = held("blend", where(chosen < 0.3, 0.0, 0.5 * chosen))
    b.output_vector("values", values)
    for name, value in (("speed", speed), ("blend", blend), ("number", number)):
        b.output(f"{name}_out", value)
    halts = b.input("halts")
    for name in ("stop", "hold"):
        flag = b.discrete_state(name)
        rare = halts * where(flag, 0.004, 0.0006)
        toggled = b.uniform(f"t{name}") < rare
        b.update(flag, where(toggled, 1 - flag, flag))
        b.output(f"{name}_out", flag)
    return b


@pytest.fixture(scope="module")
def moody() -> lw.System:
    """A chain with a client that changes its mind."""
    s = lw.System(name="s")
    c, m = s.add(client(len(SPEED))), s.add(ChainMotion(SPEED, ACCELERATION, slots=1, rate=RATE))
    s.connect(c.values, m.values)
    s.connect(1, m.kind[0])
    s.connect(c.speed_out, m.speed[0])
    s.connect(c.blend_out, m.blend[0])
    s.connect(c.number_out, m.sequence[0])
    s.connect(c.stop_out, m.stop)
    s.connect(c.hold_out, m.hold)
    return s


@pytest.mark.parametrize("halts", [False, True])
def test_limits_hold_and_nothing_jumps_with_goals_at_random_ticks(
    moody: lw.System, halts: bool
) -> None:
    """Check 35: limits are kept and velocity is continuous, with goals that come at any tick."""
    reached = 0
    for seed in range(2):
        moody.set_parameters({"client.halts": float(halts)})
        found = recorded(moody, 100.0, SHOWN, seed)
        q, u, a = found["q"], found["u"], found["a"]
        assert np.all(np.abs(u) <= np.array(SPEED) * (1 + 1e-9))
        assert np.all(np.abs(a) <= np.array(ACCELERATION) * (1 + 1e-9))
        assert np.all(np.abs(q) <= 1.5 + 1e-9)  # within the hull of the goals
        h = 1 / RATE
        assert np.all(np.abs(np.diff(a, axis=0)) <= 0.25 * np.array(ACCELERATION))
        # the rate of q is u, that of u is a, to the order of the ticks
        assert np.abs(np.diff(q, axis=0) / h - (u[1:] + u[:-1]) / 2).max() < 1e-3
        assert np.abs(np.diff(u, axis=0) / h - (a[1:] + a[:-1]) / 2).max() < 1.5
        reached += len(np.unique(found["done"]))
    assert reached > (50 if halts else 100)


SCRIPT = {"stop_at": 1e9, "stop_end": 1e9, "hold_at": 1e9, "hold_end": 1e9, "late": 0.0,
          "late_at": 0.0, "odd": 0.0, "plain": 0.0}  # fmt: skip


@pytest.fixture(scope="module")
def axes() -> lw.System:
    """A chain that is stopped and held at given times, with a goal that may come late."""
    s = lw.System(name="s")
    chain = s.add(ChainMotion(SPEED, ACCELERATION, upper=[2.0, 2.0, 2.0], queue=2, rate=RATE))
    b = lw.Block("script", rate=RATE)
    given = {name: b.input(name, value) for name, value in SCRIPT.items()}
    for name in ("stop", "hold"):
        b.output(name, (b.time >= given[f"{name}_at"]) & (b.time < given[f"{name}_end"]))
    b.output("number", where(b.time >= given["late_at"], given["late"], 0))
    b.output("value", where(given["odd"], sqrt(b.time - 1000), given["plain"]))
    script = s.add(b)
    s.connect(script.stop, chain.stop)
    s.connect(script.hold, chain.hold)
    s.connect(script.number, chain.sequence[2])
    s.connect(script.value, chain["values"][3])
    return s


def run(axes: lw.System, *goals: dict[str, float], until: float, **script: float) -> Any:
    """Return the channels of a run with goals that are there from the start."""
    values = {name: 0.0 for name in axes.inputs() if name.startswith("chain.")}
    values |= {name: 1.0 for name in values if ".speed" in name or ".override" in name}
    script = {**SCRIPT, **script}
    for goal in goals:
        for name, value in goal.items():
            moved = {"values[1,0]": "plain", "sequence[2]": "late"}.get(name)
            if moved:
                script[moved] = value
            else:
                values[f"chain.{name}"] = value
    axes.set_parameters(values | {f"script.{name}": value for name, value in script.items()})
    return recorded(axes, until, SHOWN)


def test_goals_that_come_at_once_are_turned_along_pauls_polynomial(axes: lw.System) -> None:
    """Check 35: the block's turn is that of section 3.1, to rounding."""
    blend, far = 0.1, ChainMotion(SPEED, ACCELERATION)
    places = [[0.0, 0, 0], [1.2, 0.4, -0.8], [1.4, 0.9, -1.8], [0.6, 0.9, -1.0]]
    goals = [far.goal(k, "joints", p, blend=blend if k > 1 else 0) for k, p in enumerate(places)]
    axes.set_parameters({f"chain.a{k}": 60.0 for k in range(3)})
    found = run(axes, *goals[1:], until=4.0)
    axes.set_parameters({f"chain.a{k}": a for k, a in enumerate(ACCELERATION)})
    assert found["done"][-1] == 3
    np.testing.assert_array_equal(found["q"][-1], places[-1])
    # legs between turns are straight and at constant speed, so corners lie where they meet
    t = np.arange(len(found["q"])) / RATE
    ramps = []
    for a, b in itertools.pairwise(places):
        way = np.array(b) - np.array(a)
        flat = np.flatnonzero(np.abs(np.cross(found["u"], way)).max(axis=1) < 1e-9)
        cruise = [
            i for i in flat if np.abs(found["a"][i]).max() < 1e-9 and found["u"][i] @ way > 0.1
        ]
        i = cruise[len(cruise) // 2]
        speed = found["u"][i]
        k = int(np.argmax(np.abs(way)))
        ramps.append((t[i] + (b[k] - found["q"][i][k]) / speed[k], speed))
    for corner, (at, before), (_, after) in zip(places[1:-1], ramps, ramps[1:], strict=False):
        turn = lw.motion.Trajectory(
            [0, 2 * blend],
            [
                lw.motion.blends.turn(
                    np.array(corner) - before * blend, np.array(corner), after, blend
                )
            ],
        )
        inside = np.flatnonzero((t > at - blend) & (t < at + blend))
        since = t[inside] - at + blend
        for order, name in enumerate("qua"):
            np.testing.assert_allclose(found[name][inside], turn(since, order), atol=1e-11)


def test_a_late_goal_bends_the_motion_without_a_jump_and_one_without_blend_waits(
    axes: lw.System,
) -> None:
    far = ChainMotion(SPEED, ACCELERATION)
    first = far.goal(1, "joints", [1.0, 0.5, 0.0])
    rest = run(axes, first, until=2.0)
    stops = int(np.argmax(rest["done"] == 1)) / RATE
    for blend in (0.0, 0.4):
        later = far.goal(2, "joints", [1.0, -1, 1], blend=blend)
        found = run(axes, first, later, until=3.0, late_at=stops - 0.08)
        assert found["done"][-1] == 2
        assert np.all(np.abs(np.diff(found["a"], axis=0)) <= 0.25 * np.array(ACCELERATION))
        bent = found["q"][int(stops * RATE)][1] < 0.5 - 1e-4
        assert bent == (blend > 0)


def test_stop_keeps_the_path_and_forgets_and_hold_goes_on(axes: lw.System) -> None:
    far = ChainMotion(SPEED, ACCELERATION)
    goals = far.goal(1, "joints", [1.5, 0.75, -1]), far.goal(2, "joints", [0.0, 0, 0])
    found = run(axes, *goals, until=4.0, hold_at=0.3, hold_end=1.0)
    assert np.ptp(found["q"][800:1000], axis=0).max() == 0
    assert not found["moving"][900]
    assert found["done"][-1] == 2
    ended = run(axes, *goals, until=4.0, stop_at=0.3, stop_end=1.0)
    assert np.ptp(ended["q"][800:], axis=0).max() == 0
    assert ended["done"][-1] == 0
    assert ended["pending"][-1] == 0
    for halted in (found, ended):  # the way is a straight line, and stays one
        line = halted["q"][:1000] / np.array([1.5, 0.75, -1])
        assert np.ptp(line, axis=1).max() < 1e-12
        assert np.all(np.abs(halted["a"]) <= np.array(ACCELERATION) * (1 + 1e-9))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"values[1,0]": 1e300}, "number"),
        ({"speed[1]": 0.0}, "number"),
        ({"blend[1]": -0.1}, "number"),
        ({"values[1,2]": 2.5}, "limits"),
        ({"kind[1]": 2.0}, "kind"),
    ],
)
def test_a_goal_that_makes_no_sense_is_refused_by_name(
    axes: lw.System, change: dict[str, float], reason: str
) -> None:
    goal = ChainMotion(SPEED, ACCELERATION).goal(1, "joints", [0.5, 0.5, 0.5])
    check_refused(run(axes, {**goal, **change}, until=0.1), reason)


def test_a_goal_that_is_not_a_number_or_comes_during_a_stop_is_refused(axes: lw.System) -> None:
    goal = ChainMotion(SPEED, ACCELERATION).goal(1, "joints", [0.5, 0.5, 0.5])
    check_refused(run(axes, goal, until=0.1, odd=1), "number")
    check_refused(run(axes, goal, until=0.1, stop_at=0), "stopped")


def check_refused(found: Any, reason: str) -> None:
    """The goal was refused, and nothing moved."""
    assert REASONS[int(found["reason"][-1])] == reason
    assert found["refused"][-1] == 1
    assert found["taken"][-1] == 0
    assert np.abs(found["q"]).max() == 0


def test_a_queue_that_is_full_refuses_the_goal(axes: lw.System) -> None:
    far = ChainMotion(SPEED, ACCELERATION)
    goals = [far.goal(k, "joints", [k / 4, 0, 0]) for k in (1, 2, 3, 4)]
    found = run(axes, *goals, until=0.1)
    assert (found["taken"][-1], found["refused"][-1]) == (3, 4)
    assert REASONS[int(found["reason"][-1])] == "full"


def test_a_chain_follows_the_joints_until_it_is_let_go(axes: lw.System) -> None:
    measured = {f"measured[{k}]": x for k, x in enumerate([0.3, -0.2, 0.1])}
    found = run(axes, {"follow": 1.0, **measured}, until=0.1)
    np.testing.assert_array_equal(found["q"][-1], [0.3, -0.2, 0.1])
    assert not found["moving"][-1]
