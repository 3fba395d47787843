"""Systems: exact schedules, what is read when, algebraic loops, and loads of elements."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import linkwright as lw
from linkwright.algebra import Expr, evaluate, exp
from linkwright.blocks import (
    Block,
    BlockError,
    Delay,
    Element,
    Hold,
    Integrator,
    Sampled,
    Ticks,
    WhiteNoise,
    exact,
    sampled,
)
from linkwright.system import AlgebraicLoop, System, make_clock
from linkwright.system.forms import Form
from tests.oracles.phase_runner import PlainRun, called
from tests.seeds import examples, seldom


def pendulum() -> lw.Mechanism:
    """Return a point mass of 1 kg on a massless rod of 1 m, at rest along x."""
    m = lw.Mechanism("pendulum")
    m.body("rod", rotate="z", mass=1, com=(1, 0, 0), inertia=0)
    m.gravity(along="-y")
    return m


def gain(name: str, k: float = 1.0) -> Block:
    """Return a block without memory, y = k u."""
    b = Block(name)
    b.output("y", k * b.input("u"))
    return b


def memory(name: str, initial: float) -> Block:
    """Return a block that gives what came in at its instant before."""
    b = Block(name)
    u = b.input("u")
    x = b.discrete_state("x", u, initial)
    b.output("y", x)
    return b


# -- the clock -------------------------------------------------------------------------------------
rates = st.builds(
    Sampled,
    st.builds(Fraction, st.integers(1, 20), st.integers(1, 1000)),
    st.builds(Fraction, st.integers(0, 30), st.integers(1, 500)),
)


@given(st.dictionaries(st.sampled_from("abcde"), rates, min_size=1))
def test_no_schedule_drifts(wanted: dict[str, Sampled]) -> None:
    """The i-th instant of every block is exactly offset + i * period, however late."""
    clock = make_clock(wanted, _fine(wanted))
    for name, rate in wanted.items():
        schedule = clock.schedules[name]
        for i in (0, 1, 7, 10**9):
            tick = schedule.offset + i * schedule.every
            assert tick * clock.tick == rate.offset + i * rate.period


def _fine(wanted: dict[str, Sampled]) -> Fraction:
    bottom = 1
    for rate in wanted.values():
        bottom *= rate.period.denominator * rate.offset.denominator
    return Fraction(1, bottom)


@given(st.integers(1, 4000), st.integers(1, 4000))
def test_the_base_clock_is_the_slowest_that_fits(first: int, second: int) -> None:
    hertz = np.lcm(first, second)
    if hertz > 10_000_000:
        with pytest.raises(BlockError, match=rf"'a' \({first} Hz\) and 'b' \({second} Hz\)"):
            make_clock({"a": sampled(first), "b": sampled(second)})
    else:
        clock = make_clock({"a": sampled(first), "b": sampled(second)})
        assert 1 / clock.tick == hertz


def test_rates_that_do_not_fit_the_base_clock_are_named_with_one_that_does() -> None:
    s = System(name="s", base=1000)
    s.add(gain("camera"), rate=60)
    with pytest.raises(BlockError, match=r"'camera' runs at 60 Hz.*of 1000 Hz.*of 3000 Hz"):
        s.clock()


def test_rates_without_a_common_tick_are_both_named() -> None:
    s = System(name="s")
    s.add(gain("servo"), rate=500)
    s.add(gain("odd"), rate=np.pi * 100)
    told = r"'servo' \(500 Hz\) and 'odd'.*no common tick.*let 'odd' run at (\S+) Hz"
    with pytest.raises(BlockError, match=told) as caught:
        s.clock()
    near = Fraction(re.findall(told, str(caught.value))[0])
    assert abs(near - 314) < 5
    make_clock({"servo": sampled(500), "odd": sampled(near)})


@pytest.mark.parametrize(
    ("rate", "said"),
    [
        (sampled(1e9), "'pd' runs at 1000000000 Hz, which takes a base tick shorter than 1e-07 s"),
        (
            sampled(100, offset=Fraction(1, 10**9)),
            "'pd' runs at 100 Hz from 1/1000000000 s on, which takes a",
        ),
    ],
)
def test_a_rate_that_is_too_fast_by_itself_is_named_once(rate: Sampled, said: str) -> None:
    with pytest.raises(BlockError, match=re.escape(said)) as caught:
        make_clock({"servo": sampled(500), "pd": rate})
    assert caught.value.remedy == (
        "let it run at 10000000 Hz at most, or give the System base=..., in hertz"
    )
    assert make_clock({"pd": sampled(10**7)}).tick == Fraction(1, 10**7)


def test_ticks_count_the_base_clock() -> None:
    s = System(name="s", base=100)
    s.add(gain("a"), rate=Ticks(5, offset=2))
    run = PlainRun(s.phases()).run(20)
    assert [k for k, _ in run.log] == [2, 7, 12, 17]


@pytest.mark.parametrize(("text", "value"), [(1 / 3, (1, 3)), (0.1, (1, 10)), (1e-3, (1, 1000))])
def test_what_a_person_writes_is_an_exact_time(text: float, value: tuple[int, int]) -> None:
    assert exact(text) == Fraction(*value)


# -- what is read when -----------------------------------------------------------------------------
def test_members_of_one_tick_run_in_the_order_of_their_need() -> None:
    """A chain that was added backward still carries a value through in one instant."""
    s = System(name="s")
    c = s.add(gain("c", 2), rate=10)
    b = s.add(gain("b", 3), rate=10)
    a = s.add(gain("a", 5), rate=10)
    s.connect("t", a.u)
    s.connect(a.y, b.u)
    s.connect(b.y, c.u)
    run = PlainRun(s.phases()).run(3)
    np.testing.assert_allclose(run["c.y"], 30 * run["t"], rtol=1e-15)


def test_memories_change_together_after_all_outputs() -> None:
    """Two blocks that remember each other's output swap for ever."""
    s = System(name="s")
    a, b = s.add(memory("a", 1.0), rate=10), s.add(memory("b", 2.0), rate=10)
    s.connect(a.y, b.u)
    s.connect(b.y, a.u)
    run = PlainRun(s.phases()).run(4)
    assert run["a.y"].tolist() == [1, 2, 1, 2, 1]
    assert run["b.y"].tolist() == [2, 1, 2, 1, 2]


