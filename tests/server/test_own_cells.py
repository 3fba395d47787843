"""Cells of one's own: what comes from the model, where arms stand, what is refused."""

from __future__ import annotations

import math
import runpy
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.cli import main
from linkwright.formats.robot.transforms import rotation_quaternion
from linkwright.server.access import Client
from linkwright.server.cell import CAUSES
from linkwright.server.cell_file import read_cell, refuse_weak, starter_text
from linkwright.server.face import CAREFUL, Command
from linkwright.server.hand import ArmHand
from linkwright.server.host import CellHost
from linkwright.server.listening import listening_of
from linkwright.server.reach import pose_matrix
from linkwright.server.recorded import whole_session
from linkwright.server.running import RunningCell
from linkwright.server.virtual import VirtualCell
from linkwright.simulation.pacing import PacedLoop
from tests.seeds import seeds, seldom
from tests.support.cells import puma_text

URDF = """<robot name="two"><link name="base"/>
<link name="a"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
<inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="b"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
<inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="tcp"/>
<joint name="lift" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>
<limit lower="-1.5" upper="1.25" velocity="2" effort="40"/></joint>
<joint name="slide" type="prismatic"><parent link="a"/><child link="b"/><origin xyz="0.4 0 0"/>
<axis xyz="1 0 0"/><limit lower="0" upper="0.3" velocity="0.5" effort="30"/></joint>
<joint name="end" type="fixed"><parent link="b"/><child link="tcp"/><origin xyz="0.3 0 0"/></joint>
</robot>"""

CELL = """format = 1
name = "own"
[[arm]]
name = "left"
model = "two.urdf"
"""


def vector(matrix: NDArray[np.float64]) -> tuple[float, ...]:
    """Return the numbers of a pose."""
    x, y, z = ((float(a), float(b), float(c)) for a, b, c in matrix[:3, :3])
    return (*map(float, matrix[:3, 3]), *rotation_quaternion((x, y, z)))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "two.urdf").write_text(URDF)
    made = tmp_path / "cell.toml"
    made.write_text(CELL)
    return made


@pytest.fixture(scope="module")
def shipped() -> VirtualCell:
    """The first arm of the shipped cell, enabled."""
    cell = VirtualCell(read_cell(puma_text()))
    cell.advance(10)
    cell.command("puma", Command("enable", 1))
    cell.advance(100)
    return cell


