"""Machines with closed loops: their actuators, their platform, struts whose length is driven."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import InputError
from linkwright.blocks import BlockError
from linkwright.equations import derive
from linkwright.equations.closure import assemble
from linkwright.formats.robot.from_mechanism import description_of
from linkwright.formats.text.files import read_model
from linkwright.mechanism import MechanismError
from linkwright.simulation.switching import Forms
from linkwright.system.forms import coupled
from tests.seeds import cases, seldom

HEXAPOD = """format = 1
name = "hexapod"
actuators = ["leg1", "leg2", "leg3", "leg4", "leg5", "leg6"]

[gravity]

[platform]
at = "top"
axis = "z"

[[body]]
name = "top"
joint = "free"
mass = 10
inertia = [1, 1, 2]
"""


def hexapod_text() -> str:
    """Return a hexapod with six driven struts as a text model."""
    lines = [HEXAPOD]
    for k in range(6):
        base = math.radians(120 * (k // 2) + (10 if k % 2 else -10))
        top = math.radians(120 * ((k + 1) // 2) - 60 + (-10 if k % 2 else 10))
        for name, body, r, angle in (("a", "n", 1.0, base), ("b", "top", 0.5, top)):
            at = [round(r * math.cos(angle), 6), round(r * math.sin(angle), 6), 0]
            lines.append(f'[[point]]\nname = "{name}{k + 1}"\nbody = "{body}"\nat = {at}\n')
    lines += [
        f'[[driven_strut]]\nname = "leg{k}"\nfirst = "a{k}"\nsecond = "b{k}"\nlength = 1.2\n'
        for k in range(1, 7)
    ]
    lines.append('[initial]\n"top.z" = 1.0\n')
    return "\n".join(lines)


def five_bar(*actuators: str) -> lw.Mechanism:
    """Return a planar five-bar: two cranks of 0.3 m that two rods of 0.4 m join."""
    m = lw.Mechanism("five_bar")
    left = m.body("left", rotate="z", mass=1, com=(0.15, 0, 0), inertia=0.01)
    rod = m.body("rod", parent=left, at=(0.3, 0, 0), rotate="z", mass=1, com=(0.2, 0, 0))
    right = m.body("right", at=(0.4, 0, 0), rotate="z", mass=1, com=(0.15, 0, 0), inertia=0.01)
    bar = m.body("bar", parent=right, at=(0.3, 0, 0), rotate="z", mass=1, com=(0.2, 0, 0))
    m.defaults(dict.fromkeys(["rod_Ixx", "rod_Iyy", "rod_Izz", "bar_Ixx", "bar_Iyy", "bar_Izz"], 1))
    m.defaults(
        dict.fromkeys([f"{b}_{i}" for b in ("rod", "bar") for i in ("Ixy", "Iyz", "Izx")], 0)
    )
    m.gravity(along="-y")
    tip, other = m.point("tip", rod, (0.4, 0, 0)), m.point("other", bar, (0.4, 0, 0))
    for axis in "xy":
        m.constrain_points(tip, other, axis)
    m.set_initial(left=2.2, right=0.9, rod=-1.4, bar=1.4)
    m.set_platform(tip, axis="x")
    m.actuate(*actuators)
    return m


@pytest.fixture(scope="module")
def hexapod() -> lw.Mechanism:
    return read_model(hexapod_text())


def test_a_text_model_names_actuators_platform_and_driven_struts(hexapod: lw.Mechanism) -> None:
    assert [q.name for q in hexapod.actuators] == [f"leg{k}" for k in range(1, 7)]
    assert hexapod.platform is not None
    assert hexapod.platform.point.body.name == "top"
    assert [s.second.name for s in hexapod.driven_struts] == [f"b{k}" for k in range(1, 7)]
    assert not hexapod.parameters


def test_what_drives_a_machine_reads_back_as_it_was_written(hexapod: lw.Mechanism) -> None:
    text = lw.write_model(hexapod)
    again = read_model(text)
    assert lw.write_model(again) == text
    assert again.fingerprint() == hexapod.fingerprint()
    assert [s.name for s in again.driven_struts] == [s.name for s in hexapod.driven_struts]


def test_a_file_with_actuators_and_platform_opens_as_a_robot(tmp_path: Path) -> None:
    path = tmp_path / "hexapod.toml"
    path.write_text(hexapod_text().replace('[platform]\nat = "top"\naxis = "z"\n', ""))
    assert isinstance(lw.load(path), lw.Mechanism)
    short = hexapod_text().replace('[platform]\nat = "top"\naxis = "z"\n', "")
    path.write_text(short.replace("[gravity]", 'platform = "top"\n\n[gravity]', 1))
    robot = lw.load(path)
    assert isinstance(robot, lw.Robot)
    assert robot.actuators == tuple(f"leg{k}" for k in range(1, 7))
    assert robot.speeds == tuple(f"leg{k}_dot" for k in range(1, 7))
    assert robot.platform is not None
    assert not any(name.startswith("leg") for name in robot.frames)


def test_the_legs_of_a_hexapod_carry_its_weight(hexapod: lw.Mechanism) -> None:
    """Virtual work: the legs' forces at rest are the gradient of the potential by their lengths."""
    robot = lw.Robot(hexapod)
    lifted = {"top.x": 0.05, "top.y": -0.03, "top.z": 0.95, "top.rx": 0.1}
    closed = assemble(hexapod, lifted).coordinates
    q = [closed[name] for name in robot.coordinates]
    force = robot.inverse_dynamics(q, np.zeros(6), np.zeros(6))
    rise = assemble(hexapod, lifted | {"top.z": 0.95 + 1e-6}).coordinates
    fall = assemble(hexapod, lifted | {"top.z": 0.95 - 1e-6}).coordinates
    slope = [(rise[name] - fall[name]) / 2e-6 for name in robot.actuators]
    assert force @ slope == pytest.approx(10 * 9.81, rel=1e-7)


