"""Continuous states of blocks that run at a rate, against matrix exponentials computed here.

Between instants whatever a block reads holds. Then states that are linear in themselves have one
exact next value; every block that ships, by every way in which it can be given a rate, has that
one, keeps the rule that its page promises, or is refused in words.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import linkwright as lw
from linkwright import control, drives
from linkwright.algebra import Expr, absolute, evaluate, free_symbols, where
from linkwright.blocks import Block, BlockError, Ticks, sampled
from linkwright.formats.text.files import read_any
from linkwright.formats.text.members import MAKERS
from linkwright.program import Assign, interpret, lower
from linkwright.program.counts import stage_counts
from linkwright.program.rates import Rate
from linkwright.server.cell_file import read_cell
from linkwright.server.face import Command
from linkwright.server.virtual import VirtualCell
from linkwright.system import Member, Phases, Signal
from tests.elements.test_element_battery import made
from tests.seeds import cases, seeds
from tests.support.late import Late
from tests.system.test_text_systems import of_kind

if TYPE_CHECKING:
    from scipy import signal
else:
    signal = Late("scipy.signal")

Array = NDArray[np.float64]
RATES = (1.0, 9.0, 40.0, 300.0, 10_000.0)

#: Blocks that are made discrete by the bilinear rule, or designed for their rate.
FILTERS = {"LeadLag", "Observer", "StateSpace", "TransferFunction"}

#: Blocks whose states are not linear, or depend on each other by what changes.
REFUSED = {"Battery", "CompliantWrist", "DCBus", "Drive"}


# -- one instant -----------------------------------------------------------------------------------
def tick_all(phases: Phases, known: dict[Expr, float], t: float = 0.0) -> dict[Expr, float]:
    """Return all numbers after the ticks of an instant, by the interpreter of Programs."""
    after = dict(known)
    for tick in phases.ticks:
        rows = {port.name: np.full((1, port.size), t) for port in tick.program.inputs}
        for name, part in (("x", phases.x), ("d", phases.d), ("p", phases.p), ("w", phases.w)):
            rows[name] = np.array([[after[symbol_of(x)] for x in part]])
        (new,) = interpret(lower(tick.program), [rows[p.name] for p in tick.program.inputs])
        for slot, value in zip(tick.slots, np.ravel(new), strict=True):
            after[symbol_of(phases.d[slot])] = float(value)
    return after


def symbol_of(x: Signal) -> Expr:
    assert x.symbol is not None
    return x.symbol


def instant(s: lw.System, rng: np.random.Generator) -> tuple[dict[Expr, float], dict[Expr, float]]:
    """Return all numbers of a System before and after an instant, drawn at random before it."""
    phases = s.phases()
    known = {symbol_of(x): float(rng.uniform(-1, 1)) for x in (*phases.x, *phases.d, *phases.w)}
    known |= {symbol_of(x): x.value * float(rng.uniform(0.6, 1.6)) for x in phases.p}
    return known, tick_all(phases, known)


def samples(s: lw.System, name: str, rate: float, count: int = 30) -> Array:
    """Return what a value of a sampled System is after each of its instants, from rest on."""
    phases = s.phases()
    known = {symbol_of(x): x.value for x in (*phases.x, *phases.d, *phases.w, *phases.p)}
    (wanted,) = (symbol_of(x) for x in phases.d if x.name == name)
    found = []
    for k in range(count + 1):
        known = tick_all(phases, known, k / rate)
        found.append(known[wanted])
    return np.array(found)


def exact(member: Member, known: dict[Expr, float], period: float) -> dict[Expr, float]:
    """Return the next states of a member by the matrix exponential of its rates, inputs held.

    Rates are evaluated here, statement by statement; they are linear in the states or this fails.
    """
    block = member.block
    fixed: dict[Expr, Any] = {x: known[y] for x, y in member.symbols.items() if y in known}
    fixed = {**known, **fixed, block.time: 0.0, block.period: period}
    for port in block.inputs.values():  # those that read the mechanism
        pairs = zip(port.symbols, port.values, strict=True)
        fixed |= {x: evaluate(value, fixed) for x, value in pairs if x not in fixed}
    states = list(block.states)
    x = np.array([fixed[s] for s in states])

    def rates(x: Array) -> Array:
        now = fixed | dict(zip(states, x, strict=True))
        for statement in block.statements:
            if isinstance(statement, Assign) and now.keys() >= {*free_symbols(statement.value)}:
                now[statement.target] = evaluate(statement.value, now)
        following = [s.following for s in block.states.values() if s.following is not None]
        return np.array([float(evaluate(rate, now)) for rate in following])

    f, n, far = rates(x), len(x), 1e-3
    columns = [(rates(x + far * e) - f) / far for e in np.eye(n)]
    again = [(f - rates(x - far * e)) / far for e in np.eye(n)]
    np.testing.assert_allclose(again, columns, rtol=1e-6, atol=1e-6 * np.abs(columns).max())
    whole = np.zeros((n + 1, n + 1))
    whole[:n, :n], whole[:n, n] = np.array(columns).T, f
    with np.errstate(over="ignore", invalid="ignore"):  # an unstable one may leave all numbers
        moved = x + expm(whole * period)[:n, n]
    return dict(zip(states, moved, strict=True)) if np.isfinite(moved).all() else {}


def check_instant(s: lw.System, name: str, period: float, seed: int) -> None:
    """Compare the states of a member after an instant with the exact ones."""
    before, after = instant(s, np.random.default_rng(seed))
    member = s.members[name]
    wanted = exact(member, before, period)
    scale = max([1.0, *map(abs, wanted.values())])
    for x, value in wanted.items():
        if getattr(member.block.states[x], "step", None) is None:  # else its law is tested below
            assert after[member.symbols[x]] == pytest.approx(value, rel=1e-7, abs=1e-9 * scale), x


def rated(s: lw.System, name: str, rate: Any) -> lw.System:
    """Return a System with the same members, one of them at a rate, and no wires of its own."""
    alone = not s.mechanism.bodies
    again = lw.System(None if alone else s.mechanism, name=s.name, base=RATES[-1] * 9)
    for other in s.members.values():
        given = rate if other.name == name else other.rate
        again.add(other.block, rate=given, name=other.name)
    return again


STATEFUL = {
    "Battery": "block", "CoupledDrives": "block", "DCBus": "block", "Drive": "block",
    "Integrator": "block", "JointPID": "block", "LeadLag": "block", "LuGre": "block",
    "Observer": "block", "OperationalHybrid": "block", "PID": "block", "StateSpace": "block",
    "TransferFunction": "block", "WristContact": "wrist",
}  # fmt: skip
"""Kinds of blocks that ship, with their member that has continuous states."""


def test_every_kind_with_continuous_states_is_listed() -> None:
    found = [
        (kind, name)
        for kind in MAKERS
        for name, member in of_kind(kind).members.items()
        if member.block.states
    ]
    assert found == list(STATEFUL.items())


def test_a_tire_relaxes_exactly_at_a_rate() -> None:
    m, tire = made("Tire", 0, other={"relaxation": 0.1})
    for rate in RATES[::2]:
        s = lw.System(m)
        s.add(tire, rate=rate, name="tire")
        check_instant(s, "tire", 1 / rate, 7)


@pytest.mark.parametrize(("kind", "name"), STATEFUL.items())
def test_every_block_with_states_is_exact_at_a_rate_or_refused(kind: str, name: str) -> None:
    rng = np.random.default_rng(5)
    original = of_kind(kind)
    own = type(original.members[name].block).__name__
    for rate in RATES[::2]:
        s = rated(original, name, rate)
        if own in REFUSED:
            with pytest.raises(BlockError, match=r"no closed form.* add it without rate="):
                s.phases()
        elif own in FILTERS:
            assert not s.members[name].block.states, "it is made discrete for its rate"
        else:
            check_instant(s, name, 1 / rate, int(rng.integers(100)))


# -- random linear blocks --------------------------------------------------------------------------
def random_block(rng: np.random.Generator, named: bool, rate: Any = None) -> Block:
    """Return a block of linear states, coupled in groups, in a chain, or not at all."""
    n = int(rng.integers(1, 5))
    A = rng.normal(size=(n, n)) * 10 ** rng.uniform(-2, 3)
    A *= rng.choice([0, 1], size=(n, n), p=(0.5, 0.5))
    if rng.integers(3) == 0:
        A = np.tril(A)
    A[0, 0] = -300.0  # which a sum of slopes would not survive
    b = Block("block", rate=rate)
    u = b.input("u")
    x = [b.state(f"x{i}", initial=float(rng.normal())) for i in range(n)]
    for i in range(n):
        slopes = [b.parameter(f"a{i}{j}", A[i, j]) if named and A[i, j] else float(A[i, j])
                  for j in range(n)]  # fmt: skip
        value = b.intermediate(sum((a * y for a, y in zip(slopes, x, strict=True)), start=u))
        b.derivative(x[i], value)
        b.output(f"y{i}", x[i])
    return b


TEXT = """\
format = 1
name = "s"
[[member]]
kind = "Block"
name = "block"
rate = {rate}
inputs = {{u = 0.0}}
parameters = {{a = 3.0, b = 40.0}}
[member.states]
x = {{rate = "a*(u - x)"}}
y = {{rate = "b*(x - y)"}}
[member.outputs]
z = "y"
"""


DOORS = ["add", "block", "ticks", "add", "part"]


@pytest.mark.parametrize("named", [False, True], ids=["numbers", "parameters"])
@pytest.mark.parametrize("seed", seeds(3, daily=1))
def test_linear_states_advance_exactly_by_every_door(seed: int, named: bool) -> None:
    rng = np.random.default_rng([seed, named])
    for rate, door in zip(RATES, rng.permutation(DOORS), strict=True):
        s = lw.System(name="s", base=2 * rate)
        own = random_block(rng, named, rate=rate if door == "block" else None)
        given = {"add": rate, "block": None, "ticks": Ticks(2), "part": rate}[str(door)]
        name = "block"
        s.add(own, rate=given)
        if door == "part":
            whole = lw.System(name="whole", base=4 * rate)
            whole.add(s, name="part")
            s, name = whole, "part.block"
        check_instant(s, name, 1 / rate, seed)


@pytest.mark.parametrize("rate", RATES)
def test_states_of_a_block_in_a_text_advance_exactly(rate: float) -> None:
    s = read_any(TEXT.format(rate=rate))
    assert isinstance(s, lw.System)
    check_instant(s, "block", 1 / rate, 3)


def test_a_run_follows_what_is_set_and_swept() -> None:
    s = lw.System(name="s")
    b = Block("lag")
    u = b.input("u", 1.0)
    k, c = b.parameter("k", 4.0), b.parameter("c", 1.0)
    v, x = b.state("v"), b.state("x")
    b.derivative(v, k * (u - x) - c * v)
    b.derivative(x, v)
    b.output("y", x)
    s.add(b, rate=5)

    def wanted(k: float, c: float) -> float:
        whole = np.array([[-c, -k, k], [1.0, 0, 0], [0, 0, 0]])
        return float(expm(whole)[1, 2])

    assert lw.simulate(s, until=1.0).final["lag.y"] == pytest.approx(wanted(4, 1), rel=1e-12)
    s.set_parameters({"lag.k": 900.0, "lag.c": 0.0})
    assert lw.simulate(s, until=1.0).final["lag.y"] == pytest.approx(wanted(900, 0), abs=1e-9)
    table = lw.sweep(s, 1.0, parameters={"lag.k": [0.0, 4.0, 81.0]}, channels={"lag.y": ["final"]})
    found = table["lag.y.final"]
    np.testing.assert_allclose(found, [wanted(k, 0) for k in (0.0, 4.0, 81.0)], atol=1e-9)


def test_what_depends_on_inputs_and_decisions_is_exact_too() -> None:
    b = Block("block")
    u, gate, a = b.input("u"), b.input("gate"), b.parameter("a", 30.0)
    x = b.state("x")
    b.derivative(x, absolute(u) * (gate - x) - x)  # a coefficient that holds
    y, z = b.state("y"), b.state("z")
    b.derivative(y, a * (u - y))
    b.derivative(z, where(gate > 0, y, 0) - where(u > 0, 5 * z, 0))  # decisions that hold
    b.output("o", z)
    for k, rate in enumerate(RATES[::2]):
        s = lw.System(name="s")
        s.add(b, rate=rate)
        for seed in range(4):
            check_instant(s, "block", 1 / rate, 10 * k + seed)


def _pendulum(b: Block) -> None:
    w = b.state("w")
    b.state("q", w, 0.5)
    b.derivative(w, b.expr("-9.81*sin(q)"))


def _product(b: Block) -> None:
    x, y = b.state("x"), b.state("y")
    b.derivative(x, -y)
    b.derivative(y, b.input("u") * x)


@pytest.mark.parametrize("write", [_pendulum, _product])
def test_what_has_no_closed_form_is_refused_at_a_rate(write: Callable[[Block], None]) -> None:
    b = Block("block")
    write(b)
    b.output("o", next(iter(b.states)))
    s = lw.System(name="s")
    s.add(b, rate=100)
    with pytest.raises(BlockError, match=r"'block' is given a rate.* no closed form.*rate="):
        s.phases()
    free = lw.System(name="s")
    free.add(b)
    assert free.phases().x


# -- laws of control -------------------------------------------------------------------------------
def discrete(top: list[float], bottom: list[float], rate: float, method: str, u: Array) -> Array:
    """Return what SciPy's discrete filter makes of samples, at rest before them."""
    found = signal.cont2discrete((top, bottom), 1 / rate, method=method)
    y: Array = signal.lfilter(np.ravel(found[0]), found[1], u)
    return y


