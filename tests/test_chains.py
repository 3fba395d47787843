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


def client(joints: int, *, halts: bool, chance: float = 0.003) -> lw.Block:
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
    for name in ("stop", "hold"):
        flag = b.discrete_state(name)
        rare = where(flag, 0.004, 0.0006) if halts else 0.0
        toggled = b.uniform(f"t{name}") < rare
        b.update(flag, where(toggled, 1 - flag, flag))
        b.output(f"{name}_out", flag)
    return b


def random_run(seed: int, *, halts: bool, until: float = 100.0) -> Any:
    chain = ChainMotion(SPEED, ACCELERATION, slots=1, rate=RATE)
    s = lw.System(name="s")
    c, m = s.add(client(len(SPEED), halts=halts)), s.add(chain)
    s.connect(c.values, m.values)
    s.connect(1, m.kind[0])
    s.connect(c.speed_out, m.speed[0])
    s.connect(c.blend_out, m.blend[0])
    s.connect(c.number_out, m.sequence[0])
    s.connect(c.stop_out, m.stop)
    s.connect(c.hold_out, m.hold)
    return recorded(s, until, SHOWN, seed)


@pytest.mark.parametrize("halts", [False, True])
def test_limits_hold_and_nothing_jumps_with_goals_at_random_ticks(halts: bool) -> None:
    """Check 35: limits are kept and velocity is continuous, with goals that come at any tick."""
    reached = 0
    for seed in range(2):
        found = random_run(seed, halts=halts)
        q, u, a = found["q"], found["u"], found["a"]
        assert np.all(np.abs(u) <= np.array(SPEED) * (1 + 1e-9))
        assert np.all(np.abs(a) <= np.array(ACCELERATION) * (1 + 1e-9))
        assert np.all(np.abs(q) <= 1.5 + 1e-9)  # within the hull of the goals
        h = 1 / RATE
        assert np.all(np.abs(np.diff(a, axis=0)) <= 0.2 * np.array(ACCELERATION))
        # the rate of q is u, that of u is a, to the order of the ticks
        assert np.abs(np.diff(q, axis=0) / h - (u[1:] + u[:-1]) / 2).max() < 1e-3
        assert np.abs(np.diff(u, axis=0) / h - (a[1:] + a[:-1]) / 2).max() < 1.5
        reached += len(np.unique(found["done"]))
    assert reached > (50 if halts else 100)


def chain_system(*goals: dict[str, float], **more: Any) -> lw.System:
    """Return a System with a chain that has goals from the start."""
    s = lw.System(name="s")
    s.add(ChainMotion(SPEED, **{"acceleration": ACCELERATION, "rate": RATE, **more}))
    for goal in goals:
        s.set({f"chain.{name}": value for name, value in goal.items()})
    return s


def script(system: lw.System, port: str, *steps: tuple[float, float]) -> None:
    """Drive an input of the chain by a staircase over time."""
    b = lw.Block(f"script_{port}", rate=RATE)
    value: Any = 0.0
    for at, level in steps:
        value = where(b.time >= at, level, value)
    b.output("y", value)
    member = system.add(b)
    system.connect(member.y, getattr(system["chain"], port))


def test_goals_that_come_at_once_are_turned_along_pauls_polynomial() -> None:
    """Check 35: the block's turn is that of section 3.1, to rounding."""
    blend, far = 0.1, ChainMotion(SPEED, ACCELERATION)
    places = [[0.0, 0, 0], [1.2, 0.4, -0.8], [1.4, 0.9, -1.8], [0.6, 0.9, -1.0]]
    goals = [far.goal(k, "joints", p, blend=blend if k > 1 else 0) for k, p in enumerate(places)]
    s = chain_system(*goals[1:], acceleration=[60.0, 60.0, 60.0])
    found = recorded(s, 4.0, SHOWN)
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


