"""Sizing of a whole robot: masses of drives, the front of sets, the power of the bus."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import linkwright as lw
from linkwright.cli import main
from linkwright.formats.catalog.reader import parse_catalog
from linkwright.formats.catalog.writer import catalog_text
from linkwright.motion import Move
from linkwright.sizing import Catalog, JointCycle, read_catalog, require, size
from linkwright.sizing.arm import Arm, arm_of
from linkwright.sizing.bus import BusLoad, joint_power
from linkwright.sizing.choice import options_of
from linkwright.sizing.driven import calm
from linkwright.sizing.pairs import Demands, shaft_torque
from linkwright.sizing.pareto import front
from tests.seeds import seldom

GENERIC = read_catalog("generic")


def crane(extra: int = 0) -> lw.Robot:
    """A post that turns, a beam that slides, a hand that turns; and a kilogram at a joint."""
    m = lw.Mechanism("crane")
    m.body("post", rotate="z", mass=5, com=(0.1, 0, 0.3), inertia=0.2)
    m.body("beam", parent="post", at=(0.2, 0.1, 0.6), translate=[(1, 0, 1)], mass=3,
           com=(0.3, 0.1, 0), inertia=0.1)  # fmt: skip
    m.body("hand", parent="beam", at=(0.7, 0, 0.1), rotate=(0, 1, 0.5), mass=1, com=(0.1, 0, 0.1),
           inertia=0.02)  # fmt: skip
    if extra:
        parent, at = [("post", (0.2, 0.1, 0.6)), ("beam", (0.7, 0, 0.1))][extra - 1]
        m.body("drive", parent=parent, at=at, joint=lw.Weld(), mass=1, inertia=0)
    m.gravity("-z")
    m.armature("beam", 2.0)
    return lw.Robot(m)


def inertias(robot: lw.Robot, q: np.ndarray) -> np.ndarray:
    """The diagonal of the mass matrix, by unit accelerations."""
    rest = robot.inverse_dynamics(q, 0 * q, 0 * q)
    return np.stack(
        [robot.inverse_dynamics(q, 0 * q, 0 * q + e)[:, k] - rest[:, k]
         for k, e in enumerate(np.eye(3))], axis=1)  # fmt: skip


def test_a_kilogram_at_a_joint_adds_what_a_robot_with_one_feels() -> None:
    """Torque in motion and at rest, and inertia; rotors that the robot has are left out."""
    robot = crane()
    names, rng = robot.coordinates, np.random.default_rng(1)
    q, u, a = (rng.normal(size=(7, 3)) for _ in range(3))
    tau = robot.inverse_dynamics(q, u, a)
    times, nothing = np.arange(7.0), np.zeros((7, 3))
    kinds = ["revolute", "prismatic", "revolute"]
    cycles = [
        JointCycle(x, kinds[k], times, q[:, k], u[:, k], a[:, k], tau[:, k], nothing, nothing)
        for k, x in enumerate(names)
    ]
    arm = arm_of(cycles, robot)
    plain, still = inertias(robot, q), robot.inverse_dynamics(q, 0 * u, 0 * a)
    known = np.stack([arm.inertia[x] for x in names], axis=1)
    assert_allclose(known, plain - [0.0, 2.0, 0.0], atol=1e-12)
    assert_allclose(arm.cycles[1].torque, tau[:, 1] - 2.0 * a[:, 1], atol=1e-12)
    assert_allclose(arm.still["hand"], still[:, 2], atol=1e-12)
    for k in (1, 2):
        heavy = crane(extra=k)
        moving = heavy.inverse_dynamics(q, u, a) - tau
        resting = heavy.inverse_dynamics(q, 0 * u, 0 * a) - still
        more = inertias(heavy, q) - plain
        assert_allclose(moving[:, k:], 0.0, atol=1e-12)
        for j in range(k):
            column = arm.columns[names[j], names[k]]
            assert_allclose(column.torque, moving[:, j], atol=1e-12)
            assert_allclose(column.still, resting[:, j], atol=1e-12)
            assert_allclose(column.inertia, more[:, j], atol=1e-12)
            along = column.force if kinds[j] == "prismatic" else column.moment
            assert_allclose(along[:, 2], column.torque, atol=1e-12)


def small_catalog(motors: int, gears: int, seed: int) -> Catalog:
    """Motors and gears of random sizes around the generic ones."""
    rng = np.random.default_rng(seed)
    made: dict[str, dict[str, object]] = {"motor": {}, "gear": {}}
    for k in range(motors):
        s = float(rng.uniform(0.4, 3.0))
        base = GENERIC.motor["servo-400w"]
        made["motor"][f"m{k}"] = base.model_copy(
            update={
                "kt": base.kt,
                "R": base.R / s**1.2,
                "continuous": base.continuous * s,
                "peak": base.peak * s * float(rng.uniform(0.8, 1.2)),
                "J": base.J * s**1.5,
                "mass": base.mass * s * float(rng.uniform(0.7, 1.3)),
                "price": round(base.price * s * float(rng.uniform(0.6, 1.4)), 1),
            }
        )
    for k in range(gears):
        s = float(rng.uniform(0.5, 3.0))
        base_gear = GENERIC.gear["strain-25-100"]
        made["gear"][f"g{k}"] = base_gear.model_copy(
            update={
                "ratio": float(rng.integers(50, 160)),
                **{x: getattr(base_gear, x) * s for x in ("rated", "average", "repeated")},
                "momentary": base_gear.momentary * 3 * s,
                "efficiency": float(rng.uniform(0.6, 0.9)),
                "mass": base_gear.mass * s,
                "price": round(base_gear.price * s, 1),
            }
        )
    return GENERIC.model_copy(update={**made, "bearing": {}})


def planar_arm(samples: int = 41) -> Arm:
    """Three joints in a vertical plane that lift a load and put it down again."""
    m = lw.Mechanism("planar")
    for k, mass in enumerate((4.0, 3.0, 2.0)):
        at = (0.4, 0, 0) if k else (0, 0, 0)
        m.body(f"j{k + 1}", parent=f"j{k}" if k else None, at=at, rotate="y", mass=mass,
               com=(0.2, 0, 0), inertia=0.05)  # fmt: skip
    m.gravity("-z")
    robot = lw.Robot(m)
    t = np.linspace(0.0, 3.0, samples)
    w = 2.0 * np.pi / 3.0
    q = np.stack([-0.3 - 0.4 * np.cos(w * t), 0.8 * np.cos(w * t), 0.5 * np.sin(w * t)], axis=1)
    u = np.stack([0.4 * np.sin(w * t), -0.8 * np.sin(w * t), 0.5 * np.cos(w * t)], axis=1) * w
    a = np.stack([0.4 * np.cos(w * t), -0.8 * np.cos(w * t), -0.5 * np.sin(w * t)], axis=1) * w * w
    tau = robot.inverse_dynamics(q, u, a)
    cycles = [
        JointCycle(x, "revolute", t, q[:, k], u[:, k], a[:, k], tau[:, k])
        for k, x in enumerate(robot.coordinates)
    ]
    return arm_of(cycles, robot)


def undominated(rows: np.ndarray) -> list[tuple[float, ...]]:
    """The rows that no other one beats, each once: a plain reckoning for the test."""
    best: list[np.ndarray] = []
    for row in rows[np.lexsort(rows.T[::-1])]:
        if not any((b <= row).all() for b in best):
            best.append(row)
    return sorted(tuple(row) for row in best)


def test_the_front_is_that_of_exhaustive_search() -> None:
    """All sets of 12 drives for each of three joints, each under the masses outboard of it."""
    arm, catalog = planar_arm(), small_catalog(4, 3, seed=3)
    demands = Demands(20_000.0, 40.0, 320.0)
    found = front(arm, catalog, demands)
    assert found.proven
    third = options_of(arm, catalog, demands, "j3", {}).judged
    rows = []
    for c in np.flatnonzero(third.fits):
        masses = {"j3": float(third.mass[c])}
        second = options_of(arm, catalog, demands, "j2", masses).judged
        for b in np.flatnonzero(second.fits):
            masses["j2"] = float(second.mass[b])
            first = options_of(arm, catalog, demands, "j1", masses).judged
            margin = np.minimum(first.margin, min(second.margin[b], third.margin[c]))
            sums = [
                getattr(first, x) + getattr(second, x)[b] + getattr(third, x)[c]
                for x in ("mass", "energy", "price")
            ]
            rows.append(np.stack([-margin, *sums], axis=1)[first.fits])
    every = np.concatenate(rows)
    assert len(every) > 400
    seen = sorted((-s.margin, s.mass, s.energy, s.price) for s in found.sets)
    assert_allclose(seen, undominated(np.round(every, 9)), rtol=1e-9, atol=1e-9)
    assert 5 < len(seen) < len(every)


def test_drives_outboard_are_carried_by_the_joints_inboard() -> None:
    arm = planar_arm()
    load = arm.load("j1", {"j2": 3.0, "j3": 2.0})
    assert np.abs(load.cycle.torque).max() > np.abs(arm.cycle("j1").torque).max() + 15.0
    assert load.inertia is not None
    more = load.inertia - arm.inertia["j1"]
    reach = 0.4**2 * 3.0 + 2.0 * (2 * 0.4**2 * (1 + np.cos(arm.cycle("j2").position)))
    assert_allclose(more, reach, rtol=1e-12)


def test_a_requirement_is_sized_with_its_payload() -> None:
    robot = crane()
    there = lw.motion.point_to_point([0.0, 0.0, 0.0], [0.8, 0.2, 1.0], 1.0)
    task = lw.Task(there, frame="hand")
    need = require(robot, task, payload=2.0, step=0.02)
    arm = arm_of(need)
    q = np.stack([c.position for c in need.cycles()], axis=1)
    tool = robot.jacobian(q, "hand")[:, :3]
    masses = np.diagonal(robot.mass_matrix(q), axis1=1, axis2=2) - [0.0, 2.0, 0.0]
    known = np.stack([arm.inertia[x] for x in arm.names], axis=1)
    assert_allclose(known, masses + 2.0 * (tool**2).sum(axis=1), atol=1e-9)
    found = size(need)
    assert list(found.chosen) == list(robot.coordinates)
    assert found.chosen["beam"].gear.startswith("screw")
    assert found.chosen["post"].bearing
    names = {v.name for v in found.why(found.chosen["post"].motor, "post").verdicts}
    assert {"emergency stop", "bearing life", "winding", "gear life", "brake"} <= names


def test_cycles_of_other_joints_than_the_robots_are_refused() -> None:
    cycle = planar_arm().cycles[0]
    with pytest.raises(lw.InputError, match=r"robot has the coordinates post.*\[R306\]"):
        size([cycle], robot=crane())


def test_the_bus_carries_all_joints_at_once_and_its_energy_adds_up() -> None:
    arm = planar_arm()
    found = size(list(arm.cycles), supply="supply-320v", inertia_ratio=None)
    bus = found.bus
    times = arm.cycles[0].times
    total = np.trapezoid(bus.power, times)
    assert bus.energy - bus.burned == pytest.approx(total)  # nothing is stored after a cycle
    peak = {v.name: v for v in bus.verdicts}["supply peak"]
    assert (peak.value, peak.time) == (bus.power.max(), times[np.argmax(bus.power)])
    alone = sum(joint_power(found, j).max() for j in found.chosen)
    assert peak.value < alone


def test_what_no_capacitor_keeps_is_burned() -> None:
    """Lowering a load: with a small capacitor the resistor takes it, with a large one nothing."""
    t = np.linspace(0.0, 2.0, 201)
    speed = np.where(t < 1.0, -6.0, 6.0) * np.sin(np.pi * t) ** 2
    down = JointCycle("lift", "revolute", t, 0 * t, speed, np.gradient(speed, t), 0 * t + 40.0)

    def bus(capacitance: float) -> BusLoad:
        supply = GENERIC.supply["supply-320v"].model_copy(update={"capacitance": capacitance})
        catalog = GENERIC.model_copy(update={"supply": {"s": supply}})
        return size([down], catalog, order="energy").bus

    small, large = bus(1e-6), bus(1.0)
    assert small.burned > 0.5 * small.regenerated
    assert {"resistor", "resistor peak"} <= {v.name for v in small.verdicts}
    assert large.burned == 0.0
    assert small.energy > large.energy
    assert bus(1.01 * small.capacitance).burned == pytest.approx(0.0, abs=1e-9)


NOD = """format = 1
frame = "rod"
[[part]]
kind = "move"
duration = "1 s"
to = { rod = "0.5 rad" }
[[part]]
kind = "move"
duration = "1 s"
to = { rod = 0 }
"""


def test_the_command_chooses_writes_and_explains(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    model, task, drives = (tmp_path / x for x in ("rod.toml", "nod.toml", "drives.toml"))
    m = lw.Mechanism("rod")
    m.body("rod", rotate="y", mass=3, com=(0.3, 0, 0), inertia=0.05)
    m.gravity("-z")
    model.write_text(lw.write_model(m))
    task.write_text(NOD)
    call = ["analyze", "size", str(model), str(task), "--step", "0.01", "-o", str(drives)]
    assert main([*call, "--why", "servo-200w:rod", "--pareto"]) == 0
    said = capfd.readouterr().out
    assert "rod: servo-200w with" in said
    kept = read_catalog(drives)
    assert list(kept.drive) == ["rod"]
    assert kept.drive["rod"].motor in kept.motor
    assert main(["model", "check", str(drives)]) == 0
    assert main(call) == 2  # the file is there
    capfd.readouterr()
    for more, said in [
        (["--payload", "abc"], "--payload 'abc' is not a mass"),
        (["--payload", "3..1"], "from the larger to the smaller"),
        (["--why", "servo-200w"], "--why servo-200w:JOINT"),
    ]:
        assert main([*call, "--force", *more]) == 2
        assert said in capfd.readouterr().err
    assert main([*call[:4], "--step", "0.1", "--json", "--payload", "0..3"]) == 0
    ranged = capfd.readouterr().out
    assert main([*call[:4], "--step", "0.1", "--json", "--payload", "3"]) == 0
    assert capfd.readouterr().out == ranged
    assert main([*call, "--force", "--json"]) == 0
    info = json.loads(capfd.readouterr().out.split("sound\n")[-1])
    assert info["joints"]["rod"]["motor"] == kept.drive["rod"].motor


def test_a_written_catalog_reads_back_as_it_was() -> None:
    assert parse_catalog(catalog_text(GENERIC)) == GENERIC


@seldom(daily="test_the_simulated_drives_give_the_torque_that_was_reckoned_where_rotors_are_heavy")
def test_the_robot_with_its_drives_follows_the_task_with_the_torque_that_was_reckoned() -> None:
    m = lw.Mechanism("rod")
    m.body("rod", rotate="y", mass=3, com=(0.3, 0, 0), inertia=0.05)
    m.gravity("-z")
    m.armature("rod", 1.0)
    task = lw.Task([Move({"rod": 0.8}, 1.0), Move({"rod": 0.0}, 1.0)], frame="rod")
    payload = lw.Payload(1.0, center=(0.4, 0.0, 0.0))
    need = require(lw.Robot(m), task, payload=payload, step=0.005)
    found = size(need)
    servo = lw.drives.Cascade(current=10_000, speed=2_000, position=1_000)
    run = lw.simulate(found.system(servo=servo, filter="extended"), task.duration).recording
    later = run.times > 0.2
    wanted = np.interp(run.times, need.times, need["rod"])
    assert np.abs(run["rod"] - wanted)[later].max() < 3e-3
    estimate = run["rod_filter.x[3]"]  # from the motor's encoder alone, through an elastic gear
    twist = run["rod_drive.motor.angle"] / 100 - run["rod"]
    assert np.std((estimate - run["rod"])[later]) < 0.3 * np.sqrt(np.mean(twist[later] ** 2))
    current = run["rod_drive.motor.i"]  # the filter's winding is as warm as the motor's
    assert np.abs(run["rod_filter.x[4]"] - current)[later].max() < 0.02 * np.abs(current).max()
    linear = lw.simulate(found.system(filter="steady"), 0.7).recording
    assert np.abs(linear["rod_filter.x[3]"] - linear["rod"]).max() < 3e-3
    stiff = lw.simulate(found.system(elastic=False, thermal=False), task.duration).recording
    choice, load = found.chosen["rod"], found.options["rod"].load
    motor, gear = found.catalog.motor[choice.motor], found.catalog.gear[choice.gear]
    brake = found.catalog.brake[choice.brake].J
    torque = np.interp(stiff.times, need.times, shaft_torque(load, motor, gear, brake))
    wrong = (stiff["rod_drive.motor.torque"] - torque)[stiff.times > 0.2]
    assert np.sqrt(np.mean(wrong**2)) < 0.15 * np.sqrt(np.mean(torque**2))
    with pytest.raises(lw.InputError, match=r"no frame 'rot'; did you mean 'rod'\?.*\[R305\]"):
        found.error_budget("rot")
    budget = found.error_budget("rod", time=1.0, control=1e-4)
    names = {s.name for s in budget.sources}
    assert names >= {"rod encoder", "rod control", "rod kinematic error", "rod wind-up"}
    assert_allclose(budget.worst[:3], 0.0, atol=1e-12)  # the frame stands on the axis
    assert budget.worst[4] > gear.kinematic_error


def test_the_simulated_drives_give_the_torque_that_was_reckoned_where_rotors_are_heavy() -> None:
    """Where a motor mostly turns its own rotor, losses of the gear hardly count, in both."""
    m = lw.Mechanism("rod")
    m.body("rod", rotate="z", mass=1, com=(0.1, 0, 0), inertia=0.02)
    task = lw.Task([Move({"rod": 1.2}, 0.5), Move({"rod": 0.0}, 0.5)], frame="rod")
    found = size(require(lw.Robot(m), task, step=0.002))
    choice, load = found.chosen["rod"], found.options["rod"].load
    motor, gear = found.catalog.motor[choice.motor], found.catalog.gear[choice.gear]
    brake = found.catalog.brake[choice.brake].J if choice.brake else 0.0
    rotor = gear.reduction**2 * (motor.J + gear.J + brake)
    assert load.inertia is not None
    assert rotor > 0.2 * float(load.inertia.mean())
    servo = lw.drives.Cascade(current=10_000, speed=5_000, position=5_000)
    system = found.system(servo=servo, elastic=False, thermal=False)
    times = load.cycle.times
    wanted = shaft_torque(load, motor, gear, brake)
    f = system.phases()
    kernel = lw.compile(f.derivative, backend="python")
    names = [s.name for s in f.x]
    d, p, w = (np.array([s.value for s in signals]) for signals in (f.d, f.p, f.w))
    for k in range(5, len(times) - 5, 20):
        speed = load.cycle.speed[k]
        if abs(speed) * gear.reduction < 20.0:  # losses fade there
            continue
        known = {
            "rod": load.cycle.position[k],
            "rod_dot": speed,
            "rod_drive.motor.i": wanted[k] / motor.kt,
        }
        x = np.array([known.get(s.name, s.value) for s in f.x])
        a = kernel.scalar(x, d, p, w, np.array([times[k]]))[names.index("rod_dot")]
        assert a == pytest.approx(
            load.cycle.acceleration[k], abs=2e-3 * abs(load.cycle.acceleration).max()
        )


@seldom(daily="test_a_kilogram_at_a_joint_adds_what_a_robot_with_one_feels")
def test_a_joint_that_follows_another_needs_no_drive(tmp_path: Path) -> None:
    """Rotors at followers are taken out at their leader, by the square of the ratio."""
    text = (Path(__file__).parents[1] / "robots" / "gripper.urdf").read_text(encoding="utf-8")
    file = tmp_path / "gripper.urdf"
    there = lw.motion.point_to_point([0.0] * 3, [0.3] * 3, 1.0)
    needs = []
    for joint, inertia in [("left", "2e-7"), ("left_bend", "2e-6")]:
        new = text.replace('<joint name="left"/>', f'<joint name="{joint}"/>')
        file.write_text(
            new.replace('rotor_inertia value="2e-7"', f'rotor_inertia value="{inertia}"')
        )
        needs.append(require(lw.Robot(file), there, step=0.1))
    first, second = map(arm_of, needs)
    assert first.names == ("roll", "left", "knob_turn")
    for name in first.names:
        assert_allclose(first.inertia[name], second.inertia[name], atol=1e-12)
        assert_allclose(first.cycle(name).torque, second.cycle(name).torque, atol=1e-12)
    assert list(size(needs[0]).chosen) == list(first.names)


def test_loads_that_the_driven_system_would_drop_are_refused() -> None:
    m = lw.Mechanism("rod")
    m.body("rod", rotate="y", mass=3, com=(0.3, 0, 0), inertia=0.05)
    m.gravity("-z")
    robot, parts = lw.Robot(m), [Move({"rod": 0.8}, 1.0), Move({"rod": 0.0}, 1.0)]
    push = lw.motion.LoadProfile({"my": (-3.0,)}, start=0.5)
    shake = lw.motion.LoadProfile({"x": (1.0,)}, start=0.5)
    for words, task in [
        ("a wrench at the tool", lw.Task(parts, frame="rod", wrench=[push])),
        ("a base that accelerates", lw.Task(parts, frame="rod", base=[shake])),
    ]:
        found = size(require(robot, task, step=0.1))
        with pytest.raises(lw.InputError, match=rf"the task has {words}.*\[R310\]"):
            found.system()
    always = lw.Task(parts, frame="rod", payloads=[(0.0, 0.5)])
    driven = size(require(robot, always, step=0.1)).system()
    assert "payload" in driven.mechanism.bodies


def pick() -> tuple[lw.Robot, lw.Task]:
    """Return a rod that takes up 4 kg on its way, and puts it down on its way back."""
    m = lw.Mechanism("rod")
    m.body("rod", rotate="y", mass=3, com=(0.3, 0, 0), inertia=0.05)
    m.gravity("-z")
    held = lw.Payload(4.0, center=(0.5, 0.0, 0.0), inertia=(0.01, 0.02, 0.03, 0.0, 0.0, 0.0))
    parts = [Move({"rod": 0.8}, 1.0), Move({"rod": 0.0}, 1.0)]
    return lw.Robot(m), lw.Task(parts, frame="rod", payloads=[(0.6, held), (1.5, 0.0)])


def test_drives_follow_a_task_that_takes_up_a_payload_and_puts_it_down() -> None:
    """The torque that was reckoned, before, with and after it, and its fall when it is let go."""
    robot, task = pick()
    need = require(robot, task, step=0.005)
    found = size(need)
    run = lw.simulate(found.system(elastic=False, thermal=False), task.duration).recording
    choice, load = found.chosen["rod"], found.options["rod"].load
    motor, gear = found.catalog.motor[choice.motor], found.catalog.gear[choice.gear]
    brake = found.catalog.brake[choice.brake].J if choice.brake else 0.0
    torque = np.interp(run.times, need.times, shaft_torque(load, motor, gear, brake))
    calm = (run.times > 0.2) & (abs(run.times - 0.6) > 0.08) & (abs(run.times - 1.5) > 0.08)
    wrong = (run["rod_drive.motor.torque"] - torque)[calm]
    assert np.sqrt(np.mean(wrong**2)) < 0.1 * np.sqrt(np.mean(torque[calm] ** 2))
    (held,) = (b for n, b in found.system().mechanism.bodies.items() if n.startswith("payload"))
    assert held.name == "payload_2"


def test_an_elastic_gear_does_not_ring_by_its_gains() -> None:
    """Poles of motor, gear and load with the PI speed loop: all as fast, damped by sqrt(R)/2."""
    motor = lw.drives.DC(R=0.5, L=1e-3, kt=0.1, J=1e-4)
    servo = lw.drives.Cascade(current=10_000, speed=2_000, position=1_000)
    for inertia in (0.5, 1.0, 3.0):
        train = lw.drives.Elastic(100, stiffness=4000)
        made = calm(servo, motor, train, inertia)
        assert made.speed_gain is not None
        assert made.speed_time is not None
        K, J = train.stiffness / 100**2, inertia / 100**2
        kp, ki = made.speed_gain * motor.kt, made.speed_gain * motor.kt / made.speed_time
        M = motor.J
        poles = np.roots([1, kp / M, K / M + K / J + ki / M, kp * K / (M * J), ki * K / (M * J)])
        assert_allclose(np.abs(poles), np.sqrt(K / J), rtol=1e-3)
        damping = min(1.0, np.sqrt(J / M) / 2)
        assert_allclose(-poles.real / np.abs(poles), damping, atol=0.03)
    assert calm(servo, motor, lw.drives.Rigid(100), 1.0) is servo
    own = replace(servo, speed_gain=0.3)
    assert calm(own, motor, lw.drives.Elastic(100, stiffness=4000), 1.0) is own


def test_the_command_writes_the_system_of_the_drives_as_a_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`size --system`: the file runs, and the drives carry what the task carries."""
    robot, task = pick()
    model, system = tmp_path / "rod.toml", tmp_path / "driven.toml"
    model.write_text(lw.write_model(robot.mechanism))
    parts = "".join(
        f"[[part]]\nkind = 'move'\nto = {{rod = {q}}}\nduration = 1\n" for q in (0.8, 0)
    )
    payloads = (
        "[[payload]]\nat = 0.6\nmass = 4\ncenter = [0.5, 0, 0]\n[[payload]]\nat = 1.5\nmass = 0\n"
    )
    (tmp_path / "pick.toml").write_text(
        f"format = 1\nname = 'pick'\nframe = 'rod'\n{parts}{payloads}"
    )
    words = ["analyze", "size", str(model), str(tmp_path / "pick.toml"), "--step", "0.01"]
    assert main([*words, "--system", str(system)]) == 0
    assert "driven.toml" in capsys.readouterr().out
    assert main([*words, "--system", str(system)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    driven = lw.load(system)
    run = lw.simulate(driven, 0.3).recording
    need = require(robot, task, step=0.01)
    assert np.abs(run["rod"] - np.interp(run.times, need.times, need["rod"])).max() < 5e-3


def test_several_catalogs_count_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Motors of one file and gears of another; what they call alike is the same, or rejected."""
    robot, task = pick()
    need = require(robot, task, step=0.02)
    motors = GENERIC.model_copy(update={"name": "motors", "gear": {}})
    gears = GENERIC.model_copy(update={"name": "gears", "motor": {}})
    both, whole = size(need, [motors, gears]), size(need, GENERIC)
    assert both.catalog.name == "motors and gears"
    assert str(both) == str(whole)
    with pytest.raises(lw.InputError):
        size(need, motors)
    name, motor = next(iter(GENERIC.motor.items()))
    other = motors.model_copy(update={"motor": {name: motor.model_copy(update={"R": 9.0})}})
    with pytest.raises(lw.InputError, match=f"motor '{name}' is in the catalogs.*R302"):
        size(need, [GENERIC, other])
    files = []
    for each in (motors, gears):
        files.append(tmp_path / f"{each.name}.toml")
        files[-1].write_text(catalog_text(each))
    model, work = tmp_path / "rod.toml", tmp_path / "pick.toml"
    model.write_text(lw.write_model(robot.mechanism))
    work.write_text(
        "format = 1\nname = 'pick'\nframe = 'rod'\n[[part]]\nkind = 'move'\n"
        "to = {rod = 0.8}\nduration = 1\n"
    )
    words = ["analyze", "size", str(model), str(work), "--step", "0.05"]
    assert main([*words, "--catalog", str(files[0]), "--catalog", str(files[1])]) == 0
    told = capsys.readouterr().out
    assert main(words) == 0
    assert capsys.readouterr().out == told
