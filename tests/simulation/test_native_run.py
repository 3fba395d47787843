"""Native runs: methods against SciPy, ticks, noise, events, lanes, threads, interruption."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from linkwright.algebra import cos, sin, symbols
from linkwright.base.errors import Error, ShapeError
from linkwright.simulation.loop import DueTick, RunMemory, draw
from linkwright.simulation.native import batch, pace
from linkwright.simulation.native.batch import run_batch
from linkwright.simulation.native.methods import METHODS, method_named
from linkwright.simulation.native.schedule import TABLEAUX
from linkwright.simulation.native.session import Session
from linkwright.system.phases import Event, Phases, Tick, normal
from tests.seeds import cases
from tests.support.native_phases import K, Parts, T

FIXED = [n for n, m in METHODS.items() if not m.adaptive]
ADAPTIVE = [n for n, m in METHODS.items() if m.adaptive]


def driven_pendulum(tick: float = 0.01) -> Phases:
    """A pendulum whose support is driven, with a parameter and an input."""
    s = Parts(
        {"q": 1.0, "u": 0.3},
        p={"c": 0.1},
        w={"f": 0.5},
        kinds={"q": "coordinate", "u": "speed"},
    )
    q, u, c, f = s["q"], s["u"], s["c"], s["f"]
    return s.phases([u, -9.81 * sin(q) - c**2 * u + f * cos(3 * T)], tick)


def reference(until: float, at: Any = None, c: float = 0.1) -> Any:
    def rates(t: float, x: Any) -> list[float]:
        return [x[1], -9.81 * math.sin(x[0]) - c**2 * x[1] + 0.5 * math.cos(3 * t)]

    found = solve_ivp(
        rates, (0, until), [1.0, 0.3], method="DOP853", rtol=1e-13, atol=1e-14, t_eval=at
    )
    return found.y if at is not None else found.y[:, -1]


# -- methods ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", FIXED)
def test_fixed_steps_converge_with_their_order(name: str) -> None:
    wanted = reference(2.0, c=0.0)  # Verlet's method is of order 2 without damping
    errors = []
    for step in (0.01, 0.005, 0.0025):
        settings: Any = {"method": name, "step": step, "every": 0, "values": {"c": 0.0}}
        end = Session(driven_pendulum(), 2.0, **settings).run()
        assert end.steps == round(2.0 / step)
        errors.append(np.abs(np.array(list(end.x.values())) - wanted).max())
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    assert slopes == pytest.approx(METHODS[name].order, abs=0.25)


@pytest.mark.parametrize("name", ADAPTIVE)
@pytest.mark.parametrize("tolerance", [1e-5, 1e-8])
def test_adaptive_steps_keep_the_tolerance_at_every_sample(name: str, tolerance: float) -> None:
    run = Session(driven_pendulum(), 5.0, method=name, tolerance=tolerance).run()
    wanted = reference(5.0, run.samples.times).T
    assert len(run.samples.times) == 501
    assert run.samples.times == pytest.approx(np.linspace(0, 5, 501), abs=1e-15)
    assert np.abs(run.samples.values - wanted).max() < 300 * tolerance
    assert run.steps < 501 * (1 if name == "dop853" or tolerance > 1e-6 else 5)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8, 1e-10, 1e-12])
def test_samples_of_dop853_are_as_good_as_its_steps(tolerance: float) -> None:
    """Steps do not end at samples, which are as near to the truth as SciPy's dense output."""
    ends = Session(driven_pendulum(), 5.0, tolerance=tolerance, every=0).run()
    run = Session(driven_pendulum(), 5.0, tolerance=tolerance).run()
    assert run.steps <= 1.3 * ends.steps < 200
    times = run.samples.times
    wanted = reference(5.0, times).T
    peer = solve_ivp(
        lambda t, x: [x[1], -9.81 * math.sin(x[0]) - 0.01 * x[1] + 0.5 * math.cos(3 * t)],
        (0, 5),
        [1.0, 0.3],
        method="DOP853",
        rtol=tolerance,
        atol=tolerance / 100,
        dense_output=True,
    )
    error = np.abs(run.samples.values - wanted).max()
    assert error < 2 * np.abs(peer.sol(times).T - wanted).max() + 1e-12
    assert error < 200 * tolerance


