"""Every combination of drive parts: it runs and accounts for its energy, or is refused in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq, root

import linkwright as lw
from linkwright import drives
from linkwright.cli import main
from linkwright.elements.drives.amplifiers import Amplifier
from linkwright.elements.drives.controllers import Controller
from linkwright.elements.drives.loads import DriveLoad
from linkwright.elements.drives.matrices import UPDATES
from linkwright.elements.drives.motors import Motor
from linkwright.elements.drives.parts import DriveError
from linkwright.elements.drives.registry import DRIVES, parts_of
from linkwright.elements.drives.trains import Train
from tests.elements.test_drive_battery import EXAMPLES, MOTOR, chain_of
from tests.seeds import cases, examples, seeds, seldom

AMPLIFIERS = parts_of(Amplifier)
MOTORS = parts_of(Motor)
PARTS: dict[str, Any] = dict(EXAMPLES)
LINEAR: dict[str, Any] = {
    "CurrentLoop": drives.CurrentLoop(2, kp=4, ki=2000),
    "Ideal": drives.Ideal(10),
    "Lag": drives.Lag(10, 1e-3),
    "DC": MOTOR,
    "Elastic": drives.Elastic(50, stiffness=500, damping=2),
    "Rigid": drives.Rigid(50),
    "Pendulum": drives.Pendulum(0.5, mass=2, length=0.3, b=0.1, linear=True),
    "Cascade": drives.Cascade(10_000, 2_000, 1_000),
}
"""Parts that have matrices, beside those that have not."""


def rate_of(system: lw.System) -> Any:
    """Return the rates of a System's states as a function of some of them, by name."""
    f = system.phases()
    kernel = lw.compile(f.derivative, backend="python")
    d, p, w = (np.array([s.value for s in signals]) for signals in (f.d, f.p, f.w))
    names = [s.name for s in f.x]

    def rate(states: dict[str, float]) -> dict[str, float]:
        x = np.array([states.get(s.name, s.value) for s in f.x])
        return dict(zip(names, kernel.scalar(x, d, p, w, np.array([0.0])), strict=True))

    return rate


def random_gear(random: np.random.Generator) -> dict[str, Any]:
    """Return the losses of a gear, of which those that are left out are many."""
    found: dict[str, Any] = {"efficiency": random.uniform(0.3, 1.0), "creep": 0.5}
    if random.random() < 0.7:
        found["back_efficiency"] = random.choice([0.0, random.uniform(0.05, 1.0)])
    if random.random() < 0.5:
        found |= {"drag": random.uniform(0, 0.01), "viscous": random.uniform(0, 1e-4)}
    return found


STIFF, SOFTER = 1e10, 1e7
"""Of trains that are all but rigid, N*m/rad."""


# -- a rigid train is a stiff one ------------------------------------------------------------------
@pytest.mark.parametrize("seed", seeds(4, daily=1))
@pytest.mark.parametrize("motor", MOTORS)
def test_a_rigid_train_is_the_limit_of_stiff_ones(motor: type[Motor], seed: int) -> None:
    """The twist of a stiff train at which both shafts go on together, found apart from the product,
    gives the acceleration of a rigid one: driving, driven and at rest, with each amplifier."""
    random = np.random.default_rng([seed, MOTORS.index(motor)])
    own = PARTS[motor.__name__]
    assert isinstance(own, Motor)
    known = [k for k in AMPLIFIERS if (k, motor) != (drives.CurrentLoop, drives.TorqueSource)]
    amplifier = PARTS[known[seed % len(known)].__name__]
    load = PARTS[random.choice(["Inertia", "Pendulum"])]
    losses, n = random_gear(random), float(random.uniform(5, 80) * random.choice([-1, 1]))
    rates = []
    for train in (drives.Rigid(n, **losses), drives.Elastic(n, STIFF, **losses)):
        s = lw.System(name="s")
        made = drives.Chain(None, amplifier, own, train, replace(load, J=own.J * n**2), name="c")
        member = s.add(made)
        for k, axis in enumerate(own.axes):
            s.connect(0.7 - 0.3 * k, member[f"u{axis}"])
        rates.append(rate_of(s))
    for speed in (0.0, *random.normal(size=3)):
        angle = float(random.uniform(-0.05, 0.05))
        states = {"c.load.angle": angle, "c.load.speed": speed, "c.thermal.winding": 60.0}
        states |= {f"c.motor.i{axis}": float(4 * random.normal()) for axis in own.axes}
        together = states | {"c.motor.speed": n * speed}

        def apart(twist: float, at: dict[str, float] = together, angle: float = angle) -> float:
            found = rates[1](at | {"c.motor.angle": n * (angle + twist)})
            return float(found["c.motor.speed"] / n - found["c.load.speed"])

        most = 1e3 * n**2 * own.J * 100 / STIFF
        twist = brentq(apart, -most, most, xtol=1e-18, rtol=1e-14)
        stiff = rates[1](together | {"c.motor.angle": n * (angle + twist)})["c.load.speed"]
        rigid = rates[0](states)["c.load.speed"]
        assert rigid == pytest.approx(stiff, rel=1e-4, abs=1e-5), (speed, losses)


