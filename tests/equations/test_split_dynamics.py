"""Dynamics in the background and the foreground, and symbolic dynamics against Newton-Euler."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.cli import main
from linkwright.equations.background import SplitDynamics, split_dynamics
from linkwright.equations.tree import tree_of
from linkwright.program import Program, count_operations
from tests.seeds import cases

Array = NDArray[np.float64]


class Link(NamedTuple):
    """A link that turns about an axis of its parent."""

    axis: str
    at: tuple[float, ...]
    mass: float
    com: tuple[float, ...]
    inertia: tuple[float, ...]


def planar(count: int) -> list[Link]:
    """Return the planar arm of the reference: like links, joints about z."""
    ends = [(0.5 if k else 0.0, 0.0, 0.0) for k in range(count)]
    return [Link("z", at, 1.0, (0.25, 0.0, 0.0), (0.0, 0.0, 0.02)) for at in ends]


def sixfold() -> list[Link]:
    """Return an arm of six joints about different axes."""
    rng = np.random.default_rng(3)
    rows = [(rng.uniform(-0.5, 0.5, 3), rng.uniform(-0.2, 0.2, (3,))) for _ in range(6)]
    return [
        Link(axis, tuple(at), rng.uniform(1, 5), tuple(com), tuple(rng.uniform(0.1, 0.2, 3)))
        for axis, (at, com) in zip("zyyxyx", rows, strict=True)
    ]


def arm(name: str) -> lw.Mechanism:
    """Return the mechanism of a chain of links, with gravity along -y."""
    m = lw.Mechanism(f"arm_{name}")
    last: Any = m.ground
    for k, link in enumerate(LINKS[name]):
        last = m.body(
            f"j{k}",
            parent=last,
            at=link.at,
            rotate=link.axis,
            mass=link.mass,
            com=link.com,
            inertia=link.inertia,
        )
    m.gravity(along="-y")
    return m


LINKS = {"2R": planar(2), "3R": planar(3), "6R": sixfold()}


# -- Newton and Euler ------------------------------------------------------------------------------
def newton_euler(links: list[Link], q: Array, u: Array, a: Array) -> Array:
    """Return torques by the recursion over links, in numbers (Luh, Walker and Paul 1980)."""
    w, dw, acc = np.zeros(3), np.zeros(3), np.array([0.0, 9.81, 0.0])
    rows = []
    for k, link in enumerate(links):
        axis, com, inertia = np.eye(3)["xyz".index(link.axis)], np.array(link.com), link.inertia
        cross = np.cross(np.eye(3), axis)
        turn = np.eye(3) + math.sin(q[k]) * cross + (1 - math.cos(q[k])) * cross @ cross
        acc = turn.T @ (acc + np.cross(dw, link.at) + np.cross(w, np.cross(w, link.at)))
        w, dw = turn.T @ w, turn.T @ dw
        dw = dw + axis * a[k] + np.cross(w, axis * u[k])
        w = w + axis * u[k]
        force = link.mass * (acc + np.cross(dw, com) + np.cross(w, np.cross(w, com)))
        moment = inertia * dw + np.cross(w, inertia * w) + np.cross(com, force)
        rows.append((turn, axis, force, moment))
    tau, f, n = np.zeros(len(links)), np.zeros(3), np.zeros(3)
    for k in reversed(range(len(links))):
        turn, axis, force, moment = rows[k]
        f, n = f + force, n + moment
        tau[k] = axis @ n
        f, n = turn @ f, turn @ n + np.cross(links[k].at, turn @ f)
    return tau


@pytest.mark.parametrize("name", LINKS)
def test_symbolic_dynamics_are_those_of_newton_and_euler(name: str) -> None:
    """Check 54: 2R, 3R and a 6R arm to 1e-10, by the recursion and by mass matrix and forces."""
    robot = lw.Robot(arm(name))
    for made in (robot.inverse_dynamics, robot.mass_matrix, robot.nonlinear_effects):
        before, after = count_operations(made.derived()), count_operations(made.program)
        assert 0 < after.total <= before.total
        assert after.add + after.mul == after.total  # calls are counted apart
        for kind in ("add", "mul", "call", "select"):
            assert getattr(after, kind) <= getattr(before, kind), kind
    rng = np.random.default_rng(4)
    for _ in range(20):
        q, u, a = rng.uniform(-3, 3, (3, len(LINKS[name])))
        wanted = newton_euler(LINKS[name], q, u, a)
        scale = 1 + np.abs(wanted).max()
        assert np.abs(robot.inverse_dynamics(q, u, a) - wanted).max() < 1e-10 * scale
        other = robot.mass_matrix(q) @ a + robot.nonlinear_effects(q, u)
        assert np.abs(other - wanted).max() < 1e-10 * scale


# -- the split -------------------------------------------------------------------------------------
def evaluated(split: SplitDynamics, values: dict[str, Array]) -> tuple[Array, Array]:
    """Return torques by both Programs, and by the whole one."""

    def of(made: Program) -> Array:
        return np.asarray(lw.compile(made)(*(values[port.name] for port in made.inputs)))

    values["terms"] = of(split.background)
    return of(split.foreground), of(split.whole)


@pytest.mark.parametrize(
    ("name", "speeds"),
    cases(
        [("2R", "fresh"), ("3R", "fresh"), *((n, "frozen") for n in LINKS)],
        daily=[("3R", "fresh"), (list(LINKS)[-1], "frozen")],
    ),
)
def test_background_and_foreground_do_what_the_whole_law_does(name: str, speeds: str) -> None:
    """Check 55: with terms of the same instant the split changes nothing."""
    robot = lw.Robot(arm(name))
    split = robot.split_dynamics(speeds)
    assert split.speeds == speeds
    rng = np.random.default_rng(5)
    n = len(robot.speeds)
    words = ("q", "u", "target", "target_rate", "target_acceleration", "kp", "kd")
    found, wanted = evaluated(split, {w: rng.normal(size=n) for w in words})
    assert np.abs(found - wanted).max() < 1e-10 * (1 + np.abs(wanted).max())


def test_the_foreground_of_the_puma_is_small(bare_puma: lw.Robot) -> None:
    """Check 55: at most 60 adds and 48 multiplies, and no sines; counts choose frozen speeds."""
    split = bare_puma.split_dynamics()
    front, whole = count_operations(split.foreground), count_operations(split.whole)
    assert split.speeds == "frozen"
    assert front.add <= 60
    assert front.mul <= 48
    assert front.call == 0
    assert front.total < 0.35 * whole.total
    assert len(split.names) == len(set(split.names)) == split.background.outputs[0].size


def test_counts_choose_fresh_speeds_for_short_arms() -> None:
    assert lw.Robot(arm("2R")).split_dynamics().speeds == "fresh"
    rubbed = arm("2R")
    rubbed.moment("friction", "-tanh(10*j0_dot)", on="j0", about="z")
    with pytest.raises(lw.Error, match="not quadratic in the speeds"):
        lw.Robot(rubbed).split_dynamics("fresh")
    with pytest.raises(lw.Error, match="speeds='stale' is not known"):
        split_dynamics(tree_of(arm("2R")), "stale")


# -- the controller --------------------------------------------------------------------------------
def tracking(background: float | None, speeds: str = "frozen") -> lw.Run:
    """Return the run of the reference: 2R, servo at 1 kHz."""
    m = arm("2R")
    s = lw.System(m)
    given: dict[str, Any] = {"background": background, "speeds": speeds} if background else {}
    servo = s.add(lw.control.ComputedTorque(m, kp=100, kd=20, **given), rate=1000)
    w = math.pi
    for k, (size, phase) in enumerate(((0.6, 0.0), (0.8, 1.0))):
        angle = f"({w}*t + {phase})"
        s.connect(f"{size}*sin{angle}", servo.target[k])
        s.connect(f"{size * w}*cos{angle}", servo.target_rate[k])
        s.connect(f"{-size * w**2}*sin{angle}", servo.target_acceleration[k])
    start = {"j1": 0.8 * math.sin(1), "j0_dot": 0.6 * w, "j1_dot": 0.8 * w * math.cos(1)}
    return lw.simulate(s, until=2.0, initial=start, every=1)


def error(run: lw.Run) -> float:
    """Return the largest error of a joint after half a second, rad."""
    t = run.times
    late = t >= 0.5
    wanted = {"j0": 0.6 * np.sin(math.pi * t), "j1": 0.8 * np.sin(math.pi * t + 1)}
    return max(float(np.abs(run[q] - x)[late].max()) for q, x in wanted.items())


def test_the_error_of_the_reference_grows_with_the_background_interval() -> None:
    """Check 55: 0.0005, 0.0033 and 0.019 rad at 1, 5 and 28 ms within 30 %, rising."""
    found = {ms: error(tracking(1000 / ms)) for ms in (1, 2, 5, 10, 28)}
    assert sorted(found.values()) == list(found.values())
    for ms, wanted in ((1, 0.0005), (5, 0.0033), (28, 0.019)):
        assert abs(found[ms] - wanted) < 0.3 * wanted


@pytest.mark.parametrize("speeds", ["frozen", "fresh"])
def test_a_background_at_every_instant_is_none(speeds: str) -> None:
    plain, split = tracking(None), tracking(1000.0, speeds)
    assert np.abs(plain["j1"] - split["j1"]).max() < 1e-9


def test_rates_that_do_not_fit_are_refused() -> None:
    m = arm("2R")
    s = lw.System(m)
    servo = lw.control.ComputedTorque(m, kp=100, kd=20, background=300)
    with pytest.raises(lw.Error, match="not a multiple of its background's 300 Hz"):
        s.add(servo, rate=1000)
    with pytest.raises(lw.Error, match="works at instants"):
        s.add(servo)
    s.add(servo, rate=900)
    with pytest.raises(lw.Error, match="no linear model over one instant"):
        lw.linearize(s)


def test_torques_that_do_not_act_are_the_same_torques() -> None:
    m = arm("2R")
    m.moment("drive", m.input("T", unit="N*m"), on="j0", about="z")
    s = lw.System(m)
    law = s.add(lw.control.ComputedTorque(m, 100, 20, joints=["j0"], acts=False), rate=1000)
    s.connect("0.5*sin(t)", law.target[0])
    s.connect(law.tau[0], "T")
    other = lw.System(arm("2R"))
    same = lw.control.ComputedTorque(other.mechanism, 100, 20, joints=["j0"])
    other.connect("0.5*sin(t)", other.add(same, rate=1000).target[0])
    one, two = (lw.simulate(x, until=0.5).final["j0"] for x in (s, other))
    assert one == pytest.approx(two, abs=1e-9)


def test_the_command_shows_both_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", "ops", "pendulum", "--split"]) == 0
    assert "foreground" in capsys.readouterr().out
    assert main(["analyze", "ops", "pendulum", "--split", "--json"]) == 0
    info = json.loads(capsys.readouterr().out)
    assert (info["foreground"]["call"], info["background"]["call"]) == (0, 1)
    for name in ("background", "foreground", "whole"):  # counts by class
        assert set(info[name]) == {"add", "mul", "call", "select"}
    assert (info["terms"], info["speeds"]) == (["b[0]"], "frozen")