def test_samples_of_dop853_are_good_where_steps_are_as_long_as_they_are_stable() -> None:
    """A fast rate that has died out leaves long steps, in which no polynomial follows it."""
    s = Parts({"slow": 1.0, "fast": 1.0})
    slow, fast = s["slow"], s["fast"]
    phases = s.phases([-slow, -300 * (fast - slow)], 0.002)
    for tolerance in (1e-5, 1e-8, 1e-11):
        run = Session(phases, 2.0, tolerance=tolerance).run()
        t = run.samples.times
        ahead = 300 / 299 * np.exp(-t) - np.exp(-300 * t) / 299
        wanted = np.column_stack([np.exp(-t), ahead])
        assert run.steps < 400
        assert np.abs(run.samples.values - wanted).max() < 20 * tolerance


@pytest.mark.parametrize("executor", ["native", "python"])
@pytest.mark.parametrize("longer", [1.002, 1.005, 1.009])
def test_a_sample_shortly_before_the_end_ends_no_run(executor: str, longer: float) -> None:
    """A step that is as long as the rest is tried again shorter, though its sample lies behind."""
    s = Parts({"slow": 1.0, "fast": 1.0})
    phases = s.phases([-s["slow"], -300 * (s["fast"] - s["slow"])], 0.05)
    until = 0.05 * (29 + longer)
    for tolerance in (1e-8, 1e-11, 3e-12, 1e-12):
        run = Session(phases, until, tolerance=tolerance, executor=executor).run()
        assert run.stop is None
        assert run.rejected < 200
        assert run.x["slow"] == pytest.approx(math.exp(-until), abs=20 * tolerance)


@pytest.mark.parametrize("executor", ["native", "python"])
def test_room_for_samples_changes_no_bits(executor: str) -> None:
    """A call that comes back in the middle of a step repeats it as it was."""
    s = Parts({"slow": 1.0, "fast": 1.0})
    phases = s.phases([-s["slow"], -300 * (s["fast"] - s["slow"] * cos(T))], 0.0007)
    settings: dict[str, Any] = {"tolerance": 1e-9, "executor": executor}
    wanted, *others = (Session(phases, 0.5, rows=n, **settings).run() for n in (1024, 1, 3, 50))
    for other in others:
        assert np.array_equal(other.samples.values, wanted.samples.values)
        assert other.steps == wanted.steps


def test_the_interpolant_of_dop853_is_exact_to_degree_seven() -> None:
    """A power of time is met inside of a step that ends nowhere near a sample."""
    s = Parts({f"x{n}": 0.0 for n in range(1, 9)})
    phases = s.phases([n * T ** (n - 1) for n in range(1, 9)], 0.01)
    run = Session(phases, 2.0, tolerance=1e-3).run()
    wanted = run.samples.times[:, None] ** np.arange(1, 9)
    error = np.abs(run.samples.values - wanted).max(axis=0)
    assert run.steps < 20
    assert error[:7].max() < 1e-12
    assert error[7] > 1e-6


def test_tighter_tolerances_take_more_steps_and_give_less_error() -> None:
    wanted = reference(5.0)
    ends = [
        Session(driven_pendulum(), 5.0, tolerance=tol, every=0).run() for tol in (1e-4, 1e-7, 1e-10)
    ]
    errors = [np.abs(np.array(list(e.x.values())) - wanted).max() for e in ends]
    assert errors[0] > 20 * errors[1] > 400 * errors[2]
    assert ends[0].steps < ends[1].steps < ends[2].steps


def test_the_implicit_method_solves_a_stiff_system() -> None:
    s = Parts({"a": 1.0, "b": 0.0, "c": 0.0}, p={"rate": 3e7})
    a, b, c, rate = s["a"], s["b"], s["c"], s["rate"]
    push = 1e-3 * cos(T)
    rates = [-0.04 * a + 1e4 * b * c + push, 0.04 * a - 1e4 * b * c - rate * b**2, rate * b**2]
    phases = s.phases(rates, 0.5)

    def plain(t: float, x: Any) -> list[float]:
        first, last = 0.04 * x[0] - 1e4 * x[1] * x[2], 3e7 * x[1] ** 2
        return [-first + 1e-3 * math.cos(t), first - last, last]

    run = Session(phases, 40.0, method="implicit", tolerance=1e-7, absolute=1e-12).run()
    wanted = solve_ivp(
        plain, (0, 40), [1, 0, 0], method="Radau", rtol=1e-10, atol=1e-14, t_eval=run.samples.times
    ).y.T
    assert run.steps < 1000
    assert run.samples.values == pytest.approx(wanted, rel=1e-5, abs=1e-10)
    lanes = run_batch(
        phases, 40.0, method="rodas4", tolerance=1e-7, absolute=1e-12, values={"rate": [1e6, 3e7]}
    )
    assert lanes.x[1] == pytest.approx(wanted[-1], rel=1e-5, abs=1e-10)