def test_memories_change_together_at_different_rates_too() -> None:
    """The same with one block at half the rate, against the rule written out."""
    s = System(name="s")
    a, b = s.add(memory("a", 1.0), rate=20), s.add(memory("b", 2.0), rate=10)
    s.connect(a.y + 0.5, b.u)
    s.connect(2 * b.y, a.u)
    run = PlainRun(s.phases()).run(8)
    xa, xb, ya, yb = 1.0, 2.0, 0.0, 0.0
    for k in range(9):
        slow = k % 2 == 0
        ya = xa
        yb = xb if slow else yb
        assert (run["a.y"][k], run["b.y"][k]) == (ya, yb)
        xa, xb = 2 * yb, (ya + 0.5 if slow else xb)


@settings(max_examples=examples(15, daily=5), deadline=None)
@given(st.lists(st.integers(1, 4), min_size=2, max_size=5), st.integers(0, 10**6))
def test_any_acyclic_wiring_is_what_a_plain_evaluation_says(every: list[int], seed: int) -> None:
    """Random chains of members with memory, at random rates, in a random order of entry."""
    generator = np.random.default_rng(seed)
    n = len(every)
    weights = np.tril(generator.integers(-2, 3, (n, n)), -1).astype(float)
    s = System(name="s", base=10)
    for i in generator.permutation(n):
        b = Block(f"b{i}")
        b.input("u")
        b.discrete_state("x", f"0.5*x + u - {i}")
        b.output("y", "x + u")
        s.add(b, rate=Ticks(every[i]))
    for i in range(n):
        s.connect(sum((weights[i, j] * s[f"b{j}.y"] for j in range(i)), s.time), f"b{i}.u")
    run = PlainRun(s.phases()).run(9)
    x, y = np.zeros(n), np.zeros(n)
    for k in range(10):
        new = x.copy()
        for i in range(n):
            if k % every[i] == 0:
                u = weights[i] @ y + k * 0.1
                y[i], new[i] = x[i] + u, 0.5 * x[i] + u - i
        x = new
        np.testing.assert_allclose([run[f"b{i}.y"][k] for i in range(n)], y, atol=1e-12)


