"""Every frame by every door: a link of a machine of one's own is where Pinocchio has it.

The machines are random arms with turned joint frames, skew axes, slides, a flange and a massless
tool on fixed joints, and names that differ only in `-` and `_` (`tests.random.own_machines`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import linkwright as lw
from linkwright.algebra import Expr, evaluate, free_symbols
from linkwright.base.errors import Error
from linkwright.cli import main
from linkwright.control.visual_points import ImagePoints
from linkwright.elements import (
    CapsuleSurface,
    CompliantWrist,
    Contact,
    DiscTarget,
    ForceTorque,
    Imu,
    PinholeCamera,
    Plane,
    RoundContact,
    SphereSurface,
    WeightCompensation,
)
from linkwright.equations.parallel_machine import parallel_machine
from linkwright.formats.robot.from_mechanism import description_of
from linkwright.formats.robot.transforms import quaternion_rotation
from linkwright.formats.text.files import write_model
from linkwright.program import Assign
from linkwright.robots import closed
from linkwright.scene.scene import scene_of
from linkwright.server.cell_file import read_cell
from linkwright.server.face import Command
from linkwright.server.virtual import VirtualCell
from tests.random.own_machines import SCARA, Oracle, cell_text, random_arm, save
from tests.seeds import seeds, seldom
from tests.support.element_values import Evaluated
from tests.support.late import Late

if TYPE_CHECKING:
    import pinocchio as pin
else:
    pin = Late("pinocchio")

LINKS = ("arm-1", "arm_1", "flange-plate", "tcp")
SENSED = ("arm-1", "arm_1", "tcp")
DOWN = np.array([0.0, 0.0, -9.81])


@pytest.fixture(params=seeds(2, daily=1))
def arm(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[lw.Robot, Oracle, np.ndarray]:
    """A robot of two joints or three, its oracle, and coordinates, speeds and accelerations."""
    joints = 2 + request.param % 2
    text = random_arm(request.param, joints)
    state = np.random.default_rng(request.param).uniform(-1, 1, size=(3, joints)) * 0.2
    return lw.Robot(save(tmp_path, text)), Oracle(text), state


def numbers(robot: lw.Robot, q: np.ndarray) -> Callable[[Sequence[Expr]], np.ndarray]:
    """What evaluates expressions of a robot's coordinates."""
    at = dict(zip(robot.mechanism.coordinates.values(), q, strict=True))
    return lambda exprs: np.array([float(evaluate(x, at)) for x in exprs])


Arm = tuple[lw.Robot, Oracle, np.ndarray]


def test_robots(arm: Arm, tmp_path: Path) -> None:
    """The robot, one of its mechanism, of its text and of the description of either."""
    robot, oracle, (q, u, a) = arm
    text = save(tmp_path, write_model(robot.mechanism), "own.toml")
    written = lw.Robot(text)
    others = lw.Robot(robot.mechanism), lw.Robot(description_of(robot.mechanism))
    for other in (robot, *others, written, lw.Robot(description_of(written.mechanism))):
        for frame in ("base", *LINKS):
            assert other.pose(q, frame) == pytest.approx(oracle.pose(q, frame), abs=1e-12)
    assert robot.inverse_dynamics(q, u, a) == pytest.approx(oracle.torques(q, u, a), abs=1e-11)
    for shown, link in zip(robot.reactions(q, u, a), robot.links, strict=True):
        assert shown == pytest.approx(oracle.carried(q, u, a, link), abs=1e-11)


def test_mechanism(arm: Arm) -> None:
    """Points, axes in texts, the platform of a machine; the body goes by nobody's name."""
    robot, oracle, (q, _, _) = arm
    value, m = numbers(robot, q), robot.mechanism
    for frame in LINKS:
        pose = oracle.pose(q, frame)
        point = robot.point(frame)
        assert value(point.position.components(m.ground.frame)) == pytest.approx(pose[:3, 3])
        axes = [value(axis.components(m.ground.frame)) for axis in point.axes]
        assert pytest.approx(pose[:3, :3], abs=1e-12) == np.array(axes).T
        machine = parallel_machine(m, actuators=robot.coordinates, platform=frame)
        assert value(machine.position) == pytest.approx(pose[:3, 3])
        rows = np.array([value(row) for row in machine.rotation])
        assert rows == pytest.approx(pose[:3, :3], abs=1e-12)
        assert value(machine.direction) == pytest.approx(pose[:3, 2], abs=1e-12)
    for k, letter in enumerate("xyz"):
        told = value(m.vector(f"tcp.{letter}").components(m.ground.frame))
        assert told == pytest.approx(oracle.pose(q, "tcp")[:3, k], abs=1e-12)
    (hidden,) = (b.name for b in m.bodies.values() if b is robot.point("arm-1").body)
    with pytest.raises(Error, match="did you mean"):
        m.place(hidden)
    with pytest.raises(Error, match="other axes"):
        m.point("probe", "tcp", (0, 0, 1))