def test_methods_tell_what_their_tables_say() -> None:
    for name, tableau in TABLEAUX.items():
        method = METHODS[name]
        assert (method.order, method.evaluations) == (tableau.order, len(tableau.nodes))
        assert method.adaptive == bool(tableau.errors)
        assert method.stages_inside == len(tableau.inner_nodes)
        assert method.adaptive == bool(tableau.middle or tableau.inner_nodes)
        nodes = (*tableau.nodes[1:], *tableau.inner_nodes)
        for node, row in zip(nodes, (*tableau.stages, *tableau.inner_stages), strict=True):
            assert float(sum(row)) == pytest.approx(float(node), abs=1e-13)
        for row in tableau.inner_weights:  # a constant rate bends nothing
            assert float(sum(row)) == pytest.approx(0.0, abs=1e-11)
        assert float(sum(tableau.weights)) == pytest.approx(1.0, abs=1e-14)
        for row in tableau.errors:
            assert float(sum(row)) == pytest.approx(0.0, abs=1e-14)


def test_an_unknown_method_is_named_with_those_that_exist() -> None:
    with pytest.raises(Error, match="no method 'euler'; choose one of midpoint, rk4"):
        method_named("euler")


@pytest.mark.parametrize("name", ["semi-implicit", "implicit-speeds", "verlet"])
def test_quaternions_turn_exactly_and_keep_their_length(name: str) -> None:
    kinds = dict.fromkeys("abcd", "coordinate") | {"w": "speed"}
    s = Parts({"a": 1.0, "b": 0.0, "c": 0.0, "d": 0.0, "w": 2.0}, kinds=kinds)
    a, b, c, d, w = (s[n] for n in "abcdw")
    rates = [-d * w / 2, c * w / 2, -b * w / 2, a * w / 2, 0 * w]
    phases = s.phases(rates, 0.1, quaternions=((0, 1, 2, 3),))
    end = Session(phases, 100.0, method=name, every=0).run().x
    assert end["a"] == pytest.approx(math.cos(100.0), abs=1e-11)
    assert end["d"] == pytest.approx(math.sin(100.0), abs=1e-11)
    assert end["a"] ** 2 + end["d"] ** 2 == pytest.approx(1.0, abs=1e-12)


def test_implicit_speeds_solve_for_the_speeds_of_a_step() -> None:
    """A step of a linear system against (1 - h A) dv = h f by NumPy, alone and in lanes."""
    rng = np.random.default_rng(8)
    a, b = rng.normal(size=(2, 4, 4))
    a[2] = 0.0  # the rate of one state depends on no other
    names = ("q1", "q2", "q3", "q4", "v1", "v2", "v3", "v4")
    start = rng.normal(size=8)
    kinds = dict.fromkeys(names[:4], "coordinate")
    s = Parts(dict(zip(names, start, strict=True)), kinds=kinds)
    q, v = [s[n] for n in names[:4]], [s[n] for n in names[4:]]
    pairs = range(4)
    rates = [
        sum((float(a[i, j]) * v[j] + float(b[i, j]) * q[j] for j in pairs), 0 * T) for i in pairs
    ]
    phases = s.phases([*v, *rates], 0.5)
    new = start[4:] + np.linalg.solve(np.eye(4) - 0.5 * a, 0.5 * (a @ start[4:] + b @ start[:4]))
    wanted = [*(start[:4] + 0.5 * new), *new]
    end = Session(phases, 0.5, method="implicit-speeds", every=0).run().x
    np.testing.assert_allclose(list(end.values()), wanted, rtol=1e-12)
    many = run_batch(phases, 0.5, method="implicit-speeds", runs=3)
    np.testing.assert_allclose(many.x, [wanted] * 3, rtol=1e-12)