def settle(cell: VirtualCell, ticks: int) -> None:
    """Go on until the PUMA stands, so many ticks at most."""
    for _ in range(ticks // 100):
        cell.advance(100)
        if not cell.latest().values["puma.moving"]:
            break


# -- what a file says ------------------------------------------------------------------------------
def test_limits_speeds_and_efforts_come_from_the_robot_file(file: Path) -> None:
    lift, slide = read_cell(file).arms[0].axes
    assert (lift.low, lift.high, lift.speed, lift.unit) == (-1.5, 1.25, 2.0, "rad")
    assert (lift.constant * lift.current, lift.acceleration) == (40.0, 8.0)
    assert (slide.low, slide.high, slide.speed, slide.current) == (0.0, 0.3, 0.5, 30.0)
    file.write_text(CELL + '[[arm.axis]]\njoint = "slide"\nspeed = 0.2\nconstant = -15\n')
    lift, slide = read_cell(file).arms[0].axes  # what is given counts, the rest is the file's
    assert (slide.speed, slide.high, slide.current, lift.speed) == (0.2, 0.3, 2.0, 2.0)


def test_what_neither_file_has_is_asked_for_by_name(file: Path) -> None:
    urdf = file.with_name("two.urdf")
    urdf.write_text(URDF.replace('velocity="2" effort="40"', 'velocity="2" effort="0"'))
    told = r"cell.toml:3:1: arm\[0\]: 'lift' has no current, .*give its \[\[arm.axis\]\] with joint"
    with pytest.raises(lw.InputError, match=told):
        read_cell(file)


def test_currents_that_cannot_hold_the_arm_are_refused_before_it_is_served(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refuse_weak(read_cell(file))
    file.write_text(CELL + '[[arm.axis]]\njoint = "lift"\ncurrent = 3\n')
    weight = 9.81 * (2 * 0.2 + 1 * 0.5)
    with pytest.raises(lw.InputError, match=f"'left' has 3 N.m at 3 A, .* takes {weight:.4g} N"):
        refuse_weak(read_cell(file))
    assert main(["model", "check", str(file)]) == 2
    assert "its weight where it starts" in capsys.readouterr().err


def test_a_cell_to_start_from_is_sound(tmp_path: Path) -> None:
    path = tmp_path / "my-cell.toml"
    assert main(["model", "new", "my-cell", "--template", "cell", "-o", str(path)]) == 0
    cell = read_cell(path)
    refuse_weak(cell)
    assert (cell.name, [frame.name for frame in cell.frames]) == ("my_cell", ["world", "table"])


def test_names_count_on_loopback_where_that_is_asked_for() -> None:
    rights = '\n[[client]]\nname = "guest"\nrights = ["look"]\n'
    text = read_cell("axes2").text + rights
    assert listening_of(read_cell(text)).clients == ()
    cell = read_cell(text.replace("rate = 500", "rate = 500\nenforce = true"))
    assert listening_of(cell).clients == (Client("guest", ("look",)),)
    with pytest.raises(lw.InputError, match="enforce: no client is named"):
        read_cell(read_cell("axes2").text.replace("rate = 500", "rate = 500\nenforce = true"))


# -- where arms stand ------------------------------------------------------------------------------
@seldom(daily="tests/package/test_own_frames.py::test_cells_take_the_tool_where_the_robot_has_it")
def test_poses_in_the_world_are_those_of_both_arms() -> None:
    """The mounts are random; the product of matrices is made here."""
    text, rng = starter_text("two"), np.random.default_rng(*seeds(1))
    head, arm = text.split("[[arm]]\n", 1)
    arm, frames = arm.split("[[frame]]", 1)
    mounts = []
    for _ in range(2):
        turn = rng.normal(size=4)
        mounts.append([*rng.uniform(-0.5, 0.5, 3), *turn / np.linalg.norm(turn)])
    old = "mount = [0, 0, 0.5, 1, 0, 0, 0]"
    arms = [
        arm.replace(old, f"mount = {[float(x) for x in m]}").replace('"arm"', f'"{name}"')
        for m, name in zip(mounts, ("one", "other"), strict=True)
    ]
    cell = read_cell(f"{head}[[arm]]\n{arms[0]}[[arm]]\n{arms[1]}[[frame]]{frames}")
    run = VirtualCell(cell)
    run.advance(10)
    robot = lw.Robot(cell.arms[0].mechanism.with_parameters(dict(cell.arms[0].values)))
    table = pose_matrix(cell.frames[1].pose)
    for k, (frame, place) in enumerate((("world", np.eye(4)), ("table", table)), 1):
        goals = {}
        for one in cell.arms:
            here = pose_matrix(one.mount) @ pose_matrix(run.latest().values[f"{one.name}.pose"])
            goals[one.name] = here @ pose_matrix((0.02 * k, 0, -0.05, 1, 0, 0, 0))
            if k == 1:
                run.command(one.name, Command("enable", 1))
            given = vector(np.linalg.inv(place) @ goals[one.name])
            run.command(one.name, Command("pose", 1 + k, given, frame=frame))
        run.advance(1500)
        state = run.latest().values
        for one in cell.arms:
            assert state[f"{one.name}.done"] == 1 + k
            found = pose_matrix(one.mount) @ robot.pose(state[f"{one.name}.target"], "tool")
            assert np.abs(found - goals[one.name]).max() < 1e-6


# -- what is known of an arm -----------------------------------------------------------------------
@seldom(daily="tests/package/test_own_frames.py::test_cells_take_the_tool_where_the_robot_has_it")
def test_the_state_has_the_pose_of_the_tool_and_torques_from_outside(shipped: VirtualCell) -> None:
    arm = shipped.cell.arms[0]
    robot = lw.Robot(arm.mechanism.with_parameters(dict(arm.values)))
    state = shipped.latest().values
    found = pose_matrix(state["puma.pose"])
    assert np.abs(found - robot.pose(state["puma.q"], "tool")).max() < 1e-9
    before = state["puma.external"].copy()
    push = [3.0, -8.0, 5.0, 0.5, -0.4, 0.3]
    shipped.put({f"puma_plant.push[{i}]": x for i, x in enumerate(push)})
    shipped.advance(1500)
    seen = shipped.latest().values["puma.external"] - before
    shipped.put({f"puma_plant.push[{i}]": 0.0 for i in range(6)})
    shipped.advance(1500)
    assert np.abs(seen - push).max() < 0.15  # dry friction holds a part
    assert np.abs(shipped.latest().values["puma.external"] - before).max() < 0.15


# -- poses that cannot be reached ------------------------------------------------------------------
def test_a_pose_out_of_reach_is_refused_before_the_arm_moves(shipped: VirtualCell) -> None:
    before = shipped.latest().values
    far = (5.0, 5.0, 5.0, 1.0, 0.0, 0.0, 0.0)
    with pytest.raises(lw.server.RefusedError, match=r"x = 5, .* comes within 7\.6") as refused:
        shipped.command("puma", Command("pose", 50, far))
    assert refused.value.name == "reach"
    shipped.advance(20)
    after = shipped.latest().values
    assert after["puma.taken"] == before["puma.taken"]
    assert not after["puma.moving"]


def test_joints_beyond_their_range_at_the_goal_are_named(shipped: VirtualCell) -> None:
    """The tool turned about its own axis, by more than the last joint may turn."""
    here = pose_matrix(shipped.latest().values["puma.pose"])
    q6 = float(shipped.latest().values["puma.target"][5])
    high = shipped.cell.arms[0].axes[5].high
    for k in range(1, 4):
        angle = 2.0 * k
        turn = pose_matrix((0, 0, 0, math.cos(angle / 2), 0, 0, math.sin(angle / 2)))
        given = Command("pose", 60 + k, vector(here @ turn))
        if q6 + angle < high:
            shipped.command("puma", given)
            continue
        told = rf"q6 of 'puma' would be at {q6 + angle:.4g} rad there, {q6 + angle - high:.4g} rad"
        with pytest.raises(lw.server.RefusedError, match=told):
            shipped.command("puma", given)
        break
    settle(shipped, 8000)
    state = shipped.latest().values
    assert state["puma.done"] == 60 + k - 1, CAUSES[int(state["puma.cause"])]
    shipped.command("puma", Command("home", 90))
    settle(shipped, 8000)


def test_what_is_said_of_poses_is_what_the_motion_does(shipped: VirtualCell) -> None:
    """Random goals: refused ones are not begun; joints foreseen are those at the end."""
    rng, taken = np.random.default_rng(*seeds(1)), 0
    for k in range(100, 112):
        here = pose_matrix(shipped.latest().values["puma.pose"])
        half = rng.normal(size=3) * 0.2
        turn = pose_matrix((0, 0, 0, math.sqrt(1 - min(0.9, float(half @ half))), *half))
        turn[:3, :3] = np.linalg.qr(turn[:3, :3])[0] * np.sign(np.diag(turn[:3, :3]))
        goal = here @ turn if np.linalg.det(turn[:3, :3]) > 0 else here.copy()
        goal[:3, 3] = here[:3, 3] + rng.uniform(-0.15, 0.15, 3)
        try:
            shipped.command("puma", Command("pose", k, vector(goal)))
        except lw.server.RefusedError:
            continue
        foreseen = shipped._desk._queues["puma"].ends
        settle(shipped, 4000)
        state = shipped.latest().values
        if state["puma.done"] == k and foreseen is not None:
            taken += 1
            assert np.abs(state["puma.target"] - foreseen).max() < 1e-6
    assert taken >= 1  # 2 of 12 in a random round, where others are out of reach


def test_joints_break_away_from_dry_friction_and_come_to_their_goals(file: Path) -> None:
    """Friction of a file that holds a light joint against the stiffness of the default law."""
    light = URDF.replace('<mass value="1"/>', '<mass value="0.05"/>')
    for joint, rub in (("lift", 0.8), ("slide", 0.9)):  # of a mass of 0.05 kg: 18 m/s^2
        begun, rest = light.split(f'name="{joint}"')
        light = f'{begun}name="{joint}"' + rest.replace(
            "</joint>", f'<dynamics damping="0.1" friction="{rub}"/></joint>', 1
        )
    file.with_name("two.urdf").write_text(light)
    cell = VirtualCell(read_cell(file))
    cell.advance(10)
    cell.command("left", Command("enable", 1))
    for k, goal in enumerate([(0.3, 0.02), (0.3, 0.0202), (-0.2, 0.2)]):
        cell.command("left", Command("joints", 2 + k, goal))
        off = []
        for _ in range(300):
            cell.advance(10)
            seen = cell.latest().values
            off.append(np.abs(seen["left.target"] - seen["left.q"]))
        state = cell.latest().values
        assert CAUSES[int(state["left.cause"])] == "none"
        assert state["left.done"] == 2 + k
        assert np.max(off) < 2e-3, "rad, m: it stood still, and stopped with PANIC"
        assert state["left.q"].tolist() == pytest.approx(goal, abs=1e-3)


# -- clients ---------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def hand() -> Iterator[ArmHand]:
    """The arm of the shipped two axes, commanded over the network."""
    axes = read_cell("axes2")
    running = RunningCell(axes, PacedLoop(whole_session(axes, 0)))
    running.loop.start()
    with (
        CellHost(running, registered=False) as host,
        lw.server.connect(str(host.endpoint), client="alice") as cell,
        cell.arm("plane").command(silence=20.0) as made,
    ):
        made.enable()
        yield made
    running.loop.stop()


def test_joints_go_by_their_names(hand: ArmHand) -> None:
    arm = hand.arm
    start = arm.state.target.copy()
    assert arm.state.joints == ("shoulder", "elbow")
    hand.joints({"elbow": 0.5}, speed=1.0).wait(20)
    assert arm.state.target.tolist() == pytest.approx([start[0], 0.5])
    hand.joints({"shoulder": -0.8}, speed=1.0)
    hand.joints({"elbow": 0.6}, speed=1.0).wait(20)  # the shoulder stays where it is sent to
    assert arm.state.target.tolist() == pytest.approx([-0.8, 0.6])
    hand.jog({"elbow": 0.0}).wait(20)
    with pytest.raises(lw.InputError, match="no joint 'elbo'; did you mean 'elbow'"):
        hand.joints({"elbo": 1.0})
    assert np.isnan(arm.state.pose).all()  # it has no tool
    assert arm.state.external.shape == (2,)


def test_speeds_are_shares_or_have_a_unit(hand: ArmHand, monkeypatch: pytest.MonkeyPatch) -> None:
    share = partial(hand._share, most=hand._fastest())
    assert (share("1.5 rad/s"), share(0.1), share("60 deg/s")) == (0.5, 0.1, math.pi / 9)
    with pytest.raises(lw.InputError, match=r"a speed of 4 rad/s is not above 0 and at most 3"):
        share("4 rad/s")
    with pytest.raises(lw.InputError, match=r"is not a speed of plane; give a share"):
        share("0.2 m/s")
    with pytest.raises(lw.server.RefusedError, match=r"elbow of 'plane' goes with 3 rad/s at most"):
        hand.jog([0.0, 10.0])
    assert hand._fastest() == {"rad/s": 3.0}
    monkeypatch.setattr(hand.arm, "face", replace(hand.arm.face, speeds=(2.0, 3.0)))
    assert hand._fastest() == {"rad/s": 3.0}
    assert hand._fastest(("shoulder",)) == {"rad/s": 2.0}, "those that stay do not slow it"
    for method in (hand.joints, hand.pose, hand.track, hand.home):
        assert (method.__kwdefaults__ or {})["speed"] == CAREFUL < 0.5


def test_rights_of_a_table_can_be_tried_on_loopback(capsys: pytest.CaptureFixture[str]) -> None:
    running = RunningCell(read_cell("axes2"), PacedLoop(whole_session(read_cell("axes2"), 0)))
    running.loop.start()
    named = [Client("guest", ("look",)), Client("alice", ("command",))]
    with CellHost(running, clients=named, registered=False) as host:
        at = str(host.endpoint)
        guest = lw.server.connect(at, client="guest")
        with pytest.raises(lw.server.RefusedError, match="guest has no right to command"):
            guest.arm("plane").command().take()
        guest.close()
        with lw.server.connect(at, client="alice") as cell:
            with cell.arm("plane").command(silence=5.0):
                assert cell.arm("plane").state.holder > 0
            with pytest.raises(lw.server.RefusedError, match="no right to supervise"):
                cell.arm("plane").command(take=True).take()
        with pytest.raises(lw.Error):
            lw.server.connect(at, client="nobody")
        assert main(["cell", "watch", at, "--once", "--json", "--client", "guest"]) == 0
        assert main(["cell", "halt", at]) == 2, "nobody by that name"
        assert "by client= or --client" in capsys.readouterr().err
        assert main(["cell", "halt", at, "--client", "guest"]) == 0
    running.loop.stop()


def test_the_first_lines_of_the_page_move_an_arm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """docs/server.md, "Start": what terminal 2 runs."""
    monkeypatch.setenv("LINKWRIGHT_RUNTIME_DIR", str(tmp_path / "run"))
    page = (Path(__file__).parents[2] / "docs" / "server.md").read_text("utf-8")
    lines = page.split("## Start", 1)[1].split("```python\n", 1)[1].split("```", 1)[0]
    file = tmp_path / "start.py"
    file.write_text(lines)
    made = read_cell(puma_text())
    running = RunningCell(made, PacedLoop(whole_session(made, 0)))
    running._desk.prepare()
    running.loop.start()
    with CellHost(running):
        runpy.run_path(str(file))
    state = running.latest().values
    running.loop.stop()
    assert np.abs(state["puma.target"] - made.arms[0].start).max() < 1e-6
    assert (state["puma.taken"], state["puma.done"], state["puma.cut"]) == (4, 4, 0)
    assert "active [" in capsys.readouterr().out


def test_a_halt_loads_nothing_that_takes_time() -> None:
    text = (
        "import sys; from linkwright.cli import main; code = main(['halt', 'nobody']);"
        "print(code, sorted({'numpy', 'pydantic', 'linkwright.algebra'} & {*sys.modules}))"
    )
    found = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=True
    )
    assert found.stdout.split("\n")[0] == "2 []"
    assert "no cell called 'nobody' runs" in found.stderr