def test_outputs_hold_between_instants_and_loads_do_too() -> None:
    m = pendulum()
    s = System(m, base=1000)
    brake = Element("brake", m)
    brake.effort("tau", "rod", "-3*rod_dot")
    s.add(brake, rate=100)
    run = PlainRun(s.phases()).run(50)
    tau, speed = run["brake.tau"], run["rod_dot"]
    np.testing.assert_allclose(tau[:50], np.repeat(-3 * speed[:50:10], 10), rtol=1e-12)


@pytest.mark.parametrize("ticks", [1, 2, 5])
def test_a_delay_is_exact(ticks: int) -> None:
    s = System(name="s")
    late = s.add(Delay(ticks, initial=-1.0), rate=100)
    s.connect("t", late.u)
    run = PlainRun(s.phases()).run(12)
    assert run["delay.y"].tolist() == [-1.0] * ticks + run["t"][: 13 - ticks].tolist()


def test_a_delay_breaks_a_loop_of_samples() -> None:
    """y(k) = 2 y(k-1) + 1: a loop through a delay needs no order."""
    s = System(name="s")
    a = s.add(gain("a", 2), rate=10)
    late = s.add(Delay(1), rate=10)
    s.connect(late.y + 0.5, a.u)
    s.connect(a.y, late.u)
    assert PlainRun(s.phases()).run(4)["a.y"].tolist() == [1, 3, 7, 15, 31]


def test_a_hold_samples_a_continuous_signal() -> None:
    s = System(name="s", base=100)
    hold = s.add(Hold(), rate=lw.sampled(20, offset=0.02))
    s.connect("t", hold.u)
    run = PlainRun(s.phases()).run(12)
    expected = [0, 0] + [0.02] * 5 + [0.07] * 5 + [0.12]
    np.testing.assert_allclose(run["hold.y"], expected, atol=1e-15)


def test_a_state_at_a_rate_advances_by_eulers_rule() -> None:
    s = System(name="s")
    i = s.add(Integrator(), rate=10)
    s.connect("t", i.u)
    run = PlainRun(s.phases()).run(5)
    np.testing.assert_allclose(run["integrator.y"], np.cumsum([0, *range(5)]) / 100, atol=1e-15)


def test_memory_of_a_continuous_block_changes_once_per_accepted_step() -> None:
    s = System(name="s", base=10)
    b = Block("peak")
    u = b.input("u")
    b.discrete_state("n", "n + 1")
    top = b.discrete_state("top")
    b.update(top, lw.maximum(top, u))
    peak = s.add(b)
    s.connect("sin(3*t)", peak.u)
    run = PlainRun(s.phases(), steps=4).run(10)
    assert run["peak.n"].tolist() == list(range(0, 44, 4))
    times = np.arange(41) / 40
    np.testing.assert_allclose(run["peak.top"], np.maximum.accumulate(np.sin(3 * times))[::4])


# -- Python functions ------------------------------------------------------------------------------
def test_a_python_function_runs_at_its_instants_with_exact_times() -> None:
    m = pendulum()
    s = System(m)
    seen: list[tuple[float, float, float]] = []

    def watch(t: float, rod: float, u: np.ndarray) -> None:
        seen.append((t, rod, float(u[0])))

    s.add(watch, rate=60)
    s.add(gain("servo"), rate=500)
    run = PlainRun(s.phases()).run(1500)
    assert [t for t, _, _ in seen] == [k * 25 * float(Fraction(1, 1500)) for k in range(61)]
    np.testing.assert_array_equal([q for _, q, _ in seen], run["rod"][::25])
    np.testing.assert_array_equal([u for _, _, u in seen], run["rod_dot"][::25])


