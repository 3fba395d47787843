"""Machines that ship nowhere through the applications of machine builders, by other computations.

Random arms are sized and driven by numbers of Pinocchio; an own five-bar, an azimuth with an
elevation and a jack are charted, assembled and turned by hand; an own quadruped stands.
"""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import linkwright as lw
from linkwright import drives
from linkwright.cli import main
from linkwright.mounts.easycomm import EasyComm
from linkwright.mounts.pointing import direction
from linkwright.mounts.rotator import Rotator
from linkwright.mounts.rotctl_language import answer
from linkwright.server.cell_file import read_cell
from linkwright.server.face import Command
from linkwright.server.virtual import VirtualCell
from linkwright.sizing import read_catalog
from tests.mounts.test_own_mounts import AZ_EL, JACK
from tests.random.own_machines import SCARA, Oracle, cell_text, random_arm, save
from tests.seeds import seeds, seldom
from tests.support.late import Late
from tests.support.skies import degrees

if TYPE_CHECKING:
    import pinocchio as pin
else:
    pin = Late("pinocchio")

Array = NDArray[np.float64]
G = 9.81


def told(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    capsys.readouterr()
    assert main([*map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


GENERIC = read_catalog("generic")


@pytest.mark.parametrize("seed", seeds(3, daily=1))
def test_drives_are_sized_by_the_torques_of_the_file(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the masses of the drives outboard as points in the origins of their joints."""
    kinds = SCARA if seed % 2 else ("revolute",) * 2
    dynamics = '<dynamics damping="0.3" friction="0.2"/>'
    text = random_arm(seed, kinds=kinds, dynamics=dynamics)
    robot, model = lw.Robot(save(tmp_path, text)), Oracle(text).model
    names = robot.coordinates
    goals = dict(zip(names, (0.2, -0.15, 0.1, -0.1), strict=False))
    listed = ", ".join(f'"{n}" = {v}' for n, v in goals.items())
    part = f'[[part]]\nkind = "move"\nto = {{{listed}}}\nduration = 0.6\n'
    task = save(tmp_path, f'format = 1\nname = "go"\n{part}', "go.toml")
    said = told(
        capsys,
        "analyze",
        "size",
        tmp_path / "own.urdf",
        task,
        "--step",
        0.02,
        "--supply",
        "supply-320v",
    )
    need = lw.sizing.require(robot, lw.Task([lw.motion.Move(goals, 0.6)]), step=0.02)
    found = lw.sizing.size(need, supply="supply-320v")
    rows = [[need.values(n, k) for n in names] for k in ("position", "speed", "acceleration")]
    q, u, a = (np.transpose(r) for r in rows)
    for k in reversed(range(len(names))):
        choice, told_of = found.chosen[names[k]], said["joints"][names[k]]
        assert (told_of["motor"], told_of["gear"]) == (choice.motor, choice.gear)
        assert told_of["margin"] == pytest.approx(choice.margin)
        data = model.createData()
        torque = np.array([pin.rnea(model, data, *x)[k] for x in zip(q, u, a, strict=True)])
        torque = torque + 0.3 * u[:, k] + 0.2 * np.sign(u[:, k])
        inner = slice(1, -1)  # at rest friction may be anything up to its limit
        load = found.options[names[k]].load.cycle.torque
        assert load[inner] == pytest.approx(torque[inner], abs=1e-6)
        motor, gear = GENERIC.motor[choice.motor], GENERIC.gear[choice.gear]
        brake = GENERIC.brake[choice.brake].J if choice.brake else 0.0
        n, v = gear.reduction, u[:, k]
        lost = np.where(load * v > 0, 1 / gear.efficiency, gear.efficiency)
        lost[np.abs(v) < 1e-9] = 1.0  # at rest nothing is lost
        shaft = load * lost / n
        shaft += (motor.J + gear.J + brake) * n * a[:, k] + motor.damping * n * v
        shaft += (motor.friction + gear.no_load) * np.sign(v)
        verdicts = {x.name: x for x in found.why(choice.motor, names[k], choice.gear).verdicts}
        peak = verdicts["peak torque"]
        assert peak.value == pytest.approx(np.abs(shaft).max(), rel=1e-6)
        assert peak.limit == motor.peak
        assert verdicts["motor speed"].value == pytest.approx(np.abs(n * v).max(), rel=1e-6)
        if k:  # the drive sits on the link inboard of its joint
            point = pin.Inertia(choice.mass, np.zeros(3), np.zeros((3, 3)))
            model.appendBodyToJoint(k, point, model.jointPlacements[k + 1])


@pytest.mark.parametrize("seed", seeds(3, daily=1))
def test_a_drive_turns_the_joint_of_the_file(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A motor under constant voltage at the first joint of an arm; Pinocchio's arm beside it."""
    text = random_arm(seed, kinds=("revolute", "revolute"), dynamics='<dynamics damping="0.2"/>')
    robot, model = lw.Robot(save(tmp_path, text)), Oracle(text).model
    rng, n, volts, until = np.random.default_rng(seed), 40.0, 6.0, 0.2
    R, L, kt, J, b = rng.uniform(0.8, 1.2, 5) * (1.0, 2e-3, 0.05, 1e-4, 1e-5)
    s = lw.System(robot)
    motor = drives.DC(R=R, L=L, kt=kt, J=J, b=b)
    drive = s.add(
        drives.Drive(robot, robot.coordinates[0], drives.Ideal(1.0), motor, drives.Rigid(n))
    )
    s.connect(volts, drive.u)
    file = save(tmp_path, lw.write_model(s), "driven.toml")
    said = told(capsys, "analyze", "drives", file, "--until", until)
    model.armature = np.array([n * n * J, 0.0])

    def rates(_: float, x: Array) -> Array:
        q, u, i = x[:2], x[2:4], x[4]
        torque = np.array([n * (kt * i - b * n * u[0]), 0.0]) - 0.2 * u
        data = model.createData()
        a = pin.aba(model, data, q, u, torque)
        return np.concatenate([u, a, [(volts - R * i - kt * n * u[0]) / L]])

    run = solve_ivp(
        rates, (0, until), np.zeros(5), "DOP853", rtol=1e-10, atol=1e-12, dense_output=True
    )
    angle, _, speed, _, current = run.y[:, -1]
    final = {r["signal"]: r["final"] for r in said["signals"]}
    assert final["drive.load.angle"] == pytest.approx(angle, abs=1e-6)
    assert final["drive.load.speed"] == pytest.approx(speed, abs=1e-5)
    assert final["drive.motor.angle"] == pytest.approx(n * angle, abs=1e-5)
    assert final["drive.motor.i"] == pytest.approx(current, abs=1e-5)
    peaks = {r["signal"]: abs(r["peak"]) for r in said["signals"]}
    most = np.abs(run.sol(np.linspace(0, until, 4001))[4]).max()
    assert peaks["drive.motor.i"] == pytest.approx(most, rel=1e-3)


MOUNTS = {"axes": AZ_EL, "jack": JACK}


def beam(kind: str, q: Array) -> Array:
    """Where an own mount looks, from its turntable and its elevation or the length of its jack."""
    turn, up = q[0], q[1]
    if kind == "jack":
        ups = np.radians(np.linspace(-20, 100, 120_001))
        up = np.interp(q[1], jack_length(ups), ups)
    return np.array([np.cos(up) * np.cos(turn), np.cos(up) * np.sin(turn), np.sin(up)])


def jack_length(up: Array) -> Array:
    """Of the jack from its foot on the turntable to its lug on the dish."""
    x, z = 0.5 * np.cos(up) + 0.1 * np.sin(up), 0.5 * np.sin(up) - 0.1 * np.cos(up)
    return np.asarray(np.hypot(x - 0.6, z + 0.7))


@pytest.mark.parametrize("seed", seeds(3, daily=1))
@pytest.mark.parametrize("kind", MOUNTS)
def test_a_rotator_of_ones_own_mount_looks_where_it_says(
    kind: str, seed: int, tmp_path: Path
) -> None:
    """Lines of EasyComm and of rotctld; the beam by the angles of the mount, by hand."""
    aim = lw.mounts.Aiming(str(save(tmp_path, MOUNTS[kind], "own.toml")))
    rng = np.random.default_rng(seed)
    with Rotator(
        aim.name,
        reaches=aim.reaches,
        speed=math.radians(90),
        acceleration=math.radians(900),
        clock="virtual",
        park=aim.park,
    ) as rotator:
        line = EasyComm(rotator)
        for k in range(4):
            az, el = np.round(rng.uniform((0, 5), (360, 75)), 1)
            if k % 2:
                line.take(f"AZ{az} EL{el}\n".encode())
            else:
                assert answer(f"P {az} {el}", rotator).text == "RPRT 0\n"
            rotator.advance(20)
            assert line.take(b"AZ EL\n") == f"AZ{az} EL{el}\n".encode()
            shown = answer("p", rotator).text.split()
            assert [float(x) for x in shown] == pytest.approx([az, el], abs=0.006)
            looks = beam(kind, np.array(aim(direction(*degrees(rotator)))))
            a, e = np.radians([az, el])
            wanted = np.array([np.sin(a) * np.cos(e), np.cos(a) * np.cos(e), np.sin(e)])
            assert looks == pytest.approx(wanted, abs=1e-5)
        refused = line.refused
        line.take(b"AZ10.0 EL85.0\n")
        assert (line.refused > refused) == (kind == "jack")  # 80.7 degrees are its most


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open() as lines:
        return list(csv.DictReader(lines))


def test_a_chart_of_a_jack_is_that_of_its_triangle(tmp_path: Path) -> None:
    """Lengths by the law of cosines, forces by the work of the weight, ends where it is longest."""
    out = tmp_path / "jack.csv"
    over = ["--over", "azimuth=0:270:4", "--over", "elevation=0:90:10"]
    words = ["--of", "reach,effort,coordinates", "-o", str(out)]
    assert main(["parallel", "chart", str(save(tmp_path, JACK, "own.toml")), *over, *words]) == 0
    rows = rows_of(out)
    assert len(rows) == 40
    for row in rows:
        up, h = np.radians(float(row["elevation (deg)"])), 1e-6
        length = jack_length(up)
        assert (row["reach"] == "reached") == (length <= 1.25)
        if length > 1.25:
            continue
        lift = 60 * G * 0.3 * np.cos(up)
        slope = (jack_length(up + h) - jack_length(up - h)) / (2 * h)
        assert float(row["jack (m)"]) == pytest.approx(length, abs=1e-9)
        assert float(row["effort jack (N)"]) == pytest.approx(lift / slope, rel=1e-6)
        assert float(row["effort az (N*m)"]) == pytest.approx(0, abs=1e-9)
        turn = np.exp(1j * np.radians(90 - float(row["azimuth (deg)"])))
        assert np.exp(1j * float(row["az (rad)"])) == pytest.approx(turn, abs=1e-9)


class FiveBar:
    """A five-bar in a vertical plane, of random lengths and masses, and what it is by hand."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.arms, self.rods = rng.uniform(0.4, 0.5, 2), rng.uniform(0.55, 0.7, 2)
        self.feet = np.array([-1, 1]) * rng.uniform(0.15, 0.25, 2)
        self.masses, self.centers = rng.uniform(1, 3, (2, 2)), rng.uniform(0.3, 0.6, (2, 2))

    def tip(self, angles: Array, sign: float = 1.0) -> Array:
        """Where the rods meet, above or below the line through the elbows."""
        elbow = self.feet + self.arms * np.exp(1j * angles)
        d = elbow[1] - elbow[0]
        r = abs(d)
        along = (r * r + self.rods[0] ** 2 - self.rods[1] ** 2) / (2 * r)
        across = np.sqrt(self.rods[0] ** 2 - along**2)
        found = elbow[0] + (along + sign * 1j * across) * d / r
        return np.array([found.real, found.imag])

    def angles(self, x: float, y: float) -> Array:
        """Of the arms, elbows outward; nan where the tip cannot be."""
        way = x + 1j * y - self.feet
        r = np.abs(way)
        cosine = (r * r + self.arms**2 - self.rods**2) / (2 * r * self.arms)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.angle(way) + np.array([1, -1]) * np.arccos(cosine))

    def energy(self, angles: Array) -> float:
        """Of the weights, J."""
        tip = complex(*self.tip(angles))
        elbow = self.feet + self.arms * np.exp(1j * angles)
        arms = self.feet + self.centers[0] * (elbow - self.feet)
        rods = elbow + self.centers[1] * (tip - elbow)
        return float(G * (self.masses[0] @ arms.imag + self.masses[1] @ rods.imag))

    def slopes(self, angles: Array) -> tuple[Array, Array]:
        """Of the tip's place and of the energy, by central differences."""
        steps = np.eye(2) * 1e-6
        places = [(self.tip(angles + s) - self.tip(angles - s)) / 2e-6 for s in steps]
        works = [(self.energy(angles + s) - self.energy(angles - s)) / 2e-6 for s in steps]
        return np.transpose(places), np.array(works)

    def mechanism(self) -> lw.Mechanism:
        m = lw.Mechanism("own-five-bar")
        m.gravity("-y")
        tips = []
        start = self.angles(0.0, 0.7)
        for k, side in enumerate(("left", "right")):
            (a, b), r = self.centers[:, k] * (self.arms[k], self.rods[k]), float(self.rods[k])
            m.body(side, at=(float(self.feet[k]), 0, 0), rotate="z", mass=float(self.masses[0, k]),
                   com=(float(a), 0, 0), inertia=0.01)  # fmt: skip
            rod = m.body(f"{side}_rod", parent=side, at=(float(self.arms[k]), 0, 0), rotate="z",
                         mass=float(self.masses[1, k]), com=(float(b), 0, 0),
                         inertia=0.01)  # fmt: skip
            tips.append(m.point(f"{side}_tip", rod, (r, 0, 0)))
            elbow = self.feet[k] + self.arms[k] * np.exp(1j * start[k])
            bent = float(np.angle((0.7j - elbow) / np.exp(1j * start[k])))
            m.set_initial({side: float(start[k]), f"{side}_rod": bent})
        m.close_loop("pin", tips[0], tips[1], lw.Revolute("z"))
        m.actuate("left", "right")
        m.set_platform(tips[0])
        return m


@seldom(daily="test_a_rotator_of_ones_own_mount_looks_where_it_says")
@pytest.mark.parametrize("seed", seeds(3, daily=1))
def test_an_own_five_bar_is_charted_and_assembled(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Written in Python, saved as text; places, torques at rest and both assemblies by hand."""
    own = FiveBar(seed)
    file = save(tmp_path, lw.write_model(own.mechanism()), "own.toml")
    out = tmp_path / "own.csv"
    over = ["--over", "x=-0.3:0.3:4", "--over", "y=0.5:1.2:6"]
    words = ["--of", "reach,condition,effort,coordinates", "-o", str(out)]
    assert main(["parallel", "chart", str(file), *over, *words]) == 0
    counted = 0
    for row in rows_of(out):
        angles = own.angles(float(row["x (m)"]), float(row["y (m)"]))
        assert (row["reach"] == "reached") == bool(np.isfinite(angles).all())
        if row["reach"] != "reached":
            continue
        counted += 1
        shown = [float(row[f"{side} (rad)"]) for side in ("left", "right")]
        assert np.exp(1j * np.array(shown)) == pytest.approx(np.exp(1j * angles), abs=1e-7)
        jacobian, works = own.slopes(angles)
        assert float(row["condition"]) == pytest.approx(np.linalg.cond(jacobian), rel=1e-4)
        efforts = [float(row[f"effort {side} (N*m)"]) for side in ("left", "right")]
        assert efforts == pytest.approx(works, rel=1e-5, abs=1e-5)
    assert 8 < counted < 24
    said = told(capsys, "parallel", "assemblies", file)
    angles = own.angles(0.0, 0.7)
    assert (said["count"], said["complete"]) == (2, True)
    places = sorted(tuple(x["position"][:2]) for x in said["real"])
    wanted = sorted(tuple(own.tip(angles, sign)) for sign in (1.0, -1.0))
    assert np.array(places) == pytest.approx(np.array(wanted), abs=1e-9)


def test_tasks_of_closed_loops_move_their_actuators(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At rest an actuator holds the slope of the potential, at both ends of a move."""
    own = FiveBar(0)
    file = save(tmp_path, lw.write_model(own.mechanism()), "own.toml")
    start = lw.assemble(own.mechanism()).coordinates
    part = f'kind = "move"\nto = {{left = {start["left"] + 0.2}}}\nduration = 0.5\n'
    task = save(tmp_path, f'format = 1\nname = "go"\n[[part]]\n{part}', "go.toml")
    assert main(["analyze", "require", str(file), str(task), "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    need = lw.sizing.require(lw.Robot(file), lw.read_task(task))
    for k in (0, -1):
        held = [need[f"{name}.torque"][k] for name in ("left", "right")]
        angles = np.array([need[name][k] for name in ("left", "right")])
        assert held == pytest.approx(own.slopes(angles)[1], rel=1e-5, abs=1e-5)
    assert need["left"][-1] == pytest.approx(start["left"] + 0.2, abs=1e-9)
    robot = lw.Robot(file)
    t = np.linspace(0, 1, 51)
    angles = np.stack([own.angles(0.1 * np.sin(2 * np.pi * s), 0.8) for s in t])
    q = lw.robots.closed(robot, {"actuators": angles}).q
    u, a = np.gradient(angles, t, axis=0), 0 * angles
    torques = robot.inverse_dynamics(q, 0 * u, a)
    works = np.array([own.slopes(x)[1] for x in angles])
    assert torques == pytest.approx(works, rel=1e-6, abs=1e-6)
    made = [
        lw.sizing.JointCycle(n, "revolute", t, angles[:, k], u[:, k], a[:, k], torques[:, k])
        for k, n in enumerate(("left", "right"))
    ]
    assert list(lw.sizing.size(made).chosen) == ["left", "right"]


def quadruped(seed: int, damping: float) -> tuple[str, float, Array, float]:
    """An own robot on four straight legs; its mass, the places of its feet, its center along x."""
    rng = np.random.default_rng(seed)
    masses = rng.uniform((6, 0.4, 0.2), (12, 0.8, 0.4))
    front, rear, wide, leg = rng.uniform((0.2, -0.3, 0.1, 0.15), (0.3, -0.2, 0.2, 0.25))
    kept = f'<limit lower="-2" upper="2" effort="90" velocity="9"/><dynamics damping="{damping}"/>'

    def inertial(mass: float, low: float = 0.0) -> str:
        moments = " ".join(f'{c}="{mass * 0.01:.6g}"' for c in ("ixx", "iyy", "izz"))
        inertia = f'<inertia {moments} ixy="0" ixz="0" iyz="0"/>'
        return f'<inertial><origin xyz="0 0 {low}"/><mass value="{mass}"/>{inertia}</inertial>'

    rows = [
        '<robot name="own-quadruped"><link name="world"/><joint name="free" type="floating">'
        '<parent link="world"/><child link="trunk"/><origin xyz="0 0 0.05" rpy="0 0 0.4"/></joint>',
        f'<link name="trunk">{inertial(masses[0])}</link>',
    ]
    feet = [(x, y) for x in (front, rear) for y in (wide, -wide)]
    for k, (x, y) in enumerate(feet):
        ball = f'<origin xyz="0 0 {-leg}"/><geometry><sphere radius="0.02"/></geometry>'
        rows += [
            f'<link name="thigh-{k}">{inertial(masses[1], -leg / 2)}</link>',
            f'<link name="shin-{k}">{inertial(masses[2], -leg / 2)}<collision>{ball}</collision>'
            "</link>",
        ]
        places = (("hip", "trunk", "thigh", (x, y, 0)), ("knee", "thigh", "shin", (0, 0, -leg)))
        for joint, parent, child, at in places:
            ends = f'<child link="{child}-{k}"/><origin xyz="{" ".join(map(str, at))}"/>'
            above = parent if parent == "trunk" else f"{parent}-{k}"
            rows.append(
                f'<joint name="{joint}-{k}" type="revolute"><parent link="{above}"/>{ends}'
                f'<axis xyz="0 1 0"/>{kept}</joint>'
            )
    mass = float(masses @ (1, 4, 4))
    center = 2 * (front + rear) * (masses[1] + masses[2]) / mass
    return "\n".join(rows) + "</robot>", mass, np.array(feet), float(center)


@seldom(daily="test_an_own_robot_with_feet_stands_in_a_laboratory")
@pytest.mark.parametrize("seed", [*seeds(3, daily=1), 641436680])  # the last begins at the border
def test_an_own_quadruped_stands_with_its_weight_on_its_feet(seed: int, tmp_path: Path) -> None:
    """By simulate --ground; between front and rear by the lever, left and right alike."""
    text, mass, feet, center = quadruped(seed, 300.0)
    out = tmp_path / "stands.csv"
    file = save(tmp_path, text)
    assert main(["simulate", str(file), "--ground", "--until", "1", "-o", str(out)]) == 0
    run = lw.load(out)
    loads = np.array([run[f"ground.normal_shin_{k}"][-1] for k in range(4)])
    assert loads.sum() == pytest.approx(mass * G, rel=1e-3)
    share = (center - feet[2, 0]) / (feet[0, 0] - feet[2, 0])
    assert loads[:2].sum() == pytest.approx(share * mass * G, rel=0.02)
    assert loads[0::2] == pytest.approx(loads[1::2], rel=1e-3)


TABLE = """<robot name="table"><link name="world"/><joint name="free" type="floating">
<parent link="world"/><child link="top-plate"/><origin xyz="0 0 0.05" rpy="0 0 0.4"/></joint>
<link name="top-plate"><inertial><mass value="6"/>{I}</inertial>{feet}</link>
<link name="arm-1"><inertial><origin xyz="0 0 0.1"/><mass value="0.5"/>{I}</inertial></link>
<joint name="turn-1" type="revolute"><parent link="top-plate"/><child link="arm-1"/>
<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="30" velocity="5"/></joint></robot>"""


def test_an_own_robot_with_feet_stands_in_a_laboratory(tmp_path: Path) -> None:
    """On the ground of `simulate`, lifted onto it, with names of links that no program has."""
    inertia = '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'
    feet = "".join(
        f'<collision><origin xyz="{x} {y} -0.3"/><geometry><sphere radius="0.02"/></geometry>'
        "</collision>"
        for x, y in ((0.2, 0.1), (-0.2, 0.1), (0, -0.2))
    )
    file = save(tmp_path, TABLE.format(I=inertia, feet=feet))
    with lw.Lab(file, folder=tmp_path) as lab:
        assert float(lab.base.x[2]) == pytest.approx(0.32, abs=1e-6)
        lab.run(0.4)
        assert float(lab.base.x[2]) == pytest.approx(0.319, abs=5e-4)  # a foot sinks by 1 mm
        assert np.abs(lab.base.xd).max() < 0.01
        assert lab.cart["arm_1"].x[2] == pytest.approx(lab.base.x[2], abs=1e-6)


@seldom(daily="tests/package/test_own_frames.py::test_cells_take_the_tool_where_the_robot_has_it")
def test_two_own_arms_in_a_cell_go_where_each_is_told(tmp_path: Path) -> None:
    """Each by the pose of its own tool, at its own place; the other one stays."""
    first, second = seeds(2)
    kinds = {"x": ("revolute", "prismatic"), "y": ("revolute", "revolute")}
    texts = {"x": random_arm(first, kinds=kinds["x"]), "y": random_arm(second, kinds=kinds["y"])}
    parts = []
    for name, text in texts.items():
        robot = lw.Robot(save(tmp_path, text, f"{name}.urdf"))
        slides = [n for n, k in zip(robot.coordinates, kinds[name], strict=True) if k[0] == "p"]
        whole = cell_text(robot.coordinates, slides).replace("own.urdf", f"{name}.urdf")
        parts.append(whole.replace('name = "x"', f'name = "{name}"'))
    head, arm = parts[1].split("[[arm]]", 1)
    file = save(tmp_path, parts[0] + "[[arm]]" + arm, "cell.toml")
    assert head
    cell = VirtualCell(read_cell(file), sensing=False)
    cell.advance(10)
    for name in texts:
        cell.command(name, Command("enable", 1))
    cell.advance(300)
    goals = {"x": np.array([0.3, 0.1]), "y": np.array([-0.4, 0.5])}
    still = {name: np.array(cell.latest().values[f"{name}.q"]) for name in texts}
    for name, goal in goals.items():
        cell.command(name, Command("joints", 2, tuple(map(float, goal))))
        cell.advance(1000)
        still[name] = goal
        state = cell.latest().values
        for other, wanted in still.items():
            assert state[f"{other}.cause"] == 0
            assert state[f"{other}.q"] == pytest.approx(wanted, abs=1e-4), (name, other)
        pose = Oracle(texts[name]).pose(goal, "tcp")
        assert state[f"{name}.pose"][:3] == pytest.approx(pose[:3, 3], abs=1e-4)


@pytest.mark.parametrize("seed", seeds(3, daily=1))
def test_an_arm_written_in_python_moves_as_pinocchio_moves_it(seed: int, tmp_path: Path) -> None:
    """Bodies with skew axes, slides and full inertias: robot, run, text, and what a task asks."""
    rng = np.random.default_rng(seed)
    m, model = lw.Mechanism("written"), pin.Model()
    m.gravity("-z")
    model.gravity.linear = np.array([0, 0, -G])
    parent, joint = None, 0
    for k in range(2):
        axis = rng.normal(size=3)
        axis = axis / np.linalg.norm(axis)
        at, com, mass = rng.uniform(-0.3, 0.3, 3), rng.uniform(-0.1, 0.1, 3), rng.uniform(1, 3)
        root = rng.normal(size=(3, 3))
        inertia = 0.01 * (root @ root.T + 3 * np.eye(3))
        inertia = 0.5 * np.trace(inertia) * np.eye(3) - 0.5 * inertia  # as masses have it
        slides = (seed + k) % 3 == 1
        words = (
            {"translate": [tuple(axis.tolist())]} if slides else {"rotate": tuple(axis.tolist())}
        )
        parent = m.body(
            f"b{k}", parent=parent, at=tuple(at.tolist()), mass=mass, com=tuple(com.tolist()),
            inertia=tuple(inertia[(0, 1, 2, 0, 1, 2), (0, 1, 2, 1, 2, 0)].tolist()), **words,
        )  # fmt: skip
        kind = pin.JointModelPrismaticUnaligned if slides else pin.JointModelRevoluteUnaligned
        place = pin.SE3(np.eye(3), at)
        joint = model.addJoint(joint, kind(axis), place, f"b{k}")
        model.appendBodyToJoint(joint, pin.Inertia(mass, com, inertia), pin.SE3.Identity())
    robot, data = lw.Robot(m), model.createData()
    q, u, a = rng.uniform(-0.2, 0.2, (3, 2))
    want = pin.rnea(model, data, q, u, a)
    again = lw.Robot(save(tmp_path, lw.write_model(m), "own.toml"))
    for one in (robot, again):
        assert one.inverse_dynamics(q, u, a) == pytest.approx(want, abs=1e-10)
    names = [*m.coordinates, *(f"{n}_dot" for n in m.coordinates)]
    run = lw.simulate(m, 0.1, initial=dict(zip(names, [*q, *u], strict=True)))

    def rates(_: float, x: Array) -> Array:
        return np.concatenate([x[2:], pin.aba(model, data, x[:2], x[2:], np.zeros(2))])

    true = solve_ivp(rates, (0, 0.1), [*q, *u], "DOP853", rtol=1e-10, atol=1e-12).y[:, -1]
    assert [run.final[n] for n in names] == pytest.approx(true, abs=1e-6)
    goals = dict(zip(m.coordinates, (0.2, -0.1), strict=True))
    need = lw.sizing.require(again, lw.Task([lw.motion.Move(goals, 0.5)]), step=0.05)
    kinds = ("position", "speed", "acceleration", "torque")
    rows = [np.transpose([need.values(n, kind) for n in m.coordinates]) for kind in kinds]
    torques = [pin.rnea(model, data, *x) for x in zip(*rows[:3], strict=True)]
    assert rows[3] == pytest.approx(np.array(torques), abs=1e-8)