@pytest.mark.parametrize("seed", seeds(4, daily=1))
def test_rigid_trains_on_an_arm_are_the_limit_of_stiff_ones(seed: int) -> None:
    """With several joints each torque depends on the signs of all."""
    random = np.random.default_rng(seed)
    count = 1 + seed % 3
    names = [f"q{k}" for k in range(count)]
    losses = [random_gear(random) for _ in names]
    ratios = random.uniform(5, 60, count) * random.choice([-1, 1], count)
    motors = [drives.TorqueSource(1.0, J=10 ** random.uniform(-5, -3), b=1e-5) for _ in names]
    gains = random.normal(size=count)
    rates = []
    for rigid in (True, False):
        m = lw.Mechanism("m")
        body = m.ground
        for k, name in enumerate(names):
            at = (0.4 if k else 0, 0, 0)
            body = m.body(name, parent=body, rotate="yxz"[k], at=at, mass=1, com=(0.2, 0.1, 0),
                          inertia=0.01)  # fmt: skip
        m.gravity("-z")
        s = lw.System(m)
        for k, name in enumerate(names):
            n, lost = float(ratios[k]), losses[k]
            train = drives.Rigid(n, **lost) if rigid else drives.Elastic(n, SOFTER, **lost)
            drive = drives.Drive(m, name, drives.Ideal(), motors[k], train)
            s.connect(gains[k], s.add(drive, name=f"d{k}").u)
        rates.append(rate_of(s))
    for _ in range(4):
        q, u = random.normal(size=(2, count)) * [[1], [random.choice([0.0, 1.0, 3.0])]]
        states = dict(zip(names, q, strict=True))
        states |= {f"{name}_dot": v for name, v in zip(names, u, strict=True)}
        found = rates[0](states)

        def stiff(twist: Any, states: dict[str, float] = states, q: Any = q, u: Any = u) -> Any:
            more = {f"d{k}.motor.angle": ratios[k] * (q[k] + twist[k] / SOFTER)
                    for k in range(count)}  # fmt: skip
            more |= {f"d{k}.motor.speed": ratios[k] * u[k] for k in range(count)}
            return rates[1](states | more)

        def apart(twist: Any, stiff: Any = stiff) -> list[float]:
            f = stiff(twist)
            return [f[f"d{k}.motor.speed"] / ratios[k] - f[f"q{k}_dot"] for k in range(count)]

        for size in (1e-3, 1e-4, 1e-2, 1e-5, 1e-1, 1.0):  # one of these leads to the root
            first = size * random.normal(size=count)
            solved = root(apart, first, method="hybr", options={"eps": 1e-4})
            if np.abs(solved.fun).max() < 1e-4:
                break
        else:
            pytest.fail("no oracle")
        wanted = stiff(solved.x)
        for name in names:
            assert found[f"{name}_dot"] == pytest.approx(wanted[f"{name}_dot"], rel=1e-4, abs=1e-3)


def test_a_rigid_train_loses_what_its_teeth_transmit_and_no_more() -> None:
    """T/(n eta) + n J a is what the motor gives, in closed form, by a chain and by a joint."""
    torque, n, eta, rotor, load = 0.1, 50.0, 0.7, 2e-4, 0.5
    wanted = torque / (load / (n * eta) + n * rotor)
    train, motor = drives.Rigid(n, efficiency=eta, creep=1e-4), drives.TorqueSource(1.0, J=rotor)
    s = lw.System(name="s")
    s.add(drives.Chain(None, drives.Ideal(), motor, train, drives.Inertia(load), ledger=True))
    s.connect(torque, "joint.u")
    m = lw.Mechanism("m")
    m.body("rod", rotate="z", mass=1, inertia=load)
    t = lw.System(m)
    t.connect(torque, t.add(drives.Drive(m, "rod", drives.Ideal(), motor, train, ledger=True)).u)
    for system, speed, member in ((s, "joint.load.speed", "joint"), (t, "rod_dot", "drive")):
        run = lw.simulate(system, 1.0, tolerance=1e-9)
        assert run.final[speed] == pytest.approx(wanted, rel=1e-6)
        assert np.abs(run[f"{member}.energy.missing"]).max() < 1e-9
        if member == "drive":
            assert np.abs(run.energies().imbalance).max() < 1e-6 * run["energy.kinetic"].max()