@pytest.mark.parametrize("damping", [1.0, 1e3, 1e6])
def test_damping_does_not_limit_the_step_of_implicit_speeds(damping: float) -> None:
    """With h^2 k < 4 + 2 h d it comes to rest; the plain step does where h d < 2 - h^2 k / 2."""
    s = Parts({"q": 1.0, "u": 0.0}, p={"d": damping}, kinds={"q": "coordinate", "u": "speed"})
    phases = s.phases([s["u"], -3.9 * (1 + s["d"] / 2) * s["q"] - s["d"] * s["u"]], 1.0)
    run = Session(phases, 4000.0, method="implicit-speeds", every=0).run()
    assert run.stop is None
    assert np.abs(list(run.x.values())).max() < 1e-6
    plain = Session(phases, 4000.0, method="semi-implicit", every=0).run()
    assert plain.stop is not None


def test_the_symplectic_methods_hold_the_energy_of_an_oscillator() -> None:
    s = Parts({"q": 1.0, "u": 0.0}, kinds={"q": "coordinate", "u": "speed"})
    phases = s.phases([s["u"], -s["q"]], 0.05)
    for name in ("semi-implicit", "verlet"):
        values = Session(phases, 500.0, method=name).run().samples.values
        energy = 0.5 * (values**2).sum(axis=1)
        assert np.abs(energy - 0.5).max() < 0.02
    drift = Session(phases, 500.0, method="midpoint").run().samples.values
    assert 0.5 * (drift[-1] ** 2).sum() > 0.505


# -- ticks -----------------------------------------------------------------------------------------
def test_a_million_ticks_fall_where_they_should() -> None:
    d = {"first": 0.0, "when": -1.0, "second": 0.0, "last": -1.0}
    s = Parts({"x": 0.0}, d)
    ticks = (
        s.tick({"first": s["first"] + 1, "when": K}, every=7, offset=3),
        s.tick({"second": s["second"] + 1, "last": T}, every=1000, offset=0),
    )
    phases = s.phases([1 + 0 * s["x"]], 1e-3, ticks=ticks)
    end = Session(phases, 1000.0, method="midpoint", step=1.0, every=100_000).run()
    assert end.d["first"] == len(range(3, 1_000_001, 7))
    assert end.d["when"] == range(3, 1_000_001, 7)[-1]
    assert end.d["second"] == 1001
    assert end.d["last"] == 1000.0
    assert end.x["x"] == pytest.approx(1000.0, rel=1e-9)
    assert end.samples.times.tolist() == [100.0 * i for i in range(11)]


def test_steps_never_straddle_a_tick() -> None:
    s = Parts({"x": 0.0}, {"held": 0.0})
    tick = s.tick({"held": K**2}, every=3, offset=1)
    phases = s.phases([s["held"]], 0.1, ticks=(tick,))
    for name in ("rk4", "dopri5", "rodas4"):
        end = Session(phases, 2.0, method=name, step=1.0).run()
        due = [1, 4, 7, 10, 13, 16, 19]
        lengths = [min(3, 20 - k) for k in due]
        wanted = sum(k**2 * 0.1 * n for k, n in zip(due, lengths, strict=True))
        assert end.x["x"] == pytest.approx(wanted, rel=1e-12)


def test_ticks_of_one_time_run_in_order_and_see_what_was_written() -> None:
    s = Parts({"x": 0.0}, {"a": 0.0, "b": 0.0, "old": 0.0})
    ticks = (
        s.tick({"old": s["a"], "a": s["a"] + 1}),
        s.tick({"b": 10 * s["a"] + s["old"]}, every=2),
    )
    shown = {n: s[n] for n in ("a", "b", "old")}
    phases = s.phases([0 * s["x"]], 1.0, shown, ticks=ticks)
    rows = Session(phases, 3.0, method="rk4").run().samples.values
    assert rows.tolist() == [[1, 10, 0], [2, 10, 1], [3, 32, 2], [4, 32, 3]]


def test_a_foreign_function_is_called_at_its_ticks_alone() -> None:
    seen = []

    def control(t: float, arguments: Sequence[float]) -> Sequence[float]:
        seen.append((t, list(arguments)))
        return [-arguments[0], 2.0]

    s = Parts({"x": 1.0}, {"held": 0.0, "other": 0.0})
    made = s.program("arguments", {"a": [s["x"]]}, tick=K)
    tick = Tick("control", made, (0, 1), every=5, foreign=control)
    phases = s.phases([s["held"]], 0.1, ticks=(tick,))
    end = Session(phases, 1.0, method="rk4").run()
    assert [t for t, _ in seen] == [0.0, 0.5, 1.0]
    assert [a[0] for _, a in seen] == pytest.approx([1.0, 0.5, 0.25])
    assert end.d["other"] == 2.0
    seen.clear()
    lanes = run_batch(phases, 1.0, initial={"x": np.arange(1.0, 12.0)}, threads=2)
    assert lanes["x"] == pytest.approx(0.25 * np.arange(1.0, 12.0))
    assert len(seen) == 3 * 11