MJCF = """<mujoco><compiler angle="degree"/><worldbody><body name="b" pos="0 0 1" euler="20 30 40">
<joint name="j" axis="1 2 3" pos="0.1 0 0.2"/><geom size="0.1"/><site name="imu" pos="0.1 0.2 0.3"
euler="30 20 10"/><body name="c-d" pos="0.3 0 0" euler="90 0 0"><joint name="k" type="slide"
axis="0 1 1"/><geom size="0.1"/><site name="eye" euler="0 90 45"/></body></body></worldbody>
</mujoco>"""


def test_sites_of_mjcf(tmp_path: Path) -> None:
    import mujoco

    robot = lw.Robot(save(tmp_path, MJCF, "own.xml"))
    model = mujoco.MjModel.from_xml_string(MJCF)
    data = mujoco.MjData(model)
    q = data.qpos[:] = np.array([0.4, 0.1])
    mujoco.mj_forward(model, data)
    value, ground = numbers(robot, q), robot.mechanism.ground.frame
    for name, there in (
        ("b", data.body("b")), ("c-d", data.body("c-d")), ("imu", data.site("imu")),
        ("eye", data.site("eye")),
    ):  # fmt: skip
        point = robot.point(name)
        assert value(point.position.components(ground)) == pytest.approx(there.xpos, abs=1e-12)
        axes = [value(axis.components(ground)) for axis in point.axes]
        assert np.array(axes).T.ravel() == pytest.approx(there.xmat, abs=1e-12)


def sensed(robot: lw.Robot) -> lw.System:
    """A System with sensors and surfaces at all links."""
    s = lw.System(robot)
    for k, frame in enumerate(SENSED):
        s.add(Imu(robot, frame), name=f"imu{k}")
        s.add(ForceTorque(robot, frame), name=f"ft{k}")
        plane = Plane(body=frame, center=(0.1, 0.2, 0.3))
        s.add(Contact(robot, ["world"], plane, stiffness=0.0), name=f"plane{k}")
        disc = DiscTarget(0.1, body=SENSED[k - 1], center=(0.3, 0, 0))
        s.add(PinholeCamera(robot, frame, [disc]), rate=1000, name=f"eye{k}")
    return s


def test_sensors_surfaces_and_reactions(arm: Arm, tmp_path: Path) -> None:
    """In a run of the System, or of the System that its text makes."""
    robot, oracle, (q, u, _) = arm
    robot.mechanism.output_all("reactions")
    system = sensed(robot)
    if robot.mechanism.name[-1] in "13579":
        system = lw.load(save(tmp_path, write_model(system), "system.toml"))
    names = [f"{x}_dot" for x in robot.coordinates]
    start = dict(zip((*robot.coordinates, *names), (*q, *u), strict=True))
    run = lw.simulate(system, until=1e-3, step=1e-3, initial=start)
    model, data = oracle.model, oracle.model.createData()
    a = np.array(pin.aba(model, data, oracle.configuration(q), u, 0 * u))

    def first(*channels: str) -> np.ndarray:
        return np.array([float(run[c][0]) for c in channels])

    for k, frame in enumerate(SENSED):
        pose, other = oracle.pose(q, frame), oracle.pose(q, SENSED[k - 1])
        moved, turned = oracle.motion(q, u, a, frame)
        felt = moved - pose[:3, :3].T @ DOWN
        assert first(*(f"imu{k}.accel_{c}" for c in "xyz")) == pytest.approx(felt, abs=1e-9)
        assert first(*(f"imu{k}.gyro_{c}" for c in "xyz")) == pytest.approx(turned, abs=1e-11)
        loads = (f"ft{k}.{w}_{c}" for w in ("force", "moment") for c in "xyz")
        carried = oracle.carried(q, u, a, frame)
        assert first(*loads) == pytest.approx(carried, abs=1e-8)
        assert first(*(f"ft{k}.wrench[{i}]" for i in range(6))) == pytest.approx(-carried, abs=1e-8)
        world = np.linalg.inv(pose) @ oracle.pose(q, "world")[:, 3]
        assert first(f"plane{k}.depth1") == pytest.approx(0.3 - world[2], abs=1e-12)
        seen = np.linalg.inv(pose) @ other
        disc = np.concatenate([0.1 * seen[:3, 0], 0.1 * seen[:3, 1], (seen @ [0.3, 0, 0, 1])[:3]])
        shown = first(*(f"eye{k}.outline[{i}]" for i in range(9)))
        assert shown == pytest.approx(disc, abs=1e-11), frame
    for link in robot.links:
        body = robot.point(link).body.name
        if system.mechanism is not robot.mechanism and body != link:
            continue  # in a text it is the body's own
        shown = first(*(f"{body}.{w}{c}" for w in "FM" for c in "xyz"))
        assert shown == pytest.approx(oracle.carried(q, u, a, link), abs=1e-8)
        assert f"joint of {link} along" in run.recording.channel(f"{body}.Fx").long