def test_actuators_choose_the_speeds_of_robots_and_of_equations() -> None:
    for actuators in (("left", "right"), ("rod", "bar"), ("left", "rod")):
        m = five_bar(*actuators)
        wanted = {f"{name}_dot" for name in actuators}
        assert set(lw.Robot(m).speeds) == wanted
        assert {str(u) for u in derive(m, "quick").speeds} == wanted
        assert set(lw.Robot(m.frozen()).speeds) == wanted
        assert lw.System(m).mechanism.actuators
    plain = five_bar()
    for actuators in (("left", "right"), ("rod", "bar")):
        robot = lw.Robot(plain, actuators=actuators, platform="other")
        assert set(robot.speeds) == {f"{name}_dot" for name in actuators}
        assert robot.platform is not None
        assert robot.platform.point.name == "other"
    assert not plain.actuators
    assert plain.fingerprint() != plain.with_drives(["left", "right"]).fingerprint()


def test_a_robot_with_other_actuators_follows_its_mechanism() -> None:
    m = five_bar()
    robot = lw.Robot(m, actuators=["left", "right"])
    closed = assemble(m).coordinates
    q = [closed[name] for name in robot.coordinates]
    before = robot.inverse_dynamics(q, [0, 0], [0, 0])
    m.force("push", 10, at="tip", along="y")
    after = robot.inverse_dynamics(q, [0, 0], [0, 0])
    assert np.abs(after - before).max() > 0.1


@pytest.mark.parametrize(
    ("actuators", "words"),
    [
        (("left", "right", "rod"), "2 degrees of freedom and 3 actuators"),
        (("left", "left"), "is an actuator already"),
        (("left", "rihgt"), "right"),
    ],
)
def test_actuators_that_cannot_be_are_refused_in_words(
    actuators: tuple[str, ...], words: str
) -> None:
    with pytest.raises(MechanismError, match=words):
        derive(five_bar(*actuators), "quick")
    with pytest.raises(MechanismError, match=words):
        _ = lw.Robot(five_bar(), actuators=actuators).speeds