def test_a_python_function_drives_ports_and_keeps_what_it_does_not_change() -> None:
    s = System(name="s")

    def task(t: float, u: float) -> Any:
        if t < 0.25:
            return {"pair": (t, u), "one": 7.0}
        return {"pair": lw.KEEP, "one": 8.0} if t < 0.35 else lw.KEEP

    member = s.add(task, rate=10, outputs={"one": None, "pair": 2})
    s.connect("10*t", member.u)
    run = PlainRun(s.phases()).run(5)
    np.testing.assert_allclose(run["task.pair[1]"], [0, 1, 2, 2, 2, 2])
    assert run["task.one"].tolist() == [7, 7, 7, 8, 8, 8]


def test_an_argument_that_nothing_drives_is_refused_with_the_nearest_name() -> None:
    s = System(pendulum())
    s.add(lambda rod, rod_dto: rod - rod_dto, rate=10, name="law", outputs="y")
    wanted = "argument 'rod_dto' of the function 'law'; did you mean 'rod_dot'?"
    for door in (s.phases, lambda: lw.simulate(s, 0.1), lambda: lw.simulate_batch(s, 0.1, runs=2)):
        with pytest.raises(BlockError, match=re.escape(wanted)):
            door()
    s.connect("rod_dot", "law.rod_dto")
    assert len(s.phases().ticks) == 1


def test_an_argument_may_be_open_where_it_has_a_default_or_is_declared() -> None:
    def law(a: float, b: float, c: np.ndarray, k: float = 3.0, v: Any = (1.0, 2.0)) -> Any:
        return a + 10 * b + 100 * c[1] + 1000 * k + 10_000 * v[1]

    s = System(name="s")
    s.add(law, rate=10, outputs="y", inputs={"a": None, "c": 2, "v": 2})
    with pytest.raises(BlockError, match="nothing drives the argument 'b' of the function 'law'"):
        s.phases()
    s.set_parameters({"law.b": 4, "law.c[1]": 5})
    assert lw.simulate(s, 0.1).final["law.y"] == 23540
    assert s.inputs()["law.k"] == 3.0
    with pytest.raises(BlockError, match="the default 'x' of the argument 'w' of 'bad'"):
        s.add(lambda w="x": w, rate=10, name="bad", outputs="y")


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (None, "'law' returned nothing for its output 'one', 'pair' at t = 0 s; return a value"),
        ({"one": 1.0}, "'law' returned values for 'one' at t = 0 s; its outputs are 'one', 'pair'"),
        ((1.0, (1.0, 2.0), 3.0), "'law' returned 3 values for its 2 outputs 'one', 'pair'"),
        (1.0, "'law' returned 1 values for its 2 outputs"),
        ((1.0, (1.0, 2.0, 3.0)), "'law' returned 3 numbers for its output 'pair' of 2 at t = 0 s"),
        (("x", (1.0, 2.0)), "'law' returned 'x' for its output 'one' at t = 0 s, which is no"),
    ],
)
def test_what_a_function_returns_fits_its_outputs_or_is_named(found: Any, message: str) -> None:
    s = System(name="s")
    s.add(lambda: found, rate=10, name="law", outputs={"one": None, "pair": 2})
    with pytest.raises(lw.Error, match=re.escape(message)):
        lw.simulate(s, 0.1)