def test_a_rotor_on_a_joint_with_several_coordinates_is_refused() -> None:
    m = lw.Mechanism("m")
    m.body("b", translate="xy", mass=1)
    parts = drives.Ideal(), drives.TorqueSource(1.0, J=1e-2), drives.Rigid(10)
    with pytest.raises(lw.Error, match="several coordinates"):
        drives.Drive(m, "b.x", *parts)


# -- every combination -----------------------------------------------------------------------------
HOLDERS = ("chain", "drive", "servo on a chain", "servo on a drive")
SENSORS: dict[str, dict[str, lw.Block]] = {
    "none": {},
    "encoder": {"motor.angle": drives.RotaryEncoder(4096, rate=1000)},
    "resolver": {"motor.angle": drives.Resolver(14, rate=1000)},
    "current": {"motor.i": drives.CurrentSensor(50, 14, rate=10_000)},
}


def test_every_kind_of_the_registry_is_in_a_combination() -> None:
    beside = {"Battery", "CoupledDrives", "DCBus"}  # their own tests
    made = {type(b).__name__ for group in SENSORS.values() for b in group.values()}
    assert {k.name for k in DRIVES} == made | beside | {"Chain", "Drive", "Servo"}


def drawn(base: type[Any], random: np.random.Generator) -> Any:
    """Return one part of a kind: an example, or one that has matrices."""
    name = random.choice([k.__name__ for k in parts_of(base)])
    return (PARTS[name], LINEAR.get(name, PARTS[name]))[random.integers(2)]


def combined(random: np.random.Generator) -> tuple[str, lw.System, dict[str, Any]]:
    """Return a System with one random drive, or raise what refuses it."""
    controller = drawn(Controller, random)
    amplifier, motor = drawn(Amplifier, random), drawn(Motor, random)
    train, load = drawn(Train, random), drawn(DriveLoad, random)
    holder, update = random.choice(HOLDERS), random.choice(["", *UPDATES])
    sensors = SENSORS[random.choice(list(SENSORS))]
    brake = replace(PARTS["Brake"], closed=True) if random.random() < 0.2 else None
    m = lw.Mechanism("m")
    m.body("rod", rotate="z", mass=2, com=(0.3, 0, 0), inertia=0.3)
    s = lw.System(m) if "drive" in holder else lw.System(name="s")
    law = None if "servo" in holder else controller
    more: dict[str, Any] = {"brake": brake, "ledger": True}
    if "chain" in holder:
        more |= {"update": update, "rate": 20_000} if update and law is not None else {}
        made: Any = drives.Chain(law, amplifier, motor, train, load, name="d", **more)
    else:
        made = drives.Drive(m, "rod", amplifier, motor, train, controller=law, name="d", **more)
    if law is not None:
        member = s.add(made, name="d")
    else:
        rate = controller.rate or 5000
        servo = drives.Servo(controller, motor, train, inertia=0.5, rate=rate)
        _, member = drives.attach(s, made, servo, "d", sensors)
    s.connect(50.0 if member.reference.data.unit == "rad/s" else 0.1, member.reference)
    told = f"{holder} {update}: {controller} {amplifier} {motor} {train} {load} {list(sensors)}"
    return told, s, more


def test_every_combination_of_parts_is_made_or_refused_in_words() -> None:
    """Never an error of the inside: what cannot be meant is a DriveError with a number."""
    codes: dict[str, int] = {}
    tried = seeds(250, daily=100)
    for seed in tried:
        try:
            combined(np.random.default_rng([seed, 1]))
        except DriveError as error:
            codes[error.code or "none"] = codes.get(error.code or "none", 0) + 1
    assert 0.24 < sum(codes.values()) / len(tried) < 0.88, codes
    assert {"R402", "R413", "R421", "R424"} <= set(codes)
    assert "none" not in codes