def test_actuators_that_the_loops_tie_together_are_refused() -> None:
    m = lw.Mechanism("pantograph")
    for name in "abc":
        m.body(name, rotate="z", mass=1, com=(0.1, 0, 0), inertia=0.1)
    m.constrain_position("a + b")
    m.actuate("a", "b")
    with pytest.raises(MechanismError, match="tie its actuators"):
        derive(m, "quick")


def test_a_singular_start_is_refused() -> None:
    """With its rods in one line, the five-bar moves while its cranks are held."""
    m = five_bar("left", "right")
    out = math.acos(2 / 3)
    m.set_initial(left=math.pi - out, rod=out - math.pi, right=out, bar=math.pi - out)
    closed = assemble(m).coordinates
    assert closed["left"] + closed["rod"] == pytest.approx(0)
    with pytest.raises(MechanismError, match="singular at its start"):
        derive(m, "quick")


def test_a_file_that_names_what_is_not_there_is_told_where(tmp_path: Path) -> None:
    path = tmp_path / "hexapod.toml"
    for wrong, words in (
        (hexapod_text().replace('"leg6"]', '"leg7"]'), "leg"),
        (hexapod_text().replace('at = "top"\naxis', 'at = "topp"\naxis'), "topp"),
        (hexapod_text().replace('second = "b3"', 'second = "b33"'), "b33"),
    ):
        path.write_text(wrong)
        with pytest.raises(InputError, match=f"hexapod.toml:.*{words}"):
            lw.load(path)


def test_cones_capsules_and_loops_read_back_as_they_were_written() -> None:
    m = lw.Mechanism("m")
    a = m.body("a", joint=lw.Ball(), mass=1, inertia=1)
    b = m.body("b", parent=a, at=(0, 0, 1), joint=lw.Universal("x", "y"), mass=1, inertia=1)
    c = m.body("c", at=(1, 0, 0), rotate="y", mass=1, inertia=1)
    tip, end = m.point("tip", b, (0, 0, 1)), m.point("end", c, (0, 0, 1))
    m.drive_strut("leg", m.point("foot", at=(2, 0, 0)), tip, length=2.0)
    m.close_loop("knee", end, tip, lw.Ball())
    m.parameter("r", 0.05, unit="m")
    m.limit_cone("a", "60 deg")
    m.limit_cone("b", "50 deg", axis="z", second_axis=(0, 0.6, 0.8))
    m.limit_cone("knee", 1.0, axis="-z")
    m.limit_cone("leg", 0.9, axis="z", at_second=True)
    m.collision_capsule("arm", b, tip, "r")
    m.collision_capsule("leg", "foot", tip, "2*r")
    assert [cone.body.name for cone in m.cones] == ["n", "a", "c", "b"]
    assert str(m.cones[0].cosine) == str(m.ground.z @ a.z)
    text = lw.write_model(m)
    again = read_model(text)
    assert lw.write_model(again) == text
    assert again.fingerprint() == m.fingerprint()
    assert [str(x.cosine) for x in again.cones] == [str(x.cosine) for x in m.cones]
    assert [(x.name, x.joint) for x in again.loops] == [(x.name, x.joint) for x in m.loops]
    assert m.frozen().fingerprint() == m.fingerprint()
    with pytest.raises(MechanismError, match="limit its coordinate"):
        m.limit_cone("c", 1.0)
    with pytest.raises(MechanismError, match="0 to 180"):
        m.limit_cone("a", 4.0)
    with pytest.raises(MechanismError, match="second_axis"):
        m.limit_cone("leg", 1.0, second_axis="z")


# -- controllers -----------------------------------------------------------------------------------
def controlled(machine: lw.Mechanism | lw.Robot, controller: lw.Block) -> lw.System:
    system = lw.System(machine)
    system.add(controller, rate=1000)
    return system


@pytest.mark.parametrize("gravity", [False, True])
def test_a_pd_controller_moves_cranks_or_rods(gravity: bool) -> None:
    """Whatever is named as actuator is driven; with gravity compensation no error is left."""
    m = five_bar("rod", "right")
    made = lw.control.PD(m, kp=200, kd=20, gravity=gravity, target={"rod": -1.3, "right": 0.8})
    assert made.names_of_joints == ["rod", "right"]
    run = lw.simulate(controlled(m, made), 2.0, record=["rod", "right"])
    error = max(abs(run["rod"][-1] + 1.3), abs(run["right"][-1] - 0.8))
    assert error < 1e-5 if gravity else error > 1e-3