@pytest.mark.parametrize("reads", [False, True])
@pytest.mark.parametrize("rate", [10, 20])
def test_a_python_function_leaves_the_memory_of_others_alone(rate: int, reads: bool) -> None:
    """A counter goes on beside a function at its rate, which may read it or not."""
    s = System(name="s")
    counter = Block("counter")
    counter.output("y", counter.discrete_state("n", "n + 1"))
    member = s.add(counter, rate=10)
    added = s.add(lambda u: 2 * u, rate=rate, name="f", outputs="y", inputs={"u": None})
    if reads:
        s.connect(member.y, added.u)
    run = PlainRun(s.phases()).run(4 * rate // 10)
    every = rate // 10
    assert run["counter.y"][::every].tolist() == [0, 1, 2, 3, 4]
    assert run["f.y"][::every].tolist() == ([0, 2, 4, 6, 8] if reads else [0] * 5)
    assert lw.simulate(s, 0.4).final["counter.n"] == 5


def test_what_reads_memory_at_a_tick_reads_it_as_it_was() -> None:
    """Connections may read memory itself; who runs later at a tick reads what it was before."""
    s = System(name="s")
    counter = Block("counter")
    counter.discrete_state("n", "n + 1", 1.0)
    n = s.add(counter, rate=20).n
    for name, rate in (("out", 10), ("far", 5)):
        b = Block(name)
        b.output("y", b.input("u"))
        b.discrete_state("x", "u")
        s.connect(n, s.add(b, rate=rate).u)
    run = PlainRun(s.phases(["counter.n", "out.y", "far.y", "out.x", "far.x"])).run(8)
    assert run["counter.n"].tolist() == [2, 3, 4, 5, 6, 7, 8, 9, 10]
    assert run["out.y"].tolist() == run["out.x"].tolist() == [1, 1, 3, 3, 5, 5, 7, 7, 9]
    assert run["far.y"].tolist() == run["far.x"].tolist() == [1, 1, 1, 1, 5, 5, 5, 5, 9]


def test_memories_that_follow_each_other_at_two_rates_are_refused() -> None:
    s = System(name="s")
    for name in "ab":
        b = Block(name)
        b.input("u")
        b.discrete_state("x", "u")
        s.add(b, rate=10 if name == "a" else 20)
    s.connect(s["a.x"], "b.u")
    s.connect(s["b.x"], "a.u")
    with pytest.raises(BlockError, match="updates of a, b read each other's memory"):
        s.phases()


def test_a_python_function_with_the_wrong_size_of_result_is_named() -> None:
    s = System(name="s")
    s.add(lambda t: [1, 2, 3], rate=10, name="bad", outputs={"y": 2})
    with pytest.raises(lw.Error, match="'bad' returned 3 numbers for its output 'y' of 2 at t ="):
        PlainRun(s.phases()).run(1)


def test_what_needs_a_rate_refuses_to_be_continuous() -> None:
    s = System(name="s")
    for part in (Delay(1), Hold(), WhiteNoise(), lambda t: t):
        with pytest.raises(BlockError, match="given no rate"):
            s.add(part)


# -- noise -----------------------------------------------------------------------------------------
def test_noise_is_normal_and_each_member_has_its_own_stream() -> None:
    s = System(name="s")
    s.add(WhiteNoise(2.0, mean=1.0, name="a"), rate=10)
    s.add(WhiteNoise(2.0, mean=1.0, name="b"), rate=10)
    phases = s.phases()
    assert len({j for tick in phases.ticks for j in tick.streams}) == 2
    run = PlainRun(phases, seed=3).run(4000)
    for name in ("a.y", "b.y"):
        assert abs(run[name].mean() - 1.0) < 5 * 2 / np.sqrt(4000)
        assert abs(run[name].std() - 2.0) < 0.15
    assert abs(np.corrcoef(run["a.y"], run["b.y"])[0, 1]) < 0.08


def test_a_stream_does_not_depend_on_what_else_is_there() -> None:
    def streams(*names: str) -> set[int]:
        s = System(name="s")
        for name in names:
            s.add(WhiteNoise(name=name), rate=10)
        return {j for tick in s.phases().ticks for j in tick.streams}

    assert streams("b") < streams("a", "b", "c")


# -- algebraic loops -------------------------------------------------------------------------------
def loop(first: Block, second: Block, solve: bool, rate: float | None = None) -> System:
    s = System(name="s")
    a, b = s.add(first, rate=rate), s.add(second, rate=rate)
    s.connect(b.y + s.time, a.u, solve=solve)
    s.connect(a.y, b.u)
    return s


@pytest.mark.parametrize("rate", [None, 10])
def test_an_algebraic_loop_names_its_members(rate: float | None) -> None:
    with pytest.raises(AlgebraicLoop, match=r"first -> second -> first"):
        loop(gain("first"), gain("second"), False, rate).phases()


def test_a_loop_of_samples_that_never_meet_is_none() -> None:
    s = System(name="s", base=10)
    a, b = s.add(gain("a", 2), rate=Ticks(2)), s.add(gain("b", 1), rate=Ticks(2, 1))
    s.connect(b.y + 1, a.u)
    s.connect(a.y, b.u)
    run = PlainRun(s.phases()).run(6)
    assert run["a.y"].tolist() == [2, 2, 6, 6, 14, 14, 30]


def test_a_linear_loop_that_is_declared_solved_is_solved() -> None:
    """a = 2 (b + t), b = 3 a: a = -2 t / 5."""
    run = PlainRun(loop(gain("a", 2), gain("b", 3), True).phases()).run(5)
    np.testing.assert_allclose(run["a.y"], -0.4 * run["t"], atol=1e-15)


def test_a_nonlinear_loop_that_is_declared_solved_is_solved() -> None:
    b = Block("b")
    b.output("y", -exp(b.input("u")))
    run = PlainRun(loop(gain("a", 0.5), b, True).phases()).run(200)
    for t, a in list(zip(run["t"], run["a.y"], strict=True))[::50]:
        wanted = brentq(lambda y, t=t: y - 0.5 * (t - np.exp(y)), -5, 5, xtol=1e-14)
        assert abs(a - wanted) < 1e-12


def test_a_torque_that_needs_the_acceleration_it_makes_is_a_loop_unless_solved() -> None:
    """Added inertia as a torque -2 u': with the loop solved, there is three times the inertia."""
    m = pendulum()

    def system(solve: bool) -> System:
        s = System(m)
        motor = Element("motor", m)
        u = motor.input("u")
        motor.effort("tau", "rod", -2 * u)
        s.connect(m.expr("rod_dot_dot"), s.add(motor).u, solve=solve)
        return s

    with pytest.raises(AlgebraicLoop, match=r"motor -> the mechanism -> motor"):
        system(False).phases()
    rates = PlainRun(system(True).phases()).rate(0.0, np.array([0.0, 0.0]))
    np.testing.assert_allclose(rates, [0, -9.81 / 3], rtol=1e-14)


# -- mechanisms ------------------------------------------------------------------------------------
def test_an_element_acts_as_the_same_force_in_the_mechanism_does() -> None:
    def model(name: str) -> tuple[lw.Mechanism, lw.Mechanism]:
        m = lw.Mechanism(name)
        a = m.body("a", rotate="z", mass=2, com=(0.3, 0, 0), inertia=0.1)
        m.body("b", parent=a, at=(0.7, 0, 0), rotate="z", mass=1, com=(0.4, 0.1, 0), inertia=0.2)
        m.gravity(along="-y")
        return m, m

    m, _ = model("arm")
    tip = m.point("tip", m.bodies["b"], (0.8, 0, 0))
    spring = Element("spring", m)
    spring.parameter("k", 50.0)
    spring.force_vector("pull", (m.x * 1.5 - tip.position) * spring.expr("k"), at=tip)
    spring.effort("hinge", "b", "-0.3*b_dot")
    s = System(m)
    s.add(spring)
    other, _ = model("arm2")
    end = other.point("tip", other.bodies["b"], (0.8, 0, 0))
    for axis, along in (("x", other.x), ("y", other.y)):
        value = ((other.x * 1.5 - end.position) * 50) @ along
        other.force(f"pull {axis}", value, at=end, along=along)
    about = other.bodies["b"].z
    other.moment(
        "hinge", "-0.3*b_dot", on=other.bodies["b"], about=about, reaction=other.bodies["a"]
    )
    ours, plain = PlainRun(s.phases()), PlainRun(System(other).phases())
    for seed in range(5):
        x = np.random.default_rng(seed).uniform(-1, 1, 4)
        np.testing.assert_allclose(ours.rate(0.0, x), plain.rate(0.0, x), rtol=1e-11)
    assert not m.forces  # the mechanism stays as it was
    assert not m.moments


def test_a_sampled_pd_on_a_pendulum_is_scipys_solution_with_held_torques() -> None:
    m = pendulum()
    s = System(m)
    s.add(lw.control.PD(m, kp=20, kd=5, target=1.0), rate=50)
    phases = s.phases()
    run = PlainRun(phases, steps=20).run(50)
    x = np.array([0.0, 0.0])
    energy_given = 0.0
    for k in range(50):
        tau = 20 * (1.0 - x[0]) - 5 * x[1]
        done = solve_ivp(
            lambda t, y, tau=tau: [y[1], tau - 9.81 * np.cos(y[0])],
            (k / 50, (k + 1) / 50),
            x,
            rtol=1e-11,
            atol=1e-12,
        )
        energy_given += tau * (done.y[0, -1] - x[0])
        x = done.y[:, -1]
    np.testing.assert_allclose([run["rod"][-1], run["rod_dot"][-1]], x, rtol=1e-8)
    angle, speed = run["rod"][-1], run["rod_dot"][-1]
    assert abs(speed**2 / 2 + 9.81 * np.sin(angle) - energy_given) < 1e-7


def test_loops_stay_closed_and_the_motion_is_that_of_the_mechanism() -> None:
    m = lw.load("four-bar")
    system = System(m, base=2000)
    phases = system.numbered(system.flattened(None, Form(guarded=False)))
    assert phases.accepted is not None
    run = PlainRun(phases).run(400)
    plain = lw.simulate(m, until=0.2, form="independent", tolerance=1e-11)
    for name in m.coordinates:
        assert abs(run[name][-1] - plain.final[name]) < 1e-6
    zero = [c.position for c in m.constraints if c.position is not None]
    at: dict[Expr, object] = {q: run[n] for n, q in m.coordinates.items()}
    at |= {x: m.values[n] for n, x in m.parameters.items()}
    for g in zero:
        assert np.abs(evaluate(g, at)).max() < 1e-12


def test_quaternions_keep_their_length() -> None:
    m = lw.Mechanism("top")
    m.body("b", joint=lw.Ball(quaternion=True), mass=1, inertia=(1, 2, 3))
    m.set_initial({"b.p": 1.0, "b.q": 2.0, "b.r": -0.5})
    phases = System(m, base=20).phases()
    assert len(phases.quaternions) == 1
    run = PlainRun(phases).run(100)
    names = [phases.x[i].name for i in phases.quaternions[0]]
    length = sum(run[n] ** 2 for n in names)
    np.testing.assert_allclose(length, 1.0, atol=1e-14)


def test_initial_values_follow_parameters() -> None:
    s = System(name="s")
    b = Block("tank")
    level = b.parameter("level", 3.0)
    x = b.state("x", "-x", 2 * level)
    b.output("y", x)
    s.add(b)
    phases = s.phases()
    assert phases.initialize is not None
    assert phases.x[0].value == 6.0
    start = np.array([s.value for s in phases.x])
    assert called(phases, phases.initialize, start, np.full(len(phases.p), 5.0))[0][0] == 10.0


def test_outputs_cost_the_derivative_nothing() -> None:
    m = pendulum()
    lean = System(m).phases(record=[])
    m.output("height", m.bodies["rod"].com.position @ m.y, unit="m")
    rich = System(m).phases()
    assert lean.output is None
    assert rich.output is not None
    assert lean.derivative.fingerprint() == rich.derivative.fingerprint()
    one = System(m).phases(record=["height"])
    assert [o.name for o in one.outputs] == ["height"]


def test_events_are_zero_crossings_with_resets() -> None:
    m = lw.Mechanism("ball")
    m.body("b", translate="z", mass=1)
    m.gravity()
    floor = Element("floor", m)
    floor.event("hit", "b", direction=-1, resets={m.expr("b_dot"): "-0.8*b_dot"})
    s = System(m)
    s.add(floor)
    s.set_initial({"b": 1.0})
    phases = s.phases()
    (event,) = phases.event_list
    assert event.direction == -1
    assert event.action is not None
    p = np.array([s.value for s in phases.p])
    found = called(phases, event.action, np.array([0.0, -2.0]), p)[0]
    np.testing.assert_allclose(found, [0.0, 1.6])


@seldom(daily="tests/equations/test_long_chains.py::test_loops_move_a_chain_as_what_is_written_out")
def test_a_long_chain_is_derived_in_loops_with_its_loads() -> None:
    """Like links under control: the loop over links against the links written out."""
    m = lw.Mechanism("chain")
    body = m.ground
    for i in range(42):
        at = (0.1 if i else 0.0, 0, 0)
        body = m.body(
            f"b{i}", parent=body, at=at, rotate="z", mass=0.1, com=(0.05, 0, 0), inertia=1e-3
        )
    m.gravity(along="-y")
    rates = []
    for formulation in ("quick", "articulated"):
        s = System(m, formulation=formulation)
        s.add(lw.control.PD(m, kp=5.0, kd=0.1, target=0.0))
        phases = s.phases(record=[])
        x = np.random.default_rng(0).uniform(-0.1, 0.1, 84)
        rates.append(PlainRun(phases).rate(0.0, x))
    np.testing.assert_allclose(rates[0], rates[1], rtol=1e-9, atol=1e-9)


# -- complaints ------------------------------------------------------------------------------------
def test_units_of_ports_must_agree() -> None:
    m = pendulum()
    b = Block("b")
    b.input("u", unit="m")
    s = System(m)
    member = s.add(b)
    with pytest.raises(lw.UnitError, match=r"b\.u is in m, but rod is in rad"):
        s.connect("rod", member.u)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda s: s.connect(1.0, "b.x"), "not an input"),
        (lambda s: s.connect(1.0, "b.nothing"), "no port 'nothing'"),
        (lambda s: s.connect(1.0, "c.u"), "no member 'c'"),
        (lambda s: s.connect([1.0, 2.0], "b.u"), "2 value"),
        (lambda s: s.add(Block("b"), name="b"), "taken"),
        (lambda s: (s.set_parameters({"b.k": 1}), s.phases()), "no parameter or input 'b.k'"),
        (lambda s: (s.set_initial({"b.z": 1}), s.phases()), "no state 'b.z'"),
        (lambda s: s.phases(record=["b.q"]), "no channel 'b.q'"),
    ],
)
def test_what_is_not_there_is_named(action: object, message: str) -> None:
    b = Block("b")
    b.output("x", b.input("u"))
    s = System(name="s")
    s.add(b)
    assert callable(action)
    with pytest.raises(BlockError, match=message):
        action(s)