def test_a_foreign_function_that_fails_says_when() -> None:
    s = Parts({"x": 1.0}, {"held": 0.0})
    made = s.program("arguments", {"a": [s["x"]]}, tick=K)
    broken = s.phases([s["held"]], ticks=(Tick("c", made, (0,), foreign=lambda t, a: [1 / 0]),))
    with pytest.raises(Error, match="function of 'c' failed at t = 0 s: ZeroDivisionError"):
        Session(broken, 1.0).run()
    short = s.phases([s["held"]], ticks=(Tick("c", made, (0,), foreign=lambda t, a: []),))
    with pytest.raises(ShapeError, match="gave 0 values at t = 0 s; it has to give 1"):
        run_batch(short, 1.0, runs=20, threads=2)


# -- noise -----------------------------------------------------------------------------------------
def uniform(seed: int, stream: int, number: int, tick: int) -> tuple[float, float]:
    """Return the two numbers of a stream at a tick, as the loop draws them in Python."""
    run = RunMemory({}, [DueTick(1, 0, (), (stream,))], (), 0.01)
    run.seed, run.run_number = seed, number
    draw(run, stream, tick, 0)
    return run.n[0], run.n[1]


def test_the_cipher_gives_the_published_words() -> None:
    """Of each two words of 32 bits the first 52 bits are a number."""

    def numbers(a: int, b: int, c: int, d: int) -> tuple[float, ...]:
        return tuple((((x << 32 | y) >> 12) + 0.5) * 2.0**-52 for x, y in ((a, b), (c, d)))

    ones = 0xFFFFFFFF
    wanted = numbers(0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)
    assert uniform(2**64 - 1, ones, ones, 2**64 - 1) == wanted
    digits = 0x299F31D0A4093822, 0x13198A2E, 0x03707344, 0x85A308D3243F6A88
    assert uniform(*digits) == numbers(0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)


def noisy() -> Phases:
    s = Parts({"x": 0.0}, {"a": 0.0, "b": 0.0, "n": 0.0})
    first = symbols("n1 n2 n3 n4", "input")
    values = {"a": first[0], "b": first[3], "n": normal(first[0], first[1])}
    tick = s.tick(values, (5, 2**31 - 1), list(first))
    return s.phases([s["n"]], 0.01, {n: s[n] for n in ("a", "b", "n", "x")}, ticks=(tick,))


def test_noise_depends_on_seed_stream_run_and_tick_alone() -> None:
    seed = 2**40 + 17
    one = Session(noisy(), 0.5, method="rk4", seed=seed, run=6).run().samples.values
    for k in (0, 1, 50):
        first, second = uniform(seed, 5, 6, k)
        assert one[k, 0] == first
        assert one[k, 1] == uniform(seed, 2**31 - 1, 6, k)[1]
        wanted = math.sqrt(-2 * math.log(first)) * math.cos(2 * math.pi * second)
        assert one[k, 2] == pytest.approx(wanted, rel=1e-12)
    lanes = run_batch(noisy(), 0.5, runs=11, seed=seed, every=1)
    assert np.array_equal(lanes.samples[6, :, :2], one[:, :2])
    alone = run_batch(noisy(), 0.5, numbers=[6], seed=[seed], every=1)
    assert np.array_equal(lanes.samples[6], alone.samples[0])


def test_noise_is_normal_and_independent_between_runs() -> None:
    lanes = run_batch(noisy(), 10.0, runs=100, seed=1, every=1)
    values = lanes["n"]
    assert values.mean() == pytest.approx(0, abs=5 / math.sqrt(values.size))
    assert values.var() == pytest.approx(1, abs=10 / math.sqrt(values.size))
    assert np.abs(np.corrcoef(values[:20]) - np.eye(20)).max() < 0.15
    assert np.abs(np.corrcoef(values[:, :-1].ravel(), values[:, 1:].ravel())[0, 1]) < 0.02