def test_what_is_made_runs_and_accounts_for_its_energy() -> None:
    """Numbers are finite; what is supplied is lost, stored or passed on."""
    ran: list[str] = []
    seed = next(iter(seeds(1))) * 1000
    while len(ran) < examples(12, daily=2):
        seed += 1
        try:
            told, s, more = combined(np.random.default_rng([seed, 2]))
        except DriveError:
            continue
        run = lw.simulate(s, 0.004, method="rk4", step=2e-6, every=20)
        assert run.stop is None, (seed, told)
        for name in run.recording.names:
            assert np.isfinite(run[name]).all(), (seed, told, name)
        if "update" not in more:
            flows = [n for n in run.recording.names if n.startswith("d.energy.") and "mis" not in n]
            through = max(float(np.abs(run[n]).max()) for n in flows)
            assert np.ptp(run["d.energy.missing"]) < 1e-4 * through + 1e-9, (seed, told)
        ran.append(told)


# -- updates part by part --------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["CurrentLoop", "Ideal", "Lag"])
def test_updates_part_by_part_come_near_the_exact_one_with_each_amplifier(name: str) -> None:
    """In steps of half the length their states differ by half as much."""
    made = drives.Chain(
        drives.PD(0.4, 0.001),
        LINEAR[name],
        MOTOR,
        LINEAR["Elastic"],
        drives.Inertia(0.5, 0.1),
    )

    def state(step: float, update: str) -> dict[str, float]:
        f = made.matrices(step, update=update)
        k, x = len(f.gains), np.zeros(len(f.states))
        for _ in range(round(0.01 / step)):
            x = f.Phi @ x + f.Theta @ np.concatenate([f.gains * 0.5, f.H @ x])
        assert k == 1
        return dict(zip(f.states, x, strict=True))

    for update in UPDATES[1:]:
        wrong: list[float] = []
        exact: dict[str, float] = {}
        for step in (2e-5, 1e-5):
            exact, found = state(step, "exact"), state(step, update)
            wrong.append(abs(found["motor.speed"] - exact["motor.speed"]))
        assert wrong[1] < 0.6 * wrong[0] < 0.05 * abs(exact["motor.speed"])


# -- brakes ----------------------------------------------------------------------------------------
def brake_states(commands: list[int], shut: float, free: float, closed: bool) -> list[bool]:
    """Return whether a brake holds before each millisecond: a plain state machine of its own.

    A command that differs from the state counts how far it has come; at its end the state changes.
    The other command counts back at its own pace.
    """
    held, far, found = closed, 0.0, []
    for command in commands:
        found.append(held)
        forth, back = (free, shut) if held else (shut, free)
        far = far + 1e-3 / forth if bool(command) != held else max(far - 1e-3 / back, 0.0)
        if far > 1:  # the rest of the millisecond has nowhere to go
            held, far = not held, 0.0
    return found


@pytest.mark.parametrize("seed", seeds(4, daily=1))
def test_a_brake_takes_commands_as_a_state_machine_does(seed: int) -> None:
    random = np.random.default_rng(seed)
    shut, free = (float(random.integers(5, 40)) + 0.5 for _ in range(2))
    closed = bool(seed % 2)
    commands = [int(closed)] * 3
    while len(commands) < 400:
        kept = int(random.choice([shut, free]) * random.choice([0.3, 0.9, 1.3, 2.5])) + 1
        commands += [1 - commands[-1]] * kept
    commands = commands[:400]
    told = lw.Block("told", rate=1000)
    n = told.discrete_state("n")
    told.update(n, n + 1)
    level = told.expr(commands[0])
    for k in range(1, 400):
        if commands[k] != commands[k - 1]:
            level = lw.where(n > k - 0.5, commands[k], level)
    told.output("level", level)
    brake = drives.Brake(0.5, shut / 1e3, free / 1e3, closed=closed)
    s = lw.System(name="s")
    parts = drives.Ideal(), drives.TorqueSource(1.0, J=1e-3), drives.Rigid(1), drives.Inertia(100.0)
    joint = s.add(drives.Chain(None, *parts, brake=brake))
    s.connect(s.add(told).level, joint["brake.close"])
    run = lw.simulate(s, 0.4, initial={"joint.load.speed": 50.0}, every=1)
    drag = run["joint.brake.drag"] > 0.25
    wanted = brake_states(commands, shut / 1e3, free / 1e3, closed)
    assert 0 < sum(wanted) < 400
    assert drag[:400].tolist() == wanted