HEAD = 'format = 1\nname = "s"\n[[member]]\nkind = "{kind}"\nname = "{name}"\nrate = {rate}\n'


def pid_system(door: str, rate: float, numbers: dict[str, Any]) -> Any:
    s: Any = lw.System(name="s", base=rate)
    if door == "text":
        lines = "\n".join(f"{k} = {v!r}" for k, v in numbers.items())
        s = read_any(HEAD.format(kind="PID", name="pid", rate=rate) + lines)
    else:
        law = control.PID(**numbers, rate=rate if door == "block" else None)
        s.add(law, rate={"add": rate, "block": None, "ticks": Ticks(1)}[door])
    s.connect("sin(3*t + 1) - sin(1)", "pid.measured")
    s.connect("0.5*t", "pid.reference")
    return s


@pytest.mark.parametrize(
    ("rate", "door"), [*zip(RATES, ["add", "block", "text", "ticks", "add"], strict=True)]
)
def test_a_pid_law_is_exact_at_every_rate(rate: float, door: str) -> None:
    rng = np.random.default_rng(int(rate))
    kp, ki, kd, N = (float(rng.uniform(*ends)) for ends in [(0.5, 3.0)] * 3 + [(5.0, 500.0)])
    u = samples(pid_system(door, rate, {"kp": kp, "ki": ki, "kd": kd, "filter": N}), "pid.u", rate)
    t = np.arange(len(u)) / rate
    y, r = np.sin(3 * t + 1) - math.sin(1), 0.5 * t
    integral = np.concatenate([[0.0], np.cumsum(r - y)[:-1]]) / rate  # what holds is summed
    slope = discrete([N, 0.0], [1.0, N], rate, "foh", y)  # measured values change evenly
    np.testing.assert_allclose(u, kp * (r - y) + ki * integral - kd * slope, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("rate", RATES)
def test_what_a_limit_takes_away_is_unwound_in_its_time_at_every_rate(rate: float) -> None:
    numbers: dict[str, Any] = {"kp": 1.0, "ki": 2.0, "low": -1.0, "high": 1.0, "unwind": 0.03}
    s = lw.System(name="s", base=rate)
    s.add(control.PID(**numbers), rate=rate)
    s.set_initial({"pid.integral": 5.0})
    found = samples(s, "pid.integral", rate, 8)  # the integral after each instant, without error
    left = 1 + 4 * math.exp(-1 / rate / 0.03) ** np.arange(1, 10)
    np.testing.assert_allclose(found, left, rtol=1e-9)


@pytest.mark.parametrize(
    ("rate", "door"), cases(itertools.product(RATES, ["add", "block", "text"]), daily=4)
)
def test_filters_keep_the_bilinear_rule_by_every_door(rate: float, door: str) -> None:
    rng = np.random.default_rng(int(rate))
    poles = -(10.0 ** rng.uniform(0, 3.5, 2))
    bottom = np.poly(poles).tolist()
    top = (rng.normal(size=3) * bottom[-1]).tolist()
    rows = {
        "TransferFunction": ({"numerator": top, "denominator": bottom}, top, bottom),
        "LeadLag": ({"zero": 20.0, "pole": 500.0}, [1 / 20, 1.0], [1 / 500, 1.0]),
    }
    for kind, (given, above, below) in rows.items():
        s: Any = lw.System(name="s", base=rate)
        if door == "text":
            lines = "\n".join(f"{k} = {v!r}" for k, v in given.items())
            s = read_any(HEAD.format(kind=kind, name="f", rate=rate) + lines)
        else:
            make = getattr(control, kind)
            block = make(**given, name="f", rate=rate if door == "block" else None)
            s.add(block, rate=rate if door == "add" else None)
        s.connect("sin(3*t + 1)", "f.u")
        u = np.sin(3 * np.arange(31) / rate + 1)
        wanted = discrete(above, below, rate, "bilinear", u)
        np.testing.assert_allclose(samples(s, "f.y", rate), wanted, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("rate", RATES[1:])
def test_a_continuous_state_space_model_added_at_a_rate_is_its_transfer_function(
    rate: float,
) -> None:
    a, b, c, d = control.TransferFunction([1.0, 300.0], [1.0, 40.0, 900.0])._matrices[:4]
    s = lw.System(name="s", base=rate)
    s.add(control.StateSpace(a, b, c, d, name="f"), rate=rate)
    s.connect("sin(3*t + 1)", "f.u")
    u = np.sin(3 * np.arange(31) / rate + 1)
    wanted = discrete([1.0, 300.0], [1.0, 40.0, 900.0], rate, "bilinear", u)
    np.testing.assert_allclose(samples(s, "f.y", rate), wanted, rtol=1e-7, atol=1e-9)
    at_rest = lw.System(name="s", base=rate)
    at_rest.add(control.StateSpace(a, b, c, d, initial=[2.0, 1.0], name="f"), rate=rate)
    first = samples(at_rest, "f.y", rate)[0]
    assert first == pytest.approx(float((c @ [2.0, 1.0])[0]), rel=1e-9)


def test_an_observer_added_at_a_rate_is_the_one_made_for_it() -> None:
    m = lw.Mechanism("cart")
    b = m.body("b", translate="x", mass=1)
    m.force("push", m.input("F"), at=b, along="x")
    m.output("place", "b")
    ends = []
    for own, added in ((20, None), (None, 20)):
        s = lw.System(m)
        o = s.add(control.Observer(lw.linearize(m), process=1e4, rate=own), rate=added)
        s.connect("b", o.u[1])
        run = lw.simulate(s, until=2, initial={"b": 1.0, "b_dot": 0.5})
        ends.append(run.final["observer.y[0]"])
    assert ends == pytest.approx([2.0, 2.0], abs=1e-2)


@pytest.mark.parametrize("rate", cases(RATES, daily=2))
def test_the_laws_of_a_servo_are_exact_at_every_rate(rate: float) -> None:
    s = lw.System(name="s", base=rate)
    s.add(drives.Servo(drives.LeadLag(8.0, zero=50.0, pole=500.0), rate=rate, name="lead"))
    s.add(drives.Servo(drives.PI(0.3, 7.0), rate=rate, name="pi"))
    s.connect("-sin(2*t)", "lead.load.angle")
    s.connect("-sin(2*t)", "pi.motor.speed")
    u = np.sin(2 * np.arange(31) / rate)
    lead = 8 * discrete([1 / 50, 1.0], [1 / 500, 1.0], rate, "foh", u)
    np.testing.assert_allclose(samples(s, "lead.u", rate), lead, rtol=1e-6, atol=1e-9)
    held = np.concatenate([[0.0], np.cumsum(u)[:-1]]) / rate
    np.testing.assert_allclose(samples(s, "pi.u", rate), 0.3 * u + 7 * held, rtol=1e-9, atol=1e-12)


MOTOR = drives.DC(R=1, L=2e-3, kt=0.05, J=1e-4, b=1e-5)


def cascade(**law: float) -> drives.Cascade:
    return drives.Cascade(current=10_000, speed=2_000, position=1_000, **law)


@pytest.mark.parametrize("observer", [300.0, 3000.0, 20_000.0])
def test_the_observer_of_a_cascade_settles_by_its_own_bandwidth(observer: float) -> None:
    s = lw.System(name="s")
    s.add(drives.Servo(cascade(observer=observer), MOTOR, name="servo"))
    s.set_initial({"servo.observer.torque": 0.4, "servo.observer.seen": 1.0})
    found = samples(s, "servo.observer.torque", 10_000, 6)
    current = samples(s, "servo.current.wanted", 10_000, 6)
    share = 1 - math.exp(-observer / 2000)
    assert found[0] == pytest.approx(0.4 * (1 - share))
    assert found[5] == pytest.approx(found[0] + share * (MOTOR.kt * current[0] - found[0]))


# -- laws for one rate -----------------------------------------------------------------------------
def _lqr() -> tuple[lw.System, Block]:
    m = lw.Mechanism("cart")
    b = m.body("b", translate="x", mass=1)
    m.force("push", m.input("F"), at=b, along="x")
    return lw.System(m), control.LQR(m, lw.linearize(m), Q=[100, 1], R=0.01, period=0.01)


MADE: dict[str, Callable[[], tuple[lw.System, Block]]] = {
    "filter": lambda: (
        lw.System(name="s"), control.TransferFunction([1], [0.1, 1], rate=100)),
    "state space": lambda: (
        lw.System(name="s"), control.StateSpace([[0.5]], [[1.0]], [[1.0]], rate=100)),
    "kalman": lambda: (
        lw.System(name="s"), control.KalmanFilter([[1.0]], [[1.0]], 0.04, 0.25, rate=100)),
    "steady kalman": lambda: (
        lw.System(name="s"), control.SteadyKalmanFilter([[1.0]], [[1.0]], 0.04, 0.25, rate=100)),
    "axis": lambda: (
        lw.System(name="s"), control.AxisController(["a"], kp=1.0, ki=0.1, kd=0.1, rate=100)),
    "cascade": lambda: (
        lw.System(name="s"),
        drives.Servo(drives.Cascade(current=100, speed=50, position=25), MOTOR)),
    "lqr": _lqr,
}  # fmt: skip


@pytest.mark.parametrize("kind", MADE)
def test_a_law_made_for_one_rate_runs_at_no_other(kind: str) -> None:
    for rate in (200, 5, sampled(period=0.013), Ticks(3)):
        s, law = MADE[kind]()
        s.base = sampled(1000).period
        with pytest.raises(BlockError, match=r"made for 100 Hz, but it is to run at .*rate"):
            s.add(law, rate=rate).set_period(s.clock().period(law.name))
    s, law = MADE[kind]()
    assert str(s.add(law).rate) == "100 Hz"
    s, law = MADE[kind]()
    s.base = sampled(1000).period
    s.add(law, rate=Ticks(10))
    assert s.phases().ticks[0].every == 10


def test_a_servo_for_another_rate_than_its_cascade_and_a_notch_that_is_too_fast_are_refused() -> (
    None
):
    with pytest.raises(BlockError, match="made for 10000 Hz, but it is to run at 1000 Hz"):
        drives.Servo(cascade(), MOTOR, rate=1000)
    with pytest.raises(BlockError, match="0 Hz"):
        drives.Servo(cascade(), MOTOR, rate=0)
    drives.Servo(cascade(notch=900.0), MOTOR)
    for notch in (1000.0, 1500.0):
        with pytest.raises(BlockError, match="half the rate"):
            drives.Servo(cascade(notch=notch), MOTOR)
    s = lw.System(name="s")
    s.add(drives.Servo(cascade(notch=900.0), MOTOR))
    s.set_parameters({"servo.controller.notch": 1500.0})
    with pytest.raises(BlockError, match="half the rate"):
        s.phases()


def test_a_law_that_learns_its_rate_and_takes_none_says_so() -> None:
    class Mine(control.PID):
        def __init__(self) -> None:
            super().__init__(2.0, kd=1.0)

    s = lw.System(name="s")
    with pytest.raises(BlockError, match=r"a Mine takes none.*rate="):
        s.add(Mine(), rate=10)
    s.add(Mine())


def test_a_block_that_reads_a_filter_by_default_finds_the_one_at_a_rate() -> None:
    smooth, reader = control.LeadLag(20, 500, name="smooth"), Block("reader")
    reader.output("o", 2 * reader.input("u"))
    reader.default_source("u", smooth, "y")
    s = lw.System(name="s")
    s.add(smooth, rate=100)
    s.add(reader)
    s.set_parameters({"smooth.u": 1.5})
    assert lw.simulate(s, until=1.0).final["reader.o"] == pytest.approx(3.0)


COUNTS: dict[str, tuple[Callable[[], Block], tuple[int, ...]]] = {
    "pid": (lambda: control.PID(2.0, ki=1.0, kd=0.5), (6, 4, 0, 0)),
    "limited pid": (lambda: control.PID(2.0, ki=1.0, kd=0.5, low=-1, high=1), (8, 5, 0, 2)),
    "lead": (lambda: drives.Servo(drives.LeadLag(8, zero=20, pole=200), rate=100), (4, 3, 0, 0)),
    "pi": (lambda: drives.Servo(drives.PI(0.1, 2.0), rate=100), (3, 2, 0, 0)),
}


@pytest.mark.parametrize("kind", COUNTS)
def test_an_exact_law_costs_no_more_than_by_eulers_rule(kind: str) -> None:
    make, wanted = COUNTS[kind]
    s = lw.System(name="s")
    s.add(make(), rate=100)
    stages = [x for t in s.phases().ticks for x in stage_counts(t.program).items()]
    counts = [(c.add, c.mul, c.call, c.select) for k, c in stages if k is not Rate.PARAMETER]
    assert tuple(np.sum(counts, axis=0)) == wanted


# -- coordinates of blocks -------------------------------------------------------------------------
@pytest.mark.parametrize("method", ["semi-implicit", "verlet"])
@pytest.mark.parametrize("seed", seeds(2, daily=1))
def test_an_oscillator_in_a_block_holds_its_energy(seed: int, method: str) -> None:
    rng = np.random.default_rng(seed)
    b, count = Block("m"), 3
    values = rng.normal(size=(count, count))
    K = values @ values.T + 20 * np.eye(count)
    pairs = [(f"v{i}", f"x{i}") for i in range(count)]
    order = rng.permutation([n for pair in pairs for n in pair])
    places = {str(n): b.state(str(n), None, float(rng.normal())) for n in order}
    for i, (v, x) in enumerate(pairs):
        b.derivative(places[x], b.intermediate(places[v]))
        b.derivative(places[v], -sum(float(K[i, j]) * places[f"x{j}"] for j in range(count)))
    s = lw.System(name="s")
    s.add(b)
    run = lw.simulate(s, until=20.0, step=0.004, method=method, every=1)
    X, V = (np.array([run[f"m.{c}{i}"] for i in range(count)]) for c in "xv")
    energy = ((V**2).sum(0) + np.einsum("it,ij,jt->t", X, K, X)) / 2
    assert energy.max() / energy.min() < 1.08
    assert energy[-500:].mean() / energy[:500].mean() == pytest.approx(1.0, abs=5e-3)


def test_the_simulated_arm_of_a_cell_goes_on_as_its_dynamics_say() -> None:
    cell = VirtualCell(read_cell("axes2"))
    period, arm, rows = 1 / 500, lw.Robot("servo-arm"), []
    cell.advance(10)
    cell.command("plane", Command("enable", 1))
    cell.advance(100)
    cell.command("plane", Command("joints", 2, (0.5, -0.8)))
    cell.advance(60)
    for _ in range(80):
        cell.advance(1)
        now = cell.latest().values
        rows.append([np.copy(now[f"plane.{what}"]) for what in ("q", "u", "current")])
    q, u, current = (np.array(column) for column in zip(*rows, strict=True))
    x = np.r_[q[0], u[0]]
    for tau in current[:60] * [4, 2]:
        found = solve_ivp(
            lambda _, x, tau=tau: np.r_[x[2:], arm.forward_dynamics(x[:2], x[2:], tau)],
            (0, period), x, rtol=1e-8, atol=1e-10,
        )  # fmt: skip
        x = found.y[:, -1]
    assert np.abs(u[60]).max() > 0.2
    np.testing.assert_allclose(q[60], x[:2], atol=3e-5)  # encoders show steps of 1e-6 and more
    np.testing.assert_allclose(u[60], x[2:], atol=5e-4)