# -- lanes, threads, interruption ------------------------------------------------------------------
@pytest.mark.parametrize("name", ["rk4", "dopri5", "rodas4"])
def test_a_lane_has_the_same_bits_wherever_it_is(name: str) -> None:
    damping = np.linspace(0.0, 1.0, 37)
    phases = driven_pendulum()
    many = run_batch(phases, 1.0, method=name, values={"c": damping}, threads=1, every=10)
    split = run_batch(phases, 1.0, method=name, values={"c": damping}, threads=3, every=10)
    turned = run_batch(phases, 1.0, method=name, values={"c": damping[::-1]}, every=10)
    alone = run_batch(phases, 1.0, method=name, values={"c": damping[20:21]}, every=10)
    assert np.array_equal(many.samples, split.samples)
    assert np.array_equal(many.samples, turned.samples[::-1])
    assert np.array_equal(many.samples[20], alone.samples[0])
    wanted = reference(1.0, c=float(damping[20]))
    assert many.x[20] == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("name", ["verlet", "dopri5", "rodas4"])
def test_lanes_with_events_and_corrections_do_not_see_each_other(name: str) -> None:
    s = Parts({"x": 1.0, "y": 0.0, "z": 0.0}, {"turns": 0.0}, {"rate": 1.0})
    x, y, z, rate = s["x"], s["y"], s["z"], s["rate"]
    size = (x**2 + y**2) ** 0.5
    count = s.program("count", {"x_new": [x, y, 0 * z], "d_new": [s["turns"] + 1]})
    phases = s.phases(
        [-rate * y, rate * x, x**2 * rate],
        0.05,
        events={Event("turn", 1, action=count): y, Event("stop", 1, terminal=True): z - 4},
        accepted=([x / size, y / size, z], [s["turns"]]),
    )
    rates = np.linspace(0.3, 4.8, 21)
    settings: Any = {"method": name, "tolerance": 1e-6, "every": 5}
    many = run_batch(phases, 5.0, values={"rate": rates}, threads=2, **settings)
    for i in (0, 7, 20):
        alone = run_batch(phases, 5.0, values={"rate": rates[i : i + 1]}, **settings)
        assert np.array_equal(many.samples[i], alone.samples[0])
        assert np.array_equal(many.d[i], alone.d[0])
        assert many.stopped[i] == alone.stopped[0]
    assert many.d[-1, 0] == math.floor(5.0 * 4.8 / (2 * math.pi))


@pytest.mark.parametrize(
    "name", cases(["rk4", "dopri5", "dop853", "rodas4"], daily=["rk4", "dop853"])
)
def test_chunks_and_interruptions_change_no_bit(name: str) -> None:
    whole = Session(driven_pendulum(0.001), 0.6, method=name).run()
    pieces = Session(driven_pendulum(0.001), 0.6, method=name, rows=7)
    parts = [pieces.advance(steps=3)]
    while not pieces.done:
        saved = {k: v.copy() for k, v in pieces.snapshot().items()}
        pieces.advance(steps=11)  # thrown away
        pieces = Session(driven_pendulum(0.001), 0.6, method=name, rows=7)
        pieces.restore(saved)
        parts.append(pieces.advance(steps=5))
    assert np.array_equal(np.concatenate([p.values for p in parts]), whole.samples.values)
    assert np.array_equal(np.concatenate([p.times for p in parts]), whole.samples.times)
    assert pieces.steps == whole.steps
    assert pieces.outcome(parts[-1]).x == whole.x


def test_a_run_that_is_interrupted_goes_on_where_it_was() -> None:
    whole = Session(driven_pendulum(0.001), 20.0, method="rk4", every=1).run()
    session = Session(driven_pendulum(0.001), 20.0, method="rk4", every=1, rows=1000)
    seen = []

    def interrupt(t: float) -> None:
        seen.append(t)
        if len(seen) % 3 == 0:
            raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            session.run(interrupt)
    assert 0 < len(session.collected().times) < len(whole.samples.times)
    rest = session.run()
    assert seen == sorted(seen)
    assert np.array_equal(rest.samples.values, whole.samples.values)
    assert rest.x == whole.x


def test_a_state_of_another_system_is_refused() -> None:
    saved = Session(driven_pendulum(), 1.0).snapshot()
    other = Session(noisy(), 1.0)
    with pytest.raises(ShapeError, match="restore a state of the same System"):
        other.restore(saved)