def test_a_controller_starts_where_its_machine_is_closed() -> None:
    """The lengths that a file gives are guesses; the target is where the loops close."""
    m = read_model(hexapod_text())
    closed = assemble(m).coordinates
    assert abs(closed["leg1"] - 1.2) > 1e-3
    made = lw.control.PD(m, kp=1e4, kd=1e3)
    found = [float(x.data) for x in made.inputs["target"].values]
    assert found == pytest.approx([closed[f"leg{k}"] for k in range(1, 7)])


@seldom(
    daily="tests/mounts/test_pass_tracking.py::test_a_parallel_mount_follows_a_satellite_through_the_zenith"
)
@pytest.mark.parametrize(
    "name", cases(["mount-truss-3", "mount-prismatic"], daily=["mount-truss-3"])
)
def test_a_mount_is_tracked_with_no_step_in_python(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Computed torque on members or jacks at 1 kHz: each length obeys e'' + kd e' + kp e = 0."""
    looked = []
    for step in ("after", "instead", "ahead"):
        monkeypatch.setattr(Forms, step, lambda *_, step=step: looked.append(step))
    mount = lw.load(name)
    start = assemble(mount).coordinates
    driven = [str(q) for q in mount.actuators]
    goal = {q: start[q] + by for q, by in zip(driven, (0.03, -0.02, 0.01), strict=False)}
    made = lw.control.ComputedTorque(mount, kp=400, kd=40, target=goal)
    run = lw.simulate(controlled(mount, made), 0.3, record=driven)
    t = run.times
    shape = (1 + 20 * t) * np.exp(-20 * t)
    for q, wanted in goal.items():
        error = (wanted - np.asarray(run[q])) / (wanted - start[q])
        assert np.abs(error - shape).max() < 0.02
    assert not looked


def test_too_few_actuators_for_a_model_are_told() -> None:
    m = five_bar("left")
    with pytest.raises(
        BlockError, match=r"2 degrees of freedom, of which its actuators \(left\) drive 1"
    ):
        lw.control.ComputedTorque(m, kp=100, kd=20)


def test_robot_files_refuse_driven_struts_in_words(hexapod: lw.Mechanism) -> None:
    with pytest.raises(InputError, match=r"struts whose length is driven.*text model"):
        description_of(hexapod)


def test_constraints_that_hang_together_are_counted_by_loops_that_share_speeds() -> None:
    """Rows of four-bars hang together, whole mechanisms beside one another do not."""
    assert [coupled(lw.load(f"n-four-bar:n={n}")) for n in (1, 3, 9)] == [2, 6, 18]
    two = lw.Mechanism("two")
    bodies = [two.body(name, translate="x", mass=1) for name in "abcd"]
    for one, other in (bodies[:2], bodies[2:]):
        two.constrain_points(one, other, along="x")
    assert coupled(two) == 1


def test_many_constraints_that_hang_together_run_in_all_speeds() -> None:
    """Their guards would take longer to compile than the run takes."""
    for count, redundant in ((7, False), (8, True)):
        found = Forms(lw.System(lw.load(f"n-four-bar:n={count}")), None, "auto")
        assert found.now.redundant == redundant


def test_driven_joints_stay_where_they_are_told_to_be() -> None:
    """Where all coordinates are given and do not close, those that nothing drives are computed."""
    m = five_bar("left", "right")
    start = {"left": 2.1, "rod": -1.1, "right": 1.0, "bar": 1.2}
    m.set_initial(start)
    found = assemble(m).coordinates
    assert (found["left"], found["right"]) == (2.1, 1.0)
    assert abs(found["rod"] - start["rod"]) > 1e-3
    free = five_bar()
    free.set_initial(start)
    assert assemble(free).coordinates["right"] != 1.0
