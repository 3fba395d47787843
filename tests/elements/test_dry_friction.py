"""Dry friction in runs: what stands stands, what slides slides as the law says, by every method.

Each joint kind with each law (plain, and with Stribeck's dip, the joint's own and the element's),
light and heavy, by every method, at several rates: against closed forms, and against event-driven
solutions of the complementarity problem, which are written out here with SciPy.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import linkwright as lw
from linkwright.elements import Friction
from linkwright.simulation.native import dry_friction
from linkwright.simulation.native.methods import METHODS
from tests.seeds import cases, seeds, seldom

Array = NDArray[np.float64]
FIXED = [m.name for m in METHODS.values() if not m.adaptive]
ADAPTIVE = [m.name for m in METHODS.values() if m.adaptive]
EACH_SORT = ["dopri5", "rodas4", "semi-implicit"]
NAMES = ("turn", "slide", "stribeck_turn", "stribeck_slide")
COULOMB, STATIC, DIP = 2.0, 3.0, 0.1


def options(method: str, step: float) -> dict[str, Any]:
    return {"method": method} if METHODS[method].adaptive else {"method": method, "step": step}


@cache
def joints() -> lw.System:
    """Joints of two kinds with two laws each, with loads and inertias that are parameters."""
    m = lw.Mechanism("joints")
    bodies = {
        n: m.body(n, rotate="z", mass=1, inertia=("J", "J", "J"))
        if n.endswith("turn")
        else m.body(n, translate="x", mass="J")
        for n in NAMES
    }
    for n, b in bodies.items():
        if n.endswith("turn"):
            m.moment(f"load {n}", f"load_{n}", on=b, about=m.z)
        else:
            m.force(f"load {n}", f"load_{n}", at=b, along=m.x)
    loads: dict[str, Any] = {f"load_{n}": 0.0 for n in NAMES}
    m.defaults(J=1.0, **loads)
    m.passive(bodies["turn"], friction=COULOMB)
    m.passive(bodies["slide"], friction=COULOMB)
    s = lw.System(m)
    for n in NAMES[2:]:
        law = Friction(m, n, coulomb=COULOMB, static=STATIC, stribeck=DIP, name=f"law_{n}")
        s.add(law)
    return s


@pytest.mark.parametrize("method", cases(METHODS, daily=EACH_SORT))
@pytest.mark.parametrize("inertia", [1e-6, 1.0, 1e4])
def test_a_joint_stands_exactly_still_below_break_away(method: str, inertia: float) -> None:
    for seed in seeds(1):
        chance = np.random.default_rng(seed)
        most = np.array([COULOMB, COULOMB, STATIC, STATIC])
        loads = most * chance.uniform(0.9, 0.999, 4) * chance.choice([-1, 1], 4)
        values = {"J": inertia} | {f"load_{n}": x for n, x in zip(NAMES, loads, strict=True)}
        for step in (0.1, 1e-3):
            run = lw.simulate(joints(), 0.5, parameters=values, **options(method, step))
            for n in NAMES:
                assert np.all(run[n] == 0.0), n
                assert np.all(run[f"{n}_dot"] == 0.0), n
            if METHODS[method].adaptive:
                break


@cache
def stribeck(load: float, inertia: float, until: float) -> Array:
    """Place and speed of a joint with Stribeck's dip that a load moves from rest."""

    def rates(t: float, x: Any) -> Any:
        level = COULOMB + (STATIC - COULOMB) * np.exp(-((x[1] / DIP) ** 2))
        return [x[1], (load - level) / inertia]

    return np.asarray(
        solve_ivp(rates, (0, until), [0, 0], "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("inertia", [1e-3, 1e2])
def test_a_joint_slides_as_the_law_says_above_break_away(method: str, inertia: float) -> None:
    until, load = 0.4 * np.sqrt(inertia), 3.2
    values = {"J": inertia} | {f"load_{n}": load for n in NAMES}
    run = lw.simulate(joints(), until, parameters=values, **options(method, until / 4000))
    a = (load - COULOMB) / inertia
    exact = np.array([a * until**2 / 2, a * until])
    adaptive = METHODS[method].adaptive
    for n in NAMES[:2]:
        got = np.array([run[n][-1], run[f"{n}_dot"][-1]])
        np.testing.assert_allclose(got, exact, rtol=1e-8 if adaptive else 3e-4)
    for n in NAMES[2:]:
        got = np.array([run[n][-1], run[f"{n}_dot"][-1]])
        found = stribeck(load, inertia, until)
        np.testing.assert_allclose(got, found, rtol=1e-7 if adaptive else 3e-3)


@pytest.mark.parametrize("method", METHODS)
def test_a_joint_comes_to_rest_where_the_law_says_and_makes_no_energy(method: str) -> None:
    inertia, speed = 0.05, 1.0
    start = {f"{n}_dot": speed * (-1) ** i for i, n in enumerate(NAMES)}
    run = lw.simulate(
        joints(), 0.1, parameters={"J": inertia}, initial=start, **options(method, 1e-4)
    )
    place = inertia * speed**2 / (2 * COULOMB)
    adaptive = METHODS[method].adaptive
    for i, n in enumerate(NAMES):
        assert run[f"{n}_dot"][-1] == 0.0
        assert np.all(np.diff(np.abs(run[f"{n}_dot"])) <= 1e-15)
        if i < 2:
            expected = place * (-1) ** i
            assert run[n][-1] == pytest.approx(expected, rel=1e-9 if adaptive else 5e-3)
    assert np.all(np.diff(run["energy.kinetic"]) <= 1e-15)
    assert not adaptive or run.steps < 2000  # dop853 ends its steps at 1,001 samples


# -- coupled joints --------------------------------------------------------------------------------
LENGTH, MASSES, TURNS = (0.5, 0.4), (2.0, 0.7), (0.02, 0.01)


@pytest.mark.parametrize("method", ["dop853", "dopri5", "rodas4"])
def test_a_joint_may_come_to_rest_at_the_very_instant_of_a_sample(method: str) -> None:
    """Whether rounding puts that before the sample or behind it."""
    m = lw.Mechanism("crate")
    crate = m.body("c", translate="x", mass=1)
    m.force("push", "P", at=crate, along=m.x)
    m.passive(crate, friction="F")
    m.defaults(F=1.0, P=0.0)
    s = lw.System(m)
    for F, P, v in ((150, 145, 2.5), (150, 145, 2.6), (300, 290, 5), (3000, 2900, 50), (3, 1, 1)):
        rest = v / (F - P)
        values, initial = {"F": F, "P": P}, {"c_dot": v}
        run = lw.simulate(
            s, 2 * rest, step=rest / 50, parameters=values, initial=initial, method=method
        )
        assert run.final["c"] == pytest.approx(v * rest / 2, rel=1e-9)
        assert run.final["c_dot"] == 0


@cache
def arm() -> lw.System:
    """Two links in a row that hang in the field of gravity, each joint with dry friction."""
    m = lw.Mechanism("arm")
    m.gravity("-y")
    one = m.body("one", rotate="z", mass=MASSES[0], com=(LENGTH[0] / 2, 0, 0), inertia=TURNS[0])
    two = m.body(
        "two",
        parent=one,
        at=(LENGTH[0], 0, 0),
        rotate="z",
        mass=MASSES[1],
        com=(LENGTH[1] / 2, 0, 0),
        inertia=TURNS[1],
    )
    m.moment("drive one", "A1*sin(w1*t)", on=one, about=m.z)
    m.moment("drive two", "A2*sin(w2*t)", on=two, about=m.z, reaction=one)
    m.passive(one, friction="F1")
    m.passive(two, friction="F2")
    m.defaults(A1=0.0, A2=0.0, w1=1.0, w2=1.0, F1=1.0, F2=1.0)
    return lw.System(m)


def matrices(q: Array, u: Array) -> tuple[Array, Array]:
    """The mass matrix of the arm, and the efforts that hold it in motion without acceleration."""
    l1, r1, r2 = LENGTH[0], LENGTH[0] / 2, LENGTH[1] / 2
    (m1, m2), (i1, i2), g = MASSES, TURNS, 9.81
    c = m2 * l1 * r2 * np.cos(q[1])
    s = m2 * l1 * r2 * np.sin(q[1])
    corner = i2 + m2 * r2**2
    M = np.array(
        [[i1 + m1 * r1**2 + m2 * l1**2 + corner + 2 * c, corner + c], [corner + c, corner]]
    )
    low = m2 * g * r2 * np.cos(q[0] + q[1])
    weight = np.array([(m1 * r1 + m2 * l1) * g * np.cos(q[0]) + low, low])
    return M, weight + s * np.array([-2 * u[0] * u[1] - u[1] ** 2, u[0] ** 2])


class EventDriven:
    """The arm with friction, from one change of what sticks to the next."""

    def __init__(self, values: dict[str, float]) -> None:
        self.v = values
        self.F = np.array([values["F1"], values["F2"]])

    def drive(self, t: float) -> Array:
        v = self.v
        return np.array([v["A1"] * np.sin(v["w1"] * t), v["A2"] * np.sin(v["w2"] * t)])

    def loaded(self, t: float, x: Array, modes: tuple[int, int]) -> tuple[Array, Array]:
        """Accelerations and friction efforts where modes are -1, 0 (sticks) and 1."""
        M, bias = matrices(x[:2], x[2:])
        right = self.drive(t) - bias
        m = np.array(modes)
        a, f = np.zeros(2), -m * self.F
        slips = m != 0
        a[slips] = np.linalg.solve(M[np.ix_(slips, slips)], (right + f)[slips])
        f[~slips] = (M @ a - right)[~slips]
        return a, f

    def modes(self, t: float, x: Array) -> tuple[int, int]:
        """The modes that contradict nothing, of all nine."""
        for one in (0, 1, -1):
            for two in (0, 1, -1):
                m = (one, two)
                a, f = self.loaded(t, x, m)
                good = True
                for i in range(2):
                    u = x[2 + i]
                    if u != 0:
                        good &= m[i] == np.sign(u)
                    elif m[i] == 0:
                        good &= bool(abs(f[i]) <= self.F[i] * (1 + 1e-10))
                    else:
                        good &= bool(a[i] * m[i] > 0)
                if good:
                    return m
        raise AssertionError("no modes")

    def run(self, x: Array, until: float) -> tuple[Array, list[tuple[int, int]]]:
        t, seen = 0.0, list[tuple[int, int]]()
        while t < until:
            assert len(seen) < 1000, "the solution does not come to an end"
            modes = self.modes(t, x)
            seen.append(modes)
            events = []
            for i in range(2):
                stop: Any
                if modes[i]:
                    stop = lambda s, y, i=i, m=modes: m[i] * y[2 + i] + 1e-13  # noqa: E731
                else:
                    stop = lambda s, y, i=i, m=modes: (  # noqa: E731
                        self.F[i] * (1 + 1e-9) - abs(self.loaded(s, y, m)[1][i])
                    )
                stop.direction = -1
                stop.terminal = True
                events.append(stop)

            def rates(s: float, y: Any, m: tuple[int, int] = modes) -> Any:
                return [*y[2:], *self.loaded(s, y, m)[0]]

            found = solve_ivp(
                rates, (t, until), x, "DOP853", rtol=1e-11, atol=1e-12, events=events, max_step=0.02
            )
            t, x = found.t[-1], found.y[:, -1].copy()
            for i in range(2):
                if found.status == 1 and (modes[i] == 0 or len(found.t_events[i])):
                    x[2 + i] = 0.0
        return x, seen


def drives(seed: int) -> dict[str, float]:
    chance = np.random.default_rng(seed)
    return {
        "A1": chance.uniform(3, 6),
        "A2": chance.uniform(0.5, 1.2),
        "w1": chance.uniform(5, 8),
        "w2": chance.uniform(9, 14),
        "F1": chance.uniform(1.5, 3.0),
        "F2": chance.uniform(0.6, 1.2),
    }


@cache
def solved(seed: int) -> Array:
    end, seen = EventDriven(drives(seed)).run(np.array([-1.4, 0.3, 0.0, 0.5]), 1.5)
    assert len(set(seen)) > 3, "the drives move too little"
    return end


@pytest.mark.parametrize("method", cases(METHODS, daily=EACH_SORT))
def test_coupled_joints_stick_and_slide_as_complementarity_says(method: str) -> None:
    for seed in seeds(2):
        start = {"one": -1.4, "two": 0.3, "one_dot": 0.0, "two_dot": 0.5}
        run = lw.simulate(
            arm(), 1.5, initial=start, parameters=drives(seed), every=1500, **options(method, 1e-4)
        )
        got = np.array([run.final[n] for n in ("one", "two", "one_dot", "two_dot")])
        error = np.max(np.abs(got - solved(seed)))
        assert error < (1e-6 if METHODS[method].adaptive else 1e-2), error


def test_samples_inside_of_steps_know_where_friction_jumps() -> None:
    """A joint at rest is at rest at every sample, also right after it stopped."""
    run = lw.simulate(joints(), 1.0, parameters={"J": 0.05}, initial={"turn_dot": 1.0}, every=1)
    t, u = run.times, run["turn_dot"]
    expected = np.maximum(1.0 - COULOMB / 0.05 * t, 0)
    np.testing.assert_allclose(u, expected, atol=1e-9)


# -- other places ----------------------------------------------------------------------------------
CHAIN = """<robot name="chain"><link name="base"/>{links}</robot>"""
LINK = """<link name="l{k}"><inertial><origin xyz="0.1 0 {half}"/><mass value="{mass}"/>
<inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j{k}" type="revolute"><parent link="{parent}"/><child link="l{k}"/>
<origin xyz="0 0 {length}"/><axis xyz="{axis}"/>
<limit lower="-3" upper="3" effort="9" velocity="9"/>
<dynamics damping="0.1" friction="{friction}"/></joint>"""


def chain(path: Path, friction: float, count: int = 4) -> Path:
    """Write an arm from a heavy shoulder to a light wrist."""
    links = []
    for k in range(count):
        mass = 10.0 / 5**k
        links.append(
            LINK.format(
                k=k,
                parent=f"l{k - 1}" if k else "base",
                length=0.3 if k else 0.1,
                half=0.15,
                mass=mass,
                i=mass * 0.01,
                axis=("0 1 0", "0 0 1", "1 0 0")[k % 3],
                friction=friction / 5**k,
            )
        )
    path.write_text(CHAIN.format(links="".join(links)))
    return path


@pytest.mark.parametrize(
    ("method", "count"),
    cases([("semi-implicit", 4), ("dopri5", 4), ("dopri5", 3)], daily=[("dopri5", 3)]),
)
def test_an_arm_from_heavy_to_light_is_held_by_its_friction(
    tmp_path: Path, method: str, count: int
) -> None:
    robot = lw.load(chain(tmp_path / "chain.urdf", 120.0, count), friction=True)
    start = {f"j{k}": 0.3 * (-1) ** k for k in range(count)}
    run = lw.simulate(lw.System(robot), 0.2, initial=start, **options(method, 1e-3))
    for k in range(count):
        assert np.all(run[f"j{k}"] == start[f"j{k}"])
        assert np.all(run[f"j{k}_dot"] == 0.0)


@seldom(daily="test_an_arm_from_heavy_to_light_is_held_by_its_friction")
def test_a_laboratory_stands_still_where_friction_holds(tmp_path: Path) -> None:
    lab = lw.Lab(str(chain(tmp_path / "chain.urdf", 30.0, 2)))
    lab.mode("invdyn")
    lab.run(0.3)
    for _ in range(4):
        lab.run(1 / 960)
        assert np.all(np.abs(lab.state.u) < 1e-9)
    lab.close()


@seldom(daily="test_an_arm_from_heavy_to_light_is_held_by_its_friction")
def test_the_arm_of_a_cell_stands_behind_its_brakes() -> None:
    from linkwright.server.arm_blocks import ArmPlant
    from linkwright.server.cell_file import read_cell

    cell = read_cell("cell1")
    arm = next(a for a in cell.arms if a.name == "ref")
    s = lw.System(name="s")
    s.add(ArmPlant(arm))
    run = lw.simulate(s, 0.2, method="semi-implicit", step=1 / cell.rate, every=1)
    for i, start in enumerate(arm.start):
        assert np.all(run[f"plant.q{i}"] == start)
        assert np.all(run[f"plant.u{i}"] == 0.0)


def test_a_brake_holds_the_shaft_of_a_motor() -> None:
    from linkwright import drives

    for gear in (drives.Rigid(50), drives.Elastic(50, stiffness=500.0, damping=0.5)):
        m = lw.Mechanism("m")
        load = m.body("load", rotate="z", mass=1, inertia=0.4)
        m.moment("push", "P", on=load, about=m.z)
        m.defaults(P=12.0)
        s = lw.System(m)
        motor = drives.DC(1.0, 1e-3, 0.05, 2e-5, 1e-5, coulomb=0.01)
        brake = drives.Brake(0.5, closed=True)
        s.add(drives.Drive(m, "load", drives.Ideal(), motor, gear, brake=brake))
        run = lw.simulate(s, 1.0)
        assert np.all(run["drive.motor.speed"] == 0.0)
        rigid = isinstance(gear, drives.Rigid)
        assert (abs(run["load"]).max() == 0.0) == rigid
        drag = run["drive.brake.drag"][-1] * (1 + 0.01 / 0.5)  # the motor's own takes its share
        assert not rigid or drag == pytest.approx(12.0 / 50)


@pytest.mark.parametrize("method", cases(METHODS, daily=["dopri5", "semi-implicit"]))
def test_events_of_one_run_leave_the_friction_of_its_neighbors_alone(method: str) -> None:
    """Lanes of a batch whose events fall within different steps, each against the run alone."""
    m = lw.Mechanism("m")
    a = m.body("a", translate="x", mass=1)
    b = m.body("b", parent=a, rotate="y", mass=0.5, com=(0, 0, -0.3), inertia=0.01)
    m.gravity()
    m.force("push", "P", at=a, along=m.x)
    m.defaults(P=0.0)
    m.passive(a, friction=3.0)
    m.passive(b, friction=0.02)
    s = lw.System(m)
    gate = lw.Element("gate", m)
    speed = gate.expr("b_dot")
    gate.event("passed", "a - 0.2", resets={speed: 0.9 * speed})
    s.add(gate)
    pushes = np.array([0.0, *np.random.default_rng(3).uniform(3.5, 7.0, 4)])
    start, more = {"b": 0.4}, options(method, 2e-3)
    batch = lw.simulate_batch(s, 1.0, parameters={"P": pushes}, initial=start, **more)
    assert set(batch.reasons) == {""}
    for k, push in enumerate(pushes):
        alone = lw.simulate(s, 1.0, parameters={"P": push}, initial=start, **more)
        assert batch.event_counts[k, 0] == len(alone.events)
        for name in ("a", "a_dot", "b", "b_dot"):
            assert batch[name][k] == pytest.approx(alone.final[name], abs=1e-9)


@pytest.mark.parametrize("method", cases(["dop853", "dopri5"], daily=["dopri5"]))
def test_joints_that_stick_are_torn_loose_when_another_hits_its_stop(
    tmp_path: Path, method: str
) -> None:
    """The load of an end stop jumps: a run goes on behind it, as small fixed steps say."""
    file = chain(tmp_path / "chain.urdf", 2.0, 3)
    file.write_text(file.read_text().replace('"-3"', '"-0.4"').replace('"3"', '"0.4"'))
    system = lw.System(lw.load(file, friction=True))
    reached = []
    for seed in seeds(4, daily=1):
        start = np.random.default_rng(seed).uniform(-0.3, 0.3, 3)
        initial = {f"j{k}": float(x) for k, x in enumerate(start)}
        fine = lw.simulate(system, 0.4, initial=initial, method="semi-implicit", step=4e-6)
        run = lw.simulate(system, 0.4, initial=initial, method=method)
        assert run.times[-1] == 0.4
        reached.append(max(np.max(np.abs(fine[f"j{k}"])) for k in range(3)))
        for k in range(3):
            assert run[f"j{k}"][-1] == pytest.approx(fine[f"j{k}"][-1], abs=1e-3), k
    assert max(reached) > 0.4, "no joint hits its stop"


# -- many joints -----------------------------------------------------------------------------------
def row(count: int, seed: int) -> tuple[lw.System, Array, Array]:
    """Slides in a row, each on the one before, with dry friction; their masses and frictions."""
    chance = np.random.default_rng(seed)
    masses, levels = chance.uniform(0.5, 2.0, count), chance.uniform(0.5, 1.5, count)
    m = lw.Mechanism("row")
    bodies: list[Any] = []
    for i, mass in enumerate(masses):
        parent = {"parent": bodies[-1]} if bodies else {}
        bodies.append(m.body(f"b{i}", translate="x", mass=float(mass), **parent))
    m.force("push", "A*sin(w*t)", at=bodies[-1], along=m.x)
    m.defaults(A=4.0, w=9.0)
    for body, level in zip(bodies, levels, strict=True):
        m.passive(body, friction=float(level))
    return lw.System(m), masses, levels


def projected(masses: Array, levels: Array, step: float, count: int) -> Array:
    """Speeds after some steps of Moreau's rule, by projected Gauss-Seidel sweeps to convergence."""
    k = len(masses)
    carried = np.cumsum(masses[::-1])[::-1]
    inverse = np.linalg.inv([[carried[max(i, j)] for j in range(k)] for i in range(k)])
    W, u = step * inverse * levels, np.zeros(k)
    for n in range(count):
        free = u + step * inverse @ np.full(k, 4.0 * np.sin(9.0 * n * step))
        v = np.zeros(k)
        for _ in range(20000):
            before = v.copy()
            for i in range(k):
                v[i] = np.clip(v[i] + (free[i] - W[i] @ v) / W[i, i], -1, 1)
            if np.abs(v - before).max() < 1e-15:
                break
        u = free - W @ v
        u[np.abs(v) < 1] = 0.0
    return u


@pytest.mark.parametrize("seed", seeds(2, daily=1))
def test_friction_of_many_joints_is_solved_column_by_column(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dry_friction, "FEW", 3)
    system, masses, levels = row(5, seed)
    step, count = 5e-3, 40
    wanted = projected(masses, levels, step, count)
    assert 0 < np.count_nonzero(wanted) < 5
    for method in ("semi-implicit", "rk4"):
        run = lw.simulate(system, step * count, method=method, step=step)
        got = np.array([run.final[f"b{i}_dot"] for i in range(5)])
        np.testing.assert_allclose(got, wanted, atol=1e-10 if method != "rk4" else 0.05)


def test_more_frictions_than_can_be_solved_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dry_friction, "MOST", 3)
    system, *_ = row(4, 77)
    with pytest.raises(lw.Error, match=r"4 dry frictions are coupled .* at most 3 .*smoothing"):
        lw.simulate(system, 0.1, method="semi-implicit", step=0.01)