# -- batteries -------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", seeds(3, daily=1))
def test_a_battery_gives_at_most_what_its_resistance_lets_it(seed: int) -> None:
    """Below V0^2/(4R) it gives what is asked for; above it never more, and it says so."""
    random = np.random.default_rng(seed)
    empty, R = random.uniform(5, 50), 10 ** random.uniform(-2, 0)
    full, charge = empty * random.uniform(1, 1.3), random.uniform(0.1, 1)
    most = (empty + (full - empty) * charge) ** 2 / (4 * R)
    for part in (-3.0, 0.0, 0.5, 0.999, 1.2, 3.0, 50.0):
        s = lw.System(name="s")
        battery = drives.Battery(full, empty, capacity=5, resistance=R, charge=charge)
        s.connect(part * most, s.add(battery).power)
        run = lw.simulate(s, 1e-6, method="rk4", step=1e-6, executor="python")
        assert (run.stop is not None) == (part > 1)
        f = run.final
        v, i = f["battery.voltage"], f["battery.current"]
        assert v > 0
        assert v * i == pytest.approx(min(part, 1) * most, rel=1e-4)
        assert v * i + f["battery.lacking"] == pytest.approx(part * most, rel=1e-9, abs=1e-9)
    s = lw.System(name="s")
    s.connect(f"{1e3 * most}*t", s.add(drives.Battery(full, empty, 5, R, charge=charge)).power)
    run = lw.simulate(s, 0.01)
    assert run.stop is not None
    assert "battery.overload" in run.stop.reason
    assert run.time == pytest.approx(1e-3, rel=1e-3)


@pytest.mark.parametrize("method", cases(["dop853", "dopri5", "rk4"], daily=["dop853"]))
@pytest.mark.parametrize("start", [0.0, 0.4, 1.0])
def test_a_battery_tells_where_it_is_empty_or_full(method: str, start: float) -> None:
    """When, by quadrature of dq = -i dt between the two ends of its charge."""
    full, empty, hours, R, asked = 50.0, 42.0, 0.01, 0.05, 200.0

    def pace(charge: float, power: float) -> float:
        inner = empty + (full - empty) * charge
        return float(3600 * hours / ((inner - np.sqrt(inner**2 - 4 * R * power)) / (2 * R)))

    for power, end, name in ((asked, 0.0, "flat"), (-asked, 1.0, "overcharge")):
        s = lw.System(name="s")
        s.connect(power, s.add(drives.Battery(full, empty, hours, R, charge=start)).power)
        until = quad(pace, end, start, args=(power,))[0]
        run = lw.simulate(s, 20.0, method=method)
        assert [e.name for e in run.events] == [f"battery.{name}"]
        assert run.events[0].time == pytest.approx(until, rel=1e-6, abs=1e-9)
        assert (run.stop is None) == (name == "overcharge")
        batch = lw.simulate_batch(s, 20.0, runs=2, method=method)
        assert batch["battery.charge"] == pytest.approx([run.final["battery.charge"]] * 2, abs=1e-9)


@seldom(daily="test_a_rigid_train_loses_what_its_teeth_transmit_and_no_more")
def test_dry_friction_holds_and_slips_behind_teeth_that_lose() -> None:
    """Signs of friction are solved for with the step, signs of torques within it: no method sees
    another motion than the others."""
    ends = []
    for method, more in (("dop853", {}), ("rk4", {"step": 2e-5})):
        m = lw.Mechanism("m")
        m.body("a", rotate="z", mass=2, com=(0.3, 0, 0), inertia=0.05)
        m.body("b", parent="a", at=(0.5, 0, 0), rotate="z", mass=1, com=(0.2, 0, 0), inertia=0.02)
        m.gravity("-y")
        s = lw.System(m)
        for name in "ab":
            train = drives.Rigid(30, efficiency=0.7, drag=0.1)
            drive = drives.Drive(m, name, drives.Ideal(), replace(MOTOR, J=4e-4), train)
            s.connect("12*sin(8*t)", s.add(drive, name=f"d{name}").u)
        final = lw.simulate(s, 0.4, method=method, **more).final  # type: ignore[arg-type]
        ends.append([final["a"], final["b"]])
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-4)


@pytest.mark.parametrize(
    "name", cases(["CurrentLoop", "PWM", "Rigid", "Stepper"], daily=["CurrentLoop", "Stepper"])
)
def test_the_command_runs_every_update_or_refuses_it_in_words(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    s = lw.System(name="s")
    s.add(chain_of(name))
    file = tmp_path / "drive.toml"
    file.write_text(lw.write_model(s), encoding="utf-8")
    for update in UPDATES:
        for more in ([], ["--set", "rate=20000"], ["--bode", "speed"], ["--limit-cycle"]):
            found = main(
                ["analyze", "drives", str(file), "--until", "0.002", "--update", update, *more]
            )
            told = capsys.readouterr().err
            assert found == 0 or (found == 2 and told.startswith("error: ") and "[R" in told), told