def test_parameters_and_states_are_given_by_name() -> None:
    phases = driven_pendulum()
    with pytest.raises(Error, match="has no parameter 'd'"):
        Session(phases, 1.0, values={"d": 1.0})
    with pytest.raises(Error, match="has no state 'qq'; did you mean 'q'"):
        Session(phases, 1.0, initial={"qq": 1.0})
    with pytest.raises(Error, match="different lengths"):
        run_batch(phases, 1.0, initial={"q": [1.0, 2.0]}, values={"c": [1.0, 2.0, 3.0]})


# -- where it ends ---------------------------------------------------------------------------------
def exploding() -> Phases:
    s = Parts({"calm": 1.0, "x": 1.0})
    return s.phases([-s["calm"], s["x"] ** 2], 0.01)


@pytest.mark.parametrize("name", ["midpoint", "rk4", "dopri5", "rodas4"])
def test_a_state_that_leaves_the_numbers_stops_the_run(name: str) -> None:
    run = Session(exploding(), 2.0, method=name).run()
    assert run.stop is not None
    assert run.stop.failed
    assert run.stop.time == pytest.approx(1.0, abs=0.15)
    if not METHODS[name].adaptive:
        assert run.stop.names == ("x",)
        assert "no finite value of x after t = " in run.stop.reason
    assert np.isfinite(run.samples.values).all()
    assert len(run.samples.times) >= 99
    assert np.isfinite(list(run.x.values())).all()


def crawling() -> Phases:
    """An oscillator of a gigahertz: a hundred seconds of it would take more than 1e10 steps."""
    s = Parts({"x": 1.0, "v": 0.0})
    return s.phases([s["v"], -1e18 * s["x"]], 0.01)


def test_a_run_that_crawls_is_stopped_with_its_fastest_state() -> None:
    run = Session(crawling(), 100.0, method="dopri5", tolerance=1e-6).run()
    assert run.stop is not None
    assert run.stop.failed
    assert run.stop.names == ("v",)
    assert "would never come to an end; v, " in run.stop.reason
    assert run.steps < 2_000_000


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ({"threads": 2.5}, "threads must be an integer, not 2.5"),
        ({"threads": 0}, "threads=0 leaves nobody"),
        ({"runs": 2.5}, "runs must be an integer, not 2.5"),
    ],
)
def test_numbers_of_runs_and_threads_are_whole(numbers: dict[str, Any], words: str) -> None:
    with pytest.raises(Error, match=words):
        run_batch(crawling(), 10.0, **numbers)


@pytest.mark.parametrize("method", ADAPTIVE)
@pytest.mark.parametrize("every", [0, 50])
@pytest.mark.parametrize("crawls", [False, True])
def test_a_run_that_never_ends_stops_alone(
    monkeypatch: pytest.MonkeyPatch, method: str, every: int, crawls: bool
) -> None:
    """The others of its block go on to the same bits, and it stops where it does with others.

    By the number of its steps, and by its pace as a run alone.
    """
    monkeypatch.setattr(batch, "_MOST_STEPS", 1_000_000 if crawls else 1000)
    monkeypatch.setattr(pace, "OFTEN", 1000 if crawls else 1_000_000)
    monkeypatch.setattr(batch, "_CALL", 2000)
    s = Parts({"x": 1.0, "v": 0.0}, p={"k": 1.0})
    phases = s.phases([s["v"], -s["k"] * s["x"]], 0.01)
    stiffness = np.array([1.0, 1e22, 4.0, 9.0, 2.0, 1e21, 3.0, 5.0, 7.0])
    fast = stiffness > 1e6
    common: dict[str, Any] = {"method": method, "every": every, "tolerance": 1e-6}
    run = run_batch(phases, 5.0, values={"k": stiffness}, **common)
    slow = run_batch(phases, 5.0, values={"k": stiffness[~fast]}, **common)
    assert np.isinf(run.stopped).tolist() == (~fast).tolist()
    assert np.array_equal(run.x[~fast], slow.x)
    assert np.array_equal(run.samples[~fast], slow.samples)
    assert run.reasons[0] == ""
    assert ("more than 1,000,000 steps" if crawls else "more than 1,000 steps") in run.reasons[1]
    assert np.all(run.stopped[fast] < 1e-6)
    assert run.steps < 100_000
    alone = run_batch(phases, 5.0, values={"k": stiffness[fast]}, **common)
    assert np.array_equal(alone.stopped, run.stopped[fast])
    assert np.array_equal(alone.x, run.x[fast])


def test_a_single_lane_that_never_ends_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "_MOST_STEPS", 1000)
    monkeypatch.setattr(batch, "_CALL", 2000)
    with pytest.raises(Error, match="run 0 has taken"):
        run_batch(crawling(), 10.0, method="dopri5", runs=2, threads=1, width=1)