def test_a_late_goal_bends_the_motion_without_a_jump_and_an_early_one_of_no_blend_waits() -> None:
    far = ChainMotion(SPEED, ACCELERATION)
    first = far.goal(1, "joints", [1.0, 0.5, 0.0])
    alone = chain_system(first)
    rest = recorded(alone, 2.0, SHOWN)
    stops = int(np.argmax(rest["done"] == 1)) / RATE
    for blend in (0.0, 0.4):
        later = far.goal(2, "joints", [1.0, -1, 1], blend=blend)
        del later["sequence[2]"]
        s = chain_system(first, later)
        late = lw.Block("late", rate=RATE)
        late.output("y", where(late.time >= stops - 0.08, 2.0, 0.0))
        s.connect(s.add(late).y, s["chain"].sequence[2])
        found = recorded(s, 3.0, SHOWN)
        assert found["done"][-1] == 2
        assert np.all(np.abs(np.diff(found["a"], axis=0)) <= 0.2 * np.array(ACCELERATION))
        bent = found["q"][int(stops * RATE)][1] < 0.5 - 1e-4
        assert bent == (blend > 0)


def test_stop_keeps_the_path_and_forgets_and_hold_goes_on() -> None:
    far = ChainMotion(SPEED, ACCELERATION)
    goals = far.goal(1, "joints", [1.5, 0.75, -1]), far.goal(2, "joints", [0.0, 0, 0])
    free = chain_system(*goals)
    path = recorded(free, 4.0, SHOWN)
    held = chain_system(*goals)
    script(held, "hold", (0.3, 1.0), (1.0, 0.0))
    found = recorded(held, 4.0, SHOWN)
    resting = found["q"][800:1000]
    assert np.ptp(resting, axis=0).max() == 0
    assert not found["moving"][900]
    assert found["done"][-1] == 2
    stopped = chain_system(*goals)
    script(stopped, "stop", (0.3, 1.0), (1.0, 0.0))
    ended = recorded(stopped, 4.0, SHOWN)
    assert np.ptp(ended["q"][800:], axis=0).max() == 0
    assert ended["done"][-1] == 0
    assert ended["pending"][-1] == 0
    for run in (found, ended):  # the way is a straight line, and stays one
        line = run["q"][:1000] / np.array([1.5, 0.75, -1])
        assert np.ptp(line, axis=1).max() < 1e-12
        assert np.all(np.abs(run["a"]) <= np.array(ACCELERATION) * (1 + 1e-9))
    assert path["done"][-1] == 2


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"values[1,0]": 1e300}, "number"),
        ({"speed[1]": 0.0}, "number"),
        ({"blend[1]": -0.1}, "number"),
        ({"values[1,2]": 2.5}, "limits"),
        ({"kind[1]": 2.0}, "kind"),
        ({"stop": 1.0}, "stopped"),
    ],
)
def test_a_goal_that_makes_no_sense_is_refused_by_name(
    change: dict[str, float], reason: str
) -> None:
    goal = ChainMotion(SPEED, ACCELERATION).goal(1, "joints", [0.5, 0.5, 0.5])
    s = chain_system({**goal, **change}, upper=[2.0, 2.0, 2.0])
    found = recorded(s, 0.1, SHOWN)
    assert REASONS[int(found["reason"][-1])] == reason
    assert found["refused"][-1] == 1
    assert found["taken"][-1] == 0
    assert np.abs(found["q"]).max() == 0


def test_a_queue_that_is_full_refuses_the_goal() -> None:
    far = ChainMotion(SPEED, ACCELERATION)
    goals = [far.goal(k, "joints", [k / 4, 0, 0]) for k in (1, 2, 3, 4)]
    s = chain_system(*goals, queue=2)
    found = recorded(s, 0.1, SHOWN)
    assert (found["taken"][-1], found["refused"][-1]) == (3, 4)
    assert REASONS[int(found["reason"][-1])] == "full"


def test_a_chain_follows_the_joints_until_it_is_let_go() -> None:
    s = chain_system(
        {"follow": 1.0, **{f"measured[{k}]": x for k, x in enumerate([0.3, -0.2, 0.1])}}
    )
    found = recorded(s, 0.1, SHOWN)
    np.testing.assert_array_equal(found["q"][-1], [0.3, -0.2, 0.1])
    assert not found["moving"][-1]


def test_a_goal_that_is_not_a_number_is_refused() -> None:
    goal = ChainMotion(SPEED, ACCELERATION).goal(1, "joints", [0.5, 0.5, 0.5])
    del goal["values[1,0]"]
    s = chain_system(goal)
    b = lw.Block("odd", rate=RATE)
    b.output("y", sqrt(b.time - 1000))
    s.connect(s.add(b).y, s["chain"]["values"][3])
    found = recorded(s, 0.1, SHOWN)
    assert REASONS[int(found["reason"][-1])] == "number"
    assert np.abs(found["q"]).max() == 0