def test_laws_and_wrists(arm: Arm) -> None:
    """Laws of force, a wrist, the weight of a tool, round surfaces: along the frame's axes."""
    robot, oracle, (q, _, _) = arm
    K, goal = np.array([900.0, 500, 200, 30, 20, 10]), q + np.array([0.05, -0.03, 0.04])[: len(q)]
    at = dict(zip(robot.coordinates, q, strict=True))
    for frame in LINKS[1:]:
        pose, end = oracle.pose(q, frame), oracle.pose(goal, frame)
        law = lw.control.Stiffness(
            robot, frame, K=list(K), axes="x", target=list(goal), joints=robot.coordinates
        )
        found = {n: float(Evaluated(law, at)[n]) for n in law.outputs}
        turn = pose[:3, :3].T @ end[:3, :3]
        e = np.concatenate([pose[:3, :3].T @ (end - pose)[:3, 3], pin.log3(turn)])
        wanted = oracle.jacobian(q, frame).T @ (K * e) + oracle.torques(q, q * 0, q * 0)
        shown = [found[f"tau_{x}"] for x in robot.coordinates]
        assert shown == pytest.approx(wanted, rel=1e-9, abs=1e-9), frame
        weight = Evaluated(WeightCompensation(robot, frame, 2.0, (0.1, 0, 0)), at)
        pull = 2 * pose[:3, :3].T @ DOWN
        told = [weight.known[x] for x in weight.element.outputs["wrench"].symbols]
        expected = -np.concatenate([pull, np.cross([0.1, 0, 0], pull)])
        assert np.array(told, float) == pytest.approx(expected, abs=1e-9)
        ball, rod = SphereSurface(0.1, body="arm-1"), CapsuleSurface(0.1, 1.0, body=frame)
        first = pose[:3, 3] + pose[:3, 2] * 0.5 - oracle.pose(q, "arm-1")[:3, 3]
        axis = pose[:3, 2]
        along = np.clip(first @ axis, 0, 1)
        gap = np.linalg.norm(first - along * axis)
        touch = Evaluated(RoundContact(robot, ball, rod, stiffness=1e3), at)
        assert float(touch["depth1"]) == pytest.approx(0.2 - gap, abs=1e-9)


def test_a_wrist_bends_along_the_axes_of_its_flange(arm: Arm) -> None:
    robot, oracle, (q, _, _) = arm
    last = robot.links[-1]
    wrist = CompliantWrist(robot, robot.links[-2], last, [300.0] * 6, [1.0] * 6)
    flange = robot.links[-2]
    rest = np.append(q[:-1], 0.0)
    pose, place, start = (oracle.pose(q, flange), oracle.pose(q, last), oracle.pose(rest, last))
    turn = pin.log3(pose[:3, :3].T @ place[:3, :3] @ start[:3, :3].T @ pose[:3, :3])
    expected = np.concatenate([pose[:3, :3].T @ (place - start)[:3, 3], turn])
    told = numbers(robot, q)(wrist.deflection)
    assert told == pytest.approx(expected, abs=1e-9)


def test_scenes(arm: Arm) -> None:
    robot, oracle, (q, _, _) = arm
    scene = scene_of(robot)
    rows = scene.poses(q).poses
    for marked in scene.frames:
        row = rows[marked.node]
        turn = np.array(quaternion_rotation([float(x) for x in row[3:]]))
        pose = oracle.pose(q, marked.name)
        assert row[:3] + turn @ marked.place.position == pytest.approx(pose[:3, 3], abs=1e-9)
        assert turn @ marked.place.rotation == pytest.approx(pose[:3, :3], abs=1e-9)
    for link in robot.links:  # whose axes pages and the studio show
        (own,) = (each for each in scene.frames if each.name == link)
        assert scene.axes_of(own.node) == own.place