def test_a_lane_that_stops_leaves_the_others_alone() -> None:
    start = np.array([0.1, 1.0, 0.2, 5.0, 0.3])
    run = run_batch(exploding(), 2.0, method="rk4", initial={"x": start})
    sound = run_batch(exploding(), 2.0, method="rk4", initial={"x": start[[0, 2, 4]]})
    assert np.isinf(run.stopped[[0, 2, 4]]).all()
    assert run.stopped[[1, 3]] == pytest.approx([1.0, 0.2], abs=0.1)
    assert np.array_equal(run.x[[0, 2, 4]], sound.x)
    assert np.isfinite(run.x).all()
    assert [bool(words) for words in run.reasons] == [False, True, False, True, False]
    assert "no longer finite" in run.reasons[1]


# -- events ----------------------------------------------------------------------------------------
def ball(terminal: bool = False) -> Phases:
    s = Parts({"h": 1.0, "v": 0.0}, {"bounces": 0.0})
    h, v = s["h"], s["v"]
    bounce = s.program("bounce", {"x_new": [h, -0.8 * v], "d_new": [s["bounces"] + 1]})
    land = Event("land", -1, terminal, None if terminal else bounce)
    return s.phases([v, -9.81 + 0 * h], 0.01, events={land: h, Event("top", -1): v})


def bounces(count: int) -> list[float]:
    first = math.sqrt(2 / 9.81)
    times, speed = [first], 9.81 * first
    for _ in range(count - 1):
        speed *= 0.8
        times.append(times[-1] + 2 * speed / 9.81)
    return times


@pytest.mark.parametrize("name", ["rk4", "dopri5", "rodas4"])
def test_events_are_located_and_act(name: str) -> None:
    run = Session(ball(), 2.0, method=name).run()
    lands = [e.time for e in run.events if e.name == "land"]
    tops = [e.time for e in run.events if e.name == "top"]
    wanted = [t for t in bounces(10) if t < 2]
    assert lands == pytest.approx(wanted, abs=1e-9)
    middles = [(a + b) / 2 for a, b in pairwise(bounces(10))]
    assert tops == pytest.approx([t for t in middles if t < 2])
    assert run.d["bounces"] == len(wanted)
    assert run.samples.values[:, 0].min() > -1e-9
    assert run.stop is None


@pytest.mark.parametrize("name", ["rk4", "dopri5"])
def test_a_terminal_event_ends_the_run_where_it_happens(name: str) -> None:
    run = Session(ball(terminal=True), 2.0, method=name).run()
    assert run.stop is not None
    assert (run.stop.names, run.stop.failed) == (("land",), False)
    assert run.time == pytest.approx(math.sqrt(2 / 9.81), abs=1e-10)
    assert run.x["h"] == pytest.approx(0.0, abs=1e-10)
    assert run.samples.times[-1] <= run.time


def test_events_of_a_batch_are_located_in_each_lane() -> None:
    start = np.linspace(0.5, 1.5, 11)
    run = run_batch(ball(terminal=True), 2.0, method="rk4", initial={"h": start}, step=0.001)
    falls = np.sqrt(2 * start / 9.81)
    land = run.events.index("land")
    assert run.stopped == pytest.approx(falls, abs=1e-12)
    assert np.array_equal(run.event_times[:, land], run.stopped)
    assert set(run.reasons) == {"'land' ended it"}
    assert np.all(run.event_counts[:, land] == 1)


def test_what_is_accepted_is_changed_once_after_each_step() -> None:
    s = Parts({"x": 1.0, "y": 0.0}, {"steps": 0.0})
    x, y = s["x"], s["y"]
    size = (x**2 + y**2) ** 0.5
    phases = s.phases([-y, x], 0.1, accepted=([x / size, y / size], [s["steps"] + 1]))
    for name in ("midpoint", "dopri5", "rodas4"):
        run = Session(phases, 10.0, method=name, tolerance=1e-6).run()
        assert run.d["steps"] == run.steps
        assert run.x["x"] ** 2 + run.x["y"] ** 2 == pytest.approx(1.0, abs=1e-15)
    lanes = run_batch(phases, 1.0, method="midpoint", initial={"x": [1.0, 2.0, 3.0]})
    assert (lanes.x**2).sum(axis=1) == pytest.approx(1.0, abs=1e-15)