def test_a_text_that_names_nothing_makes_no_parameter() -> None:
    m = pendulum()
    s = System(m)
    b = Block("b")
    b.input("u")
    member = s.add(b)
    with pytest.raises(lw.Error, match="rood"):
        s.connect("2*rood", member.u)
    assert "rood" not in m.parameters


def test_a_state_without_a_rate_is_named() -> None:
    b = Block("b")
    b.state("x")
    with pytest.raises(BlockError, match="does not say how x goes on"):
        System(name="s").add(b)


# -- determinism -----------------------------------------------------------------------------------
@seldom(
    daily="tests/program/test_program.py::test_programs_and_passes_are_the_same_under_any_hash_seed"
)
def test_the_same_system_gives_the_same_programs_under_any_hash_seed() -> None:
    program = (
        "import linkwright as lw\n"
        "m = lw.load('stanford-arm')\n"
        "s = lw.System(m)\n"
        "s.add(lw.control.ComputedTorque(m, kp=100, kd=20), rate=500)\n"
        "f = s.phases()\n"
        "print(f.derivative.fingerprint(), *(t.program.fingerprint() for t in f.ticks))\n"
    )
    found = set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        found.add(done.stdout)
    assert len(found) == 1


@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        (sampled, (0,), "nothing can run at 0 Hz"),
        (sampled, (-2.5,), "nothing can run at -2.5 Hz"),
        (sampled, ("500",), "'500' is neither a time nor a rate"),
        (Block("b", rate=10).delay, (1.0, 1.5), "cannot delay by 1.5 instants"),
        (Block("b", rate=10).delay, (1.0, 0), "cannot delay by 0 instants"),
    ],
)
def test_rates_and_delays_that_cannot_be_are_refused(
    call: Callable[..., object], arguments: tuple[object, ...], message: str
) -> None:
    with pytest.raises(lw.Error, match=re.escape(message)):
        call(*arguments)