def test_image_based_laws(arm: Arm) -> None:
    robot, oracle, (q, _, _) = arm
    for frame in LINKS:
        eye = ImagePoints(robot, frame, [(0, 0)], depth=1.0, joints=robot.coordinates)
        known: dict[Expr, float] = dict(zip(robot.mechanism.coordinates.values(), q, strict=True))
        for statement in eye.statements:
            if isinstance(statement, Assign) and known.keys() >= {*free_symbols(statement.value)}:
                known[statement.target] = float(evaluate(statement.value, known))
        rows = [[float(evaluate(x, known)) for x in row] for row in eye.jacobian]
        assert np.array(rows) == pytest.approx(oracle.jacobian(q, frame), abs=1e-11)


def test_laboratories(tmp_path: Path) -> None:
    text = random_arm(seeds(1)[0], 2)
    with lw.Lab(save(tmp_path, text), folder=tmp_path) as lab:
        pose, shown = Oracle(text).pose(lab.state.q, "tcp"), lab.cart["tcp"]
        assert shown.x == pytest.approx(pose[:3, 3], abs=1e-12)
        turn = quaternion_rotation([float(x) for x in shown.q])
        assert np.array(turn) == pytest.approx(pose[:3, :3], abs=1e-9)


FLOATING = """<robot name="floats"><link name="world"/><link name="stand"/>
<joint name="put" type="fixed"><parent link="world"/><child link="stand"/>
<origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/></joint>
<joint name="free" type="floating"><parent link="stand"/><child link="trunk"/>
<origin xyz="0 0.1 2" rpy="1 -0.3 0.2"/></joint>
<link name="trunk"><inertial><mass value="6"/>{I}</inertial></link>
<link name="leg"><inertial><origin xyz="0 0 -0.1"/><mass value="0.5"/>{I}</inertial></link>
<joint name="hip" type="revolute"><parent link="trunk"/><child link="leg"/>
<origin xyz="0.2 0 0" rpy="0 0 1"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="30" velocity="5"/></joint></robot>"""


@seldom(daily="test_laboratories")
def test_the_base_of_a_laboratory_is_where_its_link_is(tmp_path: Path) -> None:
    """It falls along the vertical of the world, whatever place its joint has in the file."""
    inertia = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    file = save(tmp_path, FLOATING.format(I=inertia))
    robot = lw.Robot(file)
    pose, leg = robot.pose(robot.neutral, "trunk"), robot.pose(robot.neutral, "leg")
    with lw.Lab(file, folder=tmp_path) as lab:
        for fallen in (0.0, 9.81 * 0.2**2 / 2):
            if fallen:
                lab.run(0.2)
            down = np.array([0, 0, -fallen])
            assert lab.base.x == pytest.approx(pose[:3, 3] + down, abs=1e-4)
            turn = np.array(quaternion_rotation([float(x) for x in lab.base.q]))
            assert turn == pytest.approx(pose[:3, :3], abs=1e-6)
            assert lab.cart["leg"].x == pytest.approx(leg[:3, 3] + down, abs=1e-4)
        assert lab.base.xd == pytest.approx([0, 0, -9.81 * 0.2], abs=1e-6)


AZ_EL = """<robot name="azel"><link name="base"/>
<link name="yoke"><inertial><mass value="50"/>{I}</inertial></link>
<link name="dish"><inertial><origin xyz="0 0 0.3"/><mass value="20"/>{I}</inertial></link>
<link name="beam"/>
<joint name="az" type="continuous"><parent link="base"/><child link="yoke"/>
<origin xyz="0 0 1" rpy="0.2 0 0.7"/><axis xyz="0 0 1"/></joint>
<joint name="el" type="continuous"><parent link="yoke"/><child link="dish"/>
<origin xyz="0 0 0.5" rpy="1.5707963267948966 0 0.3"/><axis xyz="1 0 0"/></joint>
<joint name="feed" type="fixed"><parent link="dish"/><child link="beam"/>
<origin xyz="0 0 0.5" rpy="0.3 0 0"/></joint></robot>"""


@pytest.mark.parametrize("platform", ["dish", "beam"])
def test_mounts_point_along_z_of_the_link(platform: str, tmp_path: Path) -> None:
    inertia = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    text = AZ_EL.format(I=inertia)
    mount = lw.Robot(save(tmp_path, text), actuators=["az", "el"], platform=platform)
    wanted = np.array([0.3, 0.5, 0.6]) / np.linalg.norm([0.3, 0.5, 0.6])
    for q in (closed(mount, {"direction": wanted}).q, lw.mounts.Aiming(mount)(wanted)):
        looks = Oracle(text).pose(np.ravel(q), platform)[:3, 2]
        assert looks == pytest.approx(wanted, abs=1e-7)


def quaternion(turn: np.ndarray) -> tuple[float, ...]:
    x, y, z, w = pin.Quaternion(turn).coeffs()
    return w, x, y, z


def test_cells_take_the_tool_where_the_robot_has_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An arm with joints that turn and one that slides is told to stay, and to go elsewhere."""
    text = random_arm(7, kinds=("revolute", "prismatic", "revolute"))
    robot, oracle = lw.Robot(save(tmp_path, text)), Oracle(text)
    slide = robot.coordinates[1]
    file = save(tmp_path, cell_text(robot.coordinates, [slide]), "cell.toml")
    assert main(["model", "check", str(file)]) == 0, capsys.readouterr()
    cell = VirtualCell(read_cell(file), sensing=False)
    cell.advance(10)
    cell.command("x", Command("enable", 1))
    cell.advance(300)
    start = np.array([0.3, 0.05, 0.6])
    cell.command("x", Command("joints", 2, tuple(start)))
    cell.advance(1000)
    for k, q in ((3, start), (4, start + np.array([0.05, 0.02, 0.1]))):
        pose = oracle.pose(q, "tcp")
        told = (*pose[:3, 3], *quaternion(pose[:3, :3]))
        cell.command("x", Command("pose", k, tuple(map(float, told)), name="base"))
        cell.advance(1500)
        state = cell.latest().values
        assert (state["x.cause"], state["x.done"]) == (0, k)
        assert state["x.q"] == pytest.approx(q, abs=1e-5)


UNFIT: dict[str, Callable[[str], str]] = {
    "follows": lambda text: _within(text, "turn-2", '<mimic joint="turn-1" multiplier="0.5"/>'),
    "floats": lambda text: text.replace('"turn-2" type="revolute"', '"turn-2" type="floating"'),
    "hidden": lambda text: text,
}


def _within(text: str, joint: str, more: str) -> str:
    start = text.index(f'<joint name="{joint}"')
    end = text.index("</joint>", start)
    return text[:end] + more + text[end:]


@pytest.mark.parametrize("case", UNFIT)
def test_check_refuses_the_arms_that_serve_refuses(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = UNFIT[case](random_arm(3, kinds=SCARA[1:]))
    m = lw.Robot(save(tmp_path, text)).mechanism
    slides = [q.name for body in m.bodies.values() for q, _ in body.translations]
    tool = "arm_1_2" if case == "hidden" else ""
    file = save(tmp_path, cell_text(list(m.coordinates), slides, tool=tool), "cell.toml")
    with pytest.raises(Error):
        VirtualCell(read_cell(file))
    assert main(["model", "check", str(file)]) == 2
    assert "own.urdf" in capsys.readouterr().err


def test_feet_are_known_by_their_links(tmp_path: Path) -> None:
    sphere = '<collision><geometry><sphere radius="0.02"/></geometry></collision>'
    mass = '<mass value="6"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    rows = [f'<robot name="table"><link name="trunk"><inertial>{mass}</inertial></link>']
    feet = ("foot-0", "foot_0", "third")
    for k, (foot, (x, y)) in enumerate(zip(feet, ((2, 1), (-2, 1), (0, -2)), strict=True)):
        ends = f'<parent link="trunk"/><child link="{foot}"/>'
        place = f'<origin xyz="{x / 10} {y / 10} {-0.3 - k / 500}" rpy="1 2 3"/>'
        rows.append(f'<link name="{foot}">{sphere}</link>')
        rows.append(f'<joint name="f{k}" type="fixed">{ends}{place}</joint>')
    robot = lw.Robot(save(tmp_path, "".join(rows) + "</robot>"), base="free")
    system = lw.robots.on_ground(robot, start={"trunk_free.z": 0.31})
    run = lw.simulate(system, until=1e-3, step=1e-3)
    q = np.array([float(run[c][0]) for c in robot.coordinates])
    for foot, label in zip(feet, ("foot_0_2", "foot_0", "third"), strict=True):
        depth = 0.02 - robot.pose(q, foot)[2, 3]
        assert float(run[f"ground.depth_{label}"][0]) == pytest.approx(depth, abs=1e-12)
        assert label in run.recording.channel(f"ground.normal_{label}").long
